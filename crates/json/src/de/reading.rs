//! The deserializer of a text that is there whole.

use super::key::Key;
use super::reads_digits;
use crate::error::{Code, Error, Result};
use crate::number::{Number, is_written_as};
use crate::read::{Parser, Text};
use serde::de::{self, DeserializeSeed, Expected, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use std::marker::PhantomData;
use std::str::FromStr;

/// By these names a number and a text of JSON ask to be read as they are written. They are `serde_json`'s, so that its own types are understood.
pub(crate) const NUMBER: &str = "$serde_json::private::Number";
pub(crate) const RAW: &str = "$serde_json::private::RawValue";
/// As the only key of an object that is made here, a name is known by where it lies: what stands in a text is a key like any other.
pub(crate) static OWN_NUMBER: &str = NUMBER;
/// By this name our own values ask for numbers with their text, where that is not what the number would be written as.
pub(crate) const VALUE: &str = "$thalweg_json::private::Value";

/// Whether what is read may keep parts of the text, which lives for `'t`.
pub(crate) trait Lend<'de, 't> {
    fn str<V: Visitor<'de>>(text: &'t str, visitor: V) -> Result<V::Value>;
    fn bytes<V: Visitor<'de>>(bytes: &'t [u8], visitor: V) -> Result<V::Value>;
}

/// The text lives as long as the value may.
pub(crate) struct Borrow;

/// It does not.
pub(crate) struct Copy;

impl<'de> Lend<'de, 'de> for Borrow {
    #[inline(always)]
    fn str<V: Visitor<'de>>(text: &'de str, visitor: V) -> Result<V::Value> {
        visitor.visit_borrowed_str(text)
    }

    #[inline]
    fn bytes<V: Visitor<'de>>(bytes: &'de [u8], visitor: V) -> Result<V::Value> {
        visitor.visit_borrowed_bytes(bytes)
    }
}

impl<'de, 't> Lend<'de, 't> for Copy {
    #[inline]
    fn str<V: Visitor<'de>>(text: &'t str, visitor: V) -> Result<V::Value> {
        visitor.visit_str(text)
    }

    #[inline]
    fn bytes<V: Visitor<'de>>(bytes: &'t [u8], visitor: V) -> Result<V::Value> {
        visitor.visit_bytes(bytes)
    }
}

/// Reads one value.
pub(crate) struct Reading<'p, 't, L> {
    pub(super) parser: &'p mut Parser<'t>,
    lend: PhantomData<L>,
}

impl<'p, 't, L> Reading<'p, 't, L> {
    #[inline(always)]
    pub(crate) fn of(parser: &'p mut Parser<'t>) -> Self {
        Reading { parser, lend: PhantomData }
    }

    /// The error of a value that is not what a visitor expects.
    #[cold]
    #[inline(never)]
    fn unexpected(self, expected: &dyn Expected) -> Error {
        let parser = self.parser;
        let word = |parser: &mut Parser<'t>, word, found| parser.word(word).map(|()| invalid_type(found, expected));
        let error = match parser.peek() {
            None => return parser.wrong(Code::EofInValue),
            Some(b'n') => word(parser, b"null", Unexpected::Unit),
            Some(b't') => word(parser, b"true", Unexpected::Bool(true)),
            Some(b'f') => word(parser, b"false", Unexpected::Bool(false)),
            Some(b'"') => {
                parser.string_behind_quote().map(|text| invalid_type(Unexpected::Str(text.as_str()), expected))
            }
            Some(b'[') => Ok(invalid_type(Unexpected::Seq, expected)),
            Some(b'{') => Ok(invalid_type(Unexpected::Map, expected)),
            Some(b'0'..=b'9' | b'-') => parser.number().map(|number| {
                let found = match number {
                    Number::Unsigned(value) => Unexpected::Unsigned(value),
                    Number::Signed(value) => Unexpected::Signed(value),
                    Number::Float(value) => Unexpected::Float(value),
                };
                invalid_type(found, expected)
            }),
            Some(_) => return parser.wrong_next(Code::NoValue),
        };
        match error {
            Ok(error) => parser.found_here(error),
            Err(error) => error,
        }
    }

