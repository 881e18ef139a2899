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
//! ```text
//!  folder ──► front (queries) ──┐
//!     │                         ├─► Site: find(path) → Page { queries, needs }
//!     ├─► syntax ──► analysis ──┤        │
//!     └─► messages ─────────────┘        ▼
//!  DataRow bytes ──► Table (rows) ──► Renderer ──► the page, escaped as its kind is
//! ```
#![doc = include_str!("../README.md")]

mod additions;
mod address;
mod analysis;
mod direct;
mod error;
mod escape;
mod folder;
mod form;
mod format;
mod front;
mod messages;
mod need;
mod newline;
mod pager;
mod provided;
mod query;
mod render;
mod route;
mod rows;
mod site;
mod syntax;

pub use additions::{Additions, Cost, quickly, takes_long};
pub use address::address_without;
pub use direct::Chunks;
pub use error::{Error, ErrorKind, Place};
pub use folder::{FILE_BYTES_MAX, FILES_MAX, FOLDERS_DEEP_MAX, SITE_BYTES_MAX};
pub use form::{BACK, Does, FORM_FIELDS_MAX, FORMS_MAX, Form, Location, Text};
pub use format::{
    DATE_PATTERN_BYTES_MAX, FRACTION_DIGITS_MAX, LOCALE_BYTES_MAX, LOCALES_MAX, typed_moment, typed_number,
};
pub use front::{Front, PER_PAGE_MAX, QUERIES_MAX, of_query};
pub use messages::{
    LANGUAGE_RANGES_MAX, LANGUAGES_MAX, MESSAGE_BRACKETS_MAX, MESSAGE_FRACTION_DIGITS_MAX, Messages, choose,
};
pub use need::{Column, Need, Whole, Why};
pub use pager::Pager;
pub use provided::{Fields, Provided, Vocabulary};
pub use query::{
    Absent, ORDERS_MAX, QUERY_BYTES_MAX, QUERY_VALUES_MAX, Query, ROWS_MAX, Shows, Source, Unfilled, Value,
};
pub use render::{Renderer, Values, of_engine};
pub use route::{PATH_BYTES_MAX, PATH_PARTS_MAX, PathError};
pub use rows::{Table, is_stale, of_json};
pub use site::{Found, Page, Site};
