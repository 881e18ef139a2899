//! Statements that read.

use crate::embed::Joins;
use crate::quote::quote;
use crate::{Param, Statement};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::sync::Arc;
use thalweg_catalog::Relation;
use thalweg_plan::{Abridged, EmbedRead, Fetch, From, Media, OrderKey, Output, Plan, Read, Streamed, Value};
use thalweg_rows::{Codec, Field, Scalar, Shape, oid};

/// The statement for a plan's rows.
///
/// A row that is related to-one is joined laterally, which PostgreSQL flattens into a plain join. Rows that
/// are related to-many come as an array of rows, built by a subquery for each outer row.
pub fn rows<'a>(plan: &'a Plan<'a>) -> Statement<'a> {
    let mut writer = Writer::new();
    writer.explain(plan);
    writer.main(plan);
    Statement { text: writer.text, params: writer.params, shape: plan.shape() }
}

/// The statement that counts the rows of a call that satisfy the conditions, and those that [`rows`] would return; it
/// runs the function once.
pub fn head_and_total<'a>(plan: &'a Plan<'a>) -> Statement<'a> {
    let mut writer = Writer::new();
    writer.kept_call(plan);
    writer.text.push_str("SELECT thalweg_total.n, (SELECT pg_catalog.count(*) FROM (");
    writer.level(&plan.read, List::Keys);
    writer.text.push_str(") AS \"rows\") FROM (");
    writer.total(" AS n", plan);
    writer.text.push_str(") AS thalweg_total");
    Statement { text: writer.text, params: writer.params, shape: one_count() }
}

/// The statement for the rows and the total of those that satisfy the conditions: of a call, which runs the function
/// once, or of rows that are found from the last on. Two columns come before those of a row: the total, and whether there is a row.
pub fn rows_and_total<'a>(plan: &'a Plan<'a>) -> Statement<'a> {
    let mut writer = Writer::new();
    if plan.read.from_end {
        writer.counted(plan);
        writer.text.push_str("SELECT thalweg_total.n, thalweg_page.* FROM thalweg_total");
    } else {
        writer.kept_call(plan);
        writer.text.push_str("SELECT thalweg_total.n, thalweg_page.* FROM (");
        writer.total(" AS n", plan);
        writer.text.push_str(") AS thalweg_total");
    }
    writer.text.push_str(" LEFT JOIN (SELECT TRUE AS found, thalweg_rows.* FROM (");
    writer.main(plan);
    writer.text.push_str(") AS thalweg_rows) AS thalweg_page ON TRUE");
    Statement { text: writer.text, params: writer.params, shape: plan.shape() }
}

/// The statement that counts the rows that [`rows`] would return, without returning them. It evaluates the
/// same expressions as far as PostgreSQL checks them, so that what is wrong with one is wrong with the other; and all
/// of them where one may set the response's headers.
pub fn head<'a>(plan: &'a Plan<'a>) -> Statement<'a> {
    let mut writer = Writer::new();
    let counted = if plan.response_is_set { "\"rows\"" } else { "*" };
    let _ = write!(writer.text, "SELECT pg_catalog.count({counted}) FROM (");
    writer.level(&plan.read, List::Keys);
    writer.text.push_str(") AS \"rows\"");
    Statement { text: writer.text, params: writer.params, shape: one_count() }
}

/// The statement that counts the rows that satisfy a plan's conditions, whatever its windows, up to a number. If the plan
/// has aggregates, the groups of these rows are counted.
pub fn count<'a>(plan: &'a Plan<'a>, rows_max: Option<u64>) -> Statement<'a> {
    let mut writer = Writer::new();
    match rows_max {
        None => writer.total("", plan),
        Some(rows_max) => {
            writer.text.push_str("SELECT pg_catalog.count(*) FROM (");
            writer.all(plan);
            writer.text.push_str(" LIMIT ");
            writer.param(Cow::Owned(rows_max.to_string()));
            writer.text.push_str(") AS \"rows\"");
        }
    }
    Statement { text: writer.text, params: writer.params, shape: one_count() }
}

