//! Large results, clients that go away, databases that do.

use crate::served::{GRANTS, Served, config, eventually};
use std::time::Duration;
use thalweg_server::Config;
use thalweg_testkit::{Client, Database};

const SCHEMA: &str = "
    create schema api;
    create view api.numbers as select i as id, repeat('x', 100) as filler from generate_series(1, 300000) i;
    create view api.endless as select generate_series(1, 2000000000) as id, repeat('x', 1000) as filler;
    create view api.breaks as select 1 / (100000 - i) as x, repeat('x', 100) as filler from generate_series(1, 200000) i;
    create view api.slow as select pg_sleep(60)::text as x;
";

fn running(database: &Database) -> String {
    database.value(&format!(
        "select count(*) from pg_stat_activity where datname = '{}' and state = 'active' and pid <> pg_backend_pid()",
        database.name()
    ))
}

#[test]
fn a_large_result_streams_and_is_whole() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let served = Served::database(&database.uri());
    let response = served.get("/numbers?order=id");
    assert!(response.whole);
    assert_eq!(response.header("transfer-encoding"), Some("chunked"));
    // how many rows will come is not known when the head is sent
    assert_eq!(response.header("content-range"), None);
    let rows = response.json();
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 300_000);
    assert!(rows.iter().zip(1..).all(|(row, id)| row["id"] == id));
    let counted = served.request("GET", "/numbers?order=id&offset=10", &[("Prefer", "count=exact")]);
    assert_eq!((counted.status, counted.header("content-range")), (206, Some("10-299999/300000")));
    let csv = served.request("GET", "/numbers?select=id&order=id", &[("Accept", "text/csv")]);
    assert_eq!(csv.text().lines().count(), 300_001);
}

#[test]
fn an_error_after_the_head_tears_the_response() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let served = Served::database(&database.uri());
    let response = served.get("/breaks");
    assert_eq!(response.status, 200);
    assert!(!response.whole, "a torn response looks whole");
    assert_eq!(served.get("/numbers?limit=1").status, 200);
    // early enough, it is an error like any other
    let response = served.get("/breaks?x=gt.5");
    assert_eq!((response.status, response.json()["code"].as_str()), (400, Some("22012")));
}

#[test]
fn a_client_that_goes_away_cancels_its_query() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let served = Served::start(Config { db_pool: 2, ..config(&database.uri()) });
    for target in ["/slow", "/endless"] {
        let mut client = Client::connect(served.address);
        client.send("GET", target, &[]);
        eventually("the query runs", || running(&database) == "1");
        drop(client);
        eventually("the query is cancelled", || running(&database) == "0");
    }
    // both connections are free again
    assert_eq!(served.get("/numbers?limit=1").status, 200);
}

#[test]
fn a_client_that_stops_reading_loses_its_connection() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let stall = Duration::from_millis(500);
    let served = Served::start(Config { db_pool: 1, client_stall_timeout: stall, ..config(&database.uri()) });
    let mut client = Client::connect(served.address);
    client.send("GET", "/endless", &[]);
    eventually("the query runs", || running(&database) == "1");
    eventually("the query is cancelled", || running(&database) == "0");
    assert_eq!(served.get("/numbers?limit=1").status, 200);
    drop(client);
}

#[test]
fn head_makes_no_rows_travel() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let served = Served::database(&database.uri());
    let response = served.request("HEAD", "/numbers?order=id&limit=1000", &[("Prefer", "count=exact")]);
    assert_eq!((response.status, response.header("content-range")), (206, Some("0-999/300000")));
    assert_eq!(response.header("content-length"), None);
}
