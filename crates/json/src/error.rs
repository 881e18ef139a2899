//! What is wrong with a text, and where.

use std::{fmt, io};

/// Why a text could not be read, or a value not be written.
pub struct Error {
    inner: Box<Inner>,
}

struct Inner {
    code: Code,
    /// From 1; 0 where there is no place.
    line: usize,
    column: usize,
}

/// What an [`Error`] is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Category {
    /// Reading from or writing to where the text is failed.
    Io,
    /// The text is no JSON.
    Syntax,
    /// The text is JSON, but not of the value that was asked for.
    Data,
    /// The text ends too early.
    Eof,
}

/// What is wrong.
#[derive(Debug)]
#[cfg_attr(not(feature = "serde"), allow(dead_code, reason = "some of it only serde finds"))]
pub(crate) enum Code {
    Message(Box<str>),
    Io(io::Error),
    EofInList,
    EofInObject,
    EofInString,
    EofInValue,
    NoColon,
    NoListComma,
    NoObjectComma,
    NoIdent,
    NoValue,
    NoQuote,
    Escape,
    Number,
    NumberRange,
    Unicode,
    Control,
    KeyString,
    KeyNumber,
    KeyFinite,
    Surrogate,
    TrailingComma,
    TrailingCharacters,
    HexEscape,
    Levels,
}

/// The result of reading and writing.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of a value's own, without a place; [`FromJson`](crate::FromJson) gives it one.
    #[cold]
    pub fn message(message: impl fmt::Display) -> Self {
        Self::new(Code::Message(message.to_string().into()), 0, 0)
    }

    /// The line on which it was found, from 1; 0 where there is no place.
    pub fn line(&self) -> usize {
        self.inner.line
    }

    /// How many bytes of that line had been looked at.
    pub fn column(&self) -> usize {
        self.inner.column
    }

    /// What it is about.
    pub fn classify(&self) -> Category {
        match self.inner.code {
            Code::Io(_) => Category::Io,
            Code::Message(_) => Category::Data,
            Code::EofInList | Code::EofInObject | Code::EofInString | Code::EofInValue => Category::Eof,
            Code::NoColon
            | Code::NoListComma
            | Code::NoObjectComma
            | Code::NoIdent
            | Code::NoValue
            | Code::NoQuote
            | Code::Escape
            | Code::Number
            | Code::NumberRange
            | Code::Unicode
            | Code::Control
            | Code::KeyString
            | Code::KeyNumber
            | Code::KeyFinite
            | Code::Surrogate
            | Code::TrailingComma
            | Code::TrailingCharacters
            | Code::HexEscape
            | Code::Levels => Category::Syntax,
        }
    }

    /// Whether reading from or writing to where the text is failed.
    pub fn is_io(&self) -> bool {
        self.classify() == Category::Io
    }

    /// Whether the text is no JSON.
    pub fn is_syntax(&self) -> bool {
        self.classify() == Category::Syntax
    }

    /// Whether the text is JSON, but not of the value that was asked for.
    pub fn is_data(&self) -> bool {
        self.classify() == Category::Data
    }

    /// Whether the text ends too early.
    pub fn is_eof(&self) -> bool {
        self.classify() == Category::Eof
    }

    /// The kind of failure, where it was one of input or output.
    pub fn io_error_kind(&self) -> Option<io::ErrorKind> {
        match &self.inner.code {
            Code::Io(error) => Some(error.kind()),
            _ => None,
        }
    }

    #[cold]
    pub(crate) fn new(code: Code, line: usize, column: usize) -> Self {
        Self { inner: Box::new(Inner { code, line, column }) }
    }

    /// An error of input or output. Formatters and serializers of other crates make them.
    #[doc(hidden)]
    #[cold]
    pub fn io(error: io::Error) -> Self {
        Self::new(Code::Io(error), 0, 0)
    }

    /// An error of a value's own, which may be another one of ours that serde passed on as words: its place is read from them again.
    #[cfg(feature = "serde")]
    fn placed(mut message: String) -> Self {
        let place = message.rsplit_once(" at line ").and_then(|(words, place)| {
            let (line, column) = place.split_once(" column ")?;
            let number =
                |digits: &str| digits.parse::<usize>().ok().filter(|_| digits.bytes().all(|b| b.is_ascii_digit()));
            Some((words.len(), number(line)?, number(column)?))
        });
        let (length, line, column) = place.unwrap_or((message.len(), 0, 0));
        message.truncate(length);
        Self::new(Code::Message(message.into()), line, column)
    }

    /// What is wrong behind so many bytes of the text.
    #[cold]
    pub(crate) fn in_text(code: Code, text: &[u8], at: usize) -> Self {
        let before = &text[..at.min(text.len())];
        let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        Self::new(code, line, before.len() - line_start)
    }

    /// The same of a text before which others came.
    #[cfg(feature = "serde")]
    #[cold]
    pub(crate) fn behind(mut self, lines: usize, column: usize) -> Self {
        match self.inner.line {
            0 => return self,
            1 => self.inner.column += column,
            _ => {}
        }
        self.inner.line += lines;
        self
    }

    /// The same with this place, unless it has one.
    #[cold]
    pub(crate) fn or_in_text(self, text: &[u8], at: usize) -> Self {
        if self.inner.line > 0 {
            return self;
        }
        Self::in_text(self.inner.code, text, at)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Message(message) => message,
            Self::Io(error) => return error.fmt(f),
            Self::EofInList => "EOF while parsing a list",
            Self::EofInObject => "EOF while parsing an object",
            Self::EofInString => "EOF while parsing a string",
            Self::EofInValue => "EOF while parsing a value",
            Self::NoColon => "expected `:`",
            Self::NoListComma => "expected `,` or `]`",
            Self::NoObjectComma => "expected `,` or `}`",
            Self::NoIdent => "expected ident",
            Self::NoValue => "expected value",
            Self::NoQuote => "expected `\"`",
            Self::Escape => "invalid escape",
            Self::Number => "invalid number",
            Self::NumberRange => "number out of range",
            Self::Unicode => "invalid unicode code point",
            Self::Control => "control character (\\u0000-\\u001F) found while parsing a string",
            Self::KeyString => "key must be a string",
            Self::KeyNumber => "invalid value: expected key to be a number in quotes",
            Self::KeyFinite => "float key must be finite (got NaN or +/-inf)",
            Self::Surrogate => "lone leading surrogate in hex escape",
            Self::TrailingComma => "trailing comma",
            Self::TrailingCharacters => "trailing characters",
            Self::HexEscape => "unexpected end of hex escape",
            Self::Levels => "recursion limit exceeded",
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { code, line, column } = &*self.inner;
        if *line == 0 { code.fmt(f) } else { write!(f, "{code} at line {line} column {column}") }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { code, line, column } = &*self.inner;
        write!(f, "Error({:?}, line: {line}, column: {column})", code.to_string())
    }
}

