//! Sixteen digits as a number of 128 bits.
#![allow(unsafe_code)]

use super::{ZEROS, eight};

/// Sixteen digits, a byte each, the first in the lowest.
#[derive(Clone, Copy)]
pub(crate) struct Sixteen(u128);

impl Sixteen {
    /// Of a number below ten to the power of sixteen.
    #[inline(always)]
    pub(crate) fn of(number: u64) -> Self {
        let (upper, lower) = ((number / 100_000_000) as u32, (number % 100_000_000) as u32);
        Self(u128::from(eight(upper)) | u128::from(eight(lower)) << 64)
    }

    /// How many there are without the zeros at the end.
    #[inline(always)]
    pub(crate) fn count(self) -> usize {
        16 - (self.0.leading_zeros() / 8) as usize
    }

    /// As characters, the first in the lowest byte.
    #[inline(always)]
    pub(crate) fn text(self) -> u128 {
        self.0 | u128::from(ZEROS) | u128::from(ZEROS) << 64
    }

    /// Writes the characters.
    ///
    /// # Safety
    ///
    /// `at` must be valid for writes of sixteen bytes.
    #[inline(always)]
    pub(crate) unsafe fn put(self, at: *mut u8) {
        // SAFETY: as the caller promises.
        unsafe { at.cast::<u128>().write_unaligned(self.text().to_le()) }
    }
}
