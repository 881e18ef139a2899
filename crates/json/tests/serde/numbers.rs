//! Numbers as values: singles, zeros, and their text.

use std::collections::HashSet;
use thalweg_json::{Number, Value, json};

#[test]
fn singles_have_their_own_digits() {
    for single in [5.55f32, 0.1, -0.0, 16777216.0, 1e20, 3.4028235e38, 1e-45, f32::MIN_POSITIVE, 33554430.0, 0.3] {
        let text = serde_json::to_string(&single).unwrap();
        let value = thalweg_json::to_value(single).unwrap();
        assert_eq!(value.to_string(), text);
        assert_eq!(Value::from(single), value);
        assert_eq!(json!([single])[0], value);
        // It is what its text is, and equal to the single.
        assert_eq!(thalweg_json::from_str::<Value>(&text).unwrap(), value);
        assert_eq!(value, single);
        assert_eq!(thalweg_json::from_value::<f32>(value).unwrap().to_bits(), single.to_bits());
    }
    assert_eq!(thalweg_json::to_value(5.55f32).unwrap(), json!(5.55));
    for single in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        assert_eq!(Value::from(single), Value::Null);
        assert_eq!(thalweg_json::to_value(single).unwrap(), Value::Null);
    }
}

/// A number of a value becomes the nearest single, as it does from its text: not the nearest to its nearest double.
#[test]
fn singles_are_nearest_to_the_digits() {
    for text in ["1.000000178813934326171874999", "7.038531e-26", "0.10", "340282356779733642999999999999999999999"] {
        let expected: f32 = text.parse().unwrap();
        let value: Value = thalweg_json::from_str(text).unwrap();
        assert_eq!(thalweg_json::from_str::<f32>(text).unwrap().to_bits(), expected.to_bits(), "{text}");
        assert_eq!(thalweg_json::from_value::<f32>(value.clone()).unwrap().to_bits(), expected.to_bits(), "{text}");
        assert_eq!(value, expected, "{text}");
    }
}

/// They are written differently, and are equal as doubles alone.
#[test]
fn the_two_zeros_differ() {
    let (zero, negative): (Number, Number) = ("0.0".parse().unwrap(), "-0.0".parse().unwrap());
    assert_ne!(zero, negative);
    assert_ne!(json!(0.0), json!(-0.0));
    assert_eq!(json!(-0.0), -0.0);
    assert_eq!(json!(-0.0), 0.0);
    assert_eq!(HashSet::from([zero.clone(), negative.clone(), "-0.0".parse().unwrap()]).len(), 2);
    assert_eq!(zero, Number::from_f64(0.0).unwrap());
    assert_eq!(negative, Number::from_f64(-0.0).unwrap());
}

#[test]
fn numbers_have_a_text() {
    for text in ["0", "-1", "18446744073709551615", "-9223372036854775808", "2.5", "1.50", "-0", "1e1000", "1e20"] {
        let number: Number = text.parse().unwrap();
        assert_eq!(number.as_str(), text);
        // The second call returns the same text.
        assert_eq!(number.as_str().as_ptr(), number.as_str().as_ptr());
        let copy = number.clone();
        assert_eq!((copy.as_str(), &copy), (text, &number));
        assert_eq!(Number::from_string_unchecked(text.to_owned()), number);
        assert_eq!(json!([number]).to_string(), format!("[{text}]"));
    }
    assert_eq!(json!(5).as_number().unwrap().as_str(), "5");
    assert_eq!(json!(1e300).as_number().unwrap().as_str(), "1e+300");
    let unchecked = Number::from_string_unchecked("none".to_owned());
    assert_eq!((unchecked.as_str(), unchecked.as_f64()), ("none", None));
}

/// The text of a type that declares itself a number must be a number.
#[test]
fn a_value_has_no_number_that_is_none() {
    #[derive(serde::Serialize)]
    #[serde(rename = "$serde_json::private::Number")]
    struct Named {
        #[serde(rename = "$serde_json::private::Number")]
        text: &'static str,
    }

    for text in ["none", "[1]", "null", "\"1\"", "1 ", ""] {
        assert!(thalweg_json::to_value(Named { text }).is_err(), "{text}");
    }
    let error = thalweg_json::to_value(Named { text: "not a number" }).unwrap_err();
    assert_eq!(error.to_string(), "invalid number at line 1 column 1");
    assert_eq!(thalweg_json::to_value(Named { text: "1.50" }).unwrap().to_string(), "1.50");
}

/// Formatters and serializers of other crates report failures with an error of this one.
#[test]
fn errors_of_input_and_output_are_made_elsewhere() {
    let error = thalweg_json::Error::io(std::io::Error::new(std::io::ErrorKind::InvalidInput, "a number too large"));
    assert_eq!((error.to_string().as_str(), error.is_io()), ("a number too large", true));
    assert_eq!(error.io_error_kind(), Some(std::io::ErrorKind::InvalidInput));
}
