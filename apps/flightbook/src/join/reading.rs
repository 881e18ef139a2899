//! What is kept of a track: of each of its flights the figures, the scores, and what is drawn.

use crate::igc::{self, Refusal};
use crate::score::{self, Budget, Kind, Score};
use crate::track::{self, Barogram, Figures, Fix};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

/// How many fixes are drawn of a flight.
const DRAWN_FIXES_MAX: usize = 2_000;
/// How many flights one file may hold: a day on the training slope.
const FLIGHTS_MAX: usize = 100;
/// No flight is longer, and no recorder is.
const FLIGHT_S_MAX: i64 = 48 * 3600;
/// How far a recorder's clock may be ahead.
const CLOCK_S_MAX: i64 = 24 * 3600;
/// The largest distance that the schema keeps.
const DISTANCE_KM_MAX: f64 = 99_999.0;

/// Why no flight comes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// It is no track.
    Refused(Refusal),
    /// Nobody flies in it.
    NoFlight,
    /// One who flies does so for days, or more often than anybody.
    TooMuch,
    /// The day is still to come.
    Date,
}

impl Problem {
    /// The word for which a message of the pages begins with `track-`.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Refused(Refusal::Empty) => "empty",
            Self::Refused(Refusal::TooLong) => "too-long",
            Self::Refused(Refusal::Zip) => "zip-unreadable",
            Self::Refused(Refusal::Html) => "html",
            Self::Refused(Refusal::Xml) => "xml",
            Self::Refused(Refusal::NotIgc) => "not-igc",
            Self::Refused(Refusal::NoFixes) => "no-fixes",
            Self::Refused(Refusal::NoDate) => "no-date",
            Self::NoFlight => "no-flight",
            Self::TooMuch => "too-much",
            Self::Date => "date",
        }
    }
}

/// A flight in the form that `flightbook_private.add_track` takes.
#[derive(Serialize)]
pub(crate) struct Flight {
    date: String,
    launch_time: String,
    landing_time: String,
    /// PostgreSQL reads it as an interval.
    duration: String,
    glider: Option<String>,
    launch_latitude: f64,
    launch_longitude: f64,
    landing_latitude: f64,
    landing_longitude: f64,
    track_distance: f64,
    altitude_max_m: i32,
    height_gain_m: i32,
    free_flight_km: Option<f64>,
    free_flight_points: Option<f64>,
    free_triangle_km: Option<f64>,
    free_triangle_points: Option<f64>,
    fai_triangle_km: Option<f64>,
    fai_triangle_points: Option<f64>,
    scores_are_proven: Option<bool>,
    starts_at: String,
    seconds: Vec<i64>,
    latitudes: Vec<f64>,
    longitudes: Vec<f64>,
    altitudes_m: Vec<i32>,
    climbs_dms: Vec<i32>,
    scored_as: Option<&'static str>,
    /// Of the best score: its start, its turnpoints and its finish.
    score_latitudes: Vec<f64>,
    score_longitudes: Vec<f64>,
}

/// Reads the flights of a file that is sent at `now_s`, in seconds since 1970, and scores them with
/// the rest of the budget. This takes a core for a while.
pub(crate) fn read(file: &[u8], now_s: i64, budget: &mut Budget) -> Result<Vec<Flight>, Problem> {
    let track = igc::read(file).map_err(Problem::Refused)?;
    let flights = track::flights(&track.fixes);
    if flights.len() > FLIGHTS_MAX {
        return Err(Problem::TooMuch);
    }
    if flights.iter().any(|flight| track.fixes[flight.landing].time_s > now_s + CLOCK_S_MAX) {
        return Err(Problem::Date);
    }
    let glider = track.glider_type.as_deref();
    let read = |flight: &track::Flight| Flight::new(flight.of(&track.fixes), glider, budget);
    let read: Vec<Flight> = flights.iter().map(read).collect::<Result<_, _>>()?;
    if read.is_empty() { Err(Problem::NoFlight) } else { Ok(read) }
}

