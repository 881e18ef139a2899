//! What the program is asked without serving: `--example`, `--dump-config`, `--dump-schema`, `--ready`.

use crate::serve;
use std::error::Error;
use std::io::{self, Write};
use thalweg_server::{Config, Sources, Visitor, effective_config, schema_cache_json};

/// Prints a configuration in which each key stands with its default.
pub(crate) fn print_example() -> Result<(), Box<dyn Error>> {
    print(Config::example().as_bytes())
}

/// Prints the configuration that a server would be started with.
pub(crate) fn dump_config(sources: &Sources) -> Result<(), Box<dyn Error>> {
    thalweg_server::start_logging(&Config::default());
    let config = runtime()?.block_on(effective_config(sources))?;
    print(config.dump().as_bytes())
}

/// Prints the schema cache that it would load.
pub(crate) fn dump_schema(sources: &Sources) -> Result<(), Box<dyn Error>> {
    thalweg_server::start_logging(&Config::default());
    let dumped = runtime()?.block_on(async {
        let config = effective_config(sources).await?;
        Ok::<_, Box<dyn Error>>(schema_cache_json(&config).await?)
    });
    let mut dumped = dumped?;
    dumped.push(b'\n');
    print(&dumped)
}

/// Prints what an address reads.
pub(crate) fn explain(options: &serve::Options, address: &str, visitor: Visitor<'_>) -> Result<(), Box<dyn Error>> {
    let served = options.read()?;
    let explained = runtime()?.block_on(thalweg_server::explain(&served.config, address, visitor));
    served.stop()?;
    print(explained?.as_bytes())
}

/// Prints whether the server of a configuration is ready; whether it is.
pub(crate) fn ready(sources: &Sources) -> Result<bool, Box<dyn Error>> {
    Ok(match thalweg_server::ready(&sources.read()?) {
        Ok(url) => {
            print(format!("OK: {url}\n").as_bytes())?;
            true
        }
        Err(why) => {
            thalweg_server::print_error(format_args!("ERROR: {why}"));
            false
        }
    })
}

/// Unlike a log line, what was asked for must not be dropped where it is large, and whoever reads it slow.
fn print(text: &[u8]) -> Result<(), Box<dyn Error>> {
    match io::stdout().lock().write_all(text) {
        // whoever reads it has seen enough
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}
