//! The media type of the response, and how it is delivered (representation §1).

use crate::error::{ErrorKind, PlanError};
use thalweg_request::MediaType;

/// What the rows are turned into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Media {
    /// An array of objects.
    Json,
    /// One object; an error unless there is exactly one row.
    Object,
    /// Comma-separated values.
    Csv,
}

/// When the head of the response may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// As soon as there is a body to send: rows flow.
    Streamed,
    /// When the last row is known: the status depends on it.
    Buffered,
    /// At once: there is no body, only a count of rows.
    HeadOnly,
}

impl Media {
    /// The first accepted media type that can be made.
    pub(crate) fn negotiate(accept: &[MediaType<'_>]) -> Result<Self, PlanError> {
        accept.iter().find_map(Self::of).ok_or_else(|| {
            let asked: Vec<&str> = accept.iter().map(|media| media.text).collect();
            ErrorKind::MediaType(asked.join(", ")).into()
        })
    }

    fn of(media: &MediaType<'_>) -> Option<Self> {
        // Null members are not stripped yet: to leave them in would be another media type than the one asked for.
        let stripped = media.parameter("nulls").is_some_and(|value| value.eq_ignore_ascii_case("stripped"));
        let is_any = |names: [&str; 2]| names.iter().any(|name| media.is(name));
        if media.is("*/*") || media.is("application/json") {
            Some(Self::Json)
        } else if media.is("text/csv") {
            Some(Self::Csv)
        } else if !stripped && is_any(["application/vnd.pgrst.object", "application/vnd.pgrst.object+json"]) {
            Some(Self::Object)
        } else if !stripped && is_any(["application/vnd.pgrst.array", "application/vnd.pgrst.array+json"]) {
            Some(Self::Json)
        } else {
            None
        }
    }

    /// The `Content-Type` of a response.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json; charset=utf-8",
            Self::Object => "application/vnd.pgrst.object+json; charset=utf-8",
            Self::Csv => "text/csv; charset=utf-8",
        }
    }
}
