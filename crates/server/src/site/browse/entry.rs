//! Forms that write a row: their fields, and the row that they make.

use super::address::Address;
use crate::error::ApiError;
use minijinja::value::ValueKind;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;
use thalweg_catalog::{Catalog, Column, Relation, TypeKind};
use thalweg_json::write_string;
use thalweg_json::{Value, json};
use thalweg_request::Params;
use thalweg_rows::oid;

/// How long a text may be that is edited, in characters. One more is fetched.
pub(crate) const ENTRY_CHARS_MAX: u32 = 100_000;

/// How large a form may be that is sent, in bytes.
pub(crate) const FORM_BYTES_MAX: usize = 4 * 1024 * 1024;

/// What was entered, or stands in the row.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    /// By column; null where there is no value.
    values: BTreeMap<String, Option<String>>,
    /// What stood there when the form was made.
    before: BTreeMap<String, Option<String>>,
    /// Whether a row is there.
    is_edit: bool,
}

impl Entry {
    /// Of a row that stands in the database: its values, of which those that are too long are left out.
    pub(crate) fn of_row(relation: &Relation, row: &minijinja::Value) -> Self {
        let mut values = BTreeMap::new();
        for column in &relation.columns {
            let Ok(value) = row.get_attr(&column.name) else { continue };
            if value.is_undefined() {
                continue;
            }
            let text = (!value.is_none()).then(|| match (value.as_str(), value.kind()) {
                (Some(text), _) => text.to_owned(),
                (None, ValueKind::Bool) => if value.is_true() { "true" } else { "false" }.to_owned(),
                (None, _) => value.to_string(),
            });
            if text.as_ref().is_none_or(|text| text.chars().count() <= ENTRY_CHARS_MAX as usize) {
                values.insert(column.name.to_string(), text);
            }
        }
        Self { before: values.clone(), values, is_edit: true }
    }

    /// Of a form that was sent. A field that was left empty is null where the form says so, or where its column has no empty
    /// values.
    pub(crate) fn of_form(catalog: &Catalog, relation: &Relation, body: &str, is_edit: bool) -> Result<Self, ApiError> {
        let params = Params::decode(body)?;
        let mut entry = Self { is_edit, ..Self::default() };
        let is_null = |name: &str| params.iter().any(|(field, value)| field == ":null" && value == name);
        let was_null = |name: &str| params.iter().any(|(field, value)| field == ":was-null" && value == name);
        for (field, value) in params.iter() {
            let value = value.replace("\r\n", "\n");
            if let Some(column) = field.strip_prefix(":was.") {
                entry.before.insert(column.to_owned(), (!was_null(column)).then_some(value));
            } else if let Some(name) = field.strip_prefix(":is.") {
                let column = relation.column(name).map(|at| &relation.columns[usize::from(at)]);
                let has_empty = column.is_none_or(|column| is_text(catalog, column) || column.not_null);
                let null = value.is_empty() && (is_null(name) || (is_edit && !has_empty));
                entry.values.insert(name.to_owned(), (!null).then_some(value));
            }
        }
        Ok(entry)
    }

    /// The row that it makes as JSON, without what is as it was before, or was left empty in a new one; `None` where nothing is
    /// left.
    pub(crate) fn body(&self, catalog: &Catalog, relation: &Relation) -> Result<Option<Vec<u8>>, ApiError> {
        let mut body = Vec::new();
        for (name, value) in &self.values {
            let is_kept = match self.is_edit {
                true => self.before.get(name) == Some(value),
                false => value.as_ref().is_some_and(String::is_empty),
            };
            if !is_kept {
                body.push(if body.is_empty() { b'{' } else { b',' });
                write_string(&mut body, name.as_bytes());
                body.push(b':');
                let column = relation.column(name).map(|at| &relation.columns[usize::from(at)]);
                write_value(&mut body, catalog, column, value.as_deref())?;
            }
        }
        match (body.is_empty(), self.is_edit) {
            (true, true) => return Ok(None),
            (true, false) => body.push(b'{'),
            (false, _) => {}
        }
        body.push(b'}');
        Ok(Some(body))
    }

