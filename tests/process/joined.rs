//! The example of Rust code beside pages and API, as it is run.

#[path = "../../examples/join.rs"]
#[allow(dead_code, reason = "a test brings its own database")]
mod join;

use serde_json::json;
use std::net::SocketAddr;
use thalweg_server::Config;
use thalweg_testkit::{Client, Database};
use tokio::sync::oneshot;

/// Of Anna, a pilot, signed with the example's secret. It stands in docs/rust.md.
const ANNA: &str =
    "Bearer eyJhbGciOiJIUzI1NiJ9.eyJyb2xlIjoicGlsb3QiLCJzdWIiOiJhbm5hIn0.YApD_a1t1oWmn5rDuzZeuuMyzVGmFtzSJjjbllf5cEk";

/// Lets the example run while something is asked of it.
fn while_it_runs(database: &Database, ask: impl FnOnce(SocketAddr) + Send + 'static) {
    let file = format!("{}/examples/join/thalweg.conf", env!("CARGO_MANIFEST_DIR"));
    let config = Config { db_uri: Some(database.uri()), server_port: 0, ..Config::load(Some(file.as_ref())).unwrap() };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let server = join::start(config).await.unwrap();
        server.loaded().await.unwrap();
        let address = server.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let asking = tokio::task::spawn_blocking(move || {
            ask(address);
            drop(stop);
        });
        server.serve(async { _ = stopped.await }).await.unwrap();
        asking.await.unwrap();
    });
}

#[test]
fn the_example_does_what_it_says() {
    let database = Database::new("");
    while_it_runs(&database, |address| {
        let mut client = Client::connect(address);
        let mut ask = |method: &str, target: &str, token: &str, body: &str| {
            let headers = [("authorization", token), ("content-type", "text/plain")];
            client.request_with(method, target, &headers[usize::from(token.is_empty())..], body.as_bytes())
        };
        let page = ask("GET", "/", "", "");
        assert!(
            page.text().contains("Fiesch &amp; Bettmeralp: 11155 ft at the top, 5577 ft climbed"),
            "{}",
            page.text()
        );
        assert!(!page.text().contains("Bassano"), "{}", page.text());
        let badge = ask("GET", "/own/badges/1", "", "");
        assert_eq!((badge.status, badge.header("content-type")), (200, Some("image/svg+xml")));
        assert!(badge.text().contains(">3400 m over Fiesch &amp; Bettmeralp<"), "{}", badge.text());
        // what nobody may see has no badge, and what is no number no flight
        assert_eq!(
            (ask("GET", "/own/badges/2", "", "").status, ask("GET", "/own/badges/x", "", "").status),
            (406, 400)
        );
        assert_eq!(ask("POST", "/own/uploads/Lauterbrunnen", "", "1600\n2100\n").status, 401);
        let added = ask("POST", "/own/uploads/Lauterbrunnen", ANNA, "1600\n2100\nnothing\n1900\n");
        assert_eq!((added.status, added.json()), (201, json!([{ "id": 3, "top_m": 2100 }])));
        assert!(ask("GET", "/", ANNA, "").text().contains("Lauterbrunnen: 6890 ft at the top, 1640 ft climbed"));
        assert!(!ask("GET", "/", "", "").text().contains("Lauterbrunnen"));
        assert_eq!(ask("GET", "/own/badges/3", "", "").status, 406);
        assert_eq!(ask("GET", "/own/badges/3", ANNA, "").status, 200);
        assert_eq!(ask("GET", "/api/flights?select=pilot&id=eq.3", ANNA, "").json(), json!([{ "pilot": "anna" }]));
    });
}
