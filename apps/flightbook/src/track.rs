//! A flight recorder's track: fixes in the order of time, and what its head says; what of it is a flight, and what is told of that.

mod altitude;
mod barogram;
mod figures;
mod flight;
mod motion;

pub use barogram::Barogram;
pub use figures::Figures;
pub use flight::{Flight, flights};

/// Where and when a recorder was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fix {
    /// Seconds since 1970 (UTC).
    pub time_s: i64,
    /// Degrees, north of the equator above zero.
    pub latitude: f64,
    /// Degrees, east of Greenwich above zero.
    pub longitude: f64,
    /// Metres above where the standard atmosphere has 1013.25 hPa; 0 throughout if there is no sensor.
    pub pressure_altitude_m: i32,
    /// Metres above the ellipsoid or the geoid, as the recorder has it; 0 where satellites did not give it.
    pub gnss_altitude_m: i32,
    /// Whether the position is one in three dimensions.
    pub is_valid: bool,
}

/// A file's fixes, each later than the one before, and its head.
#[derive(Clone, Debug, PartialEq)]
pub struct Track {
    /// Who flew, as the file has it.
    pub pilot: Option<String>,
    /// On which glider.
    pub glider_type: Option<String>,
    /// With which registration.
    pub glider_id: Option<String>,
    /// What recorded it.
    pub recorder: Option<String>,
    /// At least one.
    pub fixes: Vec<Fix>,
    /// How many lines of fixes were left out: unreadable, not later than the one before, or farther away than anything flies.
    pub left_out: usize,
}
