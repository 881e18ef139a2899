//! The reader as a demo: all that is served in a folder of its own, and its stories in the database.
//!
//! ```text
//!  served.rs: pages, schema and stories, of this program → a folder → migrations → load.rs: the stories
//! ```

mod load;
#[path = "../../served.rs"]
mod served;

pub use load::{LoadError, load};
pub use served::write;

use std::path::Path;
use thalweg_server::{Config, ConfigError, LogLevel, PagesBrowse, Sources};

/// How the folder's reader is served to this machine: open to who wants to see how it works.
///
/// # Errors
///
/// A folder that was not written by [`write()`].
pub fn config(folder: &Path, db_uri: String) -> Result<Config, ConfigError> {
    let config = crate::config(folder, &Sources::new(Some(&folder.join("thalweg.conf")), std::iter::empty()))?;
    Ok(Config {
        db_uri: Some(db_uri),
        db_plan_enabled: true,
        pages_browse: PagesBrowse::On,
        server_timing_enabled: true,
        log_level: LogLevel::Info,
        ..config
    })
}
