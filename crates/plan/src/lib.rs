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

mod codec;
mod embed;
mod error;
mod gather;
mod media;
mod plan;
mod read;

pub use error::{Candidate, ErrorKind, PlanError};
pub use media::{Delivery, Media};
pub use plan::{Context, Plan, plan};
pub use read::{ColumnRef, Condition, EmbedRead, Order, OrderKey, Output, Read, Source};
