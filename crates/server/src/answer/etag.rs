//! Validators made of a response's bytes (RFC 9110 section 8.8.3), and whether whoever asks has them already.

use super::Body;
use bytes::Bytes;
use hyper::header::{CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH};
use hyper::{Response, StatusCode};
use thalweg_files::is_named;
use thalweg_json::write_hex;
use xxhash_rust::xxh3::Xxh3;

/// The validator of these bytes.
pub(crate) fn of<'a>(chunks: impl Iterator<Item = &'a [u8]>) -> HeaderValue {
    let mut hash = Xxh3::new();
    chunks.for_each(|chunk| hash.update(chunk));
    let mut tag = Vec::with_capacity(34);
    tag.push(b'"');
    write_hex(&mut tag, &hash.digest128().to_be_bytes());
    tag.push(b'"');
    HeaderValue::from_maybe_shared(Bytes::from(tag)).unwrap_or(HeaderValue::from_static("\"\""))
}

/// Puts the validator into a response whose body is in memory. Whoever asks for it and has it is told so, and no more.
pub(crate) fn validate(response: &mut Response<Body>, asked: &HeaderMap) {
    let Some(tag) = response.body().in_memory().map(of) else { return };
    if is_known(&tag, asked) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        *response.body_mut() = Body::whole(Bytes::new());
        [CONTENT_TYPE, CONTENT_LENGTH, CONTENT_RANGE].iter().for_each(|name| _ = response.headers_mut().remove(name));
    }
    response.headers_mut().insert(ETAG, tag);
}

/// Whether a request says that it has what this is the validator of.
pub(crate) fn is_known(tag: &HeaderValue, asked: &HeaderMap) -> bool {
    let named = |value: &HeaderValue| match (value.to_str(), tag.to_str()) {
        (Ok(list), Ok(tag)) => is_named(list, tag, true),
        _ => false,
    };
    asked.get_all(IF_NONE_MATCH).iter().any(named)
}
