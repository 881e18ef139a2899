//! Callers and their shares of what a server has a limited amount of.
//!
//! ```text
//!  request ─ network.rs: the address, or what a trusted proxy says of it ─┐
//!          └ token ─ caller.rs: account, else token, else network ────────┤
//!                                                                          ├─▶ shares.rs: permits held at once
//!                                                                          └─▶ attempts.rs: attempts by time
//! ```

mod attempts;
mod caller;
mod network;
mod proxies;
mod shares;

pub use attempts::Attempts;
pub use caller::Caller;
pub use network::Network;
pub use proxies::{TrustedProxy, TrustedProxyError};
pub use shares::{Permit, ShareError, Shares};

use crate::config::Config;
use hyper::header::HeaderMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// The state that requests of all callers share.
#[derive(Debug, Default)]
pub(crate) struct Callers {
    has_reported_unknown: AtomicBool,
}

impl Callers {
    /// Returns the network of a request whose connection comes from this address, or `-` for a Unix socket. The log reports
    /// once that a proxy hides its clients.
    pub(crate) fn network(&self, config: &Config, peer: &str, headers: &HeaderMap) -> Network {
        let network = Network::of(peer.parse().ok(), headers, &config.server_trusted_proxies);
        if network == Network::Unknown && !self.has_reported_unknown.swap(true, Ordering::Relaxed) {
            let peer = if peer == "-" { "the Unix socket" } else { peer };
            tracing::info!(
                target: "notice",
                "the proxy at {peer} does not report its clients, so all of them have one share together, and password attempts are \
                 not limited by client: let it set X-Forwarded-For to the client's address (docs/proxies.md)"
            );
        }
        network
    }
}
