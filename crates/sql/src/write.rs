//! Statements that write (writes §§2–7).

use crate::quote::quote;
use crate::read::{List, Scope, Writer};
use crate::{Param, Statement};
use std::borrow::Cow;
use std::fmt::Write as _;
use thalweg_plan::{
    Bound, Conflict, Document, Plan, Read, Render, Returned, ReturnedColumn, Source, Value, Write, WrittenColumn,
};
use thalweg_request::Action;
use thalweg_rows::Shape;

/// Counts a row that is updated, as a condition that holds.
const COUNTS: &str = " WHERE pg_catalog.set_config('thalweg.updated', \
                      (coalesce(nullif(pg_catalog.current_setting('thalweg.updated', true), ''), '0')::pg_catalog.int8 \
                      + 1)::pg_catalog.text, true) <> ''";

/// The statement that changes rows, and returns of them what the plan says.
pub fn write<'a>(plan: &'a Plan<'a>, write: &'a Write<'a>) -> Statement<'a> {
    let mut writer = Writer::new();
    writer.explain(plan);
    let scope = writer.scope(&plan.read, None);
    match &write.returned {
        Returned::Nothing => writer.change(scope, &plan.read, write),
        Returned::Key(key) => {
            writer.change(scope, &plan.read, write);
            writer.returning(scope, write, |writer| writer.key(scope, plan, key));
        }
        Returned::Direct => {
            writer.change(scope, &plan.read, write);
            writer.returning(scope, write, |writer| writer.list(scope, &plan.read, List::Columns, None));
        }
        Returned::Afterwards(columns) => {
            writer.text.push_str("WITH thalweg_written AS (");
            writer.change(scope, &plan.read, write);
            writer.returning(scope, write, |writer| match columns.as_slice() {
                [] => writer.text.push('1'),
                columns => writer.separated(columns, |writer, column| writer.named(scope, column.name)),
            });
            writer.text.push_str(") ");
            writer.store(columns);
        }
        Returned::Through(columns) => {
            writer.text.push_str("WITH thalweg_written AS (");
            writer.change(scope, &plan.read, write);
            writer.returning(scope, write, |writer| match columns.as_deref() {
                Some([]) => writer.text.push('1'),
                Some(columns) => writer.separated(columns, |writer, column| writer.named(scope, column)),
                None => {
                    writer.table(scope);
                    writer.text.push_str(".*");
                }
            });
            writer.text.push_str(") ");
            writer.keep("thalweg_written");
            writer.main(plan);
        }
    }
    let shape = match write.returned {
        _ if plan.explains() => plan.shape(),
        Returned::Nothing | Returned::Key(_) | Returned::Afterwards(_) => Shape::default(),
        Returned::Direct | Returned::Through(_) => plan.shape(),
    };
    Statement { text: writer.text, params: writer.params, shape }
}

