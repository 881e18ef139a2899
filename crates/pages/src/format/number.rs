//! Numbers in decimal digits, exactly as they were written.

use fixed_decimal::{Decimal, FloatPrecision, SignDisplay, SignedRoundingMode, UnsignedRoundingMode};
use minijinja::value::{Value, ValueKind};

/// How many digits of a fraction can be asked for.
pub const FRACTION_DIGITS_MAX: usize = 20;

const HALF_AWAY_FROM_ZERO: SignedRoundingMode = SignedRoundingMode::Unsigned(UnsignedRoundingMode::HalfExpand);

/// A number of PostgreSQL's.
pub(crate) enum Number {
    Decimal(Decimal),
    /// It has no digits.
    Other(&'static str),
}

impl Number {
    /// Of numbers, and of text that is one, as `numeric` may be that is too long for a float.
    pub(super) fn of(value: &Value) -> Option<Number> {
        match value.kind() {
            ValueKind::Number if value.is_integer() => {
                let integer = i128::try_from(value.clone());
                integer.map_or_else(
                    |_| Number::of_text(&value.to_string()),
                    |integer| Some(Number::Decimal(integer.into())),
                )
            }
            ValueKind::Number => f64::try_from(value.clone()).ok().map(Number::of_float),
            ValueKind::String => Number::of_text(value.as_str()?),
            _ => None,
        }
    }

    pub(crate) fn of_float(float: f64) -> Number {
        match Decimal::try_from_f64(float, FloatPrecision::RoundTrip) {
            Ok(decimal) => Number::Decimal(decimal),
            Err(_) if float.is_nan() => Number::Other("NaN"),
            Err(_) if float < 0.0 => Number::Other("-∞"),
            Err(_) => Number::Other("∞"),
        }
    }

    /// The number divided by a thousand for as long as it is one or more then, and how often.
    pub(super) fn in_thousands(self, times_max: usize) -> (Number, usize) {
        let Number::Decimal(mut decimal) = self else { return (self, 0) };
        decimal.round_with_mode(0, HALF_AWAY_FROM_ZERO);
        let mut times = 0;
        while times < times_max && decimal.nonzero_magnitude_start() >= 3 {
            decimal.multiply_pow10(-3);
            // 999.96 would be shown as 1000
            decimal.round_with_mode(-1, HALF_AWAY_FROM_ZERO);
            times += 1;
        }
        (Number::Decimal(decimal), times)
    }

    pub(super) fn round(&mut self, min: usize, max: Option<usize>) {
        let Number::Decimal(decimal) = self else { return };
        if let Some(max) = max {
            decimal.round_with_mode(-(max as i16), HALF_AWAY_FROM_ZERO);
            decimal.trim_end();
        }
        if min > 0 {
            decimal.pad_end(-(min as i16));
        }
        // nothing is less than nothing
        decimal.apply_sign_display(SignDisplay::Negative);
    }

    fn of_text(text: &str) -> Option<Number> {
        match text {
            "NaN" => return Some(Number::Other("NaN")),
            "Infinity" => return Some(Number::Other("∞")),
            "-Infinity" => return Some(Number::Other("-∞")),
            _ => {}
        }
        // with an exponent a short text would be a long number
        let is_plain = !text.contains(['e', 'E']);
        let decimal = is_plain.then(|| text.parse().ok()).flatten();
        decimal.map(Number::Decimal).or_else(|| text.parse().ok().filter(|_| !is_plain).map(Number::of_float))
    }
}
