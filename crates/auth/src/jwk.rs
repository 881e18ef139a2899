//! One JSON Web Key (RFC 7517, 7518 §6, 8037) becomes a key that can check signatures, or says why it cannot.

use crate::algorithm::{Algorithm, Family};
use crate::base64url;
use crate::tree::Value;
use p521::ecdsa::signature::Verifier;
use ring::{hmac, signature};

/// How many bits an RSA modulus has at least: fewer are not safe any more, RFC 7518 §3.3 forbids them, and ring has them for
/// old signatures only.
pub const RSA_BITS_MIN: usize = 2048;
/// And at most: what a check costs grows with the square of it.
pub const RSA_BITS_MAX: usize = 8192;
/// How many bits an RSA exponent has at most: what a check costs grows with it.
const EXPONENT_BITS_MAX: usize = 33;

/// A key, what it is called, and what it may be used for.
pub(crate) struct Key {
    pub(crate) kid: Option<String>,
    only: Option<Algorithm>,
    material: Material,
}

enum Material {
    Secret(Box<[u8]>),
    /// Modulus and exponent, big-endian without zeros before them.
    Rsa(signature::RsaPublicKeyComponents<Vec<u8>>),
    /// Points, uncompressed.
    P256(Vec<u8>),
    P384(Vec<u8>),
    P521(Box<p521::ecdsa::VerifyingKey>),
    Ed25519(Vec<u8>),
}

/// Why a JWK is no key that tokens can be checked with. As text, what is the matter with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unusable(pub(crate) &'static str);

impl Key {
    /// The bytes of a text, for HS256 only.
    pub(crate) fn of_text(secret: &[u8]) -> Self {
        Self { kid: None, only: Some(Algorithm::Hs256), material: Material::Secret(secret.into()) }
    }

    /// A private key is its public part.
    pub(crate) fn of_jwk(jwk: &Value) -> Result<Self, Unusable> {
        let text = |name: &str, fault: &'static str| match jwk.present(name) {
            None => Ok(None),
            Some(value) => value.string().map(Some).ok_or(Unusable(fault)),
        };
        let kty = text("kty", "'kty' is no string")?.ok_or(Unusable("it has no 'kty'"))?;
        let kid = text("kid", "'kid' is no string")?.map(str::to_owned);
        let only = match text("alg", "'alg' is no string")? {
            None => None,
            Some(name) => {
                Some(Algorithm::named(name).ok_or(Unusable("its 'alg' is not one that tokens are checked with"))?)
            }
        };
        match text("use", "'use' is no string")? {
            None | Some("sig") => {}
            Some(_) => return Err(Unusable("its 'use' is not 'sig'")),
        }
        let material = match kty {
            "oct" => Material::Secret(secret(jwk)?),
            "RSA" => Material::Rsa(rsa(jwk)?),
            "EC" => point(jwk)?,
            "OKP" => edwards(jwk)?,
            _ => return Err(Unusable("its 'kty' is not known")),
        };
        let key = Self { kid, only, material };
        match key.only {
            Some(algorithm) if !key.suits(algorithm) => Err(Unusable("its 'alg' is not one of its 'kty'")),
            Some(_) | None => Ok(key),
        }
    }

    /// A key that everybody may have. One that could also sign is none.
    pub(crate) fn of_public_jwk(jwk: &Value) -> Result<Self, Unusable> {
        // of each kind that is not symmetric, what is private begins with `d` (RFC 7518 §6.2.2, §6.3.2)
        if jwk.present("d").is_some() {
            return Err(Unusable("it is a private key, with which everybody who reads it can sign"));
        }
        match Self::of_jwk(jwk)? {
            Self { material: Material::Secret(_), .. } => {
                Err(Unusable("it is a secret, with which everybody who reads it can sign"))
            }
            public => Ok(public),
        }
    }

    /// Whether this key has signed the message with this algorithm. A key that is of another kind, or that may be used for
    /// another algorithm only, has not. Whatever is compared with a secret is compared in constant time.
    pub(crate) fn has_signed(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        if self.only.is_some_and(|only| only != algorithm) {
            return false;
        }
        match (&self.material, algorithm.family()) {
            (Material::Secret(secret), Family::Hmac(hash)) => {
                hmac::verify(&hmac::Key::new(hash, secret), message, signature).is_ok()
            }
            (Material::Rsa(key), Family::Rsa(parameters)) => key.verify(parameters, message, signature).is_ok(),
            (Material::P256(point), Family::P256) => {
                checked(&signature::ECDSA_P256_SHA256_FIXED, point, message, signature)
            }
            (Material::P384(point), Family::P384) => {
                checked(&signature::ECDSA_P384_SHA384_FIXED, point, message, signature)
            }
            (Material::P521(key), Family::P521) => p521::ecdsa::Signature::from_slice(signature)
                .is_ok_and(|signature| key.verify(message, &signature).is_ok()),
            (Material::Ed25519(point), Family::Ed25519) => checked(&signature::ED25519, point, message, signature),
            (
                Material::Secret(_)
                | Material::Rsa(_)
                | Material::P256(_)
                | Material::P384(_)
                | Material::P521(_)
                | Material::Ed25519(_),
                Family::Hmac(_) | Family::Rsa(_) | Family::P256 | Family::P384 | Family::P521 | Family::Ed25519,
            ) => false,
        }
    }

    /// What this key signs a message with by HS256, if it is a secret that may.
    pub(crate) fn sign(&self, message: &[u8]) -> Option<hmac::Tag> {
        match &self.material {
            Material::Secret(secret) if self.only.is_none_or(|only| only == Algorithm::Hs256) => {
                Some(hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), message))
            }
            Material::Secret(_)
            | Material::Rsa(_)
            | Material::P256(_)
            | Material::P384(_)
            | Material::P521(_)
            | Material::Ed25519(_) => None,
        }
    }

    fn suits(&self, algorithm: Algorithm) -> bool {
        match &self.material {
            Material::Secret(_) => matches!(algorithm.family(), Family::Hmac(_)),
            Material::Rsa(_) => matches!(algorithm.family(), Family::Rsa(_)),
            Material::P256(_) => matches!(algorithm.family(), Family::P256),
            Material::P384(_) => matches!(algorithm.family(), Family::P384),
            Material::P521(_) => matches!(algorithm.family(), Family::P521),
            Material::Ed25519(_) => matches!(algorithm.family(), Family::Ed25519),
        }
    }
}

