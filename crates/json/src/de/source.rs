//! Where texts come from that are read a value at a time.

use super::StreamDeserializer;
use super::reading::{Borrow, Copy, Reading};
use crate::error::{Code, Error, Result};
use crate::read::Parser;
use crate::stream::ReadError;
use serde::de::{self, Visitor};
use std::convert::Infallible;
use std::io;

/// Reads values from a text, one after the other.
pub struct Deserializer<R> {
    pub(super) read: R,
}

/// What a [`Deserializer`] reads from.
pub trait Read<'de>: sealed::Source<'de> {}

/// A text that may be no UTF-8.
pub struct SliceRead<'a> {
    parser: Parser<'a>,
}

/// A string.
pub struct StrRead<'a> {
    parser: Parser<'a>,
}

/// A file or a socket. A value is read up to its last byte and no further, byte by byte: the reader
/// should be buffered. Only of a number the byte after it is read too, because nothing else shows its
/// end; that byte stays here for the next value.
pub struct IoRead<R> {
    reader: R,
    /// The value at hand, and up to one byte that follows it.
    text: Vec<u8>,
    /// How much of it has been read, and what came before.
    at: usize,
    before: Before,
    has_level_limit: bool,
}

/// What came before a value.
#[derive(Debug, Clone, Copy, Default)]
struct Before {
    bytes: usize,
    lines: usize,
    /// On the last line.
    column: usize,
}

pub(super) mod sealed {
    use super::*;

    /// How a source is read.
    pub trait Source<'de>: Sized {
        /// Reads a value by a deserializer.
        fn value<A: Ask<'de>>(&mut self, ask: A) -> Result<A::Value>;
        /// The next byte that is no white space.
        fn peek(&mut self) -> Result<Option<u8>>;
        /// The next byte.
        fn byte(&mut self) -> Result<Option<u8>>;
        /// Returns whether the next byte is there without reading from a file or a socket.
        fn is_ahead(&self) -> bool;
        /// The error of the byte that follows a value.
        fn trailing(&self) -> Error;
        /// How many bytes have been read.
        fn position(&self) -> usize;
        fn disable_level_limit(&mut self);
    }

    /// What is asked of a deserializer.
    pub trait Ask<'de> {
        type Value;
        fn of<D: de::Deserializer<'de, Error = Error>>(self, deserializer: D) -> Result<Self::Value>;
    }
}
pub(super) use sealed::{Ask, Source};

macro_rules! of_slices {
    ($($source:ident)*) => {$(
        impl<'de> Read<'de> for $source<'de> {}

        impl<'de> Source<'de> for $source<'de> {
            fn value<A: Ask<'de>>(&mut self, ask: A) -> Result<A::Value> {
                ask.of(Reading::<Borrow>::of(&mut self.parser))
            }

            fn peek(&mut self) -> Result<Option<u8>> {
                Ok(self.parser.peek())
            }

            fn byte(&mut self) -> Result<Option<u8>> {
                Ok(self.parser.byte())
            }

            fn is_ahead(&self) -> bool {
                true
            }

            fn trailing(&self) -> Error {
                self.parser.wrong_next(Code::TrailingCharacters)
            }

            fn position(&self) -> usize {
                self.parser.position()
            }

            fn disable_level_limit(&mut self) {
                self.parser.disable_level_limit();
            }
        }
    )*};
}

of_slices!(SliceRead StrRead);

impl<'de, R: io::Read> Read<'de> for IoRead<R> {}

impl<'de, R: io::Read> Source<'de> for IoRead<R> {
    fn value<A: Ask<'de>>(&mut self, ask: A) -> Result<A::Value> {
        self.fill()?;
        let mut parser = self.parser();
        let value = ask.of(Reading::<Copy>::of(&mut parser));
        let read = parser.position();
        let value = value.map_err(|error| self.before.place(error));
        self.at += read;
        value
    }

    fn peek(&mut self) -> Result<Option<u8>> {
        loop {
            match self.byte()? {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                other => return Ok(other),
            }
        }
    }

    fn byte(&mut self) -> Result<Option<u8>> {
        if self.at == self.text.len() {
            self.before.pass(&self.text);
            self.text.clear();
            self.at = 0;
            self.more()?;
        }
        Ok(self.text.get(self.at).copied())
    }

    fn is_ahead(&self) -> bool {
        self.at < self.text.len()
    }

    fn trailing(&self) -> Error {
        self.before.place(Error::in_text(Code::TrailingCharacters, &self.text, self.at + 1))
    }

    fn position(&self) -> usize {
        self.before.bytes + self.at
    }

    fn disable_level_limit(&mut self) {
        self.has_level_limit = false;
    }
}