#[cfg(feature = "serde")]
impl serde::ser::Error for Error {
    #[cold]
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::message(message)
    }
}

#[cfg(feature = "serde")]
impl serde::de::Error for Error {
    #[cold]
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::placed(message.to_string())
    }

    #[cold]
    fn invalid_type(found: serde::de::Unexpected<'_>, expected: &dyn serde::de::Expected) -> Self {
        Self::message(format_args!("invalid type: {}, expected {expected}", Found(found)))
    }

    #[cold]
    fn invalid_value(found: serde::de::Unexpected<'_>, expected: &dyn serde::de::Expected) -> Self {
        Self::message(format_args!("invalid value: {}, expected {expected}", Found(found)))
    }
}

/// What was found, in JSON's words.
#[cfg(feature = "serde")]
struct Found<'a>(serde::de::Unexpected<'a>);

#[cfg(feature = "serde")]
impl fmt::Display for Found<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            serde::de::Unexpected::Unit => f.write_str("null"),
            serde::de::Unexpected::Float(value) => {
                write!(f, "floating point `{}`", zmij::Buffer::new().format(value))
            }
            other => other.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.inner.code {
            Code::Io(error) => error.source(),
            _ => None,
        }
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        match error.classify() {
            Category::Io => match error.inner.code {
                Code::Io(error) => error,
                _ => Self::other(error),
            },
            Category::Syntax | Category::Data => Self::new(io::ErrorKind::InvalidData, error),
            Category::Eof => Self::new(io::ErrorKind::UnexpectedEof, error),
        }
    }
}
