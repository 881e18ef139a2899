//! Everybody at once: clients who each do what has once stopped the server, and one who reads rows by key meanwhile.
//!
//! ```sh
//! TEST_PROGRAM=target/release/thalweg THALWEG_CROWD_OF_EACH_KIND=17 THALWEG_CROWD_SECONDS=60 cargo test --test process crowd
//! ```

use crate::program::Program;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use thalweg_testkit::{Client, Database};

/// What they may make the program take together, in bytes, whatever their number: bodies and answers that are held have bounds
/// for all of them (`docs/limits.md`).
const GROWTH_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// The longest that a row by key may take. Debug builds on busy machines are slow; what it must not do is to wait for others.
const SLOWEST: Duration = Duration::from_secs(8);
/// How long each rests between its requests: what is tried is what one of them costs, not how many bytes a machine can send itself.
const PAUSE: Duration = Duration::from_millis(50);

/// A number that may be said otherwise.
fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// What hostile clients share.
struct Crowd {
    address: SocketAddr,
    is_over: AtomicBool,
    requests: AtomicUsize,
    bodies: Bodies,
}

/// What takes long to make.
struct Bodies {
    keys: Vec<u8>,
    almost_boundaries: Vec<u8>,
    embeds: String,
    empty_fields: Vec<u8>,
    csv_header: Vec<u8>,
    spaces: Vec<u8>,
}

