//! JSON numbers as they were written, compared and read exactly.

use std::cmp::Ordering;

/// A number of RFC 8259's grammar.
#[derive(Debug, Clone)]
pub(crate) struct Number {
    text: String,
}

/// A number's value: its digits, of which the first is not a zero and the last is not either, and the power of ten of the
/// first one. Zero has no digits.
#[derive(Debug)]
struct Decimal {
    is_negative: bool,
    digits: Vec<u8>,
    /// How many digits stand before the point, as if it were written without an exponent.
    before_point: i64,
}

/// An exponent that is written larger counts as this one: it is far beyond what the digits of any text that is read here
/// could make up for, and far from where adding to it overflows.
const EXPONENT_MAX: i64 = 1 << 56;

impl Number {
    /// The text must be a number by the grammar.
    pub(crate) fn of_json(text: String) -> Self {
        Self { text }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the largest integer that is not above the number, or the nearest integer of 64 bits.
    pub(crate) fn floor(&self) -> i64 {
        self.decimal().rounded(false)
    }

    /// Returns the smallest integer that is not below the number, or the nearest integer of 64 bits.
    pub(crate) fn ceiling(&self) -> i64 {
        self.decimal().rounded(true)
    }

    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        let (left, right) = (self.decimal(), other.decimal());
        match (left.sign(), right.sign()) {
            (a, b) if a != b => a.cmp(&b),
            (0, _) => Ordering::Equal,
            (sign, _) => {
                let by_magnitude =
                    left.before_point.cmp(&right.before_point).then_with(|| left.digits.cmp(&right.digits));
                if sign > 0 { by_magnitude } else { by_magnitude.reverse() }
            }
        }
    }

    fn decimal(&self) -> Decimal {
        let (is_negative, magnitude) = match self.text.strip_prefix('-') {
            Some(magnitude) => (true, magnitude),
            None => (false, self.text.as_str()),
        };
        let (mantissa, exponent) = magnitude.split_once(['e', 'E']).unwrap_or((magnitude, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = whole.bytes().chain(fraction.bytes());
        let leading = digits.clone().take_while(|digit| *digit == b'0').count();
        let mut digits: Vec<u8> = digits.skip(leading).collect();
        let trailing = digits.iter().rev().take_while(|digit| **digit == b'0').count();
        digits.truncate(digits.len() - trailing);
        let before_point = exponent_of(exponent) + whole.len() as i64 - leading as i64;
        Decimal { is_negative, digits, before_point }
    }
}

impl Decimal {
    /// Returns the nearest integer that is not below the value (`up`) or not above it, saturated
    /// to 64 bits.
    fn rounded(&self, up: bool) -> i64 {
        // `i64::MAX` has 19 digits, so that 20 digits saturate.
        let whole_digits = self.before_point.clamp(0, 20) as usize;
        let whole = self.digits.iter().copied().chain(std::iter::repeat(b'0')).take(whole_digits);
        let whole = whole.fold(0_i128, |sum, digit| sum * 10 + i128::from(digit - b'0'));
        let moves_away = i128::from(self.digits.len() > whole_digits && up != self.is_negative);
        let magnitude = if self.digits.is_empty() { 0 } else { whole + moves_away };
        let value = if self.is_negative { -magnitude } else { magnitude };
        value.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }

    fn sign(&self) -> i8 {
        match (self.digits.is_empty(), self.is_negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }
}

fn exponent_of(text: &str) -> i64 {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let magnitude = digits.bytes().fold(0_i64, |sum, digit| (sum * 10 + i64::from(digit - b'0')).min(EXPONENT_MAX));
    if is_negative { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rounded(text: &str) -> (i64, i64) {
        let number = Number::of_json(text.into());
        (number.floor(), number.ceiling())
    }

    #[test]
    fn numbers_are_rounded_exactly_and_saturate() {
        for (text, expected) in [
            ("0", 0),
            ("-0", 0),
            ("0e999999999999999999999", 0),
            ("1.0e9", 1_000_000_000),
            ("10e-1", 1),
            ("1.5e1", 15),
            ("120.000", 120),
            ("9223372036854775807", i64::MAX),
            ("-9223372036854775808", i64::MIN),
            ("0.0001E+4", 1),
            ("9223372036854775808", i64::MAX),
            ("9223372036854775807.5", i64::MAX),
            ("-9223372036854775809", i64::MIN),
            ("-9223372036854775808.5", i64::MIN),
            ("1e19", i64::MAX),
            ("-1e20", i64::MIN),
            ("1e999999999999999999", i64::MAX),
        ] {
            assert_eq!(rounded(text), (expected, expected), "{text}");
        }
        for (text, below, above) in [
            ("1.5", 1, 2),
            ("-1.5", -2, -1),
            ("1e-1", 0, 1),
            ("-1e-99999999999", -1, 0),
            ("9007199254740993.000001", 9_007_199_254_740_993, 9_007_199_254_740_994),
            ("0.99999999999999999999999", 0, 1),
        ] {
            assert_eq!(rounded(text), (below, above), "{text}");
        }
        let long = format!("1{}e-12000", "0".repeat(12_000));
        assert_eq!(rounded(&long), (1, 1));
    }

    #[test]
    fn numbers_are_ordered_by_value() {
        let ascending =
            ["-1e400", "-20", "-3", "-0.5", "0", "1e-400", "0.5", "9007199254740992", "9007199254740993", "1e400"];
        for (i, a) in ascending.iter().enumerate() {
            for (j, b) in ascending.iter().enumerate() {
                let (a, b) = (Number::of_json((*a).into()), Number::of_json((*b).into()));
                assert_eq!(a.compare(&b), i.cmp(&j), "{} {}", a.text(), b.text());
            }
        }
        let same = |a: &str, b: &str| Number::of_json(a.into()).compare(&Number::of_json(b.into()));
        assert_eq!(same("1", "1.0e0"), Ordering::Equal);
        assert_eq!(same("-0", "0.0"), Ordering::Equal);
    }

    proptest! {
        #[test]
        fn an_integer_is_itself_however_it_is_written(value: i64, zeros in 0_usize..30) {
            prop_assert_eq!(rounded(&value.to_string()), (value, value));
            prop_assert_eq!(rounded(&format!("{value}{}e-{zeros}", "0".repeat(zeros))), (value, value));
        }
    }
}
