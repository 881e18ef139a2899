//! Databases that are away, pools that are full.

use crate::served::{GRANTS, Served, config, eventually};
use std::time::Duration;
use thalweg_server::Config;
use thalweg_testkit::{Client, Database, Proxy};

const SCHEMA: &str = "
    create schema api;
    create table api.t as select 1 as id;
    create view api.slow as select 1 as id, pg_sleep(3)::text as x;
";

#[test]
fn a_database_that_goes_and_returns() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let (proxy, uri) = Proxy::before(&database.uri());
    let served = Served::database(&uri);
    assert_eq!(served.get("/t").text(), r#"[{"id":1}]"#);
    proxy.close();
    for _ in 0..3 {
        let response = served.get("/t");
        let code = response.json()["code"].as_str().unwrap_or_default().to_owned();
        assert_eq!(response.status, 503, "{code}");
        assert!(["PGRST000", "PGRST001"].contains(&code.as_str()), "{code}");
        assert!(response.header("retry-after").is_some());
    }
    proxy.open();
    eventually("the server is back", || served.get("/t").status == 200);
}

#[test]
fn a_database_that_is_away_at_the_start() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let (proxy, uri) = Proxy::before(&database.uri());
    proxy.close();
    let served = Served::database(&uri);
    let response = served.get("/t");
    assert_eq!((response.status, response.json()["code"].as_str()), (503, Some("PGRST002")));
    assert!(response.header("retry-after").is_some());
    proxy.open();
    eventually("the server is back", || served.get("/t").status == 200);
}

#[test]
fn sessions_that_are_terminated_are_replaced() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let served = Served::database(&database.uri());
    assert_eq!(served.get("/t").status, 200);
    database.execute(&format!(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = '{}' and pid <> pg_backend_pid()",
        database.name()
    ));
    std::thread::sleep(Duration::from_millis(200));
    // idle connections that were closed meanwhile are found out before they are used
    assert_eq!(served.get("/t").status, 200);
}

#[test]
fn a_pool_that_is_full() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let served = Served::start(Config {
        db_pool: 1,
        db_pool_acquisition_timeout: Duration::from_secs(1),
        ..config(&database.uri())
    });
    let mut busy = Client::connect(served.address);
    busy.send("GET", "/slow", &[]);
    std::thread::sleep(Duration::from_millis(500));
    let response = served.get("/t");
    assert_eq!((response.status, response.json()["code"].as_str()), (504, Some("PGRST003")));
    // what needs no connection is answered all the same
    assert_eq!(served.request("OPTIONS", "/t", &[]).status, 200);
    assert_eq!(busy.receive(false).status, 200);
    assert_eq!(served.get("/t").status, 200);
}
