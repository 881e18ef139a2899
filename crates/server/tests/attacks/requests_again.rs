//! Requests whose statements the server might be led to send again.

use crate::served::{GRANTS, Served};
use thalweg_testkit::Database;

/// A column's type changes, and nobody notifies: the result of the first write has another type than the plan expects.
/// The write had been committed by then, and was sent again after the reload.
#[test]
fn a_changed_column_type_doubles_no_row() {
    let database = Database::new(&format!(
        "create schema api; create table api.t (n int);{GRANTS} grant insert, delete on api.t to test_reader;"
    ));
    let served = Served::database(&database.uri());
    database.execute("alter table api.t alter n type bigint");
    let response = served.send("POST", "/t", &[("Prefer", "return=representation")], r#"{"n":1}"#);
    assert_eq!((response.status, response.text()), (201, r#"[{"n":1}]"#));
    assert_eq!(database.value("select count(*) from api.t"), "1");
    database.execute("alter table api.t alter n type int");
    let response = served.send("DELETE", "/t", &[("Prefer", "return=representation")], "");
    assert_eq!((response.status, response.text()), (200, r#"[{"n":1}]"#));
}

/// A function whose result has another type than the schema cache knows ran once to find that out, and once more.
#[test]
fn a_function_made_anew_runs_once() {
    let database = Database::new(&format!(
        "create schema api; create table api.runs (n int);
         create function api.run() returns int language sql as 'insert into api.runs values (1) returning n';
         {GRANTS} grant insert, select on api.runs to test_reader;"
    ));
    let served = Served::database(&database.uri());
    assert_eq!(served.send("POST", "/rpc/run", &[], "").text(), "1");
    database.execute(
        "drop function api.run();
         create function api.run() returns text language sql as $$ insert into api.runs values (1) returning n::text $$",
    );
    assert_eq!(served.send("POST", "/rpc/run", &[], "").text(), "\"1\"");
    assert_eq!(database.value("select count(*) from api.runs"), "2");
}

/// What is embedded in a row that was written says what it is only as it is read.
#[test]
fn a_changed_type_within_what_is_returned_doubles_no_row() {
    let database = Database::new(&format!(
        "create schema api; create table api.parents (id int primary key, n int);
         create table api.children (id int primary key, parent_id int references api.parents);
         insert into api.parents values (1, 5);
         {GRANTS} grant insert on api.children to test_reader;"
    ));
    let served = Served::database(&database.uri());
    let write = |id: u32| {
        let body = format!("{{\"id\":{id},\"parent_id\":1}}");
        served.send("POST", "/children?select=id,parents(n)", &[("Prefer", "return=representation")], body)
    };
    assert_eq!(write(1).text(), r#"[{"id":1,"parents":{"n":5}}]"#);
    database.execute("alter table api.parents alter n type bigint");
    let response = write(2);
    assert_eq!((response.status, response.text()), (201, r#"[{"id":2,"parents":{"n":5}}]"#));
    assert_eq!(database.value("select count(*) from api.children"), "2");
}

/// Errors by which PostgreSQL says that a statement is not prepared, raised by code that has already done something.
#[test]
fn what_code_raises_does_not_run_it_again() {
    for code in ["26000", "42P05", "0A000", "42P01", "42703"] {
        let database = Database::new(&format!(
            "create schema api; create sequence api.runs;
             create function api.run() returns int language plpgsql as $$ begin
               perform nextval('api.runs'); raise exception 'again' using errcode = '{code}'; end $$;
             {GRANTS} grant usage on sequence api.runs to test_reader;"
        ));
        let served = Served::database(&database.uri());
        assert_eq!(served.send("POST", "/rpc/run", &[], "").json()["code"], code);
        assert_eq!(database.value("select last_value from api.runs"), "1", "{code}");
    }
}
