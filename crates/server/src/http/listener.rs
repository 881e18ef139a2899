//! The sockets that requests come in on.

use crate::config::Config;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::PathBuf;
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

/// Owner and group may connect, as PostgREST has it.
const SOCKET_MODE: u32 = 0o660;

pub(crate) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener, PathBuf),
}

pub(crate) enum Accepted {
    Tcp(TcpStream, SocketAddr),
    Unix(UnixStream),
}

impl Listener {
    pub(crate) async fn bind(config: &Config) -> io::Result<Self> {
        let Some(path) = &config.server_unix_socket else {
            return TcpListener::bind(&addresses(config).await?[..]).await.map(Self::Tcp);
        };
        // a stale socket is removed, anything else is somebody's file
        if std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket()) {
            std::fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(SOCKET_MODE))?;
        Ok(Self::Unix(listener, path.clone()))
    }

    /// The next client. An error is one of accepting, not of a client that has gone meanwhile.
    pub(crate) async fn accept(&self) -> io::Result<Accepted> {
        loop {
            let accepted = match self {
                Self::Tcp(listener) => listener.accept().await.map(|(stream, peer)| {
                    // whoever has gone is noticed when it is read from
                    let _ = stream.set_nodelay(true);
                    Accepted::Tcp(stream, peer)
                }),
                Self::Unix(listener, _) => listener.accept().await.map(|(stream, _)| Accepted::Unix(stream)),
            };
            match accepted {
                Err(error) if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset) => {}
                accepted => return accepted,
            }
        }
    }

    pub(crate) fn local_addr(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(listener) => listener.local_addr().ok(),
            Self::Unix(..) => None,
        }
    }

    /// Where it listens, for people.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Tcp(listener) => listener.local_addr().map_or_else(|e| e.to_string(), |a| format!("http://{a}")),
            Self::Unix(_, path) => path.display().to_string(),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Self::Unix(_, path) = self {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// An address or a name, or one of PostgREST's words for all addresses.
async fn addresses(config: &Config) -> io::Result<Vec<SocketAddr>> {
    let port = config.server_port;
    let any4 = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port);
    let any6 = SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), port);
    match config.server_host.as_str() {
        "!4" => Ok(vec![any4]),
        "*4" | "*" => Ok(vec![any4, any6]),
        "!6" => Ok(vec![any6]),
        "*6" => Ok(vec![any6, any4]),
        host => Ok(tokio::net::lookup_host((host, port)).await?.collect()),
    }
}
