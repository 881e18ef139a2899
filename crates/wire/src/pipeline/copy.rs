//! Data of a `COPY` that waits for it.

use super::StepError;
use crate::bind;
use crate::connection::Connection;
use crate::error::{Error, ErrorKind};
use bytes::Bytes;
use postgres_protocol::message::frontend;
use std::task::{Context, Poll, ready};
use thalweg_rows::RowSink;

impl Connection {
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
        self.has_uncommitted = false;
        self.open = false;
        self.sync();
        self.drain().await
    }
}