    #[inline(always)]
    fn number<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.parser.peek() {
            Some(b'0'..=b'9' | b'-') => {}
            _ => return Err(self.unexpected(&visitor)),
        }
        if reads_digits::<V>() {
            return self.digits(visitor);
        }
        let value = match self.parser.number()? {
            Number::Unsigned(value) => visitor.visit_u64(value),
            Number::Signed(value) => visitor.visit_i64(value),
            Number::Float(value) => visitor.visit_f64(value),
        };
        value.map_err(|error| self.parser.found_here(error))
    }

    /// Reads a number whose digits a visitor reads from a string.
    fn digits<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let (number, text) = self.parser.number_with_text()?;
        let value = match number {
            Number::Unsigned(value) => visitor.visit_u64(value),
            Number::Signed(value) => visitor.visit_i64(value),
            Number::Float(_) => visitor.visit_str(text),
        };
        value.map_err(|error| self.parser.found_here(error))
    }

    /// Reads an integer of more than 64 bits.
    fn large<T: FromStr, R>(self, visit: impl FnOnce(T) -> Result<R>) -> Result<R> {
        if self.parser.peek().is_none() {
            return Err(self.parser.wrong(Code::EofInValue));
        }
        let digits = self.parser.integer_text()?;
        let value = digits.parse().map_err(|_| self.parser.wrong(Code::NumberRange))?;
        visit(value).map_err(|error| self.parser.found_here(error))
    }

    #[inline(always)]
    fn str<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value>
    where
        L: Lend<'de, 't>,
    {
        if self.parser.peek() != Some(b'"') {
            return Err(self.unexpected(&visitor));
        }
        let value = Reading::<L>::of(self.parser).string_behind_quote(visitor);
        value.map_err(|error| self.parser.found_here(error))
    }

    /// Reads a string whose first quote has been seen. An error of its own has no place yet.
    #[inline(always)]
    pub(super) fn string_behind_quote<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value>
    where
        L: Lend<'de, 't>,
    {
        match self.parser.string_behind_quote()? {
            Text::Borrowed(text) => L::str(text, visitor),
            Text::Unescaped(text) => visitor.visit_str(text),
        }
    }

    #[inline(always)]
    fn seq<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value>
    where
        L: Lend<'de, 't>,
    {
        self.parser.open()?;
        let value = visitor.visit_seq(Parts::<L> { parser: &mut *self.parser, is_first: true, lend: PhantomData });
        self.parser.level_up();
        // what is wrong behind the elements is less than what is wrong with the value, but is read before that has its place
        let end = end_of_array(self.parser);
        value.and_then(|value| end.map(|()| value)).map_err(|error| self.parser.found_here(error))
    }

    #[inline(always)]
    fn map<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value>
    where
        L: Lend<'de, 't>,
    {
        self.parser.open()?;
        let value = visitor.visit_map(Parts::<L> { parser: &mut *self.parser, is_first: true, lend: PhantomData });
        self.parser.level_up();
        let end = end_of_object(self.parser);
        value.and_then(|value| end.map(|()| value)).map_err(|error| self.parser.found_here(error))
    }

    /// Reads a value as its text.
    pub(super) fn raw<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value>
    where
        L: Lend<'de, 't>,
    {
        let text = self.parser.raw()?;
        visitor.visit_map(AsIs::<L> { name: RAW, text: Some(text), lend: PhantomData })
    }
}

#[cold]
fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Error {
    de::Error::invalid_type(found, expected)
}

