//! The algorithms of RFC 7518 and RFC 8037 that a token can be signed with.

use ring::{digest, hmac, signature};

/// What a token's `alg` can say. `none` is not among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Algorithm {
    /// HMAC with SHA-256.
    Hs256,
    /// HMAC with SHA-384.
    Hs384,
    /// HMAC with SHA-512.
    Hs512,
    /// RSA, PKCS #1 v1.5, with SHA-256.
    Rs256,
    /// RSA, PKCS #1 v1.5, with SHA-384.
    Rs384,
    /// RSA, PKCS #1 v1.5, with SHA-512.
    Rs512,
    /// RSA, PSS, with SHA-256.
    Ps256,
    /// RSA, PSS, with SHA-384.
    Ps384,
    /// RSA, PSS, with SHA-512.
    Ps512,
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// ECDSA on P-384 with SHA-384.
    Es384,
    /// ECDSA on P-521 with SHA-512.
    Es512,
    /// Ed25519.
    EdDsa,
}

/// What kind of key an algorithm needs. Each algorithm is in one family, and each key in one: that is why an HMAC is never
/// checked with a public key.
#[derive(Clone, Copy)]
pub(crate) enum Family {
    Hmac(hmac::Algorithm),
    Rsa(&'static signature::RsaParameters),
    P256,
    P384,
    P521,
    Ed25519,
}

impl Algorithm {
    /// By its name, whose case counts.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "HS256" => Self::Hs256,
            "HS384" => Self::Hs384,
            "HS512" => Self::Hs512,
            "RS256" => Self::Rs256,
            "RS384" => Self::Rs384,
            "RS512" => Self::Rs512,
            "PS256" => Self::Ps256,
            "PS384" => Self::Ps384,
            "PS512" => Self::Ps512,
            "ES256" => Self::Es256,
            "ES384" => Self::Es384,
            "ES512" => Self::Es512,
            "EdDSA" => Self::EdDsa,
            _ => return None,
        })
    }

    /// Whether its keys that check cannot sign.
    pub(crate) fn is_public(self) -> bool {
        match self.family() {
            Family::Hmac(_) => false,
            Family::Rsa(_) | Family::P256 | Family::P384 | Family::P521 | Family::Ed25519 => true,
        }
    }

    pub(crate) fn family(self) -> Family {
        match self {
            Self::Hs256 => Family::Hmac(hmac::HMAC_SHA256),
            Self::Hs384 => Family::Hmac(hmac::HMAC_SHA384),
            Self::Hs512 => Family::Hmac(hmac::HMAC_SHA512),
            Self::Rs256 => Family::Rsa(&signature::RSA_PKCS1_2048_8192_SHA256),
            Self::Rs384 => Family::Rsa(&signature::RSA_PKCS1_2048_8192_SHA384),
            Self::Rs512 => Family::Rsa(&signature::RSA_PKCS1_2048_8192_SHA512),
            Self::Ps256 => Family::Rsa(&signature::RSA_PSS_2048_8192_SHA256),
            Self::Ps384 => Family::Rsa(&signature::RSA_PSS_2048_8192_SHA384),
            Self::Ps512 => Family::Rsa(&signature::RSA_PSS_2048_8192_SHA512),
            Self::Es256 => Family::P256,
            Self::Es384 => Family::P384,
            Self::Es512 => Family::P521,
            Self::EdDsa => Family::Ed25519,
        }
    }
}

/// What these parts say, in 32 bytes that do not tell it: equal for equal parts only.
pub(crate) fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    let mut context = digest::Context::new(&digest::SHA256);
    for part in parts {
        context.update(&(part.len() as u64).to_be_bytes());
        context.update(part);
    }
    let mut out = [0; 32];
    out.copy_from_slice(context.finish().as_ref());
    out
}
