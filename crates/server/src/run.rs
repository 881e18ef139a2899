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
use thalweg_plan::{Delivery, Media, Plan};
use thalweg_rows::{Format, Level, Shape};
use thalweg_sql::Statement;
use thalweg_wire::{Progress, Query as WireQuery};

/// Rows are held back up to this size, so that `Content-Range` can say how many there are.
const HELD_BACK_BYTES: usize = 1024 * 1024;

/// The SQL of a request.
pub(crate) struct Statements<'a> {
    total: Option<Statement<'a>>,
    main: Vec<(Role, Statement<'a>, Vec<Format>)>,
    /// How the main statements' rows join, where there are several.
    levels: Vec<Level>,
}

/// What several statements that must see one snapshot begin with, before any of them.
const ONE_SNAPSHOT: &str = "SET transaction_isolation TO 'repeatable read'";

impl<'a> Statements<'a> {
    pub(crate) fn of(plan: &'a Plan<'a>) -> Self {
        let formats = |statement: &Statement<'_>| {
            statement.shape.fields.iter().map(|field| field.codec.format()).collect::<Vec<_>>()
        };
        let (mut main, mut levels) = (Vec::with_capacity(1), Vec::new());
        match plan.delivery {
            Delivery::HeadOnly => main.push((Role::Head, thalweg_sql::head(plan), vec![Format::Binary])),
            Delivery::Streamed | Delivery::Buffered if plan.gathers => {
                for (at, (statement, level)) in thalweg_sql::gathered(plan).into_iter().enumerate() {
                    let formats = formats(&statement);
                    main.push((Role::Rows(at), statement, formats));
                    levels.push(level);
                }
            }
            Delivery::Streamed | Delivery::Buffered => {
                let statement = thalweg_sql::rows(plan);
                let formats = formats(&statement);
                main.push((Role::Rows(0), statement, formats));
            }
        }
        Self { total: plan.count.map(|_| thalweg_sql::count(plan)), main, levels }
    }
}

/// One pipeline.
pub(crate) struct Run<'a> {
    pub(crate) plan: &'a Plan<'a>,
    pub(crate) statements: &'a Statements<'a>,
    pub(crate) session: &'a SessionState<'a>,
    pub(crate) zone: Zone,
    pub(crate) anonymous: bool,
}

/// What has come of a pipeline when the head can be sent.
pub(crate) struct Ran {
    pub(crate) range: Option<ContentRange>,
    pub(crate) body: Body,
    pub(crate) rows: u64,
}

impl Run<'_> {
    /// Sends everything in one write, and reads until the head can be sent: to the end of a response that is small
    /// or depends on its last row, else until as much is held back as may be.
    pub(crate) async fn run(self, mut connection: thalweg_wire::Pooled, bill: &mut Bill) -> Result<Ran, ApiError> {
        let in_state = self.session.key != 0 && connection.session_key() == self.session.key;
        let (mut queries, mut roles) = (Vec::with_capacity(3), Vec::with_capacity(3));
        if !self.statements.levels.is_empty() {
            queries.push(WireQuery { text: ONE_SNAPSHOT, params: &[], formats: &[Format::Text] });
            roles.push(Role::Session);
        }
        let set_state = if in_state { None } else { Some(self.session.set()) };
        if let Some(set) = &set_state {
            queries.push(WireQuery { text: &set.text, params: &set.params, formats: &[Format::Binary] });
            roles.push(Role::Session);
        }
        if let Some(total) = &self.statements.total {
            queries.push(WireQuery { text: &total.text, params: &total.params, formats: &[Format::Binary] });
            roles.push(Role::Total);
        }
        for (role, statement, formats) in &self.statements.main {
            queries.push(WireQuery { text: &statement.text, params: &statement.params, formats });
            roles.push(*role);
        }
        let target = match self.plan.media {
            Media::Json => Target::Array,
            Media::Object => Target::Object,
            Media::Csv => Target::Csv,
        };
        let types = |shape: &Shape| shape.fields.iter().map(|field| field.type_oid).collect();
        let announced = self.statements.main.iter().map(|(_, statement, _)| types(&statement.shape)).collect();
        let encoder = match self.statements.main.as_slice() {
            [(_, only, _)] if self.statements.levels.is_empty() => Encoder::new(&only.shape, target, self.zone.clone()),
            _ => Encoder::gathered(&self.statements.levels, self.zone.clone()),
        };
        let mut replies = Replies::new(roles, announced, encoder);
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
                    if in_state && error.code != "42501" {
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
                return Ok(Ran { range, body, rows });
            }
            progress = poll_fn(|cx| connection.poll_step(cx, &mut replies)).await;
            bill.lap_with(Stage::Query, Stage::Encode, connection.take_busy());
        }
        connection.set_session_key(self.session.key);
        for notice in connection.take_notices() {
            tracing::debug!(severity = notice.severity, code = notice.code, "PostgreSQL: {}", notice.message);
        }
        drop(connection);
        let rows = replies.rows();
        if self.plan.media == Media::Object && rows != 1 {
            return Err(ApiError::not_singular(rows));
        }
        if self.plan.delivery != Delivery::HeadOnly {
            held.push_back(replies.encoder.finish().into());
        }
        let offset = self.plan.read.offset_rows.map_or(0, i64::unsigned_abs);
        let range = ContentRange { offset, rows, total: replies.total };
        Ok(Ran { range: Some(range), body: Body::chunks(held), rows })
    }

    /// How many rows will come, if the total says so before they have.
    fn range_of_total(&self, replies: &Replies) -> Option<ContentRange> {
        let total = replies.total?;
        let offset = self.plan.read.offset_rows.map_or(0, i64::unsigned_abs);
        let limit = self.plan.read.limit_rows.map_or(u64::MAX, i64::unsigned_abs);
        Some(ContentRange { offset, rows: total.saturating_sub(offset).min(limit), total: Some(total) })
    }
}