/// The statement that tells how many rows the planner expects to satisfy a plan's conditions.
pub fn estimate<'a>(plan: &'a Plan<'a>) -> Statement<'a> {
    let mut writer = Writer::new();
    writer.text.push_str("EXPLAIN (FORMAT JSON) ");
    writer.all(plan);
    let field = Field { name: Arc::from("QUERY PLAN"), codec: Codec::Output, type_oid: 0 };
    Statement { text: writer.text, params: writer.params, shape: Shape { fields: vec![field] } }
}

fn one_count() -> Shape {
    Shape { fields: vec![Field { name: Arc::from("count"), codec: Codec::Scalar(Scalar::Int8), type_oid: oid::INT8 }] }
}

pub(crate) struct Writer<'a> {
    pub(crate) text: String,
    pub(crate) params: Vec<Param<'a>>,
    /// The keys of JSON paths among the parameters: the same key is the same parameter, so that PostgreSQL can tell
    /// that two expressions are equal.
    pub(crate) path_keys: HashMap<&'a str, usize>,
    /// The name by which the statement keeps the root's rows, once it does.
    pub(crate) kept: Option<&'static str>,
    /// What PostgreSQL has to put into an order by now.
    pub(crate) joins: Joins,
    /// The level whose rows are being looked for.
    pub(crate) search: Search,
    next: usize,
}

/// How the rows of the level with a number are looked for, which may have to be said to PostgreSQL.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Search {
    /// As it thinks best.
    #[default]
    Free,
    /// For each outer row by the key that links them, and not by what has another index.
    ByLink(usize),
    /// For all outer rows, by what their conditions leave.
    ByConditions(usize),
}

/// The aliases of a level: of its relation, by name and depth, and of its embeds, by number.
///
/// The root's relation goes by its own name, as it will stand in the database's messages; to every other name its depth
/// is appended. Of those that can be seen from one place no two are equal, since the root's gets its depth too where it
/// ends like one.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub(crate) name: &'a str,
    pub(crate) depth: usize,
    pub(crate) number: usize,
}

/// How the select list of a level is written.
#[derive(Clone, Copy)]
pub(crate) enum List<'l> {
    /// A column for each output, as it travels.
    Columns,
    /// A column for each output, by its key, as it is in the database.
    Keys,
    /// All outputs as one value: a row, or a JSON object.
    Row {
        /// Whether it is an object.
        json: bool,
    },
    /// What a level is joined as: that it was found, its outputs, and what the outer level is ordered by.
    Joined {
        /// Whether the outputs are columns, and not one value.
        lifted: bool,
        /// Whether they become part of JSON that PostgreSQL writes.
        json: bool,
        /// The outputs that the outer level is ordered by.
        ordered_by: &'l [usize],
    },
}

/// PostgreSQL cuts names at 63 bytes, which would take the number off a longer one.
const NUMBERED_NAME_BYTES_MAX: usize = 50;

/// No limit, which PostgreSQL does not see: it expects a tenth of the rows to be wanted, and of that a tenth where there is
/// a second one outside.
const TENTH: &str = " LIMIT (SELECT NULL::pg_catalog.int8)";

/// What most statements have room in, in bytes.
const TEXT_BYTES: usize = 512;

impl<'a> Writer<'a> {
    pub(crate) fn new() -> Self {
        Self {
            text: String::with_capacity(TEXT_BYTES),
            params: Vec::new(),
            path_keys: HashMap::new(),
            kept: None,
            joins: Joins::default(),
            search: Search::Free,
            next: 0,
        }
    }

    pub(crate) fn param(&mut self, value: Cow<'a, str>) {
        self.param_of(Param::Text(value));
    }

    pub(crate) fn param_of(&mut self, param: Param<'a>) {
        self.params.push(param);
        self.text.push('$');
        self.text.push_str(itoa::Buffer::new().format(self.params.len()));
    }

    /// Writes the name by which a level's relation goes.
    pub(crate) fn table(&mut self, scope: Scope<'a>) {
        if scope.depth > 0 && scope.name.len() > NUMBERED_NAME_BYTES_MAX {
            let _ = write!(self.text, "thalweg_t{}", scope.number);
            return;
        }
        let ends_like_one = || scope.name.trim_end_matches(|c: char| c.is_ascii_digit()).ends_with('_');
        quote(&mut self.text, scope.name);
        if scope.depth > 0 || ends_like_one() {
            self.text.pop();
            let _ = write!(self.text, "_{}\"", scope.depth);
        }
    }

