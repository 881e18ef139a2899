//! What cannot be derived is said, where it stands.

use crate::shape::Type;
use crate::{read, write};

/// The error of an expansion.
fn error_of(input: &str) -> String {
    let input: syn::DeriveInput = syn::parse_str(input).unwrap();
    let expanded = Type::of(&input).and_then(|this| {
        write::to_json(&this)?;
        read::from_json(&this)
    });
    expanded.map_or_else(|error| error.to_string(), |code| panic!("{code}"))
}

#[test]
fn what_is_not_supported_is_an_error() {
    for (input, error) in [
        ("union U { a: u8 }", "a union is nothing in JSON"),
        ("#[serde(rename_all = \"Title Case\")] struct S;", "unknown case, expected one of \"lowercase\","),
        ("#[serde(remote = \"T\")] struct S;", "`remote` is not supported here"),
        ("struct S { #[serde(getter = \"f\")] a: u8 }", "`getter` is not supported here"),
        ("#[serde(tag = \"t\")] struct S { a: u8 }", "only enums have a tag here"),
        ("#[serde(tag = \"t\")] enum E { A(u8, u8) }", "what has no names cannot stand beside a tag"),
        ("#[serde(tag = \"t\")] enum E { A { t: u8 } }", "`t` is the tag, and a field's name too"),
        (
            "#[serde(tag = \"t\")] enum E { A { #[serde(alias = \"t\")] a: u8 } }",
            "`t` is the tag, and a field's name too",
        ),
        ("#[serde(tag = \"t\", content = \"t\")] enum E { A }", "`tag` and `content` are the same"),
        ("#[serde(content = \"c\")] enum E { A }", "`content` needs a `tag`"),
        ("#[serde(untagged, tag = \"t\")] enum E { A }", "what is untagged has no tag"),
        ("#[json(transparent)] struct S { a: u8, b: u8 }", "what is transparent has exactly one field"),
        ("struct S(#[json(flatten)] u8);", "`flatten` and `skip_serializing_if` are for fields with names"),
        ("enum E { #[json(other)] A }", "`other` is for enums with a tag"),
        ("struct S { #[json(rename = 1)] a: u8 }", "a string is expected here"),
        ("struct S<'de> { a: &'de str }", "`'de` is the lifetime of the text that is read"),
    ] {
        assert!(error_of(input).contains(error), "{input}: {}", error_of(input));
    }
}
