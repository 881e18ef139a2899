//! Sixteen digits as a number of 128 bits.
#![allow(unsafe_code)]

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

    /// How many there are with one more behind them, without the zeros at the end. Not all may be zeros.
    #[inline(always)]
    pub(crate) fn count(self, last: u8) -> usize {
        if last > 0 { 17 } else { 16 - (self.0.leading_zeros() / 8) as usize }
    }

    /// Writes the characters.
    ///
    /// # Safety
    ///
    /// `at` must be valid for writes of sixteen bytes.
    #[inline(always)]
    pub(crate) unsafe fn put(self, at: *mut u8) {
        // SAFETY: as the caller promises.
        unsafe { at.cast::<u128>().write_unaligned(self.characters().to_le()) }
    }

    /// Writes the characters with one place between them, behind so many of them; what is written to that place does not count.
    ///
    /// # Safety
    ///
    /// `at` must be valid for writes of seventeen bytes, and `before` from 1 to 16.
    #[inline(always)]
    pub(crate) unsafe fn put_apart(self, before: usize, at: *mut u8) {
        let (text, mask) = (self.characters(), u128::MAX >> (128 - 8 * before));
        // SAFETY: as the caller promises.
        unsafe {
            at.add(1).cast::<u128>().write_unaligned(text.to_le());
            at.cast::<u128>().write_unaligned((text & mask | text << 8 & !mask).to_le());
        }
    }

    #[inline(always)]
    fn characters(self) -> u128 {
        self.0 | u128::from(ZEROS) | u128::from(ZEROS) << 64
    }
}

/// Eight digits of a number below a hundred million, the first in the lowest byte.
#[inline(always)]
fn eight(value: u32) -> u64 {
    // in lanes of 32 bits, of 16 and of 8 each time: quotient below, remainder above. The reciprocals are exact for what is in a lane.
    let fours = u64::from(value / 10_000) | u64::from(value % 10_000) << 32;
    let hundreds = ((fours * 10_486) >> 20) & 0x7f_0000_007f;
    let pairs = hundreds | (fours - 100 * hundreds) << 16;
    let tens = ((pairs * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | (pairs - 10 * tens) << 8
}

/// Eight zeros as characters.
const ZEROS: u64 = u64::from_le_bytes([b'0'; 8]);
