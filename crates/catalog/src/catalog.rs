//! The snapshot, and how requests look things up in it.

use crate::code::OwnCode;
use crate::function::{Function, MediaHandler, Parameter};
use crate::relation::Relation;
use crate::relationship::{Link, Relationship};
use crate::session::Session;
use crate::similar::nearest;
use crate::types::{Representation, Type, TypeKind};
use rustc_hash::FxHashMap;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use thalweg_rows::oid::Oid;

/// The place of a relation in its catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RelationId(pub(crate) u32);

/// What the database holds, as far as requests may ask for it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Catalog {
    pub(crate) relations: Vec<Relation>,
    pub(crate) by_name: FxHashMap<Arc<str>, FxHashMap<Arc<str>, RelationId>>,
    pub(crate) by_row_type: HashMap<Oid, RelationId>,
    pub(crate) relationships: Vec<Vec<Relationship>>,
    /// The relations that a junction relates which is not exposed.
    pub(crate) related_out_of_sight: HashSet<RelationId>,
    pub(crate) types: HashMap<Oid, Type>,
    pub(crate) functions: FxHashMap<Arc<str>, Vec<Function>>,
    pub(crate) media_handlers: Vec<MediaHandler>,
    pub(crate) representations: HashMap<Oid, Representation>,
    pub(crate) session: Session,
    pub(crate) own_code: OwnCode,
    /// The schemas that stand behind the chosen one in the search path.
    pub(crate) extra_search_path: Vec<String>,
    /// The schemas among them that do not exist.
    pub(crate) missing_extra_schemas: Vec<String>,
    /// Functions that ask for settings, and say that they always answer the same.
    pub(crate) wrongly_immutable: Vec<String>,
    /// Whether something was locked, so that it stands here as it was known before.
    pub(crate) is_partial: bool,
}

/// In schemas with this many relations, no nearest name is looked for.
const SIMILAR_RELATIONS_MAX: usize = 500;
/// How alike two names must be for one to be offered for the other (1 is equal).
const SIMILARITY_MIN: f64 = 0.75;

/// The same for relations that may be related.
const RELATED_SIMILARITY_MIN: f64 = 0.33;
/// How many domains may stand over each other.
const DOMAIN_LEVELS_MAX: u32 = 16;

impl Catalog {
    /// A relation by its place.
    pub fn relation(&self, id: RelationId) -> &Relation {
        &self.relations[id.0 as usize]
    }

    /// Whether somebody had locked what should have been looked at: soon there may be more to know.
    pub fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// Returns the schemas of `db-extra-search-path` that do not exist.
    pub fn missing_extra_schemas(&self) -> &[String] {
        &self.missing_extra_schemas
    }

    /// Functions that ask for settings and are declared `IMMUTABLE`: PostgreSQL may keep one request's answer in a plan, and
    /// give it to the next. Those in SQL that can do no more than ask.
    pub fn wrongly_immutable(&self) -> &[String] {
        &self.wrongly_immutable
    }

    /// All relations.
    pub fn relations(&self) -> &[Relation] {
        &self.relations
    }

    /// A relation by its name.
    pub fn find(&self, schema: &str, name: &str) -> Option<RelationId> {
        self.by_name.get(schema)?.get(name).copied()
    }

    /// The relation whose row type this is.
    pub fn of_row_type(&self, row_type: Oid) -> Option<RelationId> {
        self.by_row_type.get(&row_type).copied()
    }

    /// The relationships that start at a relation and are offered in a schema: both ends must lie there, or the
    /// function (embedding §2.2).
    pub fn relationships(&self, origin: RelationId, schema: &str) -> impl Iterator<Item = &Relationship> {
        let here = *self.relation(origin).schema == *schema;
        self.relationships[origin.0 as usize].iter().filter(move |known| match &known.link {
            Link::Function { schema: of_function, .. } => **of_function == *schema,
            Link::Key(_) | Link::Junction { .. } => here && *self.relation(known.target).schema == *schema,
        })
    }

    /// How many relationships there are, both directions counted.
    pub fn relationship_count(&self) -> usize {
        self.relationships.iter().map(Vec::len).sum()
    }

    /// A type by its OID; `None` for row types of relations and for types that are made after the snapshot.
    pub fn type_of(&self, oid: Oid) -> Option<&Type> {
        self.types.get(&oid)
    }

    /// The type below any domains over it.
    pub fn base_type(&self, mut type_oid: Oid) -> Oid {
        for _ in 0..DOMAIN_LEVELS_MAX {
            match self.type_of(type_oid).map(|known| &known.kind) {
                Some(TypeKind::Domain(base)) => type_oid = *base,
                _ => break,
            }
        }
        type_oid
    }

    /// The functions of a name in any schema that was loaded.
    pub fn functions(&self, name: &str) -> &[Function] {
        self.functions.get(name).map_or(&[], Vec::as_slice)
    }

