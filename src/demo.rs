//! `thalweg demo`

use crate::ClusterOptions;
use crate::serve::serve;
use crate::signals::Signals;
use std::error::Error;
use std::net::{SocketAddr, TcpListener};
use std::time::Instant;
use thalweg_embedded_postgres::Cluster;
use thalweg_server::{Config, LogLevel, PagesBrowse, Server, print};

#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    cluster: ClusterOptions,
    /// The port to serve on; 0 is any free one
    #[arg(long, default_value_t = 3000)]
    port: u16,
    /// Throw away the data of an earlier demo first
    #[arg(long)]
    fresh: bool,
    /// How many flights to make up, where there are none yet
    #[arg(long, default_value_t = 320, hide = true)]
    flights: u32,
}

const HOST: &str = "127.0.0.1";

/// Starts the embedded cluster, loads the flight book, and serves it.
pub(crate) fn run(options: Options) -> Result<(), Box<dyn Error>> {
    let signals = Signals::listen()?;
    // before anything is started for nothing
    drop(TcpListener::bind((HOST, options.port)).map_err(|cause| {
        format!("cannot listen on {HOST}:{}: {cause}; choose another port with --port", options.port)
    })?);
    thalweg_server::start_logging(&Config { log_level: LogLevel::Info, ..Config::default() });
    let started = Instant::now();
    let cluster = Cluster::start(&thalweg_embedded_postgres::Options {
        data_dir: options.cluster.data_dir,
        fresh: options.fresh,
        settings: Vec::new(),
    })?;
    let made = if cluster.created() { "new" } else { "known" };
    let (version, after) = (cluster.major_version(), started.elapsed());
    print(format_args!("PostgreSQL {version} with a {made} cluster after {after:.1?}"));
    let uri = cluster.uri("postgres");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    if runtime.block_on(thalweg_flightbook::load(&uri, options.flights))? {
        let (flights, after) = (options.flights, started.elapsed());
        print(format_args!("Flight book with {flights} flights loaded after {after:.1?}"));
    }
    drop(runtime);
    let config = Config {
        db_uri: Some(uri),
        db_schemas: vec![thalweg_flightbook::SCHEMA.to_owned()],
        db_anon_role: Some("flightbook_visitor".to_owned()),
        db_extra_search_path: vec!["public".to_owned()],
        // a demo shows what there is
        db_aggregates_enabled: true,
        db_plan_enabled: true,
        pages_browse: PagesBrowse::On,
        server_timing_enabled: true,
        server_host: HOST.to_owned(),
        server_port: options.port,
        log_level: LogLevel::Info,
        ..Config::default()
    };
    serve(Server::builder(config), &signals, greet)?;
    print("Stopping PostgreSQL");
    cluster.stop()?;
    Ok(())
}

fn greet(address: Option<SocketAddr>) {
    let Some(address) = address else { return };
    print(format_args!(
        "\nThe flight book is served at http://{address} — ctrl-C stops it. Open it in a browser, or try:\n\n\
         \x20 curl 'http://{address}/flights?select=id,launched,distance_km&order=distance_km.desc&limit=3'\n\
         \x20 curl 'http://{address}/pilots?name=ilike.*a*&select=name,flights(distance_km,takeoff(name))&flights.limit=2&limit=2'\n\
         \x20 curl 'http://{address}/flights?select=id,pilots(name),tags!inner(label)&tags.label=eq.wave&limit=3'\n\
         \x20 curl 'http://{address}/sites?select=name,elevation_m' -H 'Accept: text/csv'\n\
         \x20 curl -i 'http://{address}/flights?select=id&limit=1' -H 'Prefer: count=exact'\n\
         \x20 curl 'http://{address}/tags' -H 'Prefer: return=representation' -H 'Content-Type: application/json' -d '{{\"id\":100,\"label\":\"first\"}}'\n\
         \x20 curl 'http://{address}/photos' -F flight_id=1 -F image=@photo.jpg\n"
    ));
}
