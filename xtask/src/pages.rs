//! A page of 200 flights: Thalweg beside the same page by hand, as it was and as it was fixed, and beside itself with tracks of other
//! sizes; in turns.

use crate::bench::{Server, build, free_port, keep_run, machine, postmaster, sql, start_cluster, wait_for};
use crate::measure::{children, cpu_seconds, median, peak_bytes, resident_bytes, wrk};
use crate::{Outcome, root};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::process::{Command, Stdio};
use thalweg_embedded_postgres::Cluster;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// How often each workload is run
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// How long each of them takes
    #[arg(long, default_value_t = 4)]
    seconds: u32,
    /// How long those of the old design take, whose pages take seconds
    #[arg(long, default_value_t = 30)]
    old_seconds: u32,
    /// What the run is called; the date stands before it
    #[arg(long, default_value = "pages")]
    name: String,
}

/// Who serves the page, from which database, and where.
struct Design {
    name: &'static str,
    program: &'static str,
    database: &'static str,
    path: &'static str,
    pool: u32,
}

/// A database for each size of tracks.
const DATABASES: [(&str, u32); 3] = [("small", 1_000), ("middle", 500_000), ("large", 5_000_000)];
const FIXED: &str = "fixed";
const OLD: &str = "old";
const MIDDLE: &str = "Thalweg, 500 KB";
const DESIGNS: [Design; 5] = [
    Design { name: "Thalweg, 1 KB", program: "thalweg", database: "small", path: "/flights", pool: 10 },
    Design { name: MIDDLE, program: "thalweg", database: "middle", path: "/flights", pool: 10 },
    Design { name: "Thalweg, 5 MB", program: "thalweg", database: "large", path: "/flights", pool: 10 },
    Design { name: FIXED, program: "pages-byhand", database: "middle", path: "/fixed/flights", pool: 10 },
    // each of its pages takes three gigabytes and a half, and ten at once do not fit
    Design { name: OLD, program: "pages-byhand", database: "middle", path: "/old/flights", pool: 3 },
];
const CONNECTIONS: [u32; 2] = [1, 10];

const ROLES: &str = "create role listener nologin;
    create role gate login noinherit password 'bench'; grant listener to gate;";

/// One measurement.
#[derive(Clone, Copy)]
struct Figure {
    rate: f64,
    /// CPU seconds per 1,000 requests: of the server, of PostgreSQL's backends.
    server_cpu: f64,
    database_cpu: f64,
    peak_mib: f64,
}

