//! What is read as it arrives, cut anywhere, beside what serde_json reads whole.

use super::*;
use proptest::prelude::*;
use std::convert::Infallible;

/// Writes down what it is told.
#[derive(Default, Debug, PartialEq)]
struct Notes {
    raw: String,
    strings: Vec<String>,
    current: String,
}

impl Visitor for Notes {
    type Error = Infallible;

    fn open(&mut self, container: Container, _: usize, _: u64) -> Result<(), Infallible> {
        self.raw.push(if container == Container::Array { '[' } else { '{' });
        Ok(())
    }
    fn close(&mut self, container: Container, _: usize, at: u64) -> Result<(), Infallible> {
        self.raw.push(if container == Container::Array { ']' } else { '}' });
        assert_eq!(at as usize, self.raw.len());
        Ok(())
    }
    fn string_start(&mut self, _: bool, _: usize, at: u64) -> Result<(), Infallible> {
        self.raw.push('"');
        assert_eq!(at as usize, self.raw.len());
        self.current.clear();
        Ok(())
    }
    fn string_piece(&mut self, bytes: &[u8]) -> Result<(), Infallible> {
        // a character may be cut by a chunk's end: the tests that cut use ASCII
        self.raw.push_str(std::str::from_utf8(bytes).unwrap());
        self.current.push_str(std::str::from_utf8(bytes).unwrap());
        Ok(())
    }
    fn string_escape(&mut self, raw: &[u8], character: char) -> Result<(), Infallible> {
        self.raw.push_str(std::str::from_utf8(raw).unwrap());
        self.current.push(character);
        Ok(())
    }
    fn string_end(&mut self, _: bool, _: usize, _: u64) -> Result<(), Infallible> {
        self.raw.push('"');
        self.strings.push(std::mem::take(&mut self.current));
        Ok(())
    }
    fn scalar_start(&mut self, _: usize, at: u64) -> Result<(), Infallible> {
        assert_eq!(at as usize, self.raw.len());
        Ok(())
    }
    fn scalar_piece(&mut self, bytes: &[u8]) -> Result<(), Infallible> {
        self.raw.push_str(std::str::from_utf8(bytes).unwrap());
        Ok(())
    }
    fn scalar_end(&mut self, _: Scalar, _: usize, at: u64) -> Result<(), Infallible> {
        assert_eq!(at as usize, self.raw.len());
        Ok(())
    }
    fn between(&mut self, bytes: &[u8], _: usize) -> Result<(), Infallible> {
        self.raw.push_str(std::str::from_utf8(bytes).unwrap());
        Ok(())
    }
}

fn read(text: &[u8], piece: usize) -> Result<Notes, ReadError<Infallible>> {
    let (mut reader, mut notes) = (Reader::document(), Notes::default());
    for chunk in text.chunks(piece.max(1)) {
        reader.feed(chunk, &mut notes)?;
    }
    reader.finish(&mut notes)?;
    Ok(notes)
}

#[test]
fn what_is_json_and_what_is_not() {
    for good in
        ["0", "-0.5e+10 ", " [ ] ", "{\"a\":[1,{\"b\":null}],\"c\":\"\\u00e9\\ud83d\\ude00\\n\"}", "\"\"", "true"]
    {
        for piece in 1..=good.len() {
            let notes = read(good.as_bytes(), piece).unwrap_or_else(|error| panic!("{good}: {error}"));
            assert_eq!(notes.raw, *good);
        }
    }
    assert_eq!(read(br#""\u00e9\ud83d\ude00\n\/""#, 3).unwrap().strings, ["é😀\n/"]);
    for bad in [
        "",
        " ",
        "01",
        "1.",
        ".5",
        "+1",
        "-",
        "1e",
        "1e+",
        "tru",
        "nul",
        "truex",
        "[1,]",
        "[,1]",
        "{\"a\"}",
        "{\"a\":}",
        "{a:1}",
        "{\"a\":1,}",
        "[1 2]",
        "1 2",
        "\"a",
        "\"\n\"",
        "\"\\x\"",
        "\"\\u12g4\"",
        "[}",
        "{]",
        "]",
        "[1",
        "{\"a\":1",
        "1a",
        "\u{feff}1",
    ] {
        for piece in 1..=bad.len().max(1) {
            assert!(matches!(read(bad.as_bytes(), piece), Err(ReadError::Syntax(_))), "{bad}");
        }
    }
    assert_eq!(read(br#""\u0000""#, 9).unwrap_err(), ReadError::Nul);
    for half in [r#""\ud83d""#, r#""\ud83d\n""#, r#""\ude00""#, r#""\ud83d\ud83d""#] {
        assert_eq!(read(half.as_bytes(), 99).unwrap_err(), ReadError::Surrogate, "{half}");
    }
    let deep = "[".repeat(NESTING_LEVELS_MAX + 1);
    assert_eq!(read(deep.as_bytes(), 1000).unwrap_err(), ReadError::Nesting);
}

#[test]
fn a_sequence_has_values_one_behind_the_other() {
    let (mut reader, mut notes) = (Reader::sequence(), Notes::default());
    for chunk in [&b"{\"a\":1}\n{\"a\""[..], b":2}\n\n3 4", b"\n"] {
        reader.feed(chunk, &mut notes).unwrap();
    }
    reader.finish(&mut notes).unwrap();
    assert_eq!(notes.raw, "{\"a\":1}\n{\"a\":2}\n\n3 4\n");
    assert!(Reader::sequence().feed(b"1,2", &mut Notes::default()).is_err());
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        "[ -~\\n\\t\\x01]{0,30}".prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
            prop::collection::hash_map("[a-z\"\\\\]{0,12}", inner, 0..6)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 256 }))]

    #[test]
    fn cut_anywhere_it_is_the_same(value in json(), piece in 1_usize..40) {
        let text = value.to_string();
        let notes = read(text.as_bytes(), piece).unwrap();
        prop_assert_eq!(&notes.raw, &text);
        prop_assert_eq!(notes, read(text.as_bytes(), text.len()).unwrap());
    }

    #[test]
    fn it_agrees_with_serde_on_what_is_json(text in "[\\[\\]{}\",:0-9.eE+\\- tfn\\\\/u]{0,12}|\\PC{0,10}") {
        let serde = match serde_json::from_str::<serde_json::Value>(&text) {
            Ok(_) => true,
            // a number too large for a float is JSON all the same
            Err(error) => error.to_string().starts_with("number out of range"),
        };
        match read(text.as_bytes(), text.len()) {
            Ok(_) => prop_assert!(serde, "{text}"),
            Err(ReadError::Syntax(_)) => prop_assert!(!serde, "{text}"),
            Err(_) => {}
        }
    }
}
