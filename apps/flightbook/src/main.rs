//! The program `flightbook`: the flight book served, and what its operator does.

use clap::{Parser, Subcommand};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use thalweg_embedded_postgres::{Cluster, Options};
use thalweg_flightbook::{join, migrate};
use thalweg_gauge::CountingAllocator;
use thalweg_server::{Config, Server, Sources, print, print_error};
use tokio::signal::unix::{SignalKind, signal};

#[global_allocator]
static ALLOCATOR: CountingAllocator<mimalloc::MiMalloc> = CountingAllocator(mimalloc::MiMalloc);

/// A flight book for paraglider pilots.
#[derive(Parser)]
#[command(name = "flightbook")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve the flight book; THALWEG_JWT_SECRET signs its sessions
    Serve {
        /// The folder with its configuration, schema and pages
        folder: PathBuf,
    },
    /// Give a pilot who has forgotten theirs a new password, and print it; all their sessions end
    ResetPassword {
        /// The folder with its configuration, which says where the database is
        folder: PathBuf,
        /// The address that the pilot has registered with
        email: String,
    },
}

/// The configuration of a folder, and its own PostgreSQL if that names none.
fn configure(folder: &Path) -> Result<(Config, Option<Cluster>), Box<dyn Error>> {
    let mut config = thalweg_flightbook::config(folder, &Sources::of_process(Some(&folder.join("thalweg.conf")))?)?;
    thalweg_server::start_logging(&config);
    if config.db_uri.is_some() {
        return Ok((config, None));
    }
    let cluster = Cluster::start(&Options { data_dir: Some(folder.join(".thalweg")), ..Options::default() })?;
    cluster.notice().into_iter().for_each(thalweg_server::print_error);
    config.db_uri = Some(cluster.uri("postgres"));
    Ok((config, Some(cluster)))
}

async fn serve(config: Config, folder: &Path) -> Result<(), Box<dyn Error>> {
    let mut terminated = signal(SignalKind::terminate())?;
    // before anything is changed for nothing
    let server = join::join(Server::builder(config.clone()), &config)?;
    migrate(folder, &config).await?;
    let server = server.start().await?;
    let stop = async {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminated.recv() => {}
        }
    };
    Ok(server.serve(stop).await?)
}

fn run(command: &Command) -> Result<(), Box<dyn Error>> {
    let (Command::Serve { folder } | Command::ResetPassword { folder, .. }) = command;
    let (config, cluster) = configure(folder)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match command {
        Command::Serve { folder } => runtime.block_on(serve(config, folder))?,
        Command::ResetPassword { email, .. } => {
            let uri = config.db_uri.as_deref().unwrap_or("postgresql://");
            let password = runtime.block_on(join::reset_password(uri, email))?;
            print(format_args!("The new password of {email} is {password}"));
        }
    }
    drop(runtime);
    cluster.map_or(Ok(()), |cluster| Ok(cluster.stop()?))
}

fn main() -> ExitCode {
    thalweg_gauge::give_back_at_once();
    let _flushed = thalweg_server::FlushedAtEnd::default();
    match run(&Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print_error(format_args!("flightbook: {error}"));
            ExitCode::FAILURE
        }
    }
}
