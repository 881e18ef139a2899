//! Resolving the levels of a request, from the root down.

use crate::call::{self, Form};
use crate::codec::base_type;
use crate::columns::{Columns, aggregated, output};
use crate::embed;
use crate::error::{ErrorKind, PlanError};
use crate::never_analysed;
use crate::plan::{Context, shared};
use crate::read::{Condition, EmbedRead, Fetch, From, Order, OrderKey, Output, RangeKind, Read, Value};
use crate::said::{BareNames, Said};
use std::collections::HashMap;
use std::sync::Arc;
use thalweg_catalog::{Catalog, Relation, RelationId, Returns, TypeKind};
use thalweg_request::{
    Aggregate, ApiRequest, Comparison, Embed, Field, Filter, IsWord, Item, Join, Operation, OrderBy, OrderTerm,
    Payload, Query, Target, Tree, VALUES_MAX,
};
use thalweg_rows::oid::{self, Oid};
use thalweg_rows::{Codec, Scalar};

/// The key in a result of a value that has no name.
const SCALAR_KEY: &str = "pgrst_scalar";

/// The root level of a request, what becomes of its rows, and which parameters name an embed by its bare name although
/// it has an alias.
pub(crate) fn root<'a>(
    context: &Context<'a>,
    request: &'a ApiRequest<'a>,
    payload: Option<&'a Payload<'a>>,
) -> Result<(Read<'a>, Form, BareNames), PlanError> {
    let query = &request.query;
    let (from, form) = match request.target {
        Target::Relation(name) => (From::Relation(relation(context.catalog, context.schema, name)?), Form::Rows),
        Target::Function(name) => {
            let call = call::call(context, request, payload, name)?;
            let form = Form::of(call.function);
            (From::Call(call), form)
        }
    };
    let (said, deprecated) = Said::of(context, query)?;
    let mut read = level(context, from, &query.select, (&said, 0), &mut Limits::default())?;
    // The rows that are written decide which rows are returned.
    if request.action.is_write() {
        return Ok((read, form, deprecated));
    }
    read.offset_rows = Some(request.window.offset_rows).filter(|&offset| offset > 0).map(as_sql);
    read.limit_rows = capped(context, request.window.limit_rows.map(as_sql));
    read.limit_is_fixed = context.limit_is_fixed;
    Ok((read, form, deprecated))
}

/// The relation of a schema that a request names.
pub fn relation<'a>(catalog: &'a Catalog, schema: &str, name: &str) -> Result<&'a Relation, PlanError> {
    let id = catalog.find(schema, name).ok_or_else(|| ErrorKind::Relation {
        schema: schema.to_owned(),
        name: name.to_owned(),
        nearest: catalog.nearest_relation(schema, name).map(str::to_owned),
    })?;
    Ok(catalog.relation(id))
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

fn level<'a>(
    context: &Context<'a>,
    from: From<'a>,
    items: &'a [Item<'a>],
    (said, depth): (&Said<'a>, usize),
    limits: &mut Limits,
) -> Result<Read<'a>, PlanError> {
    let columns = match &from {
        From::Relation(relation) => Columns::Relation(relation),
        From::Call(call) => call::columns(context, call),
    };
    let Selected { outputs, embeds, keys } = select(context, &from, columns, items, (said, depth), limits)?;
    let mut read = Read {
        from,
        outputs,
        conditions: Vec::new(),
        order: Vec::new(),
        offset_rows: None,
        limit_rows: None,
        is_capped: false,
        limit_is_fixed: false,
        embeds,
        found_first: None,
        streamed: None,
        from_end: false,
    };
    read.conditions = conditions(context, columns, &keys, said);
    let mut related = RelatedOutputs { read: &read, keys: &keys, by_name: HashMap::new() };
    let terms = said.order.unwrap_or_default().iter();
    read.order = terms.map(|term| order(context, columns, &mut related, term)).collect::<Result<_, _>>()?;
    if depth > 0 {
        let window = said.window.unwrap_or_default();
        read.offset_rows = window.offset_rows;
        let own = window.limit_rows;
        read.limit_rows = capped(context, own);
        read.is_capped = read.limit_rows != own;
    }
    Ok(read)
}

