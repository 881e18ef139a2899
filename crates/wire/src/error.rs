//! What can go wrong between here and PostgreSQL.

use std::fmt;
use thalweg_rows::{Cursor, Malformed};

/// An error of the connection, of the protocol or of the database.
pub struct Error {
    kind: ErrorKind,
    cause: Option<Box<dyn std::error::Error + Send + Sync>>,
    /// Whether no statement that writes had begun to run.
    nothing_was_written: bool,
    /// True if the transaction may have been committed although the error occurred.
    may_have_committed: bool,
    /// Whether it is about the name of a prepared statement.
    is_of_a_name: bool,
    is_of_known_statement: bool,
}

/// The kinds of [`Error`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErrorKind {
    /// A connection string cannot be understood.
    Config(String),
    /// No connection could be opened.
    Connect(String),
    /// PostgreSQL refused the user or its password.
    Authentication(String),
    /// An open connection broke.
    Broken,
    /// PostgreSQL sent something that its protocol does not allow here.
    Protocol(&'static str),
    /// A statement's parameters are more than PostgreSQL takes.
    TooLarge,
    /// A result has other columns than it must have.
    Stale,
    /// PostgreSQL reported an error.
    Database(Box<DbError>),
}

/// An error as PostgreSQL reports it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct DbError {
    /// `ERROR`, `FATAL` or `PANIC`, never translated.
    pub severity: String,
    /// The SQLSTATE.
    pub code: String,
    /// The primary message.
    pub message: String,
    /// `DETAIL`
    pub detail: Option<String>,
    /// `HINT`
    pub hint: Option<String>,
    /// `CONTEXT`: where it happened, such as the line and column of a `COPY`.
    pub context: Option<String>,
    /// Where in the statement's text it is, in characters from 1 on.
    pub position: Option<usize>,
    /// The source routine that reported it.
    pub routine: Option<String>,
    /// The schema of the table or data type that it is about.
    pub schema: Option<String>,
    /// The table.
    pub table: Option<String>,
    /// The column.
    pub column: Option<String>,
    /// The data type.
    pub data_type: Option<String>,
    /// The constraint, or the unique index that is none.
    pub constraint: Option<String>,
}

impl fmt::Display for DbError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.severity, self.message, self.code)
    }
}

impl std::error::Error for DbError {}

impl DbError {
    pub(crate) fn parse(body: &[u8]) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(body);
        let mut found = Self::default();
        loop {
            let field = cursor.u8()?;
            if field == 0 {
                return Ok(found);
            }
            let text = String::from_utf8_lossy(cursor.cstr()?).into_owned();
            match field {
                b'V' => found.severity = text,
                // poolers leave out the one that is never translated
                b'S' if found.severity.is_empty() => found.severity = text,
                b'C' => found.code = text,
                b'M' => found.message = text,
                b'D' => found.detail = Some(text),
                b'H' => found.hint = Some(text),
                b'W' => found.context = Some(text),
                b'P' => found.position = text.parse().ok(),
                b'R' => found.routine = Some(text),
                b's' => found.schema = Some(text),
                b't' => found.table = Some(text),
                b'c' => found.column = Some(text),
                b'd' => found.data_type = Some(text),
                b'n' => found.constraint = Some(text),
                _ => {}
            }
        }
    }

    /// Returns whether PostgreSQL itself reported the error. PostgreSQL always names a routine;
    /// poolers that report an error of their own do not.
    pub(crate) fn is_of_postgresql(&self) -> bool {
        self.routine.is_some()
    }

    /// Returns whether the error ends the session.
    pub(crate) fn ends_session(&self) -> bool {
        self.severity != "ERROR"
    }

    /// The same with texts of at most so many bytes.
    pub(crate) fn shortened(mut self, bytes_max: usize) -> Self {
        let others = [&mut self.detail, &mut self.hint, &mut self.context, &mut self.routine];
        let names = [&mut self.schema, &mut self.table, &mut self.column, &mut self.data_type, &mut self.constraint];
        for text in
            others.into_iter().chain(names).flatten().chain([&mut self.severity, &mut self.code, &mut self.message])
        {
            if text.len() > bytes_max {
                let end = (0..=bytes_max).rfind(|&at| text.is_char_boundary(at));
                text.truncate(end.unwrap_or(0));
                text.shrink_to_fit();
            }
        }
        self
    }
}

