//! The serializer of texts without white space. The place up to which has been written is handed on by value, as a [`Writer`] is, so that serde's
//! calls become the same moves that a derived `ToJson` makes.

use super::key::{AsIs, Key};
use super::{NUMBER, RAW};
use crate::error::{Error, Result};
use crate::write::Writer;
use serde::Serialize;
use serde::ser;
use std::fmt;

/// Writes one value.
pub(super) struct Compact<'o> {
    pub(super) out: Writer<'o>,
}

/// Writes the elements of an array, or the members of an object.
pub(super) struct Parts<'o> {
    /// None behind an error.
    out: Option<Writer<'o>>,
    is_first: bool,
    /// What stands at the end.
    end: &'static str,
}

/// Writes the fields of a struct.
pub(super) enum Fields<'o> {
    Object(Parts<'o>),
    /// Of a number or a text of JSON, which is written as it is.
    AsIs(Option<Writer<'o>>),
}

type Written<'o> = Result<Writer<'o>>;

macro_rules! integers {
    ($($method:ident: $type:ty;)*) => {$(
        #[inline(always)]
        fn $method(self, value: $type) -> Written<'o> {
            Ok(self.out.integer(value))
        }
    )*};
}

impl<'o> ser::Serializer for Compact<'o> {
    type Ok = Writer<'o>;
    type Error = Error;
    type SerializeSeq = Parts<'o>;
    type SerializeTuple = Parts<'o>;
    type SerializeTupleStruct = Parts<'o>;
    type SerializeTupleVariant = Parts<'o>;
    type SerializeMap = Parts<'o>;
    type SerializeStruct = Fields<'o>;
    type SerializeStructVariant = Parts<'o>;

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

    #[inline(always)]
    fn serialize_bool(self, value: bool) -> Written<'o> {
        Ok(self.out.boolean(value))
    }

    #[inline]
    fn serialize_f32(self, value: f32) -> Written<'o> {
        Ok(self.out.float32(value))
    }

    #[inline]
    fn serialize_f64(self, value: f64) -> Written<'o> {
        Ok(self.out.float(value))
    }

    #[inline]
    fn serialize_char(self, value: char) -> Written<'o> {
        Ok(self.out.string(value.encode_utf8(&mut [0; 4])))
    }

    #[inline(always)]
    fn serialize_str(self, value: &str) -> Written<'o> {
        Ok(self.out.string(value))
    }

    fn serialize_bytes(self, value: &[u8]) -> Written<'o> {
        Ok(self.out.array(value))
    }

    #[inline(always)]
    fn serialize_none(self) -> Written<'o> {
        Ok(self.out.null())
    }

    #[inline(always)]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Written<'o> {
        value.serialize(self)
    }

    #[inline(always)]
    fn serialize_unit(self) -> Written<'o> {
        Ok(self.out.null())
    }

    #[inline]
    fn serialize_unit_struct(self, _: &'static str) -> Written<'o> {
        Ok(self.out.null())
    }

    #[inline]
    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Written<'o> {
        Ok(self.out.string(variant))
    }

    #[inline(always)]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Written<'o> {
        value.serialize(self)
    }

    #[inline]
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Written<'o> {
        let out = self.out.literal("{").string(variant).literal(":");
        Ok(value.serialize(Compact { out })?.literal("}"))
    }

    #[inline]
    fn serialize_seq(self, _: Option<usize>) -> Result<Parts<'o>> {
        Ok(Parts::of(self.out, "[", "]"))
    }

    #[inline]
    fn serialize_tuple(self, _: usize) -> Result<Parts<'o>> {
        Ok(Parts::of(self.out, "[", "]"))
    }

    #[inline]
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Parts<'o>> {
        Ok(Parts::of(self.out, "[", "]"))
    }

    #[inline]
    fn serialize_tuple_variant(self, _: &'static str, _: u32, variant: &'static str, _: usize) -> Result<Parts<'o>> {
        Ok(Parts::of(self.out.literal("{").string(variant), ":[", "]}"))
    }

    #[inline]
    fn serialize_map(self, _: Option<usize>) -> Result<Parts<'o>> {
        Ok(Parts::of(self.out, "{", "}"))
    }

    #[inline(always)]
    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Fields<'o>> {
        match name {
            NUMBER | RAW => Ok(Fields::AsIs(Some(self.out))),
            _ => Ok(Fields::Object(Parts::of(self.out, "{", "}"))),
        }
    }

    #[inline]
    fn serialize_struct_variant(self, _: &'static str, _: u32, variant: &'static str, _: usize) -> Result<Parts<'o>> {
        Ok(Parts::of(self.out.literal("{").string(variant), ":{", "}}"))
    }

    fn collect_str<T: fmt::Display + ?Sized>(self, value: &T) -> Written<'o> {
        // what it is is not known before it has been written
        let mut text = String::new();
        fmt::Write::write_fmt(&mut text, format_args!("{value}")).map_err(Error::message)?;
        Ok(self.out.string(&text))
    }
}

