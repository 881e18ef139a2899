//! How the parts of a text are written.

use std::io;

macro_rules! integers {
    ($($method:ident: $type:ty;)*) => {$(
        /// Writes an integer.
        #[inline]
        fn $method<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: $type) -> io::Result<()> {
            writer.write_all(itoa::Buffer::new().format(value).as_bytes())
        }
    )*};
}

macro_rules! pieces {
    ($($(#[$doc:meta])* $method:ident: $piece:literal;)*) => {$(
        $(#[$doc])*
        #[inline]
        fn $method<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
            if $piece.is_empty() { Ok(()) } else { writer.write_all($piece) }
        }
    )*};
}

/// How the parts of a text are written. Each has a default, that of the form without white space.
pub trait Formatter {
    /// Writes `null`.
    #[inline]
    fn write_null<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b"null")
    }

    /// Writes `true` or `false`.
    #[inline]
    fn write_bool<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: bool) -> io::Result<()> {
        writer.write_all(if value { b"true" } else { b"false" })
    }

    integers! {
        write_i8: i8;
        write_i16: i16;
        write_i32: i32;
        write_i64: i64;
        write_i128: i128;
        write_u8: u8;
        write_u16: u16;
        write_u32: u32;
        write_u64: u64;
        write_u128: u128;
    }

    /// Writes a number that is finite.
    #[inline]
    fn write_f32<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f32) -> io::Result<()> {
        writer.write_all(zmij::Buffer::new().format_finite(value).as_bytes())
    }

    /// Writes a number that is finite.
    #[inline]
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        writer.write_all(zmij::Buffer::new().format_finite(value).as_bytes())
    }

    /// Writes a number that is kept as its text.
    #[inline]
    fn write_number_str<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: &str) -> io::Result<()> {
        writer.write_all(value.as_bytes())
    }

    /// Before each string.
    #[inline]
    fn begin_string<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b"\"")
    }

    /// Behind each string.
    #[inline]
    fn end_string<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b"\"")
    }

    /// Writes a part of a string that need not be escaped.
    #[inline]
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        writer.write_all(fragment.as_bytes())
    }

    /// Writes a character of a string that must be escaped.
    #[inline]
    fn write_char_escape<W: ?Sized + io::Write>(&mut self, writer: &mut W, escape: CharEscape) -> io::Result<()> {
        escape.write(writer)
    }

    /// Writes bytes: as an array of numbers.
    fn write_byte_array<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: &[u8]) -> io::Result<()> {
        self.begin_array(writer)?;
        for (at, byte) in value.iter().enumerate() {
            self.begin_array_value(writer, at == 0)?;
            self.write_u8(writer, *byte)?;
            self.end_array_value(writer)?;
        }
        self.end_array(writer)
    }

    pieces! {
        /// Before each array.
        begin_array: b"[";
        /// Behind each array.
        end_array: b"]";
        /// Behind each element of an array.
        end_array_value: b"";
        /// Before each object.
        begin_object: b"{";
        /// Behind each object.
        end_object: b"}";
        /// Behind each key.
        end_object_key: b"";
        /// Between a key and its value.
        begin_object_value: b":";
        /// Behind each value of an object.
        end_object_value: b"";
    }

    /// Before each element of an array.
    #[inline]
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b",") }
    }

    /// Before each key of an object.
    #[inline]
    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b",") }
    }

    /// Writes a text of JSON as it is.
    #[inline]
    fn write_raw_fragment<W: ?Sized + io::Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        writer.write_all(fragment.as_bytes())
    }
}

/// A character that is escaped in a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CharEscape {
    /// `"`
    Quote,
    /// `\\`
    ReverseSolidus,
    /// `/`, which need not be
    Solidus,
    /// U+0008
    Backspace,
    /// U+000C
    FormFeed,
    /// U+000A
    LineFeed,
    /// U+000D
    CarriageReturn,
    /// U+0009
    Tab,
    /// Another control character
    AsciiControl(u8),
}

impl CharEscape {
    pub(super) fn of(byte: u8) -> Self {
        match byte {
            b'"' => Self::Quote,
            b'\\' => Self::ReverseSolidus,
            0x08 => Self::Backspace,
            0x0c => Self::FormFeed,
            b'\n' => Self::LineFeed,
            b'\r' => Self::CarriageReturn,
            b'\t' => Self::Tab,
            byte => Self::AsciiControl(byte),
        }
    }

    fn write<W: ?Sized + io::Write>(self, writer: &mut W) -> io::Result<()> {
        let byte = match self {
            // a solidus stands for itself elsewhere
            Self::Solidus => return writer.write_all(b"\\/"),
            Self::Quote => b'"',
            Self::ReverseSolidus => b'\\',
            Self::Backspace => 0x08,
            Self::FormFeed => 0x0c,
            Self::LineFeed => b'\n',
            Self::CarriageReturn => b'\r',
            Self::Tab => b'\t',
            Self::AsciiControl(byte) => return write!(writer, "\\u{byte:04x}"),
        };
        writer.write_all(crate::scan::escape(byte))
    }
}

/// Without white space.
#[derive(Debug, Clone, Default)]
pub struct CompactFormatter;

impl Formatter for CompactFormatter {}

/// With line breaks, and each level indented.
#[derive(Debug, Clone)]
pub struct PrettyFormatter<'a> {
    levels: usize,
    has_value: bool,
    indent: &'a [u8],
}

impl<'a> PrettyFormatter<'a> {
    /// By two spaces.
    pub fn new() -> Self {
        Self::with_indent(b"  ")
    }

    /// By this.
    pub fn with_indent(indent: &'a [u8]) -> Self {
        PrettyFormatter { levels: 0, has_value: false, indent }
    }

    fn line<W: ?Sized + io::Write>(&self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b"\n")?;
        (0..self.levels).try_for_each(|_| writer.write_all(self.indent))
    }

    fn open<W: ?Sized + io::Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.levels += 1;
        self.has_value = false;
        writer.write_all(bracket)
    }

    fn close<W: ?Sized + io::Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.levels -= 1;
        if self.has_value {
            self.line(writer)?;
        }
        writer.write_all(bracket)
    }

    fn next<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if !first {
            writer.write_all(b",")?;
        }
        self.line(writer)
    }
}

impl Default for PrettyFormatter<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl Formatter for PrettyFormatter<'_> {
    fn begin_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"[")
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"]")
    }

    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.next(writer, first)
    }

    fn end_array_value<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_value = true;
        Ok(())
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"{")
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"}")
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.next(writer, first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_value = true;
        Ok(())
    }
}
