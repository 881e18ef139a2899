//! One level of a read: what it selects, filters and orders, and the levels below it.

use crate::codec::{base_type, codec_of, codec_of_cast};
use crate::embed;
use crate::error::{ErrorKind, PlanError};
use crate::plan::{Context, shared};
use std::sync::Arc;
use thalweg_catalog::{Cardinality, Relation, RelationId, Relationship};
use thalweg_request::{
    ApiRequest, At, Direction, Embed, EmbedWindow, Field, Filter, IsWord, Item, Join, JsonStep, Nulls, Operation,
    OrderBy, OrderTerm, Query, Tree,
};
use thalweg_rows::oid::{self, Oid};
use thalweg_rows::{Codec, Field as ShapeField, Scalar};

/// The rows of one relation, with what is embedded in them.
#[derive(Debug)]
pub struct Read<'a> {
    /// Where the rows come from.
    pub relation: &'a Relation,
    /// What is returned of each.
    pub outputs: Vec<Output<'a>>,
    /// What each must satisfy.
    pub conditions: Vec<Condition<'a>>,
    /// Their order.
    pub order: Vec<Order<'a>>,
    /// How many are passed over.
    pub offset_rows: Option<i64>,
    /// How many are returned at most.
    pub limit_rows: Option<i64>,
    /// What is embedded, whether it is returned or not.
    pub embeds: Vec<EmbedRead<'a>>,
}

impl Read<'_> {
    /// Whether the catalog knows every column that is named, here and below.
    pub fn knows_all_columns(&self) -> bool {
        fn known(condition: &Condition<'_>) -> bool {
            match condition {
                Condition::Filter { column, .. } => column.known,
                Condition::Found(..) => true,
                Condition::Group { children, .. } => children.iter().all(known),
            }
        }
        self.outputs.iter().all(|output| !matches!(&output.source, Source::Column(column, _) if !column.known))
            && self.conditions.iter().all(known)
            && self.order.iter().all(|term| !matches!(&term.key, OrderKey::Column(column) if !column.known))
            && self.embeds.iter().all(|embed| embed.read.knows_all_columns())
    }
}

/// A value that a level returns.
#[derive(Debug)]
pub struct Output<'a> {
    /// Its key.
    pub key: Arc<str>,
    /// Where it comes from.
    pub source: Source<'a>,
    /// How it travels.
    pub codec: Codec,
    /// Whether PostgreSQL writes its JSON.
    pub to_json: bool,
    /// The type it is declared as; 0 where that is not known.
    pub type_oid: Oid,
    /// The type below any domains, which PostgreSQL announces for a column of a result.
    pub base_oid: Oid,
}

impl Output<'_> {
    /// What a shape says of it within a row.
    pub(crate) fn field(&self) -> ShapeField {
        ShapeField { name: self.key.clone(), codec: self.codec.clone(), type_oid: self.type_oid }
    }

    /// What a shape says of it as a column of a result.
    pub fn column(&self) -> ShapeField {
        ShapeField { name: self.key.clone(), codec: self.codec.clone().as_column(), type_oid: self.base_oid }
    }
}

/// Where a value comes from.
#[derive(Debug)]
pub enum Source<'a> {
    /// A column or computed field, perhaps cast.
    Column(ColumnRef<'a>, Option<&'a str>),
    /// The embed with this index, as one value.
    Embed(usize),
    /// An output of a to-one embed whose keys are lifted: the embed's index and the output's.
    Spread(usize, usize),
}

/// A column and the path into it.
#[derive(Debug, Clone, Copy)]
pub struct ColumnRef<'a> {
    /// Its name.
    pub name: &'a str,
    /// The steps into its value.
    pub path: &'a [JsonStep<'a>],
    /// Whether it must become `jsonb` before the steps.
    pub via_jsonb: bool,
    /// Whether the catalog knows it. What it does not know is the database's to find or to refuse.
    pub known: bool,
}

