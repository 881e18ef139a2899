//! Statements, results, errors, back-pressure.

use crate::texts::{Texts, rows, run, value};
use std::borrow::Cow;
use std::future::poll_fn;
use thalweg_rows::{Cursor, Demand, Format, Malformed, RowSink, RowView};
use thalweg_testkit::Database;
use thalweg_wire::{Config, Connection, ErrorKind, Param, Progress, Query, StepError, TransactionStatus};

async fn connect(database: &Database) -> Connection {
    Connection::connect(&Config::parse(&database.uri()).unwrap()).await.unwrap()
}

#[tokio::test]
async fn statements_up_to_sync_are_one_transaction() {
    let database = Database::new("create table t (id int primary key)");
    let mut connection = connect(&database).await;
    let failed =
        rows(&mut connection, &["insert into t values (1)", "insert into t values (1)", "insert into t values (2)"])
            .await;
    assert_eq!(failed.unwrap_err().code(), Some("23505"));
    assert!(connection.is_idle());
    assert_eq!(value(&mut connection, "select count(*) from t").await.unwrap(), "0");
    rows(&mut connection, &["insert into t values (1)", "insert into t values (2)"]).await.unwrap();
    assert_eq!(database.value("select count(*) from t"), "2");
}

#[tokio::test]
async fn parameters_and_formats_by_column() {
    let database = Database::new("");
    let mut connection = connect(&database).await;
    struct Both(Vec<(i32, String)>);
    impl RowSink for Both {
        type Error = Malformed;
        fn row(&mut self, row: RowView<'_>) -> Result<Demand, Malformed> {
            let mut columns = row.columns();
            let number = Cursor::new(columns.column()?.unwrap()).i32()?;
            let text = String::from_utf8_lossy(columns.column()?.unwrap()).into_owned();
            assert_eq!(columns.column(), Err(Malformed("row: too few columns")));
            self.0.push((number, text));
            Ok(Demand::More)
        }
    }
    let mut both = Both(Vec::new());
    let query = Query {
        text: "select $1::int4, $2::int4",
        params: &["7", "8"].map(|text| Param::Text(Cow::Borrowed(text))),
        formats: &[Format::Binary, Format::Text],
        ..Query::bare("")
    };
    assert_eq!(connection.run(&[query], &mut both).await.unwrap(), Progress::Done);
    assert_eq!(both.0, [(7, "8".to_owned())]);
}

#[tokio::test]
async fn prepared_statements_survive_what_happens_to_them() {
    let database = Database::new("create table t (x int); insert into t values (1)");
    let mut connection = connect(&database).await;
    let select = "select x from t";
    assert_eq!(value(&mut connection, select).await.unwrap(), "1");
    assert_eq!(connection.prepared(), 1);
    // cached plan must not change result type
    database.execute("alter table t alter x type text using x || '!'");
    assert_eq!(value(&mut connection, select).await.unwrap(), "1!");
    // invalid statement name
    rows(&mut connection, &["discard all"]).await.unwrap();
    assert_eq!(value(&mut connection, select).await.unwrap(), "1!");
    connection.simple("deallocate all").await.unwrap();
    assert_eq!(rows(&mut connection, &["select 'first'", select]).await.unwrap().0.len(), 2);
    // a statement that cannot be prepared leaves nothing behind
    assert_eq!(value(&mut connection, "select y from t").await.unwrap_err().code(), Some("42703"));
    database.execute("alter table t add y int default 5");
    assert_eq!(value(&mut connection, "select y from t").await.unwrap(), "5");
    // another role's row-level security is another plan
    database
        .execute("create role wire_other; grant select on t to wire_other; alter table t enable row level security");
    assert_eq!(value(&mut connection, select).await.unwrap(), "1!");
    connection.simple("set role wire_other").await.unwrap();
    assert_eq!(rows(&mut connection, &[select]).await.unwrap().0.len(), 0);
    connection.simple("reset role").await.unwrap();
    database.execute("drop owned by wire_other; drop role wire_other");
}

#[tokio::test]
async fn the_statement_cache_is_bounded() {
    let database = Database::new("");
    let mut connection = connect(&database).await;
    for at in 0..600 {
        assert_eq!(value(&mut connection, &format!("select {at}")).await.unwrap(), at.to_string());
    }
    assert_eq!(connection.prepared(), 256);
    let held = value(&mut connection, "select count(*) from pg_prepared_statements").await.unwrap();
    assert_eq!(held, "256");
}

/// Failing pipelines skip what closes the statements that made room.
#[tokio::test]
async fn the_statement_cache_is_bounded_by_failures_too() {
    let database = Database::new("");
    let mut connection = connect(&database).await;
    for at in 0..600 {
        let (fine, wrong) = (format!("select {at}"), format!("select {at} / 0"));
        assert!(rows(&mut connection, &[&fine, &wrong]).await.is_err());
    }
    value(&mut connection, "select 'closed'").await.unwrap();
    let held = value(&mut connection, "select count(*) from pg_prepared_statements").await.unwrap();
    assert_eq!(held, "256");
}