impl Error {
    pub(crate) fn new(kind: ErrorKind) -> Self {
        let is_of_a_name = matches!(&kind, ErrorKind::Database(error) if is_of_a_name(error));
        Self {
            kind,
            cause: None,
            nothing_was_written: false,
            may_have_committed: false,
            is_of_a_name,
            is_of_known_statement: false,
        }
    }

    pub(crate) fn caused(kind: ErrorKind, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self { cause: Some(cause.into()), ..Self::new(kind) }
    }

    pub(crate) fn and_nothing_was_written(mut self) -> Self {
        self.nothing_was_written = true;
        self
    }

    pub(crate) fn with_commit(mut self, may_have_committed: bool) -> Self {
        self.may_have_committed = may_have_committed;
        self
    }

    pub(crate) fn of_known_statement(mut self) -> Self {
        self.is_of_known_statement = true;
        self
    }

    /// Returns whether PostgreSQL refused to analyse or plan a statement that it had prepared
    /// before, and that had not begun to run. Such an error does not depend on values: something
    /// that the statement refers to has changed since.
    pub fn is_of_known_statement(&self) -> bool {
        self.is_of_known_statement
    }

    pub(crate) fn is_not_of_a_name(&mut self) {
        self.is_of_a_name = false;
    }

    /// Whether it is known that no statement that writes had begun to run, so that all may be sent again.
    pub fn nothing_was_written(&self) -> bool {
        self.nothing_was_written
    }

    /// Returns whether the transaction had statements that write, and may have been committed
    /// although this error was returned. This happens if the end of the transaction was sent, and
    /// the connection was lost before PostgreSQL reported how the transaction ended. The caller
    /// must not run the statements again unless they may run twice. If this returns false, nothing
    /// of the transaction was committed.
    pub fn may_have_committed(&self) -> bool {
        self.may_have_committed
    }

    /// Whether a prepared statement has to be prepared again: its name means nothing or something else, or its result has
    /// other types now. Code can raise the same errors; they count only where a statement has not begun to run.
    pub(crate) fn is_of_a_name(&self) -> bool {
        self.is_of_a_name
    }

    /// What went wrong.
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// What PostgreSQL reported, if it did.
    pub fn database(&self) -> Option<&DbError> {
        match &self.kind {
            ErrorKind::Database(error) => Some(error),
            _ => None,
        }
    }

    /// The SQLSTATE, if PostgreSQL reported one.
    pub fn code(&self) -> Option<&str> {
        self.database().map(|error| error.code.as_str())
    }
}

/// Returns whether the error is one of analysing a statement: of class 42, but for missing
/// privileges, or an object that is not in the catalog any more (`XX000`). Errors of class 42 within
/// functions have a context.
pub(crate) fn is_of_analysis(error: &DbError) -> bool {
    let is_of_class = error.code.starts_with("42") && error.code != "42501" && error.context.is_none();
    is_of_class || error.code == "XX000"
}

fn is_of_a_name(error: &DbError) -> bool {
    matches!(error.code.as_str(), "26000" | "42P05")
        || (error.code == "0A000" && error.routine.as_deref() == Some("RevalidateCachedQuery"))
}

impl From<std::io::Error> for Error {
    fn from(cause: std::io::Error) -> Self {
        Self::caused(ErrorKind::Broken, cause)
    }
}

impl From<Malformed> for Error {
    fn from(cause: Malformed) -> Self {
        Self::caused(ErrorKind::Protocol("malformed message"), cause)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ErrorKind::Config(what) => write!(f, "invalid connection string: {what}")?,
            ErrorKind::Connect(what) => write!(f, "could not connect to PostgreSQL at {what}")?,
            ErrorKind::Authentication(what) => write!(f, "authentication failed: {what}")?,
            ErrorKind::Broken => f.write_str("no connection to the server")?,
            ErrorKind::Protocol(what) => write!(f, "unexpected answer from PostgreSQL: {what}")?,
            ErrorKind::Stale => f.write_str("a result has other columns than the schema cache knows")?,
            ErrorKind::TooLarge => f.write_str("too many or too long parameters")?,
            ErrorKind::Database(error) => error.fmt(f)?,
        }
        match &self.cause {
            Some(cause) => write!(f, ": {cause}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error").field("kind", &self.kind).field("cause", &self.cause).finish()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}
