//! Request bodies to rows of a `COPY` and to parameters.
//!
//! ```text
//!  HTTP bytes
//!    │ decode    body → COPY rows, parameters             pure
//!    │ request   bytes → ApiRequest                       pure
//!    │ plan      ApiRequest + Catalog → Plan              pure
//!    │ sql       Plan → Statement { text, params, shape }  pure
//!    │ wire      Statement → DataRow bytes                the PostgreSQL socket
//!    │ encode    rows → JSON, CSV
//!    ▼ server    chunks → response                        the HTTP socket
//!    beside it: catalog (what the database holds), gauge (what it cost)
//! ```
//!
//! Pure. Bodies come in chunks cut anywhere. A body that PostgreSQL reads itself, or a value that is opaque, is only
//! looked at ([`Scan`]) and goes on in the chunks it came in ([`Chunks::slice`]); what must be read is copied once, into
//! the rows of a `COPY` ([`JsonRows`], [`CsvRows`]) or a document, piece by piece ([`Rewrite`]). What a body may make
//! somebody keep has a bound, which is found while the body is read.

mod chunks;
mod copy_text;
mod csv;
mod csv_document;
mod csv_rows;
mod error;
mod form;
mod join;
mod json_rows;
mod rewrite;
mod scan;
mod unescape;

pub use chunks::Chunks;
pub use csv::{COLUMN_NAME_BYTES_MAX, COLUMNS_MAX, CsvReader};
pub use csv_document::CsvDocument;
pub use csv_rows::CsvRows;
pub use error::{DecodeError, Problem};
pub use form::{FIELDS_MAX, FormDocument, FormReader};
pub use join::JoinedRows;
pub use json_rows::{Column, JsonRows, Kind};
pub use rewrite::Rewrite;
pub use scan::{KEY_BYTES_MAX, KEYS_BYTES_MAX, KEYS_MAX, Member, Root, Scan};
pub use unescape::Unescaped;
