//! A schema that changes under a running server.

use crate::served::{GRANTS, Served, config, eventually};
use thalweg_server::Config;
use thalweg_testkit::Database;

const SCHEMA: &str = "
    create schema api;
    create table api.parents (id int primary key, name text);
    create table api.t (id int primary key, parent_id int references api.parents, x int);
    insert into api.parents values (1, 'p');
    insert into api.t values (1, 1, 7);
";

#[test]
fn a_notification_makes_new_tables_known() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let served = Served::database(&database.uri());
    database.execute(&format!("create table api.new (id int); {GRANTS}"));
    assert_eq!(served.get("/new").status, 404);
    for payload in ["", "reload schema"] {
        database.execute(&format!("drop table api.new; notify pgrst, '{payload}'"));
        eventually("the table is gone", || served.get("/new").json()["code"] == "PGRST205");
        database.execute(&format!("create table api.new (id int); {GRANTS} notify pgrst, '{payload}'"));
        eventually("the table is known", || served.get("/new").status == 200);
    }
}

/// Nobody notifies, and still no response has wrong values.
#[test]
fn a_changed_type_is_found_out() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let served = Served::database(&database.uri());
    for (definition, expected) in [
        ("bigint", "7"),
        ("text using x::text", "\"7\""),
        ("json using to_json(x)", "\"7\""),
        ("int using (x#>>'{}')::int", "7"),
        ("float4 using x::float4", "7"),
        ("boolean using x = 7", "true"),
    ] {
        // both prepared statements and the schema cache are as they were before
        assert_eq!(served.get("/t?select=x").status, 200);
        assert_eq!(served.get("/parents?select=t(x)").status, 200);
        database.execute(&format!("alter table api.t alter x type {definition}"));
        assert_eq!(
            served.get("/parents?select=t(x)").text(),
            format!("[{{\"t\":[{{\"x\":{expected}}}]}}]"),
            "{definition}"
        );
        assert_eq!(served.get("/t?select=x").text(), format!("[{{\"x\":{expected}}}]"), "{definition}");
    }
}

#[test]
fn a_dropped_column_is_found_out() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let served = Served::database(&database.uri());
    assert_eq!(served.get("/t").text(), r#"[{"id":1,"parent_id":1,"x":7}]"#);
    database.execute("alter table api.t drop x");
    assert_eq!(served.get("/t").text(), r#"[{"id":1,"parent_id":1}]"#);
}

/// What a connection is kept in must not outlive a role that loses its rights.
#[test]
fn revoked_rights_are_gone_at_once() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let served = Served::database(&database.uri());
    assert_eq!(served.get("/t").status, 200);
    database.execute("revoke select on api.t from test_reader");
    assert_eq!(served.get("/t").status, 401);
}

/// With the event triggers installed, nobody has to notify.
#[test]
fn event_triggers_make_changes_known() {
    for channel in ["pgrst", "it's $thalweg$ \"odd\""] {
        let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
        let config = Config { db_channel: channel.to_owned(), ..config(&database.uri()) };
        // twice: it can be run again
        database.execute(&thalweg_server::event_trigger_sql(&config));
        database.execute(&thalweg_server::event_trigger_sql(&config));
        let served = Served::start(config);
        let listening =
            "select count(*) from pg_stat_activity where query like 'LISTEN%' and datname = current_database()";
        eventually("the server listens", || database.value(listening) == "1");
        database.execute(&format!("create table api.new (id int); {GRANTS}"));
        eventually("the table is known", || served.get("/new").status == 200);
        database.execute("create function api.f() returns int language sql as 'select 1'");
        eventually("the function is known", || served.get("/rpc/f").status == 200);
        database.execute("drop table api.new");
        eventually("the table is gone", || served.get("/new").json()["code"] == "PGRST205");
    }
}
