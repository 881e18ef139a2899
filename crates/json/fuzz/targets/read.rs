//! Any bytes: what is read as a whole is taken or refused as `serde_json` does, with its words and places.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::collections::BTreeMap;
use thalweg_json::{FromJson, Parser, read};

fn same<T>(text: &[u8])
where
    T: for<'de> FromJson<'de> + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let (ours, theirs) = (read::<T>(text), serde_json::from_slice::<T>(text));
    assert_eq!(ours.ok(), theirs.ok());
}

fuzz_target!(|text: &[u8]| {
    let mut parser = Parser::new(text);
    let ours = parser.skip().and_then(|()| parser.end()).map_err(|error| error.to_string());
    let theirs = serde_json::from_slice::<serde::de::IgnoredAny>(text).map(|_| ()).map_err(|error| error.to_string());
    assert_eq!(ours, theirs);
    same::<String>(text);
    same::<Vec<String>>(text);
    same::<Vec<Option<i64>>>(text);
    same::<u64>(text);
    same::<i128>(text);
    same::<BTreeMap<String, Vec<bool>>>(text);
    same::<(u8, char)>(text);
    // the nearest float, which serde_json does not always find
    if let (Ok(ours), Ok(text)) = (read::<f64>(text), std::str::from_utf8(text)) {
        assert_eq!(text.trim_matches([' ', '\n', '\r', '\t']).parse::<f64>().map(f64::to_bits), Ok(ours.to_bits()));
    }
});
