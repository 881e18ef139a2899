//! The page of the root: what there is.

use super::{Browsing, Shown};
use crate::error::ApiError;
use crate::flow::batch::Batch;
use crate::flow::{Answered, RequestText};
use crate::site::browse::{Level, Template, call_form, grouped, of_rows};
use hyper::StatusCode;
use std::collections::HashSet;
use thalweg_catalog::RelationKind;
use thalweg_gauge::Laps;
use thalweg_json::{Value, json};

/// The relations that the role may read, with how many rows PostgreSQL thinks each has. It says so of none whose rows are not
/// everybody's.
const RELATIONS: &str = "SELECT c.relname::pg_catalog.text, \
     CASE WHEN c.reltuples OPERATOR(pg_catalog.>=) 0 AND c.relkind IN ('r', 'p', 'm') AND NOT c.relrowsecurity THEN c.reltuples::pg_catalog.int8 END \
     FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
     WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v', 'm', 'f') \
     AND pg_catalog.has_any_column_privilege(c.oid, 'select') ORDER BY c.relname";

/// The functions that the role may call.
const FUNCTIONS: &str = "SELECT p.proname::pg_catalog.text FROM pg_catalog.pg_proc p \
     JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace \
     WHERE n.nspname = $1 AND pg_catalog.has_function_privilege(p.oid, 'execute')";

impl Browsing<'_> {
    pub(super) async fn index(&self, bill: &mut Laps) -> Answered {
        let mut batch = Batch::new(self.snapshot);
        batch.own(RELATIONS, self.schema, &["name", "rows"]);
        batch.own(FUNCTIONS, self.schema, &["name"]);
        let text = RequestText::default();
        let going = self.going(&text);
        let mut found = batch.run(&going, None, bill).await?.into_found().into_iter();
        let mut listed = || found.next().map(|found| found.table.into_rows(None)).unwrap_or_default();
        let unreadable = |error: minijinja::Error| ApiError::of_page(error.to_string().into());
        let mut relations = Vec::new();
        for row in listed().try_iter().map_err(unreadable)? {
            let text = |name: &str| row.get_attr(name).ok().and_then(|value| value.as_str().map(str::to_owned));
            relations.extend(text("name").and_then(|name| self.listed(&name, text("rows"))));
        }
        let mut names = HashSet::new();
        for row in listed().try_iter().map_err(unreadable)? {
            names.extend(row.get_attr("name").ok().and_then(|name| name.as_str().map(str::to_owned)));
        }
        let catalog = &self.snapshot.catalog;
        let mut functions: Vec<_> = catalog.all_callable(self.schema).collect();
        functions.retain(|function| names.contains(&*function.name));
        functions.sort_by(|a, b| a.name.cmp(&b.name));
        let functions: Vec<Value> =
            functions.iter().map(|function| call_form(catalog, self.state.prefix(), function)).collect();
        let mut page = self.common();
        page["title"] = self.schema.into();
        page["relations"] = relations.into();
        page["functions"] = functions.into();
        let shown = Shown { template: Template::Index, page, level: Level::default(), rows: None, rows_bytes: 0 };
        Ok((self.made(shown, StatusCode::OK, bill).await?, None))
    }

    fn listed(&self, name: &str, rows: Option<String>) -> Option<Value> {
        let relation = self.relation(name).ok()?;
        let kind = match relation.kind {
            RelationKind::Table | RelationKind::PartitionedTable => "table",
            RelationKind::View => "view",
            RelationKind::MaterializedView => "materialized view",
            RelationKind::ForeignTable => "foreign table",
        };
        let href = of_rows(self.state.prefix(), name, &[]).link();
        Some(json!({"name": name, "href": href, "comment": relation.comment.as_deref(), "kind": kind,
            "rows": rows.map(|rows| grouped(&rows)), "columns": relation.columns.len()}))
    }
}
