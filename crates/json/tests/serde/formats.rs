//! Values of JSON that are written to other formats, and read from them.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Debug;
use thalweg_json::value::RawValue;
use thalweg_json::{Number, Value, json};

/// Numbers that are stored as their text, with what another format can hold of them.
const NUMBERS: [(&str, f64); 8] = [
    ("1.50", 1.5),
    ("-0", -0.0),
    ("1E5", 1e5),
    ("-2.50e-3", -2.5e-3),
    ("0.10", 0.1),
    ("18446744073709551616", 18446744073709551616.0),
    ("-9223372036854775809", -9223372036854775809.0),
    ("3.14159265358979323846264338327950288", std::f64::consts::PI),
];

/// A document of JSON in several forms: all of them are the object `{"n":[NUMBER]}` to other formats.
#[derive(Serialize)]
struct Forms<'a> {
    value: &'a Value,
    numbers: BTreeMap<&'a str, Number>,
    raw: Box<RawValue>,
    wrapped: Wrapped,
    tagged: Tagged,
}

#[derive(Serialize)]
struct Wrapped {
    #[serde(flatten)]
    members: thalweg_json::Map<String, Value>,
}

#[derive(Serialize)]
#[serde(tag = "kind")]
enum Tagged {
    Any(Wrapped),
}

#[derive(Deserialize, Debug, PartialEq)]
struct Plain {
    value: BTreeMap<String, Vec<f64>>,
    numbers: BTreeMap<String, f64>,
    raw: BTreeMap<String, Vec<f64>>,
    wrapped: BTreeMap<String, Vec<f64>>,
    tagged: PlainTagged,
}

#[derive(Deserialize, Debug, PartialEq)]
struct PlainTagged {
    kind: String,
    n: Vec<f64>,
}

fn forms(text: &str, check: impl Fn(&Forms)) {
    let document = format!("{{\"n\":[{text}]}}");
    let value: Value = thalweg_json::from_str(&document).unwrap();
    let members = value.as_object().unwrap().clone();
    check(&Forms {
        value: &value,
        numbers: BTreeMap::from([("n", text.parse().unwrap())]),
        raw: RawValue::from_string(document).unwrap(),
        wrapped: Wrapped { members: members.clone() },
        tagged: Tagged::Any(Wrapped { members }),
    });
}

fn plain(value: f64) -> Plain {
    let object = BTreeMap::from([("n".to_owned(), vec![value])]);
    Plain {
        value: object.clone(),
        numbers: BTreeMap::from([("n".to_owned(), value)]),
        raw: object.clone(),
        wrapped: object,
        tagged: PlainTagged { kind: "Any".to_owned(), n: vec![value] },
    }
}

/// Writes all numbers in all forms by a format, and reads them as plain numbers from what it wrote.
#[track_caller]
fn are_plain<W, R>(write: W, read: R)
where
    W: Fn(&Forms) -> Vec<u8>,
    R: Fn(&[u8]) -> Plain,
{
    for (text, value) in NUMBERS {
        forms(text, |forms| {
            let written = write(forms);
            let shown = String::from_utf8_lossy(&written);
            assert!(!shown.contains("private"), "{text}: {shown}");
            assert_eq!(read(&written), plain(value), "{text}: {shown}");
        });
    }
}

#[test]
fn yaml_has_plain_numbers() {
    are_plain(
        |forms| serde_yaml_ng::to_string(forms).unwrap().into_bytes(),
        |text| serde_yaml_ng::from_slice(text).unwrap(),
    );
    let value: Value = thalweg_json::from_str("{\"price\":1.50,\"count\":3}").unwrap();
    assert_eq!(serde_yaml_ng::to_string(&value).unwrap(), "price: 1.5\ncount: 3\n");
}

#[test]
fn toml_has_plain_numbers() {
    are_plain(
        |forms| toml::to_string(forms).unwrap().into_bytes(),
        |text| toml::from_str(str::from_utf8(text).unwrap()).unwrap(),
    );
    let value: Value = thalweg_json::from_str("{\"price\":1.50}").unwrap();
    assert_eq!(toml::to_string(&value).unwrap(), "price = 1.5\n");
}

#[test]
fn message_pack_has_plain_numbers() {
    are_plain(|forms| rmp_serde::to_vec_named(forms).unwrap(), |bytes| rmp_serde::from_slice(bytes).unwrap());
    let number: Number = "1.50".parse().unwrap();
    assert_eq!(rmp_serde::to_vec(&number).unwrap(), rmp_serde::to_vec(&1.5).unwrap());
}

