//! Sums of a route: of all threads, and of what they say.

use crate::{ask_gauge, ended};
use http::{Request, Response};
use http_body_util::Full;
use std::convert::Infallible;
use std::future::Future;
use std::task::{Context, Waker};
use std::thread;

async fn of_route(name: &str) -> serde_json::Value {
    ask_gauge("/route", &format!("name={}", name.replace(' ', "%20"))).await
}

async fn serve(layer: &thalweg_gauge::BillLayer, times: usize, handler: impl Fn(usize)) {
    for number in 0..times {
        let request = Request::new(Full::<bytes::Bytes>::default());
        let answer = layer.bill(request, async |_| {
            handler(number);
            Ok::<_, Infallible>(Response::new(Full::new(bytes::Bytes::from_static(b"seven b"))))
        });
        ended(answer.await.unwrap()).await;
    }
}

#[tokio::test]
async fn what_is_said_most_is_kept_whatever_clients_make_up() {
    let layer = thalweg_gauge::layer().routes(|_, _, _| Some("GET /shapes".into()));
    serve(&layer, 2000, |number| {
        thalweg_gauge::shape(&format!("SELECT {number}"));
        if number % 10 == 5 {
            thalweg_gauge::shape("SELECT what, is, asked");
        }
    })
    .await;
    let told = of_route("GET /shapes").await;
    let shapes = told["shapes"].as_array().unwrap();
    assert_eq!((shapes.len(), &shapes[0]), (16, &"SELECT what, is, asked".into()), "{told}");
}

#[tokio::test]
async fn a_request_is_under_way_as_the_route_that_it_was_named_last() {
    let layer = thalweg_gauge::layer().routes(|_, _, _| Some("GET /named-first".into()));
    let in_flight = async || {
        let of = async |name| of_route(name).await["in_flight"].as_i64().unwrap();
        (of("GET /named-first").await, of("GET /named-later").await)
    };
    let name = || thalweg_gauge::route(["GET ", "/named-later"]);
    serve(&layer, 1, |_| name()).await;
    // at once, and once it has been seen under way
    for pauses in [false, true] {
        let request = Request::new(Full::<bytes::Bytes>::default());
        let mut answering = std::pin::pin!(layer.bill(request, async |_| {
            if pauses {
                tokio::task::yield_now().await;
            }
            name();
            tokio::task::yield_now().await;
            Ok::<_, Infallible>(Response::new(Full::<bytes::Bytes>::default()))
        }));
        let mut poll = || assert!(answering.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        poll();
        if pauses {
            assert_eq!(in_flight().await.0, 1);
            poll();
        }
        assert_eq!(in_flight().await, (0, 1));
        ended(answering.await.unwrap()).await;
        assert_eq!(in_flight().await, (0, 0));
    }
}

#[tokio::test]
async fn many_short_threads_are_summed() {
    const THREADS: usize = 2000;
    const REQUESTS: usize = 20;
    let layer = thalweg_gauge::layer().routes(|_, _, _| Some("GET /early".into()));
    for _ in 0..THREADS / 8 {
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                    runtime.block_on(serve(&layer, REQUESTS, |_| thalweg_gauge::route(["GET ", "/late"])));
                });
            }
        });
    }
    let (late, early) = (of_route("GET /late").await, of_route("GET /early").await);
    assert_eq!(late["requests"], THREADS * REQUESTS);
    assert_eq!(late["bytes_out"], 7.0);
    assert_eq!((&late["in_flight"], &early["in_flight"], &early["requests"]), (&0.into(), &0.into(), &0.into()));
}

#[tokio::test]
async fn who_reads_while_threads_note_finds_each_request_once() {
    const THREADS: u64 = 3;
    const REQUESTS: u64 = 5000;
    let layer = thalweg_gauge::layer().routes(|_, _, _| Some("GET /noted".into()));
    let serve_all = || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(serve(&layer, REQUESTS as usize, |number| {
            // the second is not there always, so that the names stand at other places
            drop(thalweg_gauge::stage("first"));
            if number % 2 == 0 {
                thalweg_gauge::count("evens", 1);
            }
            thalweg_gauge::count("all", 2);
            thalweg_gauge::rows(3);
        }));
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(serve_all)).collect();
        while threads.iter().any(|thread| !thread.is_finished()) {
            assert!(!thalweg_gauge::prometheus().is_empty());
        }
    });
    let told = of_route("GET /noted").await;
    assert_eq!((&told["requests"], &told["in_flight"]), (&(THREADS * REQUESTS).into(), &0.into()), "{told}");
    assert_eq!((&told["rows"], &told["bytes_out"]), (&3.0.into(), &7.0.into()), "{told}");
    assert_eq!(told["counts"], serde_json::json!({ "evens": 0.5, "all": 2.0 }), "{told}");
    assert!(told["stages_ms"]["first"].is_number(), "{told}");
}

#[tokio::test]
async fn each_of_many_threads_counts_for_itself() {
    const THREADS: usize = 1000;
    const BYTES: usize = 100_000;
    let layer = thalweg_gauge::layer().routes(|_, _, _| Some("GET /many-threads".into()));
    let name = thalweg_gauge::RouteName::of(["GET /each-", "of-many"]);
    let all_are_there = std::sync::Barrier::new(THREADS);
    let serve_one = || {
        all_are_there.wait();
        let answer = serve(&layer, 1, |_| {
            name.say();
            drop(std::hint::black_box(vec![1_u8; BYTES]));
        });
        all_are_there.wait();
        let mut answer = std::pin::pin!(answer);
        assert!(answer.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
    };
    thread::scope(|scope| {
        for _ in 0..THREADS {
            thread::Builder::new().stack_size(256 * 1024).spawn_scoped(scope, serve_one).unwrap();
        }
    });
    let told = of_route("GET /each-of-many").await;
    assert_eq!(told["requests"], THREADS);
    let allocated = told["allocated_bytes"]["mean"].as_f64().unwrap();
    // one that counted what another one did would show twice as much
    assert!((BYTES as f64..1.05 * BYTES as f64).contains(&allocated), "{told}");
}
