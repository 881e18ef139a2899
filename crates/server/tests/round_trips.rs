//! How many statements and transactions a request costs, as PostgreSQL answers them.

use crate::served::{GRANTS, ROLE, Served, config};
use crate::signed::{token, with_secret};
use thalweg_server::Config;
use thalweg_testkit::{Client, Database, Proxy};

const SCHEMA: &str = "
    create schema api;
    create table api.tags (id int primary key, label text);
    create function api.add_them(a int, b int) returns int language sql immutable as $$ select a + b $$;
    create function api.make_tag(id int) returns setof api.tags language sql volatile
      as $$ insert into api.tags values (id, 'made') returning * $$;
    insert into api.tags values (1, 'one');
";
const WRITES: &str = "grant insert, update, delete on all tables in schema api to test_reader;";

/// How many statements have run in each transaction, in a recorded stream of answers.
pub(crate) fn transactions(recorded: &[u8]) -> Vec<usize> {
    let (mut at, mut statements, mut transactions) = (0, 0, Vec::new());
    while let Some(header) = recorded.get(at..at + 5) {
        statements += usize::from(header[0] == b'C');
        if header[0] == b'Z' {
            transactions.push(std::mem::take(&mut statements));
        }
        at += 1 + u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
    }
    transactions
}

#[test]
fn a_write_is_one_statement_in_one_round_trip() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}{WRITES}"));
    let (proxy, uri) = Proxy::before(&database.uri());
    let served =
        Served::start(Config { db_pool: 1, db_channel_enabled: false, db_tx_end_is_theirs: true, ..config(&uri) });
    let mut client = Client::connect(served.address);
    let many: Vec<String> = (0..100).map(|id| format!("{{\"id\":{},\"label\":\"x\"}}", 1000 + id)).collect();
    let many = format!("[{}]", many.join(","));
    for (method, target, prefer, body, statements) in [
        ("GET", "/tags?id=eq.1", "", "", 1),
        ("POST", "/tags", "", r#"{"id":9}"#, 1),
        ("POST", "/tags", "return=representation", r#"{"id":9}"#, 1),
        ("POST", "/tags", "return=headers-only", r#"{"id":9}"#, 1),
        ("POST", "/tags", "", &many, 1),
        ("POST", "/tags", "return=representation", &many, 1),
        ("POST", "/tags", "resolution=ignore-duplicates", &many, 1),
        // how many of them were there already is asked for
        ("POST", "/tags", "resolution=merge-duplicates", &many, 2),
        ("PATCH", "/tags?id=eq.1", "", r#"{"label":"changed"}"#, 1),
        ("DELETE", "/tags?id=eq.9", "count=exact", "", 1),
        // what is checked before it may stay is still one transaction
        ("PUT", "/tags?id=eq.9", "", r#"{"id":9,"label":"put"}"#, 1),
        ("PATCH", "/tags?id=eq.1", "handling=strict, max-affected=5", r#"{"label":"changed"}"#, 1),
        // deferred constraints, and the rollback
        ("PATCH", "/tags?id=eq.1", "tx=rollback", r#"{"label":"changed"}"#, 3),
    ] {
        // the first prepares its statements and leaves the session as it wants it
        for round in 0..3 {
            database.execute("delete from api.tags where id > 1");
            proxy.take_recorded();
            let response = client.request_with(method, target, &[("Prefer", prefer)], body.as_bytes());
            assert!(response.status < 300, "{method} {target}: {}", response.text());
            if round > 0 {
                let counted = transactions(&proxy.take_recorded());
                assert_eq!(counted, [statements], "{method} {target} with {prefer:?}");
            }
        }
    }
}

/// Code that the database has of its own is told everything in its own transaction. Behind it, and nobody waits for that, the
/// session is made as new.
#[test]
fn a_call_is_two_statements_and_leaves_a_session_as_new() {
    let views = "create function api.nothing() returns int language plpgsql as 'begin return 1; end';
                 create view api.coded as select id, api.nothing() from api.tags;";
    let database = Database::new(&format!("{SCHEMA}{views}{GRANTS}{WRITES}"));
    let (proxy, uri) = Proxy::before(&database.uri());
    let served = Served::start(Config { db_pool: 1, db_channel_enabled: false, ..config(&uri) });
    let mut client = Client::connect(served.address);
    for (method, target, body) in [
        ("POST", "/rpc/add_them", r#"{"a":1,"b":2}"#),
        ("POST", "/rpc/make_tag", r#"{"id":9}"#),
        ("GET", "/rpc/add_them?a=1&b=2", ""),
        ("GET", "/coded", ""),
    ] {
        for round in 0..3 {
            database.execute("delete from api.tags where id > 1");
            // with one connection, the session is as new before this is answered
            assert_eq!(client.request("GET", "/tags?id=eq.1", &[]).status, 200);
            proxy.take_recorded();
            let response = client.request_with(method, target, &[], body.as_bytes());
            assert!(response.status < 300, "{method} {target}: {}", response.text());
            assert_eq!(client.request("GET", "/tags?id=eq.1", &[]).status, 200);
            if round > 0 {
                // the call; what makes the session as new; the row, and the identity before it
                assert_eq!(transactions(&proxy.take_recorded()), [2, 8, 2], "{method} {target}");
            }
        }
    }
}

/// The settings of a role are kept with it, as PostgREST's manual recommends them.
#[test]
fn a_role_with_settings_costs_no_statement_more() {
    let of_role = "create role trips_reader nologin; grant trips_reader to current_user; grant usage on schema api to trips_reader;
                   grant select on all tables in schema api to trips_reader;
                   alter role trips_reader set statement_timeout = '17s';
                   create function api.timeout() returns text language sql stable as $$ select current_setting('statement_timeout') $$;";
    let database = Database::new(&format!("{SCHEMA}{GRANTS}{of_role}"));
    let (proxy, uri) = Proxy::before(&database.uri());
    let served = Served::start(Config {
        db_pool: 1,
        db_channel_enabled: false,
        db_anon_role: Some("trips_reader".to_owned()),
        ..config(&uri)
    });
    let mut client = Client::connect(served.address);
    for round in 0..3 {
        proxy.take_recorded();
        assert_eq!(client.request("GET", "/tags?id=eq.1", &[]).status, 200);
        if round > 0 {
            assert_eq!(transactions(&proxy.take_recorded()), [1]);
        }
    }
    // what is set for a transaction alone takes back what was kept, and the other way round
    for _ in 0..2 {
        assert_eq!(client.request("GET", "/rpc/timeout", &[]).text(), "\"17s\"");
        assert_eq!(client.request("GET", "/tags?id=eq.1", &[("Prefer", "timezone=Asia/Tokyo")]).status, 200);
        assert_eq!(client.request("GET", "/tags?id=eq.1", &[]).status, 200);
    }
    drop(served);
    database.execute("drop owned by trips_reader; drop role trips_reader");
}

/// Who a token is for is checked without the database. Where a policy reads its claims, they are said in the same round trip.
#[test]
fn a_token_costs_no_round_trip() {
    let schema = "create table api.own (id int primary key, pilot_id int); insert into api.own values (1, 7), (2, 8);
                  alter table api.own enable row level security;
                  create policy own on api.own using (pilot_id = (current_setting('request.jwt.claims', true)::json ->> 'pilot_id')::int);";
    let database = Database::new(&format!("{SCHEMA}{schema}{GRANTS}"));
    let (proxy, uri) = Proxy::before(&database.uri());
    let served = Served::start(Config { db_pool: 1, db_channel_enabled: false, ..with_secret(&uri) });
    let mut client = Client::connect(served.address);
    let bearer = format!("Bearer {}", token(&serde_json::json!({"role": ROLE, "pilot_id": 7})));
    let mut ask = |target: &str| client.request("GET", target, &[("authorization", &bearer)]).text().to_owned();
    for round in 0..3 {
        proxy.take_recorded();
        assert_eq!(ask("/tags?id=eq.1&select=id"), r#"[{"id":1}]"#);
        if round > 0 {
            assert_eq!(transactions(&proxy.take_recorded()), [1]);
        }
    }
    for round in 0..3 {
        assert_eq!(ask("/tags?id=eq.1&select=id"), r#"[{"id":1}]"#);
        proxy.take_recorded();
        assert_eq!(ask("/own?select=id"), r#"[{"id":1}]"#);
        assert_eq!(ask("/tags?id=eq.1&select=id"), r#"[{"id":1}]"#);
        if round > 0 {
            // what asks for settings changes none: the row behind it meets the identity that was there before
            assert_eq!(transactions(&proxy.take_recorded()), [2, 1]);
        }
    }
}

/// A function that checks a token's session before every request runs in the transaction of the
/// request, so that it costs no round trip.
#[test]
fn a_session_that_is_looked_up_costs_no_round_trip() {
    let schema = "create schema private; create table private.sessions (id int primary key);
                  insert into private.sessions values (1);
                  create function api.check_nothing() returns void language plpgsql as 'begin end';
                  create function api.check_session() returns void language plpgsql security definer as $$ begin
                    perform from private.sessions
                      where id = (nullif(current_setting('request.jwt.claims', true), '')::json ->> 'session')::int;
                    if not found then raise sqlstate 'PT401' using message = 'ended'; end if;
                  end $$;";
    let database = Database::new(&format!("{SCHEMA}{schema}{GRANTS}"));
    let (proxy, uri) = Proxy::before(&database.uri());
    let bearer = format!("Bearer {}", token(&serde_json::json!({"role": ROLE, "session": 1})));
    let costs = |function: &str| {
        let pre_request = Some((Some("api".to_owned()), function.to_owned()));
        let config = Config { db_pool: 1, db_channel_enabled: false, db_pre_request: pre_request, ..with_secret(&uri) };
        let served = Served::start(config);
        let mut client = Client::connect(served.address);
        let mut ask = || client.request("GET", "/tags?id=eq.1&select=id", &[("authorization", &bearer)]).status;
        assert_eq!((ask(), ask()), (200, 200));
        proxy.take_recorded();
        assert_eq!((ask(), ask()), (200, 200));
        transactions(&proxy.take_recorded()).len()
    };
    let (with, without) = (costs("check_session"), costs("check_nothing"));
    // Two requests, and the statements that reset the session between them and, perhaps, after
    // them.
    assert!(with.abs_diff(without) <= 1 && (3..=5).contains(&with), "{with} {without}");
    database.execute("delete from private.sessions");
    let pre_request = Some((Some("api".to_owned()), "check_session".to_owned()));
    let served = Served::start(Config { db_pre_request: pre_request, ..with_secret(&database.uri()) });
    assert_eq!(served.request("GET", "/tags", &[("authorization", &bearer)]).status, 401);
}
