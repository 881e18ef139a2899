//! What serde's attributes mean where they meet each other: for each document, the same value by our derives and by serde's, or both a refusal.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use thalweg_json::{FromJson, FromMembers, ToJson, ToMembers, read, write};

#[track_caller]
fn same<T: DeserializeOwned + for<'de> FromJson<'de> + PartialEq + Debug>(documents: &[&str]) {
    let differences: Vec<String> = documents
        .iter()
        .filter_map(|document| {
            let ours = read::<T>(document.as_bytes()).map_err(|error| error.to_string());
            let theirs = serde_json::from_str::<T>(document).map_err(|error| error.to_string());
            match (&ours, &theirs) {
                (Ok(ours), Ok(theirs)) if ours == theirs => None,
                (Err(_), Err(_)) => None,
                _ => Some(format!("{document}: ours {ours:?}, theirs {theirs:?}")),
            }
        })
        .collect();
    assert!(differences.is_empty(), "{differences:#?}");
}

#[track_caller]
fn written<T: Serialize + ToJson>(values: impl IntoIterator<Item = T>) {
    for value in values {
        let mut ours = Vec::new();
        write(&value, &mut ours);
        assert_eq!(String::from_utf8(ours).unwrap(), serde_json::to_string(&value).unwrap());
    }
}

#[derive(Serialize, Deserialize, ToJson, FromJson, ToMembers, FromMembers, PartialEq, Debug, Clone)]
struct Two {
    a: i32,
    b: i32,
}

#[derive(Serialize, Deserialize, ToJson, FromJson, ToMembers, FromMembers, PartialEq, Debug, Clone)]
#[serde(deny_unknown_fields)]
struct Strict {
    a: i32,
}

#[derive(Serialize, Deserialize, ToJson, FromJson, ToMembers, FromMembers, PartialEq, Debug, Clone)]
struct Optional {
    a: Option<i32>,
}

#[test]
fn the_tag_belongs_to_the_enum_alone() {
    #[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
    #[serde(tag = "kind")]
    enum Tagged {
        Map(BTreeMap<String, i32>),
        Boxed(Box<Two>),
        Strict(Strict),
        Optional(Option<Optional>),
        Named { a: i32 },
        Unit,
    }
    same::<Tagged>(&[
        r#"{"kind":"Map","a":1}"#,
        r#"{"a":1,"kind":"Map","b":2}"#,
        r#"{"a":1,"b":2,"kind":"Map"}"#,
        r#"{"a":1,"kind":"Map","b":"2"}"#,
        r#"{"kind":"Boxed","a":1,"b":2}"#,
        r#"{"kind":"Boxed","a":1}"#,
        r#"{"kind":"Strict","a":1}"#,
        r#"{"a":1,"kind":"Strict"}"#,
        r#"{"kind":"Strict","a":1,"x":1}"#,
        r#"{"kind":"Optional","a":1}"#,
        r#"{"kind":"Named","a":1,"x":2}"#,
        r#"{"kind":"Unit","a":1}"#,
        r#"{"kind":"Un\u0069t"}"#,
        r#"{"k\u0069nd":"Unit"}"#,
        r#"{"kind":null}"#,
        r#"{"kind":"None"}"#,
        r#"{"kind":"Map","a":1"#,
        r#"{}"#,
        r#""Unit""#,
    ]);
    written([
        Tagged::Map(BTreeMap::from([("a".to_owned(), 1)])),
        Tagged::Boxed(Box::new(Two { a: 1, b: 2 })),
        Tagged::Strict(Strict { a: 1 }),
        Tagged::Named { a: 1 },
        Tagged::Unit,
    ]);
}

