//! How relations are related, derived from keys (embedding §2) and from functions (embedding §3).

use crate::catalog::{Catalog, RelationId};
use crate::function::{Function, Returns};
use crate::relation::Relation;
use crate::view::ViewColumns;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use thalweg_rows::oid::Oid;

/// A way from one relation to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relationship {
    /// Where it starts.
    pub origin: RelationId,
    /// Where it leads.
    pub target: RelationId,
    /// How many rows it leads to.
    pub cardinality: Cardinality,
    /// How it leads there.
    pub link: Link,
}

/// How a relationship leads from row to row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    /// By equal columns of the origin and the target.
    Key(Key),
    /// Through a relation between.
    Junction {
        /// The relation.
        relation: RelationId,
        /// From the origin to the junction.
        near: Key,
        /// From the junction to the target.
        far: Key,
    },
    /// By what a function returns for a row of the origin.
    Function {
        /// The function's schema.
        schema: Arc<str>,
        /// The function's name.
        name: Arc<str>,
        /// False if the function returns one row, which may be NULL.
        returns_set: bool,
    },
}

/// A foreign key, in either direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// The constraint's name.
    pub constraint: Arc<str>,
    /// Whether the constraint belongs to where the way starts.
    pub is_own: bool,
    /// Pairs of columns that must be equal, by their indexes: where the way starts, and where it leads.
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

impl Key {
    fn inverse(&self) -> Self {
        let columns = self.columns.iter().map(|&(a, b)| (b, a)).collect();
        Self { constraint: self.constraint.clone(), is_own: !self.is_own, columns }
    }
}

/// In how many ways the columns of one key may be chosen among those of a view that stand for them.
const WAYS_MAX: usize = 64;

/// The keys of all tables, by the tables' OIDs and the columns' numbers.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    pub(crate) primary: HashMap<Oid, Vec<i16>>,
    /// The column sets of unique constraints, primary keys among them.
    pub(crate) unique: HashMap<Oid, Vec<Vec<i16>>>,
    pub(crate) foreign: Vec<ForeignKey>,
}

/// A foreign key between two tables.
#[derive(Debug)]
pub(crate) struct ForeignKey {
    pub(crate) name: Arc<str>,
    pub(crate) from: Oid,
    pub(crate) to: Oid,
    pub(crate) columns: Vec<(i16, i16)>,
}

impl ForeignKey {
    fn is_unique(&self, keys: &Keys) -> bool {
        let same = |set: &Vec<i16>| {
            set.len() == self.columns.len() && self.columns.iter().all(|(column, _)| set.contains(column))
        };
        keys.unique.get(&self.from).is_some_and(|sets| sets.iter().any(same))
    }
}

/// A view of a table, and the indexes of its columns by the numbers of the table's.
type ShownBy = (RelationId, Vec<(i16, u16)>);

/// The relations that show columns of a table: itself, and views.
struct Shown<'a> {
    relations: &'a [Relation],
    by_oid: &'a HashMap<Oid, RelationId>,
    /// The views of each table.
    views: HashMap<Oid, Vec<ShownBy>>,
}

impl Keys {
    /// Gives each relation its primary key, and each view that of the table it shows.
    pub(crate) fn give(&self, relations: &mut [Relation], views: &HashMap<Oid, ViewColumns>) {
        for relation in relations {
            let index = |number: i16| relation.by_number(number);
            let Some(columns) = views.get(&relation.oid) else {
                let key = self.primary.get(&relation.oid).map(Vec::as_slice).unwrap_or_default();
                relation.primary_key = key.iter().filter_map(|&number| index(number)).collect();
                continue;
            };
            let mut primary_key = Vec::new();
            let mut tables: Vec<Oid> = columns.iter().map(|&(_, (table, _))| table).collect();
            tables.sort_unstable();
            tables.dedup();
            for table in tables {
                let Some(key) = self.primary.get(&table) else { continue };
                let first = |&wanted: &i16| columns.iter().find(|(_, column)| *column == (table, wanted));
                let shown: Option<Vec<u16>> = key.iter().map(|wanted| index(first(wanted)?.0)).collect();
                primary_key.extend(shown.into_iter().flatten());
            }
            primary_key.sort_unstable();
            relation.primary_key = primary_key;
        }
    }

