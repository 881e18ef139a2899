//! Values that follow each other in a text.

use super::source::{Ask, Read};
use crate::error::{Error, Result};
use serde::de;
use std::iter::FusedIterator;
use std::marker::PhantomData;

/// The values of a text, one after the other, with or without white space between them. It ends
/// after the first error.
///
/// From a file or a socket no byte after a value is read before the next value is requested, except
/// for one after a number.
pub struct StreamDeserializer<'de, R, T> {
    read: R,
    offset: usize,
    has_failed: bool,
    /// The last value was a word, or a number at the end, and the byte after it has not been checked.
    is_unchecked: bool,
    values: PhantomData<(&'de (), T)>,
}

struct Typed<T>(PhantomData<T>);

impl<'de, T: de::Deserialize<'de>> Ask<'de> for Typed<T> {
    type Value = T;

    fn of<D: de::Deserializer<'de, Error = Error>>(self, deserializer: D) -> Result<T> {
        T::deserialize(deserializer)
    }
}

impl<'de, R: Read<'de>, T: de::Deserialize<'de>> StreamDeserializer<'de, R, T> {
    /// Of a source.
    pub fn new(read: R) -> Self {
        StreamDeserializer {
            offset: read.position(),
            read,
            has_failed: false,
            is_unchecked: false,
            values: PhantomData,
        }
    }

    /// How many bytes belong to the values that have been read, and to the white space before the next.
    pub fn byte_offset(&self) -> usize {
        self.offset
    }

    fn value(&mut self, first: u8) -> Result<T> {
        self.offset = self.read.position();
        let value = self.read.value(Typed(PhantomData))?;
        self.offset = self.read.position();
        if matches!(first, b'[' | b'"' | b'{') {
            return Ok(value);
        }
        if self.read.is_ahead() {
            self.check_delimiter()?;
        } else {
            // To read the byte now could wait for ever, or fail and lose the value.
            self.is_unchecked = true;
        }
        Ok(value)
    }

    /// A byte after a word or a number must not seem to belong to it.
    fn check_delimiter(&mut self) -> Result<()> {
        self.is_unchecked = false;
        match self.read.byte()? {
            None | Some(b' ' | b'\n' | b'\t' | b'\r' | b'"' | b'[' | b']' | b'{' | b'}' | b',' | b':') => Ok(()),
            Some(_) => Err(self.read.trailing()),
        }
    }

    /// The first byte of the next value.
    fn first(&mut self) -> Result<Option<u8>> {
        if self.is_unchecked {
            self.check_delimiter()?;
        }
        self.read.peek()
    }
}

impl<'de, R: Read<'de>, T: de::Deserialize<'de>> Iterator for StreamDeserializer<'de, R, T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        if self.has_failed {
            return None;
        }
        let value = match self.first() {
            Ok(None) => {
                self.offset = self.read.position();
                return None;
            }
            Ok(Some(first)) => self.value(first),
            Err(error) => Err(error),
        };
        self.has_failed = value.is_err();
        Some(value)
    }
}

impl<'de, R: Read<'de>, T: de::Deserialize<'de>> FusedIterator for StreamDeserializer<'de, R, T> {}
