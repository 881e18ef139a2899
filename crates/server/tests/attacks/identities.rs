//! People who share a database, each of whom tries to see what is another's: row-level security by claims, on every way to
//! rows; and connections that change hands.

use crate::served::{GRANTS, ROLE, Served};
use crate::signed::{token, with_secret};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use thalweg_server::Config;
use thalweg_testkit::{Client, Database, Response};

/// How many requests change hands, and how many clients send them. More with `THALWEG_IDENTITY_REQUESTS`.
const REQUESTS: usize = 20_000;
const CLIENTS: usize = 16;

/// Each row has its owner's mark in it, so that nothing of anybody's can be elsewhere unseen.
const SCHEMA: &str = "
    create schema api;
    create function api.me() returns int stable language sql as
      $$ select (current_setting('request.jwt.claims', true)::json ->> 'pilot_id')::int $$;
    create table api.pilots (id int primary key, name text unique, photo bytea, photo_type text);
    create table api.flights (id int primary key, pilot_id int not null references api.pilots default api.me(),
      note text unique, km int check (km < 1000), track bytea);
    create table api.tags (flight_id int references api.flights, label text, primary key (flight_id, label));
    insert into api.pilots select i, 'mark-of-' || i, convert_to('mark-of-' || i, 'UTF8'), 'image/png' from generate_series(1, 3) i;
    insert into api.flights select i, i % 3 + 1, 'mark-of-' || i % 3 + 1 || '-' || i, i, convert_to('mark-of-' || i % 3 + 1, 'UTF8')
      from generate_series(1, 300) i;
    insert into api.tags select id, 'mark-of-' || pilot_id from api.flights;
    create view api.own with (security_invoker) as select * from api.flights;
    create view api.seen as select pilot_id, count(*) from api.flights group by 1;
    create function api.all_flights() returns setof api.flights stable language sql as $$ select * from api.flights $$;
    create function api.total() returns bigint stable language sql as $$ select count(*) from api.flights $$;
    create function api.distance(api.flights) returns text stable language sql as $$ select $1.note || $1.km $$;
    create function api.add(n int) returns int language sql as $$
      insert into api.flights (id, note) values (n, 'added') returning pilot_id $$;
    alter table api.pilots enable row level security; alter table api.flights enable row level security;
    alter table api.tags enable row level security;
    create policy own on api.pilots using (id = api.me());
    create policy own on api.flights using (pilot_id = api.me());
    create policy own on api.tags using (exists (select from api.flights f where f.id = flight_id));
";

const RIGHTS: &str = "
    do $$ begin create role sharing nologin; exception when duplicate_object or unique_violation then null; end $$;
    grant usage on schema api to sharing;
    grant select, insert, update, delete on api.pilots, api.flights, api.tags to sharing; grant select on api.own to sharing;
";

fn of(pilot: u32) -> String {
    token(&json!({"role": "sharing", "pilot_id": pilot}))
}

/// What the head and the body of a response say.
fn all_of(response: &Response) -> String {
    let headers: Vec<String> = response.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    format!("{}\n{}\n{}", response.status, headers.join("\n"), String::from_utf8_lossy(&response.body))
}

/// A method, a target, headers and a body.
type Way = (&'static str, &'static str, &'static [(&'static str, &'static str)], &'static str);

