//! What comes of a pipeline: rows, errors, and what is known of its statements from then on.

use super::{Progress, StepError, fits};
use crate::connection::{Connection, Discard};
use crate::error::{DbError, Error, ErrorKind, is_of_analysis};
use crate::message;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;
use thalweg_rows::oid::Oid;
use thalweg_rows::{Cursor, Demand, RowSink, RowView};

impl Connection {
    /// Reads on: rows into the sink, until it pauses or the pipeline is over. After an error of the database the
    /// rest of the pipeline is skipped, and the connection is ready for the next one.
    pub fn poll_step<S: RowSink>(
        &mut self,
        cx: &mut Context<'_>,
        sink: &mut S,
    ) -> Poll<Result<Progress, StepError<S::Error>>> {
        let result = ready!(self.poll_read_on(cx, sink));
        Poll::Ready(result.map_err(|error| match error {
            // An error that the database reported already carries the state of its transaction (see
            // `fail`).
            StepError::Wire(error) if error.database().is_none() => error.with_commit(self.may_have_committed()).into(),
            other => other,
        }))
    }

    fn poll_read_on<S: RowSink>(
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
                    (self.has_uncommitted, self.commits_at) = (false, None);
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
        if self.is_certain_to_roll_back(&error) {
            self.has_uncommitted = false;
        }
        let error = error.with_commit(self.may_have_committed());
        let mut error = if self.has_written { error } else { error.and_nothing_was_written() };
        for expected in &self.expected {
            if let Some(name) = expected.name.as_ref().filter(|_| expected.unparsed) {
                self.statements.forget(name);
            }
        }
        let current = self.expected.front().filter(|current| !current.has_begun);
        let is_known = current.is_some_and(|current| current.name.is_some() && !current.unparsed);
        if is_known && error.database().is_some_and(is_of_analysis) {
            error = error.of_known_statement();
        }
        match current.and_then(|current| current.name.clone()) {
            // the session was reset: none of them is known any more
            Some(_) if error.code() == Some("26000") => self.statements.close_all(),
            Some(name) if error.is_of_a_name() || error.is_of_known_statement() => self.statements.close(&name),
            // a text that code has made up
            _ => error.is_not_of_a_name(),
        }
        // FATAL and PANIC close the connection
        if error.database().is_some_and(DbError::ends_session) {
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

    /// Returns whether a reported error proves that the current transaction is rolled back. An
    /// `ERROR` of PostgreSQL ends its transaction. An error that ends the session is sent in order
    /// with the results of the statements: before the last result, it proves that the end of the
    /// transaction was not reached; after the last result, the commit may have come first. An error
    /// of a pooler proves nothing about the transaction.
    fn is_certain_to_roll_back(&self, error: &Error) -> bool {
        error
            .database()
            .is_some_and(|error| error.is_of_postgresql() && (!error.ends_session() || !self.expected.is_empty()))
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
