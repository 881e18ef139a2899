//! Bounded connections, bounded waiting, nothing left running.

use crate::texts::value;
use std::time::Duration;
use thalweg_testkit::{Database, Proxy};
use thalweg_wire::{Config, Pool, PoolError, PoolLimits};

fn limits() -> PoolLimits {
    PoolLimits { connections_max: 2, waiting_max: 1, wait: Duration::from_millis(300), ..PoolLimits::default() }
}

fn pool(uri: &str, limits: PoolLimits) -> Pool {
    Pool::new(Config::parse(uri).unwrap(), limits)
}

#[tokio::test]
async fn connections_are_used_again_by_what_they_are_in() {
    let database = Database::new("");
    let pool = pool(&database.uri(), limits());
    let mut first = pool.get(7).await.unwrap();
    let pid = value(&mut first, "select pg_backend_pid()").await.unwrap();
    first.set_session_key(7);
    let mut second = pool.get(9).await.unwrap();
    second.set_session_key(9);
    drop(first);
    drop(second);
    assert_eq!(pool.status().idle, 2);
    let mut again = pool.get(7).await.unwrap();
    assert_eq!(value(&mut again, "select pg_backend_pid()").await.unwrap(), pid);
}

#[tokio::test]
async fn waiting_is_bounded_in_time_and_number() {
    let database = Database::new("");
    let pool = pool(&database.uri(), limits());
    let (first, _second) = (pool.get(0).await.unwrap(), pool.get(0).await.unwrap());
    let waiting = tokio::spawn({
        let pool = pool.clone();
        async move { pool.get(0).await.map(drop) }
    });
    while pool.status().waiting == 0 {
        tokio::task::yield_now().await;
    }
    assert!(matches!(pool.get(0).await.err(), Some(PoolError::QueueFull)));
    assert!(matches!(waiting.await.unwrap(), Err(PoolError::Timeout)));
    assert_eq!(pool.status().waiting, 0);
    let served = tokio::spawn({
        let pool = pool.clone();
        async move { pool.get(0).await.map(drop) }
    });
    tokio::time::sleep(Duration::from_millis(20)).await;
    drop(first);
    assert!(served.await.unwrap().is_ok());
}

#[tokio::test]
async fn old_and_idle_connections_are_closed() {
    let database = Database::new("");
    let short = PoolLimits { idle: Duration::from_millis(100), ..limits() };
    let pool = pool(&database.uri(), short);
    drop(pool.get(0).await.unwrap());
    assert_eq!(pool.status().idle, 1);
    let ours = "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()";
    for _ in 0..100 {
        if database.value(ours) == "0" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!((pool.status().idle, database.value(ours).as_str()), (0, "0"));
    let mut first = pool.get(0).await.unwrap();
    let pid = value(&mut first, "select pg_backend_pid()").await.unwrap();
    pool.renew();
    drop(first);
    assert_eq!(pool.status().idle, 0);
    let mut other = pool.get(0).await.unwrap();
    assert_ne!(value(&mut other, "select pg_backend_pid()").await.unwrap(), pid);
}

#[tokio::test]
async fn a_query_whose_connection_is_dropped_is_cancelled() {
    let database = Database::new("");
    let pool = pool(&database.uri(), limits());
    let pid;
    {
        let mut connection = pool.get(0).await.unwrap();
        pid = value(&mut connection, "select pg_backend_pid()").await.unwrap();
        let sleeping = value(&mut connection, "select pg_sleep(60)");
        assert!(tokio::time::timeout(Duration::from_millis(200), sleeping).await.is_err());
    }
    // cancelled, drained, and back in the pool
    for _ in 0..200 {
        if pool.status().idle == 1 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let mut again = pool.get(0).await.unwrap();
    assert_eq!(value(&mut again, "select pg_backend_pid()").await.unwrap(), pid);
}

#[tokio::test]
async fn connections_that_died_in_the_pool_are_replaced() {
    let database = Database::new("");
    let (proxy, uri) = Proxy::before(&database.uri());
    let pool = pool(&uri, limits());
    drop(pool.get(0).await.unwrap());
    proxy.close();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(matches!(pool.get(0).await.err(), Some(PoolError::Connect(_))));
    proxy.open();
    let mut connection = pool.get(0).await.unwrap();
    assert_eq!(value(&mut connection, "select 1").await.unwrap(), "1");
}
