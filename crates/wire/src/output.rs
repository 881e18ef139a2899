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
/// What was needed for more than this is given back once it has been sent.
const TAIL_KEPT_BYTES_MAX: usize = 256 * 1024;

#[derive(Default)]
pub(crate) struct Output {
    queue: VecDeque<Bytes>,
    tail: BytesMut,
    /// Number of bytes that the stream has taken since the connection was opened.
    written: u64,
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

    /// Returns the position in the stream at which the next message begins, in bytes.
    pub(crate) fn end(&self) -> u64 {
        let queued: usize = self.queue.iter().map(Bytes::len).sum();
        self.written + (queued + self.tail.len()) as u64
    }

    /// Returns whether the stream has taken all bytes up to a position.
    pub(crate) fn has_written(&self, position: u64) -> bool {
        self.written >= position
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
            self.written += written as u64;
        }
        if self.tail.try_reclaim(TAIL_KEPT_BYTES_MAX + 1) {
            self.tail = BytesMut::new();
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Waker;

    #[test]
    fn a_position_is_written_once_the_stream_has_taken_all_bytes_up_to_it() {
        let (end, mut other) = tokio::io::duplex(8);
        let mut stream = Stream::Other(Box::new(end));
        let mut output = Output::default();
        output.buffer().extend_from_slice(b"12345");
        output.chunk(Bytes::from_static(b"678"));
        let first = output.end();
        output.buffer().extend_from_slice(b"9");
        let second = output.end();
        assert_eq!((first, second), (8, 9));
        assert!(!output.has_written(first));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(output.poll_flush(&mut stream, &mut cx).is_pending());
        assert!(output.has_written(first) && !output.has_written(second));
        assert_eq!(output.end(), second);
        let mut taken = [0; 8];
        let mut buffer = tokio::io::ReadBuf::new(&mut taken);
        assert!(tokio::io::AsyncRead::poll_read(Pin::new(&mut other), &mut cx, &mut buffer).is_ready());
        assert!(output.poll_flush(&mut stream, &mut cx).is_ready());
        assert!(output.has_written(second));
    }

    #[test]
    fn what_a_large_message_needed_is_given_back() {
        let mut stream = Stream::Other(Box::new(tokio::io::join(tokio::io::empty(), tokio::io::sink())));
        let mut output = Output::default();
        for (bytes, chunk, is_kept) in [
            (TAIL_KEPT_BYTES_MAX / 2, false, true),
            (TAIL_KEPT_BYTES_MAX + 1, false, false),
            (100, false, true),
            (10 * TAIL_KEPT_BYTES_MAX, true, false),
        ] {
            output.buffer().extend_from_slice(&vec![b'x'; bytes]);
            if chunk {
                output.chunk(Bytes::from_static(b"chunk"));
                output.buffer().extend_from_slice(&vec![b'x'; bytes]);
            }
            assert!(output.poll_flush(&mut stream, &mut Context::from_waker(Waker::noop())).is_ready());
            assert!(output.is_empty());
            assert!(!output.tail.try_reclaim(TAIL_KEPT_BYTES_MAX + 1), "{bytes}");
            assert_eq!(output.tail.try_reclaim(bytes), is_kept, "{bytes}");
        }
    }
}
