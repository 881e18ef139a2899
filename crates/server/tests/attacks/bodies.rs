//! Bodies that cost more than they are worth: each has a bound, which is found while it is read.

use crate::served::{GRANTS, Served, config, eventually};
use std::io::Write;
use std::time::{Duration, Instant};
use thalweg_server::Config;
use thalweg_testkit::{Client, Database, Response};

const SCHEMA: &str = "
    create schema api;
    create table api.rows (id int, name text);
    create function api.takes(name text) returns text language sql immutable as 'select name';
    create function api.takes_document(json) returns int language sql immutable as 'select length($1::text)';
";
const WRITES: &str = "grant insert, update on all tables in schema api to test_reader;";

fn database() -> Database {
    let wide: Vec<String> = (0..1_600).map(|at| format!("c{at} text")).collect();
    let wide = format!("create table api.wide ({});", wide.join(","));
    Database::new(&format!("{SCHEMA}{wide}{GRANTS}{WRITES}"))
}

/// Status, code and message of an error.
fn error(response: &Response) -> (u16, String, String) {
    let json = response.json();
    let text = |key: &str| json[key].as_str().unwrap_or_default().to_owned();
    (response.status, text("code"), text("message"))
}

fn refused(status: u16, message: &str) -> (u16, String, String) {
    (status, "PGRST102".to_owned(), message.to_owned())
}

