//! The reader: stories in Japanese on which every word shows its dictionary entries when it is touched.
//!
//! ```text
//!  stories in PostgreSQL ─ pages ─ gloss(text): pages.rs ─┐
//!                                                          ├─ reading.rs ─ thalweg_gloss: one dictionary, a reader a thread
//!  /rpc/gloss: asked.rs ─ answer.rs, a piece at a time ────┘
//! ```

pub mod demo;
pub mod join;

use std::path::Path;
use thalweg_server::{Config, ConfigError, Sources};

/// How the reader of a folder is configured.
///
/// # Errors
///
/// What is said in its `thalweg.conf`, or in variables, cannot be.
pub fn config(folder: &Path, sources: &Sources) -> Result<Config, ConfigError> {
    Ok(Config { pages_dir: Some(folder.join("pages")), ..sources.read()? })
}

/// Applies the migrations of a folder to the database of its configuration.
///
/// # Errors
///
/// They cannot be read, or the database does not take them.
pub async fn migrate(folder: &Path, config: &Config) -> Result<usize, thalweg_migrations::Error> {
    let schema = thalweg_migrations::Folder::read(&folder.join("schema"))?;
    schema.apply(config.db_uri.as_deref().unwrap_or("postgresql://")).await
}
