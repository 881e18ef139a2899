//! `thalweg demo`

use crate::ClusterOptions;
use crate::serve::{Addresses, serve};
use crate::signals::Signals;
use std::error::Error;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::Instant;
use thalweg_embedded_postgres::Cluster;
use thalweg_flightbook::demo::{self, Guide};
use thalweg_flightbook::{join, migrate};
use thalweg_server::{Api, Config, LogLevel, Server, print};

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
    /// How many flights to make up for the first pilot, where there are no pilots yet
    #[arg(long, default_value_t = 320, hide = true)]
    flights: u32,
}

const HOST: &str = "127.0.0.1";

/// Starts the embedded cluster, puts the flight book with its sample pilots into it, and serves it.
pub(crate) fn run(options: Options) -> Result<(), Box<dyn Error>> {
    let signals = Signals::listen()?;
    // before anything is started for nothing
    drop(TcpListener::bind((HOST, options.port)).map_err(|cause| {
        format!("cannot listen on {HOST}:{}: {cause}; choose another port with --port", options.port)
    })?);
    thalweg_server::start_logging(&Config { log_level: LogLevel::Info, ..Config::default() });
    let started = Instant::now();
    let data_dir = options.cluster.data_dir.unwrap_or_else(thalweg_embedded_postgres::default_data_dir);
    let cluster = Cluster::start(&thalweg_embedded_postgres::Options {
        data_dir: Some(data_dir.clone()),
        fresh: options.fresh,
        settings: Vec::new(),
    })?;
    let made = if cluster.created() { "new" } else { "known" };
    let (version, after) = (cluster.major_version(), started.elapsed());
    print(format_args!("PostgreSQL {version} with a {made} cluster after {after:.1?}"));
    let written = written(&data_dir, &cluster)?;
    let config =
        Config { server_host: HOST.to_owned(), server_port: options.port, admin_server_port: Some(0), ..written };
    let guide = filled(&data_dir, &config, options.flights, started)?;
    let server = join::join_demo(Server::builder(config.clone()), &config)?;
    serve(server, &signals, |addresses, api| greet(addresses, api, guide.as_ref()))?;
    print("Stopping PostgreSQL");
    cluster.stop()?;
    Ok(())
}

/// Where the flight book is served from: beside the cluster.
fn folder(data_dir: &Path) -> PathBuf {
    data_dir.join("flightbook")
}

/// Writes what is served, and says how.
fn written(data_dir: &Path, cluster: &Cluster) -> Result<Config, Box<dyn Error>> {
    let folder = folder(data_dir);
    let secret = demo::write(&folder).and_then(|()| demo::secret(&folder, cluster.created()));
    let secret = secret.map_err(|cause| format!("cannot write the flight book to {}: {cause}", folder.display()))?;
    Ok(demo::config(&folder, cluster.uri("postgres"), secret)?)
}

/// Makes the database what this program serves, with the sample pilots in it. Gives who shows the API.
fn filled(data_dir: &Path, config: &Config, flights: u32, started: Instant) -> Result<Option<Guide>, Box<dyn Error>> {
    let uri = config.db_uri.as_deref().unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let loaded = runtime.block_on(async {
        migrate(&folder(data_dir), config).await?;
        let loaded = demo::load(uri, flights).await?;
        Ok::<_, Box<dyn Error>>((loaded, Guide::find(uri).await?))
    });
    let (loaded, guide) = loaded.map_err(|error| {
        let of_another =
            "if it is of another version's demo, --fresh throws it away, and --data-dir keeps this one's elsewhere";
        format!("{error}\nThe database in {} cannot be used: {of_another}", data_dir.display())
    })?;
    if let Some(flights) = loaded {
        let after = started.elapsed();
        print(format_args!("Flight book with {flights} flights of sample pilots loaded after {after:.1?}"));
    }
    Ok(guide)
}

fn greet(addresses: Addresses, api: &Api, guide: Option<&Guide>) {
    let Some(address) = addresses.clients else { return };
    print(format_args!(
        "\nThe flight book is served at http://{address} — ctrl-C stops it. Open it in a browser, and sign in at a click."
    ));
    if let Some(operators) = addresses.operators {
        print(format_args!("What each request costs: http://{operators}/admin/bill"));
    }
    // a visitor may have deleted the pilot
    let Some((guide, token)) = guide.and_then(|guide| Some((guide, guide.token(api).ok()?))) else { return };
    if let Some(shared) = &guide.shared {
        print(format_args!("A flight that is shared with everybody: http://{address}/shared/{shared}"));
    }
    print(format_args!(
        "\nIts API, as a pilot:\n\n\
         \x20 TOKEN={token}\n\
         \x20 AUTH=\"Authorization: Bearer $TOKEN\" API=http://{address}/api\n{EXAMPLES}"
    ));
}

/// As they are pasted into a shell behind what says who asks and where.
const EXAMPLES: &str = r#"
  curl -H "$AUTH" "$API/flights?select=number,date,points,launch:sites!launch_site(name)&order=points.desc.nullslast&limit=3"
  curl -H "$AUTH" "$API/gliders?select=name,flights(date,track_distance)&flights.order=date.desc&flights.limit=2"
  curl -H "$AUTH" "$API/flights?select=date,airtime,launch:sites!launch_site!inner(name)&airtime=gt.5h&launch.country=eq.CH"
  curl -H "$AUTH" "$API/flights?select=year,count(),track_distance.sum()&order=year" -H 'Accept: text/csv'
  curl -H "$AUTH" "$API/flights?select=number&limit=1" -H 'Prefer: count=exact' -i
  curl -H "$AUTH" "$API/flihgts"
  curl -H "$AUTH" "$API/sites" -H 'Prefer: return=representation' -H 'Content-Type: application/json' -d '{"name":"Niesen","country":"CH"}'
  curl -H "$AUTH" "$API/sites?on_conflict=pilot_id,name" -H 'Prefer: resolution=merge-duplicates' -H 'Content-Type: application/json' -d '{"name":"Niesen","elevation_m":2362}' -i
  curl -H "$AUTH" "$API/tracks?select=igc&order=starts_at.desc&limit=1" -H 'Accept: application/octet-stream' -o track.igc
"#;
