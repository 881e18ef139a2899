//! A read narrowed to the columns that whoever reads its rows can touch, as far as that is known (`Context::narrowing`).
//!
//! What filters, orders or joins stays, whether it is returned or not: the rows are the same, each with fewer columns.

use crate::call::Form;
use crate::read::{Condition, EmbedRead, OrderKey, Output, Read, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use thalweg_catalog::{Link, Relation};
use thalweg_rows::{Codec, Field, oid};

/// How many columns a result has with those of embeds among them. PostgreSQL takes 1,664, also for what is only ordered by.
const COLUMNS_MAX: usize = 1_000;

/// Which columns of a level are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Narrowing {
    /// All but binary ones, which are wanted only if they are named.
    pub all: bool,
    /// The same if the level is one row, as that of an embed to one.
    pub all_if_one: bool,
    /// Those that are named, with what is wanted of what is embedded under the name.
    pub columns: BTreeMap<String, Narrowing>,
}

/// Narrows the levels of a read that returns rows. One that groups is left as it is: what it groups by decides which rows there are.
pub(crate) fn narrow(read: &mut Read<'_>, form: Form, wanted: &Narrowing) {
    if matches!(form, Form::Rows | Form::Row) {
        let all = wanted.all || (wanted.all_if_one && form == Form::Row);
        level(read, wanted, all, &BTreeSet::new());
        if !is_grouped(read) {
            flatten(read, wanted, all);
        }
    }
}

/// Has the columns of embeds to one stand in the row itself: PostgreSQL makes and sends a composite value for a fifth of what the whole
/// row costs. Whether there is such a row is told by a column that is never null, or by one more. One that is wanted as a whole stays one.
fn flatten(read: &mut Read<'_>, wanted: &Narrowing, all: bool) {
    let Read { outputs, embeds, .. } = read;
    let mut columns = outputs.len();
    for output in std::mem::take(outputs) {
        let Value::Embed(index) = output.value else {
            outputs.push(output);
            continue;
        };
        let embed = &mut embeds[index];
        let is_whole = wanted.columns.get(&*output.key).is_none_or(|wanted| wanted.all || wanted.all_if_one);
        let fits = columns + embed.read.outputs.len() <= COLUMNS_MAX;
        if all || is_whole || !fits || !embed.is_to_one() || embed.as_json || is_grouped(&embed.read) {
            outputs.push(output);
            continue;
        }
        columns += embed.read.outputs.len();
        embed.spread = true;
        let column = |key: &Arc<str>, value, codec, type_oid, base_oid| Output {
            key: key.clone(),
            value,
            aggregate: None,
            codec,
            to_json: false,
            stripped: false,
            abridged: None,
            type_oid,
            base_oid,
        };
        let mut lifted: Vec<_> = embed.read.outputs.iter().enumerate().collect();
        // a function's rows need not be the relation's
        let is_joined = matches!(embed.relationship.link, Link::Key(_) | Link::Junction { .. });
        let never_null = lifted.iter().position(|(_, inner)| is_joined && is_never_null(embed.target, inner));
        let never_null = never_null.map(|at| lifted.remove(at));
        let found = Field { name: Arc::from(""), codec: Codec::Flag, type_oid: oid::BOOL };
        let (value, first, type_oid, base_oid) = match never_null {
            Some((at, inner)) => (Value::Found(index, Some(at)), inner.field(), inner.type_oid, inner.base_oid),
            None => (Value::Found(index, None), found, oid::BOOL, oid::BOOL),
        };
        outputs.push(column(&output.key, value, Codec::Found(Box::new(first), lifted.len()), type_oid, base_oid));
        let others = lifted.into_iter().map(|(at, inner)| {
            column(&inner.key, Value::Lifted(index, at), inner.codec.clone(), inner.type_oid, inner.base_oid)
        });
        outputs.extend(others);
    }
}

/// Whether it is a column of a relation that says so, as it stands.
fn is_never_null(relation: &Relation, output: &Output<'_>) -> bool {
    let Value::Column { column, shown_by: None, cast: None } = &output.value else { return false };
    let known = relation.column(column.name).map(|at| &relation.columns[usize::from(at)]);
    column.computed.is_none() && column.path.is_empty() && known.is_some_and(|known| known.never_null)
}

/// Narrows a level, of which what the outer one uses stays too. Says where each output stands then.
fn level(read: &mut Read<'_>, wanted: &Narrowing, all: bool, used: &BTreeSet<usize>) -> Vec<Option<usize>> {
    if is_grouped(read) {
        return (0..read.outputs.len()).map(Some).collect();
    }
    let is_wanted = |(at, output): (usize, &Output<'_>)| {
        let is_named = wanted.columns.contains_key(&*output.key);
        is_named || used.contains(&at) || (all && !is_binary(output))
    };
    let kept: Vec<bool> = read.outputs.iter().enumerate().map(is_wanted).collect();
    let mut at = 0..;
    let places: Vec<Option<usize>> = kept.iter().map(|kept| kept.then(|| at.next()).flatten()).collect();
    let mut kept = kept.into_iter();
    read.outputs.retain(|_| kept.next().unwrap_or(true));
    embeds(read, wanted, all);
    places
}

