//! Bounded connections, bounded waiting, nothing left running.

use crate::texts::{rows, value};
use std::time::Duration;
use thalweg_testkit::{Database, Proxy};
use thalweg_wire::{Config, Identity, Pool, PoolError, PoolLimits, Pooled, SessionState};

fn limits() -> PoolLimits {
    PoolLimits { connections_max: 2, waiting_max: 1, wait: Duration::from_millis(300), ..PoolLimits::default() }
}

fn pool(uri: &str, limits: PoolLimits) -> Pool {
    Pool::new(Config::parse(uri).unwrap(), limits)
}

/// Notes that a session has been given an identity.
fn keep(connection: &mut Pooled, role: &'static str) {
    connection.set_session(SessionState::kept(identity(role)));
}

fn identity(role: &'static str) -> Identity<'static> {
    Identity { role, search_path: "api", settings: "" }
}

#[tokio::test]
async fn connections_are_used_again_by_their_identity() {
    let database = Database::new("");
    let pool = pool(&database.uri(), PoolLimits { connections_max: 3, ..limits() });
    let mut pids = Vec::new();
    let mut taken = Vec::new();
    for role in ["one", "two", "three"] {
        let mut connection = pool.get(Some(identity(role))).await.unwrap();
        pids.push(value(&mut connection, "select pg_backend_pid()").await.unwrap());
        keep(&mut connection, role);
        taken.push(connection);
    }
    taken.into_iter().for_each(drop);
    assert_eq!(pool.status().idle, 3);
    let mut again = pool.get(Some(identity("two"))).await.unwrap();
    assert_eq!(value(&mut again, "select pg_backend_pid()").await.unwrap(), pids[1]);
    // of those in another state, the one unused longest
    let mut other = pool.get(Some(identity("four"))).await.unwrap();
    assert_eq!(value(&mut other, "select pg_backend_pid()").await.unwrap(), pids[0]);
    assert!(!other.session().is(identity("four")));
    let one = identity("one");
    assert!(other.session().is(one));
    assert!(!other.session().is(Identity { search_path: "other", ..one }));
    assert!(!other.session().is(Identity { settings: "work_mem=1", ..one }));
}

/// What code can leave in a session, none of which the next one who gets it may meet.
const LEFT: [&str; 12] = [
    "set role wire_left",
    "set search_path to nowhere",
    "set statement_timeout to 1",
    "set client_encoding to latin1",
    "set default_transaction_read_only to on",
    "reset all",
    "select set_config('app.tenant', 'somebody', false)",
    "select pg_advisory_lock(42)",
    "create temporary table left_behind (n int)",
    "listen somebody",
    "prepare mine as select 'not what was asked for'",
    "deallocate all",
];

#[tokio::test]
async fn a_session_that_is_distrusted_comes_back_as_new() {
    let database = Database::new("create role wire_left; grant wire_left to current_user");
    let pool = pool(&database.uri(), PoolLimits { connections_max: 1, ..limits() });
    const SEEN: &str = "select concat_ws(' ', current_user = session_user, current_setting('search_path'),
        current_setting('statement_timeout'), current_setting('client_encoding'),
        current_setting('default_transaction_read_only'), coalesce(current_setting('app.tenant', true), ''),
        (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()),
        to_regclass('left_behind'), (select count(*) from pg_listening_channels()),
        (select count(*) from pg_prepared_statements where from_sql))";
    let mut first = pool.get(None).await.unwrap();
    let pid = value(&mut first, "select pg_backend_pid()").await.unwrap();
    let fresh = value(&mut first, SEEN).await.unwrap();
    drop(first);
    for left in LEFT {
        let mut connection = pool.get(None).await.unwrap();
        connection.distrust();
        rows(&mut connection, &[left]).await.unwrap();
        drop(connection);
        let mut next = pool.get(None).await.unwrap();
        assert_eq!(*next.session(), SessionState::Fresh);
        assert_eq!(value(&mut next, "select pg_backend_pid()").await.unwrap(), pid, "{left}");
        let seen = value(&mut next, SEEN).await.unwrap();
        assert_eq!(seen, fresh, "{left}");
    }
    drop(pool);
    database.execute("drop role wire_left");
}

/// Code that prepares statements of its own under the names of all of ours.
#[tokio::test]
async fn a_statement_is_never_another_of_the_same_name() {
    let database = Database::new("");
    let pool = pool(&database.uri(), PoolLimits { connections_max: 1, ..limits() });
    let mut connection = pool.get(None).await.unwrap();
    const OURS: &str = "select 'ours'";
    const THEIRS: &str = "do $$ declare its_name text; begin
        for its_name in select name from pg_prepared_statements loop
          execute format('deallocate %I', its_name);
          execute format('prepare %I as select ''theirs''', its_name);
        end loop;
        perform set_config('app.kept', 'theirs', false);
      end $$";
    assert_eq!(value(&mut connection, OURS).await.unwrap(), "ours");
    connection.distrust();
    rows(&mut connection, &[THEIRS]).await.unwrap();
    drop(connection);
    let mut next = pool.get(None).await.unwrap();
    assert_eq!(value(&mut next, OURS).await.unwrap(), "ours");
    assert_eq!(value(&mut next, "select current_setting('app.kept')").await.unwrap(), "");
}

