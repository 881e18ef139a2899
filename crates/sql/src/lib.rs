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
mod download;
mod embed;
mod flat;
mod probe;
mod quote;
mod read;
mod statements;
mod write;

pub use call::pre_request;
pub use download::{bytes, describe};
pub use flat::flat;
pub use probe::{broken_checks, value_of_column, value_of_type};
pub use quote::quote;
pub use read::{count, estimate, head, head_and_total, rows, rows_and_total};
pub use statements::{Purpose, Statements, statements};
pub use write::{updated, write, written};

use std::borrow::Cow;
use std::fmt;
use thalweg_plan::Bound;
use thalweg_rows::Shape;

/// A parameter of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Param<'a> {
    /// A value of the request's, in text format.
    Text(Cow<'a, str>),
    /// The request's body.
    Document,
    /// A value of the request's body.
    Bound(Bound),
}

impl fmt::Display for Param<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Document => f.write_str("(the body)"),
            Self::Bound(bound) => write!(f, "(member {} of the body)", bound.member),
        }
    }
}

/// A statement ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement<'a> {
    /// The SQL, with `$1` … for the parameters.
    pub text: String,
    /// The parameters. PostgreSQL infers their types.
    pub params: Vec<Param<'a>>,
    /// What its rows look like.
    pub shape: Shape,
}
