//! Reads while the schema changes under them, again and again.
//!
//! There are 600 reads, or as many as `THALWEG_READS_UNDER_DDL` says.

use crate::served::{GRANTS, Served, config};
use serde_json::Value;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use thalweg_server::Config;
use thalweg_testkit::{Client, Database};

const ROWS: usize = 50;

/// A request, and what it answers under each of the schemas that there are.
fn reads() -> Vec<(&'static str, Vec<Value>)> {
    let list = |row: &dyn Fn(usize) -> String| format!("[{}]", (1..=ROWS).map(row).collect::<Vec<_>>().join(","));
    // the number of the column's row by ten, as the type of the moment shows it
    let values: [fn(usize) -> String; 3] =
        [|i| format!("{}", i * 10), |i| format!("\"{}\"", i * 10), |i| format!("[{}]", i * 10)];
    let of_t = |row: &dyn Fn(usize, String) -> String| values.map(|value| list(&|i| row(i, value(i)))).to_vec();
    let seen: [&dyn Fn(usize) -> String; 3] =
        [&|i| format!("{{\"id\":{i},\"a\":{i}}}"), &|i| format!("{{\"id\":{i},\"a\":\"v{i}\"}}"), &|i| {
            format!("{{\"id\":{i},\"a\":{i}.5,\"b\":true}}")
        }];
    let reads = vec![
        ("/t?select=id,x&order=id", of_t(&|i, x| format!("{{\"id\":{i},\"x\":{x}}}"))),
        ("/parents?select=id,t(x)&order=id", of_t(&|i, x| format!("{{\"id\":{i},\"t\":[{{\"x\":{x}}}]}}"))),
        ("/t?select=x,parents(id)&order=id", of_t(&|i, x| format!("{{\"x\":{x},\"parents\":{{\"id\":{i}}}}}"))),
        ("/v?order=id", seen.map(list).to_vec()),
        ("/rpc/all_of_t?select=x&order=id", of_t(&|_, x| format!("{{\"x\":{x}}}"))),
        // the place of a column that comes and goes is never another's
        (
            "/t?select=id,came,last&order=id&limit=1",
            vec![r#"[{"id":1,"came":1,"last":"l"}]"#.to_owned(), r#"[{"id":1,"came":"c","last":"l"}]"#.to_owned()],
        ),
    ];
    // A table that is written anew looks empty to a snapshot that is older than that: so PostgreSQL has it ("Caveats" in its
    // chapter on concurrency control).
    let none = list(&|i| format!("{{\"id\":{i},\"t\":[]}}"));
    let parsed = |answers: Vec<String>| {
        let all = answers.iter().chain([&none]).map(String::as_str).chain(["[]"]);
        all.map(|answer| serde_json::from_str(answer).unwrap()).collect()
    };
    reads.into_iter().map(|(target, answers)| (target, parsed(answers))).collect()
}

const CHANGES: [&str; 9] = [
    "alter table api.t alter x type text using (x ->> 0)",
    "drop view api.v; create view api.v as select id, 'v' || id as a from api.t; grant select on api.v to test_reader",
    "alter table api.t add column came int default 1",
    "alter table api.t alter x type int using x::int",
    "alter table api.t drop column came",
    "drop view api.v; create view api.v as select id, id + 0.5 as a, true as b from api.t; grant select on api.v to test_reader",
    "alter table api.t add column came text default 'c'",
    "alter table api.t alter x type json using json_build_array(x)",
    // the view's lock first, as its readers have it: else one of the two is a deadlock's victim now and then
    "drop view api.v; alter table api.t drop column came;
     create view api.v as select id, id as a from api.t; grant select on api.v to test_reader",
];

/// Every answer is right for one of the schemas, or an error; none is a mixture, or torn.
#[test]
fn reads_under_changes_are_never_wrong() {
    let wanted = std::env::var("THALWEG_READS_UNDER_DDL").ok().and_then(|count| count.parse().ok()).unwrap_or(600);
    let database = Database::new(&format!(
        "create schema api;
         create table api.parents (id int primary key);
         create table api.t (id int primary key, x json, parent_id int references api.parents, last text default 'l');
         insert into api.parents select i from generate_series(1, {ROWS}) i;
         insert into api.t select i, json_build_array(i * 10), i from generate_series(1, {ROWS}) i;
         create view api.v as select id, id as a from api.t;
         create function api.all_of_t() returns setof api.t language sql stable as 'select * from api.t';
         {GRANTS}"
    ));
    // loads that are not told of, and loads that are
    for notifies in [false, true] {
        let served = Served::start(Config { db_channel_enabled: notifies, ..config(&database.uri()) });
        let (asked, right, refused, changes, done) = (
            AtomicUsize::new(0),
            AtomicUsize::new(0),
            AtomicUsize::new(0),
            AtomicUsize::new(0),
            AtomicBool::new(false),
        );
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // ends with the schema that it began with
                while !done.load(Ordering::SeqCst) {
                    for change in CHANGES {
                        let notify = if notifies { "; notify pgrst" } else { "" };
                        database.execute(&format!("begin; {change}{notify}; commit"));
                        changes.fetch_add(1, Ordering::SeqCst);
                        std::thread::sleep(std::time::Duration::from_millis(50));
                    }
                }
            });
            let readers: Vec<_> = (0..4)
                .map(|reader| {
                    let (served, asked, right, refused) = (&served, &asked, &right, &refused);
                    scope.spawn(move || {
                        let reads = reads();
                        let mut client = Client::connect(served.address);
                        while asked.fetch_add(1, Ordering::SeqCst) < wanted / 2 {
                            let (target, answers) = &reads[(asked.load(Ordering::SeqCst) + reader) % reads.len()];
                            let response = client.request("GET", target, &[]);
                            if response.status == 200 && response.whole {
                                let answered = response.json();
                                assert!(answers.contains(&answered), "{target}: {answered}");
                                right.fetch_add(1, Ordering::SeqCst);
                            } else if response.whole {
                                assert!(response.json()["code"].is_string(), "{target}: {}", response.text());
                                refused.fetch_add(1, Ordering::SeqCst);
                            } else {
                                client = Client::connect(served.address);
                            }
                        }
                    })
                })
                .collect();
            let ended: Vec<_> = readers.into_iter().map(|reader| reader.join()).collect();
            done.store(true, Ordering::SeqCst);
            ended.into_iter().for_each(|ended| ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        });
        let (right, refused, changes) = (right.into_inner(), refused.into_inner(), changes.into_inner());
        println!("notified: {notifies}; {right} answers, {refused} errors, {changes} changes");
        assert!(right > wanted / 8 && changes > 5, "{right} answers, {refused} errors, {changes} changes");
    }
}

