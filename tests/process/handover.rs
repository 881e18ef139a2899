//! One process takes over a port from another (`server-reuseport`).

use crate::program::{Program, get};
use nix::sys::signal::Signal;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};
use thalweg_testkit::{Client, Database};

const TABLE: &str = "create schema api; create table api.t as select 1 as id;";

fn free_port() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string()
}

fn sharing(database: &Database, port: &str) -> Program {
    let more = [("PGRST_SERVER_PORT", port), ("PGRST_SERVER_REUSEPORT", "true")];
    Program::launch(Program::serving(&database.uri(), &more))
}

/// Clients connect anew for each request all the while. Each of them is answered, by one process or the other.
#[test]
fn a_port_is_handed_over_without_a_lost_request() {
    let database = Database::new(TABLE);
    let port = free_port();
    let address: SocketAddr = format!("127.0.0.1:{port}").parse().unwrap();
    let mut first = sharing(&database, &port);
    first.address();
    let (stops, answered) = (AtomicBool::new(false), AtomicU32::new(0));
    // it outlives the clients
    let mut running = first;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !stops.load(Ordering::SeqCst) {
                    let response = Client::connect(address).request("GET", "/t", &[]);
                    assert_eq!(response.status, 200, "{}", response.text());
                    answered.fetch_add(1, Ordering::SeqCst);
                    std::thread::sleep(Duration::from_millis(2));
                }
            });
        }
        for _ in 0..5 {
            let mut next = sharing(&database, &port);
            next.address();
            // the clients are at it while both are there
            let before = answered.load(Ordering::SeqCst);
            let deadline = Instant::now() + Duration::from_secs(60);
            while answered.load(Ordering::SeqCst) < before + 10 && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(2));
            }
            running.signal(Signal::SIGTERM);
            assert!(running.wait().success());
            running = next;
        }
        assert_eq!(get(address, "/t")[0]["id"], 1);
        stops.store(true, Ordering::SeqCst);
    });
    assert!(answered.into_inner() >= 50);
}

/// A process that cannot answer yet takes no clients from one that can.
#[test]
fn a_shared_port_is_opened_once_the_schema_is_loaded() {
    let database = Database::new("");
    let port = free_port();
    let address: SocketAddr = format!("127.0.0.1:{port}").parse().unwrap();
    let mut program = sharing(&database, &port);
    program.line("Failed to load the schema cache");
    assert!(TcpStream::connect(address).is_err());
    database.execute(TABLE);
    program.address();
    assert_eq!(get(address, "/t")[0]["id"], 1);
    // whoever does not share gets nothing of it
    let mut other = Program::launch(Program::serving(&database.uri(), &[("PGRST_SERVER_PORT", &port)]));
    other.line(&format!("cannot listen on 127.0.0.1:{port}"));
    assert_eq!(other.wait().code(), Some(1));
    // and one that waits for a schema can be stopped
    database.execute("alter schema api rename to elsewhere");
    let mut waiting = sharing(&database, &port);
    waiting.line("Failed to load the schema cache");
    waiting.signal(Signal::SIGTERM);
    assert!(waiting.wait().success());
}

/// Those whom the system has connected while the process had no time for them are answered before it ends.
#[test]
fn whoever_waits_to_be_accepted_is_answered_when_it_stops() {
    let database = Database::new(TABLE);
    let port = free_port();
    let mut program = sharing(&database, &port);
    let address = program.address();
    program.signal(Signal::SIGSTOP);
    let mut clients: Vec<Client> = (0..50).map(|_| Client::connect(address)).collect();
    clients.iter_mut().for_each(|client| client.send("GET", "/t", &[]));
    program.signal(Signal::SIGTERM);
    program.signal(Signal::SIGCONT);
    for client in &mut clients {
        assert_eq!(client.receive(false).status, 200);
    }
    assert!(program.wait().success());
}

/// The same on a Unix socket, which nobody shares.
#[test]
fn whoever_waits_at_a_unix_socket_is_answered_when_it_stops() {
    let database = Database::new(TABLE);
    let path = std::env::temp_dir().join(format!("thalweg-handover-{}.sock", std::process::id()));
    let more = [("PGRST_SERVER_UNIX_SOCKET", path.to_str().unwrap())];
    let mut program = Program::launch(Program::serving(&database.uri(), &more));
    program.line("Schema cache loaded");
    program.signal(Signal::SIGSTOP);
    let mut clients: Vec<_> = (0..20).map(|_| UnixStream::connect(&path).unwrap()).collect();
    for client in &mut clients {
        client.write_all(b"GET /t HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    }
    program.signal(Signal::SIGTERM);
    program.signal(Signal::SIGCONT);
    for client in &mut clients {
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("[{\"id\":1}]"), "{answer}");
    }
    assert!(program.wait().success());
    assert!(!path.exists());
}
