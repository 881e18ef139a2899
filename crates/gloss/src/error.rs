//! What can go wrong with a dictionary.

use std::error::Error as StdError;
use std::fmt;
use std::path::Path;

/// Why a dictionary could not be built, opened or read.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    cause: Option<Box<dyn StdError + Send + Sync>>,
}

/// What kind of error it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file could not be read or written.
    Io,
    /// A source is no dictionary, or is broken.
    Source,
    /// A file is no compiled dictionary, is damaged, or was made by another version.
    Refused,
    /// More than a dictionary can hold.
    TooLarge,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error { kind, message: message.into(), cause: None }
    }

    pub(crate) fn because(mut self, cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Error {
        self.cause = Some(cause.into());
        self
    }

    pub(crate) fn of_file(mut self, path: &Path) -> Error {
        self.message = format!("{} {}", path.display(), self.message);
        self
    }

    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}
