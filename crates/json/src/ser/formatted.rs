//! The serializer whose white space, and whatever else is around values, a [`Formatter`] writes.

use super::key::{AsIs, Key};
use super::{NUMBER, RAW};
use crate::error::{Error, Result};
use crate::scan;
use crate::ser::formatter::{CharEscape, CompactFormatter, Formatter, PrettyFormatter};
use serde::Serialize;
use serde::ser;
use std::io;

/// Writes values to what bytes can be written to, in the form of its formatter.
pub struct Serializer<W, F = CompactFormatter> {
    writer: W,
    formatter: F,
}

impl<W: io::Write> Serializer<W> {
    /// Without white space.
    pub fn new(writer: W) -> Self {
        Self::with_formatter(writer, CompactFormatter)
    }
}

impl<'a, W: io::Write> Serializer<W, PrettyFormatter<'a>> {
    /// With line breaks and two spaces for each level.
    pub fn pretty(writer: W) -> Self {
        Self::with_formatter(writer, PrettyFormatter::new())
    }
}

impl<W: io::Write, F: Formatter> Serializer<W, F> {
    /// In the form of a formatter.
    pub fn with_formatter(writer: W, formatter: F) -> Self {
        Serializer { writer, formatter }
    }

    /// What was written to.
    pub fn into_inner(self) -> W {
        self.writer
    }

    fn string(&mut self, text: &str) -> io::Result<()> {
        let Serializer { writer, formatter } = self;
        formatter.begin_string(writer)?;
        let mut rest = text;
        loop {
            let plain = scan::special(rest.as_bytes(), 0);
            let (fragment, behind) = rest.split_at(plain);
            if !fragment.is_empty() {
                formatter.write_string_fragment(writer, fragment)?;
            }
            // what is special is one byte
            let Some(&byte) = behind.as_bytes().first() else { return formatter.end_string(writer) };
            formatter.write_char_escape(writer, CharEscape::of(byte))?;
            rest = &behind[1..];
        }
    }
}

/// Writes the parts of an array or an object.
pub struct Compound<'a, W, F> {
    serializer: &'a mut Serializer<W, F>,
    is_first: bool,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Array,
    Object,
    /// The same as the variant of an enum, which is an object of one member.
    VariantArray,
    VariantObject,
    /// A number, or a text of JSON.
    Number,
    Raw,
}

/// Methods that write what has one part.
macro_rules! scalars {
    ($($method:ident: $write:ident($type:ty);)*) => {$(
        #[inline]
        fn $method(self, value: $type) -> Result<()> {
            self.formatter.$write(&mut self.writer, value).map_err(Error::io)
        }
    )*};
}

impl<'a, W: io::Write, F: Formatter> ser::Serializer for &'a mut Serializer<W, F> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Compound<'a, W, F>;
    type SerializeTuple = Compound<'a, W, F>;
    type SerializeTupleStruct = Compound<'a, W, F>;
    type SerializeTupleVariant = Compound<'a, W, F>;
    type SerializeMap = Compound<'a, W, F>;
    type SerializeStruct = Compound<'a, W, F>;
    type SerializeStructVariant = Compound<'a, W, F>;

    scalars! {
        serialize_bool: write_bool(bool);
        serialize_i8: write_i8(i8);
        serialize_i16: write_i16(i16);
        serialize_i32: write_i32(i32);
        serialize_i64: write_i64(i64);
        serialize_i128: write_i128(i128);
        serialize_u8: write_u8(u8);
        serialize_u16: write_u16(u16);
        serialize_u32: write_u32(u32);
        serialize_u64: write_u64(u64);
        serialize_u128: write_u128(u128);
        serialize_bytes: write_byte_array(&[u8]);
    }

    fn serialize_f32(self, value: f32) -> Result<()> {
        match value.is_finite() {
            true => self.formatter.write_f32(&mut self.writer, value).map_err(Error::io),
            false => self.serialize_unit(),
        }
    }

    fn serialize_f64(self, value: f64) -> Result<()> {
        match value.is_finite() {
            true => self.formatter.write_f64(&mut self.writer, value).map_err(Error::io),
            false => self.serialize_unit(),
        }
    }

    fn serialize_char(self, value: char) -> Result<()> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<()> {
        self.string(value).map_err(Error::io)
    }

    fn serialize_none(self) -> Result<()> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<()> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<()> {
        self.formatter.write_null(&mut self.writer).map_err(Error::io)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<()> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<()> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<()> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<()> {
        self.open_variant(variant).map_err(Error::io)?;
        value.serialize(&mut *self)?;
        self.close_variant().map_err(Error::io)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Compound<'a, W, F>> {
        Compound::open(self, Kind::Array)
    }

    fn serialize_tuple(self, _: usize) -> Result<Compound<'a, W, F>> {
        Compound::open(self, Kind::Array)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Compound<'a, W, F>> {
        Compound::open(self, Kind::Array)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Compound<'a, W, F>> {
        self.open_variant(variant).map_err(Error::io)?;
        Compound::open(self, Kind::VariantArray)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Compound<'a, W, F>> {
        Compound::open(self, Kind::Object)
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Compound<'a, W, F>> {
        match name {
            NUMBER => Compound::open(self, Kind::Number),
            RAW => Compound::open(self, Kind::Raw),
            _ => Compound::open(self, Kind::Object),
        }
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Compound<'a, W, F>> {
        self.open_variant(variant).map_err(Error::io)?;
        Compound::open(self, Kind::VariantObject)
    }
}

