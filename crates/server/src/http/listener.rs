//! The sockets that requests come in on.

use socket2::{SockAddr, SockFilter, SockRef, Socket};
use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream, UnixListener, UnixStream};

/// How many clients may wait to be accepted.
const BACKLOG: u32 = 1024;

/// How long those may take who have begun to connect when a port is left to others: for most, there and back.
const SHAKING_HANDS_TIME_MAX: Duration = Duration::from_millis(100);

/// A program of the system's packet filter, which drops what asks for a new connection (SYN, in the byte of flags of TCP's
/// header) and lets the rest through. Whoever is not answered asks again after a second, and meets another process then:
/// the system gives each to one of those that listen at the time.
const NOBODY_NEW: [SockFilter; 4] = [
    // load the byte of flags
    SockFilter::new(0x30, 0, 0, 13),
    // if it has the bit, go on, else leave out one
    SockFilter::new(0x45, 0, 1, 0x02),
    SockFilter::new(0x06, 0, 0, 0),
    SockFilter::new(0x06, 0, 0, u32::MAX),
];

/// Where to listen.
pub(crate) enum Place<'a> {
    /// At a host's addresses, or those of one of PostgREST's words; together with other processes or alone.
    Tcp { host: &'a str, port: u16, is_shared: bool },
    /// At a path whose file has these permissions.
    Unix { path: &'a Path, mode: u32 },
}

pub(crate) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener, PathBuf),
}

pub(crate) enum Accepted {
    Tcp(TcpStream, SocketAddr),
    Unix(UnixStream),
}

impl Listener {
    pub(crate) async fn bind(place: &Place<'_>) -> io::Result<Self> {
        let (path, mode) = match *place {
            Place::Tcp { host, port, is_shared: false } => {
                return TcpListener::bind(&addresses(host, port).await?[..]).await.map(Self::Tcp);
            }
            Place::Tcp { host, port, is_shared: true } => {
                return bind_shared(&addresses(host, port).await?).map(Self::Tcp);
            }
            Place::Unix { path, mode } => (path, mode),
        };
        // a stale socket is removed, anything else is somebody's file
        if std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket()) {
            std::fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))?;
        Ok(Self::Unix(listener, path.to_owned()))
    }

    /// Listens no more. Those who have been told by the system that they are connected are let in: closing resets all that wait.
    /// Where other processes listen too, whoever comes meanwhile is left to them.
    pub(crate) async fn close(self, is_shared: bool) -> Vec<Accepted> {
        if is_shared && matches!(self, Self::Tcp(_)) && SockRef::from(&self).attach_filter(&NOBODY_NEW).is_ok() {
            tokio::time::sleep(SHAKING_HANDS_TIME_MAX).await;
        }
        // Such a descriptor is the same socket, and does not block. What takes time comes before the last look.
        let Ok(kept) = self.as_fd().try_clone_to_owned().map(Socket::from) else { return Vec::new() };
        drop(self);
        let waiting: Vec<_> = std::iter::from_fn(|| kept.accept().ok()).collect();
        drop(kept);
        waiting.into_iter().filter_map(|(stream, peer)| Accepted::of(stream, &peer).ok()).collect()
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

    /// The file of a socket, without which no client finds it.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Tcp(_) => None,
            Self::Unix(_, path) => Some(path),
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

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(listener) => listener.as_fd(),
            Self::Unix(listener, _) => listener.as_fd(),
        }
    }
}

impl Accepted {
    fn of(stream: Socket, peer: &SockAddr) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(match peer.as_socket() {
            Some(peer) => {
                let _ = stream.set_tcp_nodelay(true);
                Self::Tcp(TcpStream::from_std(stream.into())?, peer)
            }
            None => Self::Unix(UnixStream::from_std(stream.into())?),
        })
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port, .. } => write!(f, "{host}:{port}"),
            Self::Unix { path, .. } => path.display().fmt(f),
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

/// Listens at the first of these addresses that can be had, where others may be listening too.
fn bind_shared(addresses: &[SocketAddr]) -> io::Result<TcpListener> {
    let mut failure = io::Error::new(ErrorKind::InvalidInput, "there is no address");
    for address in addresses {
        let bind = || {
            let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
            socket.set_reuseaddr(true)?;
            socket.set_reuseport(true)?;
            socket.bind(*address)?;
            socket.listen(BACKLOG)
        };
        match bind() {
            Ok(listener) => return Ok(listener),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

/// Whether a host is one of PostgREST's words for all addresses, at which nobody can be asked.
pub(crate) fn is_all_addresses(host: &str) -> bool {
    matches!(host, "*" | "*4" | "!4" | "*6" | "!6")
}

/// An address or a name, or one of PostgREST's words for all addresses.
async fn addresses(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let any4 = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port);
    let any6 = SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), port);
    match host {
        "!4" => Ok(vec![any4]),
        "*4" | "*" => Ok(vec![any4, any6]),
        "!6" => Ok(vec![any6]),
        "*6" => Ok(vec![any6, any4]),
        host => Ok(tokio::net::lookup_host((host, port)).await?.collect()),
    }
}
