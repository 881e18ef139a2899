//! A page: its queries planned, run in one round trip and one snapshot, its template written.
//!
//! ```text
//!  path ──▶ page ──▶ queries filled ──▶ prepared (going.rs) ──▶ one round trip ──▶ tables ──▶ template ──▶ response
//! ```

use super::batch::Batch;
use super::form;
use super::going::Going;
use super::route;
use super::{Answered, Given, RequestText};
use crate::answer::{Body, respond};
use crate::auth::{Who, caller_at, cookie};
use crate::callers::Caller;
use crate::computations::Kind;
use crate::config::InForce;
use crate::error::{ApiError, Retry};
use crate::http;
use crate::prepared::Prepared;
use crate::schema::Snapshot;
use crate::site::{self, Asked, Bound, BoundQuery, Collected, Development, Found, Page, Site, cookie, sign_in};
use crate::state::State;
use crate::transaction::FoundRows;
use crate::upload::RequestBody;
use bytes::Bytes;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode, Uri};
use minijinja::ErrorKind;
use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::Arc;
use thalweg_catalog::Function;
use thalweg_encode::Zone;
use thalweg_gauge::{Lap, Laps};
use thalweg_pages::{Pager, Provided, Renderer, Shows, Values, is_stale, quickly, takes_long};
use thalweg_plan::{Form, plan};
use thalweg_request::Action;
use thalweg_sql::Param;
use thalweg_wire::DbError;

/// Size of a page's rows, in bytes, from which the page is rendered on a thread that serves no
/// other client.
pub(super) const BUSY_BYTES_MIN: usize = 256 * 1024;

/// Size from which this applies if the template does more than loop over its rows, because its time
/// may then grow faster than the rows do.
const BUSY_BYTES_MIN_UNLESS_LINEAR: usize = 16 * 1024;

/// What every page finds besides the rows of its queries and what its path binds, or may find: `error` is on those that tell of one.
pub(crate) static PROVIDED: [Provided; 9] = [
    Provided::any("locale"),
    Provided::any("zone"),
    Provided::any("origin"),
    Provided::of("request", &REQUEST),
    Provided::any("claims"),
    Provided::any("role"),
    Provided::any("is_signed_in"),
    Provided::of("form", &form::STATE),
    Provided::of("error", &ERROR),
];
const REQUEST: [Provided; 4] =
    [Provided::any("path"), Provided::any("address"), Provided::any("method"), Provided::any("query")];
const ERROR: [Provided; 5] = [
    Provided::any("status"),
    Provided::any("message"),
    Provided::any("code"),
    Provided::any("details"),
    Provided::any("hint"),
];

