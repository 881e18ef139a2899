//! Rows that a form writes. The API does it, as for any client; the browser is sent to what has come of it, or back to the form.

use super::asking::{Asked, api};
use super::{Browsing, Shown, sent_on};
use crate::answer::Body;
use crate::auth::cookie;
use crate::error::{ApiError, MAYBE_EXECUTED, Retry};
use crate::flow::batch::Batch;
use crate::flow::{Answered, RequestText};
use crate::http;
use crate::sent_forms::{Begun, FormHasher, new_key};
use crate::site::browse::{Address, ENTRY_CHARS_MAX, Entry, FORM_BYTES_MAX, Level, Template, name, of_rows};
use crate::upload::RequestBody;
use hyper::header::{self, HeaderValue};
use hyper::{Method, Response, StatusCode};
use thalweg_catalog::Relation;
use thalweg_gauge::{Lap, Laps};
use thalweg_json::Value;
use thalweg_plan::plan;
use thalweg_request::{Action, Headers, Params, Resource, Target};

/// The field of a new row's form by which it is inserted once, although the form may be sent twice.
const ONCE: &str = ":once";
/// One row, or none is written.
const ONE: &str = "application/vnd.pgrst.object+json";

impl<'a> Browsing<'a> {
    /// The form of a new row, or of one that is there.
    pub(super) async fn entry(
        &self,
        relation: &Relation,
        entry: &Entry,
        error: Option<&ApiError>,
        bill: &mut Laps,
    ) -> Result<Response<Body>, ApiError> {
        let mut page = self.common();
        page["title"] = (&*relation.name).into();
        page["comment"] = relation.comment.as_deref().into();
        page["fields"] = entry.fields(&self.snapshot.catalog, relation).into();
        page["is_new"] = self.address.says("new").is_some().into();
        page["once"] = self.address.says("new").and_then(|_| new_key()).into();
        page["action"] = self.address.link().into();
        page["back"] = self.row().link().into();
        if let Some(error) = error {
            page["error"] = self.told(error);
        }
        let status = error.map_or(StatusCode::OK, |error| error.status);
        let shown = Shown { template: Template::Entry, page, level: Level::default(), rows: None, rows_bytes: 0 };
        self.made(shown, status, bill).await
    }

    /// The form of the row that the address names.
    pub(super) async fn edit(&self, relation: &'a Relation, bill: &mut Laps) -> Answered {
        self.check_names_one(relation)?;
        let query = self.row().query();
        let text = RequestText::of_target(Target::Relation(&relation.name), &query, Headers::default())?;
        let going = self.going(&text);
        let mut request = text.request(Action::Read, (&self.snapshot.catalog, self.schema))?;
        request.window.limit_rows = Some(1);
        let mut planned = plan(&request, None, going.context(&request))?;
        planned.abridge(&self.snapshot.catalog, ENTRY_CHARS_MAX + 1);
        let (prepared, values) = going.prepare(&request, &planned, None);
        bill.lap(Lap::Plan);
        let mut batch = Batch::new(self.snapshot);
        batch.prepared(&prepared, &values);
        let found = batch.run(&going, None, bill).await?.into_found();
        let row = found.into_iter().next().and_then(|found| found.table.into_row()).ok_or_else(ApiError::no_row)?;
        Ok((self.entry(relation, &Entry::of_row(relation, &row), None, bill).await?, Some(1)))
    }

    /// Does what a form says.
    pub(super) async fn write(&self, body: &mut RequestBody, bill: &mut Laps) -> Result<Response<Body>, ApiError> {
        cookie::check_site(&self.parts.headers, &self.in_force.config)?;
        let resource = Resource::parse(self.parts.uri.path())?;
        let Resource::Relation(name) = &resource else {
            return Err(ApiError::method_of_page(&self.parts.method, true));
        };
        let relation = self.relation(name)?;
        let body = form(self.parts, body).await?;
        // whatever is wrong from here on, the form is not read again
        self.written(relation, &body, bill).await.map_err(|error| error.retried(Retry::Never))
    }

    async fn written(&self, relation: &Relation, body: &str, bill: &mut Laps) -> Result<Response<Body>, ApiError> {
        let says = |name: &str| self.address.says(name).is_some();
        if !(says("new") || says("edit") || says("delete")) {
            return Err(ApiError::method_of_page(&self.parts.method, true));
        }
        if !says("new") {
            self.check_names_one(relation)?;
        }
        if says("delete") {
            self.change(relation, Method::DELETE, Vec::new(), bill).await?;
            return Ok(sent_on(&Address { path: self.address.path.clone(), ..Address::default() }));
        }
        let entry = Entry::of_form(&self.snapshot.catalog, relation, body, says("edit"))?;
        let running = match self.begin(body).await {
            Some(Begun::Again(answer)) => return answer,
            Some(Begun::First(running)) => Some(running),
            None => None,
        };
        let written = match says("new") {
            true => self.insert(relation, &entry, bill).await,
            false => self.update(relation, &entry, bill).await,
        };
        match written {
            Ok(response) => {
                if let Some(running) = running {
                    running.done(&response);
                }
                Ok(response)
            }
            // A form that is shown again invites the user to send it again. The error page says
            // whether that is safe.
            Err(error) if error.status.is_server_error() => {
                if let Some(running) = running.filter(|_| error.code == MAYBE_EXECUTED) {
                    running.unknown();
                }
                Err(error)
            }
            Err(error) => self.entry(relation, &entry, Some(&error), bill).await,
        }
    }

