//! What is found, and that nothing is found where nothing is wrong.

use crate::{ask_gauge, ended};
use http::{Request, Response};
use http_body_util::Full;
use serde_json::Value;
use std::convert::Infallible;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use thalweg_gauge::{billed, blocking, lock};
use tokio::task::{self, JoinHandle};

const ANY_REQUESTS: usize = 12;

/// A request of a route begins.
fn begun<F: Future<Output = ()> + Send + 'static>(route: &'static str, handler: F) -> JoinHandle<()> {
    let layer = thalweg_gauge::layer().routes(move |_, _, _| Some(route.into()));
    tokio::spawn(async move {
        let answer = layer.bill(Request::new(Full::<bytes::Bytes>::default()), |_| async {
            handler.await;
            Ok::<_, Infallible>(Response::new(Full::<bytes::Bytes>::default()))
        });
        ended(answer.await.unwrap()).await;
    })
}

/// What is found of a route.
async fn found(route: &str) -> Vec<Value> {
    let findings = ask_gauge("/findings", "").await;
    findings.as_array().unwrap().iter().filter(|finding| finding["route"] == route).cloned().collect()
}

/// That of its locks.
async fn of_locks(route: &str) -> Vec<Value> {
    let found = found(route).await.into_iter();
    found.filter(|finding| ["lock", "guard_across_await"].map(Value::from).contains(&finding["kind"])).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_for_blocking_work_may_be_blocked() {
    const BLOCKS: u32 = line!() + 2;
    for _ in 0..ANY_REQUESTS {
        let work = || thread::sleep(Duration::from_millis(15));
        begun("beside", async move { task::spawn_blocking(blocking(work)).await.unwrap() }).await.unwrap();
    }
    let route = ask_gauge("/route", "name=beside").await;
    assert!(route["waits"]["blocked_ms"].as_f64().unwrap() >= 10.0, "it is on the bill all the same: {route}");
    // on a machine that is busy its other polls may take long
    let here = format!("{}:{BLOCKS}", file!());
    assert!(found("beside").await.iter().all(|finding| finding["where"]["polled_at"] != *here));
    assert!(of_locks("beside").await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_poll_that_blocks_is_found_unless_it_works_in_place() {
    for _ in 0..ANY_REQUESTS {
        let work = || thread::sleep(Duration::from_millis(15));
        begun("blocks", async move { work() }).await.unwrap();
        begun("in place", async move { task::block_in_place(|| thalweg_gauge::in_place(work)) }).await.unwrap();
    }
    let blocked = |found: Vec<Value>| found.iter().any(|finding| finding["kind"] == "blocked_executor");
    assert!(blocked(found("blocks").await));
    assert!(!blocked(found("in place").await));
    let route = ask_gauge("/route", "name=in%20place").await;
    assert!(route["waits"]["blocked_ms"].as_f64().unwrap() >= 10.0, "it is on the bill all the same: {route}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guard_that_others_hold_for_the_request_is_not_across_its_await() {
    let mutex = Arc::new(lock::blocking::Mutex::named("of others", ()));
    for number in 0..ANY_REQUESTS {
        let mutex = mutex.clone();
        let (taken, is_taken) = tokio::sync::oneshot::channel();
        let (end, is_to_end) = std::sync::mpsc::channel();
        let work = move || {
            let _guard = mutex.lock().unwrap();
            taken.send(()).unwrap();
            is_to_end.recv().unwrap();
        };
        begun("of others", async move {
            // on a thread for blocking work, and in a task
            let work = match number % 2 {
                0 => task::spawn_blocking(blocking(work)),
                _ => tokio::spawn(billed(async { task::block_in_place(work) })),
            };
            is_taken.await.unwrap();
            tokio::time::sleep(Duration::from_millis(1)).await;
            end.send(()).unwrap();
            work.await.unwrap();
        })
        .await
        .unwrap();
    }
    let found = of_locks("of others").await;
    assert!(found.is_empty(), "{found:?}");
}

/// How many wait for a lock.
async fn waiting(name: &str) -> u64 {
    let locks = ask_gauge("/locks", "").await;
    let lock = locks.as_array().unwrap().iter().find(|lock| lock["lock"] == name).unwrap();
    lock["waiting"].as_u64().unwrap()
}

/// Requests that stand behind a lock of their route's name that somebody else holds for a while, one after the other.
async fn behind(route: &'static str, mutex: &Arc<lock::Mutex<()>>, times: usize, held: Duration) {
    for _ in 0..times {
        let (guard, mutex) = (mutex.lock().await, mutex.clone());
        let request = begun(route, async move { drop(mutex.lock().await) });
        while waiting(route).await == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::time::sleep(held).await;
        drop(guard);
        request.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_lock_that_is_named_is_one_that_the_route_waits_for() {
    let (own, other) = (Arc::new(lock::Mutex::named("own", ())), Arc::new(lock::Mutex::named("other", ())));
    for (route, mutex, held) in [("own", &own, 5), ("other", &other, 50)] {
        // on a machine that is busy they wait for more than the lock, and for it the longer
        for times in [1, 8, 64] {
            behind(route, mutex, ANY_REQUESTS, Duration::from_millis(held * times)).await;
            if !of_locks(route).await.is_empty() {
                break;
            }
        }
    }
    for route in ["own", "other"] {
        let [finding] = &of_locks(route).await[..] else { panic!("{:?}", found(route).await) };
        assert_eq!((&finding["kind"], &finding["figures"]["lock"]), (&"lock".into(), &route.into()), "{finding}");
        assert!(finding["what"].as_str().unwrap().contains(&format!("for lock `{route}`")), "{finding}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_that_was_waited_for_once_is_no_finding() {
    let mutex = Arc::new(lock::Mutex::named("once", ()));
    for _ in 0..2 * ANY_REQUESTS {
        begun("once", async {}).await.unwrap();
    }
    behind("once", &mutex, 1, Duration::from_millis(200)).await;
    let route = ask_gauge("/route", "name=once").await;
    assert!(route["waits"]["lock_ms"].as_f64().unwrap() > 1.0, "on the bill all the same: {route}");
    let found = of_locks("once").await;
    assert!(found.is_empty(), "{found:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_locks_that_one_line_takes_are_told_apart() {
    async fn taken(mutex: &lock::Mutex<()>) -> lock::MutexGuard<'_, ()> {
        mutex.lock().await
    }
    let both = Arc::new([lock::Mutex::named("first", ()), lock::Mutex::named("second", ())]);
    for _ in 0..ANY_REQUESTS {
        let both = both.clone();
        begun("both", async move {
            let _guards = (taken(&both[0]).await, taken(&both[1]).await);
            tokio::time::sleep(Duration::from_millis(2)).await;
        })
        .await
        .unwrap();
    }
    let found = of_locks("both").await;
    let mut held: Vec<_> = found.iter().map(|one| (&one["figures"]["lock"], &one["figures"]["held_ms"])).collect();
    held.sort_by_key(|(lock, _)| lock.as_str().unwrap());
    let [(first, one), (second, other)] = held[..] else { panic!("{found:?}") };
    assert_eq!((first, second), (&"first".into(), &"second".into()), "{found:?}");
    assert!(one.as_f64().unwrap() >= 1.0 && other.as_f64().unwrap() >= 1.0, "{found:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prometheus_is_told_all_sums() {
    let mutex = Arc::new(lock::Mutex::named("told \"", ()));
    let handler = async move {
        let _stage = thalweg_gauge::stage("render");
        thalweg_gauge::count("messages", 7);
        drop(mutex.lock().await);
    };
    begun("told", handler).await.unwrap();
    let told = thalweg_gauge::prometheus();
    for line in [
        "gauge_request_count_total{route=\"told\",count=\"messages\"} 7\n",
        "gauge_request_stage_seconds_total{route=\"told\",stage=\"render\"} ",
        "gauge_request_longest_poll_seconds_max{route=\"told\"} ",
        "gauge_request_peak_bytes_max{route=\"told\"} ",
        "gauge_lock_hold_seconds_count{lock=\"told \\\"\"} 1\n",
        "gauge_lock_wait_seconds_count{lock=\"told \\\"\"} 0\n",
    ] {
        assert!(told.contains(line), "{line}: {told}");
    }
}

/// What a subscriber of `tracing` writes.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn requests_above_a_bound_are_told_whole() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt().with_writer(move || writer.clone()).finish();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let ask = async |route, bound| {
        thalweg_gauge::tell_requests_above(bound);
        // The sleep begins within the request: what the first request sets up takes longer than this on a busy machine.
        begun(route, async { tokio::time::sleep(Duration::from_millis(5)).await }).await.unwrap();
    };
    // that of the program: while other tests tell too, one of this thread alone may not be asked
    tracing::subscriber::set_global_default(subscriber).unwrap();
    runtime.block_on(async {
        ask("above", Some(Duration::from_millis(1))).await;
        ask("below", Some(Duration::from_secs(3600))).await;
        ask("not asked for", None).await;
    });
    let told = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(told.contains("bill: route=above bill={") && told.contains("\"wall_ms\":"), "{told}");
    assert!(!told.contains("route=below") && !told.contains("route=not asked for"), "{told}");
}
