//! Values of filters: those of ranges, and of domains with functions that read them.

use crate::served::{GRANTS, Served};
use thalweg_testkit::Database;

fn served(schema: &str) -> (Database, Served) {
    let database = Database::new(&format!("create schema api; {schema} {GRANTS}"));
    let served = Served::database(&database.uri());
    (database, served)
}

/// Returns the keys of the rows that a filter finds.
fn found(served: &Served, filter: &str) -> String {
    let response = served.get(&format!("/t?select=id&order=id&{filter}"));
    assert_eq!(response.status, 200, "{filter}: {}", response.text());
    let ids: Vec<String> = response.json().as_array().unwrap().iter().map(|row| row["id"].to_string()).collect();
    ids.join(" ")
}

#[test]
fn a_range_contains_a_range_or_a_value() {
    let (_database, served) = served(
        "create type api.spell as range (subtype = text);
         create domain api.days as daterange;
         create table api.t (id int primary key, whole int4range, exact numrange, at tstzrange, days api.days, words api.spell,
           several int4multirange);
         insert into api.t values
           (1, '[1,5)', '[1.5,2.5]', '[2026-01-01 00:00+00,2026-02-01 00:00+00)', '[2026-01-01,2026-02-01)', '[b,d]', '{[1,3),[7,9)}'),
           (2, '[5,9)', 'empty', 'empty', 'empty', 'empty', '{}'),
           (3, null, null, null, null, null, null);",
    );
    for (filter, ids) in [
        ("whole=cs.2", "1"),
        ("whole=cs.5", "2"),
        ("whole=cs.[2,3)", "1"),
        ("whole=cs.[0,3)", ""),
        ("whole=cs.empty", "1 2"),
        ("whole=not.cs.2", "2"),
        ("exact=cs.2.5", "1"),
        ("at=cs.2026-01-31T23:00:00Z", "1"),
        ("at=cs.2026-02-01", ""),
        ("days=cs.2026-01-31", "1"),
        ("words=cs.c", "1"),
        ("several=cs.8", "1"),
        ("several=cs.3", ""),
        ("several=cs.{[7,8)}", "1"),
        ("several=cs.[1,2]", "1"),
        ("several=cs.[2,8]", ""),
        // The statement of a range is not used for a value, and the other way round.
        ("whole=cs.[2,3)", "1"),
        ("whole=cs.[2,4)", "1"),
        ("whole=cs.2", "1"),
        ("whole=cs.3", "1"),
        ("or=(whole.cs.2,whole.cs.8)", "1 2"),
    ] {
        assert_eq!(found(&served, filter), ids, "{filter}");
    }
    for (filter, code) in [("whole=cs.x", "22P02"), ("whole=cs.", "22P02"), ("days=cs.tomorrow-ish", "22007")] {
        let response = served.get(&format!("/t?{filter}"));
        assert_eq!((response.status, response.json()["code"].as_str()), (400, Some(code)), "{filter}");
    }
}

#[test]
fn every_filter_with_values_reads_them_by_the_function_of_the_domain() {
    let (_database, served) = served(
        "create domain api.colour as int;
         create function api.colour(text) returns api.colour immutable language sql as
           $$ select ('x' || lpad(substr($1, 2), 8, '0'))::bit(32)::int $$;
         create cast (text as api.colour) with function api.colour(text) as implicit;
         create table api.t (id int primary key, colour api.colour);
         insert into api.t values (1, 255), (2, 256), (3, null);",
    );
    for (filter, ids) in [
        ("colour=eq.%23ff", "1"),
        ("colour=in.(%23ff,%23100)", "1 2"),
        ("colour=eq(any).{%23ff,%23100}", "1 2"),
        ("colour=gte(all).{%23ff,%23100}", "2"),
        ("colour=not.eq(any).{%23ff}", "2"),
        ("colour=isdistinct.%23ff", "2 3"),
        ("colour=not.isdistinct.%23ff", "1"),
        ("colour=isdistinct.null", "1 2"),
    ] {
        assert_eq!(found(&served, filter), ids, "{filter}");
    }
}
