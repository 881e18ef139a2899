//! Tracks flown by a simple glider in simple air.

use crate::igc::write::{write_fix, write_header, write_signature};
use crate::random::Random;
use std::f64::consts::TAU;

/// What a flight recorder is told before take-off.
pub(crate) struct Header<'a> {
    pub(crate) pilot: &'a str,
    pub(crate) glider: &'a str,
    pub(crate) site: &'a str,
    /// Day, month and year.
    pub(crate) date: (u32, u32, u32),
}

/// A place: degrees, and metres above the sea.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) latitude: f64,
    pub(crate) longitude: f64,
    pub(crate) elevation_m: f64,
}

/// Where and how a flight goes.
pub(crate) struct Air {
    pub(crate) launch: Place,
    pub(crate) landing: Place,
    /// Seconds of the day (UTC).
    pub(crate) start: u32,
    pub(crate) duration_seconds: u32,
    /// Seconds between two fixes.
    pub(crate) interval_seconds: u32,
    /// How many legs the way out has, between which the course turns by a third of a circle; then it leads home.
    pub(crate) legs_out: u32,
    /// The glider's speed through the air and its glide ratio.
    pub(crate) speed_ms: f64,
    pub(crate) glide: f64,
    pub(crate) cloudbase_m: f64,
    pub(crate) thermal_ms: f64,
    pub(crate) wind_ms: (f64, f64),
}

const DEGREE_M: f64 = 111_195.0;
/// How long a recorder runs before the take-off and after the landing: longer than the rest that ends a flight.
const WAITING_S: u32 = 180;
/// How fast a circling glider turns, in radians a second.
const TURN: f64 = 0.32;
/// Nearer to the landing field than this, one circles down.
const FIELD_M: f64 = 80.0;

/// Flies, and gives the recorder's file: glide until low, circle in a thermal up to the cloudbase, glide on; at the end down to the field.
pub(crate) fn fly(header: &Header<'_>, air: &Air, random: &mut Random) -> String {
    let seconds = air.duration_seconds + 2 * WAITING_S;
    let mut text = String::with_capacity((seconds / air.interval_seconds + 40) as usize * 37);
    write_header(&mut text, header);
    let mut glider = Glider::new(air, random);
    for second in (0..=seconds).step_by(air.interval_seconds as usize) {
        if (WAITING_S..WAITING_S + air.duration_seconds).contains(&second) {
            glider.go(second - WAITING_S, random);
        }
        let (latitude, longitude) = glider.position();
        let pressure_m = glider.altitude_m + 3.0 * random.normal();
        write_fix(&mut text, air.start + second, latitude, longitude, pressure_m, glider.altitude_m);
    }
    write_signature(&mut text, random);
    text
}

struct Glider<'a> {
    air: &'a Air,
    longitude_degree_m: f64,
    /// Metres from the launch.
    north_m: f64,
    east_m: f64,
    altitude_m: f64,
    heading: f64,
    is_circling: bool,
    is_landing: bool,
    climb_ms: f64,
    /// Where this thermal is left, and where the next one is needed.
    top_m: f64,
    low_m: f64,
    /// The heading of the first leg.
    course: f64,
    leg: u32,
}

impl<'a> Glider<'a> {
    fn new(air: &'a Air, random: &mut Random) -> Self {
        let course = random.between(0.0, TAU);
        let mut glider = Self {
            air,
            longitude_degree_m: DEGREE_M * air.launch.latitude.to_radians().cos(),
            north_m: 0.0,
            east_m: 0.0,
            altitude_m: air.launch.elevation_m,
            heading: course,
            is_circling: true,
            is_landing: false,
            climb_ms: 0.0,
            top_m: 0.0,
            low_m: 0.0,
            course,
            leg: 0,
        };
        glider.enter_thermal(random);
        glider
    }

    fn enter_thermal(&mut self, random: &mut Random) {
        let Air { launch, landing, cloudbase_m, thermal_ms, .. } = *self.air;
        self.is_circling = true;
        self.climb_ms = thermal_ms * random.between(0.5, 1.3);
        self.top_m = cloudbase_m - random.between(0.0, 450.0);
        let low_part = random.between(0.3, 0.6);
        self.low_m = landing.elevation_m + low_part * (launch.elevation_m - landing.elevation_m) + 250.0;
    }

    fn position(&self) -> (f64, f64) {
        let Place { latitude, longitude, .. } = self.air.launch;
        (latitude + self.north_m / DEGREE_M, longitude + self.east_m / self.longitude_degree_m)
    }

    /// One interval further, so many seconds after the take-off.
    fn go(&mut self, second: u32, random: &mut Random) {
        let air = self.air;
        let left_s = f64::from(air.duration_seconds - second);
        let (north_m, east_m) = self.to_landing();
        let distance_m = north_m.hypot(east_m);
        let height_m = self.altitude_m - air.landing.elevation_m;
        self.is_landing |= left_s * self.sink_ms() * 1.3 < height_m || left_s * air.speed_ms * 0.9 < distance_m;
        let vertical_ms = if self.is_landing {
            self.is_circling = distance_m < FIELD_M;
            self.heading = if self.is_circling { self.heading } else { f64::atan2(east_m, north_m) };
            -(height_m / left_s).min(4.0)
        } else {
            // half of the way home is spent in thermals
            let must_return = left_s * air.speed_ms * 0.4 < distance_m;
            self.soar(second, must_return, random)
        };
        let step_s = f64::from(air.interval_seconds);
        self.heading += if self.is_circling { step_s * TURN } else { 0.02 * random.normal() };
        self.north_m += (self.heading.cos() * air.speed_ms + air.wind_ms.0) * step_s;
        self.east_m += (self.heading.sin() * air.speed_ms + air.wind_ms.1) * step_s;
        self.altitude_m = (self.altitude_m + vertical_ms * step_s).max(air.landing.elevation_m);
    }

    /// Begins and leaves thermals, and gives how fast it goes up.
    fn soar(&mut self, second: u32, must_return: bool, random: &mut Random) -> f64 {
        let air = self.air;
        let due = if must_return { air.legs_out } else { second * (air.legs_out + 1) / air.duration_seconds };
        let leg = due.max(self.leg);
        if (self.is_circling && self.altitude_m > self.top_m) || (!self.is_circling && leg != self.leg) {
            self.is_circling = false;
            self.leg = leg;
            self.heading = self.course_of(leg) + 0.25 * random.normal();
        } else if !self.is_circling && self.altitude_m < self.low_m {
            self.enter_thermal(random);
        }
        if self.is_circling { self.climb_ms + 0.4 * random.normal() } else { 0.3 * random.normal() - self.sink_ms() }
    }

    fn course_of(&self, leg: u32) -> f64 {
        match leg < self.air.legs_out {
            true => self.course + f64::from(leg) * TAU / 3.0,
            false => f64::atan2(-self.east_m, -self.north_m),
        }
    }

    fn to_landing(&self) -> (f64, f64) {
        let (latitude, longitude) = self.position();
        let landing = self.air.landing;
        ((landing.latitude - latitude) * DEGREE_M, (landing.longitude - longitude) * self.longitude_degree_m)
    }

    fn sink_ms(&self) -> f64 {
        self.air.speed_ms / self.air.glide
    }
}
