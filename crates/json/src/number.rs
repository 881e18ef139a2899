//! Numbers, from their text.

mod powers;

use crate::error::Code;
use powers::{EXPONENT_MAX, EXPONENT_MIN, POWERS};
use std::ops::RangeInclusive;
use std::str::FromStr;

/// What a number is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number {
    Unsigned(u64),
    /// Below 0.
    Signed(i64),
    Float(f64),
}

/// Whether a float would be written as the text that it was read from: else that is kept by whoever keeps numbers as they are.
#[cfg(feature = "serde")]
pub(crate) fn is_written_as(value: f64, text: &str) -> bool {
    value.is_finite() && zmij::Buffer::new().format_finite(value) == text
}

/// The single that is nearest to a number, of which `value` is the nearest double.
///
/// A double that lies halfway between two singles may have been rounded to be there, and among the
/// smallest singles the middles are elsewhere: there the digits decide.
#[inline]
pub(crate) fn single(value: f64, of_digits: impl FnOnce() -> Option<f32>) -> f32 {
    let single = value as f32;
    let is_halfway = value.to_bits() & 0x1fff_ffff == 0x1000_0000;
    let is_small = single.abs() <= f32::MIN_POSITIVE && value != 0.0;
    if is_halfway || is_small { of_digits().unwrap_or(single) } else { single }
}

/// Returns whether a double has all digits of a number's text, which may have other zeros and another exponent.
#[cfg(feature = "arbitrary_precision")]
pub(crate) fn is_exact(value: f64, text: &str) -> bool {
    value.is_finite() && significant(zmij::Buffer::new().format_finite(value)) == significant(text)
}

/// The digits of a number's text without zeros at either end, and the power of ten of the last one.
#[cfg(feature = "arbitrary_precision")]
fn significant(text: &str) -> (String, i64) {
    let (mantissa, exponent) = text.trim_start_matches('-').split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let kept = digits.trim_end_matches('0');
    let exponent = exponent.parse::<i64>().unwrap_or(i64::MAX);
    let last = exponent.saturating_sub(fraction.len() as i64).saturating_add((digits.len() - kept.len()) as i64);
    let kept = kept.trim_start_matches('0');
    (kept.to_owned(), if kept.is_empty() { 0 } else { last })
}

/// What is wrong with a number, and how far it had been looked at.
pub(crate) type Wrong = (Code, usize);

/// Reads the number that begins at `at`, and returns the place behind it. An integer that fits into no 64 bits is a float, and so is `-0`.
#[inline]
pub(crate) fn number(text: &[u8], at: usize) -> Result<(Number, usize), Wrong> {
    let is_negative = text.get(at) == Some(&b'-');
    let first = at + usize::from(is_negative);
    let (value, end) = integer(text, first)?;
    match (text.get(end), value) {
        (Some(b'.' | b'e' | b'E'), _) | (_, None) => {
            let (value, end) = behind_whole(text, first, end, value)?;
            Ok((Number::Float(if is_negative { -value } else { value }), end))
        }
        (_, Some(value)) if !is_negative => Ok((Number::Unsigned(value), end)),
        (_, Some(value)) => {
            let negated = (value as i64).wrapping_neg();
            let fits = negated < 0;
            Ok((if fits { Number::Signed(negated) } else { Number::Float(-(value as f64)) }, end))
        }
    }
}

/// Reads the digits that begin at `at`; no value where they are more than 64 bits.
#[inline(always)]
pub(crate) fn integer(text: &[u8], at: usize) -> Result<(Option<u64>, usize), Wrong> {
    match text.get(at) {
        Some(b'0') => match text.get(at + 1) {
            Some(b'0'..=b'9') => Err((Code::Number, at + 2)),
            _ => Ok((Some(0), at + 1)),
        },
        Some(b'1'..=b'9') => {
            let (value, end) = few_digits(text, at, 0);
            Ok((if end - at <= DIGITS_MAX { Some(value) } else { standard(&text[at..end]) }, end))
        }
        _ => Err(no_digit(text, at)),
    }
}

/// So many digits always fit into 64 bits.
const DIGITS_MAX: usize = 19;

/// Reads a number, and returns the nearest float with the place behind it.
#[inline]
pub(crate) fn decimal(text: &[u8], at: usize) -> Result<(f64, usize), Wrong> {
    let is_negative = text.get(at) == Some(&b'-');
    let first = at + usize::from(is_negative);
    let (whole, end) = integer(text, first)?;
    let (value, end) = behind_whole(text, first, end, whole)?;
    Ok((if is_negative { -value } else { value }, end))
}

