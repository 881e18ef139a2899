//! A budget in a test holds what it says, and tells what was spent when it does not.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::routing::{get, post};
use http::{Request, Response, StatusCode};
use std::convert::Infallible;
use std::hint::black_box;
use thalweg_gauge::{Wait, ask, assert_bill, bill_of};

const KIB: usize = 1024;

async fn lists() -> Vec<u8> {
    for _ in 0..1000 {
        drop(black_box(Vec::<u8>::with_capacity(16)));
    }
    thalweg_gauge::rows(10);
    vec![b'x'; 64 * KIB]
}

async fn twice(body: Bytes) -> Bytes {
    let copied = black_box(body.to_vec());
    black_box(copied.clone()).into()
}

async fn in_pieces() -> Body {
    struct Pieces(u8);
    impl http_body::Body for Pieces {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, Infallible>>> {
            self.0 += 1;
            let piece = || http_body::Frame::data(Bytes::from(vec![self.0; 64 * KIB]));
            std::task::Poll::Ready((self.0 <= 10).then(|| Ok(piece())))
        }
    }
    thalweg_gauge::waiting(Wait::Timer, tokio::time::sleep(std::time::Duration::from_millis(5))).await;
    Body::new(Pieces(0))
}

fn app() -> Router {
    Router::new().route("/lists", get(lists)).route("/twice", post(twice)).route("/pieces", get(in_pieces))
}

fn request(method: &str, path: &str, body: Vec<u8>) -> Request<Body> {
    Request::builder().method(method).uri(path).body(Body::from(body)).unwrap()
}

#[tokio::test]
async fn a_request_that_keeps_its_budget_is_answered() {
    for app in [app(), app().layer(thalweg_gauge::layer())] {
        let bounds = (1200, 20);
        let answer = assert_bill!(
            ask(app.clone(), request("GET", "/lists", vec![])),
            allocations >= 1000,
            allocations <= bounds.0,
            allocated < 20 * KIB + 2 * bytes_out,
            peak >= bytes,
            peak <= bytes + 20 * KIB,
            copied < bytes,
            rows == 10,
            rows > (bounds.1 - 2 * rows) * rows - 1,
            bytes == 64 * KIB
        );
        assert_eq!((answer.status(), answer.body().len()), (StatusCode::OK, 64 * KIB));
        let body = vec![b'y'; KIB * KIB];
        let answer = assert_bill!(
            ask(app.clone(), request("POST", "/twice", body)),
            bytes_in == KIB * KIB,
            bytes_out == bytes_in,
            copied >= 2 * bytes_in,
            copied <= 1.05 * bytes
        );
        assert_eq!(answer.body().len(), KIB * KIB);
        // what puts the answer's pieces together is the client's
        let answer = assert_bill!(
            ask(app, request("GET", "/pieces", vec![])),
            bytes == 640 * KIB,
            copied <= 0.25 * bytes,
            allocations <= 60
        );
        assert_eq!(answer.body()[576 * KIB..], [10; 64 * KIB]);
    }
}

#[tokio::test]
async fn a_layer_changes_nothing_that_is_counted() {
    let _ = ask(app().layer(thalweg_gauge::layer()), request("GET", "/lists", vec![])).await;
    let (_, without) = bill_of(ask(app(), request("GET", "/lists", vec![]))).await;
    let (_, with) = bill_of(ask(app().layer(thalweg_gauge::layer()), request("GET", "/lists", vec![]))).await;
    // the body is boxed once more
    assert!(with.allocations - without.allocations <= 8, "{without:?}\n{with:?}");
    assert_eq!((with.bytes_out, with.rows), (without.bytes_out, without.rows));
    let (_, waited) = bill_of(ask(app().layer(thalweg_gauge::layer()), request("GET", "/pieces", vec![]))).await;
    let waits = waited.waited(Wait::Timer) + waited.waited(Wait::Runnable);
    assert!(waits >= 4_000_000, "{waited:?}");
}

/// A stack is taken inside a poll that takes too long, by a signal to its thread.
#[tokio::test]
async fn who_looks_on_is_on_no_bill() {
    let spins = || async {
        let started = std::time::Instant::now();
        while started.elapsed() < std::time::Duration::from_millis(100) {
            black_box(0);
        }
        Bytes::new()
    };
    let app = Router::new().route("/spins", get(spins)).layer(thalweg_gauge::layer());
    for _ in 0..3 {
        assert_bill!(ask(app.clone(), request("GET", "/spins", vec![])), copied <= 100 * KIB, allocations <= 60);
    }
    let told = crate::ask_gauge("/route", "name=GET%20/spins").await;
    // Within this time the poll computed for as long as it had a CPU.
    assert!(told["wall_ms"]["max"].as_f64().unwrap() >= 100.0, "{told}");
}

#[tokio::test]
async fn a_bound_that_does_not_hold_is_told_with_the_bill() {
    let failed = tokio::spawn(async {
        assert_bill!(
            ask(app(), request("GET", "/lists", vec![])),
            allocations <= 40,
            rows == 10,
            copied <= 1.05 * (bytes_in + 0)
        )
    });
    let panic = failed.await.unwrap_err().into_panic();
    let text = panic.downcast_ref::<String>().unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert!(lines[0].starts_with("`allocations <= 40` does not hold: 10") && lines[0].ends_with(" <= 40"), "{text}");
    assert!(lines[1].starts_with("`copied <= 1.05 * (bytes_in + 0)` does not hold: "), "{text}");
    assert!(lines[1].ends_with(" <= 0") && lines[2].starts_with("of the bill {"), "{text}");
    assert!(text.contains("\"bytes_out\": 65536") && text.contains("\"rows\": 10"), "{text}");
}

#[tokio::test]
#[should_panic = "the bill is not whole: 1 answers have not been read to their end"]
async fn a_bill_without_its_answer_is_none() {
    use tower_service::Service;
    let mut app = app().layer(thalweg_gauge::layer());
    let _: Result<Response<_>, _> = assert_bill!(app.call(request("GET", "/lists", vec![])), allocations <= 2000);
}

/// How long this thread has been on a CPU, in nanoseconds.
fn on_cpu() -> u64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    told.split(' ').next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn who_computes_around_others_is_billed_for_it() {
    // longer than a reading of the thread's clock is good for
    const COMPUTES: u64 = 60_000_000;
    let (_, bill) = bill_of(async {
        let before = on_cpu();
        while on_cpu() - before < COMPUTES {}
        // begins in the same poll
        bill_of(async {}).await;
    })
    .await;
    assert!(bill.cpu >= COMPUTES / 2, "{bill:?}");
}
