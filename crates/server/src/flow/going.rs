//! The steps of a request that has been understood as far as its method, its path and who asks.

use super::Answered;
use super::wanted::shows_profile;
use crate::answer::respond::{self, Facts, WriteCounts};
use crate::answer::{self, Body, Download, etag};
use crate::auth::Who;
use crate::auth::cookie::{self, Cookie};
use crate::config::InForce;
use crate::error::ApiError;
use crate::prepared::{Asked, Era, Known, Nature, Prepared, Question};
use crate::schema::Snapshot;
use crate::site::BoundQuery;
use crate::state::State;
use crate::transaction::{CopySource, Outcome, RequestFacts, Run, Session, enter};
use crate::upload::{Incoming, Received, RequestBody, copy};
use bytes::Bytes;
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};
use std::borrow::Cow;
use std::sync::Arc;
use thalweg_catalog::{Function, Relation, Runs, Volatility};
use thalweg_encode::Zone;
use thalweg_gauge::{Lap, Laps};
use thalweg_plan::{Context, OneValue, Plan, Write, plan};
use thalweg_request::{Action, ApiRequest, Headers, Params, Query, Target, TxEnd, Unreserved, accepted};
use thalweg_sql::Param;

/// A request that has been understood as far as its method and its path.
pub(super) struct Going<'a> {
    pub(super) state: &'a State,
    pub(super) in_force: &'a InForce,
    pub(super) parts: &'a Parts,
    pub(super) snapshot: &'a Snapshot,
    pub(super) who: &'a Who<'a>,
    pub(super) schema: &'a str,
    pub(super) params: &'a Params<'a>,
    pub(super) headers: &'a Headers<'a>,
    /// Whether levels may be joined here.
    pub(super) is_flat_allowed: bool,
    /// The query of a page that it is for.
    pub(super) of_page: Option<&'a BoundQuery>,
}

