//! Requests hidden in other requests' bodies, and requests that say in two ways where they end.
//!
//! What the server does is compared with a strict reading of the same bytes (`strictly.rs`): how many requests there are,
//! which, with which bodies, and whether the connection must end in a refusal.

use crate::served::{GRANTS, Served, config};
use crate::strictly::{Request, strictly};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use thalweg_server::Config;
use thalweg_testkit::Database;

const SCHEMA: &str = "
    create schema api;
    create table api.t (id int primary key, note text);
    create table api.docs (data jsonb);
    insert into api.docs values ('{\"key\": \"it\"}');
    create function api.echo(text) returns text language sql immutable as 'select $1';
    create function api.header(name text) returns text language sql stable
      as $$ select current_setting('request.headers')::json->>name $$;
";

const ROWS: &str = "insert into api.t select i, 'kept' from generate_series(1, 9) i";

fn served() -> (Database, Served) {
    let database = Database::new(&format!("{SCHEMA}{GRANTS} grant insert, delete on api.t to test_reader; {ROWS}"));
    let served = Served::start(Config { client_body_max: 1024 * 1024, ..config(&database.uri()) });
    (database, served)
}

/// Sends pieces, each on its own way, and reads what is answered until the connection ends.
fn exchange(address: SocketAddr, pieces: &[&[u8]]) -> Vec<(u16, Vec<u8>)> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    for (at, piece) in pieces.iter().enumerate() {
        if at > 0 {
            std::thread::sleep(Duration::from_millis(2));
        }
        // a connection that has been refused may be gone already
        let _ = stream.write_all(piece);
    }
    let mut answered = Vec::new();
    stream.read_to_end(&mut answered).expect("the connection ends in order");
    responses(&answered)
}

/// The status and the body of each response.
fn responses(mut answered: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let mut responses = Vec::new();
    while !answered.is_empty() {
        let end = answered.windows(4).position(|four| four == b"\r\n\r\n").expect("a whole head") + 4;
        let head = std::str::from_utf8(&answered[..end]).unwrap().to_ascii_lowercase();
        answered = &answered[end..];
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        if status == 100 {
            continue;
        }
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length = length.map_or(0, |length| length.parse().unwrap());
        responses.push((status, answered[..length].to_vec()));
        answered = &answered[length..];
    }
    responses
}

/// The rows that are there when the requests of a strict reading, and no others, have been answered.
fn rows_after(requests: &[Request]) -> String {
    let deleted = |id: &str| {
        requests.iter().any(|(method, target, _)| method == "DELETE" && target.ends_with(&format!("/t?id=eq.{id}")))
    };
    ["1", "2", "3", "4", "5", "6", "7", "8", "9"].into_iter().filter(|id| !deleted(id)).collect::<Vec<_>>().join(",")
}

/// What the table holds.
fn rows(served: &Served) -> String {
    let rows = served.get("/t?select=id&order=id").json();
    rows.as_array().unwrap().iter().map(|row| row["id"].to_string()).collect::<Vec<_>>().join(",")
}

/// Puts back what requests have deleted.
fn refill(served: &Served) {
    let all: Vec<String> = (1..10).map(|id| format!("{{\"id\":{id}}}")).collect();
    let prefer = [("Prefer", "resolution=ignore-duplicates")];
    assert!(served.send("POST", "/t", &prefer, format!("[{}]", all.join(","))).status < 300);
}

/// Sends a stream in pieces and holds what comes of it against the strict reading.
fn check(served: &Served, stream: &[u8], cuts: &[usize]) {
    let strictly = strictly(stream);
    let mut pieces = Vec::new();
    let mut from = 0;
    for &cut in cuts {
        pieces.push(&stream[from..cut]);
        from = cut;
    }
    pieces.push(&stream[from..]);
    let answered = exchange(served.address, &pieces);
    let told = || format!("{:?} cut at {cuts:?}: {strictly:?}, {answered:?}", String::from_utf8_lossy(stream));
    let expected = strictly.requests.len() + usize::from(strictly.refused);
    assert_eq!(answered.len(), expected, "{}", told());
    assert!(!strictly.refused || answered.last().is_some_and(|(status, _)| *status == 400), "{}", told());
    for ((_, target, body), (status, text)) in strictly.requests.iter().zip(&answered) {
        if target.ends_with("/rpc/echo") {
            let echoed: Option<String> = serde_json::from_slice(text).ok();
            assert_eq!((*status, echoed.as_deref()), (200, std::str::from_utf8(body).ok()), "{}", told());
        } else if target.contains("/t?") {
            assert!([200, 204, 405].contains(status), "{}", told());
        }
    }
    assert_eq!(rows(served), rows_after(&strictly.requests), "{}", told());
}

