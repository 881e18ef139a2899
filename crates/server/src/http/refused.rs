//! Requests that are refused before hyper reads them. They are answered, counted and logged as all
//! others are.
//!
//! The reader gives hyper a request of the server's own in place of the refused one. Of the
//! client's bytes it contains only the method and the target for the access log, escaped, in a
//! header that no client may send.

use crate::error::ApiError;
use crate::http::framing::Refusal;
use hyper::header::HeaderName;
use hyper::{HeaderMap, Version};
use std::fmt::Write as _;

/// Header that marks such a request. No client may send it.
pub(crate) const REFUSED: &str = "thalweg-refused";
const REFUSED_NAME: HeaderName = HeaderName::from_static(REFUSED);

/// Longest part of a refused request's target that is logged, in bytes.
const REFUSED_TARGET_BYTES_MAX: usize = 1024;
/// Longest method of a refused request that is logged, in bytes. A longer one is logged as `-`.
const REFUSED_METHOD_BYTES_MAX: usize = 32;

/// A refused request, as far as it could be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RefusedRequest {
    pub(crate) refusal: Refusal,
    /// The method, or `-` if the first word is not a method.
    pub(crate) method: String,
    /// The beginning of the target. It is empty if there is no target.
    pub(crate) target: String,
    /// The version, as far as hyper distinguishes it: HTTP/1.0, or HTTP/1.1.
    pub(crate) version: Version,
}

impl RefusedRequest {
    /// Parses the part of the request line that has arrived at the beginning of a head.
    pub(crate) fn from_head(refusal: Refusal, head: &[u8]) -> Self {
        let start = head.iter().position(|byte| !matches!(byte, b'\r' | b'\n')).unwrap_or(head.len());
        let line = head[start..].split(|byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or_default();
        let line = &line[..line.len().min(REFUSED_METHOD_BYTES_MAX + 1 + REFUSED_TARGET_BYTES_MAX)];
        let mut words = line.split(|byte| *byte == b' ');
        let method = words.next().unwrap_or_default();
        let is_method =
            (1..=REFUSED_METHOD_BYTES_MAX).contains(&method.len()) && method.iter().all(u8::is_ascii_graphic);
        let target = words.next().filter(|_| is_method).unwrap_or_default();
        let version = if words.next() == Some(b"HTTP/1.0") { Version::HTTP_10 } else { Version::HTTP_11 };
        let target = &target[..target.len().min(REFUSED_TARGET_BYTES_MAX)];
        Self {
            refusal,
            method: if is_method { String::from_utf8_lossy(method).into_owned() } else { "-".to_owned() },
            target: String::from_utf8_lossy(target).into_owned(),
            version,
        }
    }

    /// Appends the request that hyper reads in place of the refused one.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let (refusal, method, target) = (self.refusal.name(), escaped(&self.method), escaped(&self.target));
        let version = self.version;
        let head = format!(
            "GET / {version:?}\r\nhost: refused\r\nconnection: close\r\n{REFUSED}: {refusal} {method} {target}\r\n\r\n"
        );
        out.extend_from_slice(head.as_bytes());
    }

    /// Returns the refused request that a request replaces, if its headers mark it as a replacement.
    pub(crate) fn from_replacement(headers: &HeaderMap, version: Version) -> Option<Self> {
        let mut words = headers.get(REFUSED_NAME)?.to_str().ok()?.split(' ');
        let refusal = Refusal::named(words.next()?)?;
        let mut text = || unescaped(words.next().unwrap_or_default());
        Some(Self { refusal, method: text(), target: text(), version })
    }

    /// Returns the error for the client.
    pub(crate) fn error(&self) -> ApiError {
        ApiError::refused(self.refusal)
    }
}

/// Escapes a text as one word of visible ASCII characters.
fn escaped(text: &str) -> String {
    let mut word = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'%' => word.push_str("%25"),
            byte if byte.is_ascii_graphic() => word.push(char::from(byte)),
            byte => _ = write!(word, "%{byte:02X}"),
        }
    }
    word
}

fn unescaped(word: &str) -> String {
    let (mut bytes, mut rest) = (Vec::with_capacity(word.len()), word.as_bytes());
    while let Some((&byte, behind)) = rest.split_first() {
        let digits = behind.get(..2).and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        match digits {
            Some(escaped) if byte == b'%' => {
                bytes.push(escaped);
                rest = &behind[2..];
            }
            _ => {
                bytes.push(byte);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::framing::parse;
    use hyper::header::{HeaderName, HeaderValue};

    /// Returns a refused request, and the one that is parsed from its replacement.
    fn handed_on(head: &[u8]) -> (RefusedRequest, RefusedRequest) {
        let refused = RefusedRequest::from_head(Refusal::Host, head);
        let mut written = Vec::new();
        refused.write(&mut written);
        let mut headers = HeaderMap::new();
        let read = parse(&written, |request| {
            for header in &*request.headers {
                let name = HeaderName::from_bytes(header.name.as_bytes()).expect("a name");
                headers.append(name, HeaderValue::from_bytes(header.value).expect("a value"));
            }
        });
        assert_eq!(read, Ok(Some((written.len(), ()))));
        let replacement = RefusedRequest::from_replacement(&headers, refused.version).expect("it is marked");
        (refused, replacement)
    }

    #[test]
    fn a_request_line_is_kept_as_far_as_it_is_one() {
        for (head, method, target) in [
            (&b"GET /t?a=b HTTP/1.1\r\nHost"[..], "GET", "/t?a=b"),
            (b"\r\n\nPOST  HTTP/1.1", "POST", ""),
            (b"GET /100%25%zz\"\\ HTTP/1.1\r\n", "GET", "/100%25%zz\"\\"),
            (b"GET /\x1b[2J\xc3\xa9", "GET", "/\x1b[2Jé"),
            (b"GET /a b HTTP/1.1\r\n", "GET", "/a"),
            (b"\x16\x03\x01\x02\0\x01", "-", ""),
            (b"", "-", ""),
            (b"\0", "-", ""),
        ] {
            let (refused, read) = handed_on(head);
            assert_eq!((&*refused.method, &*refused.target), (method, target), "{head:?}");
            assert_eq!(read, refused);
        }
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let long = |method: usize, target: usize| [vec![b'M'; method], b" /".to_vec(), vec![b'x'; target - 1]].concat();
        let (refused, _) = handed_on(&long(REFUSED_METHOD_BYTES_MAX, 60_000));
        assert_eq!((refused.method.len(), refused.target.len()), (REFUSED_METHOD_BYTES_MAX, REFUSED_TARGET_BYTES_MAX));
        let (refused, _) = handed_on(&long(REFUSED_METHOD_BYTES_MAX + 1, 60_000));
        assert_eq!((&*refused.method, &*refused.target), ("-", ""));
    }
}
