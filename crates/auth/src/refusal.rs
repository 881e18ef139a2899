//! Why a token is refused, in the words of the protocol.

use std::fmt;

/// A token that was refused: where it failed says which code the answer has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// What was sent is no token that a key has signed: `PGRST301`.
    Token(TokenError),
    /// The token is signed, and its claims do not hold: `PGRST303`.
    Claims(ClaimError),
}

impl Refusal {
    /// The error's `details`.
    pub fn details(&self) -> Option<&'static str> {
        match self {
            Self::Token(error) => error.details(),
            Self::Claims(_) => None,
        }
    }

    /// Whether the token may be signed by a public key that is not known: with other keys, it may be accepted.
    pub fn is_of_unknown_key(&self) -> bool {
        matches!(self, Self::Token(TokenError { kind: TokenErrorKind::UnknownKey | TokenErrorKind::NoKey }))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Token(error) => error.fmt(f),
            Self::Claims(error) => error.fmt(f),
        }
    }
}

/// Its words are those of the error within, so that is no cause of its own.
impl std::error::Error for Refusal {}

impl From<TokenError> for Refusal {
    fn from(error: TokenError) -> Self {
        Self::Token(error)
    }
}

impl From<ClaimError> for Refusal {
    fn from(error: ClaimError) -> Self {
        Self::Claims(error)
    }
}

/// What was sent is no token that a key has signed. As text it is the error's `message`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenError {
    kind: TokenErrorKind,
}

/// What a [`TokenError`] is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenErrorKind {
    /// The token has no bytes.
    Empty,
    /// It has more than [`TOKEN_BYTES_MAX`](crate::TOKEN_BYTES_MAX).
    TooLarge,
    /// It has this many parts, and not three.
    Parts(usize),
    /// Its header is not base64url, or no JSON.
    UnreadableHeader,
    /// `alg` is `none`.
    Unsecured,
    /// It is encrypted, which its three parts only hide.
    Encrypted,
    /// What else makes it no token: a header that does not say with what it is signed, or says what nobody knows; a payload
    /// that is not base64url.
    Undecodable,
    /// The header has a member that changes the meaning of the token and is not supported: `crit`,
    /// `b64` or `zip`.
    NotUnderstood,
    /// There are keys, and none of them has signed it.
    NotSigned,
    /// None of them has, and another public key may have: none goes by the name that the token says, or it says none.
    UnknownKey,
    /// There is no key with which any token could be checked.
    NoKey,
}

impl TokenError {
    pub(crate) fn new(kind: TokenErrorKind) -> Self {
        Self { kind }
    }

    /// What it is about.
    pub fn kind(&self) -> TokenErrorKind {
        self.kind
    }

    /// The error's `details`.
    pub fn details(&self) -> Option<&'static str> {
        match self.kind {
            TokenErrorKind::NotSigned | TokenErrorKind::UnknownKey => {
                Some("None of the keys was able to decode the JWT")
            }
            TokenErrorKind::NoKey => Some("No suitable key was found to decode the JWT"),
            TokenErrorKind::Unsecured => Some("JWT is unsecured but expected 'alg' was not 'none'"),
            TokenErrorKind::NotUnderstood => Some("The header members 'crit', 'b64' and 'zip' are not supported"),
            TokenErrorKind::Empty
            | TokenErrorKind::TooLarge
            | TokenErrorKind::Parts(_)
            | TokenErrorKind::UnreadableHeader
            | TokenErrorKind::Encrypted
            | TokenErrorKind::Undecodable => None,
        }
    }
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            TokenErrorKind::Empty => "Empty JWT is sent in Authorization header",
            TokenErrorKind::Parts(count) => return write!(f, "Expected 3 parts in JWT; got {count}"),
            TokenErrorKind::UnreadableHeader => "JWT cryptographic operation failed",
            TokenErrorKind::Unsecured => "Wrong or unsupported encoding algorithm",
            TokenErrorKind::Encrypted => "Unsupported token type",
            TokenErrorKind::TooLarge | TokenErrorKind::Undecodable | TokenErrorKind::NotUnderstood => {
                "JWT couldn't be decoded"
            }
            TokenErrorKind::NotSigned | TokenErrorKind::UnknownKey | TokenErrorKind::NoKey => {
                "No suitable key or wrong key type"
            }
        })
    }
}

impl std::error::Error for TokenError {}

/// A signed token's claims do not hold. As text it is the error's `message`; it has no details.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimError {
    kind: ClaimErrorKind,
}

/// What a [`ClaimError`] is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimErrorKind {
    /// The payload is no JSON object, or one that is nested too deep.
    Unreadable,
    /// The role's path takes more steps on these claims than it is given.
    RoleTooFar,
    /// `exp` has passed.
    Expired,
    /// `exp` is no number.
    ExpiryType,
    /// `nbf` has not come.
    NotYetValid,
    /// `nbf` is no number.
    NotBeforeType,
    /// `iat` has not come.
    IssuedInFuture,
    /// `iat` is no number.
    IssuedType,
    /// `aud` names others.
    NotInAudience,
    /// `aud` is neither a string nor an array of strings.
    AudienceType,
}

impl ClaimError {
    pub(crate) fn new(kind: ClaimErrorKind) -> Self {
        Self { kind }
    }

    /// What it is about.
    pub fn kind(&self) -> ClaimErrorKind {
        self.kind
    }
}

impl fmt::Display for ClaimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            ClaimErrorKind::Unreadable | ClaimErrorKind::RoleTooFar => "Parsing claims failed",
            ClaimErrorKind::Expired => "JWT expired",
            ClaimErrorKind::ExpiryType => "The JWT 'exp' claim must be a number",
            ClaimErrorKind::NotYetValid => "JWT not yet valid",
            ClaimErrorKind::NotBeforeType => "The JWT 'nbf' claim must be a number",
            ClaimErrorKind::IssuedInFuture => "JWT issued at future",
            ClaimErrorKind::IssuedType => "The JWT 'iat' claim must be a number",
            ClaimErrorKind::NotInAudience => "JWT not in audience",
            ClaimErrorKind::AudienceType => "The JWT 'aud' claim must be a string or an array of strings",
        })
    }
}

impl std::error::Error for ClaimError {}
