//! Any value of JSON, with its keys in order and its numbers as they were written.

mod de;
mod direct;
mod from;
mod index;
mod json;
pub mod map;
mod number;
mod raw;
mod ser;

pub use index::Index;
pub use map::Map;
pub use number::Number;
pub use raw::{RawValue, to_raw_value};
pub use ser::Serializer;

use crate::error::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::{fmt, io, mem};

/// Any value of JSON.
///
/// ```
/// use thalweg_json::{Value, json};
///
/// let flight: Value = thalweg_json::from_str(r#"{"pilot": "Ann", "km": 301.50, "legs": [1, 2]}"#)?;
/// assert_eq!(flight["pilot"], "Ann");
/// assert_eq!(flight["legs"], json!([1, 2]));
/// assert!(flight["no such member"].is_null());
/// // keys keep their order, and numbers their digits
/// assert_eq!(flight.to_string(), r#"{"pilot":"Ann","km":301.50,"legs":[1,2]}"#);
/// # Ok::<(), thalweg_json::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub enum Value {
    /// `null`
    #[default]
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string.
    String(String),
    /// An array.
    Array(Vec<Value>),
    /// An object.
    Object(Map<String, Value>),
}

/// What a value becomes that serde can write.
pub fn to_value<T: Serialize>(value: T) -> Result<Value> {
    value.serialize(Serializer)
}

/// What serde can read from a value.
pub fn from_value<T: DeserializeOwned>(value: Value) -> Result<T> {
    T::deserialize(value)
}

macro_rules! kinds {
    ($($is:ident $as:ident $as_mut:ident $kind:ident: $type:ty, $what:literal;)*) => {$(
        #[doc = concat!("Whether it is ", $what, ".")]
        pub fn $is(&self) -> bool {
            self.$as().is_some()
        }

        #[doc = concat!("What it is, if it is ", $what, ".")]
        pub fn $as(&self) -> Option<&$type> {
            match self {
                Value::$kind(value) => Some(value),
                _ => None,
            }
        }

        #[doc = concat!("What it is, if it is ", $what, ".")]
        pub fn $as_mut(&mut self) -> Option<&mut $type> {
            match self {
                Value::$kind(value) => Some(value),
                _ => None,
            }
        }
    )*};
}

macro_rules! numbers {
    ($($is:ident $as:ident: $type:ty;)*) => {$(
        #[doc = concat!("Whether it is a number of the type `", stringify!($type), "`.")]
        pub fn $is(&self) -> bool {
            self.as_number().is_some_and(Number::$is)
        }

        #[doc = concat!("The number as `", stringify!($type), "`, if it is one that fits.")]
        pub fn $as(&self) -> Option<$type> {
            self.as_number().and_then(Number::$as)
        }
    )*};
}

impl Value {
    /// The element at a place or the member of a key, if there is one.
    pub fn get<I: Index>(&self, index: I) -> Option<&Value> {
        index.index_into(self)
    }

    /// As [`Value::get`].
    pub fn get_mut<I: Index>(&mut self, index: I) -> Option<&mut Value> {
        index.index_into_mut(self)
    }

    kinds! {
        is_object as_object as_object_mut Object: Map<String, Value>, "an object";
        is_array as_array as_array_mut Array: Vec<Value>, "an array";
    }

    numbers! {
        is_i64 as_i64: i64;
        is_u64 as_u64: u64;
        is_f64 as_f64: f64;
    }

    /// Whether it is a string.
    pub fn is_string(&self) -> bool {
        self.as_str().is_some()
    }

    /// The string, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Whether it is a number.
    pub fn is_number(&self) -> bool {
        self.as_number().is_some()
    }

    /// The number, if it is one.
    pub fn as_number(&self) -> Option<&Number> {
        match self {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    /// Whether it is `true` or `false`.
    pub fn is_boolean(&self) -> bool {
        self.as_bool().is_some()
    }

    /// `true` or `false`, if it is one of them.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// Whether it is `null`.
    pub fn is_null(&self) -> bool {
        self.as_null().is_some()
    }

    /// `()`, if it is `null`.
    pub fn as_null(&self) -> Option<()> {
        matches!(self, Value::Null).then_some(())
    }

    /// What a JSON Pointer ([RFC 6901](https://www.rfc-editor.org/rfc/rfc6901)) points to.
    pub fn pointer(&self, pointer: &str) -> Option<&Value> {
        steps(pointer)?.try_fold(self, |value, step| match value {
            Value::Object(members) => members.get(&step),
            Value::Array(elements) => elements.get(place(&step)?),
            _ => None,
        })
    }

    /// As [`Value::pointer`].
    pub fn pointer_mut(&mut self, pointer: &str) -> Option<&mut Value> {
        steps(pointer)?.try_fold(self, |value, step| match value {
            Value::Object(members) => members.get_mut(&step),
            Value::Array(elements) => elements.get_mut(place(&step)?),
            _ => None,
        })
    }

    /// Takes it away and leaves `null`.
    pub fn take(&mut self) -> Value {
        mem::take(self)
    }

    /// Puts the keys of all objects in it into order.
    pub fn sort_all_objects(&mut self) {
        match self {
            Value::Object(members) => {
                members.sort_keys();
                members.values_mut().for_each(Value::sort_all_objects);
            }
            Value::Array(elements) => elements.iter_mut().for_each(Value::sort_all_objects),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

/// The steps of a pointer: empty, or each behind a slash.
fn steps(pointer: &str) -> Option<impl Iterator<Item = String>> {
    let steps = match pointer {
        "" => None,
        _ => Some(pointer.strip_prefix('/')?),
    };
    Some(steps.into_iter().flat_map(|steps| steps.split('/')).map(|step| step.replace("~1", "/").replace("~0", "~")))
}

/// A place in an array: digits, of which the first is 0 only if it is alone.
fn place(step: &str) -> Option<usize> {
    if step.starts_with('+') || (step.starts_with('0') && step.len() != 1) {
        return None;
    }
    step.parse().ok()
}

/// Without white space; with `{:#}` on several lines.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_pretty = f.alternate();
        let mut to = Pieces(f);
        let written = match is_pretty {
            true => self.serialize(&mut crate::Serializer::pretty(&mut to)),
            false => self.serialize(&mut crate::Serializer::new(&mut to)),
        };
        written.map_err(|_| fmt::Error)
    }
}

/// The pieces that a formatter writes are not cut within a character.
struct Pieces<'a, 'f>(&'a mut fmt::Formatter<'f>);

impl io::Write for Pieces<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = std::str::from_utf8(bytes).map_err(io::Error::other)?;
        self.0.write_str(text).map_err(io::Error::other)?;
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("Null"),
            Value::Bool(value) => write!(f, "Bool({value})"),
            Value::Number(number) => fmt::Debug::fmt(number, f),
            Value::String(text) => write!(f, "String({text:?})"),
            Value::Array(elements) => {
                f.write_str("Array ")?;
                fmt::Debug::fmt(elements, f)
            }
            Value::Object(members) => {
                f.write_str("Object ")?;
                fmt::Debug::fmt(members, f)
            }
        }
    }
}

impl std::str::FromStr for Value {
    type Err = Error;

    fn from_str(text: &str) -> Result<Value> {
        crate::from_str(text)
    }
}
