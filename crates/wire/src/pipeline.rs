//! Pipelines of statements, each a transaction in one round trip where that is possible (section "Extended Query").
//!
//! ```text
//!  run, begin … end   what is sent, and whether it is sent again
//!     │ send          statements → messages, each prepared first where it is new; the end of a transaction
//!     │ copy          data of a COPY that waits for it
//!     ▼ receive       messages → rows, errors, what is known of the statements
//! ```
//!
//! A statement is prepared under a name once a connection, role and text, and run in the same round trip. One that may write
//! is the exception where it returns something: it is run only once the types of what it returns are known to be those that
//! the caller expects, since by the time they were found wrong it would have been committed.

mod copy;
mod receive;
mod send;

use crate::bind::Param;
use crate::connection::{Connection, Discard};
use crate::error::{Error, ErrorKind};
use bytes::Bytes;
use postgres_protocol::message::frontend;
use send::Preparation;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use thalweg_rows::oid::Oid;
use thalweg_rows::{Demand, Format, Malformed, RowSink, RowView};

/// A statement to run, with its parameters.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// The SQL. Statements are prepared once per connection, role and text.
    pub text: &'a str,
    /// The parameters.
    pub params: &'a [Param<'a>],
    /// The formats of the result's columns: one for each, or one for all.
    pub formats: &'a [Format],
    /// What a `COPY … FROM STDIN` reads, where all of it is here.
    pub copy: Option<&'a [Bytes]>,
    /// The types that the result's columns must have, 0 for any. A result that has others is not given out.
    pub columns: Option<&'a [Oid]>,
    /// Whether it may change something. Then it is never sent again once it has begun to run.
    pub writes: bool,
    /// Whether it is prepared under a name. What follows code in its transaction is not, since that could have given the
    /// name to another statement.
    pub is_named: bool,
    /// Whether its columns are asked for each time it runs: of a function that returns rows of a table, PostgreSQL does not notice
    /// that they have changed since the statement was prepared.
    pub may_change: bool,
}

impl<'a> Query<'a> {
    /// A statement without parameters that only reads, and whose results are text.
    pub fn bare(text: &'a str) -> Self {
        Self {
            text,
            params: &[],
            formats: &[Format::Text],
            copy: None,
            columns: None,
            writes: false,
            is_named: true,
            may_change: false,
        }
    }

    /// The same under no name.
    pub fn unnamed(text: &'a str) -> Self {
        Self { is_named: false, ..Self::bare(text) }
    }
}

/// How far a pipeline has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The sink wants no more rows for now.
    Paused,
    /// The statements of a pipeline that was left open have run, and the transaction goes on.
    Open,
    /// A `COPY` of a pipeline that was left open waits for its data.
    CopyIn,
    /// Every statement has run, and the transaction has ended.
    Done,
}

/// A failure of a pipeline.
#[derive(Debug)]
pub enum StepError<E> {
    /// Of the connection or the database.
    Wire(Error),
    /// Of the sink.
    Sink(E),
}

impl<E: fmt::Display> fmt::Display for StepError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wire(error) => error.fmt(f),
            Self::Sink(error) => error.fmt(f),
        }
    }
}

impl<E: std::error::Error + 'static> std::error::Error for StepError<E> {
    /// What is behind the error of the connection or of the sink, whose words these are.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Wire(error) => error.source(),
            Self::Sink(error) => error.source(),
        }
    }
}

impl<E> From<Error> for StepError<E> {
    fn from(error: Error) -> Self {
        Self::Wire(error)
    }
}

impl From<StepError<Malformed>> for Error {
    fn from(error: StepError<Malformed>) -> Self {
        match error {
            StepError::Wire(error) => error,
            StepError::Sink(malformed) => malformed.into(),
        }
    }
}

/// How often a pipeline is sent at most: with the statements that are known; if the server no longer knows one, or knows it
/// otherwise, with that prepared anew; and once more, since another may have had the same happen to it.
const ATTEMPTS_MAX: usize = 3;

/// Statement that rolls the transaction of a pipeline back at its end.
const ROLLBACK: &str = "ROLLBACK";

/// A statement of which something is still to come.
pub(crate) struct Expected {
    /// The name it is prepared under; `None` if under none.
    name: Option<Arc<str>>,
    /// Whether the pipeline prepares it, and has not been told yet that it could.
    unparsed: bool,
    /// Whether it is run, not only prepared.
    runs: bool,
    /// Whether it has begun to run.
    has_begun: bool,
    writes: bool,
    /// What its columns must be, where that is still to be seen.
    columns: Option<Box<[Oid]>>,
}

impl Expected {
    /// A statement under no name, whatever it returns.
    fn unnamed() -> Self {
        Self { name: None, unparsed: false, runs: true, has_begun: false, writes: false, columns: None }
    }
}

