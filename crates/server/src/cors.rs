//! Cross-origin requests (representation §11), all origins allowed.

use crate::body::Body;
use bytes::Bytes;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Response};

const EXPOSED: &str = "Content-Encoding, Content-Location, Content-Range, Content-Type, Date, Location, Server, \
                       Transfer-Encoding, Range-Unit";

/// The answer to a preflight, if the request is one.
pub(crate) fn preflight(method: &Method, headers: &HeaderMap) -> Option<Response<Body>> {
    let asked = headers.contains_key(header::ORIGIN) && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    if method != Method::OPTIONS || !asked {
        return None;
    }
    let requested = headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS).and_then(|value| value.to_str().ok());
    let allowed = match requested {
        Some(requested) => format!("Authorization, {requested}, Accept, Accept-Language, Content-Language"),
        None => "Authorization, Accept, Accept-Language, Content-Language".to_owned(),
    };
    let mut response = Response::new(Body::whole(Bytes::new()));
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    let methods = HeaderValue::from_static("GET, POST, PATCH, PUT, DELETE, OPTIONS, HEAD");
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
    if let Ok(allowed) = HeaderValue::from_str(&allowed) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, allowed);
    }
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400"));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
    Some(response)
}

/// What every other response to a cross-origin request carries.
pub(crate) fn expose(cross_origin: bool, headers: &mut HeaderMap) {
    if cross_origin {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
    }
}
