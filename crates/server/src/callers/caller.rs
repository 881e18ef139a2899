//! The caller of a request: an account, a token, or a network.

use super::Network;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, LazyLock};
use thalweg_auth::Identity;

/// The caller of a request, as whom shares are counted ([`Shares`](crate::Shares)). It is in the extensions of a handler's request.
///
/// The token has been verified, but nothing was asked of the database: a token that SQL refuses, such as one that has been revoked, still
/// names its account here. A token that is not valid, or a cookie's that another site's page sends along, does not count.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Caller {
    /// The account that a valid token names in its claim `sub`.
    Account(Arc<str>),
    /// A valid token without `sub`, as a hash by which nobody finds the token.
    Token(u64),
    /// A client without a valid token.
    Network(Network),
}

impl Caller {
    /// Returns the account of a verified token, or else the token itself.
    pub(crate) fn of_token(token: &[u8], identity: &Identity) -> Self {
        static HASHING: LazyLock<RandomState> = LazyLock::new(RandomState::new);
        match identity.subject() {
            Some(subject) => Self::Account(subject.into()),
            None => Self::Token(HASHING.hash_one(token)),
        }
    }
}

/// Shows neither accounts nor tokens: logs are read by others.
impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Account(_) => f.write_str("Account(…)"),
            Self::Token(_) => f.write_str("Token(…)"),
            Self::Network(network) => f.debug_tuple("Network").field(network).finish(),
        }
    }
}
