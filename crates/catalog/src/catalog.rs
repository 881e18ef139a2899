//! The snapshot, and how requests look things up in it.

use crate::function::Function;
use crate::relation::Relation;
use crate::relationship::Relationship;
use crate::session::Session;
use crate::types::Type;
use std::collections::HashMap;
use std::sync::Arc;
use thalweg_rows::oid::Oid;

/// The place of a relation in its catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RelationId(pub(crate) u32);

/// What the database holds, as far as requests may ask for it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Catalog {
    pub(crate) relations: Vec<Relation>,
    pub(crate) by_name: HashMap<Arc<str>, HashMap<Arc<str>, RelationId>>,
    pub(crate) relationships: Vec<Vec<Relationship>>,
    pub(crate) types: HashMap<Oid, Type>,
    pub(crate) functions: HashMap<Arc<str>, Vec<Function>>,
    pub(crate) session: Session,
}

/// In schemas with this many relations, no nearest name is looked for.
const SIMILAR_RELATIONS_MAX: usize = 500;
/// How alike two names must be for one to be offered for the other (1 is equal).
const SIMILARITY_MIN: f64 = 0.75;

impl Catalog {
    /// A relation by its place.
    pub fn relation(&self, id: RelationId) -> &Relation {
        &self.relations[id.0 as usize]
    }

    /// All relations.
    pub fn relations(&self) -> &[Relation] {
        &self.relations
    }

    /// A relation by its name.
    pub fn find(&self, schema: &str, name: &str) -> Option<RelationId> {
        self.by_name.get(schema)?.get(name).copied()
    }

    /// The relationships that start at a relation and stay within its schema.
    pub fn relationships(&self, origin: RelationId) -> impl Iterator<Item = &Relationship> {
        let schema = &self.relation(origin).schema;
        self.relationships[origin.0 as usize].iter().filter(move |known| self.relation(known.target).schema == *schema)
    }

    /// How many relationships there are, both directions counted.
    pub fn relationship_count(&self) -> usize {
        self.relationships.iter().map(Vec::len).sum()
    }

    /// A type by its OID; `None` for row types of relations and for types that are made after the snapshot.
    pub fn type_of(&self, oid: Oid) -> Option<&Type> {
        self.types.get(&oid)
    }

    /// The functions of a name in any schema that was loaded.
    pub fn functions(&self, name: &str) -> &[Function] {
        self.functions.get(name).map_or(&[], Vec::as_slice)
    }

    /// How many functions there are.
    pub fn function_count(&self) -> usize {
        self.functions.values().map(Vec::len).sum()
    }

    /// The function that can be read like a column of a relation (url-grammar §5.6).
    pub fn computed_field(&self, relation: &Relation, name: &str) -> Option<&Function> {
        self.functions(name).iter().find(|function| {
            matches!(function.parameters.as_slice(), [only] if only.type_oid == relation.row_type)
                && !function.returns_set
        })
    }

    /// What the database's sessions are like.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The relation of a schema whose name is most like `name`, if one is like it.
    pub fn nearest_relation(&self, schema: &str, name: &str) -> Option<&str> {
        let names = self.by_name.get(schema)?;
        if names.len() >= SIMILAR_RELATIONS_MAX {
            return None;
        }
        nearest(name, names.keys().map(|known| &**known), SIMILARITY_MIN)
    }
}

/// The candidate most like `name`, if it is alike enough; of equals, the first by name.
pub(crate) fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>, least: f64) -> Option<&'a str> {
    let wanted = name.to_lowercase();
    candidates
        .map(|candidate| (strsim::normalized_damerau_levenshtein(&wanted, &candidate.to_lowercase()), candidate))
        .filter(|(score, _)| *score >= least)
        .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(a.1)))
        .map(|(_, candidate)| candidate)
}

impl Catalog {
    /// A relation related to `origin`, or any relation of its schema, whose name is most like `name`.
    pub fn nearest_related(&self, origin: RelationId, name: &str) -> Option<&str> {
        let related = self.relationships(origin).map(|known| &*self.relation(known.target).name);
        nearest(name, related, 0.33)
    }

    /// Whether any relationship starts at a relation.
    pub fn has_relationships(&self, origin: RelationId) -> bool {
        self.relationships(origin).next().is_some()
    }
}
