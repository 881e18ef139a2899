//! `thalweg demo reader`: stories in Japanese whose words show their dictionary entries.

use super::Ground;
use crate::serve::{Addresses, serve};
use std::error::Error;
use std::path::{Path, PathBuf};
use thalweg_gloss::Dictionary;
use thalweg_reader::{demo, join, migrate};
use thalweg_server::{Config, Server, print};

/// Beside the flight book's, so that neither is in the other's way.
pub(super) fn data_dir() -> PathBuf {
    thalweg_embedded_postgres::default_data_dir().with_file_name("thalweg-reader")
}

/// Puts the stories into the cluster, and serves them.
pub(super) fn run(ground: Ground, dictionary: Dictionary) -> Result<(), Box<dyn Error>> {
    let folder = ground.data_dir.join("reader");
    demo::write(&folder).map_err(|cause| format!("cannot write the reader to {}: {cause}", folder.display()))?;
    let config = ground.served(demo::config(&folder, ground.cluster.uri("postgres"))?);
    let stories = filled(&ground, &folder, &config)?;
    let after = ground.started.elapsed();
    print(format_args!("Reader with {stories} stories loaded after {after:.1?}"));
    for source in dictionary.sources() {
        print(format_args!("Dictionary: {}", crate::gloss::told(source)));
    }
    let server = join::join(Server::builder(config.clone()), &config, dictionary);
    serve(server, &ground.signals, |addresses, _| greet(addresses))?;
    ground.stop()
}

/// Makes the database what this program serves. Gives how many stories there are.
fn filled(ground: &Ground, folder: &Path, config: &Config) -> Result<usize, Box<dyn Error>> {
    let uri = config.db_uri.as_deref().unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let loaded = runtime.block_on(async {
        migrate(folder, config).await?;
        Ok::<_, Box<dyn Error>>(demo::load(folder, uri).await?)
    });
    Ok(loaded.map_err(|error| ground.of_another(&*error))?)
}

fn greet(addresses: Addresses) {
    let Some(address) = addresses.clients else { return };
    print(format_args!("\nThe reader is served at http://{address} — ctrl-C stops it. Open it in a browser."));
    if let Some(operators) = addresses.operators {
        print(format_args!("What each request costs: http://{operators}/admin/bill"));
    }
    print(format_args!(
        "\nIts API:\n\n\
         \x20 curl \"http://{address}/api/stories?select=number,level,title&order=number\"\n\
         \x20 curl http://{address}/rpc/gloss -H 'Content-Type: application/json' -d '{{\"text\":\"食べさせられていた\"}}'\n"
    ));
}
