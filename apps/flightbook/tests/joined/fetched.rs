//! What pages fetch. The story that Thalweg began with: tracks stood in the table of flights, and the list carried them.

use crate::book::Book;
use crate::uploads::sample;
use std::time::{Duration, Instant};

/// Tracks that stand with the flights too, and that the database refuses to whoever asks for them.
const TRACKS_WITH_FLIGHTS: &str = "
    alter table flightbook.flights add column igc bytea;
    update flightbook.flights set igc = files.igc from flightbook.igc_files files where files.flight_id = flights.id;
    do $$ begin
      execute (select format('revoke select on flightbook.flights from flightbook_pilot; grant select (%s) on flightbook.flights to flightbook_pilot',
                             string_agg(quote_ident(attname), ', '))
               from pg_attribute where attrelid = 'flightbook.flights'::regclass and attnum > 0 and not attisdropped and attname <> 'igc');
    end $$;
    notify pgrst;";

#[test]
fn a_track_that_stands_with_its_flight_is_fetched_by_no_page() {
    let book = Book::start();
    let mut ann = book.pilot("Ann");
    assert_eq!(ann.upload(&[("ann.igc", &sample(0).1)]).header("location"), Some("/flights/1"));
    book.database.execute(TRACKS_WITH_FLIGHTS);
    let deadline = Instant::now() + Duration::from_secs(20);
    while ann.get("/api/flights?select=*").status != 403 {
        assert!(Instant::now() < deadline, "whoever asks for all columns is refused");
        std::thread::sleep(Duration::from_millis(50));
    }
    let paths = [
        "/flights",
        "/flights?sort=date,number,id",
        "/flights/1",
        "/flights/1/edit",
        "/flights/1/print",
        "/flights/1/track.json",
    ];
    for path in paths.iter().chain(&["/flights.csv", "/map", "/map.json", "/sites", "/gliders", "/statistics", "/"]) {
        ann.page(path);
    }
    assert!(ann.page("/flights").contains("href=\"/flights/1\""));
}
