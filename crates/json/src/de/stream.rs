//! Values that follow each other in a text.

use super::source::{Ask, Read};
use crate::error::{Error, Result};
use serde::de;
use std::iter::FusedIterator;
use std::marker::PhantomData;

/// The values of a text, one after the other, with or without white space between them. It ends behind the first error.
pub struct StreamDeserializer<'de, R, T> {
    read: R,
    offset: usize,
    has_failed: bool,
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
        StreamDeserializer { offset: read.position(), read, has_failed: false, values: PhantomData }
    }

    /// How many bytes belong to the values that have been read, and to the white space before the next.
    pub fn byte_offset(&self) -> usize {
        self.offset
    }

    fn value(&mut self, first: u8) -> Result<T> {
        self.offset = self.read.position();
        let value = self.read.value(Typed(PhantomData))?;
        self.offset = self.read.position();
        // behind what does not say itself where it ends must come what cannot belong to it
        let ends_itself = matches!(first, b'[' | b'"' | b'{');
        match self.read.byte()? {
            _ if ends_itself => Ok(value),
            None | Some(b' ' | b'\n' | b'\t' | b'\r' | b'"' | b'[' | b']' | b'{' | b'}' | b',' | b':') => Ok(value),
            Some(_) => Err(self.read.trailing()),
        }
    }
}

impl<'de, R: Read<'de>, T: de::Deserialize<'de>> Iterator for StreamDeserializer<'de, R, T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        if self.has_failed {
            return None;
        }
        let value = match self.read.peek() {
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
