//! Crowds: hundreds more clients than there are database connections. A fast database serves all of
//! them. A stalled one serves those that may wait, and the others are refused at once, at a cost
//! that clients cannot raise by retrying.

use crate::served::{GRANTS, Served, config, eventually};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use thalweg_server::Config;
use thalweg_testkit::{Client, Database};

const SCHEMA: &str = "
    create schema api;
    create table api.t (id int primary key, name text);
    insert into api.t select i, 'name ' || i from generate_series(1, 100) i;
";
const CONNECTIONS: usize = 2;
/// `WAITING_MIN` of `thalweg-wire`.
const WAITING_MIN: usize = 100;

/// A client that keeps its connection open and receives its answers as they arrive.
struct Visitor {
    stream: TcpStream,
    received: Vec<u8>,
}

const ROW: &[u8] = b"GET /t?id=eq.42 HTTP/1.1\r\nHost: test\r\n\r\n";

impl Visitor {
    fn asking(served: &Served, request: &[u8]) -> Self {
        let stream = TcpStream::connect(served.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(600))).unwrap();
        let mut visitor = Self { stream, received: Vec::new() };
        visitor.ask(request);
        visitor
    }

    fn ask(&mut self, request: &[u8]) {
        self.received.clear();
        self.stream.write_all(request).unwrap();
    }

    /// Returns the status, once the whole answer has arrived.
    fn status(&self) -> Option<u16> {
        let text = std::str::from_utf8(&self.received).unwrap();
        let (head, body) = text.split_once("\r\n\r\n")?;
        let length =
            head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
        (body.len() >= length.unwrap_or(0)).then(|| head.split(' ').nth(1)?.parse().ok()).flatten()
    }

    fn read(&mut self) -> std::io::Result<()> {
        let mut piece = [0; 4096];
        let count = self.stream.read(&mut piece)?;
        assert!(count > 0, "the connection stays open: {}", String::from_utf8_lossy(&self.received));
        self.received.extend_from_slice(&piece[..count]);
        Ok(())
    }

    /// Waits for the answer.
    fn answer(&mut self) -> u16 {
        loop {
            if let Some(status) = self.status() {
                return status;
            }
            self.read().unwrap();
        }
    }

    /// Returns the status, if the answer has arrived.
    fn look(&mut self) -> Option<u16> {
        self.stream.set_nonblocking(true).unwrap();
        loop {
            match self.read() {
                Ok(()) => {}
                Err(error) => break assert_eq!(error.kind(), ErrorKind::WouldBlock),
            }
        }
        self.stream.set_nonblocking(false).unwrap();
        self.status()
    }
}

