//! The whole request, one line a stage.

use crate::body::Body;
use crate::cors;
use crate::error::{ApiError, Stale};
use crate::respond;
use crate::run::{Ran, Run, Statements};
use crate::session::{RequestFacts, SessionState};
use crate::state::{Snapshot, State};
use bytes::Bytes;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Response};
use thalweg_encode::Zone;
use thalweg_gauge::{Bill, Stage};
use thalweg_plan::{Context, Plan, plan};
use thalweg_request::{ApiRequest, Count, Params, Preferences, Query, Resource, Window, accepted};

const ACCEPT_PROFILE: &str = "accept-profile";

/// What is known of a request when it has been answered.
pub(crate) struct Answer {
    pub(crate) response: Response<Body>,
    pub(crate) bill: Bill,
    pub(crate) code: Option<String>,
    pub(crate) rows: Option<u64>,
}

/// Answers a request, whatever it is.
pub(crate) async fn answer(state: &State, parts: &Parts) -> Answer {
    let mut bill = Bill::start();
    let mut outcome = attempt(state, parts, &mut bill, true).await;
    if let Err(error) = &outcome
        && (error.stale == Stale::Surely || (error.stale == Stale::Perhaps && state.reloader.may_suspect()))
    {
        state.reloader.load().await;
        outcome = attempt(state, parts, &mut bill, true).await;
    }
    if outcome.as_ref().is_err_and(|error| error.held_too_much) {
        // relations have grown since PostgreSQL last looked: it joins them itself
        outcome = attempt(state, parts, &mut bill, false).await;
    }
    let cross_origin = parts.headers.contains_key(header::ORIGIN);
    let (mut response, code, rows) = match outcome {
        Ok((response, rows)) => (response, None, rows),
        Err(error) => {
            // a database that was away may have come back with another schema
            if error.status.as_u16() == 503 && error.code != "PGRST003" {
                state.reloader.trigger();
            }
            let mut response = error.respond();
            if parts.method == Method::HEAD {
                *response.body_mut() = Body::whole(Bytes::new());
            }
            (response, Some(error.code.into_owned()), None)
        }
    };
    let headers = response.headers_mut();
    headers.insert(header::SERVER, HeaderValue::from_static(concat!("thalweg/", env!("CARGO_PKG_VERSION"))));
    if let Ok(timing) = HeaderValue::from_maybe_shared(Bytes::from(bill.server_timing())) {
        headers.insert(HeaderName::from_static("server-timing"), timing);
    }
    cors::expose(cross_origin, headers);
    Answer { response, bill, code, rows }
}

type Outcome = Result<(Response<Body>, Option<u64>), ApiError>;

/// bytes → request → plan → SQL → rows → response.
async fn attempt(state: &State, parts: &Parts, bill: &mut Bill, may_gather: bool) -> Outcome {
    if let Some(response) = cors::preflight(&parts.method, &parts.headers) {
        return Ok((response, None));
    }
    let role = authenticate(state, &parts.headers)?;
    let snapshot = state.snapshot()?;
    let resource = Resource::parse(parts.uri.path())?;
    let schema = schema(state, &parts.headers)?;
    let relation = match relation(&snapshot, schema, &resource, parts)? {
        Asked::Rows(relation) => relation,
        Asked::Options(response) => return Ok((*response, None)),
    };
    let params = Params::decode(parts.uri.query().unwrap_or(""))?;
    let request = read_request(parts, resource.clone(), &params)?;
    bill.lap(Stage::Parse);
    let mut plan = plan(&request, relation, context(state, &snapshot, schema, role, &request))?;
    check_preferences(&request.preferences)?;
    plan.gathers &= may_gather;
    let statements = Statements::of(&plan);
    let session = SessionState::of(&snapshot, plan.schema, role, facts(parts, &request));
    bill.lap(Stage::Plan);
    let connection = state.pool.get(session.key).await?;
    bill.lap(Stage::Wait);
    let zone = snapshot.zone.clone().unwrap_or(Zone::UTC);
    let rows = Run { plan: &plan, statements: &statements, session: &session, zone, anonymous: true };
    let result = rows.run(connection, bill).await.map_err(|mut error| {
        // what neither the schema cache nor the database knows is the client's mistake
        if error.stale == Stale::Perhaps && !plan.read.knows_all_columns() {
            error.stale = Stale::No;
        }
        error
    })?;
    respond(state, parts, &params, &request, &plan, result)
}

/// The role that a request runs as (auth §3).
fn authenticate<'a>(state: &'a State, headers: &HeaderMap) -> Result<&'a str, ApiError> {
    let scheme = headers.get(header::AUTHORIZATION).and_then(|value| value.as_bytes().get(..6));
    if scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"bearer")) {
        return Err(ApiError::new(500, "PGRST300", "Server lacks JWT secret"));
    }
    state.config.db_anon_role.as_deref().ok_or_else(ApiError::anonymous_disabled)
}

enum Asked<'a> {
    Rows(&'a str),
    Options(Box<Response<Body>>),
}

