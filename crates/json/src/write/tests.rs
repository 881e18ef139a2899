//! What a `Writer` writes, whole and in chunks.

use super::*;
use std::collections::BTreeMap;

fn text<T: ToJson + ?Sized>(value: &T) -> String {
    let mut text = b"before".to_vec();
    write(value, &mut text);
    let whole = String::from_utf8(text).unwrap().split_off("before".len());
    for chunk_bytes in [0, 256, 300, 4096] {
        let mut pieces = Vec::new();
        write_chunks(value, chunk_bytes, |chunk| {
            assert!(!chunk.is_empty() && chunk.len() <= chunk_bytes.max(CHUNK_BYTES_MIN));
            pieces.extend_from_slice(chunk);
            Ok(())
        })
        .unwrap();
        assert_eq!(String::from_utf8(pieces).unwrap(), whole);
    }
    whole
}

#[test]
fn values_have_the_text_that_serde_json_gives_them() {
    fn same<T: ToJson + serde::Serialize + ?Sized>(value: &T) {
        assert_eq!(text(value), serde_json::to_string(value).unwrap());
    }
    same(&(1_u8, -2_i64, 3.5_f64, 1e300, f64::NAN, 1.1_f32, true, false, 'é', "x\"\n\u{1}\u{7f}", ()));
    same(&(Some(1), None::<u8>, Box::new([1, 2, 3]), vec![""; 3], Vec::<u8>::new(), u128::MAX, i128::MIN));
    same(&BTreeMap::from([("a", vec![1.0, -0.0]), ("b\\", vec![])]));
    same(&BTreeMap::from([(1, 'x'), (-2, '"')]));
    same(&BTreeMap::<bool, u8>::from([(true, 1)]));
    same(&"127.0.0.1".parse::<std::net::IpAddr>().unwrap());
    same(&(0..5000).collect::<Vec<u32>>());
    same(&"\n".repeat(5000));
    same("");
}

#[test]
fn strings_of_every_length_are_whole_at_every_place_of_a_chunk() {
    for length in (0..140).chain([255, 256, 257, 1000, 9000]) {
        let plain: String = "abcdefghijklmnopqrstuvwxyz".chars().cycle().take(length).collect();
        assert_eq!(text(&plain), format!("\"{plain}\""));
        let values: Vec<&str> = std::iter::repeat_n(plain.as_str(), 20).collect();
        assert_eq!(text(&values), format!("[{}]", vec![format!("\"{plain}\""); 20].join(",")));
        assert_eq!(text(&format!("{plain}\n")), format!("\"{plain}\\n\""));
    }
}

#[test]
fn a_failure_of_the_sink_is_told() {
    let mut calls = 0;
    let written = write_chunks(&vec![1; 10_000], 1000, |_| {
        calls += 1;
        Err(io::Error::other("full"))
    });
    assert_eq!((written.unwrap_err().to_string(), calls), ("full".to_owned(), 1));
}

#[test]
fn long_literals_are_whole() {
    struct Long;
    impl ToJson for Long {
        fn to_json<'o>(&self, out: Writer<'o>) -> Writer<'o> {
            const TEXT: &str = "\"0123456789012345678901234567890123456789012345678901234567890123456789\"";
            (0..9).fold(out.literal("[").literal(TEXT), |out, _| out.literal(",").literal(TEXT)).literal("]")
        }
    }
    assert_eq!(serde_json::from_str::<Vec<String>>(&text(&Long)).unwrap().len(), 10);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 256 }))]

    #[test]
    fn any_strings_are_what_serde_json_writes(values: Vec<String>) {
        proptest::prop_assert_eq!(text(&values), serde_json::to_string(&values).unwrap());
    }

    #[test]
    fn any_numbers_are_what_serde_json_writes(floats: Vec<f64>, singles: Vec<f32>, integers: Vec<i64>, large: Vec<u128>) {
        proptest::prop_assert_eq!(text(&floats), serde_json::to_string(&floats).unwrap());
        proptest::prop_assert_eq!(text(&singles), serde_json::to_string(&singles).unwrap());
        proptest::prop_assert_eq!(text(&integers), serde_json::to_string(&integers).unwrap());
        proptest::prop_assert_eq!(text(&large), serde_json::to_string(&large).unwrap());
    }
}
