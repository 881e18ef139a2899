//! How relations are related, derived from foreign keys (embedding §2).

use crate::catalog::RelationId;
use crate::relation::Relation;
use std::sync::Arc;

/// A way from one relation to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relationship {
    /// Where it starts.
    pub origin: RelationId,
    /// Where it leads.
    pub target: RelationId,
    /// How many rows it leads to.
    pub cardinality: Cardinality,
    /// The foreign key; for many-to-many the origin's key in the junction.
    pub constraint: Arc<str>,
    /// Pairs of a column of the origin and the column it must equal: of the target, or of the junction.
    pub columns: Vec<(u16, u16)>,
    /// The relation between, for many-to-many.
    pub junction: Option<Junction>,
}

/// The relation through which a many-to-many relationship leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Junction {
    /// The relation.
    pub relation: RelationId,
    /// Its foreign key to the target.
    pub constraint: Arc<str>,
    /// Pairs of a column of the junction and the column of the target it must equal.
    pub columns: Vec<(u16, u16)>,
}

/// How many rows stand on either side, in the order in which candidates are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Cardinality {
    OneToMany,
    ManyToOne,
    OneToOne,
    ManyToMany,
}

impl Cardinality {
    /// Whether at most one row is found.
    pub fn is_to_one(self) -> bool {
        matches!(self, Self::ManyToOne | Self::OneToOne)
    }

    /// Its name in the protocol.
    pub fn name(self) -> &'static str {
        match self {
            Self::OneToMany => "one-to-many",
            Self::ManyToOne => "many-to-one",
            Self::OneToOne => "one-to-one",
            Self::ManyToMany => "many-to-many",
        }
    }
}

/// A foreign key between two relations of the catalog.
pub(crate) struct ForeignKey {
    pub(crate) name: Arc<str>,
    pub(crate) from: RelationId,
    pub(crate) to: RelationId,
    pub(crate) columns: Vec<(u16, u16)>,
}

/// Derives both directions of each key (R1 to R3), and the ways through junctions (R4).
pub(crate) fn derive(relations: &[Relation], keys: &[ForeignKey]) -> Vec<Relationship> {
    let mut found = Vec::with_capacity(keys.len() * 2);
    let mut to_many_keys: Vec<Vec<&ForeignKey>> = relations.iter().map(|_| Vec::new()).collect();
    for key in keys {
        let from = &relations[key.from.0 as usize];
        let unique = from
            .unique
            .iter()
            .any(|set| set.len() == key.columns.len() && key.columns.iter().all(|(column, _)| set.contains(column)));
        let (forth, back) = if unique {
            (Cardinality::OneToOne, Cardinality::OneToOne)
        } else {
            to_many_keys[key.from.0 as usize].push(key);
            (Cardinality::ManyToOne, Cardinality::OneToMany)
        };
        let relationship = |origin, target, cardinality, columns| Relationship {
            origin,
            target,
            cardinality,
            constraint: key.name.clone(),
            columns,
            junction: None,
        };
        found.push(relationship(key.from, key.to, forth, key.columns.clone()));
        found.push(relationship(key.to, key.from, back, inverse(&key.columns)));
    }
    for keys in to_many_keys {
        for first in &keys {
            for second in &keys {
                let junction = &relations[first.from.0 as usize];
                let in_primary_key =
                    |key: &ForeignKey| key.columns.iter().all(|(c, _)| junction.primary_key.contains(c));
                if first.name != second.name && first.to != second.to && in_primary_key(first) && in_primary_key(second)
                {
                    found.push(Relationship {
                        origin: first.to,
                        target: second.to,
                        cardinality: Cardinality::ManyToMany,
                        constraint: first.name.clone(),
                        columns: inverse(&first.columns),
                        junction: Some(Junction {
                            relation: first.from,
                            constraint: second.name.clone(),
                            columns: second.columns.clone(),
                        }),
                    });
                }
            }
        }
    }
    found
}

fn inverse(columns: &[(u16, u16)]) -> Vec<(u16, u16)> {
    columns.iter().map(|&(a, b)| (b, a)).collect()
}
