//! Who asks: the role that a request runs as, and the claims that SQL may read (auth §§2, 3, 6).

pub(crate) mod cookie;
mod fetch;
mod issuer;
mod site;

pub(crate) use issuer::{Issuer, keep_fetched};

use crate::callers::{Caller, Network};
use crate::config::InForce;
use crate::error::ApiError;
use crate::state::State;
use cookie::Cookie;
use hyper::header::AUTHORIZATION;
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use thalweg_auth::{Claims, Identity, Refusal, RolePath, bearer};

/// Whose token was sent, if one was.
pub(crate) type Identified = Option<Arc<Identity>>;

/// With what method a handler was asked that asks on, in the extensions of what it asks.
#[derive(Debug, Clone)]
pub(crate) struct AskedBy(pub(crate) Method);

/// Who asks.
#[derive(Clone)]
pub(crate) struct Who<'a> {
    /// Whose token was sent.
    identity: Identified,
    /// The role of those that name none.
    anonymous: Option<&'a str>,
}

impl<'a> Who<'a> {
    /// Finds out who sends a request. No database is asked; the issuer of tokens is waited for only where no known key has
    /// signed one.
    pub(crate) async fn of(
        state: &State,
        in_force: &'a InForce,
        parts: &Parts,
        cookie: Option<Cookie<'_>>,
    ) -> Result<Self, ApiError> {
        let token = parts.headers.get(AUTHORIZATION).and_then(|value| bearer(value.as_bytes()));
        let in_cookie = cookie.and_then(|cookie| Some((cookie.name, cookie.token?)));
        let identity = match (token, in_cookie) {
            (Some(token), _) => Some(identify(state, in_force, token).await?),
            (None, Some((name, token))) => {
                cookie::check(parts, &in_force.config)?;
                // a browser would send it again for ever; where the server has no secret, the token may still be good
                let identity = identify(state, in_force, token).await.map_err(|error| match error.status {
                    StatusCode::UNAUTHORIZED => error.putting(&cookie::forget(name, &in_force.config)),
                    _ => error,
                });
                Some(identity?)
            }
            (None, None) => None,
        };
        Self::known(identity, in_force).with_role()
    }

    /// Who is said to ask on the command line: by a token, or else by claims that nobody has signed.
    pub(crate) fn said(in_force: &'a InForce, claims: Option<&str>, token: Option<&str>) -> Result<Self, ApiError> {
        let identity = match (token, claims) {
            (Some(token), _) => {
                let verifier = in_force.verifier().ok_or_else(ApiError::no_secret)?;
                Some(verifier.identify(token.as_bytes(), now_s())?)
            }
            (None, Some(claims)) => {
                let malformed = || ApiError::new(400, "PGRST303", "Claims are a JSON object: {\"role\": \"editor\"}");
                let claims = Claims::parse(claims.as_bytes()).map_err(|_| malformed())?;
                let path = RolePath::parse(&in_force.config.jwt_role_claim_key)
                    .map_err(|error| ApiError::new(500, "PGRST300", error.to_string()))?;
                Some(Identity::of(&path, claims).map_err(Refusal::Claims)?)
            }
            (None, None) => None,
        };
        Self::known(identity.map(Arc::new), in_force).with_role()
    }

    /// The same if there is a role as which it may ask.
    fn with_role(self) -> Result<Self, ApiError> {
        match self.chosen() {
            Some(_) => Ok(self),
            None => Err(ApiError::anonymous_disabled()),
        }
    }

    /// Who has not said who it is, if such may ask.
    pub(crate) fn nobody(in_force: &'a InForce) -> Option<Self> {
        let anonymous = in_force.config.db_anon_role.as_deref();
        anonymous.map(|_| Self { identity: None, anonymous })
    }

    /// Who was found out before.
    pub(crate) fn known(identity: Identified, in_force: &'a InForce) -> Self {
        Self { identity, anonymous: in_force.config.db_anon_role.as_deref() }
    }

    /// Whose token was sent.
    pub(crate) fn identified(&self) -> Identified {
        self.identity.clone()
    }

    fn chosen(&self) -> Option<&str> {
        self.identity.as_deref().and_then(Identity::role).or(self.anonymous)
    }

    /// Whether a token was sent.
    pub(crate) fn has_token(&self) -> bool {
        self.identity.is_some()
    }

    /// The role that the request runs as.
    pub(crate) fn role(&self) -> &str {
        self.chosen().unwrap_or_default()
    }

    /// Whether that is the role of who sends no token.
    pub(crate) fn is_anonymous(&self) -> bool {
        self.anonymous == Some(self.role())
    }

    /// The claims as JSON, with the role.
    pub(crate) fn claims(&self) -> Cow<'_, str> {
        match &self.identity {
            Some(identity) => identity.claims_as(self.role()),
            None => Cow::Owned(claims_of(self.role())),
        }
    }
}

/// Returns the caller of a request: the one that its token names, or else its network. The issuer's
/// keys are not awaited: a token whose key is not cached yet does not count.
pub(crate) fn caller(state: &State, in_force: &InForce, parts: &Parts, network: Network) -> Caller {
    let of_token = || {
        let header = parts.headers.get(AUTHORIZATION).and_then(|value| bearer(value.as_bytes()));
        let in_cookie = || {
            let name = in_force.config.session_cookie.as_deref()?;
            let token = Cookie::find(name, &parts.headers).token?;
            cookie::check(parts, &in_force.config).is_ok().then_some(token)
        };
        let token = header.or_else(in_cookie)?;
        let identity = state.tokens.identify(&*in_force.verifier()?, token, now_s()).ok()?;
        Some(Caller::of_token(token, &identity))
    };
    of_token().unwrap_or(Caller::Network(network))
}

/// Returns the caller of a request whose connection comes from `peer`. Code in the same process has
/// no `peer`, so its network is unknown.
pub(crate) fn caller_at((state, in_force): (&State, &InForce), parts: &Parts, peer: Option<&str>) -> Caller {
    let network = peer.map(|peer| state.callers.network(&in_force.config, peer, &parts.headers));
    caller(state, in_force, parts, network.unwrap_or(Network::Unknown))
}

/// Whose a token is.
pub(crate) async fn identify(state: &State, in_force: &InForce, token: &[u8]) -> Result<Arc<Identity>, ApiError> {
    let verifier = in_force.verifier().ok_or_else(ApiError::no_secret)?;
    let identified = state.tokens.identify(&verifier, token, now_s());
    tracing::debug!(is_accepted = identified.is_ok(), counts = ?state.tokens.counts(), "a token was looked up");
    let refusal = match identified {
        Err(refusal) if refusal.is_of_unknown_key() && in_force.config.jwt_jwks_uri.is_some() => refusal,
        identified => return Ok(identified?),
    };
    // boxed: few requests come here, and all would have room for it
    Box::pin(state.issuer.look_again()).await;
    match in_force.verifier() {
        Some(renewed) if !Arc::ptr_eq(&renewed, &verifier) => Ok(state.tokens.identify(&renewed, token, now_s())?),
        // the token may be good
        Some(_) | None if !state.issuer.is_known() => Err(ApiError::no_keys()),
        Some(_) | None => Err(refusal.into()),
    }
}

/// Seconds since 1970.
fn now_s() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
    i64::try_from(now).unwrap_or(i64::MAX)
}

/// The claims of a request without a token.
pub(crate) fn claims_of(role: &str) -> String {
    Identity::anonymous().claims_as(role).into_owned()
}