impl Connection {
    /// Runs statements as one transaction in one round trip, up to its end or until the sink pauses it. A statement
    /// that the server no longer knows, or whose result has other types now, is prepared again unseen.
    pub async fn run<S: RowSink>(
        &mut self,
        queries: &[Query<'_>],
        sink: &mut S,
    ) -> Result<Progress, StepError<S::Error>> {
        self.launch(queries, sink, false).await
    }

    /// Sends a pipeline, and reads what comes of it. A statement that the server does not know under its name, or knows
    /// with other columns, is prepared anew and all is sent again, unless something that writes has begun to run, or the
    /// sink cannot forget what it has been given.
    async fn launch<S: RowSink>(
        &mut self,
        queries: &[Query<'_>],
        sink: &mut S,
        open: bool,
    ) -> Result<Progress, StepError<S::Error>> {
        for _ in 1..ATTEMPTS_MAX {
            let mut counting = Counting { sink, rows: 0 };
            match self.attempt(queries, &mut counting, open).await {
                Err(StepError::Wire(error))
                    if error.is_of_a_name()
                        && error.nothing_was_written()
                        && (counting.restart() || counting.rows == 0) =>
                {
                    self.drain().await?;
                }
                other => return other,
            }
        }
        self.attempt(queries, sink, open).await
    }

    async fn attempt<S: RowSink>(
        &mut self,
        queries: &[Query<'_>],
        sink: &mut S,
        open: bool,
    ) -> Result<Progress, StepError<S::Error>> {
        if !self.is_idle() {
            return Err(Error::new(ErrorKind::Broken).into());
        }
        (self.has_written, self.is_stale) = (false, false);
        (self.has_uncommitted, self.commits_at) = (false, None);
        let first_write = queries.iter().position(|query| query.writes).unwrap_or(queries.len());
        let (before, writing) = queries.split_at(first_write);
        let is_held = writing.iter().any(|query| self.is_to_be_seen(query));
        if is_held {
            self.encode(before)?;
            let unnamed = self.prepare(writing)?;
            self.open = true;
            frontend::flush(self.output.buffer());
            while poll_fn(|cx| self.poll_step(cx, sink)).await? == Progress::Paused {}
            if self.is_stale {
                // nothing has been written, and what has been set for the session does not stay either
                self.encode(&[Query::unnamed(ROLLBACK)])?;
                self.open = false;
                self.sync();
                self.drain().await?;
                return Err(Error::new(ErrorKind::Stale).and_nothing_was_written().into());
            }
            self.encode_with(writing, Preparation { are_seen: true, unnamed })?;
        } else {
            self.encode(queries)?;
        }
        self.open = open;
        if open {
            frontend::flush(self.output.buffer());
        } else {
            self.sync();
        }
        poll_fn(|cx| self.poll_step(cx, sink)).await
    }

    /// Runs statements without a parameter or a result one after the other in one transaction.
    pub async fn execute(&mut self, statements: &[&str]) -> Result<(), Error> {
        let queries: Vec<Query<'_>> = statements.iter().map(|text| Query::bare(text)).collect();
        match self.run(&queries, &mut Discard).await {
            Ok(_) => Ok(()),
            Err(StepError::Wire(error)) => Err(error),
            Err(StepError::Sink(never)) => match never {},
        }
    }

    /// Runs statements of a transaction that is left open, up to the last one's end or to a `COPY` that waits for data.
    /// [`Connection::end`] commits it; after an error it has ended. A connection that is dropped meanwhile is closed,
    /// which rolls it back.
    pub async fn begin<S: RowSink>(
        &mut self,
        queries: &[Query<'_>],
        sink: &mut S,
    ) -> Result<Progress, StepError<S::Error>> {
        self.launch(queries, sink, true).await
    }

    /// Runs further statements of a transaction that was left open, and commits it, unless one of them is `ROLLBACK`.
    pub async fn end<S: RowSink>(
        &mut self,
        queries: &[Query<'_>],
        sink: &mut S,
    ) -> Result<Progress, StepError<S::Error>> {
        self.encode(queries)?;
        self.open = false;
        self.sync();
        poll_fn(|cx| self.poll_step(cx, sink)).await
    }
}

/// Whether columns have the types that are expected of them.
fn fits(expected: &[Oid], found: &[Oid]) -> bool {
    expected.len() == found.len()
        && expected.iter().zip(found).all(|(expected, found)| *expected == 0 || expected == found)
}

/// Notes whether a sink has been given anything, after which not every pipeline can be repeated unseen.
struct Counting<'a, S> {
    sink: &'a mut S,
    rows: usize,
}

impl<S: RowSink> RowSink for Counting<'_, S> {
    type Error = S::Error;

    fn row(&mut self, row: RowView<'_>) -> Result<Demand, Self::Error> {
        self.rows += 1;
        self.sink.row(row)
    }

    fn restart(&mut self) -> bool {
        self.sink.restart()
    }

    fn end_of_statement(&mut self, affected_rows: u64) {
        self.sink.end_of_statement(affected_rows);
    }
}
