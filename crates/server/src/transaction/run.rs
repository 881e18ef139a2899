//! A plan's statements, run in one round trip where that is possible, up to where the head of the response can be sent.

use super::replies::{Replies, Reply, TOTAL_COLUMNS};
use super::{Entered, Session};
use crate::answer::{Body, ContentRange, Flowing, Held, Outlet};
use crate::error::{ApiError, Retry};
use crate::turns::{Turn, Turns};
use crate::upload::Incoming;
use crate::upload::copy;
use crate::upload::{CopyRows, Received};
use bytes::Bytes;
use std::borrow::Cow;
use std::future::poll_fn;
use thalweg_encode::{EncodeError, Encoder, Target, Zone};
use thalweg_gauge::{Bill, Stage};
use thalweg_plan::{Delivery, Form, Media, Plan, Returned};
use thalweg_request::{Action, Count};
use thalweg_rows::oid::Oid;
use thalweg_rows::{Format, Shape};
use thalweg_sql::{Purpose, Statement, Statements};
use thalweg_wire::{Param, Progress, Query, StepError};

/// Rows are held back up to this size, so that `Content-Range` can say how many there are.
const HELD_BACK_BYTES: u64 = 1024 * 1024;

/// Answers of this size are refused where clients that do not read them keep too much in memory, in bytes.
const REFUSED_BYTES_MIN: u64 = 128 * 1024;

/// How the columns of a statement travel, and the types that they must have; 0 is any.
struct Columns {
    formats: Vec<Format>,
    types: Option<Vec<Oid>>,
}

impl Columns {
    fn of(purpose: Purpose, statement: &Statement<'_>, made_of_rows: bool) -> Self {
        // what stands before the columns of a row
        let before = match purpose {
            Purpose::Rows(_) => usize::from(made_of_rows),
            Purpose::RowsAndTotal => TOTAL_COLUMNS + usize::from(made_of_rows),
            Purpose::Estimate | Purpose::RowCount | Purpose::Key | Purpose::Updated => {
                return Self { formats: vec![Format::Text], types: None };
            }
            Purpose::Total | Purpose::Head | Purpose::HeadAndTotal => {
                return Self { formats: vec![Format::Binary], types: None };
            }
        };
        let fields = &statement.shape.fields;
        let formats =
            std::iter::repeat_n(Format::Binary, before).chain(fields.iter().map(|field| field.codec.format()));
        let types = std::iter::repeat_n(0, before).chain(fields.iter().map(|field| field.type_oid));
        Self { formats: formats.collect(), types: Some(types.collect()) }
    }
}

/// What the database may have said of the response's head.
pub(crate) const SET_BY_SQL: &str =
    "SELECT pg_catalog.current_setting('response.headers', true), pg_catalog.current_setting('response.status', true)";
/// What comes before a rollback that was asked for, so that it fails where a commit would have.
const CHECK_CONSTRAINTS: &str = "SET CONSTRAINTS ALL IMMEDIATE";

/// The statements of a plan, about to be run.
pub(crate) struct Run<'a> {
    pub(crate) plan: &'a Plan<'a>,
    pub(crate) statements: &'a Statements<'a>,
    pub(crate) zone: Zone,
    pub(crate) anonymous: bool,
    /// Whether only the head is asked for.
    pub(crate) head_only: bool,
    /// Whether the transaction is rolled back although nothing is wrong.
    pub(crate) rolls_back: bool,
    pub(crate) outlet: &'a Outlet,
    pub(crate) turns: &'a Turns,
}

