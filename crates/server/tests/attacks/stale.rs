//! Schemas that have changed since the schema cache was loaded.

use crate::served::{GRANTS, Served, config, eventually};
use serde_json::json;
use std::time::Duration;
use thalweg_server::Config;
use thalweg_testkit::{Database, Proxy};

const SCHEMA: &str = "
    create schema api;
    create table api.t (id int primary key, path text);
    create table api.secrets (id int primary key, tenant text);
    insert into api.secrets values (1, 'a'), (2, 'b');
    create function public.note() returns trigger language plpgsql as $$ begin
      new.path := current_setting('request.path', true); return new; end $$;";
const WRITES: &str = "grant insert, update, delete on all tables in schema api to test_reader;";

/// From the moment of a notification, and however long the load takes, nothing relies on what the schema cache says.
#[test]
fn a_trigger_that_has_been_notified_of_is_told_before_it_is_known() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}{WRITES}"));
    let served = Served::database(&database.uri());
    assert_eq!(served.send("POST", "/t", &[], r#"{"id":1}"#).status, 201);
    assert_eq!(database.value("select coalesce(path, 'none') from api.t where id = 1"), "none");
    std::thread::scope(|scope| {
        // the load waits for this
        let holding = scope.spawn(|| {
            database
                .try_execute("begin; lock table pg_description in access exclusive mode; select pg_sleep(600); commit");
        });
        eventually("the lock is held", || {
            database.value("select count(*) from pg_locks where mode = 'AccessExclusiveLock' and granted and relation = 'pg_description'::regclass") == "1"
        });
        database.execute(
            "create trigger note before insert on api.t for each row execute function public.note(); notify pgrst",
        );
        // the notification is on its way; the load that it causes waits for as long as this takes
        let mut id = 1;
        let is_told = |id: u32| database.value(&format!("select path from api.t where id = {id}")) == "/t";
        while !is_told(id) && id < 10_000 {
            id += 1;
            assert_eq!(served.send("POST", "/t", &[], format!("{{\"id\":{id}}}")).status, 201);
        }
        let waits = !holding.is_finished();
        database.execute("select pg_terminate_backend(pid) from pg_locks where mode = 'AccessExclusiveLock' and relation = 'pg_description'::regclass");
        assert!(waits && is_told(id), "the trigger saw no request while the load waited");
    });
}

/// Row-level security that nobody has notified of, with a policy that takes absent settings for all.
#[test]
fn row_level_security_is_noticed_at_once() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}{WRITES}"));
    let served = Served::start(Config { db_channel_enabled: false, ..config(&database.uri()) });
    assert_eq!(served.get("/secrets?select=id").json(), json!([{"id": 1}, {"id": 2}]));
    database.execute(
        "create policy own on api.secrets using (coalesce(current_setting('request.headers', true)::json ->> 'x-tenant', tenant) = tenant
           and current_setting('request.path', true) is not null);
         alter table api.secrets enable row level security",
    );
    let of_tenant = served.request("GET", "/secrets?select=id", &[("X-Tenant", "b")]);
    assert_eq!(of_tenant.json(), json!([{"id": 2}]));
    database.execute("alter table api.secrets disable row level security; notify pgrst");
}

