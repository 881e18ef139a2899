//! Each file is applied once, whoever comes when.

use crate::{Site, applied};
use std::time::Duration;
use thalweg_testkit::Database;

#[tokio::test]
async fn files_are_applied_in_order_and_once() {
    let database = Database::new("");
    let site = Site::new(&[
        ("001-log.sql", "create table log (line text);\ninsert into log values ('one');"),
        ("002-more.sql", "-- more\ninsert into log select line || ', two' from log;"),
    ]);
    assert_eq!(site.apply(&database.uri()).await.unwrap(), 2);
    assert_eq!(site.apply(&database.uri()).await.unwrap(), 0);
    site.write("003-last.sql", "insert into log values ('three')");
    assert_eq!(site.apply(&database.uri()).await.unwrap(), 1);
    assert_eq!(database.value("select string_agg(line, '; ') from log"), "one; one, two; three");
    assert_eq!(applied(&database), "001-log.sql, 002-more.sql, 003-last.sql");
    let recorded =
        "select sha256 from thalweg.migrations where name = '003-last.sql' and duration > '0' and applied_at <= now()";
    let statement = "select encode(sha256('insert into log values (''three'')'), 'hex')";
    assert_eq!(database.value(recorded), database.value(statement));
}

#[tokio::test]
async fn a_folder_without_files_touches_nothing() {
    let database = Database::new("");
    assert_eq!(Site::new(&[]).apply(&database.uri()).await.unwrap(), 0);
    assert_eq!(database.value("select count(*) from pg_namespace where nspname = 'thalweg'"), "0");
}

/// The second file has an index built that waits for whoever sees what is older: those that wait for their turn must not.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_at_once_apply_each_once() {
    let database = Database::new("create table log (line text)");
    let index = "-- thalweg: no transaction\ncreate index concurrently on log (line);\nreindex index concurrently log_line_idx;";
    let site = Site::new(&[
        ("1.sql", "insert into log values ('one')"),
        ("2.sql", index),
        ("3.sql", "insert into log values ('three')"),
    ]);
    let uri = database.uri();
    let (a, b, c) = tokio::join!(site.apply(&uri), site.apply(&uri), site.apply(&uri));
    assert_eq!([a, b, c].into_iter().map(Result::unwrap).sum::<usize>(), 3);
    assert_eq!(database.value("select string_agg(line, ', ') from log"), "one, three");
    assert_eq!(database.value("select count(*) from pg_index where indrelid = 'log'::regclass and indisvalid"), "1");
}

/// Whoever applies files must not hold what one of them needs alone.
#[tokio::test]
async fn a_file_may_lock_the_records() {
    let database = Database::new("");
    let site = Site::new(&[
        ("001.sql", "\u{feff}create table one (id int);"),
        (
            "002.sql",
            "lock table thalweg.migrations in access exclusive mode; alter table thalweg.migrations add note text;",
        ),
    ]);
    let applied = tokio::time::timeout(Duration::from_secs(60), site.apply(&database.uri())).await;
    assert_eq!(applied.expect("waits for itself").unwrap(), 2);
    assert_eq!(site.apply(&database.uri()).await.unwrap(), 0);
}

#[tokio::test]
async fn no_file_inherits_what_another_has_set() {
    let database = Database::new("create schema other");
    let site = Site::new(&[
        ("1.sql", "set search_path = other; set role pg_read_all_data; set session authorization pg_monitor;"),
        ("2.sql", "set standard_conforming_strings = off; create table t as select 'a\\' as text;"),
        ("3.sql", "create table made (by_whom text default current_user); insert into made default values;"),
    ]);
    // a backslash ends nothing by the rules that the file was read by
    assert!(site.apply(&database.uri()).await.is_err());
    site.write("2.sql", "create table t as select 'a\\' as text;");
    assert_eq!(site.apply(&database.uri()).await.unwrap(), 2);
    assert_eq!(database.value("select text || by_whom from public.t, public.made"), "a\\postgres");
}

/// A role that serves, and may do nothing else, sees that all is as it should be.
#[tokio::test]
async fn a_role_that_may_only_look_is_told_what_is_pending() {
    let database = Database::new("");
    let role = format!("looks_{}", database.name());
    database.execute(&format!("create role {role} login password 'p'"));
    let uri = database.uri();
    let (_, host) = uri.split_once('@').unwrap();
    let as_role = format!("postgres://{role}:p@{host}");
    let site = Site::new(&[("1.sql", "create table t ()")]);
    let refused = site.apply(&as_role).await.unwrap_err().to_string();
    assert!(refused.starts_with("cannot make the table thalweg.migrations: ERROR: permission denied"), "{refused}");
    assert_eq!(site.apply(&uri).await.unwrap(), 1);
    let refused = site.apply(&as_role).await.unwrap_err().to_string();
    assert!(refused.contains("usage of the schema and select on the table are needed: ERROR: permission"), "{refused}");
    database.execute(&format!("grant usage on schema thalweg to {role}; grant select on thalweg.migrations to {role}"));
    assert_eq!(site.apply(&as_role).await.unwrap(), 0);
    site.write("2.sql", "create table u ()");
    let refused = site.apply(&as_role).await.unwrap_err().to_string();
    assert!(refused.contains("2.sql: permission denied for table migrations"), "{refused}");
    database.execute(&format!("drop owned by {role}; drop role {role}"));
}

/// Taken apart, large scripts make what they make as a whole: functions with bodies of every kind, rules, comments.
#[tokio::test]
async fn scripts_make_what_they_make_as_a_whole() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    for script in ["cases/schema.sql", "cases/differential/schema.sql", "apps/flightbook/schema/001-flights.sql"] {
        let text = std::fs::read_to_string(format!("{root}/{script}")).unwrap();
        let (whole, apart) = (Database::new(&text), Database::new(""));
        let site = Site::new(&[("1.sql", &text)]);
        assert_eq!(site.apply(&apart.uri()).await.unwrap(), 1, "{script}");
        let made = |database: &Database| {
            database.value(
                "select concat_ws(';',
                     (select string_agg(concat_ws(' ', proname, md5(prosrc), prosqlbody is not null), ',' order by oid)
                         from pg_proc where oid > 16383),
                     (select count(*) from pg_class where oid > 16383 and relnamespace::regnamespace::text not in ('thalweg', 'pg_toast')))",
            )
        };
        assert_eq!(made(&whole), made(&apart), "{script}");
        assert_ne!(made(&whole), "0", "{script}");
    }
}
