//! What is embedded: joined laterally, as an array for each outer row, or once for all of them.

use crate::call::{ROW_END, ROW_START};
use crate::quote::quote;
use crate::read::{List, Scope, Search, Writer};
use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use thalweg_catalog::{Key, Link, Relation};
use thalweg_plan::{Condition, EmbedRead, Fetch, OrderKey, Output, Read, Value};
use thalweg_rows::Codec;

/// How many embeds of one query are joined so that PostgreSQL may change their order. What it takes to choose among orders
/// grows faster than their number: of 30 joins by one column it needs 2.9 s and a gigabyte.
const ORDERED_JOINS_MAX: usize = 7;
/// The same of embeds that are joined by one key of the outer level, which PostgreSQL joins with each other too.
const ORDERED_JOINS_OF_KEY_MAX: usize = 2;
/// The same of subqueries that ask if there is a row, which become joins.
const ORDERED_SEARCHES_MAX: usize = 4;

/// How PostgreSQL is kept from changing the order of joins: what has it is planned by itself.
const FENCE: &str = " OFFSET 0";

/// The joins of a query that PostgreSQL may put into any order, and what it could make such of.
#[derive(Default)]
pub(crate) struct Joins {
    joined: usize,
    by_key: HashMap<(usize, u16), usize>,
    searches: usize,
}

impl Joins {
    /// Counts an embed that is joined to one row of a level; whether it must be fenced.
    fn fences(&mut self, outer: Scope<'_>, embed: &EmbedRead<'_>) -> bool {
        let (Link::Key(key) | Link::Junction { near: key, .. }) = &embed.relationship.link else { return false };
        let column = key.columns.first().map_or(0, |&(column, _)| column);
        let of_key = self.by_key.entry((outer.number, column)).or_default();
        *of_key += 1;
        self.joined += 1;
        self.joined > ORDERED_JOINS_MAX || *of_key > ORDERED_JOINS_OF_KEY_MAX
    }

    /// Counts a subquery that asks if there is a row; whether it must be fenced.
    fn fences_search(&mut self) -> bool {
        self.searches += 1;
        self.searches > ORDERED_SEARCHES_MAX
    }
}