#[inline(always)]
fn end_of_array(parser: &mut Parser<'_>) -> Result<()> {
    match parser.peek() {
        Some(b']') => {
            parser.advance();
            Ok(())
        }
        Some(b',') => {
            parser.advance();
            match parser.peek() {
                Some(b']') => Err(parser.wrong_next(Code::TrailingComma)),
                Some(_) => Err(parser.wrong_next(Code::TrailingCharacters)),
                None => Err(parser.wrong(Code::TrailingCharacters)),
            }
        }
        Some(_) => Err(parser.wrong_next(Code::TrailingCharacters)),
        None => Err(parser.wrong(Code::EofInList)),
    }
}

#[inline(always)]
fn end_of_object(parser: &mut Parser<'_>) -> Result<()> {
    match parser.peek() {
        Some(b'}') => {
            parser.advance();
            Ok(())
        }
        Some(b',') => Err(parser.wrong_next(Code::TrailingComma)),
        Some(_) => Err(parser.wrong_next(Code::TrailingCharacters)),
        None => Err(parser.wrong(Code::EofInObject)),
    }
}

/// What is read alike from any number.
macro_rules! numbers {
    ($($method:ident)*) => {$(
        #[inline(always)]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            self.number(visitor)
        }
    )*};
}

/// What is read alike from any string.
macro_rules! strings {
    ($($method:ident)*) => {$(
        #[inline(always)]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            self.str(visitor)
        }
    )*};
}

