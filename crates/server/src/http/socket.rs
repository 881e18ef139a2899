//! The socket itself: clients that stop reading lose their connection, so that they cannot keep a database connection; and
//! a connection that does not end in order is reset.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::Sleep;

/// A stream whose other end can be told that what it has is not all.
pub(crate) trait Reset {
    /// Whether a reader can tell a connection that was cut from one that ended in order.
    const SHOWS_CUTS: bool;

    /// Makes the other end fail, instead of seeing an end, when this one is dropped.
    fn reset_when_dropped(&self);
}

impl Reset for TcpStream {
    const SHOWS_CUTS: bool = true;

    fn reset_when_dropped(&self) {
        // If the socket is not connected any more, there is nobody to be told.
        let _ = self.set_zero_linger();
    }
}

impl Reset for UnixStream {
    const SHOWS_CUTS: bool = false;

    /// A Unix socket has no such thing.
    fn reset_when_dropped(&self) {}
}

/// A client's socket.
pub(crate) struct Socket<S: Reset> {
    stream: S,
    stall_timeout: Duration,
    /// Runs while the client takes nothing.
    stalled: Option<Pin<Box<Sleep>>>,
    has_ended: bool,
}

impl<S: Reset> Socket<S> {
    pub(crate) fn new(stream: S, stall_timeout: Duration) -> Self {
        Self { stream, stall_timeout, stalled: None, has_ended: false }
    }

    /// The outcome of a write, or a failure where writes have been pending for too long.
    fn or_stalled<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let timeout = self.stall_timeout;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(timeout)));
        ready!(stalled.as_mut().poll(cx));
        tracing::error!(stalled_s = timeout.as_secs_f64(), "a response was cut: the client has stopped reading");
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

/// Whatever the reason (a body that failed, a client that stalls, a server that must stop): over HTTP/1.0 a response often has
/// no end but the connection's, and the client would take what it has for all there is.
impl<S: Reset> Drop for Socket<S> {
    fn drop(&mut self) {
        if !self.has_ended {
            self.stream.reset_when_dropped();
        }
    }
}

impl<S: AsyncRead + Reset + Unpin> AsyncRead for Socket<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Reset + Unpin> AsyncWrite for Socket<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.or_stalled(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.or_stalled(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    /// All that was to be sent has been written: the connection ends in order.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.has_ended = true;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
