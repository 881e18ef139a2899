//! Sessions that code begins: tokens signed with the server's secret, in the server's cookie.

use super::{Api, ApiFailure};
use crate::auth::cookie::{self, Cookie};
use crate::error::ApiError;
use hyper::header::HeaderValue;
use serde::Serialize;

impl Api {
    /// Refuses a request unless a page of the site's own origin sends it, as the server does for
    /// its own forms. A handler that changes something without calling the API calls this method
    /// first.
    ///
    /// # Errors
    ///
    /// 403 `TWG06`: the request comes from a page of another origin, or its headers do not name an
    /// origin.
    pub fn check_site(&self) -> Result<(), ApiFailure> {
        cookie::check_site(&self.caller.headers, &self.state.in_force().config).map_err(|error| self.failure(error))
    }

    /// A token that claims this, signed by HS256 with `jwt-secret`.
    ///
    /// # Errors
    ///
    /// 500 `PGRST300`: there is no secret, or only keys that everybody may have. `TWG22`: claims that are no JSON.
    pub fn sign(&self, claims: &impl Serialize) -> Result<String, ApiFailure> {
        let claims = thalweg_json::to_vec(claims)
            .map_err(|error| self.failure(ApiError::not_sent(format!("the claims cannot be JSON: {error}"))))?;
        let verifier = self.state.in_force().verifier();
        let token = verifier.and_then(|verifier| verifier.sign(&claims));
        token.ok_or_else(|| self.failure(ApiError::no_secret()))
    }

    /// What `Set-Cookie` says to put a token into `session-cookie`, as for who signs in by a function.
    ///
    /// # Errors
    ///
    /// 500 `TWG07`: the server would refuse the token, or has no such cookie.
    pub async fn session_cookie(&self, token: &str) -> Result<HeaderValue, ApiFailure> {
        let in_force = self.state.in_force();
        let cookie = async {
            let name = in_force.config.session_cookie.as_deref().ok_or_else(ApiError::no_token_returned)?;
            Cookie::made_of(name, token, &self.state, &in_force).await
        };
        cookie.await.map_err(|error| self.failure(error))
    }

    fn failure(&self, error: ApiError) -> ApiFailure {
        ApiFailure::of(error, self.state.in_force().config.client_errors_are_verbose)
    }
}