fn checked(with: &'static dyn signature::VerificationAlgorithm, key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    signature::UnparsedPublicKey::new(with, key).verify(message, signature).is_ok()
}

/// The bytes of a member that is base64url.
fn bytes(jwk: &Value, name: &str, fault: &'static str) -> Result<Vec<u8>, Unusable> {
    jwk.member(name).and_then(Value::string).and_then(base64url::decode).ok_or(Unusable(fault))
}

/// Of any length but none, which everybody could sign with.
fn secret(jwk: &Value) -> Result<Box<[u8]>, Unusable> {
    let secret = bytes(jwk, "k", "its 'k' is not base64url")?;
    if secret.is_empty() { Err(Unusable("its 'k' is empty")) } else { Ok(secret.into()) }
}

fn rsa(jwk: &Value) -> Result<signature::RsaPublicKeyComponents<Vec<u8>>, Unusable> {
    let n = without_zeros(bytes(jwk, "n", "its 'n' is not base64url")?);
    let e = without_zeros(bytes(jwk, "e", "its 'e' is not base64url")?);
    let is_odd = |number: &[u8]| number.last().is_some_and(|byte| byte & 1 == 1);
    if bits(&n) < RSA_BITS_MIN {
        return Err(Unusable("its modulus has fewer than 2048 bits"));
    }
    if bits(&n) > RSA_BITS_MAX {
        return Err(Unusable("its modulus has more than 8192 bits"));
    }
    if bits(&e) > EXPONENT_BITS_MAX {
        return Err(Unusable("its exponent has more than 33 bits"));
    }
    if !is_odd(&n) || !is_odd(&e) || bits(&e) < 2 {
        return Err(Unusable("its modulus and exponent are no RSA key"));
    }
    Ok(signature::RsaPublicKeyComponents { n, e })
}

fn without_zeros(mut number: Vec<u8>) -> Vec<u8> {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number.drain(..zeros);
    number
}

/// Of a number without zeros before it.
fn bits(number: &[u8]) -> usize {
    number.first().map_or(0, |first| number.len() * 8 - first.leading_zeros() as usize)
}

fn point(jwk: &Value) -> Result<Material, Unusable> {
    let curve = jwk.member("crv").and_then(Value::string).ok_or(Unusable("it has no 'crv'"))?;
    let coordinate_bytes = match curve {
        "P-256" => 32,
        "P-384" => 48,
        "P-521" => 66,
        _ => return Err(Unusable("its 'crv' is not known")),
    };
    let mut point = vec![4];
    for (name, fault) in [("x", "its 'x' is not base64url"), ("y", "its 'y' is not base64url")] {
        let coordinate = bytes(jwk, name, fault)?;
        // RFC 7518 §6.2.1.2: as long as the field's elements, whatever the number is
        if coordinate.len() != coordinate_bytes {
            return Err(Unusable("its 'x' and 'y' are not as long as its curve needs"));
        }
        point.extend(coordinate);
    }
    Ok(match curve {
        "P-256" => Material::P256(point),
        "P-384" => Material::P384(point),
        _ => {
            let key = p521::ecdsa::VerifyingKey::from_sec1_bytes(&point);
            Material::P521(Box::new(key.map_err(|_| Unusable("its 'x' and 'y' are not on its curve"))?))
        }
    })
}

fn edwards(jwk: &Value) -> Result<Material, Unusable> {
    if jwk.member("crv").and_then(Value::string) != Some("Ed25519") {
        return Err(Unusable("its 'crv' is not known"));
    }
    let point = bytes(jwk, "x", "its 'x' is not base64url")?;
    if point.len() == 32 { Ok(Material::Ed25519(point)) } else { Err(Unusable("its 'x' does not have 32 bytes")) }
}
