//! `jwt-aud`: whom tokens must be meant for.

use std::fmt;
use std::net::Ipv6Addr;

/// Whom tokens must be meant for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audience(String);

impl Audience {
    /// A text is itself; one with a `:` must be a URI (RFC 3986, with a scheme), as RFC 7519 §2 has its `StringOrURI`.
    pub fn parse(text: &str) -> Result<Self, AudienceError> {
        if text.contains(':') && !is_uri(text) { Err(AudienceError(())) } else { Ok(Self(text.to_owned())) }
    }

    /// Compared exactly.
    pub(crate) fn is(&self, claimed: &str) -> bool {
        self.0 == claimed
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

/// `jwt-aud` has a `:` and is no URI. As text, what the configuration's error says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AudienceError(());

impl fmt::Display for AudienceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("jwt-aud should be a string or a valid URI")
    }
}

impl std::error::Error for AudienceError {}

/// RFC 3986, appendix A: `URI`.
fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (is_authority, path) = match rest.strip_prefix("//") {
        None => (true, rest),
        Some(rest) => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            (is_authority(authority), path)
        }
    };
    is_scheme && is_authority && is_written(path, b":@/") && is_written(query, b":@/?") && is_written(fragment, b":@/?")
}

fn is_authority(text: &str) -> bool {
    let (user, place) = text.rsplit_once('@').unwrap_or(("", text));
    let (is_host, port) = match place.strip_prefix('[') {
        Some(literal) => match literal.split_once(']') {
            Some((address, rest)) => (is_address(address), rest),
            None => return false,
        },
        None => {
            let (name, port) = place.split_at(place.find(':').unwrap_or(place.len()));
            (is_written(name, b""), port)
        }
    };
    let is_port =
        port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.bytes().all(|b| b.is_ascii_digit()));
    is_written(user, b":") && is_host && is_port
}

/// What may stand in brackets: an IPv6 address, or one of the future, `v1.x`.
fn is_address(text: &str) -> bool {
    let is_future = |text: &str| {
        let (version, address) = text.split_once('.')?;
        let version = version.strip_prefix(['v', 'V'])?;
        let is_version = !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_hexdigit());
        Some(is_version && !address.is_empty() && !address.contains('%') && is_written(address, b":"))
    };
    text.parse::<Ipv6Addr>().is_ok() || is_future(text).unwrap_or(false)
}

/// Unreserved characters, `sub-delims`, `%` with two digits, and these.
fn is_written(text: &str, more: &[u8]) -> bool {
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let is_plain = byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=".contains(&byte) || more.contains(&byte);
        let is_escape = byte == b'%'
            && bytes.next().is_some_and(|digit| digit.is_ascii_hexdigit())
            && bytes.next().is_some_and(|digit| digit.is_ascii_hexdigit());
        if !is_plain && !is_escape {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_has_a_colon_is_a_uri() {
        for text in [
            "",
            "flights",
            "flight book/%zz",
            "https://soar.example/api?x=1#y",
            "urn:soar:flights",
            "mailto:a@b.example",
            "http://[::1]:80/x",
            "http://[v1.a:b]/",
            "http://u:p@host:/",
            "a+b-c.d:",
            "x:%20",
            "file:///etc",
        ] {
            assert!(Audience::parse(text).is_ok(), "{text}");
        }
        for text in [
            ":",
            "1a:b",
            "a b:c",
            "https://soar.example/a b",
            "x:%2",
            "x:%zz",
            "x:ü",
            "http://[::1",
            "http://h:8a/",
            "x:a[b]",
            "x:#a#b",
            "é:x",
            "http://[::1]x/",
        ] {
            let error = Audience::parse(text).unwrap_err();
            assert_eq!(error.to_string(), "jwt-aud should be a string or a valid URI", "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text: String) {
            let _ = Audience::parse(&text);
        }
    }
}