/// As [`decimal`], of a number that begins at `first` without a sign, from the digits before its point on, which end at `end`.
#[inline(always)]
fn behind_whole(text: &[u8], first: usize, mut end: usize, whole: Option<u64>) -> Result<(f64, usize), Wrong> {
    let mut mantissa = whole.unwrap_or(0);
    let mut count = end - first;
    let mut exponent = 0_i32;
    if text.get(end) == Some(&b'.') {
        let start = end + 1;
        (mantissa, end) = digits(text, start, mantissa);
        if end == start {
            return Err(no_digit(text, end));
        }
        count += end - start;
        exponent = -((end - start).min(i32::MAX as usize) as i32);
    }
    if let Some(b'e' | b'E') = text.get(end) {
        let (scale, behind) = scale(text, end + 1)?;
        exponent = exponent.saturating_add(scale);
        end = behind;
    }
    let found = if count <= DIGITS_MAX { nearest(mantissa, exponent) } else { None };
    let value = if let Some(value) = found { value } else { finite(text, first, end)? };
    Ok((value, end))
}

/// What the fast way cannot tell, or would have to know more digits for, the standard library knows.
#[cold]
fn finite(text: &[u8], first: usize, end: usize) -> Result<f64, Wrong> {
    let value = standard(&text[first..end]).filter(|value: &f64| value.is_finite());
    value.ok_or_else(|| (Code::NumberRange, out_of_range(text, first, end)))
}

/// Where the number ends that begins at `at`.
pub(crate) fn end(text: &[u8], at: usize) -> Result<usize, Wrong> {
    let (_, mut end) = integer(text, at + usize::from(text.get(at) == Some(&b'-')))?;
    if text.get(end) == Some(&b'.') {
        let start = end + 1;
        (_, end) = digits(text, start, 0);
        if end == start {
            return Err(no_digit(text, end));
        }
    }
    if let Some(b'e' | b'E') = text.get(end) {
        (_, end) = scale(text, end + 1)?;
    }
    Ok(end)
}

/// Up to where a number is looked at that is too large: an exponent up to the digit with which it is more than 32 bits.
#[cold]
fn out_of_range(text: &[u8], first: usize, end: usize) -> usize {
    let number = &text[first..end];
    let Some(letter) = number.iter().position(|byte| matches!(byte, b'e' | b'E')) else { return end };
    let mut exponent = 0_i32;
    for (at, digit) in (first..end).zip(number).skip(letter + 1).filter(|(_, byte)| byte.is_ascii_digit()) {
        match exponent.checked_mul(10).and_then(|exponent| exponent.checked_add(i32::from(digit - b'0'))) {
            Some(longer) => exponent = longer,
            None => return at + 1,
        }
    }
    end
}

/// What is wrong where a digit must come.
#[cold]
fn no_digit(text: &[u8], at: usize) -> Wrong {
    if at >= text.len() { (Code::EofInValue, at) } else { (Code::Number, at + 1) }
}

/// Reads digits, of which there may be many, behind those of a value, and returns the place behind them. The value is cut to 64 bits where they
/// are too many.
#[inline(always)]
fn digits(text: &[u8], mut at: usize, mut value: u64) -> (u64, usize) {
    /// One more digit each.
    static TENS: [u64; 8] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000];
    while let Some(chunk) = text.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let word = u64::from_le_bytes(*chunk) ^ ZEROS;
        // a byte that carries into the next one is no digit itself, so that the first one is told right
        let others = (word.wrapping_add(ONES * 0x76) | word) & (ONES * 0x80);
        if others != 0 {
            let count = others.trailing_zeros() / 8;
            // behind as many zeros as there are digits too few, in two steps, since they may be eight
            let few = eight_digits(word << 8 << (56 - 8 * count));
            return (value.wrapping_mul(TENS[count as usize]).wrapping_add(few), at + count as usize);
        }
        value = value.wrapping_mul(100_000_000).wrapping_add(eight_digits(word));
        at += 8;
    }
    few_digits(text, at, value)
}

/// As [`digits`], of which there are most often so few that each is looked at. How many is guessed by the processor, which goes on meanwhile.
#[inline(always)]
fn few_digits(text: &[u8], mut at: usize, mut value: u64) -> (u64, usize) {
    while let Some(&byte @ b'0'..=b'9') = text.get(at) {
        value = value.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
        at += 1;
    }
    (value, at)
}

const ONES: u64 = u64::MAX / 255;
const ZEROS: u64 = ONES * b'0' as u64;

/// What eight digits are together, the first of which is in the lowest byte.
#[inline(always)]
fn eight_digits(digits: u64) -> u64 {
    let pairs = (digits.wrapping_mul(10) + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100) + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    (fours.wrapping_mul(10_000) + (fours >> 32)) & 0xffff_ffff
}

