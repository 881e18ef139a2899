//! What is wrong with a form that was sent, and with which of its fields.
//!
//! PostgreSQL names a column where one has no value, and a constraint where one is broken; which columns that is of, and what a comment says
//! of it, is looked up. Of a value that is none of its type it names nothing: then each that was typed is tried alone.
//! PostgreSQL stops at the first fault, so that all other faults are looked for here (`checks.rs`).

mod checks;

use super::Sent;
use crate::error::{ApiError, Retry};
use crate::flow::RequestText;
use crate::site::{Blank, FormField};
use crate::transaction::enter;
use crate::upload::{Field, Received};
use hyper::StatusCode;
use minijinja::value::{Object, Value};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use thalweg_catalog::Runs;
use thalweg_pages::{Does, Provided};
use thalweg_wire::{DbError, Error, Format, Param, Query, Texts};

/// How many fields are tried alone to find out which holds no value of its type.
const PROBES_MAX: usize = 64;
/// How much each of them may hold, in bytes.
const PROBED_BYTES_MAX: usize = 256 * 1024;

/// What is wrong with a form.
pub(super) struct Faults {
    /// What the page is sent with.
    pub(super) status: StatusCode,
    /// What is wrong with fields.
    pub(super) of_fields: Vec<(String, Fault)>,
    /// What is wrong, and with no field in particular.
    pub(super) other: Option<Fault>,
    /// What went wrong, as the API would say it.
    pub(super) error: Option<ApiError>,
}

/// Something that is wrong, in words, and as who writes a template tells it from others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    message: String,
    code: String,
    constraint: Option<String>,
    hint: Option<String>,
}

/// The message of a field that must be filled in.
pub(super) const MISSING: &str = "form-missing";
/// The routine of PostgreSQL that reports what `RAISE` says: in words that somebody has chosen.
const RAISED: &str = "exec_stmt_raise";
const NOT_NULL_VIOLATION: &str = "23502";
const CHECK_VIOLATION: &str = "23514";

impl Faults {
    fn new(status: StatusCode) -> Self {
        Self { status, of_fields: Vec::new(), other: None, error: None }
    }

    /// Of fields without which nothing can be done, if there are any.
    pub(super) fn missing<'n>(names: impl Iterator<Item = &'n str>, message: &str) -> Option<Self> {
        let mut faults = Self::new(StatusCode::UNPROCESSABLE_ENTITY);
        names.for_each(|name| faults.add(name, Fault::missing(message.to_owned())));
        (!faults.of_fields.is_empty()).then_some(faults)
    }

    /// Of a form of which no field is a column.
    pub(super) fn nothing_sent(message: String) -> Self {
        Self { other: Some(Fault::missing(message)), ..Self::new(StatusCode::UNPROCESSABLE_ENTITY) }
    }

    /// Of a status that SQL has chosen.
    pub(super) fn of_status(status: StatusCode) -> Self {
        let message = status.canonical_reason().unwrap_or("Error").to_owned();
        let other = Fault { message, code: status.as_str().to_owned(), constraint: None, hint: None };
        Self { other: Some(other), ..Self::new(status) }
    }

    /// Of several faults of one field the first counts.
    fn add(&mut self, field: &str, fault: Fault) {
        if !self.of_fields.iter().any(|(known, _)| known == field) {
            self.of_fields.push((field.to_owned(), fault));
        }
    }
}

impl Fault {
    fn missing(message: String) -> Self {
        Self { message, code: NOT_NULL_VIOLATION.to_owned(), constraint: None, hint: None }
    }
}

/// What a template finds of one.
pub(super) const FIELDS: [Provided; 4] =
    [Provided::any("message"), Provided::any("code"), Provided::any("constraint"), Provided::any("hint")];

