//! What can be wrong with a body.

use crate::csv::COLUMNS_MAX;
use crate::form::FIELDS_MAX;
use crate::scan::KEYS_MAX;
use std::fmt;
use thalweg_json::ReadError;

/// Why a body cannot be used, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError {
    /// What is wrong.
    pub problem: Problem,
    /// The row that it was found in, from 1; 0 where there are no rows.
    pub row: u64,
    /// The column, where it is one's.
    pub column: Option<String>,
}

/// What is wrong with a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
    /// It is no JSON.
    Json,
    /// JSON that is nested too deeply.
    Nesting,
    /// A `\u0000`.
    Nul,
    /// Half of a surrogate pair.
    Surrogate,
    /// Objects with different keys.
    Keys,
    /// A row that is no object.
    NotObject,
    /// A row that is no object, where keys may be missing.
    NotRecord,
    /// An array was expected.
    NotArray,
    /// An array whose parts have different dimensions.
    Dimensions,
    /// A record with more or fewer fields than the header.
    Fields,
    /// CSV without a header line.
    Header,
    /// A quoted field that does not end, or goes on behind its end.
    Quotes,
    /// A key or a name that is too long, or all of them together.
    TooLong,
    /// The first row has more than [`KEYS_MAX`](crate::KEYS_MAX) keys.
    TooManyKeys,
    /// A form has more than [`FIELDS_MAX`](crate::FIELDS_MAX) fields.
    TooManyFields,
    /// A header names more than [`COLUMNS_MAX`](crate::COLUMNS_MAX) columns.
    TooManyColumns,
}

impl Problem {
    /// Whether there is too much of something, rather than something wrong.
    pub fn is_bound(self) -> bool {
        match self {
            Self::TooLong | Self::TooManyKeys | Self::TooManyFields | Self::TooManyColumns => true,
            Self::Json | Self::Nesting | Self::Nul | Self::Surrogate | Self::Keys | Self::NotObject => false,
            Self::NotRecord | Self::NotArray | Self::Dimensions => false,
            Self::Fields | Self::Header | Self::Quotes => false,
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.problem {
            Problem::Json | Problem::Nesting => "Empty or invalid json",
            Problem::Nul => "unsupported Unicode escape sequence",
            Problem::Surrogate => "invalid input syntax for type json",
            Problem::Keys | Problem::NotObject => "All object keys must match",
            Problem::NotRecord => "argument of json_to_recordset must be an array of objects",
            Problem::NotArray => "expected JSON array",
            Problem::Dimensions => "malformed JSON array",
            Problem::Fields => "All lines must have same number of fields",
            Problem::Header => "not enough input: a header line is needed",
            Problem::Quotes => "a quoted field must end with a quote before a comma or a line end",
            Problem::TooLong => "a name in the body is too long",
            Problem::TooManyKeys => return write!(f, "The rows of the body have more than {KEYS_MAX} keys"),
            Problem::TooManyFields => return write!(f, "The form has more than {FIELDS_MAX} fields"),
            Problem::TooManyColumns => return write!(f, "The header has more than {COLUMNS_MAX} columns"),
        };
        f.write_str(text)
    }
}

impl std::error::Error for DecodeError {}

/// What a visitor refuses with: its result, which each call returns, fits into a register.
pub(crate) type Refusal = Box<DecodeError>;

impl From<Refusal> for DecodeError {
    fn from(refusal: Refusal) -> Self {
        *refusal
    }
}

impl DecodeError {
    pub(crate) fn at(problem: Problem, row: u64) -> Self {
        Self { problem, row, column: None }
    }

    pub(crate) fn of_reader(error: ReadError<impl Into<Self>>, row: u64) -> Self {
        match error {
            ReadError::Visitor(error) => error.into(),
            ReadError::Syntax(_) => Self::at(Problem::Json, row),
            ReadError::Nesting => Self::at(Problem::Nesting, row),
            ReadError::Nul => Self::at(Problem::Nul, row),
            ReadError::Surrogate => Self::at(Problem::Surrogate, row),
        }
    }
}
