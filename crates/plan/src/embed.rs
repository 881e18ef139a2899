//! Which relationship an embed means (embedding §§4, 5).

use crate::error::{Candidate, ErrorKind, PlanError};
use crate::plan::Context;
use thalweg_catalog::{Cardinality, Catalog, Key, Link, RelationId, Relationship};
use thalweg_request::Embed;

/// The one relationship that fits what was written.
pub(crate) fn choose<'a>(
    context: &Context<'a>,
    origin: RelationId,
    embed: &Embed<'_>,
) -> Result<&'a Relationship, PlanError> {
    let catalog = context.catalog;
    let mut fitting: Vec<&Relationship> = catalog
        .relationships(origin, context.schema)
        .filter(|known| fits(catalog, known, &embed.target, embed.hint.as_deref()))
        .collect();
    match fitting.as_slice() {
        [] => Err(none(context, origin, embed)),
        [only] => Ok(only),
        _ => {
            fitting.sort_by(|a, b| (a.cardinality, constraint(a)).cmp(&(b.cardinality, constraint(b))));
            Err(ErrorKind::Ambiguous {
                origin: catalog.relation(origin).name.to_string(),
                target: embed.target.to_string(),
                candidates: fitting.iter().map(|known| candidate(catalog, known)).collect(),
            }
            .into())
        }
    }
}

fn constraint(known: &Relationship) -> &str {
    match &known.link {
        Link::Key(key) | Link::Junction { near: key, .. } => &key.constraint,
        Link::Function { name, .. } => name,
    }
}

fn fits(catalog: &Catalog, known: &Relationship, target: &str, hint: Option<&str>) -> bool {
    let (from, to) = (catalog.relation(known.origin), catalog.relation(known.target));
    let key = match &known.link {
        // the function's name says all; a hint adds nothing
        Link::Function { name, .. } => return **name == *target,
        Link::Junction { relation, .. } => {
            let junction = &catalog.relation(*relation).name;
            return known.origin != known.target && *to.name == *target && hint.is_none_or(|hint| **junction == *hint);
        }
        Link::Key(key) => key,
    };
    let origin_column = single(key).map(|(column, _)| &*from.columns[usize::from(column)].name);
    let target_column = single(key).map(|(_, column)| &*to.columns[usize::from(column)].name);
    if known.origin == known.target {
        return match (known.cardinality, hint) {
            (Cardinality::ManyToOne, None) => origin_column == Some(target),
            (Cardinality::OneToMany, None) => *to.name == *target,
            (Cardinality::OneToMany, Some(hint)) => *to.name == *target && target_column == Some(hint),
            _ => false,
        };
    }
    match hint {
        None => {
            *to.name == *target || (!to.kind.is_view() && (*key.constraint == *target || origin_column == Some(target)))
        }
        Some(hint) => {
            *to.name == *target
                && (*key.constraint == *hint || origin_column == Some(hint) || target_column == Some(hint))
        }
    }
}

/// The columns of a key that has just one.
fn single(key: &Key) -> Option<(u16, u16)> {
    match key.columns.as_slice() {
        [only] => Some(*only),
        _ => None,
    }
}

/// The error for an embed in rows that are no relation's.
pub(crate) fn no_relation(context: &Context<'_>, origin: &str, embed: &Embed<'_>) -> PlanError {
    not_found(context, origin, embed, None)
}

fn none(context: &Context<'_>, origin: RelationId, embed: &Embed<'_>) -> PlanError {
    let (catalog, schema) = (context.catalog, context.schema);
    let from = catalog.relation(origin);
    let mut targets = catalog.relationships(origin, schema).map(|known| &*catalog.relation(known.target).name);
    let suggestion = if targets.any(|name| *name == *embed.target) {
        None
    } else if catalog.has_relationships(origin, schema) {
        catalog
            .nearest_related(origin, schema, &embed.target)
            .map(|name| format!("Perhaps you meant '{name}' instead of '{}'.", embed.target))
    } else {
        catalog
            .nearest_other(schema, &from.name)
            .map(|name| format!("Perhaps you meant '{name}' instead of '{}'.", from.name))
    };
    not_found(context, &from.name, embed, suggestion)
}

fn not_found(context: &Context<'_>, origin: &str, embed: &Embed<'_>, suggestion: Option<String>) -> PlanError {
    ErrorKind::Relationship {
        origin: origin.to_owned(),
        target: embed.target.to_string(),
        hint: embed.hint.as_deref().map(str::to_owned),
        schema: context.schema.to_owned(),
        suggestion,
    }
    .into()
}

fn candidate(catalog: &Catalog, known: &Relationship) -> Candidate {
    let (from, to) = (catalog.relation(known.origin), catalog.relation(known.target));
    let names = |relation: RelationId, columns: &mut dyn Iterator<Item = u16>| {
        let relation = catalog.relation(relation);
        let names: Vec<&str> = columns.map(|column| &*relation.columns[usize::from(column)].name).collect();
        names.join(", ")
    };
    let first = |key: &Key, relation| names(relation, &mut key.columns.iter().map(|&(column, _)| column));
    let second = |key: &Key, relation| names(relation, &mut key.columns.iter().map(|&(_, column)| column));
    let (relationship, hint) = match &known.link {
        Link::Key(key) => {
            let (origin, target) = (first(key, known.origin), second(key, known.target));
            let text = format!("{} using {}({origin}) and {}({target})", key.constraint, from.name, to.name);
            (text, key.constraint.to_string())
        }
        Link::Junction { relation, near, far } => {
            let between = catalog.relation(*relation).name.to_string();
            let (near_columns, far_columns) = (second(near, *relation), first(far, *relation));
            let text =
                format!("{between} using {}({near_columns}) and {}({far_columns})", near.constraint, far.constraint);
            (text, between)
        }
        Link::Function { name, .. } => (name.to_string(), name.to_string()),
    };
    Candidate {
        cardinality: known.cardinality.name(),
        embedding: format!("{} with {}", from.name, to.name),
        relationship,
        choice: format!("{}!{hint}", to.name),
    }
}
