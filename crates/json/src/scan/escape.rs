//! Texts with escapes: runs and what stands between them in turn, without a branch for how long a run is.
#![allow(unsafe_code)]

use super::{Block, Small, load_short};

/// How a byte is written in a string, and in the last of eight bytes how many that are. Most stand for themselves.
static ESCAPES: [[u8; 8]; 256] = {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut escapes = [[0; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        escapes[byte] = match byte as u8 {
            b'"' => *b"\\\"\0\0\0\0\0\x02",
            b'\\' => *b"\\\\\0\0\0\0\0\x02",
            0x08 => *b"\\b\0\0\0\0\0\x02",
            0x0c => *b"\\f\0\0\0\0\0\x02",
            b'\n' => *b"\\n\0\0\0\0\0\x02",
            b'\r' => *b"\\r\0\0\0\0\0\x02",
            b'\t' => *b"\\t\0\0\0\0\0\x02",
            0..0x20 => [b'\\', b'u', b'0', b'0', DIGITS[byte >> 4], DIGITS[byte & 15], 0, 6],
            itself => [itself, 0, 0, 0, 0, 0, 0, 1],
        };
        byte += 1;
    }
    escapes
};

/// How a byte is written in a string.
#[cfg(feature = "serde")]
pub(crate) fn escape(byte: u8) -> &'static [u8] {
    let escape = &ESCAPES[usize::from(byte)];
    &escape[..usize::from(escape[7])]
}

/// What stands for a byte behind a backslash; 0 where it is no escape of two characters.
static MEANINGS: [u8; 256] = {
    let mut meanings = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let [_, letter, .., length] = ESCAPES[byte];
        if length == 2 {
            meanings[letter as usize] = byte as u8;
        }
        byte += 1;
    }
    meanings[b'/' as usize] = b'/';
    meanings
};

/// So many bytes may be written behind the place at which writing must stop.
pub(crate) const BEYOND_BYTES: usize = 48;

/// Writes text with its escapes, until it has ended or a place at or beyond `end` has been written to. Returns how much of it is written, and the
/// place behind that.
///
/// # Safety
///
/// From `to` up to [`BEYOND_BYTES`] behind `end`, memory must be valid for writes, and `text` have no part of it.
pub(crate) unsafe fn copy_escaped(to: *mut u8, end: *mut u8, text: &[u8]) -> (usize, *mut u8) {
    // SAFETY: as the caller promises; what the processor has is asked for.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        let (at, to) = match text.len() > super::x86::Avx2::BYTES && super::x86::has_avx2() {
            true => super::x86::escape_avx2(to, end, text),
            false => (0, to),
        };
        #[cfg(not(target_arch = "x86_64"))]
        let at = 0;
        let (at, to) = escape_blocks::<Small>(to, end, text, at);
        escape_short(to, end, text, at)
    }
}

/// As [`copy_escaped`], from `at` on, by blocks of this size, for as long as one and a byte more are left.
///
/// # Safety
///
/// As of [`copy_escaped`], and the processor must have what the block is made for.
#[inline(always)]
pub(super) unsafe fn escape_blocks<B: Block>(
    mut to: *mut u8,
    end: *mut u8,
    text: &[u8],
    mut at: usize,
) -> (usize, *mut u8) {
    const { assert!(B::BYTES + 8 <= BEYOND_BYTES) };
    while at + B::BYTES < text.len() && to < end {
        // SAFETY: a block and a byte more are left; a block and eight bytes are less than may be written from before `end` on.
        unsafe {
            let block = B::load(text.as_ptr().add(at));
            block.store(to);
            // the byte behind a block that is plain may be plain or not, as each is in the table
            let run = first::<B>(block.special());
            let escape = ESCAPES[usize::from(*text.get_unchecked(at + run))];
            to.add(run).cast::<[u8; 8]>().write_unaligned(escape);
            (at, to) = (at + run + 1, to.add(run + usize::from(escape[7])));
        }
    }
    (at, to)
}

/// As [`copy_escaped`], where at most sixteen bytes are left behind `at`, unless `end` has been reached.
///
/// # Safety
///
/// As of [`copy_escaped`].
#[inline(always)]
unsafe fn escape_short(mut to: *mut u8, end: *mut u8, text: &[u8], mut at: usize) -> (usize, *mut u8) {
    while let rest @ [_, ..] = &text[at..]
        && to < end
    {
        // SAFETY: `Small` is compiled for this target, and no longer than sixteen bytes.
        unsafe {
            let block = load_short(&rest[..rest.len().min(Small::BYTES)]).to_le_bytes();
            to.cast::<[u8; 16]>().write_unaligned(block);
            let run = first::<Small>(Small::load(block.as_ptr()).special());
            let Some(&byte) = rest.get(run) else { return (text.len(), to.add(rest.len())) };
            let escape = ESCAPES[usize::from(byte)];
            to.add(run).cast::<[u8; 8]>().write_unaligned(escape);
            (at, to) = (at + run + 1, to.add(run + usize::from(escape[7])));
        }
    }
    (at, to)
}

