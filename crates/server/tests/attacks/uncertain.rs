//! Writes whose connection to PostgreSQL is lost. The answer shows whether the write may be sent
//! again: 503 with `Retry-After` only if nothing of it was committed, and 500 `TWG24` without
//! `Retry-After` if it may have been.
//!
//! Formerly, both were 503 with `Retry-After`: 3 of 24 rows existed whose requests had been
//! answered so.

use crate::served::{GRANTS, Served, config, eventually};
use thalweg_server::{Config, PagesBrowse};
use thalweg_testkit::{Database, Proxy, Response};

const SCHEMA: &str = "
    create schema api;
    create table api.t (id int primary key, note text);
    create function api.add(id int) returns int language sql volatile as
      'insert into api.t values (id) returning id';
    create function api.add_slowly(id int) returns int language plpgsql volatile as
      $$ begin insert into api.t values (id); perform pg_sleep(600); return id; end $$;
    create function api.refuse() returns trigger language plpgsql as
      $$ begin raise exception 'refused at the end' using errcode = '23514'; end $$;
    create table api.deferred (id int primary key);
    create constraint trigger refuse after insert on api.deferred deferrable initially deferred
      for each row execute function api.refuse();
    create view api.slow as select id, pg_sleep(600)::text as x from api.t;";
const WRITES: &str = "grant insert, update, delete on all tables in schema api to test_reader;";

type Headers = Vec<(&'static str, &'static str)>;

const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");
const ROWS: (&str, &str) = ("Prefer", "return=representation");

/// A way to write the row with a number, which stands as `#` in the target and the body.
struct Write {
    name: &'static str,
    method: &'static str,
    target: &'static str,
    headers: Headers,
    body: &'static str,
    /// True if the transaction stays open until its answer has been read.
    stays_open: bool,
}

fn write(
    name: &'static str,
    method: &'static str,
    target: &'static str,
    headers: Headers,
    body: &'static str,
) -> Write {
    Write { name, method, target, headers, body, stays_open: false }
}

