//! The whole request, one line a stage.

use crate::answer::Download;
use crate::answer::cors;
use crate::answer::respond::{self, Facts, WriteCounts};
use crate::answer::{self, Body};
use crate::auth::{
    Who,
    cookie::{self, Cookie},
};
use crate::config::{Config, InForce, OpenApiMode};
use crate::error::{ApiError, Retry};
use crate::http::{ACCEPT_PROFILE, CONTENT_PROFILE, PREFER, SERVER_TIMING};
use crate::log;
use crate::prepared::{Asked, Era, Known, Nature, Prepared, Question};
use crate::schema::Snapshot;
use crate::state::State;
use crate::transaction::{CopySource, Outcome, RequestFacts, Run, Session, enter};
use crate::upload::copy;
use crate::upload::{Incoming, Received, RequestBody};
use bytes::Bytes;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Response};
use std::sync::Arc;
use std::time::{Duration, Instant};
use thalweg_catalog::{Function, Relation, Runs, Volatility};
use thalweg_encode::Zone;
use thalweg_gauge::{Bill, Stage};
use thalweg_plan::{Context, Media, Plan, Write, plan};
use thalweg_request::{Action, ApiRequest, Headers, Params, Query, Resource, Target, TxEnd, Unreserved, accepted};
use thalweg_sql::Param;

/// What is known of a request when it has been answered.
pub(crate) struct Answer<'a> {
    pub(crate) response: Response<Body>,
    pub(crate) bill: Bill,
    pub(crate) code: Option<String>,
    pub(crate) rows: Option<u64>,
    /// Who asked, where that was found out.
    pub(crate) who: Option<Who<'a>>,
}

/// Answers a request, whatever it is.
pub(crate) async fn answer<'a>(
    state: &State,
    in_force: &'a InForce,
    parts: &'a Parts,
    body: &mut RequestBody,
) -> Answer<'a> {
    let config = &in_force.config;
    let mut bill = Bill::start();
    let cookie = config.session_cookie.as_deref().map(|name| Cookie::find(name, &parts.headers));
    let mut given = Given { cookie, ..Given::default() };
    let mut answered = attempt((state, in_force), parts, body, &mut bill, &mut given).await;
    for _ in 1..ATTEMPTS_MAX {
        let Err(error) = &answered else { break };
        if body.is_consumed() {
            break;
        }
        match given.for_another(state, error.retry).await {
            Ok(true) => answered = attempt((state, in_force), parts, body, &mut bill, &mut given).await,
            Ok(false) => break,
            Err(error) => {
                answered = Err(error);
                break;
            }
        }
    }
    let (mut response, code, rows) = match answered {
        Ok((response, rows)) => (response, None, rows),
        Err(error) => {
            log::failure(&error);
            if error.load_is_due {
                state.reloader.trigger();
            }
            let mut response = error.response(config.client_errors_are_verbose);
            if parts.method == Method::HEAD {
                *response.body_mut() = Body::whole(Bytes::new());
            }
            (response, Some(error.code.into_owned()), None)
        }
    };
    let headers = response.headers_mut();
    headers.insert(header::SERVER, HeaderValue::from_static(concat!("thalweg/", env!("CARGO_PKG_VERSION"))));
    if config.server_timing_enabled
        && let Ok(timing) = HeaderValue::from_bytes(bill.server_timing().as_bytes())
    {
        headers.insert(SERVER_TIMING, timing);
    }
    if let Some(name) = &in_force.trace_header {
        let traced = parts.headers.get(name).cloned().unwrap_or(HeaderValue::from_static(""));
        headers.insert(name, traced);
    }
    if let Some(cookie) = given.cookie {
        cookie.mark(headers);
    }
    // a preflight's answer says what it says
    if !headers.contains_key(header::ACCESS_CONTROL_ALLOW_METHODS) {
        cors::expose(config, &parts.headers, headers);
    }
    Answer { response, bill, code, rows, who: given.who }
}

/// How often a request is tried at most: schemas may change again while they are loaded, and each other reason comes once.
const ATTEMPTS_MAX: usize = 4;

/// How long a request waits for loads of the schema cache, in all.
const LOAD_WAIT_MAX: Duration = Duration::from_secs(5);

/// What an attempt is given.
#[derive(Default)]
struct Given<'a> {
    /// The cookie that tokens may come in.
    cookie: Option<Cookie<'a>>,
    /// Who asks, once that is known.
    who: Option<Who<'a>>,
    /// Whether levels must not be joined here: relations that have grown since PostgreSQL last looked are joined by it.
    is_never_flat: bool,
    /// How long loads of the schema cache are waited for.
    waits_until: Option<Instant>,
}

