//! Cross-origin requests (representation §11).

use crate::answer::Body;
use crate::config::Config;
use bytes::Bytes;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Response};

const EXPOSED: &str = "Content-Encoding, Content-Location, Content-Range, Content-Type, Date, Location, Server, \
                       Transfer-Encoding, Range-Unit";

/// What a request's origin is allowed: every one where none is listed, else a listed one with its credentials.
fn allow(config: &Config, origin: Option<&HeaderValue>) -> Option<(HeaderValue, bool)> {
    let origin = origin?;
    match &config.server_cors_allowed_origins {
        None => Some((HeaderValue::from_static("*"), false)),
        Some(listed) => {
            listed.iter().any(|known| known.as_bytes() == origin.as_bytes()).then(|| (origin.clone(), true))
        }
    }
}

fn insert(headers: &mut HeaderMap, (origin, credentials): (HeaderValue, bool)) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    if credentials {
        headers.insert(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
    }
}

/// The answer to a preflight, if the request is one from an origin that is allowed.
pub(crate) fn preflight(config: &Config, method: &Method, headers: &HeaderMap) -> Option<Response<Body>> {
    let asked = headers.contains_key(header::ORIGIN) && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    if method != Method::OPTIONS || !asked {
        return None;
    }
    let allowed_origin = allow(config, headers.get(header::ORIGIN))?;
    let requested = headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS).and_then(|value| value.to_str().ok());
    let allowed = match requested {
        Some(requested) => {
            let requested: Vec<&str> = requested.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
            format!("Authorization, {}, Accept, Accept-Language, Content-Language", requested.join(", "))
        }
        None => "Authorization, Accept, Accept-Language, Content-Language".to_owned(),
    };
    let mut response = Response::new(Body::whole(Bytes::new()));
    let headers = response.headers_mut();
    insert(headers, allowed_origin);
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
pub(crate) fn expose(config: &Config, asked: &HeaderMap, headers: &mut HeaderMap) {
    if config.server_cors_allowed_origins.is_some() {
        // no cache may give one origin what another is allowed
        headers.append(header::VARY, HeaderValue::from_static("Origin"));
    }
    if let Some(allowed) = allow(config, asked.get(header::ORIGIN)) {
        insert(headers, allowed);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
    }
}
