//! Appending without a call for each few bytes: most values of a row are shorter than a vector register.
#![allow(unsafe_code)]

/// Appends bytes, of which there are most often few.
#[inline(always)]
pub fn append(out: &mut Vec<u8>, bytes: &[u8]) {
    if bytes.len() > BLOCK {
        out.extend_from_slice(bytes);
        return;
    }
    out.reserve(BLOCK);
    let start = out.len();
    // SAFETY: `reserve` leaves room for the whole block; `set_len` covers just the bytes that are `bytes`.
    unsafe {
        out.as_mut_ptr().add(start).cast::<u128>().write_unaligned(load_short(bytes).to_le());
        out.set_len(start + bytes.len());
    }
}

/// Texts that are appended over and over, kept so that whole blocks can be read from where they are.
#[derive(Debug, Default)]
pub struct Literals {
    bytes: Vec<u8>,
}

/// The place of a text among [`Literals`].
#[derive(Debug, Clone, Copy)]
pub struct Literal {
    start: u32,
    end: u32,
}

impl Literals {
    /// Room for so many bytes of text.
    pub fn with_capacity(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes + BLOCK) }
    }

    /// Keeps what `write` appends. At most 4 GiB can be kept.
    pub fn keep(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Literal {
        let padded = self.bytes.len();
        self.bytes.truncate(padded.saturating_sub(BLOCK));
        let start = self.bytes.len() as u32;
        write(&mut self.bytes);
        let end = self.bytes.len() as u32;
        self.bytes.resize(self.bytes.len() + BLOCK, 0);
        Literal { start, end }
    }

    /// How much is kept, in bytes.
    pub fn size_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Appends a text that was kept here.
    #[inline]
    pub fn append(&self, out: &mut Vec<u8>, literal: Literal) {
        let (start, end) = (literal.start as usize, literal.end as usize);
        // a literal of other `Literals` could lie anywhere
        let Some(text) = self.bytes.get(start..end + BLOCK) else { return };
        let length = text.len() - BLOCK;
        out.reserve(length + BLOCK);
        let at = out.len();
        // SAFETY: blocks begin below `length`, so that each ends within `text`, which goes on for a block beyond
        // `length`, and within the room that `reserve` leaves. `set_len` covers the text's own bytes.
        unsafe {
            let target = out.as_mut_ptr().add(at);
            let mut done = 0;
            while done < length {
                target
                    .add(done)
                    .cast::<[u8; BLOCK]>()
                    .write_unaligned(text.as_ptr().add(done).cast::<[u8; BLOCK]>().read_unaligned());
                done += BLOCK;
            }
            out.set_len(at + length);
        }
    }
}

/// How much is moved at once, in bytes.
const BLOCK: usize = 16;

/// Up to sixteen bytes as a little-endian number; what is beyond them is 0.
#[inline]
fn load_short(bytes: &[u8]) -> u128 {
    fn word(bytes: &[u8], at: usize) -> Option<u64> {
        bytes.get(at..)?.first_chunk::<8>().map(|chunk| u64::from_le_bytes(*chunk))
    }
    fn half(bytes: &[u8], at: usize) -> Option<u32> {
        bytes.get(at..)?.first_chunk::<4>().map(|chunk| u32::from_le_bytes(*chunk))
    }
    let length = bytes.len();
    // the two loads may overlap: then they agree on the bytes that both hold
    if let (8..=BLOCK, Some(low), Some(high)) = (length, word(bytes, 0), word(bytes, length.wrapping_sub(8))) {
        return u128::from(low) | (u128::from(high) << ((length - 8) * 8));
    }
    if let (4..8, Some(low), Some(high)) = (length, half(bytes, 0), half(bytes, length.wrapping_sub(4))) {
        return u128::from(u64::from(low) | (u64::from(high) << ((length - 4) * 8)));
    }
    match *bytes {
        [a] => u128::from(a),
        [a, b] => u128::from(u16::from_le_bytes([a, b])),
        [a, b, c] => u128::from(u32::from_le_bytes([a, b, c, 0])),
        _ => 0,
    }
}

/// Appends the longest prefix of `text` in which nothing must be escaped in JSON, and returns its length.
#[inline]
pub(crate) fn append_clean(out: &mut Vec<u8>, text: &[u8]) -> usize {
    out.reserve(text.len() + BLOCK);
    let start = out.len();
    // SAFETY: `reserve` leaves the room that `copy_clean` asks for; `set_len` covers what it has copied.
    unsafe {
        let clean = copy_clean(out.as_mut_ptr().add(start), text);
        out.set_len(start + clean);
        clean
    }
}