impl Object for Fault {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        match key.as_str()? {
            "message" => Some(Value::from(&*self.message)),
            "code" => Some(Value::from(&*self.code)),
            "constraint" => self.constraint.as_deref().map(Value::from),
            "hint" => self.hint.as_deref().map(Value::from),
            _ => None,
        }
    }

    /// It is there.
    fn is_true(self: &Arc<Self>) -> bool {
        true
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// What the page is sent with, if its visitor can mend an error.
fn status(error: &ApiError, reported: &DbError) -> Option<StatusCode> {
    if error.retry != Retry::Never || !error.status.is_client_error() {
        return None;
    }
    let is_theirs = matches!(error.status, StatusCode::BAD_REQUEST | StatusCode::CONFLICT);
    match reported.code.get(..2)? {
        // what is raised with a status of its own keeps that
        "PT" => Some(error.status),
        _ if reported.code == "PGRST" => Some(error.status),
        "22" | "23" if is_theirs => Some(StatusCode::UNPROCESSABLE_ENTITY),
        "P0" if reported.code == "P0001" => Some(StatusCode::UNPROCESSABLE_ENTITY),
        _ => None,
    }
}

/// Rows as texts.
type Rows = Vec<Vec<Option<String>>>;

/// What the database says of a constraint.
#[derive(Default)]
struct Constraint {
    comment: Option<String>,
    columns: Vec<String>,
}

impl Sent<'_> {
    /// What is wrong with the fields, if the visitor can mend it; else the error.
    pub(super) async fn faults(&self, error: ApiError, received: &Received) -> Result<Faults, ApiError> {
        let Some(reported) = error.reported.as_deref().cloned() else { return Err(error) };
        // The session has ended: the function that runs before each request says so.
        let is_signed_out = error.status == StatusCode::UNAUTHORIZED && reported.code == "PGRST";
        if is_signed_out && self.is_for_members {
            return Err(error);
        }
        let Some(status) = status(&error, &reported) else { return Err(error) };
        let mut faults = Faults { error: Some(error), ..Faults::new(status) };
        let is_of_value = reported.code.starts_with("22");
        if is_of_value || reported.code == CHECK_VIOLATION && reported.table.is_none() {
            self.probe(received, &mut faults).await?;
        }
        if is_of_value || reported.code.starts_with("23") {
            self.required(received, &mut faults);
        }
        if faults.of_fields.is_empty() || !is_of_value {
            self.place(&reported, received, &mut faults).await?;
        }
        if is_of_value || reported.code.starts_with("23") {
            self.checks(received, &mut faults).await?;
        }
        Ok(faults)
    }

    /// A message of the program's or the site's own, in the language of the page.
    pub(super) fn says(&self, id: &str, arguments: &[(&str, Value)]) -> String {
        self.messages.own(&self.locale, id, arguments).unwrap_or_default()
    }

    /// What was reported, in the words of a constraint's comment if it has one, or else in those of a message if PostgreSQL found its own.
    fn fault(&self, reported: &DbError, comment: Option<String>, field: Option<&FormField>) -> Fault {
        let is_raised = reported.routine.as_deref() == Some(RAISED);
        let of_catalogue = || {
            let kind = field.map_or("other", FormField::kind);
            let most = field.and_then(|field| field.most).unwrap_or(0);
            let arguments = [("type", Value::from(kind)), ("most", Value::from(most))];
            Some(self.says(self.message(reported).filter(|_| !is_raised)?, &arguments))
        };
        let message = match &*reported.code {
            NOT_NULL_VIOLATION => self.says(MISSING, &[]),
            _ => comment.or_else(of_catalogue).unwrap_or_else(|| reported.message.clone()),
        };
        let hint = reported.hint.clone().filter(|_| self.making.in_force.config.client_errors_are_verbose);
        Fault { message, code: reported.code.clone(), constraint: reported.constraint.clone(), hint }
    }

    /// The message that tells of an error of PostgreSQL's own.
    fn message(&self, reported: &DbError) -> Option<&'static str> {
        match (&*reported.code, self.form.form.does) {
            ("22P02" | "22007" | "22008", _) => Some("form-invalid"),
            ("22003", _) => Some("form-out-of-range"),
            ("22001", _) => Some("form-too-long"),
            ("23505", _) => Some("form-taken"),
            (CHECK_VIOLATION, _) => Some("form-refused"),
            ("23P01", _) => Some("form-overlaps"),
            // of which side it is, nothing says
            ("23503", Does::Call) => None,
            ("23503", Does::Insert | Does::Update) if self.is_about_the_form(reported) => Some("form-unknown"),
            ("23503", _) => Some("form-in-use"),
            _ => None,
        }
    }

    /// Puts what PostgreSQL reported where it belongs.
    async fn place(&self, reported: &DbError, received: &Received, faults: &mut Faults) -> Result<(), ApiError> {
        let constraint = match &reported.constraint {
            Some(name) => self.constraint(reported, name).await?,
            None => Constraint::default(),
        };
        let message = match (&faults.error, reported.code.as_str()) {
            // it is what the JSON of a raised message says
            (Some(error), "PGRST") => error.parts(false).find(|(name, _)| *name == "message").map(|(_, text)| text),
            _ => constraint.comment,
        };
        let mut fault = self.fault(reported, message, None);
        if let Some(error) = faults.error.as_ref().filter(|_| reported.code == "PGRST") {
            fault.code = error.code.to_string();
        }
        let is_here = self.is_about_the_form(reported);
        let was_sent = |name: &str| received.fields().iter().any(|field| field.name() == name);
        let named = reported.column.as_deref().filter(|name| is_here && self.is_typed(name));
        let mut columns = constraint.columns.iter().map(String::as_str);
        let mut of_constraint = columns.by_ref().filter(|name| is_here && self.is_typed(name) && was_sent(name));
        match (named, of_constraint.next(), of_constraint.next()) {
            (Some(name), ..) | (None, Some(name), None) => faults.add(name, fault),
            _ if reported.code == CHECK_VIOLATION && reported.table.is_none() && !faults.of_fields.is_empty() => {}
            _ => faults.other = Some(fault),
        }
        Ok(())
    }

    /// Whether what is reported of a table is of the one that the form writes to, or may be.
    fn is_about_the_form(&self, reported: &DbError) -> bool {
        match (&self.form.table, &reported.schema, &reported.table) {
            (Some((schema, table)), Some(of), Some(about)) => (schema, table) == (of, about),
            _ => true,
        }
    }

    /// Whether a field is its visitor's to fill in.
    fn is_typed(&self, name: &str) -> bool {
        self.form.field(name).is_some() && !self.form.form.set.iter().any(|(known, _)| known == name)
    }

    /// Finds all that must be filled in and is not, where it is certain that nothing else would have done so.
    fn required(&self, received: &Received, faults: &mut Faults) {
        if !self.form.is_filled_by_fields_only {
            return;
        }
        let is_update = self.form.form.does == Does::Update;
        let is_missing = |field: &&FormField| match received.fields().iter().rfind(|sent| sent.name() == field.name) {
            Some(sent) => sent.is_blank() && field.blank == Blank::Null,
            None => !is_update,
        };
        let required = self.form.fields.iter().filter(|field| field.is_required && self.is_typed(&field.name));
        let missing: Vec<&str> = required.filter(is_missing).map(|field| &*field.name).collect();
        let message = self.says(MISSING, &[]);
        missing.into_iter().for_each(|name| faults.add(name, Fault::missing(message.clone())));
    }

    /// Tries what was typed into each field alone.
    async fn probe(&self, received: &Received, faults: &mut Faults) -> Result<(), ApiError> {
        let typed = |field: &'_ Field| field.counts && !field.is_blank() && self.is_typed(field.name());
        let fields = received.fields().iter().filter(|field| typed(field));
        let probes = fields.filter_map(|field| {
            let (text, takes_name) = self.form.field(field.name())?.probe.as_ref()?;
            Some((field.name(), field.text(PROBED_BYTES_MAX)?, text, *takes_name))
        });
        for (name, value, text, takes_name) in probes.take(PROBES_MAX) {
            let name_param = takes_name.then_some(Param::Text(Cow::Borrowed(name)));
            let params: Vec<Param<'_>> = name_param.into_iter().chain([Param::Text(value)]).collect();
            let query = Query { params: &params, ..Query::unnamed(text) };
            // a type's input, or a domain's check, may be anybody's code
            let Err(error) = self.ask(query, Runs::Anything).await? else { continue };
            let is_of_value = error.code.starts_with("22") || error.code == CHECK_VIOLATION;
            if is_of_value {
                let comment = match &error.constraint {
                    Some(constraint) => self.constraint(&error, constraint).await?.comment,
                    None => None,
                };
                faults.add(name, self.fault(&error, comment, self.form.field(name)));
            }
        }
        Ok(())
    }

    /// The comment of a constraint, and its columns.
    async fn constraint(&self, reported: &DbError, name: &str) -> Result<Constraint, ApiError> {
        let text = |text: &Option<String>| Param::Text(Cow::Owned(text.clone().unwrap_or_default()));
        let params = [
            text(&reported.schema),
            text(&reported.table),
            text(&reported.data_type),
            Param::Text(Cow::Borrowed(name)),
        ];
        let query = Query { params: &params, formats: &[Format::Text], ..Query::unnamed(CONSTRAINT) };
        let mut constraint = Constraint::default();
        for row in self.ask(query, Runs::Nothing).await?.unwrap_or_default() {
            if let Ok([comment, column]) = <[_; 2]>::try_from(row) {
                constraint.comment = comment.or(constraint.comment);
                constraint.columns.extend(column);
            }
        }
        Ok(constraint)
    }

    /// Asks the database something in a transaction of its own, as the visitor: the rows, or what it says against that.
    async fn ask(&self, query: Query<'_>, runs: Runs) -> Result<Result<Rows, DbError>, ApiError> {
        let text = RequestText::default();
        let going = self.making.going(&text, None);
        let session = going.session(runs, None, None);
        let mut entered = enter(self.making.state, &session).await?;
        let mut found = Texts::of_statement(entered.statements_before());
        match entered.run(&[query], &mut found).await.map_err(Error::from) {
            Ok(_) => Ok(Ok(found.rows)),
            Err(error) => match error.database() {
                Some(reported) => Ok(Err(reported.clone())),
                None => Err(ApiError::wire(&error, self.making.who.is_anonymous())),
            },
        }
    }
}

