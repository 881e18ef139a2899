//! Requests whose statements nobody will ask for again: a backend pays a hundred bytes for each byte of a prepared text.

use crate::served::{GRANTS, Served, config};
use serde_json::{Value, json};
use thalweg_server::Config;
use thalweg_testkit::{Client, Database};

const STATEMENTS_MAX: u64 = 256;
const TEXTS_BYTES_MAX: u64 = 512 * 1024;
const TEXT_BYTES_MAX: u64 = 16 * 1024;
/// What a backend takes at most for that, what it takes at rest, and for the text that it runs.
const BACKEND_BYTES_MAX: u64 = 100 << 20;

const SCHEMA: &str = "
    create schema api;
    create table api.t (id int primary key, n int);
    insert into api.t select i, i from generate_series(1, 5) i;
    create view api.broken as select id, n, 1 / (n - n) as x from api.t;
    create view api.slow as select id, n, pg_sleep(60)::text as x from api.t;
    create function api.held() returns json language sql as $$
      select json_build_object('count', count(*), 'bytes', coalesce(sum(length(statement)), 0),
        'longest', coalesce(max(length(statement)), 0),
        'memory', (select sum(total_bytes) from pg_get_backend_memory_contexts())) from pg_prepared_statements $$;
";
const MORE_GRANTS: &str = "
    grant insert, update, delete on api.t to test_reader;
    grant execute on function pg_get_backend_memory_contexts to test_reader;
";

/// As many distinct conditions as there are numbers, all of them true of every row.
fn distinct(at: usize) -> String {
    let condition = |bit: usize| if at >> bit & 1 == 1 { "n=gte.0" } else { "n=neq.100" };
    (0..10).map(condition).collect::<Vec<_>>().join("&")
}

fn aliases(count: usize) -> String {
    (0..count).map(|at| format!("a{at}:n")).collect::<Vec<_>>().join(",")
}

fn filters(count: usize) -> String {
    (0..count).map(|at| format!("n=neq.{}", at + 1000)).collect::<Vec<_>>().join("&")
}

/// What the one session that serves holds.
fn assert_bounded(client: &mut Client, what: &str) -> Value {
    let held = client.request("GET", "/rpc/held", &[]).json();
    for (key, most) in [
        ("count", STATEMENTS_MAX),
        ("bytes", TEXTS_BYTES_MAX),
        ("longest", TEXT_BYTES_MAX),
        ("memory", BACKEND_BYTES_MAX),
    ] {
        assert!(held[key].as_u64().unwrap() <= most, "{what}: {held}");
    }
    held
}

/// A thousand of these left a thousand prepared statements, and 300 of 60 KB made one backend 2.1 GB.
#[test]
fn what_a_backend_holds_is_bounded() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}{MORE_GRANTS}"));
    let served = Served::start(Config { db_pool: 1, ..config(&database.uri()) });
    let mut client = Client::connect(served.address);
    let exact = [("Prefer", "count=exact")];
    for at in 0..1000 {
        let failed = client.request("GET", &format!("/broken?select=x&{}", distinct(at)), &exact);
        assert_eq!(failed.json()["code"], "22012");
        if at % 100 == 0 {
            assert_bounded(&mut client, "failing requests");
        }
    }
    assert_eq!(assert_bounded(&mut client, "failing requests")["count"], STATEMENTS_MAX);
    for at in 0..60 {
        let wide = format!("/t?select={}&{}", aliases(1600), distinct(at));
        // the seventh time, PostgreSQL keeps a plan as well
        for _ in 0..if at < 40 { 7 } else { 1 } {
            assert_eq!(client.request("GET", &wide, &[]).status, 200);
        }
        let fails = format!("/broken?select=x,{}&{}", aliases(1600), distinct(at));
        assert_eq!(client.request("GET", &fails, &exact).status, 400);
        let long = format!("/t?select=n&{}", filters(2000 + at));
        assert_eq!(client.request("GET", &long, &exact).status, 200);
        let long_fails = format!("/broken?select=x&{}", filters(2000 + at));
        assert_eq!(client.request("GET", &long_fails, &exact).status, 400);
    }
    let held = assert_bounded(&mut client, "long texts");
    assert!(held["bytes"].as_u64().unwrap() > TEXTS_BYTES_MAX / 2, "they are kept as long as there is room: {held}");
    for at in 0..40 {
        let mut leaving = Client::connect(served.address);
        leaving.send("GET", &format!("/slow?select=x&{}", distinct(at)), &exact);
        if at % 2 == 0 {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        drop(leaving);
    }
    assert_bounded(&mut client, "clients that leave");
}

/// What is too long to be kept is run under no name, and that must not be seen in what it does.
#[test]
fn long_statements_do_what_short_ones_do() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}{MORE_GRANTS} drop view api.broken, api.slow;"));
    let served = Served::start(Config { db_pool: 1, db_channel_enabled: false, ..config(&database.uri()) });
    let rows = || database.value("select string_agg(id::text || '=' || n, ' ' order by id) from api.t");
    let representation = ("Prefer", "return=representation");
    let singular = ("Accept", "application/vnd.pgrst.object+json");
    let filters = filters(1000);
    for (round, of_type) in ["int", "bigint", "text"].into_iter().enumerate() {
        // the schema cache is told of no change: nothing wrong is given out, and nothing written twice
        database.execute(&format!("alter table api.t alter n type {of_type} using n::{of_type}"));
        let value = |n: usize| if of_type == "text" { json!(n.to_string()) } else { json!(n) };
        let read = served.get(&format!("/t?select=id,n&id=eq.1&{filters}"));
        assert_eq!((read.status, read.json()), (200, json!([{"id": 1, "n": value(1)}])), "{of_type}");
        let id = 10 * (round + 1);
        let target = format!("/t?select=id,n,{}", aliases(1600).replace(":n", ":n::text"));
        let created = served.send("POST", &target, &[representation], format!("{{\"id\":{id},\"n\":7}}"));
        let created = (created.status, created.json());
        assert_eq!((created.0, &created.1[0]["n"], &created.1[0]["a1599"]), (201, &value(7), &json!("7")), "{of_type}");
        // one row is to be changed, which is seen before the transaction ends
        let one = format!("/t?select=id,n&id=eq.{id}&{filters}");
        let changed = served.send("PATCH", &one, &[representation, singular], r#"{"n":8}"#);
        assert_eq!((changed.status, changed.json()), (200, json!({"id": id, "n": value(8)})), "{of_type}");
        let many = format!("/t?select=id,n&id=lte.{id}&{filters}");
        let refused = served.send("PATCH", &many, &[representation, singular], r#"{"n":9}"#);
        assert_eq!(refused.status, 406, "{of_type}: {}", refused.text());
        let limited = ("Prefer", "return=representation, handling=strict, max-affected=2");
        let refused = served.send("PATCH", &many, &[limited], r#"{"n":9}"#);
        assert_eq!(refused.status, 400, "{of_type}: {}", refused.text());
        let deleted = served.request("DELETE", &one, &[representation]);
        assert_eq!((deleted.status, deleted.json()), (200, json!([{"id": id, "n": value(8)}])), "{of_type}");
        assert_eq!(rows(), "1=1 2=2 3=3 4=4 5=5", "{of_type}");
    }
}
