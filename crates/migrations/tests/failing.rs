//! What fails is told with its place, and leaves nothing behind that was not meant to stay.

use crate::{Site, applied};
use thalweg_migrations::ErrorKind;
use thalweg_testkit::Database;

#[tokio::test]
async fn an_error_is_told_with_its_place_and_nothing_of_its_file_is_kept() {
    let database = Database::new("");
    let site = Site::new(&[
        ("1.sql", "create table a (n int primary key)"),
        ("2.sql", "create table b ()"),
        ("4.sql", "broken"),
    ]);
    for (third, said) in [
        (
            "create table c ();\n\nselect 'ä', nothing\n  from a;",
            "3.sql:3:13: column \"nothing\" does not exist (42703)",
        ),
        (
            "create table c ();\n  insert into a\n values (1), (1);",
            "3.sql:2:3: duplicate key value violates unique constraint \"a_pkey\" (23505)\n  detail: Key (n)=(1) already exists.",
        ),
        (
            "create table c ();\ncopy a from stdin;\n1\n\\.\n",
            "3.sql:4:1: commands of psql's, which begin with a backslash,",
        ),
        (
            "create table c ();\n copy a from stdin",
            "3.sql:2:2: COPY from stdin failed: a script brings no data for it (57014)",
        ),
        ("create table c ();\ncommit;", "3.sql:2:1: a migration cannot begin or end a transaction"),
        ("create table c ();\ndo $$ begin commit; end $$", "3.sql:2:1: invalid transaction termination (2D000)"),
        (
            "create table c ();\ncreate index concurrently on a (n)",
            "3.sql:2:1: CREATE INDEX CONCURRENTLY cannot run inside a transaction block (25001)",
        ),
        (
            "create table c (n int unique deferrable initially deferred);\ninsert into c values (1), (1)",
            "3.sql: duplicate key value violates unique constraint \"c_n_key\" (23505)",
        ),
        (
            "create table c ();\nselect 'never ends",
            "3.sql:2:8: unterminated quoted string at or near \"'never ends\" (42601)",
        ),
        (
            "create table c (); do $$ begin\n  perform 1 / 0;\nend $$",
            "3.sql:1:20: division by zero (22012)\n  context: ",
        ),
    ] {
        site.write("3.sql", third);
        let refused = site.apply(&database.uri()).await.unwrap_err().to_string();
        assert!(refused.contains(said), "{refused}");
        assert_eq!(database.value("select count(*) from pg_class where relname = 'c'"), "0", "{third}");
    }
    assert_eq!(applied(&database), "1.sql, 2.sql");
    site.write("3.sql", "create table c ()");
    site.write("4.sql", "create table d ()");
    assert_eq!(site.apply(&database.uri()).await.unwrap(), 2);
}

#[tokio::test]
async fn a_file_that_has_changed_or_comes_late_is_refused() {
    let database = Database::new("");
    let site = Site::new(&[("1.sql", "create table a ()"), ("3.sql", "create table c ()")]);
    assert_eq!(site.apply(&database.uri()).await.unwrap(), 2);
    site.write("2.sql", "create table b ()");
    let refused = site.apply(&database.uri()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::History);
    assert!(refused.to_string().contains("2.sql is new, but comes before 3.sql"), "{refused}");
    site.remove("2.sql");
    site.write("1.sql", "create table a (n int)");
    let refused = site.apply(&database.uri()).await.unwrap_err().to_string();
    assert!(refused.contains("1.sql has changed since it was applied"), "{refused}");
    // it says how to have the file as it is now count as applied
    let (_, statement) = refused.split_once(":\n").unwrap();
    database.execute(statement);
    assert_eq!(site.apply(&database.uri()).await.unwrap(), 0);
    site.remove("1.sql");
    let refused = site.apply(&database.uri()).await.unwrap_err().to_string();
    assert!(refused.contains("1.sql has been applied, and is not in"), "{refused}");
}

#[tokio::test]
async fn without_a_transaction_what_was_done_stays_until_somebody_has_looked() {
    let database = Database::new("create table a (n int); insert into a values (1), (1)");
    let site = Site::new(&[(
        "1.sql",
        "-- thalweg: no transaction\ncreate table b ();\n create unique index concurrently a_n on a (n);",
    )]);
    let refused = site.apply(&database.uri()).await.unwrap_err().to_string();
    assert!(refused.contains("1.sql:3:2: could not create unique index \"a_n\""), "{refused}");
    assert!(refused.ends_with("this file runs without a transaction: what it did before is kept"), "{refused}");
    assert_eq!(database.value("select indisvalid from pg_index where indexrelid = 'a_n'::regclass"), "f");
    let refused = site.apply(&database.uri()).await.unwrap_err().to_string();
    assert!(refused.contains("has not run to its end"), "{refused}");
    // as it says
    let (_, forget) = refused.rsplit_once('\n').unwrap();
    database.execute("drop table b; drop index a_n; delete from a");
    database.execute(forget);
    assert_eq!(site.apply(&database.uri()).await.unwrap(), 1);
    assert_eq!(database.value("select indisvalid from pg_index where indexrelid = 'a_n'::regclass"), "t");
}
