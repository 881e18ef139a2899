//! Writes of the flight book's own connections whose connection to PostgreSQL is lost. The answer
//! shows whether the write may be sent again.

use crate::book::{Book, PASSWORD, Visitor};
use crate::uploads::sample;
use std::thread::spawn;
use thalweg_testkit::{Database, Proxy, Response, eventually};

/// Sends a request as a visitor.
type SendRequest = fn(&mut Visitor) -> Response;

/// A flight book whose connections to the database go through a proxy.
fn book() -> (Book, Proxy) {
    let database = Database::new("");
    let (proxy, uri) = Proxy::before(&database.uri());
    (Book::start_as(database, |config| thalweg_server::Config { db_uri: Some(uri), ..config }), proxy)
}

/// Sends a request that writes to a table, and interferes while the request waits for the table.
/// `interfere` gets a function that lets the request continue.
fn interfered(
    book: &Book,
    table: &str,
    mut visitor: Visitor,
    send: SendRequest,
    interfere: impl FnOnce(&dyn Fn()),
) -> Response {
    // The holder reads a row. A table that is created meanwhile may stay invisible to `to_regclass`,
    // which takes no lock and so does not update its cache.
    let hold = format!(
        "do $$ begin
           lock table flightbook.{table} in share mode;
           for _ in 1..10000 loop
             exit when exists (select from public.released);
             perform pg_sleep(0.01);
           end loop;
         end $$"
    );
    let waiting =
        "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    let database = &book.database;
    database.execute("create table public.released ()");
    let release = || database.execute("insert into public.released default values");
    std::thread::scope(|scope| {
        let holding = scope.spawn(|| database.execute(&hold));
        eventually("the table is locked", || book.is_held(table));
        let answering = spawn(move || send(&mut visitor));
        eventually("the request waits for the table", || database.value(waiting) == "1");
        interfere(&release);
        let answer = answering.join().unwrap();
        release();
        holding.join().unwrap();
        database.execute("drop table public.released");
        answer
    })
}

/// Ends the session that waits for a table.
fn terminate(book: &Book) {
    book.database.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock'",
    );
}

fn assert_uncertain(answer: &Response) {
    let code = (answer.status, answer.header("retry-after"), answer.text().contains("TWG24"));
    assert_eq!(code, (500, None, true), "{}", answer.text());
}

#[test]
fn a_track_or_an_account_may_have_been_stored_if_the_answer_is_lost() {
    let (book, proxy) = book();
    let ann = book.pilot("Ann");
    let sends: [(&str, &str, SendRequest); 2] = [
        ("flights", "tracks", |visitor| {
            let (name, igc) = sample(0);
            visitor.upload(&[(&name, &igc)])
        }),
        ("pilots", "pilots where name = 'Bob'", |visitor| {
            let fields = [("name", "Bob"), ("email", "bob@club.example"), ("password", PASSWORD)];
            visitor.submit("/do/register", &fields)
        }),
    ];
    for (table, stored, send) in sends {
        let stored = format!("select count(*) from flightbook.{stored}");
        // The transaction is rolled back, and the form may be sent again.
        let answer = interfered(&book, table, book.again(&ann), send, |_| terminate(&book));
        let location = answer.header("location").unwrap_or_default();
        assert!(
            answer.status == 303 && location.contains("problem="),
            "{}: {location} {}",
            answer.status,
            answer.text()
        );
        assert_eq!(book.database.value(&stored), "0");
        // The transaction is committed, and its answer is lost.
        let answer = interfered(&book, table, book.again(&ann), send, |release| {
            proxy.drop_answers(true);
            release();
            eventually("the row is stored", || book.database.value(&stored) == "1");
            proxy.close();
        });
        proxy.drop_answers(false);
        proxy.open();
        assert_uncertain(&answer);
    }
}

#[test]
fn tracks_whose_outcomes_cannot_be_stored_are_reported_as_added() {
    let (book, _proxy) = book();
    let ann = book.pilot("Ann");
    let send = |visitor: &mut Visitor| {
        let ((first, igc), (second, other)) = (sample(0), sample(1));
        visitor.upload(&[(&first, &igc), (&second, &other)])
    };
    let answer = interfered(&book, "uploads", ann, send, |_| terminate(&book));
    assert_eq!((answer.status, answer.header("retry-after")), (500, None), "{}", answer.text());
    assert!(answer.text().contains("The tracks were added"), "{}", answer.text());
    assert_eq!(book.database.value("select count(*) from flightbook.flights"), "2");
}
