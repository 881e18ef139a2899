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
