//! What is to be sent: encoded messages, and between them chunks that are sent from where they are.

use crate::error::Error;
use crate::stream::Stream;
use bytes::{Buf, Bytes, BytesMut};
use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::AsyncWrite;

/// How many pieces go into one vectored write.
const SLICES_MAX: usize = 16;

#[derive(Default)]
pub(crate) struct Output {
    queue: VecDeque<Bytes>,
    tail: BytesMut,
}

impl Output {
    /// Where messages are encoded to.
    pub(crate) fn buffer(&mut self) -> &mut BytesMut {
        &mut self.tail
    }

    /// Queues a chunk behind what was encoded, without copying it.
    pub(crate) fn chunk(&mut self, chunk: Bytes) {
        if !self.tail.is_empty() {
            self.queue.push_back(self.tail.split().freeze());
        }
        self.queue.push_back(chunk);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.tail.is_empty()
    }

    /// Writes until nothing is left, and flushes.
    pub(crate) fn poll_flush(&mut self, stream: &mut Stream, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        while !self.is_empty() {
            let written = if self.queue.is_empty() {
                let written = ready!(Pin::new(&mut *stream).poll_write(cx, &self.tail))?;
                self.tail.advance(written);
                written
            } else {
                let mut slices = [io::IoSlice::new(&[]); SLICES_MAX];
                let pieces = self.queue.iter().map(|piece| &piece[..]).chain([&self.tail[..]]);
                let mut used = 0;
                for (slice, piece) in slices.iter_mut().zip(pieces) {
                    *slice = io::IoSlice::new(piece);
                    used += 1;
                }
                let written = ready!(Pin::new(&mut *stream).poll_write_vectored(cx, &slices[..used]))?;
                self.advance(written);
                written
            };
            if written == 0 {
                return Poll::Ready(Err(io::Error::from(io::ErrorKind::WriteZero).into()));
            }
        }
        Pin::new(stream).poll_flush(cx).map_err(Error::from)
    }

    fn advance(&mut self, mut written: usize) {
        while let Some(piece) = self.queue.front_mut() {
            let taken = written.min(piece.len());
            piece.advance(taken);
            written -= taken;
            if !piece.is_empty() {
                return;
            }
            self.queue.pop_front();
        }
        self.tail.advance(written);
    }
}
