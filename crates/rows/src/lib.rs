//! The vocabulary of results: type OIDs, shapes, borrowed rows, sinks.
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
//!  ► between wire and encode: rows (the vocabulary of results)
//! ```
//!
//! Nothing here does I/O or allocates per row: a [`RowView`] borrows the bytes of one
//! PostgreSQL `DataRow` message, a [`Shape`] says how to read them, a [`RowSink`] takes them.

pub mod oid;
mod row;
mod shape;

pub use row::{Columns, Cursor, Demand, Malformed, RowSink, RowView};
pub use shape::{Codec, Field, Format, Level, Member, Scalar, Shape, own};