    /// The fields of the form.
    pub(crate) fn fields(&self, catalog: &Catalog, relation: &Relation) -> Vec<Value> {
        relation.columns.iter().enumerate().map(|(at, column)| self.field(catalog, relation, column, at)).collect()
    }

    fn field(&self, catalog: &Catalog, relation: &Relation, column: &Column, at: usize) -> Value {
        let name = &*column.name;
        let (value, before) = (self.values.get(name), self.before.get(name));
        let is_binary = catalog.base_type(column.type_oid) == oid::BYTEA;
        let is_writable = !column.generated && !is_binary && (!self.is_edit || value.is_some());
        let why = match () {
            () if column.generated => Some("made by the database"),
            () if is_binary => Some("bytes"),
            () if !is_writable => Some("too long to be edited here"),
            () => None,
        };
        let has_default = column.default.is_some() || column.identity;
        json!({
            "name": name, "id": format!("f{at}"),
            "type": super::level::type_name(catalog, Some(column), column.type_oid),
            "comment": column.comment.as_deref(), "input": input(catalog, column), "options": options(catalog, column),
            "value": value.and_then(Option::as_deref), "is_null": value.is_some_and(Option::is_none),
            "before": before.and_then(Option::as_deref), "had": before.is_some(), "was_null": before.is_some_and(Option::is_none),
            "nullable": !column.not_null, "default": column.default.as_deref(), "is_writable": is_writable, "why": why,
            "required": column.not_null && !has_default && !self.is_edit && !is_text(catalog, column),
            "is_key": relation.primary_key.contains(&(at as u16)),
        })
    }
}

/// Writes a field's value as the API takes it. What is JSON already stays as it was written.
fn write_value(
    body: &mut Vec<u8>,
    catalog: &Catalog,
    column: Option<&Column>,
    value: Option<&str>,
) -> Result<(), ApiError> {
    let Some(value) = value else {
        body.extend_from_slice(b"null");
        return Ok(());
    };
    match column.map(|column| (column, catalog.base_type(column.type_oid))) {
        Some((column, oid::JSON | oid::JSONB)) => {
            thalweg_json::from_str::<IgnoredAny>(value)
                .map_err(|error| ApiError::new(400, "22P02", format!("{} is no JSON: {error}", column.name)))?;
            body.extend_from_slice(value.as_bytes());
        }
        _ => write_string(body, value.as_bytes()),
    }
    Ok(())
}

fn is_text(catalog: &Catalog, column: &Column) -> bool {
    matches!(catalog.base_type(column.type_oid), oid::TEXT | oid::VARCHAR | oid::BPCHAR)
}

/// What a value is entered in.
fn input(catalog: &Catalog, column: &Column) -> &'static str {
    match catalog.base_type(column.type_oid) {
        oid::BOOL => "flag",
        oid::TEXT | oid::VARCHAR | oid::BPCHAR | oid::JSON | oid::JSONB | oid::XML => "text",
        oid::INT2 | oid::INT4 | oid::INT8 | oid::FLOAT4 | oid::FLOAT8 | oid::NUMERIC => "number",
        base if matches!(catalog.type_of(base).map(|known| &known.kind), Some(TypeKind::Enum(_))) => "choice",
        _ => "line",
    }
}

fn options(catalog: &Catalog, column: &Column) -> Vec<String> {
    match catalog.type_of(catalog.base_type(column.type_oid)).map(|known| &known.kind) {
        Some(TypeKind::Enum(labels)) => labels.iter().map(|label| label.to_string()).collect(),
        _ => Vec::new(),
    }
}

impl Entry {
    /// Whether an address names one row by its key and nothing else: no other may be written to.
    pub(crate) fn names_one_row(relation: &Relation, address: &Address) -> bool {
        let is_named = |at: &u16| {
            let key = super::address::name(&relation.columns[usize::from(*at)].name);
            address.value(&key).is_some_and(|value| value.starts_with("eq."))
        };
        !relation.primary_key.is_empty() && relation.primary_key.iter().all(is_named)
    }
}
