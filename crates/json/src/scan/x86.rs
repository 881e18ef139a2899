//! Sixteen, thirty-two and sixty-four bytes in registers of x86-64.
#![allow(unsafe_code)]

use super::escape::{escape_blocks, unescape_blocks};
use super::{Block, Search, copy_blocks, find_blocks};
use std::arch::x86_64::{
    __m128i, __m256i, __m512i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128,
    _mm_set1_epi8, _mm_storeu_si128, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_min_epu8, _mm256_movemask_epi8,
    _mm256_or_si256, _mm256_set1_epi8, _mm256_storeu_si256, _mm512_cmpeq_epi8_mask, _mm512_cmplt_epu8_mask,
    _mm512_loadu_si512, _mm512_set1_epi8, _mm512_storeu_si512,
};

/// Sixteen bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sse2(__m128i);

/// Thirty-two bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Avx2(__m256i);

/// Sixty-four bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Avx512(__m512i);

/// Whether the processor has AVX2.
#[inline(always)]
pub(super) fn has_avx2() -> bool {
    std::is_x86_feature_detected!("avx2")
}

/// Whether the processor has AVX-512 with masks of bytes.
#[inline(always)]
pub(super) fn has_avx512() -> bool {
    std::is_x86_feature_detected!("avx512bw")
}

/// # Safety
///
/// As of [`find_blocks`].
#[target_feature(enable = "avx2")]
pub(super) unsafe fn find_avx2<S: Search>(text: &[u8], at: usize) -> usize {
    // SAFETY: as the caller promises.
    unsafe { find_blocks::<S, Avx2>(text, at) }
}

/// # Safety
///
/// As of [`find_blocks`].
#[target_feature(enable = "avx512bw,bmi1")]
pub(super) unsafe fn find_avx512<S: Search>(text: &[u8], at: usize) -> usize {
    // SAFETY: as the caller promises; every processor with AVX-512 has BMI1.
    unsafe { find_blocks::<S, Avx512>(text, at) }
}

/// # Safety
///
/// As of [`copy_blocks`].
#[target_feature(enable = "avx2")]
pub(super) unsafe fn copy_avx2(to: *mut u8, text: &[u8]) -> usize {
    // SAFETY: as the caller promises.
    unsafe { copy_blocks::<Avx2>(to, text) }
}

/// # Safety
///
/// As of [`copy_blocks`].
#[target_feature(enable = "avx512bw,bmi1")]
pub(super) unsafe fn copy_avx512(to: *mut u8, text: &[u8]) -> usize {
    // SAFETY: as the caller promises; every processor with AVX-512 has BMI1.
    unsafe { copy_blocks::<Avx512>(to, text) }
}

/// # Safety
///
/// As of [`escape_blocks`].
#[target_feature(enable = "avx2,bmi1")]
pub(super) unsafe fn escape_avx2(to: *mut u8, end: *mut u8, text: &[u8]) -> (usize, *mut u8) {
    // SAFETY: as the caller promises.
    unsafe { escape_blocks::<Avx2>(to, end, text, 0) }
}

/// # Safety
///
/// As of [`unescape_blocks`].
#[target_feature(enable = "avx2,bmi1")]
pub(super) unsafe fn unescape_avx2(to: *mut u8, end: *mut u8, text: &[u8], at: usize) -> (usize, *mut u8) {
    // SAFETY: as the caller promises.
    unsafe { unescape_blocks::<Avx2>(to, end, text, at) }
}

