//! What a plan may run besides what PostgreSQL ships and is harmless.
//!
//! What relations run is the catalog's to say ([`Relation::reading`]). Here stands what the request adds:
//! functions, casts, aggregates and operators that its SQL names. Everything that this crate's types can say is looked
//! at, and what is not known counts as code.

use crate::codec::{base_type, type_of_cast};
use crate::media::Media;
use crate::plan::Context;
use crate::read::{ColumnRef, Condition, EmbedRead, From, Order, OrderKey, Output, Read, Value};
use crate::write::{Document, Source, Write};
use thalweg_catalog::{Key, Link, Relation, Runs, TypeKind};
use thalweg_request::{Comparison, Filter, JsonStep, Operation};
use thalweg_rows::oid::{self, Oid};

/// What anything in a plan may run.
pub(crate) fn runs(context: &Context<'_>, read: &Read<'_>, write: Option<&Write<'_>>, media: &Media<'_>) -> Runs {
    let finds = |least| Search { context, least }.plan(read, write, media);
    // most plans run nothing, and one look is enough for that
    match finds(Runs::Questions) {
        false => Runs::Nothing,
        true if finds(Runs::Anything) => Runs::Anything,
        true => Runs::Questions,
    }
}

/// Looks for what may run as much as `least`. What names may mean is unknown, and could be anything.
#[derive(Clone, Copy)]
struct Search<'c, 'a> {
    context: &'c Context<'a>,
    least: Runs,
}

impl Search<'_, '_> {
    fn plan(self, read: &Read<'_>, write: Option<&Write<'_>>, media: &Media<'_>) -> bool {
        self.context.has_pre_request
            || self.media(media)
            || self.read(read)
            || write.is_some_and(|write| self.write(write))
    }

    fn media(self, media: &Media<'_>) -> bool {
        match media {
            Media::Json { .. } | Media::Object { .. } | Media::Csv | Media::Value(_) => false,
            // an extension writes the features, or else a function of that name
            Media::GeoJson | Media::Handler(_) => true,
            // to plan is to evaluate what is constant
            Media::Explain { of, .. } => self.media(of),
        }
    }

    fn write(self, write: &Write<'_>) -> bool {
        let Write { action: _, relation, columns, source, conditions, key, conflict: _, returned: _ } = write;
        // their SQL stands in the statement, where a bare name may mean something else than where it was written
        let names_defaults = match source {
            Source::Document(Document { fills_defaults, is_array: _, by_row_type: _ }) => {
                *fills_defaults && columns.iter().any(|written| written.column.default.is_some())
            }
            Source::Nothing | Source::Defaults | Source::Values(_) | Source::Copy(_) => false,
        };
        relation.writing >= self.least
            || names_defaults
            || columns.iter().any(|written| written.read_by.is_some())
            || conditions.iter().any(|condition| self.condition(relation, condition))
            || key.iter().any(|(name, _)| type_of(relation, name).is_none_or(|type_oid| self.operator("=", type_oid)))
    }

    fn read(self, read: &Read<'_>) -> bool {
        let Read {
            from,
            outputs,
            conditions,
            order,
            offset_rows: _,
            limit_rows: _,
            limit_is_fixed: _,
            embeds,
            found_first: _,
            streamed: _,
            is_capped: _,
            from_end: _,
        } = read;
        let relation = match from {
            From::Relation(relation) => *relation,
            From::Call(_) => return true,
        };
        relation.reading >= self.least
            || outputs.iter().any(|output| self.output(relation, output))
            || conditions.iter().any(|condition| self.condition(relation, condition))
            || order.iter().any(|term| self.order(relation, term))
            || embeds.iter().any(|embed| self.embed(embed))
    }

    fn embed(self, embed: &EmbedRead<'_>) -> bool {
        let EmbedRead {
            relationship,
            origin,
            target,
            junction,
            inner: _,
            spread: _,
            as_json: _,
            fetch: _,
            by_link: _,
            read,
        } = embed;
        let linked = match (&relationship.link, junction) {
            (Link::Key(key), _) => self.joined(key, origin, target),
            (Link::Junction { near, far, .. }, Some(between)) => {
                between.reading >= self.least || self.joined(near, origin, between) || self.joined(far, between, target)
            }
            (Link::Junction { .. }, None) | (Link::Function { .. }, _) => true,
        };
        linked || self.read(read)
    }

    fn joined(self, key: &Key, from: &Relation, to: &Relation) -> bool {
        key.columns.iter().any(|&(a, b)| {
            let (a, b) = (from.columns[usize::from(a)].type_oid, to.columns[usize::from(b)].type_oid);
            let own = self.context.catalog.own_code();
            let any = |type_oid| own.has_any_operator("=", type_oid) || own.has_any_operator("=", self.base(type_oid));
            self.operator("=", b) || (a != b && (any(a) || any(b)))
        })
    }

