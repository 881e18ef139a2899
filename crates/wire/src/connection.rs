//! One connection, and the pipelines of statements that run on it (section "Extended Query").

use crate::bind::{self, Param};
use crate::cancel::CancelKey;
use crate::error::{DbError, Error, ErrorKind};
use crate::input::Input;
use crate::message;
use crate::output::Output;
use crate::statements::Statements;
use crate::stream::Stream;
use bytes::Bytes;
use postgres_protocol::message::frontend;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use thalweg_rows::oid::Oid;
use thalweg_rows::{Cursor, Demand, Format, RowSink, RowView};

/// A connection to PostgreSQL, owned by whoever uses it.
pub struct Connection {
    stream: Stream,
    input: Input,
    output: Output,
    statements: Statements,
    /// The statements of the current pipeline that are not finished, the current one first.
    expected: VecDeque<Expected>,
    /// How many `ReadyForQuery` are to come.
    syncs: usize,
    /// Whether the pipeline has no end yet: its transaction is in progress, and ends only with it or the connection.
    open: bool,
    failure: Option<Error>,
    /// Set for good once the stream of messages can no longer be followed.
    broken: bool,
    cancel_key: Option<CancelKey>,
    parameters: Vec<(String, String)>,
    notifications: VecDeque<Notification>,
    notices: VecDeque<DbError>,
    session_key: u64,
    busy: Duration,
}

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
}

impl<'a> Query<'a> {
    /// A statement without parameters, whose results are text.
    pub fn bare(text: &'a str) -> Self {
        Self { text, params: &[], formats: &[Format::Text], copy: None }
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

impl<E> From<Error> for StepError<E> {
    fn from(error: Error) -> Self {
        Self::Wire(error)
    }
}

/// What another session has notified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    /// The channel.
    pub channel: String,
    /// The payload, often empty.
    pub payload: String,
}

/// How many notices are kept until somebody asks for them.
const NOTICES_MAX: usize = 64;

struct Expected {
    statement: u64,
    /// Whether the pipeline prepares it, and has not been told yet that it could.
    unparsed: bool,
    /// The types of its columns, once they are known.
    columns: Option<Arc<[Oid]>>,
}

impl Connection {
    pub(crate) fn over(stream: Stream) -> Self {
        Self {
            stream,
            input: Input::new(),
            output: Output::default(),
            statements: Statements::default(),
            expected: VecDeque::new(),
            syncs: 0,
            open: false,
            failure: None,
            broken: false,
            cancel_key: None,
            parameters: Vec::new(),
            notifications: VecDeque::new(),
            notices: VecDeque::new(),
            session_key: 0,
            busy: Duration::ZERO,
        }
    }

    /// A connection over any stream that has already been through the startup, for tests of the protocol.
    pub fn over_stream(
        stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Sync + Unpin + 'static,
    ) -> Self {
        Self::over(Stream::Other(Box::new(stream)))
    }

    pub(crate) fn output(&mut self) -> &mut Output {
        &mut self.output
    }

    pub(crate) fn set_cancel_key(&mut self, key: CancelKey) {
        self.cancel_key = Some(key);
    }

    /// What it takes to cancel a statement from elsewhere.
    pub fn cancel_key(&self) -> Option<&CancelKey> {
        self.cancel_key.as_ref()
    }

    /// A setting that PostgreSQL reports, such as `TimeZone` or `server_version`.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Whether a pipeline may be started: the last one is over and the stream of messages is whole.
    pub fn is_idle(&self) -> bool {
        !self.broken && !self.open && self.syncs == 0 && self.output.is_empty()
    }

    /// Whether a transaction is in progress that only [`Connection::end`] ends.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// How many statements are prepared.
    pub fn prepared(&self) -> usize {
        self.statements.len()
    }

    /// What the user of the connection noted about the state it left the session in; 0 at first.
    pub fn session_key(&self) -> u64 {
        self.session_key
    }

    /// Notes the state that the session is left in.
    pub fn set_session_key(&mut self, key: u64) {
        self.session_key = key;
    }

    /// What PostgreSQL has remarked since this was last asked, such as by `RAISE NOTICE`; the latest where there is a lot.
    pub fn take_notices(&mut self) -> impl Iterator<Item = DbError> + use<> {
        std::mem::take(&mut self.notices).into_iter()
    }

    /// How long has been spent on messages and in sinks, not waiting, since this was last asked.
    pub fn take_busy(&mut self) -> Duration {
        std::mem::take(&mut self.busy)
    }