impl Given<'_> {
    /// What another attempt is given after one that failed, if it is worth one. An error says more than that one's.
    async fn for_another(&mut self, state: &State, retry: Retry) -> Result<bool, ApiError> {
        let is_certain = match retry {
            Retry::Never => return Ok(false),
            Retry::NotFlat => {
                self.is_never_flat = true;
                return Ok(true);
            }
            Retry::AfterLoad => true,
            Retry::AfterLoadIfDue if state.reloader.may_suspect() => false,
            Retry::AfterLoadIfDue => return Ok(false),
        };
        let deadline = *self.waits_until.get_or_insert_with(|| Instant::now() + LOAD_WAIT_MAX);
        match state.reloader.load(deadline).await {
            true => Ok(true),
            false if is_certain => Err(ApiError::no_schema_cache()),
            // the database has said what is wrong
            false => Ok(false),
        }
    }
}

type Answered = Result<(Response<Body>, Option<u64>), ApiError>;

/// bytes → request → plan → SQL → rows → response.
async fn attempt<'a>(
    (state, in_force): (&State, &'a InForce),
    parts: &Parts,
    body: &mut RequestBody,
    bill: &mut Bill,
    given: &mut Given<'a>,
) -> Answered {
    let config = &in_force.config;
    if let Some(response) = cors::preflight(config, &parts.method, &parts.headers) {
        return Ok((response, None));
    }
    let who = Who::of(state, in_force, parts, given.cookie).await?;
    given.who = Some(who.clone());
    if who.has_token() {
        bill.lap(Stage::Jwt);
    }
    let snapshot = state.snapshot()?;
    let resource = Resource::parse(parts.uri.path())?;
    let wanted = Wanted::of(config, &resource, parts)?;
    let schema = schema(config, parts)?;
    let params = Params::decode(parts.uri.query().unwrap_or(""))?;
    let (action, target) = match wanted {
        Wanted::Rows(action, target) => (action, target),
        Wanted::Description => return describe((state, in_force), &snapshot, schema, &who, parts, bill).await,
        Wanted::Options(target) => return options(&snapshot, schema, target, &params),
    };
    let head_only = parts.method == Method::HEAD;
    let going = Going { state, in_force, parts, snapshot: &snapshot, who: &who, schema, params: &params, head_only };
    let headers = headers(parts);
    let question = going.question(action, target, &headers, !given.is_never_flat);
    // a read that differs from one before it in the values of its filters only is neither read again nor planned
    if let Some(question) = &question
        && let Some(known) = state.known_reads.find(question, going.era())
    {
        let params = known.params(question);
        return going.carry_out(Ready::of_read(&known.prepared, &params, known.timezone()), body.split(), bill).await;
    }
    // what is wrong with the rest of a request is said before its body is read
    let request = ApiRequest::parse(action, target, head_only, &params, &headers)?;
    body.receive(&parts.headers, &request).await?;
    bill.lap(Stage::Parse);
    let context = context(in_force, &snapshot, schema, who.role(), &request, !given.is_never_flat);
    if body.flows() && !plan(&request, body.payload(&request)?.as_ref(), context)?.copies() {
        // only rows of a COPY can be written while others are still to come
        body.complete(&request).await?;
    }
    let (received, incoming) = body.split();
    let payload = received.payload(&request)?;
    let plan = plan(&request, payload.as_ref(), context)?;
    request.preferences.check()?;
    // signing in is not for others' pages to do
    let returns = plan.call().is_some() && !plan.explains() && !head_only;
    let session = config.session_cookie.as_deref().filter(|_| request.preferences.session && returns);
    if session.is_some() {
        cookie::check_site(parts)?;
    }
    if let Media::Value(value) = &plan.media {
        bill.lap(Stage::Plan);
        let session = going.session(Nature::of(&plan), request.preferences.timezone, None).in_one_snapshot(true);
        let download = Download { state, config, parts, plan: &plan, value, session: &session };
        return Ok((download.answer(bill).await?, Some(1)));
    }
    let statements = thalweg_sql::statements(&plan, config.db_max_rows);
    let (prepared, params) = Prepared::of(&plan, statements, &request.preferences, config.db_tx_end_is_theirs);
    let prepared = Arc::new(prepared);
    if let Some(question) = question.filter(|question| state.known_reads.comes_again(question))
        && let Some(known) = Known::of(prepared.clone(), &params, request.preferences.timezone, &question)
    {
        state.known_reads.keep(&question, going.era(), Arc::new(known));
    }
    let ready = Ready {
        stage: Stage::Plan,
        prepared: &prepared,
        params: &params,
        timezone: request.preferences.timezone,
        function: plan.call().map(|call| call.function),
        write: plan.write.as_ref().filter(|_| !plan.explains()),
        source: copy_source(&plan, received, &request).await?,
        rolls_back: rolls_back(config, &request, &plan),
    };
    let (mut response, rows) = going.carry_out(ready, (received, incoming), bill).await?;
    if let Some(name) = session {
        cookie::put(state, in_force, name, &mut response).await?;
    }
    Ok((response, rows))
}

