//! Memory of clients that send a request and read nothing of its response, measured with 500
//! clients for each kind of response.
//!
//! `docs/limits.md` has the same figures as a table, and `cargo xtask tidy` compares them.

use crate::program::{Directory, Program};
use serde_json::json;
use std::net::SocketAddr;
use std::time::Duration;
use thalweg_testkit::{Client, Database};

/// Number of clients of each kind.
const CLIENTS: usize = 500;
/// Number of clients of the admin server besides the one that reads its metrics.
const ADMIN_CLIENTS: usize = 15;
/// Largest memory of a client of each kind, in bytes.
const UNREAD_HEAD_BYTES_MAX: u64 = 64 * 1024;
const UNREAD_API_BYTES_MAX: u64 = 448 * 1024;
const UNREAD_PAGE_BYTES_MAX: u64 = 448 * 1024;
const UNREAD_BROWSE_BYTES_MAX: u64 = 448 * 1024;
const UNREAD_FILE_BYTES_MAX: u64 = 448 * 1024;
const UNREAD_SHARED_FILE_BYTES_MAX: u64 = 64 * 1024;
const UNREAD_ERROR_BYTES_MAX: u64 = 448 * 1024;
const UNREAD_HANDLER_BYTES_MAX: u64 = 448 * 1024;
const UNREAD_EXPORT_BYTES_MAX: u64 = 1536 * 1024;
const UNREAD_ADMIN_BYTES_MAX: u64 = 448 * 1024;
/// Memory that answers may take before they go to disk (`HELD_BYTES_PATIENT`). The program may
/// retain it for its next answers.
const SHORTLY_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Further readings of the memory that is held, while it is above the bound.
const SETTLE_AGAIN_MAX: usize = 20;
/// Exports that the flight book makes at a time.
const EXPORTS: u64 = 32;
/// Time that the clients wait, which suffices on a busy machine.
const STALL_TIMEOUT: (&str, &str) = ("THALWEG_CLIENT_STALL_TIMEOUT", "600");

/// A request, and the memory that a client may hold which reads nothing of the response.
struct Kind<'a> {
    name: &'a str,
    request: Vec<u8>,
    /// Status of the response to a client that requests it alone.
    status: u16,
    bytes_max: u64,
    clients: usize,
}

fn get<'a>(name: &'a str, target: &str, header: &str, bytes_max: u64) -> Kind<'a> {
    let request = format!("GET {target} HTTP/1.1\r\nHost: test\r\n{header}\r\n").into_bytes();
    Kind { name, request, status: 200, bytes_max, clients: CLIENTS }
}

impl Kind<'_> {
    /// Lets all clients send their requests, and compares their memory with the bound. No client
    /// reads.
    fn measure(&self, program: &Program, admin: SocketAddr, address: SocketAddr) {
        let Kind { name, request, status, bytes_max, clients } = self;
        // The first request of its kind fills caches, whose memory does not belong to a client.
        let mut first = Client::connect(address);
        assert!(first.send_bytes(request));
        let answer = first.receive(request.starts_with(b"HEAD"));
        assert_eq!(answer.status, *status, "{name}");
        drop(first);
        let (rest, resident_rest) = (settled(admin), program.resident_bytes());
        program.forget_peak();
        let mut asking: Vec<Client> = (0..*clients).map(|_| Client::connect_narrow(address)).collect();
        for client in &mut asking {
            assert!(client.send_bytes(request));
        }
        let answered = asking.iter_mut().filter_map(|client| {
            client.wait();
            client.status_line().split(' ').nth(1).map(|status| status.starts_with('2') || status.starts_with('4'))
        });
        let answered = answered.filter(|is_answered| *is_answered).count();
        let mut held = settled(admin).saturating_sub(rest);
        // A busy machine pauses while it writes the answers to disk, so that its memory seems settled too early.
        for _ in 0..SETTLE_AGAIN_MAX {
            if held <= *clients as u64 * bytes_max {
                break;
            }
            held = settled(admin).saturating_sub(rest);
        }
        let [resident, peak] =
            [program.resident_bytes(), program.peak_bytes()].map(|bytes| bytes.saturating_sub(resident_rest));
        let each = held / *clients as u64;
        let [each_kib, resident_mib, peak_mib] = [each >> 10, resident >> 20, peak >> 20];
        println!(
            "{name}: {answered} of {clients} answered, {each_kib} KiB each; resident {resident_mib} MiB, {peak_mib} at the peak"
        );
        assert!(answered > 0, "{name}: nobody was answered");
        assert!(each <= *bytes_max, "{name}: a client holds {each} bytes, and may hold {bytes_max}");
        let bound = *clients as u64 * bytes_max + SHORTLY_BYTES_MAX;
        assert!(peak <= bound, "{name}: the program has grown by {peak} bytes, and may grow by {bound}");
    }
}

