//! What the program logs, and what becomes of it where nobody reads.

use crate::program::{Program, eventually};
use nix::sys::signal::Signal;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write, pipe};
use std::net::{SocketAddr, TcpStream};
use thalweg_testkit::{Client, Database, Proxy};

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

const AT_INFO: [(&str, &str); 2] = [("PGRST_LOG_LEVEL", "info"), ("THALWEG_LOG_FORMAT", "logfmt")];
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

/// What a client may send of headers, and what of it would forge a line.
const HOSTILE_HEAD: &str = "GET /t?a=\"x\"&b=\\ HTTP/1.1\r\nHost: x\r\n\
    Referer: https://ref.example/\" 200 1 \"\r\nUser-Agent: a\u{9b}2J\t\\\" 500 - \"\u{2028}x\r\nConnection: close\r\n\r\n";

fn send(address: SocketAddr, head: &str) {
    let mut client = TcpStream::connect(address).unwrap();
    client.write_all(head.as_bytes()).unwrap();
    client.read_to_end(&mut Vec::new()).unwrap();
}

/// The fields of a line in Apache's format, as what reads such lines takes them apart: by blanks, brackets and quotes.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut chars) = (Vec::new(), line.chars().peekable());
    while let Some(first) = chars.next() {
        let end = match first {
            '"' => '"',
            '[' => ']',
            ' ' => continue,
            _ => ' ',
        };
        let mut field = if end == ' ' { first.to_string() } else { String::new() };
        while let Some(char) = chars.next() {
            match char {
                char if char == end => break,
                '\\' => field.extend([char, chars.next().unwrap()]),
                char => field.push(char),
            }
        }
        fields.push(field);
    }
    fields
}

