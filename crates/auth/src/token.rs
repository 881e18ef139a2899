//! A token's parts, and whether a key has signed them (RFC 7515, compact form).

use crate::algorithm::Algorithm;
use crate::base64url;
use crate::claims::Claims;
use crate::keys::Keys;
use crate::refusal::{Refusal, TokenError, TokenErrorKind};
use crate::tree::Value;
use thalweg_json::write_string;

/// How many bytes a token has at most.
pub const TOKEN_BYTES_MAX: usize = 16 * 1024;

/// Members of a token's header that have an effect. [`REFUSED_MEMBERS`] are refused, and all others
/// are ignored.
struct Header {
    algorithm: Algorithm,
    kid: Option<String>,
}

impl Keys {
    /// A token that claims this JSON object, signed by HS256 with the first key that can. `None` where none is a secret.
    pub fn sign(&self, claims: &[u8]) -> Option<String> {
        self.keys.iter().find_map(|key| {
            let kid = key.kid.as_deref().map(|kid| format!(r#","kid":{}"#, quoted(kid))).unwrap_or_default();
            let header = format!(r#"{{"alg":"HS256"{kid}}}"#);
            let signed = format!("{}.{}", base64url::encode(header), base64url::encode(claims));
            let signature = key.sign(signed.as_bytes())?;
            Some(format!("{signed}.{}", base64url::encode(signature)))
        })
    }

    /// What a token claims, if one of the keys has signed it. Whether the claims hold now is for [`Claims::check`] to say.
    ///
    /// With a `kid` in its header, only keys of exactly that name are tried; without, all that suit its `alg`, in order.
    ///
    /// # Errors
    ///
    /// [`Refusal::Token`] for what is not signed, [`Refusal::Claims`] for a signed payload that is no JSON object.
    pub fn verify(&self, token: &[u8]) -> Result<Claims, Refusal> {
        let refused = |kind| Err(TokenError::new(kind).into());
        if token.is_empty() {
            return refused(TokenErrorKind::Empty);
        }
        if token.len() > TOKEN_BYTES_MAX {
            return refused(TokenErrorKind::TooLarge);
        }
        let mut parts = token.split(|byte| *byte == b'.');
        let (Some(header), Some(payload), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return refused(TokenErrorKind::Parts(token.split(|byte| *byte == b'.').count()));
        };
        let signed = &token[..header.len() + 1 + payload.len()];
        let header = Header::parse(header)?;
        if self.keys.is_empty() {
            return refused(TokenErrorKind::NoKey);
        }
        let mut named = self.keys.iter().filter(|key| header.kid.is_none() || key.kid == header.kid).peekable();
        let may_be_unknown = header.kid.is_none() || named.peek().is_none();
        let has_signed = base64url::decode(signature)
            .is_some_and(|signature| named.any(|key| key.has_signed(header.algorithm, signed, &signature)));
        if !has_signed {
            return refused(match may_be_unknown && header.algorithm.is_public() {
                true => TokenErrorKind::UnknownKey,
                false => TokenErrorKind::NotSigned,
            });
        }
        match base64url::decode(payload) {
            Some(payload) => Ok(Claims::parse(&payload)?),
            None => refused(TokenErrorKind::Undecodable),
        }
    }
}

fn quoted(text: &str) -> String {
    let mut json = Vec::with_capacity(text.len() + 2);
    write_string(&mut json, text.as_bytes());
    String::from_utf8_lossy(&json).into_owned()
}

/// Members of a header that change the meaning of the token, and are refused whatever their value
/// is. `crit` lists extensions that a recipient must understand (RFC 7515 section 4.1.11), and none
/// is supported here. `b64` controls whether the payload is base64url (RFC 7797), and `zip` whether
/// it is compressed (RFC 7516 section 4.1.3).
const REFUSED_MEMBERS: [&str; 3] = ["crit", "b64", "zip"];

impl Header {
    fn parse(text: &[u8]) -> Result<Self, TokenError> {
        let refused = |kind| Err(TokenError::new(kind));
        let Some(header) = base64url::decode(text).and_then(|text| Value::parse_unrepeated(&text).ok()) else {
            return refused(TokenErrorKind::UnreadableHeader);
        };
        if REFUSED_MEMBERS.iter().any(|name| header.member(name).is_some()) {
            return refused(TokenErrorKind::NotUnderstood);
        }
        let Some(name) = header.member("alg").and_then(Value::string) else {
            return refused(TokenErrorKind::Undecodable);
        };
        if name == "none" {
            return refused(TokenErrorKind::Unsecured);
        }
        let Some(algorithm) = Algorithm::named(name) else {
            let is_encrypted = header.present("enc").is_some();
            return refused(if is_encrypted { TokenErrorKind::Encrypted } else { TokenErrorKind::Undecodable });
        };
        let kid = match header.present("kid") {
            None => None,
            Some(Value::String(kid)) => Some(kid.clone()),
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                return refused(TokenErrorKind::Undecodable);
            }
        };
        Ok(Self { algorithm, kid })
    }
}
