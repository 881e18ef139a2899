//! How much memory the program takes, at its peak.

use crate::program::{Program, get};
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use thalweg_testkit::{Client, Database};

/// What a large export takes beyond what the program takes at rest.
#[test]
fn an_export_takes_little_memory() {
    const GROWTH_BYTES_MAX: u64 = 16 * 1024 * 1024;
    let database = Database::new(
        "create schema api;
         create view api.listens as select i as id, i % 59 as customer_id, i % 3503 as track_id, 'kitchen radio' as device,
           timestamptz '2024-01-01' + i * interval '13.37 s' as at, (i % 30000) / 100.0 as seconds, i % 7 = 0 as paid
         from generate_series(1, 2000000) i;
         create function api.all_listens() returns table (id int, device text) language sql stable
           as $$ select id, device from api.listens $$;
         create table api.customers as select i as id, 'customer ' || i as name from generate_series(1, 50000) i;
         create table api.plays as select i as id, i % 50000 + 1 as customer_id, 'kitchen radio' as device, i * 1.5 as seconds
           from generate_series(1, 1000000) i;
         alter table api.customers add primary key (id);
         alter table api.plays add primary key (id), add foreign key (customer_id) references api.customers;
         create index on api.plays (customer_id);
         analyze;",
    );
    let mut program = Program::serve(&database.uri());
    let address = program.address();
    get(address, "/listens?limit=1");
    let rest = program.peak_bytes();
    for (path, accept) in [
        ("/listens", "application/json"),
        ("/listens", "text/csv"),
        ("/listens", "application/vnd.pgrst.array;nulls=stripped"),
        ("/rpc/all_listens", "application/json"),
        ("/customers?select=*,plays(*)", "application/json"),
        ("/plays?select=*,...customers(*)", "application/json"),
        ("/customers?select=*,...plays(id,device,seconds)", "application/json"),
    ] {
        let output = Command::new("curl")
            .args(["-sS", "-o", "/dev/null", "-w", "%{size_download} %{http_code}", "-H", &format!("Accept: {accept}")])
            .arg(format!("http://{address}{path}"))
            .output()
            .expect("curl runs");
        let text = String::from_utf8(output.stdout).unwrap();
        let (size, status) = text.split_once(' ').unwrap();
        assert_eq!(status, "200");
        assert!(size.parse::<u64>().unwrap() > 30_000_000, "{path}: {size}");
        // the kernel's figure is a little behind at times
        let growth = program.peak_bytes().saturating_sub(rest);
        println!("{path} as {accept}: {size} bytes took {} KiB above rest", growth / 1024);
        assert!(growth <= GROWTH_BYTES_MAX, "{path}: {growth} bytes above rest");
    }
}

/// A body that is made while it is sent: a head, rows, an end.
struct Sent<'a> {
    method: &'a str,
    target: &'a str,
    content_type: &'a str,
    head: Vec<u8>,
    piece: Vec<u8>,
    pieces: usize,
    end: Vec<u8>,
}

impl Sent<'_> {
    fn size_bytes(&self) -> usize {
        self.head.len() + self.piece.len() * self.pieces + self.end.len()
    }

    fn send(&self, address: SocketAddr) {
        let mut client = Client::connect(address);
        let length = self.size_bytes().to_string();
        client.send(self.method, self.target, &[("Content-Type", self.content_type), ("Content-Length", &length)]);
        assert!(client.send_bytes(&self.head));
        // what is sent at a time
        let at_once = (64 * 1024 / self.piece.len()).max(1);
        let block = self.piece.repeat(at_once);
        for _ in 0..self.pieces / at_once {
            assert!(client.send_bytes(&block), "{}: {}", self.target, client.receive(false).text());
        }
        client.send_bytes(&self.piece.repeat(self.pieces % at_once));
        client.send_bytes(&self.end);
        let response = client.receive(false);
        assert!([200, 201, 204].contains(&response.status), "{}: {}", self.target, response.text());
    }
}

