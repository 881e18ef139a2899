//! The whole request, one line a stage.

mod batch;
mod browse;
mod form;
mod going;
mod page;
pub(crate) mod route;
mod sign_in;
mod text;
mod wanted;

pub(crate) use going::{context, context_for};
pub(crate) use page::PROVIDED;
pub(crate) use text::RequestText;

use crate::answer::{Body, cors};
use crate::auth::cookie::{self, Cookie};
use crate::auth::{Identified, Who};
use crate::config::InForce;
use crate::error::{ApiError, NO_ROOM, Retry};
use crate::http::{PROXY_STATUS, SERVER_NAME, SERVER_TIMING};
use crate::log;
use crate::overload::Refusal;
use crate::site::Site;
use crate::state::State;
use crate::upload::RequestBody;
use bytes::Bytes;
use going::{Going, Ready};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use std::borrow::Cow;
use std::time::{Duration, Instant};
use thalweg_gauge::{Lap, Laps};
use thalweg_plan::{Media, plan};
use thalweg_request::{Params, Resource};
use wanted::Wanted;

/// What is known of a request when it has been answered.
pub(crate) struct Answer<'a> {
    pub(crate) response: Response<Body>,
    pub(crate) bill: Laps,
    pub(crate) code: Option<Cow<'static, str>>,
    pub(crate) rows: Option<u64>,
    /// Who asked, where that was found out.
    pub(crate) who: Option<Who<'a>>,
}

impl Answer<'_> {
    /// Returns whether the request was refused because there was no room, so that its client is to
    /// come back later. Of a handler only the response is available; its headers name the code if
    /// the error is the API's own.
    pub(crate) fn is_refusal(&self) -> bool {
        let of_api = || {
            let named = self.response.headers().get(PROXY_STATUS).and_then(|value| value.to_str().ok());
            named.is_some_and(|named| named.ends_with(NO_ROOM))
        };
        self.response.status() == StatusCode::SERVICE_UNAVAILABLE && (self.code.as_deref() == Some(NO_ROOM) || of_api())
    }
}

/// Answers a request, whatever it is: one for a page, if it is a site's.
pub(crate) async fn answer<'a>(
    state: &State,
    in_force: &'a InForce,
    (parts, peer): (&'a Parts, &'a str),
    body: &mut RequestBody,
    site: Option<&'a Site>,
) -> Answer<'a> {
    let mut bill = Laps::start();
    let is_browsed = site.is_none() && browse::is_asked(state, in_force, parts);
    // Pages check for room themselves, since not all of them need a connection and their refusals
    // are HTML.
    if site.is_none() && !is_browsed && parts.method != Method::OPTIONS && state.pool.is_full() {
        return refuse(in_force, parts, bill);
    }
    let mut given = Given { site, is_browsed, peer: Some(peer), ..Given::of(in_force, parts) };
    let (mut response, code, rows) = match attempts((state, in_force), parts, body, &mut bill, &mut given).await {
        Ok((response, rows)) => (response, None, rows),
        Err(error) => {
            log::failure(&error);
            let error = match site {
                Some(site) => site.shown(error),
                None => error,
            };
            // boxed: few requests come here, and all would have room for it
            let response = Box::pin(refusal((state, in_force), parts, &error, &mut given)).await;
            (response, Some(error.code), None)
        }
    };
    mark(in_force, parts, &given, &bill, response.headers_mut());
    Answer { response, bill, code, rows, who: given.who }
}

/// Refuses a request to the API before its query is read, because too many others wait for a
/// connection.
fn refuse<'a>(in_force: &'a InForce, parts: &'a Parts, bill: Laps) -> Answer<'a> {
    let refusal = Refusal::of(in_force.config.client_errors_are_verbose);
    log::failure(&refusal.error);
    let mut response = refusal.response(&parts.method);
    mark(in_force, parts, &Given::of(in_force, parts), &bill, response.headers_mut());
    Answer { response, bill, code: Some(Cow::Borrowed(NO_ROOM)), rows: None, who: None }
}

