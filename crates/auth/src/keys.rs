//! `jwt-secret` becomes keys: a set of JWKs, one JWK, or a text. What an issuer publishes does too, if it is public.

use crate::algorithm::sha256;
use crate::base64url;
use crate::jwk::{Key, Unusable};
use crate::tree::{TreeError, Value};
use std::fmt;
use std::sync::Arc;

/// How many bytes a secret that is no JWK has at least.
pub const SECRET_BYTES_MIN: usize = 32;
/// How many keys a set has at most. A token without `kid` is checked with each that suits it.
pub const JWKS_KEYS_MAX: usize = 64;
/// How long a key's name is that is told of an issuer's key: it is their text.
const KID_BYTES_TOLD_MAX: usize = 64;

/// The keys that tokens are checked with.
#[derive(Clone)]
pub struct Keys {
    pub(crate) keys: Vec<Arc<Key>>,
    warnings: Vec<String>,
    fingerprint: [u8; 32],
}

impl Keys {
    /// Reads `jwt-secret`, or what is in the file that it names.
    ///
    /// A JSON object with an array `keys` is a set (JWKS), of which keys that cannot be used are left out and named among the
    /// [warnings](Self::warnings). A JSON object with `kty` is one key, which must be usable. Anything else is a text, whose
    /// bytes are a key for HS256 only. A text that begins like JSON but is none is still a text, as the protocol has it, with
    /// a warning: if it was meant to be public, everybody who has it can sign.
    ///
    /// # Errors
    ///
    /// A text of fewer than [`SECRET_BYTES_MIN`] bytes, one JWK that cannot be used, a set of more than [`JWKS_KEYS_MAX`].
    pub fn parse(secret: &[u8]) -> Result<Self, KeyError> {
        let mut warnings = Vec::new();
        let keys = match Value::parse(secret) {
            Ok(json) => match (json.member("keys"), json.member("kty")) {
                (Some(Value::Array(set)), _) => {
                    let keys = set_of(set, "jwt-secret", Key::of_jwk, &mut warnings)?;
                    if keys.is_empty() {
                        warnings.push(
                            "jwt-secret has no key that tokens can be checked with: every token is refused.".to_owned(),
                        );
                    }
                    keys
                }
                // what is nearly a set must not become a text: it may well be public
                (Some(_), _) => {
                    return Err(KeyError::new(KeyErrorKind::Unusable(Unusable("its 'keys' are no array").0)));
                }
                (None, Some(_)) => {
                    vec![Key::of_jwk(&json).map_err(|Unusable(fault)| KeyError::new(KeyErrorKind::Unusable(fault)))?]
                }
                (None, None) => text(secret, &mut warnings)?,
            },
            Err(TreeError::TooDeep) => return Err(KeyError::new(KeyErrorKind::Unusable("it is nested too deep"))),
            Err(TreeError::NotJson | TreeError::Repeated) => text(secret, &mut warnings)?,
        };
        let keys = keys.into_iter().map(Arc::new).collect();
        Ok(Self { keys, warnings, fingerprint: sha256(&[secret]) })
    }

    /// Reads what an issuer publishes: a set of keys (JWKS), of which those that cannot be used are left out and named among the
    /// [warnings](Self::warnings), under this name of the set. A key that could also sign is not used: whoever can fetch it
    /// could make tokens.
    ///
    /// # Errors
    ///
    /// What is no set, a set of more than [`JWKS_KEYS_MAX`], one without a key that can be used.
    pub fn parse_public(document: &[u8], name: &str) -> Result<Self, KeyError> {
        let no_set = |_| KeyError::new(KeyErrorKind::NoSet);
        let json = Value::parse(document).map_err(no_set)?;
        let set = json.member("keys").and_then(Value::elements).ok_or(KeyError::new(KeyErrorKind::NoSet))?;
        let mut warnings = Vec::new();
        let keys = set_of(set, name, Key::of_public_jwk, &mut warnings)?;
        if keys.is_empty() {
            return Err(KeyError::new(KeyErrorKind::NoneUsable));
        }
        let keys = keys.into_iter().map(Arc::new).collect();
        Ok(Self { keys, warnings, fingerprint: sha256(&[b"public", document]) })
    }

    /// No keys: every token is refused.
    pub fn none() -> Self {
        Self { keys: Vec::new(), warnings: Vec::new(), fingerprint: sha256(&[]) }
    }

