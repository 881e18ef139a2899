//! What somebody asks of `/rpc/gloss`: a text, and how it is to be read.

use super::reading::{Room, SHORT_TEXT_BYTES_MAX, Shared};
use axum::extract::{Query, Request};
use axum::http::header::{ACCEPT, ACCESS_CONTROL_ALLOW_ORIGIN, ALLOW, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http_body::Body as _;
use serde::Deserialize;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use thalweg_server::{ApiFailure, Caller, Network, NotComputed, ShareError};

/// A body is no larger, and so no text.
const BODY_BYTES_MAX: usize = 2 * 1024 * 1024;
/// A person's list of words that they know has no more.
const KNOWN_WORDS_MAX: usize = 10_000;

/// What is asked.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    pub(super) text: String,
    /// Words that are left out, in dictionary form.
    #[serde(default)]
    pub(super) known: Vec<String>,
    /// Whether names are told.
    #[serde(default = "told")]
    pub(super) names: bool,
    /// Whether each entry is told once.
    #[serde(default)]
    pub(super) once: bool,
}

fn told() -> bool {
    true
}

/// In which form the answer is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Json,
    Html,
}

impl Form {
    /// HTML for who would rather have it than JSON, JSON for all others.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let accepted = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
        // of what is wanted as much the first
        let (mut best, mut form) = (0.0, Self::Json);
        for range in accepted.split(',') {
            let mut parts = range.split(';').map(str::trim);
            let named = match parts.next().unwrap_or_default() {
                kind if kind.eq_ignore_ascii_case("text/html") => Self::Html,
                kind if kind.eq_ignore_ascii_case("application/json") => Self::Json,
                _ => continue,
            };
            let quality = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
            let quality = quality.map_or(1.0, |quality| quality.trim().parse().unwrap_or(0.0));
            if quality > best {
                (best, form) = (quality, named);
            }
        }
        form
    }
}

/// Reads a request. The room covers the memory of the request, until the room is dropped.
pub(super) async fn read(request: Request, shared: &Arc<Shared>) -> Result<(Asked, Room), Failure> {
    let caller = request.extensions().get::<Caller>().cloned();
    let mut room = Room::new(caller.unwrap_or(Caller::Network(Network::Unknown)));
    let asked: Asked = match *request.method() {
        Method::GET | Method::HEAD => {
            room.grow(request.uri().query().map_or(0, str::len), shared)?;
            Query::try_from_uri(request.uri()).map_err(|refused| Failure::Query(refused.body_text()))?.0
        }
        Method::POST => {
            let kind = request.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or(b"application/json");
            let kind = kind.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
            if !kind.eq_ignore_ascii_case(b"application/json") {
                return Err(Failure::Type(String::from_utf8_lossy(kind).into_owned()));
            }
            let body = collected(request.into_body(), &mut room, shared).await?;
            match body.len() <= SHORT_TEXT_BYTES_MAX {
                true => parse(&body)?,
                false => shared.computed(&room.caller, move |_| parse(&body)).await??,
            }
        }
        _ => return Err(Failure::Method),
    };
    if asked.known.len() > KNOWN_WORDS_MAX {
        return Err(Failure::TooManyWords);
    }
    Ok((asked, room))
}

fn parse(body: &[u8]) -> Result<Asked, Failure> {
    if !body.trim_ascii_start().starts_with(b"{") {
        return Err(Failure::Body("it is no object".to_owned()));
    }
    thalweg_json::from_slice(body).map_err(|error| Failure::Body(error.to_string()))
}

