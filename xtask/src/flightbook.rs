//! The flight book as its pilots use it: pages of a list of 10,000 flights, tracks of a megabyte taken over, 200 pilots at once.

use crate::bench::{Server, build, free_port, keep_run, machine, postmaster, sql, start_cluster, wait_for};
use crate::measure::{cpu_seconds, cpu_seconds_below, peak_bytes, resident_bytes, wrk};
use crate::{Outcome, cargo, root};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use thalweg_embedded_postgres::Cluster;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// How long each page is asked for
    #[arg(long, default_value_t = 3)]
    seconds: u32,
    /// How long 200 pilots use the book
    #[arg(long, default_value_t = 60)]
    pilots_seconds: u32,
    /// How many tracks are sent one after the other
    #[arg(long, default_value_t = 30)]
    tracks: u32,
    /// What the run is called; the date stands before it
    #[arg(long, default_value = "flightbook")]
    name: String,
}

const PASSWORD: &str = "over the ridge at noon";
const SECRET: &str = "thermals-over-the-ridge-at-noon!";
const PILOTS: u32 = 200;
const MIB: f64 = (1 << 20) as f64;
const PAGES: [(&str, &str); 8] = [
    ("the first page", "/flights"),
    ("the second", "/flights?page=2"),
    ("in the middle", "/flights?page=100"),
    ("the last", "/flights?page=200"),
    ("oldest first, the last", "/flights?sort=date,number,id&page=200"),
    ("farthest first, the last", "/flights?sort=track_distance.desc.nullslast,number.desc,id.desc&page=200"),
    ("of a year, the second", "/flights?year=2015&page=2"),
    ("with a word in its comment", "/flights?q=ridge"),
];
/// What a database is when the pages are asked for, and how it becomes so.
const STATES: [(&str, &[&str]); 3] = [
    ("never analysed", &["checkpoint"]),
    ("vacuumed and analysed", &["vacuum analyze", "checkpoint"]),
    (
        "with tracks of 50 KB in the table of flights",
        &[
            "alter table flightbook.flights add column igc bytea",
            "alter table flightbook.flights alter column igc set storage external",
            "update flightbook.flights set igc = convert_to(repeat(md5(id::text), 1600), 'LATIN1') where pilot_id = 1",
            "vacuum analyze",
            "checkpoint",
        ],
    ),
];

/// The flight book that is served, and its database's processes.
struct Book {
    server: Server,
    postmaster: u32,
    cookie: String,
}

pub(crate) fn run(options: &Options) -> Outcome {
    build(&["thalweg-flightbook"])?;
    let (cluster, data_dir) = start_cluster(&[("max_connections", "100")])?;
    let tracks = data_dir.join("tracks");
    make_tracks(&tracks, options.tracks)?;
    let mut text = String::new();
    {
        let mut book = start(&cluster, postmaster(&data_dir)?, &data_dir)?;
        register(&mut book)?;
        println!("{} tracks", options.tracks);
        text += &uploads(&book, &tracks)?;
        println!("10,000 flights of one pilot, and 300 of each of {PILOTS} others");
        sql(&cluster, "postgres", &[&fs::read_to_string(root().join("bench/flightbook/book.sql"))?])?;
        text += "## Pages of 10,000 flights\n\nMilliseconds a page, of one visitor who asks for it again and again; CPU of the server + of PostgreSQL.\n\n\
                 | | page | ms | CPU |\n|---|---|---|---|\n";
        for (state, scripts) in STATES {
            sql(&cluster, "postgres", scripts)?;
            for (what, path) in PAGES {
                text += &page(options, &book, state, what, path)?;
            }
        }
        sql(
            &cluster,
            "postgres",
            &["alter table flightbook.flights drop column igc", "vacuum full flightbook.flights", "analyze"],
        )?;
        text += &pilots(options, &book, &tracks)?;
    }
    let machine = machine(cluster.major_version(), 1, options.seconds);
    cluster.stop()?;
    fs::remove_dir_all(&data_dir)?;
    let text = format!(
        "# The flight book\n\n`cargo xtask bench-flightbook`, {machine}. `apps/flightbook` as it is, over HTTP.\n\n{text}"
    );
    keep_run(&options.name, &text, None)
}

