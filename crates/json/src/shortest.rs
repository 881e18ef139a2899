//! The shortest digits that read back as the same double, by the powers that reading has a table of.
//!
//! The way is zmij's (one product, of which the whole part is the shorter candidate and the fraction tells whether it is near enough), which
//! is Giulietti's ("The Schubfach way to render doubles", 2021) with one product for three. The crate's text would have to be moved to
//! where it belongs, and its point by a call; what comes seldom is left to it.

use crate::number::powers::{EXPONENT_MIN, POWERS};
use std::hint::select_unpredictable;
use std::ops::RangeInclusive;

/// What a double is written as.
pub(crate) struct Shortest {
    /// Sixteen digits, of which the last may be zeros that do not count.
    pub(crate) sixteen: u64,
    /// One more; 0 where there is none.
    pub(crate) last: u8,
    /// That of ten, of the first digit.
    pub(crate) exponent: i32,
}

/// How many bits of a double's mantissa are stored.
const STORED_BITS: u32 = f64::MANTISSA_DIGITS - 1;

/// The exponents of two of what is written in full, with what is added to them: 1e-5 is more than 2^-17, and 1e16 is less than 2^54.
const BIASED: RangeInclusive<i32> = 1023 - 17..=1023 + 53;

/// So many bits of the product stand before its fraction beside those of the whole part: with them a mantissa is moved by 3 to 6 bits.
const EXTRA_BITS: u32 = 6;

/// The digits of a double without its sign. `None` of what is much smaller than 1e-5 or larger than 1e16, and of powers of two, whose
/// neighbours are not equally far away.
#[inline(always)]
pub(crate) fn shortest(value: f64) -> Option<Shortest> {
    let bits = value.to_bits();
    let (stored, biased) = (bits & ((1 << STORED_BITS) - 1), (bits >> STORED_BITS) as i32 & 0x7ff);
    let (binary, mantissa) = (biased - 1075, stored | 1 << STORED_BITS);
    // the whole part of the logarithm
    let decimal = (binary * 1_262_611) >> 22;
    if stored == 0 || !BIASED.contains(&biased) {
        return None;
    }
    let scale = -decimal - 1;
    let shift = (binary + ((scale * 1_741_647) >> 19) + 1 + EXTRA_BITS as i32) as u32;
    let (high, low) = power(scale)?;
    // the value in tens of its last digit
    let mantissa = mantissa << shift;
    let product = u128::from(high) * u128::from(mantissa) + ((u128::from(low) * u128::from(mantissa)) >> 64);
    let (whole, fraction) = ((product >> 64) as u64 >> EXTRA_BITS, (product >> EXTRA_BITS) as u64);
    // as far as the middle between it and its neighbours, which itself is read as the even one
    let half = (high >> (EXTRA_BITS + 1 - shift)) + (1 - (stored & 1));
    let (is_down, is_up) = (half > fraction, fraction.checked_add(half).is_none());
    let tens = whole + u64::from(is_up);
    // the nearest digit; a half, which is one where it is exact, is rounded to the even one
    let nearest = ((u128::from(fraction) * 10 + (1 << 63) + 6) >> 64) as u8;
    let nearest = select_unpredictable(fraction == 1 << 62, 2, nearest);
    let last = select_unpredictable(is_down | is_up, 0, nearest);
    // fifteen digits or sixteen, and that one
    let is_short = tens < 10_u64.pow(15);
    let sixteen = select_unpredictable(is_short, tens * 10 + u64::from(last), tens);
    Some(Shortest {
        sixteen,
        last: select_unpredictable(is_short, 0, last),
        exponent: decimal + 16 - i32::from(is_short),
    })
}

/// The first 128 bits of a power of ten, cut off.
#[inline(always)]
fn power(exponent: i32) -> Option<(u64, u64)> {
    // each is there: without a panic whoever writes a double has nothing to keep for one
    let (high, low) = *POWERS.get((exponent - EXPONENT_MIN) as usize)?;
    // for reading, these are one more
    Some((high, low - u64::from((-27..0).contains(&exponent))))
}