/// What makes the session as new can follow a transaction in the same write, whatever becomes of that.
#[tokio::test]
async fn a_session_is_made_as_new_behind_its_transaction() {
    let database = Database::new("");
    let patient = PoolLimits { connections_max: 1, wait: Duration::from_secs(20), ..limits() };
    let pool = pool(&database.uri(), patient);
    let mut pids = std::collections::HashSet::new();
    for statement in ["set statement_timeout to '5s'", "select 1 / 0", "select nothing", "select pg_sleep(60)"] {
        let mut connection = pool.get(None).await.unwrap();
        pids.insert(value(&mut connection, "select pg_backend_pid()").await.unwrap());
        assert_eq!(value(&mut connection, "select current_setting('statement_timeout')").await.unwrap(), "0");
        connection.distrust();
        connection.reset_behind(true);
        {
            let statements = ["set lock_timeout to '5s'", statement];
            let run = rows(&mut connection, &statements);
            let sleeps = statement.contains("sleep");
            let ended = tokio::time::timeout(Duration::from_secs(if sleeps { 2 } else { 30 }), run).await;
            assert_eq!(ended.is_ok(), !sleeps, "{statement}");
        }
        drop(connection);
        let mut next = pool.get(None).await.unwrap();
        assert_eq!(*next.session(), SessionState::Fresh, "{statement}");
        assert_eq!(value(&mut next, "select current_setting('lock_timeout')").await.unwrap(), "0", "{statement}");
    }
    assert_eq!(pids.len(), 1);
}

#[tokio::test]
async fn waiting_is_bounded_in_time_and_number() {
    let database = Database::new("");
    let pool = pool(&database.uri(), limits());
    let (first, _second) = (pool.get(None).await.unwrap(), pool.get(None).await.unwrap());
    let waiting = tokio::spawn({
        let pool = pool.clone();
        async move { pool.get(None).await.map(drop) }
    });
    while pool.status().waiting == 0 {
        tokio::task::yield_now().await;
    }
    assert!(matches!(pool.get(None).await.err(), Some(PoolError::QueueFull)));
    assert!(matches!(waiting.await.unwrap(), Err(PoolError::Timeout)));
    assert_eq!(pool.status().waiting, 0);
    let served = tokio::spawn({
        let pool = pool.clone();
        async move { pool.get(None).await.map(drop) }
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
    drop(pool.get(None).await.unwrap());
    assert_eq!(pool.status().idle, 1);
    let ours = "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()";
    for _ in 0..100 {
        if database.value(ours) == "0" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!((pool.status().idle, database.value(ours).as_str()), (0, "0"));
    let mut first = pool.get(None).await.unwrap();
    let pid = value(&mut first, "select pg_backend_pid()").await.unwrap();
    pool.renew();
    drop(first);
    assert_eq!(pool.status().idle, 0);
    let mut other = pool.get(None).await.unwrap();
    assert_ne!(value(&mut other, "select pg_backend_pid()").await.unwrap(), pid);
}

#[tokio::test]
async fn a_query_whose_connection_is_dropped_is_cancelled() {
    let database = Database::new("");
    let pool = pool(&database.uri(), limits());
    let pid;
    {
        let mut connection = pool.get(None).await.unwrap();
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
    let mut again = pool.get(None).await.unwrap();
    assert_eq!(value(&mut again, "select pg_backend_pid()").await.unwrap(), pid);
}

#[tokio::test]
async fn connections_that_died_in_the_pool_are_replaced() {
    let database = Database::new("");
    let (proxy, uri) = Proxy::before(&database.uri());
    let pool = pool(&uri, limits());
    drop(pool.get(None).await.unwrap());
    proxy.close();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let refused = pool.get(None).await.err().unwrap();
    assert!(matches!(&refused, PoolError::Connect(_)));
    let refused: Box<dyn std::error::Error> = refused.into();
    assert!(refused.source().is_some(), "{refused}");
    proxy.open();
    let mut connection = pool.get(None).await.unwrap();
    assert_eq!(value(&mut connection, "select 1").await.unwrap(), "1");
}

/// A pooler lets everybody in and answers when it has a server: whoever waited for that waited for as long.
#[tokio::test]
async fn a_session_that_never_answers_gives_its_place_back() {
    let database = Database::new("");
    let (proxy, uri) = Proxy::before(&database.uri());
    let pool = pool(&format!("{uri}&connect_timeout=1"), PoolLimits { connections_max: 1, ..limits() });
    proxy.stall(true);
    let refused = tokio::time::timeout(Duration::from_secs(60), pool.get(None)).await;
    assert!(matches!(refused.expect("it is given up").err(), Some(PoolError::Connect(_))));
    proxy.stall(false);
    let mut connection = pool.get(None).await.unwrap();
    assert_eq!(value(&mut connection, "select 1").await.unwrap(), "1");
}

/// Clients that leave at once had a connection opened each, and none of them was ever there for anybody.
#[tokio::test]
async fn a_connection_that_is_being_opened_is_not_lost_with_its_client() {
    let database = Database::new("");
    let (proxy, uri) = Proxy::before(&database.uri());
    let pool = pool(&uri, PoolLimits { wait: Duration::from_secs(20), ..limits() });
    for _ in 0..20 {
        let _ = tokio::time::timeout(Duration::from_millis(1), pool.get(None)).await;
    }
    for _ in 0..200 {
        if pool.status().idle > 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!((1..=2).contains(&pool.status().idle), "{} are there", pool.status().idle);
    // what a session begins with is told once each
    let sessions = |recorded: Vec<u8>| recorded.windows(14).filter(|bytes| *bytes == b"server_version").count();
    assert!(sessions(proxy.take_recorded()) <= 2);
}
