//! Whether the levels of a read are better fetched flat, one statement a level, and joined by Thalweg.
//!
//! An array of rows for each outer row costs PostgreSQL a subquery an outer row and a kilobyte of memory a value. Where
//! all rows of a level are wanted anyway, reading them once is cheaper: albums with tracks and genres of a music store
//! cost the backend 2.4 ms as arrays and 0.9 ms flat (`bench/runs/2026-11-21-shapes`). What is joined here is held in memory until the root's rows
//! come, so that only small relations are.

use crate::codec::base_type;
use crate::plan::Context;
use crate::read::{Condition, EmbedRead, Fetch, From, Read};
use thalweg_catalog::{Link, Relation, RelationKind};
use thalweg_rows::oid;

/// How large the relations below the root may be together, in bytes.
const HELD_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Lets every level below the root be fetched flat, if that pays; whether it does.
pub(crate) fn choose(context: &Context<'_>, root: &mut Read<'_>) -> bool {
    fn all_levels(embed: &mut EmbedRead<'_>) {
        embed.fetch = Fetch::Flat;
        embed.read.embeds.iter_mut().for_each(all_levels);
    }
    let pays = context.is_flat_allowed && pays(context, root);
    if pays {
        root.embeds.iter_mut().for_each(all_levels);
    }
    pays
}

/// Whether all rows of the root are read, and every level below it is small and joined by plain keys.
fn pays(context: &Context<'_>, root: &Read<'_>) -> bool {
    let whole = root.conditions.is_empty() && root.limit_rows.is_none() && root.offset_rows.is_none();
    let is_relation = matches!(root.from, From::Relation(_));
    let mut bytes = 0;
    whole
        && is_relation
        && !root.is_grouped()
        && !root.embeds.is_empty()
        && root.embeds.iter().all(|embed| fits(context, root, embed, &mut bytes))
}

fn fits(context: &Context<'_>, outer: &Read<'_>, embed: &EmbedRead<'_>, bytes: &mut u64) -> bool {
    let read = &embed.read;
    *bytes = bytes.saturating_add(embed.target.size_bytes.unwrap_or(u64::MAX));
    let plain =
        !embed.inner && !embed.spread && !read.outputs.is_empty() && !read.is_grouped() && read.knows_its_columns();
    let windowed = read.limit_rows.is_some() || read.offset_rows.is_some();
    let asks = read.conditions.iter().any(|condition| !matches!(condition, Condition::Filter { .. }));
    let related_order = outer.order.iter().any(|term| !matches!(term.key, crate::read::OrderKey::Column(_)));
    plain
        && !windowed
        && !asks
        && !related_order
        && *bytes <= HELD_BYTES_MAX
        && matches!(embed.target.kind, RelationKind::Table | RelationKind::MaterializedView)
        && same_keys(context, embed)
        && read.embeds.iter().all(|below| fits(context, read, below, bytes))
}

/// Keys are compared by their bytes: both sides must have the same type, and one in which equal values have equal
/// output forms.
fn same_keys(context: &Context<'_>, embed: &EmbedRead<'_>) -> bool {
    let Link::Key(key) = &embed.relationship.link else { return false };
    let type_of = |relation: &Relation, at: u16| base_type(context, relation.columns[usize::from(at)].type_oid);
    key.columns.iter().all(|&(of_outer, of_inner)| {
        let (of_outer, of_inner) = (type_of(embed.origin, of_outer), type_of(embed.target, of_inner));
        of_outer == of_inner && matches!(of_outer, oid::INT2 | oid::INT4 | oid::INT8 | oid::UUID)
    })
}