impl Block for Sse2 {
    const BYTES: usize = 16;
    const MASK_SHIFT: u32 = 0;

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller promises sixteen bytes; SSE2 is part of x86-64.
        Self(unsafe { _mm_loadu_si128(from.cast()) })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: the caller promises room for sixteen bytes; SSE2 is part of x86-64.
        unsafe { _mm_storeu_si128(to.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn special(self) -> u64 {
        // SAFETY: SSE2 is part of x86-64.
        unsafe {
            // unsigned "at most 0x1f" is "equal to its own minimum with 0x1f"
            let control = _mm_cmpeq_epi8(_mm_min_epu8(self.0, _mm_set1_epi8(0x1f)), self.0);
            let quote = _mm_cmpeq_epi8(self.0, _mm_set1_epi8(b'"' as i8));
            let backslash = _mm_cmpeq_epi8(self.0, _mm_set1_epi8(b'\\' as i8));
            let found = _mm_or_si128(control, _mm_or_si128(quote, backslash));
            u64::from(_mm_movemask_epi8(found) as u32)
        }
    }

    #[inline(always)]
    unsafe fn solid(self) -> u64 {
        // SAFETY: SSE2 is part of x86-64.
        unsafe {
            let space = _mm_cmpeq_epi8(self.0, _mm_set1_epi8(b' ' as i8));
            let tab = _mm_cmpeq_epi8(self.0, _mm_set1_epi8(b'\t' as i8));
            let line = _mm_cmpeq_epi8(self.0, _mm_set1_epi8(b'\n' as i8));
            let back = _mm_cmpeq_epi8(self.0, _mm_set1_epi8(b'\r' as i8));
            let blank = _mm_or_si128(_mm_or_si128(space, tab), _mm_or_si128(line, back));
            u64::from(!(_mm_movemask_epi8(blank) as u32) & 0xffff)
        }
    }
}

impl Block for Avx2 {
    const BYTES: usize = 32;
    const MASK_SHIFT: u32 = 0;

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller promises thirty-two bytes, and AVX2.
        Self(unsafe { _mm256_loadu_si256(from.cast()) })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: the caller promises room for thirty-two bytes, and AVX2.
        unsafe { _mm256_storeu_si256(to.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn special(self) -> u64 {
        // SAFETY: the caller promises AVX2.
        unsafe {
            let control = _mm256_cmpeq_epi8(_mm256_min_epu8(self.0, _mm256_set1_epi8(0x1f)), self.0);
            let quote = _mm256_cmpeq_epi8(self.0, _mm256_set1_epi8(b'"' as i8));
            let backslash = _mm256_cmpeq_epi8(self.0, _mm256_set1_epi8(b'\\' as i8));
            let found = _mm256_or_si256(control, _mm256_or_si256(quote, backslash));
            u64::from(_mm256_movemask_epi8(found) as u32)
        }
    }

    #[inline(always)]
    unsafe fn solid(self) -> u64 {
        // SAFETY: the caller promises AVX2.
        unsafe {
            let space = _mm256_cmpeq_epi8(self.0, _mm256_set1_epi8(b' ' as i8));
            let tab = _mm256_cmpeq_epi8(self.0, _mm256_set1_epi8(b'\t' as i8));
            let line = _mm256_cmpeq_epi8(self.0, _mm256_set1_epi8(b'\n' as i8));
            let back = _mm256_cmpeq_epi8(self.0, _mm256_set1_epi8(b'\r' as i8));
            let blank = _mm256_or_si256(_mm256_or_si256(space, tab), _mm256_or_si256(line, back));
            u64::from(!(_mm256_movemask_epi8(blank) as u32))
        }
    }
}

impl Block for Avx512 {
    const BYTES: usize = 64;
    const MASK_SHIFT: u32 = 0;

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller promises sixty-four bytes, and AVX-512.
        Self(unsafe { _mm512_loadu_si512(from.cast()) })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: the caller promises room for sixty-four bytes, and AVX-512.
        unsafe { _mm512_storeu_si512(to.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn special(self) -> u64 {
        // SAFETY: the caller promises AVX-512 with masks of bytes.
        unsafe {
            _mm512_cmplt_epu8_mask(self.0, _mm512_set1_epi8(0x20))
                | _mm512_cmpeq_epi8_mask(self.0, _mm512_set1_epi8(b'"' as i8))
                | _mm512_cmpeq_epi8_mask(self.0, _mm512_set1_epi8(b'\\' as i8))
        }
    }

    #[inline(always)]
    unsafe fn solid(self) -> u64 {
        // SAFETY: the caller promises AVX-512 with masks of bytes.
        unsafe {
            !(_mm512_cmpeq_epi8_mask(self.0, _mm512_set1_epi8(b' ' as i8))
                | _mm512_cmpeq_epi8_mask(self.0, _mm512_set1_epi8(b'\t' as i8))
                | _mm512_cmpeq_epi8_mask(self.0, _mm512_set1_epi8(b'\n' as i8))
                | _mm512_cmpeq_epi8_mask(self.0, _mm512_set1_epi8(b'\r' as i8)))
        }
    }
}