fn make_tracks(folder: &Path, count: u32) -> Outcome {
    let example = ["run", "-p", "thalweg-flightbook", "--example", "tracks", "--"];
    let made = cargo(&example).arg(folder).arg(count.to_string()).stdout(Stdio::null()).status()?;
    if made.success() { Ok(()) } else { Err("no tracks are made".into()) }
}

fn start(cluster: &Cluster, postmaster: u32, data_dir: &Path) -> Outcome<Book> {
    let port = free_port()?;
    let log = fs::File::create(data_dir.join("flightbook.log"))?;
    let process = Command::new(root().join("target/release/flightbook"))
        .args(["serve", "apps/flightbook"])
        .current_dir(root())
        .env("THALWEG_DB_URI", cluster.uri("postgres"))
        .env("THALWEG_JWT_SECRET", SECRET)
        .env("THALWEG_SERVER_PORT", port.to_string())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()?;
    let server = Server { name: "flightbook", port, process };
    wait_for(std::slice::from_ref(&server))?;
    std::thread::sleep(std::time::Duration::from_secs(1));
    Ok(Book { server, postmaster, cookie: String::new() })
}

impl Book {
    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.server.port)
    }

    /// CPU seconds so far: of the server, of PostgreSQL's backends.
    fn cpu(&self) -> (f64, f64) {
        (cpu_seconds(&[self.server.process.id()]), cpu_seconds_below(self.postmaster))
    }

    /// Sends a form, and returns the head of the answer.
    fn submit(&self, path: &str, fields: &[&str]) -> Outcome<String> {
        let url = self.url(path);
        let mut curl = Command::new("curl");
        curl.args(["-sS", "-o", "/dev/null", "-D", "-", "-H", &format!("Origin: {}", self.url(""))]);
        curl.args(["-H", &format!("Cookie: {}", self.cookie)]).args(fields).arg(url);
        let output = curl.output()?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

fn register(book: &mut Book) -> Outcome {
    let password = format!("password={PASSWORD}");
    let fields = ["--data-urlencode", "name=Ann", "--data-urlencode", "email=ann@club.example", "--data-urlencode"];
    let head = book.submit("/do/register", &[&fields[..], &[&password]].concat())?;
    let cookie = header(&head, "set-cookie: ").and_then(|cookie| cookie.split(';').next());
    book.cookie = cookie.ok_or_else(|| format!("no session: {head}"))?.to_owned();
    Ok(())
}

/// Sends tracks one by one, each of which is new.
fn uploads(book: &Book, tracks: &Path) -> Outcome<String> {
    let mut files: Vec<PathBuf> = fs::read_dir(tracks)?.map(|entry| Ok(entry?.path())).collect::<Outcome<_>>()?;
    files.sort();
    let mut bytes = 0;
    resident_bytes(book.server.process.id());
    let before = book.cpu();
    for file in &files {
        bytes += fs::metadata(file)?.len();
        let head = book.submit("/do/tracks", &["-F", &format!("igc=@{}", file.display())])?;
        match header(&head, "location: ") {
            Some(location) if location.starts_with("/flights/") && !location.contains("problem") => {}
            _ => return Err(format!("{} is not taken over: {head}", file.display()).into()),
        }
    }
    let after = book.cpu();
    let (count, megabytes) = (files.len() as f64, bytes as f64 / 1e6);
    let ms = |after: f64, before: f64| (after - before) * 1000.0 / megabytes;
    Ok(format!(
        "## Tracks taken over\n\n{count} tracks of {:.2} MB on average, made up, with a fix a second, each read, scored and stored: {:.0} ms of CPU a \
         megabyte in the server and {:.0} ms in PostgreSQL; {:.0} MiB at the peak.\n\n",
        megabytes / count,
        ms(after.0, before.0),
        ms(after.1, before.1),
        peak_bytes(book.server.process.id()) as f64 / MIB,
    ))
}

fn page(options: &Options, book: &Book, state: &str, what: &str, path: &str) -> Outcome<String> {
    let (url, header) = (book.url(path), format!("Cookie: {}", book.cookie));
    wrk(&url, Some(&header), 1, 1)?;
    let before = book.cpu();
    let (rate, requests) = wrk(&url, Some(&header), 1, options.seconds)?;
    let after = book.cpu();
    let (ms, cpu) = (1000.0 / rate, |after: f64, before: f64| (after - before) * 1000.0 / requests);
    println!("{state} · {what} · {ms:.2} ms");
    Ok(format!("| {state} | {what} | {ms:.2} | {:.2} + {:.2} |\n", cpu(after.0, before.0), cpu(after.1, before.1)))
}

/// So many pilots at once, by locust.
fn pilots(options: &Options, book: &Book, tracks: &Path) -> Outcome<String> {
    println!("{PILOTS} pilots");
    let process = book.server.process.id();
    let idle = resident_bytes(process);
    let (before, seconds) = (book.cpu(), options.pilots_seconds);
    let output = Command::new("locust")
        .args(["-f", "bench/flightbook/pilots.py", "--headless", "--json", "--only-summary", "--host", &book.url("")])
        .args(["-u", &PILOTS.to_string(), "-r", "10", "-t", &format!("{}s", seconds + PILOTS / 10)])
        .current_dir(root())
        .env("FLIGHTBOOK_PASSWORD", PASSWORD)
        .env("FLIGHTBOOK_TRACKS", tracks)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|cause| format!("locust cannot be run ({cause}): pip install locust"))?;
    let after = book.cpu();
    let requests: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout)?;
    let mut text = format!(
        "\n## {PILOTS} pilots at once\n\nFor {seconds} s after the last of them has signed in (`bench/flightbook/pilots.py`); locust takes of the same two cores. \
         Milliseconds.\n\n| | requests | failures | median | p99 | longest |\n|---|---|---|---|---|---|\n"
    );
    for request in &requests {
        let number = |name: &str| request[name].as_f64().unwrap_or_default();
        let times = Times::of(&request["response_times"]);
        let _ = writeln!(
            text,
            "| {} {} | {} | {} | {} | {} | {:.0} |",
            request["method"].as_str().unwrap_or_default(),
            request["name"].as_str().unwrap_or_default(),
            number("num_requests"),
            number("num_failures"),
            times.at(0.5),
            times.at(0.99),
            number("max_response_time"),
        );
    }
    let _ = writeln!(
        text,
        "\nThe server had {:.0} MiB before, {:.0} MiB at the peak and {:.0} MiB after; CPU {:.1} s, and PostgreSQL {:.1} s.",
        idle as f64 / MIB,
        peak_bytes(process) as f64 / MIB,
        resident_bytes(process) as f64 / MIB,
        after.0 - before.0,
        after.1 - before.1,
    );
    Ok(text)
}

/// How often each time has been taken, in milliseconds.
struct Times(Vec<(u64, u64)>);

impl Times {
    fn of(counts: &serde_json::Value) -> Self {
        let counts = counts.as_object().into_iter().flatten();
        let mut times: Vec<(u64, u64)> =
            counts.filter_map(|(time, count)| Some((time.parse::<f64>().ok()? as u64, count.as_u64()?))).collect();
        times.sort_unstable();
        Self(times)
    }

    /// The time that this part of all have not exceeded.
    fn at(&self, part: f64) -> u64 {
        let all: u64 = self.0.iter().map(|(_, count)| count).sum();
        let mut left = (all as f64 * part).ceil() as u64;
        for &(time, count) in &self.0 {
            if left <= count {
                return time;
            }
            left -= count;
        }
        self.0.last().map_or(0, |&(time, _)| time)
    }
}
