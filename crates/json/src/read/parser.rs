//! The place up to which a text has been read, and what can come there.
//!
//! What derived code calls is in line, where that pays: in debug builds it would be what takes longest to compile.
#![allow(unsafe_code)]

use crate::error::{Code, Error, Result};
use crate::number::{self, Number};
use crate::scan;
use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

/// Reads a text that is there whole.
#[derive(Debug)]
pub struct Parser<'de> {
    pub(super) text: &'de [u8],
    pub(super) at: usize,
    /// The text is known to be UTF-8. Otherwise each string is looked at when it is read.
    is_utf8: bool,
    /// How many more arrays and objects may be open.
    levels: u32,
    /// A string that is not as it is written.
    pub(super) scratch: Vec<u8>,
    /// How many bytes have been read again, and how many attempts there are of which only is asked whether they succeed: what is wrong is
    /// then not looked for in the text.
    pub(super) again: usize,
    attempts: Cell<u32>,
}

/// A place to which a parser can go back.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    at: usize,
    levels: u32,
}

/// So many times its length a text may be read again, where values are tried out or looked through for a tag.
const AGAIN_MAX: usize = 256;

/// How deep arrays and objects may be nested in what is read as a whole, as in `serde_json`.
pub const LEVELS_MAX: u32 = 127;

/// A string that has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Text<'de, 's> {
    /// As it is written.
    Borrowed(&'de str),
    /// It had escapes; it is there until the next one is read.
    Unescaped(&'s str),
}

/// Of a string that is kept elsewhere.
impl<'de, 's> From<&'s Cow<'de, str>> for Text<'de, 's> {
    #[inline]
    fn from(text: &'s Cow<'de, str>) -> Self {
        match text {
            Cow::Borrowed(text) => Self::Borrowed(text),
            Cow::Owned(text) => Self::Unescaped(text),
        }
    }
}

impl Text<'_, '_> {
    /// The string.
    #[inline]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Unescaped(text) => text,
        }
    }
}

impl<'de> Parser<'de> {
    /// At the beginning of a text, which should be UTF-8: a string that is not is an error where it is read.
    #[inline]
    pub fn new(text: &'de [u8]) -> Self {
        Self::with(text, simdutf8::basic::from_utf8(text).is_ok())
    }

    /// As [`Self::new`], of a text that is known to be UTF-8.
    #[inline]
    pub fn of_str(text: &'de str) -> Self {
        Self::with(text.as_bytes(), true)
    }

    #[inline]
    fn with(text: &'de [u8], is_utf8: bool) -> Self {
        Self { text, at: 0, is_utf8, levels: LEVELS_MAX, scratch: Vec::new(), again: 0, attempts: Cell::new(0) }
    }

    /// The place that has been read up to.
    #[doc(hidden)]
    #[inline]
    pub fn mark(&self) -> Mark {
        Mark { at: self.at, levels: self.levels }
    }

    /// Goes back, to read what is there again.
    #[doc(hidden)]
    pub fn retry(&mut self, mark: Mark) -> Result<()> {
        self.again = self.again.saturating_add(self.at - mark.at);
        if self.again / AGAIN_MAX > self.text.len() {
            return Err(self.message("the text would have to be read too many times"));
        }
        self.jump(mark);
        Ok(())
    }

    /// Goes to a place that has been passed.
    #[doc(hidden)]
    pub fn jump(&mut self, mark: Mark) {
        (self.at, self.levels) = (mark.at, mark.levels);
    }

    /// Reads a value if it is one of a kind; otherwise nothing is read.
    #[doc(hidden)]
    pub fn attempt<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<Option<T>> {
        let mark = self.mark();
        self.attempts.update(|attempts| attempts + 1);
        let value = read(self);
        self.attempts.update(|attempts| attempts - 1);
        match value {
            Ok(value) => Ok(Some(value)),
            Err(_) => self.retry(mark).map(|()| None),
        }
    }

    /// What a function finds, of which only is asked whether it succeeds.
    pub(crate) fn quietly<T>(&self, find: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        self.attempts.update(|attempts| attempts + 1);
        let found = find(self);
        self.attempts.update(|attempts| attempts - 1);
        found
    }

    /// Whether only is asked if what is read succeeds.
    pub(crate) fn is_attempted(&self) -> bool {
        self.attempts.get() > 0
    }

    /// How many bytes have been read.
    #[inline]
    pub fn position(&self) -> usize {
        self.at
    }

