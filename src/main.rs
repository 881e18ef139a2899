//! The program `thalweg`: the command line, and nothing else.

mod demo;
mod serve;
mod signals;

use clap::{Parser, Subcommand};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use thalweg_server::Config;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The fastest line from a PostgreSQL database to the people who read it.
#[derive(Parser)]
#[command(name = "thalweg", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Start a private PostgreSQL with a paragliding flight book in it, and serve it
    Demo(demo::Options),
    /// Serve a database
    Serve {
        /// A configuration file as PostgREST reads it; PGRST_* and THALWEG_* variables win over it
        file: Option<PathBuf>,
        #[command(flatten)]
        cluster: ClusterOptions,
    },
    /// Print the SQL of event triggers that make every change to the schema known to the server
    EventTriggerSql {
        /// The configuration file of the server; `db-channel` is taken from it
        file: Option<PathBuf>,
    },
}

/// Where the embedded PostgreSQL keeps its data.
#[derive(clap::Args)]
struct ClusterOptions {
    /// The directory of the embedded PostgreSQL's data
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

fn print_event_trigger_sql(file: Option<&Path>) -> Result<(), Box<dyn Error>> {
    let config = Config::load(file)?;
    print!("{}", thalweg_server::event_trigger_sql(&config));
    Ok(())
}

/// Lets as many files be open as the machine allows: each client is one, and what is usual is there for programs of old.
fn open_many_files() {
    if let Ok((_, most)) = getrlimit(Resource::RLIMIT_NOFILE) {
        // what remains is what was
        let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
    }
}

fn main() -> ExitCode {
    thalweg_gauge::give_back_at_once();
    open_many_files();
    let _flushed = thalweg_server::FlushedAtEnd::default();
    let outcome = match Arguments::parse().command {
        Command::Demo(options) => demo::run(options),
        Command::Serve { file, cluster } => serve::run(file.as_deref(), cluster.data_dir),
        Command::EventTriggerSql { file } => print_event_trigger_sql(file.as_deref()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            thalweg_server::print_error(format_args!("thalweg: {error}"));
            ExitCode::FAILURE
        }
    }
}
