//! What the command line asks without serving: the effective configuration, the schema cache, whether a server is ready
//! (operations §11).

use crate::config::{Config, ConfigError, Sources, said_by_database};
use crate::http::is_all_addresses;
use crate::schema::{self, LoadFailure, described, load};
use crate::server::ServerError;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};
use thalweg_wire::{Connection, Error};

/// How long a server may take to say whether it is ready.
const READY_TIME_MAX: Duration = Duration::from_secs(10);
/// How much is read of what it says, in bytes.
const STATUS_LINE_BYTES_MAX: u64 = 4096;

/// The configuration that a server would be started with, the database's part included where `db-config` says so. Where the
/// database does not answer, that part is left out, and the log says so.
pub async fn effective_config(sources: &Sources) -> Result<Config, ConfigError> {
    let base = sources.read()?;
    if !base.db_config {
        return Ok(base);
    }
    match connect(&base).await {
        Ok(mut connection) => said_by_database(base, &mut connection).await,
        Err(error) => {
            tracing::info!(target: "notice", %error, "the database's configuration was not read");
            Ok(base)
        }
    }
}

/// The schema cache that a server of this configuration would load, as JSON.
pub async fn schema_cache_json(config: &Config) -> Result<Vec<u8>, ServerError> {
    let failed = |failure: LoadFailure| ServerError::Database(failure.to_string());
    let connection = connect(config).await.map_err(|error| failed(error.into()))?;
    let snapshot = load(connection, config, None).await.map_err(failed)?;
    Ok(described(&snapshot.catalog))
}

/// Asks the admin server of this configuration whether the server is ready: the address that has said so, or why not.
pub fn ready(config: &Config) -> Result<String, String> {
    let port = config.admin_server_port.ok_or("Admin server is not running. Please check admin-server-port config.")?;
    let host = config.admin_server_host.as_ref().unwrap_or(&config.server_host);
    if is_all_addresses(host) {
        return Err(format!(
            "The `--ready` flag cannot be used when admin-server-host or server-host is configured as \"{host}\". \
             Please update it to \"localhost\"."
        ));
    }
    // an address of IPv6 is told from a port by brackets
    let host = if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host.clone() };
    let url = format!("http://{host}:{port}/ready");
    match asked(&host, port) {
        Ok(200..=299) => Ok(url),
        Ok(status) => Err(format!("{url}: {status}")),
        Err(error) => Err(format!("{url}: {error}")),
    }
}

/// The status that `/ready` is answered with.
fn asked(host: &str, port: u16) -> io::Result<u16> {
    let deadline = Instant::now() + READY_TIME_MAX;
    let left = || {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::Error::from(ErrorKind::TimedOut)) } else { Ok(left) }
    };
    let mut connected = Err(io::Error::new(ErrorKind::NotFound, "there is no such host"));
    for address in (host.trim_matches(['[', ']']), port).to_socket_addrs()? {
        connected = TcpStream::connect_timeout(&address, left()?);
        if connected.is_ok() {
            break;
        }
    }
    let mut stream = connected?;
    stream.set_write_timeout(Some(left()?))?;
    write!(stream, "GET /ready HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    let mut piece = [0; 256];
    while !answer.contains(&b'\n') && (answer.len() as u64) < STATUS_LINE_BYTES_MAX {
        stream.set_read_timeout(Some(left()?))?;
        match stream.read(&mut piece)? {
            0 => break,
            count => answer.extend_from_slice(&piece[..count]),
        }
    }
    let line = String::from_utf8_lossy(&answer);
    let mut words = line.split_whitespace();
    let is_http = words.next().is_some_and(|word| word.starts_with("HTTP/1."));
    let status = words.next().filter(|_| is_http).and_then(|status| status.parse().ok());
    status.ok_or_else(|| io::Error::new(ErrorKind::InvalidData, "this is no answer in HTTP"))
}

pub(crate) async fn connect(config: &Config) -> Result<Connection, Error> {
    schema::connect(&config.wire()?).await
}
