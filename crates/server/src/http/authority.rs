//! A host with its port, as in `Host` and `Origin` (RFC 3986 section 3.2, without user
//! information).

use std::net::{Ipv4Addr, Ipv6Addr};

/// A host, and its port if the text has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Authority<'a> {
    pub(crate) host: Host<'a>,
    pub(crate) port: Option<u16>,
}

/// A host. Names are compared without regard to case.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Host<'a> {
    Name(&'a str),
    V4(Ipv4Addr),
    V6(Ipv6Addr),
}

impl<'a> Authority<'a> {
    /// Parses `host` or `host:port`. Returns `None` for an empty host, for user information, and
    /// for all else that RFC 3986 does not allow.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let (host, port) = match text.rsplit_once(':') {
            // The colon belongs to an IPv6 address.
            Some((_, after)) if after.ends_with(']') => (text, ""),
            Some((host, port)) => (host, port),
            None => (text, ""),
        };
        let port = match port {
            "" => None,
            digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => Some(digits.parse().ok()?),
            _ => return None,
        };
        Some(Self { host: Host::parse(host)?, port })
    }

    /// Returns whether two authorities have the same host and port. `default_port` replaces a port
    /// that is not written.
    pub(crate) fn is_same(self, other: Authority<'_>, default_port: u16) -> bool {
        let port = |authority: Authority<'_>| authority.port.unwrap_or(default_port);
        self.host == other.host && port(self) == port(other)
    }
}

impl<'a> Host<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        if let Some(address) = text.strip_prefix('[') {
            return address.strip_suffix(']')?.parse().ok().map(Self::V6);
        }
        match text.parse() {
            Ok(address) => Some(Self::V4(address)),
            Err(_) => is_name(text).then_some(Self::Name(text)),
        }
    }

    /// Returns whether the host is an address, so that no DNS server is asked for it.
    pub(crate) fn is_address(self) -> bool {
        match self {
            Self::Name(_) => false,
            Self::V4(_) | Self::V6(_) => true,
        }
    }

    /// Returns whether the host is a loopback address.
    pub(crate) fn is_loopback(self) -> bool {
        match self {
            Self::Name(_) => false,
            Self::V4(address) => address.is_loopback(),
            Self::V6(address) => address.to_canonical().is_loopback(),
        }
    }

    /// Returns whether the host is `localhost` or a name below it. Browsers resolve these to this
    /// machine only.
    pub(crate) fn is_localhost(self) -> bool {
        let Self::Name(name) = self else { return false };
        let last = name.rsplit('.').next().unwrap_or_default();
        last.eq_ignore_ascii_case("localhost")
    }
}

impl<'a> PartialEq<Host<'a>> for Host<'_> {
    fn eq(&self, other: &Host<'a>) -> bool {
        match (self, other) {
            (Self::Name(one), Host::Name(other)) => one.eq_ignore_ascii_case(other),
            (Self::V4(one), Host::V4(other)) => one == other,
            (Self::V6(one), Host::V6(other)) => one == other,
            (Self::Name(_) | Self::V4(_) | Self::V6(_), _) => false,
        }
    }
}

impl Eq for Host<'_> {}

/// Returns whether a text is a non-empty `reg-name` (RFC 3986 section 3.2.2).
fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let is_right = match byte {
            b'%' => {
                [bytes.next(), bytes.next()].iter().flatten().filter(|digit| digit.is_ascii_hexdigit()).count() == 2
            }
            byte => byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=".contains(&byte),
        };
        if !is_right {
            return false;
        }
    }
    !text.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_with_ports_are_parsed() {
        for (text, port) in [
            ("club.example", None),
            ("club.example:", None),
            ("club.example:080", Some(80)),
            ("127.0.0.1:3000", Some(3000)),
            ("[::1]", None),
            ("[2001:DB8::1]:65535", Some(65535)),
            ("web_1", None),
            ("%2Frun%2Fthalweg.sock", None),
        ] {
            assert_eq!(Authority::parse(text).map(|authority| authority.port), Some(port), "{text}");
        }
        for text in [
            "",
            ":80",
            "a b",
            "ann@club.example",
            "ann:secret@club.example",
            "club.example:+80",
            "club.example:65536",
            "club.example:80:80",
            "club.example/",
            "club.example, evil.example",
            "::1",
            "[::1",
            "[::1]x",
            "[club]",
            "[fe80::1%25eth0]",
            "%2",
            "%zz",
            "é",
            "a\"",
            "a?",
            "a#",
            "a\\b",
        ] {
            assert_eq!(Authority::parse(text), None, "{text}");
        }
    }

    #[test]
    fn names_differ_from_addresses() {
        let host = |text| Authority::parse(text).expect("it is a host").host;
        assert!(host("127.0.0.1").is_address() && host("[::1]:80").is_address());
        assert!(!host("127.0.0.1.evil.example").is_address());
        assert!(host("localhost").is_localhost() && host("A.LocalHost:80").is_localhost());
        assert!(!host("localhost.evil.example").is_localhost() && !host("notlocalhost").is_localhost());
        assert!(host("Club.Example") == host("cluB.example") && host("club.example") != host("club.example."));
    }
}