/// What a row must satisfy.
#[derive(Debug)]
pub enum Condition<'a> {
    /// A comparison; `tsvector` says whether the column is one already.
    Filter {
        /// What is compared.
        column: ColumnRef<'a>,
        /// How.
        filter: &'a Filter<'a>,
        /// Whether the column must be turned into a `tsvector` for a full-text search.
        to_tsvector: bool,
    },
    /// Whether the embed with this index finds a row, or none.
    Found(usize, bool),
    /// Conditions joined.
    Group {
        /// `not`
        negated: bool,
        /// `and`, not `or`.
        all: bool,
        /// What is joined.
        children: Vec<Condition<'a>>,
    },
}

/// One term of an order.
#[derive(Debug)]
pub struct Order<'a> {
    /// What is ordered by.
    pub key: OrderKey<'a>,
    /// The direction.
    pub direction: Option<Direction>,
    /// Where nulls go.
    pub nulls: Option<Nulls>,
}

/// What is ordered by.
#[derive(Debug)]
pub enum OrderKey<'a> {
    /// A column of the level.
    Column(ColumnRef<'a>),
    /// An output of a to-one embed: the embed's index, the output's, and a path into it.
    Related(usize, usize, &'a [JsonStep<'a>]),
}

/// A level below another.
#[derive(Debug)]
pub struct EmbedRead<'a> {
    /// How it is joined.
    pub relationship: &'a Relationship,
    /// The names of the outer relation's columns in the relationship, in its order.
    pub origin_columns: Vec<&'a str>,
    /// The relation between, for many-to-many.
    pub junction: Option<&'a Relation>,
    /// Whether outer rows without related ones go.
    pub inner: bool,
    /// Whether its keys are lifted into the outer row.
    pub spread: bool,
    /// The level itself.
    pub read: Read<'a>,
}

impl EmbedRead<'_> {
    /// Whether at most one row is related.
    pub fn is_to_one(&self) -> bool {
        self.relationship.cardinality.is_to_one()
    }
}

/// What a request says of one level.
struct Level<'q> {
    filters: Vec<&'q Filter<'q>>,
    trees: Vec<&'q Tree<'q>>,
    order: Option<&'q [OrderTerm<'q>]>,
    window: EmbedWindow,
}

pub(crate) fn root<'a>(
    context: &Context<'a>,
    relation: RelationId,
    request: &'a ApiRequest<'a>,
    output_form: bool,
) -> Result<Read<'a>, PlanError> {
    let query = &request.query;
    check_paths(query)?;
    let mut read = level(context, relation, &query.select, &mut Vec::new(), query)?;
    read.offset_rows = Some(request.window.offset_rows).filter(|&offset| offset > 0).map(as_sql);
    read.limit_rows = capped(context, request.window.limit_rows.map(as_sql));
    if output_form {
        for output in read.outputs.iter_mut().filter(|output| !matches!(output.source, Source::Embed(_))) {
            (output.codec, output.to_json, output.base_oid) = (Codec::Output, false, 0);
        }
    }
    Ok(read)
}

/// A level's limit, or the limit of every level if that is lower.
fn capped(context: &Context<'_>, limit_rows: Option<i64>) -> Option<i64> {
    let rows_max = context.rows_max.map(as_sql);
    limit_rows.into_iter().chain(rows_max).min()
}

/// A number of rows as SQL can say it.
fn as_sql(rows: u64) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}

