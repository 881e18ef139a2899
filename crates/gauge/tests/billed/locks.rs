//! Locks whose waiting stands still: who waited for whom, by name and line.

use crate::{ask_gauge, ended};
use http::{Request, Response};
use http_body_util::Full;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::mpsc;
use std::task::{Context, Waker};
use std::thread;
use std::time::{Duration, Instant};
use thalweg_gauge::lock::{blocking, parking_lot};
use thalweg_gauge::{Wait, bill_of};

const HELD: Duration = Duration::from_millis(50);
const HELD_MS: f64 = 50.0;

/// Somebody holds a lock for a while, from when on this returns. What it did is noted when it has ended.
fn held<T: Send + Sync + 'static>(
    lock: &Arc<T>,
    hold: impl FnOnce(&T, &dyn Fn()) + Send + 'static,
) -> thread::JoinHandle<()> {
    let (taken, is_taken) = mpsc::channel();
    let lock = lock.clone();
    let holder = thread::spawn(move || {
        hold(&lock, &|| {
            taken.send(()).unwrap();
            thread::sleep(HELD);
        })
    });
    is_taken.recv().unwrap();
    holder
}

/// What is told of a lock.
async fn told(name: &str) -> serde_json::Value {
    let locks = ask_gauge("/locks", "").await;
    locks.as_array().unwrap().iter().find(|lock| lock["lock"] == name).unwrap_or_else(|| panic!("{locks}")).clone()
}

fn here(line: u32) -> String {
    format!("{}:{line}", file!())
}

#[tokio::test]
async fn who_waits_for_whom_is_told_by_name_and_line() {
    const HOLDS: u32 = line!() + 3;
    let mutex = Arc::new(parking_lot::Mutex::named("mutex", 7));
    let holder = held(&mutex, |mutex, wait| {
        let _guard = mutex.lock();
        wait();
    });
    assert!(mutex.try_lock().is_none() && mutex.is_locked());
    let (value, bill) = bill_of(async { *mutex.lock() }).await;
    holder.join().unwrap();
    assert_eq!(value, 7);
    // it is known what for the thread stood still
    assert!(bill.waited(Wait::Lock) >= 30_000_000 && bill.waited(Wait::Blocked) < 20_000_000, "{bill:?}");
    let told = told("mutex").await;
    assert_eq!((&told["waits"], &told["waiting"]), (&1.into(), &0.into()), "{told}");
    let holder = &told["held_by"][0];
    assert_eq!((&holder["place"], &holder["waits"]), (&here(HOLDS).into(), &1.into()), "{told}");
    assert!(holder["held_ms"].as_f64().unwrap() >= HELD_MS && holder["waited_ms"].as_f64().unwrap() > 30.0, "{told}");
}

#[tokio::test]
async fn readers_wait_for_who_writes() {
    const HOLDS: u32 = line!() + 3;
    let lock = Arc::new(parking_lot::RwLock::named("rwlock", String::from("a")));
    let holder = held(&lock, |lock, wait| {
        let mut guard = lock.write();
        guard.push('b');
        wait();
    });
    assert!(lock.try_read().is_none() && lock.try_write().is_none());
    assert_eq!(*lock.read(), "ab");
    holder.join().unwrap();
    let (one, other) = (lock.read(), lock.try_read());
    assert!(other.is_some() && lock.try_write().is_none());
    drop((one, other));
    assert!(lock.try_write().is_some());
    let told = told("rwlock").await;
    assert_eq!((&told["waits"], &told["held_by"][0]["place"]), (&1.into(), &here(HOLDS).into()), "{told}");
}

#[tokio::test]
async fn a_wait_on_a_blocking_thread_is_the_requests() {
    let mutex = Arc::new(parking_lot::Mutex::named("blocking", ()));
    let holder = held(&mutex, |mutex, wait| {
        let _guard = mutex.lock();
        wait();
    });
    let (_, bill) = bill_of(async {
        tokio::task::spawn_blocking(thalweg_gauge::blocking(move || drop(mutex.lock()))).await.unwrap();
    })
    .await;
    holder.join().unwrap();
    assert!(bill.waited(Wait::Lock) >= 30_000_000, "{bill:?}");
}

/// The future of a handler that cannot leave its thread, since a guard cannot.
async fn handler(mutex: Arc<parking_lot::Mutex<u64>>) -> Result<Response<Full<bytes::Bytes>>, Infallible> {
    let mut guard = mutex.lock();
    tokio::time::sleep(Duration::from_millis(2)).await;
    *guard += 1;
    Ok(Response::new(Full::default()))
}
const TAKES: u32 = line!() - 5;

