//! Right answers of kinds that servers like this one get wrong: totals, arguments, hints, locations.

use crate::served::{GRANTS, Served, config};
use thalweg_server::Config;
use thalweg_testkit::{Database, Response};

fn code(response: &Response) -> (u16, String) {
    (response.status, response.json()["code"].as_str().unwrap_or_default().to_owned())
}

/// The status and `Content-Range` of an answer to a request that prefers a count.
fn range(served: &Served, method: &str, target: &str, count: &str) -> (u16, String) {
    let response = served.request(method, target, &[("Prefer", &format!("count={count}"))]);
    (response.status, response.header("content-range").unwrap_or_default().to_owned())
}

/// Rows of which PostgreSQL expects too few, too many, or a number that is right.
const ESTIMATED: &str = "
    create schema api;
    create table api.few (id int primary key, kind int) with (autovacuum_enabled = off);
    insert into api.few select i, i % 3 from generate_series(1, 450) i; analyze api.few;
    insert into api.few select i, i % 3 from generate_series(451, 2000) i;
    create table api.many (id int primary key, kind int) with (autovacuum_enabled = off);
    insert into api.many select i, i % 3 from generate_series(1, 5000) i; analyze api.many;
    delete from api.many where id > 10;
    create view api.few_view as select * from api.few;
    create function api.few_rows() returns setof api.few language sql stable as 'select * from api.few';
    update pg_class set reltuples = 450, relpages = pg_relation_size(oid) / 8192 where oid = 'api.few'::regclass;
";

#[test]
fn an_estimate_is_no_smaller_than_the_rows_that_are_found_and_hides_none() {
    let database = Database::new(&format!("{ESTIMATED}{GRANTS}"));
    let estimate = |table: &str| {
        let plan = database.value(&format!("explain (format json) select 1 from api.{table}"));
        let rows = plan.split("\"Plan Rows\": ").nth(1).and_then(|rest| rest.split(',').next()).unwrap().to_owned();
        rows.parse::<u64>().unwrap()
    };
    // What the test rests on: too few rows are expected, and too many.
    assert!(estimate("few") < 500 && estimate("many") > 1000, "{} {}", estimate("few"), estimate("many"));
    let expected_many = estimate("many");
    let unlimited = Served::database(&database.uri());
    let limited = Served::start(Config { db_max_rows: Some(100), ..config(&database.uri()) });
    for method in ["GET", "HEAD"] {
        for table in ["few", "few_view"] {
            let planned = |target: &str| range(&unlimited, method, &format!("/{table}{target}"), "planned");
            // All rows are in the answer, so that their number is exact.
            assert_eq!(planned("?select=id"), (200, "0-1999/2000".into()), "{method} {table}");
            assert_eq!(planned("?order=id&offset=1500"), (206, "1500-1999/2000".into()));
            assert_eq!(planned("?order=id&offset=1500&limit=10"), (206, "1500-1509/1510".into()));
            let full = planned("?order=id&limit=10");
            assert!(full.0 == 206 && full.1.starts_with("0-9/"), "{full:?}");
            // No row is there.
            assert_eq!(planned("?offset=3000").0, 416);
            assert_eq!(planned("?id=gt.9000"), (200, "*/0".into()));
        }
        // More rows are expected than there are.
        assert_eq!(range(&unlimited, method, "/many", "planned"), (200, "0-9/10".into()));
        assert_eq!(range(&unlimited, method, "/many?limit=5", "planned"), (206, format!("0-4/{expected_many}")));
        assert_eq!(range(&unlimited, method, "/many?offset=12", "planned"), (206, "*/12".into()));
        assert_eq!(range(&unlimited, method, "/many?offset=5", "planned"), (206, "5-9/10".into()));
        // Without db-max-rows, the rows are counted.
        assert_eq!(range(&unlimited, method, "/many?limit=5", "estimated"), (206, "0-4/10".into()));
        assert_eq!(range(&unlimited, method, "/few?limit=5", "estimated"), (206, "0-4/2000".into()));
        assert_eq!(range(&unlimited, method, "/few?limit=5&offset=3000", "estimated").0, 416);
        // With it, up to that number, and the larger one of the count and the estimate is the total.
        assert_eq!(range(&limited, method, "/many?limit=5", "estimated"), (206, "0-4/10".into()));
        let last = range(&limited, method, "/few?order=id&offset=1950", "estimated");
        assert_eq!(last, (206, "1950-1999/2000".into()), "{method}");
        let within = range(&limited, method, "/few?order=id&offset=1500", "estimated");
        assert_eq!(within, (206, "1500-1599/1600".into()), "{method}");
    }
    // Functions are counted as they were: exactly, or not at all.
    assert_eq!(range(&unlimited, "GET", "/rpc/few_rows?limit=5", "estimated"), (206, "0-4/2000".into()));
    assert_eq!(range(&unlimited, "GET", "/rpc/few_rows?limit=5", "planned"), (200, "0-4/*".into()));
}

