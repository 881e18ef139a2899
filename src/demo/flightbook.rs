//! `thalweg demo`: the flight book with its sample pilots.

use super::Ground;
use crate::serve::{Addresses, serve};
use std::error::Error;
use std::path::{Path, PathBuf};
use thalweg_flightbook::demo::{self, Guide};
use thalweg_flightbook::{join, migrate};
use thalweg_server::{Api, Config, Server, print};

/// Puts the flight book with its sample pilots into the cluster, and serves it.
pub(super) fn run(ground: Ground, flights: u32) -> Result<(), Box<dyn Error>> {
    let config = written(&ground)?;
    let guide = filled(&ground, &config, flights)?;
    let server = join::join_demo(Server::builder(config.clone()), &config)?;
    serve(server, &ground.signals, |addresses, api| greet(addresses, api, guide.as_ref()))?;
    ground.stop()
}

/// Where the flight book is served from: beside the cluster.
fn folder(data_dir: &Path) -> PathBuf {
    data_dir.join("flightbook")
}

/// Writes what is served, and says how.
fn written(ground: &Ground) -> Result<Config, Box<dyn Error>> {
    let folder = folder(&ground.data_dir);
    let secret = demo::write(&folder).and_then(|()| demo::secret(&folder, ground.cluster.created()));
    let secret = secret.map_err(|cause| format!("cannot write the flight book to {}: {cause}", folder.display()))?;
    Ok(ground.served(demo::config(&folder, ground.cluster.uri("postgres"), secret)?))
}

/// Makes the database what this program serves, with the sample pilots in it. Gives who shows the API.
fn filled(ground: &Ground, config: &Config, flights: u32) -> Result<Option<Guide>, Box<dyn Error>> {
    let uri = config.db_uri.as_deref().unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let loaded = runtime.block_on(async {
        migrate(&folder(&ground.data_dir), config).await?;
        let loaded = demo::load(uri, flights).await?;
        Ok::<_, Box<dyn Error>>((loaded, Guide::find(uri).await?))
    });
    let (loaded, guide) = loaded.map_err(|error| ground.of_another(&*error))?;
    if let Some(flights) = loaded {
        let after = ground.started.elapsed();
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
  curl -H "$AUTH" "$API/igc_files?select=igc&order=starts_at.desc&limit=1" -H 'Accept: application/octet-stream' -o track.igc
"#;
