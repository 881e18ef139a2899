//! A page of the API's own, for browsers that ask it: any request as a table, a row as a form, and the writes of these forms.
//!
//! ```text
//!  address ──▶ request ──▶ plan, abridged ──▶ one round trip ──▶ cells ──▶ template ──▶ response
//!     └ of a form that was sent ──▶ a request of the API's own (of_api) ──▶ 303, or the form again with the error
//! ```

mod asking;
mod index;
mod rows;
mod writing;

use super::going::Going;
use super::page::{BUSY_BYTES_MIN, Rendered, Work, made, of_renderer, of_template_error};
use super::wanted::{self, Wanted};
use super::{Answered, Given, RequestText};
use super::{route, sign_in};
use crate::answer::{Body, respond};
use crate::auth::{Who, caller_at};
use crate::computations::Kind;
use crate::config::{InForce, PagesBrowse};
use crate::error::ApiError;
use crate::schema::Snapshot;
use crate::site::browse::{Address, Cells, Entry, Level, Template, prefers_page, renderer, tools};
use crate::site::{self, Loaded, Page};
use crate::state::State;
use crate::upload::RequestBody;
use bytes::Bytes;
use hyper::header::{self, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use std::sync::Arc;
use thalweg_catalog::Relation;
use thalweg_gauge::{Lap, Laps};
use thalweg_json::{Value, json};
use thalweg_pages::Values;
use thalweg_request::{Resource, Target};

/// Whether a request is for a page of the API's own.
pub(super) fn is_asked(state: &State, in_force: &InForce, parts: &Parts) -> bool {
    let is_on = match in_force.config.pages_browse {
        PagesBrowse::Auto => state.site.is_some(),
        PagesBrowse::On => true,
        PagesBrowse::Off => false,
    };
    let speaks = || Address::speaks_to_page(parts.uri.query().unwrap_or(""));
    is_on
        && match parts.method {
            Method::GET | Method::HEAD => prefers_page(&parts.headers) || speaks(),
            Method::POST => speaks(),
            _ => false,
        }
}

/// address → page, or what its form does.
pub(super) async fn attempt<'a>(
    (state, in_force): (&State, &'a InForce),
    parts: &'a Parts,
    body: &mut RequestBody,
    bill: &mut Laps,
    given: &mut Given<'a>,
) -> Answered {
    super::check_room(state)?;
    let address = address(state, parts)?;
    let is_post = parts.method == Method::POST;
    if let Some(written) = address.of_form().filter(|_| !is_post) {
        return Ok((sent_on(&written), None));
    }
    let who = given.who((state, in_force), parts, bill).await?;
    if let Ok(Resource::Function(name)) = Resource::parse(parts.uri.path()) {
        let function = (wanted::schema(&in_force.config, parts)?, &*name);
        sign_in::count_browsed((state, in_force), (parts, given.peer), &*state.snapshot()?, function)?;
    }
    if let Some(media) = address.says("as").filter(|_| !is_post) {
        let asked = asking::as_media(parts, &address, media)?;
        let answered = asking::api((state, in_force), &asked, Vec::new(), bill, given.is_never_flat).await;
        return answered.map(|(response, rows)| (asking::confined(response), rows));
    }
    let snapshot = state.snapshot()?;
    let schema = wanted::schema(&in_force.config, parts)?;
    let browsing = Browsing {
        state,
        in_force,
        parts,
        snapshot: &snapshot,
        who: &who,
        schema,
        address: &address,
        peer: given.peer,
    };
    if is_post {
        return Ok((browsing.write(body, bill).await?, None));
    }
    let resource = Resource::parse(parts.uri.path())?;
    if let Resource::Relation(name) = &resource {
        let target = Target::Relation(name);
        route::say(given, || route::of_target((state, in_force), &snapshot, (&parts.method, schema), target));
    }
    match (Wanted::of(&in_force.config, &resource, parts)?, address.says("new"), address.says("edit")) {
        (Wanted::Rows(_, Target::Relation(name)), Some(_), _) => {
            let relation = browsing.relation(name)?;
            Ok((browsing.entry(relation, &Entry::default(), None, bill).await?, None))
        }
        (Wanted::Rows(_, Target::Relation(name)), _, Some(_)) => browsing.edit(browsing.relation(name)?, bill).await,
        (Wanted::Rows(_, target), ..) => match browsing.is_made_by_database(target)? {
            true => asking::api((state, in_force), parts, Vec::new(), bill, given.is_never_flat).await,
            false => browsing.rows(target, bill).await,
        },
        (Wanted::Description | Wanted::Options(_), ..) => browsing.index(bill).await,
    }
}

/// The page that tells of an error, with the form that can correct the address.
pub(super) async fn refusal<'a>(
    (state, in_force): (&State, &'a InForce),
    parts: &'a Parts,
    error: &ApiError,
    given: &mut Given<'a>,
) -> Response<Body> {
    let mut response = match told((state, in_force), parts, error, given).await {
        Ok(response) => response,
        Err(_) => site::error_page(error, in_force.config.client_errors_are_verbose, ""),
    };
    *response.status_mut() = error.status;
    error.mark(response.headers_mut());
    response
}

async fn told<'a>(
    (state, in_force): (&State, &'a InForce),
    parts: &'a Parts,
    error: &ApiError,
    given: &mut Given<'a>,
) -> Result<Response<Body>, ApiError> {
    // of an address that cannot be read there is nothing to correct
    let address = address(state, parts).unwrap_or_default();
    let snapshot = state.snapshot()?;
    let who = given.who.clone().or(Who::nobody(in_force)).ok_or_else(ApiError::no_page)?;
    let schema = wanted::schema(&in_force.config, parts).unwrap_or_default();
    let browsing = Browsing {
        state,
        in_force,
        parts,
        snapshot: &snapshot,
        who: &who,
        schema,
        address: &address,
        peer: given.peer,
    };
    let resource = Resource::parse(parts.uri.path()).unwrap_or(Resource::Root);
    let mut page = browsing.common();
    page["error"] = browsing.told(error);
    let (title, relation, is_call) = match &resource {
        Resource::Root => ("", None, false),
        Resource::Relation(name) => (&**name, browsing.relation(name).ok(), false),
        Resource::Function(name) => (&**name, None, true),
    };
    page["title"] = title.into();
    if !matches!(resource, Resource::Root) {
        page["tools"] = tools(&address.saying(&[]), relation, is_call);
    }
    page["is_refused"] = true.into();
    let shown = Shown { template: Template::Table, page, level: Level::default(), rows: None, rows_bytes: 0 };
    browsing.made(shown, error.status, &mut Laps::start()).await
}

/// From this many cells on, a page is made on a thread that may be busy.
const BUSY_CELLS_MIN: usize = 500;

const HTML: &str = "text/html; charset=utf-8";

/// The address that was asked for, as a client knows it.
fn address(state: &State, parts: &Parts) -> Result<Address, ApiError> {
    let path = [state.prefix(), parts.uri.path()].concat();
    Ok(Address::of(path, parts.uri.query().unwrap_or(""))?)
}

/// Sends a browser to another address.
fn sent_on(to: &Address) -> Response<Body> {
    let mut response = Response::new(Body::whole(Bytes::new()));
    *response.status_mut() = StatusCode::SEE_OTHER;
    let headers = response.headers_mut();
    respond::text(headers, header::LOCATION, to.link());
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// A page of the API's own in the making.
struct Browsing<'a> {
    state: &'a State,
    in_force: &'a InForce,
    parts: &'a Parts,
    snapshot: &'a Snapshot,
    who: &'a Who<'a>,
    schema: &'a str,
    address: &'a Address,
    /// Address of the connection, or `None` if code in the same process makes the request.
    peer: Option<&'a str>,
}

/// What a page is made of.
struct Shown {
    template: Template,
    page: Value,
    level: Level,
    /// The rows, and how many of them are shown.
    rows: Option<(minijinja::Value, usize)>,
    rows_bytes: usize,
}

impl<'a> Browsing<'a> {
    fn relation(&self, name: &str) -> Result<&'a Relation, ApiError> {
        Ok(thalweg_plan::relation(&self.snapshot.catalog, self.schema, name)?)
    }

    /// What every page says.
    fn common(&self) -> Value {
        let prefix = self.state.prefix();
        json!({
            "home": format!("{prefix}/"), "prefix": prefix, "schema": self.schema, "role": self.who.role(),
            "is_signed_in": self.who.has_token(), "here": self.address.saying(&[]).link(),
        })
    }

    fn told(&self, error: &ApiError) -> Value {
        let mut told = json!({"status": error.status.as_u16(), "reason": error.status.canonical_reason()});
        for (name, text) in error.parts(self.in_force.config.client_errors_are_verbose) {
            told[name] = text.into();
        }
        told
    }

    fn going<'g>(&'g self, text: &'g RequestText<'g>) -> Going<'g> {
        let Self { state, in_force, parts, snapshot, who, schema, .. } = *self;
        let RequestText { params, headers, .. } = text;
        Going { state, in_force, parts, snapshot, who, schema, params, headers, is_flat_allowed: false, of_page: None }
    }

    /// Writes a page, on a thread that may be busy if it is large.
    async fn made(&self, shown: Shown, status: StatusCode, bill: &mut Laps) -> Result<Response<Body>, ApiError> {
        let (state, prefix) = (self.state, self.state.prefix().to_owned());
        let templates = Templates { loaded: state.site.as_deref().map(site::Site::loaded) };
        let cells = shown.level.columns.len() * shown.rows.as_ref().map_or(0, |(_, count)| *count);
        let is_small = shown.rows_bytes < BUSY_BYTES_MIN && cells < BUSY_CELLS_MIN;
        let work = if is_small { Work::Quick } else { Work::Long };
        let caller = || caller_at((state, self.in_force), self.parts, self.peer);
        let out = made(state, (Kind::Browse, work), caller, move |out| templates.write(&shown, &prefix, out)).await?;
        bill.lap(Lap::Encode);
        let is_head = self.parts.method == Method::HEAD;
        let mut response = site::respond(out, status, HTML, &self.parts.headers, is_head);
        let headers = response.headers_mut();
        headers.insert(header::VARY, HeaderValue::from_static("Accept"));
        // no other site's page may lie over a button of this one
        headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("SAMEORIGIN"));
        Ok(response)
    }
}