    /// Writes a column of a level by its name.
    pub(crate) fn named(&mut self, scope: Scope<'a>, column: &str) {
        self.table(scope);
        self.text.push('.');
        quote(&mut self.text, column);
    }

    /// Writes the name by which the join of an embed goes.
    pub(crate) fn embed_alias(&mut self, scope: Scope<'a>, index: usize) {
        let _ = write!(self.text, "thalweg_e{}", scope.number + 1 + index);
    }

    /// The aliases of a level, below another or the root.
    pub(crate) fn scope(&mut self, read: &'a Read<'a>, outer: Option<Scope<'a>>) -> Scope<'a> {
        let number = self.next;
        self.next += 1 + read.embeds.len();
        Scope { name: read.from.name(), depth: outer.map_or(0, |outer| outer.depth + 1), number }
    }

    /// What comes before a statement of which the plan is wanted.
    pub(crate) fn explain(&mut self, plan: &Plan<'_>) {
        if let Media::Explain { json, options, .. } = &plan.media {
            let format = if *json { "JSON" } else { "TEXT" };
            let _ = write!(self.text, "EXPLAIN (FORMAT {format}");
            for option in options {
                let _ = write!(self.text, ", {option} true");
            }
            self.text.push_str(") ");
        }
    }

    /// Lets the root's rows be those that the statement keeps under this name, which go by their own name again.
    pub(crate) fn keep(&mut self, name: &'static str) {
        self.kept = Some(name);
        self.joins = Joins::default();
        self.next = 0;
    }

    /// The rows of the root, as its media type wants them.
    pub(crate) fn main(&mut self, plan: &'a Plan<'a>) {
        match plan.media.of_statement() {
            Media::GeoJson => {
                self.text.push_str("SELECT ST_AsGeoJSON(thalweg_row)::pg_catalog.json FROM (");
                self.level(&plan.read, List::Keys);
                self.text.push_str(") AS thalweg_row");
            }
            Media::Handler(handler) => match handler.aggregate {
                Some((aggregate, relation)) => {
                    self.text.push_str("SELECT pg_catalog.count(*), ");
                    self.name(&aggregate.schema, &aggregate.name);
                    self.text.push_str("(thalweg_row");
                    if let Some(relation) = relation {
                        self.text.push_str("::");
                        self.name(&relation.schema, &relation.name);
                    }
                    self.text.push_str(") FROM (");
                    self.level(&plan.read, List::Keys);
                    self.text.push_str(") AS thalweg_row");
                }
                None => self.level(&plan.read, List::Keys),
            },
            _ => self.level(&plan.read, List::Columns),
        }
    }

    /// Runs the call once, for all that follows.
    fn kept_call(&mut self, plan: &'a Plan<'a>) {
        let scope = self.scope(&plan.read, None);
        self.text.push_str("WITH thalweg_call AS MATERIALIZED (SELECT *");
        self.source(scope, &plan.read);
        self.text.push_str(") ");
        self.keep("thalweg_call");
    }

    /// Counts the rows, and tells whether the window's are to be found from the first on, or how many of them from the last on and how
    /// many lie behind those.
    fn counted(&mut self, plan: &'a Plan<'a>) {
        let (offset, limit) = (plan.read.offset_rows.unwrap_or(0), plan.read.limit_rows.unwrap_or(0));
        let [offset, limit] = [offset, limit].map(|rows| {
            self.params.push(Param::Text(Cow::Owned(rows.to_string())));
            format!("${}::pg_catalog.int8", self.params.len())
        });
        let _ = write!(
            self.text,
            "WITH thalweg_total AS MATERIALIZED (SELECT n, \
             n - {offset} >= {offset} AS is_from_first, \
             CASE WHEN n - {offset} >= {offset} THEN 0 ELSE GREATEST(LEAST({limit}, n - {offset}), 0) END AS from_last, \
             GREATEST(n - {offset} - {limit}, 0) AS behind FROM ("
        );
        self.total(" AS n", plan);
        self.text.push_str(") AS thalweg_counted) ");
        (self.joins, self.next) = (Joins::default(), 0);
    }

    /// The number of the root's rows, or of their groups.
    fn total(&mut self, name: &str, plan: &'a Plan<'a>) {
        let _ = write!(self.text, "SELECT pg_catalog.count(*){name}");
        if !plan.read.is_grouped() {
            return self.matching("", plan);
        }
        self.text.push_str(" FROM (");
        self.all(plan);
        self.text.push_str(") AS \"rows\"");
    }

    /// The root's rows, or their groups, without a window.
    fn all(&mut self, plan: &'a Plan<'a>) {
        if !plan.read.is_grouped() {
            return self.matching("SELECT 1", plan);
        }
        let scope = self.scope(&plan.read, None);
        self.text.push_str("SELECT 1 FROM (");
        self.groups(scope, &plan.read, None);
        self.text.push_str(") AS thalweg_groups");
    }

    /// `FROM … WHERE …` of the root behind a select list.
    fn matching(&mut self, select: &str, plan: &'a Plan<'a>) {
        let scope = self.scope(&plan.read, None);
        self.text.push_str(select);
        self.from(scope, &plan.read, false);
        self.conditions(scope, &plan.read, " WHERE ");
    }

    /// The rows of a level that is linked to none.
    fn level(&mut self, read: &'a Read<'a>, list: List<'_>) {
        if let Some(columns) = &read.found_first {
            return self.kept_level(read, columns, list);
        }
        let scope = self.scope(read, None);
        match read.streamed {
            Some(Streamed::First) => self.first(scope, read, |writer| writer.select(scope, read, list, None)),
            Some(Streamed::InOrder) | None => self.select(scope, read, list, None),
        }
    }

    /// The first rows of those that satisfy the level's conditions.
    fn first(&mut self, scope: Scope<'a>, read: &'a Read<'a>, select: impl FnOnce(&mut Self)) {
        self.text.push_str("SELECT * FROM (");
        self.searching(Search::ByConditions(scope.number), select);
        self.text.push_str(") AS thalweg_first");
        if let Some(rows) = read.limit_rows {
            self.text.push_str(" LIMIT (SELECT ");
            self.param(Cow::Owned(rows.to_string()));
            self.text.push_str("::pg_catalog.int8)");
        }
    }

    /// The same in two steps: which rows there are, then what is returned of them.
    fn kept_level(&mut self, read: &'a Read<'a>, columns: &[&str], list: List<'_>) {
        let scope = self.scope(read, None);
        self.text.push_str("WITH thalweg_root AS MATERIALIZED (");
        match read.streamed {
            Some(Streamed::First) => self.first(scope, read, |writer| {
                writer.found_first(scope, read, columns);
                writer.order(scope, read);
                writer.window(read);
            }),
            Some(Streamed::InOrder) | None if read.from_end => self.found_from_both_ends(scope, read, columns),
            Some(Streamed::InOrder) | None => {
                self.found_first(scope, read, columns);
                self.order(scope, read);
                self.window(read);
            }
        }
        self.text.push_str(") SELECT ");
        self.kept = Some("thalweg_root");
        self.joins = Joins::default();
        let scope = self.scope(read, None);
        self.list(scope, read, list, None);
        self.source(scope, read);
        self.joins(scope, read, true);
        self.order(scope, read);
    }

    /// Those of a window by what is known of how many there are, from the first on or from the last. Where a limit is a query's result,
    /// PostgreSQL expects a tenth of the table: so the first ones have the request's own and a condition that is tested once, and all
    /// together are limited again, since what is joined to so many it would read whole. They are kept before, else it would take that limit
    /// for what either end has to find.
    fn found_from_both_ends(&mut self, scope: Scope<'a>, read: &'a Read<'a>, columns: &[&str]) {
        self.text.push_str("WITH thalweg_ends AS MATERIALIZED (SELECT * FROM (");
        self.found_first(scope, read, columns);
        self.order(scope, read);
        self.window(read);
        self.text.push_str(") AS thalweg_first WHERE (SELECT is_from_first FROM thalweg_total) UNION ALL (");
        self.joins = Joins::default();
        self.found_first(scope, read, columns);
        self.reversed(scope, read);
        self.text.push_str(" LIMIT (SELECT from_last FROM thalweg_total) OFFSET (SELECT behind FROM thalweg_total)))");
        self.text.push_str(" SELECT * FROM thalweg_ends");
        self.limit(read);
    }

    /// Which rows of a level there are, in no order.
    fn found_first(&mut self, scope: Scope<'a>, read: &'a Read<'a>, columns: &[&str]) {
        self.text.push_str("SELECT ");
        for (at, column) in columns.iter().enumerate() {
            self.text.push_str(if at == 0 { "" } else { ", " });
            self.named(scope, column);
        }
        self.source(scope, read);
        // orders by an embed are of what it returns
        let ordered = read.order.iter().any(|term| !matches!(term.key, OrderKey::Column(_)));
        self.joins(scope, read, ordered);
        self.conditions(scope, read, " WHERE ");
    }

    /// The rows of a level, linked to an outer one or not. Where outputs are aggregates, the others group: then the
    /// values are made first, and put into their form outside.
    pub(crate) fn select(
        &mut self,
        scope: Scope<'a>,
        read: &'a Read<'a>,
        list: List<'_>,
        outer: Option<(Scope<'a>, &'a EmbedRead<'a>)>,
    ) {
        let Some(number) = read.is_grouped().then_some(scope.number) else {
            self.text.push_str("SELECT ");
            self.list(scope, read, list, None);
            self.rows_of(scope, read, outer);
            self.order(scope, read);
            return self.window(read);
        };
        self.text.push_str("SELECT ");
        self.list(scope, read, list, Some(number));
        self.text.push_str(" FROM (");
        self.groups(scope, read, outer);
        self.order(scope, read);
        self.window(read);
        let _ = write!(self.text, ") AS thalweg_g{number}");
    }

    /// `FROM … WHERE …` of a level, linked to an outer one or not.
    fn rows_of(&mut self, scope: Scope<'a>, read: &'a Read<'a>, outer: Option<(Scope<'a>, &'a EmbedRead<'a>)>) {
        match outer {
            Some((outer, embed)) => {
                self.related_source(outer, scope, embed);
                self.joins(scope, read, true);
                self.linked(outer, scope, embed);
            }
            None => {
                self.from(scope, read, true);
                self.conditions(scope, read, " WHERE ");
            }
        }
    }

    /// The groups of a level's rows, with their values before they are put into their form.
    fn groups(&mut self, scope: Scope<'a>, read: &'a Read<'a>, outer: Option<(Scope<'a>, &'a EmbedRead<'a>)>) {
        self.text.push_str("SELECT ");
        for (at, output) in read.outputs.iter().enumerate() {
            self.text.push_str(if at == 0 { "" } else { ", " });
            self.ungrouped(scope, read, output);
            let _ = write!(self.text, " AS c{at}");
        }
        self.rows_of(scope, read, outer);
        let groups = read.outputs.iter().enumerate().filter(|(_, output)| output.aggregate.is_none());
        for (place, (at, _)) in groups.enumerate() {
            self.text.push_str(if place == 0 { " GROUP BY " } else { ", " });
            let _ = write!(self.text, "{}", at + 1);
        }
        // An order may name a column that is selected with a cast. The column forms groups too.
        let casts = if read.order.is_empty() { HashSet::new() } else { selected_casts(read) };
        for term in &read.order {
            if let OrderKey::Column(column) = &term.key
                && casts.contains(column.name)
            {
                self.text.push_str(", ");
                self.column(scope, column);
            }
        }
    }

