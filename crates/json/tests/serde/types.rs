//! Types with what serde's attributes can do.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Serialize, Deserialize, PartialEq, Debug)]
#[serde(rename_all = "lowercase")]
pub struct Named {
    id: u32,
    name: String,
    #[serde(rename = "unit", alias = "kind")]
    r#type: Option<f64>,
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
#[serde(default)]
pub struct Defaulted {
    id: i8,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip)]
    km: u8,
    #[serde(default = "seven")]
    list: Vec<u64>,
}

impl Default for Defaulted {
    fn default() -> Self {
        Self { id: -7, name: None, km: 3, list: vec![1] }
    }
}

fn seven() -> Vec<u64> {
    vec![7]
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Denying {
    #[serde(default)]
    id: Option<u64>,
    name: Option<Box<Denying>>,
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
pub struct Flattened {
    id: i64,
    #[serde(flatten)]
    inner: Inner,
    #[serde(flatten)]
    tagged: Option<Internal>,
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
pub struct Inner {
    name: Option<String>,
    unit: Option<bool>,
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
pub struct FlattenedMap {
    id: Option<u8>,
    #[serde(flatten)]
    extra: BTreeMap<String, Untagged>,
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
#[serde(rename_all = "lowercase")]
pub enum External {
    Unit,
    Newtype(Option<u8>),
    Pair(i32, String),
    #[serde(rename = "Struct")]
    Struct {
        id: u8,
        #[serde(default)]
        name: String,
    },
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
#[serde(tag = "kind")]
pub enum Internal {
    A,
    B {
        id: Option<i64>,
        km: Option<f32>,
    },
    #[serde(rename = "newtype")]
    Newtype(Inner),
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
#[serde(tag = "tag", content = "content")]
pub enum Adjacent {
    A,
    B(u8),
    Struct {
        id: Option<String>,
    },
    #[serde(rename = "pair")]
    Pair(i8, i8),
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
#[serde(untagged)]
pub enum Untagged {
    Nothing,
    Truth(bool),
    Number(i64),
    Float(f64),
    Pair(u8, u8),
    Text(String),
    Struct { id: u8 },
    List(Vec<Untagged>),
    Other(BTreeMap<String, Untagged>),
}

#[derive(Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Unit {
    A,
    B,
    #[serde(rename = "1")]
    One,
}

#[derive(Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Wrapper<T>(T);

#[derive(Serialize, Deserialize, PartialEq, Debug)]
pub struct UnitStruct;

/// Bytes, from a string or from numbers.
#[derive(PartialEq, Debug)]
pub struct Bytes(Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Bytes;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes(bytes.to_vec()))
            }

            fn visit_str<E>(self, text: &str) -> Result<Bytes, E> {
                Ok(Bytes(text.as_bytes().to_vec()))
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut elements: A) -> Result<Bytes, A::Error> {
                let mut bytes = Vec::new();
                while let Some(byte) = elements.next_element()? {
                    bytes.push(byte);
                }
                Ok(Bytes(bytes))
            }
        }

        deserializer.deserialize_byte_buf(Visitor)
    }
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
pub struct With {
    #[serde(with = "as_text")]
    id: u64,
    #[serde(default, with = "as_text", skip_serializing_if = "is_zero")]
    km: u64,
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

mod as_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(value: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|_| D::Error::custom(format_args!("{text:?} is no number")))
    }
}

pub mod borrowed_bytes {
    use serde::{Deserialize, Deserializer};

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<&'de [u8], D::Error> {
        <&[u8]>::deserialize(deserializer)
    }
}
