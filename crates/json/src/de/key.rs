//! The deserializer of an object's key: a string, in which a number or a truth value may stand.

use super::reading::{Lend, Reading};
use crate::error::{Code, Error, Result};
use serde::de::{self, Unexpected, Visitor};
use serde::forward_to_deserialize_any;

/// Reads a key whose first quote has been seen.
pub(super) struct Key<'p, 't, L>(pub(super) Reading<'p, 't, L>);

/// Numbers within the quotes.
macro_rules! numbers {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            let parser = self.0.parser;
            parser.advance();
            if !matches!(parser.byte(), Some(b'0'..=b'9' | b'-')) {
                return Err(parser.wrong(Code::KeyNumber));
            }
            let value = de::Deserializer::$method(Reading::<L>::of(parser), visitor)?;
            match parser.byte() {
                Some(b'"') => parser.advance(),
                Some(_) => return Err(parser.wrong_next(Code::NoQuote)),
                None => return Err(parser.wrong(Code::NoQuote)),
            }
            Ok(value)
        }
    )*};
}

impl<'de, 't, L: Lend<'de, 't>> de::Deserializer<'de> for Key<'_, 't, L> {
    type Error = Error;

    numbers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128 deserialize_u8 deserialize_u16 deserialize_u32
        deserialize_u64 deserialize_u128 deserialize_f32 deserialize_f64
    }

    #[inline(always)]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        // an error of the key has its place where the object ends
        self.0.string_behind_quote(visitor)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let parser = self.0.parser;
        let value = match parser.string_behind_quote()?.as_str() {
            "true" => visitor.visit_bool(true),
            "false" => visitor.visit_bool(false),
            other => Err(de::Error::invalid_type(Unexpected::Str(other), &visitor)),
        };
        value.map_err(|error: Error| parser.found_here(error))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        // a key is never `null`
        visitor.visit_some(self)
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value> {
        match name {
            super::RAW => self.0.raw(visitor),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        de::Deserializer::deserialize_enum(self.0, name, variants, visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        de::Deserializer::deserialize_bytes(self.0, visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        de::Deserializer::deserialize_bytes(self.0, visitor)
    }

    forward_to_deserialize_any! {
        char str string unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}