#[tokio::test]
async fn a_guard_across_an_await_is_found() {
    let mutex = Arc::new(parking_lot::Mutex::named("across", 0));
    let layer = thalweg_gauge::layer().routes(|_, uri, _| (uri.path() == "/across").then(|| "GET /across".into()));
    tokio::task::LocalSet::new()
        .run_until(async {
            for _ in 0..10 {
                let (layer, mutex) = (layer.clone(), mutex.clone());
                let request = Request::get("/across").body(Full::<bytes::Bytes>::default()).unwrap();
                let answer = tokio::task::spawn_local(async move { layer.bill(request, |_| handler(mutex)).await });
                ended(answer.await.unwrap().unwrap()).await;
            }
        })
        .await;
    assert_eq!(*mutex.lock(), 10);
    let findings = ask_gauge("/findings", "").await;
    let found = findings.as_array().unwrap().iter().find(|finding| finding["route"] == "GET /across").unwrap();
    assert_eq!((&found["kind"], &found["figures"]["lock"]), (&"guard_across_await".into(), &"across".into()));
    assert_eq!(found["where"]["taken_at"], *here(TAKES));
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    assert_eq!(found["where"]["awaited_at"], *here(TAKES + 1), "{found}");
    assert!(found["figures"]["held_ms"].as_f64().unwrap() >= 1.0, "{found}");
}

/// They keep others out until then, and do not pass.
#[tokio::test]
async fn requests_given_up_while_they_hold_a_guard_do_not_pass() {
    let mutex = Arc::new(parking_lot::Mutex::named("given up", 0));
    let layer = thalweg_gauge::layer().routes(|_, _, _| Some("GET /given-up".into()));
    tokio::task::LocalSet::new()
        .run_until(async {
            for turn in 0..40 {
                let request = Request::new(Full::<bytes::Bytes>::default());
                let mut answer = Box::pin(layer.bill(request, |_| handler(mutex.clone())));
                if turn % 4 == 0 {
                    ended(answer.await.unwrap()).await;
                } else {
                    assert!(answer.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
                }
            }
        })
        .await;
    let findings = ask_gauge("/findings", "").await;
    let found = findings.as_array().unwrap().iter().find(|finding| finding["route"] == "GET /given-up").unwrap();
    let figures = &found["figures"];
    assert_eq!((*mutex.lock(), figures["times"].as_u64()), (10, Some(40)), "{found}");
    assert!(figures["requests_per_second_max"].as_f64().unwrap() <= 600.0, "{found}");
}

/// Names are looked up in the program's file, which takes a second or two where they never were.
#[test]
fn requests_go_on_while_findings_are_made_out() {
    let mutex = Arc::new(parking_lot::Mutex::named("looked up", 0));
    let layer = thalweg_gauge::layer().routes(|_, _, _| Some("GET /looked-up".into()));
    let ask = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let begun = Instant::now();
        runtime.block_on(async {
            let request = Request::new(Full::<bytes::Bytes>::default());
            ended(layer.bill(request, |_| handler(mutex.clone())).await.unwrap()).await;
        });
        begun.elapsed()
    };
    for _ in 0..32 {
        ask();
    }
    let begun = Instant::now();
    let making = thread::spawn(|| (thalweg_gauge::findings(), Instant::now()));
    let mut longest = Duration::ZERO;
    while !making.is_finished() {
        longest = longest.max(ask());
    }
    let (findings, made) = making.join().unwrap();
    assert!(findings.iter().any(|finding| finding.route == "GET /looked-up"), "{findings:?}");
    let took = made - begun;
    assert!(longest < Duration::from_millis(100).max(took / 2), "{longest:?} of {took:?}");
}

#[test]
fn they_stand_in_for_those_that_they_watch() {
    let mut mutex = parking_lot::Mutex::<Vec<u8>>::default();
    mutex.get_mut().push(1);
    mutex.lock().push(2);
    mutex.try_lock().unwrap().push(3);
    assert_eq!(format!("{mutex:?}"), format!("{:?}", ::parking_lot::Mutex::new(vec![1, 2, 3])));
    assert_eq!(mutex.into_inner(), [1, 2, 3]);
    let mut lock = parking_lot::RwLock::<Vec<u8>>::default();
    lock.get_mut().push(1);
    lock.write().push(2);
    assert_eq!(format!("{lock:?}"), format!("{:?}", ::parking_lot::RwLock::new(vec![1, 2])));
    assert_eq!(lock.into_inner(), [1, 2]);

    // one of the standard library's is poisoned by who panics with it, and says so from then on
    let mut mutex = blocking::Mutex::<Vec<u8>>::default();
    mutex.get_mut().unwrap().push(1);
    let panicked = thread::scope(|scope| {
        let holder = scope.spawn(|| {
            let _guard = mutex.lock().unwrap();
            panic!("as it is meant to");
        });
        holder.join().is_err()
    });
    assert!(panicked && mutex.try_lock().is_err());
    assert_eq!(*mutex.lock().unwrap_err().into_inner(), [1]);
    assert_eq!(mutex.into_inner().unwrap_err().into_inner(), [1]);
    let lock = blocking::RwLock::new(1);
    *lock.write().unwrap() += 1;
    assert_eq!(*lock.read().unwrap(), 2);
    assert_eq!(lock.into_inner().unwrap(), 2);
}

#[test]
fn who_is_poisoned_while_others_wait_tells_them() {
    let mutex = Arc::new(blocking::Mutex::named("poisoned", 1));
    let holder = held(&mutex, |mutex, wait| {
        let _guard = mutex.lock().unwrap();
        wait();
        panic!("as it is meant to");
    });
    assert_eq!(*mutex.lock().unwrap_err().into_inner(), 1);
    assert!(holder.join().is_err());
}
