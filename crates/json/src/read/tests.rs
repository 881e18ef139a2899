//! What is read, and what is refused where.

use super::*;
use std::collections::BTreeMap;

#[test]
fn values_are_read_as_serde_json_reads_them() {
    #[track_caller]
    fn same<T>(text: &str)
    where
        T: for<'de> FromJson<'de> + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
    {
        for text in [
            text.to_owned(),
            format!(" {text}\n"),
            text.replace(',', " ,\t").replace([':', '['], "$0 ").replace("$0", ":"),
        ] {
            let (ours, theirs) = (read::<T>(text.as_bytes()), serde_json::from_str::<T>(&text));
            assert_eq!(ours.as_ref().ok(), theirs.as_ref().ok(), "{text}: {ours:?} {theirs:?}");
        }
    }
    for text in ["0", "-1", "255", "256", "1.0", "1e2", "-0", "\"1\"", "null", "", "01", "-", "18446744073709551616"] {
        same::<u8>(text);
        same::<i8>(text);
        same::<u64>(text);
        same::<i64>(text);
        same::<u128>(text);
        same::<i128>(text);
        same::<f64>(text);
        same::<f32>(text);
        same::<Option<i32>>(text);
        same::<Vec<u8>>(&format!("[{text},{text}]"));
        same::<(u8, i16)>(&format!("[{text},{text}]"));
        same::<BTreeMap<String, i32>>(&format!("{{\"a\":{text},\"b\\n\":1,\"a\":2}}"));
        same::<BTreeMap<i8, i32>>(&format!("{{\"{text}\":1}}"));
        same::<std::num::NonZero<u8>>(text);
    }
    for text in ["[]", "[1]", "[1,]", "[,1]", "[1 2]", "[1", "[", "{}", "[1,2]", "[1,2,3]", "[[1],[2]]", "]"] {
        same::<Vec<u8>>(text);
        same::<[u8; 2]>(text);
        same::<(u8, u8)>(text);
        same::<Vec<Vec<u8>>>(text);
        same::<std::collections::BTreeSet<u8>>(text);
    }
    for text in [
        "{}",
        "{\"a\":1}",
        "{\"a\":1,}",
        "{\"a\"}",
        "{\"a\":}",
        "{a:1}",
        "{\"a\":1 \"b\":2}",
        "{",
        "{\"a",
        "{\"a\":1",
        "{1:2}",
        "{,}",
    ] {
        same::<BTreeMap<String, u8>>(text);
    }
    for text in ["true", "false", "tru", "trux", "nul", "True", "1"] {
        same::<bool>(text);
        same::<Option<bool>>(text);
    }
    for text in [
        "\"\"",
        "\"é\"",
        "\"ab\"",
        "\"\\u00e9\"",
        "\"\\ud83d\\ude00\"",
        "\"\\ud83d\"",
        "\"\\ude00\"",
        "\"\\ud83d\\n\"",
        "\"\\x\"",
        "\"\n\"",
        "\"",
        "\"\\",
        "\"\\u12",
        "\"\\u12g4\"",
        "\"\\/\\b\\f\\n\\r\\t\\\"\\\\\"",
    ] {
        same::<String>(text);
        same::<char>(text);
        same::<Option<String>>(text);
    }
}