/// Every level that a parameter names must be embedded.
fn check_paths(query: &Query<'_>) -> Result<(), PlanError> {
    fn find<'q>(items: &'q [Item<'q>], name: &str) -> Option<&'q [Item<'q>]> {
        find_embed(items, name).map(|embed| embed.items.as_slice())
    }
    let filters = query.filters.iter().map(|at| &at.path);
    let trees = query.trees.iter().map(|at| &at.path);
    let orders = query.orders.iter().map(|at| &at.path);
    let windows = query.windows.iter().map(|at| &at.path);
    for path in orders.chain(trees).chain(filters).chain(windows) {
        let mut items = query.select.as_slice();
        for name in path {
            items = find(items, name).ok_or_else(|| ErrorKind::NotEmbedded(name.to_string()))?;
        }
    }
    Ok(())
}

/// The embed that a name addresses: by its alias or name, else by the bare name of an aliased one.
fn find_embed<'q>(items: &'q [Item<'q>], name: &str) -> Option<&'q Embed<'q>> {
    let embeds = || {
        items.iter().filter_map(|item| match item {
            Item::Embed(embed) => Some(embed),
            _ => None,
        })
    };
    embeds().find(|embed| embed.key() == name).or_else(|| embeds().find(|embed| embed.target == name))
}

/// What the request says of the level that `path` leads to.
fn at_level<'a>(query: &'a Query<'a>, path: &[&Embed<'_>]) -> Level<'a> {
    fn here<T>(query: &Query<'_>, at: &At<'_, T>, path: &[&Embed<'_>]) -> bool {
        at.path.len() == path.len() && {
            let mut items = query.select.as_slice();
            at.path.iter().zip(path).all(|(name, embed)| match find_embed(items, name) {
                Some(found) => {
                    items = &found.items;
                    std::ptr::eq(found, *embed)
                }
                None => false,
            })
        }
    }
    Level {
        filters: query.filters.iter().filter(|at| here(query, at, path)).map(|at| &at.what).collect(),
        trees: query.trees.iter().filter(|at| here(query, at, path)).map(|at| &at.what).collect(),
        order: query.orders.iter().find(|at| here(query, at, path)).map(|at| at.what.as_slice()),
        window: query.windows.iter().find(|at| here(query, at, path)).map(|at| at.what).unwrap_or_default(),
    }
}

fn level<'a>(
    context: &Context<'a>,
    id: RelationId,
    items: &'a [Item<'a>],
    path: &mut Vec<&'a Embed<'a>>,
    query: &'a Query<'a>,
) -> Result<Read<'a>, PlanError> {
    let catalog = context.catalog;
    let relation = catalog.relation(id);
    let mut read = Read {
        relation,
        outputs: Vec::with_capacity(items.len()),
        conditions: Vec::new(),
        order: Vec::new(),
        offset_rows: None,
        limit_rows: None,
        embeds: Vec::new(),
    };
    let mut keys: Vec<(&str, usize)> = Vec::new();
    let mut embedded = Vec::new();
    for item in items {
        match item {
            Item::All => read.outputs.extend(relation.columns.iter().map(|column| {
                let reference = ColumnRef { name: &column.name, path: &[], via_jsonb: false, known: true };
                let codec = codec_of(context, column.type_oid).map(|codec| (codec, column.type_oid));
                output(context, column.name.clone(), Source::Column(reference, None), codec)
            })),
            Item::CountRows { .. } | Item::Column { aggregate: Some(_), .. } => {
                return Err(ErrorKind::Aggregates.into());
            }
            Item::Column { field, cast, .. } => {
                let (reference, codec) = column(context, relation, field);
                let codec = match cast {
                    Some(name) => codec_of_cast(context, name),
                    None => codec,
                };
                let key = item.key().unwrap_or_default();
                let key = if *field.name == *key { known_name(relation, key) } else { shared(key) };
                read.outputs.push(output(context, key, Source::Column(reference, *cast), codec));
            }
            Item::Embed(embed) => {
                path.push(embed);
                let below = self::embed(context, id, embed, path, query);
                path.pop();
                let below = below?;
                keys.push((embed.key(), read.embeds.len()));
                embedded.push(embed_outputs(embed, &below, read.embeds.len()));
                read.embeds.push(below);
            }
        }
    }
    // columns first, embeds after them
    read.outputs.extend(embedded.into_iter().flatten());
    let said = at_level(query, path);
    for filter in said.filters {
        read.conditions.push(condition(context, relation, &keys, filter));
    }
    for tree in said.trees {
        read.conditions.push(group(context, relation, &keys, tree));
    }
    for term in said.order.unwrap_or_default() {
        read.order.push(order(context, &read, &keys, term)?);
    }
    if !path.is_empty() {
        read.offset_rows = said.window.offset_rows;
        read.limit_rows = capped(context, said.window.limit_rows);
    }
    Ok(read)
}

