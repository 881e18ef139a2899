//! Prepared statements: never more than there may be, never another than was meant.

use crate::texts::{Texts, rows, run, value};
use std::time::Duration;
use thalweg_rows::{Demand, RowSink, RowView};
use thalweg_testkit::Database;
use thalweg_wire::{Config, Connection, ErrorKind, Pool, PoolLimits, Progress, Query, SessionState, StepError};

const STATEMENTS_MAX: usize = 256;
const TEXTS_BYTES_MAX: usize = 512 * 1024;
const TEXT_BYTES_MAX: usize = 16 * 1024;
const INT4: u32 = 23;
const INT8: u32 = 20;

async fn connect(database: &Database) -> Connection {
    Connection::connect(&Config::parse(&database.uri()).unwrap()).await.unwrap()
}

/// How many statements the session holds, and how long their texts are together, asked in a way that tells it to close none.
async fn held(connection: &mut Connection) -> (usize, usize) {
    connection
        .simple(
            "do $$ begin raise warning '%',
               (select concat_ws(' ', count(*), coalesce(sum(length(statement)), 0)) from pg_prepared_statements); end $$",
        )
        .await
        .unwrap();
    let notice = connection.take_notices().pop_back().unwrap();
    let (count, bytes) = notice.message.split_once(' ').unwrap();
    (count.parse().unwrap(), bytes.parse().unwrap())
}

async fn assert_bounded(connection: &mut Connection, what: &str) -> usize {
    let (count, bytes) = held(connection).await;
    assert!(count <= STATEMENTS_MAX && bytes <= TEXTS_BYTES_MAX, "{what}: {count} statements, {bytes} bytes");
    count
}

fn long(text: &str) -> String {
    format!("{text} /*{}*/", "x".repeat(TEXT_BYTES_MAX))
}

struct Refuses;

impl RowSink for Refuses {
    type Error = &'static str;

