//! Values that are read from a socket or a file, of which nothing is read after the value.

use serde::Deserialize;
use std::cell::Cell;
use std::io::{Error, ErrorKind, Read};
use thalweg_json::{Deserializer, Value};

/// A source that counts the bytes that were taken, and fails once there are no more.
struct Socket<'a> {
    text: &'a [u8],
    /// At most so many bytes are returned by one call.
    piece: usize,
    taken: &'a Cell<usize>,
}

impl Read for Socket<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let rest = &self.text[self.taken.get()..];
        if rest.is_empty() {
            return Err(Error::new(ErrorKind::WouldBlock, "a socket would wait here"));
        }
        let length = rest.len().min(self.piece).min(into.len());
        into[..length].copy_from_slice(&rest[..length]);
        self.taken.set(self.taken.get() + length);
        Ok(length)
    }
}

/// Values whose last byte shows that they have ended.
const ENCLOSED: [&str; 14] = [
    "{}",
    "[]",
    "\"\"",
    "true",
    "false",
    "null",
    "[1]",
    "[[],[{}]]",
    "{\"a\":[1,2.5,\"]}\"]}",
    "\"a\\\"b\\\\\"",
    "\"\\u00e9\"",
    "{\"a\":{\"b\":null}}",
    "[\"\\\\\",\"[\"]",
    " \n\ttrue",
];

#[test]
fn no_byte_after_a_value_is_read() {
    for text in ENCLOSED {
        for behind in ["", "x", "1", "\"", "]", " ", "\n", "{}"] {
            for piece in [1, 2, 1000] {
                let all = format!("{text}{behind}");
                let taken = Cell::new(0);
                let socket = Socket { text: all.as_bytes(), piece, taken: &taken };
                let mut values = Deserializer::from_reader(socket).into_iter::<Value>();
                let value = values.next().unwrap().unwrap_or_else(|error| panic!("{all:?}: {error}"));
                assert_eq!(value, thalweg_json::from_str::<Value>(text).unwrap(), "{all:?}");
                assert_eq!(taken.get(), text.len(), "{all:?}");
                assert_eq!(values.byte_offset(), text.len(), "{all:?}");

                taken.set(0);
                let mut socket = Socket { text: all.as_bytes(), piece, taken: &taken };
                let value = Value::deserialize(&mut Deserializer::from_reader(&mut socket)).unwrap();
                assert_eq!(value, thalweg_json::from_str::<Value>(text).unwrap(), "{all:?}");
                // The next reader of the socket finds all that follows.
                assert_eq!(&all[taken.get()..], behind, "{all:?}");
            }
        }
    }
}

#[test]
fn one_byte_after_a_number_is_read_and_kept() {
    for number in ["0", "-1", "12", "1.5", "-0.0", "1e5", "1.25E-3", "18446744073709551616"] {
        for (behind, is_delimiter) in [("\n", true), ("[2]", true), ("\"a\"", true), ("x", false), ("true", false)] {
            let all = format!("{number}{behind}");
            let taken = Cell::new(0);
            let socket = Socket { text: all.as_bytes(), piece: 1, taken: &taken };
            let mut values = Deserializer::from_reader(socket).into_iter::<Value>();
            let value = values.next().unwrap();
            assert_eq!(taken.get(), number.len() + 1, "{all:?}");
            match is_delimiter {
                true => assert_eq!(value.unwrap().to_string(), number),
                false => assert!(value.unwrap_err().is_syntax(), "{all:?}"),
            }
            if behind.len() > 1 && is_delimiter {
                assert_eq!(values.next().unwrap().unwrap(), thalweg_json::from_str::<Value>(behind).unwrap());
            }
        }
        // Whether more digits follow is unknown until the source ends.
        let taken = Cell::new(0);
        let socket = Socket { text: number.as_bytes(), piece: 1, taken: &taken };
        assert!(Value::deserialize(&mut Deserializer::from_reader(socket)).unwrap_err().is_io(), "{number}");
        let mut values = Deserializer::from_reader(number.as_bytes()).into_iter::<Value>();
        assert_eq!(values.next().unwrap().unwrap().to_string(), number);
        assert!(values.next().is_none());
    }
}

/// A byte that must not follow a word is reported when the next value is requested.
#[test]
fn what_must_not_follow_a_word_is_an_error_of_the_next_value() {
    for text in ["truefalse", "null1", "falsex", "true-"] {
        let mut values = Deserializer::from_reader(text.as_bytes()).into_iter::<Value>();
        assert!(values.next().unwrap().is_ok(), "{text}");
        let error = values.next().unwrap().unwrap_err();
        let expected = Deserializer::from_str(text).into_iter::<Value>().next().unwrap().unwrap_err();
        assert_eq!(error.to_string(), expected.to_string(), "{text}");
        assert!(values.next().is_none(), "{text}");
    }
    for (text, expected) in [("true", 1), ("true ", 1), ("true[]null", 3), ("null\"\"", 2), ("false\n1", 2)] {
        let values = Deserializer::from_reader(text.as_bytes()).into_iter::<Value>();
        assert_eq!(values.map(Result::unwrap).count(), expected, "{text}");
    }
}

/// An invalid byte ends the reading at once, also within a word or a number.
#[test]
fn no_byte_after_an_invalid_one_is_read() {
    for (text, invalid) in [
        ("trux", 3),
        ("nulx", 3),
        ("fx", 1),
        ("x", 0),
        ("1.x", 2),
        ("-x", 1),
        ("1e+x", 3),
        ("--", 1),
        ("1..", 2),
        ("1ee", 2),
        ("01", 1),
        ("+1", 0),
        ("[1 2", 3),
        ("{]", 1),
        ("\"a\" x", 3),
    ] {
        let all = format!("{text}0000");
        let taken = Cell::new(0);
        let socket = Socket { text: all.as_bytes(), piece: 1, taken: &taken };
        let value = Value::deserialize(&mut Deserializer::from_reader(socket));
        assert_eq!(value.is_ok(), text.starts_with('"'), "{text}");
        assert!(taken.get() <= invalid + 1, "{text}: {} bytes were read", taken.get());
    }
}

/// A read that failed can be repeated: what had arrived of the value is still there.
#[test]
fn a_value_whose_reading_failed_is_read_by_the_next_attempt() {
    struct Slow<'a>(&'a [u8], bool);

    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(ErrorKind::WouldBlock.into());
            }
            let piece = into.len().min(1);
            self.0.read(&mut into[..piece])
        }
    }

    for text in ["{\"a\":[1,\"\\\"]\"]}", "\"a\\\\\"", "true", "[[]]", "-12.5e3 "] {
        let mut values = Deserializer::from_reader(Slow(text.as_bytes(), false));
        let mut failures = 0;
        let value = loop {
            match Value::deserialize(&mut values) {
                Ok(value) => break value,
                Err(error) => assert_eq!(error.io_error_kind(), Some(ErrorKind::WouldBlock), "{text}"),
            }
            failures += 1;
        };
        assert_eq!(value, thalweg_json::from_str::<Value>(text).unwrap());
        assert_eq!(failures, text.len(), "{text}");
    }
}
