//! Pipelines of statements, each a transaction in one round trip where that is possible (section "Extended Query").
//!
//! A statement is prepared under a name once a connection and text, and run in the same round trip. One that may write is
//! the exception where it returns something: it is run only once the types of what it returns are known to be those that
//! the caller expects, since by the time they were found wrong it would have been committed.

use crate::bind::{self, Param};
use crate::connection::{Connection, Discard};
use crate::error::{DbError, Error, ErrorKind};
use crate::message;
use crate::session::{RESET_STATEMENTS, reset_script};
use bytes::Bytes;
use postgres_protocol::message::frontend;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;
use thalweg_rows::oid::Oid;
use thalweg_rows::{Cursor, Demand, Format, Malformed, RowSink, RowView};

/// A statement to run, with its parameters.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// The SQL. Statements are prepared once per connection and text.
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

/// What has been done about a pipeline's statements before they are run.
#[derive(Clone, Copy)]
struct Preparation {
    /// Whether those that write have the columns that they must have.
    are_seen: bool,
    /// Which of them the session holds under no name. PostgreSQL refuses to bind it if it has other columns by then; once
    /// another has taken its place, it is prepared anew, and what it returns is looked at again.
    unnamed: Option<usize>,
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
                self.encode(&[Query::unnamed("ROLLBACK")])?;
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

    /// Queues data of a `COPY` that waits for it.
    pub fn copy_data(&mut self, chunk: &Bytes) {
        bind::copy_data(&mut self.output, chunk);
    }

