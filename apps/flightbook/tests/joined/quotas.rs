//! Quotas of a pilot.

use crate::book::{Book, Visitor};
use crate::uploads::{flight_on, flights, location, outcomes, recorded, refused, zipped};

/// Returns a file with this many flights, one a day.
fn days(count: u32) -> Vec<u8> {
    let day = |at: u32| recorded(&format!("{:02}{:02}23", at % 28 + 1, at / 28 + 1), 46.5, 8.0, 10);
    (0..count).map(day).collect::<String>().into_bytes()
}

/// A file of 100 flights was stored 100 times: 46 MB that were sent became 4.4 GB.
#[test]
fn a_file_of_a_hundred_flights_is_stored_once() {
    let book = Book::start();
    let (mut ann, mut bob) = (book.pilot("Ann"), book.pilot("Bob"));
    let file = days(100);
    assert_eq!(location(&ann.upload(&[("days.igc", &file)])), "/flights/uploaded");
    assert_eq!(flights(&book), "100 100");
    let stored = "select count(*) || ' ' || coalesce(sum(octet_length(igc)), 0) from flightbook.track_files";
    assert_eq!(book.database.value(stored), format!("1 {}", file.len()));
    for flight in [1, 57, 100] {
        let sent = ann.get(&format!("/api/igc_files?flight_id=eq.{flight}&select=igc&:as=raw"));
        assert!(sent.status == 200 && sent.body == file, "{flight}: {}", sent.status);
    }
    assert_eq!(refused(&mut ann, &days(101)), "too-much");
    // Each pilot has a copy of the file, for as long as one of the pilot's flights refers to it.
    assert_eq!(location(&bob.upload(&[("days.igc", &file)])), "/flights/uploaded");
    assert_eq!(book.database.value(stored), format!("2 {}", 2 * file.len()));
    let gone = ann.ask("DELETE", "/api/flights?id=lt.100", &[("origin", "http://test")], b"");
    assert_eq!(gone.status, 204, "{}", gone.text());
    assert_eq!(book.database.value(stored), format!("2 {}", 2 * file.len()));
    assert_eq!(location(&ann.submit("/flights/100/delete", &[])), "/flights");
    assert_eq!(book.database.value(stored), format!("1 {}", file.len()));
    assert_eq!(bob.submit("/account?form=delete", &[("email", "bob@club.example")]).status, 303);
    assert_eq!(book.database.value(stored), "0 0");
}

#[test]
fn the_files_of_a_pilot_are_within_a_quota_to_the_byte() {
    let book = Book::start();
    let (mut ann, mut bob) = (book.pilot("Ann"), book.pilot("Bob"));
    let (first, second) = (flight_on("010723", 46.5, 8.0), flight_on("020723", 46.5, 8.0));
    let both = first.len() + second.len();
    let allow =
        |bytes: usize| book.database.execute(&format!("update flightbook_private.quotas set track_bytes = {bytes}"));
    allow(both - 1);
    assert_eq!(location(&ann.upload(&[("a.igc", first.as_bytes())])), "/flights/1");
    assert_eq!(refused(&mut ann, second.as_bytes()), "quota-tracks");
    assert_eq!(flights(&book), "1 1");
    // A file that is stored already takes no more room, and other pilots have quotas of their own.
    assert_eq!(location(&ann.upload(&[("a.igc", first.as_bytes())])), "/flights/uploaded");
    assert_eq!(outcomes(&book), "a.igc known flight 1");
    assert_eq!(location(&bob.upload(&[("b.igc", second.as_bytes())])).split('/').count(), 3);
    allow(both);
    let season = zipped(&[("c.igc", second.as_bytes()), ("d.igc", flight_on("030723", 46.5, 8.0).as_bytes())]);
    assert_eq!(location(&ann.upload(&[("season.zip", &season)])), "/flights/uploaded");
    assert!(outcomes(&book).ends_with("c.igc flight 2, d.igc quota-tracks"), "{}", outcomes(&book));
    ann.language = "en";
    let page = ann.page("/account");
    assert!(page.contains("2 of 20,000"), "{page}");
}

