//! Documents that are nearly what the types of the tests expect: right ones, wrong ones, cut ones.

use proptest::prelude::*;

/// A text that may be one of JSON.
pub fn document() -> impl Strategy<Value = String> {
    (value(), prop::collection::vec((any::<prop::sample::Index>(), 0..6_u8, 0..MUTATIONS.len()), 0..3)).prop_map(
        |(text, mutations)| {
            // most are left as they are
            let count = mutations.len().saturating_sub(1);
            mutations.into_iter().take(count).fold(text, |text, (at, kind, what)| mutated(&text, at, kind, what))
        },
    )
}

const MUTATIONS: [&str; 16] =
    ["", ",", ":", "\"", "{", "}", "[", "]", "\n", "1", "-", "\\u00", "nul", "e5", "\u{1}", "é"];

fn mutated(text: &str, at: prop::sample::Index, kind: u8, what: usize) -> String {
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let at = places[at.index(places.len())];
    let (before, behind) = text.split_at(at);
    match kind {
        0 => before.to_owned(),
        1 => format!("{before}{}", behind.chars().skip(1).collect::<String>()),
        2 => format!("{before}\n {behind}"),
        _ => format!("{before}{}{behind}", MUTATIONS[what]),
    }
}

fn value() -> impl Strategy<Value = String> {
    scalar().prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            (prop::collection::vec(inner.clone(), 0..4), blank())
                .prop_map(|(values, blank)| format!("[{blank}{}{blank}]", values.join(&format!(",{blank}")))),
            (prop::collection::vec((key(), inner.clone()), 0..6), blank()).prop_map(|(members, blank)| {
                let members: Vec<_> =
                    members.iter().map(|(key, value)| format!("{key}{blank}:{blank}{value}")).collect();
                format!("{{{blank}{}}}", members.join(","))
            }),
            // what the types have, in order
            (inner.clone(), inner.clone(), inner)
                .prop_map(|(a, b, c)| format!(r#"{{"id":{a},"name":{b},"unit":{c}}}"#)),
        ]
    })
}

fn blank() -> impl Strategy<Value = &'static str> {
    prop_oneof![8 => Just(""), 2 => Just(" "), 1 => Just("\n  ")]
}

fn key() -> impl Strategy<Value = String> {
    const KEYS: [&str; 27] = [
        "id",
        "name",
        "unit",
        "tag",
        "content",
        "kind",
        "km",
        "A",
        "B",
        "newtype",
        "pair",
        "Struct",
        "extra",
        "1",
        "-2",
        "300",
        "true",
        "false",
        "x",
        "é",
        "1.5",
        "99999999999999999999999",
        "",
        "n\\u0061me",
        "list",
        "opt",
        "inner",
    ];
    prop::sample::select(&KEYS[..]).prop_map(|key| format!("\"{key}\""))
}

fn scalar() -> impl Strategy<Value = String> {
    const SCALARS: [&str; 40] = [
        "null",
        "true",
        "false",
        "0",
        "-0",
        "1",
        "255",
        "256",
        "-1",
        "18446744073709551615",
        "18446744073709551616",
        "-9223372036854775808",
        "-9223372036854775809",
        "1.5",
        "-0.0",
        "1e3",
        "1e400",
        "0.1e-7",
        "340282366920938463463374607431768211456",
        "\"\"",
        "\"a\"",
        "\"A\"",
        "\"B\"",
        "\"unit\"",
        "\"newtype\"",
        "\"Struct\"",
        "\"pair\"",
        "\"x\\n\\u00e9\\ud83d\\ude00\"",
        "\"\\ud800\"",
        "[]",
        "{}",
        "[1,2]",
        "[1,\"a\",[true,\"c\"]]",
        "01",
        "1.",
        ".5",
        "+1",
        "tru",
        "\"\\x\"",
        "-",
    ];
    prop_oneof![
        4 => prop::sample::select(&SCALARS[..]).prop_map(str::to_owned),
        1 => any::<i64>().prop_map(|value| value.to_string()),
        // few digits: theirs are not the nearest float's, unless they are asked for
        1 => (any::<i32>(), 1..6).prop_map(|(value, places)| format!("{}", f64::from(value) / 10_f64.powi(places))),
        1 => any::<String>().prop_map(|value| serde_json::to_string(&value).unwrap()),
    ]
}