fn keys(count: usize) -> String {
    (0..count).map(|at| format!("\"k{at}\":{at}")).collect::<Vec<_>>().join(",")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Sends the beginning of a body that never ends, and waits for the answer.
fn answer_to_the_beginning(served: &Served, target: &str, content_type: &str, beginning: &[u8]) -> Response {
    let mut client = Client::connect(served.address);
    client.send("POST", target, &[("Content-Type", content_type), ("Content-Length", "200000000")]);
    client.send_bytes(beginning);
    client.receive(false)
}

/// An object of 120,000 keys took eight seconds, each key being compared with all before it, and others waited meanwhile.
#[test]
fn keys_have_a_bound() {
    let database = database();
    let served = Served::database(&database.uri());
    let too_many = refused(413, "The rows of the body have more than 2000 keys");
    for target in ["/rows", "/nope", "/rpc/takes", "/rpc/nope", "/rows?columns=id"] {
        for (start, end) in [("{", "}"), ("[{", "}]")] {
            let body = |count: usize| format!("{start}{}{end}", keys(count));
            let at_the_bound = served.send("POST", target, &[], body(2_000));
            assert!(!at_the_bound.text().contains("more than"), "{target}: {}", at_the_bound.text());
            assert_eq!(error(&served.send("POST", target, &[], body(2_001))), too_many, "{target}");
            assert_eq!(error(&served.send("POST", target, &[], body(120_000))), too_many, "{target}");
            // while it is read: the rest never comes
            let beginning = format!("{start}{}", keys(2_001));
            let answer = answer_to_the_beginning(&served, target, "application/json", beginning.as_bytes());
            assert_eq!(error(&answer), too_many, "{target}");
        }
    }
    // keys of later rows, and one that is there again and again, are no more than looked for
    let later = format!("[{{\"id\":1}},{{{}}}]", keys(120_000));
    assert_eq!(error(&served.send("POST", "/rows", &[], &later)), refused(400, "All object keys must match"));
    assert_eq!(served.send("POST", "/rows?columns=id", &[], &later).status, 201);
    let again = format!("{{\"name\":\"\",{}\"id\":2}}", "\"id\":1,".repeat(120_000));
    assert_eq!(served.send("POST", "/rows", &[], &again).status, 201);
    // a row of all columns, in the order that fits worst
    let row = |at: &mut dyn Iterator<Item = usize>| {
        format!("{{{}}}", at.map(|at| format!("\"c{at}\":1")).collect::<Vec<_>>().join(","))
    };
    let rows = vec![row(&mut (0..1_600).rev()); 100];
    assert_eq!(served.send("POST", "/wide", &[], format!("[{},{}]", row(&mut (0..1_600)), rows.join(","))).status, 201);
    assert_eq!(database.value("select count(*) || ' ' || max(c0) || max(c1599) from api.wide"), "101 11");
    assert_eq!(database.value("select string_agg(coalesce(id, 0)::text, ',' order by id) from api.rows"), "1,2,0,0,0");
}

/// 32 million empty fields, half a megabyte as gzip, took 3.5 GB.
#[test]
fn fields_of_a_form_have_a_bound() {
    let database = database();
    let served = Served::database(&database.uri());
    const FORM: &str = "application/x-www-form-urlencoded";
    let send = |target: &str, body: &[u8]| served.send("POST", target, &[("Content-Type", FORM)], body);
    let too_many = refused(413, "The form has more than 2000 fields");
    for target in ["/rows", "/rpc/takes", "/nope", "/rpc/nope"] {
        let at_the_bound = send(target, &b"name=%41&".repeat(2_000));
        assert!(!at_the_bound.text().contains("more than"), "{target}: {}", at_the_bound.text());
        assert_eq!(error(&send(target, &b"name=%41&".repeat(2_001))), too_many, "{target}");
        let answer = answer_to_the_beginning(&served, target, FORM, &b"=&".repeat(2_001));
        assert_eq!(error(&answer), too_many, "{target}");
        let headers = [("Content-Type", FORM), ("Content-Encoding", "gzip")];
        let bomb = gzip(&b"=&".repeat(4_000_000));
        assert_eq!(error(&served.send("POST", target, &headers, &bomb)), too_many, "{target}");
    }
    // of two with one name the last counts, and where there is nothing there is no field
    let empty = [&b"&".repeat(1_000_000)[..], b"name=first&name=%C3%A9"].concat();
    assert_eq!(send("/rows", &empty).status, 201);
    assert_eq!(database.value("select string_agg(name, ',') from api.rows where name <> 'A'"), "é");
    assert_eq!(send("/rpc/takes", b"name=%C3%A9+%2").text(), "\"é %2\"");
}

/// Gzip makes a thousand bytes of one: half a megabyte held half a gigabyte.
#[test]
fn compressed_bodies_are_not_much_larger_than_they_were_sent() {
    const FREE_BYTES: usize = 8 * 1024 * 1024;
    const RATIO: usize = 200;
    let database = database();
    let served = Served::database(&database.uri());
    let headers = [("Content-Encoding", "gzip"), ("Content-Type", "application/json")];
    let send = |body: &[u8]| served.send("POST", "/rpc/takes_document", &headers, body);
    // a document of a length, compressed, and made as long as wanted by what gzip has for a file's name
    let sent = |bytes: usize, sent_bytes: usize| {
        let compressed = |name: usize| {
            let document = format!("[{}]", " ".repeat(bytes - 2));
            let new = flate2::GzBuilder::new().filename(vec![b'n'; name]);
            let mut encoder = new.write(Vec::new(), flate2::Compression::best());
            encoder.write_all(document.as_bytes()).unwrap();
            encoder.finish().unwrap()
        };
        let body = compressed(sent_bytes.saturating_sub(compressed(0).len()));
        assert!(body.len() == sent_bytes || sent_bytes == 0, "{} bytes, not {sent_bytes}", body.len());
        body
    };
    let promises_too_much = refused(413, "The body is larger than its compressed form promises");
    assert_eq!(send(&sent(FREE_BYTES, 0)).text(), FREE_BYTES.to_string());
    assert_eq!(error(&send(&sent(FREE_BYTES + 1, 0))), promises_too_much);
    let larger = (FREE_BYTES / RATIO + 1) * RATIO;
    assert_eq!(send(&sent(larger, larger / RATIO)).text(), larger.to_string());
    assert_eq!(error(&send(&sent(larger, larger / RATIO - 1))), promises_too_much);
    assert_eq!(error(&send(&sent(larger + 1, larger / RATIO))), promises_too_much);
}

/// A header of sixteen million columns took 936 MB; a document made of CSV was nine times the body, and counted nowhere.
#[test]
fn csv_has_bounds() {
    let database = database();
    let served = Served::database(&database.uri());
    let csv = [("Content-Type", "text/csv")];
    let columns: Vec<String> = (0..1_601).map(|at| format!("c{at}")).collect();
    let body = |count: usize| format!("{}\n{}\n", columns[..count].join(","), vec!["x"; count].join(","));
    assert_eq!(served.send("POST", "/wide", &csv, body(1_600)).status, 201);
    let too_many = refused(413, "The header has more than 1600 columns");
    for target in ["/wide", "/nope", "/wide?columns=c0", "/rpc/takes"] {
        assert_eq!(error(&served.send("POST", target, &csv, body(1_601))), too_many, "{target}");
        let answer = answer_to_the_beginning(&served, target, "text/csv", &b",".repeat(1_601));
        assert_eq!(error(&answer), too_many, "{target}");
    }
    let name = |bytes: usize| format!("{}\n1\n", "n".repeat(bytes));
    assert_eq!(served.send("POST", "/wide", &csv, name(256)).json()["code"], "PGRST204");
    let too_long = refused(413, "a name in the body is too long");
    assert_eq!(error(&served.send("POST", "/wide", &csv, name(257))), too_long);
    // a row that has more fields than the header is not read to its end
    let answer = answer_to_the_beginning(&served, "/wide", "text/csv", &[b"a,b\n", &b",".repeat(2)[..], b","].concat());
    assert_eq!(error(&answer), refused(400, "All lines must have same number of fields"));
    // what is made of a body is bounded as the body is: each row becomes {"name":"x"} and a comma
    let (records, headers) = (1_000, [csv[0], ("Prefer", "return=representation")]);
    let body = format!("name\n{}", "x\n".repeat(records));
    let made = records as u64 * 13 + 1;
    for (most, expected) in [(made, 201), (made - 1, 413)] {
        let served = Served::start(Config { client_body_max: most, ..config(&database.uri()) });
        let response = served.send("POST", "/rows?select=id", &headers, &body);
        assert_eq!(response.status, expected, "{}", response.text());
        if expected == 413 {
            let message = format!("What is made of the body is larger than {most} bytes");
            assert_eq!(error(&response), refused(413, &message));
        }
    }
    assert_eq!(database.value("select count(*) from api.rows"), records.to_string());
}

/// A hundred thousand almost-boundaries in a megabyte of tiny chunks took 18 seconds: each was looked for from the start.
#[test]
fn parts_of_a_form_have_bounds() {
    let database = database();
    let served = Served::database(&database.uri());
    const MULTIPART: &str = "multipart/form-data; boundary=B";
    let send = |body: &str| served.send("POST", "/rpc/takes", &[("Content-Type", MULTIPART)], body);
    let part = "--B\r\nContent-Disposition: form-data; name=name\r\n\r\nx\r\n";
    let many = |count: usize| part.repeat(count) + "--B--";
    assert!(!send(&many(1_000)).text().contains("more than"));
    let too_many = refused(413, "The body has more than 1000 parts");
    assert_eq!(error(&send(&many(1_001))), too_many);
    let answer = answer_to_the_beginning(&served, "/nope", MULTIPART, part.repeat(1_001).as_bytes());
    assert_eq!(error(&answer), too_many);
    let head = "Content-Disposition: form-data; name=name; filename=";
    let with_head = |bytes: usize| format!("--B\r\n{head}{}\r\n\r\nx\r\n--B--", "f".repeat(bytes - head.len() - 4));
    assert_eq!(send(&with_head(16 * 1024)).text(), "\"x\"");
    assert_eq!(error(&send(&with_head(16 * 1024 + 1))), refused(400, "The headers of a part do not end"));
    // in chunks of ten bytes, each with its own frame
    let content = "\r\n--B-\r\n--".repeat(100_000);
    let body = format!("--B\r\nContent-Disposition: form-data; name=name; filename=f\r\n\r\n{content}\r\n--B--");
    let mut client = Client::connect(served.address);
    client.send("POST", "/rpc/takes", &[("Content-Type", MULTIPART), ("Transfer-Encoding", "chunked")]);
    let mut framed = Vec::new();
    for chunk in body.as_bytes().chunks(10) {
        framed.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        framed.extend_from_slice(chunk);
        framed.extend_from_slice(b"\r\n");
    }
    framed.extend_from_slice(b"0\r\n\r\n");
    client.send_bytes(&framed);
    assert_eq!(client.receive(false).json().as_str().map(str::len), Some(content.len()));
}

/// Four compressed bodies of which a byte came every 18 seconds held a gigabyte, and others were refused.
#[test]
fn what_is_held_must_be_worth_it() {
    let database = database();
    // so long that it is not what ends them
    let stall = Duration::from_secs(600);
    let served = &Served::start(Config { client_stall_timeout: stall, ..config(&database.uri()) });
    let upload = |encoding: &'static str, start: Vec<u8>, piece: Vec<u8>, every: Duration| {
        move || {
            let mut client = Client::connect(served.address);
            let headers = [("Content-Length", "100000000"), ("Content-Encoding", encoding)];
            client.send("POST", "/rows", &headers);
            client.send_bytes(&start);
            let until = Instant::now() + Duration::from_secs(15);
            while Instant::now() < until {
                if !client.send_bytes(&piece) {
                    break;
                }
                std::thread::sleep(every);
            }
            client
        }
    };
    let large = vec![b' '; 70_000];
    // 8 MB of which another member comes now and then
    let compressed = gzip(&vec![b' '; 8_000_000]);
    let second = Duration::from_secs(1);
    let slow = [("", large.clone(), b" ".to_vec(), 2 * second), ("gzip", compressed, gzip(b" "), 2 * second)];
    let steady = [("", large, vec![b' '; 20_000], second), ("", Vec::new(), b" ".to_vec(), second)];
    std::thread::scope(|scope| {
        let run = |(encoding, start, piece, every)| scope.spawn(upload(encoding, start, piece, every));
        let (slow, steady) = (slow.map(run), steady.map(run));
        for client in slow {
            let response = client.join().unwrap().receive(false);
            assert_eq!(error(&response), refused(408, "The body did not arrive in time"));
        }
        // a phone on a slow line, and somebody who has sent next to nothing, are still waited for
        for client in steady {
            let mut client = client.join().unwrap();
            assert!(client.send_bytes(b"}"), "the server has given up");
            let response = client.receive(false);
            assert_eq!(error(&response).2, "Empty or invalid json");
        }
    });
}

