//! Loading the schema cache: one read-only transaction on a connection of its own.

use super::snapshot::Snapshot;
use crate::config::{Config, ConfigError};
use std::borrow::Cow;
use std::fmt;
use std::time::Instant;
use thalweg_catalog::{Catalog, LoadError, Loader, Part};
use thalweg_encode::Zone;
use thalweg_rows::{Cursor, Demand, Format, Malformed, RowSink, RowView};
use thalweg_wire::{Config as WireConfig, Connection, Error, ErrorKind, Param, Query, StepError};

/// Why a load failed.
#[derive(Debug)]
pub(crate) enum LoadFailure {
    Wire(Error),
    Load(LoadError),
    Config(ConfigError),
    Panic(String),
}

impl LoadFailure {
    /// Whether trying again cannot help (operations §7.2).
    pub(crate) fn is_fatal(&self) -> bool {
        match self {
            Self::Wire(error) => {
                matches!(error.kind(), ErrorKind::Authentication(_) | ErrorKind::Config(_))
                    || error.code() == Some(PROTOCOL_VIOLATION)
                    // a catalog query that this PostgreSQL does not understand
                    || error.code() == Some("42601")
            }
            // it is read once at the start
            Self::Config(_) => true,
            Self::Load(_) | Self::Panic(_) => false,
        }
    }
}

/// What a pooler in statement mode answers to a transaction.
const PROTOCOL_VIOLATION: &str = "08P01";

impl fmt::Display for LoadFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wire(error) if error.code() == Some(PROTOCOL_VIOLATION) => {
                write!(f, "a pooler in statement mode is not supported: use session or transaction mode ({error})")
            }
            Self::Wire(error) => error.fmt(f),
            Self::Load(error) => error.fmt(f),
            Self::Config(error) => error.fmt(f),
            Self::Panic(error) => error.fmt(f),
        }
    }
}

impl From<Error> for LoadFailure {
    fn from(error: Error) -> Self {
        Self::Wire(error)
    }
}

impl From<ConfigError> for LoadFailure {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

impl From<LoadError> for LoadFailure {
    fn from(error: LoadError) -> Self {
        Self::Load(error)
    }
}

/// A connection of a load's own.
pub(crate) async fn connect(config: &WireConfig) -> Result<Connection, Error> {
    let mut connection = Connection::connect(config).await?;
    // each statement runs once
    connection.share_session();
    Ok(connection)
}

/// Reads the catalogs. Long and busy with a large schema: not to be run among requests. What is locked at the moment is taken
/// from what is known.
pub(crate) async fn load(
    mut connection: Connection,
    config: &Config,
    known: Option<&Catalog>,
) -> Result<Snapshot, LoadFailure> {
    connection.execute(&["BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", Loader::FIRST]).await?;
    let mut loader = Loader::new(&config.db_schemas, &config.db_extra_search_path);
    // the settings of roles are configuration (auth §8)
    for part in Part::ALL.into_iter().filter(|part| config.db_config || *part != Part::RoleSettings) {
        let params: Vec<Param<'_>> =
            loader.parameter(part).map(|text| Param::Text(Cow::Owned(text))).into_iter().collect();
        let query = Query { params: &params, formats: &[Format::Binary], ..Query::bare(loader.sql(part)) };
        let started = Instant::now();
        run(&mut connection, query, &mut loader.sink(part)).await?;
        tracing::debug!(?part, us = started.elapsed().as_micros() as u64, "a part of the schema cache was read");
    }
    let catalog = loader.finish(known)?;
    let zone = match Zone::named(&catalog.session().time_zone) {
        Some(zone) if zone.is_utc() || agrees(&mut connection, &zone).await? => Some(zone),
        _ => None,
    };
    connection.execute(&["COMMIT"]).await?;
    connection.terminate().await;
    Ok(Snapshot::new(catalog, zone, config))
}

async fn run<S: RowSink<Error = LoadError>>(
    connection: &mut Connection,
    query: Query<'_>,
    sink: &mut S,
) -> Result<(), LoadFailure> {
    match connection.run(&[query], sink).await {
        Ok(_) => Ok(()),
        Err(StepError::Wire(error)) => Err(error.into()),
        Err(StepError::Sink(error)) => Err(error.into()),
    }
}

/// Asks the database for its offsets in this zone, which may come from another edition of the zones' rules.
async fn agrees(connection: &mut Connection, zone: &Zone) -> Result<bool, LoadFailure> {
    struct Offsets(Vec<i32>);

    impl RowSink for Offsets {
        type Error = LoadError;

        fn row(&mut self, row: RowView<'_>) -> Result<Demand, LoadError> {
            let read = || -> Result<i32, Malformed> { Cursor::new(row.columns().column()?.unwrap_or_default()).i32() };
            self.0.push(read().map_err(|cause| LoadError::Row(Part::Session, cause))?);
            Ok(Demand::More)
        }
    }

    let probes: Vec<String> = zone.probes().iter().map(i64::to_string).collect();
    let query = Query {
        text: "select extract(timezone from to_timestamp(p.at))::int4
               from unnest($1::float8[]) with ordinality p (at, place) order by p.place",
        params: &[Param::Text(Cow::Owned(format!("{{{}}}", probes.join(","))))],
        formats: &[Format::Binary],
        ..Query::bare("")
    };
    let mut offsets = Offsets(Vec::new());
    run(connection, query, &mut offsets).await?;
    Ok(zone.agrees(&offsets.0))
}
