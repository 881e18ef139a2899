//! Chores: `cargo xtask tidy`, `cargo xtask bench`, `cargo xtask ci`.

mod bench;
mod ci;
mod measure;
mod schema_load;
mod tidy;
mod writing;

use clap::{Parser, Subcommand};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Chores.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Check what no compiler checks: the rooms and their dependencies, paths in Markdown, names of files
    Tidy,
    /// Compare with PostgREST, with a server by hand and with pgbench, and write the run to bench/runs
    Bench(bench::Options),
    /// Compare writes with PostgREST and with psql, and write the run to bench/runs
    BenchWriting(writing::Options),
    /// Everything that must be green before a change is handed over
    Ci,
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().chore {
        Chore::Tidy => tidy::run(),
        Chore::Bench(options) => bench::run(&options),
        Chore::BenchWriting(options) => writing::run(&options),
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

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new(".")).to_owned()
}