    fn output(self, relation: &Relation, output: &Output<'_>) -> bool {
        let own = self.context.catalog.own_code();
        let Output {
            key: _,
            value,
            aggregate,
            codec: _,
            to_json: _,
            stripped: _,
            abridged: _,
            type_oid: _,
            base_oid: _,
        } = output;
        let casts = |cast: Option<&str>| cast.is_some_and(|name| own.casts || type_of_cast(name).is_none());
        let aggregated = aggregate.is_some_and(|(_, cast)| own.aggregates || casts(cast));
        aggregated
            || match value {
                Value::Column { column, shown_by, cast } => {
                    shown_by.is_some() || casts(*cast) || self.column(relation, column)
                }
                Value::Scalar => true,
                // embeds are looked at themselves, and what is lifted is an output of theirs
                Value::Row | Value::Embed(_) | Value::Found(..) | Value::Lifted(..) => false,
            }
    }

    /// Whether a reference to a column is one to something else, or a step into it is an operator of the database's own.
    fn column(self, relation: &Relation, column: &ColumnRef<'_>) -> bool {
        let ColumnRef { name, computed, path, via_jsonb, known } = column;
        // both sides of a step have types that PostgreSQL's own operators take exactly, unless the first is a domain
        let steps_run_code = || {
            let Some(type_oid) = type_of(relation, name) else { return true };
            self.base(type_oid) != type_oid && ["->", "->>"].into_iter().any(|name| self.operator(name, type_oid))
        };
        computed.is_some() || !known || (!path.is_empty() && !via_jsonb && steps_run_code())
    }

    fn order(self, relation: &Relation, term: &Order<'_>) -> bool {
        let Order { key, direction: _, nulls: _ } = term;
        match key {
            OrderKey::Column(column) => self.column(relation, column),
            // it becomes `jsonb` before the steps into it
            OrderKey::Related(..) => false,
            OrderKey::Unselected(..) => true,
        }
    }

    fn condition(self, relation: &Relation, condition: &Condition<'_>) -> bool {
        match condition {
            Condition::Filter { column, filter, to_tsvector: _, read_by, contained_in: _, other_bound: _ } => {
                read_by.is_some() || self.column(relation, column) || self.filter(relation, column, filter)
            }
            Condition::Found(..) => false,
            Condition::Group { negated: _, all: _, children } => {
                children.iter().any(|child| self.condition(relation, child))
            }
        }
    }

    fn filter(self, relation: &Relation, column: &ColumnRef<'_>, filter: &Filter<'_>) -> bool {
        let Filter { field: _, negated: _, operation } = filter;
        let operator = match operation {
            Operation::In(_) | Operation::Distinct(_) => "=",
            Operation::Is(_) => return false,
            Operation::Fts { .. } if self.context.catalog.own_code().text_search => return true,
            // of a `tsvector` and a `tsquery`, which PostgreSQL's own operator takes exactly, unless the first is a domain
            Operation::Fts { .. } => "@@",
            Operation::Compare { operator, quantifier: _, value: _ } => operator_name(*operator),
        };
        match (column.path.last(), type_of(relation, column.name)) {
            (Some(JsonStep { as_text: true, .. }), _) => self.operator(operator, oid::TEXT),
            (Some(JsonStep { as_text: false, .. }), _) => {
                self.operator(operator, oid::JSON) || self.operator(operator, oid::JSONB)
            }
            (None, Some(type_oid)) => self.operator(operator, type_oid),
            (None, None) => true,
        }
    }

    /// Whether `column name value` may run an operator of the database's own.
    fn operator(self, name: &str, type_oid: Oid) -> bool {
        let own = self.context.catalog.own_code();
        if !own.has_operators(name) {
            return false;
        }
        let base = self.base(type_oid);
        match self.context.catalog.type_of(base).map(|known| &known.kind) {
            // an array of a domain may be taken for one of what is below it
            Some(TypeKind::Array(element)) if self.base(*element) != *element => true,
            Some(TypeKind::Base | TypeKind::Range | TypeKind::Multirange | TypeKind::Enum(_) | TypeKind::Array(_)) => {
                own.has_operator(name, type_oid) || own.has_operator(name, base)
            }
            Some(TypeKind::Domain(_) | TypeKind::Composite(_)) | None => true,
        }
    }

    fn base(self, type_oid: Oid) -> Oid {
        base_type(self.context, type_oid)
    }
}

fn type_of(relation: &Relation, name: &str) -> Option<Oid> {
    relation.column(name).map(|at| relation.columns[usize::from(at)].type_oid)
}

/// The name by which PostgreSQL looks a comparison up.
fn operator_name(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Eq => "=",
        Comparison::Neq => "<>",
        Comparison::Gt => ">",
        Comparison::Gte => ">=",
        Comparison::Lt => "<",
        Comparison::Lte => "<=",
        Comparison::Like | Comparison::Contains => "~~",
        Comparison::Ilike | Comparison::Icontains => "~~*",
        Comparison::Match => "~",
        Comparison::Imatch => "~*",
        Comparison::Cs => "@>",
        Comparison::Cd => "<@",
        Comparison::Ov => "&&",
        Comparison::Sl => "<<",
        Comparison::Sr => ">>",
        Comparison::Nxr => "&<",
        Comparison::Nxl => "&>",
        Comparison::Adj => "-|-",
    }
}
