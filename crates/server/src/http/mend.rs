//! Heads that are right, but that hyper would refuse or take for something else.
//!
//! * `"`, `<` and `>` stand unescaped in many a query (`data->key`, `in.("a")`), PostgREST takes them, and the `http` crate does
//!   not. What follows a `#` it cuts off, which would leave half of a filter. They are escaped.
//! * `Upgrade` makes hyper wait for another protocol, which there never is. It is left out.
//! * A target in absolute form (`http://club.example/flights`) names its site itself, whatever
//!   `Host` contains (RFC 9112 section 3.2.2). It is rewritten as a path, and its authority replaces
//!   `Host`, so that the code after this sees one form only.
//! * hyper has room for 100 headers, and would allocate twice for each request if it were to have more. Those beyond travel as
//!   one header, and are taken apart behind it.

use crate::http::HEAD_BYTES_MAX;
use crate::http::framing::{Refusal, parse};
use crate::http::target::{Absolute, is_absolute, is_host};
use httparse::{Header, Request};
use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};

/// How many headers of a request hyper sees as they are.
const HEADERS_PLAIN_MAX: usize = 100;
/// What hyper itself looks for.
const SEEN_BY_HYPER: [&str; 5] = ["content-length", "transfer-encoding", "connection", "expect", "te"];
/// How many headers are left as they are where others travel together: those that hyper looks for come on top.
const HEADERS_BESIDE_PACKED: usize = HEADERS_PLAIN_MAX - 2 * SEEN_BY_HYPER.len();
/// The header in which others travel. No client may send it.
pub(crate) const PACKED: &str = "thalweg-packed-headers";

/// Whether a byte of a target's path or query must be escaped.
fn is_refused(byte: u8) -> bool {
    matches!(byte, b'"' | b'#' | b'<' | b'>' | b'`')
}

/// Whether a head must be mended.
pub(crate) fn is_needed(request: &Request<'_, '_>) -> bool {
    request.path.is_some_and(|target| is_absolute(target) || target.bytes().any(is_refused))
        || request.headers.len() > HEADERS_PLAIN_MAX
        || request.headers.iter().any(is_upgrade)
}

fn is_upgrade(header: &Header<'_>) -> bool {
    header.name.eq_ignore_ascii_case("upgrade")
}

/// Writes a whole head as hyper takes it.
pub(crate) fn mend(head: &[u8], mended: &mut Vec<u8>) -> Result<(), Refusal> {
    let start = mended.len();
    match parse(head, |request| write(request, mended))? {
        Some(_) if mended.len() - start <= HEAD_BYTES_MAX => Ok(()),
        Some(_) => Err(Refusal::HeadTooLarge),
        None => Err(Refusal::Head),
    }
}

fn write(request: &Request<'_, '_>, mended: &mut Vec<u8>) {
    mended.extend_from_slice(request.method.unwrap_or_default().as_bytes());
    mended.push(b' ');
    let target = request.path.unwrap_or_default();
    let absolute = Some(target).filter(|target| is_absolute(target)).and_then(Absolute::parse);
    let path = absolute.as_ref().map_or(target, |absolute| absolute.path);
    if !path.starts_with(['/', '*']) {
        mended.push(b'/');
    }
    escape(path, mended);
    mended.extend_from_slice(if request.version == Some(0) { b" HTTP/1.0\r\n" } else { b" HTTP/1.1\r\n" });
    if let Some(absolute) = &absolute {
        write_header("host", absolute.authority.as_bytes(), mended);
    }
    let packs = request.headers.len() > HEADERS_PLAIN_MAX;
    let (mut plain, mut packed) = (0, Vec::new());
    let is_replaced = |header: &Header<'_>| absolute.is_some() && is_host(header.name);
    for header in request.headers.iter().filter(|header| !is_upgrade(header) && !is_replaced(header)) {
        let is_seen = SEEN_BY_HYPER.iter().any(|name| header.name.eq_ignore_ascii_case(name));
        if packs && !is_seen && plain >= HEADERS_BESIDE_PACKED {
            pack(header, &mut packed);
            continue;
        }
        plain += usize::from(!is_seen);
        write_header(header.name, header.value, mended);
    }
    if !packed.is_empty() {
        write_header(PACKED, &packed, mended);
    }
    mended.extend_from_slice(b"\r\n");
}

fn write_header(name: &str, value: &[u8], mended: &mut Vec<u8>) {
    mended.extend_from_slice(name.as_bytes());
    mended.extend_from_slice(b": ");
    mended.extend_from_slice(value);
    mended.extend_from_slice(b"\r\n");
}

/// Adds a header to others. A tab ends each, so that the tabs of values are escaped; the bar behind it keeps the last one
/// from being trimmed.
fn pack(header: &Header<'_>, packed: &mut Vec<u8>) {
    packed.extend_from_slice(header.name.as_bytes());
    packed.push(b':');
    for &byte in header.value {
        match byte {
            b'%' => packed.extend_from_slice(b"%25"),
            b'\t' => packed.extend_from_slice(b"%09"),
            byte => packed.push(byte),
        }
    }
    packed.extend_from_slice(b"\t|");
}

