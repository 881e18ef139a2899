//! What the gauge itself holds for as many routes as it knows: in a program of its own, since all of its bytes are counted.

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use std::alloc::System;
use std::borrow::Cow;
use std::hint::black_box;
use std::time::Duration;
use thalweg_gauge::Counts;
use tower_service::Service;

#[global_allocator]
static ALLOCATOR: thalweg_gauge::CountingAllocator<System> = thalweg_gauge::CountingAllocator(System);

const STAGES: [&str; 8] = ["read", "plan", "pool", "sql", "database", "encode", "render", "send"];
const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
/// More than the worst that are kept, each of twice the time and memory.
const REQUESTS: u32 = 12;
const BYTES_OF_A_ROUTE_MAX: u64 = 16 * 1024;

/// Takes as long, and as much memory, as its power says.
async fn handler(request: Request<Body>) -> String {
    let power = *request.extensions().get::<u32>().unwrap();
    for name in STAGES {
        let _stage = thalweg_gauge::stage(name);
    }
    tokio::time::sleep(Duration::from_micros(50 << power)).await;
    let held: Vec<_> = (0..1_u32 << (power / 2)).map(|_| black_box(vec![1_u8; 16 << power])).collect();
    held.len().to_string()
}

fn live() -> u64 {
    let counts = Counts::of_process();
    counts.allocated_bytes - counts.freed_bytes
}

#[test]
fn ten_thousand_routes_have_a_bound() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let routes = thalweg_gauge::ROUTES_MAX as u64;
    let name = |extensions: &axum::http::Extensions| extensions.get::<String>().cloned().map(Cow::Owned);
    let app =
        Router::new().fallback(handler).layer(thalweg_gauge::layer().routes(move |_, _, extensions| name(extensions)));
    // the gauge's own stacks and the routes that are past the bound count as well
    let names: Vec<_> = (0..routes + 100).map(|number| format!("GET /things/{number}/parts/{{part}}")).collect();
    let ask = |power: u32| {
        runtime.block_on(async {
            let mut tasks = Vec::with_capacity(names.len());
            for name in &names {
                let request = Request::builder().header("traceparent", TRACE).extension(power).extension(name.clone());
                let (mut app, request) = (app.clone(), request.body(Body::empty()).unwrap());
                tasks.push(tokio::spawn(async move {
                    let answer = app.call(request).await.unwrap();
                    http_body_util::BodyExt::collect(answer.into_body()).await.unwrap();
                }));
            }
            for task in tasks {
                task.await.unwrap();
            }
        });
    };
    let before = live();
    let mut held = 0;
    for power in 0..REQUESTS {
        ask(power);
        held = (live() - before) / routes;
        println!("{} requests of each route: {held} bytes a route", power + 1);
    }
    assert!(held < BYTES_OF_A_ROUTE_MAX, "{held} bytes a route");
}
