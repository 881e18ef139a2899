//! Numbers of any size and precision.

use super::Value;
use super::de::FirstKey;
#[cfg(feature = "arbitrary_precision")]
use crate::de::is_buffer;
use crate::de::{NUMBER, VALUE, reads_digits};
use crate::error::{Code, Error, Result};
#[cfg(feature = "arbitrary_precision")]
use crate::number::is_exact;
use crate::number::{Number as Read, is_written_as, single};
use crate::read::Parser;
use crate::ser::is_own;
use serde::de::{self, Unexpected, Visitor};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::OnceLock;

/// A number: an integer of 64 bits, a float, or any other number of JSON, which is stored as its text.
///
/// Two numbers are equal if they are the same integer, the same float, or the same text: `1.50` is
/// not `1.5`, and `-0.0` is not `0.0`.
///
/// Serializers of this crate write the digits as they are. A serializer of another format (its error
/// type is not [`Error`]) writes an integer of 64 bits or the nearest double, as for a number that
/// `serde_json` has read; a number beyond all doubles is an error there.
pub struct Number {
    pub(super) kind: Kind,
    /// The text of an integer or a float, filled by the first call of [`Number::as_str`].
    text: OnceLock<Box<str>>,
}

#[derive(Clone)]
pub(super) enum Kind {
    Unsigned(u64),
    /// Below 0.
    Signed(i64),
    /// Finite, and written as it is where it was read.
    Float(f64),
    /// Anything else.
    Text(Box<str>),
}

impl PartialEq for Kind {
    fn eq(&self, other: &Kind) -> bool {
        match (self, other) {
            (Kind::Unsigned(a), Kind::Unsigned(b)) => a == b,
            (Kind::Signed(a), Kind::Signed(b)) => a == b,
            // By their bits: they are written differently if one of two zeros is negative.
            (Kind::Float(a), Kind::Float(b)) => a.to_bits() == b.to_bits(),
            (Kind::Text(a), Kind::Text(b)) => a == b,
            (Kind::Unsigned(_) | Kind::Signed(_) | Kind::Float(_) | Kind::Text(_), _) => false,
        }
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Number) -> bool {
        self.kind == other.kind
    }
}

// No float is `NaN`.
impl Eq for Number {}

impl std::hash::Hash for Number {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.kind.hash(state);
    }
}

impl Clone for Number {
    #[inline]
    fn clone(&self) -> Number {
        self.kind.clone().into()
    }
}

impl From<Kind> for Number {
    #[inline]
    fn from(kind: Kind) -> Number {
        Number { kind, text: OnceLock::new() }
    }
}

impl std::hash::Hash for Kind {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        match self {
            Kind::Unsigned(value) => value.hash(state),
            Kind::Signed(value) => value.hash(state),
            Kind::Float(value) => value.to_bits().hash(state),
            Kind::Text(text) => text.hash(state),
        }
    }
}

impl Number {
    /// Whether it fits into `i64`.
    pub fn is_i64(&self) -> bool {
        self.as_i64().is_some()
    }

    /// Whether it fits into `u64`.
    pub fn is_u64(&self) -> bool {
        self.as_u64().is_some()
    }

    /// Whether it is written with a point or an exponent.
    pub fn is_f64(&self) -> bool {
        match &self.kind {
            Kind::Unsigned(_) | Kind::Signed(_) => false,
            Kind::Float(_) => true,
            Kind::Text(text) => text.contains(['.', 'e', 'E']) && self.as_f64().is_some(),
        }
    }

    /// As `i64`, if it fits.
    pub fn as_i64(&self) -> Option<i64> {
        match &self.kind {
            Kind::Unsigned(value) => (*value).try_into().ok(),
            Kind::Signed(value) => Some(*value),
            Kind::Float(_) | Kind::Text(_) => None,
        }
    }

    /// As `u64`, if it fits.
    pub fn as_u64(&self) -> Option<u64> {
        match &self.kind {
            Kind::Unsigned(value) => Some(*value),
            Kind::Signed(_) | Kind::Float(_) | Kind::Text(_) => None,
        }
    }

    /// As the nearest float, if that is finite.
    pub fn as_f64(&self) -> Option<f64> {
        match &self.kind {
            Kind::Unsigned(value) => Some(*value as f64),
            Kind::Signed(value) => Some(*value as f64),
            Kind::Float(value) => Some(*value),
            Kind::Text(text) => text.parse().ok().filter(|value: &f64| value.is_finite()),
        }
    }

    /// Returns the nearest single, if that is finite.
    pub(super) fn as_f32(&self) -> Option<f32> {
        let value = match &self.kind {
            Kind::Unsigned(value) => *value as f32,
            Kind::Signed(value) => *value as f32,
            Kind::Float(value) => single(*value, || zmij::Buffer::new().format_finite(*value).parse().ok()),
            Kind::Text(text) => text.parse().ok()?,
        };
        value.is_finite().then_some(value)
    }

