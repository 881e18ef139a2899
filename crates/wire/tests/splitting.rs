//! What the server sends means the same wherever it is cut.

use crate::texts::{Texts, rows};
use proptest::prelude::*;
use proptest::test_runner::{Config as RunnerConfig, TestRunner};
use thalweg_testkit::{Database, Proxy};
use thalweg_wire::{Config, Connection, DbError, Query};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Every kind of message: descriptions, rows with nulls and long values, no rows, no data, notices, parameters,
/// notifications.
const STATEMENTS: [&str; 6] = [
    "listen splitting",
    "select i, nullif(i, 2), repeat('long ', i * 300), '' from generate_series(1, 4) i",
    "select where false",
    "select set_config('timezone', 'Asia/Tokyo', false), pg_notify('splitting', 'payload')",
    "create temp table if not exists t (x int)",
    "insert into t values (1) returning x",
];
const FAILING: [&str; 2] = ["select 1", "select 1 / 0"];

/// Feeds recorded bytes to a connection in pieces, and shows all that it makes of them.
async fn replay(recorded: &[u8], pieces: &[usize], statements: &[&str]) -> (Result<Texts, DbError>, Option<String>) {
    let (ours, mut theirs) = tokio::io::duplex(1 << 20);
    let mut connection = Connection::over_stream(ours);
    let feed = async {
        // the server answers once it has been asked
        let mut request = [0; 16 * 1024];
        assert!(theirs.read(&mut request).await.unwrap() > 0);
        let mut rest = recorded;
        for &piece in pieces {
            let (now, later) = rest.split_at(piece.min(rest.len()));
            theirs.write_all(now).await.unwrap();
            tokio::task::yield_now().await;
            rest = later;
        }
        theirs.write_all(rest).await.unwrap();
    };
    let (outcome, ()) = tokio::join!(rows(&mut connection, statements), feed);
    let outcome = outcome.map_err(|error| error.database().expect("the database reports it").clone());
    assert!(connection.is_idle());
    (outcome, connection.parameter("TimeZone").map(str::to_owned))
}

/// The bytes with which a real server answers statements that a new connection runs.
async fn record(statements: &[&str]) -> (Vec<u8>, Result<Texts, DbError>) {
    let database = Database::new("");
    let (proxy, uri) = Proxy::before(&database.uri());
    let mut connection = Connection::connect(&Config::parse(&uri).unwrap()).await.unwrap();
    proxy.take_recorded();
    let outcome = rows(&mut connection, statements).await;
    (proxy.take_recorded(), outcome.map_err(|error| error.database().unwrap().clone()))
}

#[tokio::test]
async fn every_place_to_cut_is_the_same() {
    for statements in [&STATEMENTS[..], &FAILING[..]] {
        let (recorded, expected) = record(statements).await;
        let zone = statements.contains(&STATEMENTS[3]).then(|| "Asia/Tokyo".to_owned());
        assert!(recorded.len() > 100);
        for cut in 0..recorded.len() {
            assert_eq!(replay(&recorded, &[cut], statements).await, (expected.clone(), zone.clone()), "cut at {cut}");
        }
        let single_bytes = vec![1; recorded.len()];
        assert_eq!(replay(&recorded, &single_bytes, statements).await, (expected.clone(), zone.clone()));
    }
}

#[test]
fn any_pieces_are_the_same() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (recorded, expected) = runtime.block_on(record(&STATEMENTS));
    let mut runner = TestRunner::new(RunnerConfig { cases: 64, failure_persistence: None, ..RunnerConfig::default() });
    let pieces = prop::collection::vec(1usize..200, 0..100);
    let outcome = runner.run(&pieces, |pieces| {
        let (found, _) = runtime.block_on(replay(&recorded, &pieces, &STATEMENTS));
        prop_assert_eq!(found, expected.clone());
        Ok(())
    });
    outcome.unwrap();
}

/// The startup and the passwords too, over a real socket.
#[tokio::test]
async fn startup_in_single_bytes() {
    let database = Database::new("");
    let (proxy, uri) = Proxy::before(&database.uri());
    proxy.split(1);
    let mut connection = Connection::connect(&Config::parse(&uri).unwrap()).await.unwrap();
    let expected = Texts(vec![vec![Some("1".into())], vec![Some("2".into())]]);
    assert_eq!(rows(&mut connection, &["select generate_series(1, 2)"]).await.unwrap(), expected);
}

/// A server that has lost its mind is an error, not a hang or a panic.
#[test]
fn hostile_bytes_are_an_error() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (recorded, _) = runtime.block_on(record(&STATEMENTS));
    let mut runner = TestRunner::new(RunnerConfig { cases: 256, failure_persistence: None, ..RunnerConfig::default() });
    let outcome = runner.run(&(0..recorded.len(), any::<u8>()), |(at, byte)| {
        let mut wrong = recorded.clone();
        wrong[at] = byte;
        runtime.block_on(async {
            let (ours, mut theirs) = tokio::io::duplex(1 << 20);
            let mut connection = Connection::over_stream(ours);
            let feed = async move {
                assert!(theirs.read(&mut [0; 16 * 1024]).await.unwrap() > 0);
                let _ = theirs.write_all(&wrong).await;
                // the stream ends here, whatever the lengths in it say
            };
            let queries = STATEMENTS.map(Query::bare);
            let mut texts = Texts::default();
            let (_, ()) = tokio::join!(connection.run(&queries, &mut texts), feed);
        });
        Ok(())
    });
    outcome.unwrap();
}

/// Wherever the stream ends, or whoever waits for it goes away, the connection is not taken for one that can be used again.
#[tokio::test]
async fn every_place_to_end_is_noticed() {
    for statements in [&STATEMENTS[..], &FAILING[..]] {
        let (recorded, _) = record(statements).await;
        // every place of the short one, and some of the long one
        let step = 1 + recorded.len() / 512;
        for end in (0..recorded.len()).step_by(step) {
            for (before, is_cut) in [(0, true), (end / 2, true), (0, false), (end.saturating_sub(1), false)] {
                // tokio lets a task read and write only so often until it yields
                tokio::task::yield_now().await;
                let (ours, mut theirs) = tokio::io::duplex(64 * 1024);
                let mut connection = Connection::over_stream(ours);
                let mut run = Box::pin(rows(&mut connection, statements));
                assert!(poll_once(run.as_mut()).is_none());
                assert!(theirs.read(&mut [0; 16 * 1024]).await.unwrap() > 0);
                theirs.write_all(&recorded[..before]).await.unwrap();
                assert!(poll_once(run.as_mut()).is_none(), "{before}");
                theirs.write_all(&recorded[before..end]).await.unwrap();
                if is_cut {
                    drop(theirs);
                    let error = run.await.unwrap_err();
                    assert!(error.database().is_none(), "{end} {error:?}");
                    assert!(!connection.is_idle(), "{end}");
                    // and so it stays
                    assert!(rows(&mut connection, &["select 1"]).await.is_err());
                } else {
                    assert!(poll_once(run.as_mut()).is_none(), "{end}");
                    drop(run);
                    assert!(!connection.is_idle(), "{end}");
                    assert!(rows(&mut connection, &["select 1"]).await.is_err());
                }
            }
        }
    }
}

fn poll_once<F: std::future::Future>(future: std::pin::Pin<&mut F>) -> Option<F::Output> {
    match future.poll(&mut std::task::Context::from_waker(std::task::Waker::noop())) {
        std::task::Poll::Ready(output) => Some(output),
        std::task::Poll::Pending => None,
    }
}
