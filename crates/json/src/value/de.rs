//! Values that serde makes, and what it reads from one, owned or borrowed.

use super::number::{Digits, Kind};
use super::{Map, Number, Value};
use crate::de::{OWN_NUMBER, RAW, VALUE};
use crate::error::{Code, Error, Result};
use serde::de::{self, DeserializeSeed, Expected, IntoDeserializer, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};
use std::borrow::Cow;
use std::fmt;

impl<'de> Deserialize<'de> for Value {
    #[inline]
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
        // our own then tells numbers with their text
        deserializer.deserialize_newtype_struct(VALUE, Values)
    }
}

struct Values;

impl<'de> Visitor<'de> for Values {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_newtype_struct<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(Values)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i128<E: de::Error>(self, value: i128) -> Result<Value, E> {
        Number::from_i128(value).map(Value::Number).ok_or_else(|| de::Error::custom(Code::NumberRange))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u128<E: de::Error>(self, value: u128) -> Result<Value, E> {
        Number::from_u128(value).map(Value::Number).ok_or_else(|| de::Error::custom(Code::NumberRange))
    }

    fn visit_f32<E>(self, value: f32) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Deserialize::deserialize(deserializer)
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(element) = elements.next_element()? {
            array.push(element);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        match members.next_key::<FirstKey>()? {
            None => return Ok(Value::Object(object)),
            Some(FirstKey::OwnNumber) => return members.next_value::<Digits>().map(|digits| digits.0.into()),
            Some(FirstKey::Any(key)) => object.insert(key, members.next_value()?),
        };
        while let Some((key, value)) = members.next_entry()? {
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

/// The key that comes first, which may be that of a number with its text.
pub(super) enum FirstKey {
    OwnNumber,
    Any(String),
}

impl<'de> Deserialize<'de> for FirstKey {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<FirstKey, D::Error> {
        struct Keys;

        impl<'de> Visitor<'de> for Keys {
            type Value = FirstKey;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, key: &'de str) -> Result<FirstKey, E> {
                let is_own = std::ptr::eq(key.as_ptr(), OWN_NUMBER.as_ptr());
                Ok(if is_own { FirstKey::OwnNumber } else { FirstKey::Any(key.to_owned()) })
            }

            fn visit_str<E>(self, key: &str) -> Result<FirstKey, E> {
                Ok(FirstKey::Any(key.to_owned()))
            }

            fn visit_string<E>(self, key: String) -> Result<FirstKey, E> {
                Ok(FirstKey::Any(key))
            }
        }

        deserializer.deserialize_string(Keys)
    }
}

impl Value {
    #[cold]
    fn invalid_type<E: de::Error>(&self, expected: &dyn Expected) -> E {
        de::Error::invalid_type(self.unexpected(), expected)
    }

    #[cold]
    fn unexpected(&self) -> Unexpected<'_> {
        match self {
            Value::Null => Unexpected::Unit,
            Value::Bool(value) => Unexpected::Bool(*value),
            Value::Number(number) => number.unexpected(),
            Value::String(text) => Unexpected::Str(text),
            Value::Array(_) => Unexpected::Seq,
            Value::Object(_) => Unexpected::Map,
        }
    }
}

/// The methods of serde's by which kinds of values are read: those that read any of a kind, and refuse others.
macro_rules! of_kinds {
    ($($method:ident($($argument:ident: $type:ty),*): $($kind:ident)|*;)*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value> {
            $(let _ = $argument;)*
            match self {
                $(Value::$kind(_))|* => self.deserialize_any(visitor),
                _ => Err(self.invalid_type(&visitor)),
            }
        }
    )*};
}

macro_rules! deserializer {
    ($type:ty, |$visitor:ident, $text:ident| $visit_text:expr) => {
        impl<'de> serde::Deserializer<'de> for $type {
            type Error = Error;

            fn deserialize_any<V: Visitor<'de>>(self, $visitor: V) -> Result<V::Value> {
                match self {
                    Value::Null => $visitor.visit_unit(),
                    Value::Bool(_) => $visitor.visit_bool(matches!(self, Value::Bool(true))),
                    Value::Number(number) => number.visit($visitor),
                    Value::String($text) => $visit_text,
                    Value::Array(elements) => visit_array(elements, $visitor),
                    Value::Object(members) => visit_object(members, $visitor),
                }
            }

            of_kinds! {
                deserialize_bool(): Bool;
                deserialize_i8(): Number;
                deserialize_i16(): Number;
                deserialize_i32(): Number;
                deserialize_i64(): Number;
                deserialize_u8(): Number;
                deserialize_u16(): Number;
                deserialize_u32(): Number;
                deserialize_u64(): Number;
                deserialize_char(): String;
                deserialize_str(): String;
                deserialize_string(): String;
                deserialize_identifier(): String;
                deserialize_bytes(): String | Array;
                deserialize_byte_buf(): String | Array;
                deserialize_seq(): Array;
                deserialize_tuple(len: usize): Array;
                deserialize_tuple_struct(name: &'static str, len: usize): Array;
                deserialize_map(): Object;
                deserialize_struct(name: &'static str, fields: &'static [&'static str]): Array | Object;
            }

            fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
                match self {
                    Value::Number(number) => number.visit_wide(visitor),
                    other => Err(other.invalid_type(&visitor)),
                }
            }

            fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
                self.deserialize_i128(visitor)
            }

            fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
                match self {
                    Value::Number(number) => number.visit_single(visitor),
                    other => Err(other.invalid_type(&visitor)),
                }
            }

            fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
                match self {
                    Value::Number(number) => number.visit_float(visitor),
                    other => Err(other.invalid_type(&visitor)),
                }
            }

            fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
                match self {
                    Value::Null => visitor.visit_none(),
                    _ => visitor.visit_some(self),
                }
            }

            fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
                match self {
                    Value::Null => visitor.visit_unit(),
                    _ => Err(self.invalid_type(&visitor)),
                }
            }

            fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value> {
                self.deserialize_unit(visitor)
            }

            fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value> {
                match (name, self) {
                    (RAW, value) => visitor.visit_map(AsIs { name: RAW, text: Some(value.to_string()) }),
                    // its digits stay as they are
                    (VALUE, Value::Number(Number { kind: Kind::Text(text), .. })) => {
                        visitor.visit_map(AsIs::number(text.as_ref()))
                    }
                    (_, value) => visitor.visit_newtype_struct(value),
                }
            }

            fn deserialize_enum<V: Visitor<'de>>(
                self,
                _: &'static str,
                _: &'static [&'static str],
                visitor: V,
            ) -> Result<V::Value> {
                match self {
                    Value::String(name) => visitor.visit_enum(Enum { name: Cow::from(name), value: None::<$type> }),
                    Value::Object(members) => visit_variant(members, visitor),
                    other => Err(other.invalid_type(&"string or map")),
                }
            }

            fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
                visitor.visit_unit()
            }
        }

        impl<'de> IntoDeserializer<'de, Error> for $type {
            type Deserializer = Self;

            fn into_deserializer(self) -> Self {
                self
            }
        }

        impl<'de> de::VariantAccess<'de> for Content<$type> {
            type Error = Error;

            fn unit_variant(self) -> Result<()> {
                self.0.map_or(Ok(()), Deserialize::deserialize)
            }

            fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value> {
                seed.deserialize(self.0.ok_or_else(|| unit_variant(&"newtype variant"))?)
            }

            fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value> {
                match self.0.ok_or_else(|| unit_variant(&"tuple variant"))? {
                    Value::Array(elements) if elements.is_empty() => visitor.visit_unit(),
                    Value::Array(elements) => visit_array(elements, visitor),
                    other => Err(other.invalid_type(&"tuple variant")),
                }
            }

            fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value> {
                match self.0.ok_or_else(|| unit_variant(&"struct variant"))? {
                    Value::Object(members) => visit_object(members, visitor),
                    other => Err(other.invalid_type(&"struct variant")),
                }
            }
        }
    };
}

deserializer!(Value, |visitor, text| visitor.visit_string(text));
deserializer!(&'de Value, |visitor, text| visitor.visit_borrowed_str(text));

macro_rules! map_deserializer {
    ($type:ty) => {
        impl<'de> serde::Deserializer<'de> for $type {
            type Error = Error;

            fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
                visit_object(self, visitor)
            }

            fn deserialize_enum<V: Visitor<'de>>(
                self,
                _: &'static str,
                _: &'static [&'static str],
                visitor: V,
            ) -> Result<V::Value> {
                visit_variant(self, visitor)
            }

            fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
                visitor.visit_unit()
            }

            forward_to_deserialize_any! {
                bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
                newtype_struct seq tuple tuple_struct map struct identifier
            }
        }

        impl<'de> IntoDeserializer<'de, Error> for $type {
            type Deserializer = Self;

            fn into_deserializer(self) -> Self {
                self
            }
        }
    };
}

map_deserializer!(Map<String, Value>);
map_deserializer!(&'de Map<String, Value>);

macro_rules! number_deserializer {
    ($type:ty) => {
        impl<'de> serde::Deserializer<'de> for $type {
            type Error = Error;

            fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
                self.visit(visitor)
            }

            fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
                self.visit_wide(visitor)
            }

            fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
                self.visit_wide(visitor)
            }

            fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
                self.visit_single(visitor)
            }

            fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
                self.visit_float(visitor)
            }

            fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value> {
                match (name, &self.kind) {
                    // its digits stay as they are
                    (VALUE, Kind::Text(text)) => visitor.visit_map(AsIs::number(text.as_ref())),
                    _ => self.visit(visitor),
                }
            }

            forward_to_deserialize_any! {
                bool i8 i16 i32 i64 u8 u16 u32 u64 char str string bytes byte_buf option unit unit_struct seq tuple
                tuple_struct map struct enum identifier ignored_any
            }
        }
    };
}

