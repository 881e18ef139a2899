//! Programs, and PostgreSQL's processes, that are killed in the middle of their work.

use crate::program::{Program, eventually, get};
use nix::sys::signal::Signal;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use thalweg_testkit::{Client, Database};

fn number(variable: &str, usually: usize) -> usize {
    std::env::var(variable).ok().and_then(|count| count.parse().ok()).unwrap_or(usually)
}

/// How long a client waits before it tries again.
const PAUSE: Duration = Duration::from_millis(10);

/// How often it tries: two minutes.
const CONNECTS_MAX: usize = 12_000;

/// One client that writes, and connects anew when its connection has ended.
struct Writer {
    address: SocketAddr,
    stream: Option<BufReader<TcpStream>>,
}

impl Writer {
    /// The status of a request that is sent once, or nothing where it is not known what has come of it.
    fn post(&mut self, headers: &str, body: &str) -> Option<u16> {
        let answered = self.exchange(headers, body);
        if answered.is_none() {
            self.stream = None;
        }
        answered
    }

    fn exchange(&mut self, headers: &str, body: &str) -> Option<u16> {
        if self.stream.is_none() {
            // nothing has been sent while nobody listens
            let connect = |_| TcpStream::connect(self.address).inspect_err(|_| std::thread::sleep(PAUSE)).ok();
            let stream = (0..CONNECTS_MAX).find_map(connect).expect("the server starts again");
            stream.set_read_timeout(Some(Duration::from_secs(60))).ok()?;
            self.stream = Some(BufReader::new(stream));
        }
        let stream = self.stream.as_mut()?;
        let length = body.len();
        let head = format!("POST /t HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n{headers}\r\n");
        stream.get_mut().write_all(format!("{head}{body}").as_bytes()).ok()?;
        let mut line = String::new();
        stream.read_line(&mut line).ok()?;
        let status = line.split(' ').nth(1)?.parse().ok()?;
        let mut length = 0;
        while !matches!(line.as_str(), "\r\n" | "") {
            line.clear();
            stream.read_line(&mut line).ok()?;
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
        }
        stream.read_exact(&mut vec![0; length]).ok()?;
        Some(status)
    }
}

/// Writes by many clients, each sent once, while PostgreSQL's backends and the server are killed and started again: what was
/// acknowledged is there exactly once, and nothing is there twice.
#[test]
fn what_is_acknowledged_is_there_once() {
    let wanted = number("THALWEG_KILLED_REQUESTS", 4_000);
    let kills = number("THALWEG_KILLS", 8);
    let database = Database::new("create schema api; create unlogged table api.t (id int, note text);");
    let mut program = Program::serve(&database.uri());
    let address = program.address();
    let port = address.port().to_string();
    let (next, acknowledged, unknown) = (AtomicUsize::new(0), Mutex::new(Vec::new()), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut writer = Writer { address, stream: None };
                loop {
                    let id = next.fetch_add(1, Ordering::SeqCst);
                    if id >= wanted {
                        break;
                    }
                    let row = |part: usize| format!("{{\"id\":{},\"note\":\"n\"}}", 2 * id + part);
                    // one row, one that is returned, and two that go by COPY
                    let (headers, body, rows) = match id % 3 {
                        0 => ("", row(0), 1),
                        1 => ("Prefer: return=representation\r\n", row(0), 1),
                        _ => ("", format!("[{},{}]", row(0), row(1)), 2),
                    };
                    match writer.post(headers, &body) {
                        Some(201) => acknowledged.lock().unwrap().extend((0..rows).map(|part| 2 * id + part)),
                        other => {
                            assert!(other.is_none_or(|status| status >= 500), "{other:?} for {id}");
                            unknown.fetch_add(1, Ordering::SeqCst);
                            std::thread::sleep(PAUSE);
                        }
                    }
                }
            });
        }
        for kill in 0..kills {
            let due = (kill + 1) * wanted / (kills + 1);
            while next.load(Ordering::SeqCst) < due {
                std::thread::sleep(Duration::from_millis(1));
            }
            if kill % 2 == 0 {
                database.execute(
                    "select pg_terminate_backend(pid) from pg_stat_activity
                     where datname = current_database() and pid <> pg_backend_pid()",
                );
                continue;
            }
            program.signal(if kill % 4 == 1 { Signal::SIGKILL } else { Signal::SIGTERM });
            program.wait();
            let again = [("PGRST_SERVER_PORT", port.as_str())];
            program = Program::launch(Program::serving(&database.uri(), &again));
            program.address();
        }
    });
    let (acknowledged, unknown) = (acknowledged.into_inner().unwrap(), unknown.into_inner());
    println!("{} rows acknowledged, {unknown} requests without an answer or with an error", acknowledged.len());
    assert!(acknowledged.len() > wanted / 2 && unknown > 0, "{} acknowledged, {unknown} unknown", acknowledged.len());
    let twice = database.value("select count(*) from (select id from api.t group by id having count(*) > 1) as twice");
    assert_eq!(twice, "0");
    let list: Vec<String> = acknowledged.iter().map(usize::to_string).collect();
    let lost = format!(
        "select count(*) from unnest('{{{}}}'::int[]) as a (id) where not exists(select from api.t where t.id = a.id)",
        list.join(",")
    );
    assert_eq!(database.value(&lost), "0");
    // of two rows that were written together there are both or none
    let torn = "select count(*) from generate_series(2, $, 3) i
                where exists(select from api.t where id = 2 * i) <> exists(select from api.t where id = 2 * i + 1)";
    assert_eq!(database.value(&torn.replace('$', &wanted.to_string())), "0");
}