/// What made `{"x":a7}`: PostgreSQL does not notice that the rows of a function that it has put in its call's place are no longer
/// those for which the statement was prepared.
#[test]
fn a_function_whose_rows_have_changed_is_asked_again() {
    for (before, change, after) in [
        ("int using 7", "text using 'a' || x", r#"[{"x":"a7"}]"#),
        ("text using '7'", "json using to_json(x)", r#"[{"x":"7"}]"#),
        ("json using '[7]'", "text using x", r#"[{"x":"[7]"}]"#),
        ("int using 7", "numeric using x + 0.50", r#"[{"x":7.50}]"#),
        ("boolean using true", "text using x", r#"[{"x":"true"}]"#),
    ] {
        let function = |name: &str, how: &str| format!("create function api.{name}() returns setof api.t {how};");
        let database = Database::new(&format!(
            "create schema api; create table api.t (id int primary key, x text); insert into api.t values (1);
             alter table api.t alter x type {before};{}{}{}{GRANTS}",
            function("inlined", "language sql stable as 'select * from api.t'"),
            function("volatile", "language sql as 'select * from api.t'"),
            function("opaque", "language plpgsql stable as 'begin return query select * from api.t; end'"),
        ));
        let served = Served::start(Config { db_channel_enabled: false, db_pool: 1, ..config(&database.uri()) });
        let ask = |name: &str, by: &str| match by {
            "GET" => served.get(&format!("/rpc/{name}?select=x")),
            _ => served.send(by, &format!("/rpc/{name}?select=x"), &[], "{}"),
        };
        let all = [("inlined", "GET"), ("inlined", "POST"), ("volatile", "POST"), ("opaque", "GET")];
        // the statements are known to the one session
        for (name, by) in all {
            (0..3).for_each(|_| assert_eq!(ask(name, by).status, 200, "{name}"));
        }
        database.execute(&format!("alter table api.t alter x type {change}"));
        for (name, by) in all {
            let answer = ask(name, by);
            assert_eq!((answer.status, answer.text()), (200, after), "{name} by {by}: {before}, then {change}");
        }
    }
}

/// Many clients send requests while columns, types, functions and relations change. Formerly, all
/// requests but one were answered with 400 until the schema cache was loaded: 31,266 of 44,765 with
/// 10,000 tables.
///
/// The test has 8 rounds of changes, or the number in `THALWEG_SCHEMA_ROUNDS`.
#[test]
fn requests_wait_for_the_load_of_a_schema_that_has_changed() {
    const CHANGES: [&str; 7] = [
        "alter table api.t drop column c",
        "alter table api.t add column c text default 'c'",
        "alter table api.t rename column x to y; alter table api.t rename column y to x",
        "alter table api.t rename to other; create table api.t (like api.other including all);
         insert into api.t select * from api.other; drop table api.other;
         grant select, insert, delete on api.t to test_reader",
        "drop function api.f(int); create function api.f(n text) returns text language sql stable as 'select n'",
        "drop function api.f(text); create function api.f(n int) returns int language sql stable as 'select n'",
        "alter table api.kept drop column c; alter table api.kept add column c int",
    ];
    let rounds = std::env::var("THALWEG_SCHEMA_ROUNDS").ok().and_then(|count| count.parse().ok()).unwrap_or(8);
    let database = Database::new(&format!(
        "create schema api;
         create table api.t (id int primary key, x int default 7, c text default 'c');
         create table api.kept (id int primary key references api.t, c int);
         alter table api.kept drop constraint kept_id_fkey;
         insert into api.t values (1);
         insert into api.kept values (1);
         create function api.f(n int) returns int language sql stable as 'select n';
         {GRANTS} grant insert, delete on api.t to test_reader;"
    ));
    type Read = (&'static str, &'static str, &'static [(&'static str, &'static str)]);
    let reads: [Read; 6] = [
        ("GET", "/t", &[]),
        ("GET", "/t?select=*&id=eq.1", &[]),
        ("GET", "/t", &[("Accept", "text/csv")]),
        ("GET", "/t", &[("Accept", "text/html")]),
        ("GET", "/kept", &[("Prefer", "count=exact")]),
        ("GET", "/rpc/f?n=1", &[]),
    ];
    for notifies in [true, false] {
        let served = Served::start(Config {
            db_channel_enabled: notifies,
            pages_browse: thalweg_server::PagesBrowse::On,
            ..config(&database.uri())
        });
        let (done, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            let clients: Vec<_> = (0..16_usize)
                .map(|number| {
                    let (served, done, answered, reads) = (&served, &done, &answered, &reads);
                    scope.spawn(move || {
                        let mut client = Client::connect(served.address);
                        for at in number.. {
                            if done.load(Ordering::SeqCst) {
                                break;
                            }
                            let (method, target, headers) = reads[at % reads.len()];
                            let response = client.request(method, target, headers);
                            assert_eq!(response.status, 200, "{target} {headers:?}: {}", response.text());
                            if number == 0 {
                                let body = format!("{{\"id\":{}}}", at + 2);
                                let prefer = [("Prefer", "return=representation")];
                                let written = client.request_with("POST", "/t", &prefer, body.as_bytes());
                                assert_eq!(written.status, 201, "{}", written.text());
                                assert_eq!(client.request("DELETE", "/t?id=gt.1", &[]).status, 204);
                            }
                            answered.fetch_add(1, Ordering::SeqCst);
                        }
                    })
                })
                .collect();
            for _ in 0..rounds {
                for change in CHANGES {
                    let notify = if notifies { "; notify pgrst" } else { "" };
                    database.execute(&format!("begin; {change}{notify}; commit"));
                    // Requests meet each change, however busy the machine is.
                    let before = answered.load(Ordering::SeqCst);
                    while answered.load(Ordering::SeqCst) < before + 64
                        && clients.iter().all(|client| !client.is_finished())
                    {
                        std::thread::sleep(std::time::Duration::from_millis(1));
                    }
                }
            }
            done.store(true, Ordering::SeqCst);
            clients
                .into_iter()
                .for_each(|client| client.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        });
        println!("notified: {notifies}; {} answers, {} changes", answered.into_inner(), rounds * CHANGES.len());
    }
}

/// A session has prepared a statement, and the type of a column that it compares or writes changes.
/// PostgreSQL refuses the statement for its operators or types, although the request is valid.
/// Formerly, it was answered with 404 or 500 until the schema cache was loaded.
#[test]
fn a_request_is_valid_whatever_type_its_column_gets() {
    const FROM_TO: [(&str, &str); 6] = [
        ("text", "text using b::text"),
        ("int", "int using b::int"),
        ("numeric", "numeric"),
        ("jsonb", "jsonb using to_jsonb(b)"),
        ("text again", "text using b ->> 0"),
        ("an enum", "api.kind using b::api.kind"),
    ];
    let database = Database::new(&format!(
        "create schema api; create type api.kind as enum ('5', '6');
         create table api.t (id int generated always as identity primary key, b int);
         insert into api.t (b) values (5);
         create function api.read() returns setof api.t language sql stable as 'select * from api.t';
         {GRANTS} grant insert, update on api.t to test_reader;"
    ));
    let served = Served::start(Config { db_pool: 1, db_channel_enabled: false, ..config(&database.uri()) });
    let requests = [
        ("GET", "/t?b=eq.5&id=eq.1&select=id", "", 200),
        ("GET", "/t?b=in.(5,6)&id=eq.1&select=id", "", 200),
        ("GET", "/rpc/read?b=neq.6&id=eq.1&select=id", "", 200),
        ("POST", "/t", r#"{"b":"5"}"#, 201),
        ("PATCH", "/t?id=eq.1&b=eq.5", r#"{"b":"5"}"#, 204),
    ];
    let assert_valid = |kind: &str| {
        for (method, target, body, status) in requests {
            let response = served.send(method, target, &[], body);
            assert_eq!(response.status, status, "{kind}: {method} {target}: {}", response.text());
            if method == "GET" {
                assert_eq!(response.text(), r#"[{"id":1}]"#, "{kind}: {target}");
            }
        }
    };
    assert_valid("int");
    for (kind, change) in FROM_TO {
        database.execute(&format!("alter table api.t alter b type {change}"));
        assert_valid(kind);
    }
    // The type itself is dropped, and another one has its name.
    database.execute(
        "alter table api.t alter b type text using b::text; drop type api.kind;
         create type api.kind as enum ('5', '6', '7'); alter table api.t alter b type api.kind using b::api.kind",
    );
    assert_valid("another enum");
}

/// A schema has changed and cannot be loaded. The requests were valid before, and are valid again
/// once it can be loaded.
#[test]
fn requests_may_be_repeated_while_a_changed_schema_cannot_be_loaded() {
    let database = Database::new(&format!(
        "create schema api; create schema other; create table api.t (id int primary key, c int);
         insert into api.t values (1); {GRANTS}"
    ));
    let served = Served::start(Config {
        db_schemas: vec!["api".to_owned(), "other".to_owned()],
        db_channel_enabled: false,
        ..config(&database.uri())
    });
    assert_eq!(served.get("/t").status, 200);
    database.execute("alter schema other rename to elsewhere; alter table api.t drop column c");
    for _ in 0..3 {
        let response = served.get("/t");
        assert_eq!((response.status, response.json()["code"].as_str()), (503, Some("PGRST002")), "{}", response.text());
        assert_eq!(response.header("retry-after"), Some("1"));
    }
    // A name that neither the schema cache nor the database has remains the client's mistake.
    assert_eq!(served.get("/t?select=nonsense").json()["code"], "42703");
    database.execute("alter schema elsewhere rename to other");
    crate::served::eventually("the schema is loaded", || served.get("/t").status == 200);
}

/// An error within a function is not caused by the schema cache. However often the function is
/// called, it neither waits nor causes a load.
#[test]
fn names_that_a_function_does_not_find_cause_no_load() {
    let database = Database::new(&format!(
        "create schema api; create table api.t (id int primary key, c int); insert into api.t values (1);
         create function api.plpgsql() returns int language plpgsql stable as
           $$ begin return (select gone from api.t); end $$;
         create function api.sql() returns int language sql stable as 'select c from api.t';
         create function api.computed(api.t) returns int language sql stable as 'select $1.c';
         create view api.v as select id, api.plpgsql() as x from api.t;
         {GRANTS}"
    ));
    let (proxy, uri) = thalweg_testkit::Proxy::before(&database.uri());
    let served = Served::start(Config { db_pool: 1, db_channel_enabled: false, ..config(&uri) });
    assert_eq!(served.get("/rpc/sql").text(), "null");
    database.execute("drop function api.computed; alter table api.t drop column c");
    assert_eq!(served.get("/t").status, 200);
    let sessions = |recorded: Vec<u8>| recorded.windows(9).filter(|message| message == b"R\0\0\0\x08\0\0\0\0").count();
    assert_eq!(served.get("/v").status, 400);
    proxy.take_recorded();
    for _ in 0..20 {
        for target in ["/rpc/plpgsql", "/rpc/sql", "/v"] {
            let response = served.get(target);
            assert_eq!((response.status, response.json()["code"].as_str()), (400, Some("42703")), "{target}");
        }
        assert_eq!(served.get("/t?select=gone").json()["code"], "42703");
        assert_eq!(served.get("/t?id=is.true").status, 400);
    }
    // A load that was requested begins after a moment.
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert_eq!(sessions(proxy.take_recorded()), 0);
}