impl Bodies {
    fn new() -> Self {
        let keys: Vec<String> = (0..120_000).map(|at| format!("\"k{at}\":1")).collect();
        let embeds: Vec<String> = (0..2_900).map(|at| format!("a{at}:rows(id)")).collect();
        let filters: Vec<String> = (0..1_000).map(|at| format!("&a{at}.id=eq.1")).collect();
        Self {
            keys: format!("{{{}}}", keys.join(",")).into_bytes(),
            almost_boundaries: b"\r\n--boundar".repeat(100_000),
            embeds: format!("/rows?select={}{}", embeds.join(","), filters.concat()),
            empty_fields: gzip(&b"&".repeat(32_000_000)),
            csv_header: b"a,".repeat(8_000_000),
            spaces: gzip(&b" ".repeat(7_000_000)),
        }
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

type Kind = fn(&Crowd, usize) -> std::io::Result<()>;

const KINDS: [Kind; 14] = [
    reads_nothing,
    asks_and_leaves,
    asks_for_a_wide_row_and_leaves,
    reads_slowly,
    uploads_slowly,
    sends_a_compressed_byte_at_times,
    sends_many_keys,
    sends_almost_boundaries,
    embeds_thousands,
    sends_empty_fields,
    sends_a_wide_header,
    sends_single_bytes,
    sends_its_head_slowly,
    asks_what_fails,
];

#[test]
fn rows_are_read_while_everybody_misbehaves() {
    let database = Database::new(
        "create schema api;
         create table api.rows as select i as id, repeat('x', 1000) as filler from generate_series(1, 40000) i;
         alter table api.rows add primary key (id);
         create table api.wide as select i as id, string_agg(md5(i::text || j), '') as filler
           from generate_series(1, 3) i, generate_series(1, 300000) j group by i;
         alter table api.wide add primary key (id);
         create table api.uploads (id int, filler text);",
    );
    let mut program = Program::serve(&database.uri());
    let address = program.address();
    let bodies = Bodies::new();
    let mut reader = Client::connect(address);
    assert_eq!(reader.request("GET", "/rows?id=eq.1", &[]).status, 200);
    program.forget_peak();
    let rest = program.peak_bytes();
    let clients = KINDS.len() * number("THALWEG_CROWD_OF_EACH_KIND", 2);
    let duration = Duration::from_secs(number("THALWEG_CROWD_SECONDS", 10) as u64);
    let (is_over, requests) = (AtomicBool::new(false), AtomicUsize::new(0));
    let crowd = Arc::new(Crowd { address, is_over, requests, bodies });
    let clients: Vec<_> = (0..clients)
        .map(|at| {
            let crowd = crowd.clone();
            std::thread::spawn(move || {
                stand_back();
                let mut again = at;
                while !crowd.is_over.load(Ordering::Relaxed) {
                    // what the server does to them is what it should do
                    let _ = KINDS[at % KINDS.len()](&crowd, again);
                    std::thread::sleep(PAUSE);
                    again += clients;
                }
            })
        })
        .collect();
    let (started, mut answered, mut slowest) = (Instant::now(), 0, Duration::ZERO);
    while started.elapsed() < duration {
        let id = answered % 40_000 + 1;
        let asked = Instant::now();
        let response = reader.request("GET", &format!("/rows?id=eq.{id}&select=id"), &[]);
        slowest = slowest.max(asked.elapsed());
        assert_eq!((response.status, response.text()), (200, &*format!("[{{\"id\":{id}}}]")));
        answered += 1;
    }
    crowd.is_over.store(true, Ordering::Relaxed);
    let growth = program.peak_bytes().saturating_sub(rest);
    let requests = crowd.requests.load(Ordering::Relaxed);
    println!(
        "{answered} rows read, the slowest in {slowest:?}, beside {requests} requests; {} KiB above rest",
        growth / 1024
    );
    assert!(answered >= 10, "{answered}");
    assert!(requests >= 10, "{requests}");
    assert!(slowest < SLOWEST, "{slowest:?}");
    assert!(growth < GROWTH_BYTES_MAX, "{growth} bytes above rest");
    drop(program);
    clients.into_iter().for_each(|client| client.join().unwrap());
}

/// Leaves the processors to the server: hundreds of clients on its own machine would take what it has by their number alone.
fn stand_back() {
    let thread = nix::unistd::gettid().to_string();
    let reniced = Command::new("renice").args(["-n", "19", "-p", &thread]).stdout(Stdio::null()).status();
    assert!(reniced.is_ok_and(|status| status.success()), "a thread's priority can be lowered");
}

impl Crowd {
    fn connect(&self) -> std::io::Result<TcpStream> {
        let stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.set_write_timeout(Some(Duration::from_secs(5)))?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    fn post(&self, target: &str, headers: &str, body: &[u8]) -> std::io::Result<()> {
        self.request("POST", target, headers, body)
    }

    /// A request of which the body is sent as fast as it is taken, and the beginning of the answer.
    fn request(&self, method: &str, target: &str, headers: &str, body: &[u8]) -> std::io::Result<()> {
        let mut stream = self.begin(method, target, &format!("{headers}Content-Length: {}\r\n", body.len()))?;
        let _ = stream.write_all(body);
        self.answer(&mut stream)
    }

    fn begin(&self, method: &str, target: &str, headers: &str) -> std::io::Result<TcpStream> {
        let mut stream = self.connect()?;
        write!(stream, "{method} {target} HTTP/1.1\r\nHost: x\r\n{headers}\r\n")?;
        Ok(stream)
    }

    fn answer(&self, stream: &mut TcpStream) -> std::io::Result<()> {
        stream.read_exact(&mut [0; 12])?;
        self.requests.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Does something ten times a second, for as long as it works.
    fn slowly(&self, mut act: impl FnMut() -> std::io::Result<()>) -> std::io::Result<()> {
        while !self.is_over.load(Ordering::Relaxed) {
            act()?;
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }
}

fn reads_nothing(crowd: &Crowd, _: usize) -> std::io::Result<()> {
    let stream = crowd.begin("GET", "/rows", "")?;
    crowd.slowly(|| stream.take_error().map(|_| ()))
}

fn asks_and_leaves(crowd: &Crowd, _: usize) -> std::io::Result<()> {
    let _asked = crowd.begin("GET", "/rows", "")?;
    std::thread::sleep(Duration::from_secs(3));
    Ok(())
}

fn asks_for_a_wide_row_and_leaves(crowd: &Crowd, _: usize) -> std::io::Result<()> {
    let _asked = crowd.begin("GET", "/wide?id=eq.1", "")?;
    std::thread::sleep(Duration::from_secs(3));
    Ok(())
}

fn reads_slowly(crowd: &Crowd, _: usize) -> std::io::Result<()> {
    let mut stream = crowd.begin("GET", "/rows", "")?;
    crowd.slowly(|| match stream.read(&mut [0; 6 * 1024])? {
        0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    })
}

fn uploads_slowly(crowd: &Crowd, _: usize) -> std::io::Result<()> {
    let headers = "Content-Type: application/x-ndjson\r\nContent-Length: 50000000\r\n";
    let mut stream = crowd.begin("POST", "/uploads", headers)?;
    let line = format!("{{\"id\":1,\"filler\":\"{}\"}}\n", "x".repeat(1000));
    stream.write_all(line.repeat(1100).as_bytes())?;
    crowd.slowly(|| stream.write_all(line.repeat(2).as_bytes()))
}

fn sends_a_compressed_byte_at_times(crowd: &Crowd, _: usize) -> std::io::Result<()> {
    let headers = "Content-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: 1000000\r\n";
    let mut stream = crowd.begin("POST", "/rpc/nothing", headers)?;
    stream.write_all(&crowd.bodies.spaces[..crowd.bodies.spaces.len() - 100])?;
    crowd.slowly(|| stream.write_all(&[0]))
}

fn sends_many_keys(crowd: &Crowd, _: usize) -> std::io::Result<()> {
    crowd.post("/nowhere", "Content-Type: application/json\r\n", &crowd.bodies.keys)
}

fn sends_almost_boundaries(crowd: &Crowd, _: usize) -> std::io::Result<()> {
    let headers = "Content-Type: multipart/form-data; boundary=boundary\r\nTransfer-Encoding: chunked\r\n";
    let mut stream = crowd.begin("POST", "/nowhere", headers)?;
    let pieces: Vec<u8> =
        crowd.bodies.almost_boundaries.chunks(10).flat_map(|piece| [b"a\r\n", piece, b"\r\n"].concat()).collect();
    let _ = stream.write_all(&pieces);
    let _ = stream.write_all(b"0\r\n\r\n");
    crowd.answer(&mut stream)
}

fn embeds_thousands(crowd: &Crowd, _: usize) -> std::io::Result<()> {
    crowd.request("GET", &crowd.bodies.embeds, "", b"")
}

fn sends_empty_fields(crowd: &Crowd, _: usize) -> std::io::Result<()> {
    let headers = "Content-Type: application/x-www-form-urlencoded\r\nContent-Encoding: gzip\r\n";
    crowd.post("/nowhere", headers, &crowd.bodies.empty_fields)
}

fn sends_a_wide_header(crowd: &Crowd, _: usize) -> std::io::Result<()> {
    crowd.post("/nowhere", "Content-Type: text/csv\r\n", &crowd.bodies.csv_header)
}

fn sends_single_bytes(crowd: &Crowd, _: usize) -> std::io::Result<()> {
    let mut stream = crowd.begin("POST", "/rpc/nothing", "Content-Type: text/plain\r\nContent-Length: 1000000\r\n")?;
    for _ in 0..2_000 {
        stream.write_all(b"x")?;
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

fn sends_its_head_slowly(crowd: &Crowd, _: usize) -> std::io::Result<()> {
    let mut stream = crowd.connect()?;
    let mut head = b"GET /rows?id=eq.1 HTTP/1.1\r\nHost: ".iter().chain(std::iter::repeat(&b'x'));
    crowd.slowly(|| stream.write_all(&[*head.next().unwrap_or(&b'x')]))
}

fn asks_what_fails(crowd: &Crowd, again: usize) -> std::io::Result<()> {
    let target = format!("/rows?select=a{again}:id,b{again}:filler&id=eq.x");
    crowd.request("GET", &target, "Prefer: count=exact\r\n", b"")
}
