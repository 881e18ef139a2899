//! The flight book as a demo: sample pilots, whom a click signs in, and all that is served in a folder of its own.
//!
//! ```text
//!  files.rs: pages and schema, of this program → a folder → migrations → load.rs: sample pilots and their flights → pilot.rs: a token
//! ```

mod files;
mod load;
mod pilot;

pub use files::{secret, write};
pub use load::{LoadError, load};
pub use pilot::Guide;

use std::path::Path;
use thalweg_server::{Config, ConfigError, LogLevel, PagesBrowse, Secret, Sources};

/// Without `__Host-` and `Secure`, which not all browsers take over plain HTTP.
const COOKIE: &str = "flightbook-demo";

/// How the folder's flight book is served to this machine: open to who wants to see how it works.
///
/// # Errors
///
/// A folder that was not written by [`write()`].
pub fn config(folder: &Path, db_uri: String, secret: Secret) -> Result<Config, ConfigError> {
    let config = crate::config(folder, &Sources::new(Some(&folder.join("thalweg.conf")), std::iter::empty()))?;
    Ok(Config {
        db_uri: Some(db_uri),
        jwt_secret: Some(secret),
        session_cookie: Some(COOKIE.to_owned()),
        session_cookie_secure: false,
        app_settings: vec![("app.settings.session_cookie".to_owned(), COOKIE.to_owned())],
        db_aggregates_enabled: true,
        db_plan_enabled: true,
        pages_browse: PagesBrowse::On,
        server_timing_enabled: true,
        log_level: LogLevel::Info,
        ..config
    })
}