/// Appends `text` between quotes, if nothing in it must be escaped; else what [`append_clean`] appends behind a quote.
/// Returns how much of the text is there.
#[inline]
pub(crate) fn append_quoted(out: &mut Vec<u8>, text: &[u8]) -> usize {
    out.reserve(text.len() + 2 + BLOCK);
    let start = out.len();
    // SAFETY: behind the first quote, `reserve` leaves the room that `copy_clean` asks for, and one byte more for the
    // second quote. `set_len` covers the quotes and what has been copied.
    unsafe {
        let target = out.as_mut_ptr().add(start);
        target.write(b'"');
        let clean = copy_clean(target.add(1), text);
        if clean == text.len() {
            target.add(1 + clean).write(b'"');
            out.set_len(start + clean + 2);
        } else {
            out.set_len(start + clean + 1);
        }
        clean
    }
}

/// Copies the longest prefix of `text` in which nothing must be escaped in JSON, and returns its length.
///
/// # Safety
///
/// `target` must be valid for writes of `text.len() + BLOCK` bytes that `text` has no part of.
#[cfg(target_arch = "x86_64")]
#[inline]
unsafe fn copy_clean(target: *mut u8, text: &[u8]) -> usize {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8,
        _mm_storeu_si128,
    };
    // SAFETY: SSE2 is part of x86-64. Whole blocks are loaded only while `at + BLOCK <= text.len()`, and the last one of a
    // text that is not shorter than a block where it ends with the text; a shorter text is loaded by `load_short`,
    // which stays within its slice. Every store begins at or below `text.len()` and is one block long, which the
    // caller has made room for.
    unsafe {
        let source = text.as_ptr();
        let (quote, backslash, last_control) =
            (_mm_set1_epi8(b'"' as i8), _mm_set1_epi8(b'\\' as i8), _mm_set1_epi8(0x1f));
        let special = |block: __m128i| {
            // unsigned "at most 0x1f" is "equal to its own minimum with 0x1f"
            let control = _mm_cmpeq_epi8(_mm_min_epu8(block, last_control), block);
            let quoted = _mm_or_si128(_mm_cmpeq_epi8(block, quote), _mm_cmpeq_epi8(block, backslash));
            _mm_movemask_epi8(_mm_or_si128(control, quoted)) as u32
        };
        let mut at = 0;
        while at + BLOCK <= text.len() {
            let block = _mm_loadu_si128(source.add(at).cast());
            _mm_storeu_si128(target.add(at).cast(), block);
            let found = special(block);
            if found != 0 {
                return at + found.trailing_zeros() as usize;
            }
            at += BLOCK;
        }
        if text.len() >= BLOCK {
            // The last block again, up to the end: what of it has been copied already is known to be clean.
            let last = text.len() - BLOCK;
            let block = _mm_loadu_si128(source.add(last).cast());
            _mm_storeu_si128(target.add(last).cast(), block);
            return (last + special(block).trailing_zeros() as usize).min(text.len());
        }
        let bytes = load_short(text).to_le_bytes();
        let block = _mm_loadu_si128(bytes.as_ptr().cast());
        _mm_storeu_si128(target.cast(), block);
        // what is beyond the text is 0, and would count
        (special(block).trailing_zeros() as usize).min(text.len())
    }
}

/// Copies the longest prefix of `text` in which nothing must be escaped in JSON, and returns its length.
///
/// # Safety
///
/// `target` must be valid for writes of `text.len()` bytes that `text` has no part of.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
unsafe fn copy_clean(target: *mut u8, text: &[u8]) -> usize {
    let must_escape = |byte: u8| byte < 0x20 || byte == b'"' || byte == b'\\';
    // blocks whose test the compiler turns into vector instructions
    let blocks = text.chunks_exact(BLOCK);
    let clean = blocks.take_while(|block| !block.iter().fold(false, |found, &byte| found | must_escape(byte))).count();
    let tail = &text[clean * BLOCK..];
    let clean = clean * BLOCK + tail.iter().position(|&byte| must_escape(byte)).unwrap_or(tail.len());
    // SAFETY: `clean <= text.len()`, for which the caller has made room.
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), target, clean) };
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_length_is_appended_whole() {
        let text: Vec<u8> = (1..=100).collect();
        for length in 0..text.len() {
            let mut out = b"before".to_vec();
            append(&mut out, &text[..length]);
            assert_eq!(out, [b"before", &text[..length]].concat());
            let mut literals = Literals::default();
            let first = literals.keep(|out| out.extend_from_slice(b"first"));
            let second = literals.keep(|out| out.extend_from_slice(&text[..length]));
            let mut out = Vec::new();
            literals.append(&mut out, second);
            literals.append(&mut out, first);
            assert_eq!(out, [&text[..length], b"first"].concat());
        }
    }
}
