//! Strings, escaped as PostgreSQL's `escape_json` escapes them.

/// Appends `text` as a JSON string, quotes included. The bytes must be UTF-8 for the result to be.
#[inline]
pub fn write_string(out: &mut Vec<u8>, text: &[u8]) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    write_string_content(out, text);
    out.push(b'"');
}

/// Appends the inside of a JSON string. Runs without an escape are copied as they are, once.
pub fn write_string_content(out: &mut Vec<u8>, text: &[u8]) {
    let mut rest = text;
    loop {
        let clean = copy_clean(out, rest);
        match rest.get(clean) {
            None => return,
            Some(&byte) => escape(out, byte),
        }
        rest = &rest[clean + 1..];
    }
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

#[cold]
fn escape(out: &mut Vec<u8>, byte: u8) {
    let short = match byte {
        b'"' => b"\\\"",
        b'\\' => b"\\\\",
        0x08 => b"\\b",
        0x0c => b"\\f",
        b'\n' => b"\\n",
        b'\r' => b"\\r",
        b'\t' => b"\\t",
        _ => {
            out.extend_from_slice(b"\\u00");
            write_hex(out, &[byte]);
            return;
        }
    };
    out.extend_from_slice(short);
}

#[inline]
fn must_escape(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// Appends the longest prefix of `text` that needs no escape and returns its length.
#[cfg(target_arch = "x86_64")]
#[inline]
fn copy_clean(out: &mut Vec<u8>, text: &[u8]) -> usize {
    #[allow(unsafe_code)]
    mod sse2 {
        use std::arch::x86_64::*;

        /// Copies blocks of sixteen bytes while none of them needs an escape. Returns how many bytes were
        /// appended, and whether the block after them holds an escape.
        #[inline]
        pub(super) fn copy_blocks(out: &mut Vec<u8>, text: &[u8]) -> (usize, bool) {
            let blocks = text.len() / 16 * 16;
            out.reserve(blocks);
            let start = out.len();
            let mut at = 0;
            // SAFETY: SSE2 is part of x86-64. `at + 16 <= blocks <= text.len()` bounds each load, and
            // `reserve(blocks)` leaves room for `start + at + 16 <= start + blocks` bytes to be stored.
            // `set_len` covers the `at` bytes that were written by the stores.
            unsafe {
                let source = text.as_ptr();
                let target = out.as_mut_ptr().add(start);
                let (quote, backslash, space) =
                    (_mm_set1_epi8(b'"' as i8), _mm_set1_epi8(b'\\' as i8), _mm_set1_epi8(0x1f));
                let mut found = 0;
                while at < blocks {
                    let block = _mm_loadu_si128(source.add(at).cast());
                    _mm_storeu_si128(target.add(at).cast(), block);
                    // unsigned "less than 0x20" is "equal to its own minimum with 0x1f"
                    let control = _mm_cmpeq_epi8(_mm_min_epu8(block, space), block);
                    let special = _mm_or_si128(
                        control,
                        _mm_or_si128(_mm_cmpeq_epi8(block, quote), _mm_cmpeq_epi8(block, backslash)),
                    );
                    found = _mm_movemask_epi8(special) as u32;
                    if found != 0 {
                        at += found.trailing_zeros() as usize;
                        break;
                    }
                    at += 16;
                }
                out.set_len(start + at);
                (at, found != 0)
            }
        }
    }
    let (copied, stopped) = sse2::copy_blocks(out, text);
    if stopped { copied } else { copied + copy_tail(out, &text[copied..]) }
}

/// Appends the longest prefix of `text` that needs no escape and returns its length.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn copy_clean(out: &mut Vec<u8>, text: &[u8]) -> usize {
    // Blocks of sixteen whose test the compiler turns into vector instructions.
    let clean = text
        .chunks_exact(16)
        .take_while(|block| !block.iter().fold(false, |special, &byte| special | must_escape(byte)))
        .count()
        * 16;
    out.extend_from_slice(&text[..clean]);
    clean + copy_tail(out, &text[clean..])
}

fn copy_tail(out: &mut Vec<u8>, text: &[u8]) -> usize {
    let clean = text.iter().position(|&byte| must_escape(byte)).unwrap_or(text.len());
    out.extend_from_slice(&text[..clean]);
    clean
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
