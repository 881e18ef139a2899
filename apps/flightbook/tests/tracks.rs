//! Tracks read, of a real glider and of the samples, and everything that pilots upload in their place.

use igc::records::{BRecord, FixValid};
use std::fmt::Write;
use thalweg_flightbook::igc::{Refusal, TRACK_BYTES_MAX, read};
use thalweg_flightbook::track::{Barogram, Figures, Fix, Track, flights};
use thalweg_flightbook::{FlightBook, score};

/// The example of crate igc 0.3, under the licence beside it.
const EXAMPLE: &[u8] = include_bytes!("tracks/example.igc");
const HEAD: &str = "AXTHTLW\nHFDTEDATE:230724,01\n";
/// 23 July 2024, midnight.
const DAY_S: i64 = 1_721_692_800;

#[test]
fn fixes_are_those_of_another_reader() {
    let samples = FlightBook::new(12).flights().map(|flight| flight.igc.into_bytes());
    for file in samples.chain([EXAMPLE.to_vec()]) {
        let track = read(&file).unwrap();
        let text = str::from_utf8(&file).unwrap();
        let lines: Vec<BRecord<'_>> =
            text.lines().filter(|line| line.starts_with('B')).map(|line| BRecord::parse(line).unwrap()).collect();
        assert_eq!((track.fixes.len(), track.left_out), (lines.len(), 0));
        for (fix, line) in track.fixes.iter().zip(&lines) {
            assert_eq!(fix.time_s.rem_euclid(86_400), i64::from(line.timestamp.seconds_since_midnight()));
            let (latitude, longitude) = (f64::from(line.pos.lat), f64::from(line.pos.lon));
            assert!((fix.latitude - latitude).abs() < 1e-9 && (fix.longitude - longitude).abs() < 1e-9);
            assert_eq!(fix.pressure_altitude_m, i32::from(line.pressure_alt));
            assert_eq!(fix.gnss_altitude_m, i32::from(line.gps_alt));
            assert_eq!(fix.is_valid, line.fix_valid == FixValid::Valid);
        }
    }
}

/// The recorder has written behind the track what it made of it: taken off at 9:41:42, landed at 14:38:53, a triangle of 427,601 m.
#[test]
fn a_gliders_flight_is_what_its_recorder_says() {
    let track = read(EXAMPLE).unwrap();
    let head = [&track.pilot, &track.glider_type, &track.glider_id, &track.recorder].map(|text| text.as_deref());
    assert_eq!(head, [Some("Steve Lynn"), Some("ASH 25E"), Some("D-KOOL"), Some("LXNAV,LX8000F")]);
    let [flight] = flights(&track.fixes)[..] else { panic!("{:?}", flights(&track.fixes)) };
    let second = |fix: usize| track.fixes[fix].time_s.rem_euclid(86_400);
    let (take_off, landing) = (9 * 3600 + 41 * 60 + 42, 14 * 3600 + 38 * 60 + 53);
    assert!((second(flight.take_off) - take_off).abs() < 60 && (second(flight.landing) - landing).abs() < 60);
    let scores = score::score(flight.of(&track.fixes)).unwrap();
    let triangle = scores.free_triangle.unwrap();
    // the recorder measures on the ellipsoid
    assert!((triangle.distance_m - 427_601.0).abs() < 0.001 * 427_601.0, "{triangle:?}");
    let figures = Figures::new(flight.of(&track.fixes)).unwrap();
    assert_eq!((figures.altitude_max_m, figures.altitude_min_m, figures.height_gain_m), (1566, 149, 1416));
    assert!((figures.straight_distance_m - 385.0).abs() < 1.0 && figures.track_length_m > 600_000.0);
    assert!((50.0..70.0).contains(&figures.speed_max_ms) && (5.0..8.0).contains(&figures.climb_max_ms));
}