/// The statement that returns rows which the one before it has written and stored.
pub fn written<'a>(plan: &'a Plan<'a>, columns: &'a [ReturnedColumn<'a>]) -> Statement<'a> {
    let mut writer = Writer::new();
    writer.text.push_str("WITH thalweg_written AS MATERIALIZED (SELECT ");
    writer.separated(columns, |writer, column| {
        writer.text.push_str("thalweg_row.");
        quote(&mut writer.text, column.name);
        writer.text.push_str("::");
        writer.name(column.type_name.0, column.type_name.1);
        writer.text.push_str(" AS ");
        quote(&mut writer.text, column.name);
    });
    // A list of columns cannot be empty.
    let read = if columns.is_empty() { "json_array_elements" } else { "json_to_recordset" };
    let _ = write!(
        writer.text,
        " FROM pg_catalog.{read}(pg_catalog.current_setting('thalweg.written')::pg_catalog.json) AS thalweg_row"
    );
    writer.text.push_str(if columns.is_empty() { "" } else { "(" });
    writer.separated(columns, |writer, column| {
        quote(&mut writer.text, column.name);
        writer.text.push_str(" pg_catalog.text");
    });
    writer.text.push_str(if columns.is_empty() { ") " } else { ")) " });
    writer.keep("thalweg_written");
    writer.main(plan);
    Statement { text: writer.text, params: writer.params, shape: plan.shape() }
}

/// The statement that tells how many rows the one before it updated instead of inserting them.
pub fn updated<'a>() -> Statement<'a> {
    let text = "SELECT pg_catalog.current_setting('thalweg.updated', true)".to_owned();
    Statement { text, params: Vec::new(), shape: Shape::default() }
}

impl<'a> Writer<'a> {
    /// The statement up to what it returns.
    fn change(&mut self, scope: Scope<'a>, read: &'a Read<'a>, write: &'a Write<'a>) {
        match write.action {
            Action::Insert | Action::Replace => self.insert(scope, write),
            Action::Update => self.update(scope, read, write),
            _ => {
                self.text.push_str("DELETE FROM ");
                self.target(scope, write);
                self.restricted(scope, read, write);
            }
        }
    }

    /// What is returned: of nothing that is updated, no rows.
    fn returning(&mut self, scope: Scope<'a>, write: &'a Write<'a>, list: impl FnOnce(&mut Self)) {
        self.text.push_str(if is_void(write) { "SELECT " } else { " RETURNING " });
        list(self);
        if is_void(write) {
            self.text.push_str(" FROM ");
            self.target(scope, write);
            self.text.push_str(" WHERE FALSE");
        }
    }

    /// Stores the rows that were written until the end of the transaction, each as the text of its values. NULL is what
    /// `num_nulls` counts: a composite value whose members are null is none.
    fn store(&mut self, columns: &[ReturnedColumn<'_>]) {
        self.text.push_str(
            "SELECT pg_catalog.set_config('thalweg.written', \
             coalesce(pg_catalog.json_agg(thalweg_row.*)::pg_catalog.text, '[]'), true) <> '' FROM (SELECT ",
        );
        self.separated(columns, |writer, column| {
            writer.text.push_str("CASE WHEN pg_catalog.num_nulls(");
            quote(&mut writer.text, column.name);
            // The JSON of a moment is its text by ISO 8601.
            writer.text.push_str(match column.is_moment {
                true => ") = 0 THEN pg_catalog.to_json(",
                false => ") = 0 THEN pg_catalog.format('%s', ",
            });
            quote(&mut writer.text, column.name);
            writer.text.push_str(if column.is_moment { ") #>> '{}'::pg_catalog.text[] END AS " } else { ") END AS " });
            quote(&mut writer.text, column.name);
        });
        self.text.push_str(" FROM thalweg_written) AS thalweg_row");
    }

    fn target(&mut self, scope: Scope<'a>, write: &'a Write<'a>) {
        self.relation(write.relation);
        self.text.push_str(" AS ");
        self.table(scope);
    }

    /// A key as text, and whatever else is selected as far as it must be readable.
    fn key(&mut self, scope: Scope<'a>, plan: &'a Plan<'a>, key: &[&str]) {
        for column in key {
            self.text.push_str("pg_catalog.to_json(");
            self.named(scope, column);
            self.text.push_str(") #>> '{}'::pg_catalog.text[], ");
        }
        self.text.push_str("ROW(");
        let columns = plan.read.outputs.iter().filter_map(|output| match &output.value {
            Value::Column { column, .. } => Some(column),
            _ => None,
        });
        self.separated(columns, |writer, column| writer.column(scope, column));
        self.text.push_str(") IS NULL");
    }

    fn insert(&mut self, scope: Scope<'a>, write: &'a Write<'a>) {
        if let Source::Copy(_) = write.source {
            return self.copy(write);
        }
        self.text.push_str("INSERT INTO ");
        self.target(scope, write);
        if !write.columns.is_empty() && write.source != Source::Nothing {
            self.text.push(' ');
            self.columns(&write.columns);
        }
        match &write.source {
            Source::Nothing | Source::Copy(_) => self.text.push_str(" SELECT WHERE FALSE"),
            Source::Defaults if write.action == Action::Insert => self.text.push_str(" DEFAULT VALUES"),
            Source::Values(values) if write.action == Action::Insert => {
                self.text.push_str(" VALUES (");
                self.separated(values, |writer, bound| writer.bound(*bound));
                self.text.push(')');
            }
            Source::Defaults | Source::Values(_) | Source::Document(_) => {
                self.text.push_str(" SELECT ");
                self.separated(&write.columns, |writer, written| writer.value_written(write, written));
                self.text.push_str(" FROM ");
                self.body(write);
                for (at, (column, value)) in write.key.iter().enumerate() {
                    self.text.push_str(if at == 0 { " WHERE pgrst_body." } else { " AND pgrst_body." });
                    quote(&mut self.text, column);
                    self.text.push_str(" = ");
                    self.param(Cow::Borrowed(value));
                }
            }
        }
        if let Some(conflict) = &write.conflict {
            self.conflict(conflict, &write.columns);
        }
    }

    fn copy(&mut self, write: &Write<'_>) {
        self.text.push_str("COPY ");
        self.relation(write.relation);
        self.text.push(' ');
        self.columns(&write.columns);
        self.text.push_str(" FROM STDIN");
    }

    fn columns(&mut self, columns: &[WrittenColumn<'_>]) {
        self.text.push('(');
        self.separated(columns, |writer, written| quote(&mut writer.text, &written.column.name));
        self.text.push(')');
    }

    fn conflict(&mut self, conflict: &Conflict<'_>, columns: &[WrittenColumn<'_>]) {
        self.text.push_str(" ON CONFLICT (");
        self.separated(&conflict.target, |writer, column| quote(&mut writer.text, column));
        if !conflict.merges || columns.is_empty() {
            self.text.push_str(") DO NOTHING");
            return;
        }
        self.text.push_str(") DO UPDATE SET ");
        // The key of the two rows is equal, and updating it would need a privilege. Where the body
        // has nothing else, it is updated so that the row is returned.
        let is_key = |written: &WrittenColumn<'_>| conflict.target.contains(&&*written.column.name);
        let are_all_key = columns.iter().all(is_key);
        let updated = columns.iter().filter(|written| are_all_key || !is_key(written));
        self.separated(updated, |writer, written| {
            quote(&mut writer.text, &written.column.name);
            writer.text.push_str(" = EXCLUDED.");
            quote(&mut writer.text, &written.column.name);
        });
        if conflict.counts {
            self.text.push_str(COUNTS);
        }
    }

    fn update(&mut self, scope: Scope<'a>, read: &'a Read<'a>, write: &'a Write<'a>) {
        if is_void(write) {
            if write.returned == Returned::Nothing {
                self.text.push_str("SELECT WHERE FALSE");
            }
            return;
        }
        self.text.push_str("UPDATE ");
        self.target(scope, write);
        self.text.push_str(" SET ");
        match &write.source {
            Source::Values(values) => {
                let pairs: Vec<(&WrittenColumn<'_>, &Bound)> = write.columns.iter().zip(values).collect();
                self.separated(pairs, |writer, (written, bound)| {
                    quote(&mut writer.text, &written.column.name);
                    writer.text.push_str(" = ");
                    writer.bound(*bound);
                });
            }
            _ => {
                self.separated(&write.columns, |writer, written| {
                    quote(&mut writer.text, &written.column.name);
                    writer.text.push_str(" = ");
                    writer.value_written(write, written);
                });
                self.text.push_str(" FROM ");
                self.body(write);
            }
        }
        self.restricted(scope, read, write);
    }

    fn restricted(&mut self, scope: Scope<'a>, read: &'a Read<'a>, write: &'a Write<'a>) {
        for (at, condition) in write.conditions.iter().enumerate() {
            self.text.push_str(if at == 0 { " WHERE " } else { " AND " });
            self.condition(scope, read, condition);
        }
    }

    /// A column's value in the body.
    fn value_written(&mut self, write: &Write<'_>, written: &WrittenColumn<'_>) {
        if let Some((schema, name)) = written.read_by {
            self.name(schema, name);
            self.text.push('(');
        }
        // By the row type, the column is a JSON string, and otherwise the text of that string.
        let is_string = written.is_json_in_string && has_row_type(write);
        self.text.push_str(if is_string { "(pgrst_body." } else { "pgrst_body." });
        quote(&mut self.text, &written.column.name);
        self.text.push_str(if is_string { " #>> '{}'::pg_catalog.text[])" } else { "" });
        if written.is_json_in_string {
            self.text.push_str("::");
            self.type_read(written);
        }
        if written.read_by.is_some() {
            self.text.push(')');
        }
    }

    /// The rows of the body as a table expression.
    fn body(&mut self, write: &'a Write<'a>) {
        match &write.source {
            Source::Values(values) => {
                self.text.push_str("(SELECT ");
                let pairs: Vec<(&WrittenColumn<'_>, &Bound)> = write.columns.iter().zip(values).collect();
                self.separated(pairs, |writer, (written, bound)| {
                    writer.bound(*bound);
                    if let Some((schema, name)) = written.type_name {
                        writer.text.push_str("::");
                        writer.name(schema, name);
                    }
                    writer.text.push_str(" AS ");
                    quote(&mut writer.text, &written.column.name);
                });
                self.text.push_str(") AS pgrst_body");
            }
            Source::Document(document) if write.columns.is_empty() => {
                self.text.push_str(if document.is_array { "pg_catalog.json_array_elements(" } else { "(SELECT " });
                self.param_of(Param::Document);
                self.text.push_str("::pg_catalog.json) AS pgrst_body");
            }
            Source::Document(document) => self.document(*document, write),
            Source::Nothing | Source::Defaults | Source::Copy(_) => self.text.push_str("(SELECT) AS pgrst_body"),
        }
    }

    fn document(&mut self, document: Document, write: &'a Write<'a>) {
        let Document { is_array, fills_defaults, by_row_type } = document;
        let set = if is_array { "set(" } else { "(" };
        if by_row_type {
            self.text.push_str("pg_catalog.json_populate_record");
            self.text.push_str(set);
            self.text.push_str("NULL::");
            self.relation(write.relation);
            self.text.push_str(", ");
            self.param_of(Param::Document);
            self.text.push_str("::pg_catalog.json) AS pgrst_body");
            return;
        }
        if fills_defaults {
            self.text.push_str("pg_catalog.jsonb_to_record");
            self.text.push_str(set);
            self.text.push_str(if is_array { "(SELECT pg_catalog.jsonb_agg(" } else { "" });
            self.defaults(write);
            self.text.push_str(if is_array { " || element) FROM pg_catalog.jsonb_array_elements(" } else { " || " });
            self.param_of(Param::Document);
            self.text.push_str(if is_array { "::pg_catalog.jsonb) AS element)" } else { "::pg_catalog.jsonb" });
        } else {
            self.text.push_str("pg_catalog.json_to_record");
            self.text.push_str(set);
            self.param_of(Param::Document);
            self.text.push_str("::pg_catalog.json");
        }
        self.text.push_str(") AS pgrst_body(");
        self.separated(&write.columns, |writer, written| {
            quote(&mut writer.text, &written.column.name);
            writer.text.push(' ');
            if written.is_json_in_string {
                writer.text.push_str("pg_catalog.text");
            } else {
                writer.type_read(written);
            }
        });
        self.text.push(')');
    }

    /// The type as which PostgreSQL reads a column's value.
    fn type_read(&mut self, written: &WrittenColumn<'_>) {
        match (written.read_by, written.type_name) {
            (None, Some((schema, name))) => self.name(schema, name),
            _ => self.text.push_str("pg_catalog.json"),
        }
    }

    /// The defaults of the columns that have one, as one object (writes §2).
    fn defaults(&mut self, write: &'a Write<'a>) {
        self.text.push_str("pg_catalog.jsonb_build_object(");
        let with_default = write.columns.iter().filter(|written| {
            let column = written.column;
            !column.generated && (column.default.is_some() || column.identity)
        });
        self.separated(with_default, |writer, written| {
            let column = written.column;
            writer.param(Cow::Borrowed(&*column.name));
            writer.text.push_str("::pg_catalog.text, ");
            match &column.default {
                // It is read in the same way as the values of the body.
                Some(default) if written.is_json_in_string => {
                    writer.text.push('(');
                    writer.text.push_str(default);
                    writer.text.push_str(")::pg_catalog.text");
                }
                Some(default) => writer.text.push_str(default),
                None => {
                    let mut relation = String::new();
                    quote(&mut relation, &write.relation.schema);
                    relation.push('.');
                    quote(&mut relation, &write.relation.name);
                    writer.text.push_str("pg_catalog.nextval(pg_catalog.pg_get_serial_sequence(");
                    writer.param(Cow::Owned(relation));
                    writer.text.push_str(", ");
                    writer.param(Cow::Borrowed(&*column.name));
                    writer.text.push_str("))");
                }
            }
        });
        self.text.push(')');
    }

    /// A value of the body. One in binary says its type, since it could be read as another.
    fn bound(&mut self, bound: Bound) {
        self.param_of(Param::Bound(bound));
        if bound.render == Render::Bytes {
            self.text.push_str("::pg_catalog.bytea");
        }
    }

    fn separated<T>(&mut self, items: impl IntoIterator<Item = T>, mut write: impl FnMut(&mut Self, T)) {
        for (at, item) in items.into_iter().enumerate() {
            self.text.push_str(if at == 0 { "" } else { ", " });
            write(self, item);
        }
    }
}

/// Returns whether the body is read by the relation's row type.
fn has_row_type(write: &Write<'_>) -> bool {
    matches!(write.source, Source::Document(Document { by_row_type: true, .. }))
}

/// Whether it is an update of no columns.
fn is_void(write: &Write<'_>) -> bool {
    write.action == Action::Update && write.source == Source::Nothing
}