/// Narrows what is embedded in a level whose own outputs are narrowed, and leaves out what nothing needs.
fn embeds(read: &mut Read<'_>, wanted: &Narrowing, all: bool) {
    let needed: Vec<bool> = (0..read.embeds.len()).map(|index| is_needed(read, index)).collect();
    let mut places = Vec::new();
    for index in 0..read.embeds.len() {
        let used = used(read, index);
        let key = read.outputs.iter().find(|output| matches!(output.value, Value::Embed(known) if known == index));
        let below = key.map(|output| (wanted.columns.get(&*output.key), output.key.clone()));
        let embed = &mut read.embeds[index];
        places.push(match (below, embed.spread) {
            (Some((below, _)), _) => {
                let nothing = Narrowing::default();
                // all is wanted of what is wanted as a part of all
                let is_whole = below.is_none() || all;
                let below = below.unwrap_or(&nothing);
                let all = is_whole || below.all || (below.all_if_one && embed.is_to_one());
                level(&mut embed.read, below, all, &used)
            }
            // the keys of what is lifted are those of the outer row
            (None, true) => level(&mut embed.read, wanted, all, &used),
            (None, false) => level(&mut embed.read, &Narrowing::default(), false, &used),
        });
    }
    for output in &mut read.outputs {
        match &mut output.value {
            Value::Embed(index) => output.codec = read.embeds[*index].codec(),
            Value::Lifted(index, at) => {
                *at = places[*index][*at].unwrap_or(*at);
                let embed = &read.embeds[*index];
                let inner = &embed.read.outputs[*at];
                // what lies within it has fewer columns too
                if embed.is_to_one() && inner.codec.holds_rows() {
                    output.codec = inner.codec.lifted();
                }
            }
            Value::Column { .. } | Value::Row | Value::Scalar | Value::Found(..) => {}
        }
    }
    for term in &mut read.order {
        if let OrderKey::Related(index, at, _) = &mut term.key {
            *at = places[*index][*at].unwrap_or(*at);
        }
    }
    leave_out(read, &needed);
}

/// Whether anything of an embed is returned, or something depends on its rows.
fn is_needed(read: &Read<'_>, index: usize) -> bool {
    fn asks(condition: &Condition<'_>, index: usize) -> bool {
        match condition {
            Condition::Filter { .. } => false,
            Condition::Found(known, _) => *known == index,
            Condition::Group { children, .. } => children.iter().any(|child| asks(child, index)),
        }
    }
    let is_returned =
        |output: &Output<'_>| matches!(output.value, Value::Embed(known) | Value::Lifted(known, _) if known == index);
    read.embeds[index].inner
        || read.outputs.iter().any(is_returned)
        || read.conditions.iter().any(|condition| asks(condition, index))
        || read.order.iter().any(
            |term| matches!(term.key, OrderKey::Related(known, ..) | OrderKey::Unselected(known, _) if known == index),
        )
}

/// The outputs of an embed that a level orders by, or lifts.
fn used(read: &Read<'_>, index: usize) -> BTreeSet<usize> {
    let ordered_by = read.order.iter().filter_map(|term| match term.key {
        OrderKey::Related(known, at, _) if known == index => Some(at),
        _ => None,
    });
    let lifted = read.outputs.iter().filter_map(|output| match output.value {
        Value::Lifted(known, at) if known == index => Some(at),
        _ => None,
    });
    ordered_by.chain(lifted).collect()
}

/// Leaves out the embeds that are not needed, and numbers the others anew.
fn leave_out(read: &mut Read<'_>, needed: &[bool]) {
    let mut next = 0..;
    let numbers: Vec<usize> = needed.iter().map(|needed| if *needed { next.next().unwrap_or(0) } else { 0 }).collect();
    let mut kept = needed.iter();
    read.embeds.retain(|_| *kept.next().unwrap_or(&true));
    for output in &mut read.outputs {
        if let Value::Embed(index) | Value::Lifted(index, _) = &mut output.value {
            *index = numbers[*index];
        }
    }
    for term in &mut read.order {
        if let OrderKey::Related(index, ..) | OrderKey::Unselected(index, _) = &mut term.key {
            *index = numbers[*index];
        }
    }
    fn renumber(condition: &mut Condition<'_>, numbers: &[usize]) {
        match condition {
            Condition::Filter { .. } => {}
            Condition::Found(index, _) => *index = numbers[*index],
            Condition::Group { children, .. } => children.iter_mut().for_each(|child| renumber(child, numbers)),
        }
    }
    read.conditions.iter_mut().for_each(|condition| renumber(condition, &numbers));
}

/// Whether what is returned decides which rows there are: here, or where a spread lifts an aggregate into this level. A name that the
/// catalog does not know may be one too: `pilots.count`.
fn is_grouped(read: &Read<'_>) -> bool {
    let lifts = |embed: &EmbedRead<'_>| embed.spread && is_grouped(&embed.read);
    let is_unknown = |output: &Output<'_>| matches!(&output.value, Value::Column { column, .. } if !column.known);
    read.is_grouped() || read.outputs.iter().any(is_unknown) || read.embeds.iter().any(lifts)
}

/// Whether it is a column of bytes, of which nobody shows the hexadecimal digits.
fn is_binary(output: &Output<'_>) -> bool {
    let is_column = match &output.value {
        Value::Column { column, cast, .. } => cast.is_none() && column.path.is_empty(),
        Value::Lifted(..) => true,
        Value::Row | Value::Scalar | Value::Embed(_) | Value::Found(..) => false,
    };
    is_column && output.base_oid == oid::BYTEA
}
