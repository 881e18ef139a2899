//! Reading JSON text as it arrives: bytes come in chunks cut anywhere, a [`Visitor`] is told what they are.
//!
//! The grammar is RFC 8259's, as PostgreSQL's `json` type and `json_to_recordset` have it: a `\u0000` and half of a
//! surrogate pair are errors wherever they stand. Nothing is kept but a bit for each open bracket.

use crate::{number, scan};
use std::fmt;

/// How deep arrays and objects may be nested.
pub const NESTING_LEVELS_MAX: usize = 4096;

/// An array or an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Container {
    Array,
    Object,
}

/// A value that is neither a string nor a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Scalar {
    Number,
    True,
    False,
    Null,
}

/// Is told what has been read, in order, as far as it wants to know. `at` is the offset in bytes from the start of the text; pieces are never kept
/// beyond the call. Together the pieces of one text are that text.
pub trait Visitor {
    /// What the visitor can find wrong.
    type Error;

    /// A bracket opens; `depth` counts those that are open, this one included.
    fn open(&mut self, _container: Container, _depth: usize, _at: u64) -> Result<(), Self::Error> {
        Ok(())
    }
    /// A bracket closes; `depth` counts those that were open, this one included. `at` is behind it.
    fn close(&mut self, _container: Container, _depth: usize, _at: u64) -> Result<(), Self::Error> {
        Ok(())
    }
    /// A string begins, behind its first quote; `is_key` tells whether it is the key of a member.
    fn string_start(&mut self, _is_key: bool, _depth: usize, _at: u64) -> Result<(), Self::Error> {
        Ok(())
    }
    /// Bytes of a string that stand for themselves.
    fn string_piece(&mut self, _bytes: &[u8]) -> Result<(), Self::Error> {
        Ok(())
    }
    /// An escape within a string: as it is written, and the character.
    fn string_escape(&mut self, _raw: &[u8], _character: char) -> Result<(), Self::Error> {
        Ok(())
    }
    /// A string ends, before its last quote.
    fn string_end(&mut self, _is_key: bool, _depth: usize, _at: u64) -> Result<(), Self::Error> {
        Ok(())
    }
    /// A string that lies whole in a chunk and has no escape, instead of the calls above.
    fn string(&mut self, is_key: bool, bytes: &[u8], depth: usize, at: u64) -> Result<(), Self::Error> {
        self.string_start(is_key, depth, at)?;
        self.string_piece(bytes)?;
        self.string_end(is_key, depth, at + bytes.len() as u64)
    }
    /// A number, `true`, `false` or `null` begins.
    fn scalar_start(&mut self, _depth: usize, _at: u64) -> Result<(), Self::Error> {
        Ok(())
    }
    /// Bytes of it.
    fn scalar_piece(&mut self, _bytes: &[u8]) -> Result<(), Self::Error> {
        Ok(())
    }
    /// It ends.
    fn scalar_end(&mut self, _scalar: Scalar, _depth: usize, _at: u64) -> Result<(), Self::Error> {
        Ok(())
    }
    /// A comma, a colon or white space.
    fn between(&mut self, _bytes: &[u8], _depth: usize) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// Why text is no JSON, or cannot be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadError<E> {
    /// It breaks the grammar at this offset, or ends too early there.
    Syntax(u64),
    /// It is nested deeper than [`NESTING_LEVELS_MAX`].
    Nesting,
    /// It has a `\u0000`, which no text of PostgreSQL's can hold.
    Nul,
    /// It has half of a surrogate pair.
    Surrogate,
    /// The visitor refused it.
    Visitor(E),
}

impl<E> From<E> for ReadError<E> {
    fn from(error: E) -> Self {
        Self::Visitor(error)
    }
}

impl<E: fmt::Display> fmt::Display for ReadError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(at) => write!(f, "invalid JSON at byte {at}"),
            Self::Nesting => write!(f, "JSON is nested deeper than {NESTING_LEVELS_MAX} levels"),
            Self::Nul => f.write_str("\\u0000 cannot be converted to text"),
            Self::Surrogate => f.write_str("half of a surrogate pair"),
            Self::Visitor(error) => error.fmt(f),
        }
    }
}

