//! Two pilots who try to reach each other's.

use crate::book::{Book, Visitor};
use crate::uploads::sample;

/// A word that stands in everything that is Ann's.
const SECRET: &str = "Annsecret";

fn book_of_two() -> (Book, Visitor, Visitor) {
    let book = Book::start();
    let (mut ann, bob) = (book.pilot(SECRET), book.pilot("Bob"));
    assert_eq!(ann.upload(&[(&format!("{SECRET}.igc"), &sample(0).1)]).status, 303);
    let script = "insert into flightbook.gliders (pilot_id, manufacturer) values (1, 'WORD');
        insert into flightbook.sites (pilot_id, name) values (1, 'WORD');
        insert into flightbook.shares (pilot_id, flight_id, token) values (1, 1, 'WORD');
        insert into flightbook.uploads (pilot_id, place, file, flight_id, number) values (1, 1, 'WORD', 1, 1);
        insert into flightbook.import_rows (pilot_id, line, comment, problems) values (1, 2, 'WORD', '{}');
        update flightbook.flights set comment = 'WORD', launch_site_id = 1, glider_id = (select max(id) from flightbook.gliders);
        insert into flightbook.flights (pilot_id, date) values (2, '2026-05-01');";
    book.database.execute(&script.replace("WORD", SECRET));
    (book, ann, bob)
}

#[test]
fn neither_pages_nor_files_nor_the_export_show_anothers() {
    let (_book, mut ann, mut bob) = book_of_two();
    for path in [
        "/flights",
        "/flights/1",
        "/flights/1/edit",
        "/flights/1/delete",
        "/flights/1/print",
        "/flights/1/track.json",
        "/flights.csv",
        "/flights/uploaded",
        "/gliders",
        "/gliders/1",
        "/gliders/2",
        "/sites",
        "/sites/1",
        "/statistics",
        "/account",
        "/import/preview",
        "/flights?q=Annsecret",
        "/flights?site=1&glider=1",
        "/flights?page=2",
    ] {
        let (own, others) = (ann.get(path), bob.get(path));
        assert!(
            !others.text().replace(&format!("value=\"{SECRET}\""), "").contains(SECRET),
            "{path}: {}",
            others.text()
        );
        // 307: the page after the last one leads to that
        assert!(matches!(others.status, 200 | 307 | 404), "{path}: {}", others.status);
        assert!(matches!(own.status, 200 | 307 | 404), "{path}: {}", own.status);
    }
    let seen = ann.get("/flights/1").text().contains(SECRET);
    assert!(seen, "the word stands where its owner looks");
    let export = bob.get("/do/export.zip");
    assert!(export.status == 200 && !export.body.windows(SECRET.len()).any(|bytes| bytes == SECRET.as_bytes()));
}