#[test]
fn cbor_has_plain_numbers() {
    let write = |forms: &Forms| {
        let mut bytes = Vec::new();
        ciborium::into_writer(forms, &mut bytes).unwrap();
        bytes
    };
    are_plain(write, |bytes| ciborium::from_reader(bytes).unwrap());
}

#[test]
fn serde_json_has_plain_numbers() {
    are_plain(|forms| serde_json::to_vec(forms).unwrap(), |text| serde_json::from_slice(text).unwrap());
    are_plain(
        |forms| serde_json::to_value(forms).unwrap().to_string().into_bytes(),
        |text| serde_json::from_slice(text).unwrap(),
    );
}

#[test]
fn templates_have_plain_numbers() {
    for (text, value) in NUMBERS {
        forms(text, |forms| {
            let context = minijinja::Value::from(minijinja::value::Serde(forms));
            let environment = minijinja::Environment::new();
            for expression in ["value.n[0]", "numbers.n", "raw.n[0]", "wrapped.n[0]", "tagged.n[0]"] {
                let shown = environment.compile_expression(expression).unwrap().eval(&context).unwrap();
                assert!(shown.is_number(), "{text}: {expression} is {shown}");
                assert_eq!(f64::try_from(shown).unwrap().to_bits(), value.to_bits(), "{text}: {expression}");
            }
        });
    }
}

/// Within this crate's own serializers, digits are kept, also through wrappers that pass its errors on.
#[test]
fn own_serializers_keep_the_digits() {
    for (text, _) in NUMBERS {
        forms(text, |forms| {
            let object = format!("{{\"n\":[{text}]}}");
            let expected = format!(
                "{{\"value\":{object},\"numbers\":{{\"n\":{text}}},\"raw\":{object},\"wrapped\":{object},\"tagged\":{{\"kind\":\"Any\",\"n\":[{text}]}}}}"
            );
            assert_eq!(thalweg_json::to_string(forms).unwrap(), expected);
            assert_eq!(thalweg_json::to_value(forms).unwrap().to_string(), expected);
            let mut written = Vec::new();
            forms.serialize(&mut thalweg_json::Serializer::new(&mut written)).unwrap();
            assert_eq!(String::from_utf8(written).unwrap(), expected);
            let mut written = Vec::new();
            let mut track = serde_path_to_error::Track::new();
            let mut serializer = thalweg_json::Serializer::new(&mut written);
            forms.serialize(serde_path_to_error::Serializer::new(&mut serializer, &mut track)).unwrap();
            assert_eq!(String::from_utf8(written).unwrap(), expected);
        });
    }
}

/// A number that no double is as large as is not silently infinite elsewhere.
#[test]
fn numbers_beyond_all_doubles_are_errors_of_other_formats() {
    let value: Value = thalweg_json::from_str("[1e1000]").unwrap();
    let error = serde_yaml_ng::to_string(&value).unwrap_err();
    assert!(error.to_string().contains("number out of range: 1e1000"), "{error}");
    let error = serde_json::to_string(&value).unwrap_err();
    assert_eq!(error.to_string(), "number out of range: 1e1000");
    assert!(toml::to_string(&json!({"a": value})).is_err());
    assert!(rmp_serde::to_vec(&value).is_err());
    assert!(serde_json::to_string(&RawValue::from_string("[1e1000]".to_owned()).unwrap()).is_err());
}

/// Values of other formats can be read as a `Value`, and written again.
#[test]
fn values_come_back_from_other_formats() {
    let value = json!({"a": [1, -2, 2.5, true, null, "x"], "b": {"c": u64::MAX, "d": 5.55f32}});
    let yaml = serde_yaml_ng::to_string(&value).unwrap();
    assert_eq!(serde_yaml_ng::from_str::<Value>(&yaml).unwrap(), value);
    let bytes = rmp_serde::to_vec(&value).unwrap();
    assert_eq!(rmp_serde::from_slice::<Value>(&bytes).unwrap(), value);
    let mut bytes = Vec::new();
    ciborium::into_writer(&value, &mut bytes).unwrap();
    assert_eq!(ciborium::from_reader::<Value, _>(&bytes[..]).unwrap(), value);
    let toml: Value = toml::from_str("a = 1.5\nb = [1, 2]\n").unwrap();
    assert_eq!(toml, json!({"a": 1.5, "b": [1, 2]}));
    // A single of another format has its own digits, not those of the double that it equals.
    let single = rmp_serde::to_vec(&5.55f32).unwrap();
    assert_eq!(rmp_serde::from_slice::<Value>(&single).unwrap(), json!(5.55));
    assert_eq!(rmp_serde::from_slice::<Number>(&single).unwrap().to_string(), "5.55");
}