/// Refuses a request that needs a connection, if too many others wait for one.
fn check_room(state: &State) -> Result<(), ApiError> {
    if state.pool.is_full() { Err(thalweg_wire::PoolError::QueueFull.into()) } else { Ok(()) }
}

/// Answers a request to the API of code in the same process, to which an error is one; and whose token it had.
pub(crate) async fn call(
    state: &State,
    in_force: &InForce,
    parts: &Parts,
    body: &mut RequestBody,
) -> (Result<Response<Body>, ApiError>, Option<Identified>) {
    let mut bill = Laps::start();
    let mut given = Given { is_called: true, ..Given::of(in_force, parts) };
    let answered = match check_room(state) {
        Ok(()) => attempts((state, in_force), parts, body, &mut bill, &mut given).await,
        Err(error) => Err(error),
    };
    if let Err(error) = &answered {
        log::failure(error);
        load_if_due(state, error);
    }
    let answered = answered.map(|(response, _)| response);
    (answered, given.who.map(|who| who.identified()))
}

/// The response that tells of an error.
async fn refusal<'a>(
    (state, in_force): (&State, &'a InForce),
    parts: &'a Parts,
    error: &ApiError,
    given: &mut Given<'a>,
) -> Response<Body> {
    load_if_due(state, error);
    let mut response = match given.site {
        Some(site) => page::refusal((state, in_force), site, parts, error, given).await,
        None if given.is_browsed => browse::refusal((state, in_force), parts, error, given).await,
        None => error.response(in_force.config.client_errors_are_verbose),
    };
    if parts.method == Method::HEAD {
        *response.body_mut() = Body::whole(Bytes::new());
    }
    response
}

/// Begins to load the schema cache, where an error says that it has fallen behind.
fn load_if_due(state: &State, error: &ApiError) {
    if error.load_is_due {
        state.reloader.trigger();
    }
}

/// Says what every response says.
fn mark(in_force: &InForce, parts: &Parts, given: &Given<'_>, bill: &Laps, headers: &mut HeaderMap) {
    let config = &in_force.config;
    if config.server_timing_enabled
        && let Ok(timing) = HeaderValue::try_from(timing(bill))
    {
        headers.insert(SERVER_TIMING, timing);
    }
    sign(in_force, parts, given.cookie, headers);
    // pages are not for scripts of other sites, and a preflight's answer says what it says
    if given.site.is_none() && !headers.contains_key(header::ACCESS_CONTROL_ALLOW_METHODS) {
        cors::expose(config, &parts.headers, headers);
    }
}

/// The stages of a request, and what it has allocated and copied up to the head of its answer.
fn timing(bill: &Laps) -> Vec<u8> {
    let mut timing = bill.server_timing().as_bytes().to_vec();
    if let Some(spent) = thalweg_gauge::spent() {
        let (allocations, allocated, copied) = (spent.allocations, spent.allocated_bytes, spent.copied_bytes);
        let counts = [("allocations", allocations, ""), ("allocated", allocated, " B"), ("copied", copied, " B")];
        for (name, count, unit) in counts {
            timing.extend_from_slice(format!(", {name};desc=\"{count}{unit}\"").as_bytes());
        }
    }
    timing
}

/// Says what that of a handler says, too.
pub(crate) fn sign(in_force: &InForce, parts: &Parts, cookie: Option<Cookie<'_>>, headers: &mut HeaderMap) {
    headers.insert(header::SERVER, HeaderValue::from_static(SERVER_NAME));
    if let Some(name) = &in_force.trace_header {
        let traced = parts.headers.get(name).cloned().unwrap_or(HeaderValue::from_static(""));
        headers.insert(name, traced);
    }
    if let Some(cookie) = cookie {
        cookie.mark(headers);
    }
}

/// Number of attempts at a request. The schema may change again during each load; each other reason
/// occurs once.
const ATTEMPTS_MAX: usize = 8;

/// Total time for which a request waits for loads of the schema cache.
const LOAD_WAIT_MAX: Duration = Duration::from_secs(10);