impl<W: io::Write, F: Formatter> Serializer<W, F> {
    /// Writes an object up to the value of its one member.
    fn open_variant(&mut self, variant: &str) -> io::Result<()> {
        self.formatter.begin_object(&mut self.writer)?;
        self.formatter.begin_object_key(&mut self.writer, true)?;
        self.string(variant)?;
        self.formatter.end_object_key(&mut self.writer)?;
        self.formatter.begin_object_value(&mut self.writer)
    }

    fn close_variant(&mut self) -> io::Result<()> {
        self.formatter.end_object_value(&mut self.writer)?;
        self.formatter.end_object(&mut self.writer)
    }
}

impl<'a, W: io::Write, F: Formatter> Compound<'a, W, F> {
    fn open(serializer: &'a mut Serializer<W, F>, kind: Kind) -> Result<Self> {
        let Serializer { writer, formatter } = &mut *serializer;
        let opened = match kind {
            Kind::Array | Kind::VariantArray => formatter.begin_array(writer),
            Kind::Object | Kind::VariantObject => formatter.begin_object(writer),
            Kind::Number | Kind::Raw => Ok(()),
        };
        opened.map_err(Error::io)?;
        Ok(Compound { serializer, is_first: true, kind })
    }

    fn close(self) -> Result<()> {
        let Serializer { writer, formatter } = &mut *self.serializer;
        let closed = match self.kind {
            Kind::Array | Kind::VariantArray => formatter.end_array(writer),
            Kind::Object | Kind::VariantObject => formatter.end_object(writer),
            Kind::Number | Kind::Raw => Ok(()),
        };
        closed.map_err(Error::io)?;
        match self.kind {
            Kind::VariantArray | Kind::VariantObject => self.serializer.close_variant().map_err(Error::io),
            Kind::Array | Kind::Object | Kind::Number | Kind::Raw => Ok(()),
        }
    }

    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        let is_first = std::mem::replace(&mut self.is_first, false);
        let Serializer { writer, formatter } = &mut *self.serializer;
        formatter.begin_array_value(writer, is_first).map_err(Error::io)?;
        value.serialize(&mut *self.serializer)?;
        let Serializer { writer, formatter } = &mut *self.serializer;
        formatter.end_array_value(writer).map_err(Error::io)
    }

    fn key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<()> {
        let is_first = std::mem::replace(&mut self.is_first, false);
        let Serializer { writer, formatter } = &mut *self.serializer;
        formatter.begin_object_key(writer, is_first).map_err(Error::io)?;
        key.serialize(Key(|key: &str| self.serializer.string(key).map_err(Error::io)))?;
        let Serializer { writer, formatter } = &mut *self.serializer;
        formatter.end_object_key(writer).map_err(Error::io)
    }

    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        let Serializer { writer, formatter } = &mut *self.serializer;
        formatter.begin_object_value(writer).map_err(Error::io)?;
        value.serialize(&mut *self.serializer)?;
        let Serializer { writer, formatter } = &mut *self.serializer;
        formatter.end_object_value(writer).map_err(Error::io)
    }

    fn field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<()> {
        let Serializer { writer, formatter } = &mut *self.serializer;
        match self.kind {
            Kind::Number => {
                value.serialize(AsIs(|text: &str| formatter.write_number_str(writer, text).map_err(Error::io)))
            }
            Kind::Raw => {
                value.serialize(AsIs(|text: &str| formatter.write_raw_fragment(writer, text).map_err(Error::io)))
            }
            Kind::Array | Kind::Object | Kind::VariantArray | Kind::VariantObject => {
                self.key(key)?;
                self.value(value)
            }
        }
    }
}

/// The traits by which serde writes parts.
macro_rules! compounds {
    ($($trait:ident: $method:ident($($key:ident)?) as $as:ident;)*) => {$(
        impl<W: io::Write, F: Formatter> ser::$trait for Compound<'_, W, F> {
            type Ok = ();
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(&mut self, $($key: &'static str,)? value: &T) -> Result<()> {
                self.$as($($key,)? value)
            }

            fn end(self) -> Result<()> {
                self.close()
            }
        }
    )*};
}

compounds! {
    SerializeSeq: serialize_element() as element;
    SerializeTuple: serialize_element() as element;
    SerializeTupleStruct: serialize_field() as element;
    SerializeTupleVariant: serialize_field() as element;
    SerializeStruct: serialize_field(key) as field;
    SerializeStructVariant: serialize_field(key) as field;
}

impl<W: io::Write, F: Formatter> ser::SerializeMap for Compound<'_, W, F> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<()> {
        self.key(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        self.value(value)
    }

    fn end(self) -> Result<()> {
        self.close()
    }
}
