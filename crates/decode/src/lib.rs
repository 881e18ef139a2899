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
//! the rows of a `COPY` ([`JsonRows`], [`CsvRows`]).

mod chunks;
mod copy_text;
mod csv;
mod error;
mod form;
mod json_rows;
mod scan;

pub use chunks::Chunks;
pub use csv::{CsvReader, CsvRows, csv_as_json};
pub use error::{DecodeError, Problem};
pub use form::pairs;
pub use json_rows::{Column, JsonRows, Kind};
pub use scan::{Member, Root, Scan, join_rows, unescape};
