//! Statements that read.

use crate::Statement;
use crate::quote::quote;
use std::borrow::Cow;
use std::fmt::Write;
use std::sync::Arc;
use thalweg_catalog::Relation;
use thalweg_plan::{EmbedRead, OrderKey, Output, Plan, Read, Source};
use thalweg_rows::{Codec, Field, Scalar, Shape, oid};

/// The statement for a plan's rows.
///
/// A row that is related to-one is joined laterally, which PostgreSQL flattens into a plain join. Rows that
/// are related to-many come as an array of rows, built by a subquery for each outer row.
pub fn rows<'a>(plan: &'a Plan<'a>) -> Statement<'a> {
    let mut writer = Writer::new();
    writer.select(&plan.read);
    Statement { text: writer.text, params: writer.params, shape: plan.shape() }
}

/// The statement that counts the rows that [`rows`] would return, without returning them. It evaluates the
/// same expressions as far as PostgreSQL checks them, so that what is wrong with one is wrong with the other.
pub fn head<'a>(plan: &'a Plan<'a>) -> Statement<'a> {
    let mut writer = Writer::new();
    writer.text.push_str("SELECT count(*) FROM (");
    writer.select(&plan.read);
    writer.text.push_str(") AS \"rows\"");
    Statement { text: writer.text, params: writer.params, shape: one_count() }
}

/// The statement that counts the rows that satisfy a plan's conditions, whatever its windows.
pub fn count<'a>(plan: &'a Plan<'a>) -> Statement<'a> {
    let mut writer = Writer::new();
    let scope = writer.scope(&plan.read);
    writer.text.push_str("SELECT count(*)");
    writer.from(scope, &plan.read, false);
    writer.conditions(scope, &plan.read, " WHERE ");
    Statement { text: writer.text, params: writer.params, shape: one_count() }
}

fn one_count() -> Shape {
    Shape { fields: vec![Field { name: Arc::from("count"), codec: Codec::Scalar(Scalar::Int8), type_oid: oid::INT8 }] }
}

pub(crate) struct Writer<'a> {
    pub(crate) text: String,
    pub(crate) params: Vec<Cow<'a, str>>,
    next: usize,
}

/// The aliases of a level: of its relation, by name and number, and of its embeds, by number.
///
/// The root's relation goes by its own name, as it will stand in the database's messages; the number of every other
/// is appended to its name. No two are equal, since the root's gets its number too where it ends like one.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    name: &'a str,
    number: usize,
    /// Whether the number stands behind the name.
    numbered: bool,
    embeds: usize,
}

/// PostgreSQL cuts names at 63 bytes, which would take the number off a longer one.
const NUMBERED_NAME_BYTES_MAX: usize = 50;

/// What most statements have room in, in bytes.
const TEXT_BYTES: usize = 512;

impl<'a> Writer<'a> {
    pub(crate) fn new() -> Self {
        Self { text: String::with_capacity(TEXT_BYTES), params: Vec::new(), next: 0 }
    }

    pub(crate) fn param(&mut self, value: Cow<'a, str>) {
        self.params.push(value);
        self.text.push('$');
        self.text.push_str(itoa::Buffer::new().format(self.params.len()));
    }

    /// Writes the name by which a level's relation goes.
    pub(crate) fn table(&mut self, scope: Scope<'a>) {
        if scope.number > 0 && scope.name.len() > NUMBERED_NAME_BYTES_MAX {
            let _ = write!(self.text, "thalweg_t{}", scope.number);
            return;
        }
        quote(&mut self.text, scope.name);
        if scope.numbered {
            self.text.pop();
            let _ = write!(self.text, "_{}\"", scope.number);
        }
    }

    /// Writes the name by which the join of an embed goes.
    pub(crate) fn embed_alias(&mut self, scope: Scope<'a>, index: usize) {
        let _ = write!(self.text, "thalweg_e{}", scope.embeds + index);
    }