    /// Derives both directions of each key (R1 to R3), between whatever shows its columns, and the ways through
    /// junctions (R4). Tables that are not exposed are junctions too, which nobody may go through: the relations at
    /// their ends are returned beside.
    pub(crate) fn derive(
        &self,
        relations: &[Relation],
        by_oid: &HashMap<Oid, RelationId>,
        views: &HashMap<Oid, ViewColumns>,
    ) -> (Vec<Relationship>, HashSet<RelationId>) {
        let shown = Shown::new(relations, by_oid, views);
        let mut found = Vec::with_capacity(self.foreign.len() * 2);
        let mut hidden_sides: HashMap<Oid, Vec<(&ForeignKey, RelationId)>> = HashMap::new();
        // by relation, the keys to one that may make it a junction
        let mut sides: HashMap<RelationId, Vec<(RelationId, Key)>> = HashMap::new();
        for foreign in &self.foreign {
            let is_unique = foreign.is_unique(self);
            let from: Vec<i16> = foreign.columns.iter().map(|&(from, _)| from).collect();
            let to: Vec<i16> = foreign.columns.iter().map(|&(_, to)| to).collect();
            let targets = shown.ways(foreign.to, &to);
            if targets.is_empty() {
                continue;
            }
            let primary_key = self.primary.get(&foreign.from).map(Vec::as_slice).unwrap_or_default();
            if !by_oid.contains_key(&foreign.from)
                && !is_unique
                && from.iter().all(|column| primary_key.contains(column))
            {
                let sides = hidden_sides.entry(foreign.from).or_default();
                sides.extend(targets.iter().map(|&(target, _)| (foreign, target)));
            }
            for (origin, from) in shown.ways(foreign.from, &from) {
                for (target, to) in &targets {
                    let columns = from.iter().copied().zip(to.iter().copied()).collect();
                    let key = Key { constraint: foreign.name.clone(), is_own: true, columns };
                    let (forth, back) = match is_unique {
                        true => (Cardinality::OneToOne, Cardinality::OneToOne),
                        false => (Cardinality::ManyToOne, Cardinality::OneToMany),
                    };
                    let primary_key = &relations[origin.0 as usize].primary_key;
                    if !is_unique && from.iter().all(|column| primary_key.contains(column)) {
                        sides.entry(origin).or_default().push((*target, key.clone()));
                    }
                    let inverse = Link::Key(key.inverse());
                    found.push(Relationship { origin: *target, target: origin, cardinality: back, link: inverse });
                    let link = Link::Key(key);
                    found.push(Relationship { origin, target: *target, cardinality: forth, link });
                }
            }
        }
        let mut junctions: Vec<_> = sides.into_iter().collect();
        junctions.sort_by_key(|(relation, _)| relation.0);
        for (relation, sides) in junctions {
            for (origin, near) in &sides {
                for (target, far) in &sides {
                    if near.constraint == far.constraint || origin == target {
                        continue;
                    }
                    let link = Link::Junction { relation, near: near.inverse(), far: far.clone() };
                    let cardinality = Cardinality::ManyToMany;
                    found.push(Relationship { origin: *origin, target: *target, cardinality, link });
                }
            }
        }
        let mut hidden = HashSet::new();
        for sides in hidden_sides.values() {
            for &(near, origin) in sides {
                let schema = |id: RelationId| &relations[id.0 as usize].schema;
                let is_end = |&(far, target): &(&ForeignKey, RelationId)| {
                    near.name != far.name && origin != target && schema(origin) == schema(target)
                };
                hidden.extend(sides.iter().any(is_end).then_some(origin));
            }
        }
        (found, hidden)
    }
}

