//! A plan's statements, run in one round trip, up to where the head of the response can be sent.

use crate::body::{Body, Flowing};
use crate::content_range::ContentRange;
use crate::error::ApiError;
use crate::pipeline::{Replies, Role};
use crate::session::SessionState;
use bytes::Bytes;
use std::collections::VecDeque;
use std::future::poll_fn;
use thalweg_encode::{Encoder, Target, Zone};
use thalweg_gauge::{Bill, Stage};
use thalweg_plan::{Delivery, Form, Media, Plan};
use thalweg_request::Count;
use thalweg_rows::{Format, Level, Shape};
use thalweg_sql::Statement;
use thalweg_wire::{Progress, Query as WireQuery};

/// Rows are held back up to this size, so that `Content-Range` can say how many there are.
const HELD_BACK_BYTES: usize = 1024 * 1024;

/// The SQL of a request.
pub(crate) struct Statements<'a> {
    main: Vec<(Role, Statement<'a>)>,
    /// How the main statements' rows join, where there are several.
    levels: Vec<Level>,
    /// Above this, rows are not counted one by one.
    count_max: Option<u64>,
}

impl<'a> Statements<'a> {
    pub(crate) fn of(plan: &'a Plan<'a>, rows_max: Option<u64>) -> Self {
        let (mut main, mut levels) = (Vec::with_capacity(1), Vec::new());
        let is_call = plan.call().is_some();
        let count_max = rows_max.filter(|_| plan.count == Some(Count::Estimated) && !is_call);
        // the total of a call comes with its rows, since the function runs once
        let in_one =
            is_call && matches!(plan.count, Some(Count::Exact | Count::Estimated)) && plan.form != Form::Nothing;
        if !is_call {
            if matches!(plan.count, Some(Count::Exact | Count::Estimated)) {
                main.push((Role::Total, thalweg_sql::count(plan, count_max.map(|most| most.saturating_add(1)))));
            }
            if matches!(plan.count, Some(Count::Planned | Count::Estimated)) {
                main.push((Role::Estimate, thalweg_sql::estimate(plan)));
            }
        }
        match plan.delivery {
            Delivery::HeadOnly if in_one => main.push((Role::HeadAndTotal, thalweg_sql::head_and_total(plan))),
            Delivery::HeadOnly => main.push((Role::Head, thalweg_sql::head(plan))),
            Delivery::Streamed | Delivery::Buffered if in_one => {
                main.push((Role::RowsAndTotal, thalweg_sql::rows_and_total(plan)));
            }
            Delivery::Streamed | Delivery::Buffered if plan.gathers => {
                for (at, (statement, level)) in thalweg_sql::gathered(plan).into_iter().enumerate() {
                    main.push((Role::Rows(at), statement));
                    levels.push(level);
                }
            }
            Delivery::Streamed | Delivery::Buffered => main.push((Role::Rows(0), thalweg_sql::rows(plan))),
        }
        Self { main, levels, count_max }
    }
}

/// The formats of a statement's columns, by what it is for.
fn formats(role: Role, statement: &Statement<'_>, made_of_rows: bool) -> Vec<Format> {
    let made_of = made_of_rows.then_some(Format::Binary);
    let fields = made_of.into_iter().chain(statement.shape.fields.iter().map(|field| field.codec.format()));
    match role {
        Role::Session | Role::Estimate | Role::Response => vec![Format::Text],
        Role::Total | Role::Head | Role::HeadAndTotal => vec![Format::Binary],
        Role::Rows(_) => fields.collect(),
        Role::RowsAndTotal => [Format::Binary; 2].into_iter().chain(fields).collect(),
    }
}

/// What the database may have said of the response's head.
const SET_BY_SQL: &str = "SELECT current_setting('response.headers', true), current_setting('response.status', true)";

/// One pipeline.
pub(crate) struct Run<'a> {
    pub(crate) plan: &'a Plan<'a>,
    pub(crate) statements: &'a Statements<'a>,
    pub(crate) session: &'a SessionState<'a>,
    /// A call of the function that runs before every request.
    pub(crate) pre_request: Option<&'a str>,
    pub(crate) zone: Zone,
    pub(crate) anonymous: bool,
    /// Whether only the head is asked for.
    pub(crate) head_only: bool,
}

/// What has come of a pipeline when the head can be sent.
pub(crate) struct Ran {
    pub(crate) range: Option<ContentRange>,
    pub(crate) body: Body,
    pub(crate) rows: u64,
    /// The limit of every response, where it cut this one off.
    pub(crate) rows_cut: Option<u64>,
    /// `response.headers` and `response.status`, as SQL has set them.
    pub(crate) set_by_sql: (Option<String>, Option<String>),
}

