//! A REST server held a body of 50 MB three times: as it came, as a text, and as a parameter.

use axum::body::Bytes;
use std::hint::black_box;

/// The largest body, in bytes.
pub(crate) const BYTES_MAX: usize = 64 * 1024 * 1024;

fn lines(text: &[u8]) -> usize {
    text.iter().filter(|byte| **byte == b'\n').count()
}

/// Each layer has a body of its own.
pub(crate) async fn upload(body: Bytes) -> String {
    let received = body.to_vec();
    let text = String::from_utf8_lossy(&received).into_owned();
    let parameter = black_box(&text).clone();
    lines(black_box(parameter.as_bytes())).to_string()
}

/// All look at the same.
pub(crate) async fn once(body: Bytes) -> String {
    lines(black_box(&body)).to_string()
}
