//! Loads the flight book into a database.

use crate::sample::FlightBook;
use std::fmt;
use std::fmt::Write;
use thalweg_wire::{Config, Connection, Error};

/// The schema that is made and served.
pub const SCHEMA: &str = "flightbook";
const SCHEMA_SQL: &str = include_str!("../schema.sql");
const FAIL_IF_THERE: &str = "do $$ begin
  if to_regnamespace('flightbook') is not null then raise duplicate_schema; end if;
end $$";
/// Flights in one COPY of tracks: what is in memory at a time.
const BATCH_FLIGHTS: usize = 20;

/// Why the flight book is not there.
#[derive(Debug)]
pub struct LoadError(Error);

impl From<Error> for LoadError {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot load the flight book: {}", self.0)
    }
}

impl std::error::Error for LoadError {}

/// Makes the schema and loads `flights` flights, all in one transaction, unless the schema is there already.
/// Returns whether it has loaded anything.
pub async fn load(uri: &str, flights: u32) -> Result<bool, LoadError> {
    let mut connection = Connection::connect(&Config::parse(uri)?).await?;
    connection.simple("begin").await?;
    // two starts at once: the second waits here and then finds the schema
    connection.simple("select pg_advisory_xact_lock(7234)").await?;
    if let Err(error) = connection.simple(FAIL_IF_THERE).await {
        let there = error.code() == Some("42P06");
        connection.terminate().await;
        return if there { Ok(false) } else { Err(error.into()) };
    }
    connection.simple(SCHEMA_SQL).await?;
    let book = FlightBook::new(flights);
    for (table, columns, rows) in book.tables() {
        let statement = format!("copy flightbook.{table} ({columns}) from stdin");
        connection.copy_in(&statement, [rows.into()].into_iter()).await?;
    }
    let mut batch = book.flights().peekable();
    while batch.peek().is_some() {
        let (mut rows, mut tags, mut tracks) = (String::new(), String::new(), String::new());
        for flight in batch.by_ref().take(BATCH_FLIGHTS) {
            rows += &flight.row;
            rows.push('\n');
            for tag in flight.tags {
                let _ = writeln!(tags, "{}\t{tag}", flight.id);
            }
            let _ = write!(tracks, "{}\t{}\t{}\t\\\\x", flight.id, flight.file_name, flight.fixes);
            for byte in flight.igc.bytes() {
                let digit = |nibble: u8| char::from(b"0123456789abcdef"[usize::from(nibble)]);
                tracks.extend([digit(byte >> 4), digit(byte & 15)]);
            }
            tracks.push('\n');
        }
        for (table, rows) in [("flights", rows), ("flights_tags", tags), ("tracks", tracks)] {
            connection.copy_in(&format!("copy flightbook.{table} from stdin"), [rows.into()].into_iter()).await?;
        }
    }
    connection.simple("commit; analyze").await?;
    connection.terminate().await;
    Ok(true)
}
