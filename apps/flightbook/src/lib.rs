//! The paragliding flight book: what it reads off a track, its accounts and uploads beside its pages, and its sample pilots.
//!
//! ```text
//! IGC file → igc::read → Track → track::flights → Flight → Figures, Barogram, score::score → Scores
//! ```
//!
//! The sample looks like seven seasons of a club. It is made up, but plausible: gliders sink and thermals lift as they do, tracks lie
//! where their sites are, and each is a complete file in the public IGC format (FAI, "Technical Specification for GNSS Flight
//! Recorders", appendix A). The same seed gives the same data.

pub mod demo;
mod fly;
pub mod igc;
pub mod join;
mod random;
mod sample;
pub mod score;
pub mod track;

pub use sample::{Flight, FlightBook, PILOTS, Pilot};

use std::path::Path;
use thalweg_server::{Config, ConfigError, Sources};

/// How the flight book of a folder is configured.
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