/// Killed in the middle of uploads of all kinds: nothing half written is there, nothing stays open, and it starts again.
#[test]
fn uploads_that_die_with_the_server_leave_nothing() {
    let uploads = number("THALWEG_KILLED_UPLOADS", 150);
    let database = Database::new(
        "create schema api;
         create table api.rows (id int, note text);
         create table api.docs (id int primary key, content bytea);",
    );
    let mut program = Program::serve(&database.uri());
    let address = program.address();
    let filler = "x".repeat(1_000);
    let rows: String = (0..2_000).map(|id| format!("{{\"id\":{id},\"note\":\"{filler}\"}}\n")).collect();
    let whole = [("Content-Type", "application/x-ndjson")];
    assert_eq!(Client::connect(address).request_with("POST", "/rows", &whole, rows.as_bytes()).status, 201);
    let begun: Vec<Client> = (0..uploads)
        .map(|number| {
            let mut client = Client::connect(address);
            let content_type = if number % 3 == 2 { "multipart/form-data; boundary=b" } else { "application/x-ndjson" };
            let target = if number % 3 == 2 { "/docs" } else { "/rows" };
            client.send("POST", target, &[("Content-Type", content_type), ("Content-Length", "100000000")]);
            let body = match number % 3 {
                0 => rows.clone(),
                1 => rows[..rows.len() / 2].to_owned(),
                _ => format!(
                    "--b\r\nContent-Disposition: form-data; name=\"id\"\r\n\r\n{number}\r\n--b\r\n\
                     Content-Disposition: form-data; name=\"content\"; filename=\"f\"\r\n\r\n{filler}"
                ),
            };
            // without waiting: a body that has no turn is not read
            client.send_some(body.as_bytes());
            client
        })
        .collect();
    let copying = "select count(*) from pg_stat_activity where datname = current_database() and query like 'COPY%'
                   and state = 'active'";
    eventually("rows flow", || database.value(copying) != "0");
    program.signal(Signal::SIGKILL);
    program.wait();
    drop(begun);
    let sessions =
        "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()";
    eventually("no session is left", || database.value(sessions) == "0");
    assert_eq!(database.value("select count(*) from api.rows"), "2000");
    assert_eq!(database.value("select count(*) from api.docs"), "0");
    let mut program = Program::serve(&database.uri());
    let address = program.address();
    assert_eq!(get(address, "/rows?select=id&limit=1").as_array().map(Vec::len), Some(1));
    assert_eq!(Client::connect(address).request_with("POST", "/rows", &whole, rows.as_bytes()).status, 201);
    assert_eq!(database.value("select count(*) from api.rows"), "4000");
}
