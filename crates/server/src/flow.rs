//! The whole request, one line a stage.

use crate::body::Body;
use crate::config::OpenApiMode;
use crate::copy;
use crate::cors;
use crate::download::Download;
use crate::error::{ApiError, Retry};
use crate::incoming::Incoming;
use crate::respond::{self, Facts, Written};
use crate::root;
use crate::state::{Snapshot, State};
use crate::transaction::{CopySource, Outcome, RequestFacts, Run, Session, enter};
use crate::upload::Upload;
use bytes::Bytes;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Response};
use thalweg_catalog::{Function, Relation, Volatility};
use thalweg_encode::Zone;
use thalweg_gauge::{Bill, Stage};
use thalweg_plan::{Context, Media, Plan, plan};
use thalweg_request::{
    Action, ApiRequest, Content, Missing, Params, Preferences, Query, Resource, Returning, Target, TxEnd, Unreserved,
    Window, accepted,
};

/// What is known of a request when it has been answered.
pub(crate) struct Answer {
    pub(crate) response: Response<Body>,
    pub(crate) bill: Bill,
    pub(crate) code: Option<String>,
    pub(crate) rows: Option<u64>,
}

/// Answers a request, whatever it is.
pub(crate) async fn answer(state: &State, parts: &Parts, incoming: &mut Incoming) -> Answer {
    let mut bill = Bill::start();
    let mut upload = Upload::default();
    let mut outcome = attempt(state, parts, (&mut upload, incoming), &mut bill, true).await;
    if let Err(error) = &outcome
        && !incoming.is_consumed()
    {
        let is_due = match error.retry {
            Retry::Never => false,
            Retry::AfterLoad | Retry::Ungathered => true,
            Retry::AfterLoadIfDue => state.reloader.may_suspect(),
        };
        // relations that have grown since PostgreSQL last looked are joined by it
        let may_gather = error.retry != Retry::Ungathered;
        if is_due {
            if may_gather {
                state.reloader.load().await;
            }
            outcome = attempt(state, parts, (&mut upload, incoming), &mut bill, may_gather).await;
        }
    }
    let (mut response, code, rows) = match outcome {
        Ok((response, rows)) => (response, None, rows),
        Err(error) => {
            // a database that was away may have come back with another schema
            if error.database_is_lost {
                state.reloader.trigger();
            }
            let mut response = error.respond(state.config.client_errors_are_verbose);
            if parts.method == Method::HEAD {
                *response.body_mut() = Body::whole(Bytes::new());
            }
            (response, Some(error.code.into_owned()), None)
        }
    };
    let headers = response.headers_mut();
    headers.insert(header::SERVER, HeaderValue::from_static(concat!("thalweg/", env!("CARGO_PKG_VERSION"))));
    if state.config.server_timing_enabled
        && let Ok(timing) = HeaderValue::from_maybe_shared(Bytes::from(bill.server_timing()))
    {
        headers.insert(HeaderName::from_static("server-timing"), timing);
    }
    if let Some(Ok(name)) = state.config.server_trace_header.as_deref().map(str::parse::<HeaderName>) {
        let traced = parts.headers.get(&name).cloned().unwrap_or(HeaderValue::from_static(""));
        headers.insert(name, traced);
    }
    // a preflight's answer says what it says
    if !headers.contains_key(header::ACCESS_CONTROL_ALLOW_METHODS) {
        cors::expose(&state.config, &parts.headers, headers);
    }
    Answer { response, bill, code, rows }
}

type Answered = Result<(Response<Body>, Option<u64>), ApiError>;

