//! What can be wrong with a request's text.

use crate::payload::Action;
use crate::{EMBED_LEVELS_MAX, EMBEDS_MAX, ORDER_TERMS_MAX, VALUES_MAX};
use std::fmt;

/// Why a request is refused before anything is looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestError {
    kind: ErrorKind,
}

/// The kinds of [`RequestError`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErrorKind {
    /// A parameter that does not follow the grammar (`PGRST100`).
    Syntax {
        /// What was being read, in the protocol's words: `filter`, `select parameter` …
        parameter: &'static str,
        /// The text that was read.
        text: String,
        /// Where it stopped making sense, in characters from 1.
        column: usize,
        /// What was found and what was expected.
        details: String,
    },
    /// More embeds than [`EMBEDS_MAX`](crate::EMBEDS_MAX) (`TWG01`).
    Embeds,
    /// More levels of embeds than [`EMBED_LEVELS_MAX`](crate::EMBED_LEVELS_MAX) (`TWG05`).
    EmbedLevels,
    /// More values than [`VALUES_MAX`](crate::VALUES_MAX) (`TWG02`).
    Values,
    /// More terms of orders than [`ORDER_TERMS_MAX`](crate::ORDER_TERMS_MAX) (`TWG04`).
    OrderTerms,
    /// A window that cannot exist (`PGRST103`).
    Range(&'static str),
    /// A path of no known shape (`PGRST125`).
    Path,
    /// Escapes in the path or query that are not UTF-8.
    Encoding,
    /// A NUL (`PGRST100`), which no name or text of PostgreSQL's can hold, and what it stands in.
    Nul(String),
    /// A body of a form that nobody reads (`PGRST102`).
    ContentType(String),
    /// A window of the root for a PUT, PATCH or DELETE, whose rows it would not restrict (`PGRST114`).
    WindowOfWrite {
        /// The window's source in the request.
        source: WindowSource,
        /// The action of the request.
        action: Action,
    },
    /// Unknown preferences under `handling=strict` (`PGRST122`).
    Preferences(String),
}

/// The part of a request that asks for a window of the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowSource {
    /// `limit` and `offset`.
    Parameters,
    /// The `Range` header.
    Header,
}

impl RequestError {
    /// The error for a NUL in `place`.
    pub fn nul(place: impl Into<String>) -> Self {
        ErrorKind::Nul(place.into()).into()
    }

    /// What is wrong.
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }
}

impl From<ErrorKind> for RequestError {
    fn from(kind: ErrorKind) -> Self {
        Self { kind }
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ErrorKind::Syntax { parameter, text, column, .. } => {
                write!(f, "\"failed to parse {parameter} ({text})\" (line 1, column {column})")
            }
            ErrorKind::Embeds => write!(f, "The request has more than {EMBEDS_MAX} embeds"),
            ErrorKind::EmbedLevels => write!(f, "The request has more than {EMBED_LEVELS_MAX} levels of embeds"),
            ErrorKind::Values => write!(f, "The request selects more than {VALUES_MAX} values"),
            ErrorKind::OrderTerms => write!(f, "The request orders by more than {ORDER_TERMS_MAX} terms"),
            ErrorKind::Range(_) => f.write_str("Requested range not satisfiable"),
            ErrorKind::Path => f.write_str("Invalid path specified in request URL"),
            ErrorKind::Encoding => f.write_str("The URL is not percent-encoded UTF-8"),
            ErrorKind::Nul(_) => f.write_str("A request cannot hold the character NUL"),
            ErrorKind::ContentType(name) => write!(f, "Content-Type not acceptable: {name}"),
            ErrorKind::WindowOfWrite { source: WindowSource::Parameters, action } => {
                write!(f, "limit/offset querystring parameters are not allowed for {}", action.method())
            }
            ErrorKind::WindowOfWrite { source: WindowSource::Header, action } => {
                write!(f, "A Range header is not allowed for {}", action.method())
            }
            ErrorKind::Preferences(_) => f.write_str("Invalid preferences given with handling=strict"),
        }
    }
}

impl std::error::Error for RequestError {}
