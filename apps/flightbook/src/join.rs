//! The flight book beside its pages and API: accounts, tracks sent, everything taken away.
//!
//! ```text
//!  /do/register, sign_in, change_password ─ sign_in.rs ─ passwords.rs, attempts.rs, devices.rs ─ accounts.rs: the database's functions
//!  /do/sign_in_sample ─ click.rs, in the demo alone
//!  /do/tracks      ─ upload.rs ─ form.rs ─ season.rs, archive.rs: files of a ZIP ─ reading.rs: figures ─ tracks.rs: the database's functions
//!  /do/export.zip, /flights.csv ─ export.rs ─ csv.rs: cells ─ the API, as the pilot
//! ```

mod accounts;
mod archive;
mod attempts;
mod click;
mod csv;
mod devices;
mod export;
mod form;
mod passwords;
pub(crate) mod reading;
mod respond;
mod season;
mod sign_in;
mod tracks;
mod turn;
mod upload;

pub use accounts::{AccountError, reset_password};
pub use csv::{csv_cell, csv_first_cell};
pub(crate) use sign_in::Claims;

use accounts::Accounts;
use attempts::SignInAttempts;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use click::Samples;
use devices::Devices;
use export::Exports;
use passwords::Passwords;
use std::fmt;
use std::sync::Arc;
use thalweg_server::{Config, ServerBuilder};
use tracks::Tracks;
use upload::Uploads;

/// How large a form without files is.
const ACCOUNT_FORM_BYTES_MAX: usize = 16 * 1024;

/// What the handlers share.
#[derive(Clone)]
struct Book(Arc<Shared>);

struct Shared {
    accounts: Accounts,
    tracks: Tracks,
    passwords: Passwords,
    attempts: SignInAttempts,
    devices: Devices,
    uploads: Uploads,
    exports: Exports,
}

/// Puts the flight book's own handlers below `/do` of a server with this configuration, whose pages are those of `apps/flightbook`.
///
/// # Errors
///
/// Without `jwt-secret` or `session-cookie` nobody can sign in; a `db-uri` that is none.
pub fn join(server: ServerBuilder, config: &Config) -> Result<ServerBuilder, JoinError> {
    join_with(server, config, Samples::None)
}

/// The same, where anybody signs in as one of the sample pilots by a click.
///
/// # Errors
///
/// Those of [`join`].
pub fn join_demo(server: ServerBuilder, config: &Config) -> Result<ServerBuilder, JoinError> {
    join_with(server, config, Samples::AtAClick)
}

fn join_with(server: ServerBuilder, config: &Config, samples: Samples) -> Result<ServerBuilder, JoinError> {
    if config.jwt_secret.is_none() || config.session_cookie.is_none() {
        return Err(JoinError::NobodySignsIn);
    }
    let uri = config.db_uri.as_deref().unwrap_or("postgresql://");
    let shared = Shared {
        accounts: Accounts::new(uri).map_err(JoinError::Database)?,
        tracks: Tracks::new(uri).map_err(JoinError::Database)?,
        passwords: Passwords::new().map_err(JoinError::Password)?,
        attempts: SignInAttempts::default(),
        devices: Devices::new(config),
        uploads: Uploads::default(),
        exports: Exports::default(),
    };
    let forms = Router::new()
        .route("/register", post(sign_in::register))
        .route("/sign_in", post(sign_in::sign_in))
        .route("/change_password", post(sign_in::change_password))
        .merge(samples.routes())
        .layer(DefaultBodyLimit::max(ACCOUNT_FORM_BYTES_MAX));
    let files = Router::new().route("/tracks", post(upload::tracks)).route("/export.zip", get(export::archive));
    let book = Book(Arc::new(shared));
    // Pages link to this file. It is an export, of which each pilot has a share.
    let flights = Router::new().route("/", get(export::flights)).with_state(book.clone());
    Ok(server.routes("/do", forms.merge(files).with_state(book)).routes("/flights.csv", flights))
}

/// Why the flight book cannot be served.
#[derive(Debug)]
pub enum JoinError {
    /// There is no secret to sign tokens with, or no cookie for them.
    NobodySignsIn,
    /// The connection string cannot be used.
    Database(thalweg_wire::Error),
    /// No password can be hashed.
    Password(argon2::password_hash::Error),
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NobodySignsIn => {
                f.write_str("the flight book needs jwt-secret (THALWEG_JWT_SECRET) and session-cookie")
            }
            Self::Database(error) => error.fmt(f),
            Self::Password(error) => write!(f, "no password can be hashed: {error}"),
        }
    }
}

impl std::error::Error for JoinError {}