/// Returns a whole body within its bound, with room for the bytes that have arrived. A client that
/// sends nothing takes no room.
async fn collected(body: axum::body::Body, room: &mut Room, shared: &Shared) -> Result<Vec<u8>, Failure> {
    if body.size_hint().lower() > BODY_BYTES_MAX as u64 {
        return Err(Failure::TooLarge);
    }
    let (mut body, mut all) = (pin!(body), Vec::new());
    while let Some(frame) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
        let data = frame.map_err(Failure::of_body)?.into_data().unwrap_or_else(|_| Bytes::new());
        if all.len() + data.len() > BODY_BYTES_MAX {
            return Err(Failure::TooLarge);
        }
        room.grow(all.len() + data.len(), shared)?;
        all.extend_from_slice(&data);
    }
    Ok(all)
}

/// Why a text is not read.
#[derive(Debug)]
pub(super) enum Failure {
    Method,
    /// The parameters of the address are not those of the function.
    Query(String),
    /// The body is no JSON, or has not the arguments of the function.
    Body(String),
    /// Its media type is another one.
    Type(String),
    TooLarge,
    TooManyWords,
    /// The texts of this caller, or those of all callers, use all the room.
    Share(ShareError),
    /// The body did not arrive, or the server does not take it.
    Api(Box<ApiFailure>),
    /// The client has broken off.
    Lost,
}

impl From<ShareError> for Failure {
    fn from(error: ShareError) -> Self {
        Self::Share(error)
    }
}

impl From<NotComputed> for Failure {
    fn from(reason: NotComputed) -> Self {
        Self::Api(Box::new(reason.into()))
    }
}

impl Failure {
    fn of_body(error: axum::Error) -> Self {
        match error.into_inner().downcast::<ApiFailure>() {
            Ok(failure) => Self::Api(failure),
            Err(_) => Self::Lost,
        }
    }
}

const METHODS: HeaderValue = HeaderValue::from_static("OPTIONS,GET,HEAD,POST");

/// What can be done here, as functions of the API say it that only read.
pub(super) fn options() -> Response {
    let mut response = Response::default();
    response.headers_mut().extend([
        (ALLOW, METHODS),
        (ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*")),
        (CONTENT_LENGTH, HeaderValue::from_static("0")),
    ]);
    response
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let hint = "POST {\"text\": \"…\", \"known\": [\"…\"], \"names\": true, \"once\": false}, or GET ?text=…&names=true&once=false; all but the text may be left out.";
        let (status, code, message, details, hint) = match self {
            Self::Api(failure) => return failure.into_response(),
            Self::Share(error) => return ApiFailure::from(error).into_response(),
            Self::Method => {
                (StatusCode::METHOD_NOT_ALLOWED, "PGRST101", "Only GET, HEAD and POST are for functions", None, None)
            }
            Self::Query(why) => {
                (StatusCode::BAD_REQUEST, "PGRST100", "The parameters are not those of gloss", Some(why), Some(hint))
            }
            Self::Body(why) => {
                (StatusCode::BAD_REQUEST, "PGRST102", "The body is not what gloss takes", Some(why), Some(hint))
            }
            Self::Type(kind) => {
                (StatusCode::UNSUPPORTED_MEDIA_TYPE, "PGRST102", "Content-Type not acceptable", Some(kind), Some(hint))
            }
            Self::TooLarge => (
                StatusCode::PAYLOAD_TOO_LARGE,
                "PGRST102",
                "The body is too large",
                Some(format!("It may have {BODY_BYTES_MAX} bytes.")),
                None,
            ),
            Self::TooManyWords => (
                StatusCode::PAYLOAD_TOO_LARGE,
                "PGRST102",
                "The list of known words is too long",
                Some(format!("It may have {KNOWN_WORDS_MAX} words.")),
                None,
            ),
            Self::Lost => (StatusCode::BAD_REQUEST, "PGRST102", "The body broke off", None, None),
        };
        let body = thalweg_json::json!({ "code": code, "details": details, "hint": hint, "message": message });
        let mut response = (status, [(CONTENT_TYPE, "application/json")], body.to_string()).into_response();
        if status == StatusCode::METHOD_NOT_ALLOWED {
            response.headers_mut().insert(ALLOW, METHODS);
        }
        response
    }
}