const ECHO: &str = "POST /rpc/echo HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\n";
const HIDDEN: &str = "DELETE /t?id=eq.7 HTTP/1.1\r\nHost: x\r\n\r\n";
const LAST: &str = "GET /t?id=eq.1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

#[test]
fn every_pair_of_framing_headers() {
    let (_database, served) = served();
    let headers = [
        "",
        "Content-Length: 0",
        "Content-Length: 5",
        "content-length: 005",
        "Content-Length: 46",
        "Content-Length: +5",
        "Content-Length: -5",
        "Content-Length: 5, 5",
        "Content-Length: 5;x",
        "Content-Length: 0x5",
        "Content-Length: 18446744073709551621",
        "Content-Length:",
        "Content-Length : 5",
        " Content-Length: 5",
        "X: y\r\n Content-Length: 5",
        "X: y\rContent-Length: 5",
        "X: y\nContent-Length: 5",
        "Transfer-Encoding: chunked",
        "TRANSFER-ENCODING:\tChunked\t",
        "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: chunked, chunked",
        "Transfer-Encoding: chunked, identity",
        "Transfer-Encoding: identity",
        "Transfer-Encoding: xchunked",
        "Transfer-Encoding: chunked;q=1",
        "Transfer-Encoding: \u{b}chunked",
        "Transfer-Encoding:",
        "Transfer-Encoding : chunked",
        "Transfer-Encoding: chunked\0",
        "Connection: keep-alive, Transfer-Encoding",
        "Upgrade: h2c",
        "Thalweg-Packed-Headers: content-length:5\t|",
    ];
    for first in headers {
        for second in headers {
            let lines: String =
                [first, second].iter().filter(|line| !line.is_empty()).map(|line| format!("{line}\r\n")).collect();
            let stream = format!("{ECHO}{lines}\r\n0\r\n\r\n{HIDDEN}{LAST}");
            if lines.to_lowercase().contains("thalweg-packed") {
                let answered = exchange(served.address, &[stream.as_bytes()]);
                assert!(matches!(answered[..], [(400, _)]), "{lines:?}: {answered:?}");
                continue;
            }
            check(&served, stream.as_bytes(), &[]);
            refill(&served);
        }
    }
    // over HTTP/1.0 there are no chunks
    let stream = format!("{}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n{HIDDEN}{LAST}", ECHO.replace("/1.1", "/1.0"));
    check(&served, stream.as_bytes(), &[]);
}

/// A body that has been coded in a way that nobody undoes here must not be taken for the rows themselves, nor what follows
/// it for a request.
#[test]
fn every_coding_but_chunks_is_refused() {
    let (_database, served) = served();
    let body = "5\r\nhello\r\n0\r\n\r\n";
    for coding in [
        "gzip, chunked",
        "gzip,chunked",
        "chunked, gzip",
        "GZIP, Chunked",
        "deflate, chunked",
        "compress, chunked",
        "identity, chunked",
        "trailers, chunked",
        "gzip",
        "x-gzip",
        "br",
        "zstd",
        ", chunked",
        "chunked,",
        "chunked, ",
        "chunked;",
        "chunked; q=1",
        "chunked chunked",
        "chun ked",
        "chunke",
        "\"gzip, chunked\"",
        "gzip\r\nTransfer-Encoding: chunked",
        "chunked\r\nTransfer-Encoding: gzip",
        "chunked\r\ntransfer-encoding: chunked",
        "chunked\r\nX: y\r\nTransfer-encoding:",
        "gzip\r\n chunked",
    ] {
        for framing in ["", "Content-Length: 5\r\n"] {
            for version in ["/1.1", "/1.0"] {
                let head = ECHO.replace("/1.1", version);
                let stream = format!("{head}{framing}Transfer-Encoding: {coding}\r\n\r\n{body}{HIDDEN}{LAST}");
                let answered = exchange(served.address, &[stream.as_bytes()]);
                assert!(matches!(answered[..], [(400, _)]), "{coding:?} {framing:?} {version}: {answered:?}");
            }
        }
    }
    assert_eq!(rows(&served), "1,2,3,4,5,6,7,8,9");
    // what a client takes says nothing of what it sends, and nobody has to send it that
    for te in ["gzip, chunked", "trailers, deflate;q=0.5", "chunked", "", "trailers\r\nTE: gzip", "\"\\"] {
        for connection in ["", "Connection: TE\r\n", "Connection: te, keep-alive\r\n"] {
            let coded = format!("{ECHO}TE: {te}\r\n{connection}Transfer-Encoding: chunked\r\n\r\n{body}");
            let sized = format!("{ECHO}TE: {te}\r\n{connection}Content-Length: 5\r\n\r\nhello");
            let answered = exchange(served.address, &[format!("{coded}{sized}{LAST}").as_bytes()]);
            let told: Vec<_> = answered.iter().map(|(status, text)| (*status, String::from_utf8_lossy(text))).collect();
            assert!(
                matches!(&told[..], [(200, first), (200, second), (200, _)]
                if first == "\"hello\"" && second == "\"hello\""),
                "{te:?} {connection:?}: {told:?}"
            );
        }
    }
}