/// Memory that a program has allocated and not freed, once five readings in a row agree.
fn settled(admin: SocketAddr) -> u64 {
    let (mut last, mut same) = (0, 0);
    while same < 5 {
        std::thread::sleep(Duration::from_millis(100));
        // The admin server of a demo answers to its address only.
        let metrics = Client::connect(admin).request("GET", "/metrics", &[("Host", &admin.to_string())]);
        let value = metrics.text().lines().find_map(|line| line.strip_prefix("thalweg_allocated_bytes "));
        let now: u64 = value.expect("the program counts its memory").parse().unwrap();
        same = if now.abs_diff(last) <= last / 100 { same + 1 } else { 0 };
        last = now;
    }
    last
}

/// Returns the address of a program's admin server.
fn admin(program: &mut Program) -> SocketAddr {
    program.line("Admin server listening on ").rsplit_once(' ').unwrap().1.parse().unwrap()
}

const SCHEMA: &str = "
    create schema api;
    create table api.medium as select i as id, repeat(chr(97 + i % 26), 900) as filler from generate_series(1, 1000) i;
    create view api.flowing as select m.* from api.medium m, generate_series(1, 2);
    create table api.wide as select 1 as id, repeat('w', 3000000) as filler;
    alter table api.wide add primary key (id);
    create function api.fails() returns int language plpgsql stable as
      $$ begin raise exception '%', repeat('f', 380000); end $$;
    create table api.files as select 1 as id, convert_to(repeat('b', 900000), 'UTF8') as content;
    do $$ begin for i in 1..250 loop
      execute format('create table api.t%s (a_column_of_a_long_name int, another_column_of_a_long_name text)', i);
    end loop; end $$;
";

#[test]
fn clients_of_a_site_that_read_nothing_hold_what_the_manual_says() {
    let (database, directory) = (Database::new(SCHEMA), Directory::new("unread"));
    let page =
        "+++\nrows = \"/medium?select=id,filler\"\n+++\n{% for row in rows %}<p>{{ row.filler }}</p>{% endfor %}";
    std::fs::write(directory.0.join("page.html"), page).unwrap();
    std::fs::create_dir(directory.0.join("static")).unwrap();
    std::fs::write(directory.0.join("static/shared.bin"), vec![7; 1024 * 1024]).unwrap();
    std::fs::write(directory.0.join("static/large.bin"), vec![7; 3 * 1024 * 1024]).unwrap();
    let (uri, pages) = (database.uri(), ("THALWEG_PAGES_DIR", directory.path()));
    // Each kind has a program of its own, because memory that one kind frees would be used again by
    // the next.
    let start = || {
        let wait = ("THALWEG_DB_POOL_ACQUISITION_TIMEOUT", "600");
        Program::launch(Program::serving(&uri, &[pages, STALL_TIMEOUT, wait, ("THALWEG_ADMIN_SERVER_PORT", "0")]))
    };
    let html = "Accept: text/html\r\n";
    for kind in [
        get("HEAD", "/page", "", UNREAD_HEAD_BYTES_MAX),
        get("API, less than 1 MiB", "/api/medium", "", UNREAD_API_BYTES_MAX),
        get("API, more than 1 MiB", "/api/flowing", "", UNREAD_API_BYTES_MAX),
        get("API, one large row", "/api/wide", "", UNREAD_API_BYTES_MAX),
        get(
            "API, one value",
            "/api/files?select=content",
            "Accept: application/octet-stream\r\n",
            UNREAD_API_BYTES_MAX,
        ),
        get("API, the description", "/api/", "Accept: application/openapi+json\r\n", UNREAD_API_BYTES_MAX),
        Kind { status: 400, ..get("an error", "/api/rpc/fails", "", UNREAD_ERROR_BYTES_MAX) },
        get("a page", "/page", html, UNREAD_PAGE_BYTES_MAX),
        get("a page of the API", "/api/medium?limit=1000", html, UNREAD_BROWSE_BYTES_MAX),
        get("a file in memory", "/static/shared.bin", "", UNREAD_SHARED_FILE_BYTES_MAX),
        get("a file on disk", "/static/large.bin", "", UNREAD_FILE_BYTES_MAX),
    ] {
        let request = match kind.name {
            "HEAD" => [b"HEAD", &kind.request[3..]].concat(),
            _ => kind.request,
        };
        let mut program = start();
        let (admin, address) = (admin(&mut program), program.address());
        Kind { request, ..kind }.measure(&program, admin, address);
    }
    for path in ["/schema_cache", "/metrics", "/config"] {
        let mut program = start();
        let admin = admin(&mut program);
        program.address();
        let kind = get(path, path, "", UNREAD_ADMIN_BYTES_MAX);
        Kind { clients: ADMIN_CLIENTS, ..kind }.measure(&program, admin, admin);
    }
}

