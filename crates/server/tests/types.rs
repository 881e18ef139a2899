//! Every built-in type, alone and inside others, as PostgreSQL's own `to_json` writes it.

use crate::served::{GRANTS, Served};
use std::fmt::Write;
use thalweg_testkit::Database;

/// A type and values of it, extremes included.
const TYPES: &[(&str, &[&str])] = &[
    ("boolean", &["true", "false"]),
    ("smallint", &["-32768", "32767", "0"]),
    ("integer", &["-2147483648", "2147483647", "0"]),
    ("bigint", &["-9223372036854775808", "9223372036854775807", "9007199254740993"]),
    ("oid", &["0", "4294967295"]),
    (
        "real",
        &[
            "0",
            "-0",
            "1.1",
            "123456",
            "1234567",
            "1e-5",
            "0.0001",
            "3.4028235e38",
            "1e-45",
            "NaN",
            "Infinity",
            "-Infinity",
        ],
    ),
    (
        "double precision",
        &[
            "0",
            "-0",
            "0.1",
            "1e14",
            "1e15",
            "1e16",
            "123456789012345.67",
            "0.0001",
            "0.00001",
            "1e-300",
            "5e-324",
            "1.7976931348623157e308",
            "2.5",
            "NaN",
            "Infinity",
            "-Infinity",
            "9007199254740993",
            "100",
        ],
    ),
    (
        "numeric",
        &[
            "0",
            "0.00",
            "1.10",
            "-1",
            "10000",
            "100000000",
            "0.0001",
            "0.00001",
            "0.00000000000001",
            "12345678.000100000",
            "-99999999999999999999999999999.99999",
            "1e100",
            "1e-100",
            "NaN",
            "Infinity",
            "-Infinity",
        ],
    ),
    ("numeric(10,3)", &["1.5", "-0.001"]),
    (
        "text",
        &[
            "",
            "plain",
            "quote\" backslash\\ slash/ tab\t line\n return\r \u{1}\u{1f}\u{7f}\u{8}\u{c}",
            "é 𝄞 日本",
            "null",
        ],
    ),
    ("varchar(20)", &["x", "  spaces  "]),
    ("char(5)", &["ab", ""]),
    ("\"char\"", &["x", ""]),
    ("name", &["some_name"]),
    ("bytea", &["", "\\xdeadbeef", "\\x00"]),
    ("uuid", &["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"]),
    (
        "date",
        &[
            "2026-01-02",
            "0001-01-01",
            "0001-12-31 BC",
            "4714-11-24 BC",
            "5874897-12-31",
            "infinity",
            "-infinity",
            "2000-02-29",
            "1900-03-01",
            "9999-12-31",
            "10000-01-01",
        ],
    ),
    ("time", &["00:00:00", "24:00:00", "10:11:12.5", "23:59:59.999999"]),
    ("timetz", &["10:11:12+02", "10:11:12.000001-05:30", "00:00:00+00", "01:02:03+15:59:59"]),
    (
        "timestamp",
        &[
            "2026-01-02 03:04:05",
            "2026-01-02 03:04:05.000001",
            "2026-01-02 03:04:05.999999",
            "1999-12-31 23:59:59.5",
            "4714-11-24 00:00:00 BC",
            "294276-12-31 23:59:59.999999",
            "infinity",
            "-infinity",
            "0044-03-15 12:00:00 BC",
        ],
    ),
    (
        "timestamptz",
        &[
            "2026-01-02 03:04:05+00",
            "2026-07-02 03:04:05.120000+00",
            "1850-01-01 00:00:00+00",
            "1969-12-31 23:59:59.999999+00",
            "2007-03-11 06:59:59+00",
            "2007-03-11 07:00:00+00",
            "2007-11-04 05:59:59+00",
            "2007-11-04 06:00:00+00",
            "1945-08-14 23:00:00+00",
            "2500-07-01 00:00:00+00",
            "9999-12-31 23:59:59+00",
            "12026-07-01 00:00:00+00",
            "294276-12-30 00:00:00+00",
            "0044-03-15 12:00:00+00 BC",
            "4713-01-01 00:00:00+00 BC",
            "infinity",
            "-infinity",
        ],
    ),
    (
        "interval",
        &[
            "0",
            "1 day 02:03:04",
            "-1 day",
            "1 year 2 mons -3 days 04:05:06.789",
            "-1 year -2 mons +3 days -04:05:06",
            "1 mon",
            "-00:00:01",
            "00:00:00.000001",
            "1 year -1 day 00:00:01",
            "178000000 years",
            "999999:59:59.5",
            "-13 mons",
        ],
    ),
    ("json", &["{\"a\": 1, \"a\": 2}", "[1, 2]", "null", "\"x\"", "1e5"]),
    ("jsonb", &["{\"b\": 1, \"a\": [true, null]}", "null", "1.50", "\"x\""]),
    ("inet", &["192.168.0.1", "::1/64"]),
    ("cidr", &["10.0.0.0/8"]),
    ("macaddr", &["08:00:2b:01:02:03"]),
    ("bit(3)", &["101"]),
    ("bit varying", &["10110"]),
    ("money", &["12.34"]),
    ("point", &["(1,2.5)"]),
    ("box", &["(1,1),(0,0)"]),
    ("xml", &["<a b=\"c\">d</a>"]),
    ("tsvector", &["'a':1 'b':2"]),
    ("tsquery", &["'a' & 'b'"]),
    ("int4range", &["[1,5)", "empty", "(,3]"]),
    ("tstzrange", &["[2026-01-01 00:00:00+00,2026-02-01 00:00:00+00)"]),
    ("numrange", &["[1.10,2)"]),
    ("int4multirange", &["{[1,3),[5,7)}"]),
    ("regclass", &["pg_class"]),
    ("pg_lsn", &["16/B374D848"]),
    ("macaddr8", &["08:00:2b:01:02:03:04:05"]),
    ("line", &["{1,2,3}"]),
    ("lseg", &["[(1,2),(3,4)]"]),
    ("path", &["((1,2),(3,4))", "[(1,2)]"]),
    ("polygon", &["((0,0),(1,1),(2,0))"]),
    ("circle", &["<(1,2),3>"]),
    ("int8range", &["[1,9223372036854775807)"]),
    ("daterange", &["[2026-01-01,2026-02-01)", "[,infinity]"]),
    ("tsrange", &["[2026-01-01 00:00:00,)"]),
    ("int8multirange", &["{}", "{[1,2)}"]),
    ("nummultirange", &["{[1.10,2]}"]),
    ("datemultirange", &["{[2026-01-01,2026-01-02)}"]),
    ("tsmultirange", &["{[2026-01-01 00:00:00,2026-01-02 00:00:00)}"]),
    ("tstzmultirange", &["{[2026-01-01 00:00:00+00,2026-01-02 00:00:00+00)}"]),
    ("jsonpath", &["$.a[*] ? (@ > 1)"]),
    ("regproc", &["now"]),
    ("regtype", &["integer"]),
    ("regnamespace", &["api"]),
    ("xid8", &["18446744073709551615"]),
    ("tid", &["(1,2)"]),
    ("pg_snapshot", &["10:20:10,14"]),
    ("int2vector", &["1 2 3"]),
    ("oidvector", &["1 2 3"]),
    ("refcursor", &["a \"cursor\""]),
    ("api.moodrange", &["[sad,happy)", "empty"]),
    ("api.spans", &["{\"[1,3)\",empty,NULL}"]),
    ("api.mood", &["sad", "so \"so\"", "happy"]),
    ("api.pair", &["(1,\"a \"\" b\")", "(,)", "(-5,)"]),
    ("api.nested", &["(\"{1,2}\",\"(3,x)\",\"2026-01-02 03:04:05+00\")", "(,,)"]),
    ("api.email", &["a@b.example"]),
    ("api.grades", &["{1,2,3}", "{}"]),
    ("integer[]", &["{}", "{1,NULL,3}", "{{1,2},{3,4}}", "[0:1]={7,8}", "[-1:0][2:3]={{1,2},{3,4}}"]),
    ("text[]", &["{a,\"b c\",NULL,\"\\\"\"}", "{\"\"}"]),
    ("timestamptz[]", &["{2026-01-02 03:04:05+00,infinity}"]),
    ("numeric[]", &["{1.10,NaN}"]),
    ("api.pair[]", &["{\"(1,a)\",\"(2,b)\",NULL}"]),
    ("jsonb[]", &["{\"{\\\"a\\\": 1}\"}"]),
];

