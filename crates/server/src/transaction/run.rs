//! A plan's statements, run in one round trip where that is possible, up to where the head of the response can be sent.

use super::replies::{FoundRows, Replies, Reply};
use super::{Entered, Session};
use crate::answer::{Body, ContentRange, Flowing, Held, Outlet, REFUSED_BYTES_MIN};
use crate::error::{ApiError, Retry};
use crate::prepared::{Nature, Prepared};
use crate::turns::{Turn, Turns};
use crate::upload::Incoming;
use crate::upload::copy;
use crate::upload::{CopyRows, Received};
use bytes::Bytes;
use std::borrow::Cow;
use std::future::poll_fn;
use thalweg_catalog::Runs;
use thalweg_encode::{EncodeError, Encoder, Zone};
use thalweg_gauge::{Lap, Laps};
use thalweg_plan::{Delivery, Form};
use thalweg_request::Count;
use thalweg_rows::Format;
use thalweg_wire::{Param, Progress, Query, StepError};

/// Rows are held back up to this size, so that `Content-Range` can say how many there are.
const HELD_BACK_BYTES: u64 = 1024 * 1024;

/// What the database may have said of the response's head.
pub(crate) const SET_BY_SQL: &str =
    "SELECT pg_catalog.current_setting('response.headers', true), pg_catalog.current_setting('response.status', true)";
/// What comes before a rollback that was asked for, so that it fails where a commit would have.
const CHECK_CONSTRAINTS: &str = "SET CONSTRAINTS ALL IMMEDIATE";

