//! What can be wrong with a row.

use std::fmt;
use thalweg_rows::Malformed;

/// Why a row cannot be encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// Its bytes do not have the form of their type.
    Malformed(Malformed),
    /// A composite value holds other types than the catalog says: the catalog has fallen behind.
    Stale,
    /// More rows have to be kept for joining than may be.
    HeldTooMuch,
}

impl From<Malformed> for EncodeError {
    fn from(cause: Malformed) -> Self {
        Self::Malformed(cause)
    }
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(cause) => write!(f, "{cause}"),
            Self::Stale => f.write_str("a row holds other types than the schema cache says"),
            Self::HeldTooMuch => f.write_str("more rows must be kept for joining than may be"),
        }
    }
}

impl std::error::Error for EncodeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Malformed(cause) => Some(cause),
            Self::Stale | Self::HeldTooMuch => None,
        }
    }
}
