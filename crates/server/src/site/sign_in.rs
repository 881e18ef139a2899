//! Where somebody signs in that a page is not for yet, and the way back from there.

use super::Asked;
use crate::answer::{Body, respond};
use crate::http;
use bytes::Bytes;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};
use std::borrow::Cow;
use thalweg_pages::{BACK, Location};

/// How long an address may be that a visitor is sent to, in bytes.
pub(crate) const LOCATION_BYTES_MAX: usize = 8 * 1024;

/// Sends a visitor to where one signs in. That page's address says where they wanted to go, unless it would be too long. htmx is told to go
/// there: a redirect it would follow, and put the page into a part of the one that is open.
pub(crate) fn send(sign_in: &Location, parts: &Parts) -> Response<Body> {
    let is_of_htmx = says_true(&parts.headers, "hx-request");
    let open = || open(&parts.headers).filter(|_| is_of_htmx && !says_true(&parts.headers, "hx-boosted"));
    let asked_for = || http::address(&parts.uri);
    let with_back = sign_in.fill(|_| Some(Cow::Borrowed(open().unwrap_or_else(asked_for))));
    let location = if with_back.len() > LOCATION_BYTES_MAX { sign_in.fill(|_| None) } else { with_back };
    let (status, name) = match is_of_htmx {
        true => (StatusCode::NO_CONTENT, HeaderName::from_static("hx-redirect")),
        false => (StatusCode::SEE_OTHER, header::LOCATION),
    };
    let mut response = Response::new(Body::whole(Bytes::new()));
    *response.status_mut() = status;
    respond::text(response.headers_mut(), name, location);
    if !is_of_htmx {
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
    }
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn says_true(headers: &HeaderMap, name: &str) -> bool {
    headers.get(name).is_some_and(|value| value == "true")
}

/// The page that is open where htmx asks for a part, as a path of this site.
fn open(headers: &HeaderMap) -> Option<&str> {
    let (_, address) = headers.get("hx-current-url")?.to_str().ok()?.split_once("://")?;
    let address = address.split('#').next().unwrap_or_default();
    let path = address.find('/').map_or("/", |at| &address[at..]);
    Some(path).filter(|path| is_of_site(path))
}

/// Where a visitor wanted to go who has signed in, if that is on this site.
pub(crate) fn back<'a>(asked: &'a Asked<'_>) -> Option<&'a str> {
    asked.of_address(BACK).filter(|address| is_of_site(address))
}

/// Whether a browser takes it for a path of the same site, whatever it does with it: behind two slashes, of which one may be turned round, it
/// reads a host, and some characters it leaves out before it looks.
pub fn is_of_site(address: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'\\';
    address.len() <= LOCATION_BYTES_MAX
        && address.starts_with('/')
        && !address.starts_with("//")
        && address.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_back_stays_on_the_site() {
        for address in ["/", "/flights/17?q=a%20b&x=//y#top", "/a/../b", "/:80", "/@evil.example"] {
            assert!(is_of_site(address), "{address}");
        }
        for address in [
            "",
            "flights",
            "//evil.example",
            "/\\evil.example",
            "\\/evil.example",
            "/\t/evil.example",
            "/\n/evil.example",
            " //evil.example",
            "https://evil.example",
            "javascript:alert(1)",
            "/a b",
            "/a\r\nSet-Cookie: a=b",
            "/ü",
            "/\0",
        ] {
            assert!(!is_of_site(address), "{address}");
        }
        let long = |bytes: usize| format!("/{}", "a".repeat(bytes - 1));
        assert!(is_of_site(&long(LOCATION_BYTES_MAX)) && !is_of_site(&long(LOCATION_BYTES_MAX + 1)));
    }
}
