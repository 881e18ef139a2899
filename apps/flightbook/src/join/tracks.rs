//! Tracks in the database, through the functions that only the program may call (`schema/012-track-files.sql`).
//!
//! Pilots cannot call them: what is stored as computed has been computed here. They have connections of their own, so that uploads take
//! none of those that pages and the API use.

use super::accounts::ROLE;
use super::reading::Flight;
use bytes::Bytes;
use std::fmt;
use std::time::Duration;
use thalweg_server::{ShareError, Shares};
use thalweg_wire::{Config, Error, Format, Param, Pool, PoolLimits, Query, Texts};

/// Connections for tracks that are sent, besides the server's own, and those of one pilot. The files of a pilot wait for each other in the
/// database, so that a second connection would do nothing but wait.
const TRACK_CONNECTIONS_MAX: usize = 2;
const PILOT_TRACK_CONNECTIONS_MAX: usize = 1;
/// Files that may wait for a connection, of all pilots and of one, and how long each. Each is in memory, unpacked.
const ADDITIONS_WAITING_MAX: usize = 16;
const PILOT_ADDITIONS_WAITING_MAX: usize = 8;
const ADDITION_WAIT_MAX: Duration = Duration::from_secs(60);

/// The tracks of a database.
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

/// What became of a flight of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It is in the book now.
    New,
    /// It was in the book already, and stays as it is.
    Known,
    /// It was in the book already, and its scores are proven only now.
    Scored,
}

/// Why a file is not added.
#[derive(Debug)]
pub(super) enum TrackError {
    /// The pilot's files would be larger together than the quota.
    TracksQuota,
    /// The pilot would have more flights than the quota.
    FlightsQuota,
    /// The schema refuses something in it.
    Refused,
    /// The pilot has deleted the account.
    NoPilot,
    /// The pilot, or all pilots, already add as many files as may.
    Share(ShareError),
    /// Another transaction stood in the way, and nothing was done.
    Conflict,
    /// The database does not answer as it should.
    Database(Error),
    /// There is no connection to it.
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
        match self.rows(pilot, "select flightbook_private.note_uploads($1::int, $2)", &params).await {
            // The files have been added: this is not the answer of a request of which nothing was done.
            Err(TrackError::Share(_)) => Err(TrackError::Unavailable),
            noted => noted.map(drop),
        }
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
            Self::Conflict => f.write_str("another transaction stood in the way"),
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
            // A deadlock or a conflict of transactions: the database has rolled this one back.
            (Some("40P01" | "40001"), _) => Self::Conflict,
            // A value that is no such value, or that a constraint refuses.
            (Some(code), _) if code.starts_with("22") || code.starts_with("23") => Self::Refused,
            _ => Self::Database(error),
        }
    }
}
