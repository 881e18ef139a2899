//! The page that tells of an error, where a site has none of its own.

use super::browse::renderer;
use crate::answer::Body;
use crate::error::ApiError;
use crate::log;
use hyper::Response;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use minijinja::Value;
use std::sync::Arc;
use thalweg_pages::Values;

pub(crate) const TEMPLATE: (&str, &str) = ("error_page.html", include_str!("error_page.html"));

/// An error as a page, with a script behind it.
pub(crate) fn error_page(error: &ApiError, verbose: bool, script: &str) -> Response<Body> {
    let mut values = Values::default();
    values.insert("status", error.status.as_u16());
    values.insert("reason", error.status.canonical_reason().unwrap_or("Error"));
    let parts = error.parts(verbose).map(|(name, text)| [name.to_owned(), text]);
    values.insert("parts", parts.map(Value::from_iter).collect::<Value>());
    let mut page = Vec::new();
    if let Ok(Err(error)) = renderer().map(|renderer| renderer.render(TEMPLATE.0, Arc::new(values), &mut page)) {
        log::error_line(&format!("an error page cannot be rendered: {error}"));
    }
    page.extend_from_slice(script.as_bytes());
    let mut response = Response::new(Body::whole(page.into()));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}
