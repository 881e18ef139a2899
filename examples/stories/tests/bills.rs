//! Bills say what requests cost: in a program of its own, since all of its allocations are compared.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::Request;
use axum::routing::{get, post};
use serde_json::Value;
use std::alloc::System;
use std::hint::black_box;
use std::time::Duration;
use thalweg_gauge::{Counts, Wait};
use tower_service::Service;

#[global_allocator]
static ALLOCATOR: thalweg_gauge::CountingAllocator<System> = thalweg_gauge::CountingAllocator(System);

const REQUESTS: usize = 10_000;
/// How often each handler allocates: two hundred times what its client does besides.
const ALLOCATIONS: usize = 5000;
const BYTES: usize = 64;

fn allocate(times: usize) {
    for _ in 0..times {
        drop(black_box(Vec::<u8>::with_capacity(BYTES)));
    }
}

/// Allocates in three turns of its own and in a task, on whatever threads these are.
async fn busy() -> &'static str {
    let quarter = ALLOCATIONS / 4;
    let beside = tokio::spawn(thalweg_gauge::billed(async move {
        tokio::task::yield_now().await;
        allocate(quarter);
    }));
    for _ in 0..3 {
        allocate(quarter);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    beside.await.unwrap();
    "done"
}

async fn staged() -> Vec<u8> {
    let stage = thalweg_gauge::stage("ask");
    thalweg_gauge::waiting(Wait::Database, tokio::time::sleep(Duration::from_millis(20))).await;
    drop(stage);
    thalweg_gauge::rows(3);
    let held = vec![1_u8; 1024 * 1024];
    black_box(&held);
    drop(held);
    vec![b'x'; 1000]
}

async fn panics() -> &'static str {
    tokio::task::yield_now().await;
    panic!("as it is meant to")
}

async fn streamed(body: Bytes) -> Body {
    Body::new(http_body_util::Full::new(body))
}

async fn never() -> &'static str {
    std::future::pending().await
}

fn app() -> Router {
    let routes = Router::new()
        .route("/busy", get(busy))
        .route("/staged", get(staged))
        .route("/panics", get(panics))
        .route("/never", get(never))
        .route("/things/{id}", post(streamed));
    routes.layer(thalweg_gauge::layer().server_timing(true))
}

async fn route(name: &str) -> Value {
    let name: String = name.replace(' ', "%20").replace('{', "%7B").replace('}', "%7D");
    let answer = thalweg_gauge::admin::answer("/route", &format!("name={name}")).await;
    assert_eq!(answer.status(), 200, "{name}");
    let body = http_body_util::BodyExt::collect(answer.into_body()).await.unwrap().to_bytes();
    serde_json::from_slice(&body).unwrap()
}

async fn ask(mut app: Router, method: &str, path: &str, body: Vec<u8>) -> axum::response::Response {
    let request = Request::builder().method(method).uri(path).body(Body::from(body)).unwrap();
    app.call(request).await.unwrap()
}

async fn read(answer: axum::response::Response) -> Bytes {
    http_body_util::BodyExt::collect(answer.into_body()).await.unwrap().to_bytes()
}

#[test]
fn bills_are_right() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let app = app();
        each_figure(&app).await;
        ten_thousand_at_once(&app).await;
    });
}

async fn each_figure(app: &Router) {
    let answer = ask(app.clone(), "GET", "/staged", vec![]).await;
    let timing = answer.headers()["server-timing"].to_str().unwrap().to_owned();
    assert!(
        timing.contains("ask;dur=") && timing.contains("wait-database;dur=") && timing.contains("allocations;desc="),
        "{timing}"
    );
    assert_eq!(read(answer).await.len(), 1000);
    let staged = route("GET /staged").await;
    let bill = &staged["worst"][0];
    assert!(bill["stages_ms"]["ask"].as_f64().unwrap() >= 20.0, "{bill}");
    let database = bill["waits"]["database_ms"].as_f64().unwrap() + bill["waits"]["runnable_ms"].as_f64().unwrap();
    assert!(database >= 19.0 && bill["waits"]["io_ms"].as_f64().unwrap() < 19.0, "{bill}");
    assert_eq!(
        (&bill["rows"], &bill["bytes_out"], &bill["status"]),
        (&Value::from(3), &Value::from(1000), &Value::from(200))
    );
    let peak = bill["peak_bytes"].as_u64().unwrap();
    assert!((1024 * 1024..1024 * 1024 + 100_000).contains(&peak), "{bill}");

    // the route is what was matched, and a body is counted in both directions, to its last byte
    let body = vec![b'y'; 300_000];
    for id in 0..3 {
        let answer = ask(app.clone(), "POST", &format!("/things/{id}"), body.clone()).await;
        assert_eq!(route("POST /things/{id}").await["in_flight"], 1, "its body is still to be read");
        assert_eq!(read(answer).await.len(), body.len());
    }
    let things = route("POST /things/{id}").await;
    assert_eq!((&things["requests"], &things["in_flight"]), (&Value::from(3), &Value::from(0)));
    assert_eq!((&things["bytes_in"], &things["bytes_out"]), (&Value::from(300_000.0), &Value::from(300_000.0)));

    // who leaves is billed too, with all that was waited for
    let left = tokio::time::timeout(Duration::from_millis(30), ask(app.clone(), "GET", "/never", vec![])).await;
    assert!(left.is_err());
    let never = route("GET /never").await;
    let bill = &never["worst"][0];
    assert_eq!(
        (&never["requests"], &bill["status"], &never["in_flight"]),
        (&Value::from(1), &Value::from(0), &Value::from(0))
    );
    assert!(bill["waits"]["io_ms"].as_f64().unwrap() > 0.0, "{bill}");

    // a panic leaves the thread to nobody: what comes next on it is not charged to the route
    let panicked = tokio::spawn(ask(app.clone(), "GET", "/panics", vec![])).await;
    assert!(panicked.unwrap_err().is_panic());
    let before = route("GET /panics").await;
    for _ in 0..4 {
        tokio::spawn(async { allocate(1000) }).await.unwrap();
    }
    let after = route("GET /panics").await;
    assert_eq!((&after["requests"], &before["allocations"]), (&Value::from(1), &after["allocations"]));
}

async fn ten_thousand_at_once(app: &Router) {
    let before = Counts::of_process();
    let mut tasks = Vec::with_capacity(REQUESTS);
    for _ in 0..REQUESTS {
        let app = app.clone();
        tasks.push(tokio::spawn(async move {
            let answer = ask(app, "GET", "/busy", vec![]).await;
            assert_eq!(&*read(answer).await, b"done");
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let counted = Counts::of_process().since(before);
    let busy = route("GET /busy").await;
    assert_eq!(busy["requests"], REQUESTS);
    let all = |name: &str| busy[name]["mean"].as_f64().unwrap() * REQUESTS as f64;
    for (billed, counted) in
        [(all("allocations"), counted.allocations as f64), (all("allocated_bytes"), counted.allocated_bytes as f64)]
    {
        assert!(billed <= counted && billed >= counted * 0.99, "{billed} are billed of {counted}");
    }
    assert!(all("allocations") >= (REQUESTS * ALLOCATIONS) as f64);
}
