//! The API for code in the same process: requests without HTTP.
//!
//! ```text
//!  handler ── ApiCall ──▶ flow.rs: as if it had come from a client ──▶ ApiResponse, or ApiFailure
//! ```

#[cfg(feature = "axum")]
mod axum;
mod failure;
mod response;
mod session;

pub use failure::ApiFailure;
pub use response::{ApiBody, ApiResponse};

use crate::auth::{AskedBy, Identified};
use crate::error::ApiError;
use crate::flow;
use crate::frames::{BoxError, Frames};
use crate::state::{State, body_limits};
use crate::upload::{Incoming, RequestBody};
use bytes::Bytes;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::http::uri::PathAndQuery;
use hyper::{Method, Request, Uri};
use serde::Serialize;
use std::fmt::{self, Write as _};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

/// The API, for code in the same process, under the identity of whoever asks.
///
/// A handler finds that of its caller in the extensions of its request; with the feature `axum`, a handler of axum
/// takes it as an argument, and gives [`ApiResponse`] and [`ApiFailure`] back.
/// [`Server::api`](crate::Server::api) is nobody's. What is asked goes through all that a client's request goes through: the
/// caller's token is verified, the role, row-level security, and all bounds hold, each call is a transaction of its own. There
/// is no socket, no HTTP and no line of the access log of its own.
///
/// ```
/// # use thalweg_server::{Api, ApiFailure};
/// # async fn example(api: Api) -> Result<(), ApiFailure> {
/// let flights: thalweg_json::Value = api.get("/flights").param("title", "eq.The long one").await?.json().await?;
/// let added = api
///     .post("/flights")
///     .header("prefer", "return=representation")
///     .json(&thalweg_json::json!({ "title": "The next one" }))
///     .await?;
/// assert_eq!(added.status(), 201);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Api {
    state: Arc<State>,
    caller: Arc<Caller>,
}

/// Who asks.
struct Caller {
    /// What identifies them, and what SQL may want to know of them.
    headers: HeaderMap,
    /// What they have asked of the handler.
    method: Method,
    /// Whose token they have, once that has been found out.
    identified: OnceLock<Identified>,
}

impl Api {
    /// Under the identity of who has sent a request.
    pub(crate) fn of_request(state: &Arc<State>, parts: &Parts) -> Self {
        let headers = parts.headers.iter().filter(|(name, _)| !is_of_message(name));
        let headers = headers.map(|(name, value)| (name.clone(), value.clone())).collect();
        Self::of(state, headers, parts.method.clone())
    }

    /// Under nobody's.
    pub(crate) fn of_nobody(state: &Arc<State>) -> Self {
        Self::of(state, HeaderMap::new(), Method::GET)
    }

    fn of(state: &Arc<State>, headers: HeaderMap, method: Method) -> Self {
        let caller = Caller { headers, method, identified: OnceLock::new() };
        Self { state: state.clone(), caller: Arc::new(caller) }
    }

    /// The same as one who has not said who they are.
    pub fn as_anonymous(&self) -> Self {
        self.with(|_| {})
    }

    /// The same as the one whose token this is. It is verified as a client's.
    pub fn with_token(&self, token: &str) -> Self {
        self.with(|headers| {
            // what no header can hold is no token, and must not become nobody's
            let value = HeaderValue::try_from(format!("Bearer {token}"));
            let mut value = value.unwrap_or(HeaderValue::from_static("Bearer -"));
            value.set_sensitive(true);
            headers.insert(header::AUTHORIZATION, value);
        })
    }

    fn with(&self, identify: impl FnOnce(&mut HeaderMap)) -> Self {
        let mut headers = self.caller.headers.clone();
        headers.remove(header::AUTHORIZATION);
        headers.remove(header::COOKIE);
        identify(&mut headers);
        Self::of(&self.state, headers, self.caller.method.clone())
    }

    /// Reads: `/flights?id=eq.1`. The path is that of the API, without the prefix that it has beside pages.
    pub fn get(&self, path: &str) -> ApiCall {
        self.call(Method::GET, path)
    }

    /// Inserts, or calls a function.
    pub fn post(&self, path: &str) -> ApiCall {
        self.call(Method::POST, path)
    }

    /// Updates.
    pub fn patch(&self, path: &str) -> ApiCall {
        self.call(Method::PATCH, path)
    }

    /// Puts a row under its key.
    pub fn put(&self, path: &str) -> ApiCall {
        self.call(Method::PUT, path)
    }

    /// Deletes.
    pub fn delete(&self, path: &str) -> ApiCall {
        self.call(Method::DELETE, path)
    }

    /// Any request.
    pub fn call(&self, method: Method, path: &str) -> ApiCall {
        ApiCall {
            api: self.clone(),
            method,
            path: path.to_owned(),
            headers: HeaderMap::new(),
            body: Frames::of(String::new()),
            wrong: None,
        }
    }

    /// Whose token the caller has, if that has been found out.
    pub(crate) fn asked(&self) -> Option<Identified> {
        self.caller.identified.get().cloned()
    }
}

impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api").finish_non_exhaustive()
    }
}

/// Whether a header is about the message that it came with, and not about who has sent it.
fn is_of_message(name: &HeaderName) -> bool {
    const NAMES: [HeaderName; 10] = [
        header::CONNECTION,
        header::EXPECT,
        header::RANGE,
        header::TE,
        header::TRAILER,
        header::TRANSFER_ENCODING,
        header::UPGRADE,
        HeaderName::from_static("keep-alive"),
        HeaderName::from_static("prefer"),
        HeaderName::from_static("range-unit"),
    ];
    ["accept", "content-", "if-"].iter().any(|prefix| name.as_str().starts_with(prefix)) || NAMES.contains(name)
}

/// A request to the [`Api`], sent when it is awaited.
#[must_use = "it is sent when it is awaited"]
pub struct ApiCall {
    api: Api,
    method: Method,
    path: String,
    headers: HeaderMap,
    body: Frames,
    /// What nothing can be sent with.
    wrong: Option<String>,
}

impl ApiCall {
    /// Adds a parameter to the query string. Name and value are percent-encoded: no value begins another parameter.
    pub fn param(mut self, name: &str, value: impl fmt::Display) -> Self {
        self.path.push(if self.path.contains('?') { '&' } else { '?' });
        encode(&mut self.path, name);
        self.path.push('=');
        encode(&mut self.path, &value.to_string());
        self
    }

    /// Adds a header, such as `Prefer`, `Accept` or `Accept-Profile`.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        match (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            (Ok(name), Ok(value)) => _ = self.headers.append(name, value),
            (Err(_), _) | (_, Err(_)) => self.wrong = Some(format!("{name:?} cannot be a header of this value")),
        }
        self
    }

    /// Sends this as JSON.
    pub fn json(mut self, value: &(impl Serialize + ?Sized)) -> Self {
        match thalweg_json::to_vec(value) {
            Ok(json) => {
                self.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
                self.body(json)
            }
            Err(error) => {
                self.wrong = Some(format!("what is sent cannot be JSON: {error}"));
                self
            }
        }
    }

    /// Sends these bytes, as JSON if no header `Content-Type` says otherwise.
    pub fn body(self, bytes: impl Into<Bytes>) -> Self {
        self.stream(response::Whole::of(bytes.into()))
    }

    /// Sends a body as it comes: it is bounded, and must come in time, as a client's.
    pub fn stream<B>(mut self, body: B) -> Self
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        self.body = Frames::of(body);
        self
    }

    async fn send(self) -> Result<ApiResponse, ApiFailure> {
        let in_force = self.api.state.in_force();
        let is_verbose = in_force.config.client_errors_are_verbose;
        let state = self.api.state.clone();
        let answered = async {
            let is_caller = ![header::AUTHORIZATION, header::COOKIE].iter().any(|name| self.headers.contains_key(name));
            let (api, parts, frames) = self.into_parts()?;
            let limits = body_limits(&in_force.config);
            let mut body = RequestBody::new(Incoming::of_code(frames, limits), limits, state.held_bytes.clone());
            let (response, who) = flow::call(&state, &in_force, &parts, &mut body).await;
            if let Some(who) = who.filter(|_| is_caller) {
                _ = api.caller.identified.set(who);
            }
            response
        };
        match answered.await {
            Ok(response) => Ok(ApiResponse::of(response, is_verbose)),
            Err(error) => Err(ApiFailure::of(error, is_verbose)),
        }
    }

    fn into_parts(self) -> Result<(Api, Parts, Frames), ApiError> {
        let Self { api, method, path, headers, body, wrong } = self;
        if let Some(wrong) = wrong {
            return Err(ApiError::not_sent(wrong));
        }
        let target = PathAndQuery::try_from(path.as_str()).ok().filter(|_| path.starts_with('/'));
        let target = target.ok_or_else(|| ApiError::not_sent(format!("{path:?} is no path that can be sent")))?;
        let (mut parts, ()) = Request::new(()).into_parts();
        (parts.method, parts.uri, parts.headers) = (method, Uri::from(target), api.caller.headers.clone());
        for name in headers.keys() {
            parts.headers.remove(name);
        }
        parts.headers.extend(headers);
        parts.extensions.insert(AskedBy(api.caller.method.clone()));
        Ok((api, parts, body))
    }
}

impl IntoFuture for ApiCall {
    type Output = Result<ApiResponse, ApiFailure>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}

impl fmt::Debug for ApiCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiCall").field("method", &self.method).field("path", &self.path).finish_non_exhaustive()
    }
}

/// A text as one value of a query string.
pub fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    encode(&mut encoded, text);
    encoded
}

/// Writes what means itself in a query string (RFC 3986 section 2.3), and everything else in its bytes.
fn encode(out: &mut String, text: &str) {
    for byte in text.bytes() {
        match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            _ => _ = write!(out, "%{byte:02X}"),
        }
    }
}
