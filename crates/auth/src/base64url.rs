//! Base64 as RFC 7515 has it: the URL's alphabet, no padding, and one text only for each value.

use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD, STANDARD};

/// Refuses padding, white space, and bits behind the last byte that are not zero. Were those let through, a signature could
/// be written in several ways, and a token whose last byte was changed would still be signed.
const STRICT: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, NO_PAD);

pub(crate) fn encode(bytes: impl AsRef<[u8]>) -> String {
    STRICT.encode(bytes)
}

pub(crate) fn decode(text: impl AsRef<[u8]>) -> Option<Vec<u8>> {
    STRICT.decode(text).ok()
}

/// Base64 as people write a secret: white space around it does not count, both alphabets do, and `.` is a `=`.
pub(crate) fn decode_secret(text: &[u8]) -> Option<Vec<u8>> {
    let in_one_alphabet: Vec<u8> = text
        .trim_ascii()
        .iter()
        .map(|byte| match byte {
            b'-' => b'+',
            b'_' => b'/',
            b'.' => b'=',
            other => *other,
        })
        .collect();
    STANDARD.decode(in_one_alphabet).ok()
}