#[test]
fn groups_are_counted_where_aggregates_make_them() {
    let database = Database::new(&format!(
        "{ESTIMATED}
         create table api.part (id int primary key, of int references api.few, weight int);
         insert into api.part select i, i % 5 + 1, i from generate_series(1, 40) i; {GRANTS}"
    ));
    let served = Served::start(Config { db_aggregates_enabled: true, ..config(&database.uri()) });
    let limited = Config { db_aggregates_enabled: true, db_max_rows: Some(2), ..config(&database.uri()) };
    let limited = Served::start(limited);
    for method in ["GET", "HEAD"] {
        for count in ["exact", "estimated"] {
            let counted = |target: &str| range(&served, method, target, count);
            assert_eq!(counted("/few?select=count()"), (200, "0-0/1".into()), "{method} {count}");
            assert_eq!(counted("/few?select=kind,count()"), (200, "0-2/3".into()));
            assert_eq!(counted("/few?select=kind,id.max()&order=kind&limit=2"), (206, "0-1/3".into()));
            assert_eq!(counted("/few?select=kind,id.max()&order=kind&offset=2"), (206, "2-2/3".into()));
            assert_eq!(counted("/few?select=kind,count()&offset=7").0, 416);
            assert_eq!(counted("/few?select=kind,count()&id=gt.9000"), (200, "*/0".into()));
            assert_eq!(counted("/few_view?select=kind,count()&kind=gt.0"), (200, "0-1/2".into()));
            assert_eq!(counted("/part?select=few(kind),weight.sum()"), (200, "0-2/3".into()));
            assert_eq!(counted("/part?select=...few!inner(kind),weight.sum()&few.kind=gt.0"), (200, "0-1/2".into()));
            assert_eq!(counted("/part?select=id,few(count())&limit=4"), (206, "0-3/40".into()));
            assert_eq!(counted("/rpc/few_rows?select=kind,count()&order=kind&limit=2"), (206, "0-1/3".into()));
        }
        assert_eq!(range(&served, method, "/few?select=kind,count()", "planned"), (200, "0-2/3".into()));
        assert_eq!(range(&limited, method, "/few?select=kind,count()", "exact"), (206, "0-1/3".into()));
        assert_eq!(range(&limited, method, "/few?select=kind,count()", "estimated").0, 206);
    }
    let csv = [("Prefer", "count=exact"), ("Accept", "text/csv")];
    assert_eq!(served.request("GET", "/few?select=kind,count()", &csv).header("content-range"), Some("0-2/3"));
}

