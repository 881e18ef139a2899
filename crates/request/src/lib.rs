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
mod content;
mod error;
mod filter;
mod order;
mod outline;
mod params;
mod path;
mod payload;
mod prefer;
mod print;
mod query;
mod scanner;
mod select;
mod window;

pub use accept::{MediaType, accepted};
pub use content::{Content, Raw};
pub use error::{ErrorKind, RequestError, WindowSource};
pub use filter::{Comparison, Field, Filter, FtsOperator, IsWord, JsonStep, Operand, Operation, Quantifier, Tree};
pub use order::{Direction, Nulls, OrderBy, OrderTerm};
pub use outline::Outline;
pub use params::Params;
pub use path::Resource;
pub use payload::{Action, Form, Key, NoRows, Payload, Rows};
pub use prefer::{Count, Handling, Missing, Preferences, Resolution, Returning, TxEnd};
pub use query::{At, KnownParameter, Query, Unreserved};
pub use select::{Aggregate, Embed, Item, Join};
pub use window::{EmbedWindow, Window};

use std::collections::{HashMap, HashSet};

/// How many levels of parentheses a tree of conditions may have.
pub const NESTING_LEVELS_MAX: usize = 100;

/// How many levels of embeds a request may have. Each may return as many times the rows of the one above it, and what must
/// be there is looked for once more at each level.
pub const EMBED_LEVELS_MAX: usize = 20;

/// How many embeds a request may have, at all levels together.
pub const EMBEDS_MAX: usize = 100;

/// How many values a request may select, at all levels together.
pub const VALUES_MAX: usize = 10_000;

/// How many terms the orders of a request may have, at all levels together. PostgreSQL sorts by 1,664 columns at most.
pub const ORDER_TERMS_MAX: usize = 1_000;

/// What a request asks for rows of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target<'a> {
    /// A relation by its name.
    Relation(&'a str),
    /// What a function of this name returns.
    Function(&'a str),
}

/// A request, understood but not yet resolved against any catalog.
#[derive(Debug)]
pub struct ApiRequest<'a> {
    /// What it does.
    pub action: Action,
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

/// The headers that a request is understood from.
#[derive(Debug, Clone, Default)]
pub struct Headers<'a> {
    /// `Accept`
    pub accept: Option<&'a str>,
    /// `Range`
    pub range: Option<&'a str>,
    /// Each `Prefer`, in order.
    pub prefer: Vec<&'a str>,
}

impl<'a> ApiRequest<'a> {
    /// Understands a query string and headers. With `head_only` the method is HEAD.
    pub fn parse(
        action: Action,
        target: Target<'a>,
        head_only: bool,
        params: &'a Params<'a>,
        headers: &Headers<'a>,
    ) -> Result<Self, RequestError> {
        Self::parse_given((action, target, head_only), params, headers, &[])
    }

    /// Understands a query string and headers. If the request calls a function by GET, values with the names of `known`
    /// parameters are arguments, although they may look like filters.
    pub fn parse_given(
        (action, target, head_only): (Action, Target<'a>, bool),
        params: &'a Params<'a>,
        headers: &Headers<'a>,
        known: &[KnownParameter<'_>],
    ) -> Result<Self, RequestError> {
        let unreserved = match target {
            Target::Function(_) if action == Action::Read => Unreserved::FiltersOrArguments,
            Target::Relation(_) | Target::Function(_) => Unreserved::Filters,
        };
        let query = Query::parse_given(params, unreserved, known)?;
        window::check_unrestricted(action, query.root_window, headers.range)?;
        let range = headers.range.filter(|_| action == Action::Read && !head_only);
        Ok(Self {
            action,
            target,
            window: Window::intersect(query.root_window, range)?,
            query,
            preferences: Preferences::parse(headers.prefer.iter().copied()),
            accept: accepted(headers.accept),
            head_only,
        })
    }

    /// Whether it says which keys of the body count.
    pub fn names_keys(&self) -> bool {
        self.query.columns.is_some() && self.action != Action::Replace
    }

    /// The keys of the body that count: those that `columns` names, each once, or else all.
    pub fn keys(&'a self, payload: Option<&'a Payload<'a>>) -> Vec<Key<'a>> {
        let found = payload.map(|payload| payload.keys.as_slice()).unwrap_or_default();
        let named = self.query.columns.as_ref().filter(|_| payload.is_some() && self.names_keys());
        let Some(named) = named else { return found.to_vec() };
        // of equal names in the body the first counts
        let members: HashMap<&str, Key<'a>> = found.iter().rev().map(|known| (known.name, *known)).collect();
        let mut seen = HashSet::with_capacity(named.len());
        let once = named.iter().filter(|name| seen.insert(&***name));
        let absent = |name| Key { name, member: None, form: Form::Null, is_optional: false };
        once.map(|name| members.get(&**name).copied().unwrap_or_else(|| absent(&**name))).collect()
    }
}