#[test]
fn every_malformed_chunk() {
    let (_database, served) = served();
    let extension = format!("5;{}\r\nhello\r\n0\r\n\r\n", "x".repeat(20_000));
    let trailer = format!("5\r\nhello\r\n0\r\nx: {}\r\n\r\n", "x".repeat(20_000));
    for chunks in [
        "5\r\nhello\r\n0\r\n\r\n",
        "5;a=\"b;c\"\r\nhello\r\n000\r\nX: y\r\n\r\n",
        " 5\r\nhello\r\n0\r\n\r\n",
        "5 \r\nhello\r\n0\r\n\r\n",
        "+5\r\nhello\r\n0\r\n\r\n",
        "0x5\r\nhello\r\n0\r\n\r\n",
        "5\nhello\r\n0\r\n\r\n",
        "5\rhello\r\n0\r\n\r\n",
        "5;a\nb\r\nhello\r\n0\r\n\r\n",
        "5;\0\r\nhello\r\n0\r\n\r\n",
        "5\r\nhello0\r\n\r\n",
        "5\r\nhello\n0\r\n\r\n",
        "5\r\nhello!\r\n0\r\n\r\n",
        "6\r\nhello\r\n0\r\n\r\n",
        "10000000000000005\r\nhello\r\n0\r\n\r\n",
        "5\r\nhello\r\n\r\n\r\n",
        "5\r\nhello\r\n0\r\n X: y\r\n\r\n",
        "5\r\nhello\r\n0\r\nX: y\n\r\n",
        "5\r\nhello\r\n0\r\n\n",
        &extension,
        &trailer,
    ] {
        let stream = format!("{ECHO}Transfer-Encoding: chunked\r\n\r\n{chunks}{HIDDEN}{LAST}");
        if chunks.len() > 20_000 {
            let answered = exchange(served.address, &[stream.as_bytes()]);
            assert!(matches!(answered[..], [(400, _)]), "{answered:?}");
            continue;
        }
        check(&served, stream.as_bytes(), &[]);
        refill(&served);
    }
    assert_eq!(rows(&served), "1,2,3,4,5,6,7,8,9");
}

/// Bodies that look like requests, at every place at which they may be cut on their way.
#[test]
fn every_cut() {
    let (_database, served) = served();
    let body = "GET /\"\r\nGET /t\" HTTP/1.1\r\n\r\nDELETE /t?id=eq.8 HTTP/1.1\r\nHost: x\r\n\r\n";
    let sized = format!("{ECHO}Content-Length: {}\r\n\r\n{body}", body.len());
    let chunked = format!(
        "{ECHO}Transfer-Encoding: chunked\r\n\r\n{:x};a=b\r\n{body}\r\n5\r\nGET /\r\n0\r\nX-Y: GET /\r\n\r\n",
        body.len()
    );
    let quoted = "GET /docs?select=data->>key&data->>key=in.(\"it\") HTTP/1.1\r\nHost: x\r\n\r\n";
    let absolute = "\r\nGET http://x/docs?data->>key=eq.\"it\" HTTP/1.1\r\nHost: x\r\n\r\n";
    let streams = [
        format!("{quoted}{sized}{quoted}{LAST}"),
        format!("{chunked}\r\n{absolute}{LAST}"),
        format!("{sized}{ECHO}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{HIDDEN}{LAST}"),
        format!("{ECHO}Transfer-Encoding: chunked\r\n\r\n5\r\nGET /X\n0\r\n\r\n{HIDDEN}{LAST}"),
    ];
    let served = &served;
    std::thread::scope(|scope| {
        for (stream, part) in streams.iter().flat_map(|stream| (0..4).map(move |part| (stream, part))) {
            scope.spawn(move || {
                for cut in (part + 1..stream.len()).step_by(4) {
                    check(served, stream.as_bytes(), &[cut]);
                }
            });
        }
    });
    for stream in &streams {
        let every_byte: Vec<usize> = (1..stream.len()).collect();
        check(served, stream.as_bytes(), &every_byte);
    }
}

