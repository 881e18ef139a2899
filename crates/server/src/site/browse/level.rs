//! What is known of the columns of a level: their types and comments, what identifies a row, and where its values lead.

use super::address::name;
use std::sync::Arc;
use thalweg_catalog::{Catalog, Column, Link, Relation, RelationId, Relationship};
use thalweg_plan::{Abridged, Output, Plan, Read, Value};
use thalweg_rows::oid::{self, Oid};
use thalweg_rows::{Codec, Scalar};

/// The columns of a level's rows.
#[derive(Debug, Default)]
pub(crate) struct Level {
    /// The relation whose rows they are.
    pub(crate) relation: Option<Arc<str>>,
    pub(crate) columns: Vec<Shown>,
    /// The places of what identifies a row, with the columns' names; none where not all of that is there.
    pub(crate) key: Vec<(usize, Arc<str>)>,
    /// The relations whose rows refer to a row here: the relation's name, and by which of its columns to which value here.
    pub(crate) referred: Vec<Reference>,
}

/// A column that is shown.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) key: Arc<str>,
    pub(crate) type_name: String,
    pub(crate) comment: Option<String>,
    pub(crate) kind: Kind,
    /// The column of the relation that it is, as it stands there.
    pub(crate) column: Option<Arc<str>>,
    /// The row that its value refers to.
    pub(crate) refers: Option<Reference>,
}

/// Rows of another relation, by values of columns here.
#[derive(Debug)]
pub(crate) struct Reference {
    pub(crate) relation: Arc<str>,
    /// The place of a value here, and the column that must equal it there.
    pub(crate) columns: Vec<(usize, Arc<str>)>,
}

/// How a value is shown.
#[derive(Debug)]
pub(crate) enum Kind {
    Text,
    Number,
    Flag,
    Json,
    /// Bytes, of which the number is known.
    Bytes,
    Row(Level),
    Rows(Level),
}

impl Level {
    /// The root level of a plan that has been abridged, `types` being those of before.
    pub(crate) fn of(catalog: &Catalog, schema: &str, plan: &Plan<'_>, types: &Types) -> Self {
        level(catalog, schema, &plan.read, types, |_| {})
    }

    /// Where a column of the relation is shown.
    fn place(columns: &[Shown], wanted: &str) -> Option<usize> {
        columns.iter().position(|shown| shown.column.as_deref() == Some(wanted))
    }
}

/// The types of a level's outputs, and of those below.
pub(crate) struct Types {
    own: Vec<Oid>,
    below: Vec<Types>,
}

impl Types {
    pub(crate) fn of(read: &Read<'_>) -> Self {
        Self {
            own: read.outputs.iter().map(|output| if output.to_json { 0 } else { output.type_oid }).collect(),
            below: read.embeds.iter().map(|embed| Self::of(&embed.read)).collect(),
        }
    }
}

/// The level of what is embedded, whose columns stand in the order of its JSON: as the relation has them, they are easier to read.
fn below(catalog: &Catalog, schema: &str, read: &Read<'_>, types: &Types) -> Level {
    let place = |shown: &Shown| shown.column.as_ref().and_then(|name| read.from.relation()?.column(name));
    level(catalog, schema, read, types, |columns| columns.sort_by_key(|shown| place(shown).unwrap_or(u16::MAX)))
}

