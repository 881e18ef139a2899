//! Eight bytes as one number, for processors of which nothing is known.
#![allow(unsafe_code)]

use super::Block;

/// Eight bytes, the first lowest.
#[derive(Debug, Clone, Copy)]
pub(super) struct Word(u64);

const ONES: u64 = u64::MAX / 255;
const TOPS: u64 = ONES << 7;

/// The top bit of each byte that is 0. Nothing is carried from one byte to the next.
#[inline(always)]
const fn zeros(word: u64) -> u64 {
    !(((word & !TOPS) + !TOPS) | word) & TOPS
}

#[inline(always)]
const fn equal(word: u64, byte: u8) -> u64 {
    zeros(word ^ (ONES * byte as u64))
}

impl Block for Word {
    const BYTES: usize = 8;
    const MASK_SHIFT: u32 = 3;

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller promises eight bytes.
        Self(u64::from_le_bytes(unsafe { from.cast::<[u8; 8]>().read_unaligned() }))
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: the caller promises room for eight bytes.
        unsafe { to.cast::<[u8; 8]>().write_unaligned(self.0.to_le_bytes()) }
    }

    #[inline(always)]
    unsafe fn special(self) -> u64 {
        // a control character has none of the three upper bits
        zeros(self.0 & (ONES * 0xe0)) | equal(self.0, b'"') | equal(self.0, b'\\')
    }

    #[inline(always)]
    unsafe fn solid(self) -> u64 {
        let blank = equal(self.0, b' ') | equal(self.0, b'\n') | equal(self.0, b'\r') | equal(self.0, b'\t');
        !blank & TOPS
    }
}
