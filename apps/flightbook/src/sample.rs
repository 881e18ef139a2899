//! Three seasons of a club.

use crate::fly::{Air, Header, Track, fly};
use crate::random::Random;

/// Name, country, elevation, latitude, longitude, winds.
const SITES: [(&str, &str, i32, f64, f64, &str); 12] = [
    ("Fiesch", "CH", 2212, 46.415, 8.124, "{S,SW}"),
    ("Grindelwald First", "CH", 2166, 46.659, 8.054, "{S,W}"),
    ("Annecy Forclaz", "FR", 1250, 45.815, 6.246, "{W,NW}"),
    ("Saint-Hilaire", "FR", 980, 45.307, 5.888, "{E,SE}"),
    ("Bassano Panettone", "IT", 780, 45.806, 11.727, "{S}"),
    ("Kössen Unterberg", "AT", 1487, 47.640, 12.407, "{N,NW}"),
    ("Greifenburg", "AT", 1740, 46.764, 13.197, "{S}"),
    ("Brauneck", "DE", 1540, 47.663, 11.523, "{N,E,S}"),
    ("Tegelberg", "DE", 1707, 47.559, 10.778, "{N,NW}"),
    ("Algodonales", "ES", 950, 36.893, -5.405, "{S,SE,N}"),
    ("Bir Billing", "IN", 2430, 32.058, 76.737, "{S}"),
    ("Roldanillo", "CO", 1800, 4.413, -76.190, "{W}"),
];

const PILOTS: [(&str, i32); 14] = [
    ("Ada Zumtobel", 1984),
    ("Bo Lindqvist", 1990),
    ("Chiara Rossi", 1978),
    ("Dmitri Petrow", 1969),
    ("Élodie Marchand", 1995),
    ("Finn O'Neill", 1988),
    ("Gerda Huber", 1961),
    ("Hiroshi Tanaka", 1975),
    ("Inès Delacroix", 1999),
    ("Jakub Nowák", 1993),
    ("Katja Brunner", 1986),
    ("Luís Ferreira", 1981),
    ("Mei Chen", 1997),
    ("Noor van Dijk", 1972),
];

/// Maker, model, class, area in tenths of m², speed in m/s, glide ratio.
const GLIDERS: [(&str, &str, &str, i32, f64, f64); 10] = [
    ("Advance", "Alpha 8", "EN-A", 265, 9.4, 8.5),
    ("Nova", "Ion 7", "EN-B", 253, 9.9, 9.8),
    ("Ozone", "Rush 6", "EN-B", 244, 10.2, 10.2),
    ("Gin", "Explorer 2", "EN-B", 241, 10.1, 10.0),
    ("Skywalk", "Arak 2", "EN-B", 256, 10.0, 9.9),
    ("Advance", "Sigma DLS", "EN-C", 237, 10.5, 10.8),
    ("Ozone", "Photon", "EN-C", 231, 10.6, 11.0),
    ("Flow", "Fusion 2", "EN-C", 228, 10.6, 10.9),
    ("Ozone", "Zeno 2", "EN-D", 219, 11.1, 11.8),
    ("Ozone", "Enzo 3", "CCC", 216, 11.6, 12.5),
];

const TAGS: [&str; 8] =
    ["thermal", "ridge", "wave", "cross-country", "competition", "tandem", "hike and fly", "evening"];

const REMARKS: [&str; 8] = [
    "Smooth all day.",
    "Rough near the ridge, then \"elevator\" to base.",
    "Landed out, long walk; coffee at the station.",
    "First flight of the season",
    "Strong valley wind after 14:00, 30 km/h at the landing field",
    "Cloud street home 🪂",
    "Inversion at 1,800 m\\no way through",
    "Shared the climb with two griffons",
];

/// Everything that is loaded.
#[derive(Debug)]
pub struct FlightBook {
    seed: u64,
    flights: u32,
}

/// One flight with its track.
#[derive(Debug)]
pub struct Flight {
    /// Its id, from 1.
    pub id: u32,
    /// The row of `flights` in COPY's text format, without the line end.
    pub row: String,
    /// The tags' ids.
    pub tags: Vec<usize>,
    /// The track's file name.
    pub file_name: String,
    /// How many fixes the track has.
    pub fixes: u32,
    /// The IGC file.
    pub igc: String,
}

/// So many seconds lie between two fixes of most recorders; some record every second.
const INTERVALS: [u32; 5] = [1, 1, 2, 4, 5];

impl FlightBook {
    /// A book with this many flights.
    pub fn new(flights: u32) -> Self {
        Self { seed: 0x7468_616c_7765_6700, flights }
    }

