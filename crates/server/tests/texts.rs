//! Values that a body holds as texts, in CSV and in forms: they are stored as the input functions of their types read
//! them, however a statement writes them; and CSV that the API writes can be sent to it again.

use crate::served::{GRANTS, Served};
use thalweg_testkit::{Database, Response};

const WRITES: &str = "grant insert, update, delete on all tables in schema api to test_reader;";
const CSV: &str = "text/csv";
const FORM: &str = "application/x-www-form-urlencoded";
const MULTIPART: &str = "multipart/form-data; boundary=b";

/// A table with a column of every kind of type, and tables and a view that are written to in other ways.
const TYPES: &str = "
    create schema api;
    create domain api.document as jsonb check (jsonb_typeof(value) = 'object');
    create domain api.old_document as json;
    create type api.mood as enum ('sad', 'ok, happy');
    create type api.pair as (a int, b text);
    create table api.kinds (
      id int primary key, whole int, exact numeric, approximate float8, flag boolean, word text, short varchar(9),
      letters char(3), bytes bytea, day date, at timestamptz, duration interval, key uuid, address inet,
      plain json, doc jsonb default '\"by default\"', checked api.document, old api.old_document, scalar jsonb, string json,
      numbers int[], words text[], docs jsonb[], pair api.pair, mood api.mood, span int4range, bits bit(4));
    create table api.secured (like api.kinds including all);
    alter table api.secured enable row level security;
    create policy all_rows on api.secured using (true) with check (true);
    create view api.viewed as select * from api.kinds;
    create function api.parse(plain json, doc jsonb, checked api.document, word text) returns text stable language sql as
      $$ select jsonb_typeof(doc) || ' ' || json_typeof(plain) || ' ' || jsonb_typeof(checked) || ' ' || word $$;
";
/// The texts of a row, in the order of the table's columns.
const ROW: [&str; 27] = [
    "1",
    "-7",
    "1.50",
    "0.1",
    "t",
    "x,\"y\"\\n\nz",
    "NULL",
    "ab",
    "\\x00ff5c",
    "2026-05-17",
    "2026-05-17 10:00:00+02",
    "1 day 02:00:00",
    "0b9c7b0e-0000-4000-8000-0123456789ab",
    "192.0.2.1/24",
    "{\"a\": [1, \"two\"]}",
    "{\"a\":{\"b\":\"c \\u00e9 \\\" \"}}",
    "{\"is\":\"an object\"}",
    "[1,  2]",
    "1.50",
    "\"a \\\"string\\\"\"",
    "{1,NULL,3}",
    "{\"a b\",NULL,\"\\\\\"}",
    "{\"{\\\"a\\\": 1}\",\"2\"}",
    "(1,\"a b\")",
    "ok, happy",
    "[1,5)",
    "1010",
];

fn names(database: &Database, table: &str) -> Vec<String> {
    let names = format!(
        "select string_agg(attname, ' ' order by attnum) from pg_attribute where attrelid = 'api.{table}'::regclass and attnum > 0"
    );
    database.value(&names).split(' ').map(str::to_owned).collect()
}

fn csv_line<'a>(fields: impl Iterator<Item = &'a str>) -> String {
    fields.map(|field| format!("\"{}\"", field.replace('"', "\"\""))).collect::<Vec<_>>().join(",")
}

/// A body of one row in a media type.
fn body(media_type: &str, names: &[String], values: &[&str]) -> String {
    let pairs = || names.iter().zip(values);
    match media_type {
        CSV => format!("{}\r\n{}\r\n", names.join(","), csv_line(values.iter().copied())),
        FORM => {
            let encoded = |text: &str| text.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
            pairs().map(|(name, value)| format!("{name}={}", encoded(value))).collect::<Vec<_>>().join("&")
        }
        _ => {
            let part =
                |(name, value)| format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
            pairs().map(part).collect::<String>() + "--b--\r\n"
        }
    }
}

