//! The configuration that requests are answered by, and what is made of it once for all of them.

use super::{Config, ConfigError};
use arc_swap::ArcSwapOption;
use hyper::header::HeaderName;
use regex::{RegexSet, RegexSetBuilder};
use std::borrow::Cow;
use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use thalweg_auth::{Audience, Keys, RolePath, Verifier};

/// How much the patterns of settings' names may take, in bytes.
const PATTERNS_BYTES_MAX: usize = 1024 * 1024;

/// A configuration in force. A request keeps the one that it began with.
pub(crate) struct InForce {
    pub(crate) config: Config,
    /// Which one of this process it is.
    pub(crate) number: u64,
    /// A call of the function that runs before every request.
    pub(crate) pre_request: Option<Arc<str>>,
    /// The header that is sent back as it came.
    pub(crate) trace_header: Option<HeaderName>,
    /// What tokens are verified by, if they can be: with the keys of the configuration, and those that were fetched.
    verifier: ArcSwapOption<Verifier>,
    /// The same with the keys of the configuration alone.
    of_config: Option<Arc<Verifier>>,
    /// `db-hoisted-tx-settings`
    hoisted: RegexSet,
}

impl InForce {
    pub(crate) fn new(config: Config) -> Result<Self, ConfigError> {
        let of_config = verifier(&config)?.map(Arc::new);
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        let hoisted = RegexSetBuilder::new(&config.db_hoisted_tx_settings)
            .case_insensitive(true)
            .size_limit(PATTERNS_BYTES_MAX)
            .build()
            .map_err(|cause| ConfigError::new(format!("db-hoisted-tx-settings: {cause}")))?;
        let pre_request = config.db_pre_request.as_ref();
        let pre_request = pre_request.map(|(schema, name)| thalweg_sql::pre_request(schema.as_deref(), name).into());
        let trace_header = config.server_trace_header.as_deref().map(str::parse).transpose();
        let trace_header =
            trace_header.map_err(|_| ConfigError::new("server-trace-header: the name of a header is needed"))?;
        Ok(Self {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            pre_request,
            trace_header,
            verifier: ArcSwapOption::new(of_config.clone()),
            of_config,
            hoisted,
            config,
        })
    }

    /// What is odd about it, in words for the log.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let of_tokens = self.of_config.iter().flat_map(|verifier| verifier.warnings());
        let forgeable = self.config.jwt_jwks_uri.iter().filter(|uri| uri.is_forgeable()).map(|uri| {
            format!(
                "{uri} (jwt-jwks-uri) is not encrypted: whoever is on the way to it can put keys of their own there"
            )
        });
        self.config.warnings.iter().cloned().chain(of_tokens).chain(forgeable).collect()
    }

    /// What tokens are verified by now.
    pub(crate) fn verifier(&self) -> Option<Arc<Verifier>> {
        self.verifier.load_full()
    }

    /// Verifies with these keys too from now on, instead of those that were fetched before.
    pub(crate) fn verify_with(&self, fetched: &Keys) {
        self.verifier.store(self.of_config.as_ref().map(|verifier| Arc::new(verifier.with(fetched))));
    }

    /// Whether a setting of a called function holds for the whole transaction (functions §6).
    pub(crate) fn hoists(&self, setting: &str) -> bool {
        self.hoisted.is_match(setting)
    }
}

/// What tokens are verified by, if they can be.
fn verifier(config: &Config) -> Result<Option<Verifier>, ConfigError> {
    let wrong = |key: &str, cause: &dyn Display| ConfigError::new(format!("{key}: {cause}"));
    // wrong without a secret too
    let path = RolePath::parse(&config.jwt_role_claim_key).map_err(|cause| wrong("jwt-role-claim-key", &cause))?;
    let audience =
        config.jwt_aud.as_deref().map(Audience::parse).transpose().map_err(|cause| wrong("jwt-aud", &cause))?;
    let Some(secret) = &config.jwt_secret else {
        return Ok(config.jwt_jwks_uri.as_ref().map(|_| Verifier::new(Keys::none(), path, audience)));
    };
    let decoded = match config.jwt_secret_is_base64 {
        true => Cow::Owned(Keys::decode_base64(secret.bytes()).map_err(|cause| wrong("jwt-secret", &cause))?),
        false => Cow::Borrowed(secret.bytes()),
    };
    let keys = Keys::parse(&decoded).map_err(|cause| wrong("jwt-secret", &cause))?;
    Ok(Some(Verifier::new(keys, path, audience)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Secret;

    /// Whoever reads the same configuration again must find it the same, or all that was prepared under it is forgotten.
    #[test]
    fn what_is_odd_is_told_and_changes_nothing() {
        let config = Config {
            jwt_secret: Some(Secret::new("a text of thirty-two bytes or more")),
            jwt_role_claim_key: ".role".to_owned(),
            warnings: vec!["odd".to_owned()],
            ..Config::default()
        };
        let in_force = InForce::new(config.clone()).unwrap();
        assert!(in_force.config == config);
        let warnings = in_force.warnings();
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert!(warnings[0] == "odd" && warnings[1].contains("jwt-role-claim-key"), "{warnings:?}");
        for (uri, expected) in [("http://issuer.example", 1), ("https://issuer.example", 0), ("http://127.0.0.1", 0)] {
            let config = Config { jwt_jwks_uri: Some(uri.parse().unwrap()), ..Config::default() };
            assert_eq!(InForce::new(config).unwrap().warnings().len(), expected, "{uri}");
        }
    }
}
