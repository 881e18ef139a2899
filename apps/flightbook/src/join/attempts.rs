//! Limits for attempts to sign in: by network, by account and network, by account, and by device.
//!
//! An attacker who guesses passwords must not lock the owner out. The strict limit of an account
//! therefore counts each network separately. The limit of the account itself is looser.
//!
//! A browser that has proven the password of the account before (`devices.rs`) has attempts of its
//! own. They are limited by the device, by account and network, and by network, each with counters
//! that only devices use. Browsers without a device therefore lock no device out, and a caller with
//! many accounts and devices is still limited by the network.

use std::time::Duration;
use thalweg_server::{Attempts, Network, ShareError};

/// Attempts from one network, which may be a whole club, and the interval after which there is
/// another attempt.
const NETWORK_ATTEMPTS_MAX: u32 = 30;
const NETWORK_INTERVAL: Duration = Duration::from_secs(2);
/// Attempts from one network at one account.
const ACCOUNT_NETWORK_ATTEMPTS_MAX: u32 = 10;
const ACCOUNT_NETWORK_INTERVAL: Duration = Duration::from_secs(60);
/// Attempts from all networks at one account. It takes several networks to use them up, and to
/// prevent their recovery.
const ACCOUNT_ATTEMPTS_MAX: u32 = 50;
const ACCOUNT_INTERVAL: Duration = Duration::from_secs(20);
/// Attempts of a browser that has signed in to the account before, and of one that is signed in and
/// changes the password.
const DEVICE_ATTEMPTS_MAX: u32 = 10;
const DEVICE_INTERVAL: Duration = Duration::from_secs(60);

/// Attempts to sign in, to register and to change a password.
pub(super) struct SignInAttempts {
    strangers: Limits,
    known: Limits,
    changes: Attempts,
}

/// Limits of the attempts of one kind of browsers: those without a device of the account, or those
/// with one.
struct Limits {
    networks: Attempts,
    account_networks: Attempts,
    /// By account, or by account and device.
    accounts: Attempts,
}

/// The origin of an attempt to sign in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin<'a> {
    pub(super) network: Network,
    /// Random number of a browser that has proven the password of the same account before.
    pub(super) device: Option<&'a str>,
}

impl Default for SignInAttempts {
    fn default() -> Self {
        Self {
            strangers: Limits::new(Attempts::new(ACCOUNT_ATTEMPTS_MAX, ACCOUNT_INTERVAL)),
            known: Limits::new(Attempts::new(DEVICE_ATTEMPTS_MAX, DEVICE_INTERVAL)),
            changes: Attempts::new(DEVICE_ATTEMPTS_MAX, DEVICE_INTERVAL),
        }
    }
}

impl Limits {
    fn new(accounts: Attempts) -> Self {
        Self {
            networks: Attempts::new(NETWORK_ATTEMPTS_MAX, NETWORK_INTERVAL),
            account_networks: Attempts::new(ACCOUNT_NETWORK_ATTEMPTS_MAX, ACCOUNT_NETWORK_INTERVAL),
            accounts,
        }
    }

    /// Counts an attempt. An attempt that is refused to its network is not counted for the account.
    /// A network that is unknown is not limited, because it stands for many visitors, one of whom
    /// could then lock out all others.
    fn take(&self, account: &str, Origin { network, device }: Origin<'_>) -> Result<(), ShareError> {
        if let Network::Address(_) = network {
            self.networks.take(&network)?;
            self.account_networks.take(&(account, network))?;
        }
        self.accounts.take(&(account, device))
    }

    fn give_back(&self, account: &str, Origin { network, device }: Origin<'_>) {
        if let Network::Address(_) = network {
            self.networks.give_back(&network);
            self.account_networks.give_back(&(account, network));
        }
        self.accounts.give_back(&(account, device));
    }
}

impl SignInAttempts {
    /// Counts an attempt of a network to register.
    pub(super) fn of_network(&self, network: Network) -> Result<(), ShareError> {
        match network {
            Network::Address(_) => self.strangers.networks.take(&network),
            Network::Unknown => Ok(()),
        }
    }

