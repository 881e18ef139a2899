//! What is wrong with a folder of static files.

use std::{fmt, io};

/// A folder that cannot be loaded.
#[derive(Debug)]
pub(crate) struct StaticError {
    /// The file or folder, from `static/` on.
    file: String,
    why: String,
    source: Option<io::Error>,
}

impl StaticError {
    pub(super) fn new(name: &str, why: impl Into<String>) -> Self {
        Self { file: format!("static/{name}"), why: why.into(), source: None }
    }

    pub(super) fn io(name: &str, error: io::Error) -> Self {
        Self { source: Some(error), ..Self::new(name, "it cannot be read") }
    }
}

impl fmt::Display for StaticError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.why)?;
        self.source.as_ref().map_or(Ok(()), |source| write!(f, ": {source}"))
    }
}

impl std::error::Error for StaticError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}