/// path → page → rows → response.
pub(super) async fn attempt<'a>(
    (state, in_force): (&State, &'a InForce),
    site: &Site,
    parts: &'a Parts,
    body: &mut RequestBody,
    bill: &mut Laps,
    given: &mut Given<'a>,
) -> Answered {
    if let Some(development) = site.development() {
        if let Some(response) = development.answer(&parts.uri).await {
            return Ok((response, None));
        }
        if let Some(wrong) = development.wrong() {
            return Err(ApiError::of_page(wrong.to_string().into()));
        }
    }
    let loaded = site.loaded();
    if let Some(file) = parts.uri.path().strip_prefix("/static/") {
        route::of_files(&parts.method);
        let served = loaded.files.answer(&state.outlet, parts, file).await;
        return served.map(|response| (response, None)).ok_or_else(ApiError::no_page);
    }
    let found = match loaded.pages.find(parts.uri.path()) {
        Ok(Some(found)) => found,
        Ok(None) => return beside(&loaded.pages, parts).ok_or_else(ApiError::no_page),
        Err(error) => return beside(&loaded.pages, parts).ok_or_else(|| ApiError::of_path(&error)),
    };
    route::of_page(&parts.method, &found.page.template);
    let has_forms = !found.page.front.forms.is_empty();
    let is_sent = parts.method == Method::POST && has_forms;
    if is_sent {
        // before anybody is believed who a browser says is there
        cookie::check_site(&parts.headers, &in_force.config)?;
    } else if !matches!(parts.method, Method::GET | Method::HEAD) {
        return Err(ApiError::method_of_page(&parts.method, has_forms));
    }
    if is_sent || !found.page.front.queries.is_empty() {
        super::check_room(state)?;
    }
    // A visitor who must sign in first keeps what was typed.
    let of_site = (in_force, &loaded.pages);
    let who = match (given.who((state, in_force), parts, bill).await, &found.page.front.sign_in) {
        (Ok(who), Some(sign_in)) if is_sent && !who.has_token() => {
            return form::keep(of_site, parts, (sign_in, None)).of(body).await;
        }
        (Ok(who), Some(sign_in)) if !who.has_token() => return Ok((sign_in::send(sign_in, parts), None)),
        // their session has ended
        (Err(error), Some(sign_in)) if is_sent && error.status == StatusCode::UNAUTHORIZED => {
            return form::keep(of_site, parts, (sign_in, Some(&error))).of(body).await;
        }
        (Err(error), Some(sign_in)) if error.status == StatusCode::UNAUTHORIZED => {
            let mut response = sign_in::send(sign_in, parts);
            error.mark(response.headers_mut());
            return Ok((response, None));
        }
        (who, _) => who?,
    };
    let snapshot = state.snapshot()?;
    let bound = site.bound(&loaded, in_force, &snapshot);
    let asked = Asked::of((&parts.uri, &parts.headers), &found.bound, &who.claims())?;
    if asked.is_of_no_language(&loaded.pages) {
        return Err(ApiError::no_page());
    }
    let making =
        Making { state, site, in_force, parts, snapshot: &snapshot, who: &who, asked: &asked, peer: given.peer };
    if is_sent {
        let sent = form::attempt(&making, bound, found.number, (&mut *body, given.cookie, given.peer), bill).await;
        return match (sent, &found.page.front.sign_in) {
            // The database says that the session has ended.
            (Err(error), Some(sign_in)) if error.status == StatusCode::UNAUTHORIZED => {
                form::keep(of_site, parts, (sign_in, Some(&error))).of(body).await
            }
            (sent, _) => sent,
        };
    }
    let mut filled = making.filled(&bound, found.number, bill).await?;
    match filled.after_last.take() {
        Some(AfterLast::LastIs(address)) => return Ok((sent_to(StatusCode::TEMPORARY_REDIRECT, address), None)),
        Some(AfterLast::NotFound) => return Err(ApiError::no_page()),
        None => {}
    }
    filled.values.insert("form", form::untouched(&filled.once));
    let response = making.page(bound, found.number, filled, StatusCode::OK, bill).await?;
    Ok((response, None))
}

/// The page that tells of an error: the site's own, if it has one and that can be made.
pub(super) async fn refusal<'a>(
    (state, in_force): (&State, &'a InForce),
    site: &Site,
    parts: &'a Parts,
    error: &ApiError,
    given: &mut Given<'a>,
) -> Response<Body> {
    let template = if error.status == StatusCode::NOT_FOUND { "404.html" } else { "error.html" };
    // whoever writes the site is shown what is wrong with it, which its own page may leave out
    let is_shown = site.development().is_some() && error.status.is_server_error();
    let own = match is_shown {
        true => None,
        false => of_template((state, in_force), site, template, parts, error, given).await,
    };
    let mut response = match own {
        Some(response) => response,
        None => {
            let script = site.development().map_or(String::new(), Development::script);
            site::error_page(error, in_force.config.client_errors_are_verbose, &script)
        }
    };
    *response.status_mut() = error.status;
    error.mark(response.headers_mut());
    response
}

