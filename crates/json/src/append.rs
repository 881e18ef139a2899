//! Appending without a call for each few bytes: most values of a row are shorter than a vector register.
#![allow(unsafe_code)]

use crate::scan;

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
        out.as_mut_ptr().add(start).cast::<u128>().write_unaligned(scan::load_short(bytes).to_le());
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
const BLOCK: usize = scan::SMALL_BYTES;

/// Appends the longest prefix of `text` in which nothing must be escaped in JSON, and returns its length.
#[inline]
pub(crate) fn append_clean(out: &mut Vec<u8>, text: &[u8]) -> usize {
    out.reserve(text.len() + BLOCK);
    let start = out.len();
    // SAFETY: `reserve` leaves the room that `copy_plain` asks for; `set_len` covers what it has copied.
    unsafe {
        let clean = scan::copy_plain(out.as_mut_ptr().add(start), text);
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
    // SAFETY: behind the first quote, `reserve` leaves the room that `copy_plain` asks for, and one byte more for the
    // second quote. `set_len` covers the quotes and what has been copied.
    unsafe {
        let target = out.as_mut_ptr().add(start);
        target.write(b'"');
        let clean = scan::copy_plain(target.add(1), text);
        if clean == text.len() {
            target.add(1 + clean).write(b'"');
            out.set_len(start + clean + 2);
        } else {
            out.set_len(start + clean + 1);
        }
        clean
    }
}

/// Appends `text` as a part of a string, escaped where it must be.
#[cold]
pub(crate) fn append_escaped(out: &mut Vec<u8>, mut text: &[u8]) {
    while !text.is_empty() {
        // at least a block fits before what may be written beyond the end
        out.reserve(text.len() + BLOCK + scan::BEYOND_BYTES);
        // SAFETY: the end lies as far before that of the room; what lies before the place that is returned has been written.
        unsafe {
            let start = out.as_mut_ptr();
            let end = start.add(out.capacity() - scan::BEYOND_BYTES);
            let (read, to) = scan::copy_escaped(start.add(out.len()), end, text);
            out.set_len(to.offset_from_unsigned(start));
            text = &text[read..];
        }
    }
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
