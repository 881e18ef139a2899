//! What is pending is applied, each file on a connection of its own, so that none inherits what another has set.
//!
//! A file's record is written in front of it in the same transaction: both are there or neither is. One process at a time is let in, by a
//! lock that a transaction holds on a further connection, so that it is released however that process ends, and behind a pooler
//! too. A backend whose client is gone may outlive the lock for as long as its statement runs; the record, which is not committed and has
//! a key, holds up the next one then.

use crate::error::{Error, ErrorKind};
use crate::folder::{Folder, Migration};
use crate::history::{Record, pending};
use std::time::{Duration, Instant};
use thalweg_wire::{Config, Connection, Error as WireError, Param, Query, Texts, TransactionStatus};

/// What servers that apply migrations to a database lock: `thalweg` in ASCII.
const LOCK: i64 = 0x74_68_61_6c_77_65_67;
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Who may not read the records shall be told what it takes, which asking for the name would not do.
const IS_THERE: &str = "select from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'thalweg' and c.relname = 'migrations'";
const MAKE: &str = "
    create schema if not exists thalweg;
    create table if not exists thalweg.migrations (
        name text primary key,
        sha256 text not null,
        applied_at timestamptz not null default now(),
        duration interval
    );
    comment on schema thalweg is 'What Thalweg remembers of this database';
    comment on table thalweg.migrations is 'The files that have been applied, each once';
    comment on column thalweg.migrations.duration is 'NULL until the file has run to its end'";
const RECORDS: &str = "select name, sha256, duration is not null from thalweg.migrations";
const RECORD: &str = "insert into thalweg.migrations (name, sha256) values ($1, $2)";
const FINISH: &str = "update thalweg.migrations set duration = clock_timestamp() - applied_at where name = $1";
/// For as long as files are applied. As the last that the holder of the lock is told, it also closes what has read the records, whose
/// snapshot a statement without a transaction, such as `CREATE INDEX CONCURRENTLY`, would have to wait for.
const HOLD: &str = "rollback to savepoint thalweg_records; set local idle_in_transaction_session_timeout = 0";
/// A file may lock the table of the records.
const BEFORE_RECORDS: &str = "savepoint thalweg_records";
/// A file may have changed who it is; what it has set must not reach those who have the session of a pooler next.
const AS_BEFORE: &str = "reset session authorization; reset role; reset all";

impl Folder {
    /// Applies what the database of a connection string has no record of; how many that were.
    ///
    /// Waits for as long as another process applies migrations to it.
    pub async fn apply(&self, uri: &str) -> Result<usize, Error> {
        if self.migrations().is_empty() {
            return Ok(0);
        }
        let config = Config::parse(uri).map_err(|cause| Error::database("cannot apply migrations", cause))?;
        let mut held = lock(&config).await?;
        held.simple(BEFORE_RECORDS).await.map_err(|cause| Error::database("cannot look for migrations", cause))?;
        let pending = pending(self, &records(&mut held, &config).await?)?;
        held.simple(HOLD).await.map_err(|cause| Error::database("cannot hold the lock of migrations", cause))?;
        for migration in pending {
            let started = Instant::now();
            apply(&config, migration).await?;
            let (name, took) = (migration.name(), started.elapsed());
            tracing::info!(target: "notice", "Applied the migration {name} in {took:.1?}");
        }
        held.terminate().await;
        Ok(pending.len())
    }
}

async fn connect(config: &Config) -> Result<Connection, Error> {
    Connection::connect(config).await.map_err(|cause| Error::database("cannot apply migrations", cause))
}

/// A connection whose transaction holds the lock.
async fn lock(config: &Config) -> Result<Connection, Error> {
    let failed = |cause| Error::database("cannot lock the migrations", cause);
    let mut connection = connect(config).await?;
    let lock = format!("select pg_try_advisory_xact_lock({LOCK})");
    let mut has_waited = false;
    loop {
        connection.simple("begin isolation level read committed").await.map_err(failed)?;
        if rows(&mut connection, &lock, &[]).await.map_err(failed)? == [[Some("t".to_owned())]] {
            return Ok(connection);
        }
        connection.simple("rollback").await.map_err(failed)?;
        if !has_waited {
            tracing::info!(target: "notice", "Waiting for another process that applies migrations");
        }
        has_waited = true;
        tokio::time::sleep(LOCK_POLL_INTERVAL).await;
    }
}

