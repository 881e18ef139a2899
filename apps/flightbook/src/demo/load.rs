//! Puts the sample pilots into a flight book: their tracks are read, scored and stored as uploads are.

use crate::join::reading;
use crate::sample::{Flight, FlightBook, NO_PASSWORD, PILOTS, Pilot};
use crate::score::Budget;
use std::fmt;
use thalweg_json::{Value, json};
use thalweg_wire::{Bytes, Config, Connection, Error, Format, Param, Query, Texts};

/// So many of a pilot's latest flights have tracks; what was before stands in the book as it was noted on paper. To score a track takes time.
const TRACKS_MAX: usize = 40;
/// Whatever the clock of this machine says, the sample is not to come.
const ANY_TIME_S: i64 = 1 << 40;

const REGISTER: &str = "select flightbook_private.register($1, $2, $3)";
const ACT_AS: &str = "select set_config('request.jwt.claims', json_build_object('sub', $1::text)::text, true), set_config('role', 'flightbook_pilot', true)";
const ADD_GLIDERS: &str = "insert into flightbook.gliders (manufacturer, model)
  select manufacturer, model from jsonb_to_recordset($1) as g (manufacturer text, model text)";
const ADD_SITES: &str = "insert into flightbook.sites (name, country, elevation_m, latitude, longitude)
  select name, country, elevation_m, latitude, longitude
  from jsonb_to_recordset($1) as s (name text, country text, elevation_m int, latitude float8, longitude float8)";
const ADD_FLIGHTS: &str = "insert into flightbook.flights
    (number, date, glider_id, launch_site_id, launch_time, landing_site_id, landing_time, track_distance, hike_and_fly, comment)
  select f.number, f.date, g.id, l.id, f.launch_time, d.id, f.launch_time + f.duration, f.km, f.is_on_foot, f.comment
  from jsonb_to_recordset($1) as f (number int, date date, glider text, launch text, landing text, launch_time time, duration interval,
    km numeric, is_on_foot boolean, comment text)
  join flightbook.gliders g on g.name = f.glider
  join flightbook.sites l on l.name = f.launch
  join flightbook.sites d on d.name = f.landing";
const ADD_TRACK: &str = "select * from flightbook_private.add_track($1::int, $2, $3, $4)";
const NOTE: &str = "update flightbook.flights f set hike_and_fly = n.is_on_foot, comment = n.comment
  from jsonb_to_recordset($1) as n (number int, is_on_foot boolean, comment text) where f.number = n.number";
const SHARE_BEST: &str = "insert into flightbook.shares (flight_id) select id from flightbook.flights order by points desc nulls last, id limit 1";

/// Why the sample is not there.
#[derive(Debug)]
pub struct LoadError(Error);

impl From<Error> for LoadError {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot load the sample pilots: {}", self.0)
    }
}

impl std::error::Error for LoadError {}

/// Puts the sample pilots into a database that has no pilots, the first of them with so many flights, all in one transaction.
/// Returns how many flights there are then, if it has.
///
/// # Errors
///
/// The database is out of reach, or has another schema.
pub async fn load(uri: &str, flights: u32) -> Result<Option<usize>, LoadError> {
    let mut connection = Connection::connect(&Config::parse(uri)?).await?;
    if ask(&mut connection, "select from flightbook.pilots limit 1", &[]).await?.is_some() {
        return Ok(None);
    }
    connection.simple("begin").await?;
    let mut count = 0;
    for pilot in PILOTS {
        count += add(&mut connection, pilot, flights).await?;
    }
    connection.simple("commit; analyze").await?;
    connection.terminate().await;
    Ok(Some(count))
}

/// Adds a pilot, and as them all that is theirs.
async fn add(connection: &mut Connection, pilot: Pilot, flights: u32) -> Result<usize, Error> {
    let book = FlightBook::of(pilot, flights);
    let flights: Vec<Flight> = book.flights().collect();
    let (noted, tracked) = flights.split_at(flights.len().saturating_sub(TRACKS_MAX));
    let registered = ask(connection, REGISTER, &[text(pilot.name), text(pilot.email), text(NO_PASSWORD)]).await?;
    let id = registered.and_then(|row| row.into_iter().next().flatten()).unwrap_or_default();
    ask(connection, ACT_AS, &[text(&id)]).await?;
    ask(
        connection,
        ADD_GLIDERS,
        &[list(book.gliders().map(|(maker, model)| json!({ "manufacturer": maker, "model": model })))],
    )
    .await?;
    ask(connection, ADD_SITES, &[list(book.sites().map(|site| json!(site)))]).await?;
    ask(connection, ADD_FLIGHTS, &[list(noted.iter().map(Flight::noted))]).await?;
    // Tracks are added by the function that adds those that pilots upload.
    connection.simple("reset role").await?;
    for (flight, found) in tracked.iter().zip(read(tracked)) {
        let igc = [Bytes::copy_from_slice(flight.igc.as_bytes())];
        let found = thalweg_json::to_string(&found).unwrap_or_default();
        ask(
            connection,
            ADD_TRACK,
            &[text(&id), Param::Chunks(Format::Binary, &igc), text(&flight.file_name), text(&found)],
        )
        .await?;
    }
    ask(connection, ACT_AS, &[text(&id)]).await?;
    ask(connection, NOTE, &[list(tracked.iter().map(Flight::noted))]).await?;
    ask(connection, SHARE_BEST, &[]).await?;
    connection.simple("reset role").await?;
    Ok(flights.len())
}

/// Reads tracks, by all of the machine's cores.
fn read(flights: &[Flight]) -> Vec<Vec<reading::Flight>> {
    let read = |flight: &Flight| {
        reading::read(flight.igc.as_bytes(), ANY_TIME_S, &mut Budget::new(u64::MAX)).unwrap_or_default()
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let parts = flights.chunks(flights.len().div_ceil(cores).max(1));
        let parts: Vec<_> = parts.map(|part| scope.spawn(move || part.iter().map(read).collect())).collect();
        parts.into_iter().flat_map(|part| part.join().unwrap_or_else(|_| Vec::new())).collect()
    })
}

impl Flight {
    /// As its pilot writes it down.
    fn noted(&self) -> Value {
        let Self { number, date, glider, launch_site, landing_site, launch_s, duration_s, about_km, .. } = self;
        json!({
            "number": number, "date": date.to_string(), "glider": glider, "launch": launch_site, "landing": landing_site,
            "launch_time": format!("{:02}:{:02}", launch_s / 3600, launch_s / 60 % 60), "duration": format!("{} minutes", duration_s / 60),
            "km": format!("{about_km:.1}"), "is_on_foot": self.is_on_foot, "comment": self.comment,
        })
    }
}

fn text(text: &str) -> Param<'_> {
    Param::Text(text.into())
}

fn list(rows: impl Iterator<Item = Value>) -> Param<'static> {
    Param::Text(Value::Array(rows.collect()).to_string().into())
}

/// The first row of a statement.
async fn ask(
    connection: &mut Connection,
    statement: &str,
    params: &[Param<'_>],
) -> Result<Option<Vec<Option<String>>>, Error> {
    let mut found = Texts::default();
    connection
        .run(&[Query { params, writes: true, ..Query::bare(statement) }], &mut found)
        .await
        .map_err(Error::from)?;
    Ok(found.rows.into_iter().next())
}