impl<R: io::Read> IoRead<R> {
    fn new(reader: R) -> Self {
        IoRead { reader, text: Vec::new(), at: 0, before: Before::default(), has_level_limit: true }
    }

    fn parser(&mut self) -> Parser<'_> {
        // what was read before is not looked at again
        let rest = self.text.split_off(self.at);
        self.before.pass(&std::mem::replace(&mut self.text, rest));
        self.at = 0;
        let mut parser = Parser::new(&self.text);
        if !self.has_level_limit {
            parser.disable_level_limit();
        }
        parser
    }

    /// Reads another byte; whether there was one.
    fn more(&mut self) -> Result<bool> {
        let mut byte = [0];
        loop {
            match self.reader.read(&mut byte) {
                Ok(0) => return Ok(false),
                Ok(_) => {
                    self.text.push(byte[0]);
                    return Ok(true);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::io(error)),
            }
        }
    }

    /// The byte at a distance from the next one, which is read if it is not there yet.
    fn byte_at(&mut self, distance: usize) -> Result<Option<u8>> {
        while self.text.len() <= self.at + distance {
            if !self.more()? {
                return Ok(None);
            }
        }
        Ok(Some(self.text[self.at + distance]))
    }

    /// Reads up to the end of the next value, or up to the byte that makes it invalid, which is
    /// reported when the value is read. Bytes of a value whose reading failed before are still there.
    fn fill(&mut self) -> Result<()> {
        match Source::peek(self)? {
            None => Ok(()),
            Some(b'"' | b'{' | b'[') => self.fill_enclosed(),
            Some(b't') => self.fill_word(b"true"),
            Some(b'f') => self.fill_word(b"false"),
            Some(b'n') => self.fill_word(b"null"),
            Some(_) => self.fill_number(),
        }
    }

    /// Reads up to the end of a word as [`Self::fill`] does. The byte after it is not read.
    fn fill_word(&mut self, word: &[u8]) -> Result<()> {
        for (distance, expected) in word.iter().enumerate() {
            if self.byte_at(distance)? != Some(*expected) {
                break;
            }
        }
        Ok(())
    }

    /// Reads up to the end of a number as [`Self::fill`] does. Only the byte after a number shows that it
    /// has ended.
    fn fill_number(&mut self) -> Result<()> {
        let mut grammar = crate::Reader::document();
        for distance in 0.. {
            match self.byte_at(distance)? {
                Some(byte @ (b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'))
                    if grammar.feed(&[byte], &mut Unseen).is_ok() => {}
                _ => break,
            }
        }
        Ok(())
    }

    /// Reads up to the end of an object, an array or a string as [`Self::fill`] does.
    fn fill_enclosed(&mut self) -> Result<()> {
        let mut grammar = Some(crate::Reader::document());
        let (mut levels, mut is_string, mut is_escaped) = (0_usize, false, false);
        for distance in 0.. {
            let Some(byte) = self.byte_at(distance)? else { break };
            // The content of a string is checked when it is read, which may be as bytes.
            let is_within = is_string && (is_escaped || byte != b'"');
            is_escaped = is_within && !is_escaped && byte == b'\\';
            if is_within {
                continue;
            }
            match byte {
                b'"' => is_string = !is_string,
                b'{' | b'[' => levels += 1,
                b'}' | b']' => levels = levels.saturating_sub(1),
                _ => {}
            }
            match grammar.as_mut().map(|grammar| grammar.feed(&[byte], &mut Unseen)) {
                // Nothing is read after an invalid byte.
                Some(Err(ReadError::Syntax(_))) => break,
                // The value is nested deeper than the grammar is checked, if that is allowed.
                Some(Err(_)) => grammar = None,
                Some(Ok(())) | None => {}
            }
            if levels == 0 && !is_string {
                break;
            }
        }
        Ok(())
    }
}

/// Of a text only its grammar is asked.
struct Unseen;

impl crate::Visitor for Unseen {
    type Error = Infallible;
}

impl Before {
    fn pass(&mut self, text: &[u8]) {
        self.bytes += text.len();
        match text.iter().rposition(|&byte| byte == b'\n') {
            Some(at) => {
                self.lines += text.iter().filter(|&&byte| byte == b'\n').count();
                self.column = text.len() - at - 1;
            }
            None => self.column += text.len(),
        }
    }

    /// The place of an error from the beginning on.
    fn place(&self, error: Error) -> Error {
        error.behind(self.lines, self.column)
    }
}

impl<'de> Deserializer<SliceRead<'de>> {
    /// Of a text.
    pub fn from_slice(text: &'de [u8]) -> Self {
        Deserializer { read: SliceRead { parser: Parser::new(text) } }
    }
}

impl<'de> Deserializer<StrRead<'de>> {
    /// Of a string.
    #[expect(clippy::should_implement_trait, reason = "it is called so in `serde_json`")]
    pub fn from_str(text: &'de str) -> Self {
        Deserializer { read: StrRead { parser: Parser::of_str(text) } }
    }
}

impl<R: io::Read> Deserializer<IoRead<R>> {
    /// Of a file or a socket. No byte after a value is read, except for one after a number. A value
    /// is read whole before it is taken apart.
    pub fn from_reader(reader: R) -> Self {
        Deserializer { read: IoRead::new(reader) }
    }
}

impl<'de, R: Read<'de>> Deserializer<R> {
    /// Of a source.
    pub fn new(read: R) -> Self {
        Deserializer { read }
    }

    /// The text must have ended, but for white space.
    pub fn end(&mut self) -> Result<()> {
        match self.read.peek()? {
            Some(_) => Err(self.read.trailing()),
            None => Ok(()),
        }
    }

    /// Lets arrays and objects be nested as deep as the stack allows.
    pub fn disable_recursion_limit(&mut self) {
        self.read.disable_level_limit();
    }

    /// All values that the text has.
    #[expect(clippy::should_implement_trait, reason = "it is called so in `serde_json`")]
    pub fn into_iter<T: de::Deserialize<'de>>(self) -> StreamDeserializer<'de, R, T> {
        StreamDeserializer::new(self.read)
    }
}

/// Methods of serde's that are asked of the reading of one value.
macro_rules! asked {
    ($($method:ident($($argument:ident: $type:ty),*);)*) => {$(
        fn $method<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value> {
            struct Asked<V>($($type,)* V);
            impl<'de, V: Visitor<'de>> Ask<'de> for Asked<V> {
                type Value = V::Value;

                fn of<D: de::Deserializer<'de, Error = Error>>(self, deserializer: D) -> Result<V::Value> {
                    let Asked($($argument,)* visitor) = self;
                    deserializer.$method($($argument,)* visitor)
                }
            }
            self.read.value(Asked($($argument,)* visitor))
        }
    )*};
}

impl<'de, R: Read<'de>> de::Deserializer<'de> for &mut Deserializer<R> {
    type Error = Error;

    asked! {
        deserialize_any();
        deserialize_bool();
        deserialize_i8();
        deserialize_i16();
        deserialize_i32();
        deserialize_i64();
        deserialize_i128();
        deserialize_u8();
        deserialize_u16();
        deserialize_u32();
        deserialize_u64();
        deserialize_u128();
        deserialize_f32();
        deserialize_f64();
        deserialize_char();
        deserialize_str();
        deserialize_string();
        deserialize_bytes();
        deserialize_byte_buf();
        deserialize_option();
        deserialize_unit();
        deserialize_unit_struct(name: &'static str);
        deserialize_newtype_struct(name: &'static str);
        deserialize_seq();
        deserialize_tuple(len: usize);
        deserialize_tuple_struct(name: &'static str, len: usize);
        deserialize_map();
        deserialize_struct(name: &'static str, fields: &'static [&'static str]);
        deserialize_enum(name: &'static str, variants: &'static [&'static str]);
        deserialize_identifier();
        deserialize_ignored_any();
    }
}
