//! Types derived by serde and by our own derives, with the same attributes: the same value or both a refusal, and the same text.

#[path = "serde/documents.rs"]
mod documents;

use documents::document;
use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Debug;
use thalweg_json::value::RawValue;
use thalweg_json::{FromJson, FromMembers, Map, Number, ToJson, ToMembers, Value, read, write};

#[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
#[serde(rename_all = "camelCase")]
struct Named {
    id: u32,
    name: String,
    #[serde(rename = "unit", alias = "kind", alias = "é")]
    r#type: Option<f64>,
    #[serde(default)]
    list: Vec<i8>,
    #[serde(skip)]
    left_out: u8,
}

#[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
#[serde(default)]
struct Defaulted {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<i8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    km: f64,
    #[serde(default = "seven", skip_serializing_if = "Vec::is_empty")]
    list: Vec<u64>,
}

impl Default for Defaulted {
    fn default() -> Self {
        Self { id: Some(-7), name: None, km: 3.5, list: vec![1] }
    }
}

fn seven() -> Vec<u64> {
    vec![7]
}

#[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
struct Denying {
    #[serde(default)]
    id: Option<u64>,
    name: Option<Box<Denying>>,
}

#[derive(Serialize, Deserialize, ToJson, FromJson, ToMembers, FromMembers, PartialEq, Debug)]
struct Inner {
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<bool>,
}

#[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
struct Flattened {
    id: i64,
    #[serde(flatten)]
    inner: Inner,
    #[serde(default)]
    km: u8,
}

#[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
struct FlattenedMap {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u8>,
    #[serde(flatten)]
    extra: BTreeMap<String, Untagged>,
}

#[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
#[serde(rename_all = "lowercase")]
enum External {
    Unit,
    Newtype(Option<u8>),
    Pair(i32, String),
    #[serde(rename = "Struct")]
    Struct {
        id: u8,
        #[serde(default)]
        name: String,
    },
}

#[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
#[serde(tag = "kind")]
enum Internal {
    A,
    B {
        id: Option<i64>,
        km: Option<f32>,
    },
    #[serde(rename = "newtype")]
    Newtype(Inner),
    #[serde(other)]
    Other,
}

#[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
#[serde(tag = "tag", content = "content", rename_all_fields = "UPPERCASE")]
enum Adjacent {
    A,
    B(u8),
    Struct {
        id: Option<String>,
    },
    #[serde(rename = "pair")]
    Pair(i8, i8),
}

#[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
#[serde(untagged)]
enum Untagged {
    Nothing,
    Truth(bool),
    Number(i64),
    Float(f64),
    Pair(u8, u8),
    Text(String),
    Struct { id: u8 },
    List(Vec<Untagged>),
    Other(BTreeMap<String, Untagged>),
}

#[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
struct Generic<'a, T> {
    id: T,
    #[serde(borrow)]
    name: Cow<'a, str>,
}

#[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
#[serde(transparent)]
struct Transparent {
    only: (u8, Option<String>),
}

#[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
struct Tuple(u8, #[serde(default)] Option<String>, #[serde(default)] bool);

#[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
struct Unit;

/// Reads a document as a type by both, and writes what it is by both.
fn check<T: DeserializeOwned + Serialize + for<'de> FromJson<'de> + ToJson + PartialEq + Debug>(document: &str) {
    let ours = read::<T>(document.as_bytes());
    match (serde_json::from_str::<T>(document), &ours) {
        (Ok(theirs), Ok(ours)) => {
            assert_eq!(&theirs, ours, "{document}");
            let mut text = Vec::new();
            write(ours, &mut text);
            assert_eq!(String::from_utf8(text).unwrap(), serde_json::to_string(&theirs).unwrap());
        }
        // an array that stands for a struct's fields is one to serde alone
        (Ok(_), Err(_)) if document.contains('[') => {}
        (Err(_), Err(ours)) => assert!(ours.line() > 0, "{document}: {ours}"),
        // of a tag that comes twice the first counts
        (Err(theirs), Ok(_)) if theirs.to_string().starts_with("duplicate field `kind`") => {}
        // what is passed over here serde keeps until it is known that nobody wants it: a number that no float is, half of a surrogate pair
        (Err(theirs), Ok(_))
            if theirs.is_syntax() && serde_json::from_str::<serde::de::IgnoredAny>(document).is_ok() => {}
        (theirs, ours) => panic!("{document}: ours {ours:?}, theirs {theirs:?}"),
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
    transparent_types: Transparent;
    tuples: Tuple;
    units: Vec<Unit>;
}

#[test]
fn what_is_borrowed() {
    let text = r#"{"id":"plain","name":"es\"caped"}"#;
    let value: Generic<'_, &str> = read(text.as_bytes()).unwrap();
    assert_eq!(value, serde_json::from_str(text).unwrap());
    let value: Generic<'_, &str> = read(br#"{"name":"plain","id":"plain"}"#).unwrap();
    assert!(matches!(value.name, Cow::Borrowed("plain")));
}

/// Nested values of which each is tried in several ways would be read again and again.
#[test]
fn what_is_read_too_many_times_is_refused() {
    #[derive(FromJson, Debug)]
    #[json(untagged)]
    #[allow(dead_code)]
    enum Nested {
        First { a: Box<Nested>, no: u8 },
        Second { a: Box<Nested>, nor: u8 },
        End(u8),
        Third { a: Box<Nested> },
    }
    let nested = |levels: usize| format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels));
    assert!(read::<Nested>(nested(3).as_bytes()).is_ok());
    let error = read::<Nested>(nested(100).as_bytes()).unwrap_err().to_string();
    assert!(error.starts_with("the text would have to be read too many times"), "{error}");
}