fn embed<'a>(
    context: &Context<'a>,
    origin: RelationId,
    embed: &'a Embed<'a>,
    path: &mut Vec<&'a Embed<'a>>,
    query: &'a Query<'a>,
) -> Result<EmbedRead<'a>, PlanError> {
    let relationship = embed::choose(context.catalog, origin, embed)?;
    if embed.spread && !relationship.cardinality.is_to_one() && !embed.items.is_empty() {
        return Err(ErrorKind::NotImplemented("Spreads of one-to-many and many-to-many relationships.").into());
    }
    let mut read = level(context, relationship.target, &embed.items, path, query)?;
    if !embed.spread {
        as_jsonb_orders(&mut read.outputs);
    }
    let from = context.catalog.relation(origin);
    Ok(EmbedRead {
        relationship,
        origin_columns: relationship.columns.iter().map(|&(at, _)| &*from.columns[usize::from(at)].name).collect(),
        junction: relationship.junction.as_ref().map(|junction| context.catalog.relation(junction.relation)),
        inner: embed.join == Join::Inner,
        spread: embed.spread,
        read,
    })
}

/// Embedded objects have the order of keys that `jsonb` gives them: shorter first, then bytewise; of equal keys
/// the last stays.
fn as_jsonb_orders(outputs: &mut Vec<Output<'_>>) {
    outputs.reverse();
    outputs.sort_by(|a, b| (a.key.len(), &a.key).cmp(&(b.key.len(), &b.key)));
    outputs.dedup_by(|later, earlier| later.key == earlier.key);
}

/// What an embed adds to the outer row: nothing where it is empty.
fn embed_outputs<'a>(embed: &Embed<'_>, below: &EmbedRead<'a>, index: usize) -> Vec<Output<'a>> {
    let outputs = &below.read.outputs;
    if outputs.is_empty() {
        return Vec::new();
    }
    if embed.spread {
        let lifted = |(at, inner): (usize, &Output<'a>)| Output {
            key: inner.key.clone(),
            source: Source::Spread(index, at),
            codec: inner.codec.clone(),
            to_json: false,
            type_oid: inner.type_oid,
            base_oid: inner.base_oid,
        };
        return outputs.iter().enumerate().map(lifted).collect();
    }
    let fields: Arc<[ShapeField]> = outputs.iter().map(Output::field).collect();
    let (codec, type_oid) =
        if below.is_to_one() { (Codec::Row(fields), oid::RECORD) } else { (Codec::Rows(fields), oid::RECORD_ARRAY) };
    vec![Output {
        key: shared(embed.key()),
        source: Source::Embed(index),
        codec,
        to_json: false,
        type_oid,
        base_oid: type_oid,
    }]
}

/// Without a codec, PostgreSQL writes the JSON.
fn output<'a>(context: &Context<'_>, key: Arc<str>, source: Source<'a>, codec: Option<(Codec, Oid)>) -> Output<'a> {
    let to_json = codec.is_none();
    let (codec, type_oid) = codec.unwrap_or((Codec::Scalar(Scalar::Json), oid::JSON));
    Output { key, source, codec, to_json, type_oid, base_oid: base_type(context, type_oid) }
}

/// The column's own name where there is such a column, so that it need not be copied.
fn known_name(relation: &Relation, name: &str) -> Arc<str> {
    match relation.column(name) {
        Some(at) => relation.columns[usize::from(at)].name.clone(),
        None => shared(name),
    }
}