/// What has been prepared for it.
pub(super) struct Ready<'a> {
    /// What has been done for it since the last lap.
    stage: Lap,
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
    /// A read that needs no plan.
    pub(super) fn of_known(known: &'a Known, params: &'a [Param<'a>]) -> Self {
        Self {
            stage: Lap::Parse,
            prepared: &known.prepared,
            params,
            timezone: known.timezone(),
            function: None,
            write: None,
            source: None,
            rolls_back: false,
        }
    }

    pub(super) fn of_plan(
        going: &Going<'_>,
        request: &ApiRequest<'a>,
        plan: &'a Plan<'a>,
        (prepared, params): (&'a Prepared, &'a [Param<'a>]),
        source: Option<CopySource>,
    ) -> Self {
        Self {
            stage: Lap::Plan,
            prepared,
            params,
            timezone: request.preferences.timezone,
            function: plan.call().map(|call| call.function),
            write: plan.write.as_ref().filter(|_| !plan.explains()),
            source,
            rolls_back: going.rolls_back(request, plan),
        }
    }
}

impl<'a> Going<'a> {
    fn head_only(&self) -> bool {
        self.parts.method == Method::HEAD
    }

    /// What can be done with something (representation §8, functions §1).
    pub(super) fn options(&self, target: Option<Target<'_>>) -> Answered {
        let catalog = &self.snapshot.catalog;
        let allowed = match target {
            None => "OPTIONS,GET,HEAD".to_owned(),
            Some(Target::Relation(name)) => allowed(thalweg_plan::relation(catalog, self.schema, name)?),
            Some(Target::Function(name)) => {
                Query::parse(self.params, Unreserved::Filters)?;
                match thalweg_plan::function(catalog, self.schema, name)?.volatility {
                    Volatility::Volatile => "OPTIONS,POST".to_owned(),
                    Volatility::Stable | Volatility::Immutable => "OPTIONS,GET,HEAD,POST".to_owned(),
                }
            }
        };
        Ok((respond::options(&allowed), None))
    }

    /// The description of a schema (representation §10).
    pub(super) async fn describe(&self, bill: &mut Laps) -> Answered {
        let Self { state, in_force, schema, .. } = *self;
        let accept = accepted(self.headers.accept);
        let names = ["*/*", "application/json", "application/openapi+json"];
        if !accept.iter().any(|media| names.iter().any(|name| media.is(name))) {
            return Err(ApiError::media_type(&accept));
        }
        let session = self.session(Runs::Nothing, None, None);
        let document = answer::describe((state, in_force), &session, schema, bill).await?;
        let mut held = state.outlet.hold();
        held.push(document.into());
        Ok((respond::description(held, self.profile(), self.head_only()), None))
    }

    /// What the request is known by if it only reads a relation.
    pub(super) fn question(&self, action: Action, target: Target<'_>) -> Option<Question<'a>> {
        let Self { state, who, schema, params, headers, is_flat_allowed, of_page, .. } = *self;
        let Target::Relation(relation) = target else { return None };
        let asked = Asked {
            role: who.role(),
            schema,
            relation,
            head_only: self.head_only(),
            is_flat_allowed,
            of_page: of_page.map(|query| query.number),
        };
        (action == Action::Read).then(|| Question::of(&state.known_reads, asked, headers, params))
    }

    /// What holds while a read that was prepared need not be planned again.
    pub(super) fn era(&self) -> Era {
        Era { snapshot: self.snapshot.load, in_force: self.in_force.number }
    }

    /// Reads the rest of the request, then its body as far as a plan needs that: what is wrong with the one is said first.
    pub(super) async fn read(
        &self,
        action: Action,
        target: Target<'a>,
        body: &mut RequestBody,
        bill: &mut Laps,
    ) -> Result<ApiRequest<'a>, ApiError> {
        let known = match target {
            Target::Function(name) if action == Action::Read => {
                thalweg_plan::parameters(&self.snapshot.catalog, self.schema, name, self.params)
            }
            Target::Function(_) | Target::Relation(_) => Vec::new(),
        };
        let given = (action, target, self.head_only());
        let mut request = ApiRequest::parse_given(given, self.params, self.headers, &known)?;
        if !self.in_force.config.db_count_estimates {
            request.preferences.count_exactly();
        }
        body.receive(&self.parts.headers, &request).await?;
        bill.lap(Lap::Parse);
        if body.flows() && !plan(&request, body.payload(&request)?.as_ref(), self.context(&request))?.copies() {
            // only rows of a COPY can be written while others are still to come
            body.complete(&request).await?;
        }
        Ok(request)
    }

    /// What the plan depends on besides the request.
    pub(super) fn context(&self, request: &ApiRequest<'_>) -> Context<'a> {
        let Self { in_force, snapshot, who, schema, is_flat_allowed, of_page, .. } = *self;
        Context { is_flat_allowed, ..context_for((in_force, snapshot, schema), who, request, of_page) }
    }

    /// The cookie that is to be put, if the request signs in or out. That is not for others' pages to do.
    pub(super) fn session_cookie<'c>(
        &self,
        request: &ApiRequest<'_>,
        plan: &Plan<'_>,
        cookie: Option<Cookie<'c>>,
    ) -> Result<Option<Cookie<'c>>, ApiError> {
        let returns = plan.call().is_some() && !plan.explains() && !self.head_only();
        let cookie = cookie.filter(|_| request.preferences.session && returns);
        if cookie.is_some() {
            cookie::check_site(&self.parts.headers, &self.in_force.config)?;
        }
        Ok(cookie)
    }

    /// One value as it is, or a part of it.
    pub(super) async fn download(
        &self,
        request: &ApiRequest<'a>,
        plan: &Plan<'_>,
        value: &OneValue<'_>,
        bill: &mut Laps,
    ) -> Answered {
        bill.lap(Lap::Plan);
        let Self { state, in_force, parts, .. } = *self;
        let session = self.session(Nature::of(plan).runs, request.preferences.timezone, None).in_one_snapshot(true);
        let download = Download { state, config: &in_force.config, parts, plan, value, session: &session };
        let response = download.answer(bill).await?;
        thalweg_gauge::rows(1);
        Ok((response, Some(1)))
    }

    /// Writes the plan's statements, and keeps them if they are asked for again.
    pub(super) fn prepare<'p>(
        &self,
        request: &ApiRequest<'_>,
        plan: &'p Plan<'p>,
        question: Option<Question<'_>>,
    ) -> (Arc<Prepared>, Vec<Param<'p>>) {
        let (config, reads) = (&self.in_force.config, &self.state.known_reads);
        let statements = thalweg_sql::statements(plan, config.db_max_rows);
        let (prepared, params) = Prepared::of(plan, statements, &request.preferences, config.db_tx_end_is_theirs);
        let prepared = Arc::new(prepared);
        if let Some(question) = question.filter(|question| reads.comes_again(question))
            && let Some(known) = Known::of(prepared.clone(), &params, request.preferences.timezone, &question)
        {
            reads.keep(&question, self.era(), Arc::new(known));
        }
        (prepared, params)
    }

    /// Whether the transaction is rolled back although nothing is wrong (writes §10). One that is read only leaves nothing.
    fn rolls_back(&self, request: &ApiRequest<'_>, plan: &Plan<'_>) -> bool {
        let config = &self.in_force.config;
        let asked = request.preferences.tx.filter(|_| config.db_tx_end_is_theirs);
        let rolls_back = asked.map_or(config.db_tx_rolls_back, |tx| tx == TxEnd::Rollback);
        rolls_back && !plan.is_read_only
    }

    pub(super) fn session(&self, runs: Runs, timezone: Option<&'a str>, function: Option<&'a Function>) -> Session<'a> {
        let parts = self.parts;
        let (method, path, headers) = (parts.method.as_str(), parts.uri.path(), &parts.headers);
        let facts = RequestFacts { method, path, headers, timezone, function };
        Session::of(self.state, self.in_force, self.snapshot, self.schema, self.who, runs, facts)
    }

    /// The schema, where responses say which one they are from.
    fn profile(&self) -> Option<&'a str> {
        shows_profile(&self.in_force.config, self.parts).then_some(self.schema)
    }

    /// SQL → rows → response.
    pub(super) async fn carry_out(
        &self,
        ready: Ready<'a>,
        (received, incoming): (&Received, &mut Incoming),
        bill: &mut Laps,
    ) -> Answered {
        let state = self.state;
        let Ready { stage, prepared, params, timezone, function, write, source, rolls_back } = ready;
        let run = Run {
            prepared,
            params,
            zone: self.snapshot.zone.clone().unwrap_or(Zone::UTC),
            anonymous: self.who.is_anonymous(),
            head_only: self.head_only(),
            rolls_back,
            outlet: &state.outlet,
            turns: &state.turns,
        };
        let session = run.session(self.session(prepared.nature.runs, timezone, function));
        let values = run.values(received).await?;
        bill.lap(stage);
        let _turn_of_body = match source {
            Some(CopySource::Flowing(_)) => state.turn_of(received, incoming).await?,
            Some(CopySource::Whole(_) | CopySource::Held(_)) | None => None,
        };
        let turn = run.turn().await?;
        let entered = enter(state, &session).await?;
        bill.lap(Lap::Wait);
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
            if self.head_only() {
                body = Body::whole(Bytes::new());
            }
        }
        let facts = Facts {
            params: self.params,
            path: match (self.state.prefix(), self.parts.uri.path()) {
                ("", path) => Cow::Borrowed(path),
                (prefix, path) => Cow::Owned([prefix, path].concat()),
            },
            prefix: self.state.prefix(),
            head_only: self.head_only(),
            rows_cut: outcome.rows_cut,
            embedded_cut: outcome.embedded_cut,
            profile: self.profile(),
        };
        let mut response = match write {
            Some(write) => {
                let written = WriteCounts { rows: outcome.rows, updated: outcome.updated, key: outcome.key };
                respond::write(prepared, write, &facts, written, body)
            }
            None => respond::read(prepared, &facts, outcome.range, body),
        };
        let is_whole = self.parts.method == Method::GET && response.status() == StatusCode::OK;
        if is_whole && prepared.nature.is_read_only && !prepared.nature.response_is_set {
            etag::validate(&mut response, &self.parts.headers);
        }
        if !prepared.explains {
            respond::set_by_sql(&mut response, outcome.set_by_sql)?;
        }
        Ok((response, Some(outcome.rows)))
    }
}