impl Run<'_> {
    /// Sends everything in one write, and reads until the head can be sent: to the end of a response that is small
    /// or depends on its last row, else until as much is held back as may be.
    pub(crate) async fn run(self, mut connection: thalweg_wire::Pooled, bill: &mut Bill) -> Result<Ran, ApiError> {
        let one_snapshot = !self.statements.levels.is_empty();
        let opening = self.session.opening(connection.session_key(), one_snapshot, self.pre_request);
        let mut queries = opening.queries();
        let mut roles = Vec::with_capacity(queries.capacity());
        roles.resize(queries.len(), Role::Session);
        let formats: Vec<Vec<Format>> = self
            .statements
            .main
            .iter()
            .map(|(role, statement)| formats(*role, statement, self.plan.is_made_of_rows()))
            .collect();
        for ((role, statement), formats) in self.statements.main.iter().zip(&formats) {
            queries.push(WireQuery { text: &statement.text, params: &statement.params, formats });
            roles.push(*role);
        }
        if self.plan.response_is_set {
            queries.push(WireQuery { text: SET_BY_SQL, params: &[], formats: &[Format::Text] });
            roles.push(Role::Response);
        }
        let returns = |role: Role| matches!(role, Role::Rows(_) | Role::RowsAndTotal);
        let types = |shape: &Shape| shape.fields.iter().map(|field| field.type_oid).collect();
        let mut returning =
            self.statements.main.iter().filter(|(role, _)| returns(*role)).map(|(_, statement)| statement);
        let announced = returning.clone().map(|statement| types(&statement.shape)).collect();
        let stripped = self.plan.media.is_stripped();
        let mut encoder = match (returning.next(), self.statements.levels.as_slice()) {
            (only, []) => {
                let none = Shape::default();
                let shape = only.map_or(&none, |statement| &statement.shape);
                Encoder::stripping(shape, target(self.plan), self.zone.clone(), stripped)
            }
            (_, levels) => Encoder::gathered(levels, self.zone.clone()),
        };
        if let Some(most) = self.plan.rows_cut {
            encoder.set_rows_max(most);
        }
        let mut replies =
            Replies::new(roles, announced, encoder, self.statements.count_max, self.plan.is_made_of_rows());
        // until the transaction has ended well, nobody knows which state it leaves
        let kept_key = connection.session_key();
        connection.set_session_key(0);
        let mut progress = connection.run(&queries, &mut replies).await;
        bill.lap_with(Stage::Query, Stage::Encode, connection.take_busy());
        let (mut held, mut held_bytes) = (VecDeque::new(), 0);
        loop {
            match progress {
                Err(error) => {
                    let error = ApiError::step(&error, self.anonymous);
                    // The role may have been dropped and made anew, which a session that is kept in it cannot see:
                    // then the next request sets it again.
                    if opening.is_in_state() && error.code != "42501" {
                        connection.set_session_key(kept_key);
                    }
                    return Err(error);
                }
                Ok(Progress::Done) => break,
                Ok(Progress::Paused) => {
                    let chunk = Bytes::from(replies.encoder.take());
                    held_bytes += chunk.len();
                    held.push_back(chunk);
                }
            }
            if held_bytes >= HELD_BACK_BYTES && self.plan.delivery == Delivery::Streamed {
                let rows = replies.rows();
                let range = self.range_of_total(&replies);
                let body = Body::flowing(held, Flowing { connection, replies, session_key: self.session.key });
                return Ok(Ran { range, body, rows, rows_cut: None, set_by_sql: (None, None) });
            }
            progress = poll_fn(|cx| connection.poll_step(cx, &mut replies)).await;
            bill.lap_with(Stage::Query, Stage::Encode, connection.take_busy());
        }
        connection.set_session_key(self.session.key);
        for notice in connection.take_notices() {
            tracing::debug!(severity = notice.severity, code = notice.code, "PostgreSQL: {}", notice.message);
        }
        drop(connection);
        let (found, total) = (replies.rows(), replies.total());
        let rows = self.plan.rows_cut.map_or(found, |most| found.min(most));
        let rows_cut = self.plan.rows_cut.filter(|most| found > *most);
        let is_set = matches!(self.plan.form, Form::Rows | Form::Values);
        if matches!(self.plan.media, Media::Object { .. }) && rows != 1 && is_set {
            return Err(ApiError::not_singular(rows));
        }
        if self.plan.affected_max.is_some_and(|most| i64::try_from(rows).is_ok_and(|rows| rows > most)) {
            return Err(ApiError::too_many(rows));
        }
        if !self.head_only && self.plan.form != Form::Nothing {
            held.push_back(replies.encoder.finish().into());
        }
        let range = match self.plan.media {
            Media::Explain { .. } => None,
            _ if is_set => Some(ContentRange { offset: self.offset(), rows, total }),
            // one value or row: there, unless filters exclude it
            _ => {
                let asked = matches!(self.plan.count, Some(Count::Exact | Count::Estimated));
                let total = if self.plan.form == Form::Nothing && asked { Some(1) } else { total };
                Some(ContentRange { offset: self.offset(), rows: 1, total })
            }
        };
        let set_by_sql = std::mem::take(&mut replies.set_by_sql);
        Ok(Ran { range, body: Body::chunks(held), rows, rows_cut, set_by_sql })
    }

    fn offset(&self) -> u64 {
        self.plan.read.offset_rows.map_or(0, i64::unsigned_abs)
    }

    /// How many rows will come, if the total says so before they have.
    fn range_of_total(&self, replies: &Replies) -> Option<ContentRange> {
        let total = replies.total().filter(|_| replies.is_exact())?;
        let offset = self.offset();
        let limit = self.plan.read.limit_rows.map_or(u64::MAX, i64::unsigned_abs);
        let limit = self.plan.rows_cut.map_or(limit, |most| limit.min(most));
        Some(ContentRange { offset, rows: total.saturating_sub(offset).min(limit), total: Some(total) })
    }
}

/// What the encoder makes of the rows.
fn target(plan: &Plan<'_>) -> Target {
    match (&plan.media, plan.form) {
        (Media::Explain { .. } | Media::Handler(_), _) => Target::Raw,
        (Media::GeoJson, _) => Target::Features,
        (Media::Csv, _) => Target::Csv,
        (_, Form::Value | Form::Nothing) => Target::Value,
        // one of several bare values is an object with a key, as PostgREST has it
        (_, Form::Row) | (Media::Object { .. }, Form::Rows | Form::Values) => Target::Object,
        (Media::Json { .. }, Form::Values) => Target::Values,
        (Media::Json { .. }, Form::Rows) => Target::Array,
    }
}
