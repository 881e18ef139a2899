//! The network that a request comes from, by its connection or by what a trusted proxy reports.

use super::TrustedProxy;
use crate::http::Authority;
use hyper::header::{HOST, HeaderMap, HeaderName};
use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The network that a request comes from. A handler finds it in the extensions of its request.
///
/// An IPv4 address is a network of its own. Of an IPv6 address only the first 64 bits count,
/// because one machine may use all addresses that begin with them.
///
/// A connection from this machine, through a Unix socket, or from an address of
/// `server-trusted-proxies` belongs to a proxy. The network is then the last entry of
/// `X-Forwarded-For` that is not a trusted proxy itself. Preceding entries come from the client,
/// which may write anything there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Network {
    /// An IPv4 address, or the first address of a network of IPv6.
    Address(IpAddr),
    /// The client is unknown, because a proxy does not report it or the request has none. All such
    /// requests share this value, so a limit that punishes its key must not use it.
    Unknown,
}

impl Network {
    /// Returns the network of a request, by the address of its connection (none on a Unix socket)
    /// and its headers.
    pub(crate) fn of(peer: Option<IpAddr>, headers: &HeaderMap, trusted: &[TrustedProxy]) -> Self {
        let is_proxy = |address: IpAddr| {
            address.to_canonical().is_loopback() || trusted.iter().any(|proxy| proxy.contains(address))
        };
        if let Some(peer) = peer.filter(|peer| !is_proxy(*peer)) {
            return Self::of_address(peer);
        }
        let lists = headers.get_all(X_FORWARDED_FOR).iter().rev();
        let entries = lists.flat_map(|list| list.as_bytes().rsplit(|byte| *byte == b','));
        let mut nearest = None;
        for entry in entries.map(<[u8]>::trim_ascii).filter(|entry| !entry.is_empty()) {
            // If a proxy hides its client, the preceding entry must not count: the client wrote it.
            let Some(address) = address(entry) else { return Self::Unknown };
            nearest = Some(address);
            if !is_proxy(address) {
                break;
            }
        }
        match nearest {
            Some(address) => Self::of_address(address),
            None if is_addressed_locally(headers) => peer.map_or(Self::Unknown, Self::of_address),
            None => Self::Unknown,
        }
    }

    fn of_address(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V6(address) => Self::Address(Ipv6Addr::from(u128::from(address) >> 64 << 64).into()),
            v4 @ IpAddr::V4(_) => Self::Address(v4),
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address @ IpAddr::V4(_)) => address.fmt(f),
            Self::Address(address @ IpAddr::V6(_)) => write!(f, "{address}/64"),
            Self::Unknown => f.write_str("unknown"),
        }
    }
}

/// Parses an entry of `X-Forwarded-For`. Some proxies write a port after the address.
fn address(entry: &[u8]) -> Option<IpAddr> {
    let entry = std::str::from_utf8(entry).ok()?;
    let bracketed = entry.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let with_port = || entry.parse::<SocketAddr>().map(|address| address.ip());
    bracketed.unwrap_or(entry).parse().or_else(|_| with_port()).ok()
}

/// Returns whether the request names this machine as its host. If so, most likely no proxy stands
/// between this server and the client.
fn is_addressed_locally(headers: &HeaderMap) -> bool {
    let authority = headers.get(HOST).and_then(|host| host.to_str().ok()).and_then(Authority::parse);
    authority.is_some_and(|Authority { host, .. }| host.is_localhost() || host.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    fn network(peer: &str, host: &'static str, forwarded: &[&'static str], trusted: &[&str]) -> Network {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_static(host));
        for list in forwarded {
            headers.append(X_FORWARDED_FOR, HeaderValue::from_static(list));
        }
        let trusted: Vec<TrustedProxy> = trusted.iter().map(|proxy| proxy.parse().unwrap()).collect();
        Network::of(peer.parse().ok(), &headers, &trusted)
    }

    fn address(text: &str) -> Network {
        Network::Address(text.parse().unwrap())
    }

    #[test]
    fn the_last_entry_counts_if_a_trusted_proxy_sent_it() {
        let of = |peer: &str, forwarded: &[&'static str]| network(peer, "club.example", forwarded, &[]);
        assert_eq!(of("192.0.2.1", &["198.51.100.1"]), address("192.0.2.1"), "anybody may send the header");
        assert_eq!(of("127.0.0.1", &["203.0.113.9, 198.51.100.1"]), address("198.51.100.1"));
        assert_eq!(of("-", &["203.0.113.9", "198.51.100.1 "]), address("198.51.100.1"), "a Unix socket");
        assert_eq!(of("::1", &["203.0.113.9, 198.51.100.1:4711"]), address("198.51.100.1"));
        assert_eq!(of("::1", &["[2001:db8::7]:4711"]), address("2001:db8::"));
        assert_eq!(of("127.0.0.1", &["203.0.113.9, ::ffff:198.51.100.1"]), address("198.51.100.1"));
        for hidden in ["unknown", "_a", "203.0.113.9, unknown", "203.0.113.9, 1.2.3", "203.0.113.9; 1.2.3.4"] {
            assert_eq!(of("127.0.0.1", &[hidden]), Network::Unknown, "{hidden}");
        }
    }

    #[test]
    fn entries_of_trusted_proxies_are_skipped() {
        let of = |peer: &str, forwarded: &'static str| network(peer, "club.example", &[forwarded], &["10.0.0.0/8"]);
        assert_eq!(of("10.0.0.1", "203.0.113.9, 198.51.100.1"), address("198.51.100.1"));
        assert_eq!(of("10.0.0.1", "203.0.113.9, 198.51.100.1, 10.0.0.2, 127.0.0.1"), address("198.51.100.1"));
        assert_eq!(of("11.0.0.1", "198.51.100.1"), address("11.0.0.1"));
        assert_eq!(of("127.0.0.1", "10.0.0.3, 10.0.0.2"), address("10.0.0.3"), "all entries are trusted proxies");
    }

    #[test]
    fn without_the_header_only_a_local_host_is_local() {
        for host in ["localhost:3000", "127.0.0.1", "[::1]:3000", "LocalHost"] {
            assert_eq!(network("127.0.0.1", host, &[], &[]), address("127.0.0.1"), "{host}");
            assert_eq!(network("-", host, &[], &[]), Network::Unknown, "{host}");
        }
        for host in ["club.example", "192.0.2.1:3000", "localhost.club.example", ""] {
            assert_eq!(network("127.0.0.1", host, &[], &[]), Network::Unknown, "{host}");
            assert_eq!(network("10.0.0.1", host, &[], &["10.0.0.1"]), Network::Unknown, "{host}");
            assert_eq!(network("192.0.2.1", host, &[], &[]), address("192.0.2.1"), "{host}");
        }
    }

    #[test]
    fn an_ipv6_network_is_64_bits_long() {
        let of = |peer| network(peer, "club.example", &[], &[]);
        assert_eq!(of("2001:db8::1"), of("2001:db8::2:3:4:5"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("2001:db8::1").to_string(), "2001:db8::/64");
        assert_eq!(of("::ffff:192.0.2.1"), address("192.0.2.1"));
    }
}