#[test]
fn a_tag_and_content_can_be_all_there_is() {
    #[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
    #[serde(tag = "t", content = "c", deny_unknown_fields)]
    enum Denying {
        A,
        B(Two),
        C { x: Option<u8> },
        D(u8, u8),
    }
    #[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
    #[serde(tag = "t", content = "c")]
    enum Lenient {
        A,
        B(Two),
        C {
            x: Option<u8>,
        },
        D(u8, u8),
        E(Option<u8>),
        #[serde(other)]
        Other,
    }
    let documents = [
        r#"{"t":"A"}"#,
        r#"{"t":"A","c":null}"#,
        r#"{"t":"A","c":{}}"#,
        r#"{"t":"A","x":1}"#,
        r#"{"x":[],"t":"A"}"#,
        r#"{"c":{"a":1,"b":2},"t":"B"}"#,
        r#"{"c":{"a":1,"b":2,"c":3},"t":"B"}"#,
        r#"{"t":"B"}"#,
        r#"{"t":"C","c":{}}"#,
        r#"{"t":"C","c":{"y":1}}"#,
        r#"{"t":"C","c":{"x":1},"x":1}"#,
        r#"{"t":"D","c":[1,2]}"#,
        r#"{"t":"D","c":[1]}"#,
        r#"{"t":"D","c":[1,2,3]}"#,
        r#"{"t":"D","t":"D","c":[1,2]}"#,
        r#"{"c":[1,2],"c":[1,2],"t":"D"}"#,
        r#"{"t":"E"}"#,
        r#"{"t":"E","c":null}"#,
        r#"{"t":"X"}"#,
        r#"{"t":"X","c":1}"#,
        r#"{"t":1}"#,
        r#"{"c":1}"#,
        r#"{}"#,
    ];
    same::<Denying>(&documents);
    same::<Lenient>(&documents);
}

