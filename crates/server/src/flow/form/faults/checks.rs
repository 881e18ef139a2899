//! The checks of a table that a form breaks. PostgreSQL reports one of them at a time, so that all
//! others are evaluated here, as far as they depend on what was sent alone.

use super::{CHECK_VIOLATION, Constraint, Fault, Faults, PROBED_BYTES_MAX, Sent};
use crate::error::ApiError;
use crate::site::Blank;
use crate::upload::Received;
use std::borrow::Cow;
use std::collections::BTreeMap;
use thalweg_catalog::Runs;
use thalweg_json::Value;
use thalweg_pages::Does;
use thalweg_wire::{DbError, Format, Param, Query};

/// Largest number of checks of a table that are evaluated.
const CHECKS_MAX: usize = 64;

/// A check of a table.
struct Check {
    name: String,
    expression: String,
    constraint: Constraint,
}

/// The values of columns that are known. `None` is NULL.
type Known<'r> = BTreeMap<&'r str, Option<Cow<'r, str>>>;

impl Sent<'_> {
    /// Adds the checks that are broken by values which are sent and valid.
    pub(super) async fn checks(&self, received: &Received, faults: &mut Faults) -> Result<(), ApiError> {
        // A trigger may change the row before it is checked.
        let Some((schema, table)) = self.form.table.as_ref().filter(|_| self.form.is_filled_by_fields_only) else {
            return Ok(());
        };
        let values = self.values(received, faults);
        let is_known = |check: &Check| {
            let columns = &check.constraint.columns;
            !columns.is_empty() && columns.iter().all(|column| values.contains_key(column.as_str()))
        };
        let checks: Vec<Check> = self.checks_of(schema, table).await?.into_iter().filter(is_known).collect();
        if checks.is_empty() {
            return Ok(());
        }
        let text = thalweg_sql::broken_checks(schema, table, checks.iter().map(|check| &*check.expression));
        let params = [Param::Text(Cow::Owned(document(&values)))];
        let formats = vec![Format::Text; checks.len()];
        let query = Query { params: &params, formats: &formats, ..Query::unnamed(&text) };
        // A check may call anybody's code. If one fails, nothing more is known.
        let Ok(rows) = self.ask(query, Runs::Anything).await? else { return Ok(()) };
        let broken = rows.into_iter().next().unwrap_or_default();
        for (check, _) in checks.into_iter().zip(broken).filter(|(_, is_broken)| is_broken.as_deref() == Some("t")) {
            let mut reported = DbError::default();
            (reported.code, reported.constraint) = (CHECK_VIOLATION.to_owned(), Some(check.name));
            let fault = self.fault(&reported, check.constraint.comment, None);
            self.put(received, faults, &check.constraint.columns, fault);
        }
        Ok(())
    }

    /// The values that are known of the row.
    fn values<'r>(&self, received: &'r Received, faults: &Faults) -> Known<'r> {
        let mut values = BTreeMap::new();
        for field in received.fields().iter().filter(|field| field.counts) {
            let is_wrong = faults.of_fields.iter().any(|(name, _)| name == field.name());
            let Some(known) = self.form.field(field.name()).filter(|known| !is_wrong && !known.is_document()) else {
                continue;
            };
            match (known.blank, field.is_blank()) {
                (Blank::Default, true) => {}
                (Blank::Null, true) => _ = values.insert(field.name(), None),
                _ => {
                    if let Some(text) = field.text(PROBED_BYTES_MAX) {
                        values.insert(field.name(), Some(text));
                    }
                }
            }
        }
        values
    }

    async fn checks_of(&self, schema: &str, table: &str) -> Result<Vec<Check>, ApiError> {
        let privilege = if self.form.form.does == Does::Update { "UPDATE" } else { "INSERT" };
        let params = [schema, table, privilege].map(|text| Param::Text(Cow::Borrowed(text)));
        let query = Query { params: &params, formats: &[Format::Text], ..Query::unnamed(CHECKS) };
        let mut checks: Vec<Check> = Vec::new();
        for row in self.ask(query, Runs::Nothing).await?.unwrap_or_default() {
            let Ok([Some(name), Some(expression), comment, column]) = <[_; 4]>::try_from(row) else { continue };
            if checks.last().is_none_or(|last| last.name != name) {
                if checks.len() == CHECKS_MAX {
                    break;
                }
                checks.push(Check { name, expression, constraint: Constraint { comment, columns: Vec::new() } });
            }
            if let Some(last) = checks.last_mut() {
                last.constraint.columns.extend(column);
            }
        }
        Ok(checks)
    }

    /// Puts a fault of columns where it belongs: to a field, or to none if it is about several.
    fn put(&self, received: &Received, faults: &mut Faults, columns: &[String], fault: Fault) {
        let was_sent = |name: &str| received.fields().iter().any(|field| field.name() == name);
        let mut own = columns.iter().filter(|name| self.is_typed(name) && was_sent(name));
        match (own.next(), own.next(), &mut faults.other) {
            (Some(name), None, _) => faults.add(name, fault),
            (_, _, None) => faults.other = Some(fault),
            (_, _, Some(other)) if other.constraint != fault.constraint => {
                other.message = format!("{} {}", other.message, fault.message);
            }
            (_, _, Some(_)) => {}
        }
    }
}

fn document(values: &Known<'_>) -> String {
    let members = values.iter().map(|(name, value)| {
        let value = value.as_ref().map_or(Value::Null, |value| Value::String(value.clone().into_owned()));
        ((*name).to_owned(), value)
    });
    Value::Object(members.collect()).to_string()
}

/// The checks of a table (`$1`, `$2`), with their expressions and comments, once for each column. A check of the whole row
/// is left out (its column is 0), and so is one with a column for which the visitor lacks a privilege (`$3`).
const CHECKS: &str = "
SELECT k.conname::pg_catalog.text, pg_catalog.pg_get_expr(k.conbin, k.conrelid),
  pg_catalog.obj_description(k.oid, 'pg_constraint'), a.attname::pg_catalog.text
FROM pg_catalog.pg_constraint k
JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) k.conrelid
JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
LEFT JOIN pg_catalog.pg_attribute a
  ON a.attrelid OPERATOR(pg_catalog.=) k.conrelid AND a.attnum OPERATOR(pg_catalog.=) ANY (k.conkey)
WHERE n.nspname OPERATOR(pg_catalog.=) $1::pg_catalog.text AND c.relname OPERATOR(pg_catalog.=) $2::pg_catalog.text
  AND k.contype OPERATOR(pg_catalog.=) 'c'
  AND NOT EXISTS (
    SELECT FROM pg_catalog.unnest(k.conkey) AS of (attnum)
    WHERE CASE WHEN of.attnum OPERATOR(pg_catalog.=) 0 THEN true
               ELSE NOT pg_catalog.has_column_privilege(k.conrelid, of.attnum, $3::pg_catalog.text) END)
ORDER BY k.conname, a.attnum";
