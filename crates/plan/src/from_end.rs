//! Whether rows that lie far behind the first are better found from the last on.
//!
//! PostgreSQL reads what an OFFSET passes over, and the last page of a list, to which pagers have a link, passes over nearly all. Where the
//! rows are counted too, the count says how far they are from the end: the last 50 of 10,000 with all that their page shows take PostgreSQL
//! 1.1 ms instead of 2.9, and those in the middle, which are as far from both ends, 1.8 instead of 2.0
//! (`bench/runs/2026-11-23-flightbook-from-the-end`, before that `…-planned-once`). The order must leave nothing open, so that it is the
//! same from both ends.

use crate::once_per_key;
use crate::read::{From, Order, OrderKey, Read};
use thalweg_catalog::{Relation, RelationKind};

/// Fewer rows are passed over as quickly as they are counted.
const DEEP_ROWS_MIN: i64 = 1000;
/// More are in no table: PostgreSQL is to compute with the number, and with a limit that is no larger.
const DEEP_ROWS_MAX: i64 = 1 << 48;
/// Larger windows flow at once. Found so, all their rows are kept and sorted once more before the first is returned: on disk, where they are
/// many.
const WINDOW_ROWS_MAX: i64 = 10_000;

/// Decides it for a root whose rows are counted.
pub(crate) fn choose(root: &mut Read<'_>) {
    let From::Relation(relation) = root.from else { return };
    let (Some(offset), Some(limit)) = (root.offset_rows, root.limit_rows) else { return };
    let is_deep = (DEEP_ROWS_MIN..DEEP_ROWS_MAX).contains(&offset) && limit <= offset.min(WINDOW_ROWS_MAX);
    let is_apart = root.streamed.is_none() && !root.is_grouped() && root.embeds.iter().all(|embed| !embed.inner);
    if is_deep && is_apart && is_total(relation, &root.order) {
        root.found_first = root.found_first.take().or_else(|| once_per_key::columns(root));
        root.from_end = root.found_first.is_some();
    }
}

/// Whether no two rows are equal in an order: the primary key is in it. What inherits from a table is read with it and may have the same
/// keys again; then the catalog does not call its columns never null.
fn is_total(relation: &Relation, order: &[Order<'_>]) -> bool {
    let columns = order.iter().map(|term| match &term.key {
        OrderKey::Column(column) => column.place_in(relation),
        OrderKey::Related(..) | OrderKey::Unselected(..) => None,
    });
    let Some(columns) = columns.collect::<Option<Vec<u16>>>() else { return false };
    let is_kept = matches!(relation.kind, RelationKind::Table | RelationKind::PartitionedTable);
    let is_unique = relation.primary_key.iter().all(|column| relation.columns[usize::from(*column)].never_null);
    let is_ordered = relation.primary_key.iter().all(|column| columns.contains(column));
    is_kept && !relation.primary_key.is_empty() && is_unique && is_ordered
}