#[test]
fn the_api_gives_counts_embeds_and_errors_of_ones_own_alone() {
    let (book, _, mut bob) = book_of_two();
    let anybody = &mut book.visitor();
    for path in [
        "/api/pilots",
        "/api/gliders",
        "/api/sites",
        "/api/tracks?select=igc_name,flight_id",
        "/api/shares",
        "/api/uploads",
        "/api/import_rows",
        "/api/flights?select=*,tracks(igc_name),shares(token),gliders(name)",
        "/api/flights_by_site",
        "/api/gliders?select=name,flights(comment)",
        "/api/sites?order=name&name=like.A*",
        "/api/igc_files?flight_id=eq.1&select=igc&:as=raw",
        "/api/igc_files?select=flight_id,igc_name",
        "/api/track_files",
        "/api/flights?comment=eq.Annsecret",
        "/api/pilots?or=(id.eq.1,email.like.*)&select=email",
    ] {
        let exact = bob.ask("GET", path, &[("prefer", "count=exact")], b"");
        assert!(!exact.text().contains(SECRET), "{path}: {}", exact.text());
        assert!(matches!(exact.status, 200 | 406), "{path}: {} {}", exact.status, exact.text());
        let refused = anybody.get(path);
        assert!(refused.status == 401 && !refused.text().contains(SECRET), "{path}: {}", refused.status);
    }
    let count = bob.ask("GET", "/api/flights?select=id", &[("prefer", "count=exact")], b"");
    assert_eq!(count.header("content-range"), Some("0-0/1"));
    let json = [("content-type", "application/json"), ("origin", "http://test"), ("prefer", "return=representation")];
    for (method, path, body) in [
        ("PATCH", "/api/flights?id=eq.1", r#"{"comment":"mine"}"#),
        ("DELETE", "/api/flights?id=eq.1", ""),
        ("DELETE", "/api/shares?token=eq.Annsecret", ""),
        ("POST", "/api/flights", r#"{"date":"2026-01-01","glider_id":1}"#),
        ("POST", "/api/flights", r#"{"date":"2026-01-01","pilot_id":1}"#),
        ("POST", "/api/shares", r#"{"flight_id":1}"#),
        (
            "POST",
            "/api/tracks",
            r#"{"flight_id":1,"igc":"x","igc_name":"x","starts_at":"2026-01-01","seconds":[0],"latitudes":[0],"longitudes":[0],"altitudes_m":[0],"climbs_dms":[0]}"#,
        ),
        ("POST", "/api/uploads", r#"{"place":1,"file":"x","flight_id":1}"#),
        ("POST", "/api/rpc/note_uploads", r#"{"outcomes":[{"place":1,"file":"x","flight_id":1,"number":1}]}"#),
        ("POST", "/api/rpc/delete_account", r#"{"email":"annsecret@club.example"}"#),
        ("POST", "/api/rpc/credentials", r#"{"email":"annsecret@club.example"}"#),
        ("POST", "/api/rpc/check_session", "{}"),
    ] {
        let answer = bob.ask(method, path, &json, body.as_bytes());
        assert!(
            !answer.text().contains(SECRET) && answer.status < 500,
            "{method} {path}: {} {}",
            answer.status,
            answer.text()
        );
        let nothing = answer.text() == "[]" || answer.status >= 400 || path.ends_with("note_uploads");
        assert!(nothing, "{method} {path}: {} {}", answer.status, answer.text());
    }
    let left = "select concat_ws(' ', (select comment from flightbook.flights where id = 1), (select count(*) from flightbook.shares),
        (select count(*) from flightbook.tracks), (select count(*) from flightbook.uploads where pilot_id = 2 and flight_id is not null))";
    assert_eq!(book.database.value(left), format!("{SECRET} 1 1 0"));
}

#[test]
fn the_same_file_of_another_pilot_tells_nothing_of_the_first() {
    let (book, _, mut bob) = book_of_two();
    let answer = bob.upload(&[("mine.igc", &sample(0).1)]);
    assert_eq!(answer.header("location"), Some("/flights/3"));
    assert_eq!(
        book.database.value("select string_agg(pilot_id::text, ' ' order by pilot_id) from flightbook.tracks"),
        "1 2"
    );
}

#[test]
fn no_estimate_tells_how_many_flights_others_have() {
    let book = Book::start();
    let (_ann, mut bob) = (book.pilot("Ann"), book.pilot("Bob"));
    book.database.execute(
        "insert into flightbook.flights (pilot_id, number, date)
           select case when n = 1 then 2 else 1 end, n, date '2024-07-01' from generate_series(1, 60) n;
         analyze flightbook.flights",
    );
    for count in ["count=exact", "count=planned", "count=estimated"] {
        let counted = bob.ask("GET", "/api/flights?select=id", &[("prefer", count)], b"");
        assert_eq!(counted.header("content-range"), Some("0-0/1"), "{count}");
        assert_eq!(counted.header("preference-applied"), Some("count=exact"), "{count}");
    }
}