    /// The number as it is written.
    ///
    /// The text of an integer or a float is made by the first call, and stored with the number.
    pub fn as_str(&self) -> &str {
        match &self.kind {
            Kind::Text(text) => text,
            _ => self.text.get_or_init(|| self.to_string().into()),
        }
    }

    /// A number from its text, which is not checked: a text that is not a number is written as it is.
    #[doc(hidden)]
    pub fn from_string_unchecked(text: String) -> Number {
        text.parse().unwrap_or_else(|_| Number::of_text(&text))
    }

    /// As `i128`, if it fits.
    pub fn as_i128(&self) -> Option<i128> {
        match &self.kind {
            Kind::Unsigned(value) => Some((*value).into()),
            Kind::Signed(value) => Some((*value).into()),
            Kind::Float(_) => None,
            Kind::Text(text) => text.parse().ok(),
        }
    }

    /// As `u128`, if it fits.
    pub fn as_u128(&self) -> Option<u128> {
        match &self.kind {
            Kind::Unsigned(value) => Some((*value).into()),
            Kind::Signed(_) | Kind::Float(_) => None,
            Kind::Text(text) => text.parse().ok(),
        }
    }

    /// A float, if it is finite.
    pub fn from_f64(value: f64) -> Option<Number> {
        value.is_finite().then(|| Kind::Float(value).into())
    }

    /// A single, if it is finite: the number with its digits, `5.55` and not `5.550000190734863`.
    pub(super) fn from_f32(value: f32) -> Option<Number> {
        if value.is_finite() { zmij::Buffer::new().format_finite(value).parse().ok() } else { None }
    }

    /// An integer of 128 bits.
    pub fn from_i128(value: i128) -> Option<Number> {
        Some(match (u64::try_from(value), i64::try_from(value)) {
            (Ok(value), _) => value.into(),
            (_, Ok(value)) => value.into(),
            _ => Kind::Text(value.to_string().into()).into(),
        })
    }

    /// An integer of 128 bits.
    pub fn from_u128(value: u128) -> Option<Number> {
        Some(match u64::try_from(value) {
            Ok(value) => value.into(),
            Err(_) => Kind::Text(value.to_string().into()).into(),
        })
    }

    /// A text that is known to be a number, and no integer of 64 bits.
    pub(super) fn of_text(text: &str) -> Number {
        Kind::Text(text.into()).into()
    }

    pub(super) fn unexpected(&self) -> Unexpected<'_> {
        match &self.kind {
            Kind::Unsigned(value) => Unexpected::Unsigned(*value),
            Kind::Signed(value) => Unexpected::Signed(*value),
            Kind::Float(value) => Unexpected::Float(*value),
            Kind::Text(_) => self.as_f64().map_or(Unexpected::Other("number"), Unexpected::Float),
        }
    }

    /// Visits the number as [`Self::visit`] does, if a double is requested. An integer of more than 64
    /// bits becomes the nearest double.
    pub(super) fn visit_float<'de, V: Visitor<'de>>(&self, visitor: V) -> Result<V::Value> {
        match (&self.kind, self.as_f64()) {
            (Kind::Text(_), Some(value)) if !reads_digits::<V>() => visitor.visit_f64(value),
            _ => self.visit(visitor),
        }
    }

    /// Visits the number as [`Self::visit_float`] does, if a single is requested.
    pub(super) fn visit_single<'de, V: Visitor<'de>>(&self, visitor: V) -> Result<V::Value> {
        match (&self.kind, self.as_f32()) {
            (Kind::Text(_) | Kind::Float(_), Some(value)) if !reads_digits::<V>() => visitor.visit_f32(value),
            _ => self.visit(visitor),
        }
    }

    /// Tells a visitor of serde's what it is, as precisely as that can be.
    pub(super) fn visit<'de, V: Visitor<'de>>(&self, visitor: V) -> Result<V::Value> {
        match &self.kind {
            Kind::Unsigned(value) => visitor.visit_u64(*value),
            Kind::Signed(value) => visitor.visit_i64(*value),
            Kind::Float(_) | Kind::Text(_) if reads_digits::<V>() => visitor.visit_str(&self.to_string()),
            Kind::Float(value) => visitor.visit_f64(*value),
            #[cfg(feature = "arbitrary_precision")]
            Kind::Text(text) if is_buffer::<V>() && !self.as_f64().is_some_and(|value| is_exact(value, text)) => {
                visitor.visit_map(super::de::AsIs::number(text))
            }
            Kind::Text(text) if &**text == "-0" => visitor.visit_f64(-0.0),
            Kind::Text(text) => match self.as_f64() {
                Some(value) => visitor.visit_f64(value),
                None => Err(Error::message(format_args!("{}: {text}", Code::NumberRange))),
            },
        }
    }

    /// As [`Self::visit`], for who asks for an integer of 128 bits. Others are not told of one: what serde keeps until it knows the type (what is
    /// flattened, what has no tag) cannot hold it.
    pub(super) fn visit_wide<'de, V: Visitor<'de>>(&self, visitor: V) -> Result<V::Value> {
        match (&self.kind, self.as_i128(), self.as_u128()) {
            (Kind::Text(_), Some(value), _) if value != 0 => visitor.visit_i128(value),
            (Kind::Text(_), _, Some(value)) if value != 0 => visitor.visit_u128(value),
            _ => self.visit(visitor),
        }
    }
}