fn level(catalog: &Catalog, schema: &str, read: &Read<'_>, types: &Types, arrange: impl Fn(&mut [Shown])) -> Level {
    let relation = read.from.relation();
    let shown = |(at, output): (usize, &Output<'_>)| shown(catalog, schema, read, output, (types, types.own[at]));
    let mut columns: Vec<Shown> = read.outputs.iter().enumerate().map(shown).collect();
    arrange(&mut columns);
    let mut level = Level { relation: relation.map(|known| known.name.clone()), ..Level::default() };
    if let Some(relation) = relation {
        level.key = key(relation, &columns);
        if let Some(id) = catalog.of_row_type(relation.row_type).filter(|_| *relation.schema == *schema) {
            refer(catalog, schema, id, &mut columns);
            level.referred = referred(catalog, schema, id, &columns);
        }
    }
    level.columns = columns;
    level
}

fn shown(
    catalog: &Catalog,
    schema: &str,
    read: &Read<'_>,
    output: &Output<'_>,
    (types, type_oid): (&Types, Oid),
) -> Shown {
    let column = match (&output.value, read.from.relation()) {
        (Value::Column { column, cast: None, .. }, Some(relation))
            if output.aggregate.is_none() && column.path.is_empty() =>
        {
            relation.column(column.name).map(|at| &relation.columns[usize::from(at)])
        }
        _ => None,
    };
    let computed = match &output.value {
        Value::Column { column, .. } => column.computed.map(|(function, _)| function),
        _ => None,
    };
    let type_oid = column.map_or(type_oid, |column| column.type_oid);
    let type_name = match (&output.value, output.aggregate) {
        (_, Some((aggregate, _))) => aggregate.name().to_owned(),
        (Value::Column { cast: Some(cast), .. }, None) => (*cast).to_owned(),
        (Value::Embed(index), None) => read.embeds[*index].target.name.to_string(),
        _ => type_name(catalog, column, type_oid),
    };
    let comment = column.and_then(|column| column.comment.as_deref());
    let comment = comment.or_else(|| computed.and_then(|function| function.comment.as_deref()));
    Shown {
        key: output.key.clone(),
        type_name,
        comment: comment.map(str::to_owned),
        kind: kind(catalog, schema, read, output, (types, type_oid)),
        column: column.map(|column| column.name.clone()),
        refers: None,
    }
}

/// A type as SQL writes it.
pub(super) fn type_name(catalog: &Catalog, column: Option<&Column>, type_oid: Oid) -> String {
    let modified = column.and_then(|column| column.modified_type.as_deref());
    let known = || catalog.type_of(type_oid).map(|known| &*known.format);
    let of_row = || catalog.of_row_type(type_oid).map(|id| &*catalog.relation(id).name);
    modified.or_else(known).or_else(of_row).unwrap_or_default().to_owned()
}

fn kind(
    catalog: &Catalog,
    schema: &str,
    read: &Read<'_>,
    output: &Output<'_>,
    (types, type_oid): (&Types, Oid),
) -> Kind {
    if let Value::Embed(index) = output.value {
        let embed = &read.embeds[index];
        let below = || below(catalog, schema, &embed.read, &types.below[index]);
        return match (embed.as_json, embed.is_to_one()) {
            (true, _) => Kind::Json,
            (false, true) => Kind::Row(below()),
            (false, false) => Kind::Rows(below()),
        };
    }
    if output.abridged == Some(Abridged::Size) {
        return Kind::Bytes;
    }
    match (&output.codec, catalog.base_type(type_oid)) {
        (Codec::Flag | Codec::Scalar(Scalar::Bool), _) => Kind::Flag,
        (_, oid::JSON | oid::JSONB) => Kind::Json,
        (_, oid::INT2 | oid::INT4 | oid::INT8 | oid::FLOAT4 | oid::FLOAT8 | oid::NUMERIC) => Kind::Number,
        (Codec::Digits | Codec::Scalar(Scalar::Int2 | Scalar::Int4 | Scalar::Int8), _) => Kind::Number,
        (Codec::Row(_) | Codec::Array(_) | Codec::List(_) | Codec::Values(_), _) => Kind::Json,
        _ => Kind::Text,
    }
}

/// The places of the primary key.
fn key(relation: &Relation, columns: &[Shown]) -> Vec<(usize, Arc<str>)> {
    let names = relation.primary_key.iter().map(|at| &relation.columns[usize::from(*at)].name);
    let places: Option<Vec<_>> = names.map(|name| Some((Level::place(columns, name)?, name.clone()))).collect();
    places.unwrap_or_default()
}

/// Lets the columns of foreign keys lead to what they refer to: the first one does of several.
fn refer(catalog: &Catalog, schema: &str, id: RelationId, columns: &mut [Shown]) {
    for known in catalog.relationships(id, schema) {
        let Link::Key(key) = &known.link else { continue };
        if key.is_own
            && let Some(reference) = reference(catalog, known, &key.columns, columns)
            && let Some(&(at, _)) = reference.columns.first()
        {
            // a relation's views are related like itself; it comes first
            columns[at].refers.get_or_insert(reference);
        }
    }
}

/// How many relations are named that refer to a row.
const REFERRED_MAX: usize = 100;

fn referred(catalog: &Catalog, schema: &str, id: RelationId, columns: &[Shown]) -> Vec<Reference> {
    let of = |known: &Relationship| match &known.link {
        Link::Key(key) if !key.is_own => reference(catalog, known, &key.columns, columns),
        Link::Key(_) | Link::Junction { .. } | Link::Function { .. } => None,
    };
    catalog.relationships(id, schema).filter_map(of).take(REFERRED_MAX).collect()
}

fn reference(catalog: &Catalog, known: &Relationship, pairs: &[(u16, u16)], columns: &[Shown]) -> Option<Reference> {
    let (origin, target) = (catalog.relation(known.origin), catalog.relation(known.target));
    let pair = |&(here, there): &(u16, u16)| {
        let place = Level::place(columns, &origin.columns[usize::from(here)].name)?;
        Some((place, target.columns[usize::from(there)].name.clone()))
    };
    Some(Reference { relation: target.name.clone(), columns: pairs.iter().map(pair).collect::<Option<_>>()? })
}

impl Reference {
    /// How it goes among others that lead to the same relation.
    pub(crate) fn label(&self) -> String {
        let columns: Vec<&str> = self.columns.iter().map(|(_, column)| &**column).collect();
        format!("{} by {}", self.relation, columns.join(", "))
    }
}

impl Shown {
    /// What orders by it.
    pub(crate) fn order_name(&self) -> Option<String> {
        self.column.as_deref().map(name)
    }
}
