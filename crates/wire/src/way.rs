//! The way to a server: the address that answered, and whether what is said there is encrypted.

use crate::config::{Config, Host};
use crate::error::{Error, ErrorKind};
use crate::stream::Stream;
use crate::tls::{self, Tls};
use bytes::BytesMut;
use postgres_protocol::message::frontend;
use std::net::{IpAddr, SocketAddr};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream, lookup_host};

/// A way on which a connection was made, so that a cancellation takes the same.
#[derive(Debug, Clone)]
pub(crate) struct Way {
    host: Host,
    /// The one of its addresses that answered; none of a Unix socket.
    address: Option<SocketAddr>,
    tls: Option<Tls>,
}

/// A socket on which the startup can begin.
pub(crate) struct Opened {
    pub(crate) stream: Stream,
    pub(crate) way: Way,
    /// What SCRAM may bind the channel to.
    pub(crate) end_point: Option<Vec<u8>>,
}

/// Whether a connection is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encryption {
    No,
    IfOffered,
    Yes,
}

/// The addresses of a host; none of a Unix socket.
pub(crate) async fn addresses(host: &Host) -> Result<Vec<SocketAddr>, Error> {
    let Host::Tcp { name, address, port } = host else { return Ok(Vec::new()) };
    let found = lookup_host((address.as_deref().unwrap_or(name), *port)).await;
    Ok(found.map_err(|cause| unreachable(host, cause))?.collect())
}

/// Whether a host that has these addresses is this machine, and is said to be: by an address, or as `localhost`. What some
/// other name means may change, and is not for whoever answers for names to choose.
pub(crate) fn is_this_machine(host: &Host, addresses: &[SocketAddr]) -> bool {
    let Host::Tcp { name, address, .. } = host else { return true };
    let is_said = address.is_some() || name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok();
    is_said && !addresses.is_empty() && addresses.iter().all(|address| address.ip().to_canonical().is_loopback())
}

impl Way {
    /// Opens a socket to the first address that answers. `None` where it must be encrypted and the server does not offer
    /// that. A Unix socket never is: nothing but the kernel stands between.
    pub(crate) async fn open(
        config: &Config,
        host: &Host,
        addresses: &[SocketAddr],
        encryption: Encryption,
    ) -> Result<Option<Opened>, Error> {
        let plain = |stream, address| {
            let way = Self { host: host.clone(), address, tls: None };
            Ok(Some(Opened { stream, way, end_point: None }))
        };
        let Host::Tcp { name, .. } = host else { return plain(unix(host).await?, None) };
        let mut stream = tcp(host, addresses).await?;
        let address = Some(stream.peer_addr()?);
        if encryption == Encryption::No {
            return plain(Stream::Tcp(stream), address);
        }
        if !is_offered(&mut stream).await? {
            return if encryption == Encryption::Yes { Ok(None) } else { plain(Stream::Tcp(stream), address) };
        }
        let tls = Tls::new(config, name)?;
        let encrypted = tls.encrypt(stream).await?;
        let end_point = tls::end_point(&encrypted);
        let way = Self { host: host.clone(), address, tls: Some(tls) };
        Ok(Some(Opened { stream: Stream::Other(Box::new(encrypted)), way, end_point }))
    }

    /// Goes the same way again.
    pub(crate) async fn again(&self) -> Result<Stream, Error> {
        let Some(address) = self.address else { return unix(&self.host).await };
        let mut stream = tcp(&self.host, &[address]).await?;
        match &self.tls {
            None => Ok(Stream::Tcp(stream)),
            Some(tls) if is_offered(&mut stream).await? => Ok(Stream::Other(Box::new(tls.encrypt(stream).await?))),
            Some(_) => Err(unreachable(&self.host, "the server does not offer TLS any more")),
        }
    }
}

/// Asks whether what follows can be encrypted.
async fn is_offered(stream: &mut TcpStream) -> Result<bool, Error> {
    let mut request = BytesMut::new();
    frontend::ssl_request(&mut request);
    stream.write_all(&request).await?;
    // One byte only: whatever follows it must not be read before encryption begins.
    let mut answer = [0];
    stream.read_exact(&mut answer).await?;
    match &answer {
        b"S" => Ok(true),
        b"N" => Ok(false),
        _ => Err(Error::new(ErrorKind::Protocol("answer to the request for TLS"))),
    }
}

async fn tcp(host: &Host, addresses: &[SocketAddr]) -> Result<TcpStream, Error> {
    let stream = TcpStream::connect(addresses).await.map_err(|cause| unreachable(host, cause))?;
    stream.set_nodelay(true).map_err(|cause| unreachable(host, cause))?;
    Ok(stream)
}

async fn unix(host: &Host) -> Result<Stream, Error> {
    match host {
        Host::Unix { directory, port } => {
            let path = directory.join(format!(".s.PGSQL.{port}"));
            Ok(Stream::Unix(UnixStream::connect(path).await.map_err(|cause| unreachable(host, cause))?))
        }
        Host::Tcp { .. } => Err(unreachable(host, "no address")),
    }
}

fn unreachable(host: &Host, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::caused(ErrorKind::Connect(host.to_string()), cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_what_is_said_to_be_it() {
        let tcp = |name: &str, address: Option<&str>| Host::Tcp {
            name: name.into(),
            address: address.map(str::to_owned),
            port: 1,
        };
        let of = |ips: &[&str]| -> Vec<SocketAddr> {
            ips.iter().map(|ip| SocketAddr::new(ip.parse().unwrap(), 1)).collect()
        };
        for (host, ips, is_near) in [
            (tcp("127.0.0.1", None), &["127.0.0.1"][..], true),
            (tcp("127.9.8.7", None), &["127.9.8.7"], true),
            (tcp("::1", None), &["::1"], true),
            (tcp("::ffff:127.0.0.1", None), &["::ffff:127.0.0.1"], true),
            (tcp("LocalHost", None), &["::1", "127.0.0.1"], true),
            (tcp("localhost", None), &["127.0.0.1", "192.0.2.1"], false),
            (tcp("localhost", None), &[], false),
            (tcp("db.example", None), &["127.0.0.1"], false),
            (tcp("db.example", Some("127.0.0.1")), &["127.0.0.1"], true),
            (tcp("localhost", Some("192.0.2.1")), &["192.0.2.1"], false),
            (tcp("0.0.0.0", None), &["0.0.0.0"], false),
            (tcp("10.0.0.1", None), &["10.0.0.1"], false),
        ] {
            assert_eq!(is_this_machine(&host, &of(ips)), is_near, "{host} {ips:?}");
        }
        assert!(is_this_machine(&Host::Unix { directory: "/tmp".into(), port: 1 }, &[]));
    }
}
