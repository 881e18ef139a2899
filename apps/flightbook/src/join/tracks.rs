//! Access to the tracks in the database, by the functions that only the program may call
//! (`schema/012-track-files.sql`).
//!
//! Pilots cannot call these functions, so all that is stored as computed was computed here. The
//! functions have connections of their own, so that uploads take none of those that pages and the
//! API use.

use super::accounts::ROLE;
use super::reading::Flight;
use bytes::Bytes;
use std::fmt;
use std::time::Duration;
use thalweg_server::{ShareError, Shares};
use thalweg_wire::{Config, Error, Format, Param, Pool, PoolLimits, Query, Texts};

/// Connections for uploaded tracks besides the server's own, in total and for one pilot. The files
/// of a pilot are serialised in the database, so a second connection would only wait.
const TRACK_CONNECTIONS_MAX: usize = 2;
const PILOT_TRACK_CONNECTIONS_MAX: usize = 1;
/// Files that may wait for a connection, in total and for one pilot, and the longest wait. Each
/// file is unpacked in memory.
const ADDITIONS_WAITING_MAX: usize = 16;
const PILOT_ADDITIONS_WAITING_MAX: usize = 8;
const ADDITION_WAIT_MAX: Duration = Duration::from_secs(60);

/// Tracks of a database.
pub(super) struct Tracks {
    pool: Pool,
    shares: Shares,
}

/// A flight of a file, after the file has been added.
#[derive(Debug)]
pub(super) struct Added {
    pub(super) flight_id: i32,
    pub(super) number: i32,
    pub(super) outcome: Outcome,
}

/// Outcome of a flight of an added file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The flight was added to the book.
    New,
    /// The flight was in the book already, and was not changed.
    Known,
    /// The flight was in the book already, and has been given scores that are proven now.
    Scored,
}

/// Reason why a file was not added.
#[derive(Debug)]
pub(super) enum TrackError {
    /// The pilot's files together would exceed the quota.
    TracksQuota,
    /// The pilot's flights would exceed the quota.
    FlightsQuota,
    /// The schema refuses a value of the file.
    Refused,
    /// The pilot has deleted the account.
    NoPilot,
    /// The pilot, or all pilots together, already add as many files as they may.
    Share(ShareError),
    /// Another transaction conflicted with this one, and nothing was done.
    Conflict,
    /// The database reported an error, or the connection was lost.
    Database(Error),
    /// There is no connection to the database.
    Unavailable,
}

impl Tracks {
    pub(super) fn new(uri: &str) -> Result<Self, Error> {
        let limits = PoolLimits { connections_max: TRACK_CONNECTIONS_MAX, ..PoolLimits::default() };
        let waiting = (ADDITIONS_WAITING_MAX, PILOT_ADDITIONS_WAITING_MAX);
        let shares =
            Shares::with_waiting(TRACK_CONNECTIONS_MAX, PILOT_TRACK_CONNECTIONS_MAX, ADDITION_WAIT_MAX, waiting);
        Ok(Self { pool: Pool::new(Config::parse(uri)?, limits), shares })
    }

    /// Stores a pilot's file and adds its flights, in one transaction. The file is not copied.
    pub(super) async fn add(
        &self,
        pilot: i32,
        file: Bytes,
        name: &str,
        flights: &[Flight],
    ) -> Result<Vec<Added>, TrackError> {
        let text = "select flight_id, number, outcome from flightbook_private.add_track($1::int, $2, $3, $4)";
        let (file, flights) = ([file], thalweg_json::to_string(flights).unwrap_or_default());
        let params = [
            Param::Text(pilot.to_string().into()),
            Param::Chunks(Format::Binary, &file),
            Param::Text(name.into()),
            Param::Text(flights.into()),
        ];
        self.rows(pilot, text, &params)
            .await?
            .iter()
            .map(|row| Added::from_row(row).ok_or(TrackError::Refused))
            .collect()
    }

    /// Stores the outcomes of the files that a pilot sent last, a JSON array, for the page that shows them.
    pub(super) async fn note(&self, pilot: i32, outcomes: &str) -> Result<(), TrackError> {
        let params = [Param::Text(pilot.to_string().into()), Param::Text(outcomes.into())];
        self.rows(pilot, "select flightbook_private.note_uploads($1::int, $2)", &params).await.map(drop)
    }

    async fn rows(&self, pilot: i32, text: &str, params: &[Param<'_>]) -> Result<Vec<Row>, TrackError> {
        let _permit = self.shares.acquire(&pilot).await.map_err(TrackError::Share)?;
        let mut connection = self.pool.get(None).await.map_err(|_| TrackError::Unavailable)?;
        let queries = [Query::bare(ROLE), Query { params, writes: true, ..Query::bare(text) }];
        let mut found = Texts::of_statement(1);
        connection.run(&queries, &mut found).await.map_err(Error::from)?;
        Ok(found.rows)
    }
}

type Row = Vec<Option<String>>;

impl Added {
    fn from_row(row: &Row) -> Option<Self> {
        let [Some(flight_id), Some(number), Some(outcome)] = row.as_slice() else { return None };
        let outcome = match outcome.as_str() {
            "new" => Outcome::New,
            "scored" => Outcome::Scored,
            _ => Outcome::Known,
        };
        Some(Self { flight_id: flight_id.parse().ok()?, number: number.parse().ok()?, outcome })
    }
}

impl fmt::Display for TrackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TracksQuota => f.write_str("the files of the pilot would exceed the quota"),
            Self::FlightsQuota => f.write_str("the flights of the pilot would exceed the quota"),
            Self::Refused => f.write_str("the database refuses the track"),
            Self::NoPilot => f.write_str("there is no such pilot"),
            Self::Share(error) => error.fmt(f),
            Self::Conflict => f.write_str("another transaction conflicted with this one"),
            Self::Database(error) => error.fmt(f),
            Self::Unavailable => f.write_str("there is no connection to the database"),
        }
    }
}

impl From<Error> for TrackError {
    fn from(error: Error) -> Self {
        let constraint = error.database().and_then(|error| error.constraint.as_deref());
        match (error.code(), constraint) {
            (_, Some("tracks_quota")) => Self::TracksQuota,
            (_, Some("flights_quota")) => Self::FlightsQuota,
            (_, Some("pilot_is_there")) => Self::NoPilot,
            // A deadlock or a conflict of transactions: PostgreSQL has rolled this transaction
            // back.
            (Some("40P01" | "40001"), _) => Self::Conflict,
            // A value is malformed, or a constraint refuses it.
            (Some(code), _) if code.starts_with("22") || code.starts_with("23") => Self::Refused,
            _ => Self::Database(error),
        }
    }
}