    /// Begins to carry out the form of a new row, or finds the outcome of the same one.
    async fn begin(&self, body: &str) -> Option<Begun<'_>> {
        let has_key = |(name, value): (&str, &str)| name == ONCE && !value.is_empty();
        Params::decode(body).ok()?.iter().find(|field| has_key(*field))?;
        let mut hasher = FormHasher::new(http::address(&self.parts.uri), &self.who.claims());
        hasher.part(body.as_bytes());
        Some(self.state.sent_forms.begin(hasher.finish(), self.parts).await)
    }

    /// Inserts a row, and sends the browser to it.
    async fn insert(&self, relation: &Relation, entry: &Entry, bill: &mut Laps) -> Result<Response<Body>, ApiError> {
        let row = entry.body(&self.snapshot.catalog, relation)?.unwrap_or_default();
        let prefer = Some("return=headers-only");
        let asked = Asked { method: Method::POST, query: "", accept: "application/json", prefer }.parts(self.parts)?;
        let (response, _) = api((self.state, self.in_force), &asked, row, bill, false).await?;
        let list = || sent_on(&Address { path: self.address.path.clone(), ..Address::default() });
        Ok(match response.headers().get(header::LOCATION) {
            Some(location) => {
                let mut sent = list();
                sent.headers_mut().insert(header::LOCATION, location.clone());
                sent
            }
            None => list(),
        })
    }

    /// Updates the row, and sends the browser to where it is then.
    async fn update(&self, relation: &Relation, entry: &Entry, bill: &mut Laps) -> Result<Response<Body>, ApiError> {
        let Some(row) = entry.body(&self.snapshot.catalog, relation)? else { return Ok(sent_on(&self.row())) };
        let key = self.change(relation, Method::PATCH, row, bill).await?;
        let texts: Option<Vec<(&str, String)>> = relation
            .primary_key
            .iter()
            .map(|at| {
                let column = &*relation.columns[usize::from(*at)].name;
                let text = match key.get(column)? {
                    Value::String(text) => text.clone(),
                    Value::Null => return None,
                    other => other.to_string(),
                };
                Some((column, text))
            })
            .collect();
        Ok(sent_on(&match texts {
            Some(texts) => {
                let values: Vec<(&str, &str)> = texts.iter().map(|(column, text)| (*column, &**text)).collect();
                of_rows(self.state.prefix(), &relation.name, &values)
            }
            None => self.row(),
        }))
    }

    /// Changes the one row that the address names, or none; its key then.
    async fn change(
        &self,
        relation: &Relation,
        method: Method,
        row: Vec<u8>,
        bill: &mut Laps,
    ) -> Result<Value, ApiError> {
        let key: Vec<String> =
            relation.primary_key.iter().map(|at| name(&relation.columns[usize::from(*at)].name)).collect();
        let query = self.row().with(&[("select", Some(key.join(",")))]).query();
        let asked =
            Asked { method, query: &query, accept: ONE, prefer: Some("return=representation") }.parts(self.parts)?;
        let (response, _) = api((self.state, self.in_force), &asked, row, bill, false).await?;
        let bytes = response.body().bytes().unwrap_or_default();
        Ok(thalweg_json::from_slice(&bytes).unwrap_or_default())
    }

    /// The address of the row alone.
    fn row(&self) -> Address {
        self.address.with(&[("select", None), ("order", None), ("limit", None), ("offset", None)]).saying(&[])
    }

    fn check_names_one(&self, relation: &Relation) -> Result<(), ApiError> {
        match Entry::names_one_row(relation, self.address) {
            true => Ok(()),
            false => Err(ApiError::new(400, "TWG11", "The address must name one row by its primary key.")),
        }
    }
}

/// A form that was sent.
async fn form(parts: &hyper::http::request::Parts, body: &mut RequestBody) -> Result<String, ApiError> {
    let is_form = |value: &HeaderValue| value.as_bytes().starts_with(b"application/x-www-form-urlencoded");
    if parts.headers.get(header::CONTENT_TYPE).is_some_and(|value| !is_form(value)) {
        return Err(ApiError::new(415, "PGRST102", "A form is needed: application/x-www-form-urlencoded"));
    }
    let (_, incoming) = body.split();
    incoming.decode(&parts.headers)?;
    let mut form: Vec<u8> = Vec::new();
    while let Some(chunk) = incoming.next_held(form.len() as u64).await? {
        if form.len() + chunk.len() > FORM_BYTES_MAX {
            return Err(ApiError::body_too_large(&format!("{FORM_BYTES_MAX} bytes")));
        }
        form.extend_from_slice(&chunk);
    }
    String::from_utf8(form).map_err(|_| ApiError::new(400, "PGRST102", "The form is not UTF-8"))
}
