//! Uploads and exports of one pilot, while others are served.

use crate::book::{Book, PASSWORD, Visitor};
use crate::uploads::{flight_on, flights, location};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use thalweg_server::Config;
use thalweg_testkit::Database;

impl Book {
    /// Holds the locks of this statement until [`Book::release`], on a thread of its own.
    fn hold<'s>(&'s self, scope: &'s std::thread::Scope<'s, '_>, locking: &'s str) {
        self.database.execute("create table public.released (at int)");
        scope.spawn(move || {
            self.database.execute(&format!(
                "do $$ begin
                   {locking};
                   perform pg_advisory_xact_lock(1);
                   while not exists (select from public.released) loop perform pg_sleep(0.01); end loop;
                 end $$"
            ));
        });
        self.until(
            "select exists (select from pg_locks where locktype = 'advisory' and granted and classid = 0
            and database = (select oid from pg_database where datname = current_database()))",
        );
    }

    fn release(&self) {
        self.database.execute("insert into public.released values (1)");
        self.until(
            "select not exists (select from pg_locks where locktype = 'advisory' and granted and classid = 0
            and database = (select oid from pg_database where datname = current_database()))",
        );
        self.database.execute("drop table public.released");
    }

    fn until_waiting(&self, count: usize) {
        self.until(&format!(
            "select count(*) = {count} from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
        ));
    }

    fn until(&self, sql: &str) {
        let started = Instant::now();
        while self.database.value(sql) != "t" {
            assert!(started.elapsed() < Duration::from_secs(60), "this does not become true: {sql}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

const ANN: &str = "perform from flightbook.pilots where id = 1 for update";

fn send(visitor: &mut Visitor, day: usize) -> (u16, String) {
    let sent = visitor.upload(&[("a.igc", flight_on(&format!("{:02}0723", day + 1), 46.5, 8.0).as_bytes())]);
    (sent.status, sent.header("location").unwrap_or_default().to_owned())
}

/// An upload that waited in the database held a connection of the pool, and so did all pages.
#[test]
fn pages_are_served_while_uploads_wait_in_the_database() {
    let book = Book::start_as(Database::new(""), |config| Config { db_pool: 1, ..config });
    let (ann, mut bob) = (book.pilot("Ann"), book.pilot("Bob"));
    std::thread::scope(|scope| {
        book.hold(scope, ANN);
        let mut visitor = book.again(&ann);
        let sent = scope.spawn(move || send(&mut visitor, 0).0);
        book.until_waiting(1);
        let served = bob.get("/flights").status;
        book.release();
        assert_eq!((served, sent.join().unwrap()), (200, 303));
    });
}

/// Visitors who signed in or registered meanwhile saw an error of the API instead of a page.
#[test]
fn a_form_for_which_there_is_no_room_leads_back_to_its_page() {
    let book = Book::start();
    book.pilot("Ann");
    let signs_in = [("email", "ann@club.example"), ("password", PASSWORD), ("back", "/sites")];
    let registers = [("name", "Bob"), ("email", "bob@club.example"), ("password", PASSWORD)];
    std::thread::scope(|scope| {
        book.hold(scope, "lock table flightbook_private.passwords in access exclusive mode");
        let submit = |path: &'static str, fields: [(&'static str, &'static str); 3]| {
            let mut visitor = book.visitor();
            scope.spawn(move || location(&visitor.submit(path, &fields)).to_owned())
        };
        // These wait in the database, with all connections that there are for accounts.
        let waiting = [1, 2].map(|count| {
            let waits = submit("/do/sign_in", signs_in);
            book.until_waiting(count);
            waits
        });
        let refused = [submit("/do/sign_in", signs_in), submit("/do/register", registers)];
        let pages = refused.map(|refused| refused.join().unwrap());
        book.release();
        assert_eq!(pages[0], "/sign_in?problem=later&back=%2Fsites");
        assert_eq!(pages[1], "/register?problem=later&name=Bob&email=bob%40club.example");
        for page in &pages {
            assert!(book.visitor().page(page).contains("Try again in a few seconds."), "{page}");
        }
        assert_eq!(waiting.map(|waits| waits.join().unwrap()), ["/sites", "/sites"]);
    });
}

/// A pilot's uploads took all places and connections that there are for uploads.
#[test]
fn nine_uploads_of_a_pilot_are_added_in_turn_and_the_tenth_is_refused() {
    let book = Book::start();
    let (ann, mut bob) = (book.pilot("Ann"), book.pilot("Bob"));
    std::thread::scope(|scope| {
        book.hold(scope, ANN);
        let (report, reported) = mpsc::channel();
        for day in 0..10 {
            let (mut visitor, report) = (book.again(&ann), report.clone());
            scope.spawn(move || report.send(send(&mut visitor, day)).unwrap());
        }
        // The other uploads cannot end before the lock is released, so the first report is of the
        // refused one.
        let (status, page) = reported.recv().unwrap();
        let others = send(&mut bob, 0).0;
        book.release();
        assert_eq!((status, page.as_str()), (303, "/flights/new?problem=busy"));
        assert!(bob.page(&page).contains("There was no room for this file"));
        assert_eq!(others, 303);
        assert!(reported.iter().take(9).all(|(status, page)| status == 303 && page.starts_with("/flights/")));
    });
    assert_eq!(flights(&book), "10 10");
}

/// The exports of one pilot took all permits for exports, and as CSV files all connections.
#[test]
fn two_exports_of_a_pilot_run_and_the_third_is_refused() {
    let book = Book::start();
    let (ann, bob) = (book.pilot("Ann"), book.pilot("Bob"));
    for path in ["/do/export.zip", "/flights.csv"] {
        exports_are_shared(&book, &ann, &bob, path);
    }
}

fn exports_are_shared(book: &Book, ann: &Visitor, bob: &Visitor, path: &str) {
    let export = |visitor: &mut Visitor| visitor.get(path);
    std::thread::scope(|scope| {
        book.hold(scope, "lock table flightbook.gliders in access exclusive mode");
        let spawn = |pilot: &Visitor| {
            let mut visitor = book.again(pilot);
            scope.spawn(move || export(&mut visitor).status)
        };
        let both = [spawn(ann), spawn(ann)];
        book.until_waiting(2);
        let third = export(&mut book.again(ann));
        // The share is one for both kinds of exports.
        let zip = book.again(ann).get("/do/export.zip").status;
        let other = spawn(bob);
        book.until_waiting(3);
        book.release();
        assert_eq!(zip, 429);
        assert!(third.status == 429 && third.text().contains("TWG34"), "{} {}", third.status, third.text());
        assert_eq!(both.map(|export| export.join().unwrap()), [200; 2]);
        assert_eq!(other.join().unwrap(), 200);
    });
    assert_eq!(export(&mut book.again(ann)).status, 200);
}

/// Each import that waited for another one of its pilot held a connection: ten of them held all
/// connections.
#[test]
fn three_imports_of_a_pilot_wait_and_the_fourth_is_refused() {
    let book = Book::start();
    let (ann, mut bob) = (book.pilot("Ann"), book.pilot("Bob"));
    let import = |visitor: &mut Visitor| visitor.send_files("/import", "file", &[("a.csv", b"date\n2024-07-01\n")]);
    std::thread::scope(|scope| {
        book.hold(scope, ANN);
        let waiting = [1, 2, 3].map(|count| {
            let mut visitor = book.again(&ann);
            let sent = scope.spawn(move || import(&mut visitor).status);
            book.until_waiting(count);
            sent
        });
        let fourth = import(&mut book.again(&ann));
        let other = import(&mut bob).status;
        book.release();
        assert_eq!((fourth.status, other), (503, 303), "{}", fourth.text());
        assert_eq!(waiting.map(|sent| sent.join().unwrap()), [303; 3]);
    });
    assert_eq!(location(&import(&mut book.again(&ann))), "/import/preview");
}

/// A request of a pilot that wrote many rows made all other writes of the pilot wait for it. Each of
/// them held a connection, and twelve held all.
#[test]
fn three_writes_of_a_pilot_wait_for_a_short_time_and_the_fourth_is_refused() {
    let book = Book::start_as(Database::new(""), |config| Config { db_pool: 4, ..config });
    let (mut ann, mut bob) = (book.pilot("Ann"), book.pilot("Bob"));
    assert_eq!(ann.submit("/flights/new", &[("date", "2024-07-01")]).status, 303);
    // Time to start three requests, however slow this machine is.
    book.database.execute("alter function flightbook_private.lock_pilot_of set lock_timeout = '8s'");
    let json = [("content-type", "application/json"), ("origin", "http://test")];
    let writes = [
        ("POST", "/api/gliders", r#"{"manufacturer": "M"}"#),
        ("POST", "/api/shares", r#"{"flight_id": 1}"#),
        ("PATCH", "/api/flights?id=eq.1", r#"{"comment": "mine"}"#),
        ("PATCH", "/api/pilots?id=eq.1", r#"{"name": "Anna"}"#),
        ("DELETE", "/api/flights?id=eq.1", ""),
        ("POST", "/api/rpc/delete_account", r#"{"email": "ann@club.example"}"#),
    ];
    let write = |visitor: &mut Visitor, (method, path, body): (&str, &str, &str)| {
        let answer = visitor.ask(method, path, &json, body.as_bytes());
        (answer.status, answer.text().contains("PT503"))
    };
    std::thread::scope(|scope| {
        book.hold(scope, ANN);
        for three in writes.chunks(3) {
            let waiting = [0, 1, 2].map(|at| {
                let (mut visitor, sent) = (book.again(&ann), three[at]);
                let waiting = scope.spawn(move || write(&mut visitor, sent));
                book.until_waiting(at + 1);
                waiting
            });
            let refused = write(&mut book.again(&ann), writes[0]);
            let served = bob.get("/flights").status;
            // All of them end while the lock is still held.
            let ended = waiting.map(|waiting| waiting.join().unwrap());
            assert_eq!((refused, served, ended), ((503, true), 200, [(503, true); 3]), "{three:?}");
        }
        book.release();
    });
    for sent in writes {
        let (status, _) = write(&mut book.again(&ann), sent);
        assert!((200..300).contains(&status), "{sent:?}: {status}");
    }
}