#[test]
fn what_is_no_track_is_refused_with_its_reason() {
    let long = vec![b'B'; TRACK_BYTES_MAX + 1];
    for (file, refusal) in [
        (&b""[..], Refusal::Empty),
        (b" \r\n\n", Refusal::Empty),
        (b"PK\x03\x04\x14\x00", Refusal::Zip),
        (b"\n<!DOCTYPE html><title>Sign in</title>", Refusal::Html),
        (b"<?xml version='1.0'?><gpx/>", Refusal::Xml),
        (b"\x89PNG\r\n\x1a\n\x00\x00", Refusal::NotIgc),
        (b"Berlin\nBB\nname;date\n", Refusal::NotIgc),
        (HEAD.as_bytes(), Refusal::NoFixes),
        (b"HFDTE230724\nB1001014630000N00700001", Refusal::NoFixes),
        (b"AXTH\nB1001014630000N00700001EA0123401230\n", Refusal::NoDate),
        (b"HFDTE320124\nB1001014630000N00700001EA0123401230\n", Refusal::NoDate),
        (&long, Refusal::TooLong),
    ] {
        let shown = String::from_utf8_lossy(&file[..file.len().min(40)]).into_owned();
        let found = read(file).expect_err(&shown);
        assert_eq!(found, refusal, "{shown}");
        assert!(found.to_string().ends_with(['.', ')']), "{found}");
    }
    // the last fix that the bound allows is read
    let fix = "B1001014630000N00700001EA0123401230\n";
    let mut file = format!("{HEAD}{fix}").into_bytes();
    file.resize(TRACK_BYTES_MAX, b'L');
    assert_eq!(read(&file).unwrap().fixes.len(), 1);
}

#[test]
fn lines_end_as_they_like_and_texts_are_in_any_alphabet() {
    let lines = ["AXTH", "HFPLTPILOTINCHARGE:J\u{fc}rg", "HFDTE230724", &line(36_000, 46.5, 1000), "G00"];
    for end in ["\n", "\r\n", "\r", "\r\n\r\n"] {
        for (bom, latin_1) in [(true, false), (false, false), (false, true)] {
            let text = lines.join(end);
            let mut file = if bom { b"\xef\xbb\xbf".to_vec() } else { Vec::new() };
            match latin_1 {
                true => file.extend(text.chars().map(|char| char as u8)),
                false => file.extend(text.bytes()),
            }
            let track = read(&file).unwrap();
            assert_eq!(track.pilot.as_deref(), Some("Jürg"), "{end:?}");
            assert_eq!((track.fixes.len(), track.fixes[0].time_s), (1, DAY_S + 36_000));
        }
    }
}

#[test]
fn time_goes_on_across_midnight_and_not_back() {
    let seconds = |lines: &[u32]| {
        let fixes: Vec<String> = lines.iter().map(|second| line(*second, 46.5, 1000)).collect();
        let track = read(format!("{HEAD}{}", fixes.join("\n")).as_bytes()).unwrap();
        (track.fixes.iter().map(|fix| fix.time_s - DAY_S).collect::<Vec<_>>(), track.left_out)
    };
    assert_eq!(seconds(&[86_390, 86_399, 1, 2]), (vec![86_390, 86_399, 86_401, 86_402], 0));
    // a clock that is set back by seconds, and fixes of one second
    assert_eq!(seconds(&[100, 101, 102, 102, 99, 100, 103]), (vec![100, 101, 102, 103], 3));
    // the first fix is of the recorder's last flight
    assert_eq!(seconds(&[50_000, 100, 101, 102]), (vec![101, 102], 2));
}

#[test]
fn a_second_date_is_the_second_flights() {
    let file = format!(
        "HFDTE230724\n{}\n{}\nHFDTE250724\n{}\nHFDTE250724\n{}\nHFDTE230724\n{}",
        line(50_000, 46.5, 1000),
        line(50_001, 46.5, 1000),
        line(40_000, 46.5, 1000),
        line(40_001, 46.5, 1000),
        line(40_002, 46.5, 1000),
    );
    let times: Vec<i64> = read(file.as_bytes()).unwrap().fixes.iter().map(|fix| fix.time_s - DAY_S).collect();
    assert_eq!(times, [50_000, 50_001, 212_800, 212_801, 212_802]);
    let late = format!("{}\nHFDTE230724\n{}", line(50_000, 46.5, 1000), line(50_001, 46.5, 1000));
    assert_eq!(read(late.as_bytes()).unwrap().fixes[0].time_s, DAY_S + 50_000);
}

