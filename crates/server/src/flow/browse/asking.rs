//! The API asked by a page of its own, as its client would ask it.

use crate::answer::Body;
use crate::config::InForce;
use crate::error::ApiError;
use crate::flow::{Answered, Given, of_api};
use crate::frames::Frames;
use crate::http::PREFER;
use crate::site::browse::Address;
use crate::state::{State, body_limits};
use crate::upload::{Incoming, RequestBody};
use bytes::Bytes;
use hyper::header::{self, HeaderValue};
use hyper::http::request::Parts;
use hyper::http::uri::PathAndQuery;
use hyper::{Method, Response, Uri};
use thalweg_gauge::Laps;
use thalweg_plan::OCTETS;

/// What is asked of the API.
pub(super) struct Asked<'a> {
    pub(super) method: Method,
    pub(super) query: &'a str,
    pub(super) accept: &'static str,
    pub(super) prefer: Option<&'static str>,
}

impl Asked<'_> {
    /// As a request by whoever sends another.
    pub(super) fn parts(&self, parts: &Parts) -> Result<Parts, ApiError> {
        let mut asked = parts.clone();
        asked.method = self.method.clone();
        let mark = if self.query.is_empty() { "" } else { "?" };
        let target = Bytes::from([parts.uri.path(), mark, self.query].concat());
        asked.uri = PathAndQuery::from_maybe_shared(target).map(Uri::from).map_err(|_| ApiError::no_page())?;
        for name in
            [header::CONTENT_LENGTH, header::CONTENT_ENCODING, header::TRANSFER_ENCODING, header::EXPECT, PREFER]
        {
            asked.headers.remove(name);
        }
        asked.headers.insert(header::ACCEPT, HeaderValue::from_static(self.accept));
        asked.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(prefer) = self.prefer {
            asked.headers.insert(PREFER, HeaderValue::from_static(prefer));
        }
        Ok(asked)
    }
}

/// The same request for another media type.
pub(super) fn as_media(parts: &Parts, address: &Address, media: &str) -> Result<Parts, ApiError> {
    let accept = match media {
        "json" => "application/json",
        "csv" => "text/csv",
        "raw" => OCTETS,
        _ => return Err(ApiError::media_type_names(&[media])),
    };
    let mut asked =
        Asked { method: parts.method.clone(), query: &address.query(), accept, prefer: None }.parts(parts)?;
    asked.headers.remove(header::CONTENT_TYPE);
    Ok(asked)
}

/// What the API answers.
pub(super) async fn api(
    (state, in_force): (&State, &InForce),
    asked: &Parts,
    body: Vec<u8>,
    bill: &mut Laps,
    is_never_flat: bool,
) -> Answered {
    let limits = body_limits(&in_force.config);
    // JSON is a text
    let body = String::from_utf8_lossy(&body).into_owned();
    let mut body = RequestBody::new(Incoming::of_code(Frames::of(body), limits), limits, state.held_bytes.clone());
    let mut given = Given { is_never_flat, ..Given::of(in_force, asked) };
    of_api((state, in_force), asked, &mut body, bill, &mut given).await
}

/// What a script in something that is shown as it is must not do: be one of this site.
pub(super) fn confined(mut response: Response<Body>) -> Response<Body> {
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox"));
    response
}
