//! Validators made of a response's bytes (RFC 9110 section 8.8.3), and whether whoever asks has them already.

use hyper::header::{HeaderMap, HeaderValue, IF_NONE_MATCH};
use std::fmt::Write;
use thalweg_files::is_named;
use xxhash_rust::xxh3::Xxh3;

/// The validator of these bytes.
pub(crate) fn of<'a>(chunks: impl Iterator<Item = &'a [u8]>) -> HeaderValue {
    let mut hash = Xxh3::new();
    chunks.for_each(|chunk| hash.update(chunk));
    let mut tag = String::with_capacity(34);
    let _ = write!(tag, "\"{:032x}\"", hash.digest128());
    HeaderValue::try_from(tag).unwrap_or(HeaderValue::from_static("\"\""))
}

/// Whether a request says that it has what this is the validator of.
pub(crate) fn is_known(tag: &HeaderValue, asked: &HeaderMap) -> bool {
    let named = |value: &HeaderValue| match (value.to_str(), tag.to_str()) {
        (Ok(list), Ok(tag)) => is_named(list, tag, true),
        _ => false,
    };
    asked.get_all(IF_NONE_MATCH).iter().any(named)
}
