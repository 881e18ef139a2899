//! Passwords and their hashes: Argon2id, a few at a time, and not on a thread that answers others.

use super::accounts::Credentials;
use super::turn::with_permit;
use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{Error, PasswordHasher, PasswordVerifier};
use std::time::Duration;
use thalweg_server::{Network, ShareError, Shares};

/// How many characters a password has.
const PASSWORD_CHARS_MIN: usize = 10;
const PASSWORD_CHARS_MAX: usize = 1000;
/// How many are hashed at once: each takes a core and 19 MiB.
const HASHES_MAX: usize = 2;
/// Number of passwords that are hashed at once for one network.
const NETWORK_HASHES_MAX: usize = 1;
/// Number of passwords that may wait, of all networks and of one, and the longest wait.
const HASHES_WAITING_MAX: usize = 32;
const NETWORK_HASHES_WAITING_MAX: usize = 8;
const HASH_WAIT_MAX: Duration = Duration::from_secs(2);

/// Makes hashes and holds passwords against them.
pub(super) struct Passwords {
    shares: Shares,
    /// Credentials of no pilot, which take as long to check as those of a pilot.
    decoy: Credentials,
}

impl Passwords {
    pub(super) fn new() -> Result<Self, Error> {
        let waiting = (HASHES_WAITING_MAX, NETWORK_HASHES_WAITING_MAX);
        let shares = Shares::with_waiting(HASHES_MAX, NETWORK_HASHES_MAX, HASH_WAIT_MAX, waiting);
        Ok(Self { shares, decoy: Credentials { pilot_id: 0, hash: hash(&made())? } })
    }

    /// Hashes a password for a client of a network. The result has the PHC string format.
    pub(super) async fn hash(&self, password: String, network: Network) -> Result<String, ShareError> {
        let permit = self.shares.acquire(&network).await?;
        with_permit(permit, move || hash(&password)).await.and_then(Result::ok).ok_or(FAILED)
    }

    /// Returns credentials that no password matches, for an address that nobody has registered with.
    pub(super) fn decoy(&self) -> &Credentials {
        &self.decoy
    }

    /// Returns whether a password matches a hash. Without a hash it returns false, after as much
    /// time.
    pub(super) async fn is_right(
        &self,
        password: String,
        hash: Option<&str>,
        network: Network,
    ) -> Result<bool, ShareError> {
        let compared = hash.unwrap_or(&self.decoy.hash).to_owned();
        let permit = self.shares.acquire(&network).await?;
        let is_equal = with_permit(permit, move || {
            let hash = PasswordHash::new(&compared);
            hash.is_ok_and(|hash| Argon2::default().verify_password(password.as_bytes(), &hash).is_ok())
        });
        Ok(is_equal.await.ok_or(FAILED)? && hash.is_some())
    }
}

/// Error for a password that could not be hashed, because no memory was left.
const FAILED: ShareError = ShareError::Exhausted { retry_after: HASH_WAIT_MAX };

/// Whether it can be a password.
pub(super) fn is_allowed(password: &str) -> bool {
    (PASSWORD_CHARS_MIN..=PASSWORD_CHARS_MAX).contains(&password.chars().count())
}

/// A password that nobody guesses and that can be read out: 80 random bits.
pub(super) fn made() -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let bits: u128 = rand::random();
    let letter = |at: u32| char::from(LETTERS[(bits >> (5 * at)) as usize % LETTERS.len()]);
    (0..16).flat_map(|at| (at > 0 && at % 4 == 0).then_some('-').into_iter().chain([letter(at)])).collect()
}

/// In the PHC string format.
pub(super) fn hash(password: &str) -> Result<String, Error> {
    let hash: PasswordHash = Argon2::default().hash_password(password.as_bytes())?;
    Ok(hash.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_has_ten_to_a_thousand_characters() {
        for (password, expected) in [("", false), ("ninechars", false), ("tenletters", true), ("ümläut-äöü", true)]
        {
            assert_eq!(is_allowed(password), expected, "{password}");
        }
        assert!(is_allowed(&"é".repeat(PASSWORD_CHARS_MAX)) && !is_allowed(&"e".repeat(PASSWORD_CHARS_MAX + 1)));
    }

    #[test]
    fn what_is_made_up_is_allowed_and_never_the_same() {
        let (one, other) = (made(), made());
        assert!(is_allowed(&one) && one.len() == 19 && one != other, "{one} {other}");
    }
}
