//! JSON text at memory speed: by serde, by derives, and as it arrives. No database.
//!
//! ```text
//!  HTTP bytes
//!    │
//!    │ request   bytes → ApiRequest                       pure
//!    │ plan      ApiRequest + Catalog → Plan              pure
//!    │ sql       Plan → Statement { text, params, shape }  pure
//!    │ wire      Statement → DataRow bytes                the PostgreSQL socket
//!    │ encode    rows → JSON, CSV
//!    ▼ server    chunks → response                        the HTTP socket
//!    beside it: catalog (what the database holds), gauge (what it cost)
//!  ► under encode: json (text at memory speed)
//! ```
//!
#![doc = include_str!("../README.md")]

#[cfg(feature = "serde")]
extern crate serde_core as serde;

mod append;
#[cfg(feature = "serde")]
pub mod de;
#[doc(hidden)]
pub mod derived;
mod digits;
pub mod error;
mod float;
mod number;
mod read;
mod scan;
#[cfg(feature = "serde")]
pub mod ser;
mod shortest;
mod stream;
mod string;
#[cfg(feature = "serde")]
pub mod value;
mod write;

#[cfg(feature = "derive")]
pub use thalweg_json_derive::{FromJson, FromMembers, ToJson, ToMembers};

pub use append::{Literal, Literals, append};
#[cfg(feature = "serde")]
pub use de::{Deserializer, StreamDeserializer, from_reader, from_slice, from_str};
pub use derived::{FromMembers, ToMembers};
pub use error::{Category, Error, Result};
pub use float::{write_f32, write_f64};
pub use read::{FromJson, FromJsonKey, Parser, Text, read};
#[cfg(feature = "serde")]
pub use ser::{Serializer, to_string, to_string_pretty, to_vec, to_vec_pretty, to_writer, to_writer_pretty};
pub use stream::{Container, NESTING_LEVELS_MAX, ReadError, Reader, Scalar, Visitor};
pub use string::{write_hex, write_inside, write_string};
#[cfg(feature = "serde")]
pub use value::map;
#[cfg(feature = "serde")]
pub use value::{Map, Number, Value, from_value, to_value};
pub use write::{Integer, ToJson, ToJsonKey, Writer, write, write_chunks};

/// Appends an integer.
#[inline]
pub fn write_int(out: &mut Vec<u8>, value: impl Integer) {
    write::append_integer(value, out);
}