const PREPARE: &str = "
    create schema api;
    create type api.mood as enum ('sad', 'so \"so\"', 'happy');
    create type api.pair as (a int, \"b\"\"c\" text);
    create type api.nested as (list int[], pair api.pair, at timestamptz);
    create domain api.email as text check (value like '%@%');
    create domain api.grades as int[];
    create domain api.spans as int4range[];
    create type api.moodrange as range (subtype = api.mood);
    create table api.parents (id int primary key);
    insert into api.parents values (1);
";

/// All types, with the values that are too long to be written out.
fn types() -> Vec<(String, Vec<String>)> {
    let mut types: Vec<(String, Vec<String>)> = TYPES
        .iter()
        .map(|(name, values)| (name.to_string(), values.iter().map(|value| value.to_string()).collect()))
        .collect();
    let digits = "1234567890".repeat(100);
    let every_character: String = ('\u{1}'..'\u{500}').chain(['\u{ffff}', '\u{10000}', '\u{10ffff}']).collect();
    types.push((
        "numeric".into(),
        vec![digits.clone(), format!("-{digits}.{digits}"), format!("0.{}1", "0".repeat(999))],
    ));
    types.push(("text".into(), vec![every_character, "\"\\".repeat(5000), "x".repeat(100_000)]));
    types
}

/// A table for each type: the value alone, in an array, in a composite type, in a domain; and a row to embed it.
fn schema() -> String {
    let mut script = PREPARE.to_owned();
    for (at, (name, values)) in types().iter().enumerate() {
        // an array of arrays is an array of more dimensions
        let is_array = name.ends_with("[]") || name == "api.grades" || name == "api.spans";
        let array = if is_array { "text".to_owned() } else { format!("{name}[]") };
        let _ = write!(
            script,
            "create type api.c{at} as (\"the value\" {name}, n int);
             create domain api.d{at} as {name};
             create table api.t{at} (id int primary key, parent_id int default 1 references api.parents, v {name},
               a {array}, c api.c{at}, d api.d{at});\n"
        );
        for (id, value) in (1..).zip(values) {
            let literal = format!("'{}'", value.replace('\'', "''"));
            let list = if is_array { "null".to_owned() } else { format!("array[{literal}::{name}, null]") };
            let _ = writeln!(
                script,
                "insert into api.t{at} values ({id}, 1, {literal}, {list}, row({literal}::{name}, 7), {literal});"
            );
        }
        let _ = writeln!(script, "insert into api.t{at} values (0);");
    }
    script + GRANTS
}

/// Each value's JSON text out of an array of objects with one key, as they stand in the body.
fn compare(zone: &str) {
    let database = Database::new(&format!("set xmloption = content; {}", schema()));
    database.execute(&format!("alter database {} set timezone = '{zone}'", database.name()));
    let served = Served::database(&database.uri());
    for (at, (name, values)) in types().iter().enumerate() {
        for column in ["v", "a", "c", "d"] {
            let expected = database.query(&format!("select to_json({column}) from api.t{at} order by id"));
            let expected: Vec<&str> = expected.iter().map(|row| row[0].as_deref().unwrap_or("null")).collect();
            assert_eq!(expected.len(), values.len() + 1);
            // as columns of the result
            let rows: Vec<String> = expected.iter().map(|value| format!("{{\"{column}\":{value}}}")).collect();
            let response = served.get(&format!("/t{at}?select={column}&order=id"));
            assert_eq!(response.text(), format!("[{}]", rows.join(",\n")), "{name}, {column}, {zone}");
            // inside rows
            let embedded = served.get(&format!("/parents?select=t{at}({column})&t{at}.order=id"));
            let rows = format!("[{{\"t{at}\":[{}]}}]", rows.join(","));
            assert_eq!(embedded.text(), rows, "{name}, {column} embedded, {zone}");
        }
    }
}

#[test]
fn types_are_written_as_to_json_does_in_utc() {
    compare("UTC");
}

#[test]
fn types_are_written_as_to_json_does_where_clocks_change() {
    compare("America/New_York");
}

#[test]
fn types_are_written_as_to_json_does_in_zones_without_a_name() {
    compare("<+0530>-05:30");
}

/// Settings that change how values are written are PostgreSQL's to follow.
#[test]
fn settings_of_the_database_are_followed() {
    let database = Database::new(&format!(
        "create schema api; create table api.t as select '1 day 02:03:04'::interval as i, '\\x00ff'::bytea as b,
           0.1::float8 + 0.2::float8 as f, '2026-01-02 03:04:05+00'::timestamptz as z; {GRANTS}"
    ));
    for setting in
        ["intervalstyle = 'iso_8601'", "bytea_output = 'escape'", "extra_float_digits = 0", "datestyle = 'German, DMY'"]
    {
        database.execute(&format!("alter database {} set {setting}", database.name()));
    }
    let expected = database.value("select row_to_json(t) from api.t");
    let served = Served::database(&database.uri());
    assert_eq!(served.get("/t").text(), format!("[{expected}]"));
}

#[test]
fn a_timezone_preference_is_followed() {
    let database = Database::new(&format!(
        "create schema api; create table api.t as select '2026-07-02 03:04:05+00'::timestamptz as z; {GRANTS}"
    ));
    let served = Served::database(&database.uri());
    let response = served.request("GET", "/t", &[("Prefer", "timezone=Europe/Berlin")]);
    assert_eq!(response.text(), r#"[{"z":"2026-07-02T05:04:05+02:00"}]"#);
    assert_eq!(response.header("preference-applied"), Some("timezone=Europe/Berlin"));
    assert_eq!(served.get("/t").text(), r#"[{"z":"2026-07-02T03:04:05+00:00"}]"#);
    let invalid = served.request("GET", "/t", &[("Prefer", "timezone=Nowhere/Land")]);
    assert_eq!((invalid.status, invalid.json()["code"].as_str()), (400, Some("22023")));
}
