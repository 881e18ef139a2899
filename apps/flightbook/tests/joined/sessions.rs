//! Copies of a session's token after the session has ended.

use crate::book::{Book, PASSWORD, Visitor};

const PATHS: [(&str, u16); 4] =
    [("/flights", 401), ("/api/flights", 401), ("/do/export.zip", 303), ("/flights/new", 401)];

/// Asserts that a copy of a token is refused, as a cookie and as a header.
fn opens_nothing(book: &Book, copied: &str) {
    for (path, status) in PATHS {
        let mut thief = Visitor { cookie: Some(copied.to_owned()), ..book.visitor() };
        assert_eq!(thief.get(path).status, status, "{path}");
    }
    let token = copied.split_once('=').unwrap().1;
    let header = format!("Bearer {token}");
    let answer = book.visitor().ask("GET", "/api/flights", &[("authorization", &header)], b"");
    assert_eq!(answer.status, 401, "{}", answer.text());
    let mut thief = Visitor { cookie: Some(copied.to_owned()), ..book.visitor() };
    assert_eq!(thief.upload(&[("a.igc", b"A")]).header("location"), Some("/sign_in?back=/flights/new"));
}

/// A token that was copied from a backup of a browser or from a log was good for 30 days after its
/// pilot had signed out.
#[test]
fn a_copied_token_opens_nothing_after_sign_out() {
    let book = Book::start();
    let mut ann = book.pilot("Ann");
    let copied = ann.cookie.clone().unwrap();
    let mut elsewhere = book.again(&ann);
    elsewhere.cookie = None;
    elsewhere.submit("/do/sign_in", &[("email", "ann@club.example"), ("password", PASSWORD)]);
    // The server has verified both tokens, and has cached them.
    assert_eq!((ann.get("/flights").status, elsewhere.get("/flights").status), (200, 200));
    assert_eq!(ann.submit("/sign_out", &[]).status, 303);
    opens_nothing(&book, &copied);
    assert_eq!(elsewhere.get("/flights").status, 200, "another session continues");
    assert_eq!(book.database.value("select count(*) from flightbook_private.sessions"), "1");
}

#[test]
fn a_sign_out_through_the_api_ends_the_session_too() {
    let book = Book::start();
    let ann = book.pilot("Ann");
    let copied = ann.cookie.clone().unwrap();
    let header = format!("Bearer {}", copied.split_once('=').unwrap().1);
    let out = book.visitor().ask("POST", "/api/rpc/sign_out", &[("authorization", &header)], b"");
    assert_eq!(out.status, 200, "{}", out.text());
    opens_nothing(&book, &copied);
}

#[test]
fn signing_out_everywhere_ends_all_sessions_of_one_pilot() {
    let book = Book::start();
    let (mut ann, mut bob) = (book.pilot("Ann"), book.pilot("Bob"));
    let mut elsewhere = book.again(&ann);
    elsewhere.cookie = None;
    elsewhere.submit("/do/sign_in", &[("email", "ann@club.example"), ("password", PASSWORD)]);
    let copies = [ann.cookie.clone().unwrap(), elsewhere.cookie.clone().unwrap()];
    assert!(ann.page("/account").contains("action=\"?form=everywhere\""));
    assert_eq!(ann.submit("/account?form=everywhere", &[]).status, 303);
    assert_eq!(ann.cookie, None);
    copies.iter().for_each(|copied| opens_nothing(&book, copied));
    assert_eq!(bob.get("/flights").status, 200);
}

/// A token is refused if its session began before sessions were recorded, or belongs to another
/// pilot.
#[test]
fn a_token_counts_only_with_its_own_session() {
    let book = Book::start();
    let (ann, bob) = (book.pilot("Ann"), book.pilot("Bob"));
    let copied = ann.cookie.clone().unwrap();
    book.database.execute("update flightbook_private.sessions set pilot_id = 2 where pilot_id = 1");
    opens_nothing(&book, &copied);
    book.database.execute("delete from flightbook_private.sessions");
    opens_nothing(&book, &bob.cookie.clone().unwrap());
}

/// A thief signs in with the old password while it is being changed.
#[test]
fn no_session_begins_with_a_password_that_has_been_changed() {
    let book = Book::start();
    book.pilot("Ann");
    let begun = "select flightbook_private.begin_session(1, (select hash from flightbook_private.passwords))";
    assert_ne!(book.database.value(begun), "");
    book.database.execute("select flightbook_private.set_password(1, '$argon2id$v=19$new')");
    assert_eq!(book.database.value("select count(*) from flightbook_private.sessions"), "0");
    let late = "select flightbook_private.begin_session(1, '$argon2id$v=19$old') is null";
    assert_eq!(book.database.value(late), "t");
    assert_eq!(book.database.value("select count(*) from flightbook_private.sessions"), "0");
}

#[test]
fn a_pilot_has_a_hundred_sessions_at_most() {
    let book = Book::start();
    let mut ann = book.pilot("Ann");
    let begin = "select flightbook_private.begin_session(1, hash) from flightbook_private.passwords";
    for (more, oldest_status) in [(99, 200), (1, 401)] {
        // Each statement is a transaction of its own, so that each has its own time.
        (0..more).for_each(|_| book.database.execute(begin));
        assert_eq!(book.database.value("select count(*) from flightbook_private.sessions"), "100");
        assert_eq!(ann.get("/flights").status, oldest_status);
    }
}

/// A statement of a pilot could run, and hold a connection, for as long as it took.
#[test]
fn the_time_of_a_statement_is_bounded() {
    let book = Book::start();
    book.database.execute(
        "create function flightbook.bound() returns text language sql as $$ select current_setting('statement_timeout') $$;
         create function flightbook.slow() returns void language sql as $$ select pg_sleep(30) $$;
         notify pgrst;",
    );
    let mut ann = book.pilot("Ann");
    let started = std::time::Instant::now();
    let bound = |visitor: &mut Visitor| loop {
        let bound = visitor.get("/api/rpc/bound");
        if bound.status != 404 {
            break bound.text().to_owned();
        }
        assert!(started.elapsed().as_secs() < 60, "the function is not served");
    };
    assert_eq!(bound(&mut ann), "\"1min\"");
    assert_eq!(bound(&mut book.visitor()), "\"1min\"");
    // The bound ends the statement that follows.
    let check = "select replace(pg_get_functiondef('flightbook_private.check_session'::regproc), '60s', '100ms')";
    book.database.execute(&book.database.value(check));
    let ended = ann.get("/api/rpc/slow");
    assert!(ended.status >= 500 && ended.text().contains("57014"), "{} {}", ended.status, ended.text());
    assert_eq!(ann.get("/flights").status, 200);
}
