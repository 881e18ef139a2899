//! What a pilot sends several times at once, as by a double click.

use crate::book::{Book, Visitor};
use crate::uploads::sample;
use std::time::Duration;
use thalweg_testkit::Response;

const SENDERS: usize = 3;

/// Sends one request as several visitors, and waits until `waiting` of them wait for a table before
/// one continues. Returns the pages to which the visitors are redirected.
fn meet(
    book: &Book,
    pilot: &Visitor,
    (table, waiting): (&str, usize),
    send: fn(&mut Visitor) -> Response,
) -> Vec<String> {
    let hold = format!(
        "do $$ begin
           lock table flightbook.{table} in share mode;
           while (select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock') < {waiting} loop
             perform pg_sleep(0.01), pg_stat_clear_snapshot();
           end loop;
         end $$"
    );
    std::thread::scope(|scope| {
        let holding = scope.spawn(|| book.database.execute(&hold));
        while !book.is_held(table) && !holding.is_finished() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let senders = [(); SENDERS].map(|()| {
            let mut visitor = book.again(pilot);
            scope.spawn(move || send(&mut visitor))
        });
        let answers = senders.map(|sender| sender.join().unwrap());
        answers.iter().map(|answer| crate::uploads::location(answer).to_owned()).collect()
    })
}

#[test]
fn a_track_that_is_known_is_named_to_each_who_sends_it() {
    let book = Book::start();
    let mut ann = book.pilot("Ann");
    let send = |visitor: &mut Visitor| {
        let (name, igc) = sample(0);
        visitor.upload(&[(&name, &igc)])
    };
    assert_eq!(send(&mut ann).header("location"), Some("/flights/1"));
    // Only one file of a pilot is in the database at a time.
    assert_eq!(meet(&book, &ann, ("uploads", 1), send), ["/flights/uploaded"; SENDERS]);
    assert_eq!(
        book.database.value("select string_agg(problem || ' ' || number, ' ') from flightbook.uploads"),
        "known 1"
    );
}

#[test]
fn a_csv_file_is_taken_over_once() {
    let book = Book::start();
    let ann = book.pilot("Ann");
    let sent = meet(&book, &ann, ("import_rows", SENDERS), |visitor| {
        let file = b"date,launch_site\n2024-07-01,Fiesch\n2024-07-02,Fiesch\n";
        visitor.send_files("/import", "file", &[("a.csv", file)])
    });
    assert_eq!(sent, ["/import/preview"; SENDERS]);
    let finished = meet(&book, &ann, ("sites", SENDERS), |visitor| visitor.submit("/import/preview", &[]));
    assert_eq!(finished, ["/flights"; SENDERS]);
    let flights = "select string_agg(number || ' ' || date, ', ' order by number) from flightbook.flights";
    assert_eq!(book.database.value(flights), "1 2024-07-01, 2 2024-07-02");
}

#[test]
fn flights_that_are_added_at_once_have_numbers_of_their_own() {
    let book = Book::start();
    let ann = book.pilot("Ann");
    let mut sent =
        meet(&book, &ann, ("flights", SENDERS), |visitor| visitor.submit("/flights/new", &[("date", "2024-07-01")]));
    sent.sort();
    assert_eq!(sent, ["/flights/1", "/flights/2", "/flights/3"]);
    assert_eq!(
        book.database.value("select string_agg(number::text, ' ' order by number) from flightbook.flights"),
        "1 2 3"
    );
}