/// What an attempt is given.
#[derive(Default)]
struct Given<'a> {
    /// The site whose page is asked for.
    site: Option<&'a Site>,
    /// Whether a page of the API's own is asked for.
    is_browsed: bool,
    /// Whether code in the same process asks, for whose own request the bill is.
    is_called: bool,
    /// The cookie that tokens may come in.
    cookie: Option<Cookie<'a>>,
    /// Address of the connection, or `None` if code in the same process makes the request.
    peer: Option<&'a str>,
    /// Who asks, once that is known.
    who: Option<Who<'a>>,
    /// Whether levels must not be joined here: relations that have grown since PostgreSQL last looked are joined by it.
    is_never_flat: bool,
    /// How long loads of the schema cache are waited for.
    waits_until: Option<Instant>,
}

impl<'a> Given<'a> {
    /// What the first attempt at a request to the API is given.
    fn of(in_force: &'a InForce, parts: &'a Parts) -> Self {
        let cookie = in_force.config.session_cookie.as_deref().map(|name| Cookie::find(name, &parts.headers));
        Self { cookie, ..Self::default() }
    }

    /// Finds out who asks.
    async fn who(
        &mut self,
        (state, in_force): (&State, &'a InForce),
        parts: &Parts,
        bill: &mut Laps,
    ) -> Result<Who<'a>, ApiError> {
        let who = Who::of(state, in_force, parts, self.cookie).await?;
        if who.has_token() {
            bill.lap(Lap::Jwt);
        }
        Ok(self.who.insert(who).clone())
    }

    /// Decides whether to try a failed request again, and waits for a load of the schema cache if
    /// the next attempt needs one. `load` is the load whose schema cache the failed attempt used,
    /// or an earlier one.
    ///
    /// # Errors
    ///
    /// 503 if the schema cache has fallen behind, and cannot be loaded in time.
    async fn for_another(&mut self, state: &State, retry: Retry, load: Option<u64>) -> Result<bool, ApiError> {
        match retry {
            Retry::Never => return Ok(false),
            Retry::NotFlat => {
                self.is_never_flat = true;
                return Ok(true);
            }
            Retry::AfterLoad | Retry::AfterSuspectedLoad | Retry::AfterLoadInProgress => {}
        }
        // A load has ended since the attempt began, and its schema cache may be sufficient.
        if state.load() != load {
            return Ok(true);
        }
        let reloader = &state.reloader;
        let deadline = *self.waits_until.get_or_insert_with(|| Instant::now() + LOAD_WAIT_MAX);
        // A load that is due or running may have begun before the schema changed. In that case the
        // next attempt fails too, and waits here again.
        let is_loaded = match reloader.due() {
            Some(_) => reloader.next_loaded(deadline).await,
            None if state.load() != load => true,
            None => {
                let asked = match retry {
                    Retry::AfterLoad => Some(reloader.ask()),
                    Retry::AfterSuspectedLoad => reloader.suspect(),
                    Retry::AfterLoadInProgress | Retry::Never | Retry::NotFlat => None,
                };
                match asked {
                    Some(asked) => reloader.loaded(asked, deadline).await,
                    // The schema cache is up to date, so the error of the database stands.
                    None => return Ok(false),
                }
            }
        };
        match is_loaded {
            true => Ok(true),
            false if retry.is_of_schema() => Err(reloader.no_schema_cache()),
            false => Ok(false),
        }
    }
}

type Answered = Result<(Response<Body>, Option<u64>), ApiError>;

/// Tries until it is answered, or nothing speaks for another attempt.
async fn attempts<'a>(
    (state, in_force): (&State, &'a InForce),
    parts: &'a Parts,
    body: &mut RequestBody,
    bill: &mut Laps,
    given: &mut Given<'a>,
) -> Answered {
    let mut attempts = 1;
    loop {
        let load = state.load();
        let answered = attempt((state, in_force), parts, body, bill, given).await;
        let Err(error) = &answered else { return answered };
        if attempts == ATTEMPTS_MAX && error.retry.is_of_schema() {
            return Err(ApiError::schema_in_motion());
        }
        if attempts == ATTEMPTS_MAX || body.is_consumed() || !given.for_another(state, error.retry, load).await? {
            return answered;
        }
        attempts += 1;
    }
}

