//! A site from its first file on: `thalweg new`, then `thalweg serve` with its migrations.

use crate::program::{Directory, Program, eventually, get};
use nix::sys::signal::Signal;
use std::path::PathBuf;
use thalweg_testkit::{Client, Database};

pub(crate) const ON_ANY_PORT: (&str, &str) = ("THALWEG_SERVER_PORT", "0");

/// A site that `thalweg new` has just written.
pub(crate) fn new_site(directory: &Directory) -> PathBuf {
    let site = directory.0.join("site");
    let mut program = Program::start(&["new", site.to_str().unwrap()], &[]);
    program.line(&format!("thalweg serve {}", site.display()));
    assert!(program.wait().success());
    site
}

fn serve(site: &str, uri: &str) -> Program {
    Program::start(&["serve", site], &[("THALWEG_DB_URI", uri), ON_ANY_PORT])
}

fn applied(database: &Database) -> String {
    database.value("select string_agg(name, ', ' order by name) from thalweg.migrations")
}

#[test]
fn a_new_site_is_served_from_its_own_database() {
    let directory = Directory::new("new");
    let site = new_site(&directory);
    let site = site.to_str().unwrap();
    let mut again = Program::start(&["new", site], &[]);
    again.line("is not empty: name a directory that is, or that does not exist");
    assert_eq!(again.wait().code(), Some(1));

    let mut first = Program::start(&["serve", site], &[ON_ANY_PORT]);
    first.line("Applied the migration 001-books.sql");
    first.line("Applied the migration 002-reviews.sql");
    let address = first.address();
    assert_eq!(get(address, "/api/books?select=title&order=id")[0]["title"], "Frankenstein");
    let mut client = Client::connect(address);
    let page = client.request("GET", "/", &[]);
    assert!(page.status == 200 && page.text().contains("<a href=\"/books/1\">Frankenstein</a>"), "{}", page.text());
    let page = client.request("GET", "/books/1", &[]);
    assert!(page.text().contains("<p>The monster is the only one in it who reads.</p>"), "{}", page.text());
    assert_eq!(client.request("GET", "/books/9", &[]).status, 404);
    let mut post = |target: &str, body: &str| {
        client.request_with("POST", target, &[("content-type", "application/json")], body.as_bytes()).status
    };
    assert_eq!(post("/api/reviews", r#"{"book_id":1,"reader":"Percy","stars":5,"text":"Mine."}"#), 201);
    assert_eq!(post("/api/reviews", r#"{"book_id":1,"reader":"Percy","stars":6,"text":"Mine."}"#), 400);
    // the form of the page
    let mut send = |form: &str| {
        let headers = [("content-type", "application/x-www-form-urlencoded"), ("sec-fetch-site", "same-origin")];
        client.request_with("POST", "/books/2", &headers, form.as_bytes())
    };
    let wrong = send("reader=Percy&stars=6&text=Long");
    assert!(wrong.status == 422 && wrong.text().contains("There are one to five stars."), "{}", wrong.text());
    assert!(wrong.text().contains("value=\"Percy\""));
    let done = send("reader=Percy&stars=4&text=Long&book_id=1");
    assert_eq!((done.status, done.header("location")), (303, Some("/books/2")));
    assert_eq!(get(address, "/api/reviews?text=eq.Long")[0]["book_id"], 2);
    let mut post = |target: &str, body: &str| {
        client.request_with("POST", target, &[("content-type", "application/json")], body.as_bytes()).status
    };
    assert_eq!(post("/api/books", r#"{"title":"Mine","author":"I","year":2026}"#), 401);
    first.signal(Signal::SIGTERM);
    assert!(first.wait().success());

    let mut second = Program::start(&["serve", site], &[ON_ANY_PORT]);
    let reviews = get(second.address(), "/api/reviews?reader=eq.Percy");
    assert_eq!(reviews.as_array().unwrap().len(), 2);
    second.signal(Signal::SIGTERM);
    assert!(second.wait().success());
    assert!(second.rest().iter().all(|line| !line.contains("Applied")));
}

#[test]
fn servers_that_start_at_once_apply_each_migration_once() {
    let (directory, database) = (Directory::new("at-once"), Database::new(""));
    let site = new_site(&directory);
    // seen from the site's folder
    std::fs::rename(site.join("pages"), site.join("templates")).unwrap();
    let configuration = std::fs::read_to_string(site.join("thalweg.conf")).unwrap();
    std::fs::write(site.join("thalweg.conf"), configuration + "pages-dir = \"templates\"\n").unwrap();
    let mut servers = [(); 3].map(|()| serve(site.to_str().unwrap(), &database.uri()));
    for server in &mut servers {
        let address = server.address();
        assert_eq!(get(address, "/api/books?select=id").as_array().unwrap().len(), 3);
        assert_eq!(Client::connect(address).request("GET", "/", &[]).status, 200);
        server.signal(Signal::SIGTERM);
        assert!(server.wait().success());
    }
    let lines = servers.into_iter().flat_map(Program::rest);
    assert_eq!(lines.filter(|line| line.contains("Applied the migration")).count(), 2);
}

#[test]
fn what_is_wrong_with_a_migration_ends_the_start() {
    let (directory, database) = (Directory::new("wrong"), Database::new(""));
    let site = new_site(&directory);
    let (folder, third) = (site.to_str().unwrap(), site.join("schema/003-tags.sql"));
    let refused = |said: &str| {
        let mut server = serve(folder, &database.uri());
        server.line(said);
        assert_eq!(server.wait().code(), Some(1));
    };
    std::fs::write(&third, "create table api.tags (label text);\n  alter table api.tag add n int;\n").unwrap();
    refused(&format!("thalweg: {}:2:3: relation \"api.tag\" does not exist (42P01)", third.display()));
    assert_eq!(applied(&database), "001-books.sql, 002-reviews.sql");
    assert_eq!(database.value("select to_regclass('api.tags')"), "");
    std::fs::write(&third, "create table api.tags (label text)").unwrap();
    let mut migrate = Program::start(&["migrate", folder], &[("THALWEG_DB_URI", &database.uri())]);
    migrate.line("Migrations applied: 1, applied before: 2");
    assert!(migrate.wait().success());
    std::fs::write(&third, "create table api.tags (label text, n int)").unwrap();
    refused("003-tags.sql has changed since it was applied (SHA-256 was ");
    std::fs::remove_file(site.join("thalweg.conf")).unwrap();
    refused("thalweg.conf");
}

/// What a killed server has begun its backend goes on with, until it notices that nobody is there. Meanwhile another server must not run
/// the same file beside it.
#[test]
fn a_server_that_is_killed_leaves_nothing_half_applied() {
    let (directory, database) = (Directory::new("killed"), Database::new(""));
    let site = new_site(&directory);
    let (folder, third) = (site.to_str().unwrap(), site.join("schema/003-slow.sql"));
    std::fs::write(&third, "create table api.slow ();\nselect pg_sleep(3600);\n").unwrap();
    let sleeper = "from pg_stat_activity where datname = current_database() and query = 'select pg_sleep(3600)'";
    let count = |of: &str| database.value(&format!("select count(*) {of}"));
    let first = serve(folder, &database.uri());
    eventually("the file is run", || count(sleeper) == "1");
    first.signal(Signal::SIGKILL);
    std::fs::write(&third, "create table api.slow (n int);").unwrap();
    let mut second = serve(folder, &database.uri());
    let waits = "from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
                 and query like 'insert into thalweg.migrations %'";
    eventually("the next one waits", || count(waits) == "1");
    assert_eq!((count(sleeper).as_str(), applied(&database).as_str()), ("1", "001-books.sql, 002-reviews.sql"));
    database.query(&format!("select pg_terminate_backend(pid) {sleeper}"));
    second.line("Applied the migration 003-slow.sql");
    second.address();
    assert_eq!(
        database.value("select count(*) from pg_attribute where attrelid = 'api.slow'::regclass and attname = 'n'"),
        "1"
    );
}

/// A site that is being written was silent about a new file, and its pages about what they missed.
#[test]
fn with_dev_a_migration_that_is_not_applied_is_told() {
    let directory = Directory::new("dev-note");
    let (site, database) = (new_site(&directory), Database::new(""));
    let (schema, uri) = (site.join("schema"), database.uri());
    let settings = [("THALWEG_DB_URI", uri.as_str()), ON_ANY_PORT];
    let mut program = Program::start(&["serve", site.to_str().unwrap(), "--dev"], &settings);
    let address = program.address();
    let shown = |note: &str| Client::connect(address).request("GET", "/", &[]).text().contains(note);
    assert!(!shown("applied"));
    std::fs::write(schema.join("003-tags.sql"), "create table api.tags (id int);\n").unwrap();
    program.line("003-tags.sql has not been applied. Stop the server and start it again.");
    eventually("the page has the note", || shown("003-tags.sql has not been applied."));
    let first = std::fs::read_to_string(schema.join("001-books.sql")).unwrap();
    std::fs::write(schema.join("001-books.sql"), format!("{first}\n-- more")).unwrap();
    program.line("001-books.sql has changed since it was applied. Change it back and write a new file.");
    std::fs::remove_file(schema.join("002-reviews.sql")).unwrap();
    program.line("002-reviews.sql was applied and is gone. Put it back.");
    std::fs::write(schema.join("003-tags.sql"), "begin;\n").unwrap();
    program.line("003-tags.sql:1");
    assert_eq!(applied(&database), "001-books.sql, 002-reviews.sql");
}