/// A request that has been understood as far as its method and its path.
struct Going<'a> {
    state: &'a State,
    in_force: &'a InForce,
    parts: &'a Parts,
    snapshot: &'a Snapshot,
    who: &'a Who<'a>,
    schema: &'a str,
    params: &'a Params<'a>,
    head_only: bool,
}

/// What has been prepared for it.
struct Ready<'a> {
    /// What has been done for it since the last lap.
    stage: Stage,
    prepared: &'a Prepared,
    params: &'a [Param<'a>],
    /// `Prefer: timezone`
    timezone: Option<&'a str>,
    /// The function that is called.
    function: Option<&'a Function>,
    /// What is written.
    write: Option<&'a Write<'a>>,
    /// Where the rows come from that a COPY sends.
    source: Option<CopySource>,
    rolls_back: bool,
}

impl<'a> Ready<'a> {
    fn of_read(prepared: &'a Prepared, params: &'a [Param<'a>], timezone: Option<&'a str>) -> Self {
        Self {
            stage: Stage::Parse,
            prepared,
            params,
            timezone,
            function: None,
            write: None,
            source: None,
            rolls_back: false,
        }
    }
}

impl<'a> Going<'a> {
    /// What the request is known by if it only reads a relation.
    fn question(
        &self,
        action: Action,
        target: Target<'_>,
        headers: &Headers<'_>,
        is_flat_allowed: bool,
    ) -> Option<Question<'a>> {
        let Self { state, who, schema, params, head_only, .. } = *self;
        let Target::Relation(relation) = target else { return None };
        let asked = Asked { role: who.role(), schema, relation, head_only, is_flat_allowed };
        (action == Action::Read).then(|| Question::of(&state.known_reads, asked, headers, params))
    }

    /// What holds while a read that was prepared need not be planned again.
    fn era(&self) -> Era {
        Era { snapshot: self.snapshot.load, in_force: self.in_force.number }
    }

    fn session(&self, nature: Nature, timezone: Option<&'a str>, function: Option<&'a Function>) -> Session<'a> {
        let facts = facts(self.parts, timezone, function);
        Session::of(self.state, self.in_force, self.snapshot, self.schema, self.who, nature.runs, facts)
    }

    /// SQL → rows → response.
    async fn carry_out(
        &self,
        ready: Ready<'a>,
        (received, incoming): (&Received, &mut Incoming),
        bill: &mut Bill,
    ) -> Answered {
        let state = self.state;
        let Ready { stage, prepared, params, timezone, function, write, source, rolls_back } = ready;
        let run = Run {
            prepared,
            params,
            zone: self.snapshot.zone.clone().unwrap_or(Zone::UTC),
            anonymous: self.who.is_anonymous(),
            head_only: self.head_only,
            rolls_back,
            outlet: &state.outlet,
            turns: &state.turns,
        };
        let session = run.session(self.session(prepared.nature, timezone, function));
        let values = run.values(received).await?;
        bill.lap(stage);
        let _turn_of_body = match source {
            Some(CopySource::Flowing(_)) => state.turn_of(received, incoming).await?,
            Some(CopySource::Whole(_) | CopySource::Held(_)) | None => None,
        };
        let turn = run.turn().await?;
        let entered = enter(state, &session).await?;
        bill.lap(Stage::Wait);
        let outcome = run.run(entered, (values, source), (received, incoming), turn, bill).await?;
        self.response(prepared, write, outcome)
    }

    /// The response to what has come of it.
    fn response(&self, prepared: &Prepared, write: Option<&Write<'_>>, outcome: Outcome) -> Answered {
        let mut body = outcome.body;
        if let Some(range) = outcome.range.filter(|_| write.is_none())
            && let Some(total) = range.total.filter(|&total| range.offset > total)
        {
            // answered like a success, but with the error as its body
            let error = ApiError::offset_beyond(range.offset, total);
            body = error.response(self.in_force.config.client_errors_are_verbose).into_body();
            if self.head_only {
                body = Body::whole(Bytes::new());
            }
        }
        let facts = Facts {
            params: self.params,
            path: self.parts.uri.path(),
            head_only: self.head_only,
            rows_cut: outcome.rows_cut,
            profile: shows_profile(&self.in_force.config, self.parts).then_some(self.schema),
        };
        let mut response = match write {
            Some(write) => {
                let written = WriteCounts { rows: outcome.rows, updated: outcome.updated, key: outcome.key };
                respond::write(prepared, write, &facts, written, body)
            }
            None => respond::read(prepared, &facts, outcome.range, body),
        };
        if !prepared.explains {
            respond::set_by_sql(&mut response, outcome.set_by_sql)?;
        }
        Ok((response, Some(outcome.rows)))
    }
}