/// What the plan of a request depends on besides it, and of one that a page makes on what that needs.
pub(crate) fn context_for<'a>(
    (in_force, snapshot, schema): (&'a InForce, &'a Snapshot, &'a str),
    who: &Who<'_>,
    request: &ApiRequest<'_>,
    of_page: Option<&'a BoundQuery>,
) -> Context<'a> {
    const FORMATS: [&str; 4] = ["timezone", "intervalstyle", "bytea_output", "extra_float_digits"];
    let of_role = snapshot.catalog.session().role_settings.get(who.role());
    let changes = |name: &str| FORMATS.iter().any(|format| format.eq_ignore_ascii_case(name));
    Context {
        formats_are_changed: request.preferences.timezone.is_some()
            || in_force.pre_request.is_some()
            || FORMATS.iter().any(|format| in_force.hoists(format))
            || of_role.is_some_and(|settings| settings.iter().any(|setting| changes(&setting.name))),
        is_flat_allowed: of_page.is_none(),
        narrowing: of_page.map(|query| &query.narrowing),
        limit_is_fixed: of_page.is_some_and(|query| query.query.limit_is_fixed()),
        // what a page shows is its author's to limit
        rows_max: in_force.config.db_max_rows.filter(|_| of_page.is_none()),
        ..context(in_force, snapshot, schema)
    }
}

/// What a plan depends on whoever asks.
pub(crate) fn context<'a>(in_force: &'a InForce, snapshot: &'a Snapshot, schema: &'a str) -> Context<'a> {
    let config = &in_force.config;
    Context {
        catalog: &snapshot.catalog,
        schema,
        rows_max: config.db_max_rows,
        zone_is_known: snapshot.zone.is_some(),
        formats_are_changed: false,
        aggregates_are_on: config.db_aggregates_enabled,
        plans_are_on: config.db_plan_enabled,
        legacy_target_names: config.url_use_legacy_target_names,
        has_pre_request: in_force.pre_request.is_some(),
        is_flat_allowed: true,
        narrowing: None,
        limit_is_fixed: false,
    }
}

fn allowed(relation: &Relation) -> String {
    let (insert, update, delete) = relation.writable;
    let has_key = !relation.primary_key.is_empty();
    let methods = [(insert, ",POST"), (insert && update && has_key, ",PUT"), (update, ",PATCH"), (delete, ",DELETE")];
    let mut allowed = String::from("OPTIONS,GET,HEAD");
    methods.iter().filter(|(can, _)| *can).for_each(|(_, method)| allowed.push_str(method));
    allowed
}

/// The rows that a COPY sends: those of a body that is here are made before a connection is taken, unless they are many.
pub(super) async fn copy_source(
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
