//! Clients that read slowly, or not at all: they keep neither connections nor memory, and slow lines get what they asked for.

use crate::served::{GRANTS, Served, config, eventually};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::routing::{get, post};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use thalweg_server::http_body::Frame;
use thalweg_server::{Config, Server};
use thalweg_testkit::{Client, Database, Response};

/// A response of about 40 MB, which no socket's buffers can hold.
const SCHEMA: &str = "
    create schema api;
    create table api.numbers as select i as id, repeat('x', 1000) as filler from generate_series(1, 40000) i;
    alter table api.numbers add primary key (id);
    create view api.endless as select generate_series(1, 2000000000) as id, repeat('x', 1000) as filler;
    create function api.slowly(i int, ms int, bytes int) returns text language plpgsql stable as
      $$ begin perform pg_sleep(ms / 1000.0); return i || repeat('x', bytes); end $$;
    create view api.pausing as
      select i as id, api.slowly(i, case when i = 13 then 3000 else 0 end, 450000) as filler from generate_series(1, 24) i;
    create table api.files (id int primary key, content bytea);
    insert into api.files select 1, convert_to(string_agg(repeat(i::text, 1000), ''), 'UTF8') from generate_series(1, 9000) i;
";

fn active(database: &Database) -> u32 {
    let count = database.value(&format!(
        "select count(*) from pg_stat_activity
         where datname = '{}' and backend_type = 'client backend' and state <> 'idle' and pid <> pg_backend_pid()
           and application_name like 'thalweg%'",
        database.name()
    ));
    count.parse().unwrap()
}

/// A client that has asked for something, and reads nothing of it yet.
fn asking(served: &Served, target: &str, headers: &[(&str, &str)]) -> Client {
    let mut client = Client::connect(served.address);
    client.send("GET", target, headers);
    client
}

#[test]
fn the_database_is_done_long_before_a_slow_reader() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    // A busy machine takes longer than the defaults until the last reader reads.
    let wait = Duration::from_secs(600);
    let served = Served::start(Config {
        db_pool: 2,
        db_pool_acquisition_timeout: wait,
        client_stall_timeout: wait,
        ..config(&database.uri())
    });
    let readers: Vec<Client> = (0..5).map(|_| asking(&served, "/numbers", &[])).collect();
    // one at a time has a connection, and a second is left to others all the while
    for id in 1..200 {
        assert_eq!(served.get(&format!("/numbers?id=eq.{id}")).status, 200);
    }
    eventually("the database is done", || active(&database) == 0);
    for mut reader in readers {
        let response = reader.receive(false);
        assert!(response.whole && response.status == 200, "{} {}", response.status, response.whole);
        let rows = response.json();
        assert_eq!(rows.as_array().unwrap().len(), 40_000);
        assert!(rows.as_array().unwrap().iter().enumerate().all(|(at, row)| row["id"] == at + 1));
    }
}

/// The patience with a reader that had stopped ran out while it waited for the database again. Whoever took the rows to disk
/// from then on was woken by the database, and the reader by nobody: it waited for ever.
#[test]
fn a_reader_that_has_stopped_goes_on_when_the_database_does() {
    let database =
        Database::new(&format!("{SCHEMA}{GRANTS} grant execute on all functions in schema api to test_reader;"));
    let served = Served::start(Config { db_pool: 40, ..config(&database.uri()) });
    let (started, ended) = std::sync::mpsc::channel();
    for reader in 0..20 {
        let (mut client, ended) = (asking(&served, "/pausing", &[]), started.clone());
        std::thread::spawn(move || {
            // the patience is a second: it runs out a little before, or a little behind
            let mut bytes = client.read_some(64 * 1024).len();
            std::thread::sleep(Duration::from_millis(970 + 4 * reader));
            while bytes < 10_800_000 {
                match client.read_some(1024 * 1024).len() {
                    0 => break,
                    read => bytes += read,
                }
            }
            ended.send(bytes).unwrap();
        });
    }
    for _ in 0..20 {
        let bytes = ended.recv_timeout(Duration::from_secs(50)).expect("a reader was forgotten");
        assert!(bytes >= 10_800_000, "{bytes}");
    }
}

#[test]
fn a_download_does_not_wait_for_its_reader_either() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let served = Served::start(Config { db_pool: 1, ..config(&database.uri()) });
    let octets = [("Accept", "application/octet-stream")];
    let mut reader = asking(&served, "/files?id=eq.1&select=content", &octets);
    eventually("the download has begun", || active(&database) == 1);
    eventually("the database is done", || active(&database) == 0);
    assert_eq!(served.get("/numbers?id=eq.1").status, 200);
    let response = reader.receive(false);
    assert!(response.whole);
    let expected: String = (1..=9000).map(|i: u32| i.to_string().repeat(1000)).collect();
    assert!(response.body == expected.as_bytes());
}

