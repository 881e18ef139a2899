//! A folder of SQL files, each applied to a database once.
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
//!    beside it: auth (who asks), catalog (what the database holds), gauge (what it cost)
//!  ► before all of it: the schema that is served
//! ```
//!
//! [`Folder::read`] finds whatever is wrong with the files before the database is asked; [`Folder::apply`] applies those that the
//! database has no record of.
//!
//! ```text
//!  folder ──► statements ──► history (what is recorded → what is pending) ──► apply
//! ```
#![doc = include_str!("../README.md")]

mod apply;
mod error;
mod folder;
mod history;
mod statements;

pub use error::{Error, ErrorKind};
pub use folder::{FILE_BYTES_MAX, FILES_MAX, FOLDER_BYTES_MAX, Folder, Migration};
