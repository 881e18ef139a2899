//! The most expensive requests of the flight book hold up no thread that serves other clients.

use crate::book::Book;
use crate::uploads::sample;
use serde_json::json;

/// Number of requests to a route after which the gauge reports findings.
const REQUESTS: u64 = 12;

/// Flights with long tracks, and comments as long as they may be.
const FLIGHTS: &str = "
    insert into flightbook.sites (pilot_id, name, country, latitude, longitude)
      select 1, 'Site ' || i, 'CH', 46 + i / 100.0, 8 + i / 100.0 from generate_series(1, 50) i;
    insert into flightbook.flights (pilot_id, number, date, launch_site_id, comment)
      select 1, 100 + i, date '2020-01-01' + i, 1 + i % 50, repeat('over the ridge ', 20) from generate_series(1, 1000) i;
    insert into flightbook.track_files (pilot_id, igc)
      select 1, ('x' || f.id)::bytea from flightbook.flights f where f.number between 101 and 400;
    insert into flightbook.tracks (flight_id, pilot_id, igc_sha256, igc_name, starts_at, seconds, latitudes, longitudes, altitudes_m, climbs_dms)
      select f.id, 1, sha256(('x' || f.id)::bytea), 'x.igc', now(), t.seconds, t.latitudes, t.longitudes, t.altitudes_m, t.altitudes_m
      from flightbook.flights f, lateral (select array_agg(s) seconds, array_agg(46 + s / 10000.0) latitudes,
        array_agg(8 + s / 10000.0) longitudes, array_agg(1000 + s % 100) altitudes_m from generate_series(1, 2000) s) t
      where f.number between 101 and 400;
    analyze flightbook.flights; analyze flightbook.tracks";

#[test]
fn the_most_expensive_page_form_function_and_file_hold_up_no_executor() {
    let book = Book::start();
    let mut ann = book.pilot("Ann");
    let (name, igc) = sample(0);
    assert_eq!(ann.upload(&[(&name, &igc)]).status, 303);
    book.database.execute(FLIGHTS);
    let csv: String =
        (0..2000).map(|number| format!("{number},2021-05-{:02},First,over the ridge\n", 1 + number % 28)).collect();
    let csv = format!("number,date,launch_site,comment\n{csv}");
    let long = "x".repeat(200_000);
    for number in 0..REQUESTS {
        for page in [
            "/",
            "/flights",
            "/flights?year=",
            "/statistics",
            "/map",
            "/map.json?year=",
            "/flights/1",
            "/flights/1/track.json",
            "/flights.csv",
            "/gliders",
            "/sites",
            "/account",
        ] {
            ann.page(page);
        }
        let map = ann.page("/map");
        let files: Vec<&str> = map.split("\"/static/").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert!(files.len() > 1, "{map}");
        for file in files {
            ann.page(&format!("/static/{file}"));
        }
        for (api, accept) in [
            ("/api/flights", "application/json"),
            ("/api/flights?limit=1000", "text/html"),
            ("/api/tracks?limit=50", "application/json"),
            ("/api/", "application/json"),
        ] {
            let answer = ann.ask("GET", api, &[("accept", accept)], b"");
            assert!(answer.status == 200 && answer.whole, "{api}: {}", answer.text());
        }
        // A form that is refused is shown again, with all typed values.
        let refused = ann.submit("/sites/new", &[("name", &long), ("latitude", "north"), ("comment", &long)]);
        assert!((400..500).contains(&refused.status), "{}", refused.status);
        assert_eq!(ann.send_files("/import", "file", &[("flights.csv", csv.as_bytes())]).status, 303);
        ann.page("/import/preview");
        assert_eq!(ann.upload(&[(&name, &igc)]).status, 303);
        assert!(ann.get("/do/export.zip").whole);
        let email = format!("carl{number}@club.example");
        let fields = [("name", "Carl"), ("email", &*email), ("password", crate::book::PASSWORD)];
        assert_eq!(book.visitor().submit("/do/register", &fields).status, 303);
    }
    for route in ["GET map.json", "GET flights/index.html", "GET statistics.html", "POST sites/new.html"] {
        assert!(book.admin.requests(route) >= REQUESTS, "{route}");
    }
    assert_eq!(book.admin.blocked_executor(), [json!(null); 0]);
}