/// bytes → request → plan → SQL → rows → response.
async fn attempt(
    state: &State,
    parts: &Parts,
    (upload, incoming): (&mut Upload, &mut Incoming),
    bill: &mut Bill,
    may_gather: bool,
) -> Answered {
    if let Some(response) = cors::preflight(&state.config, &parts.method, &parts.headers) {
        return Ok((response, None));
    }
    let role = authenticate(state, &parts.headers)?;
    bill.lap(Stage::Jwt);
    let snapshot = state.snapshot()?;
    let resource = Resource::parse(parts.uri.path())?;
    let asked = asked(state, &resource, parts)?;
    let schema = schema(state, parts)?;
    let params = Params::decode(parts.uri.query().unwrap_or(""))?;
    let (action, target) = match asked {
        Asked::Rows(action, target) => (action, target),
        Asked::Description => return describe(state, &snapshot, schema, role, parts, bill).await,
        Asked::Options(target) => return options(&snapshot, schema, target, &params),
    };
    // what is wrong with the rest of a request is said before its body is read
    let request = read_request(parts, action, target, &params)?;
    let keys_are_named = request.names_keys();
    receive(parts, &request, (upload, incoming)).await?;
    let mut request = with_body(request, upload)?;
    bill.lap(Stage::Parse);
    let mut plan = plan(&request, context(state, &snapshot, schema, role, &request))?;
    if upload.flows() && !plan.copies() {
        // only rows of a COPY can be written while others are still to come
        upload.complete(incoming, keys_are_named).await?;
        request = with_body(read_request(parts, action, target, &params)?, upload)?;
        plan = thalweg_plan::plan(&request, context(state, &snapshot, schema, role, &request))?;
    }
    request.preferences.check()?;
    plan.gathers &= may_gather;
    let statements = thalweg_sql::statements(&plan, state.config.db_max_rows);
    let function = plan.call().map(|call| call.function);
    let facts = facts(parts, request.preferences.timezone, function);
    let run = Run {
        plan: &plan,
        statements: &statements,
        zone: snapshot.zone.clone().unwrap_or(Zone::UTC),
        anonymous: true,
        head_only: request.head_only,
        rolls_back: rolls_back(state, &request, &plan),
    };
    let session = run.session(Session::of(state, &snapshot, plan.schema, role, facts));
    if let Media::Value(value) = &plan.media {
        bill.lap(Stage::Plan);
        let session = session.in_one_snapshot(true);
        let download = Download { state, parts, plan: &plan, value, session: &session };
        return Ok((download.answer(bill).await?, Some(1)));
    }
    let source = copy_source(&plan, upload, keys_are_named)?;
    bill.lap(Stage::Plan);
    let _turn = state.turn_of(source.as_ref()).await?;
    let entered = enter(state, &session).await?;
    bill.lap(Stage::Wait);
    let outcome = run.run(entered, (upload, incoming), source, bill).await?;
    response(state, parts, &params, &request, &plan, outcome)
}

/// The role that a request runs as (auth §3).
fn authenticate<'a>(state: &'a State, headers: &HeaderMap) -> Result<&'a str, ApiError> {
    let scheme = headers.get(header::AUTHORIZATION).and_then(|value| value.as_bytes().get(..6));
    if scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"bearer")) {
        return Err(ApiError::new(500, "PGRST300", "Server lacks JWT secret"));
    }
    state.config.db_anon_role.as_deref().ok_or_else(ApiError::anonymous_disabled)
}

/// What a request asks for.
enum Asked<'a> {
    /// Rows, read or written.
    Rows(Action, Target<'a>),
    /// What can be done with something; `None` is the root.
    Options(Option<Target<'a>>),
    /// What there is.
    Description,
}

/// What a path and a method ask for (url-grammar §1).
fn asked<'a>(state: &'a State, resource: &'a Resource<'_>, parts: &Parts) -> Result<Asked<'a>, ApiError> {
    let method = &parts.method;
    let target = match (resource, &state.config.db_root_spec) {
        (Resource::Root, _) if state.config.openapi_mode == OpenApiMode::Disabled => {
            return Err(ApiError::new(404, "PGRST126", "Root endpoint metadata is disabled"));
        }
        (Resource::Root, Some(name)) => Some(Target::Function(name)),
        (Resource::Root, None) => None,
        (Resource::Relation(name), _) => Some(Target::Relation(name)),
        (Resource::Function(name), _) => Some(Target::Function(name)),
    };
    let action = match *method {
        Method::POST => Some(Action::Insert),
        Method::PATCH => Some(Action::Update),
        Method::PUT => Some(Action::Replace),
        Method::DELETE => Some(Action::Delete),
        _ => None,
    };
    match (target, method, action) {
        (target, &Method::OPTIONS, _) => Ok(Asked::Options(target)),
        (None, &Method::GET | &Method::HEAD, _) => Ok(Asked::Description),
        (Some(target), &Method::GET | &Method::HEAD, _) => Ok(Asked::Rows(Action::Read, target)),
        (Some(target @ Target::Function(_)), &Method::POST, _) => Ok(Asked::Rows(Action::Call, target)),
        (Some(Target::Function(_)), method, _) => {
            Err(ApiError::new(405, "PGRST101", format!("Cannot use the {method} method on RPC")))
        }
        (Some(target @ Target::Relation(_)), _, Some(action)) => Ok(Asked::Rows(action, target)),
        (_, method, _) => Err(ApiError::new(405, "PGRST117", format!("Unsupported HTTP method: {method}"))),
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
    let name = if matches!(parts.method, Method::GET | Method::HEAD) { "accept-profile" } else { "content-profile" };
    parts.headers.get(name)
}