/// What emptied a table: while a body was awaited, an earlier answer made the server look for a request line. The body's
/// quotes were escaped, it grew, and what stood at its end was behind it.
#[test]
fn a_body_does_not_grow() {
    let (_database, served) = served();
    let first = "one line\n";
    let second = format!("GET /{} HTTP/1.1\r\n\r\n{HIDDEN}", "\"".repeat(HIDDEN.len() / 2));
    let mut stream = TcpStream::connect(served.address).unwrap();
    let head = format!("{ECHO}Content-Length: {}\r\n\r\n", first.len() + second.len());
    stream.write_all(format!("GET /t?id=eq.2 HTTP/1.1\r\nHost: x\r\n\r\n{head}{first}").as_bytes()).unwrap();
    // the first request has been answered when the rest of the second one's body comes
    let mut answered = vec![0; 16];
    stream.read_exact(&mut answered).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    stream.write_all(format!("{second}{LAST}").as_bytes()).unwrap();
    stream.read_to_end(&mut answered).unwrap();
    let answered = responses(&answered);
    let statuses: Vec<u16> = answered.iter().map(|(status, _)| *status).collect();
    assert_eq!(statuses, [200, 200, 200]);
    let echoed: Option<String> = serde_json::from_slice(&answered[1].1).ok();
    assert_eq!(echoed, Some(format!("{first}{second}")));
    assert_eq!(rows(&served), "1,2,3,4,5,6,7,8,9");
}

/// Streams in which bytes are changed, left out and doubled at random: whatever they say, nothing runs that a strict reader does
/// not see.
#[test]
fn every_mistake() {
    const ROUNDS: u64 = 1500;
    let (_database, served) = served();
    let body = "\r\nDELETE /t?id=eq.8 HTTP/1.1\r\nHost: x\r\n\r\n";
    let sized = format!("{ECHO}Content-Length: {}\r\n\r\n{body}", body.len());
    let chunked = format!("{ECHO}Transfer-Encoding: chunked\r\n\r\n{:x};a\r\n{body}\r\n0\r\nX: y\r\n\r\n", body.len());
    let streams = [format!("{sized}{sized}"), format!("{chunked}{sized}"), format!("{chunked}{HIDDEN}{chunked}")];
    let alphabet = b"\r\n\r\n \t:;,\0\x7f\"0159aefx/.";
    // what a body reaches into that has become longer
    let rest = LAST.repeat(40);
    let mut seed = 20_261_122_u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    let mut refused = 0;
    for round in 0..ROUNDS {
        let mut stream = streams[random(streams.len())].clone().into_bytes();
        for _ in 0..=random(3) {
            let at = random(stream.len());
            match random(4) {
                0 => stream[at] = alphabet[random(alphabet.len())],
                1 => stream.insert(at, alphabet[random(alphabet.len())]),
                2 => _ = stream.remove(at),
                _ => stream.insert(at, stream[at]),
            }
        }
        stream.extend_from_slice(rest.as_bytes());
        let strictly = strictly(&stream);
        if strictly.is_short {
            continue;
        }
        refused += u32::from(strictly.refused);
        let answered = exchange(served.address, &[&stream]);
        let told = || format!("{round}: {:?}: {strictly:?}, {answered:?}", String::from_utf8_lossy(&stream));
        // hyper refuses some targets that are no matter of framing, and what is wrong with a request may be answered before
        // its chunks turn out to be wrong as well
        let expected = strictly.requests.len() + usize::from(strictly.refused);
        let stopped = answered.last().is_some_and(|(status, _)| (400..500).contains(status));
        assert!(answered.len() == expected || (stopped && answered.len() < expected), "{}", told());
        assert!(!strictly.refused || stopped, "{}", told());
        // a request that is seen and has lost its filter may delete all
        let is_filtered = |(method, target, _): &Request| method != "DELETE" || target.contains("?id=eq.");
        if strictly.requests.iter().all(is_filtered) {
            let (there, allowed) = (rows(&served), rows_after(&strictly.requests));
            assert!(["7", "8"].iter().all(|id| there.contains(id) || !allowed.contains(id)), "{}: {there}", told());
        }
        refill(&served);
    }
    assert!(u64::from(refused) > ROUNDS / 10 && u64::from(refused) < ROUNDS, "{refused} of {ROUNDS} were refused");
}