macro_rules! integers {
    (unsigned: $($unsigned:ident)*; signed: $($signed:ident)*) => {
        $(impl From<$unsigned> for Number {
            fn from(value: $unsigned) -> Number {
                Kind::Unsigned(value as u64).into()
            }
        })*
        $(impl From<$signed> for Number {
            fn from(value: $signed) -> Number {
                let value = value as i64;
                u64::try_from(value).map_or(Kind::Signed(value), Kind::Unsigned).into()
            }
        })*
    };
}

integers!(unsigned: u8 u16 u32 u64 usize; signed: i8 i16 i32 i64 isize);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Unsigned(value) => value.fmt(f),
            Kind::Signed(value) => value.fmt(f),
            Kind::Float(value) => f.write_str(zmij::Buffer::new().format_finite(*value)),
            Kind::Text(text) => f.write_str(text),
        }
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Number({self})")
    }
}

impl std::str::FromStr for Number {
    type Err = Error;

    fn from_str(text: &str) -> Result<Number> {
        let mut parser = Parser::of_str(text);
        let (number, all) = parser.number_with_text()?;
        if all.len() < text.len() {
            return Err(Error::in_text(Code::Number, text.as_bytes(), all.len() + 1));
        }
        Ok(Number::of(number, all))
    }
}

impl Number {
    /// What has been read, with its text.
    pub(super) fn of(number: Read, text: &str) -> Number {
        match number {
            Read::Unsigned(value) => value.into(),
            Read::Signed(value) => value.into(),
            Read::Float(value) if is_written_as(value, text) => Kind::Float(value).into(),
            Read::Float(_) => Number::of_text(text),
        }
    }
}

impl Serialize for Number {
    #[inline]
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        match &self.kind {
            Kind::Unsigned(value) => serializer.serialize_u64(*value),
            Kind::Signed(value) => serializer.serialize_i64(*value),
            Kind::Float(value) => serializer.serialize_f64(*value),
            Kind::Text(text) if is_own::<S::Error>() => {
                let mut number = serializer.serialize_struct(NUMBER, 1)?;
                number.serialize_field(NUMBER, &**text)?;
                number.end()
            }
            Kind::Text(text) => match self.as_f64() {
                Some(value) => serializer.serialize_f64(value),
                None => Err(serde::ser::Error::custom(format_args!("{}: {text}", Code::NumberRange))),
            },
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Number, D::Error> {
        struct Numbers;

        impl<'de> Visitor<'de> for Numbers {
            type Value = Number;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON number")
            }

            fn visit_i64<E>(self, value: i64) -> Result<Number, E> {
                Ok(value.into())
            }

            fn visit_u64<E>(self, value: u64) -> Result<Number, E> {
                Ok(value.into())
            }

            fn visit_i128<E: de::Error>(self, value: i128) -> Result<Number, E> {
                Number::from_i128(value).ok_or_else(|| de::Error::custom(Code::NumberRange))
            }

            fn visit_u128<E: de::Error>(self, value: u128) -> Result<Number, E> {
                Number::from_u128(value).ok_or_else(|| de::Error::custom(Code::NumberRange))
            }

            fn visit_f32<E: de::Error>(self, value: f32) -> Result<Number, E> {
                Number::from_f32(value).ok_or_else(|| de::Error::custom("not a JSON number"))
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Number, E> {
                Number::from_f64(value).ok_or_else(|| de::Error::custom("not a JSON number"))
            }

            fn visit_newtype_struct<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Number, D::Error> {
                deserializer.deserialize_any(Numbers)
            }

            fn visit_map<A: de::MapAccess<'de>>(self, mut members: A) -> Result<Number, A::Error> {
                match members.next_key::<FirstKey>()? {
                    Some(FirstKey::OwnNumber) => members.next_value::<Digits>().map(|digits| digits.0),
                    _ => Err(de::Error::invalid_type(Unexpected::Map, &self)),
                }
            }
        }

        deserializer.deserialize_newtype_struct(VALUE, Numbers)
    }
}

/// A number as a string in which nothing else stands.
pub(super) struct Digits(pub(super) Number);

impl<'de> Deserialize<'de> for Digits {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Digits, D::Error> {
        struct Text;

        impl Visitor<'_> for Text {
            type Value = Digits;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("string containing a number")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Digits, E> {
                text.parse().map(Digits).map_err(de::Error::custom)
            }
        }

        deserializer.deserialize_str(Text)
    }
}

impl From<Number> for Value {
    fn from(number: Number) -> Value {
        Value::Number(number)
    }
}