number_deserializer!(Number);
number_deserializer!(&Number);

fn unit_variant(expected: &dyn Expected) -> Error {
    de::Error::invalid_type(Unexpected::UnitVariant, expected)
}

fn visit_array<'de, V: Visitor<'de>, I>(elements: I, visitor: V) -> Result<V::Value>
where
    I: IntoIterator<Item: serde::Deserializer<'de, Error = Error>, IntoIter: ExactSizeIterator>,
{
    let mut elements = Elements(elements.into_iter());
    let len = elements.0.len();
    let value = visitor.visit_seq(&mut elements)?;
    match elements.0.len() {
        0 => Ok(value),
        _ => Err(de::Error::invalid_length(len, &"fewer elements in array")),
    }
}

fn visit_object<'de, V: Visitor<'de>, K, T, I>(members: I, visitor: V) -> Result<V::Value>
where
    K: Into<Cow<'de, str>>,
    T: serde::Deserializer<'de, Error = Error>,
    I: IntoIterator<Item = (K, T), IntoIter: ExactSizeIterator>,
{
    let mut members = Members { members: members.into_iter(), value: None };
    let len = members.members.len();
    let value = visitor.visit_map(&mut members)?;
    match members.members.len() {
        0 => Ok(value),
        _ => Err(de::Error::invalid_length(len, &"fewer elements in map")),
    }
}

/// An enum as an object with the variant's name as its only key.
fn visit_variant<'de, V: Visitor<'de>, K, T>(members: impl IntoIterator<Item = (K, T)>, visitor: V) -> Result<V::Value>
where
    K: Into<Cow<'de, str>>,
    Content<T>: de::VariantAccess<'de, Error = Error>,
{
    let mut members = members.into_iter();
    match (members.next(), members.next()) {
        (Some((name, value)), None) => visitor.visit_enum(Enum { name: name.into(), value: Some(value) }),
        _ => Err(de::Error::invalid_value(Unexpected::Map, &"map with a single key")),
    }
}

struct Elements<I>(I);

impl<'de, I: ExactSizeIterator<Item: serde::Deserializer<'de, Error = Error>>> SeqAccess<'de> for Elements<I> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        self.0.next().map(|element| seed.deserialize(element)).transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

struct Members<I, T> {
    members: I,
    value: Option<T>,
}

impl<'de, K, T, I> MapAccess<'de> for Members<I, T>
where
    K: Into<Cow<'de, str>>,
    T: serde::Deserializer<'de, Error = Error>,
    I: ExactSizeIterator<Item = (K, T)>,
{
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        let Some((key, value)) = self.members.next() else { return Ok(None) };
        self.value = Some(value);
        seed.deserialize(Key(key.into())).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value> {
        seed.deserialize(self.value.take().ok_or_else(|| Error::message("value is missing"))?)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.members.len())
    }
}

struct Enum<'de, T> {
    name: Cow<'de, str>,
    value: Option<T>,
}

struct Content<T>(Option<T>);

impl<'de, T> de::EnumAccess<'de> for Enum<'de, T>
where
    Content<T>: de::VariantAccess<'de, Error = Error>,
{
    type Error = Error;
    type Variant = Content<T>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Content<T>)> {
        Ok((seed.deserialize(Key(self.name))?, Content(self.value)))
    }
}

/// A key, in which a number or a truth value may stand.
struct Key<'de>(Cow<'de, str>);

macro_rules! numbers {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            match self.0.parse::<Number>() {
                Ok(number) => number.visit_wide(visitor),
                Err(_) => Err(Error::new(Code::KeyNumber, 0, 0)),
            }
        }
    )*};
}

impl<'de> serde::Deserializer<'de> for Key<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0 {
            Cow::Borrowed(key) => visitor.visit_borrowed_str(key),
            Cow::Owned(key) => visitor.visit_string(key),
        }
    }

    numbers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128 deserialize_u8 deserialize_u16 deserialize_u32
        deserialize_u64 deserialize_u128 deserialize_f32 deserialize_f64
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match &*self.0 {
            "true" => visitor.visit_bool(true),
            "false" => visitor.visit_bool(false),
            other => Err(de::Error::invalid_type(Unexpected::Str(other), &visitor)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        // a key is never `null`
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        visitor.visit_enum(Enum { name: self.0, value: None::<Value> })
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// A number or a text of JSON as an object of one member.
pub(super) struct AsIs {
    name: &'static str,
    text: Option<String>,
}

impl AsIs {
    pub(super) fn number(text: &str) -> AsIs {
        AsIs { name: OWN_NUMBER, text: Some(text.to_owned()) }
    }
}

impl<'de> MapAccess<'de> for AsIs {
    type Error = Error;

    fn next_key_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        if self.text.is_none() {
            return Ok(None);
        }
        seed.deserialize(de::value::BorrowedStrDeserializer::new(self.name)).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value> {
        seed.deserialize(self.text.take().unwrap_or_default().into_deserializer())
    }
}
