//! Reading all types of serde's, as `serde_json` reads them.

mod key;
mod reading;
mod source;
mod stream;

pub use source::{Deserializer, IoRead, Read, SliceRead, StrRead};
pub use stream::StreamDeserializer;

pub(crate) use reading::{NUMBER, OWN_NUMBER, RAW, VALUE};

use crate::error::{Error, Result};
use crate::read::Parser;
use reading::{Borrow, Reading};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::io;

/// Reads a text that is one value, which may borrow strings of it.
#[inline]
pub fn from_slice<'de, T: Deserialize<'de>>(text: &'de [u8]) -> Result<T> {
    whole(Parser::new(text))
}

/// As [`from_slice`], of a string.
#[inline]
pub fn from_str<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T> {
    whole(Parser::of_str(text))
}

/// Reads what comes up to the end of a file or a socket, which must be one value. It is read whole before it is looked at; for a value after
/// the other use [`Deserializer::from_reader`].
pub fn from_reader<R: io::Read, T: DeserializeOwned>(mut reader: R) -> Result<T> {
    let mut text = Vec::new();
    reader.read_to_end(&mut text).map_err(Error::io)?;
    from_slice(&text)
}

// not in line, as `crate::write`
#[inline(never)]
fn whole<'de, T: Deserialize<'de>>(mut parser: Parser<'de>) -> Result<T> {
    let value = T::deserialize(Reading::<Borrow>::of(&mut parser));
    if value.is_ok() {
        parser.end()?;
    }
    value
}

/// Returns whether a visitor belongs to a decimal type that reads digits from a string, and that would
/// round or distort a number which it receives as a double (or as a map: only some of their features
/// can read that). Their methods do not reveal it, so that they are recognised by their names, also
/// within the wrapper of `serde_path_to_error`.
#[inline]
pub(crate) fn reads_digits<V>() -> bool {
    let name = std::any::type_name::<V>();
    let name = name.strip_suffix('>').unwrap_or(name);
    name.ends_with("rust_decimal::serde::DecimalVisitor") || name.ends_with("bigdecimal::impl_serde::BigDecimalVisitor")
}

/// Returns whether a visitor is that of a buffer in which serde keeps values until it knows their type
/// (flattened members, enums tagged within or untagged). A buffer has doubles, and maps.
#[cfg(feature = "arbitrary_precision")]
pub(crate) fn is_buffer<V>() -> bool {
    std::any::type_name::<V>().contains("::ContentVisitor")
}
