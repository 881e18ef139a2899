//! What the gauge costs: an empty handler of axum with it, with hotpath, with a layer that does nothing, and alone; and Thalweg's row by
//! key beside a program that was built without. In one run, in an order by chance.

use crate::bench::{
    BEFORE, Server, build, computer, free_port, keep_run, load, postmaster, start_cluster, start_programs, wait_for,
};
use crate::measure::{children, cpu_seconds, cpu_seconds_by_mode, median, peak_bytes, resident_bytes, wrk};
use crate::{Outcome, cargo, root};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// How often each program is driven
    #[arg(long, default_value_t = 15)]
    rounds: u32,
    /// How long each time
    #[arg(long, default_value_t = 4)]
    seconds: u32,
    /// What the run is called; the date stands before it
    #[arg(long, default_value = "gauge")]
    name: String,
    /// A thalweg built from a commit without the gauge, to compare one with it with
    #[arg(long)]
    without: Option<PathBuf>,
    /// The thalweg with the gauge, if not that of this tree, which is built first
    #[arg(long, requires = "without")]
    with: Option<PathBuf>,
}

/// Who serves the empty handler: a program of `bench/gauge` by its feature.
struct Variant {
    name: &'static str,
    feature: Option<&'static str>,
    is_sampled: bool,
}

const PLAIN: &str = "plain";
const VARIANTS: [Variant; 7] = [
    Variant { name: PLAIN, feature: None, is_sampled: false },
    Variant { name: "a layer that does nothing", feature: Some("noop"), is_sampled: false },
    Variant { name: "the gauge", feature: Some("gauge"), is_sampled: false },
    Variant { name: "the gauge, while the CPU is sampled", feature: Some("gauge"), is_sampled: true },
    Variant { name: "the gauge, with copies", feature: Some("copies"), is_sampled: false },
    Variant { name: "hotpath", feature: Some("hotpath"), is_sampled: false },
    Variant { name: "hotpath, with allocations", feature: Some("hotpath-alloc"), is_sampled: false },
];
const CONNECTIONS: u32 = 32;

const WITH: &str = "thalweg";
const ROW_BY_KEY: &str = "/track?track_id=eq.1234";
const ROW_CONNECTIONS: u32 = 10;

/// One measurement.
#[derive(Clone, Copy)]
struct Figure {
    rate: f64,
    /// CPU microseconds per request.
    user_us: f64,
    system_us: f64,
    /// The same of PostgreSQL's backends, where there are some.
    database_us: f64,
    peak_mib: f64,
}

type Figures = BTreeMap<&'static str, Vec<Figure>>;

pub(crate) fn run(options: &Options) -> Outcome {
    build_variants()?;
    let empty = empty_handler(options)?;
    let row = match &options.without {
        Some(without) => Some(row_by_key(options, without)?),
        None => None,
    };
    report(options, &empty, row.as_ref())
}

/// Where `bench/gauge` is built. Each variant overwrites the one before, so that they are kept beside.
fn built() -> PathBuf {
    root().join("target/bench-gauge")
}

fn program(feature: Option<&str>) -> PathBuf {
    built().join(format!("handlers-{}", feature.unwrap_or("alone")))
}

fn build_variants() -> Outcome {
    let mut features: Vec<_> = VARIANTS.iter().map(|variant| variant.feature).collect();
    features.dedup();
    for feature in features {
        println!("building {}", feature.unwrap_or("alone"));
        let mut command =
            cargo(&["build", "--quiet", "--release", "--locked", "--manifest-path", "bench/gauge/Cargo.toml"]);
        command.arg("--target-dir").arg(built()).args(feature.iter().flat_map(|feature| ["--features", feature]));
        if !command.status()?.success() {
            return Err("the build failed".into());
        }
        fs::copy(built().join("release/handlers"), program(feature))?;
    }
    Ok(())
}

fn empty_handler(options: &Options) -> Outcome<Figures> {
    let mut servers = Vec::new();
    for variant in &VARIANTS {
        let (port, admin_port) = (free_port()?, free_port()?);
        let mut command = Command::new(program(variant.feature));
        command.args(["--port", &port.to_string(), "--admin-port", &admin_port.to_string()]);
        // two of them cannot have the one port that is hotpath's unless it is told another
        command.env("HOTPATH_METRICS_PORT", free_port()?.to_string());
        let process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        servers.push((variant, admin_port, Server { name: variant.name, port, process }));
    }
    for (_, _, server) in &servers {
        wait_for(std::slice::from_ref(server))?;
    }
    let mut figures = Figures::new();
    // the first round is to warm up
    for round in 0..=options.rounds {
        for at in by_chance(servers.len()) {
            let (variant, admin_port, server) = &servers[at];
            let seconds = if round == 0 { 1 } else { options.seconds };
            let flame = format!("http://127.0.0.1:{admin_port}/flame?of=cpu&as=folded&seconds={seconds}");
            let mut samples = match variant.is_sampled {
                true => Some(Command::new("curl").args(["-sSf", "-o", "/dev/null", &flame]).spawn()?),
                false => None,
            };
            let figure = figure(server, &format!("http://127.0.0.1:{}/", server.port), CONNECTIONS, seconds, None)?;
            if let Some(samples) = &mut samples
                && !samples.wait()?.success()
            {
                return Err("there are no samples".into());
            }
            println!("{} · round {round} · {:.0}/s", server.name, figure.rate);
            if round > 0 {
                figures.entry(server.name).or_default().push(figure);
            }
        }
    }
    Ok(figures)
}

