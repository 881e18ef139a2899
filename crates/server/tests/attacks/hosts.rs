//! Requests that do not name their site in exactly one way, and the information that refusals give
//! to clients.

use crate::served::{GRANTS, Served, config};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use thalweg_testkit::Database;

const SCHEMA: &str = "
    create schema api;
    create table api.t as select 1 as id;
    create function api.host() returns text language sql stable
      as $$ select current_setting('request.headers')::json->>'host' $$;
    create function api.reads() returns text language sql security definer
      as $$ select pg_read_file('/srv/thalweg/secret/place') $$;
    create function api.reads_forbidden() returns text language sql security definer
      as $$ select pg_read_file('/etc/shadow') $$;
    create function api.reads_directory() returns text language sql security definer
      as $$ select pg_read_file('/etc') $$;
    create function api.raises() returns void language plpgsql
      as $$ begin raise sqlstate '58030' using message = 'said by \"SQL\"'; end $$;
";

fn served() -> (Database, Served) {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let served = Served::start(config(&database.uri()));
    (database, served)
}

/// Sends some bytes, and returns the answer up to the end of the connection.
fn exchange(address: SocketAddr, bytes: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(bytes.as_bytes()).unwrap();
    let mut answered = String::new();
    stream.read_to_string(&mut answered).unwrap();
    answered
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or_default()
}

/// Requests with two `Host` headers, with none, and with malformed ones were answered. A proxy and
/// the server could each have used a different one.
#[test]
fn a_request_has_exactly_one_valid_host() {
    let (_database, served) = served();
    let end = "Connection: close\r\n\r\n";
    for (version, hosts, expected) in [
        ("1.1", "Host: club.example\r\n", "200"),
        ("1.1", "hOST:127.0.0.1:3000\r\n", "200"),
        ("1.1", "Host: [::1]:3000\r\n", "200"),
        ("1.0", "Host: club.example\r\n", "200"),
        ("1.0", "", "200"),
        ("1.1", "", "400"),
        ("1.1", "Host:\r\n", "400"),
        ("1.1", "Host: club.example\r\nHost: club.example\r\n", "400"),
        ("1.1", "Host: club.example\r\nX: y\r\nhost: evil.example\r\n", "400"),
        ("1.0", "Host: club.example\r\nHost: evil.example\r\n", "400"),
        ("1.1", "Host: club.example, evil.example\r\n", "400"),
        ("1.1", "Host: ann@club.example\r\n", "400"),
        ("1.1", "Host: ann:secret@club.example\r\n", "400"),
        ("1.1", "Host: http://club.example\r\n", "400"),
        ("1.1", "Host: club.example/x\r\n", "400"),
        ("1.1", "Host: club.example:65535\r\n", "200"),
        ("1.1", "Host: club.example:65536\r\n", "400"),
        ("1.1", "Host: club.example:x\r\n", "400"),
        ("1.1", "Host: a b\r\n", "400"),
        ("1.1", "Host: [::1\r\n", "400"),
    ] {
        let answer = exchange(served.address, &format!("GET /t HTTP/{version}\r\n{hosts}{end}"));
        assert_eq!(status(&answer), expected, "{version} {hosts:?}: {answer}");
        // Without a header, a connection of HTTP/1.0 ends after its response.
        let is_last = version == "1.0" || answer.contains("connection: close");
        let error = answer.contains("\"code\":\"TWG27\"") && answer.contains("Host") && is_last;
        assert_eq!(error, expected == "400", "{answer}");
    }
}