/// hyper requests the next response while a preceding one that consists of a head is still in its
/// buffer and the rest of the request's body arrives later. The heads of thousands of responses
/// accumulated there for 30 seconds.
#[test]
fn heads_do_not_pile_up_for_a_client_that_reads_nothing() {
    const REQUESTS: usize = 400;
    /// The systems' buffers take some of the heads.
    const ANSWERED_MAX: usize = 200;
    let database = Database::new("create schema api;");
    let mut program = Program::launch(Program::serving(&database.uri(), &[("THALWEG_ADMIN_SERVER_PORT", "0")]));
    let (admin, address) = (admin(&mut program), program.address());
    let answered = || {
        let metrics = Client::connect(admin).request("GET", "/metrics", &[]);
        let value = metrics.text().lines().find_map(|line| line.strip_prefix("thalweg_requests_total{class=\"2xx\"} "));
        value.map_or(0, |value| value.parse::<usize>().unwrap())
    };
    let names = "x".repeat(50_000);
    let head = format!(
        "OPTIONS / HTTP/1.1\r\nHost: x\r\nOrigin: http://a\r\nAccess-Control-Request-Method: GET\r\nAccess-Control-Request-Headers: {names}\r\nContent-Length: 1\r\n\r\n"
    );
    let mut client = Client::connect_narrow(address);
    let mut count = 0;
    while count < REQUESTS {
        assert!(client.send_bytes(head.as_bytes()));
        if !(0..100).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            answered() > count
        }) {
            break;
        }
        count += 1;
        assert!(client.send_bytes(b"x"));
    }
    assert!((1..=ANSWERED_MAX).contains(&count), "{count} responses were made for a client that reads none");
    // A client that reads gets all responses.
    assert!((0..=count).all(|_| client.receive(true).status == 200));
}

/// A dictionary in which each of these syllables has many long entries, so that a hundred of them
/// fill megabytes.
fn words() -> String {
    const SYLLABLES: &str = "あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほまみむめもやゆよらりるれろわ";
    let mut words = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE JMdict [\n<!ENTITY n \"noun\">\n]>\n<!-- JMdict created: 2021-07-05 -->\n<JMdict>\n",
    );
    for (at, syllable) in SYLLABLES.chars().enumerate() {
        for number in 0..32 {
            let (number, gloss) = (1_000_000 + at * 100 + number, "long ".repeat(240));
            words += &format!(
                "<entry><ent_seq>{number}</ent_seq><r_ele><reb>{syllable}</reb></r_ele><sense><pos>&n;</pos><gloss>{number} {gloss}</gloss></sense></entry>\n"
            );
        }
    }
    words + "</JMdict>\n"
}

/// 3,000 such clients held 4.3 GB: a frame of megabytes was made before its client took the
/// preceding one, and was counted nowhere.
#[test]
fn clients_of_the_reader_that_read_nothing_hold_what_the_manual_says() {
    let directory = Directory::new("unread-reader");
    let (source, file) = (directory.0.join("words.xml"), directory.0.join("own.dictionary"));
    std::fs::write(&source, words()).unwrap();
    let (source, file) = (source.to_str().unwrap(), file.to_str().unwrap());
    let mut build = Program::start(&["gloss", "build", "--words", source, "--out", file], &[]);
    assert!(build.wait().success());
    let arguments = ["demo", "reader", "--data-dir", directory.path(), "--port", "0", "--dict", file];
    let mut program = Program::start(&arguments, &[STALL_TIMEOUT]);
    let (admin, address) = (admin(&mut program), program.address());
    let text = "かきくけこ".repeat(50);
    let body = json!({ "text": text }).to_string();
    let head = |accept: &str| {
        let length = body.len();
        format!(
            "POST /rpc/gloss HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAccept: {accept}\r\nContent-Length: {length}\r\n\r\n{body}"
        )
    };
    for (name, accept) in [("gloss as JSON", "application/json"), ("gloss as HTML", "text/html")] {
        let request = head(accept).into_bytes();
        Kind { name, request, status: 200, bytes_max: UNREAD_HANDLER_BYTES_MAX, clients: CLIENTS }
            .measure(&program, admin, address);
    }
    let text: String = "あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほ"
        .bytes()
        .map(|byte| format!("%{byte:02X}"))
        .collect();
    get("a page with a text", &format!("/text?text={text}"), "", UNREAD_PAGE_BYTES_MAX)
        .measure(&program, admin, address);
}

#[test]
fn clients_of_the_flight_book_that_read_nothing_hold_what_the_manual_says() {
    let directory = Directory::new("unread-book");
    let arguments = ["demo", "--data-dir", directory.path(), "--port", "0", "--flights", "30"];
    let mut program = Program::start(&arguments, &[STALL_TIMEOUT]);
    let (admin, address) = (admin(&mut program), program.address());
    let token = program.line("TOKEN=");
    let authorization = format!("Authorization: Bearer {}\r\n", token.trim().strip_prefix("TOKEN=").unwrap());
    // Only this many exports are made at a time, and the others are refused at once.
    let others = CLIENTS as u64 - EXPORTS;
    let all = EXPORTS * UNREAD_EXPORT_BYTES_MAX + others * UNREAD_HEAD_BYTES_MAX;
    let kind = get("an export", "/do/export.zip", &authorization, all / CLIENTS as u64);
    kind.measure(&program, admin, address);
}