const INT4: u32 = 23;
const INT8: u32 = 20;

async fn returning(connection: &mut Connection, text: &str, columns: &[u32]) -> Result<Texts, thalweg_wire::Error> {
    run(connection, Query { columns: Some(columns), writes: true, ..Query::bare(text) }).await
}

#[tokio::test]
async fn what_writes_runs_only_if_it_returns_what_is_expected() {
    let database = Database::new("create table t (n int)");
    let mut connection = connect(&database).await;
    let insert = "insert into t values (1) returning n";
    let count = |expected: &str| assert_eq!(database.value("select count(*) from t"), expected);
    for known in [false, true] {
        let refused = returning(&mut connection, insert, &[INT8]).await.unwrap_err();
        assert_eq!((refused.kind(), refused.nothing_was_written()), (&ErrorKind::Stale, true), "{known}");
        assert!(connection.is_idle());
    }
    count("0");
    // nor does anything stay of what came before it
    let before = Query::bare("select set_config('app.kept', 'x', false)");
    let query = Query { columns: Some(&[INT8]), writes: true, ..Query::bare(insert) };
    assert!(connection.run(&[before, query], &mut Texts::default()).await.is_err());
    assert_eq!(value(&mut connection, "select current_setting('app.kept', true)").await.unwrap(), "");
    returning(&mut connection, insert, &[INT4]).await.unwrap();
    count("1");
    // prepared, and the table changes: the server refuses, and what it would return now is seen first
    database.execute("alter table t alter n type bigint");
    assert_eq!(returning(&mut connection, insert, &[INT4]).await.unwrap_err().kind(), &ErrorKind::Stale);
    count("1");
    returning(&mut connection, insert, &[INT8]).await.unwrap();
    count("2");
    // the same where nothing is kept in the session
    connection.share_session();
    assert_eq!(returning(&mut connection, insert, &[INT4]).await.unwrap_err().kind(), &ErrorKind::Stale);
    count("2");
    returning(&mut connection, insert, &[INT8]).await.unwrap();
    count("3");
    assert_eq!(value(&mut connection, "select count(*) from pg_prepared_statements").await.unwrap(), "0");
}

#[tokio::test]
async fn what_code_raises_is_not_taken_for_a_statement_that_is_gone() {
    let database = Database::new(
        "create sequence runs;
         create function raises() returns int language plpgsql as $$ begin
           perform nextval('runs'); raise exception 'no such statement' using errcode = '26000'; end $$",
    );
    let mut connection = connect(&database).await;
    for _ in 0..2 {
        let error = returning(&mut connection, "select raises()", &[INT4]).await.unwrap_err();
        assert_eq!((error.code(), error.nothing_was_written()), (Some("26000"), false));
    }
    assert_eq!(database.value("select last_value from runs"), "2");
}

#[tokio::test]
async fn a_read_of_other_columns_is_not_given_out() {
    let database = Database::new("create table t as select 1 as n");
    let mut connection = connect(&database).await;
    let mut texts = Texts::default();
    let query = Query { columns: Some(&[INT8]), ..Query::bare("select n from t") };
    let Err(StepError::Wire(error)) = connection.run(&[query], &mut texts).await else { panic!("it was given out") };
    assert_eq!((error.kind(), error.nothing_was_written()), (&ErrorKind::Stale, true));
    assert_eq!(texts, Texts::default());
}

#[tokio::test]
async fn rows_wait_while_the_sink_wants_no_more() {
    let database = Database::new("");
    let mut connection = connect(&database).await;
    struct One(u64);
    impl RowSink for One {
        type Error = Malformed;
        fn row(&mut self, _: RowView<'_>) -> Result<Demand, Malformed> {
            self.0 += 1;
            Ok(Demand::Pause)
        }
    }
    let mut one = One(0);
    let text = "select repeat('x', 10000) from generate_series(1, 20000)";
    let query = Query::bare(text);
    assert_eq!(connection.run(&[query], &mut one).await.unwrap(), Progress::Paused);
    assert_eq!(one.0, 1);
    // 200 MB cannot all have been sent: the server waits for us
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    let pid = connection.cancel_key().unwrap().process_id();
    let waits = database.value(&format!("select wait_event from pg_stat_activity where pid = {pid}"));
    assert_eq!(waits, "ClientWrite");
    let mut progress = Progress::Paused;
    while progress == Progress::Paused {
        progress = poll_fn(|cx| connection.poll_step(cx, &mut one)).await.unwrap();
    }
    assert_eq!(one.0, 20_000);
    assert!(connection.is_idle());
}