/// What a request wants.
enum Wanted<'a> {
    /// Rows, read or written.
    Rows(Action, Target<'a>),
    /// What can be done with something; `None` is the root.
    Options(Option<Target<'a>>),
    /// What there is.
    Description,
}

impl<'a> Wanted<'a> {
    /// What a path and a method ask for (url-grammar §1).
    fn of(config: &'a Config, resource: &'a Resource<'_>, parts: &Parts) -> Result<Self, ApiError> {
        let method = &parts.method;
        let target = match (resource, &config.db_root_spec) {
            (Resource::Root, _) if config.openapi_mode == OpenApiMode::Disabled => {
                return Err(ApiError::new(404, "PGRST126", "Root endpoint metadata is disabled"));
            }
            (Resource::Root, Some(name)) => Some(Target::Function(name)),
            (Resource::Root, None) => None,
            (Resource::Relation(name), _) => Some(Target::Relation(name)),
            (Resource::Function(name), _) => Some(Target::Function(name)),
        };
        if *method == Method::OPTIONS {
            return Ok(Self::Options(target));
        }
        let Some(target) = target else {
            return match *method {
                Method::GET | Method::HEAD => Ok(Self::Description),
                _ => Err(ApiError::new(405, "PGRST117", format!("Unsupported HTTP method: {method}"))),
            };
        };
        let action = Action::of(method.as_str(), target).ok_or_else(|| match target {
            Target::Function(_) => ApiError::new(405, "PGRST101", format!("Cannot use the {method} method on RPC")),
            Target::Relation(_) => ApiError::new(405, "PGRST117", format!("Unsupported HTTP method: {method}")),
        })?;
        Ok(Self::Rows(action, target))
    }
}

/// What can be done with something (representation §8, functions §1).
fn options(snapshot: &Snapshot, schema: &str, target: Option<Target<'_>>, params: &Params<'_>) -> Answered {
    let catalog = &snapshot.catalog;
    let allowed = match target {
        None => "OPTIONS,GET,HEAD".to_owned(),
        Some(Target::Relation(name)) => {
            let relation = thalweg_plan::relation(catalog, schema, name)?;
            allowed(relation)
        }
        Some(Target::Function(name)) => {
            Query::parse(params, Unreserved::Filters)?;
            match thalweg_plan::function(catalog, schema, name)?.volatility {
                Volatility::Volatile => "OPTIONS,POST".to_owned(),
                Volatility::Stable | Volatility::Immutable => "OPTIONS,GET,HEAD,POST".to_owned(),
            }
        }
    };
    Ok((respond::options(&allowed), None))
}

fn allowed(relation: &Relation) -> String {
    let (insert, update, delete) = relation.writable;
    let has_key = !relation.primary_key.is_empty();
    let methods = [(insert, ",POST"), (insert && update && has_key, ",PUT"), (update, ",PATCH"), (delete, ",DELETE")];
    let mut allowed = String::from("OPTIONS,GET,HEAD");
    methods.iter().filter(|(can, _)| *can).for_each(|(_, method)| allowed.push_str(method));
    allowed
}

/// The header that names the schema.
fn profile(parts: &Parts) -> Option<&HeaderValue> {
    let name = if matches!(parts.method, Method::GET | Method::HEAD) { ACCEPT_PROFILE } else { CONTENT_PROFILE };
    parts.headers.get(name)
}

/// The schema that a header names, else the default one.
fn schema<'a>(config: &'a Config, parts: &Parts) -> Result<&'a str, ApiError> {
    let exposed = &config.db_schemas;
    match profile(parts).and_then(|value| value.to_str().ok()) {
        None => Ok(exposed.first().map_or("", String::as_str)),
        Some(profile) => {
            let known = exposed.iter().find(|schema| *schema == profile);
            known.map(String::as_str).ok_or_else(|| ApiError::schema(profile, exposed))
        }
    }
}

