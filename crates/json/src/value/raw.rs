//! Parts of a text that are kept as they are.
#![allow(unsafe_code)]

use super::Value;
use crate::de::RAW;
use crate::error::Result;
use crate::ser::is_own;
use serde::de::{self, MapAccess, Unexpected, Visitor};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// A text that is one value of JSON, as it is written: read without being taken apart, and written without being looked at.
///
/// ```
/// use thalweg_json::value::RawValue;
///
/// let parts: Vec<&RawValue> = thalweg_json::from_str("[1.0, {\"a\" : 2}]")?;
/// assert_eq!(parts[1].get(), "{\"a\" : 2}");
/// # Ok::<(), thalweg_json::Error>(())
/// ```
#[repr(transparent)]
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RawValue {
    text: str,
}

impl RawValue {
    /// `null`
    pub const NULL: &'static RawValue = RawValue::of("null");
    /// `true`
    pub const TRUE: &'static RawValue = RawValue::of("true");
    /// `false`
    pub const FALSE: &'static RawValue = RawValue::of("false");

    pub(super) const fn of(text: &str) -> &RawValue {
        // SAFETY: the type is transparent: it has the layout of its text, and keeps its lifetime.
        unsafe { &*(std::ptr::from_ref(text) as *const RawValue) }
    }

    fn of_box(text: Box<str>) -> Box<RawValue> {
        // SAFETY: the type is transparent: it has the layout of its text, so that the same memory is given back.
        unsafe { Box::from_raw(Box::into_raw(text) as *mut RawValue) }
    }

    /// A text that must be one value, without white space around it.
    pub fn from_string(text: String) -> Result<Box<RawValue>> {
        let value: &RawValue = crate::from_str(&text)?;
        if value.get().len() == text.len() {
            return Ok(RawValue::of_box(text.into()));
        }
        Ok(value.to_owned())
    }

    /// A text that is known to be one value, without reading it again.
    ///
    /// ```
    /// use thalweg_json::value::RawValue;
    ///
    /// let text = thalweg_json::to_string(&[1, 2, 3])?;
    /// // SAFETY: the text was written by a serializer of this crate.
    /// let raw = unsafe { RawValue::from_string_unchecked(text) };
    /// assert_eq!(raw.get(), "[1,2,3]");
    /// # Ok::<(), thalweg_json::Error>(())
    /// ```
    ///
    /// # Safety
    ///
    /// The text must be exactly one valid value, without white space around it. It is written as it
    /// is, and code may rely on its validity as it relies on that of `str`.
    ///
    /// # Panics
    ///
    /// In debug builds, if the text is not such a value.
    pub unsafe fn from_string_unchecked(text: String) -> Box<RawValue> {
        debug_assert!(
            crate::from_str::<&Self>(&text).is_ok_and(|value| value.get().len() == text.len()),
            "from_string_unchecked: the text is not one valid value without white space around it"
        );
        RawValue::of_box(text.into())
    }

    /// The text.
    pub fn get(&self) -> &str {
        &self.text
    }
}

/// The text that serde writes of a value.
pub fn to_raw_value<T: ?Sized + Serialize>(value: &T) -> Result<Box<RawValue>> {
    crate::to_string(value).map(|text| RawValue::of_box(text.into()))
}

impl ToOwned for RawValue {
    type Owned = Box<RawValue>;

    fn to_owned(&self) -> Box<RawValue> {
        RawValue::of_box(self.text.into())
    }
}

impl Clone for Box<RawValue> {
    fn clone(&self) -> Self {
        (**self).to_owned()
    }
}

impl Default for Box<RawValue> {
    fn default() -> Self {
        RawValue::NULL.to_owned()
    }
}

impl From<Box<RawValue>> for Box<str> {
    fn from(value: Box<RawValue>) -> Box<str> {
        value.text.into()
    }
}

impl fmt::Debug for RawValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RawValue").field(&format_args!("{}", &self.text)).finish()
    }
}

impl fmt::Display for RawValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Serializers of this crate write the text as it is, those of other formats the value that it is.
impl Serialize for RawValue {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !is_own::<S::Error>() {
            let value: Value = crate::from_str(&self.text).map_err(serde::ser::Error::custom)?;
            return value.serialize(serializer);
        }
        let mut value = serializer.serialize_struct(RAW, 1)?;
        value.serialize_field(RAW, &self.text)?;
        value.end()
    }
}

/// The text that a deserializer of JSON gives for a value.
struct Text<'de>(Cow<'de, str>);

struct Texts;

impl<'de> Visitor<'de> for Texts {
    type Value = Text<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Text<'de>, A::Error> {
        match members.next_key::<Cow<'de, str>>()? {
            Some(key) if key == RAW => members.next_value_seed(Part),
            _ => Err(de::Error::invalid_type(Unexpected::Map, &self)),
        }
    }
}

/// A string, borrowed where that is possible.
struct Part;

impl<'de> de::DeserializeSeed<'de> for Part {
    type Value = Text<'de>;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Text<'de>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Part {
    type Value = Text<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("raw value")
    }

    fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Owned(text.to_owned())))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Borrowed(text)))
    }

    fn visit_string<E>(self, text: String) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Owned(text)))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for &'a RawValue {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.deserialize_newtype_struct(RAW, Texts)?.0 {
            Cow::Borrowed(text) => Ok(RawValue::of(text)),
            Cow::Owned(_) => {
                Err(de::Error::custom("a borrowed part of a text was asked for, which is not there to be borrowed"))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Box<RawValue> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = deserializer.deserialize_newtype_struct(RAW, Texts)?.0;
        Ok(RawValue::of_box(text.into()))
    }
}
