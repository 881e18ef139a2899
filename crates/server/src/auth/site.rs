//! Whose page sends a request, as far as a browser says so.

use hyper::header::{HOST, HeaderMap, HeaderName, ORIGIN};
use std::net::Ipv6Addr;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Whether a browser says that a page of the same site sends a request: in `Sec-Fetch-Site`, or, if it is of old, in `Origin`.
/// Where a header is there twice, nobody knows which the browser has sent.
pub(super) fn is_same(headers: &HeaderMap) -> bool {
    if headers.contains_key(SEC_FETCH_SITE) {
        return matches!(only(headers, SEC_FETCH_SITE), Some("same-origin" | "same-site"));
    }
    match (only(headers, ORIGIN), only(headers, HOST)) {
        (Some(origin), Some(host)) => is_origin_of(origin, host),
        _ => false,
    }
}

/// The one value of a header, if it is there once, and text.
fn only(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none())?.to_str().ok()
}

/// Whether an origin (RFC 6454 section 6.2) is that of a host. A proxy may have taken the TLS off, so that only the origin
/// tells which port goes without saying. `null` is nobody's.
fn is_origin_of(origin: &str, host: &str) -> bool {
    let (scheme, origin) = origin.split_once("://").unwrap_or_default();
    let port = match scheme {
        "https" => 443,
        "http" => 80,
        _ => return false,
    };
    let (origin, host) = (Authority::parse(origin, port), Authority::parse(host, port));
    origin.is_some() && origin == host
}

#[derive(PartialEq)]
struct Authority {
    host: Host,
    port: u16,
}

#[derive(PartialEq)]
enum Host {
    /// In lower case.
    Name(String),
    V6(Ipv6Addr),
}

impl Authority {
    /// `host` or `host:port`, and nothing else.
    fn parse(text: &str, default_port: u16) -> Option<Self> {
        let (host, port) = match text.rsplit_once(':') {
            // the colon is one of an address
            Some((_, after)) if after.ends_with(']') => (text, None),
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        };
        let is_number = |port: &&str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        let port = port.map_or(Some(default_port), |port| Some(port).filter(is_number)?.parse().ok())?;
        let host = match host.strip_prefix('[') {
            Some(address) => Host::V6(address.strip_suffix(']')?.parse().ok()?),
            None => Host::Name(Some(host).filter(|host| is_name(host))?.to_ascii_lowercase()),
        };
        Some(Self { host, port })
    }
}

fn is_name(host: &str) -> bool {
    !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    #[test]
    fn origins_of_hosts() {
        for (origin, host, expected) in [
            ("https://club.example", "club.example", true),
            ("https://Club.Example", "cluB.example", true),
            // the port that goes without saying
            ("https://club.example", "club.example:443", true),
            ("https://club.example:443", "club.example", true),
            ("http://club.example", "club.example:80", true),
            ("http://club.example:080", "club.example", true),
            ("https://club.example", "club.example:80", false),
            ("http://club.example", "club.example:443", false),
            ("https://club.example:8443", "club.example:8443", true),
            ("https://club.example:8443", "club.example", false),
            ("https://club.example", "club.example:8443", false),
            // addresses
            ("http://127.0.0.1:3000", "127.0.0.1:3000", true),
            ("http://[::1]:3000", "[::1]:3000", true),
            ("http://[::1]", "[0:0:0:0:0:0:0:1]:80", true),
            ("http://[2001:DB8::1]", "[2001:db8::1]", true),
            ("http://[::1]:3000", "[::1]", false),
            ("http://[::1]", "[::2]", false),
            ("http://::1", "::1", false),
            ("http://[club]", "[club]", false),
            ("http://[::1", "[::1", false),
            ("http://[::1]x", "[::1]x", false),
            // others
            ("https://club.example.evil.example", "club.example", false),
            ("https://evil.example", "club.example", false),
            ("https://club.example.", "club.example", false),
            // nobody's
            ("null", "club.example", false),
            ("null", "null", false),
            ("", "", false),
            ("https://", "", false),
            ("club.example", "club.example", false),
            ("file://club.example", "club.example", false),
            ("HTTPS://club.example", "club.example", false),
            // what no browser says
            ("https://club.example/", "club.example/", false),
            ("https://x@club.example", "x@club.example", false),
            ("https://club.example, https://evil.example", "club.example, https://evil.example", false),
            ("https://club.example:", "club.example:", false),
            ("https://club.example:+443", "club.example:+443", false),
            ("https://club.example:65536", "club.example:65536", false),
            ("https://club.example:443:443", "club.example:443:443", false),
        ] {
            assert_eq!(is_origin_of(origin, host), expected, "{origin} {host}");
        }
    }

    #[test]
    fn what_is_said_twice_is_not_said() {
        let is_same = |headers: &[(&'static str, &'static str)]| {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.append(*name, HeaderValue::from_static(value));
            }
            super::is_same(&map)
        };
        let (host, origin) = (("host", "club.example"), ("origin", "https://club.example"));
        assert!(is_same(&[host, origin]));
        assert!(!is_same(&[host, origin, origin]));
        assert!(!is_same(&[host, host, origin]));
        assert!(!is_same(&[host, ("host", "evil.example"), origin]));
        let fetched = ("sec-fetch-site", "same-origin");
        assert!(is_same(&[fetched]));
        assert!(!is_same(&[host, origin, fetched, fetched]));
        assert!(!is_same(&[host, origin, ("sec-fetch-site", "cross-site")]));
        assert!(!is_same(&[host]) && !is_same(&[origin]));
    }
}
