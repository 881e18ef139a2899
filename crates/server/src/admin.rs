//! What an operator asks the server, at an address of its own (operations §8).
//!
//! ```text
//!  another socket
//!    │ clients    64 at a time; the longest quiet one makes room for the next
//!    │ hosts      host names that the server answers to
//!    ▼
//!  pages        which path is which page
//!    │ health     whether it lives, whether requests can be answered
//!    │ metrics    what it has counted, for Prometheus
//!    ▼
//!  vitals       what the rest of the server notes for these pages
//! ```
//!
//! No page takes a connection of the pool, so that a server can be looked at whatever it is doing.

mod clients;
mod health;
mod hosts;
mod metrics;
mod pages;
mod vitals;

pub(crate) use clients::CLIENTS_MAX;
pub(crate) use vitals::{LastLoad, Vitals};

use crate::config::Config;
use crate::error::ApiError;
use crate::http::{Accepted, Framed, HEAD_BYTES_MAX, Listener, Place, RefusedRequest, Reset, Socket};
use crate::state::State;
use clients::{Activity, Clients};
use hosts::Hosts;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use nix::errno::Errno;
use pages::Pages;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};

/// How long a client may take for the head of a request, or leave its connection unused.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a client may take nothing of an answer.
const STALL_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest time for which a client stays connected.
const CONNECTION_TIME_MAX: Duration = Duration::from_secs(90);
/// How long to wait after a failure to accept for want of something.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A server for operators, that listens.
pub(crate) struct Admin {
    listener: Listener,
}

/// Where it listens, if it does.
pub(crate) fn place(config: &Config) -> Option<Place<'_>> {
    if let Some(path) = &config.admin_server_unix_socket {
        return Some(Place::Unix { path, mode: config.admin_server_unix_socket_mode });
    }
    let host = config.admin_server_host.as_ref().unwrap_or(&config.server_host);
    config.admin_server_port.map(|port| Place::Tcp { host, port, is_shared: false })
}

impl Admin {
    /// Listens.
    pub(crate) async fn bind(place: &Place<'_>) -> io::Result<Self> {
        let listener = Listener::bind(place).await?;
        let described = listener.describe();
        let address = described.strip_prefix("http://").unwrap_or(&described);
        tracing::info!(target: "notice", "Admin server listening on {address}");
        Ok(Self { listener })
    }

    /// Where, unless that is a Unix socket.
    pub(crate) fn local_addr(&self) -> Option<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers until it cannot go on.
    pub(crate) async fn serve(self, state: Arc<State>) -> io::Error {
        // No browser reaches a Unix socket, so its clients may name any host.
        let hosts = self.listener.path().is_none().then(|| Hosts::new(&state.start));
        let pages = Arc::new((Pages::new(state), hosts));
        let mut clients = Clients::default();
        loop {
            let accepted = match self.listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) if is_want(&error) => {
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
                Err(error) => return error,
            };
            clients.make_room().await;
            let (pages, activity) = (pages.clone(), Arc::<Activity>::default());
            let of_client = activity.clone();
            let task = tokio::spawn(async move {
                let (pages, hosts) = &*pages;
                let answered = async {
                    match accepted {
                        Accepted::Tcp(stream, _) => client(pages, hosts.as_ref(), &of_client, stream).await,
                        Accepted::Unix(stream) => client(pages, hosts.as_ref(), &of_client, stream).await,
                    }
                };
                let _ = tokio::time::timeout(CONNECTION_TIME_MAX, answered).await;
            });
            clients.add(task.abort_handle(), activity);
        }
    }
}

/// Whether there was too little of something to accept a client, which may be there again soon.
fn is_want(error: &io::Error) -> bool {
    let number = error.raw_os_error().map(Errno::from_raw);
    matches!(
        number,
        Some(Errno::EMFILE | Errno::ENFILE | Errno::ENOBUFS | Errno::ENOMEM | Errno::EPERM | Errno::EPROTO)
    )
}

/// Serves one client, request by request. An error of its connection ends this client only.
async fn client<S: AsyncRead + AsyncWrite + AsRawFd + Reset + Unpin>(
    pages: &Pages,
    hosts: Option<&Hosts>,
    activity: &Activity,
    stream: S,
) {
    let socket = Socket::new(stream, STALL_TIMEOUT);
    let untaken = &socket.untaken();
    let service = service_fn(|request: Request<Incoming>| async move {
        untaken.taken().await;
        let _answering = activity.answer();
        let is_refused_host = hosts.is_some_and(|hosts| !hosts.allow(request.headers()));
        let answer = match RefusedRequest::from_replacement(request.headers(), request.version()) {
            Some(refused) => pages::failure(&refused.error()),
            None if is_refused_host => pages::failure(&ApiError::of_other_host()),
            None => pages.answer(request.uri()).await,
        };
        Ok::<_, Infallible>(answer)
    });
    let stream = Framed::new(socket);
    let connection = http1::Builder::new()
        .max_buf_size(HEAD_BYTES_MAX)
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    let _ = connection.await;
}
