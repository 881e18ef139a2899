//! Limits for attempts to sign in: by network, by account and network, by account, and by device.
//!
//! An attacker who guesses passwords must not lock the owner out. The strict limit of an account
//! therefore counts each network separately. The limit of the account itself is looser, and does
//! not apply to a browser that has signed in to the account before (`devices.rs`).

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
    /// Any other browser, by its network.
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
    /// Counts an attempt of a network. A network that is unknown is not limited, because it stands
    /// for many visitors, one of whom could then lock out all others.
    pub(super) fn of_network(&self, network: Network) -> Result<(), ShareError> {
        match network {
            Network::Address(_) => self.networks.take(&network),
            Network::Unknown => Ok(()),
        }
    }

    /// Counts an attempt for its origin, before the account is looked up.
    pub(super) fn of_origin(&self, account: &str, origin: Origin<'_>) -> Result<(), ShareError> {
        match origin {
            Origin::Device(device) => self.devices.take(&(account_key(account), device)),
            Origin::Network(network) => self.of_network(network),
        }
    }

    /// Counts an attempt at an account. An attempt that is refused to its network is not counted
    /// for the account.
    pub(super) fn at_account(&self, account: &str, origin: Origin<'_>) -> Result<(), ShareError> {
        let Origin::Network(network) = origin else { return Ok(()) };
        let account = account_key(account);
        if let Network::Address(_) = network {
            self.account_networks.take(&(&account, network))?;
        }
        self.accounts.take(&account)
    }

    /// Gives back the counts of an attempt that has succeeded. `typed` is the account as the
    /// visitor typed it.
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

    /// Counts an attempt to change the password, by a pilot who is signed in.
    pub(super) fn of_change(&self, pilot_id: i32) -> Result<(), ShareError> {
        self.changes.take(&pilot_id)
    }
}

/// Returns the key of an account. Different spellings of an address have one key even if nobody has
/// registered it, so that trying them reveals nothing.
pub(super) fn account_key(account: &str) -> String {
    account.trim().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_that_guesses_does_not_lock_out_other_networks_and_devices() {
        let attempts = SignInAttempts::default();
        let network = |last: u8| Origin::Network(Network::Address([192, 0, 2, last].into()));
        for _ in 0..ACCOUNT_NETWORK_ATTEMPTS_MAX {
            assert!(attempts.at_account("ann@club.example", network(1)).is_ok());
        }
        for _ in 0..1000 {
            assert!(attempts.at_account(" Ann@Club.example", network(1)).is_err());
        }
        assert!(attempts.at_account("ann@club.example", network(2)).is_ok());
        // Many networks use up the attempts of the account, but not those of a device.
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
    fn visitors_that_cannot_be_distinguished_share_no_limit() {
        let attempts = SignInAttempts::default();
        assert!((0..1000).all(|_| attempts.of_network(Network::Unknown).is_ok()));
        let of_one = (0..1000).filter(|_| attempts.of_network(Network::Address([192, 0, 2, 1].into())).is_ok()).count();
        assert!(of_one >= NETWORK_ATTEMPTS_MAX as usize && of_one < 1000);
    }
}
