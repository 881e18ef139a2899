//! Values made of what serde writes.

use super::{Map, Number, Value};
use crate::error::{Error, Result};
use crate::ser::key::{AsIs, Key};
use crate::ser::{NUMBER, RAW};
use serde::Serialize;
use serde::ser;
use std::fmt;

impl Serialize for Value {
    #[inline]
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(value) => serializer.serialize_bool(*value),
            Value::Number(number) => number.serialize(serializer),
            Value::String(text) => serializer.serialize_str(text),
            Value::Array(elements) => elements.serialize(serializer),
            Value::Object(members) => members.serialize(serializer),
        }
    }
}

/// Makes a [`Value`] of what serde writes.
#[derive(Debug, Clone, Copy)]
pub struct Serializer;

/// The parts of one, and what it is the variant of.
pub struct Array {
    elements: Vec<Value>,
    variant: Option<&'static str>,
}

pub struct Object {
    members: Map<String, Value>,
    key: Option<String>,
    variant: Option<&'static str>,
}

pub enum Fields {
    Object(Object),
    /// A number or a text of JSON, and how its text is read.
    AsIs(Option<Value>, fn(&str) -> Result<Value>),
}

macro_rules! into {
    ($($method:ident($type:ty);)*) => {$(
        fn $method(self, value: $type) -> Result<Value> {
            Ok(value.into())
        }
    )*};
}

impl ser::Serializer for Serializer {
    type Ok = Value;
    type Error = Error;
    type SerializeSeq = Array;
    type SerializeTuple = Array;
    type SerializeTupleStruct = Array;
    type SerializeTupleVariant = Array;
    type SerializeMap = Object;
    type SerializeStruct = Fields;
    type SerializeStructVariant = Object;

    into! {
        serialize_bool(bool);
        serialize_i8(i8);
        serialize_i16(i16);
        serialize_i32(i32);
        serialize_i64(i64);
        serialize_u8(u8);
        serialize_u16(u16);
        serialize_u32(u32);
        serialize_u64(u64);
        serialize_f32(f32);
        serialize_f64(f64);
        serialize_str(&str);
    }

    fn serialize_i128(self, value: i128) -> Result<Value> {
        Ok(Number::from_i128(value).map_or(Value::Null, Value::Number))
    }

    fn serialize_u128(self, value: u128) -> Result<Value> {
        Ok(Number::from_u128(value).map_or(Value::Null, Value::Number))
    }

    fn serialize_char(self, value: char) -> Result<Value> {
        Ok(Value::String(value.into()))
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<Value> {
        Ok(value.into())
    }

    fn serialize_none(self) -> Result<Value> {
        Ok(Value::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Value> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Value> {
        Ok(Value::Null)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Value> {
        Ok(Value::Null)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<Value> {
        Ok(variant.into())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<Value> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Value> {
        Ok(of_variant(Some(variant), value.serialize(self)?))
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<Array> {
        // what is said of the length is not trusted with memory
        let elements = Vec::with_capacity(len.unwrap_or(0).min(ELEMENTS_RESERVED_MAX));
        Ok(Array { elements, variant: None })
    }

    fn serialize_tuple(self, len: usize) -> Result<Array> {
        self.serialize_seq(Some(len))
    }

    fn serialize_tuple_struct(self, _: &'static str, len: usize) -> Result<Array> {
        self.serialize_seq(Some(len))
    }

    fn serialize_tuple_variant(self, _: &'static str, _: u32, variant: &'static str, len: usize) -> Result<Array> {
        Ok(Array { variant: Some(variant), ..self.serialize_seq(Some(len))? })
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Object> {
        Ok(Object { members: Map::new(), key: None, variant: None })
    }

    fn serialize_struct(self, name: &'static str, len: usize) -> Result<Fields> {
        match name {
            // Not every value of JSON is a number.
            NUMBER => Ok(Fields::AsIs(None, |text| text.parse().map(Value::Number))),
            RAW => Ok(Fields::AsIs(None, |text| crate::from_str(text))),
            _ => self.serialize_map(Some(len)).map(Fields::Object),
        }
    }

    fn serialize_struct_variant(self, _: &'static str, _: u32, variant: &'static str, len: usize) -> Result<Object> {
        Ok(Object { variant: Some(variant), ..self.serialize_map(Some(len))? })
    }

    fn collect_str<T: fmt::Display + ?Sized>(self, value: &T) -> Result<Value> {
        Ok(Value::String(value.to_string()))
    }
}

const ELEMENTS_RESERVED_MAX: usize = 4096;

/// A value as the variant of an enum: an object with its name as the only key.
fn of_variant(variant: Option<&'static str>, value: Value) -> Value {
    match variant {
        Some(variant) => Value::from_iter([(variant, value)]),
        None => value,
    }
}

macro_rules! arrays {
    ($($trait:ident: $method:ident;)*) => {$(
        impl ser::$trait for Array {
            type Ok = Value;
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
                self.elements.push(value.serialize(Serializer)?);
                Ok(())
            }

            fn end(self) -> Result<Value> {
                Ok(of_variant(self.variant, Value::Array(self.elements)))
            }
        }
    )*};
}

arrays! {
    SerializeSeq: serialize_element;
    SerializeTuple: serialize_element;
    SerializeTupleStruct: serialize_field;
    SerializeTupleVariant: serialize_field;
}

impl ser::SerializeMap for Object {
    type Ok = Value;
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<()> {
        self.key = Some(key.serialize(Key(|key: &str| Ok(key.to_owned())))?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        let key = self.key.take().ok_or_else(|| Error::message("a value was written before its key"))?;
        self.members.insert(key, value.serialize(Serializer)?);
        Ok(())
    }

    fn end(self) -> Result<Value> {
        Ok(of_variant(self.variant, Value::Object(self.members)))
    }
}

impl ser::SerializeStructVariant for Object {
    type Ok = Value;
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<()> {
        ser::SerializeMap::serialize_entry(self, key, value)
    }

    fn end(self) -> Result<Value> {
        ser::SerializeMap::end(self)
    }
}

impl ser::SerializeStruct for Fields {
    type Ok = Value;
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<()> {
        match self {
            Fields::Object(object) => ser::SerializeMap::serialize_entry(object, key, value),
            Fields::AsIs(is, read) => {
                *is = Some(value.serialize(AsIs(|text: &str| read(text)))?);
                Ok(())
            }
        }
    }

    fn end(self) -> Result<Value> {
        match self {
            Fields::Object(object) => ser::SerializeMap::end(object),
            Fields::AsIs(is, _) => is.ok_or_else(|| Error::message("a number or a text of JSON has no text")),
        }
    }
}