/// The schema that a header names, else the default one.
fn schema<'a>(state: &'a State, parts: &Parts) -> Result<&'a str, ApiError> {
    let exposed = &state.config.db_schemas;
    match profile(parts).and_then(|value| value.to_str().ok()) {
        None => Ok(exposed.first().map_or("", String::as_str)),
        Some(profile) => {
            let known = exposed.iter().find(|schema| *schema == profile);
            known.map(String::as_str).ok_or_else(|| ApiError::schema(profile, exposed))
        }
    }
}

/// Reads the body, as far as it must be here before a plan is made.
async fn receive(
    parts: &Parts,
    request: &ApiRequest<'_>,
    (upload, incoming): (&mut Upload, &mut Incoming),
) -> Result<(), ApiError> {
    let action = request.action;
    if matches!(action, Action::Read | Action::Delete) || upload.is_received() {
        return Ok(());
    }
    let content_type = parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let content = Content::parse(content_type, action == Action::Call)?;
    let Preferences { returning, resolution, missing, .. } = request.preferences;
    let may_flow = action == Action::Insert
        && matches!(returning, None | Some(Returning::Minimal))
        && resolution.is_none()
        && missing != Some(Missing::Default);
    incoming.decode(&parts.headers)?;
    upload.receive(incoming, action, content, may_flow, request.names_keys()).await
}

/// The request with what its body brings.
fn with_body<'a>(mut request: ApiRequest<'a>, upload: &'a Upload) -> Result<ApiRequest<'a>, ApiError> {
    request.query.arguments.extend(upload.arguments());
    request.payload = upload.payload(request.names_keys())?;
    Ok(request)
}

/// The rows that a COPY sends: those of a body that is here are made before a connection is taken.
fn copy_source(plan: &Plan<'_>, upload: &Upload, keys_are_named: bool) -> Result<Option<CopySource>, ApiError> {
    let rows = plan.write.as_ref().and_then(|write| upload.copy(write, keys_are_named));
    Ok(match rows {
        Some(rows) if upload.flows() => Some(CopySource::Flowing(rows)),
        Some(mut rows) => Some(CopySource::Whole(copy::whole(&mut rows, upload.held())?)),
        None => None,
    })
}

/// Whether the transaction is rolled back although nothing is wrong (writes §10). One that is read only leaves nothing.
fn rolls_back(state: &State, request: &ApiRequest<'_>, plan: &Plan<'_>) -> bool {
    let asked = request.preferences.tx.filter(|_| state.config.db_tx_end_is_theirs);
    let rolls_back = asked.map_or(state.config.db_tx_rolls_back, |tx| tx == TxEnd::Rollback);
    rolls_back && !plan.is_read_only
}

/// Understands the query string and the headers.
fn read_request<'a>(
    parts: &'a Parts,
    action: Action,
    target: Target<'a>,
    params: &'a Params<'a>,
) -> Result<ApiRequest<'a>, ApiError> {
    let text = |name: HeaderName| parts.headers.get(name).and_then(|value| value.to_str().ok());
    let unreserved = match target {
        Target::Function(_) if action == Action::Read => Unreserved::FiltersOrArguments,
        Target::Relation(_) | Target::Function(_) => Unreserved::Filters,
    };
    let query = Query::parse(params, unreserved)?;
    if action == Action::Replace {
        query.root_window.of_put()?;
    }
    let range = if parts.method == Method::GET { text(header::RANGE) } else { None };
    let prefer = parts.headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
    Ok(ApiRequest {
        action,
        target,
        window: Window::intersect(query.root_window, range)?,
        payload: None,
        query,
        preferences: Preferences::parse(prefer),
        accept: accepted(text(header::ACCEPT)),
        head_only: parts.method == Method::HEAD,
    })
}

