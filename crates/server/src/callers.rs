//! Callers, and their shares of the server's limited resources.
//!
//! ```text
//!  request ─ network.rs: the address, or the one that a trusted proxy reports ─┐
//!          └ token ─ caller.rs: account, else token, else network ─────────────┤
//!                                                                               ├─▶ shares.rs: permits held at once
//!                                                                               └─▶ attempts.rs: attempts by time
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
use crate::error::ApiError;
use hyper::header::HeaderMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// The state that requests of all callers share.
#[derive(Debug)]
pub(crate) struct Callers {
    has_reported_unknown: AtomicBool,
    /// Attempts to sign in, by network.
    sign_ins: Option<Attempts>,
}

/// An attempt to sign in that has been counted.
pub(crate) struct SignInAttempt<'a> {
    attempts: &'a Attempts,
    network: Network,
}

impl SignInAttempt<'_> {
    /// Restores the attempt, because the caller has signed in or nothing was executed.
    pub(crate) fn take_back(self) {
        self.attempts.give_back(&self.network);
    }
}

impl Callers {
    /// Creates the state from the configuration with which the server starts.
    pub(crate) fn new(config: &Config) -> Self {
        let attempts = u32::try_from(config.sign_in_attempts).ok().filter(|attempts| *attempts > 0);
        let sign_ins = attempts.map(|attempts| Attempts::new(attempts, config.sign_in_interval));
        Self { has_reported_unknown: AtomicBool::new(false), sign_ins }
    }

    /// Counts an attempt to sign in, or refuses it if the network has none left. A network that is
    /// unknown is not limited, because it stands for many clients, one of which could then lock out
    /// all others.
    pub(crate) fn sign_in(
        &self,
        config: &Config,
        peer: &str,
        headers: &HeaderMap,
    ) -> Result<Option<SignInAttempt<'_>>, ApiError> {
        let Some(attempts) = &self.sign_ins else { return Ok(None) };
        let network = self.network(config, peer, headers);
        if network == Network::Unknown {
            return Ok(None);
        }
        attempts.take(&network).map_err(ApiError::of_share)?;
        Ok(Some(SignInAttempt { attempts, network }))
    }

    /// Returns the network of a request. `peer` is the address of its connection, or `-` for a Unix
    /// socket. Logs once that a proxy hides its clients.
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

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::{HOST, HeaderValue};
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_proxy_that_hides_its_clients_is_reported_once() {
        let (lines, config) = (Lines::default(), Config::default());
        let writer = lines.clone();
        let subscriber = tracing_subscriber::fmt().with_writer(move || writer.clone()).finish();
        tracing::subscriber::with_default(subscriber, || {
            let callers = Callers::new(&config);
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_static("localhost"));
            callers.network(&config, "127.0.0.1", &headers);
            callers.network(&config, "192.0.2.1", &headers);
            assert!(lines.0.lock().unwrap().is_empty(), "clients without a proxy");
            headers.insert(HOST, HeaderValue::from_static("club.example"));
            (0..3).for_each(|_| _ = callers.network(&config, "127.0.0.1", &headers));
        });
        let lines = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        assert_eq!(lines.matches("the proxy at 127.0.0.1 does not report its clients").count(), 1, "{lines}");
    }
}