/// Copies what a string stands for from `at` on, up to a byte that is neither plain nor begins an escape of two characters: a quote, a control
/// character, a backslash before something else. It may stop before that, where the text is about to end or at `end`. Returns how far it has
/// read, and the place behind what it has written.
///
/// # Safety
///
/// From `to` up to [`BEYOND_BYTES`] behind `end`, memory must be valid for writes, and `text` have no part of it.
pub(crate) unsafe fn copy_unescaped(to: *mut u8, end: *mut u8, text: &[u8], at: usize) -> (usize, *mut u8) {
    // SAFETY: as the caller promises; what the processor has is asked for.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        if super::x86::has_avx2() {
            return super::x86::unescape_avx2(to, end, text, at);
        }
        unescape_blocks::<Small>(to, end, text, at)
    }
}

/// As [`copy_unescaped`], by blocks of this size.
///
/// # Safety
///
/// As of [`copy_unescaped`], and the processor must have what the block is made for.
#[inline(always)]
pub(super) unsafe fn unescape_blocks<B: Block>(
    mut to: *mut u8,
    end: *mut u8,
    text: &[u8],
    mut at: usize,
) -> (usize, *mut u8) {
    const { assert!(B::BYTES < BEYOND_BYTES) };
    while at + B::BYTES + 1 < text.len() && to < end {
        // SAFETY: a block and two bytes more are left; a block and a byte are less than may be written from before `end` on.
        unsafe {
            let block = B::load(text.as_ptr().add(at));
            block.store(to);
            let run = first::<B>(block.special());
            let (byte, next) = (*text.get_unchecked(at + run), *text.get_unchecked(at + run + 1));
            let is_escape = byte == b'\\';
            let meaning = if is_escape { MEANINGS[usize::from(next)] } else { byte };
            (at, to) = (at + run, to.add(run));
            if byte < b' ' || byte == b'"' || meaning == 0 {
                break;
            }
            to.write(meaning);
            (at, to) = (at + 1 + usize::from(is_escape), to.add(1));
        }
    }
    (at, to)
}

/// The place of the first byte in a mask, or that behind the block.
#[inline(always)]
fn first<B: Block>(mask: u64) -> usize {
    let behind = const { if B::BYTES << B::MASK_SHIFT < 64 { 1 << (B::BYTES << B::MASK_SHIFT) } else { 0 } };
    ((mask | behind).trailing_zeros() >> B::MASK_SHIFT) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Into as little room as there may be, again and again.
    fn in_pieces(mut write: impl FnMut(*mut u8, *mut u8) -> (*mut u8, bool)) -> Vec<u8> {
        let mut written = Vec::new();
        for room_bytes in (1..).step_by(3) {
            let mut room = vec![0; room_bytes + BEYOND_BYTES];
            let start = room.as_mut_ptr();
            // SAFETY: the place lies within the room.
            let (to, has_ended) = write(start, unsafe { start.add(room_bytes) });
            // SAFETY: both lie within the room.
            written.extend_from_slice(&room[..unsafe { to.offset_from_unsigned(start) }]);
            if has_ended {
                break;
            }
        }
        written
    }

    fn escaped(text: &[u8]) -> Vec<u8> {
        let mut rest = text;
        in_pieces(|to, end| {
            // SAFETY: there is room behind the end.
            let (read, to) = unsafe { copy_escaped(to, end, rest) };
            rest = &rest[read..];
            (to, rest.is_empty())
        })
    }

    type Unescape = unsafe fn(*mut u8, *mut u8, &[u8], usize) -> (usize, *mut u8);

    fn unescaped(unescape: Unescape, text: &[u8]) -> (Vec<u8>, usize) {
        let mut at = 0;
        let written = in_pieces(|to, end| {
            // SAFETY: there is room behind the end.
            let (read, to) = unsafe { unescape(to, end, text, at) };
            let has_moved = read > at;
            at = read;
            (to, !has_moved)
        });
        (written, at)
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 256 }))]

        #[test]
        fn any_text_is_escaped_as_serde_json_does_it(text in "([ -~]|[\\x00-\\x1f\"\\\\]|é|🚀){0,120}", place in 0..120_usize) {
            let expected = serde_json::to_string(&text).unwrap();
            proptest::prop_assert_eq!(&escaped(text.as_bytes()), &expected.as_bytes()[1..expected.len() - 1]);
            // from any place of a larger text on
            let place = text.char_indices().map(|(at, _)| at).nth(place).unwrap_or(0);
            let expected = serde_json::to_string(&text[place..]).unwrap();
            proptest::prop_assert_eq!(&escaped(&text.as_bytes()[place..]), &expected.as_bytes()[1..expected.len() - 1]);
        }

        #[test]
        fn any_escapes_of_two_characters_are_undone(text in "([a-z]{0,40}(\\\\[\"\\\\/bfnrt])?){0,9}", end in "[\"\\x00-\\x1f]|\\\\[ux0]") {
            let whole = format!("{text}{end}{}", "x".repeat(40));
            let expected: String = serde_json::from_str(&format!("\"{text}\"")).unwrap();
            for unescape in [copy_unescaped, unescape_blocks::<Small> as Unescape, unescape_blocks::<super::super::portable::Word>] {
                proptest::prop_assert_eq!(unescaped(unescape, whole.as_bytes()), (expected.clone().into_bytes(), text.len()));
            }
            // what ends within a block of the end is left
            let (written, at) = unescaped(copy_unescaped, text.as_bytes());
            proptest::prop_assert!(expected.as_bytes().starts_with(&written) && at <= text.len());
        }
    }
}
