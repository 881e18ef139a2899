//! Data that a pilot cannot write: columns that the program computes, and rows that only a checked
//! file produces.

use crate::book::{Book, Visitor};
use crate::uploads::{flights, location, sample};

/// Columns of a flight that the program computes, each with a value.
const COMPUTED: [(&str, &str); 14] = [
    ("duration", "\"5 hours\""),
    ("altitude_max_m", "9000"),
    ("height_gain_m", "9000"),
    ("free_flight_km", "999"),
    ("free_flight_points", "999"),
    ("free_triangle_km", "999"),
    ("free_triangle_points", "999"),
    ("fai_triangle_km", "999"),
    ("fai_triangle_points", "999"),
    ("scores_are_proven", "true"),
    ("points", "999"),
    ("airtime", "\"5 hours\""),
    ("year", "1999"),
    ("pilot_id", "1"),
];

fn ask(pilot: &mut Visitor, method: &str, path: &str, body: &str) -> (u16, String) {
    let json = [("content-type", "application/json"), ("origin", "http://test")];
    let answer = pilot.ask(method, path, &json, body.as_bytes());
    let code = answer.text().split("\"code\":\"").nth(1).and_then(|rest| rest.split('"').next());
    (answer.status, code.unwrap_or_default().to_owned())
}