/// The stack has room for such an array, but not for two of them.
#[test]
fn large_arrays_take_their_place_on_the_stack_once() {
    let text = format!("[{}]", vec!["7"; 60_000].join(","));
    let is_read = move || *read::<Box<[u64; 60_000]>>(text.as_bytes()).unwrap() == [7; 60_000];
    assert!(std::thread::Builder::new().stack_size(8 << 20).spawn(is_read).unwrap().join().unwrap());
    assert_eq!(read::<[String; 2]>(br#"["a","b"]"#).unwrap(), ["a", "b"]);
    for text in ["[1]", "[1,2,3]", "[1,]", "[1 2]"] {
        assert!(read::<[u8; 2]>(text.as_bytes()).is_err(), "{text}");
        assert!(read::<[[u64; 600]; 2]>(text.as_bytes()).is_err(), "{text}");
    }
}

/// What is no JSON is told as such, and where.
#[test]
fn what_names_no_variant_is_told_as_what_it_is() {
    #[derive(FromJson, Debug)]
    #[allow(dead_code)]
    enum Named {
        A,
    }
    #[derive(FromJson, Debug)]
    #[allow(dead_code)]
    #[json(untagged)]
    enum Either {
        Number(u8),
        Text(String),
    }
    let error = read::<Named>(b"{}").unwrap_err();
    assert_eq!((error.is_syntax(), error.to_string()), (true, "expected value at line 1 column 2".into()));
    for (text, is_eof) in [("", true), ("[1", true), ("nul", true), ("{x}", false)] {
        let error = read::<Either>(text.as_bytes()).unwrap_err();
        assert!(if is_eof { error.is_eof() } else { error.is_syntax() }, "{text}: {error}");
    }
    assert!(read::<Either>(b"[1]").unwrap_err().is_data());
    let error = read::<String>(b"1").unwrap_err();
    assert_eq!(error.to_string(), "invalid type: integer `1`, expected a string at line 1 column 1");
    assert!(read::<u8>(b"300").unwrap_err().to_string().starts_with("invalid value: integer `300`, expected u8"));
}

/// What is known only when it is read stands among what is derived.
#[test]
fn values_of_any_kind_are_fields() {
    #[derive(serde::Serialize, serde::Deserialize, ToJson, FromJson, PartialEq, Debug)]
    struct Flight<'a> {
        pilot: String,
        track: Box<RawValue>,
        #[serde(borrow)]
        note: Option<&'a RawValue>,
        best: Number,
        tags: Value,
        #[serde(flatten)]
        rest: Map<String, Value>,
    }
    let text = r#"{"pilot":"Ann","track": [1.50, "\u0041"] ,"note":null,"best":1e1000,"tags":{"b":-0,"a":[1.10,"é\n",true,null]},"x":1,"x":2.5}"#;
    let flight: Flight = read(text.as_bytes()).unwrap();
    assert_eq!(flight, thalweg_json::from_str(text).unwrap());
    assert_eq!((flight.track.get(), flight.best.to_string()), (r#"[1.50, "\u0041"]"#, "1e1000".to_owned()));
    let mut written = Vec::new();
    write(&flight, &mut written);
    let expected = r#"{"pilot":"Ann","track":[1.50, "\u0041"],"note":null,"best":1e1000,"tags":{"b":-0,"a":[1.10,"é\n",true,null]},"x":2.5}"#;
    assert_eq!(String::from_utf8(written).unwrap(), expected);
    assert_eq!(thalweg_json::to_string(&flight).unwrap(), expected);
    let error = read::<Number>(br#""1""#).unwrap_err();
    assert_eq!(error.to_string(), r#"invalid type: string "1", expected a JSON number at line 1 column 3"#);
}
