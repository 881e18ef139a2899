//! What PostgreSQL cannot know of tables that were never analysed, and the plan can.
//!
//! Without statistics PostgreSQL expects each value in 1/200 of a table. Where an array is made for each outer row, and one
//! of its filters has an index too, both seem to find as much: for each album it reads the 20,000 entries of a genre, where
//! the album has ten tracks. How many an outer row has is clear from how large the tables are. Of what is above or below a
//! value it expects a third, and reads the table, but of what is between two values 1/200
//! (`bench/runs/2026-11-22-never-analysed-again`). Nor does it expect the first rows that it finds by an index to be
//! enough, or that rows lie in the order of their key (`bench/runs/2026-11-22-never-analysed-http`).

use crate::once_per_key;
use crate::read::{ColumnRef, Condition, EmbedRead, Fetch, From, OrderKey, Read, Streamed};
use thalweg_catalog::{Key, Link, Relation};
use thalweg_request::{Comparison, Filter, Operation};
use thalweg_rows::oid;

/// Of smaller tables it does not matter how they are read, in bytes.
const SMALL_BYTES: u64 = 16 * 1024;
/// Of tables up to this size PostgreSQL expects so few rows for one value that it takes a join for free, and it
/// reads the table rather than an index for the first of them, in bytes.
const SHORT_BYTES_MAX: u64 = 1024 * 1024;
/// How many times as large as the outer table a table is at most, if an outer row has few of its rows.
const FEW_TIMES_MAX: u64 = 32;
/// Rows of larger tables are not read in the order of a key in which they may not lie, in bytes.
const IN_ORDER_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// How many rows are looked for one by one at most.
const FIRST_ROWS_MAX: i64 = 1000;

/// Whether the rows of an outer row are to be found by their link before anything else: of a table that was never
/// analysed, where there are few and an index finds them.
pub(crate) fn by_link(embed: &EmbedRead<'_>) -> bool {
    match (&embed.relationship.link, embed.junction) {
        _ if embed.is_to_one() => filters_few(embed),
        (Link::Key(key), _) => finds_few(embed.origin, key, embed.target),
        (Link::Junction { near, far, .. }, Some(between)) => {
            finds_few(embed.origin, near, between) && is_indexed(far, embed.target)
        }
        (Link::Junction { .. } | Link::Function { .. }, _) => false,
    }
}

/// The bound on the other side of what a filter compares to, one that every value keeps; of columns with an index in tables
/// that were never analysed.
pub(crate) fn other_bound(relation: &Relation, column: ColumnRef<'_>, filter: &Filter<'_>) -> Option<&'static str> {
    let Operation::Compare { operator, quantifier: None, .. } = filter.operation else { return None };
    let at = column.place_in(relation)?;
    let bounds = match relation.columns[usize::from(at)].type_oid {
        oid::INT2 => (" >= '-32768'", " <= '32767'"),
        oid::INT4 => (" >= '-2147483648'", " <= '2147483647'"),
        oid::INT8 => (" >= '-9223372036854775808'", " <= '9223372036854775807'"),
        oid::DATE | oid::TIMESTAMP | oid::TIMESTAMPTZ => (" >= '-infinity'", " <= 'infinity'"),
        _ => return None,
    };
    let bound = match operator {
        Comparison::Lt | Comparison::Lte => bounds.0,
        Comparison::Gt | Comparison::Gte => bounds.1,
        _ => return None,
    };
    (!filter.negated && is_unknown(relation) && relation.indexed.contains(&at)).then_some(bound)
}

/// Decides whether the root's rows are to come one by one. What arrays are expected to cost hides what finding the rows that
/// they are made for does: those are found first.
pub(crate) fn choose(root: &mut Read<'_>) {
    let From::Relation(relation) = root.from else { return };
    if !is_unknown(relation) || is_short(relation) || root.is_grouped() || root.found_first.is_some() {
        return;
    }
    root.streamed = streamed(relation, root);
    let is_whole = root.limit_rows.is_none() && root.offset_rows.is_none();
    if has_arrays(root) && (root.streamed == Some(Streamed::First) || is_whole && finds_many(relation, root)) {
        root.found_first = once_per_key::columns(root);
    }
}

fn has_arrays(root: &Read<'_>) -> bool {
    let is_array = |embed: &EmbedRead<'_>| !embed.is_to_one() && matches!(embed.fetch, Fetch::PerRow);
    root.embeds.iter().any(is_array) && root.embeds.iter().all(|embed| !embed.inner)
}