/// All ways in which a request can write a row.
fn writes() -> Vec<Write> {
    let browser = vec![("Accept", "text/html"), FORM, ("Sec-Fetch-Site", "same-origin")];
    let site = vec![FORM, ("Sec-Fetch-Site", "same-origin")];
    let parts = vec![("Content-Type", "multipart/form-data; boundary=b")];
    let checked = vec![("Prefer", "return=representation, handling=strict, max-affected=1")];
    vec![
        write("one row", "POST", "/api/t", vec![], r#"{"id":#}"#),
        write("one row that is returned", "POST", "/api/t", vec![ROWS], r#"{"id":#}"#),
        write("rows by COPY", "POST", "/api/t", vec![], r#"[{"id":#},{"id":-#}]"#),
        write("rows in one document", "POST", "/api/t", vec![ROWS], r#"[{"id":#},{"id":-#}]"#),
        write("CSV", "POST", "/api/t", vec![("Content-Type", "text/csv")], "id\n#"),
        write("a form", "POST", "/api/t", vec![FORM], "id=#"),
        write(
            "a form with parts",
            "POST",
            "/api/t",
            parts,
            "--b\r\nContent-Disposition: form-data; name=\"id\"\r\n\r\n#\r\n--b--\r\n",
        ),
        write("PATCH", "PATCH", "/api/t?id=eq.0", vec![], r#"{"id":#}"#),
        write("a call", "POST", "/api/rpc/add", vec![], r#"{"id":#}"#),
        write("the form of a page", "POST", "/add", site, "id=#"),
        write("a form without templates", "POST", "/api/t?:new=1", browser, ":is.id=#"),
        Write { stays_open: true, ..write("PUT", "PUT", "/api/t?id=eq.#", vec![], r#"{"id":#,"note":"n"}"#) },
        Write { stays_open: true, ..write("a checked PATCH", "PATCH", "/api/t?id=eq.0", checked, r#"{"id":#}"#) },
    ]
}

/// A server, and the proxy through which its one connection to the database goes.
struct Setting {
    database: Database,
    proxy: Proxy,
    served: Served,
    _pages: tempfile::TempDir,
}

impl Setting {
    fn new() -> Self {
        let database = Database::new(&format!("{SCHEMA}{GRANTS}{WRITES}"));
        let (proxy, uri) = Proxy::before(&database.uri());
        let pages = tempfile::tempdir().unwrap();
        std::fs::write(pages.path().join("add.html"), "+++\n[form]\ninsert = '/t'\n+++\n{{ form.error }}").unwrap();
        let served = Served::start(Config {
            db_channel_enabled: false,
            db_pool: 1,
            db_tx_end_is_theirs: true,
            pages_dir: Some(pages.path().to_owned()),
            pages_browse: PagesBrowse::On,
            ..config(&uri)
        });
        Self { database, proxy, served, _pages: pages }
    }

    fn ask(&self, write: &Write, id: usize) -> Response {
        let id = id.to_string();
        let (target, body) = (write.target.replace('#', &id), write.body.replace('#', &id));
        self.served.send(write.method, &target, &write.headers, body)
    }

    fn has_row(&self, id: usize) -> bool {
        self.database.value(&format!("select count(*) from api.t where id = {id}")) == "1"
    }

    /// Returns whether a transaction has written and waits for its next statement.
    fn is_open(&self) -> bool {
        self.database.value(
            "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
             and wait_event = 'ClientRead' and backend_xid is not null",
        ) == "1"
    }

    /// Lets the server connect again, and prepare the statement of a write.
    fn recover(&self, write: &Write) {
        self.proxy.drop_answers(false);
        self.proxy.drop_requests(false);
        self.proxy.open();
        eventually("the server is back", || self.served.get("/api/t?limit=0").status == 200);
        self.database.execute("delete from api.t; insert into api.t values (0)");
        let response = self.ask(write, 1);
        assert!(response.status < 400, "{}: {}", write.name, response.text());
        self.database.execute("delete from api.t; insert into api.t values (0)");
    }
}

/// Asserts that a response shows correctly whether its request may be sent again.
fn assert_shows(response: &Response, is_certain: bool, name: &str) {
    let code = response.header("proxy-status").unwrap_or_default();
    let shown = (response.status, response.header("retry-after"), code.ends_with("TWG24"));
    let expected = if is_certain { (503, Some("1"), false) } else { (500, None, true) };
    assert_eq!(shown, expected, "{name}: {}", response.text());
    // The words of the system go only to the log.
    for words in ["os error", "reset", "PANIC"] {
        assert!(!response.text().contains(words), "{name}: {}", response.text());
    }
}

/// PostgreSQL has executed the statements, and its answer is lost.
#[test]
fn a_write_whose_answer_is_lost_may_have_been_executed() {
    let setting = Setting::new();
    for (number, write) in writes().into_iter().enumerate() {
        setting.recover(&write);
        let id = number + 2;
        setting.proxy.drop_answers(true);
        let response = std::thread::scope(|scope| {
            let asked = scope.spawn(|| setting.ask(&write, id));
            eventually(write.name, || setting.has_row(id) || setting.is_open());
            setting.proxy.close();
            asked.join().unwrap()
        });
        assert_eq!(setting.has_row(id), !write.stays_open, "{}", write.name);
        assert_shows(&response, write.stays_open, write.name);
    }
}

/// The statements are lost. This cannot be distinguished from a lost answer, except for those that
/// were not sent completely.
#[test]
fn a_write_that_was_sent_may_have_been_executed_and_one_that_was_not_sent_whole_was_not() {
    let setting = Setting::new();
    let [one_row, ..] = &writes()[..] else { unreachable!() };
    for is_whole in [true, false] {
        setting.recover(one_row);
        setting.proxy.take_recorded();
        let note = "n".repeat(if is_whole { 1 } else { 48 << 20 });
        let response = std::thread::scope(|scope| {
            if is_whole {
                setting.proxy.drop_requests(true);
            } else {
                setting.proxy.ignore_requests(true);
            }
            let body = format!("{{\"id\":2,\"note\":\"{note}\"}}");
            let requested = setting.proxy.requests();
            let asked = scope.spawn(|| setting.served.send("POST", "/api/t", &[], body));
            eventually("the server has sent the write", || setting.proxy.requests() > requested);
            setting.proxy.close();
            asked.join().unwrap()
        });
        setting.proxy.ignore_requests(false);
        assert!(!setting.has_row(2));
        assert_shows(&response, !is_whole, if is_whole { "whole" } else { "not whole" });
    }
}

/// PostgreSQL's last message before it closes a connection comes before the end of the transaction,
/// or after it.
#[test]
fn a_write_that_postgresql_has_ended_was_not_executed() {
    let setting = Setting::new();
    let database = &setting.database;
    let running = "from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'";
    let terminated = std::thread::scope(|scope| {
        let asked = scope.spawn(|| setting.served.send("POST", "/api/rpc/add_slowly", &[], r#"{"id":2}"#));
        eventually("the call runs", || database.value(&format!("select count(*) {running}")) == "1");
        database.execute(&format!("select pg_terminate_backend(pid) {running}"));
        asked.join().unwrap()
    });
    assert_shows(&terminated, true, "a call that was terminated");
    assert_eq!(terminated.json()["code"], "57P01");
    assert!(!setting.has_row(2));
    // An error at the end of the transaction is certain too, and is passed on to the client.
    eventually("the server is back", || setting.served.get("/api/t?limit=0").status == 200);
    let refused = setting.served.send("POST", "/api/deferred", &[], r#"{"id":2}"#);
    assert_eq!((refused.status, refused.json()["code"].as_str()), (400, Some("23514")));
    assert_eq!(database.value("select count(*) from api.deferred"), "0");
}

/// Reads and rolled-back writes leave nothing behind.
#[test]
fn a_request_that_commits_nothing_may_be_sent_again() {
    let setting = Setting::new();
    setting.database.execute("insert into api.t values (0)");
    let read = std::thread::scope(|scope| {
        let asked = scope.spawn(|| setting.served.get("/api/slow"));
        let running =
            "select count(*) from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'";
        eventually("the read runs", || setting.database.value(running) == "1");
        setting.proxy.close();
        asked.join().unwrap()
    });
    assert_shows(&read, true, "a read");
    assert_eq!(setting.served.get("/api/t").header("retry-after"), Some("1"));
    let [one_row, ..] = &writes()[..] else { unreachable!() };
    let undone =
        Write { headers: vec![("Prefer", "tx=rollback")], ..write("undone", "POST", "/api/t", vec![], one_row.body) };
    setting.recover(&undone);
    let response = std::thread::scope(|scope| {
        setting.proxy.drop_answers(true);
        setting.proxy.take_recorded();
        let asked = scope.spawn(|| setting.ask(&undone, 2));
        eventually("PostgreSQL has answered", || setting.proxy.answered_bytes() > 0);
        setting.proxy.close();
        asked.join().unwrap()
    });
    assert_shows(&response, true, "a write that is rolled back");
    assert!(!setting.has_row(2));
    // Nothing was sent.
    assert_shows(&setting.ask(&undone, 3), true, "a write without a connection");
}