    fn row(&mut self, _: RowView<'_>) -> Result<Demand, &'static str> {
        Err("no")
    }
}

/// A thousand failing requests left a thousand statements: the server skipped what closed those that made room.
#[tokio::test]
async fn failures_leave_no_more_than_there_may_be() {
    let database = Database::new("create table t (id int primary key)");
    let mut connection = connect(&database).await;
    let mut most = 0;
    for at in 0..700 {
        let fine = |n: usize| format!("select {at}, {n}");
        let (a, b, c) = (fine(1), fine(2), fine(3));
        let (runs_wrong, parses_wrong) = (format!("select {at} / (0 * {at})"), format!("select {at}, nothing"));
        match at % 7 {
            // where the first runs, where it is prepared, before any of them, in the last
            0 => assert!(rows(&mut connection, &[&runs_wrong, &a, &b, &c]).await.is_err()),
            1 => assert!(rows(&mut connection, &[&parses_wrong, &a, &b]).await.is_err()),
            2 => {
                let queries = [Query::unnamed("select 1 / 0"), Query::bare(&a), Query::bare(&b), Query::bare(&c)];
                assert!(connection.run(&queries, &mut Texts::default()).await.is_err());
            }
            3 => assert!(rows(&mut connection, &[&a, &b, &c, &parses_wrong]).await.is_err()),
            // in a transaction that was left open
            4 => {
                let mut sink = Texts::default();
                let queries = [Query::bare(&a), Query::bare(&b)];
                assert_eq!(connection.begin(&queries, &mut sink).await.unwrap(), Progress::Open);
                assert!(connection.end(&[Query::bare(&runs_wrong), Query::bare(&c)], &mut sink).await.is_err());
            }
            5 => {
                let queries = [Query::bare(&a), Query::bare(&runs_wrong), Query::bare(&b)];
                assert!(connection.begin(&queries, &mut Texts::default()).await.is_err());
            }
            // the session has lost them all
            _ => {
                if at == 342 {
                    connection.simple("deallocate all").await.unwrap();
                }
                assert!(rows(&mut connection, &[&a, &b, &runs_wrong, &c]).await.is_err());
            }
        }
        assert!(connection.is_idle());
        most = most.max(assert_bounded(&mut connection, &format!("after {at}")).await);
    }
    assert_eq!(most, STATEMENTS_MAX);
}

/// The same of requests whose client goes away in the middle, and of sinks that fail.
#[tokio::test]
async fn what_is_left_in_the_middle_leaves_no_more() {
    let database = Database::new("");
    let pool = Pool::new(
        Config::parse(&database.uri()).unwrap(),
        PoolLimits { connections_max: 1, wait: Duration::from_secs(20), ..PoolLimits::default() },
    );
    for at in 0..40 {
        let mut connection = pool.get(None).await.unwrap();
        let texts: Vec<String> = (0..8).map(|n| format!("select {at}, {n}")).collect();
        let sleeping = format!("select {at}, pg_sleep(60)");
        let mut statements: Vec<&str> = texts.iter().map(String::as_str).collect();
        statements.insert(at % 9, &sleeping);
        let is_reset = at % 2 == 1;
        if is_reset {
            connection.distrust();
            connection.reset_behind(true);
        }
        {
            let run = rows(&mut connection, &statements);
            assert!(tokio::time::timeout(Duration::from_millis(10), run).await.is_err());
        }
        drop(connection);
        let mut connection = pool.get(None).await.unwrap();
        assert_bounded(&mut connection, &format!("after {at}")).await;
        // whoever gets it next finds the cache full
        let more: Vec<String> = (0..8).map(|n| format!("select 'more', {at}, {n}")).collect();
        rows(&mut connection, &more.iter().map(String::as_str).collect::<Vec<_>>()).await.unwrap();
        assert_bounded(&mut connection, &format!("and more after {at}")).await;
        if at % 20 == 0 {
            let query = Query::bare("select 1");
            assert!(matches!(connection.run(&[query], &mut Refuses).await, Err(StepError::Sink("no"))));
        }
    }
}

#[tokio::test]
async fn texts_are_bounded_in_bytes() {
    let database = Database::new("");
    let mut connection = connect(&database).await;
    for at in 0..150 {
        let text = format!("select {at} /*{}*/", "x".repeat(10_000 + 7 * at));
        let failing = format!("select 1 / (0 * {at}) /*{}*/", "x".repeat(10_000));
        assert_eq!(value(&mut connection, &text).await.unwrap(), at.to_string());
        assert!(rows(&mut connection, &[&failing, &text]).await.is_err());
        assert_bounded(&mut connection, &format!("after {at}")).await;
    }
    let (count, bytes) = held(&mut connection).await;
    assert!(count > 40 && bytes > TEXTS_BYTES_MAX - 2 * TEXT_BYTES_MAX, "{count} statements, {bytes} bytes");
    // more than there is room for, in one pipeline
    let texts: Vec<String> = (0..100).map(|at| format!("select {at} /*{}*/", "y".repeat(10_000))).collect();
    let all = rows(&mut connection, &texts.iter().map(String::as_str).collect::<Vec<_>>()).await.unwrap();
    let expected: Vec<_> = (0..100).map(|at: usize| vec![Some(at.to_string())]).collect();
    assert_eq!(all.0, expected);
    assert_bounded(&mut connection, "one pipeline").await;
}

#[tokio::test]
async fn long_texts_are_not_kept() {
    let database = Database::new("create table t (n int); insert into t values (1)");
    let mut connection = connect(&database).await;
    let text = long("select n from t");
    for _ in 0..2 {
        assert_eq!(value(&mut connection, &text).await.unwrap(), "1");
    }
    assert_eq!((connection.prepared(), held(&mut connection).await.0), (0, 0));
    // beside named ones, and several of them
    let other = long("select n + 1 from t");
    let both = rows(&mut connection, &[&text, "select 'named'", &other, &text]).await.unwrap();
    assert_eq!(both.0.concat(), ["1", "named", "2", "1"].map(|text| Some(text.to_owned())));
    // columns that have changed are noticed before a row is given out
    let read = |columns: &'static [u32]| Query { columns: Some(columns), ..Query::bare(&text) };
    assert!(run(&mut connection, read(&[INT4])).await.is_ok());
    database.execute("alter table t alter n type bigint");
    let stale = run(&mut connection, read(&[INT4])).await.unwrap_err();
    assert_eq!((stale.kind(), stale.nothing_was_written()), (&ErrorKind::Stale, true));
    let mut connection = connect(&database).await;
    assert!(run(&mut connection, read(&[INT8])).await.is_ok());
}

#[tokio::test]
async fn long_writes_run_only_if_they_return_what_is_expected() {
    let database = Database::new("create table t (n int)");
    let mut connection = connect(&database).await;
    let (insert, other) = (long("insert into t values (1) returning n"), long("insert into t values (2) returning n"));
    let query = |columns: &'static [u32]| Query { columns: Some(columns), writes: true, ..Query::bare(&insert) };
    let second = |columns: &'static [u32]| Query { text: &other, ..query(columns) };
    let stands = |expected: &str| assert_eq!(database.value("select count(*) from t"), expected);
    for _ in 0..2 {
        let refused = run(&mut connection, query(&[INT8])).await.unwrap_err();
        assert_eq!((refused.kind(), refused.nothing_was_written()), (&ErrorKind::Stale, true));
        assert!(connection.is_idle());
    }
    stands("0");
    assert_eq!(run(&mut connection, query(&[INT4])).await.unwrap().0.len(), 1);
    stands("1");
    database.execute("alter table t alter n type bigint");
    assert_eq!(run(&mut connection, query(&[INT4])).await.unwrap_err().kind(), &ErrorKind::Stale);
    stands("1");
    // several, of which each takes the other's place; none runs unless all of them will do
    let mut texts = Texts::default();
    assert!(connection.run(&[query(&[INT8]), second(&[INT4])], &mut texts).await.is_err());
    assert!(connection.run(&[query(&[INT4]), second(&[INT8])], &mut texts).await.is_err());
    stands("1");
    connection.run(&[query(&[INT8]), second(&[INT8])], &mut texts).await.unwrap();
    assert_eq!(texts.0.concat(), ["1", "2"].map(|text| Some(text.to_owned())));
    stands("3");
    // in a transaction that is left open
    for (end, expected) in [(None, "4"), (Some(Query::unnamed("ROLLBACK")), "4")] {
        let mut texts = Texts::default();
        assert_eq!(connection.begin(&[query(&[INT8])], &mut texts).await.unwrap(), Progress::Open);
        assert_eq!(texts.0.len(), 1);
        let rest: Vec<Query<'_>> = end.into_iter().collect();
        assert_eq!(connection.end(&rest, &mut Texts::default()).await.unwrap(), Progress::Done);
        stands(expected);
    }
    let refused = connection.begin(&[query(&[INT4])], &mut Texts::default()).await;
    assert!(matches!(refused, Err(StepError::Wire(error)) if *error.kind() == ErrorKind::Stale));
    assert!(connection.is_idle());
    stands("4");
    assert_eq!(held(&mut connection).await.0, connection.prepared());
}

/// What runs before a statement whose columns have been seen can change them. Then nothing stays.
#[tokio::test]
async fn what_has_been_seen_is_what_is_run() {
    for insert in ["insert into t values (1) returning n".to_owned(), long("insert into t values (1) returning n")] {
        let database = Database::new("create table t (n int)");
        let mut connection = connect(&database).await;
        let alter = Query { writes: true, ..Query::bare("alter table t alter n type bigint") };
        let insert = Query { columns: Some(&[INT4]), writes: true, ..Query::bare(&insert) };
        let mut texts = Texts::default();
        let refused = connection.run(&[alter, insert], &mut texts).await;
        let Err(StepError::Wire(refused)) = refused else { panic!("{refused:?}") };
        assert_eq!((refused.code(), refused.nothing_was_written()), (Some("0A000"), false));
        assert_eq!(texts, Texts::default());
        assert_eq!(database.value("select count(*) from t"), "0");
        assert_eq!(database.value("select pg_typeof(n) from (select n from t union all select null) t"), "integer");
    }
}

/// A request that runs code and fails cost everybody the statements of its connection: those that the server had not closed
/// yet were taken for the code's.
#[tokio::test]
async fn failing_code_costs_no_statements() {
    let database = Database::new("");
    let limits = PoolLimits { connections_max: 1, wait: Duration::from_secs(20), ..PoolLimits::default() };
    let pool = Pool::new(Config::parse(&database.uri()).unwrap(), limits);
    let mut connection = pool.get(None).await.unwrap();
    for at in 0..STATEMENTS_MAX {
        value(&mut connection, &format!("select {at}")).await.unwrap();
    }
    drop(connection);
    for at in 0..3 {
        let mut connection = pool.get(None).await.unwrap();
        connection.distrust();
        let (failing, behind) = (format!("select {at} / 0"), format!("select {at}, 'behind'"));
        assert!(rows(&mut connection, &[&failing, &behind]).await.is_err());
        drop(connection);
        let mut connection = pool.get(None).await.unwrap();
        assert_eq!(*connection.session(), SessionState::Fresh);
        assert!(assert_bounded(&mut connection, "after code").await >= STATEMENTS_MAX - 1);
    }
}