    /// Runs statements as one transaction in one round trip, up to its end or until the sink pauses it. A statement
    /// that the server no longer knows, or whose result has other types now, is prepared again unseen.
    pub async fn run<S: RowSink>(
        &mut self,
        queries: &[Query<'_>],
        sink: &mut S,
    ) -> Result<Progress, StepError<S::Error>> {
        self.launch(queries, sink, false).await
    }

    /// Sends a pipeline, and reads what comes of it. Not finding a statement makes a second try, unless the sink cannot
    /// forget what it has been given.
    async fn launch<S: RowSink>(
        &mut self,
        queries: &[Query<'_>],
        sink: &mut S,
        open: bool,
    ) -> Result<Progress, StepError<S::Error>> {
        for retried in [false, true] {
            if !self.is_idle() {
                return Err(Error::new(ErrorKind::Broken).into());
            }
            self.encode(queries)?;
            self.open = open;
            if open {
                frontend::flush(self.output.buffer());
            } else {
                self.sync();
            }
            let mut counting = Counting { sink, rows: 0 };
            match poll_fn(|cx| self.poll_step(cx, &mut counting)).await {
                Err(StepError::Wire(error))
                    if error.is_stale_statement() && !retried && (counting.restart() || counting.rows == 0) =>
                {
                    if error.code() == Some("26000") {
                        // the session was reset: none of them is known any more
                        self.statements.forget(|_| true);
                    }
                }
                other => return other,
            }
        }
        unreachable!("the second round always returns")
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

    fn sync(&mut self) {
        frontend::sync(self.output.buffer());
        self.syncs = 1;
    }

    /// Encodes statements, each prepared first where it is new.
    fn encode(&mut self, queries: &[Query<'_>]) -> Result<(), Error> {
        for query in queries {
            let (number, new, columns) = match self.statements.find(query.text) {
                Some(known) => (known.number, false, known.columns.clone()),
                None => {
                    let (number, evicted) = self.statements.insert(query.text);
                    let buffer = self.output.buffer();
                    if let Some(evicted) = evicted {
                        frontend::close(b'S', itoa::Buffer::new().format(evicted), buffer)?;
                    }
                    let mut name = itoa::Buffer::new();
                    let name = name.format(number);
                    frontend::parse(name, query.text, [], buffer)?;
                    frontend::describe(b'S', name, buffer)?;
                    (number, true, None)
                }
            };
            let mut name = itoa::Buffer::new();
            if let Err(error) = bind::bind(&mut self.output, name.format(number), query.params, query.formats) {
                // half a message is queued
                self.broken = true;
                return Err(error);
            }
            frontend::execute("", 0, self.output.buffer())?;
            if let Some(chunks) = query.copy {
                chunks.iter().for_each(|chunk| bind::copy_data(&mut self.output, chunk));
                frontend::copy_done(self.output.buffer());
            }
            self.expected.push_back(Expected { statement: number, unparsed: new, columns });
        }
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
                    self.expected.clear();
                    self.input.shrink();
                    return Poll::Ready(match self.failure.take() {
                        Some(error) => Err(error.into()),
                        None => Ok(Progress::Done),
                    });
                }
                message::BIND_COMPLETE => {
                    let columns = self.expected.front_mut().and_then(|current| current.columns.take());
                    sink.start_of_statement(columns.as_deref().unwrap_or_default()).map_err(StepError::Sink)?;
                }
                message::CLOSE_COMPLETE | message::PARAMETER_DESCRIPTION => {}
                message::PARSE_COMPLETE => {
                    if let Some(current) = self.expected.front_mut() {
                        current.unparsed = false;
                    }
                }
                message::ROW_DESCRIPTION => {
                    let columns = row_description(body)?;
                    self.described(columns.into());
                }
                message::NO_DATA => self.described(Arc::from([])),
                message::ERROR_RESPONSE => {
                    let error = Error::new(ErrorKind::Database(Box::new(DbError::parse(body).map_err(Error::from)?)));
                    self.fail(error)?;
                }
                _ => self.asynchronous(found.tag, found.body)?,
            }
        }
    }

    /// Notes the types of the current statement's columns, for now and for later runs.
    fn described(&mut self, columns: Arc<[Oid]>) {
        let Some(statement) = self.expected.front().map(|current| current.statement) else { return };
        // the same statement may stand in the pipeline again
        for again in self.expected.iter_mut().filter(|expected| expected.statement == statement) {
            again.columns = Some(columns.clone());
        }
        self.statements.described(statement, columns);
    }

    /// Notes an error: the server skips what is left up to `Sync`.
    fn fail(&mut self, error: Error) -> Result<(), Error> {
        let stale = error.is_stale_statement();
        let current = self.expected.front().map(|expected| expected.statement);
        let unparsed: Vec<u64> = self.expected.iter().filter(|e| e.unparsed).map(|e| e.statement).collect();
        self.statements.forget(|number| unparsed.contains(&number) || (stale && current == Some(number)));
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

    /// Messages that may come at any time.
    fn asynchronous(&mut self, tag: u8, body: std::ops::Range<usize>) -> Result<(), Error> {
        let body = self.input.bytes(body);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match tag {
            message::PARAMETER_STATUS => {
                let mut cursor = Cursor::new(body);
                let (name, value) = (text(cursor.cstr()?), text(cursor.cstr()?));
                match self.parameters.iter_mut().find(|(known, _)| *known == name) {
                    Some(known) => known.1 = value,
                    None => self.parameters.push((name, value)),
                }
            }
            message::NOTIFICATION_RESPONSE => {
                let mut cursor = Cursor::new(body);
                cursor.i32()?;
                let (channel, payload) = (text(cursor.cstr()?), text(cursor.cstr()?));
                self.notifications.push_back(Notification { channel, payload });
            }
            message::NOTICE_RESPONSE => {
                let notice = DbError::parse(body)?;
                if self.notices.len() == NOTICES_MAX {
                    self.notices.pop_front();
                }
                self.notices.push_back(notice);
            }
            _ => return Err(Error::new(ErrorKind::Protocol("message that does not belong here"))),
        }
        Ok(())
    }

    /// Waits for what another session notifies on a channel that is listened to.
    pub async fn notification(&mut self) -> Result<Notification, Error> {
        loop {
            if let Some(notification) = self.notifications.pop_front() {
                return Ok(notification);
            }
            match self.input.message()? {
                None => poll_fn(|cx| self.input.poll_fill(&mut self.stream, cx)).await?,
                Some(found) if found.tag == message::ERROR_RESPONSE => {
                    let error = DbError::parse(self.input.bytes(found.body))?;
                    self.broken = true;
                    return Err(Error::new(ErrorKind::Database(Box::new(error))));
                }
                Some(found) => self.asynchronous(found.tag, found.body)?,
            }
        }
    }

    /// Whether the server still holds its end, as far as can be told without asking. Reads whatever it sent.
    pub(crate) fn poll_alive(&mut self, cx: &mut Context<'_>) -> bool {
        loop {
            match self.input.message() {
                Ok(Some(found)) => {
                    if found.tag == message::ERROR_RESPONSE || self.asynchronous(found.tag, found.body).is_err() {
                        return false;
                    }
                }
                Ok(None) => match self.input.poll_fill(&mut self.stream, cx) {
                    Poll::Pending => return true,
                    Poll::Ready(Ok(())) => {}
                    Poll::Ready(Err(_)) => return false,
                },
                Err(_) => return false,
            }
        }
    }

    /// Reads and discards what is left of a pipeline.
    pub(crate) async fn drain(&mut self) -> Result<(), Error> {
        while self.syncs > 0 {
            match poll_fn(|cx| self.poll_step(cx, &mut Discard)).await {
                Err(StepError::Wire(error)) if error.database().is_some() && !self.broken => {}
                Err(StepError::Wire(error)) => return Err(error),
                Err(StepError::Sink(never)) => match never {},
                Ok(_) => {}
            }
        }
        Ok(())
    }

    pub(crate) async fn flush(&mut self) -> Result<(), Error> {
        poll_fn(|cx| self.output.poll_flush(&mut self.stream, cx)).await
    }

    /// The next message, copied out; for the exchanges in which copies do not matter.
    pub(crate) async fn read_message(&mut self) -> Result<(u8, Vec<u8>), Error> {
        loop {
            match self.input.message()? {
                None => poll_fn(|cx| self.input.poll_fill(&mut self.stream, cx)).await?,
                Some(found) => match found.tag {
                    message::PARAMETER_STATUS | message::NOTICE_RESPONSE | message::NOTIFICATION_RESPONSE => {
                        self.asynchronous(found.tag, found.body)?;
                    }
                    tag => return Ok((tag, self.input.bytes(found.body).to_vec())),
                },
            }
        }
    }
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

/// A sink that takes no notice.
pub(crate) struct Discard;

impl RowSink for Discard {
    type Error = std::convert::Infallible;

    fn row(&mut self, _: RowView<'_>) -> Result<Demand, Self::Error> {
        Ok(Demand::More)
    }
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

    fn start_of_statement(&mut self, types: &[Oid]) -> Result<(), Self::Error> {
        self.sink.start_of_statement(types)
    }

    fn restart(&mut self) -> bool {
        self.sink.restart()
    }

    fn end_of_statement(&mut self, affected_rows: u64) {
        self.sink.end_of_statement(affected_rows);
    }
}
