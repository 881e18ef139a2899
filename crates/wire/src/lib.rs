//! A PostgreSQL client laid out like its protocol.
//!
//! ```text
//!  HTTP bytes
//!    │
//!    │ request   bytes → ApiRequest                       pure
//!    │ plan      ApiRequest + Catalog → Plan              pure
//!    │ sql       Plan → Statement { text, params, shape }  pure
//!  ► │ wire      Statement → DataRow bytes                the PostgreSQL socket
//!    │ encode    rows → JSON, CSV
//!    ▼ server    chunks → response                        the HTTP socket
//!    beside it: catalog (what the database holds), gauge (what it cost)
//! ```
//!
//! One [`Connection`] is owned by the task that uses it: no channel, no second task. Statements of the extended
//! protocol go out together, end in one `Sync`, and are one transaction; rows are borrowed from the receive
//! buffer and pushed into a [`RowSink`], and while the sink wants no more, nothing is read.
//!
//! Source: PostgreSQL's manual, chapter "Frontend/Backend Protocol".
#![doc = include_str!("../README.md")]

mod authenticate;
mod bind;
mod cancel;
mod config;
mod connect;
mod connection;
mod error;
mod input;
mod message;
mod output;
mod pipeline;
mod pool;
mod session;
mod simple;
mod slots;
mod statements;
mod stream;
mod texts;
mod tls;
mod way;

pub use bind::Param;
pub use cancel::CancelKey;
pub use config::{Config, Host, SslMode, TargetSession};
pub use connection::{Connection, Notification};
pub use error::{DbError, Error, ErrorKind};
pub use pipeline::{Progress, Query, StepError};
pub use pool::{Pool, PoolError, PoolLimits, PoolStatus, Pooled};
pub use session::{Identity, KeptIdentity, SessionState};
pub use simple::TransactionStatus;
pub use slots::{Slot, Slots, WAITING_MAX};
pub use texts::Texts;

/// The chunks of a parameter or of a `COPY`.
pub use bytes::Bytes;
/// What rows are and who takes them, in the words of `thalweg-rows`.
pub use thalweg_rows::{Columns, Cursor, Demand, Format, Malformed, RowSink, RowView, oid};
