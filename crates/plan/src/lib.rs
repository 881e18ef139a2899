//! Names resolved, embeds joined, media type and delivery chosen.
//!
//! ```text
//!  HTTP bytes
//!    │
//!    │ request   bytes → ApiRequest                       pure
//!  ► │ plan      ApiRequest + Catalog → Plan              pure
//!    │ sql       Plan → Statement { text, params, shape }  pure
//!    │ wire      Statement → DataRow bytes                the PostgreSQL socket
//!    │ encode    rows → JSON, CSV
//!    ▼ server    chunks → response                        the HTTP socket
//!    beside it: catalog (what the database holds), gauge (what it cost)
//! ```
//!
//! Pure: a [`Plan`] borrows the request and the catalog snapshot, and holds nothing that SQL generation
//! could have to refuse.

mod abridge;
mod call;
mod code;
mod codec;
mod columns;
mod cut;
mod embed;
mod error;
mod flat;
mod from_end;
mod level;
mod media;
mod narrow;
mod never_analysed;
mod once_per_key;
mod plan;
mod read;
mod said;
mod size;
mod weight;
mod write;

pub use abridge::Abridged;
pub use call::{Argument, Brings, Call, Form, Given, function, parameters};
pub use error::{Candidate, ErrorKind, PlanError};
pub use level::relation;
pub use media::{Delivery, EXPLAIN_OPTIONS, Handler, Media, OCTETS, OneValue};
pub use narrow::Narrowing;
pub use plan::{Context, Plan, plan};
pub use read::{
    ColumnRef, Condition, EmbedRead, Fetch, From, FunctionName, Order, OrderKey, Output, RangeKind, Read, Streamed,
    Value,
};
pub use write::{Bound, Conflict, CopyKind, Document, Render, Returned, ReturnedColumn, Source, Write, WrittenColumn};
