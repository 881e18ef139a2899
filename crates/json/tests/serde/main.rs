//! All types of serde's, beside `serde_json`: the same value or the same refusal, and the same text.

mod arriving;
mod decimals;
mod documents;
mod edges;
mod formats;
mod numbers;
mod types;

use documents::document;
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use thalweg_json::Value;
use types::*;

/// Reads a document as a type by both, and writes what it is by both.
fn check<T: DeserializeOwned + Serialize + PartialEq + Debug>(document: &str) {
    let theirs = serde_json::from_str::<T>(document);
    same_or_refused(&theirs, &thalweg_json::from_str(document), document);
    same_or_refused(&theirs, &thalweg_json::from_slice(document.as_bytes()), document);
    let bytewise = document.as_bytes().chunks(1).collect::<Vec<_>>();
    same_or_refused(&theirs, &thalweg_json::from_reader(Pieces(bytewise)), document);
    let mut stream = thalweg_json::Deserializer::from_reader(document.as_bytes());
    let value = T::deserialize(&mut stream).and_then(|value| stream.end().map(|()| value));
    // of a value that is wrong, the end may be seen elsewhere
    match (&theirs, &value) {
        (Err(_), Err(_)) => {}
        _ => same_or_refused(&theirs, &value, document),
    }
    let Ok(value) = theirs else { return };
    assert_eq!(thalweg_json::to_string(&value).unwrap(), serde_json::to_string(&value).unwrap());
    assert_eq!(thalweg_json::to_string_pretty(&value).unwrap(), serde_json::to_string_pretty(&value).unwrap());
    let mut written = Vec::new();
    thalweg_json::to_writer(&mut written, &value).unwrap();
    assert_eq!(written, serde_json::to_vec(&value).unwrap());
    let mut formatted = thalweg_json::Serializer::new(Vec::new());
    value.serialize(&mut formatted).unwrap();
    assert_eq!(formatted.into_inner(), written);
    // through a value in memory
    let any = thalweg_json::to_value(&value).unwrap();
    let theirs = match serde_json::to_value(&value) {
        // By way of the text, because a single has its own digits in our values.
        Ok(_) => serde_json::from_str(&serde_json::to_string(&value).unwrap()).unwrap(),
        // an integer of more than 64 bits is none of their numbers, as they are compiled here, and one of ours
        Err(error) => {
            assert_eq!(error.to_string(), "number out of range");
            assert_eq!(thalweg_json::from_value::<T>(any).unwrap(), value);
            return;
        }
    };
    assert_eq!(serde_json::from_str::<serde_json::Value>(&any.to_string()).unwrap(), theirs);
    let again = T::deserialize(&any).map_err(|error| error.to_string());
    assert_eq!(again, serde_json::from_value(theirs).map_err(|error| error.to_string()), "{any}");
    assert_eq!(thalweg_json::from_value(any).map_err(|error| error.to_string()), again);
}

fn same_or_refused<T: PartialEq + Debug>(theirs: &serde_json::Result<T>, ours: &thalweg_json::Result<T>, text: &str) {
    match (theirs, ours) {
        (Ok(theirs), Ok(ours)) => assert_eq!(theirs, ours, "{text}"),
        (Err(theirs), Err(ours)) => {
            assert_eq!(ours.to_string(), theirs.to_string(), "{text}");
            assert_eq!((ours.line(), ours.column()), (theirs.line(), theirs.column()), "{text}");
            assert_eq!(format!("{:?}", ours.classify()), format!("{:?}", theirs.classify()), "{text}");
        }
        _ => panic!("{text}: theirs {theirs:?}, ours {ours:?}"),
    }
}

/// What arrives in pieces.
struct Pieces<'a>(Vec<&'a [u8]>);

impl std::io::Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.0.is_empty() {
            return Ok(0);
        }
        std::io::Read::read(&mut self.0.remove(0), buffer)
    }
}

macro_rules! types {
    ($($name:ident: $type:ty;)*) => {
        proptest! {
            #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 1500 }))]
            $(#[test]
            fn $name(document in document()) {
                check::<$type>(&document);
            })*
        }
    };
}

