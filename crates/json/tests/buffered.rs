//! The feature `arbitrary_precision`: numbers that serde buffers keep the digits that a double cannot hold.

use bigdecimal::BigDecimal;
use serde::{Deserialize, Serialize};
use thalweg_json::{Map, Value};

#[derive(Serialize, Deserialize, Debug, PartialEq)]
struct Flat {
    #[serde(flatten)]
    price: Price,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Serialize, Deserialize, Debug, PartialEq)]
struct Price {
    price: BigDecimal,
}

#[derive(Serialize, Deserialize, Debug, PartialEq)]
#[serde(tag = "kind")]
enum Tagged {
    Price(Price),
}

#[derive(Serialize, Deserialize, Debug, PartialEq)]
#[serde(untagged)]
enum Untagged {
    Float(f64),
    Decimal(BigDecimal),
}

const NUMBERS: [&str; 6] = [
    "0.12345678901234567890",
    "123456789012345678901234567890.5",
    "340282366920938463463374607431768211456",
    "1e400",
    "-1e-400",
    "100000000000000000000000000000000000001",
];

#[test]
fn buffered_numbers_keep_the_digits_that_a_double_cannot_hold() {
    for number in NUMBERS {
        let expected: BigDecimal = number.parse().unwrap();
        let text = format!("{{\"kind\":\"Price\",\"price\":{number},\"other\":[{number}]}}");
        let value: Value = thalweg_json::from_str(&text).unwrap();
        for flat in
            [thalweg_json::from_str::<Flat>(&text), Flat::deserialize(&value), thalweg_json::from_value(value.clone())]
        {
            let flat = flat.unwrap_or_else(|error| panic!("{number}: {error}"));
            assert_eq!(flat.price.price, expected);
            assert_eq!(flat.rest["other"].to_string(), format!("[{number}]"));
        }
        let Tagged::Price(price) = thalweg_json::from_str(&text).unwrap();
        assert_eq!(price.price, expected);
        let Tagged::Price(price) = thalweg_json::from_value(value).unwrap();
        assert_eq!(price.price, expected);
        assert_eq!(thalweg_json::from_str::<Untagged>(number).unwrap(), Untagged::Decimal(expected));
    }
}

/// A number that is a double is one, however it is written.
#[test]
fn buffered_doubles_are_doubles() {
    for number in
        ["1.50", "-0", "-0.0", "1E5", "100000000000000000000", "0.1", "2.50e-3", "0e999", "5e-324", "1.0e+300"]
    {
        let value: Value = thalweg_json::from_str(number).unwrap();
        let expected = Untagged::Float(number.parse().unwrap());
        assert_eq!(thalweg_json::from_str::<Untagged>(number).unwrap(), expected, "{number}");
        assert_eq!(Untagged::deserialize(&value).unwrap(), expected, "{number}");
    }
}

/// Names in a text are keys: they make no number.
#[test]
fn names_in_a_text_are_keys() {
    let text = "{\"price\":1,\"x\":{\"$serde_json::private::Number\":\"1.50\"}}";
    let flat: Flat = thalweg_json::from_str(text).unwrap();
    assert_eq!(thalweg_json::to_string(&flat.rest).unwrap(), "{\"x\":{\"$serde_json::private::Number\":\"1.50\"}}");
}