#[test]
fn strings_are_borrowed_where_they_can_be() {
    let (plain, escaped) = ("[\"plain\"]", "[\"a\\n\"]");
    assert!(matches!(
        read::<Vec<std::borrow::Cow<'_, str>>>(plain.as_bytes()).unwrap()[0],
        std::borrow::Cow::Borrowed("plain")
    ));
    assert_eq!(read::<Vec<&str>>(plain.as_bytes()).unwrap(), ["plain"]);
    assert!(read::<Vec<&str>>(escaped.as_bytes()).is_err());
    assert_eq!(read::<Vec<std::borrow::Cow<'_, str>>>(escaped.as_bytes()).unwrap(), ["a\n"]);
}

#[test]
fn text_that_is_not_utf8_is_refused_where_it_is_kept() {
    assert!(read::<String>(b"\"\xff\"").is_err());
    assert!(read::<String>(b"\"\\n\xe3\x81\"").is_err());
    assert_eq!(read::<(u8, u8)>(b"[1,\xff2]").unwrap_err().to_string(), "expected value at line 1 column 4");
    let mut parser = Parser::new(b"\"\xff\"");
    assert!(parser.skip().is_ok() && parser.end().is_ok());
}

#[test]
fn errors_have_the_words_and_places_of_serde_json() {
    for text in [
        "",
        " ",
        "[",
        "{",
        "[1,",
        "[1",
        "[1 2]",
        "[1,]",
        "{\"a\":1,}",
        "{\"a\" 1}",
        "{\"a\":1",
        "{\"a\":1 2",
        "{1",
        "\"a",
        "\"a\\",
        "\"\\q\"",
        "\"\\ud800\"",
        "\"\\ud800\\u0041\"",
        "\"\\ud800x\"",
        "tru",
        "trux",
        "nul",
        "[\n1,\n x]",
        "1 2",
        "01",
        "1.",
        "1.x",
        "1e",
        "1ex",
        "-",
        "-x",
        "\"\u{1}\"",
        "1e999",
        "[[]",
        "\"\\u12\"",
        "\"\\u12zz\"",
        "\"\\udc00\"",
    ] {
        let theirs = serde_json::from_str::<serde::de::IgnoredAny>(text)
            .err()
            .or_else(|| serde_json::from_str::<serde_json::Value>(text).err());
        let ours = {
            let mut parser = Parser::new(text.as_bytes());
            parser
                .skip()
                .and_then(|()| parser.end())
                .err()
                .or_else(|| read::<crate::read::tests::Any>(text.as_bytes()).err())
        };
        assert_eq!(ours.map(|error| error.to_string()), theirs.map(|error| error.to_string()), "{text:?}");
    }
}

/// A value of any kind, read as its text and its strings.
struct Any;

impl<'de> FromJson<'de> for Any {
    fn from_json(parser: &mut Parser<'de>) -> Result<Self> {
        match parser.peek() {
            Some(b'"') => drop(parser.string()?),
            Some(b'[') => drop(Vec::<Self>::from_json(parser)?),
            Some(b'{') => drop(BTreeMap::<String, Self>::from_json(parser)?),
            Some(b'0'..=b'9' | b'-') => drop(parser.float()?),
            _ => parser.skip()?,
        }
        Ok(Self)
    }
}

#[test]
fn depth_is_bounded_where_values_are_kept() {
    for (levels, is_read) in [(127, true), (128, false), (if cfg!(miri) { 1_000 } else { 100_000 }, false)] {
        let text = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert_eq!(read::<Any>(text.as_bytes()).is_ok(), is_read, "{levels}");
        assert!(Parser::new(text.as_bytes()).skip().is_ok());
    }
}

/// What is tried again and again has a bound, which counts what was looked at.
#[test]
fn a_number_that_cannot_be_read_counts_up_to_its_end() {
    let digits = "9".repeat(1000);
    for text in
        [digits.clone(), format!("-{digits}"), format!("1e{digits}"), format!("1.5e+{digits}"), format!("{digits}x")]
    {
        let numbers: [fn(&mut Parser<'_>) -> bool; 4] = [
            |parser| parser.attempt(|parser| parser.float()).unwrap().is_none(),
            |parser| parser.attempt(|parser| parser.unsigned("u8")).unwrap().is_none(),
            |parser| parser.attempt(|parser| parser.array_start()).unwrap().is_none(),
            |parser| parser.attempt(|parser| parser.boolean()).unwrap().is_none(),
        ];
        for is_refused in numbers {
            let mut parser = Parser::new(text.as_bytes());
            assert!(is_refused(&mut parser), "{text}");
            assert!(parser.again >= digits.len(), "{text}: {}", parser.again);
            assert_eq!(parser.position(), 0);
        }
    }
}

/// A place between characters cannot be left by what derived code calls.
#[test]
fn a_key_begins_with_a_quote() {
    for text in ["é\"", "\u{80}\":1}", ":\"", "", "1"] {
        let mut parser = Parser::new(text.as_bytes());
        assert_eq!(
            parser.key_here().unwrap_err().to_string(),
            "key must be a string at line 1 column 1"
                .replace("column 1", if text.is_empty() { "column 0" } else { "column 1" })
        );
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 256 }))]

    #[test]
    fn any_bytes_are_taken_or_refused_as_serde_json_does(text in "[\\[\\]{},:\"\\\\ \nabtruefalsn0-9.eE+-]{0,24}") {
        let theirs = serde_json::from_str::<serde::de::IgnoredAny>(&text).map(|_| ()).map_err(|error| error.to_string());
        let mut parser = Parser::new(text.as_bytes());
        let ours = parser.skip().and_then(|()| parser.end()).map_err(|error| error.to_string());
        proptest::prop_assert_eq!(ours, theirs);
    }

    #[test]
    fn any_strings_read_back(
        values in proptest::collection::vec(proptest::prelude::any::<String>(), 0..if cfg!(miri) { 3 } else { 100 }),
    ) {
        let mut text = Vec::new();
        crate::write(&values, &mut text);
        proptest::prop_assert_eq!(read::<Vec<String>>(&text).unwrap(), values.clone());
        let escaped: String = values.iter().flat_map(|value| value.encode_utf16()).map(|unit| format!("\\u{unit:04x}")).collect();
        proptest::prop_assert_eq!(read::<String>(format!("\"{escaped}\"").as_bytes()).unwrap(), values.concat());
    }
}