    pub(crate) fn scope(&mut self, read: &'a Read<'a>) -> Scope<'a> {
        let number = self.next;
        self.next += 1 + read.embeds.len();
        let name: &str = &read.relation.name;
        let ends_like_one = name.trim_end_matches(|c: char| c.is_ascii_digit()).ends_with('_');
        Scope { name, number, numbered: number > 0 || ends_like_one, embeds: number + 1 }
    }

    fn select(&mut self, read: &'a Read<'a>) {
        let scope = self.scope(read);
        self.text.push_str("SELECT ");
        self.outputs(scope, read);
        self.from(scope, read, true);
        self.conditions(scope, read, " WHERE ");
        self.order(scope, &read.order);
        self.window(read);
    }

    fn outputs(&mut self, scope: Scope<'a>, read: &'a Read<'a>) {
        for (at, output) in read.outputs.iter().enumerate() {
            if at > 0 {
                self.text.push_str(", ");
            }
            self.output(scope, read, output);
        }
    }

    pub(crate) fn output(&mut self, scope: Scope<'a>, read: &'a Read<'a>, output: &'a Output<'a>) {
        if output.to_json {
            self.text.push_str("to_json(");
        }
        self.value(scope, read, output);
        if output.to_json {
            self.text.push(')');
        }
    }

    /// An output as it is in the database, before any conversion to JSON.
    fn value(&mut self, scope: Scope<'a>, read: &'a Read<'a>, output: &'a Output<'a>) {
        match &output.source {
            Source::Column(column, None) => self.column(scope, column),
            Source::Column(column, Some(cast)) => {
                self.text.push_str("CAST(");
                self.column(scope, column);
                self.text.push_str(" AS ");
                self.text.push_str(cast);
                self.text.push(')');
            }
            Source::Embed(index) if read.embeds[*index].is_to_one() => {
                self.embed_alias(scope, *index);
                self.text.push_str(".\"row\"");
            }
            Source::Embed(index) => {
                self.text.push_str("ARRAY(");
                self.related(scope, &read.embeds[*index], true);
                self.text.push(')');
            }
            Source::Spread(index, at) => {
                self.embed_alias(scope, *index);
                let _ = write!(self.text, ".\"c{at}\"");
            }
        }
    }

    /// `FROM` the level's relation and whatever its to-one embeds need; for rows those that are returned,
    /// else only those that decide which rows there are.
    pub(crate) fn from(&mut self, scope: Scope<'a>, read: &'a Read<'a>, returning: bool) {
        self.text.push_str(" FROM ");
        self.relation(read.relation);
        self.text.push_str(" AS ");
        self.table(scope);
        self.joins(scope, read, returning);
    }

    fn joins(&mut self, scope: Scope<'a>, read: &'a Read<'a>, returning: bool) {
        for (index, embed) in read.embeds.iter().enumerate() {
            let decides = embed.inner || mentions(read, index);
            if !embed.is_to_one() || !(decides || returning) {
                continue;
            }
            self.text.push_str(if embed.inner {
                " INNER JOIN LATERAL (SELECT "
            } else {
                " LEFT JOIN LATERAL (SELECT "
            });
            self.join_to_one(scope, read, index, returning);
            self.text.push_str(") AS ");
            self.embed_alias(scope, index);
            self.text.push_str(" ON TRUE");
        }
    }

    fn join_to_one(&mut self, outer: Scope<'a>, read: &'a Read<'a>, index: usize, returning: bool) {
        let embed = &read.embeds[index];
        let inner = self.scope(&embed.read);
        self.text.push_str("TRUE AS \"found\"");
        if returning {
            if embed.spread {
                for (at, output) in embed.read.outputs.iter().enumerate() {
                    self.text.push_str(", ");
                    self.output(inner, &embed.read, output);
                    let _ = write!(self.text, " AS \"c{at}\"");
                }
            } else if !embed.read.outputs.is_empty() {
                self.text.push_str(", ROW(");
                self.outputs(inner, &embed.read);
                self.text.push_str(") AS \"row\"");
            }
            for term in &read.order {
                if let OrderKey::Related(of, at, _) = term.key
                    && of == index
                {
                    self.text.push_str(", ");
                    self.value(inner, &embed.read, &embed.read.outputs[at]);
                    let _ = write!(self.text, " AS \"o{at}\"");
                }
            }
        }
        self.from(inner, &embed.read, returning);
        self.linked(outer, inner, embed);
        self.window(&embed.read);
    }

    /// The rows of a to-many embed for one outer row: as rows, or just `FROM` on for a test of existence.
    pub(crate) fn related(&mut self, outer: Scope<'a>, embed: &'a EmbedRead<'a>, returning: bool) {
        let inner = self.scope(&embed.read);
        if returning {
            self.text.push_str("SELECT ROW(");
            self.outputs(inner, &embed.read);
            self.text.push(')');
        }
        self.from(inner, &embed.read, returning);
        self.linked(outer, inner, embed);
        if returning {
            self.order(inner, &embed.read.order);
        }
        self.window(&embed.read);
    }

    /// The condition that links an embed's rows to the outer row, and the embed's own.
    fn linked(&mut self, outer: Scope<'a>, inner: Scope<'a>, embed: &'a EmbedRead<'a>) {
        let relationship = embed.relationship;
        if let (Some(junction), Some(between)) = (&relationship.junction, embed.junction) {
            // The junction joins in front of the condition; its alias shares the level's number.
            self.text.push_str(" INNER JOIN ");
            self.relation(between);
            let _ = write!(self.text, " AS thalweg_j{} ON ", inner.number);
            for (at, &(from, to)) in junction.columns.iter().enumerate() {
                self.text.push_str(if at == 0 { "" } else { " AND " });
                let _ = write!(self.text, "thalweg_j{}.", inner.number);
                quote(&mut self.text, &between.columns[usize::from(from)].name);
                self.text.push_str(" = ");
                self.table(inner);
                self.text.push('.');
                quote(&mut self.text, &embed.read.relation.columns[usize::from(to)].name);
            }
        }
        let relation = embed.junction.unwrap_or(embed.read.relation);
        for (at, (&of_outer, &(_, of_inner))) in embed.origin_columns.iter().zip(&relationship.columns).enumerate() {
            self.text.push_str(if at == 0 { " WHERE " } else { " AND " });
            match embed.junction {
                Some(_) => _ = write!(self.text, "thalweg_j{}", inner.number),
                None => self.table(inner),
            }
            self.text.push('.');
            quote(&mut self.text, &relation.columns[usize::from(of_inner)].name);
            self.text.push_str(" = ");
            self.table(outer);
            self.text.push('.');
            quote(&mut self.text, of_outer);
        }
        self.conditions(inner, &embed.read, " AND ");
    }

    fn window(&mut self, read: &Read<'_>) {
        for (word, rows) in [(" LIMIT ", read.limit_rows), (" OFFSET ", read.offset_rows)] {
            if let Some(rows) = rows {
                self.text.push_str(word);
                self.param(Cow::Owned(rows.to_string()));
            }
        }
    }

    fn relation(&mut self, relation: &Relation) {
        quote(&mut self.text, &relation.schema);
        self.text.push('.');
        quote(&mut self.text, &relation.name);
    }
}

/// Whether a condition of the level asks if the embed finds a row.
fn mentions(read: &Read<'_>, index: usize) -> bool {
    fn within(condition: &thalweg_plan::Condition<'_>, index: usize) -> bool {
        match condition {
            thalweg_plan::Condition::Found(of, _) => *of == index,
            thalweg_plan::Condition::Group { children, .. } => children.iter().any(|child| within(child, index)),
            thalweg_plan::Condition::Filter { .. } => false,
        }
    }
    read.conditions.iter().any(|condition| within(condition, index))
}
