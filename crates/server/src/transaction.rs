//! One way through a transaction: a connection in the state that a request needs, from its first statement to its end.
//!
//! ```text
//!  Session          as whom, where, and what SQL may ask of the request
//!     │ enter       takes a connection, and knows what must be said to it first
//!     ▼
//!  Entered          run: all statements in one round trip
//!     │             begin … end: a transaction that is left open meanwhile
//!     ▼
//!  the pool         with what is known of the session noted; of nothing known, it is made as new first
//! ```
//!
//! What is known of a session is noted where its transaction is seen to end, here and nowhere else: before its first
//! statement is sent it is *unknown*, and stays so if it is dropped, cut off, or has run code. So nobody has to remember
//! to say that a connection cannot be relied on.

mod preamble;
mod replies;
mod run;
mod session;

pub(crate) use replies::{FoundRows, Replies, Reply, TOTAL_COLUMNS, Tally, set_by_sql};
pub(crate) use run::{CopySource, Outcome, Run, SET_BY_SQL, failed, texts};
pub(crate) use session::{RequestFacts, Session};

use crate::error::ApiError;
use crate::log;
use crate::state::State;
use preamble::Preamble;
use std::task::{Context, Poll};
use thalweg_catalog::Runs;
use thalweg_gauge::{Wait, waiting};
use thalweg_rows::RowSink;
use thalweg_wire::{Connection, Error, Pooled, Progress, Query, SessionState, StepError, Texts};

/// What PostgreSQL answers to a role that may not do something. The role itself may have been dropped and made anew, which a
/// session that is kept in it cannot see.
const INSUFFICIENT_PRIVILEGE: &str = "42501";

/// What PostgreSQL takes for the role that logged in where a role is named. No role is called so.
const LOGIN_ROLE: &str = "none";

/// A request's connection.
pub(crate) struct Entered {
    connection: Pooled,
    preamble: Preamble,
    /// Whether the transaction ends with a rollback although nothing is wrong.
    rolls_back: bool,
    /// What is known of the session once the transaction has been committed.
    after: SessionState,
    /// What is known of it once the transaction has been rolled back.
    after_rollback: SessionState,
}

/// Takes a connection for a request, if possible one that is in its state already.
pub(crate) async fn enter(state: &State, session: &Session<'_>) -> Result<Entered, ApiError> {
    if session.role == LOGIN_ROLE {
        return Err(ApiError::no_such_role(session.role));
    }
    let identity = session.identity();
    let mut connection = waiting(Wait::Pool, state.pool.get(identity)).await?;
    // what it said of its session was for nobody's request
    connection.take_received();
    connection.run_as(session.role);
    let runs_anything = session.runs == Runs::Anything;
    connection.reset_behind(runs_anything);
    let kept = identity.filter(|_| connection.owns_session());
    let preamble = Preamble::of(session, kept, &connection);
    if !session.is_read_only {
        connection.set_drawn(true);
    }
    let before = connection.session();
    let (after, after_rollback) = match kept {
        // settings go back with a transaction, but not all that code can do
        _ if runs_anything => (SessionState::Unknown, SessionState::Unknown),
        Some(identity) if !before.is(identity) => (SessionState::kept(identity), before.clone()),
        None if preamble.resets() => (SessionState::Unknown, before.clone()),
        // it has it already, or what it is given ends with the transaction
        _ => (before.clone(), before.clone()),
    };
    Ok(Entered { connection, preamble, rolls_back: false, after, after_rollback })
}

/// Runs a statement of a request on a connection that is nobody else's, and leaves nothing behind; its rows.
pub(crate) async fn run_alone(
    connection: &mut Connection,
    session: &Session<'_>,
    query: Query<'_>,
) -> Result<Texts, ApiError> {
    if session.role == LOGIN_ROLE {
        return Err(ApiError::no_such_role(session.role));
    }
    connection.run_as(session.role);
    let preamble = Preamble::of(session, None, connection);
    let mut rows = Texts::of_statement(preamble.len());
    let mut all = preamble.before(&[query]);
    all.push(Query::unnamed(ROLLBACK));
    let run = connection.run(&all, &mut rows).await.map_err(Error::from);
    run.map(|_| rows).map_err(|error| ApiError::wire(&error, session.is_anonymous()))
}

impl Entered {
    /// How many statements come before those of the request. Their results say nothing.
    pub(crate) fn statements_before(&self) -> usize {
        self.preamble.len()
    }

