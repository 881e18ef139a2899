//! Which relationship an embed means (embedding §§4, 5).

use crate::error::{Candidate, ErrorKind, PlanError};
use thalweg_catalog::{Cardinality, Catalog, RelationId, RelationKind, Relationship};
use thalweg_request::Embed;

/// The one relationship that fits what was written.
pub(crate) fn choose<'a>(
    catalog: &'a Catalog,
    origin: RelationId,
    embed: &Embed<'_>,
) -> Result<&'a Relationship, PlanError> {
    let mut fitting: Vec<&Relationship> = catalog
        .relationships(origin)
        .filter(|known| fits(catalog, known, &embed.target, embed.hint.as_deref()))
        .collect();
    match fitting.as_slice() {
        [] => Err(none(catalog, origin, embed)),
        [only] => Ok(only),
        _ => {
            fitting.sort_by(|a, b| (a.cardinality, &a.constraint).cmp(&(b.cardinality, &b.constraint)));
            Err(ErrorKind::Ambiguous {
                origin: catalog.relation(origin).name.to_string(),
                target: embed.target.to_string(),
                candidates: fitting.iter().map(|known| candidate(catalog, known)).collect(),
            }
            .into())
        }
    }
}

fn fits(catalog: &Catalog, known: &Relationship, target: &str, hint: Option<&str>) -> bool {
    let (from, to) = (catalog.relation(known.origin), catalog.relation(known.target));
    let single = match known.columns.as_slice() {
        [only] => Some(only),
        _ => None,
    };
    let origin_column = single.map(|&(column, _)| &*from.columns[usize::from(column)].name);
    if known.origin == known.target {
        return match (known.cardinality, hint) {
            (Cardinality::ManyToOne, None) => origin_column == Some(target),
            (Cardinality::OneToMany, None) => *to.name == *target,
            (Cardinality::OneToMany, Some(hint)) => *to.name == *target && target_column(catalog, known) == Some(hint),
            _ => false,
        };
    }
    match hint {
        None => {
            let is_view = matches!(to.kind, RelationKind::View | RelationKind::MaterializedView);
            *to.name == *target
                || (!is_view
                    && known.junction.is_none()
                    && (*known.constraint == *target || origin_column == Some(target)))
        }
        Some(hint) => {
            *to.name == *target
                && match &known.junction {
                    Some(junction) => *catalog.relation(junction.relation).name == *hint,
                    None => {
                        *known.constraint == *hint
                            || origin_column == Some(hint)
                            || target_column(catalog, known) == Some(hint)
                    }
                }
        }
    }
}

/// The target's column, where the key has just one.
fn target_column<'a>(catalog: &'a Catalog, known: &Relationship) -> Option<&'a str> {
    match (known.columns.as_slice(), &known.junction) {
        ([(_, column)], None) => Some(&catalog.relation(known.target).columns[usize::from(*column)].name),
        _ => None,
    }
}

fn none(catalog: &Catalog, origin: RelationId, embed: &Embed<'_>) -> PlanError {
    let from = catalog.relation(origin);
    let known_target = catalog.relationships(origin).any(|known| *catalog.relation(known.target).name == *embed.target);
    let suggestion = if known_target {
        None
    } else if catalog.has_relationships(origin) {
        catalog
            .nearest_related(origin, &embed.target)
            .map(|name| format!("Perhaps you meant '{name}' instead of '{}'.", embed.target))
    } else {
        catalog
            .nearest_relation(&from.schema, &from.name)
            .filter(|name| **name != *from.name)
            .map(|name| format!("Perhaps you meant '{name}' instead of '{}'.", from.name))
    };
    ErrorKind::Relationship {
        origin: from.name.to_string(),
        target: embed.target.to_string(),
        hint: embed.hint.as_deref().map(str::to_owned),
        schema: from.schema.to_string(),
        suggestion,
    }
    .into()
}

fn candidate(catalog: &Catalog, known: &Relationship) -> Candidate {
    let (from, to) = (catalog.relation(known.origin), catalog.relation(known.target));
    let names = |relation: RelationId, columns: &mut dyn Iterator<Item = u16>| {
        let relation = catalog.relation(relation);
        let names: Vec<&str> = columns.map(|column| &*relation.columns[usize::from(column)].name).collect();
        format!("{}({})", relation.name, names.join(", "))
    };
    let (relationship, hint) = match &known.junction {
        Some(junction) => {
            let between = &catalog.relation(junction.relation).name;
            let side = |constraint: &str, columns: &mut dyn Iterator<Item = u16>| {
                let listed = names(junction.relation, columns);
                format!("{constraint}{}", &listed[between.len()..])
            };
            let first = side(&known.constraint, &mut known.columns.iter().map(|&(_, column)| column));
            let second = side(&junction.constraint, &mut junction.columns.iter().map(|&(column, _)| column));
            (format!("{between} using {first} and {second}"), between.to_string())
        }
        None => {
            let origin = names(known.origin, &mut known.columns.iter().map(|&(column, _)| column));
            let target = names(known.target, &mut known.columns.iter().map(|&(_, column)| column));
            (format!("{} using {origin} and {target}", known.constraint), known.constraint.to_string())
        }
    };
    Candidate {
        cardinality: known.cardinality.name(),
        embedding: format!("{} with {}", from.name, to.name),
        relationship,
        choice: format!("{}!{hint}", to.name),
    }
}