#[test]
fn what_is_flattened_may_be_absent() {
    #[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
    struct Outer {
        id: u8,
        #[serde(flatten)]
        two: Option<Two>,
    }
    same::<Outer>(&[
        r#"{"id":1}"#,
        r#"{"id":1,"a":1}"#,
        r#"{"id":1,"a":1,"b":2}"#,
        r#"{"id":1,"a":"x","b":2}"#,
        r#"{"a":[1,{"b":null}],"id":1,"b":2}"#,
        r#"{"id":1,"a":1,"b":2,"c":3}"#,
        r#"{"id":1,"a":tru}"#,
        r#"{"id":1,"a":1,"a":2,"b":1}"#,
    ]);
    #[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
    struct AllOptional {
        #[serde(flatten)]
        optional: Option<Optional>,
    }
    same::<AllOptional>(&[r#"{}"#, r#"{"a":1}"#, r#"{"a":null}"#, r#"{"a":"x"}"#, r#"{"b":1}"#]);
    #[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
    struct Rest {
        #[serde(flatten)]
        two: Two,
        #[serde(flatten)]
        rest: HashMap<String, Option<u8>>,
    }
    same::<Rest>(&[
        r#"{"a":1,"b":2}"#,
        r#"{"a":1,"b":2,"c":3,"d":null}"#,
        r#"{"x":1,"a":1,"b":2,"x":2}"#,
        r#"{"a":1,"b":2,"c":300}"#,
        r#"{"c":1,"b":2}"#,
    ]);
    written([Rest { two: Two { a: 1, b: 2 }, rest: HashMap::from([("x".to_owned(), None)]) }]);
    #[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
    struct Unflattened {
        #[serde(flatten)]
        strict: Strict,
        c: Option<u8>,
    }
    same::<Unflattened>(&[r#"{"a":1}"#, r#"{"a":1,"c":2}"#, r#"{"a":1,"d":2}"#, r#"{"c":2}"#]);
}

#[test]
fn names_may_be_anything() {
    #[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug, Default)]
    #[serde(default)]
    #[allow(non_snake_case)]
    struct Odd {
        #[serde(rename = "")]
        empty: Option<u8>,
        #[serde(rename = "\"\\\n\u{1}/")]
        escaped: Option<u8>,
        #[serde(rename = "é🚀")]
        wide: Option<u8>,
        r#type: Option<u8>,
        r#fn: Option<u8>,
        #[serde(rename = "0123456789012345678901234567890123456789012345678901234567890123456789")]
        long: Option<u8>,
        #[serde(rename = "0123456789012345678901234567890123456789012345x78901234567890123456789")]
        similar: Option<u8>,
        parser: Option<u8>,
        key: Option<u8>,
        number: Option<u8>,
        is_open: Option<u8>,
        out: Option<u8>,
        default: Option<u8>,
        is_first: Option<u8>,
        name: Option<u8>,
        value: Option<u8>,
        members: Option<u8>,
        content: Option<u8>,
        text: Option<u8>,
        field_0: Option<u8>,
        SLOTS: Option<u8>,
    }
    let all = Odd {
        empty: Some(1),
        escaped: Some(2),
        wide: Some(3),
        r#type: Some(4),
        r#fn: Some(5),
        long: Some(6),
        similar: Some(7),
        parser: Some(8),
        key: Some(9),
        number: Some(10),
        is_open: Some(11),
        out: Some(12),
        default: Some(13),
        is_first: Some(14),
        name: Some(15),
        value: Some(16),
        members: Some(17),
        content: Some(18),
        text: Some(19),
        field_0: Some(20),
        SLOTS: Some(21),
    };
    let text = serde_json::to_string(&all).unwrap();
    let mut members: Vec<&str> = text[1..text.len() - 1].split(',').collect();
    members.reverse();
    let reversed = format!("{{{}}}", members.join(" , "));
    let escaped = text.replace("é🚀", "\\u00e9\\ud83d\\ude80").replace("\"out\"", "\"\\u006fut\"").replace("/", "\\/");
    same::<Odd>(&[&text, &reversed, &escaped, r#"{"":1,"":2}"#, r#"{"x":1,"ou":2,"outs":3,"é":4}"#]);
    assert_eq!(read::<Odd>(reversed.as_bytes()).unwrap(), all);
    assert_eq!(read::<Odd>(escaped.as_bytes()).unwrap(), all);
    written([all]);
}

/// Functions of the user's that are called as what derived code has for itself.
mod functions {
    use thalweg_json::{Parser, Result, Writer};

    pub fn parser(parser: &mut Parser<'_>) -> Result<u8> {
        Ok(parser.unsigned("u8")? as u8 + 1)
    }
    pub fn out<'o>(value: &u8, out: Writer<'o>) -> Writer<'o> {
        out.integer(*value - 1)
    }
    pub fn is_first(value: &u8) -> bool {
        *value == 7
    }
    pub fn default() -> u8 {
        1
    }
    pub fn number() -> u8 {
        2
    }
    pub fn name() -> u8 {
        3
    }
    pub fn key() -> u8 {
        4
    }
    pub fn is_open() -> u8 {
        5
    }
    pub fn value() -> u8 {
        6
    }
}

#[test]
fn functions_may_be_called_as_locals_are() {
    use functions::*;

    #[derive(ToJson, FromJson, PartialEq, Debug, Default)]
    #[json(default)]
    struct Defaulted {
        #[json(from_json_with = "parser", to_json_with = "out", skip_serializing_if = "is_first")]
        a: u8,
        #[json(default = "default")]
        b: u8,
        #[json(default = "number")]
        c: u8,
        #[json(default = "is_open")]
        d: u8,
        #[json(default = "value", skip_serializing_if = "is_first")]
        e: u8,
    }
    let value = read::<Defaulted>(br#"{"a":4}"#).unwrap();
    assert_eq!(value, Defaulted { a: 5, b: 1, c: 2, d: 5, e: 6 });
    let mut text = Vec::new();
    write(&value, &mut text);
    assert_eq!(text, br#"{"a":4,"b":1,"c":2,"d":5,"e":6}"#);

    #[derive(ToJson, FromJson, PartialEq, Debug)]
    #[json(tag = "t", content = "c")]
    enum Beside {
        A {
            #[json(default = "name")]
            a: u8,
            #[json(default = "key")]
            b: u8,
        },
    }
    assert_eq!(read::<Beside>(br#"{"t":"A","c":{}}"#).unwrap(), Beside::A { a: 3, b: 4 });
}

#[test]
fn types_may_have_parameters_of_any_name() {
    #[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
    struct Borrowing<'o, 'json, T, const N: usize>
    where
        T: Clone,
        [u8; N]: Sized,
    {
        #[serde(borrow)]
        a: Cow<'o, str>,
        b: &'json str,
        c: Vec<T>,
        #[serde(skip)]
        d: std::marker::PhantomData<[u8; N]>,
    }
    let text = r#"{"a":"1","b":"2","c":[3]}"#;
    let value: Borrowing<'_, '_, u8, 3> = read(text.as_bytes()).unwrap();
    assert_eq!(value, serde_json::from_str(text).unwrap());
    written([value]);

    /// Nothing of the parameter is read or written.
    #[derive(PartialEq, Debug)]
    struct Opaque;
    #[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
    struct Marked<T> {
        id: u8,
        #[serde(skip)]
        marker: std::marker::PhantomData<T>,
    }
    let value: Marked<Opaque> = read(br#"{"id":1}"#).unwrap();
    assert_eq!(value, serde_json::from_str(r#"{"id":1}"#).unwrap());
    written([value]);

    #[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
    struct Defaulted<T> {
        #[serde(default)]
        value: T,
    }
    assert_eq!(read::<Defaulted<u8>>(b"{}").unwrap(), Defaulted { value: 0 });

    #[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
    enum Tree<T> {
        Leaf(T),
        Nodes(Vec<Tree<T>>),
        Boxed { left: Box<Tree<T>>, right: Option<Box<Tree<T>>> },
    }
    same::<Tree<u8>>(&[
        r#"{"Leaf":1}"#,
        r#"{"Nodes":[{"Leaf":1},{"Boxed":{"left":{"Leaf":2},"right":null}}]}"#,
        r#"{"Boxed":{"right":{"Leaf":2},"left":{"Nodes":[]}}}"#,
        r#"{"Leaf":1,"Nodes":[]}"#,
        r#"{"Leaf":1,}"#,
        r#"{"Leaf"}"#,
        r#"{"Leaf":}"#,
        r#""Leaf""#,
        r#"{}"#,
    ]);
}

#[test]
fn names_of_the_prelude_may_stand_for_something_else() {
    #[allow(dead_code)]
    mod shadowed {
        use thalweg_json::{FromJson, FromMembers, ToJson, ToMembers};

        struct Ok;
        struct Err;
        struct Some;
        struct None;
        type Result = ();
        type Option = ();
        type String = ();
        type Vec = ();
        trait Default {}

        #[derive(ToJson, FromJson, ToMembers, FromMembers, PartialEq, Debug)]
        #[json(deny_unknown_fields)]
        pub struct Struct {
            pub a: u8,
            #[json(default)]
            pub b: u8,
        }
        #[derive(ToJson, FromJson, PartialEq, Debug)]
        #[json(untagged)]
        pub enum Untagged {
            Unit,
            Tuple(u8, u8),
            Struct(Struct),
        }
        #[derive(ToJson, FromJson, PartialEq, Debug)]
        pub enum Outside {
            Unit,
            Tuple(u8, #[json(default)] u8),
            Struct { a: u8 },
        }
        #[derive(ToJson, FromJson, PartialEq, Debug)]
        #[json(tag = "t", content = "c")]
        pub enum Beside {
            Unit,
            Newtype(u8),
        }
    }
    assert_eq!(read::<shadowed::Untagged>(b"[1,2]").unwrap(), shadowed::Untagged::Tuple(1, 2));
    assert_eq!(read::<shadowed::Outside>(br#"{"Tuple":[1]}"#).unwrap(), shadowed::Outside::Tuple(1, 0));
    assert!(read::<shadowed::Beside>(br#"{"t":"Newtype"}"#).is_err());
    assert!(read::<shadowed::Struct>(br#"{"a":1,"c":2}"#).is_err());
}

#[test]
fn structs_may_have_no_fields_or_many() {
    #[derive(Serialize, Deserialize, ToJson, FromJson, ToMembers, FromMembers, PartialEq, Debug)]
    struct Empty {}
    #[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
    #[serde(deny_unknown_fields)]
    struct EmptyDenying {}
    #[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
    struct EmptyTuple();
    #[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
    enum Never {}
    let documents = [r#"{}"#, r#"{"a":1}"#, r#"{"a":}"#, r#"null"#, r#"1"#, r#""a""#];
    same::<Empty>(&documents);
    same::<EmptyDenying>(&documents);
    same::<EmptyTuple>(&[r#"[]"#, r#"[1]"#, r#"null"#]);
    same::<Never>(&documents);
    written([Empty {}]);
    written([EmptyTuple()]);

    macro_rules! many {
        ($($name:ident)*) => {
            #[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug, Default)]
            struct Many { $($name: u16),* }
        };
    }
    many! {
        a0 a1 a2 a3 a4 a5 a6 a7 a8 a9 b0 b1 b2 b3 b4 b5 b6 b7 b8 b9 c0 c1 c2 c3 c4 c5 c6 c7 c8 c9 d0 d1 d2 d3 d4 d5 d6 d7 d8 d9
        e0 e1 e2 e3 e4 e5 e6 e7 e8 e9 f0 f1 f2 f3 f4 f5 f6 f7 f8 f9 g0 g1 g2 g3 g4 g5 g6 g7 g8 g9 h0 h1 h2 h3 h4 h5 h6 h7 h8 h9
        i0 i1 i2 i3 i4 i5 i6 i7 i8 i9 j0 j1 j2 j3 j4 j5 j6 j7 j8 j9 k0 k1 k2 k3 k4 k5 k6 k7 k8 k9 l0 l1 l2 l3 l4 l5 l6 l7 l8 l9
        m0 m1 m2 m3 m4 m5 m6 m7 m8 m9 n0 n1 n2 n3 n4 n5 n6 n7 n8 n9 o0 o1 o2 o3 o4 o5 o6 o7 o8 o9 p0 p1 p2 p3 p4 p5 p6 p7 p8 p9
        q0 q1 q2 q3 q4 q5 q6 q7 q8 q9 r0 r1 r2 r3 r4 r5 r6 r7 r8 r9 s0 s1 s2 s3 s4 s5 s6 s7 s8 s9 t0 t1 t2 t3 t4 t5 t6 t7 t8 t9
    }
    let mut value: serde_json::Value = serde_json::to_value(Many::default()).unwrap();
    for (number, (_, member)) in value.as_object_mut().unwrap().iter_mut().enumerate() {
        *member = number.into();
    }
    let text = value.to_string();
    let mut members: Vec<&str> = text[1..text.len() - 1].split(',').collect();
    members.reverse();
    let reversed = format!("{{{}}}", members.join(","));
    same::<Many>(&[&text, &reversed, &reversed.replace("\"a0\"", "\"a00\""), &reversed.replace("\"a0\"", "\"t9\"")]);
    written([serde_json::from_str::<Many>(&text).unwrap()]);

    // the first eight bytes, the last eight and the length are those of the others
    #[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
    struct Colliding {
        #[serde(rename = "first eight 1 last eight")]
        a: u8,
        #[serde(rename = "first eight 2 last eight")]
        b: u8,
        #[serde(rename = "first eight 3 last eight")]
        c: u8,
        #[serde(rename = "first eight 4 last eight")]
        d: u8,
    }
    let text = r#"{"first eight 4 last eight":4,"first eight 3 last eight":3,"first eight 5 last eight":5,"first eight 2 last eight":2,"first eight 1 last eight":1}"#;
    same::<Colliding>(&[text]);
}

#[test]
fn enums_may_stand_in_each_other() {
    #[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
    enum Outside {
        Unit,
        Newtype(Box<Untagged>),
        Tuple(u8, Beside),
        Struct { inner: Option<Box<Inside>> },
    }
    #[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
    #[serde(tag = "kind")]
    enum Inside {
        Unit,
        Two(Two),
        Struct { beside: Beside, outside: Box<Outside> },
    }
    #[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
    #[serde(tag = "t", content = "c")]
    enum Beside {
        Unit,
        Newtype(u8),
        Tuple(u8, Box<Outside>),
        Struct { untagged: Untagged },
    }
    #[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
    #[serde(untagged)]
    enum Untagged {
        Unit,
        Number(i64),
        Large(u64),
        Beside(Box<Beside>),
        Inside(Box<Inside>),
        Outside(Box<Outside>),
        Tuple(u8, Box<Untagged>),
        Struct { name: String },
    }
    let documents = [
        r#""Unit""#,
        r#"null"#,
        r#"{"Unit":null}"#,
        r#"{"Newtype":null}"#,
        r#"{"Newtype":18446744073709551615}"#,
        r#"{"Newtype":{"Newtype":{"t":"Newtype","c":1}}}"#,
        r#"{"Newtype":{"c":[1,"Unit"],"t":"Tuple"}}"#,
        r#"{"Newtype":{"c":{"untagged":[1,[2,{"name":"x"}]]},"t":"Struct"}}"#,
        r#"{"Tuple":[1,{"t":"Unit"}]}"#,
        r#"{"Tuple":[1,{"t":"Struct","c":{"untagged":{"kind":"Two","b":1,"a":2}}}]}"#,
        r#"{"Struct":{}}"#,
        r#"{"Struct":{"inner":{"beside":{"t":"Unit"},"outside":"Unit","kind":"Struct"}}}"#,
        r#"{"Struct":{"inner":{"kind":"Struct","outside":{"Tuple":[2,{"t":"Newtype","c":3}]},"beside":{"t":"Unit","c":null}}}}"#,
        r#"{"kind":"Unit"}"#,
        r#"[1,{"Newtype":[2,null]}]"#,
        r#"{"name":"x"}"#,
    ];
    same::<Outside>(&documents);
    same::<Untagged>(&documents);
    same::<Inside>(&documents);
    same::<Beside>(&documents);
}