    /// Runs statements as one transaction in one round trip, up to its end or until the sink pauses it.
    pub(crate) async fn run<S: RowSink>(
        &mut self,
        queries: &[Query<'_>],
        sink: &mut S,
    ) -> Result<Progress, StepError<S::Error>> {
        self.connection.distrust();
        let progress = match self.preamble.is_empty() && !self.rolls_back {
            true => {
                note(queries, queries);
                waiting(Wait::Database, self.connection.run(queries, sink)).await
            }
            false => {
                let mut all = self.preamble.before(queries);
                all.extend(self.rollback());
                note(queries, &all);
                waiting(Wait::Database, self.connection.run(&all, sink)).await
            }
        };
        self.noted(progress)
    }

    /// Runs statements of a transaction that is left open.
    pub(crate) async fn begin<S: RowSink>(
        &mut self,
        queries: &[Query<'_>],
        sink: &mut S,
    ) -> Result<Progress, StepError<S::Error>> {
        self.connection.distrust();
        let all = self.preamble.before(queries);
        note(queries, &all);
        let progress = waiting(Wait::Database, self.connection.begin(&all, sink)).await;
        self.noted(progress)
    }

    /// Runs further statements of a transaction that was left open, and ends it.
    pub(crate) async fn end<S: RowSink>(
        &mut self,
        queries: &[Query<'_>],
        sink: &mut S,
    ) -> Result<Progress, StepError<S::Error>> {
        note(&[], queries);
        let progress = match self.rolls_back {
            false => waiting(Wait::Database, self.connection.end(queries, sink)).await,
            true => {
                let all: Vec<Query<'_>> = queries.iter().copied().chain(self.rollback()).collect();
                waiting(Wait::Database, self.connection.end(&all, sink)).await
            }
        };
        self.noted(progress)
    }

    /// Rolls back a transaction that was left open.
    pub(crate) async fn roll_back<S: RowSink>(&mut self, sink: &mut S) -> Result<Progress, StepError<S::Error>> {
        self.will_roll_back();
        self.end(&[], sink).await
    }

    /// The transaction ends with a rollback although nothing is wrong.
    pub(crate) fn will_roll_back(&mut self) {
        self.rolls_back = true;
    }

    fn rollback(&self) -> Option<Query<'static>> {
        self.rolls_back.then_some(Query::unnamed(ROLLBACK))
    }

    /// Reads on.
    pub(crate) fn poll_step<S: RowSink>(
        &mut self,
        cx: &mut Context<'_>,
        sink: &mut S,
    ) -> Poll<Result<Progress, StepError<S::Error>>> {
        let progress = match self.connection.poll_step(cx, sink) {
            Poll::Ready(progress) => progress,
            Poll::Pending => {
                thalweg_gauge::waits_for(Wait::Database);
                return Poll::Pending;
            }
        };
        Poll::Ready(self.noted(progress))
    }

    /// The connection, while data of a COPY is sent on it.
    pub(crate) fn copying(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// How long has been spent on messages, not waiting, since this was last asked.
    pub(crate) fn take_busy(&mut self) -> std::time::Duration {
        self.connection.take_busy()
    }

    /// Notes what is known of the session where the transaction has ended.
    fn noted<E>(&mut self, progress: Result<Progress, StepError<E>>) -> Result<Progress, StepError<E>> {
        thalweg_gauge::count("postgresql_bytes", self.connection.take_received());
        let state = match &progress {
            Ok(Progress::Done) if self.rolls_back => take(&mut self.after_rollback),
            Ok(Progress::Done) => take(&mut self.after),
            Ok(Progress::Paused | Progress::Open | Progress::CopyIn) => return progress,
            Err(StepError::Wire(error)) if self.has_gone_back(error) => take(&mut self.after_rollback),
            Err(_) => SessionState::Unknown,
        };
        self.connection.set_session(state);
        for notice in self.connection.take_notices() {
            tracing::debug!(severity = notice.severity, code = notice.code, "PostgreSQL: {}", notice.message);
        }
        progress
    }

    /// Whether an error of the database has ended the transaction, and says nothing against the role.
    fn has_gone_back(&self, error: &thalweg_wire::Error) -> bool {
        self.connection.is_idle() && error.code().is_some_and(|code| code != INSUFFICIENT_PRIVILEGE)
    }
}

/// Notes what is sent in one round trip, of which these are the request's own.
fn note(own: &[Query<'_>], sent: &[Query<'_>]) {
    log::note_queries(sent);
    own.iter().for_each(|query| thalweg_gauge::shape(query.text));
    thalweg_gauge::count("round_trips", 1);
    thalweg_gauge::count("statements", sent.len() as u64);
}

/// Takes what is known for one end of one transaction: of a second, nothing is.
fn take(state: &mut SessionState) -> SessionState {
    std::mem::replace(state, SessionState::Unknown)
}

/// What ends a transaction that is not to stay.
const ROLLBACK: &str = "ROLLBACK";
