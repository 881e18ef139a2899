//! Who registers, signs in, and changes their password: a token in the server's cookie comes of it.

use super::Book;
use super::accounts::AccountError;
use super::attempts::Client;
use super::passwords;
use super::respond::{Failure, problem, see_other};
use axum::extract::{Extension, Form, State};
use axum::http::HeaderMap;
use axum::http::header::SET_COOKIE;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use std::time::{SystemTime, UNIX_EPOCH};
use thalweg_server::{Api, Peer, is_of_site};

/// How long somebody stays signed in.
const SESSION_S: u64 = 30 * 24 * 3600;
/// As whom they ask.
const PILOT: &str = "flightbook_pilot";
/// Where they go who have signed in and wanted nothing else.
const HOME: &str = "/flights";
/// How long a name and an e-mail address are at most.
const NAME_CHARS_MAX: usize = 80;
const EMAIL_CHARS_MAX: usize = 254;

#[derive(Deserialize)]
pub(super) struct Registration {
    #[serde(default)]
    name: String,
    #[serde(default)]
    email: String,
    #[serde(default)]
    password: String,
}

#[derive(Deserialize)]
pub(super) struct SignIn {
    #[serde(default)]
    email: String,
    #[serde(default)]
    password: String,
    #[serde(default)]
    back: String,
}

#[derive(Deserialize)]
pub(super) struct Change {
    #[serde(default)]
    password: String,
    #[serde(default)]
    new_password: String,
}

/// Adds a pilot, who has signed in then.
pub(super) async fn register(
    State(Book(book)): State<Book>,
    Extension(Peer(peer)): Extension<Peer>,
    api: Api,
    headers: HeaderMap,
    Form(form): Form<Registration>,
) -> Result<Response, Failure> {
    api.check_site()?;
    let refused = |word| Ok(problem("/register", word, &[("name", &form.name), ("email", &form.email)]));
    if !is_text(&form.name, NAME_CHARS_MAX) {
        return refused("name");
    }
    if !is_text(&form.email, EMAIL_CHARS_MAX) {
        return refused("email");
    }
    if !passwords::is_allowed(&form.password) {
        return refused("password");
    }
    if !book.attempts.of_client(Client::of(&peer, &headers)) {
        return refused("busy");
    }
    let hash = book.passwords.hash(form.password).await?;
    match book.accounts.register(&form.name, &form.email, &hash).await {
        Ok(pilot_id) => enter(&book.accounts, &api, pilot_id, HOME).await,
        Err(AccountError::Name) => refused("name"),
        Err(AccountError::Email) => refused("email"),
        Err(AccountError::Taken) => refused("taken"),
        Err(error) => Err(error.into()),
    }
}

/// Lets a pilot in whose password is right.
pub(super) async fn sign_in(
    State(Book(book)): State<Book>,
    Extension(Peer(peer)): Extension<Peer>,
    api: Api,
    headers: HeaderMap,
    Form(form): Form<SignIn>,
) -> Result<Response, Failure> {
    api.check_site()?;
    let back = page_after(&form.back);
    let refused = |word| Ok(problem("/sign_in", word, &[("back", back)]));
    let client = Client::of(&peer, &headers);
    if !book.attempts.of_client(client) {
        return refused("busy");
    }
    let credentials = book.accounts.credentials(&form.email).await?;
    // which letters are the same, the database says
    let account = credentials.as_ref().map_or(&form.email, |credentials| &credentials.address);
    if !book.attempts.at_account(account) {
        return refused("busy");
    }
    let hash = credentials.as_ref().map(|credentials| &*credentials.hash);
    if !book.passwords.is_right(form.password, hash).await? {
        return refused("password");
    }
    let Some(credentials) = &credentials else { return refused("password") };
    book.attempts.succeeded(account, client);
    enter(&book.accounts, &api, credentials.pilot_id, back).await
}

/// Puts another password in the place of a pilot's. All their sessions end, and a new one begins here.
pub(super) async fn change_password(
    State(Book(book)): State<Book>,
    api: Api,
    Form(form): Form<Change>,
) -> Result<Response, Failure> {
    api.check_site()?;
    let Some(pilot_id) = pilot(&api).await? else { return Ok(see_other("/sign_in?back=/account")) };
    let refused = |word| Ok(problem("/account", word, &[]));
    if !passwords::is_allowed(&form.new_password) {
        return refused("new_password");
    }
    let (email, hash) = book.accounts.credentials_of(pilot_id).await?;
    if !book.attempts.at_account(&email) {
        return refused("busy");
    }
    if !book.passwords.is_right(form.password, Some(&hash)).await? {
        return refused("password");
    }
    let hash = book.passwords.hash(form.new_password).await?;
    book.accounts.set_password(pilot_id, &hash).await?;
    enter(&book.accounts, &api, pilot_id, "/account?changed=1").await
}

/// Where somebody who has signed in goes: back, if they came from a page of this site.
pub(super) fn page_after(back: &str) -> &str {
    if is_of_site(back) { back } else { HOME }
}

/// Who asks, by the API; nobody has not signed in.
pub(super) async fn pilot(api: &Api) -> Result<Option<i32>, Failure> {
    #[derive(Deserialize)]
    struct Pilot {
        id: i32,
    }
    let pilots: Vec<Pilot> = match api.get("/pilots?select=id").await {
        Ok(found) => found.json().await?,
        Err(failure) if failure.status() == 401 => return Ok(None),
        Err(failure) => return Err(failure.into()),
    };
    Ok(pilots.first().map(|pilot| pilot.id))
}

/// What a token says of a pilot.
#[derive(Debug, Serialize)]
pub(crate) struct Claims {
    role: &'static str,
    sub: String,
    iat: u64,
    exp: u64,
    /// Of which password, by `flightbook_private.check_session`.
    since: i64,
}

impl Claims {
    /// Of a pilot whose password holds since then, from now on for as long as a session.
    pub(crate) fn new(pilot_id: i32, since: i64) -> Self {
        let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
        Self { role: PILOT, sub: pilot_id.to_string(), iat: now_s, exp: now_s + SESSION_S, since }
    }
}

/// Begins a session, and sends the pilot on.
pub(super) async fn enter(
    accounts: &super::Accounts,
    api: &Api,
    pilot_id: i32,
    page: &str,
) -> Result<Response, Failure> {
    let claims = Claims::new(pilot_id, accounts.password_since(pilot_id).await?);
    let cookie = api.session_cookie(&api.sign(&claims)?).await?;
    Ok(([(SET_COOKIE, cookie)], see_other(page)).into_response())
}

/// Whether it is something that PostgreSQL keeps as a text.
fn is_text(text: &str, chars_max: usize) -> bool {
    let text = text.trim();
    !text.is_empty() && text.chars().count() <= chars_max && !text.contains('\0')
}