/// What was written can be returned only when all of it has been: it is kept on disk until then, not in memory.
#[test]
fn a_large_answer_that_is_held_is_whole() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS} grant update on api.numbers to test_reader;"));
    let served = Served::database(&database.uri());
    let headers = [("Prefer", "return=representation"), ("Content-Type", "application/json")];
    let response = served.send("PATCH", "/numbers?id=gt.0&order=id", &headers, r#"{"filler":"short"}"#);
    assert_eq!(response.status, 200, "{}", response.text());
    let response = served.send("PATCH", "/numbers?id=gt.0", &headers, format!(r#"{{"filler":"{}"}}"#, "y".repeat(800)));
    let length: usize = response.header("content-length").unwrap().parse().unwrap();
    assert!(response.whole && length == response.body.len() && length > 32_000_000);
    let rows = response.json();
    let mut ids: Vec<u64> = rows.as_array().unwrap().iter().map(|row| row["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    assert!(ids == (1..=40_000).collect::<Vec<_>>());
}

#[test]
fn a_reader_that_leaves_takes_its_rows_along() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let served = Served::start(Config { db_pool: 1, ..config(&database.uri()) });
    let client = asking(&served, "/endless", &[]);
    // long enough for the rows to go to disk
    let until = Instant::now() + Duration::from_millis(1500);
    eventually("the rows flow", || active(&database) == 1 && Instant::now() > until);
    drop(client);
    eventually("the query is cancelled", || active(&database) == 0);
    assert_eq!(served.get("/numbers?id=eq.1").status, 200);
}

/// Linux says that a socket can be written to when a third of its buffer is free: for a line of 64 KB/s that is once a minute.
#[test]
fn a_slow_line_makes_progress_between_the_systems_events() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let stall = Duration::from_secs(4);
    let served = Served::start(Config { client_stall_timeout: stall, ..config(&database.uri()) });
    let mut reader = asking(&served, "/numbers", &[]);
    let started = Instant::now();
    let mut bytes = 0;
    // three times the stall timeout, at about 160 KB/s: less than a third of the buffer in each
    while started.elapsed() < 3 * stall {
        bytes += reader.read_some(16 * 1024).len();
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(bytes > 1_000_000, "{bytes}");
    let mut last = Vec::new();
    loop {
        let read = reader.read_some(1024 * 1024);
        if read.is_empty() {
            break;
        }
        last = [last, read].concat();
        last.drain(..last.len().saturating_sub(100));
        if last.ends_with(b"0\r\n\r\n") {
            return;
        }
    }
    panic!("the response was cut");
}

/// Without room on disk the database waits for its readers, who have turns: others have connections all the same.
#[test]
fn without_a_spool_readers_wait_for_turns() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let readers = |directory: &str, spool_max: u64| {
        let config =
            Config { client_spool_dir: directory.into(), client_spool_max: spool_max, ..config(&database.uri()) };
        let wait = Duration::from_secs(1);
        let served = Served::start(Config { db_pool: 2, db_pool_acquisition_timeout: wait, ..config });
        let mut first = asking(&served, "/numbers", &[]);
        eventually("the rows flow", || active(&database) == 1);
        let refused = served.get("/numbers");
        assert_eq!((refused.status, refused.json()["code"].as_str()), (504, Some("PGRST003")));
        std::thread::sleep(Duration::from_secs(1));
        assert_eq!(active(&database), 1, "the database waits for the first");
        assert_eq!(served.get("/numbers?id=lt.100").status, 200);
        let response = first.receive(false);
        assert!(response.whole);
        assert_eq!(response.json().as_array().unwrap().len(), 40_000);
        assert!(served.get("/numbers").whole, "the turn is free again");
    };
    readers("/var/tmp", 0);
    readers("/nonexistent", u64::MAX);
    // room for the beginning only
    readers("/var/tmp", 16 * 1024 * 1024);
}

/// What answers hold that nobody reads, where the disk has no room for it: others that are large are refused, and told to come
/// back, before there is no memory left for the small ones.
#[test]
fn without_a_spool_answers_hold_as_much_as_they_may() {
    const ROW_BYTES: usize = 40 * 1024 * 1024;
    const HELD_BYTES_MAX: usize = 512 * 1024 * 1024;
    /// `[{"filler":"…"}]`
    const BESIDE_BYTES: usize = 15;
    const REFUSED_BYTES_MIN: usize = 128 * 1024;
    let refused = REFUSED_BYTES_MIN - BESIDE_BYTES;
    let database = Database::new(&format!(
        "create schema api; create table api.wide (id int primary key, filler text);
         alter table api.wide alter filler set storage external;
         insert into api.wide values (1, repeat('x', {ROW_BYTES})), (2, repeat('x', {refused})), (3, repeat('x', {refused} - 1));
         {GRANTS} grant update on api.wide to test_reader;"
    ));
    // A busy machine takes longer than the default to make all responses, and the first would be cut meanwhile.
    let client_stall_timeout = Duration::from_secs(600);
    let served = Served::start(Config { client_spool_max: 0, client_stall_timeout, ..config(&database.uri()) });
    let mut readers = Vec::new();
    let response = loop {
        let mut reader = asking(&served, "/wide?id=eq.1&select=filler", &[]);
        if !reader.status_line().contains(" 200 ") {
            break served.get("/wide?id=eq.1&select=filler");
        }
        readers.push(reader);
        assert!(readers.len() <= HELD_BYTES_MAX / ROW_BYTES, "{} are held", readers.len());
    };
    // each takes as much as its buffer, which is less than twice its row
    assert!(readers.len() >= HELD_BYTES_MAX / (2 * ROW_BYTES), "{} are held", readers.len());
    let unavailable = |response: &Response| {
        let code = response.json()["code"].as_str().map(str::to_owned);
        (response.status, code.as_deref(), response.header("retry-after")) == (503, Some("PGRST003"), Some("1"))
    };
    assert!(unavailable(&response), "{}", response.text());
    // a write is not given up for what it returns
    let mut writer = Client::connect(served.address);
    let returned = [("Prefer", "return=representation"), ("Content-Length", "8")];
    writer.send("PATCH", "/wide?id=eq.1&select=filler", &returned);
    assert!(writer.send_bytes(b"{\"id\":1}"));
    assert!(writer.status_line().contains(" 200 "));
    // then there is room for what is small, up to a byte
    let small = served.get("/wide?id=eq.3&select=filler");
    assert_eq!((small.status, small.whole, small.body.len()), (200, true, REFUSED_BYTES_MIN - 1));
    assert!(unavailable(&served.get("/wide?id=eq.2&select=filler")));
    // who is held has lost nothing, and whoever goes makes room
    drop((writer, readers.split_off(1)));
    eventually("there is room again", || {
        served.get("/wide?id=eq.1&select=filler").body.len() == ROW_BYTES + BESIDE_BYTES
    });
    let mut read = 0;
    while read < ROW_BYTES {
        match readers[0].read_some(1024 * 1024).len() {
            0 => panic!("the answer was cut after {read} bytes"),
            more => read += more,
        }
    }
}

/// Frames of a handler's response, and the number of frames that have been made.
struct Frames(VecDeque<Bytes>, Arc<AtomicUsize>);

impl thalweg_server::http_body::Body for Frames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let frame = self.0.pop_front();
        self.1.fetch_add(usize::from(frame.is_some()), Ordering::Relaxed);
        Poll::Ready(frame.map(|frame| Ok(Frame::data(frame))))
    }
}

