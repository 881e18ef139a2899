//! What the program logs, and what becomes of it where nobody reads.

use crate::program::Program;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use thalweg_testkit::Database;

/// What a client sees as a reset, the log explains.
#[test]
fn cuts_are_logged_with_their_reason() {
    let database = Database::new(
        "create schema api;
         create view api.export as select generate_series(1, 2000000000) as id, repeat('x', 1000) as filler;",
    );
    let mut program = Program::serve(&database.uri());
    let mut client = TcpStream::connect(program.address()).unwrap();
    client.write_all(b"GET /export HTTP/1.0\r\n\r\n").unwrap();
    client.read_exact(&mut [0; 100_000]).unwrap();
    database.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and state = 'active' and pid <> pg_backend_pid()",
    );
    let end = client.read_to_end(&mut Vec::new()).map_err(|error| error.kind());
    assert_eq!(end, Err(ErrorKind::ConnectionReset));
    let line = program.line("a response was cut");
    // a backend that is ended in the middle of a write goes without a word
    let reasons = ["terminating connection due to administrator command", "no connection to the server"];
    assert!(reasons.iter().any(|reason| line.contains(reason)), "{line}");
}
