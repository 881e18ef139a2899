//! Doubles, written where they belong.
#![allow(unsafe_code)]

use crate::digits::Sixteen;
use crate::shortest::{Shortest, shortest};

/// So many bytes are written at most, whatever the text's length is.
pub(super) const FLOAT_BYTES: usize = 40;

/// Writes the shortest digits that read back as the same number, as `serde_json` lays them out, and returns the place behind them. `None` of
/// what is seldom, which zmij must write.
///
/// # Safety
///
/// `at` must be valid for writes of [`FLOAT_BYTES`].
#[inline(always)]
pub(super) unsafe fn put(value: f64, at: *mut u8) -> Option<*mut u8> {
    // SAFETY: as the caller promises: a sign, which is written over if there is none, and what is behind it.
    unsafe {
        at.write(b'-');
        let at = at.add(usize::from(value.is_sign_negative()));
        match shortest(value.abs()) {
            Some(shortest) => put_shortest(shortest, at),
            None if value == 0.0 => {
                at.cast::<[u8; 3]>().write_unaligned(*b"0.0");
                Some(at.add(3))
            }
            None => None,
        }
    }
}

/// As [`put`], of what stands behind the sign.
///
/// # Safety
///
/// As of [`put`].
#[inline(always)]
unsafe fn put_shortest(shortest: Shortest, at: *mut u8) -> Option<*mut u8> {
    let digits = Sixteen::of(shortest.sixteen);
    let count = digits.count(shortest.last);
    // SAFETY: at most six bytes before seventeen digits, or a point between them.
    unsafe {
        match shortest.before {
            before @ 1..=16 => {
                let before = before as usize;
                digits.put_apart(before, at);
                at.add(before).write(b'.');
                at.add(17).write(b'0' + shortest.last);
                Some(at.add(count.max(before + 1) + 1))
            }
            before @ -4..=0 => {
                at.cast::<[u8; 8]>().write_unaligned(*b"0.000000");
                let at = at.add((2 - before) as usize);
                digits.put(at);
                at.add(16).write(b'0' + shortest.last);
                Some(at.add(count))
            }
            // with an exponent
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn is_same(value: f64) {
        let mut room = [0; FLOAT_BYTES];
        // SAFETY: the room is as large as it must be.
        let end = unsafe { put(value, room.as_mut_ptr()) };
        let mut text = Vec::new();
        crate::write::append_float(value, &mut text);
        assert_eq!(std::str::from_utf8(&text).unwrap(), zmij::Buffer::new().format_finite(value));
        if let Some(end) = end {
            // SAFETY: it lies within the room.
            let length = unsafe { end.offset_from_unsigned(room.as_ptr()) };
            assert_eq!(room[..length], text);
        }
    }

    #[test]
    fn doubles_have_the_text_that_serde_json_gives_them() {
        for text in [
            "0",
            "-0",
            "1",
            "10",
            "0.1",
            "0.3",
            "1e15",
            "1e16",
            "123456789012345680",
            "12345678901234567",
            "9007199254740993",
            "9.5367431640625e-7",
            "0.00001",
            "0.000012345",
            "1e-6",
            "5e-324",
            "2.2250738585072014e-308",
            "1.7976931348623157e308",
            "1e23",
            "9e22",
            "1e22",
            "1e-291",
            "1e-292",
            "1e-307",
            "2e-308",
            "4.35e-5",
            "99999999999999990",
            "9999999999999998",
            "1.5e300",
            "9999999.99999999",
            "9999999.999999995",
            "10000000.5",
            "0.00000999",
            "0.00001000",
            "0.00001001",
            "0.99999999",
            "0.999999995",
        ] {
            let value: f64 = text.parse().unwrap();
            is_same(value);
            is_same(-value);
        }
        // each power of two, with its neighbours
        for exponent in 0..2047_u64 {
            for mantissa in [0, 1, 2, (1 << 52) - 2, (1 << 52) - 1] {
                is_same(f64::from_bits(exponent << 52 | mantissa));
            }
        }
        for exponent in -324..=308 {
            for mantissa in 1..=9 {
                is_same(format!("{mantissa}e{exponent}").parse().unwrap());
            }
        }
    }

    /// Where the middle between two doubles is a number of few digits itself.
    #[test]
    fn middles_belong_to_the_even_one() {
        let step = if cfg!(miri) { 13 } else { 1 };
        for binary in (50..140).step_by(step) {
            for decimal in (0..39).step_by(step) {
                let unit = 10_u128.pow(decimal);
                let about = (1_u128 << binary.min(126)) / unit;
                for times in (0..40).chain([77, 1001]) {
                    let Some(middle) = (about + times).checked_mul(unit) else { continue };
                    is_same(middle as f64);
                    is_same((middle as f64).next_up());
                    is_same((middle as f64).next_down());
                    is_same(middle as f64 / 1e9);
                }
            }
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 100_000 }))]

        #[test]
        fn any_double_has_the_text_that_serde_json_gives_it(bits: u64, digits in 0..10_u64.pow(17), scale in -25..25_i32) {
            let value = f64::from_bits(bits);
            if value.is_finite() {
                is_same(value);
            }
            is_same(format!("{digits}e{scale}").parse().unwrap());
            is_same((digits % 1_000_000) as f64 / 1000.0);
            is_same((digits % 10_u64.pow(16)) as f64 / 1e8);
        }
    }
}
