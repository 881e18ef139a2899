//! What is wrong with a site: in which file, where, and what would be right.

use std::fmt;

/// A place in a file of the site. Lines and columns count from 1, columns in characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file, from the site's folder on, with `/` between folders.
    pub file: String,
    /// The line, or 0 where the whole file is meant.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl Place {
    /// The place of a byte.
    pub(crate) fn in_text(file: &str, text: &str, offset: usize) -> Place {
        let before = text.get(..offset).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Place { file: file.to_owned(), line, column }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.file),
            line => write!(f, "{}:{line}:{}", self.file, self.column),
        }
    }
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file or a folder cannot be read.
    Io,
    /// The name of a file says nothing that a path could be, or two files say the same.
    Name,
    /// There is more than a site may have.
    TooMuch,
    /// What stands between the lines of `+++`.
    Front,
    /// A template that cannot be parsed.
    Syntax,
    /// A template that is extended, included or imported, or a catalogue of messages, and is not there.
    Missing,
    /// A template that cannot be made into a page.
    Template,
    /// A query that the database cannot answer, or that has not what the page shows of it.
    Query,
    /// A catalogue of messages, or the id of a message that is not there.
    Message,
}

/// A site that cannot be loaded.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    place: Place,
    message: String,
    source: Option<std::io::Error>,
}

impl Error {
    /// What is wrong.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Where it stands.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// What is wrong, and what would be right, without the place.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// An error at a place.
    pub fn new(kind: ErrorKind, place: Place, message: impl Into<String>) -> Error {
        Error { kind, place, message: message.into(), source: None }
    }

    pub(crate) fn of_file(kind: ErrorKind, file: &str, message: impl Into<String>) -> Error {
        Error::new(kind, Place { file: file.to_owned(), line: 0, column: 0 }, message)
    }

    pub(crate) fn syntax(place: Place, message: String) -> Error {
        Error::new(ErrorKind::Syntax, place, message)
    }

    pub(crate) fn io(file: &str, source: std::io::Error) -> Error {
        Error { source: Some(source), ..Error::of_file(ErrorKind::Io, file, "cannot be read") }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}
