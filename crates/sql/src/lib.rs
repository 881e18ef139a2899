//! The only place that writes data-path SQL.
//!
//! ```text
//!  HTTP bytes
//!    │
//!    │ request   bytes → ApiRequest                       pure
//!    │ plan      ApiRequest + Catalog → Plan              pure
//!  ► │ sql       Plan → Statement { text, params, shape }  pure
//!    │ wire      Statement → DataRow bytes                the PostgreSQL socket
//!    │ encode    rows → JSON, CSV
//!    ▼ server    chunks → response                        the HTTP socket
//!    beside it: catalog (what the database holds), gauge (what it cost)
//! ```
//!
//! Pure: the same plan gives the same text. Values are parameters, identifiers are quoted in one place
//! ([`quote`]), and a cast's type name has an alphabet that cannot leave its place.

mod call;
mod condition;
mod embed;
mod gather;
mod quote;
mod read;

pub use call::pre_request;
pub use gather::gathered;
pub use quote::quote;
pub use read::{count, estimate, head, head_and_total, rows, rows_and_total};

use std::borrow::Cow;
use thalweg_rows::Shape;

/// A statement ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement<'a> {
    /// The SQL, with `$1` … for the parameters.
    pub text: String,
    /// The parameters' values in text format. PostgreSQL infers their types.
    pub params: Vec<Cow<'a, str>>,
    /// What its rows look like.
    pub shape: Shape,
}
