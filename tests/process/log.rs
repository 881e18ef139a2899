//! What the program logs, and what becomes of it where nobody reads.

use crate::program::Program;
use nix::sys::signal::Signal;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write, pipe};
use std::net::{SocketAddr, TcpStream};
use thalweg_testkit::{Client, Database};

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

const AT_INFO: [(&str, &str); 1] = [("PGRST_LOG_LEVEL", "info")];
const TABLE: &str = "create schema api; create table api.t as select 1 as id;";

/// More requests than a pipe and the queue before it have room for lines of.
const REQUESTS: u64 = 1_000;

/// Requests whose lines are long. Each is answered, whatever becomes of its line.
fn ask_much(address: SocketAddr) {
    let mut client = Client::connect(address);
    for number in 0..REQUESTS {
        let response = client.request("GET", &format!("/nothing?n=eq.{number:05}&x=eq.{}", "x".repeat(4_000)), &[]);
        assert_eq!(response.status, 404);
    }
}

/// What hung everything after 368 requests: whoever started the program does not read what it logs.
#[test]
fn a_pipe_that_nobody_reads_holds_nobody_up() {
    let database = Database::new(TABLE);
    let (read, write) = pipe().unwrap();
    let mut command = Program::serving(&database.uri(), &AT_INFO);
    command.stdout(write);
    let mut program = Program::launch(command);
    let address = program.address();
    ask_much(address);
    // what is there is whole and in order, and a line says how many are not
    let (mut next, mut dropped) = (0, 0);
    let mut lines = BufReader::new(read).lines().map(Result::unwrap);
    while next < REQUESTS {
        let line = lines.next().expect("the log goes on");
        if let Some((_, count)) = line.split_once("dropped=") {
            let count: u64 = count.parse().unwrap();
            (next, dropped) = (next + count, dropped + count);
        } else {
            assert!(
                line.contains(&format!("query=\"n=eq.{next:05}&x=eq.xxx")) && line.contains("encode_us="),
                "{next}: {line}"
            );
            next += 1;
        }
    }
    assert!((1..REQUESTS).contains(&dropped), "{dropped} of {REQUESTS} were dropped");
    // it flows again, and when it does not, the program ends all the same
    assert_eq!(Client::connect(address).request("GET", "/t", &[]).status, 200);
    assert!(lines.next().unwrap().contains("path=\"/t\""));
    ask_much(address);
    program.signal(Signal::SIGTERM);
    assert!(program.wait().success());
}

#[test]
fn a_closed_pipe_and_a_full_disk_end_nothing() {
    let database = Database::new(TABLE);
    for full in [false, true] {
        let mut command = Program::serving(&database.uri(), &AT_INFO);
        match full {
            true => command.stdout(File::options().write(true).open("/dev/full").unwrap()),
            false => command.stdout(pipe().unwrap().1),
        };
        let mut program = Program::launch(command);
        ask_much(program.address());
        program.signal(Signal::SIGTERM);
        assert!(program.wait().success());
    }
}

/// A text that a client chose, in an error of the database that only the log tells.
#[test]
fn no_request_writes_a_line_of_its_own() {
    let database = Database::new(
        "create schema api;
         create function api.fails(i int, t text) returns int language plpgsql as
           $$ begin if i = 100000 then raise '%', t; end if; return i; end $$;
         create function api.rows(t text) returns table (id int, filler text) language sql stable as
           $$ select api.fails(i, t), repeat('x', 100) from generate_series(1, 200000) i $$;",
    );
    let mut program = Program::launch(Program::serving(&database.uri(), &AT_INFO));
    let address = program.address();
    let mut client = TcpStream::connect(address).unwrap();
    let target = "/rpc/rows?t=before%0aINJECTED%20access%0d%1b[2J%c2%9bm%e2%80%8fend";
    client.write_all(format!("GET {target} HTTP/1.0\r\n\r\n").as_bytes()).unwrap();
    let end = client.read_to_end(&mut Vec::new()).map_err(|error| error.kind());
    assert_eq!(end, Err(ErrorKind::ConnectionReset));
    let line = program.line("a response was cut");
    assert!(line.contains("before\\nINJECTED access\\r"), "{line}");
    assert!(!line.contains(char::is_control), "{line}");
    // what a head may hold
    let target = "/t?\"status=200\\u{9b}\u{9b}=&x=\\";
    let head = format!("GET {target} HTTP/1.1\r\nHost: x\r\nX: \u{9b}\tstatus=200\r\nConnection: close\r\n\r\n");
    let mut client = TcpStream::connect(address).unwrap();
    client.write_all(head.as_bytes()).unwrap();
    client.read_to_end(&mut Vec::new()).unwrap();
    let line = program.line("path=\"/t\"");
    assert!(line.contains(" status=4") && !line.contains(" status=200"), "{line}");
    assert!(!line.contains(char::is_control), "{line}");
    program.signal(Signal::SIGTERM);
    program.wait();
    assert!(program.rest().iter().all(|line| line.starts_with("20")), "each line begins with its time");
}
