//! Rows to JSON and CSV.
//!
//! ```text
//!  HTTP bytes
//!    │
//!    │ request   bytes → ApiRequest                       pure
//!    │ plan      ApiRequest + Catalog → Plan              pure
//!    │ sql       Plan → Statement { text, params, shape }  pure
//!    │ wire      Statement → DataRow bytes                the PostgreSQL socket
//!  ► │ encode    rows → JSON, CSV
//!    ▼ server    chunks → response                        the HTTP socket
//!    beside it: catalog (what the database holds), gauge (what it cost)
//! ```
//!
//! Pure: each value is copied once, from the receive buffer into the response's chunk, as PostgreSQL's own
//! `to_json` would write it. The caller owns the chunks ([`Encoder::take`]).
#![doc = include_str!("../README.md")]

mod csv;
mod date_time;
mod encoder;
mod error;
mod flat;
mod number;
mod program;
mod stock;
mod value;
mod zone;

pub use encoder::{CHUNK_BYTES, Encoder, Target};
pub use error::EncodeError;
pub use program::Program;
pub use stock::Stock;
pub use value::write_scalar;
pub use zone::Zone;

/// What rows are and what they look like, in the words of `thalweg-rows`.
pub use thalweg_rows::{
    Codec, Columns, Cursor, Demand, Field, Format, Level, Malformed, Member, RowSink, RowView, Scalar, Shape, oid,
};
