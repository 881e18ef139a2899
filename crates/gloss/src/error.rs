//! What can go wrong with a dictionary and its sources.

use std::fmt;
use std::io;
use std::path::Path;

/// Why a dictionary could not be built or opened, or a source of one or a text not be read, and where.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    line: Option<u64>,
    cause: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// The kinds of [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The input itself failed, as a disk or a connection does.
    Input,
    /// It is none of the formats that are read.
    Unrecognised,
    /// Its bytes are not text in the encoding that it is in.
    Encoding,
    /// It is cut or damaged, or does not keep to its format.
    Malformed,
    /// It is larger than what is read, as a whole or at one place.
    TooLarge,
    /// The one who takes the entries wants no more of them.
    Stopped,
    /// A file is no compiled dictionary, is damaged, or was made by another version.
    Refused,
}

impl Error {
    /// An error with which the one who takes the entries ends the reading; it is handed back as it is.
    pub fn stopped(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Stopped, message)
    }

    /// The same, because of another error, which is its [`source`](std::error::Error::source).
    pub fn stopped_by(message: impl Into<String>, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self { cause: Some(cause.into()), ..Self::stopped(message) }
    }

    pub(crate) fn because(mut self, cause: io::Error) -> Self {
        self.cause = Some(Box::new(cause));
        self
    }

    /// The same error with the file where it is.
    pub(crate) fn of_file(mut self, path: &Path) -> Self {
        self.message = format!("{} {}", path.display(), self.message);
        self
    }

    /// What went wrong.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The line of the unpacked source, from 1 on, where it went wrong, if it went wrong at a line.
    pub fn line(&self) -> Option<u64> {
        self.line
    }

    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), line: None, cause: None }
    }

    /// Something of a source as a message shows it: in quotes, and no more than its beginning. A precision cuts no text that is shown so.
    pub(crate) fn quoted(text: &str, chars_max: usize) -> String {
        match text.char_indices().nth(chars_max) {
            Some((end, _)) => format!("{:?}…", &text[..end]),
            None => format!("{text:?}"),
        }
    }

    pub(crate) fn malformed(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Malformed, message)
    }

    /// What a reader under ours said. Decompression says that its input is damaged by the kind of its error, and so do our readers.
    pub(crate) fn of_io(cause: io::Error) -> Self {
        let (kind, message) = match cause.kind() {
            io::ErrorKind::UnexpectedEof => (ErrorKind::Malformed, "the compressed file is cut"),
            io::ErrorKind::InvalidInput => (ErrorKind::Malformed, "the compressed file is damaged"),
            io::ErrorKind::InvalidData => (ErrorKind::Encoding, "the text is not in its encoding"),
            io::ErrorKind::FileTooLarge => (ErrorKind::TooLarge, "the source is too large"),
            _ => (ErrorKind::Input, "the source cannot be read"),
        };
        Self { kind, message: message.to_owned(), line: None, cause: Some(Box::new(cause)) }
    }

    /// The same error with its line, unless it has one.
    pub(crate) fn at(mut self, line: u64) -> Self {
        if self.kind != ErrorKind::Stopped {
            self.line.get_or_insert(line);
        }
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        f.write_str(&self.message)?;
        match &self.cause {
            Some(cause) => write!(f, ": {cause}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}