types! {
    structs: Named;
    structs_with_defaults: Defaulted;
    structs_that_deny: Denying;
    structs_with_flattened: Flattened;
    structs_with_a_flattened_map: FlattenedMap;
    enums_tagged_outside: External;
    enums_tagged_inside: Internal;
    enums_tagged_beside: Adjacent;
    enums_without_tag: Untagged;
    maps_by_number: std::collections::BTreeMap<i32, Option<u8>>;
    maps_by_large_number: std::collections::BTreeMap<u128, i128>;
    maps_by_character: std::collections::BTreeMap<char, ()>;
    maps_by_variant: std::collections::BTreeMap<Unit, Vec<f32>>;
    maps_by_wrapper: std::collections::BTreeMap<Wrapper<u16>, Wrapper<String>>;
    tuples: (u8, Option<String>, (bool, char));
    wrappers: Wrapper<Wrapper<i64>>;
    units: Vec<UnitStruct>;
    bytes: Bytes;
    large_numbers: Vec<(i128, u128)>;
    optional_options: Option<Option<Vec<Option<bool>>>>;
    with_functions: With;
    any_value_of_theirs: serde_json::Value;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 3000 }))]

    /// The same value through serde and without it, or the same refusal; and theirs, but that they have no place for what is larger than a float.
    #[test]
    fn any_value(document in document()) {
        let value = thalweg_json::from_str::<Value>(&document);
        let direct = thalweg_json::read::<Value>(document.as_bytes());
        let theirs = serde_json::from_str::<serde_json::Value>(&document);
        match &theirs {
            Err(error) if error.to_string().starts_with("number out of range") => {}
            Err(error) => assert_eq!(value.as_ref().unwrap_err().to_string(), error.to_string(), "{document}"),
            Ok(theirs) => assert_eq!(&serde_json::from_str::<serde_json::Value>(&value.as_ref().unwrap().to_string()).unwrap(), theirs),
        }
        let told = |error: &thalweg_json::Error| error.to_string();
        prop_assert_eq!(value.as_ref().map_err(told), direct.as_ref().map_err(told));
        if let Ok(value) = value {
            let mut written = Vec::new();
            thalweg_json::write(&value, &mut written);
            prop_assert_eq!(String::from_utf8(written).unwrap(), value.to_string());
        }
    }
}

/// Of a key that is none of `true` and `false` theirs lose the first letter, so that what is wrong is told otherwise.
#[test]
fn maps_by_truth() {
    type Truths = std::collections::BTreeMap<bool, f64>;
    for text in
        [r#"{"true":1,"false":2}"#, r#"{"tru":1}"#, r#"{"":1}"#, r#"{"true ":1}"#, r#"{"false":1.5}"#, r#"{"true":"#]
    {
        let theirs = serde_json::from_str::<Truths>(text);
        assert_eq!(thalweg_json::from_str::<Truths>(text).ok(), theirs.ok(), "{text}");
    }
    let wrong = thalweg_json::from_str::<Truths>(r#"{"maybe":1}"#).unwrap_err();
    assert_eq!(wrong.to_string(), r#"invalid type: string "maybe", expected a boolean at line 1 column 8"#);
}

/// What borrows is read alike, and borrows what can be borrowed.
#[test]
fn what_is_borrowed() {
    #[derive(serde::Deserialize, Debug, PartialEq)]
    struct Borrowing<'a> {
        name: &'a str,
        #[serde(borrow)]
        note: std::borrow::Cow<'a, str>,
        #[serde(with = "types::borrowed_bytes", borrow)]
        bytes: &'a [u8],
    }
    let text = r#"{"name":"plain","note":"es\"caped","bytes":"\u0041"}"#;
    let plain = r#"{"name":"plain","note":"plain","bytes":"raw"}"#;
    for text in [text, plain] {
        let theirs = serde_json::from_str::<Borrowing>(text);
        same_or_refused(&theirs, &thalweg_json::from_str(text), text);
    }
    let read: Borrowing = thalweg_json::from_str(plain).unwrap();
    assert!(matches!(read.note, std::borrow::Cow::Borrowed(_)));
    assert!(plain.as_bytes().as_ptr_range().contains(&read.name.as_ptr()));
    assert!(thalweg_json::from_reader::<_, String>(plain.as_bytes()).is_err());
    assert!(thalweg_json::from_str::<&str>(r#""a\nb""#).is_err());
}