/// The rows that a COPY sends: those of a body that is here are made before a connection is taken, unless they are many.
async fn copy_source(
    plan: &Plan<'_>,
    received: &Received,
    request: &ApiRequest<'_>,
) -> Result<Option<CopySource>, ApiError> {
    let rows = || plan.write.as_ref().and_then(|write| received.copy(write, request));
    let Some(first) = rows() else { return Ok(None) };
    if received.flows() {
        return Ok(Some(CopySource::Flowing(first)));
    }
    match copy::whole(first, received).await? {
        Some(made) => Ok(Some(CopySource::Whole(made))),
        None => Ok(rows().map(CopySource::Held)),
    }
}

/// Whether the transaction is rolled back although nothing is wrong (writes §10). One that is read only leaves nothing.
fn rolls_back(config: &Config, request: &ApiRequest<'_>, plan: &Plan<'_>) -> bool {
    let asked = request.preferences.tx.filter(|_| config.db_tx_end_is_theirs);
    let rolls_back = asked.map_or(config.db_tx_rolls_back, |tx| tx == TxEnd::Rollback);
    rolls_back && !plan.is_read_only
}

/// The headers that a request is understood from.
fn headers(parts: &Parts) -> Headers<'_> {
    let text = |name: HeaderName| parts.headers.get(name).and_then(|value| value.to_str().ok());
    let prefer = parts.headers.get_all(PREFER).iter().filter_map(|value| value.to_str().ok());
    Headers { accept: text(header::ACCEPT), range: text(header::RANGE), prefer: prefer.collect() }
}

/// What the plan depends on besides the request.
fn context<'a>(
    in_force: &'a InForce,
    snapshot: &'a Snapshot,
    schema: &'a str,
    role: &str,
    request: &ApiRequest<'_>,
    is_flat_allowed: bool,
) -> Context<'a> {
    const FORMATS: [&str; 4] = ["timezone", "intervalstyle", "bytea_output", "extra_float_digits"];
    let config = &in_force.config;
    let of_role = snapshot.catalog.session().role_settings.get(role);
    let changes = |name: &str| FORMATS.iter().any(|format| format.eq_ignore_ascii_case(name));
    Context {
        catalog: &snapshot.catalog,
        schema,
        rows_max: config.db_max_rows,
        zone_is_known: snapshot.zone.is_some(),
        formats_are_changed: request.preferences.timezone.is_some()
            || in_force.pre_request.is_some()
            || FORMATS.iter().any(|format| in_force.hoists(format))
            || of_role.is_some_and(|settings| settings.iter().any(|setting| changes(&setting.name))),
        aggregates_are_on: config.db_aggregates_enabled,
        plans_are_on: config.db_plan_enabled,
        legacy_target_names: config.url_use_legacy_target_names,
        has_pre_request: in_force.pre_request.is_some(),
        is_flat_allowed,
    }
}

fn facts<'a>(parts: &'a Parts, timezone: Option<&'a str>, function: Option<&'a Function>) -> RequestFacts<'a> {
    RequestFacts { method: parts.method.as_str(), path: parts.uri.path(), headers: &parts.headers, timezone, function }
}

/// Whether responses say which schema they are from.
fn shows_profile(config: &Config, parts: &Parts) -> bool {
    config.db_schemas.len() > 1 || profile(parts).is_some()
}

/// The description of a schema (representation §10).
async fn describe(
    (state, in_force): (&State, &InForce),
    snapshot: &Snapshot,
    schema: &str,
    who: &Who<'_>,
    parts: &Parts,
    bill: &mut Bill,
) -> Answered {
    let accept = accepted(parts.headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()));
    let names = ["*/*", "application/json", "application/openapi+json"];
    if !accept.iter().any(|media| names.iter().any(|name| media.is(name))) {
        return Err(ApiError::media_type(&accept));
    }
    let session = Session::of(state, in_force, snapshot, schema, who, Runs::Nothing, facts(parts, None, None));
    let document = answer::describe((state, in_force), snapshot, &session, schema, bill).await?;
    let profile = shows_profile(&in_force.config, parts).then_some(schema);
    let mut held = state.outlet.hold();
    held.push(document.into());
    Ok((respond::description(held, profile, parts.method == Method::HEAD), None))
}