fn streamed(relation: &Relation, root: &Read<'_>) -> Option<Streamed> {
    if root.offset_rows.is_some() {
        return None;
    }
    let finds_first = |rows| rows <= FIRST_ROWS_MAX && root.order.is_empty() && finds_many(relation, root);
    match root.limit_rows {
        None if is_in_order(relation, root) => Some(Streamed::InOrder),
        Some(rows) if finds_first(rows) => Some(Streamed::First),
        None | Some(_) => None,
    }
}

/// Whether all rows are read in the order of a key that counts them, with nothing that PostgreSQL would join in that order too.
fn is_in_order(relation: &Relation, root: &Read<'_>) -> bool {
    let [term] = root.order.as_slice() else { return false };
    let OrderKey::Column(column) = &term.key else { return false };
    let counts = |at: u16| matches!(relation.columns[usize::from(at)].type_oid, oid::INT2 | oid::INT4 | oid::INT8);
    let is_apart = |embed: &EmbedRead<'_>| match embed.fetch {
        Fetch::Flat => true,
        Fetch::PerRow => !embed.is_to_one() && !embed.spread && !embed.inner,
        Fetch::OncePerKey => false,
    };
    root.conditions.is_empty()
        && column.place_in(relation).is_some_and(|at| relation.primary_key == [at] && counts(at))
        && relation.size_bytes.is_some_and(|bytes| bytes <= IN_ORDER_BYTES_MAX)
        && root.embeds.iter().all(is_apart)
}

/// Whether an index finds the rows that satisfy the only condition, and they may be many.
fn finds_many(relation: &Relation, root: &Read<'_>) -> bool {
    let mut deciding = root.embeds.iter().filter(|embed| embed.inner);
    let found = match (root.conditions.as_slice(), deciding.next(), deciding.next()) {
        ([condition], None, None) => found_by(relation, condition),
        ([], Some(embed), None) => linked_by(embed),
        _ => None,
    };
    found.is_some_and(|at| relation.indexed.contains(&at))
}

/// The column by which many rows may satisfy a condition.
fn found_by(relation: &Relation, condition: &Condition<'_>) -> Option<u16> {
    let Condition::Filter { column, filter, other_bound, .. } = condition else { return None };
    let at = column.place_in(relation)?;
    let is_value = equals(filter) && relation.has_index_of_many(at);
    (is_value || other_bound.is_some()).then_some(at)
}

/// The column that has the value of an embed's key.
fn linked_by(embed: &EmbedRead<'_>) -> Option<u16> {
    let (Link::Key(key), [condition]) = (&embed.relationship.link, embed.read.conditions.as_slice()) else {
        return None;
    };
    let ([(outer, inner)], Condition::Filter { column, filter, .. }) = (key.columns.as_slice(), condition) else {
        return None;
    };
    let is_key = embed.is_to_one() && column.place_in(embed.target) == Some(*inner) && equals(filter);
    let decides = embed.read.embeds.iter().any(|below| below.inner);
    (is_key && !decides && embed.origin.has_index_of_many(*outer)).then_some(*outer)
}

fn equals(filter: &Filter<'_>) -> bool {
    let is_equal = matches!(filter.operation, Operation::Compare { operator: Comparison::Eq, quantifier: None, .. });
    is_equal && !filter.negated
}

/// Whether PostgreSQL knows nothing of a table that is not small.
fn is_unknown(relation: &Relation) -> bool {
    !relation.is_analysed && relation.size_bytes.is_some_and(|bytes| bytes >= SMALL_BYTES)
}

/// Whether a to-one embed filters rows of which PostgreSQL expects too few: it would begin with the embed's.
fn filters_few(embed: &EmbedRead<'_>) -> bool {
    embed.inner && !embed.read.conditions.is_empty() && is_short(embed.origin) && is_unknown(embed.origin)
}

fn is_short(relation: &Relation) -> bool {
    relation.size_bytes.is_some_and(|bytes| bytes <= SHORT_BYTES_MAX)
}

fn finds_few(outer: &Relation, key: &Key, inner: &Relation) -> bool {
    let times = |bytes: u64| bytes.div_ceil(outer.size_bytes.unwrap_or(0).max(1));
    is_unknown(inner) && inner.size_bytes.is_some_and(|bytes| times(bytes) <= FEW_TIMES_MAX) && is_indexed(key, inner)
}

fn is_indexed(key: &Key, inner: &Relation) -> bool {
    key.columns.iter().any(|(_, column)| inner.indexed.contains(column))
}
