//! Who signs in at a click: in the demo, as one of the sample pilots, who have no passwords. Its pages have the buttons (`src/demo/samples.html`).

use super::Book;
use super::respond::{Failure, problem};
use super::sign_in::{LATER, enter, page_after};
use crate::sample::{NO_PASSWORD, PILOTS};
use axum::Router;
use axum::extract::{Form, State};
use axum::response::Response;
use axum::routing::post;
use serde::Deserialize;
use thalweg_server::Api;

/// Whether sample pilots are for anybody.
#[derive(Clone, Copy)]
pub(super) enum Samples {
    /// There are none.
    None,
    /// Who clicks is one of them.
    AtAClick,
}

impl Samples {
    pub(super) fn routes(self) -> Router<Book> {
        match self {
            Self::None => Router::new(),
            Self::AtAClick => Router::new().route("/sign_in_sample", post(sign_in_sample)),
        }
    }
}

#[derive(Deserialize)]
struct Click {
    #[serde(default)]
    email: String,
    #[serde(default)]
    back: String,
}

/// Lets anybody in as a sample pilot, and as nobody else.
async fn sign_in_sample(
    State(Book(book)): State<Book>,
    api: Api,
    Form(form): Form<Click>,
) -> Result<Response, Failure> {
    api.check_site()?;
    let back = page_after(&form.back);
    let gone = || problem("/sign_in", "sample", &[("back", back)]);
    let Some(pilot) = PILOTS.iter().find(|pilot| pilot.email == form.email) else { return Ok(gone()) };
    let later = |failure: Failure| failure.or_later("/sign_in", LATER, &[("back", back)]);
    let credentials = match book.accounts.find(pilot.email).await {
        Ok(account) => account.credentials,
        Err(error) => return later(error.into()),
    };
    // who has a password has registered with the address of one who is gone
    let Some(credentials) = credentials.filter(|found| found.hash == NO_PASSWORD) else { return Ok(gone()) };
    enter(&book.accounts, &api, &credentials, None, back).await.or_else(later)
}