/// Takes apart what travelled as one header.
pub(crate) fn unpack(headers: &mut HeaderMap) {
    // there are others beside it
    if headers.len() <= HEADERS_BESIDE_PACKED {
        return;
    }
    let Some(packed) = headers.remove(PACKED) else { return };
    let mut rest = packed.as_bytes();
    while let Some(end) = memchr::memchr(b'\t', rest) {
        let (header, behind) = rest.split_at(end);
        rest = behind.get(2..).unwrap_or_default();
        let Some(colon) = memchr::memchr(b':', header) else { continue };
        let mut value = Vec::with_capacity(header.len() - colon);
        let mut escaped = &header[colon + 1..];
        while let Some(at) = memchr::memchr(b'%', escaped) {
            value.extend_from_slice(&escaped[..at]);
            value.push(if escaped[at..].starts_with(b"%09") { b'\t' } else { b'%' });
            escaped = escaped.get(at + 3..).unwrap_or_default();
        }
        value.extend_from_slice(escaped);
        if let (Ok(name), Ok(value)) =
            (HeaderName::from_bytes(&header[..colon]), HeaderValue::from_maybe_shared(bytes::Bytes::from(value)))
        {
            headers.append(name, value);
        }
    }
}

/// Appends a path with its query, escaped where hyper would refuse it.
fn escape(path: &str, out: &mut Vec<u8>) {
    for byte in path.bytes() {
        if is_refused(byte) {
            const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
            out.extend([b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        } else {
            out.push(byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(head: &str) -> String {
        let mut mended = Vec::new();
        mend(head.as_bytes(), &mut mended).unwrap();
        String::from_utf8(mended).unwrap()
    }

    #[test]
    fn only_the_target_is_escaped() {
        let head = "\r\nGET /t?a=in.(\"x\")&d->>k=eq.1#`é HTTP/1.0\r\nX-Quoted:  \"<>#`\" \r\nEmpty:\r\n\r\n";
        let escaped = "GET /t?a=in.(%22x%22)&d-%3E%3Ek=eq.1%23%60é HTTP/1.0\r\nX-Quoted: \"<>#`\"\r\nEmpty: \r\n\r\n";
        assert_eq!(mended(head), escaped);
        // what is mended once needs it no more
        assert_eq!(parse(escaped.as_bytes(), is_needed), Ok(Some((escaped.len(), false))));
    }

    #[test]
    fn a_target_in_absolute_form_becomes_a_path_and_its_host() {
        for (target, path, host) in [
            ("http://y:80/t?a=<", "/t?a=%3C", "y:80"),
            ("HTTPS://y", "/", "y"),
            ("http://y?a=http://x/\"", "/?a=http://x/%22", "y"),
            ("http://y#x", "/%23x", "y"),
            ("http://[::1]:3000//x", "//x", "[::1]:3000"),
        ] {
            let made = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nA: b\r\n\r\n");
            assert_eq!(mended(&format!("GET {target} HTTP/1.1\r\nHOST: x\r\nA: b\r\n\r\n")), made);
            assert_eq!(parse(made.as_bytes(), is_needed), Ok(Some((made.len(), false))));
        }
        assert!(mended("GET http://y/t HTTP/1.0\r\n\r\n").contains("\r\nhost: y\r\n"));
        assert!(mended("GET /r?a=http://x/< HTTP/1.0\r\n\r\n").starts_with("GET /r?a=http://x/%3C HTTP/1.0\r\n"));
    }

    #[test]
    fn headers_travel_together() {
        let values = ["", "x", "a: b", "%", "%09", "a\tb", "|", "100%25\t|x:y", "é"];
        let mut head = String::from("GET / HTTP/1.1\r\nUpgrade: h2c\r\n");
        for at in 0..400 {
            head += &format!("X-{}: {}\r\n", at % 300, values[at % values.len()]);
        }
        head += "Content-Length: 0\r\nconnection: close\r\n\r\n";
        let packed = mended(&head);
        let mut headers = HeaderMap::new();
        let read = parse(packed.as_bytes(), |request| {
            assert!(request.headers.len() <= HEADERS_PLAIN_MAX);
            for header in &*request.headers {
                let value = HeaderValue::from_bytes(header.value).unwrap();
                headers.append(HeaderName::from_bytes(header.name.as_bytes()).unwrap(), value);
            }
        });
        assert!(matches!(read, Ok(Some((end, ()))) if end == packed.len()));
        assert!(headers.contains_key("connection") && headers.contains_key("content-length"));
        unpack(&mut headers);
        assert_eq!(headers.len(), 402);
        assert!(!headers.contains_key("upgrade"));
        for at in 0..300 {
            let found: Vec<_> = headers.get_all(format!("x-{at}")).iter().map(HeaderValue::as_bytes).collect();
            let sent: Vec<_> = (at..400).step_by(300).map(|at| values[at % values.len()].as_bytes()).collect();
            assert_eq!(found, sent, "{at}");
        }
    }

    #[test]
    fn what_grows_too_long_is_refused() {
        let head = format!("GET /{} HTTP/1.1\r\n\r\n", "<".repeat(HEAD_BYTES_MAX / 2));
        assert_eq!(mend(head.as_bytes(), &mut Vec::new()), Err(Refusal::HeadTooLarge));
    }
}