#[test]
fn fixes_that_leap_are_left_out_wherever_they_are() {
    let good = |second: u32| line(second, 46.5 + f64::from(second) * 1e-4, 1000);
    let bad = |second: u32| line(second, 12.0, 1000);
    let track = |lines: &[String]| read(format!("{HEAD}{}", lines.join("\n")).as_bytes()).unwrap();
    let seconds = |track: &Track| track.fixes.iter().map(|fix| fix.time_s - DAY_S).collect::<Vec<_>>();
    let within = track(&[good(1), good(2), bad(3), good(4), "B0000".into(), good(5), bad(6)]);
    assert_eq!((seconds(&within), within.left_out), (vec![1, 2, 4, 5], 3));
    let first = track(&[bad(1), good(2), good(3), good(4)]);
    assert_eq!((seconds(&first), first.left_out), (vec![3, 4], 2));
}

#[test]
fn only_what_flies_is_a_flight() {
    let mut course = Course::new();
    course.go(900, 0.0, 0.0); // asleep in the car
    course.go(1200, 14.0, 0.05); // to the valley station
    course.go(400, 5.0, 2.5); // by the lift
    course.go(600, 1.2, 0.1); // on foot
    course.go(900, 0.0, 0.0); // waiting for wind
    let take_off = course.second;
    course.go(600, 9.0, -1.1);
    course.go(900, 9.0, 1.8);
    course.go(1500, 10.0, -1.2);
    let landing = course.second;
    course.go(60, 0.0, 0.0); // a touch-down, and on again
    course.go(120, 9.0, -1.0);
    let landing_again = course.second;
    course.go(1200, 0.5, 0.0); // packing
    let second_take_off = course.second;
    course.go(600, 9.0, -0.9);
    let second_landing = course.second;
    course.go(300, 1.3, 0.0);
    course.go(1800, 16.0, 0.0); // home
    let track = course.track();
    let times: Vec<(i64, i64)> = flights(&track.fixes)
        .iter()
        .map(|flight| (track.fixes[flight.take_off].time_s - DAY_S, track.fixes[flight.landing].time_s - DAY_S))
        .collect();
    let about = |a: i64, b: u32| (a - i64::from(b)).abs() <= 15;
    assert_eq!(times.len(), 2, "{times:?}");
    assert!(about(times[0].0, take_off) && about(times[0].1, landing_again), "{times:?}, touched down at {landing}");
    assert!(about(times[1].0, second_take_off) && about(times[1].1, second_landing), "{times:?}");
}

#[test]
fn figures_are_those_of_the_course() {
    let mut course = Course::new();
    course.go(600, 9.0, -1.0);
    course.go(600, 8.0, 2.0);
    course.go(300, 12.0, -3.0);
    let track = course.track();
    let figures = Figures::new(&track.fixes).unwrap();
    let near = |a: f64, b: f64, by: f64| (a - b).abs() <= by;
    let length = 600.0 * 9.0 + 600.0 * 8.0 + 300.0 * 12.0;
    assert_eq!(figures.duration_s, 1500);
    assert!(
        near(figures.track_length_m, length, 30.0) && near(figures.straight_distance_m, length, 30.0),
        "{figures:?}"
    );
    assert!(
        near(f64::from(figures.altitude_max_m), 2600.0, 3.0) && near(f64::from(figures.altitude_min_m), 1400.0, 3.0)
    );
    assert!(near(f64::from(figures.height_gain_m), 600.0, 3.0));
    assert!(
        near(figures.climb_max_ms, 2.0, 0.1)
            && near(figures.sink_max_ms, 3.0, 0.1)
            && near(figures.speed_max_ms, 12.0, 0.3)
    );
    assert!(Figures::new(&[]).is_none() && Figures::new(&track.fixes[..1]).is_some());
}