async fn of_template<'a>(
    (state, in_force): (&State, &'a InForce),
    site: &Site,
    template: &str,
    parts: &'a Parts,
    error: &ApiError,
    given: &mut Given<'a>,
) -> Option<Response<Body>> {
    let bill = &mut Laps::start();
    let loaded = site.loaded();
    let number = loaded.pages.number(template)?;
    let snapshot = state.snapshot().ok()?;
    let bound = site.bound(&loaded, in_force, &snapshot);
    // who asks for what is not there has not been asked yet who they are
    if given.who.is_none() && error.status == StatusCode::NOT_FOUND {
        _ = given.who((state, in_force), parts, bill).await;
    }
    // of one who cannot be told from others nothing is fetched
    let who = given.who.clone().or(Who::nobody(in_force))?;
    let asked = Asked::of((&parts.uri, &parts.headers), &[], &who.claims());
    // what was asked may be what is wrong
    let nothing = Uri::default();
    let asked = asked.or_else(|_| Asked::of((&nothing, &parts.headers), &[], &who.claims())).ok()?;
    let making =
        Making { state, site, in_force, parts, snapshot: &snapshot, who: &who, asked: &asked, peer: given.peer };
    let mut filled = match error.status.is_server_error() {
        true => making.common(&loaded.pages),
        false => making.filled(&bound, number, bill).await.ok()?,
    };
    let mut said = Values::default();
    said.insert("status", error.status.as_u16());
    for (name, text) in error.parts(in_force.config.client_errors_are_verbose) {
        said.insert(name, text);
    }
    filled.values.insert("error", minijinja::Value::from_object(said));
    making.page(bound, number, filled, error.status, bill).await.ok()
}

/// What answers a path that no page has: one with a slash too many is sent to the page without it.
fn beside(pages: &thalweg_pages::Site, parts: &Parts) -> Option<(Response<Body>, Option<u64>)> {
    let path = parts.uri.path().strip_suffix('/').filter(|path| !path.is_empty())?;
    pages.find(path).ok()??;
    let query = parts.uri.query().map_or(String::new(), |query| format!("?{query}"));
    Some((sent_to(StatusCode::PERMANENT_REDIRECT, format!("{path}{query}")), None))
}

/// A redirect.
fn sent_to(status: StatusCode, address: String) -> Response<Body> {
    let mut response = Response::new(Body::whole(Bytes::new()));
    *response.status_mut() = status;
    respond::text(response.headers_mut(), header::LOCATION, address);
    response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
    response
}

/// The place to which the address of a list's page leads if the list ends before that page.
enum AfterLast {
    /// The address of the last page.
    LastIs(String),
    /// The rows were not counted, so that the last page is not known.
    NotFound,
}

/// A query that is ready to be run.
struct Ready<'a> {
    query: &'a BoundQuery,
    prepared: Arc<Prepared>,
    params: Vec<Param<'static>>,
    function: Option<Function>,
    page: Option<u64>,
}

/// A page in the making.
pub(super) struct Making<'a> {
    pub(super) state: &'a State,
    site: &'a Site,
    pub(super) in_force: &'a InForce,
    pub(super) parts: &'a Parts,
    snapshot: &'a Snapshot,
    pub(super) who: &'a Who<'a>,
    pub(super) asked: &'a Asked<'a>,
    /// Address of the connection, or `None` if code in the same process makes the request.
    peer: Option<&'a str>,
}

/// What a page is made of.
pub(super) struct Filled {
    pub(super) values: Values,
    /// How much its rows take, in bytes.
    rows_bytes: usize,
    /// `response.headers` and `response.status`, as SQL has set them.
    set_by_sql: (Option<String>, Option<String>),
    /// A note that the page has given its forms keys.
    pub(super) once: Arc<form::Once>,
    /// The place to go to if one of the lists ends before the page that the address names.
    after_last: Option<AfterLast>,
}

/// Returns the number of all rows of a query, if the query counts them.
fn total(ready: &Ready<'_>, found: &Found) -> Option<u64> {
    let Prepared { offset_rows: offset, limit_rows: limit, .. } = *ready.prepared;
    found.tally.total(FoundRows { offset, rows: found.table.len() as u64, limit })
}

