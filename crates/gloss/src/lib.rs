//! Every word of a Japanese text with its dictionary entries.
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
//!  ► for the reader, an application of it: gloss (every word of a text)
//!
//!  JMdict, EDICT, ENAMDICT                          a text
//!    │ source     bytes → Entry                         │
//!    │ compile    entries → one file                    │
//!    ▼ file       ── mapped ──► dictionary ──► reader   ▼ text → spans of keys
//!                                 ▲              │ gloss   keys → words, names, reasons
//!      grammar    table → endings ┘              ▼ json, html, columns
//! ```
//!
//! Nothing here knows of a database or of HTTP; it reads files and writes one.
#![doc = include_str!("../README.md")]

mod bytes;
mod columns;
mod compile;
mod dictionary;
mod endings;
mod entry;
mod error;
mod explain;
mod file;
mod fold;
mod gloss;
pub mod grammar;
mod html;
mod ids;
mod json;
mod known;
mod likeliest;
mod number;
mod reader;
mod record;
mod small;
pub mod source;
mod stream;
mod target;
mod trie;

pub use columns::{COLUMNS, write_columns};
pub use compile::Builder;
pub use dictionary::{Dictionary, Origin, OriginKind, Tag};
pub use entry::{Entry, Headword, Priority, Reading, Sense};
pub use error::{Error, ErrorKind};
pub use explain::{Possible, Step, possible};
pub use gloss::{Gloss, Meaning, Name, NameGloss, Span, Word};
pub use html::{Html, write_sources};
pub use json::{Json, write_json};
pub use known::Known;
pub use reader::{ENTRIES_PER_SPAN_MAX, Options, Reader};
pub use record::Kana;
pub use small::small;
pub use stream::Progress;
pub use target::Target;