    pub(crate) fn list(&mut self, scope: Scope<'a>, read: &'a Read<'a>, list: List<'_>, grouped: Option<usize>) {
        match list {
            List::Columns => {
                for (at, output) in read.outputs.iter().enumerate() {
                    self.text.push_str(if at == 0 { "" } else { ", " });
                    self.output(scope, read, output, at, grouped);
                }
            }
            List::Keys => {
                for (at, output) in read.outputs.iter().enumerate() {
                    self.text.push_str(if at == 0 { "" } else { ", " });
                    self.value(scope, read, output, at, grouped);
                    self.text.push_str(" AS ");
                    quote(&mut self.text, &output.key);
                }
            }
            List::Row { json: false } => {
                self.text.push_str("ROW(");
                self.list(scope, read, List::Columns, grouped);
                self.text.push(')');
            }
            List::Row { json: true } => {
                self.text.push_str("(SELECT pg_catalog.to_jsonb(thalweg_object) FROM (SELECT ");
                self.list(scope, read, List::Keys, grouped);
                self.text.push_str(") AS thalweg_object) AS o");
            }
            List::Joined { lifted: true, json, ordered_by } => {
                self.text.push_str("TRUE AS found");
                for (at, output) in read.outputs.iter().enumerate() {
                    self.text.push_str(", ");
                    match json {
                        true => self.value(scope, read, output, at, grouped),
                        false => self.output(scope, read, output, at, grouped),
                    }
                    let _ = write!(self.text, " AS c{at}");
                }
                self.ordered(scope, read, ordered_by, grouped);
            }
            List::Joined { lifted: false, json, ordered_by } => {
                self.text.push_str("TRUE AS found, ");
                self.list(scope, read, List::Row { json }, grouped);
                self.text.push_str(if json { "" } else { " AS o" });
                self.ordered(scope, read, ordered_by, grouped);
            }
        }
    }

