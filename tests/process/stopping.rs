//! How the program ends, and what then ends with it.

use crate::program::Program;
use nix::sys::signal::Signal;
use std::time::Duration;
use thalweg_testkit::{Client, Database};

/// Requests in progress are finished when the program is told to stop.
#[test]
fn stopping_lets_requests_finish() {
    let database = Database::new("create schema api; create view api.slow as select 1 as id, pg_sleep(1)::text as s;");
    let environment = [
        ("PGRST_DB_URI", database.uri()),
        ("PGRST_DB_SCHEMAS", "api".to_owned()),
        ("PGRST_DB_ANON_ROLE", "postgres".to_owned()),
        ("PGRST_SERVER_PORT", "0".to_owned()),
        ("PGRST_SERVER_HOST", "127.0.0.1".to_owned()),
    ];
    let environment: Vec<(&str, &str)> = environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let mut program = Program::start(&["serve"], &environment);
    let mut client = Client::connect(program.address());
    client.send("GET", "/slow?select=id", &[]);
    std::thread::sleep(Duration::from_millis(300));
    program.signal(Signal::SIGTERM);
    let response = client.receive(false);
    assert_eq!((response.status, response.text()), (200, r#"[{"id":1}]"#));
    assert!(program.wait().success());
}