    /// Puts functions of one name into the order in which the protocol lists them: by the number of their arguments, then
    /// by their comments, then by the arguments' names and types.
    pub(crate) fn order_overloads(&mut self) {
        let Self { functions, types, .. } = self;
        let parameter = |known: &Parameter| {
            let format = types.get(&known.type_oid).map_or("unknown", |known| &known.format);
            (known.name.clone(), format.to_owned(), known.required, known.variadic)
        };
        for overloads in functions.values_mut().filter(|overloads| overloads.len() > 1) {
            overloads.sort_by_cached_key(|known| {
                let parameters: Vec<_> = known.parameters.iter().map(parameter).collect();
                (known.schema.clone(), parameters.len(), known.comment.clone(), parameters)
            });
        }
    }

    /// The functions of a schema that requests may call by a name.
    pub fn callable(&self, schema: &str, name: &str) -> impl Iterator<Item = &Function> {
        self.functions(name).iter().filter(move |known| *known.schema == *schema && known.is_callable())
    }

    /// All functions of a schema that requests may call.
    pub fn all_callable(&self, schema: &str) -> impl Iterator<Item = &Function> {
        let here = move |known: &&Function| *known.schema == *schema && known.is_callable();
        self.functions.values().flatten().filter(here)
    }

    /// All relationships, by the relation that they start at.
    pub fn all_relationships(&self) -> impl Iterator<Item = &Relationship> {
        self.relationships.iter().flatten()
    }

    /// All functions, by schema and name.
    pub fn all_functions(&self) -> Vec<&Function> {
        let mut all: Vec<&Function> = self.functions.values().flatten().collect();
        // those of one name are in their order already
        all.sort_by_key(|known| (known.schema.clone(), known.name.clone()));
        all
    }

    /// All domains whose values travel by functions of their own, by OID.
    pub fn all_representations(&self) -> Vec<(Oid, &Representation)> {
        let mut all: Vec<_> = self.representations.iter().map(|(domain, known)| (*domain, known)).collect();
        all.sort_unstable_by_key(|(domain, _)| *domain);
        all
    }

    /// The aggregates that make media types of rows.
    pub fn media_handlers(&self) -> &[MediaHandler] {
        &self.media_handlers
    }

    /// How the values of a domain travel, if by functions of its own.
    pub fn representation(&self, domain: Oid) -> Option<&Representation> {
        self.representations.get(&domain)
    }

    /// How many functions there are.
    pub fn function_count(&self) -> usize {
        self.functions.values().map(Vec::len).sum()
    }

    /// The function that can be read like a column of a relation (url-grammar §5.6): of the schema that was chosen, or
    /// else of the first on the search path behind it.
    pub fn computed_field(&self, schema: &str, relation: &Relation, name: &str) -> Option<&Function> {
        let of_schema = |schema: &str| {
            self.functions(name).iter().find(|function| {
                matches!(function.parameters.as_slice(), [only] if only.type_oid == relation.row_type)
                    && !function.returns_set
                    && *function.schema == *schema
            })
        };
        of_schema(schema).or_else(|| self.extra_search_path.iter().find_map(|extra| of_schema(extra)))
    }

    /// What the database's sessions are like.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// What names in SQL may mean because the database has functions, casts or operators of its own.
    pub fn own_code(&self) -> &OwnCode {
        &self.own_code
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

impl Catalog {
    /// A relation related to `origin` whose name is most like `name`.
    pub fn nearest_related(&self, origin: RelationId, schema: &str, name: &str) -> Option<&str> {
        let related = self.relationships(origin, schema).map(|known| &*self.relation(known.target).name);
        nearest(name, related, RELATED_SIMILARITY_MIN)
    }

    /// The relation of a schema, other than `name` itself, that has relationships and whose name is most like it.
    pub fn nearest_other(&self, schema: &str, name: &str) -> Option<&str> {
        let names = self.by_name.get(schema).filter(|names| names.len() < SIMILAR_RELATIONS_MAX)?;
        let related = names.iter().filter(|(known, id)| ***known != *name && self.has_relationships(**id, schema));
        nearest(name, related.map(|(known, _)| &**known), RELATED_SIMILARITY_MIN)
    }

    /// Whether any relationship starts at a relation. One that cannot be used for its hidden junction counts: where it
    /// leads is not wrong for want of another origin.
    pub fn has_relationships(&self, origin: RelationId, schema: &str) -> bool {
        self.relationships(origin, schema).next().is_some() || self.related_out_of_sight.contains(&origin)
    }

    /// The function of a schema whose name is most like `name`, if one is like it.
    pub fn nearest_function(&self, schema: &str, name: &str) -> Option<&str> {
        nearest(name, self.all_callable(schema).map(|known| &*known.name), SIMILARITY_MIN)
    }
}