impl<'a> Making<'a> {
    /// What every template finds besides the rows of its queries.
    fn common(&self, pages: &thalweg_pages::Site) -> Filled {
        let mut query = Values::default();
        for (name, value) in self.asked.params.iter() {
            query.insert(name, value);
        }
        let request = [
            self.parts.uri.path().into(),
            self.address().into(),
            self.parts.method.as_str().into(),
            minijinja::Value::from_object(query),
        ];
        let [common @ .., _form, _error] = &PROVIDED;
        let mut values = Provided::values(
            common,
            [
                self.asked.locale(pages, self.in_force).into(),
                self.zone().into(),
                site::origin(&self.in_force.config, self.asked.headers).into(),
                minijinja::Value::from_object(Provided::values(&REQUEST, request)),
                thalweg_pages::of_json(self.asked.claims.clone()),
                self.who.role().into(),
                self.who.has_token().into(),
            ],
        );
        // the first of a name is looked at: what a path binds as locale is chosen from
        for (name, value) in &self.asked.bound {
            values.insert(*name, *value);
        }
        Filled { values, rows_bytes: 0, set_by_sql: (None, None), once: Arc::default(), after_last: None }
    }

    /// The path that was asked for, and its query string.
    pub(super) fn address(&self) -> &'a str {
        http::address(&self.parts.uri)
    }

    /// The zone in which moments are shown: the visitor's, as a cookie names it, or else that of the database's sessions.
    pub(super) fn zone(&self) -> String {
        let of_cookie = cookie(self.asked.headers, "zone").filter(|name| Zone::named(name).is_some());
        let of_session = || self.snapshot.zone.as_ref().map(|_| &*self.snapshot.catalog.session().time_zone);
        of_cookie.or_else(of_session).unwrap_or("UTC").to_owned()
    }

    /// The rows of a page's queries, and what else its template finds.
    pub(super) async fn filled(&self, bound: &Bound, number: usize, bill: &mut Laps) -> Result<Filled, ApiError> {
        let page = bound.page(number)?;
        let ready: Vec<Ready<'_>> = page.queries.iter().map(|query| self.ready(query)).collect::<Result<_, _>>()?;
        bill.lap(Lap::Plan);
        let mut filled = self.common(&bound.loaded.pages);
        if ready.is_empty() {
            return Ok(filled);
        }
        let mut collected = self.run(&ready, bill).await?;
        (filled.rows_bytes, filled.set_by_sql) = (collected.size_bytes(), std::mem::take(&mut collected.set_by_sql));
        for (ready, found) in ready.iter().zip(collected.into_found()) {
            filled.after_last = filled.after_last.or_else(|| self.after_last(ready, &found));
            filled.values.insert(ready.query.name.clone(), self.value(ready, found)?);
        }
        Ok(filled)
    }

    /// Fills a query and prepares it, or finds it prepared.
    fn ready<'q>(&self, query: &'q BoundQuery) -> Result<Ready<'q>, ApiError> {
        let (filled, page) = self.asked.filled(query)?;
        let text = RequestText::of_query(&filled, &query.query)?;
        let going = self.going(&text, Some(query));
        let question = going.question(Action::Read, text.target());
        if let Some(question) = &question
            && let Some(known) = self.state.known_reads.find(question, going.era())
        {
            let params = owned(&known.params(question));
            return Ok(Ready { query, prepared: known.prepared.clone(), params, function: None, page });
        }
        let request = text.request(Action::Read, (&self.snapshot.catalog, going.schema))?;
        // it was planned when the page was loaded, if not with these of its parameters: its site has to mend that
        let of_site = |error: ApiError| ApiError::of_page(error.words().into()).retried(error.retry);
        let plan = plan(&request, None, going.context(&request)).map_err(|error| of_site(error.into()))?;
        let (prepared, params) = going.prepare(&request, &plan, question);
        let function = plan.call().map(|call| call.function.clone());
        Ok(Ready { query, prepared, params: owned(&params), function, page })
    }

    /// A query as a request of its own.
    pub(super) fn going<'g>(&'g self, text: &'g RequestText<'g>, query: Option<&'g BoundQuery>) -> Going<'g> {
        let Self { state, in_force, parts, snapshot, who, .. } = *self;
        let RequestText { params, headers, .. } = text;
        let schema = in_force.config.default_schema();
        Going { state, in_force, parts, snapshot, who, schema, params, headers, is_flat_allowed: false, of_page: query }
    }

    /// Runs all queries of a page in one round trip, and in one snapshot.
    async fn run(&self, ready: &[Ready<'_>], bill: &mut Laps) -> Result<Collected, ApiError> {
        let mut batch = Batch::new(self.snapshot);
        ready.iter().for_each(|ready| batch.prepared(&ready.prepared, &ready.params));
        let function = ready.iter().find_map(|ready| ready.function.as_ref());
        let text = RequestText::default();
        let run = batch.run(&self.going(&text, None), function, bill).await;
        run.map_err(|error| of_page(error, ready))
    }

    /// What a template sees of a query's rows.
    fn value(&self, ready: &Ready<'_>, found: Found) -> Result<minijinja::Value, ApiError> {
        let total = total(ready, &found);
        let Found { table, .. } = found;
        Ok(match (&ready.query.query.shows, ready.prepared.form) {
            (_, Form::Nothing) => minijinja::Value::from(()),
            (_, Form::Value) => table.into_value(),
            (Shows::One, Form::Rows | Form::Row | Form::Values) | (_, Form::Row) => {
                table.into_row().ok_or_else(ApiError::no_row)?
            }
            (_, Form::Values) => table.into_values(),
            (Shows::Some { per_page, parameter }, Form::Rows) => {
                table.into_rows(Some(self.pager(ready.page, *per_page, parameter, total)))
            }
            (Shows::All, Form::Rows) if ready.query.query.count.is_some() => {
                table.into_rows(Some(self.pager(None, 0, "", total)))
            }
            (Shows::All, Form::Rows) => table.into_rows(None),
        })
    }

    /// Returns where a list's address leads if its page has no rows, unless that is the first page.
    fn after_last(&self, ready: &Ready<'_>, found: &Found) -> Option<AfterLast> {
        let Shows::Some { per_page, parameter } = &ready.query.query.shows else { return None };
        if !found.table.is_empty() || ready.page? == 1 {
            return None;
        }
        // Only an exact count leads to the last page at once.
        let pager = self.pager(ready.page, *per_page, parameter, found.tally.exact());
        Some(pager.last_before().map_or(AfterLast::NotFound, AfterLast::LastIs))
    }

    fn pager(&self, page: Option<u64>, per_page: u64, parameter: &str, total: Option<u64>) -> Pager {
        Pager { page, per_page, total, address: self.address().into(), parameter: parameter.into() }
    }

    /// Writes the template.
    pub(super) async fn page(
        &self,
        bound: Arc<Bound>,
        number: usize,
        filled: Filled,
        status: StatusCode,
        bill: &mut Laps,
    ) -> Result<Response<Body>, ApiError> {
        let media_type = bound.loaded.pages.pages()[number].media_type();
        let (set_by_sql, once) = (filled.set_by_sql.clone(), filled.once.clone());
        let has_languages = bound.loaded.pages.messages().languages().count() > 1;
        let mut out = self.written(bound, number, filled).await?;
        // what is put into a page that is there finds the script there
        let has_script = media_type.starts_with("text/html") && fragment(&self.parts.headers).is_none();
        if let Some(development) = self.site.development().filter(|_| has_script) {
            _ = out.write_all(development.script().as_bytes());
        }
        bill.lap(Lap::Encode);
        let is_head = self.parts.method == Method::HEAD;
        let mut response = site::respond(out, status, media_type, &self.parts.headers, is_head);
        if once.is_given() {
            // A visitor who got the same key would be taken for the same sender.
            response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
        }
        if has_languages {
            response.headers_mut().append(header::VARY, HeaderValue::from_static("Accept-Language, Cookie"));
        }
        response.headers_mut().append(header::VARY, HeaderValue::from_static("HX-Request, HX-Target"));
        respond::set_by_sql(&mut response, set_by_sql)?;
        Ok(response)
    }

    async fn written(&self, bound: Arc<Bound>, number: usize, filled: Filled) -> Result<Page, ApiError> {
        let Filled { values, rows_bytes, .. } = filled;
        let (state, values, block) = (self.state, Arc::new(values), fragment(&self.parts.headers));
        let is_linear = bound.loaded.pages.pages()[number].is_linear;
        let bytes_min = if is_linear { BUSY_BYTES_MIN } else { BUSY_BYTES_MIN_UNLESS_LINEAR };
        let work = if rows_bytes < bytes_min { Work::Quick } else { Work::Long };
        let caller = || caller_at((state, self.in_force), self.parts, self.peer);
        made(state, (Kind::Page(number), work), caller, move |out| {
            render(&bound, (number, block.as_deref()), &values, out)
        })
        .await
    }
}

