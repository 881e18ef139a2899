//! The request grammar: path, select, filters, logic, order, range, preferences, media types.
//!
//! ```text
//!  HTTP bytes
//!    │
//!  ► │ request   bytes → ApiRequest                       pure
//!    │ plan      ApiRequest + Catalog → Plan              pure
//!    │ sql       Plan → Statement { text, params, shape }  pure
//!    │ wire      Statement → DataRow bytes                the PostgreSQL socket
//!    │ encode    rows → JSON, CSV
//!    ▼ server    chunks → response                        the HTTP socket
//!    beside it: catalog (what the database holds), gauge (what it cost)
//! ```
//!
//! Text goes in, an [`ApiRequest`] comes out; nothing is looked up, nothing does I/O. Names and values borrow
//! the request's bytes wherever no escape forces a copy.

mod accept;
mod error;
mod filter;
mod order;
mod params;
mod path;
mod prefer;
mod print;
mod query;
mod scanner;
mod select;
mod window;

pub use accept::{MediaType, accepted};
pub use error::{ErrorKind, RequestError};
pub use filter::{Comparison, Field, Filter, FtsOperator, IsWord, JsonStep, Operand, Operation, Quantifier, Tree};
pub use order::{Direction, Nulls, OrderBy, OrderTerm};
pub use params::Params;
pub use path::Resource;
pub use prefer::{Count, Handling, Preferences, TxEnd};
pub use query::{At, Query, Unreserved};
pub use select::{Aggregate, Embed, Item, Join};
pub use window::{EmbedWindow, Window};

/// How many levels of embeds or of parentheses a request may have.
pub const NESTING_LEVELS_MAX: usize = 100;

/// What a request asks for rows of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target<'a> {
    /// A relation by its name.
    Relation(&'a str),
    /// What a function of this name returns.
    Function(&'a str),
}

/// A request to read, understood but not yet resolved against any catalog.
#[derive(Debug)]
pub struct ApiRequest<'a> {
    /// What it asks for rows of.
    pub target: Target<'a>,
    /// The query string.
    pub query: Query<'a>,
    /// The rows of the root relation that are asked for.
    pub window: Window,
    /// The `Prefer` headers.
    pub preferences: Preferences<'a>,
    /// The `Accept` header, best first.
    pub accept: Vec<MediaType<'a>>,
    /// Whether only the head is asked for.
    pub head_only: bool,
}