#[test]
fn a_text_is_stored_alike_in_every_way_of_writing() {
    let database = Database::new(&format!("{TYPES}{GRANTS}{WRITES}"));
    let served = Served::database(&database.uri());
    let names = names(&database, "kinds");
    let literals: Vec<String> = ROW.iter().map(|text| format!("'{}'", text.replace('\'', "''"))).collect();
    database.execute(&format!("insert into api.secured values ({})", literals.join(", ")));
    let expected = database.value("select secured::text from api.secured");
    assert_eq!(database.value("select jsonb_typeof(doc) || json_typeof(plain) from api.secured"), "objectobject");
    database.execute("delete from api.secured");
    let ways: [(&str, &str, &str, &str); 9] = [
        ("POST", "/kinds", "kinds", "return=minimal"),
        ("POST", "/kinds", "kinds", "return=representation"),
        ("POST", "/kinds", "kinds", "missing=default"),
        ("POST", "/kinds", "kinds", "resolution=merge-duplicates"),
        ("POST", "/secured", "secured", "return=minimal"),
        ("POST", "/viewed", "kinds", "return=minimal"),
        ("PATCH", "/kinds?id=eq.1", "kinds", "return=minimal"),
        ("PATCH", "/kinds?id=eq.1", "kinds", "missing=default"),
        ("PUT", "/kinds?id=eq.1", "kinds", "return=minimal"),
    ];
    for media_type in [CSV, FORM, MULTIPART] {
        for (method, target, table, preference) in ways {
            database.execute("truncate api.kinds, api.secured");
            if method == "PATCH" {
                database.execute("insert into api.kinds (id) values (1)");
            }
            let headers = [("Content-Type", media_type), ("Prefer", preference)];
            let response = served.send(method, target, &headers, body(media_type, &names, &ROW));
            let way = format!("{method} {target} {preference} {media_type}");
            assert!((200..300).contains(&response.status), "{way}: {} {}", response.status, response.text());
            assert_eq!(database.value(&format!("select {table}::text from api.{table}")), expected, "{way}");
        }
    }
}

#[test]
fn a_default_of_json_is_filled_in_beside_texts() {
    let database = Database::new(&format!("{TYPES}{GRANTS}{WRITES}"));
    let served = Served::database(&database.uri());
    let headers = [("Content-Type", CSV), ("Prefer", "missing=default")];
    let response = served.send("POST", "/kinds?columns=id,doc,plain", &headers, "id,plain\n1,\"{}\"\n2,\n");
    assert_eq!((response.status, response.text()), (201, ""));
    let stored = database
        .value("select string_agg(id || doc::text || coalesce(plain::text, '-'), ' ' order by id) from api.kinds");
    assert_eq!(stored, "1\"by default\"{} 2\"by default\"-");
}

#[test]
fn a_text_that_is_no_json_is_refused_in_every_way_of_writing() {
    let database = Database::new(&format!("{TYPES}{GRANTS}{WRITES}"));
    let served = Served::database(&database.uri());
    for (media_type, body) in [(CSV, "id,doc\n1,{oops"), (FORM, "id=1&doc={oops")] {
        for preference in ["return=minimal", "return=representation", "missing=default", "resolution=merge-duplicates"]
        {
            let headers = [("Content-Type", media_type), ("Prefer", preference)];
            let response = served.send("POST", "/kinds", &headers, body);
            assert_eq!(response.status, 400, "{media_type} {preference}: {}", response.text());
            assert_eq!(response.json()["code"], "22P02", "{media_type} {preference}: {}", response.text());
        }
    }
    assert_eq!(database.value("select count(*) from api.kinds"), "0");
}

#[test]
fn an_argument_of_json_is_a_document_in_csv_and_forms() {
    let database = Database::new(&format!("{TYPES}{GRANTS}{WRITES}"));
    let served = Served::database(&database.uri());
    let names: Vec<String> = ["plain", "doc", "checked", "word"].map(str::to_owned).into();
    for media_type in [CSV, FORM, MULTIPART] {
        let body = body(media_type, &names, &["[1]", "{\"a\":1}", "{}", "{\"a\":1}"]);
        let response = served.send("POST", "/rpc/parse", &[("Content-Type", media_type)], body);
        assert_eq!((response.status, response.text()), (200, "\"object array object {\\\"a\\\":1}\""), "{media_type}");
    }
}