/// Runs a closure while all requests of the table are held up.
fn stalled<T>(database: &Database, run: impl FnOnce() -> T) -> T {
    let locks = |name: &str| {
        format!(
            "select {name} from pg_stat_activity a join pg_locks l using (pid)
             where l.relation = 'api.t'::regclass and l.mode = 'AccessExclusiveLock' and l.granted"
        )
    };
    std::thread::scope(|scope| {
        let lock = "begin; lock table api.t in access exclusive mode; select pg_sleep(600)";
        scope.spawn(|| database.try_execute(lock));
        eventually("the table is locked", || database.value(&locks("count(*)")) == "1");
        let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
        database.query(&locks("pg_terminate_backend(pid)"));
        ran.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// The windows of time in which a queue is judged are fractions of this time. The tests state it so
/// that they do not depend on the speed of the machine.
fn crowded(database: &Database, wait_s: u64) -> Served {
    Served::start(Config {
        db_pool: CONNECTIONS,
        db_pool_acquisition_timeout: Duration::from_secs(wait_s),
        ..config(&database.uri())
    })
}

/// Returns the statuses of all clients, sorted.
fn answers(visitors: &mut [Visitor]) -> Vec<u16> {
    let mut statuses: Vec<u16> = visitors.iter_mut().map(Visitor::answer).collect();
    statuses.sort_unstable();
    statuses
}

/// 1,000 requests could wait, however short their wait would have been. Of 4,000 clients of a
/// database that answered 27,000 requests a second, 99 of 100 were refused, and came back at once.
#[test]
fn a_crowd_of_keep_alive_clients_is_served() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let served = crowded(&database, 3_600);
    // All of the requests wait at the same time.
    for clients in [1_500, 4_000] {
        let mut visitors: Vec<Visitor> =
            stalled(&database, || (0..clients).map(|_| Visitor::asking(&served, ROW)).collect());
        assert_eq!(answers(&mut visitors), vec![200; clients]);
    }
}

/// Sends requests until one is refused. A queue counts as stalled some time after its last request
/// was served. Returns all clients, the refused one last.
fn until_refused(served: &Served, request: &[u8]) -> Vec<Visitor> {
    let mut visitors: Vec<Visitor> = (0..CONNECTIONS + WAITING_MIN).map(|_| Visitor::asking(served, request)).collect();
    for _ in 0..1_000 {
        visitors.push(Visitor::asking(served, request));
        std::thread::sleep(Duration::from_millis(60));
        if let Some(at) = visitors.iter_mut().position(|visitor| visitor.look().is_some()) {
            let refused = visitors.remove(at);
            visitors.push(refused);
            return visitors;
        }
    }
    panic!("none of {} is refused", visitors.len());
}

/// Asserts that a request is refused, and that the refusal is complete.
fn assert_refused(served: &Served, method: &str, body: &[u8]) {
    let mut client = Client::connect(served.address);
    let response = match body {
        [] => client.request(method, "/t?id=eq.42", &[("Origin", "https://example.org")]),
        body => client.request_with(method, "/t", &[("Content-Type", "application/json")], body),
    };
    assert_eq!((response.status, response.header("retry-after")), (503, Some("1")));
    assert_eq!(response.header("proxy-status"), Some("Thalweg; error=PGRST003"));
    assert!(response.header("server").is_some_and(|server| server.starts_with("thalweg/")));
    if method == "GET" {
        assert_eq!(response.header("access-control-allow-origin"), Some("*"));
    }
    match method {
        "HEAD" => assert!(response.body.is_empty()),
        _ => assert_eq!(response.json()["code"], "PGRST003"),
    }
}

#[test]
fn a_stalled_database_refuses_all_requests_but_those_that_may_wait() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let served = crowded(&database, 60);
    let mut visitors = stalled(&database, || {
        let mut visitors = until_refused(&served, ROW);
        for (method, body) in [("GET", ""), ("HEAD", ""), ("POST", "{\"id\": 101}")] {
            assert_refused(&served, method, body.as_bytes());
        }
        assert_refused(&served, "POST", &[b' '; 300_000]);
        // A request that needs no connection is answered.
        let preflight = [("Origin", "https://example.org"), ("Access-Control-Request-Method", "GET")];
        assert_eq!(served.request("OPTIONS", "/t", &preflight).status, 200);
        // Requests that came before the stall was detected are refused too.
        let waiting = CONNECTIONS + WAITING_MIN;
        let visitors = std::cell::RefCell::new(&mut visitors);
        eventually("as many wait as may", || {
            let mut visitors = visitors.borrow_mut();
            visitors.iter_mut().filter_map(Visitor::look).count() + waiting == visitors.len()
        });
        std::mem::take(*visitors.borrow_mut())
    });
    let statuses = answers(&mut visitors);
    let waited = statuses.iter().filter(|status| **status == 200).count();
    assert_eq!(waited, CONNECTIONS + WAITING_MIN, "{statuses:?}");
    assert!(statuses[waited..].iter().all(|status| *status == 503), "{statuses:?}");
    // A refused client is served later on the same connection.
    visitors.iter_mut().for_each(|visitor| visitor.ask(ROW));
    assert!(answers(&mut visitors).iter().all(|status| *status == 200));
}

/// A client that retried as soon as it was refused caused 60,000 refusals a second, together with
/// others like it.
#[test]
fn a_client_that_comes_back_at_once_is_not_answered_at_once() {
    /// This runs for one statement of three seconds. Clients that are not slowed down are refused
    /// some thousand times.
    const REFUSALS_MAX: usize = 20;
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let served = crowded(&database, 60);
    let (refusals, visitors) = stalled(&database, || {
        let mut visitors = until_refused(&served, ROW);
        let is_over = AtomicBool::new(false);
        let refusals = std::thread::scope(|scope| {
            let mut client = visitors.pop().expect("the last one was refused");
            let is_over = &is_over;
            let looping = scope.spawn(move || {
                let mut refusals = 0;
                while !is_over.load(Ordering::Relaxed) {
                    client.ask(ROW);
                    assert_eq!(client.answer(), 503);
                    refusals += 1;
                }
                refusals
            });
            database.query("select pg_sleep(3)");
            is_over.store(true, Ordering::Relaxed);
            looping.join().unwrap()
        });
        (refusals, visitors)
    });
    drop(visitors);
    assert!((1..=REFUSALS_MAX).contains(&refusals), "{refusals}");
}

/// Files and pages without queries need no connection. Other pages are refused as pages.
#[test]
fn a_site_serves_files_and_pages_without_queries_while_its_database_is_stalled() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("rows.html", "+++\nrows = \"/t?limit=1\"\n+++\n{% for row in rows %}{{ row.name }}{% endfor %}");
    write("about.html", "about us");
    write("error.html", "sorry: {{ error.code }}");
    std::fs::create_dir(folder.path().join("static")).unwrap();
    write("static/style.css", "p { margin: 0 }");
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let served = Served::start(Config {
        pages_dir: Some(folder.path().to_owned()),
        db_pool: CONNECTIONS,
        db_pool_acquisition_timeout: Duration::from_secs(60),
        ..config(&database.uri())
    });
    assert_eq!(served.get("/rows").text(), "name 1");
    let visitors = stalled(&database, || {
        let visitors = until_refused(&served, b"GET /rows HTTP/1.1\r\nHost: test\r\n\r\n");
        let mut client = Client::connect(served.address);
        let refused = client.request("GET", "/rows", &[]);
        assert_eq!(
            (refused.status, refused.header("retry-after"), refused.text()),
            (503, Some("1"), "sorry: PGRST003")
        );
        for (path, text) in [("/static/style.css", "p { margin: 0 }"), ("/about", "about us")] {
            let response = client.request("GET", path, &[]);
            assert_eq!((response.status, response.text()), (200, text), "{path}");
        }
        visitors
    });
    drop(visitors);
    eventually("pages are served again", || served.get("/rows").text() == "name 1");
}
