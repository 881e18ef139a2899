//! What serde's attributes and types do where they meet, which the documents of the other tests seldom hit.
#![allow(unsafe_code)]

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use thalweg_json::Value;

#[track_caller]
fn same<T: serde::de::DeserializeOwned + PartialEq + Debug>(documents: &[&str]) {
    for document in documents {
        super::same_or_refused(&serde_json::from_str::<T>(document), &thalweg_json::from_str(document), document);
    }
}

#[track_caller]
fn written<T: Serialize>(value: &T) {
    let ours = thalweg_json::to_string(value).map_err(|error| error.to_string());
    let theirs = serde_json::to_string(value).map_err(|error| error.to_string());
    assert_eq!(ours, theirs);
    let ours = thalweg_json::to_string_pretty(value).map_err(|error| error.to_string());
    let theirs = serde_json::to_string_pretty(value).map_err(|error| error.to_string());
    assert_eq!(ours, theirs);
    let parsed = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let ours = thalweg_json::to_value(value).map(|value| parsed(&value.to_string()));
    // By way of the text, because a single has its own digits in our values.
    let theirs = serde_json::to_value(value).map(|_| parsed(&serde_json::to_string(value).unwrap()));
    assert_eq!(ours.map_err(|error| error.to_string()), theirs.map_err(|error| error.to_string()));
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
enum Outside {
    Unit,
    Newtype(Box<Untagged>),
    Tuple(u8, Beside),
    Struct { inner: Option<Box<Inside>> },
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
#[serde(tag = "kind")]
enum Inside {
    Unit,
    Map(BTreeMap<String, i128>),
    Struct { beside: Beside, outside: Box<Outside>, large: Option<u128> },
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
#[serde(tag = "t", content = "c", deny_unknown_fields)]
enum Beside {
    Unit,
    Newtype(i128),
    Tuple(u8, Box<Outside>),
    Struct { untagged: Untagged },
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
#[serde(untagged)]
enum Untagged {
    Unit,
    Number(i64),
    Large(u64),
    Larger(u128),
    Float(f64),
    Beside(Box<Beside>),
    Inside(Box<Inside>),
    Outside(Box<Outside>),
    Tuple(u8, Box<Untagged>),
    Struct { name: String },
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Flat {
    #[serde(flatten)]
    outside: Outside,
    #[serde(flatten)]
    rest: HashMap<String, Untagged>,
}

#[test]
fn enums_within_enums() {
    let documents = [
        r#""Unit""#,
        r#"null"#,
        r#"{"Unit":null}"#,
        r#"{"Unit":null,"x":1}"#,
        r#"{"Newtype":null}"#,
        r#"{"Newtype":18446744073709551615}"#,
        r#"{"Newtype":18446744073709551616}"#,
        r#"{"Newtype":340282366920938463463374607431768211455}"#,
        r#"{"Newtype":340282366920938463463374607431768211456}"#,
        r#"{"Newtype":-170141183460469231731687303715884105728}"#,
        r#"{"Newtype":1e1000}"#,
        r#"{"Newtype":-0}"#,
        r#"{"Newtype":{"Newtype":{"t":"Newtype","c":1}}}"#,
        r#"{"Newtype":{"c":[1,"Unit"],"t":"Tuple"}}"#,
        r#"{"Newtype":{"c":{"untagged":[1,[2,{"name":"x"}]]},"t":"Struct"}}"#,
        r#"{"Tuple":[1,{"t":"Unit"}]}"#,
        r#"{"Tuple":[1,{"t":"Unit","x":1}]}"#,
        r#"{"Tuple":[1,{"t":"Newtype","c":18446744073709551616}]}"#,
        r#"{"Tuple":[1,{"c":18446744073709551616,"t":"Newtype"}]}"#,
        r#"{"Tuple":[1,{"c":-9223372036854775809,"t":"Newtype"}]}"#,
        r#"{"Struct":{}}"#,
        r#"{"Struct":{"inner":{"beside":{"t":"Unit"},"outside":"Unit","kind":"Struct"}}}"#,
        r#"{"Struct":{"inner":{"kind":"Struct","outside":{"Tuple":[2,{"t":"Newtype","c":3}]},"beside":{"t":"Unit","c":null},"large":18446744073709551616}}}"#,
        r#"{"Struct":{"inner":{"kind":"Map","x":18446744073709551616}}}"#,
        r#"{"kind":"Map","x":18446744073709551616}"#,
        r#"{"kind":"Map","x":1}"#,
        r#"{"kind":"Unit"}"#,
        r#"["Unit"]"#,
        r#"[1,{"Newtype":[2,null]}]"#,
        r#"{"name":"x"}"#,
        r#"{"name":"x","Newtype":1}"#,
        r#"{"x":{"name":"y"},"Struct":{"inner":null},"y":1.5}"#,
    ];
    same::<Outside>(&documents);
    same::<Inside>(&documents);
    same::<Beside>(&documents);
    same::<Untagged>(&documents);
    same::<Flat>(&documents);
    for document in documents {
        if let Ok(value) = serde_json::from_str::<Untagged>(document) {
            written(&value);
        }
        if let Ok(value) = serde_json::from_str::<Flat>(document) {
            written(&value);
        }
    }
}

#[test]
fn keys_of_all_kinds() {
    #[derive(Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    enum Variant {
        A,
        B(u8),
    }
    let keys = [
        r#"{"1":0}"#,
        r#"{"-1":0}"#,
        r#"{"-0":0}"#,
        r#"{"1.5":0}"#,
        r#"{"1e3":0}"#,
        r#"{" 1":0}"#,
        r#"{"1 ":0}"#,
        r#"{"":0}"#,
        r#"{"01":0}"#,
        r#"{"18446744073709551615":0}"#,
        r#"{"18446744073709551616":0}"#,
        r#"{"1":0,"1":1}"#,
        r#"{"\u0031":0}"#,
        r#"{"true":0}"#,
        r#"{"a":0}"#,
        r#"{"é":0}"#,
        r#"{"A":0}"#,
        r#"{"B":0}"#,
        r#"{"null":0}"#,
        r#"{1:0}"#,
        r#"{null:0}"#,
    ];
    same::<BTreeMap<u64, u8>>(&keys);
    same::<BTreeMap<i64, u8>>(&keys);
    same::<BTreeMap<u128, u8>>(&keys);
    same::<BTreeMap<i128, u8>>(&keys);
    same::<BTreeMap<char, u8>>(&keys);
    same::<BTreeMap<Option<u64>, u8>>(&keys);
    same::<BTreeMap<Option<String>, u8>>(&keys);
    same::<BTreeMap<Variant, u8>>(&keys);
    same::<BTreeMap<(), u8>>(&keys);
    same::<BTreeMap<(u8, u8), u8>>(&keys);
    same::<Vec<(u8,)>>(&keys);
    written(&BTreeMap::from([(true, 1), (false, 0)]));
    // theirs refuses it where it becomes a value in memory, and there alone
    assert_eq!(thalweg_json::to_string(&BTreeMap::from([(Some("a"), 1)])).unwrap(), r#"{"a":1}"#);
    written(&BTreeMap::from([(None::<u8>, 1)]));
    written(&BTreeMap::from([((), 1)]));
    written(&BTreeMap::from([((1, 2), 1)]));
    written(&BTreeMap::from([(Variant::A, 1)]));
    written(&BTreeMap::from([(Variant::B(1), 1)]));
    written(&BTreeMap::from([(vec![1], 1)]));
    written(&BTreeMap::from([('\n', 1), ('é', 2)]));
    // an integer of more than 64 bits is none of their values, as they are compiled here
    let large = BTreeMap::from([(u128::MAX, i128::MIN)]);
    assert_eq!(thalweg_json::to_string(&large).unwrap(), serde_json::to_string(&large).unwrap());
    written(&BTreeMap::from([(BTreeMap::from([(1, 2)]), 1)]));
    for float in [1.0, 0.1, -0.0, 1e300, f64::NAN, f64::INFINITY] {
        written(&Pairs([(Key(float), 1)]));
        written(&float);
        written(&(float as f32));
    }

    /// A float as a key, which no map of the standard library's has.
    struct Key(f64);
    struct Pairs<const N: usize>([(Key, u8); N]);
    impl<const N: usize> Serialize for Pairs<N> {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_map(self.0.iter().map(|(key, value)| (key.0, value)))
        }
    }
}

#[test]
fn numbers_at_their_bounds() {
    let numbers = [
        "3.4028235e38",
        "3.4028236e38",
        "3.40282357e38",
        "1e39",
        "-1e39",
        "1e308",
        "1.8e308",
        "1e400",
        "1e-400",
        "-0",
        "-0.0",
        "0e400",
        "1e99999999999",
        "0.1",
        "16777217",
        "1.17549435e-38",
        "340282366920938463463374607431768211456",
        "1E5",
        "1e+5",
        "255.0",
        "256",
        "-1",
    ];
    same::<f32>(&numbers);
    same::<f64>(&numbers);
    same::<u8>(&numbers);
    same::<i64>(&numbers);
    same::<u128>(&numbers);
    same::<i128>(&numbers);
    same::<Option<std::num::NonZero<u8>>>(&numbers);
    same::<std::num::Wrapping<u8>>(&numbers);
    same::<Result<u8, f32>>(&["{\"Ok\":1}", "{\"Err\":1e39}", "{\"Err\":2,\"Ok\":1}", "{}"]);
    same::<std::time::Duration>(&[
        r#"{"secs":1,"nanos":2}"#,
        "[1,2]",
        r#"{"secs":1}"#,
        r#"{"secs":1,"nanos":5000000000}"#,
    ]);
    same::<std::ops::Range<u8>>(&[r#"{"start":1,"end":2}"#, "[1,2]"]);
    same::<std::net::IpAddr>(&[r#""127.0.0.1""#, r#""::1""#, r#""x""#, "1"]);
    same::<std::path::PathBuf>(&[r#""/a/b""#, "1"]);
}

/// Integers of more than 64 bits, which no value of theirs holds.
#[test]
fn large_integers_in_maps() {
    super::check::<BTreeMap<u128, i128>>(r#"{"1":-9223372036854775809,"18446744073709551616":0}"#);
}

/// A little more or less than the middle between two of the smallest singles: the nearest double is that middle.
#[test]
fn the_smallest_single() {
    for (text, bits) in [
        ("7.0064923216240854e-46", 1),
        ("7.0064923216240853e-46", 0),
        ("-7.0064923216240854e-46", 1 | 1 << 31),
        ("1.17549428075736429172788299e-38", 0x7f_ffff),
        ("1e-45", 1),
        ("-1e-46", 1 << 31),
        ("0.0", 0),
    ] {
        assert_eq!(thalweg_json::from_str::<f32>(text).unwrap().to_bits(), bits, "{text}");
        assert_eq!(thalweg_json::read::<f32>(text.as_bytes()).unwrap().to_bits(), bits, "{text}");
        assert_eq!(serde_json::from_str::<f32>(text).unwrap().to_bits(), bits, "{text}");
        assert_eq!(text.parse::<f32>().unwrap().to_bits(), bits, "{text}");
    }
}

#[test]
fn texts_that_are_hardly_texts() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let objects = |levels: usize| format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels));
    let deep: Vec<String> = [126, 127, 128, 129].iter().flat_map(|&levels| [nested(levels), objects(levels)]).collect();
    let deep: Vec<&str> = deep.iter().map(String::as_str).collect();
    same::<serde_json::Value>(&deep);
    same::<serde::de::IgnoredAny>(&[]);
    same::<serde_json::Value>(&[
        "\u{feff}1",
        "1,",
        "[1,]",
        "{\"a\":1,}",
        "[,1]",
        "[1,,2]",
        "{,}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\",1}",
        "\"\\ud800\"",
        "\"\\ud800\\u0041\"",
        "\"\\udc00\"",
        "\"\\ud83d\\ude00\"",
        "\"\u{7f}\"",
        "\"\t\"",
        "'a'",
        "nan",
        "NaN",
        "Infinity",
        "-",
        "--1",
        "1 2",
        "[1 2]",
        "/**/1",
        "",
        " ",
        "\n\n\n x",
        "\"\\u00\"",
        "\"\\u00zz\"",
        "\"abc\n\"",
        "\u{a0}1",
        "[1]]",
        "{\"a\":1 \"b\":2}",
        "truefalse",
        "nulL",
        "\0",
        "1\0",
    ]);
    let mut ours = thalweg_json::Deserializer::from_str(deep[7]);
    ours.disable_recursion_limit();
    assert!(Value::deserialize(&mut ours).is_ok());
}

/// Values that follow each other, as far as they are right.
#[test]
fn streams_of_values() {
    for text in [
        "1 2 3",
        "1 2",
        "{}[]\"a\"1",
        "{} []\n\n",
        "1,2",
        "truefalse",
        "true false",
        "1\"a\"",
        "12x",
        "nul",
        "[1",
        "{}}",
        "1.5.5",
        "\"a\"1",
        "[]1[]",
        "null[]",
        " ",
        "",
        "1 x",
        "-",
        "1e",
        "\"a",
    ] {
        let mut ours = thalweg_json::Deserializer::from_str(text).into_iter::<serde_json::Value>();
        let mut theirs = serde_json::Deserializer::from_str(text).into_iter::<serde_json::Value>();
        let mut arriving = thalweg_json::Deserializer::from_reader(text.as_bytes()).into_iter::<serde_json::Value>();
        let mut has_failed = false;
        for _ in 0..6 {
            // behind an error ours has nothing more
            if has_failed {
                assert!(ours.next().is_none() && (text == "truefalse" || arriving.next().is_none()));
                break;
            }
            let expected = theirs.next().map(|value| value.map_err(|error| error.to_string()));
            assert_eq!(ours.next().map(|value| value.map_err(|error| error.to_string())), expected, "{text}");
            assert_eq!(ours.byte_offset(), theirs.byte_offset(), "{text}");
            has_failed = matches!(expected, Some(Err(_)));
            // From a reader the word comes first, and then the error (`arriving.rs`).
            if text == "truefalse" {
                continue;
            }
            let value = arriving.next().map(|value| value.map_err(drop));
            assert_eq!(value, expected.map(|value| value.map_err(drop)), "{text}");
        }
    }
}

/// What fails beneath is told, and what is interrupted is tried again.
#[test]
fn readers_and_writers_that_fail() {
    use std::io::{Error, ErrorKind, Read, Write};

    struct Failing<'a>(&'a [u8], u8);
    impl Read for Failing<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            self.1 += 1;
            match (self.1 % 2, self.0.is_empty()) {
                (1, _) => Err(ErrorKind::Interrupted.into()),
                (_, true) => Err(Error::new(ErrorKind::BrokenPipe, "no more")),
                (_, false) => self.0.read(&mut buffer[..1]),
            }
        }
    }
    for text in ["[1,2", "[1,2]", "\"ab", "12", " ", "{\"a\"", "tru"] {
        let ours = thalweg_json::from_reader::<_, serde_json::Value>(Failing(text.as_bytes(), 0)).unwrap_err();
        let theirs = serde_json::from_reader::<_, serde_json::Value>(Failing(text.as_bytes(), 0)).unwrap_err();
        // ours has no place: nothing has been looked at yet
        assert!(ours.is_io() && theirs.is_io() && theirs.to_string().starts_with(&ours.to_string()), "{text}");
        assert_eq!(ours.io_error_kind(), theirs.io_error_kind());
        assert_eq!(std::io::Error::from(ours).kind(), std::io::Error::from(theirs).kind());
        let mut ours = thalweg_json::Deserializer::from_reader(Failing(text.as_bytes(), 0));
        let value = serde_json::Value::deserialize(&mut ours).and_then(|value| ours.end().map(|()| value));
        assert!(value.unwrap_err().is_io(), "{text}");
    }

    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            if self.0 == 0 {
                return Err(Error::new(ErrorKind::StorageFull, "full"));
            }
            let taken = bytes.len().min(self.0);
            self.0 -= taken;
            Ok(taken)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let value = vec!["text"; 10_000];
    let length = serde_json::to_vec(&value).unwrap().len();
    for room in [0, 1, 100, length - 1] {
        let ours = thalweg_json::to_writer(Full(room), &value).unwrap_err();
        let theirs = serde_json::to_writer(Full(room), &value).unwrap_err();
        assert_eq!((ours.to_string(), ours.io_error_kind()), (theirs.to_string(), theirs.io_error_kind()));
        assert!(thalweg_json::to_writer_pretty(Full(room), &value).unwrap_err().is_io());
    }
    assert!(thalweg_json::to_writer(Full(length), &value).is_ok());
}

/// Parts of a text that are kept as they are, wherever they stand.
#[test]
fn raw_values_in_enums_and_structs() {
    use thalweg_json::value::RawValue;

    #[derive(Serialize, Deserialize, Debug)]
    struct Borrowing<'a> {
        #[serde(borrow)]
        part: &'a RawValue,
        list: Vec<Box<RawValue>>,
        map: BTreeMap<String, Box<RawValue>>,
        none: Option<Box<RawValue>>,
    }
    let text =
        r#"{"part": {"a" : [1.50, 1e1000, "\u0041"]} ,"list":[ 1E5 , -0],"map":{"x": null , "y":"é"},"none":null}"#;
    let value: Borrowing = thalweg_json::from_str(text).unwrap();
    assert_eq!(value.part.get(), r#"{"a" : [1.50, 1e1000, "\u0041"]}"#);
    assert!(text.as_bytes().as_ptr_range().contains(&value.part.get().as_ptr()));
    assert_eq!((value.list[0].get(), value.list[1].get(), value.map["x"].get()), ("1E5", "-0", "null"));
    let again = thalweg_json::to_string(&value).unwrap();
    assert_eq!(
        again,
        r#"{"part":{"a" : [1.50, 1e1000, "\u0041"]},"list":[1E5,-0],"map":{"x":null,"y":"é"},"none":null}"#
    );

    #[derive(Serialize, Deserialize, Debug)]
    enum Outside {
        Raw(Box<RawValue>),
    }
    let value: Outside = thalweg_json::from_str(r#"{"Raw": [ 1.0 ] }"#).unwrap();
    assert_eq!(thalweg_json::to_string(&value).unwrap(), r#"{"Raw":[ 1.0 ]}"#);
    for wrong in ["", "[", "1 2", "{\"a\"}", "\"\\x\"", "[1,]"] {
        assert!(thalweg_json::from_str::<&RawValue>(wrong).is_err(), "{wrong}");
        assert!(RawValue::from_string(wrong.to_owned()).is_err(), "{wrong}");
    }
    assert!(thalweg_json::from_slice::<&RawValue>(b"\"\xff\"").is_err());
    assert_eq!(RawValue::from_string(" [1] ".to_owned()).unwrap().get(), "[1]");
    let mut spare = String::with_capacity(64);
    spare.push_str("[1, 2]");
    // SAFETY: the text is one array, and nothing is around it.
    assert_eq!(unsafe { RawValue::from_string_unchecked(spare) }.get(), "[1, 2]");
}

/// Numbers stay as they are written, and go through everything that holds them.
#[test]
fn numbers_keep_their_text() {
    use thalweg_json::json;

    for text in [
        "1.0e300",
        "0.10",
        "-0",
        "1E5",
        "-0.0",
        "100000000000000000000",
        "1.50e-7",
        "18446744073709551615",
        "-9223372036854775808",
    ] {
        let document = format!("{{\"a\":[{text}]}}");
        let value: Value = thalweg_json::from_str(&document).unwrap();
        assert_eq!(value.to_string(), document);
        assert_eq!(thalweg_json::to_value(&value).unwrap(), value);
        assert_eq!(thalweg_json::from_value::<Value>(value.clone()).unwrap(), value);
        assert_eq!(thalweg_json::from_reader::<_, Value>(document.as_bytes()).unwrap(), value);
        assert_eq!(value.pointer("/a/0").unwrap().to_string(), text);
        assert_eq!(json!({"a": [value["a"][0]]}), value);
        let mut taken = value.clone();
        assert_eq!(taken["a"][0].take(), value["a"][0]);
        assert_eq!(taken.to_string(), "{\"a\":[null]}");
    }
}

/// Blanks without end, which are counted.
struct Endless<'a>(&'a [u8], usize);

impl std::io::Read for Endless<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let [first, ..] = into else { return Ok(0) };
        *first = self.0.get(self.1).copied().unwrap_or(b' ');
        self.1 += 1;
        assert!(self.1 < 1000, "it is read on behind {:?}", String::from_utf8_lossy(self.0));
        Ok(1)
    }
}

/// Whoever waits at a socket for more would wait for ever.
#[test]
fn nothing_is_read_on_behind_what_is_wrong() {
    for text in
        ["[x", "[1 2", "{1", "{\"a\" 1", "{\"a\":]", "[1,]", "[nul ", "[01", "{\"a\":1,}", "[1}", "[\"\\\"\\\\\" x"]
    {
        let mut reader = Endless(text.as_bytes(), 0);
        let mut ours = thalweg_json::Deserializer::from_reader(&mut reader);
        let error = Value::deserialize(&mut ours).unwrap_err();
        assert!(error.is_syntax(), "{text}: {error}");
    }
    let deep = format!("{}{}", "[".repeat(6000), "]".repeat(6000));
    let mut ours = thalweg_json::Deserializer::from_reader(deep.as_bytes());
    ours.disable_recursion_limit();
    std::thread::scope(|scope| {
        let read = move || serde::de::IgnoredAny::deserialize(&mut ours).map(drop);
        std::thread::Builder::new().stack_size(64 << 20).spawn_scoped(scope, read).unwrap().join().unwrap().unwrap();
    });
}

/// Members and numbers are read from as values are, and refuse what theirs refuse.
#[test]
fn members_and_numbers_are_deserializers() {
    #[derive(Deserialize, PartialEq, Debug)]
    struct Named {
        a: u8,
        b: Option<f64>,
    }
    #[derive(Deserialize, PartialEq, Debug)]
    enum Variants {
        A(u8),
        Unit,
    }
    #[track_caller]
    fn same<T: serde::de::DeserializeOwned + PartialEq + Debug>(text: &str) {
        let ours: thalweg_json::Map<String, Value> = thalweg_json::from_str(text).unwrap();
        let theirs: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text).unwrap();
        let expected = T::deserialize(&theirs).map_err(|error| error.to_string());
        assert_eq!(T::deserialize(&ours).map_err(|error| error.to_string()), expected, "{text}");
        assert_eq!(T::deserialize(ours).map_err(|error| error.to_string()), expected, "{text}");
    }
    for text in
        [r#"{"a":1,"b":2.5}"#, r#"{"a":1}"#, r#"{"a":"x"}"#, r#"{"A":1}"#, r#"{"A":1,"b":2}"#, r#"{"Unit":null}"#, "{}"]
    {
        same::<Named>(text);
        same::<Variants>(text);
        same::<BTreeMap<String, serde_json::Value>>(text);
        same::<Vec<u8>>(text);
        same::<serde::de::IgnoredAny>(text);
    }
    for text in ["1", "-1", "2.5", "300", "18446744073709551615"] {
        let (ours, theirs): (thalweg_json::Number, serde_json::Number) = (text.parse().unwrap(), text.parse().unwrap());
        let expected = u8::deserialize(&theirs).map_err(|error| error.to_string());
        assert_eq!(u8::deserialize(&ours).map_err(|error| error.to_string()), expected);
        assert_eq!(f64::deserialize(ours).ok(), f64::deserialize(theirs).ok());
    }
    assert_eq!([1, 2].serialize(thalweg_json::value::Serializer).unwrap(), thalweg_json::json!([1, 2]));
}

/// What no float is so large as is kept by a value, and by nothing else.
#[test]
fn numbers_beyond_all_floats_are_kept() {
    let text = r#"{"large":1e1000,"list":[-2.5E+999999999999]}"#;
    let value: Value = thalweg_json::from_str(text).unwrap();
    assert_eq!(value.to_string(), text);
    assert_eq!((value["large"].as_f64(), value["large"].is_number()), (None, true));
    assert_eq!("1e1000".parse::<thalweg_json::Number>().unwrap().to_string(), "1e1000");
    for wrong in ["1e1000 ", " 1e1000", "1e1000x", "1e", "-", ""] {
        assert!(wrong.parse::<thalweg_json::Number>().is_err(), "{wrong:?}");
    }
    let error = thalweg_json::from_value::<f64>(value["large"].clone()).unwrap_err();
    assert_eq!(error.to_string(), "number out of range: 1e1000");
    assert!(thalweg_json::from_str::<Vec<f64>>("[1e1000]").is_err());
}

/// By names in a text nobody is made to read a number or a text of JSON out of a string, which could be deeper than is read.
#[test]
fn names_of_serde_jsons_own_are_keys_in_a_text() {
    for text in [
        r#"{"$serde_json::private::Number":"1.50"}"#,
        r#"{"a":{"$serde_json::private::Number":"x"}}"#,
        r#"[{"$serde_json::private::RawValue":"[[[1"}]"#,
        r#"{"$serde_json::private::RawValue":[1],"b":2}"#,
    ] {
        let value: Value = thalweg_json::from_str(text).unwrap();
        assert_eq!(value.to_string(), text);
        assert_eq!(thalweg_json::read::<Value>(text.as_bytes()).unwrap(), value);
        assert_eq!(thalweg_json::from_value::<Value>(value.clone()).unwrap(), value);
        assert_eq!(thalweg_json::to_value(&value).unwrap(), value);
        assert_eq!(thalweg_json::from_reader::<_, Value>(text.as_bytes()).unwrap(), value);
    }
    assert!(thalweg_json::from_str::<thalweg_json::Number>(r#"{"$serde_json::private::Number":"1.5"}"#).is_err());
}

/// Numbers that are kept as their text are read from as the text is.
#[test]
fn numbers_with_their_text_are_deserializers() {
    for text in ["-0", "1.50", "12345678901234567890123", "-1e-400", "99999999999999999999999999999999999999999999"] {
        let number: thalweg_json::Number = text.parse().unwrap();
        let float: f64 = thalweg_json::from_str(text).unwrap();
        assert_eq!(f64::deserialize(&number).unwrap().to_bits(), float.to_bits(), "{text}");
        let value = Value::Number(number.clone());
        assert_eq!(thalweg_json::from_value::<Option<f64>>(value.clone()).unwrap(), Some(float), "{text}");
        assert_eq!(thalweg_json::Number::deserialize(&number).unwrap(), number, "{text}");
        assert_eq!(Value::deserialize(number).unwrap(), value, "{text}");
    }
}

/// What serde keeps until it knows the type cannot hold an integer of 128 bits: it is a float there, from a value as from its text.
#[test]
fn large_numbers_of_values_may_be_flattened_and_untagged() {
    #[derive(Debug, PartialEq, Deserialize)]
    struct Flat {
        #[serde(flatten)]
        rest: BTreeMap<String, Value>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(untagged)]
    enum Untagged {
        Flat(BTreeMap<String, f64>),
        Any(Value),
    }

    for number in ["918446744073709551615", "-918446744073709551615", "1234567890123456789012345678901234567890123"] {
        let text = format!("{{\"y\":{number}}}");
        let value: Value = thalweg_json::from_str(&text).unwrap();
        let float: f64 = number.parse().unwrap();
        let flat: Flat = thalweg_json::from_str(&text).unwrap();
        assert_eq!(flat.rest["y"].as_f64(), Some(float));
        assert_eq!(Flat::deserialize(&value).unwrap(), flat);
        assert_eq!(thalweg_json::from_value::<Flat>(value.clone()).unwrap(), flat);
        let untagged = Untagged::Flat(BTreeMap::from([("y".to_owned(), float)]));
        assert_eq!(thalweg_json::from_str::<Untagged>(&text).unwrap(), untagged);
        assert_eq!(thalweg_json::from_value::<Untagged>(value).unwrap(), untagged);
    }
    let wide: Value =
        thalweg_json::from_str("[340282366920938463463374607431768211455,-170141183460469231731687303715884105728]")
            .unwrap();
    assert_eq!(thalweg_json::from_value::<(u128, i128)>(wide).unwrap(), (u128::MAX, i128::MIN));
}