/// By connections and by who served.
type Figures = BTreeMap<(u32, &'static str), Vec<Figure>>;

pub(crate) fn run(options: &Options) -> Outcome {
    // apart, so that neither has the other's features
    build(&["thalweg"])?;
    build(&["pages-byhand"])?;
    let (cluster, data_dir) = start_cluster(&[("max_connections", "100")])?;
    load(&cluster)?;
    let figures = {
        let servers = start(&cluster)?;
        check_agreement(&servers)?;
        measure(options, &servers, postmaster(&data_dir)?)?
    };
    let machine = machine(cluster.major_version(), options.rounds, options.seconds);
    cluster.stop()?;
    fs::remove_dir_all(&data_dir)?;
    report(options, &machine, &figures)
}

fn load(cluster: &Cluster) -> Outcome {
    let script = fs::read_to_string(root().join("bench/flights.sql"))?;
    // VACUUM must stand alone, as CREATE DATABASE must
    let (script, _) = script.rsplit_once("vacuum analyze").ok_or("bench/flights.sql does not end in vacuum analyze")?;
    sql(cluster, "postgres", &[ROLES])?;
    for (database, track_bytes) in DATABASES {
        println!("200 tracks of {track_bytes} bytes");
        sql(cluster, "postgres", &[&format!("create database {database}")])?;
        sql(
            cluster,
            database,
            &[&format!("set bench.track_bytes = {track_bytes}"), script, "vacuum analyze", "checkpoint"],
        )?;
    }
    Ok(())
}

fn start(cluster: &Cluster) -> Outcome<Vec<Server>> {
    let mut servers = Vec::new();
    for design in &DESIGNS {
        let uri = cluster.tcp_uri(design.database);
        let (_, host) = uri.split_once('@').ok_or("no host")?;
        let (uri, port) = (format!("postgresql://gate:bench@{host}"), free_port()?);
        let mut command = Command::new(root().join("target/release").join(design.program));
        if design.program == "thalweg" {
            command.arg("serve");
        }
        command
            .env("PGRST_DB_URI", &uri)
            .env("PGRST_DB_SCHEMAS", "pages")
            .env("PGRST_DB_ANON_ROLE", "listener")
            .env("PGRST_DB_POOL", design.pool.to_string())
            .env("PGRST_SERVER_HOST", "127.0.0.1")
            .env("PGRST_SERVER_PORT", port.to_string())
            .env("PGRST_LOG_LEVEL", "crit")
            .env("PGRST_PAGES_DIR", root().join("bench/pages"))
            .env("BYHAND_DB", &uri)
            .env("BYHAND_PORT", port.to_string())
            .env("BYHAND_POOL", design.pool.to_string());
        let process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        servers.push(Server { name: design.name, port, process });
    }
    wait_for(&servers)?;
    std::thread::sleep(std::time::Duration::from_secs(1));
    Ok(servers)
}

fn url(server: &Server, design: &Design) -> String {
    format!("http://127.0.0.1:{}{}", server.port, design.path)
}

/// What is compared must be the same page, but for white space and how characters are escaped.
fn check_agreement(servers: &[Server]) -> Outcome {
    const ESCAPES: [(&str, &str); 5] =
        [("&#38;", "&amp;"), ("&#60;", "&lt;"), ("&#62;", "&gt;"), ("&#34;", "&quot;"), ("&#x2F;", "/")];
    let mut pages = Vec::new();
    for (server, design) in servers.iter().zip(&DESIGNS) {
        let output = Command::new("curl").args(["-sSf", &url(server, design)]).output()?;
        let mut text = String::from_utf8(output.stdout)?;
        for (escape, ours) in ESCAPES {
            text = text.replace(escape, ours);
        }
        pages.push(text.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    let rows = pages[0].matches("<tr>").count();
    if rows != 201 {
        return Err(format!("the page has {rows} rows").into());
    }
    match pages.iter().zip(&DESIGNS).find(|(page, _)| **page != pages[0]) {
        Some((_, design)) => Err(format!("{} has another page", design.name).into()),
        None => Ok(()),
    }
}

fn measure(options: &Options, servers: &[Server], postmaster: u32) -> Outcome<Figures> {
    let mut figures = Figures::new();
    for connections in CONNECTIONS {
        // the first round is to warm up
        for round in 0..=options.rounds {
            for (server, design) in servers.iter().zip(&DESIGNS) {
                let seconds = match (design.name, round) {
                    // which needs no round to warm up, and one is long enough
                    (OLD, 1) => options.old_seconds,
                    (OLD, _) => continue,
                    (_, 0) => 1,
                    _ => options.seconds,
                };
                let figure = figure(server, design, connections, seconds, postmaster)?;
                println!("{connections} · {} · round {round} · {:.2}/s", design.name, figure.rate);
                if round > 0 {
                    figures.entry((connections, design.name)).or_default().push(figure);
                }
            }
        }
    }
    Ok(figures)
}

fn figure(server: &Server, design: &Design, connections: u32, seconds: u32, postmaster: u32) -> Outcome<Figure> {
    let (processes, backends) = ([server.process.id()], children(postmaster));
    let before = (cpu_seconds(&processes), cpu_seconds(&backends));
    resident_bytes(server.process.id());
    let (rate, requests) = wrk(&url(server, design), None, connections, seconds)?;
    let per_thousand = |after: f64, before: f64| (after - before) / requests * 1000.0;
    Ok(Figure {
        rate,
        server_cpu: per_thousand(cpu_seconds(&processes), before.0),
        database_cpu: per_thousand(cpu_seconds(&backends), before.1),
        peak_mib: peak_bytes(server.process.id()) as f64 / f64::from(1 << 20),
    })
}

fn report(options: &Options, machine: &str, figures: &Figures) -> Outcome {
    let mut text = format!(
        "# A page of 200 flights\n\n`cargo xtask bench-pages`, {machine}; one of {} s of the old design. Servers in turns, medians; each has a \
         pool of 10 connections over TCP, the old design one of 3, since each of its pages takes gigabytes. All answer the same page of \
         `bench/flights.sql`: *old* is axum, tokio-postgres and tera with whole rows in the context, *fixed* the same with Askama and the shown \
         columns (`bench/pages-byhand`), both with tracks of 500 KB. *to* is the median of the ratios of {MIDDLE} to it, round by round. CPU is in \
         seconds per 1,000 requests, of the server + of PostgreSQL's backends.\n\n\
         | connections | page | /s | {MIDDLE} to it | CPU | peak MiB |\n|---|---|---|---|---|---|\n",
        options.old_seconds
    );
    for connections in CONNECTIONS {
        for design in &DESIGNS {
            let of = |name| figures.get(&(connections, name)).map_or(&[][..], Vec::as_slice);
            let (these, ours) = (of(design.name), of(MIDDLE));
            let middle = |which: &dyn Fn(&Figure) -> f64| median(&these.iter().map(which).collect::<Vec<_>>());
            let ratios: Vec<f64> = ours.iter().zip(these).map(|(ours, this)| ours.rate / this.rate).collect();
            let _ = writeln!(
                text,
                "| {connections} | {} | {:.2} | {:.2} | {:.3} + {:.3} | {:.0} |",
                design.name,
                middle(&|f| f.rate),
                median(&ratios),
                middle(&|f| f.server_cpu),
                middle(&|f| f.database_cpu),
                these.iter().map(|f| f.peak_mib).fold(0.0, f64::max),
            );
        }
    }
    let workloads: Vec<serde_json::Value> = figures
        .iter()
        .map(|((connections, name), rounds)| {
            let rounds = rounds.iter().map(|f| {
                serde_json::json!({"per_second": f.rate, "server_cpu_s_per_1000": f.server_cpu,
                    "database_cpu_s_per_1000": f.database_cpu, "peak_mib": f.peak_mib})
            });
            serde_json::json!({"connections": connections, "page": name, "rounds": rounds.collect::<Vec<_>>()})
        })
        .collect();
    keep_run(&options.name, &text, Some(&serde_json::json!({"machine": machine, "pages": workloads})))
}