    fn ordered(&mut self, scope: Scope<'a>, read: &'a Read<'a>, ordered_by: &[usize], grouped: Option<usize>) {
        for &at in ordered_by {
            self.text.push_str(", ");
            self.value(scope, read, &read.outputs[at], at, grouped);
            let _ = write!(self.text, " AS o{at}");
        }
    }

    /// An output as it travels.
    pub(crate) fn output(
        &mut self,
        scope: Scope<'a>,
        read: &'a Read<'a>,
        output: &'a Output<'a>,
        at: usize,
        grouped: Option<usize>,
    ) {
        if output.stripped {
            let is_jsonb = output.codec == Codec::Scalar(Scalar::Jsonb);
            self.text.push_str(if is_jsonb { "pg_catalog.jsonb_strip_nulls(" } else { "pg_catalog.json_strip_nulls(" });
        }
        if output.to_json {
            self.text.push_str("pg_catalog.to_json(");
        }
        match output.abridged {
            None => self.value(scope, read, output, at, grouped),
            Some(Abridged::Size) => {
                self.text.push_str("pg_catalog.octet_length(");
                self.value(scope, read, output, at, grouped);
                self.text.push(')');
            }
            Some(Abridged::Text { chars_max }) => {
                self.text.push_str("pg_catalog.\"left\"((");
                self.value(scope, read, output, at, grouped);
                let _ = write!(self.text, ")::pg_catalog.text, {chars_max})");
            }
        }
        for _ in 0..usize::from(output.to_json) + usize::from(output.stripped) {
            self.text.push(')');
        }
    }