impl<'o> Parts<'o> {
    #[inline(always)]
    fn of(out: Writer<'o>, start: &'static str, end: &'static str) -> Self {
        Parts { out: Some(out.literal(start)), is_first: true, end }
    }

    /// Takes the place up to which has been written, behind a comma where there must be one.
    #[inline(always)]
    fn next(&mut self) -> Written<'o> {
        let out = self.out.take().ok_or_else(behind_error)?;
        let is_first = std::mem::replace(&mut self.is_first, false);
        Ok(if is_first { out } else { out.literal(",") })
    }

    #[inline(always)]
    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        let out = self.next()?;
        self.out = Some(value.serialize(Compact { out })?);
        Ok(())
    }

    #[inline(always)]
    fn field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<()> {
        let out = self.next()?.string(key).literal(":");
        self.out = Some(value.serialize(Compact { out })?);
        Ok(())
    }

    #[inline(always)]
    fn finish(self) -> Written<'o> {
        Ok(self.out.ok_or_else(behind_error)?.literal(self.end))
    }
}

/// Who goes on writing behind an error is told so.
#[cold]
fn behind_error() -> Error {
    Error::message("nothing can be written behind an error")
}

macro_rules! sequences {
    ($($trait:ident: $method:ident;)*) => {$(
        impl<'o> ser::$trait for Parts<'o> {
            type Ok = Writer<'o>;
            type Error = Error;

            #[inline(always)]
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
                self.element(value)
            }

            #[inline(always)]
            fn end(self) -> Written<'o> {
                self.finish()
            }
        }
    )*};
}

sequences! {
    SerializeSeq: serialize_element;
    SerializeTuple: serialize_element;
    SerializeTupleStruct: serialize_field;
    SerializeTupleVariant: serialize_field;
}

impl<'o> ser::SerializeMap for Parts<'o> {
    type Ok = Writer<'o>;
    type Error = Error;

    #[inline]
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<()> {
        let out = self.next()?;
        self.out = Some(key.serialize(Key(|key: &str| Ok(out.string(key))))?);
        Ok(())
    }

    #[inline]
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        let out = self.out.take().ok_or_else(behind_error)?.literal(":");
        self.out = Some(value.serialize(Compact { out })?);
        Ok(())
    }

    #[inline]
    fn end(self) -> Written<'o> {
        self.finish()
    }
}

impl<'o> ser::SerializeStruct for Fields<'o> {
    type Ok = Writer<'o>;
    type Error = Error;

    #[inline(always)]
    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<()> {
        match self {
            Fields::Object(parts) => parts.field(key, value),
            Fields::AsIs(place) => {
                let out = place.take().ok_or_else(behind_error)?;
                *place = Some(value.serialize(AsIs(|text: &str| Ok(out.raw(text))))?);
                Ok(())
            }
        }
    }

    #[inline(always)]
    fn end(self) -> Written<'o> {
        match self {
            Fields::Object(parts) => parts.finish(),
            Fields::AsIs(out) => out.ok_or_else(behind_error),
        }
    }
}

impl<'o> ser::SerializeStructVariant for Parts<'o> {
    type Ok = Writer<'o>;
    type Error = Error;

    #[inline]
    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<()> {
        self.field(key, value)
    }

    #[inline]
    fn end(self) -> Written<'o> {
        self.finish()
    }
}