    /// The small tables: name, columns, rows in COPY's text format.
    pub fn tables(&self) -> Vec<(&'static str, &'static str, String)> {
        let mut sites = String::new();
        for (id, (name, country, elevation, latitude, longitude, winds)) in (1..).zip(SITES) {
            sites += &format!("{id}\t{name}\t{country}\t{elevation}\t{latitude}\t{longitude}\t{winds}\n");
        }
        let mut pilots = String::new();
        for (id, (name, born)) in (1..).zip(PILOTS) {
            let home = (id * 5) % SITES.len() + 1;
            let born = if id % 6 == 0 { "\\N".to_owned() } else { format!("{born}-{:02}-{:02}", id % 12 + 1, id * 2) };
            pilots += &format!("{id}\t{name}\tIPPI-{:05}\t{born}\t{home}\n", id * 7919 % 100_000);
        }
        let mut gliders = String::new();
        for (id, (maker, model, class, area, ..)) in (1..).zip(GLIDERS) {
            gliders += &format!("{id}\t{maker}\t{model}\t{class}\t{}.{}\n", area / 10, area % 10);
        }
        let tags: String = (1..).zip(TAGS).map(|(id, label): (u32, _)| format!("{id}\t{label}\n")).collect();
        vec![
            ("sites", "id, name, country, elevation_m, latitude, longitude, winds", sites),
            ("pilots", "id, name, licence, born, home_site_id", pilots),
            ("gliders", "id, maker, model, class, area_m2", gliders),
            ("tags", "id, label", tags),
        ]
    }

    /// The flights in the order of their ids, made one by one.
    pub fn flights(&self) -> impl Iterator<Item = Flight> + use<> {
        let (seed, count) = (self.seed, self.flights);
        (1..=count).map(move |id| flight(id, &mut Random(seed ^ (u64::from(id) << 20))))
    }
}

fn flight(id: u32, random: &mut Random) -> Flight {
    let (pilot, glider, site) = (random.below(PILOTS.len()), random.below(GLIDERS.len()), random.below(SITES.len()));
    let (maker, model, _, _, speed_ms, glide) = GLIDERS[glider];
    let (site_name, _, elevation_m, latitude, longitude, _) = SITES[site];
    // March to October of three years, most flights around noon; every tenth is a long day
    let (year, month, day) = (2023 + id % 3, 3 + random.below(8) as u32, 1 + random.below(28) as u32);
    let start = random.between(8.5, 14.0);
    let hours = if id.is_multiple_of(10) { random.between(4.6, 7.0) } else { random.between(0.2, 3.2) };
    let interval_seconds = if id.is_multiple_of(10) { 1 } else { INTERVALS[random.below(INTERVALS.len())] };
    let air = Air {
        latitude,
        longitude,
        elevation_m: f64::from(elevation_m),
        start: (start * 3600.0) as u32,
        duration_seconds: (hours * 3600.0) as u32,
        interval_seconds,
        speed_ms,
        glide,
        cloudbase_m: f64::from(elevation_m) + random.between(500.0, 1900.0),
        thermal_ms: random.between(1.2, 4.5),
        wind_ms: (random.between(-2.5, 2.5), random.between(-2.5, 2.5)),
    };
    let glider_name = format!("{maker} {model}");
    let header = Header { pilot: PILOTS[pilot].0, glider: &glider_name, site: site_name, date: (day, month, year) };
    let Track { text, fixes, max_altitude_m, max_climb_ms, distance_km } = fly(&header, &air, random);
    let landing = if random.unit() < 0.85 { (site + 1).to_string() } else { "\\N".to_owned() };
    let remarks = match random.below(REMARKS.len() * 2) {
        at if at < REMARKS.len() => REMARKS[at].replace('\\', "\\\\"),
        _ => "\\N".to_owned(),
    };
    let time = |second: u32| format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60);
    let row = format!(
        "{id}\t{}\t{}\t{}\t{landing}\t{year}-{month:02}-{day:02} {}+00\t{}\t{distance_km:.1}\t{:.0}\t{max_climb_ms:.1}\t{remarks}",
        pilot + 1,
        glider + 1,
        site + 1,
        time(air.start),
        time(air.duration_seconds),
        max_altitude_m,
    );
    let mut tags: Vec<usize> = (0..random.below(4)).map(|_| random.below(TAGS.len()) + 1).collect();
    tags.sort_unstable();
    tags.dedup();
    let file_name = format!("{year}-{month:02}-{day:02}-XTH-{id:03}.igc");
    Flight { id, row, tags, file_name, fixes, igc: text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_is_what_the_demo_promises() {
        let flights: Vec<Flight> = FlightBook::new(40).flights().collect();
        assert!(flights.iter().any(|flight| flight.igc.len() > 500_000));
        for flight in &flights {
            let lines: Vec<&str> = flight.igc.split_terminator("\r\n").collect();
            assert!(lines[0].starts_with('A') && lines[lines.len() - 1].starts_with('G'));
            let fixes: Vec<&&str> = lines.iter().filter(|line| line.starts_with('B')).collect();
            assert_eq!(fixes.len(), flight.fixes as usize);
            assert!(fixes.iter().all(|fix| fix.len() == 35), "flight {}", flight.id);
            // no recorder jumps: between two fixes a glider climbs and sinks by what a glider can
            let altitudes: Vec<i32> = fixes.iter().map(|fix| fix[30..35].parse().unwrap()).collect();
            let step = altitudes.windows(2).map(|pair| (pair[1] - pair[0]).abs()).max().unwrap_or(0);
            assert!(step <= 50, "flight {} jumps {step} m", flight.id);
            assert!(altitudes.iter().all(|&altitude| altitude < 6000), "flight {}", flight.id);
        }
        let again: Vec<Flight> = FlightBook::new(40).flights().collect();
        assert!(flights.iter().zip(&again).all(|(a, b)| a.igc == b.igc && a.row == b.row));
    }
}