    /// These and others.
    pub(crate) fn and(&self, others: &Self) -> Self {
        Self {
            keys: self.keys.iter().chain(&others.keys).cloned().collect(),
            warnings: self.warnings.iter().chain(&others.warnings).cloned().collect(),
            fingerprint: sha256(&[&self.fingerprint, &others.fingerprint]),
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.keys.len()
    }

    /// Decodes a secret with `jwt-secret-is-base64`: white space around it does not count, `-` and `_` are `+` and `/`, and `.`
    /// is `=`.
    pub fn decode_base64(secret: &[u8]) -> Result<Vec<u8>, KeyError> {
        base64url::decode_secret(secret).ok_or(KeyError::new(KeyErrorKind::NotBase64))
    }

    /// What an operator should know of these keys, each a sentence; no key's secret is in them.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Equal for equal secrets only.
    pub(crate) fn fingerprint(&self) -> &[u8; 32] {
        &self.fingerprint
    }
}

/// Of the same texts.
impl PartialEq for Keys {
    fn eq(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint
    }
}

/// Tells how many there are, and no more.
impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").field("count", &self.keys.len()).finish_non_exhaustive()
    }
}

fn set_of(
    set: &[Value],
    name: &str,
    key_of: fn(&Value) -> Result<Key, Unusable>,
    warnings: &mut Vec<String>,
) -> Result<Vec<Key>, KeyError> {
    if set.len() > JWKS_KEYS_MAX {
        return Err(KeyError::new(KeyErrorKind::TooMany));
    }
    let mut keys = Vec::with_capacity(set.len());
    for (index, jwk) in set.iter().enumerate() {
        match key_of(jwk) {
            Ok(key) => keys.push(key),
            Err(Unusable(fault)) => {
                let number = index + 1;
                let kid = jwk.member("kid").and_then(Value::string).filter(|kid| kid.len() <= KID_BYTES_TOLD_MAX);
                warnings.push(match kid {
                    Some(kid) => format!("Key {number} of {name}, {kid:?}, is not used: {fault}."),
                    None => format!("Key {number} of {name} is not used: {fault}."),
                });
            }
        }
    }
    Ok(keys)
}

fn text(secret: &[u8], warnings: &mut Vec<String>) -> Result<Vec<Key>, KeyError> {
    if secret.len() < SECRET_BYTES_MIN {
        return Err(KeyError::new(KeyErrorKind::TooShort));
    }
    if secret.trim_ascii_start().starts_with(b"{") {
        warnings.push(
            "jwt-secret begins like a JSON Web Key and is none: all of it is the secret of HS256 tokens.".to_owned(),
        );
    }
    Ok(vec![Key::of_text(secret)])
}

/// `jwt-secret`, or what an issuer publishes, cannot be used. As text, what is wrong with it; no part of the secret is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyError {
    kind: KeyErrorKind,
}

/// What a [`KeyError`] is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyErrorKind {
    /// A text of fewer than [`SECRET_BYTES_MIN`] bytes.
    TooShort,
    /// It was said to be base64, and is not.
    NotBase64,
    /// A JWK with which no token can be checked, and why.
    Unusable(&'static str),
    /// A set of more than [`JWKS_KEYS_MAX`] keys.
    TooMany,
    /// What an issuer publishes is no set of keys.
    NoSet,
    /// It is one, and has no key that tokens can be checked with.
    NoneUsable,
}

impl KeyError {
    fn new(kind: KeyErrorKind) -> Self {
        Self { kind }
    }

    /// What it is about.
    pub fn kind(&self) -> KeyErrorKind {
        self.kind
    }
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            KeyErrorKind::TooShort => f.write_str("The JWT secret must be at least 32 characters long."),
            KeyErrorKind::NotBase64 => f.write_str("The JWT secret is not base64."),
            KeyErrorKind::Unusable(fault) => write!(f, "The JWT secret is a key that cannot be used: {fault}."),
            KeyErrorKind::TooMany => write!(f, "The set has more than {JWKS_KEYS_MAX} keys."),
            KeyErrorKind::NoSet => f.write_str("It is no set of keys: a JSON object with an array 'keys' is needed."),
            KeyErrorKind::NoneUsable => f.write_str("The set has no key that tokens can be checked with."),
        }
    }
}

impl std::error::Error for KeyError {}
