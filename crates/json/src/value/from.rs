//! What becomes a value, and what one is equal to.

use super::{Map, Number, Value};
use std::borrow::Cow;

macro_rules! integers {
    ($($type:ident)*) => {$(
        impl From<$type> for Value {
            fn from(value: $type) -> Value {
                Value::Number(value.into())
            }
        }

        equal!($type: |value, other| match value {
            Value::Number(number) => *number == Number::from(*other),
            _ => false,
        });
    )*};
}

/// Equality of a value, and of what refers to one, with a type.
macro_rules! equal {
    ($type:ty: |$value:ident, $other:ident| $is_equal:expr) => {
        equal_alone!($type: |$value, $other| $is_equal);

        impl PartialEq<$type> for &Value {
            fn eq(&self, other: &$type) -> bool {
                **self == *other
            }
        }

        impl PartialEq<$type> for &mut Value {
            fn eq(&self, other: &$type) -> bool {
                **self == *other
            }
        }
    };
}

/// Equality of a value with a type.
macro_rules! equal_alone {
    ($type:ty: |$value:ident, $other:ident| $is_equal:expr) => {
        impl PartialEq<$type> for Value {
            fn eq(&self, $other: &$type) -> bool {
                let $value = self;
                $is_equal
            }
        }

        impl PartialEq<Value> for $type {
            fn eq(&self, value: &Value) -> bool {
                value == self
            }
        }
    };
}

integers!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize);
equal!(f32: |value, other| value.as_number().and_then(Number::as_f32) == Some(*other));
equal!(f64: |value, other| value.as_f64() == Some(*other));
equal!(bool: |value, other| value.as_bool() == Some(*other));
equal_alone!(String: |value, other| value.as_str() == Some(other.as_str()));
equal_alone!(str: |value, other| value.as_str() == Some(other));
equal_alone!(&str: |value, other| value.as_str() == Some(*other));

/// `null` where it is not finite.
impl From<f64> for Value {
    fn from(value: f64) -> Value {
        Number::from_f64(value).map_or(Value::Null, Value::Number)
    }
}

/// The number with the digits of the single; `null` where it is not finite.
impl From<f32> for Value {
    fn from(value: f32) -> Value {
        Number::from_f32(value).map_or(Value::Null, Value::Number)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Bool(value)
    }
}

impl From<String> for Value {
    fn from(value: String) -> Value {
        Value::String(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Value {
        Value::String(value.to_owned())
    }
}

impl<'a> From<Cow<'a, str>> for Value {
    fn from(value: Cow<'a, str>) -> Value {
        Value::String(value.into_owned())
    }
}

impl From<Map<String, Value>> for Value {
    fn from(value: Map<String, Value>) -> Value {
        Value::Object(value)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(values: Vec<T>) -> Value {
        values.into_iter().collect()
    }
}

impl<T: Into<Value>, const N: usize> From<[T; N]> for Value {
    fn from(values: [T; N]) -> Value {
        values.into_iter().collect()
    }
}

impl<T: Clone + Into<Value>> From<&[T]> for Value {
    fn from(values: &[T]) -> Value {
        values.iter().cloned().collect()
    }
}

impl From<()> for Value {
    fn from((): ()) -> Value {
        Value::Null
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}

impl<T: Into<Value>> FromIterator<T> for Value {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Value {
        Value::Array(values.into_iter().map(Into::into).collect())
    }
}

impl<K: Into<String>, V: Into<Value>> FromIterator<(K, V)> for Value {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(members: I) -> Value {
        Value::Object(members.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}
