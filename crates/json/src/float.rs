//! Floats with the digits of PostgreSQL's `float4out` and `float8out` (shortest form, PostgreSQL 12 and later).

/// Appends a `double precision`; `NaN` and the infinities as strings, as `to_json` has them.
pub fn write_f64(out: &mut Vec<u8>, value: f64) {
    if (1e-4..1e15).contains(&value.abs()) {
        crate::write::append_float(value, out);
        if out.ends_with(b".0") {
            out.truncate(out.len() - 2);
        }
    } else if value.is_finite() {
        // PostgreSQL writes up to 15 digits before the point in full.
        layout(out, zmij::Buffer::new().format_finite(value), 15);
    } else {
        special(out, value.is_nan(), value > 0.0);
    }
}

/// Appends a `real`; `NaN` and the infinities as strings, as `to_json` has them.
pub fn write_f32(out: &mut Vec<u8>, value: f32) {
    if (1e-4..1e6).contains(&value.abs()) {
        plain(out, zmij::Buffer::new().format_finite(value));
    } else if value.is_finite() {
        layout(out, zmij::Buffer::new().format_finite(value), 6);
    } else {
        special(out, value.is_nan(), value > 0.0);
    }
}

/// Most floats: the shortest digits are laid out in full already, but for a fraction of zero.
#[inline]
fn plain(out: &mut Vec<u8>, shortest: &str) {
    debug_assert!(!shortest.contains('e'), "{shortest} is laid out in full");
    match shortest.as_bytes() {
        [whole @ .., b'.', b'0'] => crate::append(out, whole),
        all => crate::append(out, all),
    }
}

fn special(out: &mut Vec<u8>, nan: bool, positive: bool) {
    out.extend_from_slice(match (nan, positive) {
        (true, _) => b"\"NaN\"",
        (false, true) => b"\"Infinity\"",
        (false, false) => b"\"-Infinity\"",
    });
}

/// Lays the shortest digits out as PostgreSQL does: in full for decimal exponents from −4 up to
/// `exponent_limit`, else in scientific form with at least two digits of exponent.
fn layout(out: &mut Vec<u8>, shortest: &str, exponent_limit: i32) {
    let (negative, text) = match shortest.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, shortest),
    };
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((m, e)) => (m, e.parse::<i32>().unwrap_or(0)),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    // digits d1 d2 d3 … with the value d1.d2d3… × 10^scientific; a double has at most 17 that count, but
    // the text may write out as many zeros as its exponent allows
    let mut buffer = [0u8; 64];
    let mut len = 0;
    for &digit in whole.as_bytes().iter().chain(fraction.as_bytes()).take(64) {
        buffer[len] = digit;
        len += 1;
    }
    let all = &buffer[..len];
    let leading = all.iter().take_while(|&&d| d == b'0').count();
    if negative {
        out.push(b'-');
    }
    if leading == all.len() {
        out.push(b'0');
        return;
    }
    let scientific = exponent + whole.len() as i32 - 1 - leading as i32;
    let trailing = all.iter().rev().take_while(|&&d| d == b'0').count();
    let digits = &all[leading..all.len() - trailing];
    if scientific < -4 || scientific >= exponent_limit {
        out.push(digits[0]);
        if digits.len() > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        out.extend_from_slice(if scientific < 0 { b"e-" } else { b"e+" });
        let magnitude = scientific.unsigned_abs();
        if magnitude < 10 {
            out.push(b'0');
        }
        crate::write_int(out, magnitude);
    } else if scientific < 0 {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + (-scientific - 1) as usize, b'0');
        out.extend_from_slice(digits);
    } else {
        let point = scientific as usize + 1;
        if digits.len() <= point {
            out.extend_from_slice(digits);
            out.resize(out.len() + point - digits.len(), b'0');
        } else {
            out.extend_from_slice(&digits[..point]);
            out.push(b'.');
            out.extend_from_slice(&digits[point..]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn double(value: f64) -> String {
        let mut out = Vec::new();
        write_f64(&mut out, value);
        String::from_utf8(out).unwrap()
    }

    fn real(value: f32) -> String {
        let mut out = Vec::new();
        write_f32(&mut out, value);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn doubles_are_laid_out_as_float8out_does() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (0.1, "0.1"),
            (-1.5, "-1.5"),
            (1e14, "100000000000000"),
            (1e15, "1e+15"),
            (123456789012345.6, "123456789012345.6"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1.25e-7, "1.25e-07"),
            (1e100, "1e+100"),
            (f64::MAX, "1.7976931348623157e+308"),
            (5e-324, "5e-324"),
            (f64::NAN, "\"NaN\""),
            (f64::INFINITY, "\"Infinity\""),
            (f64::NEG_INFINITY, "\"-Infinity\""),
        ] {
            assert_eq!(double(value), text);
        }
    }

    #[test]
    fn reals_are_laid_out_as_float4out_does() {
        for (value, text) in
            [(1e5, "100000"), (1e6, "1e+06"), (123456.7, "123456.7"), (1.1, "1.1"), (f32::MAX, "3.4028235e+38")]
        {
            assert_eq!(real(value), text);
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 256 }))]

        #[test]
        fn every_double_reads_back(bits: u64) {
            let value = f64::from_bits(bits);
            if value.is_finite() {
                proptest::prop_assert_eq!(double(value).parse::<f64>().unwrap().to_bits(), bits);
            }
        }

        /// Within these bounds the shortest digits are taken as they come.
        #[test]
        fn most_floats_are_laid_out_in_full(mantissa in 1.0..10.0_f64, exponent in -4..15_i32) {
            let value = mantissa * 10_f64.powi(exponent);
            proptest::prop_assert_eq!(double(value).parse::<f64>().unwrap().to_bits(), value.to_bits());
            let single = (mantissa * 10_f64.powi(exponent.min(5))) as f32;
            proptest::prop_assert_eq!(real(single).parse::<f32>().unwrap().to_bits(), single.to_bits());
            if (1e-4..1e6).contains(&single) {
                proptest::prop_assert!(!real(single).contains('e'));
            }
        }
    }
}