/// A PATCH could set 999 points, which the link that the pilot shared then showed.
#[test]
fn no_pilot_writes_a_computed_column() {
    let book = Book::start();
    let mut ann = book.pilot("Ann");
    let (name, igc) = sample(0);
    assert_eq!(location(&ann.upload(&[(&name, &igc)])), "/flights/1");
    let all = "select f::text || t::text from flightbook.flights f join flightbook.tracks t on t.flight_id = f.id";
    let before = book.database.value(all);
    let refused = |answer: (u16, String), of: &str| {
        assert!(matches!((answer.0, answer.1.as_str()), (403, "42501") | (400, "428C9")), "{of}: {answer:?}");
    };
    for (column, value) in COMPUTED {
        let body = format!("{{\"{column}\": {value}}}");
        refused(ask(&mut ann, "PATCH", "/api/flights?id=eq.1", &body), column);
        let body = format!("{{\"date\": \"2024-01-01\", \"{column}\": {value}}}");
        refused(ask(&mut ann, "POST", "/api/flights", &body), column);
        refused(ask(&mut ann, "POST", "/api/flights?on_conflict=id", &body), column);
    }
    let track = r#"{"flight_id": 1, "igc_name": "x", "starts_at": "2024-01-01", "seconds": [0], "latitudes": [0], "longitudes": [0],
        "altitudes_m": [0], "climbs_dms": [0], "igc_sha256": "\\x00"}"#;
    refused(ask(&mut ann, "POST", "/api/tracks", track), "tracks");
    for (path, body) in [
        ("/api/tracks?flight_id=eq.1", r#"{"scored_as": "closed_fai_triangle"}"#),
        ("/api/tracks?flight_id=eq.1", r#"{"latitudes": [0]}"#),
        ("/api/tracks?flight_id=eq.1", r#"{"igc_sha256": "\\x00"}"#),
        ("/api/tracks?flight_id=eq.1", r#"{"line_latitudes": [0]}"#),
        ("/api/track_files", r#"{"igc": "\\x41"}"#),
        ("/api/shares?flight_id=eq.1", r#"{"token": "mine"}"#),
        ("/api/uploads?place=eq.1", r#"{"problem": "mine"}"#),
        ("/api/import_rows?line=eq.1", r#"{"problems": []}"#),
        ("/api/storage", r#"{"flights_max": 1000000}"#),
        ("/api/pilots?id=eq.1", r#"{"registered_at": "1999-01-01"}"#),
    ] {
        let answer = ask(&mut ann, "PATCH", path, body);
        assert!(answer.0 >= 400, "{path} {body}: {answer:?}");
    }
    for (path, body) in [
        ("/api/track_files", r#"{"igc": "\\x41"}"#),
        ("/api/uploads", r#"{"place": 1, "file": "x"}"#),
        ("/api/import_rows", r#"{"line": 1, "date": "2024-01-01", "problems": []}"#),
        ("/api/shares", r#"{"flight_id": 1, "token": "mine"}"#),
    ] {
        refused(ask(&mut ann, "POST", path, body), path);
    }
    for (function, body) in [
        ("add_track", r#"{"owner": 1, "igc": "\\x41", "igc_name": "x", "flights": []}"#),
        ("add_track", r#"{"igc": "\\x41", "igc_name": "x", "flights": []}"#),
        ("note_uploads", r#"{"owner": 1, "outcomes": []}"#),
        ("note_uploads", r#"{"outcomes": []}"#),
        ("glider_of", r#"{"owner": 1, "name": "x"}"#),
        ("csv_rows", r#"{"csv": "x", "separator": ","}"#),
        ("enter_import", "{}"),
        ("pilot_id", "{}"),
        ("register", r#"{"name": "x", "email": "x@x.x", "hash": "x"}"#),
    ] {
        assert_eq!(ask(&mut ann, "POST", &format!("/api/rpc/{function}"), body).0, 404, "{function}");
    }
    assert_eq!((book.database.value(all), flights(&book)), (before, "1 1".to_owned()));
    // The columns that a pilot enters can still be written.
    let mine = r#"{"comment": "mine", "launch_time": "10:00", "xcontest_scored_distance": 10}"#;
    assert_eq!(ask(&mut ann, "PATCH", "/api/flights?id=eq.1", mine).0, 204);
}

/// Rows of an import were accepted as a client had written them into the table, without their
/// problems.
#[test]
fn an_import_passes_all_checks_however_it_is_called() {
    let book = Book::start();
    let mut ann = book.pilot("Ann");
    let long = format!("date,comment\n2024-07-01,{}", "x".repeat(10_001));
    let file = format!("{long}\n2024-07-02,fine\n2024-13-01,none\n");
    let form = [("content-type", "text/csv"), ("origin", "http://test")];
    let started = ann.send_files("/api/rpc/start_import", "file", &[("a.csv", file.as_bytes())]);
    assert_eq!((started.status, started.text()), (200, "3"));
    let problems = "select string_agg(array_to_string(problems, '+'), ',' order by line) from flightbook.import_rows";
    assert_eq!(book.database.value(problems), "comment,,date");
    for (method, path) in
        [("POST", "/api/import_rows"), ("PUT", "/api/import_rows?line=eq.2"), ("PATCH", "/api/import_rows?line=eq.2")]
    {
        let forced = ann.ask(method, path, &form, b"line,date,problems\n2,2024-13-01,{}\n");
        assert!(forced.status >= 400, "{method}: {} {}", forced.status, forced.text());
    }
    assert_eq!(ask(&mut ann, "POST", "/api/rpc/finish_import", "{}").0, 200);
    assert_eq!(book.database.value("select string_agg(comment, ',') from flightbook.flights"), "fine");
    let large = format!("date\n{}", "x".repeat(2 * 1024 * 1024));
    let refused = ann.send_files("/api/rpc/start_import", "file", &[("a.csv", large.as_bytes())]);
    assert!(refused.status == 400 && refused.text().contains("at most 2 MiB"), "{}", refused.text());
}

/// The first line was parsed before an import took its place, so that twelve imports of one long
/// line took all connections.
#[test]
fn the_first_line_of_an_import_is_bounded_and_read_in_its_turn() {
    let book = Book::start();
    let mut ann = book.pilot("Ann");
    let head = |columns: usize, bytes: usize| {
        let line = format!("date{}", ",a".repeat(columns - 1));
        format!("{line}{}", "b".repeat(bytes.saturating_sub(line.len())))
    };
    let mut send = |file: &str| {
        let answer = ann.send_files("/api/rpc/start_import", "file", &[("a.csv", file.as_bytes())]);
        (answer.status, answer.text().contains("at most 16 KiB and 100 columns"), answer.text().to_owned())
    };
    for (columns, bytes, is_read) in [
        (100, 0, true),
        (101, 0, false),
        (2, 16_384, true),
        (2, 16_385, false),
        (390_000, 0, false),
        (2, 700_000, false),
    ] {
        let head = head(columns, bytes);
        for end in ["\n", "\r\n"] {
            let answer = send(&format!("{head}{end}2024-07-01{end}"));
            assert_eq!(
                (answer.0, answer.1),
                (if is_read { 200 } else { 400 }, !is_read),
                "{columns} {bytes}: {}",
                answer.2
            );
        }
        let answer = send(&format!("{}\n2024-07-01\n", head.replace(',', ";")));
        assert_eq!(
            (answer.0, answer.1),
            (if is_read { 200 } else { 400 }, !is_read),
            "{columns} {bytes}: {}",
            answer.2
        );
    }
    // Characters of several bytes count with all their bytes.
    assert!(send(&format!("date,{}\n2024-07-01\n", "ü".repeat(8_190))).1);
    assert_eq!(send(&format!("date,{}\n2024-07-01\n", "ü".repeat(8_189))).0, 200);
    for (language, words) in [("en", "at most 16 KiB and 100 columns"), ("de", "höchstens 16 KiB und 100 Spalten")] {
        ann.language = language;
        let shown = ann.send_files("/import", "file", &[("a.csv", head(101, 0).as_bytes())]);
        assert!(shown.status == 422 && shown.text().contains(words), "{} {}", shown.status, shown.text());
    }
    // Nothing of a file is read before the import has a place, as the file's own errors show.
    book.database.execute(
        "create function public.busy() returns int language sql as $$
        select count(pg_advisory_lock(place, 1))::int from generate_series(1, 3) place $$",
    );
    let all = "do $$ begin perform public.busy();
        while not exists (select from pg_class where relname = 'released') loop perform pg_sleep(0.01); end loop; end $$";
    std::thread::scope(|scope| {
        scope.spawn(|| book.database.execute(all));
        let held = "select count(*) from pg_locks where locktype = 'advisory' and granted
            and database = (select oid from pg_database where datname = current_database())";
        let started = std::time::Instant::now();
        while book.database.value(held) != "3" {
            assert!(started.elapsed().as_secs() < 60, "the places are not taken");
        }
        ann.language = "en";
        let refused = ann.send_files("/api/rpc/start_import", "file", &[("a.csv", head(390_000, 0).as_bytes())]);
        book.database.execute("create table public.released ()");
        assert!(refused.status == 503 && refused.text().contains("PT503"), "{} {}", refused.status, refused.text());
    });
}
