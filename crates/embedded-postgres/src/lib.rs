//! Find or fetch PostgreSQL, initialise a private cluster, start and stop it.
//!
//! ```text
//!  HTTP bytes
//!    │
//!    │ request   bytes → ApiRequest                       pure
//!    │ plan      ApiRequest + Catalog → Plan              pure
//!    │ sql       Plan → Statement { text, params, shape }  pure
//!    │ wire      Statement → DataRow bytes                the PostgreSQL socket
//!    │ encode    rows → JSON, CSV
//!    ▼ server    chunks → response                        the HTTP socket
//!    beside it: catalog (what the database holds), gauge (what it cost)
//!  ► below all of it: a PostgreSQL to connect to
//! ```
//!
//! The cluster belongs to one process at a time (a lock in its directory says which). PostgreSQL refuses to run
//! as root, so that a root process runs it as another user. It ends with the process that started it, however
//! that ends: a shell between the two waits for a pipe to close and then shuts PostgreSQL down.
//!
//! Blocking: this is for the start of a program.
#![doc = include_str!("../README.md")]

mod binaries;
mod cluster;
mod error;
mod fetch;
mod owner;

pub use cluster::{Cluster, Collation, Options};
pub use error::Error;

use std::path::PathBuf;

/// Where a cluster is kept if nobody says otherwise.
pub fn default_data_dir() -> PathBuf {
    directory("/var/lib", "XDG_DATA_HOME", ".local/share")
}

/// Where fetched binaries are kept.
pub fn cache_dir() -> PathBuf {
    directory("/var/cache", "XDG_CACHE_HOME", ".cache")
}

/// Root's own directories cannot be entered by the user that PostgreSQL runs as.
fn directory(of_root: &str, variable: &str, below_home: &str) -> PathBuf {
    let base = if nix::unistd::geteuid().is_root() {
        PathBuf::from(of_root)
    } else {
        let named = std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(below_home));
        named.or_else(home).unwrap_or_else(std::env::temp_dir)
    };
    base.join("thalweg")
}