/// What the plan depends on besides the request.
fn context<'a>(
    state: &'a State,
    snapshot: &'a Snapshot,
    schema: &'a str,
    role: &str,
    request: &ApiRequest<'_>,
) -> Context<'a> {
    const FORMATS: [&str; 4] = ["timezone", "intervalstyle", "bytea_output", "extra_float_digits"];
    let config = &state.config;
    let of_role = snapshot.catalog.session().role_settings.get(role);
    let changes = |name: &str| FORMATS.iter().any(|format| format.eq_ignore_ascii_case(name));
    Context {
        catalog: &snapshot.catalog,
        schema,
        rows_max: config.db_max_rows,
        zone_is_known: snapshot.zone.is_some(),
        formats_are_changed: request.preferences.timezone.is_some()
            || state.pre_request.is_some()
            || config.db_hoisted_tx_settings.iter().any(|name| changes(name))
            || of_role.is_some_and(|settings| settings.iter().any(|setting| changes(&setting.name))),
        aggregates_are_on: config.db_aggregates_enabled,
        plans_are_on: config.db_plan_enabled,
        legacy_target_names: config.url_use_legacy_target_names,
        has_pre_request: state.pre_request.is_some(),
    }
}

fn facts<'a>(parts: &'a Parts, timezone: Option<&'a str>, function: Option<&'a Function>) -> RequestFacts<'a> {
    RequestFacts { method: parts.method.as_str(), path: parts.uri.path(), headers: &parts.headers, timezone, function }
}

/// Whether responses say which schema they are from.
fn shows_profile(state: &State, parts: &Parts) -> bool {
    state.config.db_schemas.len() > 1 || profile(parts).is_some()
}

/// The response to what has come of a request.
fn response(
    state: &State,
    parts: &Parts,
    params: &Params<'_>,
    request: &ApiRequest<'_>,
    plan: &Plan<'_>,
    outcome: Outcome,
) -> Answered {
    let mut body = outcome.body;
    if let Some(range) = outcome.range.filter(|_| plan.write.is_none())
        && let Some(total) = range.total.filter(|&total| range.offset > total)
    {
        // answered like a success, but with the error as its body
        body = ApiError::offset_beyond(range.offset, total).respond(state.config.client_errors_are_verbose).into_body();
        if request.head_only {
            body = Body::whole(Bytes::new());
        }
    }
    let facts = Facts {
        params,
        path: parts.uri.path(),
        preferences: &request.preferences,
        head_only: request.head_only,
        rows_cut: outcome.rows_cut,
        shows_profile: shows_profile(state, parts),
        tx_end_is_theirs: state.config.db_tx_end_is_theirs,
    };
    let mut response = match &plan.write {
        Some(write) if !plan.explains() => {
            let written = Written { rows: outcome.rows, updated: outcome.updated, key: outcome.key };
            respond::write(plan, write, &facts, written, body)
        }
        _ => respond::read(plan, &facts, outcome.range, body),
    };
    if !plan.explains() {
        respond::set_by_sql(&mut response, outcome.set_by_sql)?;
    }
    Ok((response, Some(outcome.rows)))
}

/// The description of a schema (representation §10).
async fn describe(
    state: &State,
    snapshot: &Snapshot,
    schema: &str,
    role: &str,
    parts: &Parts,
    bill: &mut Bill,
) -> Answered {
    let accept = accepted(parts.headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()));
    let names = ["*/*", "application/json", "application/openapi+json"];
    if !accept.iter().any(|media| names.iter().any(|name| media.is(name))) {
        return Err(ApiError::media_type(&accept));
    }
    let session = Session::of(state, snapshot, schema, role, facts(parts, None, None));
    let document = root::describe(state, snapshot, &session, schema, bill).await?;
    let profile = shows_profile(state, parts).then_some(schema);
    Ok((respond::description(document, profile, parts.method == Method::HEAD), None))
}