/// What the database has a record of. Where they are kept is made if it is not there.
async fn records(connection: &mut Connection, config: &Config) -> Result<Vec<Record>, Error> {
    let failed = |cause| Error::database("cannot look for the table thalweg.migrations", cause);
    if rows(connection, IS_THERE, &[]).await.map_err(failed)?.is_empty() {
        let mut maker = connect(config).await?;
        maker.simple(MAKE).await.map_err(|cause| Error::database("cannot make the table thalweg.migrations", cause))?;
        maker.terminate().await;
    }
    let failed = |cause| {
        let what = "cannot read thalweg.migrations, for which usage of the schema and select on the table are needed";
        Error::database(what, cause)
    };
    let records = rows(connection, RECORDS, &[]).await.map_err(failed)?;
    let record = |row: Vec<Option<String>>| match <[_; 3]>::try_from(row) {
        Ok([Some(name), Some(sha256), Some(is_finished)]) => {
            Ok(Record { name, sha256, is_finished: is_finished == "t" })
        }
        _ => Err(Error::new(ErrorKind::Database, "thalweg.migrations holds what is no record of a migration")),
    };
    records.into_iter().map(record).collect()
}

async fn apply(config: &Config, migration: &Migration) -> Result<(), Error> {
    let place = migration.path().display();
    let failed = |cause| of_statement(&place, migration, cause);
    let mut connection = connect(config).await?;
    // what was found to be a statement is one by this
    connection.simple("set standard_conforming_strings = on").await.map_err(failed)?;
    if migration.in_transaction() {
        connection.simple("begin").await.map_err(failed)?;
    }
    let name = Param::Text(migration.name().into());
    let sha256 = Param::Text(migration.sha256().into());
    rows(&mut connection, RECORD, &[name.clone(), sha256]).await.map_err(failed)?;
    run(&mut connection, migration).await?;
    connection.simple(AS_BEFORE).await.map_err(failed)?;
    rows(&mut connection, FINISH, &[name]).await.map_err(failed)?;
    if migration.in_transaction() {
        // what is checked at its end may fail here
        connection.simple("commit").await.map_err(failed)?;
    }
    connection.terminate().await;
    Ok(())
}

/// Runs the statements of a file, and sees that its transaction goes on.
async fn run(connection: &mut Connection, migration: &Migration) -> Result<(), Error> {
    let expected = match migration.in_transaction() {
        true => TransactionStatus::InTransaction,
        false => TransactionStatus::Idle,
    };
    for (start, statement) in migration.statements() {
        let status = connection.simple(statement).await.map_err(|cause| {
            let position = cause.database().and_then(|error| error.position).unwrap_or(1);
            of_statement(&migration.place(start, position.saturating_sub(1)), migration, cause)
        })?;
        if status != expected {
            let what = "this has begun or ended a transaction, which a migration cannot";
            return Err(Error::file(&migration.place(start, 0), what));
        }
    }
    Ok(())
}

/// What is said of a statement of a file, or of the file as a whole.
fn of_statement(place: &dyn std::fmt::Display, migration: &Migration, cause: WireError) -> Error {
    let left = match migration.in_transaction() {
        true => "nothing of this file is kept",
        false => "this file runs without a transaction: what it did before is kept",
    };
    match cause.database() {
        Some(error) => Error::statement(place, error, left),
        None => Error::database(&place.to_string(), cause),
    }
}

/// The rows of a statement, as text, which leaves nothing in the session.
async fn rows(
    connection: &mut Connection,
    text: &str,
    params: &[Param<'_>],
) -> Result<Vec<Vec<Option<String>>>, WireError> {
    let mut texts = Texts::default();
    connection.run(&[Query { params, writes: true, ..Query::unnamed(text) }], &mut texts).await?;
    Ok(texts.rows)
}
