//! Keys of objects, which are strings, and what is written as it is: serializers that hand a text on, and refuse all else.

use crate::error::{Code, Error, Result};
use serde::Serialize;
use serde::ser::{self, Impossible};
use std::fmt;

/// Hands on the text of a key: a string, or what is written in quotes as one.
pub(crate) struct Key<F>(pub(crate) F);

/// Hands on a text that is written as it is, of a number or of JSON.
pub(crate) struct AsIs<F>(pub(crate) F);

/// Methods that refuse what they are given.
macro_rules! refused {
    ($error:expr; $($method:ident($($type:ty),*);)*) => {$(
        fn $method(self, $(_: $type),*) -> Result<T> {
            Err($error)
        }
    )*};
}

/// What is no text, and has several parts.
macro_rules! parts_refused {
    ($error:expr) => {
        type Ok = T;
        type Error = Error;
        type SerializeSeq = Impossible<T, Error>;
        type SerializeTuple = Impossible<T, Error>;
        type SerializeTupleStruct = Impossible<T, Error>;
        type SerializeTupleVariant = Impossible<T, Error>;
        type SerializeMap = Impossible<T, Error>;
        type SerializeStruct = Impossible<T, Error>;
        type SerializeStructVariant = Impossible<T, Error>;

        refused! {
            $error;
            serialize_bytes(&[u8]);
            serialize_none();
            serialize_unit();
            serialize_unit_struct(&'static str);
        }

        fn serialize_newtype_variant<V: Serialize + ?Sized>(
            self,
            _: &'static str,
            _: u32,
            _: &'static str,
            _: &V,
        ) -> Result<T> {
            Err($error)
        }

        fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq> {
            Err($error)
        }

        fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple> {
            Err($error)
        }

        fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeTupleStruct> {
            Err($error)
        }

        fn serialize_tuple_variant(
            self,
            _: &'static str,
            _: u32,
            _: &'static str,
            _: usize,
        ) -> Result<Self::SerializeTupleVariant> {
            Err($error)
        }

        fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap> {
            Err($error)
        }

        fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeStruct> {
            Err($error)
        }

        fn serialize_struct_variant(
            self,
            _: &'static str,
            _: u32,
            _: &'static str,
            _: usize,
        ) -> Result<Self::SerializeStructVariant> {
            Err($error)
        }
    };
}

macro_rules! integers {
    ($($method:ident: $type:ty;)*) => {$(
        #[inline]
        fn $method(self, value: $type) -> Result<T> {
            (self.0)(itoa::Buffer::new().format(value))
        }
    )*};
}

impl<T, F: FnOnce(&str) -> Result<T>> ser::Serializer for Key<F> {
    parts_refused!(no_string());

    integers! {
        serialize_i8: i8;
        serialize_i16: i16;
        serialize_i32: i32;
        serialize_i64: i64;
        serialize_i128: i128;
        serialize_u8: u8;
        serialize_u16: u16;
        serialize_u32: u32;
        serialize_u64: u64;
        serialize_u128: u128;
    }

    fn serialize_bool(self, value: bool) -> Result<T> {
        (self.0)(if value { "true" } else { "false" })
    }

    fn serialize_f32(self, value: f32) -> Result<T> {
        if value.is_finite() { (self.0)(zmij::Buffer::new().format_finite(value)) } else { Err(not_finite()) }
    }

    fn serialize_f64(self, value: f64) -> Result<T> {
        if value.is_finite() { (self.0)(zmij::Buffer::new().format_finite(value)) } else { Err(not_finite()) }
    }

    fn serialize_char(self, value: char) -> Result<T> {
        (self.0)(value.encode_utf8(&mut [0; 4]))
    }

    #[inline]
    fn serialize_str(self, value: &str) -> Result<T> {
        (self.0)(value)
    }

    fn serialize_some<V: Serialize + ?Sized>(self, value: &V) -> Result<T> {
        value.serialize(self)
    }

    #[inline]
    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<T> {
        (self.0)(variant)
    }

    #[inline]
    fn serialize_newtype_struct<V: Serialize + ?Sized>(self, _: &'static str, value: &V) -> Result<T> {
        value.serialize(self)
    }

    fn collect_str<V: fmt::Display + ?Sized>(self, value: &V) -> Result<T> {
        (self.0)(&value.to_string())
    }
}

#[cold]
fn no_string() -> Error {
    Error::new(Code::KeyString, 0, 0)
}

#[cold]
fn not_finite() -> Error {
    Error::new(Code::KeyFinite, 0, 0)
}

impl<T, F: FnOnce(&str) -> Result<T>> ser::Serializer for AsIs<F> {
    parts_refused!(no_text());

    refused! {
        no_text();
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
        serialize_char(char);
        serialize_unit_variant(&'static str, u32, &'static str);
    }

    #[inline]
    fn serialize_str(self, value: &str) -> Result<T> {
        (self.0)(value)
    }

    fn serialize_some<V: Serialize + ?Sized>(self, _: &V) -> Result<T> {
        Err(no_text())
    }

    fn serialize_newtype_struct<V: Serialize + ?Sized>(self, _: &'static str, _: &V) -> Result<T> {
        Err(no_text())
    }
}

#[cold]
fn no_text() -> Error {
    Error::message("what is written as it is must be a string")
}
