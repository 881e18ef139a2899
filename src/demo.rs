//! `thalweg demo`: an application with a PostgreSQL of its own.

mod flightbook;
mod reader;

use crate::signals::Signals;
use crate::{ClusterOptions, gloss};
use std::error::Error;
use std::net::TcpListener;
use std::path::PathBuf;
use std::time::Instant;
use thalweg_embedded_postgres::Cluster;
use thalweg_server::{Config, LogLevel, print};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// What is shown
    #[arg(value_enum, default_value = "flightbook")]
    application: Application,
    #[command(flatten)]
    cluster: ClusterOptions,
    /// The port to serve on; 0 is any free one
    #[arg(long, default_value_t = 3000)]
    port: u16,
    /// Throw away the data of an earlier demo first
    #[arg(long)]
    fresh: bool,
    /// The compiled dictionary of the reader; without one, a small one that the program has with it
    #[arg(long, value_name = "FILE")]
    dict: Option<PathBuf>,
    /// The full dictionary for the reader, fetched once: 75 MB
    #[arg(long, conflicts_with = "dict")]
    full: bool,
    /// How many flights to make up for the first pilot, where there are no pilots yet
    #[arg(long, default_value_t = 320, hide = true)]
    flights: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Application {
    /// A paragliding flight book with sample pilots
    Flightbook,
    /// Stories in Japanese whose words show their dictionary entries
    Reader,
}

const HOST: &str = "127.0.0.1";

/// What a demo runs on.
struct Ground {
    signals: Signals,
    cluster: Cluster,
    data_dir: PathBuf,
    port: u16,
    started: Instant,
}

/// Starts the embedded cluster, puts an application into it, and serves it.
pub(crate) fn run(options: Options) -> Result<(), Box<dyn Error>> {
    let Options { application, cluster, port, fresh, dict, full, flights } = options;
    match application {
        Application::Flightbook if dict.is_some() || full => {
            Err("--dict and --full are for the reader: thalweg demo reader --full".into())
        }
        Application::Flightbook => {
            let data_dir = cluster.data_dir.unwrap_or_else(thalweg_embedded_postgres::default_data_dir);
            flightbook::run(Ground::start(data_dir, port, fresh)?, flights)
        }
        Application::Reader => {
            // before anything is started for nothing
            let dictionary = if full { gloss::full_dictionary()?.1 } else { gloss::dictionary(dict.as_deref())? };
            reader::run(Ground::start(cluster.data_dir.unwrap_or_else(reader::data_dir), port, fresh)?, dictionary)
        }
    }
}

impl Ground {
    fn start(data_dir: PathBuf, port: u16, fresh: bool) -> Result<Self, Box<dyn Error>> {
        let signals = Signals::listen()?;
        // before anything is started for nothing
        drop(
            TcpListener::bind((HOST, port))
                .map_err(|cause| format!("cannot listen on {HOST}:{port}: {cause}; choose another port with --port"))?,
        );
        thalweg_server::start_logging(&Config { log_level: LogLevel::Info, ..Config::default() });
        let started = Instant::now();
        let cluster = Cluster::start(&thalweg_embedded_postgres::Options {
            data_dir: Some(data_dir.clone()),
            fresh,
            ..Default::default()
        })?;
        cluster.notice().into_iter().for_each(print);
        let made = if cluster.created() { "new" } else { "known" };
        let (version, after) = (cluster.major_version(), started.elapsed());
        print(format_args!("PostgreSQL {version} with a {made} cluster after {after:.1?}"));
        Ok(Self { signals, cluster, data_dir, port, started })
    }

    /// The same configuration, served to this machine alone, with an address for who wants to know what requests cost.
    fn served(&self, config: Config) -> Config {
        Config { server_host: HOST.to_owned(), server_port: self.port, admin_server_port: Some(0), ..config }
    }

    /// What is said where the database is of something else.
    fn of_another(&self, error: &dyn Error) -> String {
        let way_out =
            "if it is of another version's demo, --fresh throws it away, and --data-dir keeps this one's elsewhere";
        format!("{error}\nThe database in {} cannot be used: {way_out}", self.data_dir.display())
    }

    fn stop(self) -> Result<(), Box<dyn Error>> {
        print("Stopping PostgreSQL");
        Ok(self.cluster.stop()?)
    }
}