impl<E: std::error::Error + 'static> std::error::Error for ReadError<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            // its words are the visitor's, and so is what is behind it
            Self::Visitor(error) => error.source(),
            Self::Syntax(_) | Self::Nesting | Self::Nul | Self::Surrogate => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// A value must come.
    Value,
    /// A value or `]`.
    ArrayFirst,
    /// A key or `}`.
    ObjectFirst,
    /// A key.
    Key,
    /// `:`
    Colon,
    /// `,` or what closes; at the end of the text nothing.
    After,
    String,
    /// Behind a backslash.
    Escape,
    /// Within `\uXXXX`, with so many digits to come.
    Unicode(u8),
    /// Behind the first half of a pair: its backslash must come, then its `u`.
    SecondBackslash,
    SecondU,
    Number(Digits),
    Word(Scalar, u8),
}

/// How far a number has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Digits {
    Minus,
    Zero,
    Integer,
    Point,
    Fraction,
    E,
    Sign,
    Exponent,
}

/// Reads JSON text chunk by chunk.
#[derive(Debug)]
pub struct Reader {
    state: State,
    /// One bit for each open bracket, the outermost first: whether it is an object's.
    objects: Vec<u64>,
    depth: usize,
    in_key: bool,
    /// How many bytes came before the current chunk.
    before: u64,
    /// The escape that is being read.
    raw: [u8; 12],
    raw_bytes: usize,
    code: u32,
    high: Option<u32>,
    /// Whether any number of values may stand one behind the other.
    is_sequence: bool,
}

impl Reader {
    /// Reads one value.
    pub fn document() -> Self {
        Self {
            state: State::Value,
            objects: Vec::new(),
            depth: 0,
            in_key: false,
            before: 0,
            raw: [0; 12],
            raw_bytes: 0,
            code: 0,
            high: None,
            is_sequence: false,
        }
    }

    /// Reads values separated by white space, such as one a line.
    pub fn sequence() -> Self {
        Self { is_sequence: true, ..Self::document() }
    }

    /// Reads a chunk.
    pub fn feed<V: Visitor>(&mut self, chunk: &[u8], visitor: &mut V) -> Result<(), ReadError<V::Error>> {
        let mut at = 0;
        while at < chunk.len() {
            at = match self.state {
                State::String => self.string(chunk, at, visitor)?,
                State::Number(digits) => self.number(chunk, at, digits, visitor)?,
                State::Word(word, done) => self.word(chunk, at, word, done, visitor)?,
                State::Escape | State::Unicode(_) | State::SecondBackslash | State::SecondU => {
                    self.escape(chunk[at], at, visitor)?;
                    at + 1
                }
                _ => self.structure(chunk, at, visitor)?,
            };
        }
        self.before += chunk.len() as u64;
        Ok(())
    }

    /// The text has ended.
    pub fn finish<V: Visitor>(&mut self, visitor: &mut V) -> Result<(), ReadError<V::Error>> {
        if let State::Number(Digits::Zero | Digits::Integer | Digits::Fraction | Digits::Exponent) = self.state {
            self.value_ends();
            visitor.scalar_end(Scalar::Number, self.depth, self.before)?;
        }
        match self.state {
            State::After if self.depth == 0 => Ok(()),
            State::Value if self.depth == 0 && self.is_sequence => Ok(()),
            _ => Err(ReadError::Syntax(self.before)),
        }
    }

    fn at(&self, at: usize) -> u64 {
        self.before + at as u64
    }

    fn syntax<E>(&self, at: usize) -> ReadError<E> {
        ReadError::Syntax(self.at(at))
    }

    fn in_object(&self) -> bool {
        let bit = self.depth.wrapping_sub(1);
        self.depth > 0 && self.objects[bit / 64] >> (bit % 64) & 1 == 1
    }

    fn value_ends(&mut self) {
        self.state = State::After;
    }

