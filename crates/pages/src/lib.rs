//! A folder of templates as a site, and which columns each of its pages can touch.
//!
//! ```text
//!  HTTP bytes
//!    │
//!    │ request   bytes → ApiRequest                       pure
//!    │ plan      ApiRequest + Catalog → Plan              pure
//!    │ sql       Plan → Statement { text, params, shape }  pure
//!    │ wire      Statement → DataRow bytes                the PostgreSQL socket
//!    │ encode │ ► pages   rows → JSON, CSV │ HTML
//!    ▼ server    chunks → response                        the HTTP socket
//!    beside it: auth (who asks), catalog (what the database holds), gauge (what it cost)
//! ```
//!
//! So far a site is loaded and its pages are read; nothing is rendered.
//!
//! ```text
//!  folder ──► front (queries) ──┐
//!     │                         ├─► Site: find(path) → Page { queries, needs }
//!     └─► syntax ──► analysis ──┘
//! ```
#![doc = include_str!("../README.md")]

mod analysis;
mod error;
mod folder;
mod front;
mod need;
mod query;
mod route;
mod site;
mod syntax;

pub use error::{Error, ErrorKind, Place};
pub use folder::{FILE_BYTES_MAX, FILES_MAX, FOLDERS_DEEP_MAX, SITE_BYTES_MAX};
pub use front::{Front, QUERIES_MAX};
pub use need::{Column, Need, Whole, Why};
pub use query::{QUERY_BYTES_MAX, QUERY_VALUES_MAX, Query, Source, Value};
pub use route::{PATH_BYTES_MAX, PATH_PARTS_MAX, PathError};
pub use site::{Found, Page, Site};
