//! JSONTestSuite: what is JSON is read, what is none is refused, and of the rest it is decided here.

use serde::de::IgnoredAny;
use std::convert::Infallible;
use std::path::Path;
use std::{fs, io};
use thalweg_json::{Reader, Value, Visitor, from_reader, from_slice};

/// What may be read or not is read, but for these. A value is refused whose string no string of Rust's is, as `serde_json` refuses it; where
/// nothing is kept, pairs of surrogates and UTF-8 are not looked at.
const REFUSED: [&str; 21] = [
    "i_object_key_lone_2nd_surrogate.json",
    "i_string_1st_surrogate_but_2nd_missing.json",
    "i_string_1st_valid_surrogate_2nd_invalid.json",
    "i_string_UTF-16LE_with_BOM.json",
    "i_string_UTF-8_invalid_sequence.json",
    "i_string_UTF8_surrogate_U+D800.json",
    "i_string_incomplete_surrogate_and_escape_valid.json",
    "i_string_incomplete_surrogate_pair.json",
    "i_string_incomplete_surrogates_escape_valid.json",
    "i_string_invalid_lonely_surrogate.json",
    "i_string_invalid_surrogate.json",
    "i_string_invalid_utf-8.json",
    "i_string_inverted_surrogates_U+1D11E.json",
    "i_string_iso_latin_1.json",
    "i_string_lone_second_surrogate.json",
    "i_string_lone_utf8_continuation_byte.json",
    "i_string_not_in_unicode_range.json",
    "i_string_overlong_sequence_2_bytes.json",
    "i_string_overlong_sequence_6_bytes.json",
    "i_string_overlong_sequence_6_bytes_null.json",
    "i_string_truncated-utf-8.json",
];

/// Numbers larger than any float: kept as their text, and refused where that is not kept.
const LARGE: [&str; 5] = [
    "i_number_huge_exp.json",
    "i_number_neg_int_huge_exp.json",
    "i_number_pos_double_huge_exp.json",
    "i_number_real_neg_overflow.json",
    "i_number_real_pos_overflow.json",
];

/// Refused where nothing is kept, too.
const REFUSED_BY_ALL: [&str; 4] = [
    "i_string_UTF-16LE_with_BOM.json",
    "i_string_utf16BE_no_BOM.json",
    "i_string_utf16LE_no_BOM.json",
    "i_structure_UTF-8_BOM_empty_object.json",
];

/// More levels than are read into values; the streamed reader counts them otherwise.
const DEEP: &str = "i_structure_500_nested_arrays.json";

#[test]
fn values() {
    each(|name, text| {
        let is_read = from_slice::<Value>(text).is_ok();
        let expected = match &name[..2] {
            "y_" => true,
            "n_" => false,
            _ => !REFUSED.contains(&name) && !REFUSED_BY_ALL.contains(&name) && name != DEEP,
        };
        assert_eq!(is_read, expected, "{name}");
        // theirs are decided alike, and say the same; but they are floats here
        let ours = match LARGE.contains(&name) {
            true => from_slice::<Vec<f64>>(text).err(),
            false => from_slice::<Value>(text).err(),
        };
        let theirs = serde_json::from_slice::<serde_json::Value>(text);
        assert_eq!(ours.map(|error| error.to_string()), theirs.err().map(|error| error.to_string()), "{name}");
        let direct = thalweg_json::read::<Value>(text).ok();
        assert_eq!(direct, from_slice(text).ok(), "{name}");
        assert_eq!(from_reader::<_, Value>(Slow(text)).is_ok(), expected, "{name}");
    });
}

#[test]
fn what_is_passed_over() {
    each(|name, text| {
        let is_read = from_slice::<IgnoredAny>(text).is_ok();
        let expected = match &name[..2] {
            "y_" => true,
            // bytes that are no UTF-8 between quotes are nothing's
            "n_" => serde_json::from_slice::<IgnoredAny>(text).is_ok(),
            _ => !REFUSED_BY_ALL.contains(&name),
        };
        assert_eq!(is_read, expected, "{name}");
    });
}

/// No text of PostgreSQL's can hold a NUL, or half of a surrogate pair. UTF-8 is looked at by who keeps the bytes.
#[test]
fn as_it_arrives() {
    each(|name, text| {
        let expected = match &name[..2] {
            "y_" => !HAS_NUL.contains(&name),
            "n_" => serde_json::from_slice::<IgnoredAny>(text).is_ok(),
            _ => !(REFUSED_BY_ALL.contains(&name) || HALF_PAIRS.contains(&name)),
        };
        let cuts = text.len().min(300);
        for cut in 0..=cuts {
            assert_eq!(streamed(text, cut), expected, "{name} cut at {cut}");
        }
    });
}

const HAS_NUL: [&str; 4] =
    ["y_object_escaped_null_in_key.json", "y_string_null_escape.json", "y_string_null.json", "y_string_nul.json"];

const HALF_PAIRS: [&str; 10] = [
    "i_object_key_lone_2nd_surrogate.json",
    "i_string_1st_surrogate_but_2nd_missing.json",
    "i_string_1st_valid_surrogate_2nd_invalid.json",
    "i_string_incomplete_surrogate_and_escape_valid.json",
    "i_string_incomplete_surrogate_pair.json",
    "i_string_incomplete_surrogates_escape_valid.json",
    "i_string_invalid_lonely_surrogate.json",
    "i_string_invalid_surrogate.json",
    "i_string_inverted_surrogates_U+1D11E.json",
    "i_string_lone_second_surrogate.json",
];

fn streamed(text: &[u8], cut: usize) -> bool {
    struct Nobody;

    impl Visitor for Nobody {
        type Error = Infallible;
    }

    let mut reader = Reader::document();
    let (first, second) = text.split_at(cut);
    let fed = reader.feed(first, &mut Nobody).and_then(|()| reader.feed(second, &mut Nobody));
    fed.and_then(|()| reader.finish(&mut Nobody)).is_ok()
}

/// Gives each text with its name.
fn each(mut check: impl FnMut(&str, &[u8])) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite");
    let mut count = 0;
    for file in fs::read_dir(directory).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "json") {
            check(path.file_name().unwrap().to_str().unwrap(), &fs::read(&path).unwrap());
            count += 1;
        }
    }
    assert_eq!(count, 318);
}

/// A byte at a time.
struct Slow<'a>(&'a [u8]);

impl io::Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len().min(1);
        io::Read::read(&mut self.0, &mut buffer[..length])
    }
}