/// What a field refers to, and how its value travels. Unknown columns are the database's to refuse.
fn column<'a>(
    context: &Context<'a>,
    relation: &'a Relation,
    field: &'a Field<'a>,
) -> (ColumnRef<'a>, Option<(Codec, Oid)>) {
    let type_oid = type_of(context, relation, &field.name);
    let base = type_oid.map(|known| base_type(context, known));
    let is_json = matches!(base, Some(oid::JSON | oid::JSONB));
    let via_jsonb = !is_json && !field.path.is_empty();
    let reference = ColumnRef { name: &field.name, path: &field.path, via_jsonb, known: type_oid.is_some() };
    let codec = match field.path.last() {
        None => type_oid.and_then(|known| Some((codec_of(context, known)?, known))),
        Some(step) if step.as_text => Some((Codec::Scalar(Scalar::Text), oid::TEXT)),
        Some(_) if base == Some(oid::JSON) => Some((Codec::Scalar(Scalar::Json), oid::JSON)),
        Some(_) => Some((Codec::Scalar(Scalar::Jsonb), oid::JSONB)),
    };
    (reference, codec)
}

fn type_of(context: &Context<'_>, relation: &Relation, name: &str) -> Option<Oid> {
    match relation.column(name) {
        Some(at) => Some(relation.columns[usize::from(at)].type_oid),
        None => context.catalog.computed_field(relation, name).map(|function| function.result_type),
    }
}

fn condition<'a>(
    context: &Context<'a>,
    relation: &'a Relation,
    embeds: &[(&str, usize)],
    filter: &'a Filter<'a>,
) -> Condition<'a> {
    if filter.field.path.is_empty()
        && filter.operation == Operation::Is(IsWord::Null)
        && let Some(&(_, index)) = embeds.iter().find(|(key, _)| *key == filter.field.name)
    {
        return Condition::Found(index, filter.negated);
    }
    let (column, _) = column(context, relation, &filter.field);
    let to_tsvector = matches!(filter.operation, Operation::Fts { .. })
        && type_of(context, relation, &filter.field.name)
            .is_some_and(|known| !filter.field.path.is_empty() || base_type(context, known) != oid::TSVECTOR);
    Condition::Filter { column, filter, to_tsvector }
}

fn group<'a>(
    context: &Context<'a>,
    relation: &'a Relation,
    embeds: &[(&str, usize)],
    tree: &'a Tree<'a>,
) -> Condition<'a> {
    match tree {
        Tree::Filter(filter) => condition(context, relation, embeds, filter),
        Tree::Node { negated, all, children } => Condition::Group {
            negated: *negated,
            all: *all,
            children: children.iter().map(|child| group(context, relation, embeds, child)).collect(),
        },
    }
}

fn order<'a>(
    context: &Context<'a>,
    read: &Read<'a>,
    embeds: &[(&str, usize)],
    term: &'a OrderTerm<'a>,
) -> Result<Order<'a>, PlanError> {
    let key = match &term.by {
        OrderBy::Field(field) => OrderKey::Column(column(context, read.relation, field).0),
        OrderBy::Related(name, field) => {
            let Some(&(_, index)) = embeds.iter().find(|(key, _)| key == name) else {
                return Err(ErrorKind::NotEmbedded(name.to_string()).into());
            };
            let below = &read.embeds[index];
            if !matches!(below.relationship.cardinality, Cardinality::ManyToOne | Cardinality::OneToOne) {
                let origin = read.relation.name.to_string();
                return Err(ErrorKind::RelatedOrder { origin, target: name.to_string() }.into());
            }
            match below.read.outputs.iter().position(|output| *output.key == *field.name) {
                Some(at) => OrderKey::Related(index, at, &field.path),
                // not selected there: the database is told to look for it, and refuses
                None => {
                    let (name, path) = (&*field.name, &*field.path);
                    OrderKey::Column(ColumnRef { name, path, via_jsonb: false, known: false })
                }
            }
        }
    };
    Ok(Order { key, direction: term.direction, nulls: term.nulls })
}