/// bytes → request → plan → SQL → rows → response.
async fn attempt<'a>(
    (state, in_force): (&State, &'a InForce),
    parts: &'a Parts,
    body: &mut RequestBody,
    bill: &mut Laps,
    given: &mut Given<'a>,
) -> Answered {
    if let Some(site) = given.site {
        // boxed: the API's requests would have room for it
        return Box::pin(page::attempt((state, in_force), site, parts, body, bill, given)).await;
    }
    if given.is_browsed {
        return Box::pin(browse::attempt((state, in_force), parts, body, bill, given)).await;
    }
    of_api((state, in_force), parts, body, bill, given).await
}

/// The same of the API's own.
async fn of_api<'a>(
    (state, in_force): (&State, &'a InForce),
    parts: &'a Parts,
    body: &mut RequestBody,
    bill: &mut Laps,
    given: &mut Given<'a>,
) -> Answered {
    let config = &in_force.config;
    if let Some(response) = cors::preflight(config, &parts.method, &parts.headers) {
        return Ok((response, None));
    }
    let who = given.who((state, in_force), parts, bill).await?;
    let snapshot = state.snapshot()?;
    let resource = Resource::parse(parts.uri.path())?;
    let wanted = Wanted::of(config, &resource, parts)?;
    let schema = wanted::schema(config, parts)?;
    let params = Params::decode(parts.uri.query().unwrap_or(""))?;
    let headers = wanted::headers(parts);
    let is_flat_allowed = !given.is_never_flat;
    let going = Going {
        state,
        in_force,
        parts,
        snapshot: &snapshot,
        who: &who,
        schema,
        params: &params,
        headers: &headers,
        is_flat_allowed,
        of_page: None,
    };
    let of_root = || Some(route::of_root(state, &parts.method));
    let route_of = |target| route::of_target((state, in_force), &snapshot, (&parts.method, schema), target);
    let (action, target) = match wanted {
        Wanted::Rows(action, target) => (action, target),
        Wanted::Options(target) => {
            route::say(given, || target.map_or_else(of_root, route_of));
            return going.options(target);
        }
        Wanted::Description => {
            route::say(given, of_root);
            return going.describe(bill).await;
        }
    };
    // a read that differs from one before it in the values of its filters only is neither read again nor planned
    let question = going.question(action, target);
    if let Some(question) = &question
        && let Some(known) = state.known_reads.find(question, going.era())
    {
        route::say(given, || *known.route.get_or_init(|| route_of(target)));
        let params = known.params(question);
        return going.carry_out(Ready::of_known(&known, &params), body.split(), bill).await;
    }
    route::say(given, || route_of(target));
    let request = going.read(action, target, body, bill).await?;
    let (received, incoming) = body.split();
    let payload = received.payload(&request)?;
    let plan = plan(&request, payload.as_ref(), going.context(&request))?;
    request.preferences.check()?;
    let session_cookie = going.session_cookie(&request, &plan, given.cookie)?;
    let asked = (parts, given.peer);
    let attempt = sign_in::count((state, in_force), asked, &snapshot, &plan, session_cookie.is_some())?;
    if let Media::Value(value) = &plan.media {
        return going.download(&request, &plan, value, bill).await;
    }
    let (prepared, values) = going.prepare(&request, &plan, question);
    let source = going::copy_source(&plan, received, &request).await?;
    let ready = Ready::of_plan(&going, &request, &plan, (&prepared, &values), source);
    let carried_out = going.carry_out(ready, (received, incoming), bill).await;
    let ((mut response, rows), attempt) = sign_in::result(carried_out, attempt)?;
    let has_signed_in = match session_cookie {
        Some(cookie) => cookie.put(state, in_force, &mut response).await?,
        None => attempt.is_some() && cookie::returns_token(state, in_force, &response).await,
    };
    sign_in::restore(attempt.filter(|_| has_signed_in));
    Ok((response, rows))
}