/// Time that rendering a page is expected to take.
pub(super) enum Work {
    /// Little time: the thread that serves the request may render the page. If the page turns out
    /// to be large or calls a function of unknown cost, it is rendered again on another thread.
    Quick,
    /// Any time: the page is rendered with a permit, on a thread that serves no other client.
    Long,
}

/// Outcome of rendering a page.
pub(super) enum Rendered {
    Whole,
    /// The page is larger than its room.
    TooLarge,
    /// The page calls a function of unknown cost, and was rendered on a thread that serves other
    /// requests.
    TakesLong,
}

/// Renders a page with a function: on this thread if the work is quick, else on a thread that
/// serves no other client.
pub(super) async fn made(
    state: &State,
    (kind, work): (Kind, Work),
    caller: impl FnOnce() -> Caller,
    render: impl Fn(&mut Page) -> Result<Rendered, ApiError> + Send + 'static,
) -> Result<Page, ApiError> {
    if let Work::Quick = work {
        let mut out = Page::at_once(&state.outlet);
        if let Rendered::Whole = quickly(|| render(&mut out))? {
            return Ok(out);
        }
    }
    let (outlet, caller) = (state.outlet.clone(), caller());
    let rendered = state.computations.run_as(kind, &caller, move || {
        let mut out = Page::of_any_size(&outlet);
        match render(&mut out)? {
            Rendered::Whole => Ok(out),
            Rendered::TooLarge | Rendered::TakesLong => Err(ApiError::too_many_answers()),
        }
    });
    rendered.await?
}