    /// Whatever stands between strings, numbers and words.
    #[inline]
    fn structure<V: Visitor>(
        &mut self,
        chunk: &[u8],
        at: usize,
        visitor: &mut V,
    ) -> Result<usize, ReadError<V::Error>> {
        let byte = chunk[at];
        if matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
            return self.blanks(chunk, at, visitor);
        }
        match (self.state, byte) {
            (State::Key | State::ObjectFirst, b'"') => return self.string_starts(true, chunk, at, visitor),
            (State::ObjectFirst, b'}') => self.close(Container::Object, at, visitor)?,
            (State::ArrayFirst, b']') => self.close(Container::Array, at, visitor)?,
            (State::Colon, b':') => {
                self.state = State::Value;
                visitor.between(b":", self.depth)?;
            }
            (State::After, b',') if self.depth > 0 => return self.next(chunk, at, visitor),
            (State::After, b'}') if self.in_object() => self.close(Container::Object, at, visitor)?,
            (State::After, b']') if self.depth > 0 && !self.in_object() => {
                self.close(Container::Array, at, visitor)?;
            }
            (State::After, _) if self.depth == 0 && self.is_sequence => self.state = State::Value,
            (State::Value | State::ArrayFirst, _) => return self.value(chunk, at, visitor),
            _ => return Err(self.syntax(at)),
        }
        // the same byte again where one value of a sequence follows another
        Ok(if self.state == State::Value && self.depth == 0 { at } else { at + 1 })
    }

    /// White space, if there is any.
    #[inline]
    fn blanks<V: Visitor>(&mut self, chunk: &[u8], at: usize, visitor: &mut V) -> Result<usize, ReadError<V::Error>> {
        let is_solid = |at: usize| chunk.get(at).is_none_or(|byte| *byte > b' ');
        if is_solid(at) {
            return Ok(at);
        }
        // most often it is one space
        let end = if chunk[at] == b' ' && is_solid(at + 1) { at + 1 } else { scan::solid(chunk, at) };
        if end > at {
            visitor.between(&chunk[at..end], self.depth)?;
        }
        Ok(end)
    }

    /// A comma within brackets, and what comes behind it.
    #[inline]
    fn next<V: Visitor>(&mut self, chunk: &[u8], at: usize, visitor: &mut V) -> Result<usize, ReadError<V::Error>> {
        let in_object = self.in_object();
        self.state = if in_object { State::Key } else { State::Value };
        visitor.between(b",", self.depth)?;
        let at = self.blanks(chunk, at + 1, visitor)?;
        match chunk.get(at) {
            Some(b'"') => self.string_starts(in_object, chunk, at, visitor),
            Some(_) if !in_object => self.value(chunk, at, visitor),
            _ => Ok(at),
        }
    }

    /// What comes behind a key.
    #[inline]
    fn member_value<V: Visitor>(
        &mut self,
        chunk: &[u8],
        at: usize,
        visitor: &mut V,
    ) -> Result<usize, ReadError<V::Error>> {
        if chunk.get(at) != Some(&b':') {
            return Ok(at);
        }
        self.state = State::Value;
        visitor.between(b":", self.depth)?;
        let at = self.blanks(chunk, at + 1, visitor)?;
        match chunk.get(at) {
            Some(b'"') => self.string_starts(false, chunk, at, visitor),
            Some(_) => self.value(chunk, at, visitor),
            None => Ok(at),
        }
    }

    fn value<V: Visitor>(&mut self, chunk: &[u8], at: usize, visitor: &mut V) -> Result<usize, ReadError<V::Error>> {
        let byte = chunk[at];
        match byte {
            b'"' => return self.string_starts(false, chunk, at, visitor),
            b'{' => self.open(Container::Object, at, visitor)?,
            b'[' => self.open(Container::Array, at, visitor)?,
            _ => {
                self.state = match byte {
                    b'-' => State::Number(Digits::Minus),
                    b'0' => State::Number(Digits::Zero),
                    b'1'..=b'9' => State::Number(Digits::Integer),
                    b't' => State::Word(Scalar::True, 1),
                    b'f' => State::Word(Scalar::False, 1),
                    b'n' => State::Word(Scalar::Null, 1),
                    _ => return Err(self.syntax(at)),
                };
                visitor.scalar_start(self.depth, self.at(at))?;
                return match self.state {
                    State::Number(digits) => self.number_starts(chunk, at, digits, visitor),
                    State::Word(word, _) => self.word(chunk, at, word, 0, visitor),
                    _ => Ok(at + 1),
                };
            }
        }
        Ok(at + 1)
    }

    fn open<V: Visitor>(
        &mut self,
        container: Container,
        at: usize,
        visitor: &mut V,
    ) -> Result<(), ReadError<V::Error>> {
        if self.depth == NESTING_LEVELS_MAX {
            return Err(ReadError::Nesting);
        }
        let (word, bit) = (self.depth / 64, self.depth % 64);
        if word == self.objects.len() {
            self.objects.push(0);
        }
        self.objects[word] &= !(1 << bit);
        self.objects[word] |= u64::from(container == Container::Object) << bit;
        self.depth += 1;
        self.state = match container {
            Container::Array => State::ArrayFirst,
            Container::Object => State::ObjectFirst,
        };
        Ok(visitor.open(container, self.depth, self.at(at))?)
    }

    fn close<V: Visitor>(
        &mut self,
        container: Container,
        at: usize,
        visitor: &mut V,
    ) -> Result<(), ReadError<V::Error>> {
        let depth = self.depth;
        self.depth -= 1;
        self.value_ends();
        Ok(visitor.close(container, depth, self.at(at + 1))?)
    }

    fn string_starts<V: Visitor>(
        &mut self,
        is_key: bool,
        chunk: &[u8],
        at: usize,
        visitor: &mut V,
    ) -> Result<usize, ReadError<V::Error>> {
        self.in_key = is_key;
        let start = at + 1;
        let end = scan::special(chunk, start);
        if chunk.get(end) == Some(&b'"') {
            self.state = if is_key { State::Colon } else { State::After };
            visitor.string(is_key, &chunk[start..end], self.depth, self.at(start))?;
            return if is_key { self.member_value(chunk, end + 1, visitor) } else { Ok(end + 1) };
        }
        self.state = State::String;
        visitor.string_start(is_key, self.depth, self.at(start))?;
        self.string_on(chunk, start, end, visitor)
    }

    /// A string goes on.
    fn string<V: Visitor>(&mut self, chunk: &[u8], at: usize, visitor: &mut V) -> Result<usize, ReadError<V::Error>> {
        self.string_on(chunk, at, scan::special(chunk, at), visitor)
    }

    /// A string goes on at `start`, and has been looked at up to `end`.
    fn string_on<V: Visitor>(
        &mut self,
        chunk: &[u8],
        mut start: usize,
        mut end: usize,
        visitor: &mut V,
    ) -> Result<usize, ReadError<V::Error>> {
        loop {
            if end > start {
                visitor.string_piece(&chunk[start..end])?;
            }
            match chunk.get(end) {
                None => return Ok(end),
                Some(b'"') => {
                    self.state = if self.in_key { State::Colon } else { State::After };
                    visitor.string_end(self.in_key, self.depth, self.at(end))?;
                    return Ok(end + 1);
                }
                Some(b'\\') => {}
                Some(_) => return Err(self.syntax(end)),
            }
            let Some(character) = chunk.get(end + 1).and_then(|&byte| short_escape(byte)) else {
                self.state = State::Escape;
                (self.raw[0], self.raw_bytes) = (b'\\', 1);
                return Ok(end + 1);
            };
            visitor.string_escape(&chunk[end..end + 2], character)?;
            start = end + 2;
            end = scan::special(chunk, start);
        }
    }

    /// One byte of an escape.
    fn escape<V: Visitor>(&mut self, byte: u8, at: usize, visitor: &mut V) -> Result<(), ReadError<V::Error>> {
        self.raw[self.raw_bytes] = byte;
        self.raw_bytes += 1;
        let character = match (self.state, byte) {
            (State::Escape, b'u') | (State::SecondU, b'u') => {
                (self.state, self.code) = (State::Unicode(4), 0);
                return Ok(());
            }
            (State::SecondBackslash, b'\\') => {
                self.state = State::SecondU;
                return Ok(());
            }
            (State::SecondBackslash | State::SecondU, _) => return Err(ReadError::Surrogate),
            (State::Unicode(left), _) => {
                let digit = char::from(byte).to_digit(16).ok_or_else(|| self.syntax(at))?;
                self.code = self.code << 4 | digit;
                if left > 1 {
                    self.state = State::Unicode(left - 1);
                    return Ok(());
                }
                match (self.high.take(), self.code) {
                    (None, 0) => return Err(ReadError::Nul),
                    (None, high @ 0xd800..=0xdbff) => {
                        (self.high, self.state) = (Some(high), State::SecondBackslash);
                        return Ok(());
                    }
                    (Some(high), low @ 0xdc00..=0xdfff) => {
                        char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00))
                    }
                    (Some(_), _) => None,
                    (None, code) => char::from_u32(code),
                }
                .ok_or(ReadError::Surrogate)?
            }
            _ => short_escape(byte).ok_or_else(|| self.syntax(at))?,
        };
        self.state = State::String;
        Ok(visitor.string_escape(&self.raw[..self.raw_bytes], character)?)
    }

    /// A number, whole where it and what is behind it lie within the chunk.
    #[inline]
    fn number_starts<V: Visitor>(
        &mut self,
        chunk: &[u8],
        at: usize,
        digits: Digits,
        visitor: &mut V,
    ) -> Result<usize, ReadError<V::Error>> {
        match number::end(chunk, at) {
            Ok(end) if chunk.get(end).is_some_and(|&byte| ends_number(byte)) => {
                self.value_ends();
                visitor.scalar_piece(&chunk[at..end])?;
                visitor.scalar_end(Scalar::Number, self.depth, self.at(end))?;
                Ok(end)
            }
            _ => self.number_on(chunk, at, at + 1, digits, visitor),
        }
    }

    fn number<V: Visitor>(
        &mut self,
        chunk: &[u8],
        at: usize,
        digits: Digits,
        visitor: &mut V,
    ) -> Result<usize, ReadError<V::Error>> {
        self.number_on(chunk, at, at, digits, visitor)
    }

    /// A number that begins at `start` of this chunk, or goes on there, and has been looked at up to `at`.
    #[inline]
    fn number_on<V: Visitor>(
        &mut self,
        chunk: &[u8],
        start: usize,
        mut at: usize,
        mut digits: Digits,
        visitor: &mut V,
    ) -> Result<usize, ReadError<V::Error>> {
        while let Some(&byte) = chunk.get(at) {
            digits = match (digits, byte) {
                (Digits::Minus, b'0') => Digits::Zero,
                (Digits::Minus, b'1'..=b'9') | (Digits::Integer, b'0'..=b'9') => Digits::Integer,
                (Digits::Zero | Digits::Integer, b'.') => Digits::Point,
                (Digits::Point | Digits::Fraction, b'0'..=b'9') => Digits::Fraction,
                (Digits::Zero | Digits::Integer | Digits::Fraction, b'e' | b'E') => Digits::E,
                (Digits::E, b'+' | b'-') => Digits::Sign,
                (Digits::E | Digits::Sign | Digits::Exponent, b'0'..=b'9') => Digits::Exponent,
                (Digits::Zero | Digits::Integer | Digits::Fraction | Digits::Exponent, _) => {
                    // what follows must end a value
                    if !ends_number(byte) {
                        return Err(self.syntax(at));
                    }
                    self.value_ends();
                    visitor.scalar_piece(&chunk[start..at])?;
                    visitor.scalar_end(Scalar::Number, self.depth, self.at(at))?;
                    return Ok(at);
                }
                _ => return Err(self.syntax(at)),
            };
            at += 1;
        }
        self.state = State::Number(digits);
        visitor.scalar_piece(&chunk[start..at])?;
        Ok(at)
    }

    fn word<V: Visitor>(
        &mut self,
        chunk: &[u8],
        at: usize,
        word: Scalar,
        done: u8,
        visitor: &mut V,
    ) -> Result<usize, ReadError<V::Error>> {
        let text: &[u8] = match word {
            Scalar::True => b"true",
            Scalar::False => b"false",
            Scalar::Null | Scalar::Number => b"null",
        };
        let left = &text[usize::from(done)..];
        let here = left.len().min(chunk.len() - at);
        if let Some(wrong) = (0..here).find(|&byte| chunk[at + byte] != left[byte]) {
            return Err(self.syntax(at + wrong));
        }
        visitor.scalar_piece(&chunk[at..at + here])?;
        if here < left.len() {
            self.state = State::Word(word, done + here as u8);
        } else {
            self.value_ends();
            visitor.scalar_end(word, self.depth, self.at(at + here))?;
        }
        Ok(at + here)
    }
}

/// What may stand behind a number.
#[inline]
fn ends_number(byte: u8) -> bool {
    matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t')
}

/// What a letter behind a backslash stands for.
#[inline]
fn short_escape(byte: u8) -> Option<char> {
    Some(match byte {
        b'"' | b'\\' | b'/' => char::from(byte),
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
