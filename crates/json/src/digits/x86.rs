//! Sixteen digits in a register of SSE2, which is part of x86-64.
#![allow(unsafe_code)]

use std::arch::x86_64::{
    __m128i, _mm_add_epi16, _mm_add_epi64, _mm_and_si128, _mm_andnot_si128, _mm_cmpgt_epi8, _mm_loadu_si128,
    _mm_movemask_epi8, _mm_mul_epu32, _mm_mulhi_epu16, _mm_mullo_epi16, _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8,
    _mm_set1_epi16, _mm_set1_epi64x, _mm_setzero_si128, _mm_shuffle_epi32, _mm_slli_epi16, _mm_slli_epi32,
    _mm_slli_si128, _mm_srli_epi16, _mm_srli_epi64, _mm_storeu_si128, _mm_sub_epi16,
};

/// Sixteen digits, a byte each, the first in the lowest.
#[derive(Clone, Copy)]
pub(crate) struct Sixteen(__m128i);

impl Sixteen {
    /// Of a number below ten to the power of sixteen.
    #[inline(always)]
    pub(crate) fn of(number: u64) -> Self {
        let (upper, lower) = (number / 100_000_000, number % 100_000_000);
        // Each step makes two lanes of one: the quotient in the lower, the remainder in the upper. The reciprocals are exact for what is in a
        // lane.
        // SAFETY: SSE2 is part of x86-64.
        unsafe {
            let eights = _mm_set_epi64x(lower as i64, upper as i64);
            let quotients = _mm_srli_epi64::<40>(_mm_mul_epu32(eights, _mm_set1_epi64x(109_951_163)));
            // the quotient comes into the upper half by what is added to 2^32 times it, and is exchanged with the remainder
            let fours = _mm_add_epi64(eights, _mm_mul_epu32(quotients, _mm_set1_epi64x((1 << 32) - 10_000)));
            let fours = _mm_shuffle_epi32::<0b10_11_00_01>(fours);
            let hundreds = _mm_srli_epi16::<3>(_mm_mulhi_epu16(fours, _mm_set1_epi16(5_243)));
            let rest = _mm_sub_epi16(fours, _mm_mullo_epi16(hundreds, _mm_set1_epi16(100)));
            let pairs = _mm_or_si128(hundreds, _mm_slli_epi32::<16>(rest));
            let tens = _mm_mulhi_epu16(pairs, _mm_set1_epi16(6_554));
            // tens + 256 * (pairs - 10 * tens)
            Self(_mm_add_epi16(_mm_slli_epi16::<8>(pairs), _mm_mullo_epi16(tens, _mm_set1_epi16(1 - 2_560))))
        }
    }

    /// How many there are with one more behind them, without the zeros at the end. Not all may be zeros.
    #[inline(always)]
    pub(crate) fn count(self, last: u8) -> usize {
        // SAFETY: SSE2 is part of x86-64.
        let sixteen = unsafe { _mm_movemask_epi8(_mm_cmpgt_epi8(self.0, _mm_setzero_si128())) };
        let digits = sixteen | i32::from(last > 0) << 16;
        if digits >> 15 == 0 {
            return highest(digits);
        }
        // a guess that is seldom wrong: what is written next need not wait for the digits
        16 + usize::from(last > 0)
    }

    /// Writes the characters.
    ///
    /// # Safety
    ///
    /// `at` must be valid for writes of sixteen bytes.
    #[inline(always)]
    pub(crate) unsafe fn put(self, at: *mut u8) {
        // SAFETY: as the caller promises; SSE2 is part of x86-64.
        unsafe { _mm_storeu_si128(at.cast(), self.characters()) }
    }

    /// Writes the characters with one place between them, behind so many of them; what is written to that place does not count.
    ///
    /// # Safety
    ///
    /// `at` must be valid for writes of seventeen bytes, and `before` from 1 to 16.
    #[inline(always)]
    pub(crate) unsafe fn put_apart(self, before: usize, at: *mut u8) {
        static BEFORE: [[u8; 16]; 2] = [[0xff; 16], [0; 16]];
        let text = self.characters();
        // SAFETY: as the caller promises: a mask begins at one of the first bytes of those. SSE2 is part of x86-64.
        unsafe {
            let mask = _mm_loadu_si128(BEFORE.as_ptr().cast::<u8>().add(16 - before).cast());
            _mm_storeu_si128(at.add(1).cast(), text);
            let apart = _mm_or_si128(_mm_and_si128(mask, text), _mm_andnot_si128(mask, _mm_slli_si128::<1>(text)));
            _mm_storeu_si128(at.cast(), apart);
        }
    }

    #[inline(always)]
    fn characters(self) -> __m128i {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { _mm_or_si128(self.0, _mm_set1_epi8(b'0' as i8)) }
    }
}

/// The place of the highest bit, from 1 on. It is not in line, or else a select would wait for it each time.
#[cold]
#[inline(never)]
fn highest(bits: i32) -> usize {
    32 - bits.leading_zeros() as usize
}
