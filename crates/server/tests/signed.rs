//! Tokens for tests.

use crate::served::config;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::hmac;
use serde_json::Value;
use thalweg_server::{Config, Secret};

/// The protocol's test vectors are signed with this one (auth §11).
pub(crate) const SECRET: &str = "thermals-over-the-ridge-at-noon!";

/// A token of these claims.
pub(crate) fn token(claims: &Value) -> String {
    let head = BASE64_URL_SAFE_NO_PAD.encode(r#"{"alg":"HS256"}"#);
    let text = format!("{head}.{}", BASE64_URL_SAFE_NO_PAD.encode(claims.to_string()));
    let signature = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes()), text.as_bytes());
    format!("{text}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature))
}

/// A server that verifies them.
pub(crate) fn with_secret(uri: &str) -> Config {
    Config { jwt_secret: Some(Secret::new(SECRET)), ..config(uri) }
}
