//! Who registers, signs in, and changes their password: a token in the server's cookie comes of it.

use super::accounts::{AccountError, Credentials};
use super::attempts::Origin;
use super::passwords;
use super::respond::{Failure, problem, see_other};
use super::{Book, Shared};
use axum::extract::{Extension, Form, State};
use axum::http::HeaderMap;
use axum::http::header::{HeaderValue, SET_COOKIE};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use std::time::{SystemTime, UNIX_EPOCH};
use thalweg_server::{Api, Network, is_of_site};

/// How long somebody stays signed in.
const SESSION_S: u64 = 30 * 24 * 3600;
/// As whom they ask.
const PILOT: &str = "flightbook_pilot";
/// Where they go who have signed in and wanted nothing else.
const HOME: &str = "/flights";
/// The pages of the forms.
const SIGN_IN: &str = "/sign_in";
const ACCOUNT: &str = "/account";
/// The word of a form's page for a server that has no room at the moment.
pub(super) const LATER: &str = "later";
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
    Extension(network): Extension<Network>,
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
    if book.attempts.of_network(network).is_err() {
        return refused("busy");
    }
    let password = form.password;
    let added = async {
        let hash = book.passwords.hash(password, network).await?;
        Ok::<_, Failure>(Credentials { pilot_id: book.accounts.register(&form.name, &form.email, &hash).await?, hash })
    };
    let added = match added.await {
        Ok(added) => added,
        Err(Failure::Account(AccountError::Name)) => return refused("name"),
        Err(Failure::Account(AccountError::Email)) => return refused("email"),
        Err(Failure::Account(AccountError::Taken)) => return refused("taken"),
        Err(failure) => return failure.or_later("/register", LATER, &[("name", &form.name), ("email", &form.email)]),
    };
    let device = book.devices.cookie(&api, &headers, &added, &added)?;
    let entered = enter(&book.accounts, &api, &added, Some(device), HOME).await;
    // The account exists, so that its pilot can sign in later.
    entered.or_else(|failure| failure.or_later(SIGN_IN, LATER, &[]))
}

/// Lets a pilot in whose password is right.
pub(super) async fn sign_in(
    State(Book(book)): State<Book>,
    Extension(network): Extension<Network>,
    api: Api,
    headers: HeaderMap,
    Form(form): Form<SignIn>,
) -> Result<Response, Failure> {
    api.check_site()?;
    let shown = [("back", page_after(&form.back))];
    let entered = sign_in_with(&book, network, &api, &headers, &form).await;
    entered.or_else(|failure| failure.or_later(SIGN_IN, LATER, &shown))
}

async fn sign_in_with(
    book: &Shared,
    network: Network,
    api: &Api,
    headers: &HeaderMap,
    form: &SignIn,
) -> Result<Response, Failure> {
    let back = page_after(&form.back);
    let refused = |word| Ok(problem(SIGN_IN, word, &[("back", back)]));
    // Only an entry of a device can exempt from the limit of the network, so that without one no
    // account is looked up beyond that limit.
    if !book.devices.are_sent(headers) && book.attempts.check_network(network).is_err() {
        return refused("busy");
    }
    let account = book.accounts.find(&form.email).await?;
    let known = account.credentials.as_ref();
    let credentials = known.unwrap_or(book.passwords.decoy());
    let device = book.devices.find(api, headers, credentials)?;
    let origin = Origin { network, device: device.as_deref() };
    if book.attempts.take(&account.key, origin).is_err() {
        return refused("busy");
    }
    let hash = known.map(|credentials| &*credentials.hash);
    if !book.passwords.is_right(form.password.clone(), hash, network).await? {
        return refused("password");
    }
    book.attempts.succeeded(&account.key, origin);
    let device = book.devices.cookie(api, headers, credentials, credentials)?;
    match enter(&book.accounts, api, credentials, Some(device), back).await {
        Err(Failure::Account(AccountError::Missing)) => refused("password"),
        entered => entered,
    }
}

/// Replaces a pilot's password. All sessions and devices of the pilot end, and new ones begin in
/// this browser.
pub(super) async fn change_password(
    State(Book(book)): State<Book>,
    Extension(network): Extension<Network>,
    api: Api,
    headers: HeaderMap,
    Form(form): Form<Change>,
) -> Result<Response, Failure> {
    api.check_site()?;
    let changed = change_password_with(&book, network, &api, form).await;
    let [before, after] = match changed {
        Ok(Changed::To(credentials)) => credentials,
        Ok(Changed::Not(response)) => return Ok(response),
        Err(failure) => return failure.or_later(ACCOUNT, LATER, &[]),
    };
    let device = book.devices.cookie(&api, &headers, &before, &after)?;
    let entered = enter(&book.accounts, &api, &after, Some(device), "/account?changed=1").await;
    // The password has been changed, and with it all sessions have ended.
    entered.or_else(|failure| failure.or_later(SIGN_IN, LATER, &[("back", ACCOUNT)]))
}

/// The outcome of a request to change a password.
enum Changed {
    /// The credentials before and after the change.
    To([Credentials; 2]),
    Not(Response),
}

async fn change_password_with(book: &Shared, network: Network, api: &Api, form: Change) -> Result<Changed, Failure> {
    let Some(pilot_id) = pilot(api).await? else { return Ok(Changed::Not(see_other("/sign_in?back=/account"))) };
    let refused = |word| Ok(Changed::Not(problem(ACCOUNT, word, &[])));
    if !passwords::is_allowed(&form.new_password) {
        return refused("new_password");
    }
    if book.attempts.of_change(pilot_id).is_err() {
        return refused("busy");
    }
    let before = Credentials { pilot_id, hash: book.accounts.hash_of(pilot_id).await? };
    if !book.passwords.is_right(form.password, Some(&before.hash), network).await? {
        return refused("password");
    }
    let after = Credentials { pilot_id, hash: book.passwords.hash(form.new_password, network).await? };
    book.accounts.set_password(pilot_id, &after.hash).await?;
    Ok(Changed::To([before, after]))
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
    /// Id of the row in `flightbook_private.sessions`. Once the row is gone,
    /// `flightbook_private.check_session` refuses the token.
    session: String,
}

impl Claims {
    /// Creates the claims of a pilot's session that begins now.
    pub(crate) fn new(pilot_id: i32, session: String) -> Self {
        let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
        Self { role: PILOT, sub: pilot_id.to_string(), iat: now_s, exp: now_s + SESSION_S, session }
    }
}

/// Begins a session of the pilot with these credentials, and redirects the pilot to a page.
pub(super) async fn enter(
    accounts: &super::Accounts,
    api: &Api,
    credentials: &Credentials,
    device: Option<HeaderValue>,
    page: &str,
) -> Result<Response, Failure> {
    let claims = Claims::new(credentials.pilot_id, accounts.begin_session(credentials).await?);
    let cookie = api.session_cookie(&api.sign(&claims)?).await?;
    let mut response = ([(SET_COOKIE, cookie)], see_other(page)).into_response();
    response.headers_mut().extend(device.map(|device| (SET_COOKIE, device)));
    Ok(response)
}

/// Whether it is something that PostgreSQL keeps as a text.
fn is_text(text: &str, chars_max: usize) -> bool {
    let text = text.trim();
    !text.is_empty() && text.chars().count() <= chars_max && !text.contains('\0')
}
