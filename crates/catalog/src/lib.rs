//! What the database holds: relations, types, relationships, functions, and what its sessions see.
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
//!  ► beside it: catalog (what the database holds), gauge (what it cost)
//! ```
//!
//! A [`Catalog`] is an immutable snapshot. It is built by a [`Loader`], which says what SQL to run
//! ([`Loader::sql`]) and takes the rows; it has no socket of its own.

mod catalog;
mod code;
mod code_sql;
mod code_text;
mod function;
mod loader;
mod part;
mod relation;
mod relationship;
mod session;
mod similar;
mod types;
mod view;

pub use catalog::{Catalog, RelationId};
pub use code::{OwnCode, Runs};
pub use function::{Function, MediaHandler, Parameter, Returns, Volatility};
pub use loader::{LoadError, Loader};
pub use part::Part;
pub use relation::{Column, Relation, RelationKind};
pub use relationship::{Cardinality, Key, Link, Relationship};
pub use session::{RoleSetting, Session, Setting};
pub use similar::nearest;
pub use types::{Attribute, Representation, Type, TypeKind};
