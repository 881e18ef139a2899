//! The form of a page held against a schema cache: the fields it takes, and which columns of the row say where its visitor goes.

use crate::config::InForce;
use crate::error::ApiError;
use crate::flow::{RequestText, context};
use crate::schema::Snapshot;
use thalweg_catalog::{Catalog, Column, Function, Parameter, Relation, RelationKind, Returns, Runs, TypeKind, nearest};
use thalweg_pages::{Does, Error, ErrorKind, Form, Page, Source, typed_moment, typed_number};
use thalweg_plan::plan;
use thalweg_request::{Action, Target};
use thalweg_rows::oid::{self, Oid};

/// A form whose names are all known.
pub(crate) struct BoundForm {
    pub(crate) form: Form,
    /// The fields that it takes.
    pub(crate) fields: Vec<FormField>,
    /// The columns of the row that say where its visitor goes.
    pub(crate) row: Vec<String>,
    /// Whether the row's columns can be selected: of what a function returns, only if it is a row.
    pub(crate) row_is_selected: bool,
    /// Whether nothing but what is sent fills a column: no trigger does.
    pub(crate) is_filled_by_fields_only: bool,
    /// The relation that errors are about, unless they may be about one that stands behind it.
    pub(crate) table: Option<(String, String)>,
    /// Function that returns the token of a session.
    pub(crate) sign_in_function: Option<String>,
}

/// A field that a form takes: a column, or an argument.
pub(crate) struct FormField {
    pub(crate) name: String,
    /// What it means that nothing was typed into it.
    pub(crate) blank: Blank,
    /// Whether all fields of its name are its elements.
    pub(crate) is_array: bool,
    /// Whether there must be a value.
    pub(crate) is_required: bool,
    /// What finds out whether a text is a value of it, and whether that takes its name too.
    pub(crate) probe: Option<(String, bool)>,
    /// The type of its values, below any domains and arrays.
    base: Oid,
    /// How many characters it may have, where that is known.
    pub(crate) most: Option<i32>,
}

/// What it means that nothing was typed into a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blank {
    /// The empty text.
    Text,
    /// NULL
    Null,
    /// Nothing: there is a default.
    Default,
}

impl BoundForm {
    pub(super) fn of(page: &Page, form: &Form, in_force: &InForce, snapshot: &Snapshot) -> Result<Self, Error> {
        let wrong = |message: String| Error::new(ErrorKind::Query, form.place.clone(), format!("form: {message}"));
        let said = |error: ApiError| wrong(error.words());
        if form.session && in_force.config.session_cookie.is_none() {
            return Err(wrong("session needs a session-cookie in the configuration".to_owned()));
        }
        let schema = in_force.config.default_schema();
        let sample = form.request.sample();
        let text = RequestText::of(&sample, None).map_err(said)?;
        let catalog = &snapshot.catalog;
        let bound = match text.target() {
            Target::Relation(name) => {
                let request = text.request(action(form.does), (catalog, schema)).map_err(|error| said(error.into()))?;
                plan(&request, None, context(in_force, snapshot, schema)).map_err(|error| said(error.into()))?;
                let relation = thalweg_plan::relation(catalog, schema, name).map_err(|error| said(error.into()))?;
                Self::of_relation(form, catalog, relation).map_err(wrong)?
            }
            Target::Function(name) => Self::of_function(form, catalog, (schema, name)).map_err(wrong)?,
        };
        bound.leading(page).map_err(wrong)
    }

    fn of_relation(form: &Form, catalog: &Catalog, relation: &Relation) -> Result<Self, String> {
        let (insert, update, delete) = relation.writable;
        let can = match form.does {
            Does::Insert => insert,
            Does::Update => update,
            Does::Delete => delete,
            Does::Call => true,
        };
        if !can {
            return Err(format!("{} cannot be written to so", relation.name));
        }
        let columns = relation.columns.iter().filter(|column| !column.generated && form.does != Does::Delete);
        let fields = columns.map(|column| FormField::of_column(form.does, catalog, relation, column)).collect();
        Ok(Self {
            form: form.clone(),
            fields: taken(form, fields, &relation.name)?,
            row: relation.columns.iter().map(|column| column.name.to_string()).collect(),
            row_is_selected: true,
            // policies may ask who writes; what else runs could be a trigger
            is_filled_by_fields_only: relation.writing != Runs::Anything,
            table: (relation.kind == RelationKind::Table)
                .then(|| (relation.schema.to_string(), relation.name.to_string())),
            sign_in_function: None,
        })
    }

