//! Test for requests that a page of the site's own origin sends, by the headers that browsers set.

use crate::http::Authority;
use hyper::header::{HOST, HeaderMap, HeaderName, ORIGIN};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Returns whether a browser reports that a page of the site's own origin sends the request. `own`
/// is the configured origin. Without it, the own origin is the request's `Host` over either scheme.
///
/// `Origin` decides, and `Sec-Fetch-Site` must not contradict it. `same-site` is not enough:
/// browsers also send it for other ports and for sibling domains, whose pages may belong to others.
/// A browser leaves `Origin` out of some requests of a page to its own origin; then
/// `Sec-Fetch-Site: same-origin` is enough. A header that occurs twice is not trusted, because
/// either of its values may come from someone other than the browser.
pub(super) fn is_same(headers: &HeaderMap, own: Option<&str>) -> bool {
    let has_fetch_site = headers.contains_key(SEC_FETCH_SITE);
    if has_fetch_site && only(headers, SEC_FETCH_SITE) != Some("same-origin") {
        return false;
    }
    if !headers.contains_key(ORIGIN) {
        return has_fetch_site;
    }
    let Some(origin) = only(headers, ORIGIN).and_then(Origin::parse) else { return false };
    match own {
        Some(own) => Origin::parse(own).is_some_and(|own| origin.is_same(own)),
        None => only(headers, HOST).and_then(Authority::parse).is_some_and(|host| origin.is_origin_of(host)),
    }
}

/// The one value of a header, if it is there once, and text.
fn only(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none())?.to_str().ok()
}

/// An origin (RFC 6454 section 6.2). `null` is not parsed as one.
#[derive(Clone, Copy)]
struct Origin<'a> {
    default_port: u16,
    authority: Authority<'a>,
}

impl<'a> Origin<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let (scheme, authority) = text.split_once("://")?;
        let default_port = match scheme {
            "https" => 443,
            "http" => 80,
            _ => return None,
        };
        // Browsers never write a colon without a port.
        let authority = Authority::parse(authority).filter(|_| !authority.ends_with(':'))?;
        Some(Self { default_port, authority })
    }

    /// Returns whether two origins are the same.
    fn is_same(self, own: Origin<'_>) -> bool {
        self.default_port == own.default_port && self.is_origin_of(own.authority)
    }

    /// Returns whether this is the origin of `host`, by the scheme of this origin. A proxy may have
    /// terminated TLS, so only the origin's scheme determines the default port.
    fn is_origin_of(self, host: Authority<'_>) -> bool {
        self.authority.is_same(host, self.default_port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    fn headers(headers: &[(&'static str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_str(value).expect("a header's value"));
        }
        map
    }

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
            ("https://127.0.0.1:3001", "127.0.0.1:3000", false),
            ("https://evil.club.example", "club.example", false),
            ("https://club.example", "www.club.example", false),
            ("https://club.example:+443", "club.example:+443", false),
            ("https://club.example:65536", "club.example:65536", false),
            ("https://club.example:443:443", "club.example:443:443", false),
        ] {
            let headers = headers(&[("host", host), ("origin", origin)]);
            assert_eq!(is_same(&headers, None), expected, "{origin} {host}");
        }
    }

    #[test]
    fn a_header_that_occurs_twice_is_not_trusted() {
        let is_same = |list: &[(&'static str, &str)]| super::is_same(&headers(list), None);
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

    #[test]
    fn the_origin_decides_and_the_fetch_metadata_must_agree() {
        let (host, own, other) =
            (("host", "club.example"), ("origin", "https://club.example"), ("origin", "https://a.club.example"));
        for (site, of_own, of_other, alone) in [
            ("same-origin", true, false, true),
            ("same-site", false, false, false),
            ("cross-site", false, false, false),
            ("none", false, false, false),
            ("Same-Origin", false, false, false),
        ] {
            let site = ("sec-fetch-site", site);
            assert_eq!(is_same(&headers(&[host, own, site]), None), of_own, "{site:?}");
            assert_eq!(is_same(&headers(&[host, other, site]), None), of_other, "{site:?}");
            assert!(!is_same(&headers(&[host, ("origin", "null"), site]), None), "{site:?}");
            assert_eq!(is_same(&headers(&[host, site]), None), alone, "{site:?}");
        }
    }

    #[test]
    fn a_configured_origin_is_compared_with_its_scheme_whatever_the_host_is() {
        let own = Some("https://club.example");
        let is_same = |origin: &str, host: &str| super::is_same(&headers(&[("host", host), ("origin", origin)]), own);
        assert!(is_same("https://club.example", "10.0.0.7:3000"));
        assert!(is_same("https://club.example:443", "club.example"));
        assert!(!is_same("http://club.example", "club.example"));
        assert!(!is_same("https://evil.example", "evil.example"));
        assert!(!is_same("https://club.example:8443", "club.example:8443"));
    }
}