    /// Checks that a network has attempts left for browsers without a device, and counts nothing.
    pub(super) fn check_network(&self, network: Network) -> Result<(), ShareError> {
        match network {
            Network::Address(_) => self.strangers.networks.check(&network),
            Network::Unknown => Ok(()),
        }
    }

    /// Counts an attempt at an account, by the key that the database has for its address.
    pub(super) fn take(&self, account: &str, origin: Origin<'_>) -> Result<(), ShareError> {
        self.limits(origin).take(account, origin)
    }

    /// Gives back the counts of an attempt that has succeeded.
    pub(super) fn succeeded(&self, account: &str, origin: Origin<'_>) {
        self.limits(origin).give_back(account, origin);
    }

    fn limits(&self, origin: Origin<'_>) -> &Limits {
        if origin.device.is_some() { &self.known } else { &self.strangers }
    }

    /// Counts an attempt to change the password, by a pilot who is signed in.
    pub(super) fn of_change(&self, pilot_id: i32) -> Result<(), ShareError> {
        self.changes.take(&pilot_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANN: &str = "ann@club.example";

    fn network(last: u8) -> Network {
        Network::Address([192, 0, 2, last].into())
    }

    /// Returns how many of these attempts are allowed.
    fn allowed<'a>(
        attempts: &SignInAttempts,
        tries: impl Iterator<Item = (&'a str, Network, Option<&'a str>)>,
    ) -> usize {
        tries
            .filter(|(account, network, device)| {
                attempts.take(account, Origin { network: *network, device: *device }).is_ok()
            })
            .count()
    }

    #[test]
    fn a_network_that_guesses_does_not_lock_out_other_networks_and_devices() {
        let attempts = SignInAttempts::default();
        let of_one = allowed(&attempts, (0..1000).map(|_| (ANN, network(1), None)));
        assert_eq!(of_one, ACCOUNT_NETWORK_ATTEMPTS_MAX as usize);
        assert_eq!(allowed(&attempts, [(ANN, network(2), None)].into_iter()), 1);
        // Many networks use up the attempts of the account, but not those of a device.
        let of_many = allowed(&attempts, (3..=255).map(|last| (ANN, network(last), None)));
        assert!(of_many <= ACCOUNT_ATTEMPTS_MAX as usize);
        assert_eq!(allowed(&attempts, [(ANN, Network::Unknown, None)].into_iter()), 0);
        let of_device = allowed(&attempts, (0..1000).map(|at| (ANN, network(at as u8), Some("a"))));
        assert_eq!(of_device, DEVICE_ATTEMPTS_MAX as usize);
        let device = Origin { network: network(1), device: Some("a") };
        attempts.succeeded(ANN, device);
        assert!(attempts.take(ANN, device).is_ok());
    }

    #[test]
    fn devices_do_not_exempt_a_caller_from_the_limits_of_the_network() {
        let attempts = SignInAttempts::default();
        let names: Vec<String> = (0..20).map(|at| at.to_string()).collect();
        let of_account = allowed(&attempts, names.iter().map(|device| (ANN, network(1), Some(&**device))));
        assert_eq!(of_account, ACCOUNT_NETWORK_ATTEMPTS_MAX as usize);
        // Ten accounts, of which each is within its own limits.
        let tries = (0..100).map(|at| (&*names[at % 10], network(2), Some(&*names[at / 10])));
        let of_network = allowed(&attempts, tries);
        assert!((NETWORK_ATTEMPTS_MAX as usize..100).contains(&of_network), "{of_network}");
        // Browsers without a device have other counters.
        assert_eq!(allowed(&attempts, [(ANN, network(2), None)].into_iter()), 1);
    }

    #[test]
    fn visitors_that_cannot_be_distinguished_share_no_limit() {
        let attempts = SignInAttempts::default();
        assert!((0..1000).all(|_| attempts.of_network(Network::Unknown).is_ok()));
        let of_one = (0..1000).filter(|_| attempts.of_network(Network::Address([192, 0, 2, 1].into())).is_ok()).count();
        assert!(of_one >= NETWORK_ATTEMPTS_MAX as usize && of_one < 1000);
    }
}