/// What is held counts until it is gone, however the request ends, and no longer.
#[test]
fn what_is_held_is_given_back() {
    let database = database();
    let served = Served::start(Config { client_body_max: 1_000_000, ..config(&database.uri()) });
    let body = format!("{{\"id\":1,\"name\":\"{}\"}}", "x".repeat(900_000));
    let begun = || -> Vec<Client> {
        let begin = |_| {
            let mut client = Client::connect(served.address);
            client.send("PATCH", "/rows", &[("Content-Length", &body.len().to_string())]);
            client.send_bytes(&body.as_bytes()[..body.len() - 1]);
            client
        };
        (0..4).map(begin).collect()
    };
    for _ in 0..5 {
        eventually("all room is taken", || {
            let _held = begun();
            std::thread::sleep(Duration::from_millis(200));
            served.send("PATCH", "/rows", &[], &body).status == 503
        });
        eventually("all room is free again", || {
            let mut all = begun();
            std::thread::sleep(Duration::from_millis(100));
            all.iter_mut().for_each(|client| _ = client.send_bytes(b"}"));
            let statuses: Vec<u16> = all.iter_mut().map(|client| client.receive(false).status).collect();
            statuses == [204; 4]
        });
    }
    // and where they are refused, or what is made of them is
    let csv = [("Content-Type", "text/csv"), ("Prefer", "return=representation")];
    let large = format!("name\n{}", "x\n".repeat(100_000));
    for _ in 0..20 {
        assert_eq!(served.send("POST", "/rows?select=id", &csv, &large).status, 413);
        assert_eq!(served.send("PATCH", "/rows?nope=eq.1", &[], &body).status, 400);
        assert_eq!(served.send("PATCH", "/rows", &[], &body).status, 204);
    }
}

