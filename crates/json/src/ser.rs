//! Writing all types of serde's, as `serde_json` writes them.

mod compact;
mod formatted;
mod formatter;
pub(crate) mod key;

pub use formatted::{Compound, Serializer};
pub use formatter::{CharEscape, CompactFormatter, Formatter, PrettyFormatter};

use crate::error::{Error, Result};
use crate::write::{self, TEXT_BYTES_MIN};
use compact::Compact;
use serde::Serialize;
use std::io;

/// Writes a value as a text.
// not in line, as `crate::write`
#[inline(never)]
pub fn to_vec<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>> {
    let mut text = Vec::with_capacity(TEXT_BYTES_MIN);
    write::append_with(&mut text, |out| value.serialize(Compact { out }))?;
    Ok(text)
}

/// As [`to_vec`], as a string.
#[inline(never)]
pub fn to_string<T: Serialize + ?Sized>(value: &T) -> Result<String> {
    write::append_string(|out| value.serialize(Compact { out }))
}

/// Writes a value in chunks of at most 16 KiB, so that its whole text is never in memory. What has been handed to `to` before something fails
/// stays there.
pub fn to_writer<W: io::Write, T: Serialize + ?Sized>(mut to: W, value: &T) -> Result<()> {
    let sink = |chunk: &mut Vec<u8>| {
        let written = to.write_all(chunk);
        chunk.clear();
        written
    };
    write::chunks_with(CHUNK_BYTES, sink, |out| value.serialize(Compact { out }))?.map_err(Error::io)
}

/// As [`to_vec`], with line breaks and two spaces for each level.
pub fn to_vec_pretty<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>> {
    let mut text = Vec::with_capacity(TEXT_BYTES_MIN);
    to_writer_pretty(&mut text, value)?;
    Ok(text)
}

/// As [`to_vec_pretty`], as a string.
pub fn to_string_pretty<T: Serialize + ?Sized>(value: &T) -> Result<String> {
    let text = to_vec_pretty(value)?;
    String::from_utf8(text).map_err(Error::message)
}

/// As [`to_writer`], with line breaks and two spaces for each level. It writes small pieces: `to` should be buffered.
pub fn to_writer_pretty<W: io::Write, T: Serialize + ?Sized>(to: W, value: &T) -> Result<()> {
    value.serialize(&mut Serializer::pretty(to))
}

const CHUNK_BYTES: usize = 16 << 10;

/// By these names a number and a text of JSON ask to be written as they are. They are `serde_json`'s, so that its own types are understood.
pub(crate) const NUMBER: &str = "$serde_json::private::Number";
pub(crate) const RAW: &str = "$serde_json::private::RawValue";

/// Returns whether an error type is that of this crate's serializers, also of another version of it, or of
/// one that wraps them and passes their errors on (`serde_path_to_error`, serde's own buffers).
///
/// Only these serializers recognise the names above: another format would write a map with a
/// private key. A type is compared by its name because `TypeId` requires a type without lifetimes.
pub(crate) fn is_own<E>() -> bool {
    std::any::type_name::<E>() == std::any::type_name::<Error>()
}