/// What a level returns, and what is embedded in it, each by the name that addresses it.
struct Selected<'a> {
    outputs: Vec<Output<'a>>,
    embeds: Vec<EmbedRead<'a>>,
    keys: Keys<'a>,
}

/// The embeds of a level, by what they are called in the result.
type Keys<'a> = HashMap<&'a str, usize>;

/// How much of what a request may have at all levels together has been used up.
#[derive(Default)]
struct Limits {
    values: usize,
}

impl Limits {
    fn take_values(&mut self, count: usize) -> Result<(), PlanError> {
        self.values += count;
        if self.values > VALUES_MAX { Err(ErrorKind::Values.into()) } else { Ok(()) }
    }
}

fn select<'a>(
    context: &Context<'a>,
    from: &From<'a>,
    columns: Columns<'a>,
    items: &'a [Item<'a>],
    (said, depth): (&Said<'a>, usize),
    limits: &mut Limits,
) -> Result<Selected<'a>, PlanError> {
    let mut outputs = Vec::with_capacity(items.len().min(VALUES_MAX));
    let mut embeds: Vec<EmbedRead<'a>> = Vec::new();
    let mut keys: Keys<'a> = HashMap::new();
    for item in items {
        limits.take_values(match item {
            Item::All => columns.count(),
            Item::Embed(_) => 0,
            Item::CountRows { .. } | Item::Column { .. } => 1,
        })?;
        match item {
            Item::All => match from {
                From::Call(call) => all_of_call(context, call, columns, &mut outputs),
                From::Relation(_) => columns.all(context, &mut outputs),
            },
            Item::Embed(embed) => {
                let said = &said.below[embeds.len()].said;
                let below = self::embed(context, from, embed, (said, depth + 1), limits)?;
                if keys.insert(embed.key(), embeds.len()).is_some() {
                    let (origin, name) = (from.name().to_owned(), embed.key().to_owned());
                    return Err(ErrorKind::DuplicateEmbed { origin, name, is_spread: embed.spread }.into());
                }
                limits.take_values(if embed.spread { below.read.outputs.len() } else { 1 })?;
                embeds.push(below);
            }
            Item::CountRows { cast, .. } => {
                let key = shared(item.key().unwrap_or_default());
                outputs.push(aggregate(context, key, Value::Row, Aggregate::Count, Some(oid::INT8), *cast)?);
            }
            Item::Column { field, cast, aggregate: None, .. } => {
                let (value, travels) = columns.value(context, field, *cast);
                let key = item.key().unwrap_or_default();
                let key = if *field.name == *key { columns.known_name(key) } else { shared(key) };
                outputs.push(output(context, key, value, travels));
            }
            Item::Column { field, cast, aggregate: Some((function, result_cast)), .. } => {
                let (value, of) = argument(context, columns, field, *cast);
                let key = shared(item.key().unwrap_or_default());
                outputs.push(aggregate(context, key, value, *function, of, *result_cast)?);
            }
        }
    }
    // columns first, embeds after them
    let grouped = |outputs: &[Output<'_>]| outputs.iter().any(|output| output.aggregate.is_some());
    let lifted_aggregates = embeds.iter().any(|below| below.spread && grouped(&below.read.outputs));
    let is_grouped = grouped(&outputs) || lifted_aggregates;
    let items = items.iter().filter_map(|item| match item {
        Item::Embed(embed) => Some(embed),
        _ => None,
    });
    for (index, (embed, below)) in items.zip(&mut embeds).enumerate() {
        if is_grouped && !below.spread {
            below.write_json();
        }
        outputs.extend(embed_outputs(embed, below, index));
    }
    Ok(Selected { outputs, embeds, keys })
}