#[test]
fn the_flights_gliders_and_sites_of_a_book_are_bounded() {
    let book = Book::start();
    let mut ann = book.pilot("Ann");
    book.database.execute("update flightbook_private.quotas set flights = 3, gliders = 1, sites = 1");
    assert_eq!(refused(&mut ann, &days(4)), "quota-flights");
    assert_eq!(flights(&book), "0 0");
    assert_eq!(location(&ann.upload(&[("days.igc", &days(2))])), "/flights/uploaded");
    assert_eq!(ann.submit("/flights/new", &[("date", "2024-07-01")]).status, 303);
    for (path, fields, words) in [
        (
            "/flights/new",
            [("date", "2024-07-02"), ("comment", "")],
            ["as many flights as it may have", "so viele Flüge, wie es haben darf"],
        ),
        (
            "/gliders/new",
            [("manufacturer", "Two"), ("model", "")],
            ["as many gliders as it may have", "so viele Schirme, wie es haben darf"],
        ),
        (
            "/sites/new",
            [("name", "Two"), ("comment", "")],
            ["as many sites as it may have", "so viele Orte, wie es haben darf"],
        ),
    ] {
        if path != "/flights/new" {
            let first =
                [("manufacturer", "One"), ("name", "One")].into_iter().find(|(name, _)| fields[0].0 == *name).unwrap();
            assert_eq!(ann.submit(path, &[first]).status, 303, "{path}");
        }
        for (language, words) in ["en", "de"].into_iter().zip(words) {
            ann.language = language;
            let refused = ann.submit(path, &fields);
            assert!(
                refused.status == 422 && refused.text().contains(words),
                "{path}: {} {}",
                refused.status,
                refused.text()
            );
        }
        ann.language = "en";
    }
    let json = [("content-type", "application/json"), ("origin", "http://test")];
    let refused = ann.ask("POST", "/api/flights", &json, br#"{"date": "2024-07-02"}"#);
    assert!(refused.status == 400 && refused.text().contains("A pilot has at most 3 flights."), "{}", refused.text());
    let file = b"date,launch_site\n2024-07-01,One\n2024-07-02,One\n";
    assert_eq!(location(&ann.send_files("/import", "file", &[("a.csv", file)])), "/import/preview");
    let refused = ann.submit("/import/preview", &[]);
    assert!(refused.status == 422 && refused.text().contains("as many flights"), "{}", refused.text());
    assert_eq!(flights(&book), "3 2");
    let deleted = ann.ask("DELETE", "/api/flights?number=eq.3", &[("origin", "http://test")], b"");
    assert_eq!(deleted.status, 204);
    assert_eq!(ann.submit("/flights/new", &[("date", "2024-07-02")]).status, 303);
}

/// Flights that are added concurrently each see only those that were there before, but together
/// they stay within the quota.
#[test]
fn a_quota_holds_for_concurrent_additions() {
    let book = Book::start();
    let ann = book.pilot("Ann");
    book.database.execute("update flightbook_private.quotas set flights = 5");
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let senders: Vec<_> = (0..8)
            .map(|at| {
                let mut visitor: Visitor = book.again(&ann);
                scope.spawn(move || {
                    let fields = [("date", "2024-07-01"), ("number", &*(at + 1).to_string())];
                    // Three requests of a pilot wait for the one that runs, and others are sent again.
                    let mut statuses = (0..1000).map(|_| visitor.submit("/flights/new", &fields).status);
                    statuses.find(|status| *status != 503).unwrap()
                })
            })
            .collect();
        senders.into_iter().map(|sender| sender.join().unwrap()).collect()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 303).count(), 5, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == 422).count(), 3, "{statuses:?}");
    assert_eq!(flights(&book), "5 0");
}

/// 300,000 rows were added, checked and removed again, while all other writes of the pilot waited.
#[test]
fn a_request_ends_soon_after_it_has_reached_a_quota() {
    let book = Book::start();
    let mut ann = book.pilot("Ann");
    book.database.execute("update flightbook_private.quotas set flights = 1000, gliders = 1000, sites = 1000");
    let rows = |row: &dyn Fn(usize) -> String, count: usize| {
        let rows: Vec<String> = (1..=count).map(row).collect();
        format!("[{}]", rows.join(","))
    };
    let kinds: [(&str, &dyn Fn(usize) -> String); 3] = [
        ("gliders", &|at| format!("{{\"manufacturer\": \"M{at}\"}}")),
        ("sites", &|at| format!("{{\"name\": \"S{at}\"}}")),
        ("flights", &|at| format!("{{\"number\": {at}, \"date\": \"2024-07-01\"}}")),
    ];
    let json = [("content-type", "application/json"), ("origin", "http://test")];
    let csv = [("content-type", "text/csv"), ("origin", "http://test")];
    for (kind, row) in kinds {
        let mut send = |headers: &[(&str, &str)], body: &str| {
            let answer = ann.ask("POST", &format!("/api/{kind}"), headers, body.as_bytes());
            let is_quota = answer.text().contains(&format!("A pilot has at most 1000 {kind}."));
            (answer.status, is_quota, answer.text().to_owned())
        };
        let refused = send(&json, &rows(row, 20_000));
        assert!(refused.0 == 400 && refused.1, "{kind}: {refused:?}");
        let reached = format!("select last_value from pg_sequences where sequencename = '{kind}_id_seq'");
        let tried: usize = book.database.value(&reached).parse().unwrap();
        assert!((1001..=2000).contains(&tried), "{kind}: {tried} rows");
        if kind == "sites" {
            let lines: String = (0..20_000).map(|at| format!("C{at}\n")).collect();
            let refused = send(&csv, &format!("name\n{lines}"));
            assert!(refused.0 == 400 && refused.1, "{kind}: {refused:?}");
            let more: usize = book.database.value(&reached).parse().unwrap();
            assert!(more - tried <= 2000, "{kind}: {more} rows");
        }
        // The quota itself is exact.
        let refused = send(&json, &rows(row, 1001));
        assert!(refused.0 == 400 && refused.1, "{kind}: {refused:?}");
        assert_eq!(send(&json, &rows(row, 1000)).0, 201, "{kind}");
    }
}
