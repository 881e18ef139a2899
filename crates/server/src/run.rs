//! A plan's statements, run in one round trip where that is possible, up to where the head of the response can be sent.

use crate::body::{Body, Flowing};
use crate::content_range::ContentRange;
use crate::copy;
use crate::error::ApiError;
use crate::incoming::Incoming;
use crate::pipeline::{Replies, Role};
use crate::session::{Opening, SessionState};
use crate::upload::{CopyRows, Upload};
use bytes::Bytes;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::future::poll_fn;
use thalweg_encode::{Encoder, Target, Zone};
use thalweg_gauge::{Bill, Stage};
use thalweg_plan::{Delivery, Form, Media, Plan, Returned};
use thalweg_request::{Action, Count};
use thalweg_rows::{Format, Level, Shape};
use thalweg_sql::Statement;
use thalweg_wire::{Param, Pooled, Progress, Query as WireQuery};

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
        match &plan.write {
            Some(write) => {
                let role = match write.returned {
                    _ if plan.explains() => Role::Rows(0),
                    Returned::Nothing => Role::Written,
                    Returned::Key(_) => Role::Key,
                    Returned::Direct | Returned::Through(_) => Role::Rows(0),
                };
                let mut main = vec![(role, thalweg_sql::write(plan, write))];
                if write.conflict.as_ref().is_some_and(|conflict| conflict.counts) && !plan.explains() {
                    main.push((Role::Updated, thalweg_sql::updated()));
                }
                Self { main, levels: Vec::new(), count_max: None }
            }
            None => Self::of_read(plan, rows_max),
        }
    }

    fn of_read(plan: &'a Plan<'a>, rows_max: Option<u64>) -> Self {
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
        Role::Session | Role::Estimate | Role::Response | Role::Written | Role::Key | Role::Updated => {
            vec![Format::Text]
        }
        Role::Total | Role::Head | Role::HeadAndTotal => vec![Format::Binary],
        Role::Rows(_) => fields.collect(),
        Role::RowsAndTotal => [Format::Binary; 2].into_iter().chain(fields).collect(),
    }
}

/// What the database may have said of the response's head.
pub(crate) const SET_BY_SQL: &str =
    "SELECT current_setting('response.headers', true), current_setting('response.status', true)";
/// What comes before a rollback that was asked for, so that it fails where a commit would have.
const CHECK_CONSTRAINTS: &str = "SET CONSTRAINTS ALL IMMEDIATE";
const ROLLBACK: &str = "ROLLBACK";

/// One transaction.
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
    /// Whether the transaction is rolled back although nothing is wrong.
    pub(crate) rolls_back: bool,
}

/// What has come of a transaction when the head can be sent.
pub(crate) struct Ran {
    pub(crate) range: Option<ContentRange>,
    pub(crate) body: Body,
    /// How many rows there are, or were written.
    pub(crate) rows: u64,
    /// How many of them were there before.
    pub(crate) updated: u64,
    /// The key of the first.
    pub(crate) key: Option<Vec<Option<String>>>,
    /// The limit of every response, where it cut this one off.
    pub(crate) rows_cut: Option<u64>,
    /// `response.headers` and `response.status`, as SQL has set them.
    pub(crate) set_by_sql: (Option<String>, Option<String>),
}

/// Rows that a COPY sends.
pub(crate) enum Sent {
    /// All of them, made already.
    Whole(Vec<Bytes>),
    /// They are made as the body arrives.
    Flowing(CopyRows),
}