/// Every way to rows that there is. What changes something is rolled back.
const WAYS: [Way; 48] = [
    ("GET", "/flights", &[], ""),
    ("GET", "/flights?select=*,pilots(*),tags(*)", &[], ""),
    ("GET", "/pilots?select=*,flights(*,tags(*))", &[], ""),
    ("GET", "/pilots?select=name,...flights(note,id)", &[], ""),
    ("GET", "/tags?select=label,flights!inner(note,pilots!inner(name))", &[], ""),
    ("GET", "/flights?select=id,distance", &[], ""),
    ("GET", "/flights?or=(pilot_id.eq.1,pilot_id.eq.2,pilot_id.eq.3)", &[], ""),
    ("GET", "/flights?pilot_id=eq.2&select=note", &[], ""),
    ("GET", "/flights?note=like.*mark*&order=note.desc", &[], ""),
    ("GET", "/flights?select=pilot_id,count(),note.max()", &[], ""),
    ("GET", "/flights?select=pilots(name,id.sum())", &[], ""),
    ("GET", "/own?select=*", &[], ""),
    ("GET", "/flights", &[("accept", "text/csv")], ""),
    ("GET", "/flights?limit=1", &[("accept", "application/vnd.pgrst.object+json")], ""),
    ("GET", "/flights?select=track&id=eq.1", &[("accept", "application/octet-stream")], ""),
    ("GET", "/pilots?select=photo&id=eq.1", &[("accept", "application/octet-stream")], ""),
    ("GET", "/pilots?select=photo&id=eq.2", &[("accept", "image/png"), ("range", "bytes=0-3")], ""),
    ("GET", "/flights", &[("prefer", "count=exact"), ("range", "0-4")], ""),
    ("HEAD", "/flights", &[("prefer", "count=exact")], ""),
    ("HEAD", "/flights?pilot_id=eq.2", &[("prefer", "count=exact")], ""),
    ("GET", "/rpc/all_flights", &[], ""),
    ("GET", "/rpc/all_flights?select=*,pilots(name)&order=id", &[("prefer", "count=exact")], ""),
    ("POST", "/rpc/all_flights", &[], "{}"),
    ("GET", "/rpc/total", &[], ""),
    ("POST", "/rpc/add", &[], r#"{"n": 1000}"#),
    ("POST", "/flights", &[("prefer", "return=representation")], r#"{"id": 1001, "note": "new"}"#),
    ("POST", "/flights", &[("prefer", "return=headers-only")], r#"{"id": 1002, "note": "new"}"#),
    ("POST", "/flights?select=*,pilots(*)", &[("prefer", "return=representation")], r#"[{"id": 1003}, {"id": 1004}]"#),
    // for another, which the policy refuses; and what is there already, of somebody
    ("POST", "/flights", &[("prefer", "return=representation")], r#"{"id": 1005, "pilot_id": 2}"#),
    ("POST", "/flights", &[], r#"{"id": 1}"#),
    ("POST", "/flights", &[], r#"{"id": 2}"#),
    ("POST", "/flights", &[], r#"{"id": 3}"#),
    ("POST", "/flights", &[], r#"{"id": 1006, "km": 5000, "note": "x"}"#),
    ("POST", "/flights?columns=id,note", &[("content-type", "text/csv")], "id,note\n2001,a\n2002,b"),
    ("POST", "/flights", &[("content-type", "text/csv")], "id,pilot_id,note\n2001,1,a\n2002,2,b\n2003,3,c"),
    (
        "POST",
        "/flights",
        &[("prefer", "resolution=merge-duplicates, return=representation")],
        r#"[{"id": 1, "km": 0}]"#,
    ),
    (
        "POST",
        "/flights",
        &[("prefer", "resolution=merge-duplicates, return=representation")],
        r#"[{"id": 2, "km": 0}]"#,
    ),
    (
        "POST",
        "/flights",
        &[("prefer", "resolution=ignore-duplicates, return=representation")],
        r#"[{"id": 1}, {"id": 2}]"#,
    ),
    (
        "POST",
        "/flights?on_conflict=note",
        &[("prefer", "resolution=merge-duplicates, return=representation")],
        r#"[{"id": 9, "note": "added"}]"#,
    ),
    (
        "PUT",
        "/flights?id=eq.1",
        &[("prefer", "return=representation")],
        r#"{"id": 1, "pilot_id": 1, "note": "p", "km": 1, "track": null}"#,
    ),
    (
        "PUT",
        "/flights?id=eq.2",
        &[("prefer", "return=representation")],
        r#"{"id": 2, "pilot_id": 1, "note": "p", "km": 1, "track": null}"#,
    ),
    ("PATCH", "/flights", &[("prefer", "return=representation, count=exact")], r#"{"km": 7}"#),
    ("PATCH", "/flights?pilot_id=eq.2", &[("prefer", "return=representation")], r#"{"km": 8}"#),
    ("PATCH", "/flights?id=lt.4", &[("prefer", "return=representation")], r#"{"pilot_id": 2}"#),
    ("DELETE", "/tags", &[("prefer", "return=representation, count=exact")], ""),
    ("DELETE", "/tags?label=eq.mark-of-2", &[("prefer", "return=representation")], ""),
    ("GET", "/flights?note=eq.1&km=eq.x", &[], ""),
    ("GET", "/flights?select=note::int", &[], ""),
];

#[test]
fn nobody_sees_what_is_anothers() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}{RIGHTS}"));
    let served = Served::start(Config {
        db_tx_rolls_back: true,
        db_aggregates_enabled: true,
        db_plan_enabled: true,
        ..with_secret(&database.uri())
    });
    let people: Vec<String> = (1..=3).map(of).collect();
    let mut own = [0; 4];
    // first as new, then as what is known; on connections that were somebody else's
    for round in 0..3 {
        for (method, target, headers, body) in WAYS {
            for (person, token) in (1..).zip(&people) {
                let bearer = format!("Bearer {token}");
                let mut all = vec![("authorization", bearer.as_str())];
                all.extend_from_slice(headers);
                if !body.is_empty() && !headers.iter().any(|(name, _)| *name == "content-type") {
                    all.push(("content-type", "application/json"));
                }
                let mut client = Client::connect(served.address);
                let response = match body {
                    "" => client.request(method, target, &all),
                    body => client.request_with(method, target, &all, body.as_bytes()),
                };
                let text = all_of(&response);
                for other in (1..=3).filter(|other| *other != person) {
                    let hex = format!("mark-of-{other}").bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
                    let marks = [format!("mark-of-{other}"), format!("\"pilot_id\":{other}"), hex];
                    let leaked =
                        marks.iter().find(|mark| text.contains(mark.as_str()) && !target.contains(mark.as_str()));
                    // what somebody asked for in so many words is no news to them
                    assert_eq!(
                        leaked.filter(|_| !body.contains("pilot_id")),
                        None,
                        "{person}: {method} {target} {body}: {text}"
                    );
                }
                own[person] += usize::from(text.contains(&format!("mark-of-{person}")));
                assert!(response.status < 500, "{method} {target}: {text}");
                let range = response.header("content-range").unwrap_or_default();
                assert!(!range.ends_with("/300") && !range.ends_with("/3"), "{method} {target}: {range}");
            }
            // who sends no token sees nobody's
            let text = all_of(&served.request(if body.is_empty() { method } else { "GET" }, target, headers));
            assert!(!text.contains("mark-of-") || target.contains("mark-of-"), "{round} {method} {target}: {text}");
        }
    }
    // and they did see their own
    assert!(own[1..].iter().all(|seen| *seen > 60), "{own:?}");
}

#[test]
fn estimates_and_plans_tell_what_postgresql_tells() {
    // Estimates are of a table's statistics, and plans hold no rows: PostgreSQL tells both to who may read the table at all.
    let database = Database::new(&format!("{SCHEMA}{GRANTS}{RIGHTS}"));
    let served = Served::start(Config { db_plan_enabled: true, ..with_secret(&database.uri()) });
    let ask = |headers: &[(&str, &str)]| {
        let bearer = format!("Bearer {}", of(1));
        let mut all = vec![("authorization", bearer.as_str())];
        all.extend_from_slice(headers);
        all_of(&served.request("GET", "/flights?limit=1", &all))
    };
    for headers in [
        &[("prefer", "count=planned")][..],
        &[("prefer", "count=estimated")],
        &[("accept", "application/vnd.pgrst.plan+json; options=verbose")],
        &[("accept", "application/vnd.pgrst.plan+json; options=analyze")],
    ] {
        let text = ask(headers);
        assert!(!text.contains("mark-of-2") && !text.contains("mark-of-3"), "{text}");
    }
}

/// Sets whatever a session can be told, in every way that code has.
const VANDAL: &str = "
    create table api.kept (who text, at int);
    create view api.who as select current_user::text as role, current_setting('request.jwt.claims', true)::json ->> 'n' as n,
      current_setting('search_path') as path, current_setting('statement_timeout') as timeout,
      current_setting('timezone') as zone, current_setting('app.mine', true) as mine, session_user = current_user as is_login,
      (select count(*) from pg_catalog.pg_class where relname = 'mine' and relpersistence = 't' and pg_catalog.pg_table_is_visible(oid)) as temporary;
    create function api.vandalise(what int) returns int language plpgsql as $$ begin
      case what % 12
        when 0 then perform set_config('request.jwt.claims', '{\"n\": \"stolen\"}', false);
        when 1 then perform set_config('search_path', 'pg_catalog', false);
        when 2 then set session statement_timeout = '12345678';
        when 3 then set session timezone = 'Asia/Kathmandu';
        when 4 then perform set_config('app.mine', 'stolen', false);
        when 5 then create temporary table if not exists mine (id int);
        when 6 then perform set_config('row_security', 'off', false);
        when 7 then perform pg_advisory_lock_shared(7);
        when 8 then set session datestyle = 'German, DMY'; set session extra_float_digits = -15; set session bytea_output = 'escape';
        when 9 then perform set_config('role', 'none', false);
        when 10 then set session characteristics as transaction isolation level serializable;
        else raise 'broken';
      end case; return what; end $$;
";

#[test]
fn connections_that_change_hands_are_nobodys() {
    const ROLES: u64 = 5;
    let roles: String = (0..ROLES)
        .map(|at| {
            format!(
                "do $$ begin create role hand_{at} nologin; exception when duplicate_object or unique_violation then null; end $$;
                 alter role hand_{at} set statement_timeout = '{}s'; grant usage on schema api to hand_{at}; grant hand_{at} to postgres;
                 grant select on api.who, api.t to hand_{at};",
                at + 100
            )
        })
        .collect();
    let database = Database::new(&format!(
        "create schema api; create table api.t (id int primary key, owner text);
         insert into api.t select i, 'hand_' || i % {ROLES} from generate_series(1, 50) i;
         alter table api.t enable row level security; create policy own on api.t using (owner = current_user);
         {VANDAL}{GRANTS}{roles}"
    ));
    let served = Served::start(Config { db_pool: 4, ..with_secret(&database.uri()) });
    let tokens: Vec<String> =
        (0..ROLES).map(|at| token(&json!({"role": format!("hand_{at}"), "n": format!("n{at}")}))).collect();
    let requests =
        std::env::var("THALWEG_IDENTITY_REQUESTS").ok().and_then(|text| text.parse().ok()).unwrap_or(REQUESTS);
    let asked = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for client in 0..CLIENTS as u64 {
            let (asked, tokens, address) = (&asked, &tokens, served.address);
            scope.spawn(move || {
                let mut random = client.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
                let mut next = || {
                    random ^= random << 13;
                    random ^= random >> 7;
                    random ^= random << 17;
                    random
                };
                let mut client = Client::connect(address);
                while asked.fetch_add(1, Ordering::Relaxed) < requests {
                    let at = next() % (ROLES + 1);
                    let bearer = tokens.get(at as usize).map(|token| format!("Bearer {token}"));
                    let headers: Vec<(&str, &str)> =
                        bearer.iter().map(|bearer| ("authorization", bearer.as_str())).collect();
                    let role = if at < ROLES { format!("hand_{at}") } else { ROLE.to_owned() };
                    match next() % 10 {
                        // whatever comes of it: the next one must not notice
                        0 => drop(client.request("POST", &format!("/rpc/vandalise?what={}", next() % 12), &headers)),
                        1..=4 => {
                            let rows = client.request("GET", "/t?select=owner&limit=3", &headers);
                            let owners: Vec<Value> =
                                rows.json().as_array().unwrap_or_else(|| panic!("{}", rows.text())).clone();
                            assert_eq!(owners.len(), if at < ROLES { 3 } else { 0 }, "{role}: {}", rows.text());
                            assert!(owners.iter().all(|row| row["owner"] == role.as_str()), "{role}: {}", rows.text());
                        }
                        _ => {
                            let who = client.request("GET", "/who", &headers);
                            let who = who.json()[0].clone();
                            assert_eq!(who["role"], role.as_str(), "{who}");
                            assert_eq!(
                                who["n"],
                                if at < ROLES { json!(format!("n{at}")) } else { Value::Null },
                                "{who}"
                            );
                            let timeout = if at < ROLES { format!("{}s", at + 100) } else { "0".to_owned() };
                            assert_eq!(who["timeout"], timeout.as_str(), "{who}");
                            assert!(who["path"].as_str().unwrap().starts_with("\"api\""), "{who}");
                            assert_ne!(who["zone"], "Asia/Kathmandu", "{who}");
                            assert!(who["mine"].as_str().unwrap_or_default().is_empty(), "{who}");
                            assert_eq!((&who["is_login"], &who["temporary"]), (&json!(false), &json!(0)), "{who}");
                        }
                    }
                }
            });
        }
    });
}

/// A policy's function in SQL, of which no word does more than ask. What it does stands in the default of an argument.
#[test]
fn what_a_default_of_a_policys_function_keeps_is_nobody_elses() {
    let database = Database::new(&format!(
        "create schema api; create schema tenants; grant usage on schema tenants to public;
         create function tenants.mine() returns text language plpgsql as $$ begin
           if coalesce(current_setting('app.tenant', true), '') = '' then
             perform set_config('app.tenant', current_setting('request.jwt.claims', true)::json ->> 'tenant', false);
           end if;
           return current_setting('app.tenant'); end $$;
         create function tenants.is_mine(owner text, tenant text default tenants.mine()) returns boolean language sql
           stable as $$ select owner = tenant $$;
         create table api.notes (owner text); insert into api.notes values ('a'), ('b');
         alter table api.notes enable row level security;
         create policy own on api.notes using (tenants.is_mine(owner));
         {GRANTS}"
    ));
    let served = Served::start(Config { db_pool: 1, ..with_secret(&database.uri()) });
    for tenant in ["a", "b", "a"] {
        let authorization = format!("Bearer {}", token(&json!({"role": ROLE, "tenant": tenant})));
        let notes = served.request("GET", "/notes", &[("authorization", &authorization)]);
        assert_eq!(notes.json(), json!([{"owner": tenant}]));
    }
}

/// Rows that have numbers are written without code, in sessions that are not made as new behind that.
#[test]
fn the_number_of_anothers_row_cannot_be_asked_for() {
    let database = Database::new(&format!(
        "create schema api; create table api.notes (id bigserial primary key, body text);
         create function api.last() returns bigint language sql as $$ select lastval() $$;
         create function api.add() returns bigint language sql as $$
           insert into api.notes (body) values ('mine'); select lastval() $$;
         create view api.next as select nextval('api.notes_id_seq') as id;
         {GRANTS} grant insert on api.notes to test_reader; grant usage on sequence api.notes_id_seq to test_reader;"
    ));
    let served = Served::start(Config { db_pool: 1, ..with_secret(&database.uri()) });
    for id in [1, 3] {
        assert_eq!(served.send("POST", "/notes", &[], r#"{"body":"another's"}"#).status, 201);
        let last = served.send("POST", "/rpc/last", &[], "{}");
        assert!(last.text().contains("lastval is not yet defined in this session"), "{}", last.text());
        assert_eq!(served.send("POST", "/rpc/add", &[], "{}").json(), json!(id + 1));
    }
    // what is only read draws none
    assert_eq!(served.get("/next").status, 405);
    assert_eq!(database.value("select last_value from api.notes_id_seq"), "4");
}

/// A setting of the role that is its transactions', and that no session keeps.
#[test]
fn a_role_that_only_reads_writes_at_no_time() {
    let database = Database::new(&format!(
        "create schema api; create table api.notes (body text);
         do $$ begin create role only_reads nologin; exception when duplicate_object or unique_violation then null; end $$;
         grant only_reads to current_user; alter role only_reads set transaction_read_only = on;
         {GRANTS} grant usage on schema api to only_reads; grant all on api.notes to only_reads;"
    ));
    let served = Served::start(Config { db_pool: 1, ..with_secret(&database.uri()) });
    let authorization = format!("Bearer {}", token(&json!({"role": "only_reads"})));
    let headers = [("authorization", authorization.as_str())];
    for _ in 0..2 {
        assert_eq!(served.send("POST", "/notes", &headers, r#"{"body":"x"}"#).status, 405);
        assert_eq!(served.request("GET", "/notes", &headers).json(), json!([]));
    }
}

/// Whether somebody may execute a function that is inlined or folded is asked when a statement is planned, and whether they
/// may look into a schema when it is prepared: not each time that it runs.
#[test]
fn what_one_role_has_prepared_another_may_not_run() {
    let database = Database::new(&format!(
        "create schema api; create schema hidden;
         do $$ begin create role may_execute nologin; exception when duplicate_object or unique_violation then null; end $$;
         create table api.notes (id int primary key, body text); insert into api.notes values (1, 'x');
         create function api.inlined() returns int language sql as 'select 1';
         create function api.inlined_rows(n int) returns setof int stable language sql as 'select n';
         create function api.folded() returns int immutable language plpgsql as 'begin return 1; end';
         create function api.length(api.notes) returns int immutable language sql as 'select length($1.body)';
         create function api.one() returns int immutable language sql as 'select 1';
         create view api.ones as select api.one() as one;
         create table api.defaults (id int default api.one(), body text);
         create function hidden.answer() returns int stable language plpgsql as 'begin return 42; end';
         {GRANTS}
         revoke execute on all functions in schema api from public, test_reader;
         grant execute on all functions in schema api to may_execute;
         grant usage on schema api, hidden to may_execute;
         grant select on api.notes, api.ones to may_execute;
         grant select, insert on api.defaults to may_execute, test_reader;"
    ));
    let schemas = vec!["api".to_owned(), "hidden".to_owned()];
    let config = || Config { db_pool: 1, db_schemas: schemas.clone(), ..with_secret(&database.uri()) };
    let ways: [Way; 9] = [
        ("GET", "/rpc/inlined", &[], ""),
        ("POST", "/rpc/inlined", &[], "{}"),
        ("GET", "/rpc/inlined_rows?n=3", &[], ""),
        ("GET", "/rpc/folded", &[], ""),
        ("GET", "/notes?select=length", &[], ""),
        ("GET", "/notes?length=eq.1", &[], ""),
        ("GET", "/ones", &[], ""),
        ("POST", "/defaults", &[("prefer", "return=representation, tx=rollback")], r#"{"body":"x"}"#),
        ("GET", "/rpc/answer", &[("accept-profile", "hidden")], ""),
    ];
    for first_is_told in [true, false] {
        let served = Served::start(config());
        for (method, target, headers, body) in ways {
            let status_of = |role: &str| {
                let authorization = format!("Bearer {}", token(&json!({"role": role})));
                let headers = [headers, &[("authorization", &authorization)]].concat();
                served.send(method, target, &headers, body).status
            };
            // the sixth time PostgreSQL may settle on one plan for all arguments
            for at in 0..14 {
                let (role, statuses) = match (at < 7) == first_is_told {
                    true => ("may_execute", [200, 201]),
                    false => (ROLE, [401, 401]),
                };
                let status = status_of(role);
                assert!(statuses.contains(&status), "{method} {target} as {role}: {status}");
            }
        }
    }
}