/// What htmx asks for alone: a block that has the name of the element which it will be put into. From its version 4 on the element's
/// tag stands before it: `ul#results`.
fn fragment(headers: &HeaderMap) -> Option<String> {
    let only = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let target = (only("hx-request") == Some("true")).then(|| only("hx-target"))??;
    Some(target.split_once('#').map_or(target, |(_, id)| id).to_owned())
}

/// Renders a page, or the named block of it if the page has that block.
fn render(
    bound: &Bound,
    (number, block): (usize, Option<&str>),
    values: &Arc<Values>,
    out: &mut Page,
) -> Result<Rendered, ApiError> {
    let (template, renderer) = (&bound.loaded.pages.pages()[number].template, &bound.loaded.renderer);
    match block.map(|block| renderer.render_block(template, block, values.clone(), &mut *out)) {
        Some(Err(error)) if error.kind() == ErrorKind::UnknownBlock && out.is_empty() => {}
        Some(rendered) => return outcome(rendered),
        None => {}
    }
    of_renderer(renderer, template, values, out)
}

/// Renders a template.
pub(super) fn of_renderer(
    renderer: &Renderer,
    template: &str,
    values: &Arc<Values>,
    out: &mut Page,
) -> Result<Rendered, ApiError> {
    outcome(renderer.render(template, values.clone(), out))
}

