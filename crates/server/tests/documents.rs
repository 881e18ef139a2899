//! Documents as PostgreSQL's own `json_to_recordset` reads them: what it accepts is written with the same values, what it
//! refuses is refused, however the body is cut.

use crate::served::{GRANTS, Served};
use proptest::prelude::*;
use proptest::test_runner::{Config as Cases, TestRunner};
use std::cell::{Cell, RefCell};
use thalweg_testkit::{Client, Database};

const COLUMNS: &str =
    "i int, n numeric, t text, b bool, f float8, d date, j json, jb jsonb, ta text[], ia int[], r int4range";
const NAMES: [&str; 12] = ["i", "n", "t", "b", "f", "d", "j", "jb", "ta", "ia", "r", "unknown"];

/// JSON text of any value, in which strings are escaped and blanks stand as one likes.
fn value() -> impl Strategy<Value = String> {
    let string = prop_oneof![
        "[ -!#-\\[\\]-~é😀\u{7f}]{0,8}",
        "(\\\\[\"\\\\/bfnrt]|\\\\u00(e9|0a|22|5c|09)|\\\\ud83d\\\\ude00|[a-z,{}\\[\\]\"]{0,0}|x){0,5}",
        Just("\\u0000".to_owned()),
        Just("\\ud83d".to_owned()),
        Just("\\ude00x".to_owned()),
        Just("2026-05-01".to_owned()),
        Just("[1,5)".to_owned()),
        Just("{1,2}".to_owned()),
        Just("NaN".to_owned()),
        Just("NULL".to_owned()),
        Just("\\\\N".to_owned()),
    ];
    let leaf = prop_oneof![
        3 => Just("null".to_owned()),
        2 => Just("true".to_owned()),
        2 => Just("false".to_owned()),
        6 => "-?(0|[1-9][0-9]{0,12})",
        3 => "-?(0|[1-9][0-9]{0,20})\\.[0-9]{1,25}",
        1 => "-?[1-9](\\.[0-9]{1,3})?[eE][+-]?[0-9]{1,3}",
        8 => string.prop_map(|text| format!("\"{text}\"")),
        // what is no JSON
        1 => prop_oneof![Just("tru".to_owned()), Just("01".to_owned()), Just("'x'".to_owned()), Just("\"\\x\"".to_owned()),
                         Just("+1".to_owned()), Just("1.".to_owned()), Just("\"\t\"".to_owned())],
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            (proptest::collection::vec(inner.clone(), 0..4), blanks())
                .prop_map(|(items, blank)| format!("[{blank}{}{blank}]", items.join(&format!("{blank},")))),
            (proptest::collection::vec(("[a-c]", inner), 0..3), blanks()).prop_map(|(members, blank)| {
                let members: Vec<String> =
                    members.iter().map(|(key, value)| format!("\"{key}\"{blank}:{value}")).collect();
                format!("{{{}{blank}}}", members.join(","))
            }),
        ]
    })
}

fn blanks() -> impl Strategy<Value = String> {
    prop_oneof![4 => Just(String::new()), 1 => "[ \n\r\t]{1,3}"]
}

/// A value that a column is likely to take.
fn fitting(name: &'static str) -> BoxedStrategy<String> {
    match name {
        "i" => "-?[1-9][0-9]{0,8}".boxed(),
        "n" => {
            prop_oneof!["-?[1-9][0-9]{0,30}\\.[0-9]{0,9}[0-9]", "\"[1-9]\\.[0-9]{1,30}\"", "[1-9]e[1-9][0-9]"].boxed()
        }
        "b" => prop_oneof![Just("true".to_owned()), Just("\"f\"".to_owned()), Just("\"yes\"".to_owned())].boxed(),
        "f" => prop_oneof!["-?[1-9]\\.[0-9]{1,17}e-?[1-9][0-9]", "\"(NaN|Infinity)\""].boxed(),
        "d" => "\"20[0-9]{2}-(0[1-9]|1[0-2])-[0-2]1\"".boxed(),
        "ia" => proptest::collection::vec(prop_oneof!["[1-9][0-9]{0,4}", "null", "\"7\""], 0..4)
            .prop_map(|items| format!("[{}]", items.join(", ")))
            .boxed(),
        "ta" => proptest::collection::vec(value(), 0..4).prop_map(|items| format!("[{}]", items.join(","))).boxed(),
        "r" => "\"\\[[1-4],[5-9]\\)\"".boxed(),
        _ => value().boxed(),
    }
}

