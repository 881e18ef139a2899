//! Whether the rows of an embed are better found once for all outer rows than for each of them, and the outer rows before what is
//! embedded in them.
//!
//! Arrays of rows that are made for each outer row cost a search each, and without an index on the key a search reads
//! the whole relation. Found once, grouped by the key and joined, 200,000 rows cost the backend 131 ms instead of 199,
//! and 133 ms instead of more than 20 s where there is no index; sorted before they are grouped, 85 ms; for 1,000 of 100,000 outer rows without an index,
//! 11 ms instead of 4.3 s, but 10 ms instead of 1.6 with one (`bench/runs/2026-11-21-embeds`).
//!
//! Of rows that are passed over nothing needs to be found: the last 50 of 10,000 with three embeds to one take 1.2 ms instead of 7, the
//! second 50 take 0.19 instead of 0.32. Nor of rows that are sorted and then left out, as they are where no index has the order, or where
//! PostgreSQL does not know that there are many: the first 50 of 10,000 take 8 ms instead of 37 on tables that were never analysed, and as
//! long as before on those that were.

use crate::read::{ColumnRef, EmbedRead, Fetch, From, OrderKey, Read, Value};
use thalweg_catalog::Link;

/// Relations smaller than this are read as quickly as an index, in bytes.
const SMALL_BYTES: u64 = 16 * 1024;
/// Windows larger than this are likely to be most of what there is, in rows: of 200 flights all 200 take 0.03 ms longer.
const WINDOW_ROWS_MAX: i64 = 100;
/// Relations larger than this are not sorted as a whole where there is an index: rows flow at once. In bytes.
const LARGE_BYTES: u64 = 64 * 1024 * 1024;

/// Marks the embeds of the root that are to be found once.
pub(crate) fn choose(root: &mut Read<'_>) {
    if !matches!(root.from, From::Relation(_)) || root.is_grouped() {
        return;
    }
    let has_window = root.limit_rows.is_some() || root.offset_rows.is_some();
    if root.conditions.is_empty() && !has_window && root.embeds.iter().all(|embed| !embed.inner) {
        root.embeds.iter_mut().for_each(all_levels);
        return;
    }
    if leaves_out(root) || root.embeds.iter().any(|embed| can(embed) && !is_indexed(embed)) {
        root.found_first = columns(root);
    }
    if root.found_first.is_some() {
        for embed in root.embeds.iter_mut().filter(|embed| can(embed) && !is_indexed(embed)) {
            embed.fetch = Fetch::OncePerKey;
        }
    }
}

/// Whether rows are left out that would be joined with others, and none of these decide which rows there are, or in which order.
fn leaves_out(root: &Read<'_>) -> bool {
    let has_own_order = root.order.iter().all(|term| matches!(term.key, OrderKey::Column(_)));
    let passes_over = root.offset_rows.is_some_and(|rows| rows > 0);
    let sorts_first = !root.order.is_empty() && root.limit_rows.is_some_and(|rows| rows <= WINDOW_ROWS_MAX);
    (passes_over || sorts_first)
        && has_own_order
        && !root.embeds.is_empty()
        && root.embeds.iter().all(|embed| !embed.inner)
}

/// The columns of the rows that outputs, orders and embeds need; `None` where something needs a whole row, or a column
/// that the catalog does not know.
pub(crate) fn columns<'a>(root: &Read<'a>) -> Option<Vec<&'a str>> {
    let plain = |column: &ColumnRef<'a>| (column.known && column.computed.is_none()).then_some(column.name);
    let mut columns = Vec::new();
    for output in &root.outputs {
        match &output.value {
            Value::Column { column, .. } => columns.push(plain(column)?),
            Value::Embed(_) | Value::Found(..) | Value::Lifted(..) => {}
            Value::Row | Value::Scalar => return None,
        }
    }
    for term in &root.order {
        match &term.key {
            OrderKey::Column(column) => columns.push(plain(column)?),
            OrderKey::Related(..) | OrderKey::Unselected(..) => {}
        }
    }
    for embed in &root.embeds {
        let (Link::Key(key) | Link::Junction { near: key, .. }) = &embed.relationship.link else { return None };
        columns.extend(key.columns.iter().map(|(column, _)| &*embed.origin.columns[usize::from(*column)].name));
    }
    columns.sort_unstable();
    columns.dedup();
    Some(columns)
}

/// Where all outer rows are wanted, so are all inner ones, level by level.
fn all_levels(embed: &mut EmbedRead<'_>) {
    let fits = embed.target.size_bytes.is_some_and(|bytes| (SMALL_BYTES..=LARGE_BYTES).contains(&bytes));
    if can(embed) && (fits || !is_indexed(embed)) {
        embed.fetch = Fetch::OncePerKey;
        embed.read.embeds.iter_mut().for_each(all_levels);
    }
}

/// Whether the rows are linked by a key, and all of them are wanted.
fn can(embed: &EmbedRead<'_>) -> bool {
    let read = &embed.read;
    !embed.is_to_one()
        && !embed.as_json
        && matches!(embed.relationship.link, Link::Key(_))
        && read.limit_rows.is_none()
        && read.offset_rows.is_none()
        && !read.outputs.is_empty()
        && !read.is_grouped()
        && read.knows_its_columns()
}

/// Whether the rows of one outer row can be found without reading all. What is known of views is not enough to say.
fn is_indexed(embed: &EmbedRead<'_>) -> bool {
    let Link::Key(key) = &embed.relationship.link else { return true };
    !embed.target.kind.is_plain()
        || embed.target.size_bytes.is_none_or(|bytes| bytes < SMALL_BYTES)
        || key.columns.iter().any(|(_, column)| embed.target.indexed.contains(column))
}