/// The statements of a plan, about to be run.
pub(crate) struct Run<'a> {
    pub(crate) prepared: &'a Prepared,
    /// The parameters of all statements, one behind the other.
    pub(crate) params: &'a [thalweg_sql::Param<'a>],
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
    /// `db-max-rows`, if it has cut off rows of an embed.
    pub(crate) embedded_cut: Option<u64>,
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
        session.writing(!self.prepared.nature.is_read_only).in_one_snapshot(self.prepared.in_one_snapshot)
    }

    /// A turn, waited for without a connection, if its answer is large or has been.
    pub(crate) async fn turn(&self) -> Result<Option<Turn>, ApiError> {
        let has_been = || self.prepared.last_text().is_some_and(|text| self.turns.remembers(text));
        let is_large = self.prepared.delivery == Delivery::Streamed && (self.prepared.is_large || has_been());
        Ok(if is_large { Some(self.turns.next().await?) } else { None })
    }

    /// The values of a body that the statements take, made before a connection is taken.
    pub(crate) async fn values(&self, body: &Received) -> Result<Values, ApiError> {
        Values::of(self.params, body).await
    }

    /// Sends everything in one write, and reads until the head can be sent: to the end of a response that is small
    /// or depends on its last row, else until as much is held back as may be.
    pub(crate) async fn run(
        self,
        mut entered: Entered,
        made: (Values, Option<CopySource>),
        body: (&Received, &mut Incoming),
        turn: Option<Turn>,
        bill: &mut Laps,
    ) -> Result<Outcome, ApiError> {
        let mut replies = self.replies(entered.statements_before());
        match self.transact(&mut entered, &mut replies, made, body, turn, bill).await? {
            Reached::End(held) => self.ended(replies, held),
            Reached::Rows(held, turn) => {
                let (rows, range) = (replies.rows(), self.range_of_total(&replies));
                thalweg_gauge::rows(rows);
                let body = Body::flowing(held, Flowing { entered, replies, billed_rows: Some(rows), turn });
                Ok(Outcome {
                    range,
                    body,
                    rows,
                    updated: 0,
                    key: None,
                    rows_cut: None,
                    embedded_cut: None,
                    set_by_sql: (None, None),
                })
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
        bill: &mut Laps,
    ) -> Result<Reached, ApiError> {
        let prepared = self.prepared;
        let is_open = prepared.may_be_unreadable;
        let step = |error| failed(&error, prepared.nature, is_open, self.anonymous);
        let (values, source) = made;
        let (whole, flowing) = match source {
            Some(CopySource::Whole(rows)) => (Some(rows), None),
            Some(CopySource::Held(rows) | CopySource::Flowing(rows)) => (None, Some(rows)),
            None => (None, None),
        };
        let checks = !self.rolls_back && prepared.is_checked;
        let stays_open = checks || flowing.is_some() || is_open;
        if self.rolls_back {
            entered.will_roll_back();
        }
        let rest = self.rest();
        let mut progress = {
            let params = values.params(self.params);
            let mut params = params.as_slice();
            let mut queries = Vec::with_capacity(prepared.statements.len() + rest.len());
            for statement in &prepared.statements {
                let (own, others) = params.split_at(statement.params);
                queries.push(Query { copy: whole.as_deref(), ..prepared.query(statement, own) });
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
        bill.lap_with(Lap::Query, Lap::Encode, entered.take_busy());
        let mut held = self.outlet.hold();
        while progress == Progress::Paused {
            held.push(replies.encoder.take());
            // The rows of the next chunk may have arrived already, so this yields to the other
            // tasks of the thread first.
            tokio::task::yield_now().await;
            if held.bytes() >= HELD_BACK_BYTES {
                if prepared.delivery == Delivery::Streamed {
                    return self.flows(held, turn);
                }
                self.spool(&mut held).await?;
            }
            progress = poll_fn(|cx| entered.poll_step(cx, replies)).await.map_err(step)?;
            bill.lap_with(Lap::Query, Lap::Encode, entered.take_busy());
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
            bill.lap(Lap::Query);
        }
        verdict.map(|()| Reached::End(held))
    }

    /// Lets rows flow. Without a turn they do not wait for the client, but go to disk at once.
    fn flows(&self, held: Held, turn: Option<Turn>) -> Result<Reached, ApiError> {
        if self.outlet.is_full() {
            return Err(ApiError::too_many_answers());
        }
        let turn = turn.or_else(|| {
            self.prepared.last_text().into_iter().for_each(|text| self.turns.remember(text));
            self.turns.take()
        });
        Ok(Reached::Rows(held, turn))
    }

    /// Brings what is held to disk. What only reads is refused where there is no room for it.
    async fn spool(&self, held: &mut Held) -> Result<(), ApiError> {
        let has_room = held.spool().await;
        if has_room || !self.prepared.nature.is_read_only { Ok(()) } else { Err(ApiError::too_many_answers()) }
    }

    /// What follows the main statements, without parameters.
    fn rest(&self) -> Vec<&'static str> {
        let mut rest = Vec::new();
        if self.prepared.nature.response_is_set {
            rest.push(SET_BY_SQL);
        }
        if self.rolls_back {
            rest.push(CHECK_CONSTRAINTS);
        }
        rest
    }

    fn replies(&self, statements_before: usize) -> Replies {
        let prepared = self.prepared;
        let mut replies = Vec::with_capacity(statements_before + prepared.statements.len() + 1);
        replies.resize(statements_before, Reply::Nothing);
        replies.extend(prepared.statements.iter().map(|statement| Reply::Of(statement.purpose)));
        if prepared.nature.response_is_set {
            replies.push(Reply::SetBySql);
        }
        let mut encoder = Encoder::new(prepared.program.clone(), self.zone.clone());
        encoder.set_stock(self.outlet.stock().clone());
        if let Some(most) = prepared.rows_cut {
            encoder.set_rows_max(most);
        }
        if let Some(most) = prepared.embedded_cut {
            encoder.set_embedded_max(most);
        }
        Replies::new(replies, encoder, prepared.count_max, prepared.is_made_of_rows)
    }

    /// Whether there are as many rows as there may be.
    fn check(&self, replies: &Replies) -> Result<(), ApiError> {
        let prepared = self.prepared;
        let rows = self.returned(replies);
        if prepared.explains {
            return Ok(());
        }
        if prepared.replaces {
            return if rows == 1 { Ok(()) } else { Err(ApiError::not_the_key()) };
        }
        if prepared.is_one && rows != 1 && prepared.is_set() {
            return Err(ApiError::not_singular(rows));
        }
        if prepared.affected_max.is_some_and(|most| i64::try_from(rows).is_ok_and(|rows| rows > most)) {
            return Err(ApiError::too_many(rows));
        }
        Ok(())
    }

    /// How many rows are returned.
    fn returned(&self, replies: &Replies) -> u64 {
        self.prepared.rows_cut.map_or(replies.rows(), |most| replies.rows().min(most))
    }

    /// The response to a transaction that has ended well.
    fn ended(&self, mut replies: Replies, mut held: Held) -> Result<Outcome, ApiError> {
        let (rows, prepared) = (self.returned(&replies), self.prepared);
        let total = replies.tally().total(FoundRows { offset: prepared.offset_rows, rows, limit: self.limit() });
        thalweg_gauge::rows(rows);
        let rows_cut = prepared.rows_cut.filter(|most| replies.rows() > *most);
        if !self.head_only && prepared.form != Form::Nothing && prepared.has_body {
            held.push(replies.encoder.finish());
        }
        let offset = prepared.offset_rows;
        let range = match prepared.explains {
            true => None,
            false if prepared.is_set() => Some(ContentRange { offset, rows, total }),
            // one value or row: there, unless filters exclude it
            false => {
                let asked = matches!(prepared.count, Some(Count::Exact | Count::Estimated));
                let total = if prepared.form == Form::Nothing && asked { Some(1) } else { total };
                Some(ContentRange { offset, rows: 1, total })
            }
        };
        if prepared.nature.is_read_only && held.bytes() >= REFUSED_BYTES_MIN && self.outlet.is_full() {
            return Err(ApiError::too_many_answers());
        }
        Ok(Outcome {
            range,
            body: Body::held(held),
            rows,
            updated: replies.updated,
            key: replies.key.take(),
            rows_cut,
            embedded_cut: prepared.embedded_cut.filter(|_| replies.encoder.has_cut_embeds()),
            set_by_sql: std::mem::take(&mut replies.set_by_sql),
        })
    }

    /// Returns the largest number of rows that the response may have.
    fn limit(&self) -> Option<u64> {
        self.prepared.limit_rows.into_iter().chain(self.prepared.rows_cut).min()
    }

    /// How many rows will come, if the total says so before they have.
    fn range_of_total(&self, replies: &Replies) -> Option<ContentRange> {
        let (total, offset) = (replies.tally().exact()?, self.prepared.offset_rows);
        let limit = self.limit().unwrap_or(u64::MAX);
        Some(ContentRange { offset, rows: total.saturating_sub(offset).min(limit), total: Some(total) })
    }
}

/// The values of a body that are parameters, in the order in which statements take them.
pub(crate) struct Values {
    of_members: Vec<Option<(Format, Vec<Bytes>)>>,
    document: (Format, Vec<Bytes>),
}

impl Values {
    async fn of(params: &[thalweg_sql::Param<'_>], body: &Received) -> Result<Self, ApiError> {
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
    fn params<'p>(&'p self, params: &'p [thalweg_sql::Param<'_>]) -> Vec<Param<'p>> {
        let mut of_members = self.of_members.iter();
        let param = |param: &'p thalweg_sql::Param<'_>| match param {
            thalweg_sql::Param::Text(text) => Param::Text(Cow::Borrowed(&**text)),
            thalweg_sql::Param::Document => Param::Chunks(self.document.0, &self.document.1),
            thalweg_sql::Param::Bound(_) => match of_members.next() {
                Some(Some((format, chunks))) => Param::Chunks(*format, chunks),
                _ => Param::Null,
            },
        };
        params.iter().map(param).collect()
    }
}

/// The parameters of a statement that takes nothing of a body.
pub(crate) fn texts<'p>(params: &'p [thalweg_sql::Param<'_>]) -> Vec<Param<'p>> {
    let text = |param: &'p thalweg_sql::Param<'_>| match param {
        thalweg_sql::Param::Text(text) => Param::Text(Cow::Borrowed(&**text)),
        thalweg_sql::Param::Document | thalweg_sql::Param::Bound(_) => Param::Null,
    };
    params.iter().map(text).collect()
}

/// What went wrong while the statements of a plan ran, and whether the request may be tried again. With `is_open` its
/// transaction is left open until all rows have been read.
pub(crate) fn failed(error: &StepError<EncodeError>, nature: Nature, is_open: bool, anonymous: bool) -> ApiError {
    let api = ApiError::step(error, anonymous);
    match error {
        // refused before it begins
        StepError::Wire(wire) if is_refused_for_policies(wire, nature) => api.retried(Retry::AfterLoad),
        StepError::Wire(wire) if wire.is_of_known_statement() => api,
        StepError::Wire(wire) if api.retry == Retry::AfterSuspectedLoad => match wire.code() {
            // The function is called only by a filter or a computed column, with arguments that the
            // client chose.
            Some("42883" | "42725") if !nature.calls => api.retried(Retry::AfterLoadInProgress),
            // Neither the schema cache nor the database has the name, so it is the client's
            // mistake.
            Some("42703" | "42P01") if !nature.knows_all_columns => api.retried(Retry::Never),
            _ => api,
        },
        StepError::Sink(EncodeError::Stale) if nature.is_read_only || is_open => api.retried(Retry::AfterLoad),
        // The end of the transaction was sent together with its statements.
        StepError::Sink(error) if !nature.is_read_only && !is_open => ApiError::may_have_been_executed(error),
        StepError::Wire(_) | StepError::Sink(_) => api,
    }
}

/// Whether PostgreSQL refuses a statement for policies that the schema cache does not know: a COPY at its start, and what
/// runs nothing as row security is off for it. It names the routine that says so; SQL cannot raise an error that does.
fn is_refused_for_policies(error: &thalweg_wire::Error, nature: Nature) -> bool {
    let Some(error) = error.database() else { return false };
    match (error.code.as_str(), error.routine.as_deref()) {
        ("42501", Some("check_enable_rls")) => nature.runs == Runs::Nothing,
        ("0A000", Some("DoCopy")) => nature.copies,
        _ => false,
    }
}
