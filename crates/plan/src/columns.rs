//! What is known of the columns of a level's rows, and how their values travel.

use crate::codec::{base_type, codec_of, codec_of_cast};
use crate::plan::{Context, shared};
use crate::read::{ColumnRef, FunctionName, Output, Value};
use std::sync::Arc;
use thalweg_catalog::{Attribute, Relation, TypeKind};
use thalweg_request::{Aggregate, Field};
use thalweg_rows::oid::{self, Oid};
use thalweg_rows::{Codec, Scalar};

/// The columns of rows.
#[derive(Clone, Copy)]
pub(crate) enum Columns<'a> {
    /// Those of a relation, and its computed fields.
    Relation(&'a Relation),
    /// Those of a composite type or of a function's result.
    Attributes(&'a [Attribute]),
    /// Known only to the database.
    Unknown,
}

/// A value's codec, and the type it is declared as; `None` where PostgreSQL must write the JSON.
pub(crate) type Travels = Option<(Codec, Oid)>;

impl<'a> Columns<'a> {
    /// The column's own name where there is such a column, so that it need not be copied.
    pub(crate) fn known_name(self, name: &str) -> Arc<str> {
        let found = match self {
            Self::Relation(relation) => relation.column(name).map(|at| &relation.columns[usize::from(at)].name),
            Self::Attributes(attributes) => attributes.iter().map(|known| &known.name).find(|known| ***known == *name),
            Self::Unknown => None,
        };
        found.cloned().unwrap_or_else(|| shared(name))
    }

    /// What a name refers to, and its type.
    pub(crate) fn refer(
        self,
        context: &Context<'a>,
        name: &'a str,
        path: &'a [thalweg_request::JsonStep<'a>],
    ) -> (ColumnRef<'a>, Option<Oid>) {
        let (type_oid, computed) = match self {
            Self::Relation(relation) => match relation.column(name) {
                Some(at) => (Some(relation.columns[usize::from(at)].type_oid), None),
                None => {
                    let computed = context.catalog.computed_field(context.schema, relation, name);
                    (computed.map(|function| function.result_type), computed.map(|function| (function, relation)))
                }
            },
            Self::Attributes(known) => {
                (known.iter().find(|known| *known.name == *name).map(|known| known.type_oid), None)
            }
            Self::Unknown => (None, None),
        };
        let base = type_oid.map(|known| base_type(context, known));
        let via_jsonb = !path.is_empty() && !matches!(base, Some(oid::JSON | oid::JSONB));
        (ColumnRef { name, computed, path, via_jsonb, known: type_oid.is_some() }, type_oid)
    }

    /// A selected column, and how it travels.
    pub(crate) fn value(
        self,
        context: &Context<'a>,
        field: &'a Field<'a>,
        cast: Option<&'a str>,
    ) -> (Value<'a>, Travels) {
        let (column, type_oid) = self.refer(context, &field.name, &field.path);
        let shown_by = if field.path.is_empty() { type_oid.and_then(|known| shown_by(context, known)) } else { None };
        let travels = match (cast, field.path.last()) {
            (Some(cast), _) => codec_of_cast(context, cast),
            (None, None) => travels(context, type_oid, shown_by),
            (None, Some(step)) if step.as_text => Some((Codec::Scalar(Scalar::Text), oid::TEXT)),
            (None, Some(_)) if type_oid.map(|known| base_type(context, known)) == Some(oid::JSON) => {
                Some((Codec::Scalar(Scalar::Json), oid::JSON))
            }
            (None, Some(_)) => Some((Codec::Scalar(Scalar::Jsonb), oid::JSONB)),
        };
        (Value::Column { column, shown_by, cast }, travels)
    }

    /// How many there are, as far as that is known.
    pub(crate) fn count(self) -> usize {
        match self {
            Self::Relation(relation) => relation.columns.len(),
            Self::Attributes(attributes) => attributes.len(),
            Self::Unknown => 1,
        }
    }

    /// Appends what `*` stands for.
    pub(crate) fn all(self, context: &Context<'a>, outputs: &mut Vec<Output<'a>>) {
        let output = |name: &'a Arc<str>, type_oid: Oid| {
            let column = ColumnRef { name, computed: None, path: &[], via_jsonb: false, known: true };
            let shown_by = shown_by(context, type_oid);
            let value = Value::Column { column, shown_by, cast: None };
            output(context, name.clone(), value, travels(context, Some(type_oid), shown_by))
        };
        match self {
            Self::Relation(relation) => {
                outputs.extend(relation.columns.iter().map(|known| output(&known.name, known.type_oid)));
            }
            Self::Attributes(attributes) => {
                outputs.extend(attributes.iter().map(|known| output(&known.name, known.type_oid)));
            }
            Self::Unknown => {}
        }
    }
}

fn travels(context: &Context<'_>, type_oid: Option<Oid>, shown_by: Option<&FunctionName>) -> Travels {
    match shown_by {
        Some(_) => Some((Codec::Scalar(Scalar::Json), oid::JSON)),
        None => type_oid.and_then(|known| Some((codec_of(context, known)?, known))),
    }
}

/// The function that makes the JSON of a domain's values, where it has one of its own.
fn shown_by<'a>(context: &Context<'a>, type_oid: Oid) -> Option<&'a FunctionName> {
    context.catalog.representation(type_oid)?.to_json.as_ref()
}

/// An output that is no aggregate. Without a codec, PostgreSQL writes the JSON.
pub(crate) fn output<'a>(context: &Context<'_>, key: Arc<str>, value: Value<'a>, travels: Travels) -> Output<'a> {
    let to_json = travels.is_none();
    let (codec, type_oid) = travels.unwrap_or((Codec::Scalar(Scalar::Json), oid::JSON));
    Output {
        key,
        value,
        aggregate: None,
        codec,
        to_json,
        stripped: false,
        abridged: None,
        type_oid,
        base_oid: base_type(context, type_oid),
    }
}

/// How the result of an aggregate travels, by the type of what it is made of (source: PostgreSQL's manual, table 9.60).
pub(crate) fn aggregated(context: &Context<'_>, aggregate: Aggregate, of: Option<Oid>) -> Travels {
    let base = of.map(|known| base_type(context, known));
    let type_oid = match (aggregate, base?) {
        (Aggregate::Count, _) => oid::INT8,
        (Aggregate::Sum, oid::INT2 | oid::INT4) => oid::INT8,
        (Aggregate::Sum, oid::INT8 | oid::NUMERIC) => oid::NUMERIC,
        (Aggregate::Sum, same @ (oid::FLOAT4 | oid::FLOAT8 | oid::INTERVAL)) => same,
        (Aggregate::Avg, oid::INT2 | oid::INT4 | oid::INT8 | oid::NUMERIC) => oid::NUMERIC,
        (Aggregate::Avg, oid::FLOAT4 | oid::FLOAT8) => oid::FLOAT8,
        (Aggregate::Avg, oid::INTERVAL) => oid::INTERVAL,
        (Aggregate::Max | Aggregate::Min, oid::VARCHAR | oid::NAME) => oid::TEXT,
        (Aggregate::Max | Aggregate::Min, same) => match context.catalog.type_of(same).map(|known| &known.kind) {
            Some(TypeKind::Base | TypeKind::Range | TypeKind::Multirange | TypeKind::Enum(_) | TypeKind::Array(_)) => {
                same
            }
            _ => return None,
        },
        _ => return None,
    };
    Some((codec_of(context, type_oid)?, type_oid))
}
