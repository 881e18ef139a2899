//! Functions that can be called or read like a column.

use std::sync::Arc;
use thalweg_rows::oid::Oid;

/// A plain function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its schema.
    pub schema: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// The arguments that a call gives, in order.
    pub parameters: Vec<Parameter>,
    /// The OID of its result type.
    pub result_type: Oid,
    /// Whether it returns a set.
    pub returns_set: bool,
    /// What it promises about its effects.
    pub volatility: Volatility,
    /// Its comment.
    pub comment: Option<Box<str>>,
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
