//! Sixteen bytes in a register of aarch64.
#![allow(unsafe_code)]

use super::Block;
use std::arch::aarch64::{
    uint8x16_t, vceqq_u8, vcltq_u8, vdupq_n_u8, vget_lane_u64, vld1q_u8, vmvnq_u8, vorrq_u8, vreinterpret_u64_u8,
    vreinterpretq_u16_u8, vshrn_n_u16, vst1q_u8,
};

/// Sixteen bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Neon(uint8x16_t);

/// Four bits for each byte, of which one is kept.
#[inline(always)]
fn mask(bytes: uint8x16_t) -> u64 {
    // SAFETY: NEON is part of aarch64.
    let nibbles = unsafe { vget_lane_u64::<0>(vreinterpret_u64_u8(vshrn_n_u16::<4>(vreinterpretq_u16_u8(bytes)))) };
    nibbles & 0x8888_8888_8888_8888
}

impl Block for Neon {
    const BYTES: usize = 16;
    const MASK_SHIFT: u32 = 2;

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller promises sixteen bytes; NEON is part of aarch64.
        Self(unsafe { vld1q_u8(from) })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: the caller promises room for sixteen bytes; NEON is part of aarch64.
        unsafe { vst1q_u8(to, self.0) }
    }

    #[inline(always)]
    unsafe fn special(self) -> u64 {
        // SAFETY: NEON is part of aarch64.
        mask(unsafe {
            let quoted = vorrq_u8(vceqq_u8(self.0, vdupq_n_u8(b'"')), vceqq_u8(self.0, vdupq_n_u8(b'\\')));
            vorrq_u8(quoted, vcltq_u8(self.0, vdupq_n_u8(0x20)))
        })
    }

    #[inline(always)]
    unsafe fn solid(self) -> u64 {
        // SAFETY: NEON is part of aarch64.
        mask(unsafe {
            let lines = vorrq_u8(vceqq_u8(self.0, vdupq_n_u8(b'\n')), vceqq_u8(self.0, vdupq_n_u8(b'\r')));
            let spaces = vorrq_u8(vceqq_u8(self.0, vdupq_n_u8(b' ')), vceqq_u8(self.0, vdupq_n_u8(b'\t')));
            vmvnq_u8(vorrq_u8(lines, spaces))
        })
    }
}