#[test]
fn what_is_an_argument_does_not_depend_on_its_value() {
    let database = Database::new(&format!(
        "create schema api;
         create table api.people (id int, email text, age int);
         insert into api.people values (1, 'cs.lewis@example.org', 20), (2, 'not.me', 30), (3, 'eq.5', 40);
         create function api.by_email(email text) returns setof api.people language sql stable as
           $$ select * from api.people p where p.email = by_email.email $$;
         create function api.older(age int default 0) returns setof api.people language sql stable as
           $$ select * from api.people p where p.age > older.age $$;
         create function api.all_of(variadic words text[]) returns text language sql immutable as
           $$ select array_to_string(words, '|') $$;
         create function api.twice(a text) returns text language sql immutable as $$ select 'one ' || a $$;
         create function api.twice(a text, b text) returns text language sql immutable as $$ select a || ' ' || b $$;
         create function api.\"odd.name\"(\"a->b\" text, \"c d\" text) returns text language sql immutable as
           $$ select $1 || ' ' || $2 $$;
         {GRANTS}"
    ));
    let served = Served::database(&database.uri());
    let values = [
        "cs.lewis@example.org",
        "not.me",
        "eq.5",
        "not.eq.5",
        "is.null",
        "is.x",
        "in.(1)",
        "in.x",
        "fts.a",
        "fts(en",
        "gt.1",
        "like(any).{a}",
        "",
        "plain",
        "isdistinct.null",
        "not.",
        "eq.",
        "not.is.x",
    ];
    for value in values {
        let encoded = value.replace('(', "%28").replace('{', "%7B").replace('}', "%7D");
        for method in ["GET", "HEAD"] {
            let found = served.request(method, &format!("/rpc/by_email?email={encoded}&select=id"), &[]);
            assert_eq!(found.status, 200, "{method} {value}: {}", found.text());
            if method == "GET" {
                let id = database.value(&format!("select coalesce(json_agg(json_build_object('id', id)), '[]')::text from api.people where email = '{value}'"));
                assert_eq!(found.json().to_string(), id.replace(' ', ""), "{value}");
            }
        }
        let text = |target: &str| served.get(target).json();
        assert_eq!(text(&format!("/rpc/all_of?words={encoded}&words=eq.2&words=x")), format!("{value}|eq.2|x"));
        assert_eq!(text(&format!("/rpc/twice?a={encoded}")), format!("one {value}"));
        assert_eq!(text(&format!("/rpc/twice?a={encoded}&b={encoded}")), format!("{value} {value}"));
        assert_eq!(text(&format!("/rpc/odd.name?a-%3Eb={encoded}&c%20d={encoded}")), format!("{value} {value}"));
    }
    // A column of the same name is filtered by a later value, or in a tree.
    let ids = |target: &str| served.get(target).text().replace('\n', "");
    assert_eq!(ids("/rpc/older?age=20&age=lt.40&select=id"), r#"[{"id":2}]"#);
    assert_eq!(ids("/rpc/older?and=(age.lt.40)&select=id&order=id"), r#"[{"id":1},{"id":2}]"#);
    assert_eq!(code(&served.get("/rpc/older?age=lt.40")), (400, "22P02".into()));
    assert_eq!(ids("/rpc/older?age=10&age=20&email=eq.not.me&select=id"), r#"[{"id":2}]"#);
    // Other names are filters, or no arguments of any function.
    assert_eq!(ids("/rpc/older?id=eq.3&select=id"), r#"[{"id":3}]"#);
    assert_eq!(code(&served.get("/rpc/older?agee=30")), (404, "PGRST202".into()));
    assert_eq!(code(&served.get("/rpc/by_email?id=eq.3")), (404, "PGRST202".into()));
}

#[test]
fn a_content_location_is_no_longer_than_the_url() {
    let database =
        Database::new(&format!("create schema api; create table api.t (id int, name text, tags text[]); {GRANTS}"));
    let served = Served::database(&database.uri());
    for (target, location) in [
        ("/t", "/t"),
        ("/t?select=id,name,*&or=(id.eq.1,name.eq.%22a,b%22)", "/t?or=(id.eq.1,name.eq.%22a,b%22)&select=id,name,*"),
        ("/t?tags=cs.{a,b}&select=n:name::text", "/t?select=n:name::text&tags=cs.{a,b}"),
        ("/t?name=eq.a%26b%23&name=neq.c+d", "/t?name=eq.a%26b%23,neq.c+d"),
        ("/t?id=in.%281%2C2%29;order=id.desc", "/t?id=in.%281%2C2%29&order=id.desc"),
    ] {
        for method in ["GET", "HEAD"] {
            let response = served.request(method, target, &[]);
            assert_eq!(
                (response.status, response.header("content-location")),
                (200, Some(location)),
                "{method} {target}"
            );
            assert!(location.len() <= target.len());
        }
    }
}

#[test]
fn each_hint_of_an_ambiguous_embed_chooses_one_relationship() {
    let database = Database::new(&format!(
        "create schema api; create schema other;
         create table api.a (id int primary key); create table api.b (id int primary key);
         insert into api.a values (1); insert into api.b values (1), (2), (3);
         create table api.j (a int references api.a, b int references api.b, primary key (a, b));
         create table other.j (a int references api.a, b int references api.b, primary key (a, b));
         insert into api.j values (1, 1); insert into other.j values (1, 2);
         create table api.c (id int primary key); insert into api.c values (1);
         create table api.k (c int references api.c, first int references api.b, second int references api.b,
                             primary key (c, first, second));
         insert into api.k values (1, 2, 3);
         create table api.child (id int primary key, b int references api.b); insert into api.child values (1, 1);
         create view api.twice as select id, id as again, b, b + 1 - 1 as computed, b as b2 from api.child;
         create table api.node (id int primary key, parent int references api.node, friend int references api.node);
         insert into api.node values (1, null, null), (2, 1, null), (3, null, 1);
         create table api.pair (x int, y int, primary key (x, y)); insert into api.pair values (1, 2);
         create table api.of_pair (id int primary key, x int, y int, foreign key (x, y) references api.pair);
         insert into api.of_pair values (1, 1, 2);
         create view api.pairs as select id, x, y, x as x2, y as y2 from api.of_pair;
         {GRANTS}
         grant usage on schema other to test_reader; grant select on all tables in schema other to test_reader;"
    ));
    let db_schemas = vec!["api".to_owned(), "other".to_owned()];
    let served = Served::start(Config { db_schemas, ..config(&database.uri()) });
    for (origin, target, count) in
        [("a", "b", 2), ("c", "b", 2), ("twice", "b", 2), ("b", "twice", 2), ("node", "node", 2), ("pairs", "pair", 4)]
    {
        let refused = served.get(&format!("/{origin}?select={target}(*)"));
        assert_eq!(code(&refused), (300, "PGRST201".into()), "{origin} {target}: {}", refused.text());
        let error = refused.json();
        let hint = error["hint"].as_str().unwrap();
        let choices: Vec<&str> = hint.split('\'').filter(|part| part.contains('!')).collect();
        assert_eq!((choices.len(), error["details"].as_array().unwrap().len()), (count, count), "{hint}");
        let mut answers = Vec::new();
        for (at, choice) in choices.iter().enumerate() {
            assert!(!choices[..at].contains(choice), "{hint}");
            let encoded = choice.replace('"', "%22");
            let chosen = served.get(&format!("/{origin}?select=found:{encoded}(*)"));
            assert_eq!(chosen.status, 200, "{choice}: {}", chosen.text());
            answers.push(chosen.text().to_owned());
        }
        // What is chosen differs where the rows do.
        if ["a", "c"].contains(&origin) {
            assert!(answers[0] != answers[1], "{answers:?}");
        }
    }
    let details = served.get("/a?select=b(*)").json()["details"].to_string();
    assert!(details.contains("other.j using j_a_fkey(a) and j_b_fkey(b)"), "{details}");
    // A name that only one of them has is still a hint.
    assert_eq!(served.get("/twice?select=found:b!b2(id)").text(), r#"[{"found":{"id":1}}]"#);
    assert_eq!(code(&served.get("/a?select=b!nothing(*)")), (400, "PGRST200".into()));
    assert_eq!(code(&served.get("/a?select=b!j(*)")), (300, "PGRST201".into()));
}

/// Tables whose triggers write rows that answers embed.
const TRIGGERS: &str = "
    create schema api;
    create type api.pair as (x int, y text);
    create domain api.short as text check (length(value) < 20);
    create table api.parent (id int primary key, name text, code char(6), tags text[], doc jsonb, raw json, n numeric(10,3),
                             f float8, b bytea, at timestamptz, p api.pair, d api.short, flags bit(3), \"odd \"\"name\" int);
    create table api.child (id int generated always as identity primary key, parent int references api.parent on update cascade,
                            note text);
    create function api.add_children() returns trigger language plpgsql as
      $$ begin insert into api.child (parent, note) values (new.id, 'first'), (new.id, 'second'); return null; end $$;
    create trigger add_children after insert on api.parent for each row execute function api.add_children();
    create function api.children(api.parent) returns bigint language sql stable as
      $$ select count(*) from api.child c where c.parent = $1.id $$;
    create view api.parents as select * from api.parent;
    create table api.node (id int primary key, of int references api.node, label text);
    create table api.plain (id int primary key, other int);
    create table api.of_plain (id int primary key, plain int references api.plain on update cascade);
    create domain api.\"application/vnd.doc\" as text;
    create function api.doc_step(state text, item anyelement) returns text language sql immutable as
      $$ select concat_ws('|', nullif(state, ''), to_jsonb(item)::text) $$;
    create function api.doc_end(state text) returns api.\"application/vnd.doc\" language sql immutable as
      $$ select state::api.\"application/vnd.doc\" $$;
    create aggregate api.doc(anyelement) (sfunc = api.doc_step, stype = text, initcond = '', finalfunc = api.doc_end);
";

#[test]
fn an_answer_embeds_what_triggers_and_the_write_itself_have_made() {
    let database = Database::new(&format!(
        "{TRIGGERS}{GRANTS}
         grant insert, update, delete on all tables in schema api to test_reader;
         grant usage on all sequences in schema api to test_reader;"
    ));
    let served = Served::database(&database.uri());
    let write = |method: &str, target: &str, prefer: &str, body: &str| {
        let prefer = format!("return=representation, {prefer}");
        let response = served.send(method, target, &[("Prefer", &prefer)], body);
        (response.status, response.text().replace('\n', ""))
    };
    let written = |status: u16, text: &str| (status, text.to_owned());
    let children = r#""child":[{"note":"first"},{"note":"second"}]"#;
    for (table, id) in [("parent", 1), ("parents", 2)] {
        let target = format!("/{table}?select=id,child(note)&child.order=id");
        let answer = write("POST", &target, "", &format!(r#"{{"id":{id}}}"#));
        assert_eq!(answer, written(201, &format!(r#"[{{"id":{id},{children}}}]"#)), "{table}");
    }
    // Many rows, an upsert, PUT, spreads, aggregates and inner embeds.
    let many =
        write("POST", "/parent?select=id,child(note)&child.order=id&order=id.desc", "", r#"[{"id":3},{"id":4}]"#);
    assert_eq!(many, written(201, &format!(r#"[{{"id":4,{children}}},{{"id":3,{children}}}]"#)));
    let merged = write(
        "POST",
        "/parent?select=id,child(count)",
        "resolution=merge-duplicates",
        r#"[{"id":4,"name":"m"},{"id":5,"name":"n"}]"#,
    );
    assert_eq!(merged, written(201, r#"[{"id":4,"child":[{"count":2}]},{"id":5,"child":[{"count":2}]}]"#));
    let put = write("PUT", "/parent?id=eq.6&select=id,child(note)&child.order=id", "", r#"{"id":6}"#);
    assert_eq!(put, written(201, &format!(r#"[{{"id":6,{children}}}]"#)));
    let spread = write("POST", "/parent?select=id,...child(note)&child.order=id", "", r#"{"id":7}"#);
    assert_eq!(spread, written(201, r#"[{"id":7,"note":["first","second"]}]"#));
    let inner = write("POST", "/parent?select=id,child!inner(note)&child.note=eq.first", "", r#"{"id":8}"#);
    assert_eq!(inner, written(201, r#"[{"id":8,"child":[{"note":"first"}]}]"#));
    // Computed columns, by themselves too.
    assert_eq!(
        write("POST", "/parent?select=id,children", "", r#"{"id":9}"#),
        written(201, r#"[{"id":9,"children":2}]"#)
    );
    // The key of the parent changes, and the foreign keys of its children with it.
    let moved = write("PATCH", "/parent?id=eq.9&select=id,child(note)&child.order=id", "", r#"{"id":10}"#);
    assert_eq!(moved, written(200, &format!(r#"[{{"id":10,{children}}}]"#)));
    database.execute("insert into api.plain values (1, 1); insert into api.of_plain values (1, 1)");
    let cascaded = write("PATCH", "/plain?id=eq.1&select=id,of_plain(id)", "", r#"{"id":2}"#);
    assert_eq!(cascaded, written(200, r#"[{"id":2,"of_plain":[{"id":1}]}]"#));
    // Rows of one relation that are written together.
    let tree = write("POST", "/node?select=id,node(id)&order=id", "", r#"[{"id":1,"of":null},{"id":2,"of":1}]"#);
    assert_eq!(tree, written(201, r#"[{"id":1,"node":[{"id":2}]},{"id":2,"node":[]}]"#));
    let labelled = write("PATCH", "/node?select=id,up:of(label)&order=id", "", r#"{"label":"new"}"#);
    assert_eq!(labelled, written(200, r#"[{"id":1,"up":null},{"id":2,"up":{"label":"new"}}]"#));
    // A deletion returns what it has deleted.
    let deleted = write("DELETE", "/node?id=eq.2&select=id,up:of(label)", "", "");
    assert_eq!(deleted, written(200, r#"[{"id":2,"up":{"label":"new"}}]"#));
    // Nothing is written, and nothing is left of the row before.
    assert_eq!(write("PATCH", "/parent?id=eq.99&select=id,child(note)", "", r#"{"name":"x"}"#), written(200, "[]"));
    assert_eq!(write("POST", "/parent?select=id,child(note)", "", "[]"), written(201, "[]"));
}

#[test]
fn values_of_every_kind_survive_until_embeds_are_read() {
    let database = Database::new(&format!(
        "{TRIGGERS}{GRANTS}
         grant insert, update, delete on all tables in schema api to test_reader;
         grant usage on all sequences in schema api to test_reader;"
    ));
    let served = Served::database(&database.uri());
    let rows = r#"[
        {"id":1,"name":"a \"b\" \\ ' \u00e9\n","code":"ab","tags":["x,y","{}",null,""],"doc":{"a":[1.50,null]},"raw":[1, 2],"n":1.5,
         "f":0.1,"b":"\\xdead","at":"2026-01-02T03:04:05.678901Z","p":{"x":1,"y":"z, \"q\""},"d":"short","flags":"101","odd \"name":7},
        {"id":2,"name":"","code":null,"tags":[],"doc":null,"raw":null,"n":null,"f":1e300,"b":null,"at":"infinity",
         "p":{"x":null,"y":null},"d":null,"flags":null,"odd \"name":null},
        {"id":3,"name":"null","code":"      ","tags":null,"doc":"null","raw":"text","n":-0.001,"f":-1.5,"b":"\\x","at":null,
         "p":null,"d":"","flags":"000","odd \"name":0}
    ]"#;
    let prefer = [("Prefer", "return=representation")];
    let answer = served.send("POST", "/parent?select=*,child(note)&order=id&child.order=id", &prefer, rows);
    assert_eq!(answer.status, 201, "{}", answer.text());
    let read = served.get("/parent?select=*,child(note)&order=id&child.order=id");
    assert_eq!(answer.text(), read.text());
    let json_nulls = "insert into api.parent (id, doc, raw) values (4, 'null', 'null')";
    database.execute(json_nulls);
    let answer =
        served.send("PATCH", "/parent?id=eq.4&select=*,child(note)&child.order=id", &prefer, r#"{"name":"n"}"#);
    assert_eq!(answer.text(), served.get("/parent?id=eq.4&select=*,child(note)&child.order=id").text());
    for (media, target) in [
        ("text/csv", "/parent?select=id,name,code,child(note)"),
        ("application/vnd.pgrst.object+json", "/parent?select=id,p,child(note)"),
    ] {
        let prefer = [("Prefer", "return=representation"), ("Accept", media)];
        let answer = served.send("PATCH", &format!("{target}&id=eq.1&child.order=id"), &prefer, r#"{"n":2}"#);
        let read = served.request("GET", &format!("{target}&id=eq.1&child.order=id"), &[("Accept", media)]);
        assert_eq!((answer.status, answer.text()), (200, read.text()), "{media}");
    }
    // Media types that the database makes.
    let doc = [("Prefer", "return=representation"), ("Accept", "application/vnd.doc")];
    let made = served.send("POST", "/parent?select=id,child(note)&child.order=id", &doc, r#"{"id":5}"#);
    let expected = r#"{"id": 5, "child": [{"note": "first"}, {"note": "second"}]}"#;
    assert_eq!((made.status, made.text()), (201, expected));
    // What is checked before it may stay is undone with what triggers have made.
    let strict = [("Prefer", "return=representation, handling=strict, max-affected=1")];
    let refused = served.send("PATCH", "/parent?select=id,child(note)", &strict, r#"{"n":9}"#);
    assert_eq!(code(&refused), (400, "PGRST124".into()));
    assert_eq!(database.value("select count(*) from api.parent where n = 9"), "0");
}

#[test]
fn a_null_row_is_null() {
    let database = Database::new(&format!(
        "create schema api;
         create type api.pair as (x int, y int);
         create table api.t (id int primary key, name text);
         create table api.u (id int primary key, t int);
         insert into api.t values (1, null); insert into api.u values (1, 1), (2, 7);
         create sequence api.calls; grant all on api.calls to public;
         create function api.found(id int) returns api.t language sql stable as
           $$ select t from api.t where t.id = found.id $$;
         create function api.null_pair() returns api.pair language sql immutable as $$ select null::api.pair $$;
         create function api.pair_of_nulls() returns api.pair language sql immutable as $$ select row(null, null)::api.pair $$;
         create function api.counted() returns api.t language sql volatile as
           $$ select row(nextval('api.calls'), 'x')::api.t $$;
         create function api.out_nulls(out a int, out b int) language sql immutable as $$ select null::int, null::int $$;
         create function api.of_u(api.u) returns api.t language sql stable as
           $$ select t from api.t where t.id = $1.t $$;
         create function api.pair_of(api.u) returns api.pair language sql stable as
           $$ select case when $1.id = 1 then row(1, null)::api.pair end $$;
         {GRANTS}"
    ));
    let served = Served::database(&database.uri());
    let get = |target: &str| {
        let response = served.get(target);
        (response.status, response.text().replace('\n', ""))
    };
    for (target, expected) in [
        ("/rpc/found?id=1", r#"{"id":1,"name":null}"#),
        ("/rpc/found?id=1&select=name", r#"{"name":null}"#),
        ("/rpc/found?id=1&id=eq.1", r#"{"id":1,"name":null}"#),
        ("/rpc/found?id=9", "null"),
        ("/rpc/found?id=9&select=name", "null"),
        ("/rpc/null_pair", "null"),
        ("/rpc/pair_of_nulls", r#"{"x":null,"y":null}"#),
        ("/rpc/out_nulls", r#"{"a":null,"b":null}"#),
        ("/u?select=id,of_u(name)&order=id", r#"[{"id":1,"of_u":{"name":null}},{"id":2,"of_u":null}]"#),
        ("/u?select=id,...of_u(name)&order=id", r#"[{"id":1,"name":null},{"id":2,"name":null}]"#),
        ("/u?select=id,of_u!inner(id)&order=id", r#"[{"id":1,"of_u":{"id":1}}]"#),
        ("/u?select=id,of_u()&of_u=is.null", r#"[{"id":2}]"#),
        ("/u?select=id,pair_of&order=id", r#"[{"id":1,"pair_of":{"x":1,"y":null}},{"id":2,"pair_of":null}]"#),
    ] {
        assert_eq!(get(target), (200, expected.to_owned()), "{target}");
    }
    let posted = served.send("POST", "/rpc/found", &[], r#"{"id":9}"#);
    assert_eq!((posted.status, posted.text()), (200, "null"));
    // The function runs once, however many columns are selected.
    let counted = served.send("POST", "/rpc/counted?select=*,id,name", &[("Prefer", "count=exact")], "{}");
    assert_eq!((counted.status, counted.json()["id"].as_i64()), (200, Some(1)));
    assert_eq!(database.value("select last_value from api.calls"), "1");
    let csv = served.request("GET", "/rpc/found?id=9", &[("Accept", "text/csv")]);
    assert_eq!((csv.status, csv.text()), (200, "id,name"));
    let one = served.request("GET", "/rpc/found?id=9", &[("Accept", "application/vnd.pgrst.object+json")]);
    assert_eq!((one.status, one.text()), (200, "null"));
}

#[test]
fn a_limit_that_cuts_embeds_says_so() {
    let database = Database::new(&format!(
        "create schema api;
         create table api.a (id int primary key, tags int[] default '{{1,2,3,4,5}}');
         create table api.b (id int primary key, a int references api.a, tags int[] default '{{1,2,3,4,5}}', doc jsonb);
         create table api.c (id int primary key, b int references api.b);
         insert into api.a values (1), (2);
         insert into api.b select i, case when i <= 5 then 1 else 2 end from generate_series(1, 8) i;
         insert into api.c select i, 8 from generate_series(1, 4) i;
         create function api.all_b() returns setof api.b language sql stable as 'select * from api.b order by id limit 3';
         {GRANTS}"
    ));
    let served = Served::start(Config { db_max_rows: Some(3), ..config(&database.uri()) });
    let embedded = "299 Thalweg \"There are more rows of an embed: db-max-rows is 3.\"";
    let get = |target: &str, accept: &str| {
        let response = served.request("GET", target, &[("Accept", accept)]);
        let warning = response.headers.iter().filter(|(name, _)| name == "warning").map(|(_, value)| value.clone());
        (response.text().replace('\n', ""), warning.collect::<Vec<String>>())
    };
    let (json, object, csv) = ("application/json", "application/vnd.pgrst.object+json", "text/csv");
    let stripped = "application/vnd.pgrst.array+json;nulls=stripped";
    let three = r#""b":[{"id":1},{"id":2},{"id":3}]"#;
    for (target, accept, expected) in [
        ("/a?id=eq.1&select=id,b(id)&b.order=id", json, format!(r#"[{{"id":1,{three}}}]"#)),
        ("/a?id=eq.1&select=id,b(id)&b.order=id&b.limit=4", json, format!(r#"[{{"id":1,{three}}}]"#)),
        ("/a?id=eq.1&select=id,b(id)&b.order=id", object, format!(r#"{{"id":1,{three}}}"#)),
        ("/a?id=eq.1&select=id,b(id)&b.order=id", stripped, format!(r#"[{{"id":1,{three}}}]"#)),
        ("/a?id=eq.1&select=id,b(id)&b.order=id", csv, r#"id,b1,"[{""id"":1},{""id"":2},{""id"":3}]""#.to_owned()),
        ("/a?id=eq.1&select=id,...b(n:id)&b.order=id", json, r#"[{"id":1,"n":[1,2,3]}]"#.to_owned()),
        (
            "/b?id=eq.8&select=id,...a(b(id))&a.b.order=id&a.b.id=lt.9",
            json,
            r#"[{"id":8,"b":[{"id":6},{"id":7},{"id":8}]}]"#.to_owned(),
        ),
        (
            "/a?id=eq.2&select=b(id,c(id))&b.order=id&b.c.order=id&b.id=eq.8",
            json,
            r#"[{"b":[{"c":[{"id":1},{"id":2},{"id":3}],"id":8}]}]"#.to_owned(),
        ),
    ] {
        let is_cut = !target.starts_with("/b?");
        let (text, warnings) = get(target, accept);
        assert_eq!(
            (text, warnings),
            (expected, if is_cut { vec![embedded.to_owned()] } else { Vec::new() }),
            "{target} {accept}"
        );
    }
    // Rows within the limit, a limit of the request's own, and arrays that are no rows.
    for target in [
        "/a?id=eq.2&select=id,b(id)",
        "/a?id=eq.1&select=id,b(id)&b.limit=3",
        "/a?id=eq.1&select=id,b(id)&b.limit=2",
        "/a?id=eq.2&select=id,...b(id)",
        "/a?select=id,tags",
        "/b?select=id,a(tags)&limit=3",
        "/a?id=eq.2&select=b(tags)",
    ] {
        let (text, warnings) = get(target, json);
        assert_eq!(warnings, Vec::<String>::new(), "{target}: {text}");
        assert!(!text.contains("tags") || text.contains("[1,2,3,4,5]"), "{target}: {text}");
    }
    // The root and an embed, functions, and to-one embeds with embeds.
    let (_, warnings) = get("/b?select=id,a(id,b(id))&order=id", json);
    assert_eq!(warnings, ["299 Thalweg \"There are more rows: db-max-rows is 3.\"", embedded]);
    assert_eq!(get("/rpc/all_b?select=id,a(b(id))", json).1, [embedded]);
    // What is made of JSON by PostgreSQL keeps the limit.
    let (text, _) = get("/a?id=eq.1&select=id,...b(id,c(id))&b.order=id", json);
    assert_eq!(text, r#"[{"id":1,"id":[1,2,3],"c":[[],[],[]]}]"#);
    // Without a limit of the server's, all rows come.
    let unlimited = Served::database(&database.uri());
    let all = unlimited.get("/a?id=eq.1&select=b(id)");
    assert_eq!((all.text().matches("\"id\"").count(), all.header("warning")), (5, None));
}

/// Types whose values are not the same when their text is read again.
#[test]
fn a_write_with_embeds_returns_values_of_odd_types_as_a_read_does() {
    let database = Database::new(&format!(
        "create schema api; create schema hidden;
         create type hidden.kind as enum ('a');
         create table api.parent (id int primary key, v int, kind hidden.kind, class regclass, at timestamptz, day date,
           doc xml, thalweg_row int);
         create table api.child (parent_id int references api.parent, w int);
         create function api.adds() returns trigger language plpgsql as
           $$ begin insert into api.child values (new.id, new.v); return null; end $$;
         create trigger adds after update on api.parent for each row execute function api.adds();
         insert into api.parent values (1, 1, 'a', 0, '2026-07-01 12:00+00', '2026-05-07', '<a/><b/>', 3);
         create function api.doubled(api.parent) returns int stable language sql as $$ select $1.v * 2 $$;
         create table api.ruled (id int);
         create table api.seen (id int);
         create rule also as on insert to api.ruled do also insert into api.seen values (new.id);
         create function api.next(api.ruled) returns int stable language sql as $$ select $1.id + 1 $$;
         {GRANTS} grant insert, update on all tables in schema api to test_reader;
         do $$ begin
           execute format('alter role test_reader in database %I set datestyle to ''SQL, DMY''', current_database());
           execute format('alter role test_reader in database %I set timezone to ''Asia/Kolkata''', current_database());
         end $$;"
    ));
    let served = Served::database(&database.uri());
    let prefer = [("Prefer", "return=representation")];
    for columns in ["id,v", "kind", "class", "at,day", "doc", "thalweg_row", "*"] {
        let target = format!("/parent?id=eq.1&select={columns},child(w)&child.order=w");
        let written = served.send("PATCH", &target, &prefer, r#"{"v":2}"#);
        assert_eq!(written.status, 200, "{columns}: {}", written.text());
        let mut rows = [written.json(), served.get(&target).json()];
        rows.iter_mut().for_each(|rows| _ = rows[0].as_object_mut().unwrap().remove("child"));
        assert_eq!(rows[0], rows[1], "{columns}");
    }
    let ruled = served.send("POST", "/ruled?select=id,next", &prefer, r#"{"id":1}"#);
    assert_eq!((ruled.status, ruled.text()), (201, r#"[{"id":1,"next":2}]"#));
}