#[tokio::test]
async fn a_sink_that_fails_costs_the_connection() {
    let database = Database::new("");
    let mut connection = connect(&database).await;
    struct Fails;
    impl RowSink for Fails {
        type Error = &'static str;
        fn row(&mut self, _: RowView<'_>) -> Result<Demand, &'static str> {
            Err("no")
        }
    }
    let query = Query::bare("select generate_series(1, 3)");
    assert!(matches!(connection.run(&[query], &mut Fails).await, Err(StepError::Sink("no"))));
    assert!(!connection.is_idle());
}

#[tokio::test]
async fn notices_notifications_and_parameters() {
    let database = Database::new("");
    let mut connection = connect(&database).await;
    connection.execute(&["listen \"Some channel\""]).await.unwrap();
    connection
        .simple("do $$ begin raise notice 'hello'; raise warning 'there'; end $$; set timezone = 'Asia/Tokyo'")
        .await
        .unwrap();
    let notices: Vec<_> =
        connection.take_notices().into_iter().map(|notice| (notice.severity, notice.message)).collect();
    assert_eq!(notices, [("NOTICE".into(), "hello".into()), ("WARNING".into(), "there".to_owned())]);
    connection.simple("do $$ begin for i in 1..100 loop raise notice '%', i; end loop; end $$").await.unwrap();
    let latest: Vec<_> = connection.take_notices().into_iter().map(|notice| notice.message).collect();
    assert_eq!((latest.len(), latest[63].as_str()), (64, "100"));
    assert_eq!(connection.parameter("TimeZone"), Some("Asia/Tokyo"));
    database.execute("notify \"Some channel\", 'payload'; notify other, 'x'; notify \"Some channel\"");
    for payload in ["payload", ""] {
        let notification = connection.notification().await.unwrap();
        assert_eq!((notification.channel.as_str(), notification.payload.as_str()), ("Some channel", payload));
    }
    assert_eq!(value(&mut connection, "select 1").await.unwrap(), "1");
}

/// It waited for ever: PostgreSQL for the data, the client for the end of the script.
#[tokio::test]
async fn a_script_with_a_copy_from_stdin_fails() {
    let database = Database::new("create table t (n int)");
    let mut connection = connect(&database).await;
    let error = connection.simple("insert into t values (1); copy t from stdin; select 1").await.unwrap_err();
    assert_eq!(error.code(), Some("57014"));
    assert!(error.to_string().contains("brings no data"), "{error}");
    assert_eq!(value(&mut connection, "select count(*) from t").await.unwrap(), "0");
}

#[tokio::test]
async fn a_script_says_whether_a_transaction_is_in_progress_and_where_it_failed() {
    let database = Database::new("");
    let mut connection = connect(&database).await;
    assert_eq!(connection.simple("select 1; select 2").await.unwrap(), TransactionStatus::Idle);
    assert_eq!(connection.simple("begin").await.unwrap(), TransactionStatus::InTransaction);
    let error = connection.simple("select 'ä',\n nothing").await.unwrap_err();
    assert_eq!(error.database().unwrap().position, Some(14));
    assert_eq!(connection.simple("").await.unwrap(), TransactionStatus::Failed);
    assert_eq!(connection.simple("rollback").await.unwrap(), TransactionStatus::Idle);
}

/// Nobody may ever ask for what the database says besides.
#[tokio::test]
async fn what_nobody_asks_for_is_bounded() {
    let database = Database::new("");
    let mut connection = connect(&database).await;
    connection.simple("listen flood").await.unwrap();
    let flood = "select pg_notify('flood', repeat('x', 7000) || n) from generate_series(1, 1000) n";
    rows(&mut connection, &[flood, "select pg_notify('flood', 'end')"]).await.unwrap();
    let mut kept = 1;
    while connection.notification().await.unwrap().payload != "end" {
        kept += 1;
    }
    assert_eq!(kept, 256);
    connection.simple("do $$ begin raise notice '%', repeat('ä', 100000); end $$").await.unwrap();
    let notices = connection.take_notices();
    assert_eq!((notices[0].message.len(), notices[0].message.capacity()), (1024, 1024));
}

#[tokio::test]
async fn values_of_any_size() {
    let database = Database::new("");
    let mut connection = connect(&database).await;
    for length in [0, 1, 65_535, 65_536, 1_000_000, 20_000_000] {
        let large = "x".repeat(length);
        let query =
            Query { params: &[Param::Text(Cow::Borrowed(&large))], ..Query::bare("select $1::text, length($1)") };
        let mut texts = Texts::default();
        connection.run(&[query], &mut texts).await.unwrap();
        assert!(texts.0 == [vec![Some(large), Some(length.to_string())]], "{length} bytes");
    }
}

#[tokio::test]
async fn data_is_copied_in() {
    let database = Database::new("create table t (id int primary key, s text)");
    let mut connection = connect(&database).await;
    let chunks = (0..1000).map(|at| bytes::Bytes::from(format!("{at}\tline {at}\n")));
    connection.copy_in("copy t from stdin", chunks).await.unwrap();
    assert_eq!(database.value("select count(*) from t"), "1000");
    let wrong = std::iter::once(bytes::Bytes::from_static(b"x\ty\n"));
    assert_eq!(connection.copy_in("copy t from stdin", wrong).await.unwrap_err().code(), Some("22P02"));
    assert_eq!(
        connection.copy_in("copy nothing from stdin", std::iter::empty()).await.unwrap_err().code(),
        Some("42P01")
    );
    assert_eq!(value(&mut connection, "select count(*) from t").await.unwrap(), "1000");
}