fn outcome(rendered: Result<(), minijinja::Error>) -> Result<Rendered, ApiError> {
    let Err(error) = rendered else { return Ok(Rendered::Whole) };
    if takes_long(&error) {
        return Ok(Rendered::TakesLong);
    }
    if let Some(error) = std::error::Error::source(&error).and_then(|source| source.downcast_ref::<io::Error>())
        && matches!(error.kind(), io::ErrorKind::FileTooLarge | io::ErrorKind::StorageFull)
    {
        return Ok(Rendered::TooLarge);
    }
    Err(of_template_error(&error))
}

/// What the engine says while a page is made, which may be that the database has changed.
pub(super) fn of_template_error(error: &minijinja::Error) -> ApiError {
    let retry = if is_stale(error) { Retry::AfterLoad } else { Retry::Never };
    ApiError::of_template(error).retried(retry)
}

/// An error of a page's queries: whose it is, the visitor's or the site's.
fn of_page(error: ApiError, ready: &[Ready<'_>]) -> ApiError {
    let is_of_address = ready.iter().any(|ready| ready.query.query.values().next().is_some());
    match is_no_value(&error) {
        // what an address says that is no value of its type names nothing
        true if is_of_address => ApiError::no_row(),
        // what the page says itself is its mistake, and what its functions and views do is the database's
        true => ApiError::of_page(error.words().into()),
        false if is_of_address && is_no_pattern(&error) => error,
        false if is_fault(&error) => ApiError::of_page(error.words().into()).retried(error.retry),
        false => error,
    }
}

/// Whether an error of PostgreSQL's is none of the visitor's making: of names and syntax but for privileges, and of computing. That
/// there is no role of a token's is the visitor's.
fn is_fault(error: &ApiError) -> bool {
    let (code, is_of_role) = (&*error.code, error.status == StatusCode::UNAUTHORIZED);
    !is_of_role && ((code.starts_with("42") && code != "42501") || (code.starts_with("22") && !is_no_value(error)))
}

/// Whether PostgreSQL reports of a statement itself, and of no place in its text, that what something is compared with is no pattern of
/// `LIKE`, no regular expression, or nothing to search for.
fn is_no_pattern(error: &ApiError) -> bool {
    let is_of_value = |reported: &DbError| reported.context.is_none() && reported.position.is_none();
    NO_PATTERNS.contains(&&*error.code) && error.reported.as_deref().is_some_and(is_of_value)
}

/// Its codes for that: an escape with nothing behind it, a regular expression, and syntax.
const NO_PATTERNS: [&str; 3] = ["22025", "2201B", "42601"];

/// Whether PostgreSQL takes a text for no value of a type.
fn is_no_value(error: &ApiError) -> bool {
    let routine = error.reported.as_deref().and_then(|reported| reported.routine.as_deref());
    let is_of_input = |(code, of): &(&str, &str)| *code == error.code && Some(*of) == routine;
    NO_VALUES.contains(&&*error.code) || NO_VALUES_OF.iter().any(is_of_input)
}

/// What it says then (class 22 of its error codes): of the text's form, of a character in it, or beyond the type's range.
const NO_VALUES: [&str; 5] = ["22P02", "22P05", "22003", "22007", "22008"];
/// What may mean anything else, with the routine that says it of a text: of a time zone that is not known, to
/// PostgreSQL 15 or to later ones, and of a range that ends before it begins.
const NO_VALUES_OF: [(&str, &str); 4] = [
    ("22023", "DecodeDateTime"),
    ("22023", "DecodeTimeOnly"),
    ("22023", "DateTimeParseError"),
    ("22000", "range_serialize"),
];

/// The parameters of a read, with nothing borrowed.
fn owned(params: &[Param<'_>]) -> Vec<Param<'static>> {
    let owned = |param: &Param<'_>| match param {
        Param::Text(text) => Param::Text(Cow::Owned(text.clone().into_owned())),
        Param::Document => Param::Document,
        Param::Bound(bound) => Param::Bound(*bound),
    };
    params.iter().map(owned).collect()
}
