//! Finding the byte that ends a run, and copying the run, a vector at a time.
//!
//! One set of loops over a [`Block`] serves every processor: SSE2 is part of x86-64, AVX2 and AVX-512 are asked for when
//! the program runs and taken for what is long, or compiled in where the target has them; NEON is part of aarch64;
//! elsewhere eight bytes are looked at as one number. Nothing is read outside of the slice that is given.
#![allow(unsafe_code)]

mod escape;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(any(test, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(feature = "serde")]
pub(crate) use escape::escape;
pub(crate) use escape::{BEYOND_BYTES, copy_escaped, copy_unescaped};

/// The block that is compiled into whoever calls.
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
type Near = x86::Avx2;
#[cfg(all(target_arch = "x86_64", not(target_feature = "avx2")))]
type Near = x86::Sse2;
#[cfg(target_arch = "aarch64")]
type Near = neon::Neon;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
type Near = portable::Word;

/// The block for what is shorter than that.
#[cfg(target_arch = "x86_64")]
type Small = x86::Sse2;
#[cfg(not(target_arch = "x86_64"))]
type Small = Near;

/// How many blocks are looked at before a function is called that may have larger ones.
const NEAR_BLOCKS: usize = 2;

/// So many bytes at once, as a vector register holds them.
trait Block: Copy {
    /// How many.
    const BYTES: usize;
    /// A mask has a bit for each byte, the first byte's lowest, at a distance of `1 << MASK_SHIFT`.
    const MASK_SHIFT: u32;

    /// # Safety
    ///
    /// `from` must be valid for reads of [`Self::BYTES`] bytes, and the processor must have what the block is made for.
    unsafe fn load(from: *const u8) -> Self;

    /// # Safety
    ///
    /// `to` must be valid for writes of [`Self::BYTES`] bytes, and the processor must have what the block is made for.
    unsafe fn store(self, to: *mut u8);

    /// Where a byte stands that cannot stand for itself in a string: a quote, a backslash, a control character.
    ///
    /// # Safety
    ///
    /// The processor must have what the block is made for.
    unsafe fn special(self) -> u64;

    /// Where a byte stands that is no white space of JSON's.
    ///
    /// # Safety
    ///
    /// The processor must have what the block is made for.
    unsafe fn solid(self) -> u64;
}

/// What is looked for.
trait Search {
    /// Where it stands in a block.
    ///
    /// # Safety
    ///
    /// The processor must have what the block is made for.
    unsafe fn mask<B: Block>(block: B) -> u64;
    /// Whether this byte is it.
    fn is(byte: u8) -> bool;
}

struct Special;
struct Solid;

impl Search for Special {
    #[inline(always)]
    unsafe fn mask<B: Block>(block: B) -> u64 {
        // SAFETY: as the caller promises.
        unsafe { block.special() }
    }

    #[inline(always)]
    fn is(byte: u8) -> bool {
        byte < 0x20 || byte == b'"' || byte == b'\\'
    }
}

impl Search for Solid {
    #[inline(always)]
    unsafe fn mask<B: Block>(block: B) -> u64 {
        // SAFETY: as the caller promises.
        unsafe { block.solid() }
    }

    #[inline(always)]
    fn is(byte: u8) -> bool {
        !matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
    }
}

/// Where the first byte at or behind `at` stands that cannot stand for itself in a string; the text's length if there is none.
#[inline(always)]
pub(crate) fn special(text: &[u8], at: usize) -> usize {
    find::<Special>(text, at)
}

/// Where the first byte at or behind `at` stands that is no white space; the text's length if there is none.
#[inline]
pub(crate) fn solid(text: &[u8], at: usize) -> usize {
    find::<Solid>(text, at)
}

#[inline(always)]
fn find<S: Search>(text: &[u8], mut at: usize) -> usize {
    for _ in 0..NEAR_BLOCKS {
        if text.len() < Near::BYTES || at > text.len() - Near::BYTES {
            return find_end::<S>(text, at);
        }
        // SAFETY: the block lies within the text, and `Near` is compiled for this target.
        let mask = unsafe { S::mask(Near::load(text.as_ptr().add(at))) };
        if mask != 0 {
            return at + (mask.trailing_zeros() >> Near::MASK_SHIFT) as usize;
        }
        at += Near::BYTES;
    }
    find_far::<S>(text, at)
}

/// As [`find`], where less than a block is left.
#[inline(never)]
fn find_end<S: Search>(text: &[u8], at: usize) -> usize {
    if at < text.len() && text.len() >= Small::BYTES {
        // SAFETY: `Small` is compiled for this target.
        return unsafe { find_blocks::<S, Small>(text, at) };
    }
    let rest = text.get(at..).unwrap_or_default();
    at.min(text.len()) + rest.iter().position(|&byte| S::is(byte)).unwrap_or(rest.len())
}

/// As [`find`], where much may be left: by the largest blocks that the processor has.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
fn find_far<S: Search>(text: &[u8], at: usize) -> usize {
    // What a processor has is asked for once and kept by the standard library.
    if text.len() >= x86::Avx512::BYTES && x86::has_avx512() {
        // SAFETY: AVX-512 has been asked for, and the text is as long as a block.
        return unsafe { x86::find_avx512::<S>(text, at) };
    }
    if text.len() >= x86::Avx2::BYTES && x86::has_avx2() {
        // SAFETY: AVX2 has been asked for, and the text is as long as a block.
        return unsafe { x86::find_avx2::<S>(text, at) };
    }
    find_end::<S>(text, at)
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(never)]
fn find_far<S: Search>(text: &[u8], at: usize) -> usize {
    find_end::<S>(text, at)
}

/// As [`find`], by blocks of this size.
///
/// # Safety
///
/// `at` must lie within the text, which must be as long as a block, and the processor must have what the block is made for.
#[inline(always)]
unsafe fn find_blocks<S: Search, B: Block>(text: &[u8], mut at: usize) -> usize {
    let last = text.len() - B::BYTES;
    while at <= last {
        // SAFETY: the block begins at or before the last place at which one lies within the text.
        let mask = unsafe { S::mask(B::load(text.as_ptr().add(at))) };
        if mask != 0 {
            return at + (mask.trailing_zeros() >> B::MASK_SHIFT) as usize;
        }
        at += B::BYTES;
    }
    if at == text.len() {
        return at;
    }
    // The last block again, without what has been looked at.
    // SAFETY: it ends with the text.
    let mask = unsafe { S::mask(B::load(text.as_ptr().add(last))) };
    let mask = mask >> ((at - last) << B::MASK_SHIFT);
    if mask == 0 { text.len() } else { at + (mask.trailing_zeros() >> B::MASK_SHIFT) as usize }
}

/// Copies the longest prefix of `text` that can stand for itself in a string, and returns its length. What lies behind that at `to`,
/// within the text's length, may be written too.
///
/// # Safety
///
/// `to` must be valid for writes of `text.len() + SMALL_BYTES` bytes that `text` has no part of.
#[inline(always)]
pub(crate) unsafe fn copy_plain(to: *mut u8, text: &[u8]) -> usize {
    // SAFETY: `Near` and `Small` are compiled for this target; the lengths are those that `copy_blocks` asks for. A short text
    // is stored with what is behind it, for which the caller has made room.
    unsafe {
        if text.len() > NEAR_BLOCKS * Near::BYTES {
            return copy_far(to, text);
        }
        if text.len() >= Near::BYTES {
            return copy_blocks::<Near>(to, text);
        }
        if text.len() >= Small::BYTES {
            return copy_blocks::<Small>(to, text);
        }
        copy_short(to, text)
    }
}

/// The most that is copied at once of a text that is shorter than a block, in bytes.
pub(crate) const SMALL_BYTES: usize = 16;

/// As [`copy_plain`], of a text of less than sixteen bytes.
///
/// # Safety
///
/// As of [`copy_plain`].
#[inline(always)]
unsafe fn copy_short(to: *mut u8, text: &[u8]) -> usize {
    let bytes = load_short(text).to_le_bytes();
    // SAFETY: the caller has made room for sixteen bytes; the block is read from an array of as many.
    unsafe {
        to.cast::<[u8; SMALL_BYTES]>().write_unaligned(bytes);
        let mut at = 0;
        while at < SMALL_BYTES {
            // what is beyond the text is 0, and would count
            let mask = Small::load(bytes.as_ptr().add(at)).special();
            if mask != 0 {
                return (at + (mask.trailing_zeros() >> Small::MASK_SHIFT) as usize).min(text.len());
            }
            at += Small::BYTES;
        }
    }
    text.len()
}

#[cfg(target_arch = "x86_64")]
#[inline(never)]
unsafe fn copy_far(to: *mut u8, text: &[u8]) -> usize {
    // SAFETY: what the processor has is asked for; the text is longer than each of these blocks, or `Near`'s are taken.
    unsafe {
        if text.len() >= x86::Avx512::BYTES && x86::has_avx512() {
            return x86::copy_avx512(to, text);
        }
        if text.len() >= x86::Avx2::BYTES && x86::has_avx2() {
            return x86::copy_avx2(to, text);
        }
        copy_blocks::<Near>(to, text)
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(never)]
unsafe fn copy_far(to: *mut u8, text: &[u8]) -> usize {
    // SAFETY: `Near` is compiled for this target, and the text is longer than a block.
    unsafe { copy_blocks::<Near>(to, text) }
}

/// As [`copy_plain`], by blocks of this size.
///
/// # Safety
///
/// `to` must be valid for writes of `text.len()` bytes that `text` has no part of; the text must be as long as a block, and the
/// processor must have what the block is made for.
#[inline(always)]
unsafe fn copy_blocks<B: Block>(to: *mut u8, text: &[u8]) -> usize {
    let last = text.len() - B::BYTES;
    let mut at = 0;
    // SAFETY: blocks begin at or before the last place at which one lies within the text, and the room is as long as the text.
    unsafe {
        while at < last {
            let block = B::load(text.as_ptr().add(at));
            block.store(to.add(at));
            let mask = block.special();
            if mask != 0 {
                return at + (mask.trailing_zeros() >> B::MASK_SHIFT) as usize;
            }
            at += B::BYTES;
        }
        // The last block ends with the text: what of it has been copied already is known to be plain.
        let block = B::load(text.as_ptr().add(last));
        block.store(to.add(last));
        let mask = block.special();
        if mask == 0 { text.len() } else { last + (mask.trailing_zeros() >> B::MASK_SHIFT) as usize }
    }
}

/// Less than sixteen bytes as a little-endian number; what is beyond them is 0. Sixteen are taken too.
#[inline(always)]
pub(crate) fn load_short(bytes: &[u8]) -> u128 {
    fn word(bytes: &[u8], at: usize) -> Option<u64> {
        bytes.get(at..)?.first_chunk::<8>().map(|chunk| u64::from_le_bytes(*chunk))
    }
    fn half(bytes: &[u8], at: usize) -> Option<u32> {
        bytes.get(at..)?.first_chunk::<4>().map(|chunk| u32::from_le_bytes(*chunk))
    }
    let length = bytes.len();
    // the two loads may overlap: then they agree on the bytes that both hold
    if let (8..=SMALL_BYTES, Some(low), Some(high)) = (length, word(bytes, 0), word(bytes, length.wrapping_sub(8))) {
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

#[cfg(test)]
mod tests;