/// The server answers before it has read the body, and the rest of the body is still to come.
#[test]
fn early_answers() {
    let (_database, served) = served();
    let line = "GET /\"x HTTP/1.1\r\n\r\nDELETE /t HTTP/1.1\r\nHost: x\r\n\r\n";
    let body = line.repeat(3 * 1024 * 1024 / line.len());
    let chunk = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    let length = format!("Content-Length: {}\r\n", body.len());
    for (head, status) in [
        ("POST /t?order=( HTTP/1.1\r\n", 400),
        ("GET /t?id=eq.1 HTTP/1.1\r\n", 200),
        ("DELETE /nothing HTTP/1.1\r\n", 404),
        ("PUT /rpc/echo HTTP/1.1\r\n", 405),
        ("POST /rpc/echo HTTP/1.1\r\nContent-Type: text/plain\r\n", 413),
        ("POST /t HTTP/1.1\r\nContent-Encoding: zip\r\n", 415),
    ] {
        for (framing, body) in [(&length[..], &body), ("Transfer-Encoding: chunked\r\n", &chunk)] {
            let head = format!("{head}Host: x\r\n{framing}\r\n");
            let half = body.len() / 2 / line.len() * line.len();
            let pieces = [head.as_bytes(), &body.as_bytes()[..half], &body.as_bytes()[half..], LAST.as_bytes()];
            let answered = exchange(served.address, &pieces);
            let statuses: Vec<u16> = answered.iter().map(|(status, _)| *status).collect();
            assert_eq!(statuses, [status, 200], "{head}");
        }
    }
    assert_eq!(rows(&served), "1,2,3,4,5,6,7,8,9");
    // a client that was told to send nothing, and sends it all the same
    let head = "PUT /rpc/echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 200000\r\n\r\n";
    let answered = exchange(served.address, &[head.as_bytes(), &body.as_bytes()[..200_000], LAST.as_bytes()]);
    assert!(matches!(answered[..], [(405, _)] | [(405, _), (200, _)]), "{answered:?}");
    assert_eq!(rows(&served), "1,2,3,4,5,6,7,8,9");
}

