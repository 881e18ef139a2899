//! Strings, escaped as PostgreSQL's `escape_json` escapes them.

use crate::append::{append_clean, append_escaped, append_quoted};

/// Appends `text` as a JSON string, quotes included. The bytes must be UTF-8 for the result to be.
#[inline]
pub fn write_string(out: &mut Vec<u8>, text: &[u8]) {
    let clean = append_quoted(out, text);
    if clean < text.len() {
        append_escaped(out, &text[clean..]);
        out.push(b'"');
    }
}

/// Appends part of a JSON string, which may be cut anywhere, without quotes.
#[inline]
pub fn write_inside(out: &mut Vec<u8>, text: &[u8]) {
    let clean = append_clean(out, text);
    append_escaped(out, &text[clean..]);
}

/// Appends bytes as lower-case hexadecimal digits.
pub fn write_hex(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.reserve(bytes.len() * 2);
    for chunk in bytes.chunks(256) {
        let mut pairs = [0u8; 512];
        for (pair, &byte) in pairs.chunks_exact_mut(2).zip(chunk) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        out.extend_from_slice(&pairs[..chunk.len() * 2]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> String {
        let mut out = b"before".to_vec();
        write_string(&mut out, text.as_bytes());
        String::from_utf8(out).unwrap()["before".len()..].to_owned()
    }

    #[test]
    fn escapes_are_those_of_escape_json() {
        assert_eq!(written("a\"b\\c\u{8}\u{c}\n\r\t\u{1}\u{7f}é𝄞/"), "\"a\\\"b\\\\c\\b\\f\\n\\r\\t\\u0001\u{7f}é𝄞/\"");
        assert_eq!(written(""), "\"\"");
    }

    #[test]
    fn an_escape_at_any_place_of_a_block_is_found() {
        for length in 0..70 {
            for place in 0..length {
                let mut text = "x".repeat(length);
                text.replace_range(place..=place, "\n");
                assert_eq!(serde_json::from_str::<String>(&written(&text)).unwrap(), text);
            }
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 256 }))]

        #[test]
        fn any_text_reads_back(text: String) {
            proptest::prop_assert_eq!(serde_json::from_str::<String>(&written(&text)).unwrap(), text);
        }

        #[test]
        fn any_mix_of_escapes_reads_back(text in "[ -~\\x00-\\x1f\"\\\\]{0,200}") {
            proptest::prop_assert_eq!(serde_json::from_str::<String>(&written(&text)).unwrap(), text);
        }
    }
}