/// The templates of these pages: a site's, or those that ship.
struct Templates {
    loaded: Option<Arc<Loaded>>,
}

impl Templates {
    /// Renders the rows' cells and the page.
    fn write(&self, shown: &Shown, prefix: &str, out: &mut Page) -> Result<Rendered, ApiError> {
        let mut page = shown.page.clone();
        fill(&mut page, shown, prefix).map_err(|error| of_template_error(&error))?;
        let mut values = Values::default();
        if let Value::Object(members) = page {
            for (name, value) in members {
                values.insert(name, thalweg_pages::of_json(value));
            }
        }
        let (template, values) = (shown.template.name(), Arc::new(values));
        match &self.loaded {
            Some(loaded) => of_renderer(&loaded.renderer, template, &values, out),
            None => {
                let renderer = renderer().map_err(|error| ApiError::of_page(error.to_string().into()))?;
                of_renderer(renderer, template, &values, out)
            }
        }
    }
}

/// Puts the rows into a page.
fn fill(page: &mut Value, shown: &Shown, prefix: &str) -> Result<(), minijinja::Error> {
    let Some((rows, rows_max)) = &shown.rows else { return Ok(()) };
    let (level, mut cells) = (&shown.level, Cells::new(prefix));
    let mut made = Vec::with_capacity(*rows_max);
    for row in rows.try_iter()?.take(*rows_max) {
        let row = cells.row(level, &row)?;
        if shown.template == Template::Row {
            page["referring"] = cells.referring(level, &row).into();
        }
        made.push(json!({"href": row.href, "cells": row.cells}));
    }
    page["has_links"] = made.iter().any(|row| !row["href"].is_null()).into();
    page["rows"] = made.into();
    Ok(())
}