/// A body of which a client sends one half only, and then closes.
#[test]
fn bodies_that_break_off() {
    let (_database, served) = served();
    for framing in ["Content-Length: 500\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n1f4\r\n"] {
        let mut stream = TcpStream::connect(served.address).unwrap();
        stream.write_all(format!("{ECHO}{framing}{HIDDEN}").as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    }
    assert_eq!(rows(&served), "1,2,3,4,5,6,7,8,9");
}

#[test]
fn other_protocols_open_no_hole() {
    let (_database, served) = served();
    for head in ["CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET /\r\n"] {
        let answered = exchange(served.address, &[format!("{head}{HIDDEN}{LAST}").as_bytes()]);
        assert!(matches!(answered[..], [(400, _)]), "{head}: {answered:?}");
    }
    assert_eq!(rows(&served), "1,2,3,4,5,6,7,8,9");
    // nobody upgrades: what follows is the next request
    let upgrade = "GET /t?id=eq.2 HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\
                   HTTP2-Settings: AAMAAABk\r\n\r\n";
    check(&served, format!("{upgrade}{HIDDEN}{LAST}").as_bytes(), &[]);
}

/// What PostgREST takes in a target, wherever the request stands on its connection.
#[test]
fn targets_are_mended() {
    let (_database, served) = served();
    let request = |target: &str| format!("GET {target} HTTP/1.1\r\nHost: x\r\n");
    for (target, text) in [
        ("/docs?select=data->>key", r#"[{"key":"it"}]"#),
        ("/docs?select=data->>key&data->>\"key\"=in.(\"it\")", r#"[{"key":"it"}]"#),
        ("/docs?select=data->>key&data->>key=in.(\"it\",\"<>`\")", r#"[{"key":"it"}]"#),
        // half a filter is another filter
        ("/docs?select=data->>key&data->>key=eq.it#", "[]"),
        ("http://x/docs?select=data->>key&data->>key=eq.it", r#"[{"key":"it"}]"#),
        ("/docs?select=data->>key&data->>key=neq.{}|^\\é", r#"[{"key":"it"}]"#),
    ] {
        let stream = format!("{0}\r\n\r\n\r\n{0}Connection: close\r\n\r\n", request(target));
        let answered = exchange(served.address, &[stream.as_bytes()]);
        let texts: Vec<_> = answered.iter().map(|(_, text)| String::from_utf8_lossy(text)).collect();
        assert_eq!(texts, [text, text], "{target}");
    }
}

#[test]
fn many_headers_arrive_and_too_many_are_refused() {
    let (_database, served) = served();
    let request = |count: usize, last: &str| {
        let others: String = (2..count).map(|at| format!("X-{at}: v%09{at}\tw\r\n")).collect();
        format!("GET /rpc/header?name=x-{last} HTTP/1.1\r\nHost: x\r\n{others}Connection: close\r\n\r\n")
    };
    for (count, last) in [(90, "89"), (100, "99"), (101, "99"), (101, "3"), (500, "499"), (500, "91")] {
        let answered = exchange(served.address, &[request(count, last).as_bytes()]);
        let expected = format!("\"v%09{last}\\tw\"");
        let text = String::from_utf8_lossy(&answered[0].1);
        assert_eq!((answered[0].0, &*text), (200, &*expected), "{count} headers");
    }
    for stream in [request(501, "1"), format!("GET /t HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(64 * 1024))] {
        let answered = exchange(served.address, &[stream.as_bytes(), HIDDEN.as_bytes()]);
        assert!(matches!(answered[..], [(431, _)]), "{answered:?}");
    }
}

/// Each bound of what frames a request: the last that is answered, and the first that is refused.
#[test]
fn framing_has_bounds() {
    let (_database, served) = served();
    let status = |request: String| {
        let answered = exchange(served.address, &[request.as_bytes()]);
        answered.first().map(|(status, _)| *status)
    };
    let start = "GET /t?id=eq.1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n";
    let long_head =
        |bytes: usize| format!("{start}X: {}\r\n\r\n", "x".repeat(bytes - start.len() - "X: \r\n\r\n".len()));
    let headers = |count: usize| format!("{start}{}\r\n", "X: x\r\n".repeat(count - 2));
    let empty_lines = |count: usize| format!("{}{LAST}", "\r\n".repeat(count));
    let length = |digits: usize| format!("{start}Content-Length: {}\r\n\r\n", "0".repeat(digits));
    let chunked = |size: &str, trailers: &str| {
        format!("{ECHO}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n{size}\r\nx\r\n0\r\n{trailers}\r\n")
    };
    let size = |digits: usize| chunked(&format!("{}1", "0".repeat(digits - 1)), "");
    let extension = |bytes: usize| chunked(&format!("1;{}", "x".repeat(bytes)), "");
    // in all, without what stands between
    let trailers = |bytes: usize| chunked("1", &format!("A:{}\r\nB:{}\r\n", "x".repeat(100), "x".repeat(bytes - 102)));
    type Request<'a> = &'a dyn Fn(usize) -> String;
    let bounds: [(&str, usize, u16, Request<'_>); 7] = [
        ("bytes of a head", 64 * 1024, 431, &long_head),
        ("headers", 500, 431, &headers),
        ("empty lines", 4, 400, &empty_lines),
        ("digits of a length", 18, 400, &length),
        ("digits of a chunk's size", 15, 400, &size),
        ("bytes of an extension", 8 * 1024, 400, &extension),
        ("bytes of trailers", 8 * 1024, 400, &trailers),
    ];
    for (what, most, refused, request) in bounds {
        assert_eq!(status(request(most)), Some(200), "{most} {what}");
        assert_eq!(status(request(most + 1)), Some(refused), "{} {what}", most + 1);
    }
}
