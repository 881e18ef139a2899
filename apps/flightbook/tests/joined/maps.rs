//! What maps are given of flights.

use crate::book::Book;
use crate::uploads::sample;
use serde_json::{Value, json};

#[test]
fn a_flight_is_on_the_map_by_its_track_or_else_by_its_site() {
    let book = Book::start();
    let mut ann = book.pilot("Ann");
    assert_eq!(ann.upload(&[("a.igc", &sample(0).1)]).status, 303);
    book.database.execute(
        "insert into flightbook.sites (pilot_id, name, latitude, longitude) values (1, 'First \"high\"', 46.659, 8.054), (1, 'Nowhere', null, null);
         insert into flightbook.flights (pilot_id, number, date, launch_site_id)
         values (1, 2, '2020-05-02', 1), (1, 3, '2020-05-01', 2), (1, 4, '2020-04-30', null);",
    );
    let flights: Value = serde_json::from_str(&ann.page("/map.json?year=")).unwrap();
    let of = |key: &str| flights.as_array().unwrap().iter().map(|flight| flight[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("launch"), [json!(null), json!([46.659, 8.054]), json!(null), json!(null)]);
    assert_eq!(of("site"), [json!(null), json!("First \"high\""), json!("Nowhere"), json!(null)]);
    let points = |key: &str| of(key).iter().map(|line| line.as_array().unwrap().len()).collect::<Vec<_>>();
    assert_eq!((points("latitudes"), points("longitudes")), (vec![22, 0, 0, 0], vec![22, 0, 0, 0]));
    assert_eq!(ann.page("/map.json?year=2019"), "[]");
}

/// Rather than all round the world.
#[test]
fn a_line_over_the_180th_meridian_goes_on_beyond_it() {
    let book = Book::start();
    let mut ann = book.pilot("Ann");
    book.database.execute(
        "insert into flightbook.flights (pilot_id, number, date) values (1, 1, '2020-05-02'), (1, 2, '2020-05-01');
         insert into flightbook.track_files (pilot_id, igc) values (1, 'E'), (1, 'W');
         insert into flightbook.tracks (flight_id, pilot_id, igc_sha256, igc_name, starts_at, seconds, latitudes, longitudes, altitudes_m, climbs_dms)
         values (1, 1, sha256('E'), 'east.igc', now(), '{0,1,2,3}', '{-17,-17,-17,-17}', '{179.95,179.99,-179.99,-179.85}', '{0,0,0,0}', '{0,0,0,0}'),
           (2, 1, sha256('W'), 'west.igc', now(), '{0,1,2,3}', '{-17,-17,-17,-17}', '{-179.95,-179.99,179.99,179.85}', '{0,0,0,0}', '{0,0,0,0}')",
    );
    let flights: Value = serde_json::from_str(&ann.page("/map.json?year=")).unwrap();
    assert_eq!(flights[0]["longitudes"], json!([179.95, 179.99, 180.01, 180.15]));
    assert_eq!(flights[1]["longitudes"], json!([-179.95, -179.99, -180.01, -180.15]));
}
