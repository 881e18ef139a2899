//! Everybody at once: clients who each do what has once stopped the server, and one who reads rows by key meanwhile.
//!
//! ```sh
//! TEST_PROGRAM=target/release/thalweg THALWEG_CROWD_OF_EACH_KIND=17 THALWEG_CROWD_SECONDS=60 cargo test --test process crowd
//! ```

use crate::program::Program;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use thalweg_testkit::{Client, Database};

/// What they may make the program take together, in bytes, whatever their number: bodies and answers that are held have bounds
/// for all of them (`docs/limits.md`).
const GROWTH_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// The longest that a row by key may take. Debug builds on busy machines are slow; what it must not do is to wait for others.
const SLOWEST: Duration = Duration::from_secs(8);
/// How long each rests between its requests: what is tried is what one of them costs, not how many bytes a machine can send itself.
const PAUSE: Duration = Duration::from_millis(50);
/// How much longer all go on for kinds that have not been done once.
const ACTED_WITHIN: Duration = Duration::from_secs(120);
/// How long each waits for a beginning of an answer, or to be listened to.
const PATIENCE: Duration = Duration::from_secs(20);

/// A number that may be said otherwise.
fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// What hostile clients share.
struct Crowd {
    address: SocketAddr,
    is_over: AtomicBool,
    bodies: Bodies,
    /// How often each kind has met with what.
    met: Mutex<BTreeMap<(&'static str, Met), usize>>,
}

/// What a client has met with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Met {
    /// An answer, which it was waiting for or has found before it was done.
    Answer(u16),
    /// It has done all that it wanted, and has left.
    Left,
    /// It could go on for as long as it liked.
    Patience,
    /// The end of its connection.
    Cut,
    /// Nothing for as long as it waited: processors that are busy with the rest of the crowd.
    Nothing,
}

/// A kind of hostile clients.
struct Kind {
    name: &'static str,
    act: fn(&Crowd, usize) -> std::io::Result<Met>,
    /// What they meet with: one of them at least with the first, or the kind does not do any more what it is here for. What comes
    /// with time is the rest.
    meets: &'static [Met],
}

const fn kind(name: &'static str, act: fn(&Crowd, usize) -> std::io::Result<Met>, meets: &'static [Met]) -> Kind {
    Kind { name, act, meets }
}

/// What takes long to make.
struct Bodies {
    keys: Vec<u8>,
    almost_boundaries: Vec<u8>,
    embeds: String,
    empty_fields: Vec<u8>,
    csv_header: Vec<u8>,
    spaces: Vec<u8>,
    space: Vec<u8>,
}

impl Bodies {
    fn new() -> Self {
        let keys: Vec<String> = (0..120_000).map(|at| format!("\"k{at}\":1")).collect();
        let embeds: Vec<String> = (0..2_900).map(|at| format!("a{at}:rows(id)")).collect();
        let almost_boundaries = [
            &b"--boundary\r\nContent-Disposition: form-data; name=a; filename=b\r\n\r\n"[..],
            // as many as sockets hold at once: a client that stands back takes long to send more
            &b"\r\n--boundar".repeat(10_000),
            b"\r\n--boundary--",
        ]
        .concat();
        let filters: Vec<String> = (0..1_000).map(|at| format!("&a{at}.id=eq.1")).collect();
        Self {
            keys: format!("{{{}}}", keys.join(",")).into_bytes(),
            almost_boundaries: [&almost_boundaries.chunks(10).flat_map(chunk).collect::<Vec<u8>>()[..], b"0\r\n\r\n"]
                .concat(),
            embeds: format!("/rows?select={}{}", embeds.join(","), filters.concat()),
            empty_fields: gzip(&b"=&".repeat(16_000_000)),
            csv_header: b"a,".repeat(8_000_000),
            spaces: gzip(&b" ".repeat(7_000_000)),
            space: gzip(b" "),
        }
    }
}

