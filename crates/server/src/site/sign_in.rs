//! Where somebody signs in that a page is not for yet, and the way back from there.

use super::Asked;
use crate::answer::{Body, respond};
use bytes::Bytes;
use hyper::header::{self, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};
use std::borrow::Cow;
use thalweg_pages::{BACK, Location};

/// How long an address may be that a visitor is sent to, in bytes.
pub(crate) const LOCATION_BYTES_MAX: usize = 8 * 1024;

/// Sends a visitor to where one signs in. That page's address says where they wanted to go, unless it would be too long.
pub(crate) fn send(sign_in: &Location, parts: &Parts) -> Response<Body> {
    let address = parts.uri.path_and_query().map_or("/", |address| address.as_str());
    let with_back = sign_in.fill(|_| Some(Cow::Borrowed(address)));
    let location = if with_back.len() > LOCATION_BYTES_MAX { sign_in.fill(|_| None) } else { with_back };
    let mut response = Response::new(Body::whole(Bytes::new()));
    *response.status_mut() = StatusCode::SEE_OTHER;
    respond::text(response.headers_mut(), header::LOCATION, location);
    response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Where a visitor wanted to go who has signed in, if that is on this site.
pub(crate) fn back<'a>(asked: &'a Asked<'_>) -> Option<&'a str> {
    asked.of_address(BACK).filter(|address| is_of_site(address))
}

/// Whether a browser takes it for a path of the same site, whatever it does with it: behind two slashes, of which one may be turned round, it
/// reads a host, and some characters it leaves out before it looks.
fn is_of_site(address: &str) -> bool {
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