/// Bytes that depend on their position.
fn pattern(bytes: usize) -> Bytes {
    (0..bytes).map(|at| (at % 251) as u8).collect::<Vec<u8>>().into()
}

/// A handler's frame was given to the HTTP connection at once, however large it was: 3,000 clients
/// held 4.3 GB.
#[test]
fn a_frame_of_a_handler_that_its_client_does_not_take_goes_to_disk() {
    /// More bytes than the systems' buffers take.
    const FRAME_BYTES: usize = 16 * 1024 * 1024;
    let database = Database::new("create schema api;");
    let made = Arc::new(AtomicUsize::new(0));
    let (counted, frame) = (made.clone(), pattern(FRAME_BYTES));
    let frames = move || {
        let (counted, frame) = (counted.clone(), frame.clone());
        async move { Body::new(Frames(VecDeque::from([frame.clone(), Bytes::from_static(b"between"), frame]), counted)) }
    };
    let router = Router::new().route("/frames", get(frames));
    let served = Served::of_builder(Server::builder(config(&database.uri())).routes("/own", router));
    let mut reader = asking(&served, "/own/frames", &[]);
    assert!(reader.status_line().contains(" 200 "));
    // Longer than the server waits for a client.
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(made.load(Ordering::Relaxed), 1, "no frame is made before the last has been taken");
    assert_eq!(served.get("/own/frames").body.len(), 2 * FRAME_BYTES + 7);
    // The rest of the head precedes the chunks.
    let mut all = Vec::new();
    while !all.ends_with(b"0\r\n\r\n") {
        let piece = reader.read_some(64 * 1024);
        assert!(!piece.is_empty(), "the response was cut after {} bytes", all.len());
        all.extend_from_slice(&piece);
    }
    let start = all.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
    let (mut body, mut rest) = (Vec::new(), &all[start..]);
    loop {
        let end = rest.windows(2).position(|window| window == b"\r\n").unwrap();
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        if size == 0 {
            break;
        }
        body.extend_from_slice(&rest[end + 2..end + 2 + size]);
        rest = &rest[end + 2 + size + 2..];
    }
    let frame = pattern(FRAME_BYTES);
    assert!(body == [&frame[..], b"between", &frame[..]].concat());
    // As many frames are made for a client that reads everything at once.
    assert_eq!(made.load(Ordering::Relaxed), 6);
}

