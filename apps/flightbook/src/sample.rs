//! The sample pilots, and what they have flown: made up, but plausible, and the same each time.

mod places;

use crate::fly::{Air, Header, Place, fly};
use crate::random::Random;
use jiff::ToSpan;
use jiff::civil::{Date, date};
use places::{AREAS, COMMENTS, GLIDERS, ON_FOOT, Spot};

/// A sample pilot.
#[derive(Clone, Copy, Debug)]
pub struct Pilot {
    /// As the pages show it.
    pub name: &'static str,
    /// What they have registered with; no mail reaches it.
    pub email: &'static str,
    /// How many flights they have at most.
    pub(crate) flights_max: u32,
    /// Their first year.
    first_year: i16,
    /// Where they fly, by the numbers of the areas: mostly at the first.
    areas: &'static [usize],
    /// Their gliders, one after the other.
    gliders: &'static [usize],
}

/// The hash of no password: what sample pilots have, and nobody who has registered.
pub(crate) const NO_PASSWORD: &str = "$none$";

/// Who can be signed in by a click. The first has as many flights as are asked for, the others a few.
pub const PILOTS: [Pilot; 14] = [
    pilot("Ada Zumtobel", "ada@club.example", u32::MAX, 2019, &[0, 1, 6, 2, 4, 5], &[0, 2, 5, 7]),
    pilot("Bo Lindqvist", "bo@club.example", 6, 2023, &[9, 2], &[1, 4]),
    pilot("Chiara Rossi", "chiara@club.example", 8, 2022, &[4, 6], &[4, 7]),
    pilot("Dmitri Petrow", "dmitri@club.example", 4, 2024, &[10], &[3]),
    pilot("Élodie Marchand", "elodie@club.example", 7, 2023, &[2, 3], &[2, 6]),
    pilot("Finn O'Neill", "finn@club.example", 4, 2024, &[9, 11], &[2]),
    pilot("Gerda Huber", "gerda@club.example", 8, 2022, &[7, 5, 8], &[0, 1]),
    pilot("Hiroshi Tanaka", "hiroshi@club.example", 5, 2023, &[11, 10], &[8]),
    pilot("Inès Delacroix", "ines@club.example", 3, 2025, &[3, 2], &[0]),
    pilot("Jakub Nowák", "jakub@club.example", 6, 2023, &[5, 6], &[3, 8]),
    pilot("Katja Brunner", "katja@club.example", 5, 2023, &[8, 7], &[1, 6]),
    pilot("Luís Ferreira", "luis@club.example", 4, 2024, &[9], &[5]),
    pilot("Mei Chen", "mei@club.example", 3, 2025, &[10], &[0]),
    pilot("Noor van Dijk", "noor@club.example", 8, 2022, &[11, 6, 0], &[7, 9]),
];

/// What one of them has flown.
#[derive(Debug)]
pub struct FlightBook {
    pilot: Pilot,
    flights: u32,
}

/// One flight.
#[derive(Debug)]
pub struct Flight {
    /// The pilot's count, from 1.
    pub(crate) number: u32,
    pub(crate) date: Date,
    pub(crate) glider: String,
    pub(crate) launch_site: &'static str,
    pub(crate) landing_site: &'static str,
    /// Seconds of the day (UTC).
    pub(crate) launch_s: u32,
    pub(crate) duration_s: u32,
    /// What somebody without a recorder takes for the way flown.
    pub(crate) about_km: f64,
    pub(crate) is_on_foot: bool,
    pub(crate) comment: &'static str,
    /// The track's file name.
    pub file_name: String,
    /// The IGC file.
    pub igc: String,
}

/// A site, as its pilot keeps it.
#[derive(serde::Serialize)]
pub(crate) struct Site {
    pub(crate) name: &'static str,
    pub(crate) country: &'static str,
    pub(crate) elevation_m: i32,
    pub(crate) latitude: f64,
    pub(crate) longitude: f64,
}

/// The last year flown in.
const LAST_YEAR: i16 = 2025;
/// A season is from March to October.
const SEASON_DAYS: f64 = 245.0;
/// So many seconds lie between two fixes of most recorders; some record every second.
const INTERVALS_S: [u32; 5] = [1, 1, 2, 4, 5];

impl FlightBook {
    /// The first pilot's, with this many flights.
    pub fn new(flights: u32) -> Self {
        Self::of(PILOTS[0], flights)
    }

    /// A pilot's, with as many of these flights as they have.
    pub(crate) fn of(pilot: Pilot, flights: u32) -> Self {
        Self { pilot, flights: flights.min(pilot.flights_max) }
    }

    /// The flights in their order, made one by one.
    pub fn flights(&self) -> impl Iterator<Item = Flight> + use<> {
        let (pilot, flights) = (self.pilot, self.flights);
        (0..flights).map(move |at| flight(&pilot, at, flights))
    }

    /// Manufacturers and models of the gliders.
    pub(crate) fn gliders(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.pilot.gliders.iter().map(|at| (GLIDERS[*at].0, GLIDERS[*at].1))
    }

    /// Where it begins and ends.
    pub(crate) fn sites(&self) -> impl Iterator<Item = Site> {
        self.pilot.areas.iter().map(|at| &AREAS[*at]).flat_map(|area| {
            [area.launch, area.landing].map(|(name, elevation_m, latitude, longitude)| Site {
                name,
                country: area.country,
                elevation_m,
                latitude,
                longitude,
            })
        })
    }
}

const fn pilot(
    name: &'static str,
    email: &'static str,
    flights_max: u32,
    first_year: i16,
    areas: &'static [usize],
    gliders: &'static [usize],
) -> Pilot {
    Pilot { name, email, flights_max, first_year, areas, gliders }
}

