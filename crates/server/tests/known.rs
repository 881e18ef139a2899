//! Reads that differ in the values of their filters only are planned once: each must be answered as if it came for the first
//! time.

use crate::served::{GRANTS, ROLE, Served, config, eventually};
use thalweg_server::Config;
use thalweg_testkit::{Database, Response};

const SCHEMA: &str = "
    create schema api;
    create table api.parents (id int primary key, name text);
    create table api.t (id int primary key, parent_id int references api.parents, name text, tags text[], data jsonb, d date);
    insert into api.parents values (1, 'one'), (2, 'two'), (3, null);
    insert into api.t select i, i % 3 + 1, (array['', 'null', 'a*b', 'a%b', '1', 'x,y', '(z)', '\"q\"', E'l\\n', 'é'])[i % 10 + 1],
        array['t' || i % 4], jsonb_build_object('k', i % 5), date '2026-01-01' + i from generate_series(1, 60) i;
    create view api.v as select id, name from api.t;
";

/// What is asked with each value in the place of `$`; with each request comes a header.
const TARGETS: [&str; 18] = [
    "/t?id=eq.$",
    "/t?id=not.gt.$&select=id&order=id",
    "/t?name=eq.$&select=id,name&order=id.desc&limit=3",
    "/t?name=eq.$&name=neq.$&select=id",
    "/t?name=neq.$&id=lt.$&select=id&order=id",
    "/t?name=like.$&select=id,name&order=id",
    "/t?name=not.ilike.$&select=id&order=id",
    "/t?name=isdistinct.$&select=id&order=id&offset=2",
    "/t?name=in.($)&select=id&order=id",
    "/t?or=(name.eq.$,id.eq.1)&select=id&order=id",
    "/t?tags=cs.{$}&select=id&order=id",
    "/t?data->>k=eq.$&select=id&order=id",
    "/t?select=id,parents!inner(name)&parents.name=eq.$&order=id",
    "/t?select=id,parents(name)&parents.name=neq.$&order=id&parents=not.is.null",
    "/parents?select=*,t(id,name)&t.name=eq.$&t.order=id&order=id",
    "/parents?select=*,t!inner(id)&t.name=gte.$&t.order=id&order=id",
    "/t?name=fts.$&select=id&order=id",
    "/v?name=eq.$&select=id&order=id",
];

const VALUES: [&str; 14] =
    ["1", "5", "one", "two", "", "null", "a*b", "a%25b", "x,y", "%C3%A9", "'", "$1", "not.eq.1", "9999999999999999999"];

const HEADERS: [&[(&str, &str)]; 6] = [
    &[],
    &[("prefer", "count=exact")],
    &[("range", "1-2")],
    &[("accept", "application/vnd.pgrst.object+json")],
    &[("accept", "text/csv")],
    &[("prefer", "handling=strict, timezone=Asia/Tokyo")],
];

fn essence(response: &Response) -> (u16, Vec<(String, String)>, String) {
    let varies = |name: &str| matches!(name, "date" | "server-timing");
    let headers = response.headers.iter().filter(|(name, _)| !varies(name)).cloned();
    (response.status, headers.collect(), response.text().to_owned())
}

#[test]
fn a_read_that_is_known_is_answered_as_one_that_is_not() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let served = Served::database(&database.uri());
    let mut unknown = 0;
    for headers in HEADERS {
        for target in TARGETS {
            for value in VALUES {
                let target = target.replace('$', value);
                for method in ["GET", "HEAD"] {
                    // a media type that comes last and is never chosen makes it another read each time
                    unknown += 1;
                    let accept = headers.iter().find(|(name, _)| *name == "accept").map_or("*/*", |(_, accept)| accept);
                    let accept = format!("{accept}, never/{unknown}");
                    let mut others: Vec<(&str, &str)> =
                        headers.iter().copied().filter(|(name, _)| *name != "accept").collect();
                    others.push(("accept", &accept));
                    let as_new = served.request(method, &target, &others);
                    let as_known = served.request(method, &target, headers);
                    assert_eq!(essence(&as_new), essence(&as_known), "{method} {target} {headers:?}");
                }
            }
        }
    }
}

#[test]
fn a_known_read_follows_the_schema() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let served = Served::database(&database.uri());
    let row = |value: u32| served.get(&format!("/t?id=eq.{value}&select=*")).text().to_owned();
    for value in 1..5 {
        assert!(row(value).contains("tags"));
    }
    database.execute("alter table api.t drop column tags; alter table api.t add column more int default 7; notify pgrst, 'reload schema'");
    eventually("the new column is read", || row(3).contains("\"more\":7"));
    for value in 1..5 {
        assert!(row(value).contains("\"more\":7") && !row(value).contains("tags"), "{}", row(value));
    }
    database.execute("alter table api.t alter more type text using 'x' || more; notify pgrst, 'reload schema'");
    eventually("the new type is read", || row(3).contains("\"more\":\"x7\""));
    database.execute(&format!("revoke select on api.t from {ROLE}"));
    assert_eq!(served.get("/t?id=eq.1&select=*").status, 401);
    database.execute("drop table api.t cascade; notify pgrst, 'reload schema'");
    eventually("the table is gone", || served.get("/t?id=eq.1&select=*").status == 404);
}

#[test]
fn a_known_read_keeps_its_bounds() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let served = Served::start(Config { db_max_rows: Some(2), ..config(&database.uri()) });
    for value in ["1", "5", "70", "1"] {
        let response = served.get(&format!("/t?id=gte.{value}&order=id"));
        let rows = response.text().matches("\"id\"").count();
        assert_eq!(rows, if value == "70" { 0 } else { 2 }, "{value}: {}", response.text());
        assert_eq!(response.header("warning").is_some(), rows == 2, "{value}");
    }
    // as long as a head may be
    let long = "x".repeat(60_000);
    for _ in 0..4 {
        assert_eq!(served.get(&format!("/t?name=eq.{long}")).text(), "[]");
    }
}
