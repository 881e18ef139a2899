//! What can keep a cluster from running.

use std::fmt;
use std::path::Path;

/// Why there is no cluster, in words for the person at the terminal.
#[derive(Debug)]
pub struct Error {
    message: String,
    cause: Option<std::io::Error>,
}

impl Error {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), cause: None }
    }

    pub(crate) fn io(what: &str, path: &Path, cause: std::io::Error) -> Self {
        Self { message: format!("{what} {}", path.display()), cause: Some(cause) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.cause {
            Some(cause) => write!(f, ": {cause}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_ref().map(|cause| cause as _)
    }
}
