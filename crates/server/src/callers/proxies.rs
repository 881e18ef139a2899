//! Proxies whose `X-Forwarded-For` is trusted (`server-trusted-proxies`).

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// An address, or a network such as `10.0.0.0/8`, that only the operator's own proxies use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrustedProxy {
    address: IpAddr,
    prefix_bits: u8,
}

/// Error of a text that is neither an address nor a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrustedProxyError(());

impl fmt::Display for TrustedProxyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("addresses or networks are needed, such as 192.0.2.7, 10.0.0.0/8")
    }
}

impl std::error::Error for TrustedProxyError {}

impl FromStr for TrustedProxy {
    type Err = TrustedProxyError;

    fn from_str(text: &str) -> Result<Self, TrustedProxyError> {
        let wrong = TrustedProxyError(());
        let (address, prefix) = text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
        let address: IpAddr = address.parse().map_err(|_| wrong)?;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let prefix_bits: u8 = match prefix {
            None => bits,
            Some(prefix) if prefix.bytes().all(|byte| byte.is_ascii_digit()) => prefix.parse().map_err(|_| wrong)?,
            Some(_) => return Err(wrong),
        };
        // Addresses of clients are compared in their canonical form, in which a mapped IPv4 address
        // is an IPv4 address.
        let (address, prefix_bits) = match address {
            IpAddr::V6(mapped) => match mapped.to_ipv4_mapped() {
                Some(address) => (address.into(), prefix_bits.checked_sub(96).ok_or(wrong)?),
                None => (address, prefix_bits),
            },
            IpAddr::V4(_) => (address, prefix_bits),
        };
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let proxy = Self { address, prefix_bits };
        // Host bits that are set are most likely a mistake in the prefix length.
        let is_network = prefix_bits <= bits && bits_after(address, prefix_bits) == 0;
        if is_network { Ok(proxy) } else { Err(wrong) }
    }
}

impl fmt::Display for TrustedProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix_bits)
    }
}

impl TrustedProxy {
    /// Returns whether an address belongs to the proxy's network.
    pub(super) fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let unequal = u32::from(network) ^ u32::from(address);
                unequal.checked_shr(32 - u32::from(self.prefix_bits)).unwrap_or(0) == 0
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let unequal = u128::from(network) ^ u128::from(address);
                unequal.checked_shr(128 - u32::from(self.prefix_bits)).unwrap_or(0) == 0
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

/// Returns the bits of an address after its first `prefix_bits`.
fn bits_after(address: IpAddr, prefix_bits: u8) -> u128 {
    let (bits, length) = match address {
        IpAddr::V4(address) => (u128::from(u32::from(address)), 32),
        IpAddr::V6(address) => (u128::from(address), 128),
    };
    let after = length - u32::from(prefix_bits).min(length);
    if after == 128 { bits } else { bits & ((1 << after) - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_contains_the_addresses_that_share_its_prefix() {
        let contains =
            |network: &str, address: &str| network.parse::<TrustedProxy>().unwrap().contains(address.parse().unwrap());
        assert!(contains("10.0.0.0/8", "10.255.1.2") && !contains("10.0.0.0/8", "11.0.0.0"));
        assert!(contains("10.0.0.0/8", "::ffff:10.1.1.1"), "an IPv4 address on an IPv6 socket");
        assert!(contains("::ffff:10.0.0.0/104", "10.255.1.2") && !contains("::ffff:10.0.0.0/104", "11.0.0.0"));
        assert!(contains("192.0.2.7", "192.0.2.7") && !contains("192.0.2.7", "192.0.2.6"));
        assert!(contains("0.0.0.0/0", "203.0.113.1") && !contains("0.0.0.0/0", "2001:db8::1"));
        assert!(contains("2001:db8::/32", "2001:db8:1::1") && !contains("2001:db8::/32", "2001:db9::"));
        assert!(contains("::/0", "2001:db8::1") && contains("fd00::1", "fd00::1") && !contains("fd00::1", "fd00::2"));
    }

    #[test]
    fn only_addresses_and_networks_are_proxies() {
        for wrong in [
            "",
            "proxy",
            "10.0.0.0/33",
            "10.0.0.1/8",
            "10.0.0.0/",
            "10.0.0.0/+8",
            "2001:db8::/129",
            "2001:db8::1/64",
            "::ffff:0.0.0.0/95",
        ] {
            assert!(wrong.parse::<TrustedProxy>().is_err(), "{wrong}");
        }
        assert_eq!("10.0.0.0/8".parse::<TrustedProxy>().unwrap().to_string(), "10.0.0.0/8");
    }
}