impl Run<'_> {
    /// Sends everything in one write, and reads until the head can be sent: to the end of a response that is small
    /// or depends on its last row, else until as much is held back as may be.
    pub(crate) async fn run(
        self,
        mut connection: Pooled,
        body: (&Upload, &mut Incoming),
        sent: Option<Sent>,
        bill: &mut Bill,
    ) -> Result<Ran, ApiError> {
        let one_snapshot = !self.statements.levels.is_empty();
        let opening = self.session.opening(connection.session_key(), one_snapshot, self.pre_request);
        // until the transaction has ended well, nobody knows which state it leaves
        let kept_key = connection.session_key();
        connection.set_session_key(0);
        let ran = self.transact(&mut connection, &opening, body, sent, bill).await;
        let (replies, held, is_over) = match ran {
            Ok(ran) => ran,
            Err(error) => {
                // The role may have been dropped and made anew, which a session that is kept in it cannot see:
                // then the next request sets it again.
                if opening.is_in_state() && error.code != "42501" {
                    connection.set_session_key(kept_key);
                }
                return Err(error);
            }
        };
        if !is_over {
            let (rows, range) = (replies.rows(), self.range_of_total(&replies));
            let body = Body::flowing(held, Flowing { connection, replies, session_key: self.session.key });
            return Ok(Ran { range, body, rows, updated: 0, key: None, rows_cut: None, set_by_sql: (None, None) });
        }
        match (self.rolls_back, opening.is_in_state()) {
            // what was set has been rolled back too
            (true, false) => {}
            _ => connection.set_session_key(self.session.key),
        }
        for notice in connection.take_notices() {
            tracing::debug!(severity = notice.severity, code = notice.code, "PostgreSQL: {}", notice.message);
        }
        drop(connection);
        Ok(self.ended(replies, held))
    }

    /// Runs the transaction to its end, or until a response that may flow is known to be large.
    async fn transact(
        &self,
        connection: &mut Pooled,
        opening: &Opening<'_>,
        body: (&Upload, &mut Incoming),
        sent: Option<Sent>,
        bill: &mut Bill,
    ) -> Result<(Replies, VecDeque<Bytes>, bool), ApiError> {
        let step = |error| ApiError::step(&error, self.anonymous);
        let mut replies = self.replies(opening);
        let (whole, flowing) = match sent {
            Some(Sent::Whole(rows)) => (Some(rows), None),
            Some(Sent::Flowing(rows)) => (None, Some(rows)),
            None => (None, None),
        };
        let checks = !self.rolls_back && self.plan.is_checked();
        let stays_open = checks || flowing.is_some();
        let rest = self.rest();
        let mut progress = {
            let values = Values::of(self.statements, body.0)?;
            let params = values.params(self.statements);
            let mut params = params.as_slice();
            let made_of_rows = self.plan.is_made_of_rows();
            let formats: Vec<Vec<Format>> =
                self.statements.main.iter().map(|(role, main)| formats(*role, main, made_of_rows)).collect();
            let mut queries = opening.queries();
            for ((_, main), formats) in self.statements.main.iter().zip(&formats) {
                let (own, rest) = params.split_at(main.params.len());
                queries.push(WireQuery { text: &main.text, params: own, formats, copy: whole.as_deref() });
                params = rest;
            }
            if flowing.is_none() {
                queries.extend(rest.iter().map(|text| WireQuery::bare(text)));
            }
            match stays_open {
                true => connection.begin(&queries, &mut replies).await.map_err(step)?,
                false => connection.run(&queries, &mut replies).await.map_err(step)?,
            }
        };
        bill.lap_with(Stage::Query, Stage::Encode, connection.take_busy());
        let (mut held, mut held_bytes) = (VecDeque::new(), 0);
        while progress == Progress::Paused {
            let chunk = Bytes::from(replies.encoder.take());
            held_bytes += chunk.len();
            held.push_back(chunk);
            if held_bytes >= HELD_BACK_BYTES && self.plan.delivery == Delivery::Streamed {
                return Ok((replies, held, false));
            }
            progress = poll_fn(|cx| connection.poll_step(cx, &mut replies)).await.map_err(step)?;
            bill.lap_with(Stage::Query, Stage::Encode, connection.take_busy());
        }
        if let Some(mut rows) = flowing {
            copy::flow(connection, &mut replies, body, &mut rows, self.anonymous).await?;
            let rest: Vec<WireQuery<'_>> = rest.iter().map(|text| WireQuery::bare(text)).collect();
            connection.end(&rest, &mut replies).await.map_err(step)?;
            bill.lap(Stage::Query);
        } else if checks {
            let verdict = self.check(&replies);
            let rollback = [WireQuery::bare(ROLLBACK)];
            let end = if verdict.is_err() { &rollback[..] } else { &[] };
            connection.end(end, &mut replies).await.map_err(step)?;
            bill.lap(Stage::Query);
            verdict?;
        } else {
            self.check(&replies)?;
        }
        Ok((replies, held, true))
    }

    /// What follows the main statements, without parameters.
    fn rest(&self) -> Vec<&'static str> {
        let mut rest = Vec::new();
        if self.plan.response_is_set {
            rest.push(SET_BY_SQL);
        }
        if self.rolls_back {
            rest.extend([CHECK_CONSTRAINTS, ROLLBACK]);
        }
        rest
    }

    fn replies(&self, opening: &Opening<'_>) -> Replies {
        let mut roles = Vec::with_capacity(opening.len() + self.statements.main.len() + 1);
        roles.resize(opening.len(), Role::Session);
        roles.extend(self.statements.main.iter().map(|(role, _)| *role));
        if self.plan.response_is_set {
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
        Replies::new(roles, announced, encoder, self.statements.count_max, self.plan.is_made_of_rows())
    }

    /// Whether there are as many rows as there may be.
    fn check(&self, replies: &Replies) -> Result<(), ApiError> {
        let rows = self.returned(replies);
        let replaces = self.plan.write.as_ref().is_some_and(|write| write.action == Action::Replace);
        if self.plan.explains() {
            return Ok(());
        }
        if replaces {
            return if rows == 1 { Ok(()) } else { Err(ApiError::not_the_key()) };
        }
        if matches!(self.plan.media, Media::Object { .. }) && rows != 1 && self.is_set() {
            return Err(ApiError::not_singular(rows));
        }
        if self.plan.affected_max.is_some_and(|most| i64::try_from(rows).is_ok_and(|rows| rows > most)) {
            return Err(ApiError::too_many(rows));
        }
        Ok(())
    }

    fn is_set(&self) -> bool {
        matches!(self.plan.form, Form::Rows | Form::Values)
    }

    /// How many rows are returned.
    fn returned(&self, replies: &Replies) -> u64 {
        self.plan.rows_cut.map_or(replies.rows(), |most| replies.rows().min(most))
    }

    /// The response to a transaction that has ended well.
    fn ended(&self, mut replies: Replies, mut held: VecDeque<Bytes>) -> Ran {
        let (rows, total) = (self.returned(&replies), replies.total());
        let rows_cut = self.plan.rows_cut.filter(|most| replies.rows() > *most);
        let has_body = self.plan.write.as_ref().is_none_or(|write| {
            self.plan.explains() || matches!(write.returned, Returned::Direct | Returned::Through(_))
        });
        if !self.head_only && self.plan.form != Form::Nothing && has_body {
            held.push_back(replies.encoder.finish().into());
        }
        let range = match self.plan.media {
            Media::Explain { .. } => None,
            _ if self.is_set() => Some(ContentRange { offset: self.offset(), rows, total }),
            // one value or row: there, unless filters exclude it
            _ => {
                let asked = matches!(self.plan.count, Some(Count::Exact | Count::Estimated));
                let total = if self.plan.form == Form::Nothing && asked { Some(1) } else { total };
                Some(ContentRange { offset: self.offset(), rows: 1, total })
            }
        };
        Ran {
            range,
            body: Body::chunks(held),
            rows,
            updated: replies.updated,
            key: replies.key.take(),
            rows_cut,
            set_by_sql: std::mem::take(&mut replies.set_by_sql),
        }
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

/// The values of a body that are parameters, in the order in which statements take them.
struct Values {
    of_members: Vec<Option<(Format, Vec<Bytes>)>>,
    document: (Format, Vec<Bytes>),
}

impl Values {
    fn of(statements: &Statements<'_>, upload: &Upload) -> Result<Self, ApiError> {
        let params = statements.main.iter().flat_map(|(_, main)| &main.params);
        let (mut of_members, mut document) = (Vec::new(), (Format::Text, Vec::new()));
        for param in params {
            match param {
                thalweg_sql::Param::Text(_) => {}
                thalweg_sql::Param::Bound(bound) => of_members.push(upload.value(*bound)?),
                thalweg_sql::Param::Document => document = (upload.document_format(), upload.document()?),
            }
        }
        Ok(Self { of_members, document })
    }

    /// The parameters of all statements, one behind the other.
    fn params<'p>(&'p self, statements: &'p Statements<'_>) -> Vec<Param<'p>> {
        let mut of_members = self.of_members.iter();
        let param = |param: &'p thalweg_sql::Param<'_>| match param {
            thalweg_sql::Param::Text(text) => Param::Text(Cow::Borrowed(&**text)),
            thalweg_sql::Param::Document => Param::Chunks(self.document.0, &self.document.1),
            thalweg_sql::Param::Bound(_) => match of_members.next() {
                Some(Some((format, chunks))) => Param::Chunks(*format, chunks),
                _ => Param::Null,
            },
        };
        statements.main.iter().flat_map(|(_, main)| &main.params).map(param).collect()
    }
}

/// The parameters of a statement that takes nothing of a body.
pub(crate) fn texts<'p>(statement: &'p Statement<'_>) -> Vec<Param<'p>> {
    let text = |param: &'p thalweg_sql::Param<'_>| match param {
        thalweg_sql::Param::Text(text) => Param::Text(Cow::Borrowed(&**text)),
        thalweg_sql::Param::Document | thalweg_sql::Param::Bound(_) => Param::Null,
    };
    statement.params.iter().map(text).collect()
}

/// What the encoder makes of the rows.
fn target(plan: &Plan<'_>) -> Target {
    match (&plan.media, plan.form) {
        (Media::Explain { .. } | Media::Handler(_) | Media::Value(_), _) => Target::Raw,
        (Media::GeoJson, _) => Target::Features,
        (Media::Csv, _) => Target::Csv,
        (_, Form::Value | Form::Nothing) => Target::Value,
        // one of several bare values is an object with a key, as PostgREST has it
        (_, Form::Row) | (Media::Object { .. }, Form::Rows | Form::Values) => Target::Object,
        (Media::Json { .. }, Form::Values) => Target::Values,
        (Media::Json { .. }, Form::Rows) => Target::Array,
    }
}
