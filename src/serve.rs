//! `thalweg serve`

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use thalweg_embedded_postgres::{Cluster, Options};
use thalweg_server::{Config, Server};
use tokio::signal::unix::{SignalKind, signal};

/// Serves the database of the configuration, or without `db-uri` the embedded cluster's.
pub(crate) fn run(file: Option<&Path>, data_dir: Option<PathBuf>) -> Result<(), Box<dyn Error>> {
    let mut config = Config::load(file)?;
    thalweg_server::start_logging(config.log_level);
    let cluster = match config.db_uri {
        Some(_) => None,
        None => {
            let cluster = Cluster::start(&Options { data_dir, ..Options::default() })?;
            config.db_uri = Some(cluster.uri("postgres"));
            Some(cluster)
        }
    };
    // the runtime ends here: what still runs in the background must not see PostgreSQL go
    runtime()?.block_on(serve(config, |_| {}))?;
    if let Some(cluster) = cluster {
        cluster.stop()?;
    }
    Ok(())
}

pub(crate) fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()
}

/// Serves until SIGINT or SIGTERM. When the schema cache has been loaded, `ready` is told where.
pub(crate) async fn serve(config: Config, ready: impl FnOnce(Option<SocketAddr>)) -> Result<(), Box<dyn Error>> {
    // from here on ctrl-C is answered by the server, which ends in order
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let stop = async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    };
    let server = Server::builder(config).start().await?;
    let (address, loaded) = (server.local_addr(), server.loaded());
    let mut serving = std::pin::pin!(server.serve(stop));
    tokio::select! {
        ended = &mut serving => return Ok(ended?),
        // if nothing can be loaded, serving ends with the reason
        Ok(()) = loaded => ready(address),
    }
    Ok(serving.await?)
}