/// A piece of a body as a chunk of its own.
fn chunk(piece: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A large answer has its turn behind the others of its kind, or none in time.
const NO_TURN: Met = Met::Answer(504);

const KINDS: [Kind; 14] = [
    kind("reads nothing", reads_nothing, &[Met::Patience, Met::Cut, NO_TURN]),
    kind("asks and leaves", asks_and_leaves, &[Met::Left, NO_TURN]),
    kind("asks for a wide row and leaves", asks_for_a_wide_row_and_leaves, &[Met::Left, NO_TURN]),
    kind("reads slowly", reads_slowly, &[Met::Patience, NO_TURN]),
    kind("uploads slowly", uploads_slowly, &[Met::Patience, Met::Answer(408), NO_TURN]),
    kind("sends a compressed byte at times", sends_a_compressed_byte_at_times, &[Met::Patience, Met::Answer(408)]),
    kind("sends many keys", sends_many_keys, &[Met::Answer(413)]),
    kind("sends almost boundaries", sends_almost_boundaries, &[Met::Answer(404), Met::Answer(408)]),
    kind("embeds thousands", embeds_thousands, &[Met::Answer(400)]),
    kind("sends empty fields", sends_empty_fields, &[Met::Answer(413)]),
    kind("sends a wide header", sends_a_wide_header, &[Met::Answer(413)]),
    kind("sends single bytes", sends_single_bytes, &[Met::Left]),
    kind("sends its head slowly", sends_its_head_slowly, &[Met::Patience, Met::Cut]),
    kind("asks what fails", asks_what_fails, &[Met::Answer(400)]),
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
    let crowd = Arc::new(Crowd { address, is_over: AtomicBool::new(false), bodies, met: Mutex::default() });
    let clients: Vec<_> = (0..clients)
        .map(|at| {
            let crowd = crowd.clone();
            std::thread::spawn(move || {
                stand_back();
                let mut again = at;
                while !crowd.is_over.load(Ordering::Relaxed) {
                    crowd.act(&KINDS[at % KINDS.len()], again);
                    std::thread::sleep(PAUSE);
                    again += clients;
                }
            })
        })
        .collect();
    let (started, mut answered, mut slowest) = (Instant::now(), 0, Duration::ZERO);
    // on a machine that is busy with others until each kind has come to its turn
    while started.elapsed() < duration || !crowd.has_acted() && started.elapsed() < duration + ACTED_WITHIN {
        let id = answered % 40_000 + 1;
        let asked = Instant::now();
        let response = reader.request("GET", &format!("/rows?id=eq.{id}&select=id"), &[]);
        slowest = slowest.max(asked.elapsed());
        assert_eq!((response.status, response.text()), (200, &*format!("[{{\"id\":{id}}}]")));
        answered += 1;
    }
    crowd.is_over.store(true, Ordering::Relaxed);
    let growth = program.peak_bytes().saturating_sub(rest);
    println!("{answered} rows read, the slowest in {slowest:?}; {} KiB above rest", growth / 1024);
    assert!(answered >= 10, "{answered}");
    assert!(slowest < SLOWEST, "{slowest:?}");
    assert!(growth < GROWTH_BYTES_MAX, "{growth} bytes above rest");
    // those who are still at it are served until they have noticed
    clients.into_iter().for_each(|client| client.join().unwrap());
    let met = crowd.met.lock().unwrap();
    for (&(kind, met), times) in &*met {
        println!("{kind}: {met:?}, {times} times");
    }
    for Kind { name, meets, .. } in &KINDS {
        assert!(met.contains_key(&(name, meets[0])), "{name}: none has met with {:?}: {met:?}", meets[0]);
    }
    for (name, unmeant) in met.keys() {
        let meets = KINDS.iter().find(|kind| kind.name == *name).map_or(&[][..], |kind| kind.meets);
        assert!(
            meets.contains(unmeant) || *unmeant == Met::Nothing,
            "{name}: {unmeant:?} is not what it meets with: {met:?}"
        );
    }
}

/// Leaves the processors to the server: hundreds of clients on its own machine would take what it has by their number alone.
fn stand_back() {
    let thread = nix::unistd::gettid().to_string();
    let reniced = Command::new("renice").args(["-n", "19", "-p", &thread]).stdout(Stdio::null()).status();
    assert!(reniced.is_ok_and(|status| status.success()), "a thread's priority can be lowered");
}

impl Crowd {
    /// Whether each kind that comes to an end has met with what it is here for.
    fn has_acted(&self) -> bool {
        let met = self.met.lock().unwrap();
        let ends = |kind: &&Kind| kind.meets[0] != Met::Patience;
        KINDS.iter().filter(ends).all(|kind| met.contains_key(&(kind.name, kind.meets[0])))
    }

    /// Lets a client act, and notes what it has met with.
    fn act(&self, kind: &Kind, again: usize) {
        let begun = Instant::now();
        let met = (kind.act)(self, again).unwrap_or_else(|error| match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => Met::Nothing,
            // so late that it came to nothing itself: the server has given up a head, or a body, that did not come
            _ if begun.elapsed() > PATIENCE => Met::Nothing,
            _ => Met::Cut,
        });
        *self.met.lock().unwrap().entry((kind.name, met)).or_default() += 1;
    }

    fn connect(&self) -> std::io::Result<TcpStream> {
        let stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    fn post(&self, target: &str, headers: &str, body: &[u8]) -> std::io::Result<Met> {
        self.request("POST", target, headers, body)
    }

    /// A request of which the body is sent as fast as it is taken, and the beginning of the answer.
    fn request(&self, method: &str, target: &str, headers: &str, body: &[u8]) -> std::io::Result<Met> {
        let mut stream = self.begin(method, target, &format!("{headers}Content-Length: {}\r\n", body.len()))?;
        // who is answered before is not listened to
        let _ = stream.write_all(body);
        answer(&stream)
    }

    fn begin(&self, method: &str, target: &str, headers: &str) -> std::io::Result<TcpStream> {
        let mut stream = self.connect()?;
        stream.write_all(format!("{method} {target} HTTP/1.1\r\nHost: x\r\n{headers}\r\n").as_bytes())?;
        Ok(stream)
    }

    /// Asks for what is more than sockets hold, of which nothing has been read when it has begun.
    fn ask_for_much(&self, target: &str) -> std::io::Result<Result<TcpStream, Met>> {
        let stream = self.begin("GET", target, "")?;
        Ok(match answer(&stream)? {
            Met::Answer(200) => Ok(stream),
            other => Err(other),
        })
    }

    /// Does something ten times a second, for as long as it works.
    fn slowly(&self, mut act: impl FnMut() -> std::io::Result<()>) -> Option<Met> {
        while !self.is_over.load(Ordering::Relaxed) {
            act().ok()?;
            std::thread::sleep(Duration::from_millis(100));
        }
        Some(Met::Patience)
    }
}

/// The status of an answer, which stays where it is.
fn answer(stream: &TcpStream) -> std::io::Result<Met> {
    let (mut start, asked) = ([0; 12], Instant::now());
    loop {
        match stream.peek(&mut start)? {
            12 => break,
            0 => return Ok(Met::Cut),
            _ if asked.elapsed() > PATIENCE => return Err(ErrorKind::TimedOut.into()),
            _ => std::thread::sleep(Duration::from_millis(1)),
        }
    }
    let status = std::str::from_utf8(&start).ok().and_then(|text| text.strip_prefix("HTTP/1.1 ")?.parse().ok());
    status.map(Met::Answer).ok_or_else(|| ErrorKind::InvalidData.into())
}

fn reads_nothing(crowd: &Crowd, _: usize) -> std::io::Result<Met> {
    let stream = match crowd.ask_for_much("/rows")? {
        Ok(stream) => stream,
        Err(met) => return Ok(met),
    };
    Ok(crowd.slowly(|| stream.take_error()?.map_or(Ok(()), Err)).unwrap_or(Met::Cut))
}

fn asks_and_leaves(crowd: &Crowd, _: usize) -> std::io::Result<Met> {
    let asked = crowd.ask_for_much("/rows")?;
    std::thread::sleep(Duration::from_secs(3));
    Ok(asked.map_or_else(|met| met, |_| Met::Left))
}

fn asks_for_a_wide_row_and_leaves(crowd: &Crowd, _: usize) -> std::io::Result<Met> {
    let asked = crowd.ask_for_much("/wide?id=eq.1")?;
    std::thread::sleep(Duration::from_secs(3));
    Ok(asked.map_or_else(|met| met, |_| Met::Left))
}

fn reads_slowly(crowd: &Crowd, _: usize) -> std::io::Result<Met> {
    let mut stream = match crowd.ask_for_much("/rows")? {
        Ok(stream) => stream,
        Err(met) => return Ok(met),
    };
    let read = |stream: &mut TcpStream| match stream.read(&mut [0; 6 * 1024])? {
        0 => Err(ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    };
    Ok(crowd.slowly(|| read(&mut stream)).unwrap_or(Met::Cut))
}

fn uploads_slowly(crowd: &Crowd, _: usize) -> std::io::Result<Met> {
    let headers = "Content-Type: application/x-ndjson\r\nContent-Length: 50000000\r\n";
    let mut stream = crowd.begin("POST", "/uploads", headers)?;
    let line = format!("{{\"id\":1,\"filler\":\"{}\"}}\n", "x".repeat(1000));
    stream.write_all(line.repeat(1100).as_bytes())?;
    crowd.slowly(|| stream.write_all(line.repeat(2).as_bytes())).map_or_else(|| answer(&stream), Ok)
}

fn sends_a_compressed_byte_at_times(crowd: &Crowd, _: usize) -> std::io::Result<Met> {
    let headers = "Content-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: 1000000\r\n";
    let mut stream = crowd.begin("POST", "/rpc/nothing", headers)?;
    stream.write_all(&crowd.bodies.spaces)?;
    // another member of the same body
    crowd.slowly(|| stream.write_all(&crowd.bodies.space)).map_or_else(|| answer(&stream), Ok)
}

fn sends_many_keys(crowd: &Crowd, _: usize) -> std::io::Result<Met> {
    crowd.post("/nowhere", "Content-Type: application/json\r\n", &crowd.bodies.keys)
}

fn sends_almost_boundaries(crowd: &Crowd, _: usize) -> std::io::Result<Met> {
    let headers = "Content-Type: multipart/form-data; boundary=boundary\r\nTransfer-Encoding: chunked\r\n";
    let mut stream = crowd.begin("POST", "/nowhere", headers)?;
    let _ = stream.write_all(&crowd.bodies.almost_boundaries);
    answer(&stream)
}

fn embeds_thousands(crowd: &Crowd, _: usize) -> std::io::Result<Met> {
    crowd.request("GET", &crowd.bodies.embeds, "", b"")
}

fn sends_empty_fields(crowd: &Crowd, _: usize) -> std::io::Result<Met> {
    let headers = "Content-Type: application/x-www-form-urlencoded\r\nContent-Encoding: gzip\r\n";
    crowd.post("/nowhere", headers, &crowd.bodies.empty_fields)
}

fn sends_a_wide_header(crowd: &Crowd, _: usize) -> std::io::Result<Met> {
    crowd.post("/nowhere", "Content-Type: text/csv\r\n", &crowd.bodies.csv_header)
}

fn sends_single_bytes(crowd: &Crowd, _: usize) -> std::io::Result<Met> {
    let mut stream = crowd.begin("POST", "/rpc/nothing", "Content-Type: text/plain\r\nContent-Length: 1000000\r\n")?;
    for _ in 0..2_000 {
        stream.write_all(b"x")?;
        std::thread::sleep(Duration::from_millis(1));
    }
    stream.set_nonblocking(true)?;
    match answer(&stream) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(Met::Left),
        answered => answered,
    }
}

fn sends_its_head_slowly(crowd: &Crowd, _: usize) -> std::io::Result<Met> {
    let mut stream = crowd.connect()?;
    let mut head = b"GET /rows?id=eq.1 HTTP/1.1\r\nHost: ".iter().chain(std::iter::repeat(&b'x'));
    crowd.slowly(|| stream.write_all(&[*head.next().unwrap_or(&b'x')])).map_or_else(|| answer(&stream), Ok)
}

fn asks_what_fails(crowd: &Crowd, again: usize) -> std::io::Result<Met> {
    let target = format!("/rows?select=a{again}:id,b{again}:filler&id=eq.x");
    crowd.request("GET", &target, "Prefer: count=exact\r\n", b"")
}
