//! Sixteen digits in a register of SSE2, which is part of x86-64.
#![allow(unsafe_code)]

use std::arch::x86_64::{
    __m128i, _mm_add_epi64, _mm_cmpgt_epi8, _mm_cvtsi128_si64, _mm_movemask_epi8, _mm_mul_epu32, _mm_mulhi_epu16,
    _mm_mullo_epi16, _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8, _mm_set1_epi16, _mm_set1_epi64x, _mm_setzero_si128,
    _mm_shuffle_epi32, _mm_slli_epi16, _mm_slli_epi32, _mm_srli_epi16, _mm_srli_epi64, _mm_storeu_si128, _mm_sub_epi16,
    _mm_unpackhi_epi64,
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
            let rest = _mm_sub_epi16(pairs, _mm_mullo_epi16(tens, _mm_set1_epi16(10)));
            Self(_mm_or_si128(tens, _mm_slli_epi16::<8>(rest)))
        }
    }

    /// How many there are without the zeros at the end.
    #[inline(always)]
    pub(crate) fn count(self) -> usize {
        // SAFETY: SSE2 is part of x86-64.
        let digits = unsafe { _mm_movemask_epi8(_mm_cmpgt_epi8(self.0, _mm_setzero_si128())) };
        32 - (digits as u32).leading_zeros() as usize
    }

    /// As characters, the first in the lowest byte.
    #[inline(always)]
    pub(crate) fn text(self) -> u128 {
        let text = self.characters();
        // SAFETY: SSE2 is part of x86-64.
        let (low, high) = unsafe { (_mm_cvtsi128_si64(text), _mm_cvtsi128_si64(_mm_unpackhi_epi64(text, text))) };
        u128::from(low as u64) | u128::from(high as u64) << 64
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

    #[inline(always)]
    fn characters(self) -> __m128i {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { _mm_or_si128(self.0, _mm_set1_epi8(b'0' as i8)) }
    }
}
