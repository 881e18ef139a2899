//! Why a well-formed request cannot be answered from this catalog.

use crate::call::Brings;
use std::fmt;
use thalweg_request::{Action, NoRows, VALUES_MAX};

/// Why no plan can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanError {
    kind: ErrorKind,
}

/// The kinds of [`PlanError`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErrorKind {
    /// No such relation (`PGRST205`).
    Relation {
        /// The schema that was searched.
        schema: String,
        /// The name.
        name: String,
        /// The name most like it.
        nearest: Option<String>,
    },
    /// A parameter for something that is not embedded (`PGRST108`).
    NotEmbedded(String),
    /// No relationship (`PGRST200`).
    Relationship {
        /// Where it should start.
        origin: String,
        /// Where it should lead.
        target: String,
        /// The hint that was given.
        hint: Option<String>,
        /// The schema that was searched.
        schema: String,
        /// What to say instead.
        suggestion: Option<String>,
    },
    /// Several relationships (`PGRST201`).
    Ambiguous {
        /// Where they start.
        origin: String,
        /// What was written.
        target: String,
        /// All of them, in the order in which they are listed.
        candidates: Vec<Candidate>,
    },
    /// An order by an embed that is not to one (`PGRST118`).
    RelatedOrder {
        /// The outer relation.
        origin: String,
        /// The embed.
        target: String,
    },
    /// A parameter names an embed by its bare name although it has an alias (`PGRST108`).
    TargetName {
        /// The bare name.
        name: String,
        /// The alias.
        alias: String,
    },
    /// Two embeds of one level have the same key (42712).
    DuplicateEmbed {
        /// The outer relation.
        origin: String,
        /// The key.
        name: String,
        /// True if the second embed is a spread, which has no alias.
        is_spread: bool,
    },
    /// More values are selected than [`VALUES_MAX`] (`TWG02`): an asterisk stands for all columns of a relation, and each
    /// level that is lifted repeats what is below it.
    Values,
    /// What is asked for of embeds has more conditions than these (`TWG03`).
    AskedConditions(usize),
    /// No function of the name takes these arguments (`PGRST202`).
    Function {
        /// The schema that was searched.
        schema: String,
        /// The name.
        name: String,
        /// The arguments' names in order.
        arguments: Vec<String>,
        /// What was given besides.
        brings: Brings,
        /// The function most like it.
        nearest: Option<String>,
    },
    /// Several functions take these arguments (`PGRST203`): their signatures.
    Overloads(Vec<String>),
    /// The body or `columns` names a column that there is not (`PGRST204`).
    PayloadColumn {
        /// The column.
        column: String,
        /// The relation.
        relation: String,
    },
    /// Several rows in the body of a request that uses one (`PGRST102`): what takes one row.
    SeveralRows(Action),
    /// A JSON body without rows, where rows or arguments are needed (`PGRST102`).
    NoRows(NoRows),
    /// A PUT whose filters are not those of the primary key (`PGRST105`).
    KeyOfPut,
    /// `max-affected` for a function that returns no set (`PGRST128`).
    NoSet,
    /// Aggregates are off (`PGRST123`).
    Aggregates,
    /// Understood, and not done (`PGRST127`).
    NotImplemented(&'static str),
    /// None of the accepted media types can be made (`PGRST107`).
    MediaType(String),
}

/// One of several relationships that fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// How many rows stand on either side.
    pub cardinality: &'static str,
    /// The two relations.
    pub embedding: String,
    /// The keys.
    pub relationship: String,
    /// `target!hint`, which chooses it.
    pub choice: String,
}

impl PlanError {
    /// What is wrong.
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }
}

impl From<ErrorKind> for PlanError {
    fn from(kind: ErrorKind) -> Self {
        Self { kind }
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ErrorKind::Relation { schema, name, .. } => {
                write!(f, "Could not find the table '{schema}.{name}' in the schema cache")
            }
            ErrorKind::NotEmbedded(name) | ErrorKind::TargetName { name, .. } => {
                write!(f, "'{name}' is not an embedded resource in this request")
            }
            ErrorKind::Relationship { origin, target, .. } => {
                write!(f, "Could not find a relationship between '{origin}' and '{target}' in the schema cache")
            }
            ErrorKind::Ambiguous { origin, target, .. } => {
                write!(f, "Could not embed because more than one relationship was found for '{origin}' and '{target}'")
            }
            ErrorKind::RelatedOrder { target, .. } => write!(f, "A related order on '{target}' is not possible"),
            ErrorKind::DuplicateEmbed { origin, name, .. } => {
                write!(f, "'{name}' is embedded more than once in '{origin}'")
            }
            ErrorKind::Values => write!(f, "The request selects more than {VALUES_MAX} values"),
            ErrorKind::AskedConditions(most) => {
                write!(f, "The request asks for the rows of embeds under more than {most} conditions")
            }
            ErrorKind::Function { schema, name, arguments, brings, .. } => {
                write!(f, "Could not find the function {schema}.{name}")?;
                match arguments.as_slice() {
                    _ if matches!(brings, Brings::Raw(_)) => {}
                    [] => f.write_str(" without parameters")?,
                    names => write!(f, "({})", names.join(", "))?,
                }
                f.write_str(" in the schema cache")
            }
            ErrorKind::Overloads(signatures) => {
                write!(f, "Could not choose the best candidate function between: {}", signatures.join(", "))
            }
            ErrorKind::PayloadColumn { column, relation } => {
                write!(f, "Could not find the '{column}' column of '{relation}' in the schema cache")
            }
            ErrorKind::SeveralRows(action) => {
                let taker = if *action == Action::Call { "A function call" } else { action.method() };
                write!(f, "{taker} takes one row, and the body has several")
            }
            ErrorKind::NoRows(NoRows::Scalar) => f.write_str("The body is not a JSON object or an array of objects"),
            ErrorKind::NoRows(NoRows::Mixed) => f.write_str("All object keys must match"),
            ErrorKind::KeyOfPut => {
                f.write_str("Filters must include all and only primary key columns with 'eq' operators")
            }
            ErrorKind::NoSet => f.write_str(
                "Function must return SETOF or TABLE when max-affected preference is used with handling=strict",
            ),
            ErrorKind::Aggregates => f.write_str("Use of aggregate functions is not allowed"),
            ErrorKind::NotImplemented(_) => f.write_str("Feature not implemented"),
            ErrorKind::MediaType(asked) => write!(f, "None of these media types are available: {asked}"),
        }
    }
}

impl std::error::Error for PlanError {}