/// The authority of a target in absolute form wins over `Host` (RFC 9112 section 3.2.2).
#[test]
fn a_target_in_absolute_form_names_the_host() {
    let (_database, served) = served();
    let ask = |target: &str, host: &str| {
        exchange(served.address, &format!("GET {target} HTTP/1.1\r\n{host}Connection: close\r\n\r\n"))
    };
    for target in
        ["http://club.example:81/rpc/host", "HTTP://club.example:81/rpc/host?", "https://club.example:81/rpc/host"]
    {
        let answer = ask(target, "Host: evil.example\r\n");
        assert!(answer.ends_with("\"club.example:81\""), "{target}: {answer}");
    }
    for (target, host) in [
        ("http://club.example/t", ""),
        ("http://club.example/t", "Host: a\r\nHost: a\r\n"),
        ("http://ann@club.example/t", "Host: club.example\r\n"),
        ("http:///t", "Host: club.example\r\n"),
        ("ftp://club.example/t", "Host: club.example\r\n"),
        ("club.example:80", "Host: club.example\r\n"),
        ("t", "Host: club.example\r\n"),
        ("*", "Host: club.example\r\n"),
    ] {
        let answer = ask(target, host);
        assert!(status(&answer) == "400" && answer.contains("TWG27"), "{target} {host:?}: {answer}");
    }
}

/// A refused head is answered after all preceding requests, and no client can send the request that
/// replaces it.
#[test]
fn a_refusal_is_an_error_in_the_protocols_form() {
    let (_database, served) = served();
    let good = "GET /t HTTP/1.1\r\nHost: x\r\n\r\n";
    let answer = exchange(served.address, &format!("{good}GET /t HTTP/1.1\r\nBad header\r\n\r\n{good}"));
    assert_eq!(answer.matches("HTTP/1.1 ").count(), 2, "{answer}");
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("HTTP/1.1 400"), "{answer}");
    let body = answer.rsplit_once("\r\n\r\n").unwrap().1;
    let error: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(error["code"], "TWG27");
    for part in ["message", "details", "hint"] {
        assert!(error[part].is_string(), "{error}");
    }
    let large =
        exchange(served.address, &format!("GET /t HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n", "x".repeat(64 * 1024)));
    assert!(status(&large) == "431" && large.contains("TWG27"), "{large}");
    let marked = exchange(served.address, "GET /t HTTP/1.1\r\nHost: x\r\nThalweg-Refused: head PUT /forged\r\n\r\n");
    assert!(status(&marked) == "400" && !marked.contains("forged"), "{marked}");
}

/// The name of a file on the database's disk, which PostgreSQL's errors contain, reached the
/// client.
#[test]
fn no_client_receives_the_name_of_a_file_of_the_database() {
    let (_database, served) = served();
    for (target, code, words) in [
        ("/rpc/reads", "58P01", ["secret", "No such file"]),
        ("/rpc/reads_forbidden", "42501", ["shadow", "denied"]),
        ("/rpc/reads_directory", "42809", ["/etc", "directory"]),
    ] {
        let response = served.get(target);
        assert_eq!(response.json()["code"].as_str(), Some(code), "{}", response.text());
        assert!(words.iter().all(|word| !response.text().contains(word)), "{}", response.text());
    }
    assert_eq!(served.get("/rpc/reads").status, 500);
    // Errors that SQL raises are passed on.
    let response = served.get("/rpc/raises");
    assert_eq!((response.status, response.json()["message"].as_str()), (500, Some("said by \"SQL\"")));
}

/// Neither a library's words nor an address reach the client if the database cannot be reached or a
/// body breaks off.
#[test]
fn no_client_receives_the_words_of_a_library() {
    let (database, served) = served();
    let answer = exchange(
        served.address,
        "POST /t HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\nConnection: close\r\n\r\nabcd",
    );
    assert!(status(&answer) == "400" && answer.contains("not valid gzip data"), "{answer}");
    let answer =
        exchange(served.address, "POST /t HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[{!\r\n");
    assert!(
        status(&answer) == "400" && answer.contains("The body broke off") && !answer.contains("error reading"),
        "{answer}"
    );
    drop(served);
    let (proxy, uri) = thalweg_testkit::Proxy::before(&database.uri());
    let served = Served::start(config(&uri));
    assert_eq!(served.get("/t").status, 200);
    proxy.close();
    let responses: Vec<_> = (0..3).map(|_| served.get("/t")).collect();
    for response in &responses {
        assert_eq!(response.status, 503, "{}", response.text());
        let text = response.text().to_lowercase();
        for word in ["os error", "refused", "reset", "127.0.0.1", "localhost", "broken pipe"] {
            assert!(!text.contains(word), "{word}: {text}");
        }
    }
}