/// What an aggregate is made of, and its type where that is known.
fn argument<'a>(
    context: &Context<'a>,
    columns: Columns<'a>,
    field: &'a Field<'a>,
    cast: Option<&'a str>,
) -> (Value<'a>, Option<oid::Oid>) {
    let (column, type_oid) = columns.refer(context, &field.name, &field.path);
    let of = match (cast, field.path.last()) {
        (Some(cast), _) => crate::codec::type_of_cast(cast),
        (None, Some(step)) => Some(if step.as_text { oid::TEXT } else { oid::JSONB }),
        (None, None) => type_oid,
    };
    (Value::Column { column, shown_by: None, cast }, of)
}

/// Appends what `*` stands for in the result of a function.
fn all_of_call<'a>(context: &Context<'a>, call: &call::Call<'a>, columns: Columns<'a>, outputs: &mut Vec<Output<'a>>) {
    let travels = match call.function.returns {
        Returns::Scalar(type_oid) => crate::codec::codec_of(context, type_oid).map(|codec| (codec, type_oid)),
        Returns::Record => None,
        Returns::Row(_) | Returns::Columns(_) => return columns.all(context, outputs),
        Returns::Void => return,
    };
    outputs.push(output(context, shared(SCALAR_KEY), Value::Scalar, travels));
}

fn aggregate<'a>(
    context: &Context<'a>,
    key: Arc<str>,
    value: Value<'a>,
    function: Aggregate,
    of: Option<oid::Oid>,
    result_cast: Option<&'a str>,
) -> Result<Output<'a>, PlanError> {
    if !context.aggregates_are_on {
        return Err(ErrorKind::Aggregates.into());
    }
    let travels = match result_cast {
        Some(cast) => crate::codec::codec_of_cast(context, cast),
        None => aggregated(context, function, of),
    };
    let mut output = output(context, key, value, travels);
    output.aggregate = Some((function, result_cast));
    Ok(output)
}

fn embed<'a>(
    context: &Context<'a>,
    outer: &From<'a>,
    embed: &'a Embed<'a>,
    said: (&Said<'a>, usize),
    limits: &mut Limits,
) -> Result<EmbedRead<'a>, PlanError> {
    let catalog = context.catalog;
    let origin: Option<(RelationId, &Relation)> =
        outer.relation().and_then(|relation| Some((catalog.of_row_type(relation.row_type)?, relation)));
    let Some((origin, origin_relation)) = origin else {
        return Err(embed::no_relation(context, outer.name(), embed));
    };
    let relationship = embed::choose(context, origin, embed)?;
    let target = catalog.relation(relationship.target);
    let mut read = level(context, From::Relation(target), &embed.items, said, limits)?;
    let is_to_one = relationship.cardinality.is_to_one();
    if embed.spread && !is_to_one && read.is_grouped() {
        return Err(ErrorKind::NotImplemented(
            "Aggregates are not implemented for one-to-many or many-to-many spreads.",
        )
        .into());
    }
    if !embed.spread {
        as_jsonb_orders(&mut read.outputs);
    }
    let junction = match &relationship.link {
        thalweg_catalog::Link::Junction { relation, .. } => Some(catalog.relation(*relation)),
        _ => None,
    };
    let mut below = EmbedRead {
        relationship,
        origin: origin_relation,
        target,
        junction,
        inner: embed.join == Join::Inner,
        spread: embed.spread,
        as_json: false,
        fetch: Fetch::PerRow,
        by_link: false,
        read,
    };
    below.by_link = never_analysed::by_link(&below);
    if below.spread && !is_to_one {
        // arrays of arrays need not be rectangular: PostgreSQL cannot aggregate them
        let to_many = |below: &&mut EmbedRead<'a>| !below.is_to_one() && !below.spread;
        below.read.embeds.iter_mut().filter(to_many).for_each(EmbedRead::write_json);
        for output in &mut below.read.outputs {
            if let Value::Embed(index) = output.value
                && below.read.embeds[index].as_json
            {
                (output.codec, output.type_oid, output.base_oid) =
                    (Codec::Scalar(Scalar::Jsonb), oid::JSONB, oid::JSONB);
            }
        }
    }
    Ok(below)
}

