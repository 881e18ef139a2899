//! Why a folder cannot be applied.

use std::fmt;
use std::path::{Path, PathBuf};
use thalweg_wire::DbError;

/// Why migrations could not be read or applied. Its text has several lines where PostgreSQL says more than a message.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    cause: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// The kinds of [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The folder or a file of it cannot be read, or is too large.
    Folder,
    /// A file holds what a migration may not.
    File,
    /// The files are not those that the database has a record of.
    History,
    /// A statement failed.
    Statement,
    /// The database cannot be asked.
    Database,
}

/// A place in a file: lines and columns count characters, from 1 on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    file: PathBuf,
    line: usize,
    column: usize,
}

impl Place {
    /// The place of a character of a text, which is the file's.
    pub(crate) fn of(file: &Path, text: &str, character: usize) -> Self {
        let (mut line, mut column) = (1, 1);
        for c in text.chars().take(character) {
            (line, column) = if c == '\n' { (line + 1, 1) } else { (line, column + 1) };
        }
        Self { file: file.to_owned(), line, column }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file.display(), self.line, self.column)
    }
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), cause: None }
    }

    pub(crate) fn io(what: &str, path: &Path, cause: std::io::Error) -> Self {
        let message = format!("{what} {}", path.display());
        Self { kind: ErrorKind::Folder, message, cause: Some(Box::new(cause)) }
    }

    pub(crate) fn file(place: &Place, what: impl fmt::Display) -> Self {
        Self::new(ErrorKind::File, format!("{place}: {what}"))
    }

    pub(crate) fn database(what: &str, cause: thalweg_wire::Error) -> Self {
        Self { kind: ErrorKind::Database, message: what.to_owned(), cause: Some(Box::new(cause)) }
    }

    /// What PostgreSQL says of a statement, and what is left of its file.
    pub(crate) fn statement(place: &dyn fmt::Display, error: &DbError, left: &str) -> Self {
        let mut message = format!("{place}: {} ({})", error.message, error.code);
        let more = [("detail", &error.detail), ("hint", &error.hint), ("context", &error.context)];
        for (name, text) in more.into_iter().filter_map(|(name, text)| Some((name, text.as_ref()?))) {
            message.push_str(&format!("\n  {name}: {text}"));
        }
        message.push_str(&format!("\n  {left}"));
        Self::new(ErrorKind::Statement, message)
    }

    /// What went wrong.
    pub fn kind(&self) -> ErrorKind {
        self.kind
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
        self.cause.as_deref().map(|cause| cause as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_characters() {
        let text = "ä b\nc\n";
        let place = |character| Place::of(Path::new("f.sql"), text, character).to_string();
        assert_eq!((place(0), place(2)), ("f.sql:1:1".to_owned(), "f.sql:1:3".to_owned()));
        assert_eq!((place(4), place(6)), ("f.sql:2:1".to_owned(), "f.sql:3:1".to_owned()));
    }
}