    fn of_function(form: &Form, catalog: &Catalog, (schema, name): (&str, &str)) -> Result<Self, String> {
        let mut candidates = catalog.callable(schema, name);
        let function = match (candidates.next(), candidates.next()) {
            (Some(function), None) => function,
            (None, _) => return Err(format!("there is no function {name}")),
            (Some(_), Some(_)) => return Err(format!("there are several functions {name}: a form needs one")),
        };
        if function.takes_body() {
            return Err(format!("{name} takes a whole body, and no fields"));
        }
        let fields = function.parameters.iter().map(|parameter| FormField::of_parameter(catalog, parameter)).collect();
        let (row, row_is_selected) = if form.session { (Vec::new(), false) } else { returned(catalog, function) };
        Ok(Self {
            form: form.clone(),
            fields: taken(form, fields, name)?,
            row,
            row_is_selected,
            is_filled_by_fields_only: true,
            table: None,
            sign_in_function: form.session.then(|| name.to_owned()),
        })
    }

    /// Keeps of the row what says where its visitor goes.
    fn leading(mut self, page: &Page) -> Result<Self, String> {
        let then = self.form.then.iter().flat_map(|then| then.values());
        let mut shown: Vec<String> = Vec::new();
        for value in then.filter(|value| value.source == Source::Address) {
            let is_of_row = self.row.contains(&value.name);
            if is_of_row {
                shown.push(value.name.clone());
            } else if !page.bound.contains(&value.name) && value.default().is_none() {
                return Err(unknown("then", &value.name, self.row.iter().map(String::as_str)));
            }
        }
        shown.sort();
        shown.dedup();
        self.row = shown;
        Ok(self)
    }

    pub(crate) fn field(&self, name: &str) -> Option<&FormField> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// What is done when a form is sent, as the API has it.
pub(crate) fn action(does: Does) -> Action {
    match does {
        Does::Insert => Action::Insert,
        Does::Update => Action::Update,
        Does::Delete => Action::Delete,
        Does::Call => Action::Call,
    }
}

/// The fields that a form takes of those that there could be, and those that it sets.
fn taken(form: &Form, fields: Vec<FormField>, of: &str) -> Result<Vec<FormField>, String> {
    let set = form.set.iter().map(|(name, _)| name);
    if let Some(name) =
        form.fields.iter().flatten().chain(set).find(|name| !fields.iter().any(|field| field.name == **name))
    {
        return Err(unknown(of, name, fields.iter().map(|field| &*field.name)));
    }
    let is_set = |name: &String| form.set.iter().any(|(known, _)| known == name);
    let is_named = |field: &FormField| form.fields.as_ref().is_none_or(|named| named.contains(&field.name));
    Ok(fields.into_iter().filter(|field| is_named(field) || is_set(&field.name)).collect())
}

fn unknown<'a>(of: &str, name: &str, known: impl Iterator<Item = &'a str>) -> String {
    match nearest(name, known, 0.6) {
        Some(nearest) => format!("{of} has no {name}; perhaps {nearest} is meant"),
        None => format!("{of} has no {name}"),
    }
}

/// The columns of what a function returns, and whether they can be selected. One that returns a value has a column of its own name, as in SQL.
fn returned(catalog: &Catalog, function: &Function) -> (Vec<String>, bool) {
    let names =
        |attributes: &[thalweg_catalog::Attribute]| attributes.iter().map(|known| known.name.to_string()).collect();
    match &function.returns {
        Returns::Columns(attributes) => (names(attributes), true),
        Returns::Row(row_type) => match catalog.of_row_type(*row_type) {
            Some(id) => (catalog.relation(id).columns.iter().map(|column| column.name.to_string()).collect(), true),
            None => match catalog.type_of(*row_type).map(|known| &known.kind) {
                Some(TypeKind::Composite(attributes)) => (names(attributes), true),
                _ => (Vec::new(), false),
            },
        },
        Returns::Scalar(_) => (vec![function.name.to_string()], false),
        Returns::Void | Returns::Record => (Vec::new(), false),
    }
}