fn row() -> impl Strategy<Value = String> {
    let member = (0..NAMES.len()).prop_flat_map(|at| {
        let name = NAMES[at];
        let value = prop_oneof![12 => fitting(name), 1 => value(), 2 => Just("null".to_owned())];
        (Just(name), value, blanks())
    });
    let object = proptest::collection::vec(member, 0..6).prop_map(|members| {
        let members: Vec<String> =
            members.iter().map(|(name, value, blank)| format!("{blank}\"{name}\"{blank}:{blank}{value}")).collect();
        format!("{{{}}}", members.join(","))
    });
    prop_oneof![40 => object, 1 => value()]
}

#[test]
fn documents_are_read_as_postgresql_reads_them() {
    let grants = "grant insert on all tables in schema api to test_reader;";
    let database = Database::new(&format!(
        "create schema api; create table api.copied ({COLUMNS});
         create type api.pair as (a int, b text);
         create table api.read ({COLUMNS}, pair api.pair); create table public.expected ({COLUMNS}); {GRANTS}{grants}"
    ));
    let served = Served::database(&database.uri());
    let client = RefCell::new(Client::connect(served.address));
    let strategy = (proptest::collection::vec(row(), 1..5), blanks(), 1usize..60);
    let mut cases = TestRunner::new(Cases { max_shrink_iters: 200, ..Cases::default() });
    let (accepted, refused) = (Cell::new(0), Cell::new(0));
    let outcome = cases.run(&strategy, |(rows, blank, piece)| {
        let body = format!("{blank}[{}{blank}]{blank}", rows.join(&format!("{blank},")));
        let tag = "$json_body$";
        database.execute("delete from public.expected; delete from api.copied; delete from api.read");
        let expected = database.try_execute(&format!(
            "insert into public.expected select * from json_to_recordset({tag}{body}{tag}) as x({COLUMNS})"
        ));
        let columns = NAMES[..11].join(",");
        for (table, more) in [("copied", ""), ("read", ",pair")] {
            let mut client = client.borrow_mut();
            client.send("POST", &format!("/{table}?columns={columns}{more}"), &[("Transfer-Encoding", "chunked")]);
            let mut framed = Vec::new();
            for chunk in body.as_bytes().chunks(piece) {
                framed.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                framed.extend_from_slice(chunk);
                framed.extend_from_slice(b"\r\n");
            }
            framed.extend_from_slice(b"0\r\n\r\n");
            client.send_bytes(&framed);
            let response = client.receive(false);
            prop_assert_eq!(response.status == 201, expected, "{} {}: {}", table, body, response.text());
            prop_assert!(expected || response.status == 400, "{}", response.text());
            let all = |table: &str| {
                format!("(select string_agg(x::text, ' ' order by x::text) from (select {columns} from {table}) x)")
            };
            let same = database.value(&format!(
                "select {} is not distinct from {}",
                all("public.expected"),
                all(&format!("api.{table}"))
            ));
            prop_assert_eq!(same, "t", "{} {}", table, body);
        }
        let counted = if expected { &accepted } else { &refused };
        counted.set(counted.get() + 1);
        Ok(())
    });
    outcome.unwrap();
    let (accepted, refused) = (accepted.get(), refused.get());
    assert!(accepted > 50 && refused > 50, "{accepted} accepted, {refused} refused");
}
