//! Tracks flown by a simple glider in simple air.

use crate::igc::write::{write_fix, write_header, write_signature};
use crate::random::Random;

/// What a flight recorder is told before take-off.
pub(crate) struct Header<'a> {
    pub(crate) pilot: &'a str,
    pub(crate) glider: &'a str,
    pub(crate) site: &'a str,
    /// Day, month and year.
    pub(crate) date: (u32, u32, u32),
}

/// Where and how a flight goes.
pub(crate) struct Air {
    pub(crate) latitude: f64,
    pub(crate) longitude: f64,
    pub(crate) elevation_m: f64,
    /// Seconds of the day (UTC).
    pub(crate) start: u32,
    pub(crate) duration_seconds: u32,
    /// Seconds between two fixes.
    pub(crate) interval_seconds: u32,
    /// The glider's speed through the air and its glide ratio.
    pub(crate) speed_ms: f64,
    pub(crate) glide: f64,
    pub(crate) cloudbase_m: f64,
    pub(crate) thermal_ms: f64,
    pub(crate) wind_ms: (f64, f64),
}

/// A track and what can be read off it.
pub(crate) struct Track {
    pub(crate) text: String,
    pub(crate) fixes: u32,
    pub(crate) max_altitude_m: f64,
    pub(crate) max_climb_ms: f64,
    /// Of the place farthest from take-off, there and back.
    pub(crate) distance_km: f64,
}

const DEGREE_M: f64 = 111_195.0;
/// Over how many seconds a climb is averaged.
const CLIMB_SECONDS: f64 = 20.0;

/// Flies: glide until low, circle in a thermal up to the cloudbase, glide on; at the end descend to the ground.
pub(crate) fn fly(header: &Header<'_>, air: &Air, random: &mut Random) -> Track {
    let mut text = String::with_capacity((air.duration_seconds / air.interval_seconds + 40) as usize * 37);
    write_header(&mut text, header);
    let (mut north, mut east, mut altitude) = (0.0, 0.0, air.elevation_m);
    let mut heading: f64 = random.between(0.0, std::f64::consts::TAU);
    let mut circling = true;
    let mut climb = air.thermal_ms;
    let (mut max_altitude, mut max_climb, mut farthest) = (altitude, 0.0_f64, 0.0_f64);
    let mut fixes = 0;
    let step = f64::from(air.interval_seconds);
    let longitude_m = DEGREE_M * air.latitude.to_radians().cos();
    let sink = air.speed_ms / air.glide;
    let mut second = 0;
    while second <= air.duration_seconds {
        let left = f64::from(air.duration_seconds - second);
        let height_to_lose = (altitude - air.elevation_m * 0.4).max(0.0);
        let landing = left * sink * 1.3 < height_to_lose;
        if landing {
            circling = false;
        } else if circling && altitude > air.cloudbase_m - random.between(0.0, 200.0) {
            circling = false;
            // out one half of the flight, home the other
            let homeward = left < f64::from(air.duration_seconds) * 0.5;
            heading = if homeward { f64::atan2(-east, -north) } else { heading } + 0.3 * random.normal();
        } else if !circling && altitude < air.elevation_m * 0.6 + 350.0 {
            circling = true;
            climb = air.thermal_ms * random.between(0.5, 1.3);
        }
        let vertical = if landing {
            -(height_to_lose / left.max(step)).min(4.0)
        } else if circling {
            climb + 0.4 * random.normal()
        } else {
            -sink + 0.3 * random.normal()
        };
        heading += if circling { step * 0.32 } else { 0.02 * random.normal() };
        north += (heading.cos() * air.speed_ms + air.wind_ms.0) * step;
        east += (heading.sin() * air.speed_ms + air.wind_ms.1) * step;
        altitude = (altitude + vertical * step).max(air.elevation_m * 0.4);
        max_altitude = max_altitude.max(altitude);
        max_climb = max_climb.max(climb * (CLIMB_SECONDS - 1.0) / CLIMB_SECONDS * f64::from(u8::from(circling)));
        farthest = farthest.max((north * north + east * east).sqrt());
        let (latitude, longitude) = (air.latitude + north / DEGREE_M, air.longitude + east / longitude_m);
        write_fix(&mut text, air.start + second, latitude, longitude, altitude + 3.0 * random.normal(), altitude);
        fixes += 1;
        second += air.interval_seconds;
    }
    write_signature(&mut text, random);
    Track { text, fixes, max_altitude_m: max_altitude, max_climb_ms: max_climb, distance_km: farthest * 2.0 / 1000.0 }
}
