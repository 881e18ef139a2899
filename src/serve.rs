//! `thalweg serve`

use crate::ClusterOptions;
use crate::signals::Signals;
use crate::site::{self, Site};
use std::error::Error;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use thalweg_embedded_postgres::Cluster;
use thalweg_gauge::otlp;
use thalweg_migrations::Folder;
use thalweg_server::{Api, Config, Server, ServerBuilder, Sources};

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
                let cluster = Cluster::start(&thalweg_embedded_postgres::Options { data_dir, ..Default::default() })?;
                cluster.notice().into_iter().for_each(thalweg_server::print_error);
                config.db_uri = Some(cluster.uri("postgres"));
                Ok(Some(cluster))
            }
            (Some(_), _) | (None, Self::Libpq) => Ok(None),
        }
    }
}

/// What is served.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// A configuration file as PostgREST reads it, or the folder of a site; PGRST_* and THALWEG_* variables win over it
    file: Option<PathBuf>,
    /// The folder whose templates are the pages of a site; the API moves under /api
    #[arg(long, value_name = "DIR")]
    pages: Option<PathBuf>,
    #[command(flatten)]
    cluster: ClusterOptions,
}

/// How it is served.
#[derive(clap::Args)]
pub(crate) struct Serving {
    #[command(flatten)]
    options: Options,
    /// While the site is being written: read it again whenever a file changes, load its pages again in browsers, and show mistakes in them
    #[arg(long)]
    dev: bool,
}

/// The same, read.
pub(crate) struct Served {
    sources: Sources,
    pub(crate) config: Config,
    migrations: Option<Folder>,
    cluster: Option<Cluster>,
}

impl Options {
    /// Reads the configuration, starts to write the log, and starts the PostgreSQL that is served if it is Thalweg's own.
    pub(crate) fn read(&self) -> Result<Served, Box<dyn Error>> {
        let site = self.file.as_deref().filter(|file| file.is_dir()).map(Site::at);
        let of_site = site.as_ref().map(Site::configuration);
        let sources = Sources::of_process(of_site.as_deref().or(self.file.as_deref()))?;
        let mut config = sources.read()?;
        let of_configuration = config.pages_dir.take();
        config.pages_dir = self.pages.clone().or_else(|| match &site {
            Some(site) => site.pages(of_configuration),
            None => of_configuration,
        });
        thalweg_server::start_logging(&config);
        let migrations = site.as_ref().map(Site::migrations).transpose()?;
        let data_dir = self.cluster.data_dir.clone().or_else(|| site.as_ref().map(Site::data_dir));
        let cluster = Unsaid::Cluster { data_dir }.cluster(&mut config)?;
        Ok(Served { sources, config, migrations, cluster })
    }
}

impl Served {
    /// Ends what was started to serve it.
    pub(crate) fn stop(self) -> Result<(), thalweg_embedded_postgres::Error> {
        self.cluster.map_or(Ok(()), Cluster::stop)
    }
}

/// Serves a database, and the pages of a site, whose migrations are applied first.
pub(crate) fn run(serving: &Serving) -> Result<(), Box<dyn Error>> {
    let signals = Signals::listen()?;
    let mut served = serving.options.read()?;
    if let Some(migrations) = &served.migrations {
        site::apply(migrations, &served.config)?;
    }
    let server = Server::builder(served.config.clone()).sources(served.sources.clone()).development(serving.dev);
    let server = match served.migrations.take().filter(|_| serving.dev) {
        Some(applied) => server.watching(applied.path().to_owned(), move || site::difference(&applied)),
        None => server,
    };
    serve(server, &signals, |_, _| {})?;
    Ok(served.stop()?)
}

/// Serves as PostgREST would.
pub(crate) fn run_as_postgrest(sources: Sources) -> Result<(), Box<dyn Error>> {
    let signals = Signals::listen()?;
    let mut config = sources.read()?;
    thalweg_server::start_logging(&config);
    Unsaid::Libpq.cluster(&mut config)?;
    serve(Server::builder(config).sources(sources), &signals, |_, _| {})
}

/// Who is told what requests cost, where OpenTelemetry's variables name a collector.
fn collector() -> Result<Option<otlp::Options>, otlp::OptionsError> {
    let names = ["OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
    let is_named = names.iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    is_named.then(|| otlp::Options::of_environment("thalweg")).transpose()
}

/// Where a server listens, unless that is on a Unix socket.
pub(crate) struct Addresses {
    pub(crate) clients: Option<SocketAddr>,
    pub(crate) operators: Option<SocketAddr>,
}

/// Serves until SIGINT or SIGTERM. When the schema cache has been loaded, `ready` is told where, and given the API as nobody.
pub(crate) fn serve(
    server: ServerBuilder,
    signals: &Signals,
    ready: impl FnOnce(Addresses, &Api),
) -> Result<(), Box<dyn Error>> {
    let collector = collector()?;
    let stop = signals.stop();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let serve = async {
        let server = server.start().await?;
        collector.map(|collector| tokio::spawn(otlp::send(collector)));
        let addresses = Addresses { clients: server.local_addr(), operators: server.admin_addr() };
        let (api, loaded) = (server.api(), server.loaded());
        let mut serving = std::pin::pin!(server.serve(stop));
        tokio::select! {
            ended = &mut serving => return ended,
            // if nothing can be loaded, serving ends with the reason
            Ok(()) = loaded => ready(addresses, &api),
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