impl FormField {
    fn of_column(does: Does, catalog: &Catalog, relation: &Relation, column: &Column) -> Self {
        let has_default = column.default.is_some() || column.identity;
        let blank = match is_text(catalog, column.type_oid) {
            true => Blank::Text,
            false if does == Does::Insert && column.not_null && has_default => Blank::Default,
            false => Blank::Null,
        };
        let probe = match catalog.base_type(column.type_oid) {
            // whatever is typed is a text, and has any length
            oid::TEXT if column.type_oid == oid::TEXT => None,
            // a string in JSON is no JSON in a string
            oid::JSON | oid::JSONB => Some((thalweg_sql::value_of_type("pg_catalog", "json"), false)),
            _ => Some((thalweg_sql::value_of_column(&relation.schema, &relation.name), true)),
        };
        let is_required = column.not_null && (!has_default || does == Does::Update);
        let is_array = is_array(catalog, column.type_oid);
        let base = base_type(catalog, column.type_oid);
        // PostgreSQL counts the four bytes of a length with it
        let is_of_length = matches!(column.type_oid, oid::VARCHAR | oid::BPCHAR) && column.type_modifier > 4;
        let most = is_of_length.then_some(column.type_modifier.saturating_sub(4));
        Self { name: column.name.to_string(), blank, is_array, is_required, probe, base, most }
    }

    fn of_parameter(catalog: &Catalog, parameter: &Parameter) -> Self {
        let blank = match is_text(catalog, parameter.type_oid) {
            true => Blank::Text,
            false if parameter.required => Blank::Null,
            false => Blank::Default,
        };
        let probe = catalog
            .type_of(parameter.type_oid)
            .filter(|_| parameter.type_oid != oid::TEXT && !parameter.variadic)
            .map(|known| (thalweg_sql::value_of_type(&known.schema, &known.name), false));
        let is_array = is_array(catalog, parameter.type_oid);
        let base = base_type(catalog, parameter.type_oid);
        Self {
            name: parameter.name.to_string(),
            blank,
            is_array,
            is_required: parameter.required,
            probe,
            base,
            most: None,
        }
    }
}

impl FormField {
    /// Whether files are written into it.
    pub(crate) fn is_of_bytes(&self) -> bool {
        self.base == oid::BYTEA && !self.is_array
    }

    /// The value that a typed text means to a visitor whose pages are in this language and show
    /// moments in this zone, if that is another text: the database would read a moment without an
    /// offset in its own zone, and no number with a decimal comma.
    pub(crate) fn meant(&self, typed: &str, locale: &str, zone: &str) -> Option<String> {
        match self.base {
            oid::TIMESTAMPTZ => typed_moment(typed, zone),
            oid::NUMERIC | oid::FLOAT4 | oid::FLOAT8 => typed_number(typed, locale),
            _ => None,
        }
    }

    /// Returns whether the values of the field are JSON.
    pub(crate) fn is_document(&self) -> bool {
        matches!(self.base, oid::JSON | oid::JSONB)
    }

    /// What kind of value is needed, as messages tell them apart.
    pub(crate) fn kind(&self) -> &'static str {
        match self.base {
            _ if self.is_array => "other",
            oid::INT2 | oid::INT4 | oid::INT8 => "integer",
            oid::NUMERIC | oid::FLOAT4 | oid::FLOAT8 => "number",
            oid::DATE => "date",
            oid::TIME | oid::TIMETZ => "time",
            oid::TIMESTAMP | oid::TIMESTAMPTZ => "moment",
            _ => "other",
        }
    }

    /// What was typed as a template is to see it: as it sees what the database has, if it is such a value, so that both can be compared.
    pub(crate) fn seen(&self, typed: &str) -> minijinja::Value {
        let text = || minijinja::Value::from(typed);
        match self.base {
            oid::BOOL => match typed.to_ascii_lowercase().as_str() {
                "true" | "t" | "on" | "yes" | "y" | "1" => minijinja::Value::from(true),
                "false" | "f" | "off" | "no" | "n" | "0" => minijinja::Value::from(false),
                _ => text(),
            },
            oid::INT2 | oid::INT4 | oid::INT8 => {
                typed.trim().parse::<i64>().map_or_else(|_| text(), minijinja::Value::from)
            }
            _ => text(),
        }
    }
}

/// The type below domains, and of an array that of its elements.
fn base_type(catalog: &Catalog, type_oid: Oid) -> Oid {
    let base = catalog.base_type(type_oid);
    match catalog.type_of(base).map(|known| &known.kind) {
        Some(TypeKind::Array(element)) => catalog.base_type(*element),
        _ => base,
    }
}

fn is_array(catalog: &Catalog, type_oid: Oid) -> bool {
    let known = catalog.type_of(catalog.base_type(type_oid));
    known.is_some_and(|known| matches!(known.kind, TypeKind::Array(_)))
}

/// Whether the empty text is a value of a type.
fn is_text(catalog: &Catalog, type_oid: Oid) -> bool {
    let base = catalog.base_type(type_oid);
    let is_citext = || catalog.type_of(base).is_some_and(|known| &*known.name == "citext");
    matches!(base, oid::TEXT | oid::VARCHAR | oid::BPCHAR | oid::NAME) || is_citext()
}