/// What bodies take beyond what the program takes at rest: a value its own size, rows that flow next to nothing.
#[test]
fn bodies_take_little_memory() {
    const FLOWING_BYTES_MAX: u64 = 16 * 1024 * 1024;
    const BESIDE_A_VALUE_BYTES_MAX: u64 = 6_000_000;
    let database = Database::new(
        "create schema api;
         create unlogged table api.rows (id int, name text, note text);
         create unlogged table api.docs (id int primary key, doc jsonb, data bytea, t text);
         alter table api.docs alter column doc set storage external, alter column t set storage external;
         insert into api.docs values (0);
         create function api.size_of(t text) returns int language sql as 'select length(t)';",
    );
    let mut program = Program::serve(&database.uri());
    let address = program.address();
    get(address, "/rows?limit=1");
    let rest = program.peak_bytes();
    let growth = |what: &str, growth_max: u64| {
        let growth = program.peak_bytes().saturating_sub(rest);
        println!("{what}: {} KiB above rest", growth / 1024);
        assert!(growth <= growth_max, "{what}: {growth} bytes above rest, at most {growth_max} wanted");
    };
    let bytes = |text: &str| text.as_bytes().to_vec();
    let object = r#"{"id":1,"name":"a small object","note":"quite short"}"#;
    for rows in [1_000, 10_000, 100_000, 2_000_000] {
        program.forget_peak();
        let piece = bytes(&format!(",{object}"));
        let head = bytes(&format!("[{object}"));
        let end = bytes("]");
        let json = "application/json";
        Sent { method: "POST", target: "/rows", content_type: json, head, piece, pieces: rows - 1, end }.send(address);
        growth(&format!("array of {rows} objects"), FLOWING_BYTES_MAX);
        assert_eq!(database.value("select count(*) from api.rows"), rows.to_string());
        database.execute("truncate api.rows");
    }
    let note = "x".repeat(950);
    let line = bytes(&format!("{{\"id\":1,\"name\":\"line\",\"note\":\"{note}\"}}\n"));
    let record = bytes(&format!("1,line,\"{note}\"\n"));
    for (content_type, head, piece) in
        [("application/x-ndjson", Vec::new(), line), ("text/csv", bytes("id,name,note\n"), record)]
    {
        program.forget_peak();
        let pieces = (1 << 30) / piece.len() + 1;
        let sent = Sent { method: "POST", target: "/rows", content_type, head, piece, pieces, end: Vec::new() };
        assert!(sent.size_bytes() >= 1 << 30);
        sent.send(address);
        growth(&format!("1 GiB as {content_type}"), FLOWING_BYTES_MAX);
        assert_eq!(database.value("select count(*) from api.rows"), pieces.to_string());
        database.execute("truncate api.rows");
    }
    for size in [1_000_000, 10_000_000, 50_000_000] {
        for (method, target, head, end) in [
            ("POST", "/docs", "{\"id\":1,\"t\":\"", "\"}"),
            ("POST", "/docs", "{\"id\":2,\"doc\":{\"key\":\"", "\"}}"),
            ("POST", "/rpc/size_of", "{\"t\":\"", "\"}"),
            ("PATCH", "/docs?id=eq.0", "{\"doc\":{\"key\":\"", "\"}}"),
            ("PATCH", "/docs?id=eq.0", "{\"t\":\"", "\"}"),
        ] {
            program.forget_peak();
            let (piece, pieces) = (vec![b'v'; 1_000], size / 1_000);
            let json = "application/json";
            Sent { method, target, content_type: json, head: bytes(head), piece, pieces, end: bytes(end) }
                .send(address);
            growth(&format!("{size} bytes by {method} {target} {head}"), size as u64 + BESIDE_A_VALUE_BYTES_MAX);
        }
        let sizes = "select max(length(t)) || ' ' || max(length(doc->>'key')) from api.docs";
        assert_eq!(database.value(sizes), format!("{size} {size}"));
        database.execute("delete from api.docs where id > 0");
    }
    program.forget_peak();
    let part = |name: &str, rest: &str| format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"{rest}\r\n\r\n");
    let head = bytes(&format!("{}5\r\n{}", part("id", ""), part("data", "; filename=\"f\"")));
    let (piece, pieces) = ((0..=255).cycle().take(64_000).collect(), 1_000);
    let content_type = "multipart/form-data; boundary=b";
    Sent { method: "POST", target: "/docs", content_type, head, piece, pieces, end: bytes("\r\n--b--\r\n") }
        .send(address);
    growth("a file of 64 MB by multipart", 64_000_000 + BESIDE_A_VALUE_BYTES_MAX);
    program.forget_peak();
    let mut client = Client::connect(address);
    let file = client.request("GET", "/docs?id=eq.5&select=data", &[("Accept", "application/octet-stream")]);
    assert_eq!((file.status, file.whole, file.body.len()), (200, true, 64_000_000));
    growth("its download", FLOWING_BYTES_MAX);
}

/// A body of which each byte came in a segment of its own pinned a buffer for each: 158 KB held 603 MB. And what is made of a
/// body was not bounded, such as 32 million fields of a form.
#[test]
fn bodies_that_would_take_much_memory_take_little() {
    const GROWTH_BYTES_MAX: u64 = 8 * 1024 * 1024;
    let database = Database::new("create schema api; create table api.rows (id int, name text);");
    let mut program = Program::serve(&database.uri());
    let address = program.address();
    get(address, "/rows?limit=1");
    let rest = program.peak_bytes();
    let growth = |what: &str| {
        let growth = program.peak_bytes().saturating_sub(rest);
        println!("{what}: {} KiB above rest", growth / 1024);
        assert!(growth <= GROWTH_BYTES_MAX, "{what}: {growth} bytes above rest");
    };
    let body = format!("{{\"id\":1,\"name\":\"{}\"}}", "x".repeat(200_000));
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    write!(stream, "POST /rows HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", body.len()).unwrap();
    for byte in body.as_bytes() {
        stream.write_all(std::slice::from_ref(byte)).unwrap();
    }
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line).unwrap();
    assert!(line.starts_with("HTTP/1.1 201 "), "{line}");
    growth("a body of single bytes");
    let keys: Vec<String> = (0..1_000_000).map(|at| format!("\"k{at}\":1")).collect();
    for (what, content_type, body) in [
        ("a form of 16 million fields", "application/x-www-form-urlencoded", "=&".repeat(16_000_000)),
        ("a header of 16 million columns", "text/csv", ",".repeat(16_000_000)),
        ("an object of a million keys", "application/json", format!("{{{}}}", keys.join(","))),
    ] {
        program.forget_peak();
        let headers = [("Content-Type", content_type)];
        let response = Client::connect(address).request_with("POST", "/rows", &headers, body.as_bytes());
        assert_eq!(response.status, 413, "{what}: {}", response.text());
        growth(what);
    }
}