impl<'a> Shown<'a> {
    fn new(
        relations: &'a [Relation],
        by_oid: &'a HashMap<Oid, RelationId>,
        columns_of: &HashMap<Oid, ViewColumns>,
    ) -> Self {
        let mut views: HashMap<Oid, Vec<ShownBy>> = HashMap::new();
        for (at, relation) in relations.iter().enumerate() {
            let id = RelationId(at as u32);
            for &(number, (table, column)) in columns_of.get(&relation.oid).map(Vec::as_slice).unwrap_or_default() {
                let Some(index) = relation.by_number(number) else { continue };
                let of_table = views.entry(table).or_default();
                match of_table.last_mut() {
                    Some((last, columns)) if *last == id => columns.push((column, index)),
                    _ => of_table.push((id, vec![(column, index)])),
                }
            }
        }
        Self { relations, by_oid, views }
    }

    /// The relations in which all these columns of a table are shown, and as which of their columns; once for each way
    /// to choose these.
    fn ways(&self, table: Oid, numbers: &[i16]) -> Vec<(RelationId, Vec<u16>)> {
        let mut found = Vec::new();
        if let Some(&id) = self.by_oid.get(&table) {
            let relation = &self.relations[id.0 as usize];
            let columns: Option<Vec<u16>> = numbers.iter().map(|&number| relation.by_number(number)).collect();
            found.extend(columns.map(|columns| (id, columns)));
        }
        for (id, columns) in self.views.get(&table).map(Vec::as_slice).unwrap_or_default() {
            let mut ways: Vec<Vec<u16>> = vec![Vec::new()];
            for number in numbers {
                let shown = || columns.iter().filter(|(of_table, _)| of_table == number).map(|&(_, index)| index);
                let longer = |way: &Vec<u16>| {
                    shown().map(|index| way.iter().copied().chain([index]).collect()).collect::<Vec<Vec<u16>>>()
                };
                ways = ways.iter().flat_map(longer).take(WAYS_MAX).collect();
            }
            found.extend(ways.into_iter().map(|columns| (*id, columns)));
        }
        found
    }
}

impl Catalog {
    /// Adds the relationships that functions make, in place of those that lead from the same relation to one of the
    /// function's name (embedding §3).
    pub(crate) fn relate_by_functions(&mut self, exposed: &[String]) {
        let mut found = Vec::new();
        for function in self.functions.values().flatten().filter(|known| exposed.iter().any(|s| **s == *known.schema)) {
            found.extend(self.related_by(function));
        }
        found.sort_by(|a, b| name_of(a).cmp(&name_of(b)));
        for relationship in found {
            let (schema, name) = name_of(&relationship);
            let of_origin = &mut self.relationships[relationship.origin.0 as usize];
            of_origin.retain(|known| {
                let target = &self.relations[known.target.0 as usize];
                matches!(known.link, Link::Function { .. }) || *target.name != *name || *target.schema != *schema
            });
            of_origin.push(relationship);
        }
    }

    fn related_by(&self, function: &Function) -> Option<Relationship> {
        let [only] = function.parameters.as_slice() else { return None };
        let Returns::Row(row_type) = function.returns else { return None };
        let (&origin, &target) = (self.by_row_type.get(&only.type_oid)?, self.by_row_type.get(&row_type)?);
        let cardinality = match !function.returns_set || function.returns_one {
            true => Cardinality::ManyToOne,
            false => Cardinality::OneToMany,
        };
        let link = Link::Function {
            schema: function.schema.clone(),
            name: function.name.clone(),
            returns_set: function.returns_set,
        };
        Some(Relationship { origin, target, cardinality, link })
    }
}

fn name_of(relationship: &Relationship) -> (&str, &str) {
    match &relationship.link {
        Link::Function { schema, name, .. } => (schema, name),
        Link::Key(_) | Link::Junction { .. } => ("", ""),
    }
}
