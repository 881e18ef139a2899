//! The host names that the admin server answers to.
//!
//! A page on the internet can have its own name resolved to this machine's address (DNS rebinding),
//! and then read every page of a server that a browser on this machine can reach. Such a request
//! names the page's host. A host that is an address is not resolved at all, and browsers resolve
//! `localhost` without DNS, so both are always allowed. Any other name must be configured.

use crate::config::Config;
use crate::http::{Authority, Host};
use hyper::HeaderMap;
use hyper::header::HOST;

/// The configured names.
pub(super) struct Hosts(Vec<String>);

impl Hosts {
    /// Creates the list from `admin-server-allowed-hosts` and the host at which the admin server
    /// listens.
    pub(super) fn new(config: &Config) -> Self {
        let own = config.admin_server_host.as_ref().unwrap_or(&config.server_host);
        let allowed = config.admin_server_allowed_hosts.iter().flatten();
        Self(allowed.chain([own]).cloned().collect())
    }

    /// Returns whether the server answers a request with these headers. Only an HTTP/1.0 request
    /// may lack `Host`, and no browser sends HTTP/1.0.
    pub(super) fn allow(&self, headers: &HeaderMap) -> bool {
        let Some(host) = headers.get(HOST) else { return true };
        let authority = host.to_str().ok().and_then(Authority::parse);
        authority.is_some_and(|Authority { host, .. }| {
            host.is_address() || host.is_localhost() || self.0.iter().any(|name| host == Host::Name(name))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    #[test]
    fn addresses_localhost_and_configured_names_are_allowed() {
        let hosts = Hosts(vec!["metrics.club.example".to_owned(), "thalweg-1".to_owned(), "!4".to_owned()]);
        let allow = |host: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_static(host));
            hosts.allow(&headers)
        };
        for host in [
            "127.0.0.1:3001",
            "10.1.2.3:3001",
            "[::1]:3001",
            "[2001:db8::1]",
            "localhost:3001",
            "LOCALHOST",
            "thalweg.localhost:3001",
            "Metrics.Club.Example:3001",
            "thalweg-1",
        ] {
            assert!(allow(host), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:3001",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "thalweg-1.evil.example",
            "metrics.club.example.",
            "2130706433",
            "",
        ] {
            assert!(!allow(host), "{host}");
        }
        assert!(hosts.allow(&HeaderMap::new()));
    }
}