/// What stands behind an `e`. It is no more than a hundred million, in which nothing is told apart any more.
fn scale(text: &[u8], at: usize) -> Result<(i32, usize), Wrong> {
    let (is_negative, first) = match text.get(at) {
        Some(b'-') => (true, at + 1),
        Some(b'+') => (false, at + 1),
        _ => (false, at),
    };
    let (mut value, mut end) = (0_i32, first);
    while let Some(&digit @ b'0'..=b'9') = text.get(end) {
        value = (value * 10 + i32::from(digit - b'0')).min(100_000_000);
        end += 1;
    }
    if end == first {
        return Err(no_digit(text, end));
    }
    Ok((if is_negative { -value } else { value }, end))
}

/// By the standard library, which knows every case.
#[cold]
fn standard<T: FromStr>(text: &[u8]) -> Option<T> {
    // a number's text is ASCII, and one of Rust's too
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// The float nearest to `mantissa` times ten to the power of `exponent`, where that can be told from 128 bits of the product (Lemire 2021).
#[inline(always)]
fn nearest(mantissa: u64, exponent: i32) -> Option<f64> {
    if mantissa != 0 && NEAR.contains(&exponent) {
        by_product::<true>(mantissa, exponent)
    } else {
        far(mantissa, exponent)
    }
}

/// With these exponents a product is a normal double, and never has to be known by more than 128 bits.
const NEAR: RangeInclusive<i32> = -27..=55;

/// As [`nearest`], of what is rarer.
#[inline(never)]
fn far(mantissa: u64, exponent: i32) -> Option<f64> {
    if mantissa == 0 || exponent < EXPONENT_MIN {
        return Some(0.0);
    }
    if exponent > EXPONENT_MAX { None } else { by_product::<false>(mantissa, exponent) }
}

/// How many bits of a double's mantissa are stored.
const STORED_BITS: u32 = f64::MANTISSA_DIGITS - 1;

/// `None` where the bits behind the product count, and where it is infinite.
#[inline(always)]
fn by_product<const IS_NEAR: bool>(mantissa: u64, exponent: i32) -> Option<f64> {
    let zeros = mantissa.leading_zeros();
    let (high, low) = product(mantissa << zeros, exponent);
    if !IS_NEAR && low == u64::MAX {
        return None;
    }
    let upper = (high >> 63) as u32;
    let shift = upper + 64 - STORED_BITS - 3;
    let mut bits = high >> shift;
    // 217,706 is log2(10) times 2^16, which tells the whole part of the logarithm of all these powers
    let mut power = ((exponent * 217_706) >> 16) + 63 + upper as i32 - zeros as i32 + 1023;
    if !IS_NEAR && power <= 0 {
        return Some(subnormal(bits, power));
    }
    // halfway between two doubles, exactly: the even one
    if IS_NEAR && low <= 1 && (-4..=23).contains(&exponent) && bits & 3 == 1 && bits << shift == high {
        bits &= !1;
    }
    bits = (bits + (bits & 1)) >> 1;
    if bits >= 2 << STORED_BITS {
        bits = 1 << STORED_BITS;
        power += 1;
    }
    if !IS_NEAR && power >= 0x7ff {
        return None;
    }
    Some(f64::from_bits(bits & !(1 << STORED_BITS) | (power as u64) << STORED_BITS))
}

/// The 128 bits of the product with a power of five.
#[inline(always)]
fn product(mantissa: u64, exponent: i32) -> (u64, u64) {
    let (five, rest) = POWERS[(exponent - EXPONENT_MIN) as usize];
    let full = u128::from(mantissa) * u128::from(five);
    let (mut high, mut low) = ((full >> 64) as u64, full as u64);
    let unsure = u64::MAX >> (STORED_BITS + 3);
    if high & unsure == unsure {
        let second = ((u128::from(mantissa) * u128::from(rest)) >> 64) as u64;
        let (sum, carry) = low.overflowing_add(second);
        (low, high) = (sum, high + u64::from(carry));
    }
    (high, low)
}

#[cold]
fn subnormal(bits: u64, power: i32) -> f64 {
    if 1 - power >= 64 {
        return 0.0;
    }
    let bits = bits >> (1 - power);
    // where rounding makes it a normal one, its exponent is set by that
    f64::from_bits((bits + (bits & 1)) >> 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Number> {
        match number(text.as_bytes(), 0) {
            Ok((number, end)) if end == text.len() => Some(number),
            _ => None,
        }
    }

    #[test]
    fn what_is_no_digit_is_told_at_every_place() {
        for place in 0..8 {
            for byte in 0..=u8::MAX {
                for behind in [0, b'5', 0xff] {
                    let mut bytes = [b'9'; 8];
                    bytes[place + 1..].fill(behind);
                    bytes[place] = byte;
                    let count = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
                    let number = std::str::from_utf8(&bytes[..count]).unwrap().parse().unwrap_or(0);
                    assert_eq!(digits(&bytes, 0, 0), (number, count), "{bytes:?}");
                }
            }
        }
    }

    #[track_caller]
    fn is_nearest(text: &str) {
        let expected: f64 = text.parse().unwrap();
        let found = decimal(text.as_bytes(), 0);
        assert_eq!(decimal(format!("{text},        ").as_bytes(), 0).ok(), found.as_ref().ok().copied(), "{text}");
        if expected.is_infinite() {
            assert!(matches!(found, Err((Code::NumberRange, _))), "{text}: {found:?}");
        } else {
            let (value, end) = found.unwrap();
            assert_eq!((value.to_bits(), end), (expected.to_bits(), text.len()), "{text}: {value}");
        }
    }

    #[test]
    fn integers_are_integers_as_far_as_they_fit() {
        for (text, expected) in [
            ("0", Number::Unsigned(0)),
            ("-0", Number::Float(-0.0)),
            ("18446744073709551615", Number::Unsigned(u64::MAX)),
            ("18446744073709551616", Number::Float(18446744073709551616.0)),
            ("99999999999999999999", Number::Float(1e20)),
            ("-9223372036854775808", Number::Signed(i64::MIN)),
            ("-9223372036854775809", Number::Float(-9223372036854775809.0)),
            ("123456789012345678901234567890", Number::Float(123456789012345678901234567890.0)),
            ("1.0", Number::Float(1.0)),
            ("-1e2", Number::Float(-100.0)),
        ] {
            assert_eq!(read(text), Some(expected), "{text}");
        }
        for text in [
            "", "-", "01", "-01", "1.", "1.e1", ".1", "1e", "1e+", "+1", "1e1.5", "0x1", "1_0", "--1", "1.-1", "1e400",
            "-1e400",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn floats_are_the_nearest_ones() {
        for text in [
            "0.0",
            "0.1",
            "0.3",
            "1e22",
            "1e23",
            "9007199254740993",
            "9007199254740992.5",
            "9007199254740993.0000001",
            "4.9e-324",
            "2.4703282292062327e-324",
            "2.4703282292062328e-324",
            "2.2250738585072011e-308",
            "2.2250738585072014e-308",
            "2.225073858507201136057409796709131975934819546351645648023426109724822222021076945516529523908135087914149158913039621106870086438694594645527657207407820621743379988141063267329253552286881372149012981122451451889849057222307285255133155755015914397476397983411801999323962548289017107081850690630666655994938275772572015763062690663332647565300009245888316433037779791869612049497390377829704905051080609940730262937128958950003583799967207254304360284078895771796150945516748243471030702609144621572289880258182545180325707018860872113128079512233426288368622321503775666622503982534335974568884423900265498198385487948292206894721689831099698365846814022854243330660339850886445804001034933970427567186443383770486037861622771738545623065874679014086723327636718751234567890123456789012345678901e-308",
            "1.7976931348623157e308",
            "1.7976931348623158e308",
            "1.7976931348623159e308",
            "1e308",
            "1e309",
            "1e-400",
            "123456789012345678",
            "1234567890123456789",
            "12345678901234567890",
            "0.00000000000000000000000000000000000000000000001",
            "1e0000000000000000000001",
            "1e-99999999999999",
            "0e99999999999999",
            "7450580596923828125e-27",
            "5e-324",
            "6.631236846766476e-316",
            "3.1415926535897932384626433832795",
        ] {
            is_nearest(text);
            is_nearest(&format!("-{text}"));
        }
        for exponent in -360..330 {
            for mantissa in
                ["1", "9", "17976931348623157", "22250738585072014", "9007199254740993", "18446744073709551615"]
            {
                is_nearest(&format!("{mantissa}e{exponent}"));
            }
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 20_000 }))]

        #[test]
        fn any_digits_are_the_nearest_float(text in "-?(0|[1-9][0-9]{0,24})(\\.[0-9]{1,24})?(e[+-]?[0-9]{1,3})?") {
            is_nearest(&text);
        }

        #[test]
        fn any_float_reads_back(bits: u64) {
            let value = f64::from_bits(bits);
            if value.is_finite() {
                is_nearest(&format!("{value:e}"));
                is_nearest(zmij::Buffer::new().format_finite(value));
            }
        }
    }
}
