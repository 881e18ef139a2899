//! The response to a request for a static file.

use super::encoding::{Coding, Weights};
use super::{Opened, Representation, StaticFile, StaticFiles, name};
use crate::answer::conditions::conditions;
use crate::answer::{Body, Outlet, respond};
use crate::log;
use bytes::Bytes;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use std::io;
use std::ops::Range;
use thalweg_files::{Conditions, Selection, Verdict};

/// For what a URL names with all that is in it.
const FOR_EVER: &str = "public, max-age=31536000, immutable";
/// Kept, and asked for again each time.
const ASK_AGAIN: &str = "no-cache";

impl StaticFiles {
    /// Answers a request for what follows `/static/` in its path, as it was sent; `None` if there is no such file.
    pub(crate) async fn answer(&self, outlet: &Outlet, parts: &Parts, path: &str) -> Option<Response<Body>> {
        let file = self.files.get(&name::decode(path)?)?;
        if !matches!(parts.method, Method::GET | Method::HEAD) {
            return Some(file.not_allowed());
        }
        match file.answer(outlet, parts).await {
            Ok(response) => Some(response),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                log::error_line(&format!("{} cannot be read: {error}", file.url));
                Some(file.unavailable())
            }
        }
    }
}

impl StaticFile {
    async fn answer(&self, outlet: &Outlet, parts: &Parts) -> io::Result<Response<Body>> {
        let is_head = parts.method == Method::HEAD;
        let mut conditions = conditions(&parts.headers);
        // a range is a GET's
        conditions.range = conditions.range.filter(|_| !is_head);
        let chosen = self.choose(&conditions, &parts.headers);
        // and of the file itself, never of what is compressed of it
        conditions.range = conditions.range.filter(|_| chosen.coding.is_none());
        let opened = chosen.open().await?;
        let other_version = chosen.other_version(&opened);
        let (tag, size_bytes) = (chosen.tag(other_version), opened.size_bytes());
        let (status, part) = match conditions.verdict(&tag, size_bytes) {
            Verdict::PreconditionFailed => (StatusCode::PRECONDITION_FAILED, None),
            Verdict::NotModified => (StatusCode::NOT_MODIFIED, None),
            Verdict::Send(Selection::Whole) => (StatusCode::OK, Some(0..size_bytes)),
            Verdict::Send(Selection::Part(part)) => (StatusCode::PARTIAL_CONTENT, Some(part)),
            Verdict::Send(Selection::Beyond) => (StatusCode::RANGE_NOT_SATISFIABLE, None),
        };
        let is_named = other_version.is_none() && version_asked(parts) == Some(&self.hash);
        let mut response = self.empty(status);
        let headers = response.headers_mut();
        respond::text(headers, header::ETAG, tag);
        let keeps = if is_named && status != StatusCode::RANGE_NOT_SATISFIABLE { FOR_EVER } else { ASK_AGAIN };
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(keeps));
        if status == StatusCode::RANGE_NOT_SATISFIABLE {
            respond::text(headers, header::CONTENT_RANGE, format!("bytes */{size_bytes}"));
        }
        if let Some(part) = part {
            self.describe(headers, chosen.coding, &part);
            if status == StatusCode::PARTIAL_CONTENT {
                let range = format!("bytes {}-{}/{size_bytes}", part.start, part.end - 1);
                respond::text(headers, header::CONTENT_RANGE, range);
            }
            if !is_head {
                *response.body_mut() = opened.body(outlet, part);
            }
        }
        Ok(response)
    }

    /// The file as it is where a range of that is asked for, else what the client prefers.
    fn choose(&self, conditions: &Conditions<'_>, headers: &HeaderMap) -> &Representation {
        match conditions.range {
            Some(_) if conditions.if_range.is_none_or(|known| known.trim() == self.plain.tag(None)) => &self.plain,
            Some(_) | None => self.preferred(&Weights::of_headers(headers)),
        }
    }

    /// Says what is sent.
    fn describe(&self, headers: &mut HeaderMap, coding: Option<Coding>, part: &Range<u64>) {
        headers.insert(header::CONTENT_TYPE, self.media_type.clone());
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(part.end - part.start));
        if let Some(coding) = coding {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
        }
    }

    fn empty(&self, status: StatusCode) -> Response<Body> {
        let mut response = Response::new(Body::whole(Bytes::new()));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        if !self.encoded.is_empty() {
            headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
        }
        response
    }

    fn not_allowed(&self) -> Response<Body> {
        let mut response = self.empty(StatusCode::METHOD_NOT_ALLOWED);
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        response
    }

    /// The file is there and cannot be opened, perhaps because too many are.
    fn unavailable(&self) -> Response<Body> {
        let mut response = self.empty(StatusCode::SERVICE_UNAVAILABLE);
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        response
    }
}

impl Opened {
    fn body(self, outlet: &Outlet, part: Range<u64>) -> Body {
        match self {
            // A buffered file fits into memory, so its bounds fit into `usize`.
            Self::Held(bytes) => Body::shared(bytes.slice(part.start as usize..part.end as usize)),
            Self::File(file) => Body::file(outlet, file, part),
        }
    }
}

/// The version of the file that a URL names.
fn version_asked(parts: &Parts) -> Option<&str> {
    parts.uri.query()?.split('&').find_map(|parameter| parameter.strip_prefix("v="))
}