/// The same for writes, one row and many, none of which is there twice or by another's leave.
#[test]
fn writes_meet_policies_that_are_new() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}{WRITES}"));
    let served = Served::start(Config { db_channel_enabled: false, ..config(&database.uri()) });
    let write = |body: &str, tenant: &str| served.send("POST", "/secrets", &[("X-Tenant", tenant)], body).status;
    assert_eq!(write(r#"{"id":3,"tenant":"a"}"#, "a"), 201);
    database.execute(
        "create policy own on api.secrets using (true)
           with check (tenant = current_setting('request.headers', true)::json ->> 'x-tenant');
         alter table api.secrets enable row level security",
    );
    assert_eq!(write(r#"{"id":4,"tenant":"a"}"#, "b"), 401);
    assert_eq!(write(r#"[{"id":5,"tenant":"a"},{"id":6,"tenant":"a"}]"#, "a"), 201);
    assert_eq!(database.value("select string_agg(id::text, ' ' order by id) from api.secrets"), "1 2 3 5 6");
}

/// A function that runs before every request may write, and so hid that nothing of the request itself had been written.
#[test]
fn a_function_before_every_request_hides_no_change() {
    let function = "create function api.check() returns void language plpgsql as $$ begin end $$;";
    let database = Database::new(&format!("{SCHEMA}{function}{GRANTS}{WRITES}"));
    let served = Served::start(Config {
        db_channel_enabled: false,
        db_pre_request: Some((Some("api".to_owned()), "check".to_owned())),
        ..config(&database.uri())
    });
    assert_eq!(served.get("/secrets?id=eq.1").status, 200);
    database.execute("alter table api.secrets alter id type bigint");
    for _ in 0..3 {
        assert_eq!(served.get("/secrets?id=eq.1").json(), json!([{"id": 1, "tenant": "a"}]));
    }
    database.execute("alter table api.secrets rename tenant to owner");
    assert_eq!(served.get("/secrets?id=eq.1").json(), json!([{"id": 1, "owner": "a"}]));
}

/// The bytes of a file were read as a number by the column that had become one.
#[test]
fn a_file_is_never_read_as_something_else() {
    let database = Database::new(&format!(
        "create schema api; create table api.files (id int primary key, content bytea);{GRANTS}{WRITES}"
    ));
    let served = Served::start(Config { db_channel_enabled: false, ..config(&database.uri()) });
    let part = |name: &str, more: &str, value: &str| {
        format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"{more}\r\n\r\n{value}\r\n")
    };
    let upload = |id: &str| {
        let body =
            [part("id", "", id), part("content", "; filename=\"f\"", "\0\0\u{1}\u{2}"), "--b--\r\n".into()].concat();
        served.send("POST", "/files", &[("Content-Type", "multipart/form-data; boundary=b")], body)
    };
    assert_eq!(upload("1").status, 201);
    database.execute("alter table api.files alter content type int using 0");
    let response = upload("2");
    assert_eq!((response.status, response.json()["code"].as_str()), (400, Some("22021")));
    assert_eq!(database.value("select count(*) from api.files"), "1");
}

/// What a load waited for, and every stale read with it: somebody else's transaction that changes another relation.
#[test]
fn a_load_waits_for_nobodys_lock() {
    let database = Database::new(&format!(
        "create schema api;
         create table api.big (id int primary key, doubled int generated always as (id * 2) stored, n int default 1);
         create view api.over as select id from api.big;
         create view api.over_over as select id from api.over;
         create materialized view api.kept as select id from api.big;
         create table api.t (id int primary key, x int default 7);
         insert into api.t values (1);
         create table public.go ();
         {GRANTS}"
    ));
    let served = Served::start(Config { db_channel_enabled: false, ..config(&database.uri()) });
    let writable = |view: &str| served.request("OPTIONS", view, &[]).header("allow").unwrap().contains("POST");
    assert!(writable("/over") && writable("/over_over"));
    std::thread::scope(|scope| {
        let changing = scope.spawn(|| {
            database.execute(
                "begin;
                 alter table api.big add column late int;
                 drop materialized view api.kept;
                 create or replace view api.over as select distinct id from api.big;
                 do $$ begin while not exists(select from public.go) and clock_timestamp() < now() + interval '90 s' loop perform pg_sleep(0.01); end loop; end $$;
                 commit",
            );
        });
        let locked = "select count(*) from pg_locks where mode = 'AccessExclusiveLock' and granted
                      and relation = 'api.over'::regclass";
        eventually("the relations are locked", || database.value(locked) == "1");
        for (definition, expected) in [("text using x::text", json!("7")), ("int using x::int", json!(7))] {
            database.execute(&format!("alter table api.t alter x drop default, alter x type {definition}"));
            assert_eq!(served.get("/t?select=x").json(), json!([{"x": expected}]));
        }
        // what cannot be looked at is as it was
        assert!(writable("/over") && writable("/over_over"));
        assert!(!changing.is_finished());
        database.execute("insert into public.go default values");
        changing.join().unwrap();
    });
    // nobody has told that the transaction has ended
    eventually("the views are looked at again", || !writable("/over") && !writable("/over_over"));
}

/// A load that takes for ever: who needs it is told to come again, and nobody else waits.
#[test]
fn nobody_waits_for_ever_for_a_load() {
    let slow = "create view api.slow as select 1 as id, pg_sleep(0.5)::text as x;";
    let database = Database::new(&format!("{SCHEMA}{slow}{GRANTS}"));
    let (proxy, uri) = Proxy::before(&database.uri());
    let uri = format!("{uri}&connect_timeout=600");
    let served = Served::start(Config { db_channel_enabled: false, db_pool: 4, ..config(&uri) });
    assert_eq!(served.get("/secrets?select=id&order=tenant").json(), json!([{"id": 1}, {"id": 2}]));
    // as many connections are open as may be: one will be lost
    std::thread::scope(|scope| (0..4).for_each(|_| _ = scope.spawn(|| assert_eq!(served.get("/slow").status, 200))));
    proxy.set_silent(true);
    database.execute("alter table api.secrets alter id type text");
    std::thread::scope(|scope| {
        let stale = scope.spawn(|| served.get("/secrets?select=id&order=tenant"));
        let mut others = 0;
        while !stale.is_finished() {
            assert_eq!(served.get("/t").status, 200);
            others += 1;
            // the session is made as new behind each answer
            std::thread::sleep(Duration::from_millis(50));
        }
        let stale = stale.join().unwrap();
        assert_eq!((stale.status, stale.json()["code"].as_str()), (503, Some("PGRST002")), "{}", stale.text());
        assert!(others > 1, "{others} others were answered");
        assert_eq!(stale.header("retry-after"), Some("1"));
    });
    proxy.set_silent(false);
    proxy.close();
    proxy.open();
    eventually("the schema cache is loaded", || {
        let response = served.get("/secrets?select=id&order=tenant");
        response.status == 200 && response.json() == json!([{"id": "1"}, {"id": "2"}])
    });
}