/// Rows of a COPY, of which a few bytes become a row of all columns, are not all made before they are sent.
#[test]
fn rows_become_many_only_as_they_are_sent() {
    let database = database();
    let served = Served::start(Config { client_body_max: 1_000_000, ..config(&database.uri()) });
    // 4,802 bytes each as text: 24 MB, where four million may be held in all
    let columns: Vec<String> = (0..1_600).map(|at| format!("c{at}")).collect();
    let target = format!("/wide?columns={}", columns.join(","));
    let body = format!("[{}]", vec!["{}"; 5_000].join(","));
    assert_eq!(served.send("POST", &target, &[], &body).status, 201);
    assert_eq!(database.value("select count(*) from api.wide"), "5000");
    // one row, however it is sent, is no larger than a body
    let row = format!("{{\"name\":\"{}\"}}", "x".repeat(1_100_000));
    let lines = format!("{}{row}", "{\"name\":\"x\"}\n".repeat(60_000));
    let response = served.send("POST", "/rows", &[("Content-Type", "application/x-ndjson")], &lines);
    let too_large = refused(413, "The body is larger than 1000000 bytes");
    assert_eq!(error(&response), too_large);
    let served = Served::start(Config { client_body_max: 2_000_000, ..config(&database.uri()) });
    let row = format!("{{\"name\":\"{}\"}}", "x".repeat(2_100_000));
    let lines = format!("{}{row}", "{\"name\":\"x\"}\n".repeat(100_000));
    let response = served.send("POST", "/rows", &[("Content-Type", "application/x-ndjson")], &lines);
    assert_eq!(error(&response), refused(413, "A row of the body is larger than 2000000 bytes"));
    assert_eq!(database.value("select count(*) from api.rows"), "0");
}