/// What has come of a transaction when the head can be sent.
pub(crate) struct Outcome {
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

/// Where the rows that a COPY sends come from.
pub(crate) enum CopySource {
    /// All of them have been made already.
    Whole(Vec<Bytes>),
    /// They are made while they are sent, of a body that is here.
    Held(CopyRows),
    /// They are made as the body arrives.
    Flowing(CopyRows),
}

/// How far the statements have come when the head can be sent.
enum Reached {
    End(Held),
    /// There are more rows than can be held back.
    Rows(Held, Option<Turn>),
}

impl Run<'_> {
    /// What the session must be like, besides what the request says.
    pub(crate) fn session<'s>(&self, session: Session<'s>) -> Session<'s> {
        session.writing(!self.plan.is_read_only).in_one_snapshot(!self.statements.levels.is_empty())
    }

    /// A turn, waited for without a connection, if its answer is large or has been.
    pub(crate) async fn turn(&self) -> Result<Option<Turn>, ApiError> {
        let is_large = self.plan.delivery == Delivery::Streamed
            && (self.plan.read.is_large() || self.main_text().is_some_and(|text| self.turns.remembers(text)));
        Ok(if is_large { Some(self.turns.next().await?) } else { None })
    }

    fn main_text(&self) -> Option<&str> {
        self.statements.main.last().map(|(_, main)| &*main.text)
    }

    /// The values of a body that the statements take, made before a connection is taken.
    pub(crate) async fn values(&self, body: &Received) -> Result<Values, ApiError> {
        Values::of(self.statements, body).await
    }

    /// Sends everything in one write, and reads until the head can be sent: to the end of a response that is small
    /// or depends on its last row, else until as much is held back as may be.
    pub(crate) async fn run(
        self,
        mut entered: Entered,
        made: (Values, Option<CopySource>),
        body: (&Received, &mut Incoming),
        turn: Option<Turn>,
        bill: &mut Bill,
    ) -> Result<Outcome, ApiError> {
        let mut replies = self.replies(entered.statements_before());
        match self.transact(&mut entered, &mut replies, made, body, turn, bill).await? {
            Reached::End(held) => self.ended(replies, held),
            Reached::Rows(held, turn) => {
                let (rows, range) = (replies.rows(), self.range_of_total(&replies));
                let body = Body::flowing(held, Flowing { entered, replies, turn });
                Ok(Outcome { range, body, rows, updated: 0, key: None, rows_cut: None, set_by_sql: (None, None) })
            }
        }
    }

    /// Runs the transaction to its end, or until a response that may flow is known to be large.
    async fn transact(
        &self,
        entered: &mut Entered,
        replies: &mut Replies,
        made: (Values, Option<CopySource>),
        body: (&Received, &mut Incoming),
        turn: Option<Turn>,
        bill: &mut Bill,
    ) -> Result<Reached, ApiError> {
        let is_open = self.may_be_unreadable();
        let step = |error| failed(&error, self.plan, is_open, self.anonymous);
        let (values, source) = made;
        let (whole, flowing) = match source {
            Some(CopySource::Whole(rows)) => (Some(rows), None),
            Some(CopySource::Held(rows) | CopySource::Flowing(rows)) => (None, Some(rows)),
            None => (None, None),
        };
        let checks = !self.rolls_back && self.plan.is_checked();
        let stays_open = checks || flowing.is_some() || is_open;
        if self.rolls_back {
            entered.will_roll_back();
        }
        let rest = self.rest();
        let mut progress = {
            let main = &self.statements.main;
            let params = values.params(self.statements);
            let mut params = params.as_slice();
            let made_of_rows = self.plan.is_made_of_rows();
            let columns: Vec<Columns> =
                main.iter().map(|(purpose, statement)| Columns::of(*purpose, statement, made_of_rows)).collect();
            let mut queries = Vec::with_capacity(main.len() + rest.len());
            for ((_, statement), columns) in main.iter().zip(&columns) {
                let (own, others) = params.split_at(statement.params.len());
                queries.push(Query {
                    text: &statement.text,
                    params: own,
                    formats: &columns.formats,
                    copy: whole.as_deref(),
                    columns: columns.types.as_deref(),
                    writes: !self.plan.is_read_only,
                    is_named: true,
                    may_change: self.plan.is_read_only && self.plan.call().is_some(),
                });
                params = others;
            }
            if !stays_open {
                queries.extend(rest.iter().map(|text| Query::unnamed(text)));
                entered.run(&queries, replies).await.map_err(step)?
            } else {
                entered.begin(&queries, replies).await.map_err(step)?
            }
        };
        drop(values);
        bill.lap_with(Stage::Query, Stage::Encode, entered.take_busy());
        let mut held = self.outlet.hold();
        while progress == Progress::Paused {
            held.push(replies.encoder.take());
            if held.bytes() >= HELD_BACK_BYTES {
                if self.plan.delivery == Delivery::Streamed {
                    return self.flows(held, turn);
                }
                self.spool(&mut held).await?;
            }
            progress = poll_fn(|cx| entered.poll_step(cx, replies)).await.map_err(step)?;
            bill.lap_with(Stage::Query, Stage::Encode, entered.take_busy());
        }
        if let Some(mut rows) = flowing {
            copy::flow(entered.copying(), replies, body, &mut rows, self.anonymous).await?;
        }
        let verdict = self.check(replies);
        if stays_open {
            if verdict.is_err() {
                entered.roll_back(replies).await.map_err(step)?;
            } else {
                let rest: Vec<Query<'_>> = rest.iter().map(|text| Query::unnamed(text)).collect();
                entered.end(&rest, replies).await.map_err(step)?;
            }
            bill.lap(Stage::Query);
        }
        verdict.map(|()| Reached::End(held))
    }

    /// Lets rows flow. Without a turn they do not wait for the client, but go to disk at once.
    fn flows(&self, held: Held, turn: Option<Turn>) -> Result<Reached, ApiError> {
        if self.outlet.is_full() {
            return Err(ApiError::too_many_answers());
        }
        let turn = turn.or_else(|| {
            self.main_text().into_iter().for_each(|text| self.turns.remember(text));
            self.turns.take()
        });
        Ok(Reached::Rows(held, turn))
    }

    /// Brings what is held to disk. What only reads is refused where there is no room for it.
    async fn spool(&self, held: &mut Held) -> Result<(), ApiError> {
        let has_room = held.spool().await;
        if has_room || !self.plan.is_read_only { Ok(()) } else { Err(ApiError::too_many_answers()) }
    }

    /// Whether rows of something that writes could turn out to be other than the plan says while they are read: values
    /// within rows say what they are one by one.
    fn may_be_unreadable(&self) -> bool {
        !self.plan.is_read_only
            && self
                .statements
                .main
                .iter()
                .any(|(_, main)| main.shape.fields.iter().any(|field| field.codec.holds_rows()))
    }

    /// What follows the main statements, without parameters.
    fn rest(&self) -> Vec<&'static str> {
        let mut rest = Vec::new();
        if self.plan.response_is_set {
            rest.push(SET_BY_SQL);
        }
        if self.rolls_back {
            rest.push(CHECK_CONSTRAINTS);
        }
        rest
    }

    fn replies(&self, statements_before: usize) -> Replies {
        let main = &self.statements.main;
        let mut replies = Vec::with_capacity(statements_before + main.len() + 1);
        replies.resize(statements_before, Reply::Nothing);
        replies.extend(main.iter().map(|(purpose, _)| Reply::Of(*purpose)));
        if self.plan.response_is_set {
            replies.push(Reply::SetBySql);
        }
        let stripped = self.plan.media.is_stripped();
        let mut encoder = match self.statements.levels.as_slice() {
            [] => {
                let returns = |purpose: Purpose| matches!(purpose, Purpose::Rows(_) | Purpose::RowsAndTotal);
                let returning = main.iter().find(|(purpose, _)| returns(*purpose));
                let none = Shape::default();
                let shape = returning.map_or(&none, |(_, statement)| &statement.shape);
                Encoder::stripping(shape, target(self.plan), self.zone.clone(), stripped)
            }
            levels => Encoder::flat(levels, self.zone.clone()),
        };
        encoder.set_stock(self.outlet.stock().clone());
        if let Some(most) = self.plan.rows_cut {
            encoder.set_rows_max(most);
        }
        Replies::new(replies, encoder, self.statements.count_max, self.plan.is_made_of_rows())
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
    fn ended(&self, mut replies: Replies, mut held: Held) -> Result<Outcome, ApiError> {
        let (rows, total) = (self.returned(&replies), replies.total());
        let rows_cut = self.plan.rows_cut.filter(|most| replies.rows() > *most);
        let has_body = self.plan.write.as_ref().is_none_or(|write| {
            self.plan.explains() || matches!(write.returned, Returned::Direct | Returned::Through(_))
        });
        if !self.head_only && self.plan.form != Form::Nothing && has_body {
            held.push(replies.encoder.finish());
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
        if self.plan.is_read_only && held.bytes() >= REFUSED_BYTES_MIN && self.outlet.is_full() {
            return Err(ApiError::too_many_answers());
        }
        Ok(Outcome {
            range,
            body: Body::held(held),
            rows,
            updated: replies.updated,
            key: replies.key.take(),
            rows_cut,
            set_by_sql: std::mem::take(&mut replies.set_by_sql),
        })
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
pub(crate) struct Values {
    of_members: Vec<Option<(Format, Vec<Bytes>)>>,
    document: (Format, Vec<Bytes>),
}

impl Values {
    async fn of(statements: &Statements<'_>, body: &Received) -> Result<Self, ApiError> {
        let params = statements.main.iter().flat_map(|(_, main)| &main.params);
        let (mut of_members, mut document) = (Vec::new(), (Format::Text, Vec::new()));
        for param in params {
            match param {
                thalweg_sql::Param::Text(_) => {}
                thalweg_sql::Param::Bound(bound) => of_members.push(body.value(*bound).await?),
                thalweg_sql::Param::Document => document = (body.document_format(), body.document().await?),
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

/// What went wrong while the statements of a plan ran, and whether the request may be tried again. With `is_open` its
/// transaction is left open until all rows have been read.
pub(crate) fn failed(error: &StepError<EncodeError>, plan: &Plan<'_>, is_open: bool, anonymous: bool) -> ApiError {
    let api = ApiError::step(error, anonymous);
    match error {
        // refused before it begins
        StepError::Wire(wire) if is_refused_for_policies(wire, plan) => api.retried(Retry::AfterLoad),
        // what neither the schema cache nor the database knows is the client's mistake
        StepError::Wire(_) if api.retry == Retry::AfterLoadIfDue && !plan.read.knows_all_columns() => {
            api.retried(Retry::Never)
        }
        // otherwise it may have been committed
        StepError::Sink(EncodeError::Stale) if plan.is_read_only || is_open => api.retried(Retry::AfterLoad),
        StepError::Wire(_) | StepError::Sink(_) => api,
    }
}

/// Whether PostgreSQL refuses a statement for policies that the schema cache does not know: a COPY at its start, and what
/// runs no code as row security is off for it. It names the routine that says so; SQL cannot raise an error that does.
fn is_refused_for_policies(error: &thalweg_wire::Error, plan: &Plan<'_>) -> bool {
    let Some(error) = error.database() else { return false };
    match (error.code.as_str(), error.routine.as_deref()) {
        ("42501", Some("check_enable_rls")) => !plan.runs_code,
        ("0A000", Some("DoCopy")) => plan.copies(),
        _ => false,
    }
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
