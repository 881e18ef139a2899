//! `thalweg serve`

use crate::signals::Signals;
use crate::site::{self, Site};
use std::error::Error;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use thalweg_embedded_postgres::{Cluster, Options};
use thalweg_server::{Config, Server, ServerBuilder, Sources};

/// How long what runs in the background may take to end, beyond which it is left behind.
const BACKGROUND_TIME_MAX: Duration = Duration::from_secs(1);

/// What is served where nobody has said `db-uri`.
pub(crate) enum Unsaid {
    /// The embedded cluster, with its data in this directory.
    Cluster { data_dir: Option<PathBuf> },
    /// What libpq's variables lead to, as with PostgREST.
    Libpq,
}

impl Unsaid {
    /// Starts the cluster if it is what is served, and notes it in the configuration.
    pub(crate) fn cluster(self, config: &mut Config) -> Result<Option<Cluster>, thalweg_embedded_postgres::Error> {
        match (&config.db_uri, self) {
            (None, Self::Cluster { data_dir }) => {
                let cluster = Cluster::start(&Options { data_dir, ..Options::default() })?;
                config.db_uri = Some(cluster.uri("postgres"));
                Ok(Some(cluster))
            }
            (Some(_), _) | (None, Self::Libpq) => Ok(None),
        }
    }
}

/// Serves the database of a configuration, and the pages of a folder, whatever that says of pages. That of a site has its
/// migrations applied first.
pub(crate) fn run(
    sources: Sources,
    pages: Option<PathBuf>,
    site: Option<&Site>,
    unsaid: Unsaid,
) -> Result<(), Box<dyn Error>> {
    let signals = Signals::listen()?;
    let mut config = sources.read()?;
    let of_configuration = config.pages_dir.take();
    config.pages_dir = pages.or_else(|| match site {
        Some(site) => site.pages(of_configuration),
        None => of_configuration,
    });
    thalweg_server::start_logging(&config);
    let migrations = site.map(Site::migrations).transpose()?;
    let cluster = unsaid.cluster(&mut config)?;
    if let Some(migrations) = migrations {
        site::apply(&migrations, &config)?;
    }
    serve(Server::builder(config).sources(sources), &signals, |_| {})?;
    if let Some(cluster) = cluster {
        cluster.stop()?;
    }
    Ok(())
}

/// Serves until SIGINT or SIGTERM. When the schema cache has been loaded, `ready` is told where.
pub(crate) fn serve(
    server: ServerBuilder,
    signals: &Signals,
    ready: impl FnOnce(Option<SocketAddr>),
) -> Result<(), Box<dyn Error>> {
    let stop = signals.stop();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let serve = async {
        let server = server.start().await?;
        let (address, loaded) = (server.local_addr(), server.loaded());
        let mut serving = std::pin::pin!(server.serve(stop));
        tokio::select! {
            ended = &mut serving => return ended,
            // if nothing can be loaded, serving ends with the reason
            Ok(()) = loaded => ready(address),
        }
        serving.await
    };
    let served = runtime.block_on(async {
        tokio::select! {
            served = serve => Some(served),
            () = signals.end() => None,
        }
    });
    // what still runs in the background must not see PostgreSQL go
    runtime.shutdown_timeout(BACKGROUND_TIME_MAX);
    match served {
        Some(served) => Ok(served?),
        // connections have been reset; whoever listens to signals ends the program
        None => loop {
            std::thread::park();
        },
    }
}