/// The comment and the columns of a constraint by its name (`$4`), of a table (`$1`, `$2`) or of a domain (`$1`, `$3`). A unique index that is no
/// constraint has those that its expressions are made of.
const CONSTRAINT: &str = "
WITH t AS (
  SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
  WHERE n.nspname OPERATOR(pg_catalog.=) $1::pg_catalog.text AND c.relname OPERATOR(pg_catalog.=) $2::pg_catalog.text
), d AS (
  SELECT y.oid FROM pg_catalog.pg_type y JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) y.typnamespace
  WHERE n.nspname OPERATOR(pg_catalog.=) $1::pg_catalog.text AND y.typname OPERATOR(pg_catalog.=) $3::pg_catalog.text
), found AS (
  SELECT k.oid, k.conkey AS columns, pg_catalog.obj_description(k.oid, 'pg_constraint') AS comment
  FROM pg_catalog.pg_constraint k
  WHERE k.conname OPERATOR(pg_catalog.=) $4::pg_catalog.text AND (k.conrelid IN (SELECT oid FROM t) OR k.contypid IN (SELECT oid FROM d))
  UNION ALL
  SELECT i.indexrelid, ARRAY(
      SELECT p.refobjsubid::pg_catalog.int2 FROM pg_catalog.pg_depend p
      WHERE p.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass
        AND p.objid OPERATOR(pg_catalog.=) i.indexrelid AND p.refobjid OPERATOR(pg_catalog.=) i.indrelid
        AND p.refobjsubid OPERATOR(pg_catalog.>) 0),
    pg_catalog.obj_description(i.indexrelid, 'pg_class')
  FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) i.indexrelid
  WHERE i.indrelid IN (SELECT oid FROM t) AND c.relname OPERATOR(pg_catalog.=) $4::pg_catalog.text
)
SELECT found.comment, a.attname::pg_catalog.text FROM found
LEFT JOIN pg_catalog.pg_attribute a
  ON a.attrelid IN (SELECT oid FROM t) AND a.attnum OPERATOR(pg_catalog.=) ANY (found.columns)";
