//! A schema that changes under a running server.

use crate::served::{GRANTS, Served, eventually};
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
