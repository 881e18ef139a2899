//! What handlers answer: mostly, where to go on.

use super::accounts::AccountError;
use super::tracks::TrackError;
use axum::http::header::{CACHE_CONTROL, LOCATION, RETRY_AFTER};
use axum::http::{HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use thalweg_server::{ApiFailure, ShareError, percent_encoded};
use thalweg_wire::Error;

/// After how many seconds somebody may try again for whom there was no room.
const RETRY_S: &str = "2";

/// Sends a visitor on to a page of the site.
pub(super) fn see_other(page: &str) -> Response {
    let headers: [(HeaderName, &str); 2] = [(LOCATION, page), (CACHE_CONTROL, "no-store")];
    (StatusCode::SEE_OTHER, headers).into_response()
}

/// Sends a visitor back to a form's page, with a word for what is wrong, and what the page shows again.
pub(super) fn problem(page: &str, problem: &str, shown: &[(&str, &str)]) -> Response {
    // no address holds a NUL
    let shown = shown.iter().filter(|(_, value)| !value.is_empty() && !value.contains('\0'));
    let shown: String = shown.map(|(name, value)| format!("&{name}={}", percent_encoded(value))).collect();
    see_other(&format!("{page}?problem={problem}{shown}"))
}

/// Why a handler cannot answer at all.
#[derive(Debug)]
pub(super) enum Failure {
    /// The API does not let it, or not now.
    Api(ApiFailure),
    /// Of the accounts.
    Account(AccountError),
    /// An error of the tracks.
    Track(TrackError),
    /// The files of an upload were added, but their outcomes could not be stored.
    NotNoted(TrackError),
    /// What was sent is nothing that a form sends.
    Request(&'static str),
}

impl From<ApiFailure> for Failure {
    fn from(failure: ApiFailure) -> Self {
        Self::Api(failure)
    }
}

impl Failure {
    /// Returns whether nothing was done, and the same request may succeed later.
    pub(super) fn is_temporary(&self) -> bool {
        match self {
            Self::Track(TrackError::Unavailable | TrackError::Conflict)
            | Self::Account(AccountError::Unavailable(_)) => true,
            Self::Api(failure) => matches!(failure.status().as_u16(), 429 | 503),
            Self::Account(_) | Self::Track(_) | Self::NotNoted(_) | Self::Request(_) => false,
        }
    }

    /// Sends the visitor back to a form's page with a word, if the same request may succeed later.
    pub(super) fn or_later(self, page: &str, word: &str, shown: &[(&str, &str)]) -> Result<Response, Self> {
        if self.is_temporary() { Ok(problem(page, word, shown)) } else { Err(self) }
    }
}

/// Converts the error of a pilot who has used their whole share (429), or of others who hold all
/// permits (503).
impl From<ShareError> for Failure {
    fn from(error: ShareError) -> Self {
        Self::Api(error.into())
    }
}

/// Returns whether the connection was lost. The transaction may have been committed.
fn is_lost(error: &Error) -> bool {
    error.may_have_committed() || error.code().is_none_or(|code| code.starts_with("57P"))
}

impl From<AccountError> for Failure {
    fn from(error: AccountError) -> Self {
        match error {
            AccountError::Database(error) if is_lost(&error) => Self::Api(error.into()),
            error => Self::Account(error),
        }
    }
}

impl From<TrackError> for Failure {
    fn from(error: TrackError) -> Self {
        match error {
            TrackError::Share(error) => error.into(),
            TrackError::Database(error) if is_lost(&error) => Self::Api(error.into()),
            error => Self::Track(error),
        }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let busy = || {
            let words = "Too many want this at once. Try again in a moment.\n";
            (StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, RETRY_S)], words).into_response()
        };
        match self {
            Self::Api(failure) => failure.into_response(),
            Self::Account(AccountError::Unavailable(_))
            | Self::Track(TrackError::Unavailable | TrackError::Conflict) => busy(),
            Self::Track(TrackError::NoPilot) => see_other("/sign_in"),
            // a client learns nothing of the database
            Self::Account(_) => (StatusCode::INTERNAL_SERVER_ERROR, "Accounts cannot be reached.\n").into_response(),
            Self::Track(error) => {
                tracing::error!(%error, "a track cannot be stored");
                (StatusCode::INTERNAL_SERVER_ERROR, "The track cannot be stored.\n").into_response()
            }
            Self::NotNoted(error) => {
                tracing::error!(%error, "the outcomes of an upload cannot be stored");
                let words = "The tracks were added, but the page about them could not be made. Look at your flights.\n";
                (StatusCode::INTERNAL_SERVER_ERROR, words).into_response()
            }
            Self::Request(words) => (StatusCode::BAD_REQUEST, words).into_response(),
        }
    }
}
