//! Responses that break off: no reader may take what it has for all there is.

use crate::served::{GRANTS, Served, config, eventually};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;
use thalweg_server::Config;
use thalweg_testkit::Database;

const SCHEMA: &str = "
    create schema api;
    create table api.t as select 1 as id;
    create view api.export as select generate_series(1, 2000000000) as id, repeat('x', 1000) as filler;
    create view api.breaks as select 1 / (100000 - i) as x, repeat('x', 100) as filler from generate_series(1, 200000) i;
";

fn request(target: &str, version: &str) -> String {
    format!("GET {target} HTTP/{version}\r\nHost: x\r\nAccept: text/csv\r\n\r\n")
}

fn active(database: &Database) -> String {
    let name = database.name();
    format!("from pg_stat_activity where datname = '{name}' and state = 'active' and pid <> pg_backend_pid()")
}

/// Reads on until the connection ends; how.
fn end(stream: &mut impl Read) -> Result<(), ErrorKind> {
    let mut piece = vec![0; 64 * 1024];
    loop {
        match stream.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) => return Err(error.kind()),
        }
    }
}

/// nginx speaks HTTP/1.0 to its upstreams unless it is told otherwise, and there the connection's end is the response's: an
/// export whose backend was killed ended as a success.
#[test]
fn a_killed_backend_resets_the_connection() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let served = Served::database(&database.uri());
    for version in ["1.0", "1.1"] {
        let mut client = TcpStream::connect(served.address).unwrap();
        client.write_all(request("/export", version).as_bytes()).unwrap();
        let mut head = [0; 100_000];
        client.read_exact(&mut head).unwrap();
        assert!(head.starts_with(format!("HTTP/{version} 200 OK").as_bytes()));
        database.execute(&format!("select pg_terminate_backend(pid) {}", active(&database)));
        assert_eq!(end(&mut client), Err(ErrorKind::ConnectionReset), "HTTP/{version}");
        // an error in the middle of the rows is no other end
        let mut client = TcpStream::connect(served.address).unwrap();
        client.write_all(request("/breaks", version).as_bytes()).unwrap();
        assert_eq!(end(&mut client), Err(ErrorKind::ConnectionReset), "HTTP/{version}");
    }
    // and what is whole ends in order
    let mut client = TcpStream::connect(served.address).unwrap();
    client.write_all(request("/export?limit=100000", "1.0").as_bytes()).unwrap();
    assert_eq!(end(&mut client), Ok(()));
}

#[test]
fn a_client_that_stalls_finds_its_connection_reset() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let stall = Duration::from_millis(500);
    let served = Served::start(Config { client_stall_timeout: stall, ..config(&database.uri()) });
    let mut client = TcpStream::connect(served.address).unwrap();
    client.write_all(request("/export", "1.0").as_bytes()).unwrap();
    let running = || database.value(&format!("select count(*) {}", active(&database)));
    eventually("the query runs", || running() == "1");
    eventually("the query is cancelled", || running() == "0");
    assert_eq!(end(&mut client), Err(ErrorKind::ConnectionReset));
}

/// A Unix socket has no reset: what could be taken for whole is not begun.
#[test]
fn http_1_0_over_a_unix_socket_gets_what_has_a_length() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let path = std::env::temp_dir().join(format!("thalweg-torn-{}.sock", std::process::id()));
    let _served = Served::start(Config { server_unix_socket: Some(path.clone()), ..config(&database.uri()) });
    let ask = |target: &str, version: &str| {
        let mut client = UnixStream::connect(&path).unwrap();
        client.write_all(request(target, version).as_bytes()).unwrap();
        client
    };
    let text = |mut client: UnixStream| {
        let mut text = String::new();
        client.read_to_string(&mut text).unwrap();
        text
    };
    assert!(text(ask("/t", "1.0")).ends_with("\r\n\r\nid\n1"));
    let refused = text(ask("/export", "1.0"));
    assert!(refused.starts_with("HTTP/1.0 505 ") && refused.contains("Use HTTP/1.1."), "{refused}");
    let mut client = ask("/breaks", "1.1");
    let mut whole = Vec::new();
    let _ = client.read_to_end(&mut whole);
    assert!(whole.starts_with(b"HTTP/1.1 200 OK") && !whole.ends_with(b"\r\n0\r\n\r\n"));
}