impl<'de, 't, L: Lend<'de, 't>> de::Deserializer<'de> for Reading<'_, 't, L> {
    type Error = Error;

    numbers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
        deserialize_f64
    }

    /// The nearest single is not always nearest to the nearest double, and may be none where that is one.
    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.parser.peek() {
            Some(b'0'..=b'9' | b'-') => {}
            _ => return Err(self.unexpected(&visitor)),
        }
        if reads_digits::<V>() {
            return self.digits(visitor);
        }
        let start = self.parser.position();
        let value = match self.parser.number()? {
            Number::Unsigned(value) => visitor.visit_u64(value),
            Number::Signed(value) => visitor.visit_i64(value),
            Number::Float(value) => visitor.visit_f64(self.parser.single(value, start)?.into()),
        };
        value.map_err(|error| self.parser.found_here(error))
    }

    strings! { deserialize_char deserialize_str deserialize_string deserialize_identifier }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.parser.peek() {
            Some(b'"') => self.str(visitor),
            #[cfg(feature = "arbitrary_precision")]
            Some(b'0'..=b'9' | b'-') if super::is_buffer::<V>() => {
                WithNumbers(self).number(visitor, crate::number::is_exact)
            }
            Some(b'0'..=b'9' | b'-') => self.number(visitor),
            Some(b'{') => self.map(visitor),
            Some(b'[') => self.seq(visitor),
            Some(b't' | b'f') => self.deserialize_bool(visitor),
            Some(b'n') => self.deserialize_unit(visitor),
            Some(_) => Err(self.parser.wrong_next(Code::NoValue)),
            None => Err(self.parser.wrong(Code::EofInValue)),
        }
    }

    #[inline]
    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let value = match self.parser.peek() {
            Some(b't') => self.parser.word(b"true").map(|()| true)?,
            Some(b'f') => self.parser.word(b"false").map(|()| false)?,
            _ => return Err(self.unexpected(&visitor)),
        };
        visitor.visit_bool(value).map_err(|error: Error| self.parser.found_here(error))
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.large(|value| visitor.visit_i128(value))
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.parser.peek() == Some(b'-') {
            return Err(self.parser.wrong_next(Code::NumberRange));
        }
        self.large(|value| visitor.visit_u128(value))
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let value = match self.parser.peek() {
            Some(b'"') => match self.parser.bytes_behind_quote()? {
                Ok(bytes) => L::bytes(bytes, visitor),
                Err(bytes) => visitor.visit_bytes(bytes),
            },
            Some(b'[') => return self.seq(visitor),
            _ => return Err(self.unexpected(&visitor)),
        };
        value.map_err(|error| self.parser.found_here(error))
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_bytes(visitor)
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.parser.null()? { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if !self.parser.null()? {
            return Err(self.unexpected(&visitor));
        }
        visitor.visit_unit().map_err(|error: Error| self.parser.found_here(error))
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value> {
        self.deserialize_unit(visitor)
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value> {
        match name {
            RAW => self.raw(visitor),
            VALUE => visitor.visit_newtype_struct(WithNumbers(self)),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    #[inline]
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.parser.peek() {
            Some(b'[') => self.seq(visitor),
            _ => Err(self.unexpected(&visitor)),
        }
    }

    #[inline]
    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value> {
        self.deserialize_seq(visitor)
    }

    #[inline]
    fn deserialize_tuple_struct<V: Visitor<'de>>(self, _: &'static str, _: usize, visitor: V) -> Result<V::Value> {
        self.deserialize_seq(visitor)
    }

    #[inline]
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.parser.peek() {
            Some(b'{') => self.map(visitor),
            _ => Err(self.unexpected(&visitor)),
        }
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        match self.parser.peek() {
            Some(b'{') => self.map(visitor),
            Some(b'[') => self.seq(visitor),
            _ => Err(self.unexpected(&visitor)),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        match self.parser.peek() {
            Some(b'{') => {}
            Some(b'"') => return visitor.visit_enum(UnitVariant(self)),
            Some(_) => return Err(self.parser.wrong_next(Code::NoValue)),
            None => return Err(self.parser.wrong(Code::EofInValue)),
        }
        self.parser.open()?;
        let value = visitor.visit_enum(Variant(Reading::<L>::of(self.parser)))?;
        self.parser.level_up();
        match self.parser.peek() {
            Some(b'}') => {
                self.parser.advance();
                Ok(value)
            }
            Some(_) => Err(self.parser.wrong(Code::NoValue)),
            None => Err(self.parser.wrong(Code::EofInObject)),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.parser.skip()?;
        visitor.visit_unit()
    }
}

/// The elements of an array, or the members of an object.
struct Parts<'p, 't, L> {
    parser: &'p mut Parser<'t>,
    is_first: bool,
    lend: PhantomData<L>,
}

impl<'de, 't, L: Lend<'de, 't>> de::SeqAccess<'de> for Parts<'_, 't, L> {
    type Error = Error;

    #[inline(always)]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        match self.parser.peek() {
            Some(b']') => return Ok(None),
            Some(b',') if !self.is_first => {
                self.parser.advance();
                if self.parser.peek() == Some(b']') {
                    return Err(self.parser.wrong_next(Code::TrailingComma));
                }
            }
            Some(_) if self.is_first => self.is_first = false,
            Some(_) => return Err(self.parser.wrong_next(Code::NoListComma)),
            None => return Err(self.parser.wrong(Code::EofInList)),
        }
        seed.deserialize(Reading::<L>::of(self.parser)).map(Some)
    }
}

impl<'de, 't, L: Lend<'de, 't>> de::MapAccess<'de> for Parts<'_, 't, L> {
    type Error = Error;

    #[inline(always)]
    fn next_key_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        if self.parser.peek() == Some(b'}') || !self.parser.member(&mut self.is_first)? {
            return Ok(None);
        }
        seed.deserialize(Key(Reading::<L>::of(self.parser))).map(Some)
    }

    #[inline(always)]
    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value> {
        self.parser.colon()?;
        seed.deserialize(Reading::<L>::of(self.parser))
    }
}

/// A variant that is written as an object of one member, whose key is its name.
struct Variant<'p, 't, L>(Reading<'p, 't, L>);

impl<'de, 'p, 't, L: Lend<'de, 't>> de::EnumAccess<'de> for Variant<'p, 't, L> {
    type Error = Error;
    type Variant = Reading<'p, 't, L>;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Self::Variant)> {
        let parser = &mut *self.0.parser;
        match parser.peek() {
            Some(b'"') => {}
            Some(b'}') => return Err(parser.wrong_next(Code::NoValue)),
            Some(_) => return Err(parser.wrong_next(Code::KeyString)),
            None => return Err(parser.wrong(Code::EofInObject)),
        }
        let name = seed.deserialize(Key(Reading::<L>::of(parser)));
        let name = name.map_err(|error| parser.found_here(error))?;
        parser.colon()?;
        Ok((name, self.0))
    }
}