/// Five uploads at 20 KB/s kept all turns of bodies that are written while they arrive, and other uploads were 504.
#[test]
fn slow_uploads_keep_no_turn() {
    for spool_bytes_max in [1024 * 1024 * 1024, 0] {
        let database = database();
        let wait = Duration::from_secs(2);
        let config = Config {
            db_pool: 2,
            db_pool_acquisition_timeout: wait,
            client_spool_max: spool_bytes_max,
            ..config(&database.uri())
        };
        let served = Served::start(config);
        let body = "{\"id\":1,\"name\":\"of a slow upload\"}\n".repeat(50_000);
        let (first, rest) = body.as_bytes().split_at(1_400_000);
        let (second, last) = rest.split_at(rest.len() - 1);
        let headers = [("Content-Type", "application/x-ndjson"), ("Content-Length", &body.len().to_string())];
        let mut slow: Vec<Client> = (0..5).map(|_| Client::connect(served.address)).collect();
        for piece in first.chunks(200_000) {
            for client in &mut slow {
                if piece.as_ptr() == first.as_ptr() {
                    client.send("POST", "/rows", &headers);
                }
                assert!(client.send_bytes(piece));
            }
            std::thread::sleep(Duration::from_millis(800));
        }
        for client in &mut slow {
            client.send_bytes(second);
        }
        if spool_bytes_max > 0 {
            for _ in 0..3 {
                let response = served.send("POST", "/rows", &headers[..1], &body);
                assert_eq!(response.status, 201, "{}", response.text());
            }
            assert_eq!(database.value("select count(*) from api.rows"), "150000");
        }
        slow.iter_mut().for_each(|client| assert!(client.send_bytes(last)));
        let statuses: Vec<u16> = slow.iter_mut().map(|client| client.receive(false).status).collect();
        let written = statuses.iter().filter(|status| **status == 201).count();
        if spool_bytes_max > 0 {
            assert_eq!(written, 5, "{statuses:?}");
        } else {
            // without a disk they take their turns
            assert!(written > 0 && statuses.iter().all(|status| [201, 504].contains(status)), "{statuses:?}");
        }
        let expected = (written + if spool_bytes_max > 0 { 3 } else { 0 }) * 50_000;
        assert_eq!(database.value("select count(*) from api.rows"), expected.to_string());
    }
}
