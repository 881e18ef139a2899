//! What PostgreSQL cannot know of tables that were never analysed, and the plan can.
//!
//! Without statistics PostgreSQL expects each value in 1/200 of a table. Where an array is made for each outer row, and one
//! of its filters has an index too, both seem to find as much: for each album it reads the 20,000 entries of a genre, where
//! the album has ten tracks. How many an outer row has is clear from how large the tables are. Of what is above or below a
//! value it expects a third, and reads the table, but of what is between two values 1/200
//! (`bench/runs/2026-11-22-never-analysed-again`).

use crate::read::{ColumnRef, EmbedRead};
use thalweg_catalog::{Key, Link, Relation};
use thalweg_request::{Comparison, Filter, Operation};
use thalweg_rows::oid;

/// Of smaller tables it does not matter how they are read, in bytes.
const SMALL_BYTES: u64 = 16 * 1024;
/// Of tables up to this size PostgreSQL expects so few rows for one value that it takes a join for free, in bytes.
const SHORT_BYTES_MAX: u64 = 1024 * 1024;
/// How many times as large as the outer table a table is at most, if an outer row has few of its rows.
const FEW_TIMES_MAX: u64 = 32;

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
    let at = relation.column(column.name).filter(|_| column.computed.is_none() && column.path.is_empty())?;
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

/// Whether PostgreSQL knows nothing of a table that is not small.
fn is_unknown(relation: &Relation) -> bool {
    !relation.is_analysed && relation.size_bytes.is_some_and(|bytes| bytes >= SMALL_BYTES)
}

/// Whether a to-one embed filters rows of which PostgreSQL expects too few: it would begin with the embed's.
fn filters_few(embed: &EmbedRead<'_>) -> bool {
    let is_short = embed.origin.size_bytes.is_some_and(|bytes| bytes <= SHORT_BYTES_MAX);
    embed.inner && !embed.read.conditions.is_empty() && is_short && is_unknown(embed.origin)
}

fn finds_few(outer: &Relation, key: &Key, inner: &Relation) -> bool {
    let times = |bytes: u64| bytes.div_ceil(outer.size_bytes.unwrap_or(0).max(1));
    is_unknown(inner) && inner.size_bytes.is_some_and(|bytes| times(bytes) <= FEW_TIMES_MAX) && is_indexed(key, inner)
}

fn is_indexed(key: &Key, inner: &Relation) -> bool {
    key.columns.iter().any(|(_, column)| inner.indexed.contains(column))
}
