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
    let mut fitting = fitting(context, origin, &embed.target, embed.hint.as_deref());
    match fitting.as_slice() {
        [] => Err(none(context, origin, embed)),
        [only] => Ok(only),
        _ => {
            fitting.sort_by(|a, b| (a.cardinality, constraint(a)).cmp(&(b.cardinality, constraint(b))));
            Err(ErrorKind::Ambiguous {
                origin: catalog.relation(origin).name.to_string(),
                target: embed.target.to_string(),
                candidates: fitting.iter().map(|known| candidate(context, known)).collect(),
            }
            .into())
        }
    }
}

/// The relationships that fit a target and a hint. A hint that fits none may be one of those that only an error about
/// several relationships offers.
fn fitting<'a>(context: &Context<'a>, origin: RelationId, target: &str, hint: Option<&str>) -> Vec<&'a Relationship> {
    let catalog = context.catalog;
    let known = || catalog.relationships(origin, context.schema);
    let fitting: Vec<_> = known().filter(|known| fits(catalog, known, target, hint)).collect();
    match hint {
        Some(hint) if fitting.is_empty() => {
            let is_offered = |known: &&Relationship| {
                let is_to_itself = known.origin == known.target && matches!(known.link, Link::Junction { .. });
                let is_target = *catalog.relation(known.target).name == *target;
                is_target && !is_to_itself && hints(catalog, known).iter().any(|known| known == hint)
            };
            known().filter(is_offered).collect()
        }
        _ => fitting,
    }
}

/// The hints that choose a relationship, the shortest ones first. The last one has all names, which no other relationship
/// has.
fn hints(catalog: &Catalog, known: &Relationship) -> Vec<String> {
    let names = |relation, key: &Key, is_target: bool| {
        let columns = key.columns.iter().map(|&(from, to)| if is_target { to } else { from });
        names(catalog, relation, columns).join(",")
    };
    match &known.link {
        Link::Key(key) => {
            let (origin, target) = (names(known.origin, key, false), names(known.target, key, true));
            let whole = format!("{}({origin})({target})", key.constraint);
            vec![key.constraint.to_string(), origin, target, whole]
        }
        Link::Junction { relation, near, far } => {
            let between = catalog.relation(*relation);
            let qualified = format!("{}.{}", between.schema, between.name);
            let near_columns = [names(known.origin, near, false), names(*relation, near, true)].join("=");
            let far_columns = [names(*relation, far, false), names(known.target, far, true)].join("=");
            let whole = format!("{qualified}({near_columns})({far_columns})");
            let [near, far] = [near, far].map(|key| key.constraint.to_string());
            vec![between.name.to_string(), far, near, qualified, whole]
        }
        Link::Function { name, .. } => vec![name.to_string()],
    }
}

/// The names of some columns of a relation.
fn names(catalog: &Catalog, relation: RelationId, columns: impl Iterator<Item = u16>) -> Vec<&str> {
    let relation = catalog.relation(relation);
    columns.map(|column| &*relation.columns[usize::from(column)].name).collect()
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

fn candidate(context: &Context<'_>, known: &Relationship) -> Candidate {
    let catalog = context.catalog;
    let (from, to) = (catalog.relation(known.origin), catalog.relation(known.target));
    let first =
        |key: &Key, relation| names(catalog, relation, key.columns.iter().map(|&(column, _)| column)).join(", ");
    let second =
        |key: &Key, relation| names(catalog, relation, key.columns.iter().map(|&(_, column)| column)).join(", ");
    let relationship = match &known.link {
        Link::Key(key) => {
            let (origin, target) = (first(key, known.origin), second(key, known.target));
            format!("{} using {}({origin}) and {}({target})", key.constraint, from.name, to.name)
        }
        Link::Junction { relation, near, far } => {
            let between = catalog.relation(*relation);
            let schema = if between.schema == from.schema { String::new() } else { format!("{}.", between.schema) };
            let (near_columns, far_columns) = (second(near, *relation), first(far, *relation));
            let (name, near, far) = (&between.name, &near.constraint, &far.constraint);
            format!("{schema}{name} using {near}({near_columns}) and {far}({far_columns})")
        }
        Link::Function { name, .. } => name.to_string(),
    };
    let mut hints = hints(catalog, known);
    let chooses = |hint: &String| {
        let fitting = fitting(context, known.origin, &to.name, Some(hint));
        matches!(fitting.as_slice(), [only] if std::ptr::eq(*only, known))
    };
    let hint = hints.swap_remove(hints.iter().position(chooses).unwrap_or(0));
    let is_plain = hint.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | ' ' | '$'));
    Candidate {
        cardinality: known.cardinality.name(),
        embedding: format!("{} with {}", from.name, to.name),
        relationship,
        choice: match is_plain {
            true => format!("{}!{hint}", to.name),
            false => format!("{}!\"{}\"", to.name, hint.replace('\\', "\\\\").replace('"', "\\\"")),
        },
    }
}