impl Flight {
    /// Returns whether a search for better scores was given up.
    pub(super) fn is_unproven(&self) -> bool {
        self.scores_are_proven == Some(false)
    }

    fn new(fixes: &[Fix], glider: Option<&str>, budget: &mut Budget) -> Result<Self, Problem> {
        let (Some(launch), Some(landing), Some(figures)) = (fixes.first(), fixes.last(), Figures::new(fixes)) else {
            return Err(Problem::NoFlight);
        };
        if figures.duration_s > FLIGHT_S_MAX {
            return Err(Problem::TooMuch);
        }
        let [date, launch_time, starts_at] =
            ["%Y-%m-%d", "%H:%M:%S", "%Y-%m-%dT%H:%M:%SZ"].map(|format| written(launch.time_s, format));
        let scores = score::score_within(fixes, budget);
        let score = |of: fn(&score::Scores) -> Option<&Score>| {
            let score = scores.as_ref().and_then(of);
            (score.map(|score| kilometres(score.distance_m)), score.map(|score| hundredths(score.points)))
        };
        let (free_flight_km, free_flight_points) = score(|scores| Some(&scores.free_flight));
        let (free_triangle_km, free_triangle_points) = score(|scores| scores.free_triangle.as_ref());
        let (fai_triangle_km, fai_triangle_points) = score(|scores| scores.fai_triangle.as_ref());
        let best = scores.as_ref().map(score::Scores::best);
        let turnpoints = best.map_or(Vec::new(), |Score { start, turnpoints: [a, b, c], finish, .. }| {
            [start, a, b, c, finish].map(|at| &fixes[*at]).to_vec()
        });
        let Barogram { seconds, latitudes, longitudes, altitudes_m, climbs_dms, .. } =
            Barogram::new(fixes, DRAWN_FIXES_MAX);
        Ok(Self {
            date: date?,
            launch_time: launch_time?,
            landing_time: written(landing.time_s, "%H:%M:%S")?,
            duration: format!("{} seconds", figures.duration_s),
            glider: glider.map(str::to_owned),
            launch_latitude: launch.latitude,
            launch_longitude: launch.longitude,
            landing_latitude: landing.latitude,
            landing_longitude: landing.longitude,
            track_distance: kilometres(figures.track_length_m),
            altitude_max_m: figures.altitude_max_m,
            height_gain_m: figures.height_gain_m,
            free_flight_km,
            free_flight_points,
            free_triangle_km,
            free_triangle_points,
            fai_triangle_km,
            fai_triangle_points,
            scores_are_proven: scores.as_ref().map(|scores| scores.are_proven),
            starts_at: starts_at?,
            seconds,
            latitudes,
            longitudes,
            altitudes_m,
            climbs_dms,
            scored_as: best.map(|best| track_type(best.kind)),
            score_latitudes: turnpoints.iter().map(|fix| fix.latitude).collect(),
            score_longitudes: turnpoints.iter().map(|fix| fix.longitude).collect(),
        })
    }
}

/// As the schema names it.
fn track_type(kind: Kind) -> &'static str {
    match kind {
        Kind::FreeFlight => "free_flight",
        Kind::FreeTriangle => "free_triangle",
        Kind::ClosedFreeTriangle => "closed_free_triangle",
        Kind::FaiTriangle => "fai_triangle",
        Kind::ClosedFaiTriangle => "closed_fai_triangle",
    }
}

fn written(time_s: i64, format: &str) -> Result<String, Problem> {
    let moment = Timestamp::from_second(time_s).map_err(|_| Problem::Date)?;
    Ok(moment.to_zoned(TimeZone::UTC).strftime(format).to_string())
}

fn kilometres(metres: f64) -> f64 {
    hundredths(metres / 1000.0)
}

fn hundredths(value: f64) -> f64 {
    (value.min(DISTANCE_KM_MAX) * 100.0).round() / 100.0
}