    /// The first byte of what comes next, behind white space.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn peek(&mut self) -> Option<u8> {
        match self.text.get(self.at) {
            Some(&byte) if byte > b' ' => return Some(byte),
            // most often it is one space
            Some(b' ') => {
                if let Some(&byte) = self.text.get(self.at + 1)
                    && byte > b' '
                {
                    self.at += 1;
                    return Some(byte);
                }
            }
            _ => {}
        }
        self.peek_behind_blanks()
    }

    #[inline(never)]
    fn peek_behind_blanks(&mut self) -> Option<u8> {
        self.at = scan::solid(self.text, self.at);
        self.text.get(self.at).copied()
    }

    /// The text must have ended, but for white space.
    #[inline]
    pub fn end(&mut self) -> Result<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.wrong_next(Code::TrailingCharacters)),
        }
    }

    /// Reads `null`, if it comes next.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn null(&mut self) -> Result<bool> {
        if self.peek() != Some(b'n') {
            return Ok(false);
        }
        self.word(b"null")?;
        Ok(true)
    }

    /// Reads `true` or `false`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn boolean(&mut self) -> Result<bool> {
        match self.peek() {
            Some(b't') => self.word(b"true").map(|()| true),
            Some(b'f') => self.word(b"false").map(|()| false),
            _ => Err(self.other("a boolean")),
        }
    }

    /// Reads `true`, `false` or `null`, of which the first letter has been seen.
    #[inline(always)]
    pub(crate) fn word(&mut self, word: &'static [u8]) -> Result<()> {
        if self.text[self.at..].starts_with(word) {
            self.at += word.len();
            return Ok(());
        }
        Err(self.no_word(word))
    }

    #[cold]
    fn no_word(&mut self, word: &'static [u8]) -> Error {
        let same = self.text[self.at..].iter().zip(word).take_while(|(byte, expected)| byte == expected).count();
        let at = self.at + same;
        if at == self.text.len() { self.wrong_at(Code::EofInValue, at) } else { self.wrong_at(Code::NoIdent, at + 1) }
    }

    /// Reads a number that `serde` would call unsigned, signed or a float.
    #[inline]
    pub(crate) fn number(&mut self) -> Result<Number> {
        let (number, end) = number::number(self.text, self.at).map_err(|wrong| self.no_number(wrong))?;
        self.at = end;
        Ok(number)
    }

    /// Reads a number with its text; what is too large for a float is infinite.
    #[cfg(feature = "serde")]
    pub(crate) fn number_with_text(&mut self) -> Result<(Number, &'de str)> {
        let start = self.at;
        let number = match number::number(self.text, start) {
            Ok((number, end)) => {
                self.at = end;
                number
            }
            Err((Code::NumberRange, _)) => {
                self.skip_number()?;
                Number::Float(f64::INFINITY)
            }
            Err(wrong) => return Err(self.no_number(wrong)),
        };
        Ok((number, self.text_since(start)))
    }

    /// A number that cannot be read. Where it is read again, it counts up to its end, since it may have been looked at up to there.
    #[cold]
    fn no_number(&mut self, (code, at): number::Wrong) -> Error {
        let error = self.wrong_at(code, at);
        if self.is_attempted() {
            let is_part = |byte: &&u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
            self.at += self.text[self.at..].iter().take_while(is_part).count();
        }
        error
    }

    /// Reads an integer that fits into 64 bits without a sign.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn unsigned(&mut self, expected: &'static str) -> Result<u64> {
        if matches!(self.peek(), Some(b'0'..=b'9'))
            && let Ok((Some(value), end)) = number::integer(self.text, self.at)
            && !matches!(self.text.get(end), Some(b'.' | b'e' | b'E'))
        {
            self.at = end;
            return Ok(value);
        }
        Err(self.other(expected))
    }

    /// Reads an integer that fits into 64 bits with a sign.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn signed(&mut self, expected: &'static str) -> Result<i64> {
        let is_negative = match self.peek() {
            Some(b'0'..=b'9') => false,
            Some(b'-') => true,
            _ => return Err(self.other(expected)),
        };
        if let Ok((Some(value), end)) = number::integer(self.text, self.at + usize::from(is_negative))
            && !matches!(self.text.get(end), Some(b'.' | b'e' | b'E'))
            && let signed = (value as i64).wrapping_mul(1 - 2 * i64::from(is_negative))
            && (signed < 0) == is_negative
        {
            self.at = end;
            return Ok(signed);
        }
        Err(self.other(expected))
    }

    /// Reads an integer of any size, as digits with a sign.
    pub(crate) fn digits(&mut self, expected: &'static str) -> Result<&'de str> {
        if !matches!(self.peek(), Some(b'0'..=b'9' | b'-')) {
            return Err(self.other(expected));
        }
        let start = self.at;
        let first = start + usize::from(self.text[start] == b'-');
        let (_, end) = number::integer(self.text, first).map_err(|wrong| self.no_number(wrong))?;
        if matches!(self.text.get(end), Some(b'.' | b'e' | b'E')) {
            return Err(self.other(expected));
        }
        self.at = end;
        // SAFETY: a sign and digits, as they have just been read.
        Ok(unsafe { std::str::from_utf8_unchecked(&self.text[start..end]) })
    }

    /// Reads a number as the nearest float.
    #[inline]
    pub fn float(&mut self) -> Result<f64> {
        if !matches!(self.peek(), Some(b'0'..=b'9' | b'-')) {
            return Err(self.other("a number"));
        }
        let (value, end) = number::decimal(self.text, self.at).map_err(|wrong| self.no_number(wrong))?;
        self.at = end;
        Ok(value)
    }

    /// Reads a number as the nearest single.
    pub fn float32(&mut self) -> Result<f32> {
        self.peek();
        let start = self.at;
        let value = self.float()?;
        self.single(value, start)
    }

    /// The single that is nearest to the number that began at `start`, of which this is the nearest double.
    pub(crate) fn single(&self, value: f64, start: usize) -> Result<f32> {
        let digits = || std::str::from_utf8(&self.text[start..self.at]).ok()?.parse().ok();
        let single = number::single(value, digits);
        if single.is_infinite() { Err(self.wrong(Code::NumberRange)) } else { Ok(single) }
    }

    /// Reads a string.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn string(&mut self) -> Result<Text<'de, '_>> {
        // most often it is there at once
        if !self.starts_with(b"\"") && self.peek() != Some(b'"') {
            return Err(self.other("a string"));
        }
        self.string_behind_quote()
    }

    /// Reads a string of which the first quote has been seen.
    #[inline(always)]
    pub(crate) fn string_behind_quote(&mut self) -> Result<Text<'de, '_>> {
        let start = self.at + 1;
        let end = scan::special(self.text, start);
        if self.text.get(end) == Some(&b'"') {
            self.at = end + 1;
            return self.plain(start, end).map(Text::Borrowed);
        }
        self.unescape(start, end, true)?;
        self.text_of_scratch().map(Text::Unescaped)
    }

    /// As [`Self::string_behind_quote`], as bytes: neither UTF-8 nor whole pairs of surrogates are asked for, and control characters may stand in it. `Err` is what was unescaped.
    #[cfg(feature = "serde")]
    pub(crate) fn bytes_behind_quote(&mut self) -> Result<std::result::Result<&'de [u8], &[u8]>> {
        let start = self.at + 1;
        let mut end = scan::special(self.text, start);
        while self.text.get(end).is_some_and(|&byte| byte < b' ') {
            end = scan::special(self.text, end + 1);
        }
        if self.text.get(end) == Some(&b'"') {
            self.at = end + 1;
            return Ok(Ok(&self.text[start..end]));
        }
        self.unescape(start, end, false)?;
        Ok(Err(&self.scratch))
    }

    /// What stands between two ASCII characters.
    #[inline(always)]
    pub(super) fn plain(&self, start: usize, end: usize) -> Result<&'de str> {
        let bytes = &self.text[start..end];
        if self.is_utf8 {
            // SAFETY: the text is UTF-8, and what is cut out of it begins and ends beside an ASCII character.
            return Ok(unsafe { std::str::from_utf8_unchecked(bytes) });
        }
        std::str::from_utf8(bytes).map_err(|error| self.wrong_at(Code::Unicode, start + error.valid_up_to() + 1))
    }

    fn text_of_scratch(&self) -> Result<&str> {
        if self.is_utf8 {
            // SAFETY: pieces of a text that is UTF-8, cut out beside ASCII characters, and whole characters that escapes stood for.
            return Ok(unsafe { std::str::from_utf8_unchecked(&self.scratch) });
        }
        // where escapes stood, what is wrong is about there
        std::str::from_utf8(&self.scratch).map_err(|error| {
            let behind = self.scratch.len() - error.valid_up_to();
            self.wrong_at(Code::Unicode, self.at.saturating_sub(behind))
        })
    }

    /// Reads a string that began at `start` and is plain up to `end`, into the scratch.
    #[inline(never)]
    fn unescape(&mut self, start: usize, end: usize, as_text: bool) -> Result<()> {
        self.scratch.clear();
        self.scratch.extend_from_slice(&self.text[start..end]);
        self.at = end;
        loop {
            self.unescape_most();
            match self.text.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    self.at += 1;
                    self.escape(as_text)?;
                }
                Some(byte) if *byte < b' ' && as_text => return Err(self.wrong_at(Code::Control, self.at + 1)),
                Some(byte) => {
                    self.scratch.push(*byte);
                    self.at += 1;
                }
                None => return Err(self.wrong_at(Code::EofInString, self.at)),
            }
        }
    }

    /// Reads on in a string for as long as that is easy.
    #[inline(always)]
    fn unescape_most(&mut self) {
        self.scratch.reserve(2 * scan::BEYOND_BYTES);
        // SAFETY: the end lies as far before that of the room; what lies before the place that is returned has been written.
        unsafe {
            let start = self.scratch.as_mut_ptr();
            let end = start.add(self.scratch.capacity() - scan::BEYOND_BYTES);
            let (at, to) = scan::copy_unescaped(start.add(self.scratch.len()), end, self.text, self.at);
            self.scratch.set_len(to.offset_from_unsigned(start));
            self.at = at;
        }
    }

    /// Reads an escape, of which the backslash has been read.
    fn escape(&mut self, as_text: bool) -> Result<()> {
        let Some(&byte) = self.text.get(self.at) else { return Err(self.wrong(Code::EofInString)) };
        self.at += 1;
        let short = match byte {
            b'"' | b'\\' | b'/' => byte,
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => return self.unicode(as_text),
            _ => return Err(self.wrong(Code::Escape)),
        };
        self.scratch.push(short);
        Ok(())
    }

    /// Reads a character by its number, of which the `u` has been read, and a second half where the first is one.
    fn unicode(&mut self, as_text: bool) -> Result<()> {
        let mut code = self.hex()?;
        if as_text && matches!(code, 0xdc00..=0xdfff) {
            return Err(self.wrong(Code::Surrogate));
        }
        while matches!(code, 0xd800..=0xdbff) {
            match (self.text.get(self.at), self.text.get(self.at + 1)) {
                (Some(b'\\'), Some(b'u')) => self.at += 2,
                // as bytes, half of a pair is taken as it is
                _ if !as_text => break,
                (Some(b'\\'), Some(_)) => return Err(self.wrong_at(Code::HexEscape, self.at + 2)),
                (Some(b'\\'), None) => return Err(self.wrong_at(Code::EofInString, self.at + 1)),
                (Some(_), _) => return Err(self.wrong_at(Code::HexEscape, self.at + 1)),
                (None, _) => return Err(self.wrong(Code::EofInString)),
            }
            let second = self.hex()?;
            if let 0xdc00..=0xdfff = second {
                code = 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00);
                break;
            }
            if as_text {
                return Err(self.wrong(Code::Surrogate));
            }
            self.half_of_pair(code);
            code = second;
        }
        match char::from_u32(code) {
            Some(character) => self.scratch.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
            None => self.half_of_pair(code),
        }
        Ok(())
    }

    /// Half of a surrogate pair, as WTF-8 has it.
    fn half_of_pair(&mut self, code: u32) {
        let bytes = [0xe0 | (code >> 12) as u8, 0x80 | (code >> 6 & 0x3f) as u8, 0x80 | (code & 0x3f) as u8];
        self.scratch.extend_from_slice(&bytes);
    }

    /// Reads four hexadecimal digits.
    pub(super) fn hex(&mut self) -> Result<u32> {
        let Some(digits) = self.text[self.at..].first_chunk::<4>() else {
            return Err(self.wrong_at(Code::EofInString, self.text.len()));
        };
        let mut code = 0;
        for &digit in digits {
            let Some(digit) = char::from(digit).to_digit(16) else {
                return Err(self.wrong_at(Code::Escape, self.at + 4));
            };
            code = code << 4 | digit;
        }
        self.at += 4;
        Ok(code)
    }

    /// Reads the bracket that opens an array.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn array_start(&mut self) -> Result<()> {
        if self.peek() != Some(b'[') {
            return Err(self.other("an array"));
        }
        self.open()
    }

    /// Whether another element comes, up to which is read; otherwise the bracket that closes the array.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn element(&mut self, is_first: &mut bool) -> Result<bool> {
        match self.peek() {
            Some(b',') if !*is_first => {
                self.at += 1;
                if self.peek() == Some(b']') {
                    return Err(self.wrong_next(Code::TrailingComma));
                }
            }
            Some(b']') => {
                self.close();
                return Ok(false);
            }
            Some(_) if *is_first => *is_first = false,
            Some(_) => return Err(self.wrong_next(Code::NoListComma)),
            None => return Err(self.wrong(Code::EofInList)),
        }
        Ok(true)
    }

    /// Reads the bracket that opens an object.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn object_start(&mut self) -> Result<()> {
        if self.peek() != Some(b'{') {
            return Err(self.other("an object"));
        }
        self.open()
    }

    /// Reads the key of the next member, without its colon; `None` where the object has ended.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn key(&mut self, is_first: &mut bool) -> Result<Option<Text<'de, '_>>> {
        if self.member(is_first)? { self.string_behind_quote().map(Some) } else { Ok(None) }
    }

    /// Whether another member comes, up to whose key is read; otherwise the bracket that closes the object.
    #[inline(always)]
    pub(crate) fn member(&mut self, is_first: &mut bool) -> Result<bool> {
        match self.peek() {
            Some(b',') if !*is_first => {
                self.at += 1;
                match self.peek() {
                    Some(b'"') => return Ok(true),
                    _ => return Err(self.no_member()),
                }
            }
            Some(b'}') => {
                self.close();
                return Ok(false);
            }
            Some(b'"') if *is_first => *is_first = false,
            Some(_) if *is_first => return Err(self.wrong_next(Code::KeyString)),
            Some(_) => return Err(self.wrong_next(Code::NoObjectComma)),
            None => return Err(self.wrong(Code::EofInObject)),
        }
        Ok(true)
    }

    #[cold]
    fn no_member(&mut self) -> Error {
        match self.peek() {
            Some(b'}') => self.wrong_next(Code::TrailingComma),
            Some(_) => self.wrong_next(Code::KeyString),
            None => self.wrong(Code::EofInValue),
        }
    }

    /// Reads the colon behind a key.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn colon(&mut self) -> Result<()> {
        match self.peek() {
            Some(b':') => {
                self.at += 1;
                Ok(())
            }
            Some(_) => Err(self.wrong_next(Code::NoColon)),
            None => Err(self.wrong(Code::EofInObject)),
        }
    }

    /// A bracket that has been seen opens.
    #[inline(always)]
    pub(crate) fn open(&mut self) -> Result<()> {
        if self.levels == 0 {
            return Err(self.wrong_next(Code::Levels));
        }
        self.levels -= 1;
        self.at += 1;
        Ok(())
    }

    /// A bracket that has been seen closes.
    #[inline(always)]
    pub(crate) fn close(&mut self) {
        self.levels += 1;
        self.at += 1;
    }

    /// Whether this comes next, without white space.
    #[inline(always)]
    pub(crate) fn starts_with(&self, bytes: &'static [u8]) -> bool {
        self.text.get(self.at..).is_some_and(|rest| rest.starts_with(bytes))
    }

    /// Behind a comma that comes next: whether there is a quote behind white space, up to which is read then.
    #[inline(always)]
    pub(crate) fn quote_behind_comma(&mut self) -> bool {
        if !self.starts_with(b",") {
            return false;
        }
        let at = scan::solid(self.text, self.at + 1);
        let is_there = self.text.get(at) == Some(&b'"');
        if is_there {
            self.at = at;
        }
        is_there
    }

    /// A byte that has been seen is read.
    #[inline(always)]
    pub(crate) fn advance(&mut self) {
        self.at += 1;
    }

    /// Bytes that have been seen are read.
    #[inline(always)]
    pub(crate) fn advance_by(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// The text that has been read from a place before a character on.
    #[cfg(feature = "serde")]
    pub(crate) fn text_since(&self, start: usize) -> &'de str {
        // what is read of numbers is ASCII
        std::str::from_utf8(&self.text[start..self.at]).unwrap_or_default()
    }

    /// The next byte, which may be white space.
    #[cfg(feature = "serde")]
    #[inline]
    pub(crate) fn byte(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Reads an integer of any size, as digits with a sign. What comes behind them is not looked at.
    #[cfg(feature = "serde")]
    pub(crate) fn integer_text(&mut self) -> Result<&'de str> {
        let start = self.at;
        let first = start + usize::from(self.byte() == Some(b'-'));
        if !self.text.get(first).is_some_and(u8::is_ascii_digit) {
            return Err(self.wrong_at(Code::Number, self.text.len().min(first + 1)));
        }
        let (_, end) = number::integer(self.text, first).map_err(|(code, at)| self.wrong_at(code, at))?;
        self.at = end;
        // SAFETY: a sign and digits, as they have just been read.
        Ok(unsafe { std::str::from_utf8_unchecked(&self.text[start..end]) })
    }

    /// A bracket closes that has not been seen yet: one more level may be opened again.
    #[cfg(feature = "serde")]
    #[inline(always)]
    pub(crate) fn level_up(&mut self) {
        self.levels += 1;
    }

    /// Lets arrays and objects be nested as deep as the stack allows.
    #[cfg(feature = "serde")]
    pub(crate) fn disable_level_limit(&mut self) {
        self.levels = u32::MAX / 2;
    }

    /// The error of a field that is not there.
    #[cold]
    pub fn missing_field(&self, field: &'static str) -> Error {
        self.message(format_args!("missing field `{field}`"))
    }

    /// The error of a field that came before.
    #[cold]
    pub fn duplicate_field(&self, field: &'static str) -> Error {
        self.message(format_args!("duplicate field `{field}`"))
    }

    /// An error of the value's own, found here.
    #[cold]
    pub fn message(&self, message: impl fmt::Display) -> Error {
        self.found_here(Error::message(message))
    }

    /// An error that has no place yet was found here.
    #[cold]
    pub(crate) fn found_here(&self, error: Error) -> Error {
        if self.is_attempted() { error } else { error.or_in_text(self.text, self.at) }
    }

    /// What is wrong behind what has been read.
    #[cold]
    pub(crate) fn wrong(&self, code: Code) -> Error {
        self.wrong_at(code, self.at)
    }

    /// What is wrong with the byte that comes next.
    #[cold]
    pub(crate) fn wrong_next(&self, code: Code) -> Error {
        self.wrong_at(code, self.at + 1)
    }

    #[cold]
    pub(super) fn wrong_at(&self, code: Code, at: usize) -> Error {
        if self.is_attempted() { Error::new(code, 0, 0) } else { Error::in_text(code, self.text, at) }
    }

    /// The error of a value that is none of those that were expected: what it is, or that it is none.
    #[cold]
    #[inline(never)]
    pub(crate) fn other(&mut self, expected: &str) -> Error {
        let found = match self.peek() {
            None => return self.wrong(Code::EofInValue),
            Some(b'n') => self.word(b"null").map(|()| "null".to_owned()),
            Some(b't') => self.word(b"true").map(|()| "boolean `true`".to_owned()),
            Some(b'f') => self.word(b"false").map(|()| "boolean `false`".to_owned()),
            Some(b'"') => self.string_behind_quote().map(|text| format!("string {:?}", text.as_str())),
            Some(b'[') => Ok("sequence".to_owned()),
            Some(b'{') => Ok("map".to_owned()),
            Some(b'0'..=b'9' | b'-') => {
                // an integer is of the right type for another one, whose name is short
                let wrong =
                    if matches!(expected.as_bytes(), [b'u' | b'i', b'0'..=b'9' | b's', ..]) { "value" } else { "type" };
                return match self.number() {
                    Ok(Number::Float(value)) => self
                        .message(format_args!("invalid type: floating point `{}`, expected {expected}", shown(value))),
                    Ok(Number::Unsigned(value)) => {
                        self.message(format_args!("invalid {wrong}: integer `{value}`, expected {expected}"))
                    }
                    Ok(Number::Signed(value)) => {
                        self.message(format_args!("invalid {wrong}: integer `{value}`, expected {expected}"))
                    }
                    Err(error) => error,
                };
            }
            Some(_) => return self.wrong_next(Code::NoValue),
        };
        match found {
            Ok(found) => self.message(format_args!("invalid type: {found}, expected {expected}")),
            Err(error) => error,
        }
    }
}

/// A float with its point, so that it is seen to be one.
fn shown(value: f64) -> String {
    zmij::Buffer::new().format(value).to_owned()
}
