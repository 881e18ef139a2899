//! An error of the API, with what it says in the protocol's form.

use super::ApiBody;
use crate::computations::NotComputed;
use crate::error::ApiError;
use hyper::{Response, StatusCode};
use std::error::Error;
use std::fmt;

/// Why the API has not done what it was asked.
#[derive(Debug)]
pub struct ApiFailure {
    error: Box<ApiError>,
    is_verbose: bool,
}

impl ApiFailure {
    pub(crate) fn of(error: ApiError, is_verbose: bool) -> Self {
        Self { error: Box::new(error), is_verbose }
    }

    /// The status that a client would see.
    pub fn status(&self) -> StatusCode {
        self.error.status
    }

    /// PostgREST's code, a `SQLSTATE`, or one of Thalweg's own (`TWG…`).
    pub fn code(&self) -> &str {
        &self.error.code
    }

    /// What happened.
    pub fn message(&self) -> &str {
        &self.error.message
    }

    /// More of it. What is no text is JSON.
    pub fn details(&self) -> Option<String> {
        self.error.parts(true).find(|(name, _)| *name == "details").map(|(_, text)| text)
    }

    /// What could be done about it.
    pub fn hint(&self) -> Option<&str> {
        self.error.hint.as_deref()
    }

    /// The response that the API would give a client.
    pub fn into_http(self) -> Response<ApiBody> {
        self.error.response(self.is_verbose).map(|body| ApiBody::of(body, self.is_verbose))
    }
}

impl From<thalweg_wire::Error> for ApiFailure {
    /// Returns the API's error for the same failure of one of its own connections: 500
    /// `TWG24` if a transaction may have been committed, 503 with `Retry-After` if the connection
    /// was lost before that, and otherwise the status of the error that PostgreSQL reported. It has
    /// no details.
    fn from(error: thalweg_wire::Error) -> Self {
        Self::of(ApiError::wire(&error, false), false)
    }
}

impl From<NotComputed> for ApiFailure {
    /// Returns 503 or 429 with `Retry-After` for a computation that did not begin, and 500 for one
    /// that panicked.
    fn from(reason: NotComputed) -> Self {
        Self::of(reason.into(), true)
    }
}

impl fmt::Display for ApiFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.error.message, self.error.code)
    }
}

impl Error for ApiFailure {}