#[test]
fn a_barogram_keeps_its_ends_and_summits_in_the_room_that_it_has() {
    for flight in FlightBook::new(10).flights() {
        let fixes = read(flight.igc.as_bytes()).unwrap().fixes;
        for points_max in [2, 3, 50, 500] {
            let barogram = Barogram::new(&fixes, points_max);
            let count = barogram.seconds.len();
            assert!((2..=points_max).contains(&count), "{count} of {points_max}");
            let lengths = [barogram.latitudes.len(), barogram.longitudes.len(), barogram.climbs_dms.len()];
            assert!(lengths == [count; 3] && barogram.altitudes_m.len() == count);
            assert!(barogram.seconds.is_sorted_by(|a, b| a < b));
            assert_eq!(barogram.start_s + barogram.seconds[count - 1], fixes[fixes.len() - 1].time_s);
            let highest = |altitudes: &mut dyn Iterator<Item = i32>| altitudes.max();
            let all = highest(&mut fixes.iter().map(|fix| fix.gnss_altitude_m));
            assert!(points_max < 50 || highest(&mut barogram.altitudes_m.iter().copied()) == all);
        }
    }
    assert_eq!(Barogram::new(&[], 500), Barogram::default());
}

/// Any bytes, and any file with some of its bytes changed: read or refused, and if read, then whole.
#[test]
fn no_file_brings_the_reader_down() {
    let sample = FlightBook::new(1).flights().next().unwrap().igc.into_bytes();
    let sample = &sample[..sample.len().min(20_000)];
    let mut seed = 1_u64;
    let mut below = |count: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % count
    };
    let mut read_ones = 0;
    for _ in 0..300 {
        let mut file = sample[..below(sample.len())].to_vec();
        for _ in 0..below(200).min(file.len()) {
            let at = below(file.len());
            file[at] = b"BH\r\n0123456789-NSEWAV:\xff\0 "[below(25)];
        }
        let Ok(track) = read(&file) else { continue };
        read_ones += 1;
        assert!(track.fixes.is_sorted_by(|a, b| a.time_s < b.time_s));
        let in_range = |fix: &Fix| fix.latitude.abs() <= 90.0 && fix.longitude.abs() <= 180.0;
        assert!(!track.fixes.is_empty() && track.fixes.iter().all(in_range));
        for flight in flights(&track.fixes) {
            assert!(Figures::new(flight.of(&track.fixes)).is_some());
        }
    }
    assert!(read_ones > 100, "{read_ones}");
}

/// A B record at 7 degrees east.
fn line(second: u32, latitude: f64, altitude_m: i32) -> String {
    let thousandths = (latitude * 60_000.0).round() as u32;
    let mut line = format!("B{:02}{:02}{:02}", second / 3600, second / 60 % 60, second % 60);
    let _ = write!(line, "{:02}{:05}N00700000EA", thousandths / 60_000, thousandths % 60_000);
    let _ = write!(line, "{altitude_m:05}{altitude_m:05}");
    line
}

/// Someone who goes north, second by second.
struct Course {
    lines: Vec<String>,
    second: u32,
    latitude: f64,
    altitude_m: f64,
}

impl Course {
    fn new() -> Self {
        let mut course = Self { lines: Vec::new(), second: 28_800, latitude: 46.0, altitude_m: 2000.0 };
        course.write();
        course
    }

    fn go(&mut self, seconds: u32, speed_ms: f64, climb_ms: f64) {
        for _ in 0..seconds {
            self.second += 1;
            self.latitude += speed_ms / 111_194.9;
            self.altitude_m += climb_ms;
            self.write();
        }
    }

    fn write(&mut self) {
        self.lines.push(line(self.second, self.latitude, self.altitude_m.round() as i32));
    }

    fn track(&self) -> Track {
        read(format!("{HEAD}{}", self.lines.join("\n")).as_bytes()).unwrap()
    }
}
