//! Limits for attempts to sign in: by network, by account and network, by account, and by device.
//!
//! Whoever guesses passwords must not keep the owner out. So the strict limit of an account counts each network on its own. The limit
//! of the account itself is looser, and does not apply to a browser that has signed in to the account before
//! (`devices.rs`).

use std::time::Duration;
use thalweg_server::{Attempts, Network, ShareError};

/// Attempts from one network, which may be a whole club, and the interval after which there is another.
const NETWORK_ATTEMPTS_MAX: u32 = 30;
const NETWORK_INTERVAL: Duration = Duration::from_secs(2);
/// Attempts from one network at one account.
const ACCOUNT_NETWORK_ATTEMPTS_MAX: u32 = 10;
const ACCOUNT_NETWORK_INTERVAL: Duration = Duration::from_secs(60);
/// Attempts from all networks at one account: it takes several networks to use them up, and to keep them used up.
const ACCOUNT_ATTEMPTS_MAX: u32 = 50;
const ACCOUNT_INTERVAL: Duration = Duration::from_secs(20);
/// Attempts of a browser that has signed in to the account before, and of one that is signed in and changes the password.
const DEVICE_ATTEMPTS_MAX: u32 = 10;
const DEVICE_INTERVAL: Duration = Duration::from_secs(60);

/// Attempts to sign in, to register and to change a password.
pub(super) struct SignInAttempts {
    networks: Attempts,
    account_networks: Attempts,
    accounts: Attempts,
    devices: Attempts,
    changes: Attempts,
}

/// The origin of an attempt to sign in.
#[derive(Clone, Copy, Debug)]
pub(super) enum Origin<'a> {
    /// A browser that has signed in to the same account before, by its random number.
    Device(&'a str),
    /// Any other.
    Network(Network),
}

impl Default for SignInAttempts {
    fn default() -> Self {
        Self {
            networks: Attempts::new(NETWORK_ATTEMPTS_MAX, NETWORK_INTERVAL),
            account_networks: Attempts::new(ACCOUNT_NETWORK_ATTEMPTS_MAX, ACCOUNT_NETWORK_INTERVAL),
            accounts: Attempts::new(ACCOUNT_ATTEMPTS_MAX, ACCOUNT_INTERVAL),
            devices: Attempts::new(DEVICE_ATTEMPTS_MAX, DEVICE_INTERVAL),
            changes: Attempts::new(DEVICE_ATTEMPTS_MAX, DEVICE_INTERVAL),
        }
    }
}

impl SignInAttempts {
    /// Counts an attempt of a network. Networks that cannot be told apart are not limited: one visitor would keep all others out.
    pub(super) fn of_network(&self, network: Network) -> Result<(), ShareError> {
        match network {
            Network::Address(_) => self.networks.take(&network),
            Network::Unknown => Ok(()),
        }
    }

    /// Counts an attempt before the account is looked up.
    pub(super) fn of_origin(&self, account: &str, origin: Origin<'_>) -> Result<(), ShareError> {
        match origin {
            Origin::Device(device) => self.devices.take(&(account_key(account), device)),
            Origin::Network(network) => self.of_network(network),
        }
    }

    /// Counts an attempt at an account. An attempt that its network may not make does not count for the account.
    pub(super) fn at_account(&self, account: &str, origin: Origin<'_>) -> Result<(), ShareError> {
        let Origin::Network(network) = origin else { return Ok(()) };
        let account = account_key(account);
        if let Network::Address(_) = network {
            self.account_networks.take(&(&account, network))?;
        }
        self.accounts.take(&account)
    }

    /// Takes back what was counted of an attempt that has succeeded. `typed` is the account as it was typed.
    pub(super) fn succeeded(&self, typed: &str, account: &str, origin: Origin<'_>) {
        match origin {
            Origin::Device(device) => self.devices.give_back(&(account_key(typed), device)),
            Origin::Network(network) => {
                let account = account_key(account);
                self.networks.give_back(&network);
                self.account_networks.give_back(&(&account, network));
                self.accounts.give_back(&account);
            }
        }
    }

    /// Counts an attempt of a pilot who is signed in to change the password.
    pub(super) fn of_change(&self, pilot_id: i32) -> Result<(), ShareError> {
        self.changes.take(&pilot_id)
    }
}

/// Returns the key of an account. Spellings of an address that nobody has registered count as the same account too, so that
/// trying them reveals nothing.
pub(super) fn account_key(account: &str) -> String {
    account.trim().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_networks_and_devices_are_not_kept_out_by_one_that_guesses() {
        let attempts = SignInAttempts::default();
        let network = |last: u8| Origin::Network(Network::Address([192, 0, 2, last].into()));
        for _ in 0..ACCOUNT_NETWORK_ATTEMPTS_MAX {
            assert!(attempts.at_account("ann@club.example", network(1)).is_ok());
        }
        for _ in 0..1000 {
            assert!(attempts.at_account(" Ann@Club.example", network(1)).is_err());
        }
        assert!(attempts.at_account("ann@club.example", network(2)).is_ok());
        // Many networks use up the account's attempts, but not those of a device.
        let refused = (3..=255).filter(|last| attempts.at_account("ann@club.example", network(*last)).is_err());
        assert!(refused.count() > 0);
        assert!(attempts.at_account("ann@club.example", Origin::Network(Network::Unknown)).is_err());
        let device = Origin::Device("a");
        for _ in 0..DEVICE_ATTEMPTS_MAX {
            assert!(attempts.of_origin("ann@club.example", device).is_ok());
            assert!(attempts.at_account("ann@club.example", device).is_ok());
        }
        assert!(attempts.of_origin("ann@club.example", device).is_err());
        attempts.succeeded("ann@club.example", "ann@club.example", device);
        assert!(attempts.of_origin("ann@club.example", device).is_ok());
    }

    #[test]
    fn visitors_that_cannot_be_told_apart_have_no_limit_together() {
        let attempts = SignInAttempts::default();
        assert!((0..1000).all(|_| attempts.of_network(Network::Unknown).is_ok()));
        let of_one = (0..1000).filter(|_| attempts.of_network(Network::Address([192, 0, 2, 1].into())).is_ok()).count();
        assert!(of_one >= NETWORK_ATTEMPTS_MAX as usize && of_one < 1000);
    }
}