impl<'a> Writer<'a> {
    /// Writes a query for the rows of a level, which PostgreSQL plans by itself.
    pub(crate) fn searching(&mut self, search: Search, write: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.search, search);
        self.apart(write);
        self.search = outer;
    }

    /// Writes a query that PostgreSQL plans by itself.
    fn apart(&mut self, write: impl FnOnce(&mut Self)) {
        let outer = std::mem::take(&mut self.joins);
        write(self);
        self.joins = outer;
    }

    /// The rows of a to-many embed for one outer row, as one value.
    pub(crate) fn array(&mut self, scope: Scope<'a>, embed: &'a EmbedRead<'a>) {
        let inner = self.scope(&embed.read, Some(scope));
        let json = embed.as_json;
        self.text.push_str(match json {
            true => "(SELECT coalesce(pg_catalog.jsonb_agg(thalweg_array.o), '[]') FROM (",
            false => "ARRAY(",
        });
        let search = per_row(inner, embed);
        self.searching(search, |writer| writer.select(inner, &embed.read, List::Row { json }, Some((scope, embed))));
        self.text.push_str(if json { ") AS thalweg_array)" } else { ")" });
    }

    /// `FROM` the relation that an embed leads to, or the function that stands for it.
    pub(crate) fn related_source(&mut self, outer: Scope<'a>, inner: Scope<'a>, embed: &'a EmbedRead<'a>) {
        self.text.push_str(" FROM ");
        match &embed.relationship.link {
            Link::Function { schema, name, returns_set } => {
                self.text.push_str(if *returns_set { "" } else { ROW_START });
                self.name(schema, name);
                self.text.push('(');
                self.row_of(outer, embed.origin);
                self.text.push(')');
                self.text.push_str(if *returns_set { "" } else { ROW_END });
            }
            Link::Key(_) | Link::Junction { .. } => self.relation(embed.target),
        }
        self.text.push_str(" AS ");
        self.table(inner);
    }

    pub(crate) fn joins(&mut self, scope: Scope<'a>, read: &'a Read<'a>, returning: bool) {
        let asked_for = asked_for(read);
        for (index, embed) in read.embeds.iter().enumerate() {
            let decides = embed.inner || asked_for.contains(&index);
            let is_lifted = embed.spread && !embed.read.outputs.is_empty();
            if embed.is_to_one() && (decides || returning) {
                self.text.push_str(if embed.inner { " INNER JOIN LATERAL (" } else { " LEFT JOIN LATERAL (" });
                self.join_to_one(scope, read, index, returning);
            } else if embed.fetch == Fetch::OncePerKey && returning {
                // what is found for the kept rows comes after them
                if read.found_first.is_none() || self.kept.is_some() {
                    self.searching(Search::Free, |writer| writer.join_once_per_key(scope, read, index));
                }
                continue;
            } else if is_lifted && !embed.is_to_one() && returning {
                self.text.push_str(" LEFT JOIN LATERAL (");
                self.join_to_many(scope, read, index);
            } else {
                continue;
            }
            self.text.push_str(") AS ");
            self.embed_alias(scope, index);
            self.text.push_str(" ON TRUE");
        }
    }

    fn join_to_one(&mut self, outer: Scope<'a>, read: &'a Read<'a>, index: usize, returning: bool) {
        let embed = &read.embeds[index];
        let inner = self.scope(&embed.read, Some(outer));
        let is_found_by_row = embed.by_link && self.search == Search::ByLink(outer.number);
        let is_fenced = self.joins.fences(outer, embed) || is_found_by_row;
        if is_fenced {
            self.apart(|writer| writer.joined_to_one(outer, inner, read, index, returning));
        } else {
            self.joined_to_one(outer, inner, read, index, returning);
        }
        if is_fenced && embed.read.offset_rows.is_none() {
            self.text.push_str(FENCE);
        }
    }

    fn joined_to_one(&mut self, outer: Scope<'a>, inner: Scope<'a>, read: &'a Read<'a>, index: usize, returning: bool) {
        let embed = &read.embeds[index];
        if !returning {
            self.text.push_str("SELECT TRUE AS found");
            self.related(outer, inner, embed);
            return;
        }
        let by = |key: &OrderKey<'_>| match key {
            OrderKey::Related(of, at, _) if *of == index => Some(*at),
            _ => None,
        };
        let mut ordered_by: Vec<usize> = read.order.iter().filter_map(|term| by(&term.key)).collect();
        ordered_by.sort_unstable();
        ordered_by.dedup();
        let list = List::Joined { lifted: embed.spread, json: embed.as_json, ordered_by: &ordered_by };
        self.select(inner, &embed.read, list, Some((outer, embed)));
    }

    /// The rows of a to-many spread for one outer row, an array for each output; in binary where PostgreSQL can
    /// aggregate it so.
    fn join_to_many(&mut self, outer: Scope<'a>, read: &'a Read<'a>, index: usize) {
        let embed = &read.embeds[index];
        let inner = self.scope(&embed.read, Some(outer));
        self.text.push_str("SELECT ");
        self.arrays(read, index, "thalweg_array");
        self.text.push_str(" FROM (");
        let list = List::Joined { lifted: true, json: true, ordered_by: &[] };
        let search = per_row(inner, embed);
        self.searching(search, |writer| writer.select(inner, &embed.read, list, Some((outer, embed))));
        self.text.push_str(") AS thalweg_array");
    }

    /// An array for each output of a to-many spread, in binary where the outer level expects it so.
    fn arrays(&mut self, read: &'a Read<'a>, index: usize, from: &str) {
        let lifted = lifted_arrays(read, index);
        for at in 0..read.embeds[index].read.outputs.len() {
            self.text.push_str(if at == 0 { "" } else { ", " });
            let (aggregate, none) = if lifted.contains(&at) { ("array_agg", "{}") } else { ("json_agg", "[]") };
            let _ = write!(self.text, "coalesce(pg_catalog.{aggregate}({from}.c{at}), '{none}') AS c{at}");
        }
    }

    /// The rows of a to-many embed for all outer rows at once, an array of rows for each value of the key. They are
    /// sorted by the key first, which costs less than to look for the array of each.
    fn join_once_per_key(&mut self, outer: Scope<'a>, read: &'a Read<'a>, index: usize) {
        let embed = &read.embeds[index];
        let Link::Key(key) = &embed.relationship.link else { return };
        let inner = self.scope(&embed.read, Some(outer));
        let of_inner = |&(_, at): &(u16, u16)| &*embed.target.columns[usize::from(at)].name;
        let of_outer = |&(at, _): &(u16, u16)| &*embed.origin.columns[usize::from(at)].name;
        let number = inner.number;
        self.text.push_str(" LEFT JOIN (SELECT ");
        for place in 0..key.columns.len() {
            let _ = write!(self.text, "thalweg_s{number}.k{place}, ");
        }
        if embed.spread {
            self.arrays(read, index, &format!("thalweg_s{number}"));
        } else {
            let _ = write!(self.text, "pg_catalog.array_agg(thalweg_s{number}.o) AS o");
        }
        self.text.push_str(" FROM (SELECT ");
        for (place, pair) in key.columns.iter().enumerate() {
            self.named(inner, of_inner(pair));
            let _ = write!(self.text, " AS k{place}, ");
        }
        if embed.spread {
            self.list(inner, &embed.read, List::Joined { lifted: true, json: true, ordered_by: &[] }, None);
        } else {
            self.list(inner, &embed.read, List::Row { json: false }, None);
            self.text.push_str(" AS o");
        }
        self.from(inner, &embed.read, true);
        let mut before = " WHERE ";
        if read.found_first.is_some() {
            for (place, pair) in key.columns.iter().enumerate() {
                self.text.push_str(if place == 0 { " WHERE (" } else { ", " });
                self.named(inner, of_inner(pair));
            }
            for (place, pair) in key.columns.iter().enumerate() {
                self.text.push_str(if place == 0 { ") IN (SELECT " } else { ", " });
                quote(&mut self.text, of_outer(pair));
            }
            self.text.push_str(" FROM thalweg_root)");
            before = " AND ";
        }
        self.conditions(inner, &embed.read, before);
        for (place, pair) in key.columns.iter().enumerate() {
            self.text.push_str(if place == 0 { " ORDER BY " } else { ", " });
            self.named(inner, of_inner(pair));
        }
        self.order_after_others(inner, &embed.read);
        // of equals the order is as the primary key has it, if that is read anyway
        for &at in embed.target.primary_key.iter().filter(|_| selects_key(embed)) {
            self.text.push_str(", ");
            self.named(inner, &embed.target.columns[usize::from(at)].name);
        }
        let _ = write!(self.text, ") AS thalweg_s{number}");
        for place in 0..key.columns.len() {
            self.text.push_str(if place == 0 { " GROUP BY " } else { ", " });
            let _ = write!(self.text, "{}", place + 1);
        }
        self.text.push_str(") AS ");
        self.embed_alias(outer, index);
        for (place, pair) in key.columns.iter().enumerate() {
            self.text.push_str(if place == 0 { " ON " } else { " AND " });
            self.embed_alias(outer, index);
            let _ = write!(self.text, ".k{place} = ");
            self.named(outer, of_outer(pair));
        }
    }

    /// Whether an embed of a level finds a row.
    pub(crate) fn exists(&mut self, outer: Scope<'a>, embed: &'a EmbedRead<'a>) {
        let inner = self.scope(&embed.read, Some(outer));
        self.text.push_str("EXISTS (SELECT 1");
        let is_fenced = self.joins.fences_search();
        self.searching(Search::ByConditions(inner.number), |writer| writer.related(outer, inner, embed));
        if is_fenced && embed.read.offset_rows.is_none() {
            self.text.push_str(FENCE);
        }
        self.text.push(')');
    }

    /// `FROM … WHERE …` of an embed, of which only its rows' existence matters.
    fn related(&mut self, outer: Scope<'a>, inner: Scope<'a>, embed: &'a EmbedRead<'a>) {
        self.related_source(outer, inner, embed);
        self.joins(inner, &embed.read, false);
        self.linked(outer, inner, embed);
        self.window(&embed.read);
    }

    /// The condition that links an embed's rows to the outer row, and the embed's own.
    pub(crate) fn linked(&mut self, outer: Scope<'a>, inner: Scope<'a>, embed: &'a EmbedRead<'a>) {
        let before = match &embed.relationship.link {
            Link::Key(key) => {
                // what it is compared to would be looked for in the outer level's own index
                let filters = embed.inner && embed.is_to_one() && !embed.read.conditions.is_empty();
                let competes = filters && !embed.by_link && self.search == Search::ByLink(outer.number);
                let side = if competes { Side::Hidden } else { Side::Plain };
                self.equal(" WHERE ", key, (outer, embed.origin, side), (inner, embed.target));
                " AND "
            }
            Link::Junction { near, far, .. } => {
                if let Some(between) = embed.junction {
                    let through = Scope { name: "thalweg_junction", ..inner };
                    self.text.push_str(", ");
                    self.relation(between);
                    self.text.push_str(" AS ");
                    self.table(through);
                    self.equal(" WHERE ", near, (outer, embed.origin, Side::Plain), (through, between));
                    let side = if self.search == Search::ByLink(inner.number) { Side::Listed } else { Side::Plain };
                    self.equal(" AND ", far, (through, between, side), (inner, embed.target));
                }
                " AND "
            }
            Link::Function { .. } => " WHERE ",
        };
        self.conditions(inner, &embed.read, before);
    }

    /// The columns of a key, equal on both sides.
    fn equal(
        &mut self,
        before: &str,
        key: &Key,
        (outer, origin, side): (Scope<'a>, &'a Relation, Side),
        (inner, target): (Scope<'a>, &'a Relation),
    ) {
        for (place, &(a, b)) in key.columns.iter().enumerate() {
            self.text.push_str(if place == 0 { before } else { " AND " });
            self.named(inner, &target.columns[usize::from(b)].name);
            self.text.push_str(" = ");
            let column = &*origin.columns[usize::from(a)].name;
            match side {
                Side::Hidden if origin.has_index_of_many(a) => self.hidden(|writer| writer.named(outer, column)),
                Side::Hidden | Side::Plain => self.named(outer, column),
                Side::Listed => {
                    self.text.push_str("ANY(ARRAY[");
                    self.named(outer, column);
                    self.text.push_str("])");
                }
            }
        }
    }

    /// Writes a value so that PostgreSQL looks for it in no index.
    pub(crate) fn hidden(&mut self, value: impl Fn(&mut Self)) {
        self.text.push_str("COALESCE(");
        value(self);
        self.text.push_str(", ");
        value(self);
        self.text.push(')');
    }
}

