//! The caller of a request: an account, a token, or a network.

use super::Network;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, LazyLock};
use thalweg_auth::Identity;

/// The caller of a request, whose share is counted ([`Shares`](crate::Shares)). A handler finds it
/// in the extensions of its request.
///
/// The token has been verified, but the database was not asked: a token that SQL refuses, such as a
/// revoked one, still names its account here. A token that is not valid does not count, and neither
/// does a cookie that a page of another site made the browser send.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Caller {
    /// The account that a valid token names in its claim `sub`.
    Account(Arc<str>),
    /// A valid token without `sub`, as a keyed hash from which the token cannot be found.
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

/// Hides accounts and tokens, because people other than the operator may read logs.
impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Account(_) => f.write_str("Account(…)"),
            Self::Token(_) => f.write_str("Token(…)"),
            Self::Network(network) => f.debug_tuple("Network").field(network).finish(),
        }
    }
}
