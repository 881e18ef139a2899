//! Chores: `cargo xtask fast`, `cargo xtask tidy`, `cargo xtask bench`, `cargo xtask ci`.

mod bench;
mod ci;
mod crowd;
mod errors;
mod fast;
mod flightbook;
mod gauge;
mod gloss;
mod json;
mod json_suites;
mod limits;
mod measure;
mod pages;
mod schema_load;
mod tidy;
mod writing;

use clap::{Parser, Subcommand};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Chores.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Check what no compiler checks: the rooms and their dependencies, the figures of docs/limits.md, the codes of docs/errors.md, paths in Markdown, names of
    /// files
    Tidy,
    /// Compare with PostgREST, with a server by hand and with pgbench, and write the run to bench/runs
    Bench(bench::Options),
    /// Compare writes with PostgREST and with psql, and write the run to bench/runs
    BenchWriting(writing::Options),
    /// Compare a page with the same by hand, and write the run to bench/runs
    BenchPages(pages::Options),
    /// Measure the flight book as its pilots use it, and write the run to bench/runs
    BenchFlightbook(flightbook::Options),
    /// Measure crowds of up to 9,000 clients, and write the run to bench/runs
    BenchCrowd(crowd::Options),
    /// Measure what the gauge costs, beside hotpath and beside nothing, and write the run to bench/runs
    BenchGauge(gauge::Options),
    /// Measure what it takes to find every word of a text, and write the run to bench/runs
    BenchGloss(gloss::Options),
    /// Measure JSON of all kinds by all libraries, and what derived types take to compile, and write the run to bench/runs
    BenchJson(json::Options),
    /// Run the tests of serde_json, and of published crates that use it, with thalweg-json in its place
    JsonSuites(json_suites::Options),
    /// The tests that find most mistakes, in well under a minute once everything is built
    Fast,
    /// Everything that must be green before a change is handed over
    Ci,
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().chore {
        Chore::Tidy => tidy::run(),
        Chore::Bench(options) => bench::run(&options),
        Chore::BenchWriting(options) => writing::run(&options),
        Chore::BenchPages(options) => pages::run(&options),
        Chore::BenchFlightbook(options) => flightbook::run(&options),
        Chore::BenchCrowd(options) => crowd::run(&options),
        Chore::BenchGauge(options) => gauge::run(&options),
        Chore::BenchGloss(options) => gloss::run(&options),
        Chore::BenchJson(options) => json::run(&options),
        Chore::JsonSuites(options) => json_suites::run(&options),
        Chore::Fast => fast::run(),
        Chore::Ci => ci::run(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Cargo, in the root of the repository, as if it had been called from a shell. What cargo tells the program that it runs
/// (`CARGO_PKG_NAME` …) build scripts of dependencies look at: with it, they and all above them would be built anew each time.
fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.args(arguments).current_dir(root());
    let of_this_program = |name: &str| {
        ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|prefix| name.starts_with(prefix)) || name == "CARGO_BIN_NAME"
    };
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(of_this_program) {
            command.env_remove(name);
        }
    }
    command
}

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new(".")).to_owned()
}