#[test]
fn the_access_log_is_the_protocols() {
    let database = Database::new(TABLE);
    let secret = ("PGRST_JWT_SECRET", "a secret that is long enough to be one of HS256");
    let more = [("PGRST_LOG_LEVEL", "info"), ("TZ", "Asia/Kolkata"), secret];
    let mut program = Program::launch(Program::serving(&database.uri(), &more));
    let address = program.address();
    let headers = [("Referer", "https://ref.example"), ("User-Agent", "curl/8.5")];
    assert_eq!(Client::connect(address).request("GET", "/t?limit=1", &headers).text(), r#"[{"id":1}]"#);
    let line = program.line("GET /t?limit=1");
    let (before, rest) = line.split_once('[').unwrap();
    let (time, after) = rest.split_once(']').unwrap();
    assert_eq!(before, "127.0.0.1 - postgres ");
    assert_eq!(after, r#" "GET /t?limit=1 HTTP/1.1" 200 10 "https://ref.example" "curl/8.5""#);
    // 02/May/2026:09:14:03 +0530
    let shape: String = time.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    assert!(shape.starts_with("00/") && shape.ends_with("/0000:00:00:00 +0000") && time.ends_with("+0530"), "{time}");
    // no role was chosen, and nothing was said
    send(address, "GET /t HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\nConnection: close\r\n\r\n");
    let line = program.line("GET /t HTTP");
    assert!(line.starts_with("127.0.0.1 - - [") && line.contains("\" 401 ") && line.ends_with(r#" "" """#), "{line}");
    // a preflight has no line
    let preflight = [("Origin", "http://x"), ("Access-Control-Request-Method", "GET")];
    assert_eq!(Client::connect(address).request("OPTIONS", "/t?preflight", &preflight).status, 200);
    send(address, HOSTILE_HEAD);
    let line = program.line("ref.example/");
    assert!(!line.contains(|c: char| c.is_control() || c == '\u{2028}'), "{line}");
    let fields = fields(&line);
    assert_eq!((fields.len(), fields[5].as_str()), (9, "400"), "{line}");
    program.signal(Signal::SIGTERM);
    program.wait();
    let rest = program.rest();
    assert!(!rest.iter().any(|line| line.contains("preflight")), "{rest:?}");
}

/// Requests that the parser refused were answered, but neither logged nor counted.
#[test]
fn refused_requests_have_a_line_and_are_counted() {
    let database = Database::new(TABLE);
    let more = [("PGRST_LOG_LEVEL", "info"), ("PGRST_ADMIN_SERVER_PORT", "0")];
    let mut program = Program::launch(Program::serving(&database.uri(), &more));
    let line = program.line("Admin server listening on ");
    let admin: SocketAddr = line.rsplit_once(' ').unwrap().1.parse().unwrap();
    let address = program.address();
    let large = format!("GET /large HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n", "x".repeat(64 * 1024));
    let long = format!("GET /{}", "long".repeat(20_000));
    for (bytes, line) in [
        (&b"GET /no/host?a=b HTTP/1.1\r\n\r\n"[..], "\"GET /no/host?a=b HTTP/1.1\" 400 "),
        (b"DELETE /twice HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n", "\"DELETE /twice HTTP/1.1\" 400 "),
        (b"GET /\x1b[2J\"\\\xe2\x80\xa8 HTTP/1.1\r\nBad\r\n\r\n", "\"GET /\\u{1b}[2J\\\"\\\\\\u{2028} HTTP/1.1\" 400 "),
        (b"\x16\x03\x01\x02\0\x01\r\n\r\n", "\"- - HTTP/1.1\" 400 "),
        (b"GET /old HTTP/1.0\r\nHost: x\r\nHost: x\r\n\r\n", "\"GET /old HTTP/1.0\" 400 "),
        (large.as_bytes(), "\"GET /large HTTP/1.1\" 431 "),
        (long.as_bytes(), "longlon HTTP/1.1\" 431 "),
    ] {
        send(address, std::str::from_utf8(bytes).unwrap());
        let found = program.line(line);
        assert!(found.starts_with("127.0.0.1 - - [") && found.len() < 1_500, "{found}");
        assert!(!found.contains(|c: char| c.is_control() || c == '\u{2028}'), "{found}");
    }
    let metrics = Client::connect(admin).request("GET", "/metrics", &[]);
    assert!(metrics.text().contains("thalweg_requests_total{class=\"4xx\"} 7\n"), "{}", metrics.text());
    // A head that is late is refused as well. A client that has begun no head is not.
    let mut silent = TcpStream::connect(address).unwrap();
    let mut late = TcpStream::connect(address).unwrap();
    late.write_all(b"GET /late HTTP/1.1\r\nHost: x\r\n").unwrap();
    let mut answer = String::new();
    late.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 408 Request Timeout\r\n") && answer.contains("\"TWG27\""), "{answer}");
    program.line("\"GET /late HTTP/1.1\" 408 ");
    let mut nothing = Vec::new();
    silent.read_to_end(&mut nothing).unwrap();
    assert!(nothing.is_empty(), "{nothing:?}");
}

/// If queries are not logged, neither is the query of a refused request.
#[test]
fn the_query_of_a_refused_request_is_logged_only_if_queries_are() {
    let database = Database::new(TABLE);
    let more = [("PGRST_LOG_LEVEL", "info"), ("THALWEG_LOG_URL_QUERY", "false")];
    let mut program = Program::launch(Program::serving(&database.uri(), &more));
    let address = program.address();
    send(address, "GET /refused?password=secret HTTP/1.1\r\n\r\n");
    let line = program.line("/refused");
    assert!(line.contains("\"GET /refused HTTP/1.1\" 400 "), "{line}");
}

#[test]
fn in_json_each_line_is_an_object() {
    let database = Database::new(TABLE);
    let more = [("PGRST_LOG_LEVEL", "info"), ("PGRST_LOG_FORMAT", "json"), ("PGRST_LOG_QUERY", "true")];
    let mut program = Program::launch(Program::serving(&database.uri(), &more));
    let line = program.line("listening on http://");
    let address = line.rsplit_once("http://").unwrap().1.split('"').next().unwrap().parse().unwrap();
    program.line("Schema cache loaded");
    send(address, HOSTILE_HEAD);
    let line: serde_json::Value = serde_json::from_str(&program.line("ref.example")).unwrap();
    assert_eq!(line["user_agent"], "a\u{9b}2J\t\\\" 500 - \"\u{2028}x");
    assert_eq!(line["referer"], "https://ref.example/\" 200 1 \"");
    assert_eq!((&line["status"], &line["role"], &line["path"]), (&400.into(), &"postgres".into(), &"/t".into()));
    assert_eq!(Client::connect(address).request("GET", "/t?id=eq.1", &[]).status, 200);
    let line: serde_json::Value = serde_json::from_str(&program.line("id=eq.1")).unwrap();
    assert_eq!((line["rows"].as_u64(), line["bytes"].as_u64()), (Some(1), Some(10)));
    program.line("\"target\":\"sql\"");
    program.signal(Signal::SIGTERM);
    program.wait();
    for line in program.rest() {
        let line: serde_json::Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(line["time"].is_string() && line["level"].is_string(), "{line}");
    }
}

#[test]
fn the_sql_of_a_request_is_logged_with_it_and_no_value() {
    let database = Database::new(TABLE);
    let more = [("PGRST_LOG_LEVEL", "warn"), ("PGRST_LOG_QUERY", "true"), ("PGRST_DB_PRE_REQUEST", "api.nothing")];
    let mut program = Program::launch(Program::serving(&database.uri(), &more));
    let address = program.address();
    database.execute("create function api.nothing() returns void language sql as ''");
    // its line is not wanted, and so is not its SQL
    assert_eq!(Client::connect(address).request("GET", "/t?id=eq.4711", &[]).status, 200);
    assert_eq!(Client::connect(address).request("GET", "/t?id=eq.Secret", &[]).status, 400);
    program.line("\"GET /t?id=eq.Secret");
    program.line("set_config");
    program.line("\"api\".\"nothing\"");
    let line = program.line("\"api\".\"t\"");
    assert!(line.contains("$1"), "{line}");
    program.signal(Signal::SIGTERM);
    program.wait();
    let rest = program.rest();
    assert!(!rest.iter().any(|line| line.contains("\"api\".\"t\"") || line.contains("4711")), "{rest:?}");
}

/// What an error of the server's own was, its log says in full, and not its client.
#[test]
fn failures_and_what_comes_before_them_are_told() {
    let database = Database::new(
        "create schema api;
         create function api.fails() returns int language plpgsql as
           $$ begin raise 'broken' using errcode = 'XX001', detail = 'in that page'; end $$;
         create function api.waits() returns void language sql as 'select pg_sleep(600)';",
    );
    let more = [
        ("PGRST_LOG_LEVEL", "debug"),
        ("PGRST_CLIENT_ERROR_VERBOSITY", "minimal"),
        ("PGRST_DB_POOL", "1"),
        ("PGRST_DB_POOL_ACQUISITION_TIMEOUT", "0"),
    ];
    let mut program = Program::launch(Program::serving(&database.uri(), &more));
    let address = program.address();
    for part in ["part=Relations us=", "part=Functions us="] {
        program.line(part);
    }
    // the one connection may still be made as new behind who had it before, and nobody waits for it
    let ask = |path: &str| loop {
        let response = Client::connect(address).request("POST", path, &[]);
        if response.status != 504 {
            return response;
        }
    };
    assert!(!ask("/rpc/fails").text().contains("in that page"));
    let line = program.line("in that page");
    assert!(line.ends_with(r#"{"code":"XX001","details":"in that page","hint":null,"message":"broken"}"#), "{line}");
    program.line("a connection was opened backend=");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| ask("/rpc/waits").status);
        eventually("it waits", || database.value(&format!("select count(*) from {WAITING}")) == "1");
        for _ in 0..3 {
            assert_eq!(Client::connect(address).request("POST", "/rpc/fails", &[]).status, 504);
        }
        program.line(r#"{"code":"PGRST003""#);
        database.execute(&format!("select pg_terminate_backend(pid) from {WAITING}"));
        assert_eq!(waiting.join().unwrap(), 503);
    });
    program.line("a connection was closed backend=");
}

const WAITING: &str = "pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()";

#[test]
fn queries_of_urls_can_be_left_out() {
    let database = Database::new(TABLE);
    for format in ["apache", "logfmt", "json"] {
        let more = [("PGRST_LOG_LEVEL", "info"), ("PGRST_LOG_FORMAT", format), ("PGRST_LOG_URL_QUERY", "false")];
        let mut program = Program::launch(Program::serving(&database.uri(), &more));
        let line = program.line("listening on http://");
        let address = line.rsplit_once("http://").unwrap().1.split('"').next().unwrap().parse().unwrap();
        program.line("Schema cache loaded");
        let headers = [("Referer", "https://ref.example/page?Secret")];
        assert_eq!(Client::connect(address).request("GET", "/t?id=eq.4711", &headers).status, 200);
        let line = program.line("/t");
        assert!(line.contains("https://ref.example/page\""), "{line}");
        assert!(["Secret", "4711", "?"].iter().all(|part| !line.contains(part)), "{line}");
    }
}

/// It would show one person's rows to another: PostgreSQL keeps what such a function has said in a plan.
#[test]
fn a_policys_function_that_says_it_always_answers_the_same_is_told() {
    let asks = "returns text language sql as $$ select current_setting('request.jwt.claims', true)::json ->> 'sub' $$";
    let database = Database::new(&format!(
        "{TABLE}; create function public.wrong(text) {asks} immutable; create function public.right() {asks} stable;
         create function public.same() returns int immutable language sql as 'select 1'"
    ));
    let mut program = Program::launch(Program::serving(&database.uri(), &[]));
    let line = program.line("IMMUTABLE");
    assert!(line.contains("public.wrong(text) asks for settings"), "{line}");
    program.line("Schema cache loaded");
    program.signal(Signal::SIGTERM);
    program.wait();
    assert!(!program.rest().iter().any(|line| line.contains("IMMUTABLE")));
}

/// While a database is away each request fails in the same way. Formerly, each wrote a line: 47,000
/// a minute.
#[test]
fn requests_that_fail_alike_write_one_line_and_a_count() {
    const FAILED: usize = 300;
    let database = Database::new(TABLE);
    let (proxy, uri) = Proxy::before(&database.uri());
    let mut program = Program::launch(Program::serving(&uri, &[("PGRST_LOG_LEVEL", "error")]));
    let address = program.address();
    eventually("it answers", || Client::connect(address).request("GET", "/t", &[]).status == 200);
    proxy.close();
    let mut client = Client::connect(address);
    for _ in 0..FAILED {
        assert_eq!(client.request("GET", "/t", &[]).status, 503);
    }
    program.signal(Signal::SIGTERM);
    program.wait();
    let lines = program.rest();
    let errors: Vec<&String> = lines.iter().filter(|line| line.contains(r#"{"code":"PGRST00"#)).collect();
    let times = |line: &str| -> usize {
        let (_, rest) = line.split_once("times=").unwrap_or(("", "1"));
        rest.split(' ').next().unwrap().parse().unwrap()
    };
    // Each failed request is counted once, by a line of its own or by that of others.
    assert_eq!(errors.iter().map(|line| times(line)).sum::<usize>(), FAILED, "{lines:#?}");
    assert!(errors.len() < FAILED / 4, "{} lines", errors.len());
    // The lines about recovery are limited too. The access log has a line for each request.
    let others = lines.iter().filter(|line| !line.contains("\"GET /t HTTP"));
    assert!(others.count() < FAILED / 4, "{lines:#?}");
}
