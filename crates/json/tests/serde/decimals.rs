//! Decimals of other crates, whose digits are more than a double has.

use bigdecimal::BigDecimal;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use thalweg_json::{Value, json};

const DECIMALS: [&str; 10] = [
    "0.1",
    "1.50",
    "0.1234567890123456789012345678",
    "79228162514264337593543950335",
    "-79228162514264337593543950335",
    "12345678901234567890.12345678",
    "18446744073709551616",
    "5.06e-6",
    "1E5",
    "42",
];

#[derive(Serialize, Deserialize, Debug, PartialEq)]
struct Prices<T> {
    one: T,
    some: Option<T>,
    list: Vec<T>,
    map: BTreeMap<String, T>,
}

/// Reads a number as a decimal in every position and from every source, and compares it with the decimal
/// that the number's text is.
#[track_caller]
fn reads<T>(text: &str, expected: &T)
where
    T: serde::de::DeserializeOwned + Serialize + PartialEq + std::fmt::Debug + ToString + Clone,
{
    let document = format!("{{\"one\":{text},\"some\":{text},\"list\":[{text}, {text}],\"map\":{{\"a\":{text}}}}}");
    let all = Prices {
        one: expected.clone(),
        some: Some(expected.clone()),
        list: vec![expected.clone(); 2],
        map: BTreeMap::from([("a".to_owned(), expected.clone())]),
    };
    let same = |found: Prices<T>| {
        assert_eq!(found, all, "{text}");
        assert_eq!(found.one.to_string(), expected.to_string(), "{text}");
    };
    same(thalweg_json::from_str(&document).unwrap());
    same(thalweg_json::from_slice(document.as_bytes()).unwrap());
    same(thalweg_json::from_reader(document.as_bytes()).unwrap());
    same(Prices::deserialize(&mut thalweg_json::Deserializer::from_reader(document.as_bytes())).unwrap());
    let value: Value = thalweg_json::from_str(&document).unwrap();
    same(Prices::deserialize(&value).unwrap());
    same(Prices::deserialize(value.as_object().unwrap()).unwrap());
    same(thalweg_json::from_value(value.clone()).unwrap());
    let mut deserializer = thalweg_json::Deserializer::from_str(&document);
    same(serde_path_to_error::deserialize(&mut deserializer).unwrap());
    same(serde_path_to_error::deserialize(&value).unwrap());
    assert_eq!(T::deserialize(value["one"].as_number().unwrap()).unwrap().to_string(), expected.to_string());

    // Decimals are written as strings, and read from them.
    let written = thalweg_json::to_string(&all).unwrap();
    assert_eq!(written, serde_json::to_string(&all).unwrap());
    same(thalweg_json::from_str(&written).unwrap());
    same(thalweg_json::from_value(thalweg_json::to_value(&all).unwrap()).unwrap());
}

#[test]
fn decimals_have_all_digits_of_the_text() {
    for text in DECIMALS {
        let expected = text.parse().or_else(|_| Decimal::from_scientific(text)).unwrap();
        reads::<Decimal>(text, &expected);
    }
    for text in DECIMALS.into_iter().chain(["1e1000", "-0.000000000000000000000000000000000000000000001"]) {
        reads::<BigDecimal>(text, &text.parse().unwrap());
    }
    // A number that the type cannot hold is refused with the place.
    let error = thalweg_json::from_str::<Vec<Decimal>>("[1,\n79228162514264337593543950336]").unwrap_err();
    assert_eq!((error.is_data(), error.line(), error.column()), (true, 2, 29), "{error}");
    assert!(thalweg_json::from_str::<Decimal>("1e1000").is_err());
    assert!(thalweg_json::from_str::<Decimal>("1.").unwrap_err().is_eof());
    assert!(thalweg_json::from_str::<Decimal>("true").is_err());
}

/// The functions of `rust_decimal` that use a double when they write.
#[test]
fn decimals_of_values_are_the_digits() {
    let value: Value = thalweg_json::from_str("[0.1, 1.50, 2, -3, 1e-7]").unwrap();
    let decimals: Vec<BigDecimal> = thalweg_json::from_value(value).unwrap();
    let shown: Vec<String> = decimals.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["0.1", "1.50", "2", "-3", "1E-7"]);
    assert_eq!(thalweg_json::from_value::<Decimal>(json!(0.1)).unwrap().to_string(), "0.1");
    assert_eq!(thalweg_json::from_value::<Decimal>(json!(5.55f32)).unwrap().to_string(), "5.55");
}
