//! Functions that can be called or read like a column.

use crate::session::Setting;
use crate::types::Attribute;
use std::sync::Arc;
use thalweg_rows::oid::{self, Oid};

/// A plain function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its schema.
    pub schema: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// The arguments that a call gives, in order.
    pub parameters: Vec<Parameter>,
    /// What it returns.
    pub returns: Returns,
    /// The OID of its result type.
    pub result_type: Oid,
    /// Whether it returns a set.
    pub returns_set: bool,
    /// Whether it promises that its set has one row (`ROWS 1`).
    pub returns_one: bool,
    /// What it promises about its effects.
    pub volatility: Volatility,
    /// Its `SET` clauses.
    pub settings: Vec<Setting>,
    /// Its comment.
    pub comment: Option<Box<str>>,
}

/// What a function returns, or a set of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Returns {
    /// Nothing.
    Void,
    /// A value of this type, which may be a domain.
    Scalar(Oid),
    /// A row of this type: a relation's, or a composite type.
    Row(Oid),
    /// A row of these columns: `TABLE(…)`, or arguments that are `OUT`.
    Columns(Vec<Attribute>),
    /// A row of columns that only a call tells.
    Record,
}

impl Function {
    /// Whether requests may call it: functions with an unnamed argument are for columns, but for those that take a
    /// whole body.
    pub fn is_callable(&self) -> bool {
        let unnamed = self.parameters.iter().filter(|parameter| parameter.name.is_empty()).count();
        unnamed == 0 || (self.parameters.len() == 1 && self.takes_body())
    }

    /// Whether it takes a whole body as its only argument, which has no name.
    pub fn takes_body(&self) -> bool {
        matches!(
            self.parameters.as_slice(),
            [only] if only.name.is_empty()
                && matches!(only.type_oid, oid::JSON | oid::JSONB | oid::TEXT | oid::BYTEA | oid::XML)
        )
    }
}

/// An aggregate that makes a media type of rows (representation §12).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediaHandler {
    /// The domain that it returns, whose name is the media type.
    pub domain: Oid,
    /// Its schema.
    pub schema: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// The row type that it takes; `None` for `anyelement`.
    pub of: Option<Oid>,
}

/// An argument of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Its name, empty where it has none.
    pub name: Arc<str>,
    /// The OID of its type.
    pub type_oid: Oid,
    /// Whether a call must give it.
    pub required: bool,
    /// Whether it takes the rest of the arguments.
    pub variadic: bool,
}

/// What a function promises about its effects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Volatility {
    Immutable,
    Stable,
    Volatile,
}
