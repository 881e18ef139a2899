//! Sessions of browsers: a token in a cookie that no script can read.
//!
//! A browser sends its cookies with a request whichever page caused the request. A request that may
//! change something is therefore refused, unless the browser reports that a page of the site's
//! own origin sends it.

use super::{AskedBy, identify, now_s, site};
use crate::answer::Body;
use crate::config::{Config, InForce};
use crate::error::ApiError;
use crate::http::PREFERENCE_APPLIED;
use crate::state::State;
use bytes::Bytes;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use thalweg_json::Value;

/// The cookie that tokens may come in, and the token that a request has in it.
#[derive(Clone, Copy)]
pub(crate) struct Cookie<'a> {
    pub(super) name: &'a str,
    pub(super) token: Option<&'a [u8]>,
}

impl<'a> Cookie<'a> {
    /// The cookie of this name.
    pub(crate) fn find(name: &'a str, headers: &'a HeaderMap) -> Self {
        let lines = headers.get_all(header::COOKIE).iter();
        let pairs = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b';'));
        let value =
            pairs.map(<[u8]>::trim_ascii).find_map(|pair| pair.strip_prefix(name.as_bytes())?.strip_prefix(b"="));
        Self { name, token: value.filter(|value| !value.is_empty()) }
    }

    /// Moves the token that a function has returned from the response into the cookie, or deletes
    /// the cookie if the function returned none. Returns whether the cookie has a token.
    pub(crate) async fn put(
        &self,
        state: &State,
        in_force: &InForce,
        response: &mut Response<Body>,
    ) -> Result<bool, ApiError> {
        let name = self.name;
        // SQL may send who signs in on; of other statuses it says that nobody does
        let is_sent_on = response.status().is_redirection();
        if !response.status().is_success() && !is_sent_on {
            return Ok(false);
        }
        let returned = match response.body().bytes() {
            Some(bytes) if bytes.is_empty() => Value::Null,
            Some(bytes) => thalweg_json::from_slice(&bytes).map_err(|_| ApiError::no_token_returned())?,
            None => return Err(ApiError::no_token_returned()),
        };
        let token = token_of(&returned).ok_or_else(ApiError::no_token_returned)?;
        let cookie = Self::made_of(name, token, state, in_force).await?;
        if !is_sent_on {
            *response.status_mut() = StatusCode::NO_CONTENT;
        }
        *response.body_mut() = Body::whole(Bytes::new());
        let headers = response.headers_mut();
        for name in [header::CONTENT_TYPE, header::CONTENT_LENGTH, header::CONTENT_RANGE] {
            headers.remove(name);
        }
        headers.append(header::SET_COOKIE, cookie);
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.append(PREFERENCE_APPLIED, HeaderValue::from_static("session"));
        Ok(!token.is_empty())
    }

    /// The cookie of this name with a token, or what takes it away where there is none.
    pub(crate) async fn made_of(
        name: &str,
        token: &str,
        state: &State,
        in_force: &InForce,
    ) -> Result<HeaderValue, ApiError> {
        let cookie = match token {
            "" => forget(name, &in_force.config),
            token => {
                // one that the server would refuse is no use to anybody
                let identity =
                    identify(state, in_force, token.as_bytes()).await.map_err(|_| ApiError::no_token_returned())?;
                let age = identity.expires_s().map(|end| format!("; Max-Age={}", end.saturating_sub(now_s()).max(0)));
                format!("{name}={token}; Path=/{}{}", age.unwrap_or_default(), guard(&in_force.config))
            }
        };
        HeaderValue::try_from(cookie).map_err(|_| ApiError::no_token_returned())
    }

    /// Says what a response depends on where a cookie may decide it, so that no cache gives one person's to another.
    pub(crate) fn mark(&self, headers: &mut HeaderMap) {
        headers.append(header::VARY, HeaderValue::from_static("Cookie"));
        if self.token.is_some() {
            let private = match headers.get(header::CACHE_CONTROL) {
                None => "private",
                Some(said) if said == "no-cache" => "private, no-cache",
                Some(_) => return,
            };
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(private));
        }
    }
}

/// Refuses a request that may change something, unless a page of the site's own origin sends it.
pub(super) fn check(parts: &Parts, config: &Config) -> Result<(), ApiError> {
    let is_safe = |method: &Method| matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
    // a handler may do something of its own besides what it asks
    let asked_by = parts.extensions.get::<AskedBy>().map_or(&parts.method, |AskedBy(method)| method);
    if is_safe(&parts.method) && is_safe(asked_by) { Ok(()) } else { check_site(&parts.headers, config) }
}

/// Refuses a request that no page of the site's own origin sends, whether it may change something
/// or not.
pub(crate) fn check_site(headers: &HeaderMap, config: &Config) -> Result<(), ApiError> {
    if site::is_same(headers, config.pages_origin.as_deref()) { Ok(()) } else { Err(ApiError::of_other_site()) }
}

/// What makes a browser forget the cookie of this name.
pub(super) fn forget(name: &str, config: &Config) -> String {
    format!("{name}=; Path=/; Max-Age=0{}", guard(config))
}

/// Who may read and send it.
fn guard(config: &Config) -> &'static str {
    if config.session_cookie_secure { "; HttpOnly; Secure; SameSite=Lax" } else { "; HttpOnly; SameSite=Lax" }
}

/// Returns whether a function has returned a token that the server accepts. Only responses in JSON
/// are read.
pub(crate) async fn returns_token(state: &State, in_force: &InForce, response: &Response<Body>) -> bool {
    let bytes = response.body().bytes().filter(|_| response.status().is_success());
    let returned = bytes.and_then(|bytes| thalweg_json::from_slice::<Value>(&bytes).ok());
    match returned.as_ref().and_then(token_of) {
        Some(token) if !token.is_empty() => identify(state, in_force, token.as_bytes()).await.is_ok(),
        Some(_) | None => false,
    }
}

/// The token in what a function has returned: a text, or the member `token` of an object or of the only row. Empty where it
/// says that there is none.
fn token_of(returned: &Value) -> Option<&str> {
    match returned {
        Value::Null => Some(""),
        Value::String(token) => Some(token),
        Value::Object(members) => match members.get("token")? {
            Value::Null => Some(""),
            token => token.as_str(),
        },
        Value::Array(rows) => match rows.as_slice() {
            [] => Some(""),
            [row] => token_of(row),
            _ => None,
        },
        Value::Bool(_) | Value::Number(_) => None,
    }
}