    /// An output as it is in the database, before any conversion to JSON but that of its domain.
    fn value(
        &mut self,
        scope: Scope<'a>,
        read: &'a Read<'a>,
        output: &'a Output<'a>,
        at: usize,
        grouped: Option<usize>,
    ) {
        let Value::Column { shown_by: Some((schema, name)), cast, .. } = &output.value else {
            match grouped {
                Some(number) => _ = write!(self.text, "thalweg_g{number}.c{at}"),
                None => self.ungrouped(scope, read, output),
            }
            return;
        };
        self.cast(*cast, |writer| {
            writer.name(schema, name);
            writer.text.push('(');
            match (grouped, &output.value) {
                (Some(number), _) => _ = write!(writer.text, "thalweg_g{number}.c{at}"),
                (None, Value::Column { column, .. }) => writer.column(scope, column),
                (None, _) => {}
            }
            writer.text.push(')');
        });
    }

    /// What `inner` writes, cast to a type if there is one.
    fn cast(&mut self, cast: Option<&str>, inner: impl FnOnce(&mut Self)) {
        if cast.is_some() {
            self.text.push_str("CAST(");
        }
        inner(self);
        if let Some(cast) = cast {
            self.text.push_str(" AS ");
            self.text.push_str(cast);
            self.text.push(')');
        }
    }

    /// An output as an expression over the level's rows.
    fn ungrouped(&mut self, scope: Scope<'a>, read: &'a Read<'a>, output: &'a Output<'a>) {
        let Some((aggregate, cast)) = output.aggregate else { return self.base(scope, read, output) };
        self.cast(cast, |writer| {
            writer.text.push_str(aggregate.name());
            writer.text.push('(');
            writer.base(scope, read, output);
            writer.text.push(')');
        });
    }