/// The flight at this place of so many.
fn flight(pilot: &Pilot, at: u32, flights: u32) -> Flight {
    let seed = pilot.name.bytes().fold(0x7468_616c_7765_6700, |seed: u64, byte| seed.rotate_left(7) ^ u64::from(byte));
    let random = &mut Random(seed ^ (u64::from(at) << 20));
    let done = (f64::from(at) + random.between(0.2, 0.8)) / f64::from(flights);
    let date = day(pilot.first_year, done);
    let area = &AREAS[pilot.areas[random.below(pilot.areas.len()).min(random.below(pilot.areas.len() + 1))]];
    let (maker, model, speed_ms, glide) = GLIDERS[pilot.gliders[(done * pilot.gliders.len() as f64) as usize]];
    let is_on_foot = random.below(10) == 0;
    let is_long = !is_on_foot && at % 8 == 7;
    let hours = match (is_on_foot, is_long) {
        (true, _) => random.between(0.15, 0.3),
        (false, true) => random.between(3.2, 6.5),
        (false, false) => random.between(0.2, 0.8 + 1.6 * done),
    };
    let (launch, landing) = (place(area.launch), place(area.landing));
    let air = Air {
        launch,
        landing,
        // most flights are around noon, where the sun says so
        start: ((random.between(9.0, 13.5) - launch.longitude / 15.0).rem_euclid(24.0) * 3600.0) as u32,
        duration_seconds: (hours * 3600.0) as u32,
        interval_seconds: if is_long { 1 } else { INTERVALS_S[random.below(INTERVALS_S.len())] },
        legs_out: if is_long { 2 } else { 1 },
        speed_ms,
        glide,
        cloudbase_m: launch.elevation_m + random.between(500.0, 1500.0),
        thermal_ms: random.between(1.2, 3.6),
        wind_ms: (random.between(-2.0, 2.0), random.between(-2.0, 2.0)),
    };
    let comments: &[&str] = if is_on_foot { &ON_FOOT } else { &COMMENTS };
    let comment = comments.get(random.below(2 * comments.len())).copied().unwrap_or_default();
    let glider = format!("{maker} {model}");
    let day_month_year = (date.day() as u32, date.month() as u32, date.year() as u32);
    let header = Header { pilot: pilot.name, glider: &glider, site: area.launch.0, date: day_month_year };
    Flight {
        number: at + 1,
        date,
        launch_site: area.launch.0,
        landing_site: area.landing.0,
        launch_s: air.start,
        duration_s: air.duration_seconds,
        about_km: hours * random.between(28.0, 40.0),
        is_on_foot,
        comment,
        file_name: format!("{date}-XTH-{:03}.igc", at + 1),
        igc: fly(&header, &air, random),
        glider,
    }
}

/// The day on which so much of all seasons is over.
fn day(first_year: i16, done: f64) -> Date {
    let seasons = done * f64::from(LAST_YEAR + 1 - first_year);
    let days = (seasons.fract() * SEASON_DAYS) as i64;
    date(first_year + seasons as i16, 3, 1).saturating_add(days.days())
}

fn place((_, elevation_m, latitude, longitude): Spot) -> Place {
    Place { latitude, longitude, elevation_m: f64::from(elevation_m) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_is_what_the_demo_promises() {
        let flights: Vec<Flight> = FlightBook::new(40).flights().collect();
        assert!(flights.iter().any(|flight| flight.igc.len() > 500_000));
        assert!(flights.is_sorted_by(|a, b| a.date < b.date));
        for flight in &flights {
            let lines: Vec<&str> = flight.igc.split_terminator("\r\n").collect();
            assert!(lines[0].starts_with('A') && lines[lines.len() - 1].starts_with('G'));
            let fixes: Vec<&&str> = lines.iter().filter(|line| line.starts_with('B')).collect();
            assert!(fixes.iter().all(|fix| fix.len() == 35), "flight {}", flight.number);
            // no recorder jumps: between two fixes a glider climbs and sinks by what a glider can
            let altitudes: Vec<i32> = fixes.iter().map(|fix| fix[30..35].parse().unwrap()).collect();
            let step = altitudes.windows(2).map(|pair| (pair[1] - pair[0]).abs()).max().unwrap_or(0);
            assert!(step <= 50, "flight {} jumps {step} m", flight.number);
            assert!(altitudes.iter().all(|&altitude| altitude < 6000), "flight {}", flight.number);
        }
        let again: Vec<Flight> = FlightBook::new(40).flights().collect();
        assert!(flights.iter().zip(&again).all(|(a, b)| a.igc == b.igc && a.comment == b.comment));
    }

    /// Each is one flight, from its launch down to its field, as an upload finds them.
    #[test]
    fn every_pilot_flies_from_a_site_to_a_site() {
        for pilot in PILOTS {
            for flight in FlightBook::of(pilot, 12).flights() {
                let track = crate::igc::read(flight.igc.as_bytes()).unwrap();
                let found = crate::track::flights(&track.fixes);
                let told = format!("{} {}: {found:?}", pilot.name, flight.file_name);
                assert_eq!(found.len(), 1, "{told}");
                let flown = found[0].of(&track.fixes);
                let ends = [(flight.launch_site, flown[0]), (flight.landing_site, flown[flown.len() - 1])];
                for (name, fix) in ends {
                    let site = FlightBook::of(pilot, 1).sites().find(|site| site.name == name).unwrap();
                    let (north, east) = (site.latitude - fix.latitude, site.longitude - fix.longitude);
                    assert!(north.abs() < 0.01 && east.abs() < 0.015, "{told}: {name} is {north} {east} away");
                }
            }
        }
    }
}
