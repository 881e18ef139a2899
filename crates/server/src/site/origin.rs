//! Where a site is, as its absolute addresses begin.

use crate::config::Config;
use hyper::header::{HOST, HeaderMap};
use hyper::http::uri::Authority;
use std::net::IpAddr;

/// What the configuration says. Without it a request's `Host` is believed where it names this machine, and nowhere else: anybody can write a
/// name there, to which a feed or a page that a cache has kept would lead others.
pub(crate) fn origin(config: &Config, headers: &HeaderMap) -> Option<String> {
    let mut hosts = headers.get_all(HOST).iter();
    let only = hosts.next().filter(|_| hosts.next().is_none());
    let of_request = || only?.to_str().ok().filter(|host| is_this_machine(host));
    config.pages_origin.clone().or_else(|| Some(format!("http://{}", of_request()?)))
}

/// Whether a host, with a port or without, is where the program itself runs.
fn is_this_machine(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    let name = authority.host();
    let is_whole = host == name || authority.port_u16().is_some_and(|port| host == format!("{name}:{port}"));
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    is_whole && (name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_believed() {
        for host in ["localhost", "LOCALHOST:3000", "127.0.0.1:80", "127.1.2.3", "[::1]:3000", "[::1]"] {
            assert!(is_this_machine(host), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "evil.example:80",
            "localhost@evil.example",
            "evil@localhost",
            "localhost:80@evil.example",
            "localhost:80x",
            "localhost:",
            "localhost:99999",
            "localhost/evil",
            "10.0.0.1",
            "[::2]",
            "",
        ] {
            assert!(!is_this_machine(host), "{host}");
        }
    }
}