/// The relation whose rows are asked for; everything else is answered here.
fn relation<'a>(
    snapshot: &Snapshot,
    schema: &str,
    resource: &'a Resource<'_>,
    parts: &Parts,
) -> Result<Asked<'a>, ApiError> {
    const READABLE: &str = "OPTIONS,GET,HEAD";
    let unsupported = || ApiError::new(405, "PGRST117", format!("Unsupported HTTP method: {}", parts.method));
    match (resource, &parts.method) {
        (Resource::Root, &Method::OPTIONS) => Ok(Asked::Options(Box::new(respond::options(READABLE)))),
        (Resource::Root, &Method::GET | &Method::HEAD) => {
            let names: Vec<String> = snapshot
                .catalog
                .relations()
                .iter()
                .filter(|relation| *relation.schema == *schema)
                .take(20)
                .map(|relation| format!("/{}", relation.name))
                .collect();
            Err(ApiError::new(404, "PGRST126", "Root endpoint metadata is disabled")
                .hint(format!("Relations of schema '{schema}': {}", names.join(" "))))
        }
        (Resource::Relation(name), &Method::GET | &Method::HEAD) => Ok(Asked::Rows(name)),
        (Resource::Relation(name), &Method::OPTIONS) => match snapshot.catalog.find(schema, name) {
            Some(_) => Ok(Asked::Options(Box::new(respond::options(READABLE)))),
            None => Ok(Asked::Rows(name)),
        },
        (Resource::Function(_), &Method::GET | &Method::HEAD | &Method::POST | &Method::OPTIONS) => {
            Err(ApiError::new(501, "PGRST127", "Feature not implemented").hint("Functions cannot be called yet."))
        }
        (Resource::Function(_), method) => {
            Err(ApiError::new(405, "PGRST101", format!("Cannot use the {method} method on RPC")))
        }
        (Resource::Relation(_), &Method::POST | &Method::PATCH | &Method::PUT | &Method::DELETE) => {
            Err(ApiError::new(501, "PGRST127", "Feature not implemented").hint("Relations cannot be written to yet."))
        }
        _ => Err(unsupported()),
    }
}

/// The schema that `Accept-Profile` names, else the default one.
fn schema<'a>(state: &'a State, headers: &HeaderMap) -> Result<&'a str, ApiError> {
    let exposed = &state.config.db_schemas;
    match headers.get(ACCEPT_PROFILE).and_then(|value| value.to_str().ok()) {
        None => Ok(exposed.first().map_or("", String::as_str)),
        Some(profile) => {
            let known = exposed.iter().find(|schema| *schema == profile);
            known.map(String::as_str).ok_or_else(|| ApiError::schema(profile, exposed))
        }
    }
}

/// Understands the query string and the headers.
fn read_request<'a>(
    parts: &'a Parts,
    resource: Resource<'a>,
    params: &'a Params<'a>,
) -> Result<ApiRequest<'a>, ApiError> {
    let text = |name: HeaderName| parts.headers.get(name).and_then(|value| value.to_str().ok());
    let query = Query::parse(params)?;
    let range = if parts.method == Method::GET { text(header::RANGE) } else { None };
    let prefer = parts.headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
    Ok(ApiRequest {
        resource,
        window: Window::intersect(query.root_window, range)?,
        query,
        preferences: Preferences::parse(prefer),
        accept: accepted(text(header::ACCEPT)),
        head_only: parts.method == Method::HEAD,
    })
}

/// What nobody knows is an error if the client says so; what is known and not done always is.
fn check_preferences(preferences: &Preferences<'_>) -> Result<(), ApiError> {
    preferences.check()?;
    if matches!(preferences.count, Some(Count::Planned | Count::Estimated)) {
        return Err(
            ApiError::new(501, "PGRST127", "Feature not implemented").hint("Only count=exact can be counted yet.")
        );
    }
    Ok(())
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
    let of_role = snapshot.catalog.session().role_settings.get(role);
    let changes = |name: &str| FORMATS.iter().any(|format| format.eq_ignore_ascii_case(name));
    Context {
        catalog: &snapshot.catalog,
        schema,
        rows_max: state.config.db_max_rows,
        zone_is_known: snapshot.zone.is_some(),
        formats_are_changed: request.preferences.timezone.is_some()
            || of_role.is_some_and(|settings| settings.iter().any(|(name, _)| changes(name))),
    }
}

fn facts<'a>(parts: &'a Parts, request: &ApiRequest<'a>) -> RequestFacts<'a> {
    RequestFacts {
        method: parts.method.as_str(),
        path: parts.uri.path(),
        headers: &parts.headers,
        timezone: request.preferences.timezone,
    }
}

/// The response to what has come of a request.
fn respond(
    state: &State,
    parts: &Parts,
    params: &Params<'_>,
    request: &ApiRequest<'_>,
    plan: &Plan<'_>,
    ran: Ran,
) -> Outcome {
    let show_profile = state.config.db_schemas.len() > 1 || parts.headers.contains_key(ACCEPT_PROFILE);
    let mut body = ran.body;
    if let Some(range) = ran.range
        && let Some(total) = range.total.filter(|&total| range.offset > total)
    {
        // answered like a success, but with the error as its body
        body = ApiError::offset_beyond(range.offset, total).respond().into_body();
    }
    let path = parts.uri.path();
    let response = respond::read(plan, params, path, &request.preferences, show_profile, ran.range, body);
    Ok((response, Some(ran.rows)))
}
