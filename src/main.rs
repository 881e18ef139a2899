//! The program `thalweg`: the command line, and nothing else.

mod demo;
mod gloss;
mod inspect;
mod new;
mod serve;
mod signals;
mod site;

use clap::{ArgAction, CommandFactory, Parser, Subcommand};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use thalweg_gauge::CountingAllocator;
use thalweg_server::{Config, Sources, Visitor};

#[global_allocator]
static ALLOCATOR: CountingAllocator<mimalloc::MiMalloc> = CountingAllocator(mimalloc::MiMalloc);

#[cfg(feature = "copies")]
thalweg_gauge::count_copies!();

/// The fastest line from a PostgreSQL database to the people who read it.
#[derive(Parser)]
#[command(name = "thalweg", version, disable_version_flag = true, args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    as_postgrest: AsPostgrest,
}

/// What PostgREST's command line has.
#[derive(clap::Args)]
struct AsPostgrest {
    /// Serve as PostgREST would with this configuration file, or with PGRST_* variables alone
    file: Option<PathBuf>,
    /// Print the name and the version
    #[arg(short = 'v', short_alias = 'V', long, action = ArgAction::Version)]
    version: Option<bool>,
    /// Print a commented configuration with the defaults
    #[arg(short, long)]
    example: bool,
    /// Print the effective configuration, secrets included
    #[arg(long, group = "inspect")]
    dump_config: bool,
    /// Print the schema cache as JSON
    #[arg(long, group = "inspect")]
    dump_schema: bool,
    /// Ask the admin server of the configuration whether the server is ready
    #[arg(long, group = "inspect")]
    ready: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Start a private PostgreSQL with an application in it, a paragliding flight book or a reader of Japanese, and serve it
    Demo(demo::Options),
    /// Write a small site to start from into a new folder
    New {
        /// The folder; it must be empty, or not exist
        directory: PathBuf,
    },
    /// Serve a database
    Serve(serve::Serving),
    /// Apply a site's migrations without serving it
    Migrate {
        /// The folder of the site
        directory: PathBuf,
        #[command(flatten)]
        cluster: ClusterOptions,
    },
    /// Say what a page or a request reads: its columns and why, its SQL, and how PostgreSQL would run it
    Explain {
        /// An address with its query string: /flights?page=2, /api/flights?select=id
        address: String,
        #[command(flatten)]
        served: serve::Options,
        #[command(flatten)]
        visitor: VisitorOptions,
    },
    /// Explain every word of a Japanese text from a dictionary
    #[command(subcommand)]
    Gloss(gloss::Gloss),
    /// Print the SQL of event triggers that make every change to the schema known to the server
    EventTriggerSql {
        /// The configuration file of the server; `db-channel` is taken from it
        file: Option<PathBuf>,
    },
}

/// As whom an address is explained.
#[derive(clap::Args)]
struct VisitorOptions {
    /// The role of who has no token, and of claims that name none, if not `db-anon-role`
    #[arg(long)]
    role: Option<String>,
    /// The claims of who visits, as a token would have them: {"role": "editor", "sub": "7"}
    #[arg(long, value_name = "JSON", conflicts_with = "token")]
    claims: Option<String>,
    /// The token of who visits; its signature is checked
    #[arg(long, value_name = "JWT")]
    token: Option<String>,
}

impl VisitorOptions {
    fn visitor(&self) -> Visitor<'_> {
        Visitor { role: self.role.as_deref(), claims: self.claims.as_deref(), token: self.token.as_deref() }
    }
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

/// As PostgREST's command line means it.
fn run(arguments: &AsPostgrest) -> Result<ExitCode, Box<dyn Error>> {
    if arguments.example {
        inspect::print_example()?;
        return Ok(ExitCode::SUCCESS);
    }
    let sources = Sources::of_process(arguments.file.as_deref())?;
    if arguments.dump_config {
        inspect::dump_config(&sources)?;
    } else if arguments.dump_schema {
        inspect::dump_schema(&sources)?;
    } else if arguments.ready {
        return Ok(if inspect::ready(&sources)? { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    } else if sources.say_something() {
        serve::run_as_postgrest(sources)?;
    } else {
        Arguments::command().error(clap::error::ErrorKind::MissingSubcommand, NOTHING_SAID).exit();
    }
    Ok(ExitCode::SUCCESS)
}

const NOTHING_SAID: &str = "nothing says which database to serve: name a configuration file, set PGRST_* variables, \
                            or try `thalweg demo`; `thalweg --help` says more";

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
    let arguments = Arguments::parse();
    let outcome = match arguments.command {
        Some(Command::Demo(options)) => demo::run(options).map(|()| ExitCode::SUCCESS),
        Some(Command::Serve(serving)) => serve::run(&serving).map(|()| ExitCode::SUCCESS),
        Some(Command::New { directory }) => new::run(&directory).map(|()| ExitCode::SUCCESS),
        Some(Command::Migrate { directory, cluster }) => {
            site::migrate(&directory, cluster.data_dir).map(|()| ExitCode::SUCCESS)
        }
        Some(Command::Explain { address, served, visitor }) => {
            inspect::explain(&served, &address, visitor.visitor()).map(|()| ExitCode::SUCCESS)
        }
        Some(Command::Gloss(gloss)) => gloss::run(gloss).map(|()| ExitCode::SUCCESS),
        Some(Command::EventTriggerSql { file }) => print_event_trigger_sql(file.as_deref()).map(|()| ExitCode::SUCCESS),
        None => run(&arguments.as_postgrest),
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            thalweg_server::print_error(format_args!("thalweg: {error}"));
            ExitCode::FAILURE
        }
    }
}