    fn base(&mut self, scope: Scope<'a>, read: &'a Read<'a>, output: &'a Output<'a>) {
        match &output.value {
            // the function that shows it is applied outside, and so is a cast of what that returns
            Value::Column { column, shown_by: Some(_), .. } => self.column(scope, column),
            Value::Column { column, cast, shown_by: None } => {
                self.cast(*cast, |writer| writer.column(scope, column));
            }
            Value::Row => self.text.push('1'),
            Value::Scalar => {
                self.table(scope);
                self.text.push_str(".pgrst_scalar");
            }
            Value::Embed(index)
                if read.embeds[*index].is_to_one() || read.embeds[*index].fetch == Fetch::OncePerKey =>
            {
                self.embed_alias(scope, *index);
                self.text.push_str(".o");
            }
            Value::Embed(index) => self.array(scope, &read.embeds[*index]),
            Value::Found(index, never_null) => {
                self.embed_alias(scope, *index);
                let _ = match never_null {
                    Some(at) => write!(self.text, ".c{at}"),
                    None => write!(self.text, ".found"),
                };
            }
            Value::Lifted(index, at) => {
                let is_once_per_key = read.embeds[*index].fetch == Fetch::OncePerKey;
                self.text.push_str(if is_once_per_key { "coalesce(" } else { "" });
                self.embed_alias(scope, *index);
                let _ = write!(self.text, ".c{at}");
                if is_once_per_key {
                    // rows that have none are not in what is joined
                    let is_array = !read.embeds[*index].as_json && matches!(output.codec, Codec::Values(_));
                    self.text.push_str(if is_array { ", '{}')" } else { ", '[]')" });
                }
            }
        }
    }

    /// `FROM` the level's relation or call and whatever its to-one embeds need; for rows those that are returned,
    /// else only those that decide which rows there are.
    pub(crate) fn from(&mut self, scope: Scope<'a>, read: &'a Read<'a>, returning: bool) {
        self.source(scope, read);
        self.joins(scope, read, returning);
    }

    fn source(&mut self, scope: Scope<'a>, read: &'a Read<'a>) {
        self.text.push_str(" FROM ");
        match &read.from {
            _ if scope.depth == 0 && self.kept.is_some() => self.text.push_str(self.kept.unwrap_or_default()),
            From::Relation(relation) => self.relation(relation),
            From::Call(call) => return self.call(scope, call),
        }
        self.text.push_str(" AS ");
        self.table(scope);
    }

    /// A level's row, as one value of its relation's type.
    pub(crate) fn row_of(&mut self, scope: Scope<'a>, relation: &'a Relation) {
        self.table(scope);
        self.text.push_str("::");
        self.relation(relation);
    }

    pub(crate) fn window(&mut self, read: &Read<'_>) {
        if read.streamed.is_some() {
            return self.text.push_str(TENTH);
        }
        self.limit(read);
        if let Some(rows) = read.offset_rows {
            self.text.push_str(" OFFSET ");
            self.param(Cow::Owned(rows.to_string()));
        }
    }

    fn limit(&mut self, read: &Read<'_>) {
        let Some(rows) = read.limit_rows else { return };
        self.text.push_str(" LIMIT ");
        match read.limit_is_fixed {
            true => self.text.push_str(&rows.to_string()),
            false => self.param(Cow::Owned(rows.to_string())),
        }
    }

    pub(crate) fn relation(&mut self, relation: &Relation) {
        self.name(&relation.schema, &relation.name);
    }

    /// A name with its schema.
    pub(crate) fn name(&mut self, schema: &str, name: &str) {
        quote(&mut self.text, schema);
        self.text.push('.');
        quote(&mut self.text, name);
    }
}

/// The columns that are selected with a cast.
fn selected_casts<'a>(read: &'a Read<'a>) -> HashSet<&'a str> {
    let cast_of = |output: &'a Output<'a>| match &output.value {
        Value::Column { column, cast: Some(_), .. } if output.aggregate.is_none() => Some(column.name),
        _ => None,
    };
    read.outputs.iter().filter_map(cast_of).collect()
}