impl EmbedRead<'_> {
    /// Lets PostgreSQL write its JSON, here and below.
    pub(crate) fn write_json(&mut self) {
        self.as_json = true;
        self.read.embeds.iter_mut().for_each(EmbedRead::write_json);
    }
}

/// Embedded objects have the order of keys that `jsonb` gives them: shorter first, then bytewise; of equal keys
/// the last stays.
fn as_jsonb_orders(outputs: &mut Vec<Output<'_>>) {
    outputs.reverse();
    outputs.sort_by(|a, b| (a.key.len(), &a.key).cmp(&(b.key.len(), &b.key)));
    outputs.dedup_by(|later, earlier| later.key == earlier.key);
}

/// What an embed adds to the outer row: nothing where it is empty. Aggregates of what is lifted are made of the outer
/// rows.
fn embed_outputs<'a>(embed: &Embed<'_>, below: &mut EmbedRead<'a>, index: usize) -> Vec<Output<'a>> {
    let is_to_one = below.is_to_one();
    let outputs = &mut below.read.outputs;
    if outputs.is_empty() {
        return Vec::new();
    }
    if below.spread {
        let lifted = |(at, inner): (usize, &mut Output<'a>)| {
            let (codec, type_oid) = match (is_to_one, &inner.codec) {
                (true, codec) => (codec.lifted(), inner.type_oid),
                (false, Codec::Scalar(_) | Codec::Row(_)) if !inner.to_json => {
                    (Codec::Values(Box::new(inner.codec.clone())), 0)
                }
                (false, _) => (Codec::Scalar(Scalar::Json), oid::JSON),
            };
            let base_oid = if is_to_one { inner.base_oid } else { type_oid };
            let (value, key) = (Value::Lifted(index, at), inner.key.clone());
            let aggregate = inner.aggregate.take();
            // what is aggregated is converted above, after it has been aggregated
            let to_json = aggregate.is_some() && std::mem::take(&mut inner.to_json);
            Output { key, value, aggregate, codec, to_json, stripped: false, abridged: None, type_oid, base_oid }
        };
        return outputs.iter_mut().enumerate().map(lifted).collect();
    }
    let codec = below.codec();
    let type_oid = match codec {
        Codec::Row(_) => oid::RECORD,
        Codec::List(_) => oid::RECORD_ARRAY,
        _ => oid::JSONB,
    };
    vec![Output {
        key: shared(embed.key()),
        value: Value::Embed(index),
        aggregate: None,
        codec,
        to_json: false,
        stripped: false,
        abridged: None,
        type_oid,
        base_oid: type_oid,
    }]
}

/// The conditions of a level. Trees come first, as PostgREST has them: of two mistakes the database reports the first.
fn conditions<'a>(
    context: &Context<'a>,
    columns: Columns<'a>,
    embeds: &Keys<'_>,
    said: &Said<'a>,
) -> Vec<Condition<'a>> {
    let trees = said.trees.iter().map(|tree| group(context, columns, embeds, tree));
    trees.chain(said.filters.iter().map(|filter| condition(context, columns, embeds, filter))).collect()
}

/// What the rows of a relation must satisfy to be written to, whatever is embedded in what is returned of them.
pub(crate) fn written<'a>(context: &Context<'a>, relation: &'a Relation, query: &'a Query<'a>) -> Vec<Condition<'a>> {
    conditions(context, Columns::Relation(relation), &Keys::new(), &Said::of_root(query))
}