/// While answers hold as much memory as they may, pages and handlers' frames are refused too, up to
/// the byte.
#[test]
fn without_a_spool_pages_and_handlers_hold_as_much_as_they_may() {
    const FRAME_BYTES: usize = 40 * 1024 * 1024;
    const HELD_BYTES_MAX: usize = 512 * 1024 * 1024;
    const REFUSED_BYTES_MIN: usize = 128 * 1024;
    let database = Database::new(&format!(
        "create schema api; create table api.notes (id int primary key); {GRANTS} grant insert on api.notes to test_reader;"
    ));
    let folder = tempfile::tempdir().unwrap();
    // The form is not filled in, so the page is shown again.
    let form = "+++\n[form]\ninsert = \"/notes\"\nfields = [\"id\"]\n+++\n";
    std::fs::write(folder.path().join("large.html"), format!("{form}{}", "x".repeat(REFUSED_BYTES_MIN))).unwrap();
    std::fs::write(folder.path().join("small.html"), format!("{form}{}", "x".repeat(REFUSED_BYTES_MIN - 1))).unwrap();
    let whole = |bytes: usize| move || async move { vec![b'x'; bytes] };
    let router = Router::new()
        .route("/frame", get(whole(FRAME_BYTES)))
        .route("/large", post(whole(REFUSED_BYTES_MIN)))
        .route("/small", post(whole(REFUSED_BYTES_MIN - 1)));
    let pages_dir = Some(folder.path().to_owned());
    let config = Config { client_spool_max: 0, pages_dir, ..config(&database.uri()) };
    let served = Served::of_builder(Server::builder(config).routes("/own", router));
    let headers = [("Content-Type", "application/x-www-form-urlencoded"), ("Sec-Fetch-Site", "same-origin")];
    let send = |target: &str| served.send("POST", target, &headers, "id=none");
    let before = [send("/large"), send("/small")].map(|page| (page.status, page.body.len()));
    assert_eq!(before, [(422, REFUSED_BYTES_MIN), (422, REFUSED_BYTES_MIN - 1)]);
    let readers: Vec<Client> = (0..=HELD_BYTES_MAX / FRAME_BYTES)
        .map(|_| {
            let mut reader = Client::connect_narrow(served.address);
            reader.send("GET", "/own/frame", &[]);
            assert!(reader.status_line().contains(" 200 "));
            reader
        })
        .collect();
    let refused = served.get("/large");
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")), "{}", refused.text());
    assert_eq!(refused.json()["code"], "PGRST003");
    let refused = send("/large");
    assert_eq!((refused.status, refused.header("retry-after")), (500, None), "{}", refused.text());
    assert_eq!(refused.json()["code"], "TWG32");
    assert_eq!([served.get("/small").status, send("/small").status], [200, 422]);
    let mut cut = Client::connect(served.address);
    cut.send("POST", "/own/large", &[("Content-Length", "0")]);
    let read: usize = std::iter::from_fn(|| Some(cut.read_some(1024 * 1024).len()).filter(|read| *read > 0)).sum();
    assert!(read < REFUSED_BYTES_MIN, "a handler's frame is one too many, and {read} bytes have come");
    assert_eq!(send("/own/small").body.len(), REFUSED_BYTES_MIN - 1);
    drop(readers);
    eventually("there is room again", || served.get("/large").status == 200);
    assert_eq!(send("/own/large").body.len(), REFUSED_BYTES_MIN);
}
