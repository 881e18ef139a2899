//! Who registers, signs in, changes a password, and tries to be somebody else.

use crate::book::{Book, PASSWORD};
use std::process::Command;
use thalweg_testkit::Database;

const EMAIL: &str = "ann@club.example";

#[test]
fn a_pilot_registers_signs_out_and_in_again() {
    let book = Book::start();
    let mut ann = book.visitor();
    let fields = [("name", "Ann Arbor"), ("email", EMAIL), ("password", PASSWORD)];
    let entered = ann.submit("/do/register", &fields);
    let put = entered.header("set-cookie").unwrap();
    assert!(put.ends_with("; Path=/; Max-Age=2592000; HttpOnly; Secure; SameSite=Lax"), "{put}");
    assert_eq!(entered.header("cache-control"), Some("no-store"));
    assert!(ann.page("/account").contains("Ann Arbor"));
    assert_eq!(ann.submit("/sign_out", &[]).status, 303);
    assert_eq!((ann.cookie.clone(), ann.get("/account").status), (None, 303));
    let entered =
        ann.submit("/do/sign_in", &[("email", " ANN@club.example"), ("password", PASSWORD), ("back", "/gliders?a=b")]);
    assert_eq!((entered.status, entered.header("location")), (303, Some("/gliders?a=b")));
    assert!(ann.page("/account").contains("Ann Arbor"));
    assert!(
        book.database
            .value("select hash from flightbook_private.passwords")
            .starts_with("$argon2id$v=19$m=19456,t=2,p=1$")
    );
}

#[test]
fn what_is_refused_is_named_on_the_forms_page() {
    let book = Book::start();
    book.pilot("Ann");
    let mut visitor = book.visitor();
    let long = "x".repeat(1001);
    for (name, email, password, problem) in [
        ("", "b@club.example", PASSWORD, "name"),
        ("\0", "b@club.example", PASSWORD, "name"),
        ("Bob", "bob", PASSWORD, "email"),
        ("Bob", "b@club.example", "ninechars", "password"),
        ("Bob", "b@club.example", &long, "password"),
        ("Bob", "Ann@Club.example", PASSWORD, "taken"),
    ] {
        let refused = visitor.submit("/do/register", &[("name", name), ("email", email), ("password", password)]);
        let page = refused.header("location").unwrap_or_default().to_owned();
        assert!(page.starts_with(&format!("/register?problem={problem}")), "{problem}: {} {page}", refused.status);
        assert!(visitor.page(&page).contains("role=\"alert\""), "{page}");
    }
    assert_eq!(book.database.value("select count(*) from flightbook.pilots"), "1");
    for (email, password) in [(EMAIL, "not over the ridge"), ("nobody@club.example", PASSWORD), ("\0", PASSWORD)] {
        let refused = visitor.submit("/do/sign_in", &[("email", email), ("password", password), ("back", "/sites")]);
        assert_eq!(refused.header("location"), Some("/sign_in?problem=password&back=%2Fsites"), "{email}");
        assert!(refused.header("set-cookie").is_none());
    }
    visitor.language = "de";
    assert!(visitor.page("/sign_in?problem=password").contains("<html lang=\"de\">"));
    let large = visitor.submit("/do/sign_in", &[("email", EMAIL), ("password", &"x".repeat(20_000))]);
    assert_eq!(large.status, 413);
}

#[test]
fn nobody_is_sent_to_another_site_nor_signed_in_by_one() {
    let book = Book::start();
    book.pilot("Ann");
    let mut visitor = book.visitor();
    for back in ["//evil.example", "https://evil.example/", "/\\evil.example", "/\r\nset-cookie: a=b", ""] {
        let entered = visitor.submit("/do/sign_in", &[("email", EMAIL), ("password", PASSWORD), ("back", back)]);
        assert_eq!(entered.header("location"), Some("/flights"), "{back}");
    }
    let body = format!("email={EMAIL}&password={}&name=x&new_password=aaaaaaaaaaaaaa", PASSWORD.replace(' ', "+"));
    for path in ["/do/sign_in", "/do/register", "/do/change_password"] {
        for origin in [&[("origin", "https://evil.example")][..], &[("sec-fetch-site", "cross-site")], &[]] {
            let mut headers = vec![("content-type", "application/x-www-form-urlencoded")];
            headers.extend_from_slice(origin);
            let refused = visitor.ask("POST", path, &headers, body.as_bytes());
            assert_eq!(refused.status, 403, "{path} {origin:?}: {}", refused.text());
            assert!(refused.header("set-cookie").is_none());
        }
    }
    assert_eq!(visitor.ask("POST", "/do/tracks", &[("origin", "https://evil.example")], b"").status, 403);
}