impl<'de, 't, L: Lend<'de, 't>> de::VariantAccess<'de> for Reading<'_, 't, L> {
    type Error = Error;

    fn unit_variant(self) -> Result<()> {
        de::Deserialize::deserialize(self)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value> {
        de::Deserializer::deserialize_seq(self, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value> {
        de::Deserializer::deserialize_struct(self, "", fields, visitor)
    }
}

/// A variant without anything, which is written as its name.
struct UnitVariant<'p, 't, L>(Reading<'p, 't, L>);

impl<'de, 't, L: Lend<'de, 't>> de::EnumAccess<'de> for UnitVariant<'_, 't, L> {
    type Error = Error;
    type Variant = Nothing;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Nothing)> {
        Ok((seed.deserialize(self.0)?, Nothing))
    }
}

/// What a variant has that is written as its name.
struct Nothing;

impl<'de> de::VariantAccess<'de> for Nothing {
    type Error = Error;

    fn unit_variant(self) -> Result<()> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, _: T) -> Result<T::Value> {
        Err(invalid_type(Unexpected::UnitVariant, &"newtype variant"))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value> {
        Err(invalid_type(Unexpected::UnitVariant, &"tuple variant"))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], _: V) -> Result<V::Value> {
        Err(invalid_type(Unexpected::UnitVariant, &"struct variant"))
    }
}

/// Reads numbers with their text, where that is not what they would be written as.
struct WithNumbers<'p, 't, L>(Reading<'p, 't, L>);

impl<'t, L> WithNumbers<'_, 't, L> {
    /// Reads a number; with its text if no double is enough.
    fn number<'de, V: Visitor<'de>>(self, visitor: V, is_enough: impl Fn(f64, &str) -> bool) -> Result<V::Value>
    where
        L: Lend<'de, 't>,
    {
        let parser = self.0.parser;
        let (number, text) = parser.number_with_text()?;
        let value = match number {
            Number::Unsigned(value) => visitor.visit_u64(value),
            Number::Signed(value) => visitor.visit_i64(value),
            Number::Float(value) if is_enough(value, text) => visitor.visit_f64(value),
            Number::Float(_) => visitor.visit_map(AsIs::<L> { name: OWN_NUMBER, text: Some(text), lend: PhantomData }),
        };
        value.map_err(|error| parser.found_here(error))
    }
}

impl<'de, 't, L: Lend<'de, 't>> de::Deserializer<'de> for WithNumbers<'_, 't, L> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0.parser.peek() {
            Some(b'0'..=b'9' | b'-') => self.number(visitor, is_written_as),
            _ => self.0.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct seq
        tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// A number or a text of JSON as an object of one member: its name, and what is written.
struct AsIs<'t, L> {
    name: &'static str,
    text: Option<&'t str>,
    lend: PhantomData<L>,
}

impl<'de, 't, L: Lend<'de, 't>> de::MapAccess<'de> for AsIs<'t, L> {
    type Error = Error;

    fn next_key_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        if self.text.is_none() {
            return Ok(None);
        }
        seed.deserialize(de::value::BorrowedStrDeserializer::new(self.name)).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value> {
        seed.deserialize(Lent::<L> { text: self.text.take().unwrap_or_default(), lend: PhantomData })
    }
}

/// A part of the text.
struct Lent<'t, L> {
    text: &'t str,
    lend: PhantomData<L>,
}

impl<'de, 't, L: Lend<'de, 't>> de::Deserializer<'de> for Lent<'t, L> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        L::str(self.text, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct seq
        tuple tuple_struct map struct enum identifier ignored_any
    }
}
