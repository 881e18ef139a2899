//! The types that columns have.

use std::sync::Arc;
use thalweg_rows::oid::Oid;

/// A type of the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Type {
    /// Its schema.
    pub schema: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// Its name as SQL writes it, such as `character varying`, with its schema where that is not `pg_catalog`.
    pub format: Arc<str>,
    /// What it is made of.
    pub kind: TypeKind,
}

/// The functions through which the values of a domain travel, by schema and name (representation §13).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Representation {
    /// Makes the JSON of a result.
    pub to_json: Option<(Arc<str>, Arc<str>)>,
    /// Reads what a column is compared with.
    pub from_text: Option<(Arc<str>, Arc<str>)>,
    /// Reads what is written to a column.
    pub from_json: Option<(Arc<str>, Arc<str>)>,
}

/// What a type is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypeKind {
    /// A base type or anything else with an output form only.
    Base,
    /// A range.
    Range,
    /// A multirange.
    Multirange,
    /// An enum and its labels in order.
    Enum(Vec<Arc<str>>),
    /// A domain over another type.
    Domain(Oid),
    /// A true array of another type.
    Array(Oid),
    /// A free-standing composite type and its attributes in order.
    Composite(Vec<Attribute>),
}

/// An attribute of a composite type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribute {
    /// Its name.
    pub name: Arc<str>,
    /// The OID of its type.
    pub type_oid: Oid,
}