/// Tables whose names and values have a meaning in CSV.
const HARD: &str = "
    create schema api;
    create table api.hard (\"n,o\" int primary key, \"say \"\"hi\"\"\" text, \"NULL\" text, \"a b\" bytea, \"(c)\" jsonb, é text[]);
    insert into api.hard values
      (1, '', 'NULL', '\\x5c5c00ff', '\"a \\\\ string\"', '{}'),
      (2, null, null, null, null, null),
      (3, 'back\\slash', 'null', '', 'null', '{NULL,\"\",\"NULL\",\"a,b\"}'),
      (4, E'line\\r\\nbreak', E'tab\\t', '\\x', '{\"a\": \"b\"}', '{\"\\\\\\\\\"}'),
      (5, '\"quoted\"', E'\\ufeffmark', '\\x22', '[]', null),
      (6, '\\.', ' blanks ', '\\x0a', '\"\"', '{\" \"}'),
      (7, E'\\r', E'\\n', '\\x2c', '{}', '{a}');
    create table api.hard_again (like api.hard including all);
    create table api.one (word text);
    insert into api.one values (null), (''), ('NULL'), ('a'), (E'\\n');
    create table api.one_again (like api.one);
    create table api.marked (\"\u{feff}id\" int);
    insert into api.marked values (1), (null);
    create table api.marked_again (like api.marked);
    create function api.scalar() returns text stable language sql as $$ select '' $$;
";

#[test]
fn csv_that_comes_out_goes_in_again_as_the_same_rows() {
    let database = Database::new(&format!("{HARD}{GRANTS}{WRITES}"));
    let served = Served::database(&database.uri());
    let get = |target: &str| served.request("GET", target, &[("Accept", CSV)]);
    for table in ["hard", "one", "marked"] {
        let count = database.value(&format!("select count(*) from api.{table}"));
        let sent = get(&format!("/{table}"));
        for preference in ["return=minimal", "return=representation", "missing=default"] {
            database.execute(&format!("truncate api.{table}_again"));
            let headers = [("Content-Type", CSV), ("Accept", CSV), ("Prefer", preference)];
            let stored: Response = served.send("POST", &format!("/{table}_again"), &headers, &sent.body);
            assert_eq!(stored.status, 201, "{table} {preference}: {}\n{}", stored.text(), sent.text());
            // Rows are compared as texts, since `json` has no equality.
            let equal = format!(
                "select count(*) from (select t::text from api.{table} t intersect all select t::text from api.{table}_again t) equal"
            );
            assert_eq!(database.value(&equal), count, "{table} {preference}\n{}", sent.text());
            assert_eq!(database.value(&format!("select count(*) from api.{table}_again")), count);
            if preference == "return=representation" {
                assert_eq!(stored.text(), sent.text());
            }
        }
    }
}

#[test]
fn csv_is_that_of_rfc_4180() {
    let database = Database::new(&format!("{HARD}{GRANTS}{WRITES}"));
    let served = Served::database(&database.uri());
    let text = |target: &str| served.request("GET", target, &[("Accept", CSV)]).text().to_owned();
    let header = "\"n,o\",\"say \"\"hi\"\"\",\"NULL\",\"a b\",\"(c)\",é";
    assert_eq!(
        text("/hard?order=\"n,o\"&\"n,o\"=lt.4"),
        format!(
            "{header}\n1,\"\",\"NULL\",\"\\x5c5c00ff\",\"\"\"a \\\\ string\"\"\",{{}}\n2,,,,,\n\
             3,\"back\\slash\",null,\"\\x\",null,\"{{NULL,\"\"\"\",\"\"NULL\"\",\"\"a,b\"\"}}\""
        )
    );
    assert_eq!(text("/hard?\"n,o\"=eq.99"), header, "no rows are a header");
    assert_eq!(text("/one?word=is.null"), "word\nNULL", "no record is a blank line");
    assert_eq!(text("/rpc/scalar"), "pgrst_scalar\n\"\"");
    let none = served.send("POST", "/hard", &[("Content-Type", CSV)], header);
    assert_eq!((none.status, none.text()), (201, ""));
}
