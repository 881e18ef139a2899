//! How often somebody may try: so many at once, and then one after each interval. What is remembered of all takes a fixed room.

use axum::http::HeaderMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Attempts at one account at once, and after how long there is another.
const ACCOUNT_ATTEMPTS_MAX: u64 = 10;
const ACCOUNT_INTERVAL: Duration = Duration::from_secs(6);
/// Attempts of one client, who may be a whole club behind one address.
const CLIENT_ATTEMPTS_MAX: u64 = 30;
const CLIENT_INTERVAL: Duration = Duration::from_secs(2);
/// Places in which attempts are counted. Who shares one with somebody waits for them too.
const ATTEMPT_PLACES: usize = 65_536;

/// Attempts to sign in, by account and by client.
pub(super) struct Attempts {
    /// Nobody knows from outside who shares a place.
    places: RandomState,
    began: Instant,
    accounts: Counts,
    clients: Counts,
}

/// Who attempts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Client {
    /// An address; of IPv6 the network, in which one machine may have all.
    Address(IpAddr),
    /// It cannot be told.
    Unknown,
}

impl Default for Attempts {
    fn default() -> Self {
        Self {
            places: RandomState::new(),
            began: Instant::now(),
            accounts: Counts::new(ACCOUNT_ATTEMPTS_MAX, ACCOUNT_INTERVAL),
            clients: Counts::new(CLIENT_ATTEMPTS_MAX, CLIENT_INTERVAL),
        }
    }
}

impl Attempts {
    /// Counts an attempt at an account, and says whether it may be made.
    pub(super) fn at_account(&self, account: &str) -> bool {
        self.accounts.take(self.place(&account_key(account)), self.now_ms())
    }

    /// Counts an attempt of a client, and says whether it may be made.
    pub(super) fn of_client(&self, client: Client) -> bool {
        self.clients.take(self.place(&client), self.now_ms())
    }

    /// An attempt that has succeeded does not count.
    pub(super) fn succeeded(&self, account: &str, client: Client) {
        self.accounts.give_back(self.place(&account_key(account)));
        self.clients.give_back(self.place(&client));
    }

    fn place(&self, of: &impl Hash) -> usize {
        self.places.hash_one(of) as usize % ATTEMPT_PLACES
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// Of an address that nobody has registered with, spellings count the same too: who tries them learns nothing.
fn account_key(account: &str) -> String {
    account.trim().to_lowercase()
}

impl Client {
    /// By the address that a request comes from. If that is this machine or a socket, a proxy may stand there, and the last that
    /// `X-Forwarded-For` names is whom it serves: what a client has said itself stands before it.
    pub(super) fn of(peer: &str, headers: &HeaderMap) -> Self {
        let peer = peer.parse::<IpAddr>().ok();
        if peer.is_some_and(|peer| !peer.to_canonical().is_loopback()) {
            return Self::address(peer);
        }
        let last = headers.get_all("x-forwarded-for").iter().next_back().and_then(|value| value.to_str().ok());
        let forwarded = last.and_then(|list| list.rsplit(',').next()).and_then(|address| address.trim().parse().ok());
        Self::address(forwarded.or(peer))
    }

    fn address(address: Option<IpAddr>) -> Self {
        match address.map(|address| address.to_canonical()) {
            Some(IpAddr::V6(address)) => {
                let network = u128::from(address) >> 64 << 64;
                Self::Address(Ipv6Addr::from(network).into())
            }
            Some(v4) => Self::Address(v4),
            None => Self::Unknown,
        }
    }
}

/// Of each place the moment at which all its attempts are available again, in milliseconds (the generic cell rate algorithm).
struct Counts {
    burst: u64,
    interval_ms: u64,
    restored_ms: Mutex<Box<[u64]>>,
}

impl Counts {
    fn new(burst: u64, interval: Duration) -> Self {
        let interval_ms = u64::try_from(interval.as_millis()).unwrap_or(u64::MAX);
        Self { burst, interval_ms, restored_ms: Mutex::new(vec![0; ATTEMPT_PLACES].into()) }
    }

    fn take(&self, place: usize, now_ms: u64) -> bool {
        let mut restored_ms = self.restored_ms.lock().unwrap_or_else(PoisonError::into_inner);
        let restored = restored_ms[place].max(now_ms);
        let is_free = restored - now_ms <= (self.burst - 1) * self.interval_ms;
        if is_free {
            restored_ms[place] = restored + self.interval_ms;
        }
        is_free
    }

    fn give_back(&self, place: usize) {
        let mut restored_ms = self.restored_ms.lock().unwrap_or_else(PoisonError::into_inner);
        restored_ms[place] = restored_ms[place].saturating_sub(self.interval_ms);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_at_once_and_then_one_after_each_interval() {
        let counts = Counts::new(3, Duration::from_millis(100));
        assert!([0, 0, 0].iter().all(|now| counts.take(7, *now)));
        assert!(!counts.take(7, 0) && !counts.take(7, 99));
        assert!(counts.take(8, 0), "of another");
        assert!(counts.take(7, 100) && !counts.take(7, 199) && counts.take(7, 200));
        counts.give_back(7);
        assert!(counts.take(7, 200) && !counts.take(7, 200));
        assert!((0..3).all(|_| counts.take(7, 10_000)) && !counts.take(7, 10_000), "rest is not saved up");
    }

    #[test]
    fn a_client_is_who_a_proxy_of_this_machine_says() {
        let of = |peer: &str, forwarded: &[&'static str]| {
            let mut headers = HeaderMap::new();
            forwarded
                .iter()
                .for_each(|value| _ = headers.append("x-forwarded-for", axum::http::HeaderValue::from_static(value)));
            Client::of(peer, &headers)
        };
        let address = |text: &str| Client::Address(text.parse().unwrap());
        assert_eq!(of("192.0.2.1", &["198.51.100.1"]), address("192.0.2.1"));
        assert_eq!(of("127.0.0.1", &["203.0.113.9, 198.51.100.1"]), address("198.51.100.1"));
        assert_eq!(of("-", &["203.0.113.9", "198.51.100.1"]), address("198.51.100.1"));
        assert_eq!(of("::ffff:127.0.0.1", &[]), address("127.0.0.1"));
        assert_eq!(of("127.0.0.1", &["unknown"]), address("127.0.0.1"));
        assert_eq!(of("-", &[]), Client::Unknown);
        assert_eq!(of("2001:db8::1", &[]), of("2001:db8::2:3:4:5", &[]));
        assert_ne!(of("2001:db8::1", &[]), of("2001:db8:0:1::1", &[]));
    }
}