    /// Sends queued data of a `COPY` until little is left. An error that PostgreSQL reports meanwhile ends the pipeline.
    pub fn poll_copy<S: RowSink>(
        &mut self,
        cx: &mut Context<'_>,
        sink: &mut S,
    ) -> Poll<Result<(), StepError<S::Error>>> {
        loop {
            // rows do not come while data is wanted: whatever is ready is an error
            match self.poll_step(cx, sink) {
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Ready(Ok(_)) => return Poll::Ready(Err(Error::new(ErrorKind::Protocol("end of COPY")).into())),
                Poll::Pending if self.syncs == 0 && self.output.is_empty() => return Poll::Ready(Ok(())),
                // the end of a failed pipeline was queued just now
                Poll::Pending if self.syncs > 0 && !self.output.is_empty() => {
                    ready!(self.output.poll_flush(&mut self.stream, cx))?;
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// The data of a `COPY` that waits for it has ended.
    pub fn copy_done(&mut self) {
        frontend::copy_done(self.output.buffer());
    }

    /// There will be no more data, and what has been sent is not to stay: ends the transaction.
    pub async fn copy_fail(&mut self, reason: &str) -> Result<(), Error> {
        frontend::copy_fail(reason, self.output.buffer())?;
        self.open = false;
        self.sync();
        self.drain().await
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

    /// Ends the transaction, and lets what makes the session as new follow it where that is wanted.
    fn sync(&mut self) {
        frontend::sync(self.output.buffer());
        self.syncs = 1;
        if self.resets_behind {
            let transaction = std::mem::take(&mut self.expected);
            if self.send_reset().is_err() {
                self.broken = true;
            }
            self.behind = std::mem::replace(&mut self.expected, transaction);
            self.syncs = 2;
        }
    }

    /// Sends what makes the session as new (section "Simple Query").
    pub(crate) fn send_reset(&mut self) -> Result<(), Error> {
        frontend::query(&reset_script(), self.output.buffer())?;
        self.syncs = 1;
        self.expected.extend((0..RESET_STATEMENTS).map(|_| Expected::unnamed()));
        Ok(())
    }

    /// Whether the session is to be made as new behind each transaction from now on, in the same round trip. Nobody needs to
    /// wait for that: [`Connection::reset`] reads what has come of it.
    pub fn reset_behind(&mut self, resets: bool) {
        self.resets_behind = resets && self.owns_session();
    }

    /// Whether the last transaction has ended, and what makes the session as new has been sent behind it.
    pub(crate) fn is_resetting(&self) -> bool {
        self.resets_behind && self.syncs == 1 && !self.open && !self.is_broken()
    }

    /// Whether it has to be seen what a statement returns before it may run.
    fn is_to_be_seen(&mut self, query: &Query<'_>) -> bool {
        let Some(expected) = query.columns.filter(|_| query.writes) else { return false };
        let known = self.statements.find(query.text).and_then(|known| known.columns.as_deref());
        known.is_none_or(|known| !fits(expected, known))
    }

    /// Encodes the preparation of statements whose columns have to be seen. Returns which of them is then the one without
    /// a name, if any is.
    fn prepare(&mut self, queries: &[Query<'_>]) -> Result<Option<usize>, Error> {
        let mut unnamed = None;
        for (at, query) in queries.iter().enumerate() {
            if self.is_to_be_seen(query) {
                let (name, unparsed) = self.name(query, true)?;
                self.describe(&name)?;
                if name.is_none() {
                    unnamed = Some(at);
                }
                let columns = query.columns.map(Box::from);
                self.expected.push_back(Expected {
                    name,
                    unparsed,
                    runs: false,
                    has_begun: false,
                    writes: true,
                    columns,
                });
            }
        }
        Ok(unnamed)
    }

    /// Encodes statements, each prepared first where it is new.
    fn encode(&mut self, queries: &[Query<'_>]) -> Result<(), Error> {
        self.encode_with(queries, Preparation { are_seen: false, unnamed: None })
    }

    fn encode_with(&mut self, queries: &[Query<'_>], mut prepared: Preparation) -> Result<(), Error> {
        for (at, query) in queries.iter().enumerate() {
            let (name, unparsed) = match prepared.unnamed {
                Some(unnamed) if unnamed == at => (None, false),
                _ => self.name(query, !prepared.are_seen)?,
            };
            if unparsed {
                self.describe(&name)?;
                if name.is_none() {
                    prepared.unnamed = None;
                }
            }
            if let Err(error) = bind::bind(&mut self.output, name.as_deref().unwrap_or(""), query.params, query.formats)
            {
                // half a message is queued
                self.broken = true;
                return Err(error);
            }
            if query.may_change {
                frontend::describe(b'P', "", self.output.buffer())?;
            }
            frontend::execute("", 0, self.output.buffer())?;
            if let Some(chunks) = query.copy {
                chunks.iter().for_each(|chunk| bind::copy_data(&mut self.output, chunk));
                frontend::copy_done(self.output.buffer());
            }
            let columns = query.columns.filter(|_| unparsed || query.may_change).map(Box::from);
            let writes = query.writes;
            self.expected.push_back(Expected { name, unparsed, runs: true, has_begun: false, writes, columns });
        }
        Ok(())
    }

    /// The name of a statement, and whether it is prepared by this pipeline. With `checks`, one whose columns are known to
    /// be others than they must be is prepared anew.
    fn name(&mut self, query: &Query<'_>, checks: bool) -> Result<(Option<Arc<str>>, bool), Error> {
        let is_named = query.is_named && self.owns_session();
        if is_named && let Some(known) = self.statements.find(query.text) {
            let name = known.name.clone();
            let differs = match (query.columns, known.columns.as_deref()) {
                (Some(expected), Some(known)) => checks && !fits(expected, known),
                _ => false,
            };
            if !differs {
                return Ok((Some(name), false));
            }
            self.statements.close(&name);
        }
        let name = if is_named { self.statements.insert(query.text) } else { None };
        // what made room goes first, so that the server never holds more than it may
        self.close_unwanted()?;
        if let Err(error) = frontend::parse(name.as_deref().unwrap_or(""), query.text, [], self.output.buffer()) {
            // half a message is queued
            self.broken = true;
            return Err(error.into());
        }
        Ok((name, true))
    }

    fn close_unwanted(&mut self) -> Result<(), Error> {
        let buffer = self.output.buffer();
        for name in self.statements.not_told_to_close() {
            frontend::close(b'S', name, buffer)?;
        }
        Ok(())
    }

    fn describe(&mut self, name: &Option<Arc<str>>) -> Result<(), Error> {
        frontend::describe(b'S', name.as_deref().unwrap_or(""), self.output.buffer())?;
        Ok(())
    }

    /// Reads on: rows into the sink, until it pauses or the pipeline is over. After an error of the database the
    /// rest of the pipeline is skipped, and the connection is ready for the next one.
    pub fn poll_step<S: RowSink>(
        &mut self,
        cx: &mut Context<'_>,
        sink: &mut S,
    ) -> Poll<Result<Progress, StepError<S::Error>>> {
        // While the server does not read, it may be waiting for us to: go on reading either way.
        if !self.broken
            && !self.output.is_empty()
            && let Poll::Ready(Err(error)) = self.output.poll_flush(&mut self.stream, cx)
        {
            self.broken = true;
            return Poll::Ready(Err(error.into()));
        }
        // while there is nothing to read, nothing is done that would be worth a look at the clock
        if self.input.is_empty() && !self.broken && !(self.open && self.expected.is_empty()) {
            match ready!(self.input.poll_fill(&mut self.stream, cx)) {
                Ok(()) => {}
                Err(error) => {
                    self.broken = true;
                    return Poll::Ready(Err(error.into()));
                }
            }
        }
        let started = Instant::now();
        let mut result = self.poll_messages(cx, sink);
        if result.is_pending() && self.failure.is_some() && !self.output.is_empty() {
            // the end of a pipeline that had none was queued just now
            ready!(self.output.poll_flush(&mut self.stream, cx))?;
            result = self.poll_messages(cx, sink);
        }
        self.busy += started.elapsed();
        let result = ready!(result);
        if let Err(error) = &result {
            let lost = match error {
                StepError::Wire(error) => error.database().is_none(),
                StepError::Sink(_) => true,
            };
            self.broken |= lost;
        }
        Poll::Ready(result)
    }

    fn poll_messages<S: RowSink>(
        &mut self,
        cx: &mut Context<'_>,
        sink: &mut S,
    ) -> Poll<Result<Progress, StepError<S::Error>>> {
        if self.broken {
            return Poll::Ready(Err(Error::new(ErrorKind::Broken).into()));
        }
        loop {
            if self.open && self.expected.is_empty() {
                return Poll::Ready(Ok(Progress::Open));
            }
            let Some(found) = self.input.message()? else {
                ready!(self.input.poll_fill(&mut self.stream, cx))?;
                continue;
            };
            let body = self.input.bytes(found.body.clone());
            match found.tag {
                message::DATA_ROW => {
                    let row = RowView::parse(body).map_err(Error::from)?;
                    if sink.row(row).map_err(StepError::Sink)? == Demand::Pause {
                        return Poll::Ready(Ok(Progress::Paused));
                    }
                }
                message::COMMAND_COMPLETE | message::EMPTY_QUERY_RESPONSE => {
                    self.expected.pop_front().ok_or(Error::new(ErrorKind::Protocol("a result of no statement")))?;
                    sink.end_of_statement(affected_rows(body));
                }
                message::COPY_IN_RESPONSE if self.open => return Poll::Ready(Ok(Progress::CopyIn)),
                message::COPY_IN_RESPONSE => {}
                message::READY_FOR_QUERY => {
                    self.syncs = self.syncs.saturating_sub(1);
                    self.expected = std::mem::take(&mut self.behind);
                    self.statements.end_of_pipeline();
                    self.input.shrink();
                    return Poll::Ready(match self.failure.take() {
                        Some(error) => Err(error.into()),
                        None => Ok(Progress::Done),
                    });
                }
                message::BIND_COMPLETE => {
                    if let Some(current) = self.expected.front_mut() {
                        current.has_begun = true;
                        self.has_written |= current.writes;
                    }
                }
                message::CLOSE_COMPLETE => self.statements.closed(),
                message::PARAMETER_DESCRIPTION => {}
                message::PARSE_COMPLETE => {
                    if let Some(current) = self.expected.front_mut() {
                        current.unparsed = false;
                    }
                }
                message::ROW_DESCRIPTION => {
                    let columns = row_description(body)?;
                    self.described(columns.into())?;
                }
                message::NO_DATA => self.described(Arc::from([]))?,
                message::ERROR_RESPONSE => {
                    let error = Error::new(ErrorKind::Database(Box::new(DbError::parse(body).map_err(Error::from)?)));
                    self.fail(error)?;
                }
                _ => self.asynchronous(found.tag, found.body)?,
            }
        }
    }

    /// Notes the types of the current statement's columns, and whether they are what they must be.
    fn described(&mut self, columns: Arc<[Oid]>) -> Result<(), Error> {
        let Some(current) = self.expected.front() else { return Ok(()) };
        let differs = current.columns.as_deref().is_some_and(|expected| !fits(expected, &columns));
        if let Some(name) = &current.name {
            self.statements.described(name, columns);
        }
        if !current.runs {
            self.is_stale |= differs;
            self.expected.pop_front();
        } else if differs {
            // what it returns is on its way already: nothing of it is read, but what follows runs all the same
            let error = Error::new(ErrorKind::Stale);
            let writes = self.has_written || self.expected.iter().any(|expected| expected.writes);
            return Err(if writes { error } else { error.and_nothing_was_written() });
        }
        Ok(())
    }

    /// Notes an error: the server skips what is left up to `Sync`.
    fn fail(&mut self, error: Error) -> Result<(), Error> {
        let mut error = if self.has_written { error } else { error.and_nothing_was_written() };
        for expected in &self.expected {
            if let Some(name) = expected.name.as_ref().filter(|_| expected.unparsed) {
                self.statements.forget(name);
            }
        }
        match self.expected.front().filter(|current| !current.has_begun).and_then(|current| current.name.clone()) {
            // the session was reset: none of them is known any more
            Some(_) if error.code() == Some("26000") => self.statements.close_all(),
            Some(name) if error.is_of_a_name() => self.statements.close(&name),
            // a text that code has made up
            _ => error.is_not_of_a_name(),
        }
        // FATAL and PANIC close the connection
        if error.database().is_some_and(|error| error.severity != "ERROR") {
            self.broken = true;
            return Err(error);
        }
        self.failure.get_or_insert(error);
        if std::mem::take(&mut self.open) {
            // the server waits for the end of the pipeline
            self.sync();
        }
        Ok(())
    }

    /// Reads and discards what is left of a pipeline.
    pub(crate) async fn drain(&mut self) -> Result<(), Error> {
        self.drain_to(0).await
    }

    /// The same of the transaction, but not of what makes the session as new behind it.
    pub(crate) async fn drain_transaction(&mut self) -> Result<(), Error> {
        self.drain_to(usize::from(self.resets_behind)).await
    }

    async fn drain_to(&mut self, syncs: usize) -> Result<(), Error> {
        while self.syncs > syncs {
            match poll_fn(|cx| self.poll_step(cx, &mut Discard)).await {
                Err(StepError::Wire(error)) if error.database().is_some() && !self.broken => {}
                Err(StepError::Wire(error)) => return Err(error),
                Err(StepError::Sink(never)) => match never {},
                Ok(_) => {}
            }
        }
        Ok(())
    }
}

/// Whether columns have the types that are expected of them.
fn fits(expected: &[Oid], found: &[Oid]) -> bool {
    expected.len() == found.len()
        && expected.iter().zip(found).all(|(expected, found)| *expected == 0 || expected == found)
}

/// The last word of a command's tag, such as of `INSERT 0 5`; 0 where that is no number.
fn affected_rows(tag: &[u8]) -> u64 {
    let tag = tag.strip_suffix(&[0]).unwrap_or(tag);
    let digits = tag.rsplit(|&byte| byte == b' ').next().unwrap_or_default();
    std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

fn row_description(body: &[u8]) -> Result<Vec<Oid>, Error> {
    let mut cursor = Cursor::new(body);
    let count = cursor.u16()?;
    let mut types = Vec::with_capacity(usize::from(count));
    for _ in 0..count {
        cursor.cstr()?;
        cursor.take(6)?;
        types.push(cursor.u32()?);
        cursor.take(8)?;
    }
    Ok(types)
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
