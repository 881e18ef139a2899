//! Any bytes, as types with derives of ours and of serde's: the same value or both a refusal, and the same text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use thalweg_json::{FromJson, FromMembers, ToJson, ToMembers, read, write};

#[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
#[serde(rename_all = "camelCase")]
struct Record<'a> {
    id: u32,
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(rename = "unit", alias = "é")]
    r#type: Option<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    list: Vec<Outside>,
    #[serde(default)]
    beside: Option<Beside>,
    #[serde(default)]
    denying: Option<Denying>,
    #[serde(default)]
    flattened: Option<Box<Flattened>>,
    #[serde(default)]
    single: f32,
}

#[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
#[serde(rename_all = "lowercase")]
enum Outside {
    Unit,
    Newtype(Option<i8>),
    Pair(i128, char),
    Struct {
        id: u64,
        #[serde(default)]
        name: String,
    },
}

#[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
#[serde(tag = "t", content = "c")]
enum Beside {
    A,
    B(bool),
    C { x: Option<i64> },
}

#[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
struct Denying {
    a: Option<u8>,
    b: Option<()>,
}

#[derive(Serialize, Deserialize, ToJson, FromJson, ToMembers, FromMembers, PartialEq, Debug)]
struct Inner {
    a: Option<u8>,
    b: Option<String>,
}

#[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
struct Flattened {
    #[serde(flatten)]
    inner: Inner,
    #[serde(flatten)]
    rest: BTreeMap<String, bool>,
}

fuzz_target!(|text: &[u8]| {
    let (ours, theirs) = (read::<Record<'_>>(text), serde_json::from_slice::<Record<'_>>(text));
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => {
            assert_eq!(ours, theirs);
            let mut written = Vec::new();
            write(&ours, &mut written);
            assert_eq!(written, serde_json::to_vec(&theirs).unwrap());
        }
        (Err(_), Err(_)) => {}
        // an array that stands for a struct's fields is one to serde alone
        (Err(_), Ok(_)) => assert!(text.contains(&b'[')),
        // what is passed over here serde keeps until it is known that nobody wants it
        (Ok(_), Err(theirs)) => {
            assert!(theirs.is_syntax() && serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok());
        }
    }
});