fn condition<'a>(
    context: &Context<'a>,
    columns: Columns<'a>,
    embeds: &Keys<'_>,
    filter: &'a Filter<'a>,
) -> Condition<'a> {
    let field = &filter.field;
    if field.path.is_empty()
        && filter.operation == Operation::Is(IsWord::Null)
        && let Some(&index) = embeds.get(&*field.name)
    {
        return Condition::Found(index, filter.negated);
    }
    let (column, type_oid) = columns.refer(context, &field.name, &field.path);
    // a computed field's result is not converted: only columns are
    let to_tsvector = matches!(filter.operation, Operation::Fts { .. })
        && column.computed.is_none()
        && type_oid.is_some_and(|known| !field.path.is_empty() || base_type(context, known) != oid::TSVECTOR);
    let reads = match &filter.operation {
        Operation::In(_) | Operation::Distinct(_) => true,
        // A pattern is no value.
        Operation::Compare { operator, .. } => !operator.is_of_pattern(),
        Operation::Is(_) | Operation::Fts { .. } => false,
    };
    let representation = || context.catalog.representation(type_oid?)?.from_text.as_ref();
    let read_by = if reads && field.path.is_empty() { representation() } else { None };
    let other_bound = match columns {
        Columns::Relation(relation) => never_analysed::other_bound(relation, column, filter),
        Columns::Attributes(_) | Columns::Unknown => None,
    };
    let contained_in =
        type_oid.filter(|_| field.path.is_empty()).and_then(|known| contained_in(context, known, filter));
    Condition::Filter { column, filter, to_tsvector, read_by, contained_in, other_bound }
}

/// Returns the kind of a column's ranges, if they must contain the value of a filter (`cs`).
fn contained_in(context: &Context<'_>, type_oid: Oid, filter: &Filter<'_>) -> Option<RangeKind> {
    let Operation::Compare { operator: Comparison::Cs, .. } = &filter.operation else { return None };
    match context.catalog.type_of(base_type(context, type_oid))?.kind {
        TypeKind::Range => Some(RangeKind::Range),
        TypeKind::Multirange => Some(RangeKind::Multirange),
        _ => None,
    }
}

fn group<'a>(context: &Context<'a>, columns: Columns<'a>, embeds: &Keys<'_>, tree: &'a Tree<'a>) -> Condition<'a> {
    match tree {
        Tree::Filter(filter) => condition(context, columns, embeds, filter),
        Tree::Node { negated, all, children } => Condition::Group {
            negated: *negated,
            all: *all,
            children: children.iter().map(|child| group(context, columns, embeds, child)).collect(),
        },
    }
}

/// The outputs of the embeds of a level, by their names, of those that have been asked for.
struct RelatedOutputs<'r, 'a> {
    read: &'r Read<'a>,
    keys: &'r Keys<'a>,
    by_name: HashMap<usize, HashMap<&'r str, usize>>,
}

impl RelatedOutputs<'_, '_> {
    /// The first output of an embed that has this name.
    fn find(&mut self, index: usize, name: &str) -> Option<usize> {
        let read = self.read;
        let outputs = self.by_name.entry(index).or_insert_with(|| {
            let outputs = read.embeds[index].read.outputs.iter().enumerate().rev();
            outputs.map(|(at, output)| (&*output.key, at)).collect()
        });
        outputs.get(name).copied()
    }
}

fn order<'a>(
    context: &Context<'a>,
    columns: Columns<'a>,
    related: &mut RelatedOutputs<'_, 'a>,
    term: &'a OrderTerm<'a>,
) -> Result<Order<'a>, PlanError> {
    let key = match &term.by {
        OrderBy::Field(field) => OrderKey::Column(columns.refer(context, &field.name, &field.path).0),
        OrderBy::Related(name, field) => {
            let Some(&index) = related.keys.get(&**name) else {
                return Err(ErrorKind::NotEmbedded(name.to_string()).into());
            };
            if !related.read.embeds[index].is_to_one() {
                let origin = related.read.from.name().to_owned();
                return Err(ErrorKind::RelatedOrder { origin, target: name.to_string() }.into());
            }
            match related.find(index, &field.name) {
                Some(at) => OrderKey::Related(index, at, &field.path),
                None => OrderKey::Unselected(index, &field.name),
            }
        }
    };
    Ok(Order { key, direction: term.direction, nulls: term.nulls })
}