#[test]
fn a_changed_password_ends_all_other_sessions() {
    let book = Book::start();
    let mut ann = book.pilot("Ann");
    let mut thief = book.again(&ann);
    let change = |now: &str, new: &str| [("password", now.to_owned()), ("new_password", new.to_owned())];
    let new = "under the cloud at three";
    for (now, new, page) in [
        ("wrong wrong wrong", new, "/account?problem=password"),
        (PASSWORD, "short", "/account?problem=new_password"),
        (PASSWORD, new, "/account?changed=1"),
    ] {
        let fields = change(now, new);
        let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, &**value)).collect();
        let changed = ann.submit("/do/change_password", &fields);
        assert_eq!(changed.header("location"), Some(page), "{}", changed.text());
    }
    assert!(ann.page("/account?changed=1").contains("role=\"status\""));
    assert_ne!(thief.cookie, ann.cookie);
    let stolen = thief.cookie.clone();
    for (path, status) in [("/flights", 401), ("/flights", 303), ("/api/flights", 401), ("/do/export.zip", 303)] {
        assert_eq!(thief.get(path).status, status, "{path}");
    }
    thief.cookie.clone_from(&stolen);
    assert_eq!(thief.get("/do/export.zip").status, 303);
    thief.cookie.clone_from(&stolen);
    assert_eq!(thief.get("/api/flights").status, 401);
    thief.cookie.clone_from(&stolen);
    let fields = [("password", new), ("new_password", "mine mine mine mine")];
    assert_eq!(thief.submit("/do/change_password", &fields).header("location"), Some("/sign_in?back=/account"));
    assert_eq!(thief.submit("/do/sign_in", &[("email", EMAIL), ("password", PASSWORD)]).header("set-cookie"), None);
    // nor does a token of one who is gone open anything
    assert_eq!(ann.submit("/account?form=delete", &[("email", EMAIL)]).status, 303);
    assert_eq!(book.database.value("select count(*) from flightbook.pilots"), "0");
}

#[test]
fn who_is_deleted_is_out_everywhere() {
    let book = Book::start();
    let mut ann = book.pilot("Ann");
    let mut elsewhere = book.again(&ann);
    assert_eq!(ann.submit("/account?form=delete", &[("email", EMAIL)]).status, 303);
    assert_eq!((elsewhere.get("/api/flights").status, ann.get("/account").status), (401, 303));
}

#[test]
fn an_operator_gives_a_new_password() {
    let book = Book::start();
    let mut ann = book.pilot("Ann");
    let reset = |database: &Database, email: &str| {
        let mut program = Command::new(env!("CARGO_BIN_EXE_flightbook"));
        program.args(["reset-password", env!("CARGO_MANIFEST_DIR"), email]);
        program.env("THALWEG_DB_URI", database.uri()).output().unwrap()
    };
    let done = reset(&book.database, "Ann@club.example");
    let told = String::from_utf8(done.stdout).unwrap();
    let password = told.trim_end().rsplit(' ').next().unwrap_or_default();
    assert!(done.status.success() && password.len() == 19, "{told}");
    assert_eq!(ann.get("/flights").status, 401);
    assert_eq!(ann.submit("/do/sign_in", &[("email", EMAIL), ("password", PASSWORD)]).header("set-cookie"), None);
    let entered = ann.submit("/do/sign_in", &[("email", EMAIL), ("password", password)]);
    assert_eq!(entered.header("location"), Some("/flights"));
    let unserved = Database::new("");
    for (database, email, problem) in [
        (&book.database, "nobody@club.example", "there is no such account"),
        (&unserved, EMAIL, "there is no flight book in this database yet: serve it once first"),
    ] {
        let refused = reset(database, email);
        let told = String::from_utf8(refused.stderr).unwrap();
        assert!(!refused.status.success() && told.contains(problem), "{told}");
    }
}

/// That is for the demo, whose pilots are nobody.
#[test]
fn nobody_gets_in_at_a_click() {
    let book = Book::start();
    let mut ann = book.pilot("Ada");
    ann.cookie = None;
    for (path, fields) in
        [("/do/sign_in_sample", [("email", "ada@club.example")]), ("/do/sign_in_sample", [("pilot", "1")])]
    {
        let refused = ann.submit(path, &fields);
        assert_eq!((refused.status, refused.header("set-cookie")), (404, None), "{}", refused.text());
    }
    for page in ["/", "/sign_in"] {
        assert!(!ann.page(page).contains("sign_in_sample"), "{page}");
    }
}
