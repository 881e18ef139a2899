//! The page that tells of an error, where a site has none of its own.

use crate::answer::Body;
use crate::error::ApiError;
use hyper::Response;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use std::fmt::Write;

/// An error as a page, with a script behind it.
pub(crate) fn error_page(error: &ApiError, verbose: bool, script: &str) -> Response<Body> {
    let status = error.status;
    let reason = status.canonical_reason().unwrap_or("Error");
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>{code} {reason}</title>\n<style>{STYLE}</style>\n<main>\n<h1>{code} <span>{reason}</span></h1>\n",
        code = status.as_u16(),
    );
    for (name, text) in error.parts(verbose) {
        let _ = writeln!(page, "<p class=\"{name}\">{}</p>", escaped(&text));
    }
    page.push_str("</main>\n</html>\n");
    page.push_str(script);
    let mut response = Response::new(Body::whole(page.into()));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;margin:0;color:#222;background:#fff}\
main{max-width:44rem;margin:12vh auto;padding:0 1.5rem}h1{font-size:2rem}h1 span{font-weight:400}\
p{white-space:pre-wrap;overflow-wrap:anywhere}.code,.details{font-family:ui-monospace,monospace}.code{color:#666}.details{font-size:.875rem}.hint{color:#555}\
@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}.code,.hint{color:#999}}";

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
