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