/// How the outer side of a key is written.
#[derive(Clone, Copy)]
enum Side {
    Plain,
    /// So that what the inner side is compared to is not looked for in an index of the outer one.
    Hidden,
    /// So that the inner side is looked for in its index for each outer row, and not hashed as a whole.
    Listed,
}

/// How the rows of an array are looked for.
fn per_row(inner: Scope<'_>, embed: &EmbedRead<'_>) -> Search {
    if embed.by_link { Search::ByLink(inner.number) } else { Search::Free }
}

/// The outputs of a to-many spread that the outer level expects as arrays in binary, and not as JSON.
fn lifted_arrays(read: &Read<'_>, index: usize) -> HashSet<usize> {
    let array = |output: &Output<'_>| match output.value {
        Value::Lifted(of, at) if of == index && matches!(output.codec, Codec::Values(_)) => Some(at),
        _ => None,
    };
    if read.embeds[index].as_json { HashSet::new() } else { read.outputs.iter().filter_map(array).collect() }
}

/// Whether an embed returns all columns of its relation's primary key.
fn selects_key(embed: &EmbedRead<'_>) -> bool {
    let selected = |name: &str| {
        embed.read.outputs.iter().any(|output| {
            matches!(&output.value, Value::Column { column, .. } if *column.name == *name && column.computed.is_none())
        })
    };
    embed.target.primary_key.iter().all(|&at| selected(&embed.target.columns[usize::from(at)].name))
}

/// The embeds of which a condition of the level asks if they find a row.
fn asked_for(read: &Read<'_>) -> HashSet<usize> {
    fn within(condition: &Condition<'_>, found: &mut HashSet<usize>) {
        match condition {
            Condition::Found(of, _) => _ = found.insert(*of),
            Condition::Group { children, .. } => children.iter().for_each(|child| within(child, found)),
            Condition::Filter { .. } => {}
        }
    }
    let mut found = HashSet::new();
    if !read.embeds.is_empty() {
        read.conditions.iter().for_each(|condition| within(condition, &mut found));
    }
    found
}