fn row_by_key(options: &Options, without: &Path) -> Outcome<Figures> {
    let with = match &options.with {
        Some(program) => program.clone(),
        None => {
            build(&["thalweg"])?;
            root().join("target/release/thalweg")
        }
    };
    let (cluster, data_dir) = start_cluster(&[("max_connections", "100")])?;
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(load(&cluster.uri("postgres")))?;
    let servers = start_programs(&cluster, vec![(WITH, with), (BEFORE, without.to_owned())], "music")?;
    // until they have read the schema they refuse
    std::thread::sleep(Duration::from_secs(1));
    let postmaster = postmaster(&data_dir)?;
    let mut figures = Figures::new();
    for round in 0..=options.rounds {
        for at in by_chance(servers.len()) {
            let server = &servers[at];
            let seconds = if round == 0 { 1 } else { options.seconds };
            let url = format!("http://127.0.0.1:{}{ROW_BY_KEY}", server.port);
            let figure = figure(server, &url, ROW_CONNECTIONS, seconds, Some(postmaster))?;
            println!("row by key · {} · round {round} · {:.0}/s", server.name, figure.rate);
            if round > 0 {
                figures.entry(server.name).or_default().push(figure);
            }
        }
    }
    drop(servers);
    cluster.stop()?;
    fs::remove_dir_all(&data_dir)?;
    Ok(figures)
}

fn figure(server: &Server, url: &str, connections: u32, seconds: u32, postmaster: Option<u32>) -> Outcome<Figure> {
    let process = server.process.id();
    let backends = postmaster.map(children).unwrap_or_default();
    let (before, database_before) = (cpu_seconds_by_mode(process), cpu_seconds(&backends));
    resident_bytes(process);
    let (rate, requests) = wrk(url, None, connections, seconds)?;
    let after = cpu_seconds_by_mode(process);
    let us = |after: f64, before: f64| (after - before) / requests * 1e6;
    Ok(Figure {
        rate,
        user_us: us(after.0, before.0),
        system_us: us(after.1, before.1),
        database_us: us(cpu_seconds(&backends), database_before),
        peak_mib: peak_bytes(process) as f64 / f64::from(1 << 20),
    })
}

/// So many numbers from 0 in an order of which none knows the next.
fn by_chance(count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    // the standard library's hashers have keys by chance
    order.sort_by_cached_key(|_| RandomState::new().build_hasher().finish());
    order
}

fn report(options: &Options, empty: &Figures, row: Option<&Figures>) -> Outcome {
    let machine = format!("{}, {} rounds of {} s", computer(), options.rounds, options.seconds);
    let mut text = format!(
        "# What the gauge costs\n\n`cargo xtask bench-gauge`, {machine}. Medians; the order in each round is by chance. *to plain* is the median of \
         the ratios of requests/s to {PLAIN}, round by round. CPU is that of the server in microseconds a request, user + system. All servers \
         run all the time, each on as many workers as there are cores, and the client on one of the cores.\n\n\
         An empty handler of axum, {CONNECTIONS} connections (`bench/gauge`; hotpath 0.30.3 with its layer, and the handler measured):\n\n"
    );
    table(&mut text, empty, PLAIN, "to plain", &VARIANTS.map(|variant| variant.name));
    if let Some(row) = row {
        let _ = write!(
            text,
            "\nThalweg, a row by key, {ROW_CONNECTIONS} connections; *{BEFORE}* is a program without the gauge. CPU with that of PostgreSQL's backends:\n\n"
        );
        table(&mut text, row, BEFORE, "to before", &[BEFORE, WITH]);
    }
    let raw = serde_json::json!({"machine": machine, "empty": raw(empty), "row_by_key": row.map(raw)});
    keep_run(&options.name, &text, Some(&raw))
}

fn table(text: &mut String, figures: &Figures, base: &str, to_base: &str, names: &[&str]) {
    let _ = write!(text, "| | /s | {to_base} | CPU us | peak MiB |\n|---|---|---|---|---|\n");
    let of = |name: &str| figures.get(name).map_or(&[][..], Vec::as_slice);
    for name in names {
        let these = of(name);
        let middle = |which: &dyn Fn(&Figure) -> f64| median(&these.iter().map(which).collect::<Vec<_>>());
        let ratios: Vec<f64> = these.iter().zip(of(base)).map(|(this, base)| this.rate / base.rate).collect();
        let database = middle(&|f| f.database_us);
        let database = if database > 0.0 { format!(" + {database:.1}") } else { String::new() };
        let _ = writeln!(
            text,
            "| {name} | {:.0} | {:.3} | {:.2} + {:.2}{database} | {:.1} |",
            middle(&|f| f.rate),
            median(&ratios),
            middle(&|f| f.user_us),
            middle(&|f| f.system_us),
            these.iter().map(|f| f.peak_mib).fold(0.0, f64::max),
        );
    }
}

fn raw(figures: &Figures) -> serde_json::Value {
    let programs = figures.iter().map(|(name, rounds)| {
        let rounds = rounds.iter().map(|f| {
            serde_json::json!({"per_second": f.rate, "user_us": f.user_us, "system_us": f.system_us,
                "database_us": f.database_us, "peak_mib": f.peak_mib})
        });
        serde_json::json!({"program": name, "rounds": rounds.collect::<Vec<_>>()})
    });
    programs.collect()
}
