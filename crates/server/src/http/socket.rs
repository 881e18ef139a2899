//! The socket itself: clients that stop reading, or read too slowly, lose their connection; and a connection that does not
//! end in order is reset.

use crate::log;
use crate::pace::{Pace, PaceMin};
use nix::sys::socket::{MsgFlags, send};
use std::io;
use std::os::fd::AsRawFd;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::Notify;
use tokio::time::{Instant, Sleep};

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

/// How fast a client must read, in bytes per second, and over which time of waiting for it.
const PACE_BYTES_PER_S_MIN: u64 = 8 * 1024;
const PACE_WINDOW: Duration = Duration::from_secs(60);
const PACE_MIN: PaceMin = PaceMin { bytes_per_s: PACE_BYTES_PER_S_MIN, window: PACE_WINDOW };
/// How often a client that takes nothing is tried again: the system says that there is room when a third of its buffer is
/// free, which is a minute's worth for a slow line.
const TRY_INTERVAL: Duration = Duration::from_secs(1);

/// State of a connection: whether its client has left bytes of responses untaken.
///
/// hyper requests the next response while a preceding one that consists of a head is still in its
/// buffer. Without this state, the heads of many responses would accumulate there for a client that
/// reads nothing.
#[derive(Debug, Default)]
pub(crate) struct Untaken {
    is_waiting: AtomicBool,
    taken: Notify,
}

impl Untaken {
    /// Waits until the client has taken the bytes that were written.
    pub(crate) async fn taken(&self) {
        while self.is_waiting.load(Ordering::Relaxed) {
            self.taken.notified().await;
        }
    }

    fn begin(&self) {
        self.is_waiting.store(true, Ordering::Relaxed);
    }

    fn end(&self) {
        if self.is_waiting.load(Ordering::Relaxed) {
            self.is_waiting.store(false, Ordering::Relaxed);
            self.taken.notify_one();
        }
    }
}

/// A client's socket.
pub(crate) struct Socket<S: Reset> {
    stream: S,
    untaken: Arc<Untaken>,
    stall_timeout: Duration,
    /// Since when the client takes nothing, and when it is tried again.
    waiting: Option<(Instant, Pin<Box<Sleep>>)>,
    /// How it reads.
    pace: Pace,
    has_ended: bool,
}

impl<S: Reset> Socket<S> {
    pub(crate) fn new(stream: S, stall_timeout: Duration) -> Self {
        let (untaken, pace) = (Arc::default(), Pace::default());
        Self { stream, untaken, stall_timeout, waiting: None, pace, has_ended: false }
    }

    /// Returns the state that reports whether the client has left bytes of its responses untaken.
    pub(crate) fn untaken(&self) -> Arc<Untaken> {
        self.untaken.clone()
    }
}

impl<S: Reset + AsRawFd> Socket<S> {
    /// The outcome of a write of some bytes, or a failure where the client has taken too little for too long.
    fn in_time(
        &mut self,
        cx: &mut Context<'_>,
        bytes: &[u8],
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let written = match written {
            Poll::Ready(written) => written,
            Poll::Pending => {
                self.untaken.begin();
                ready!(self.try_again(cx, bytes))
            }
        };
        self.untaken.end();
        let waited = self.waiting.take().map_or(Duration::ZERO, |(since, _)| since.elapsed());
        let bytes = *written.as_ref().unwrap_or(&0) as u64;
        if self.pace.is_too_slow(waited, bytes, PACE_MIN) {
            log::error_line("a response was cut: the client reads too slowly");
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        Poll::Ready(written)
    }

    /// Tries again from time to time whether there is room for some bytes.
    fn try_again(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let interval = TRY_INTERVAL.min(self.stall_timeout);
        let new = || (Instant::now(), Box::pin(tokio::time::sleep(interval)));
        let (since, next_try) = self.waiting.get_or_insert_with(new);
        loop {
            ready!(next_try.as_mut().poll(cx));
            let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
            match send(self.stream.as_raw_fd(), bytes, flags) {
                Ok(sent) if sent > 0 => return Poll::Ready(Ok(sent)),
                _ if since.elapsed() >= self.stall_timeout => {
                    log::error_line("a response was cut: the client has stopped reading");
                    return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
                }
                // whatever else is wrong with it, the stream says
                _ => next_try.as_mut().reset(Instant::now() + interval),
            }
        }
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

impl<S: AsyncWrite + AsRawFd + Reset + Unpin> AsyncWrite for Socket<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.in_time(cx, buf, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        let first = bufs.iter().find(|buf| !buf.is_empty()).map_or(&[][..], |buf| buf);
        self.in_time(cx, first, written)
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

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    /// What becomes of a response whose client reads so many bytes a second, once it has taken what the system holds.
    async fn written_to_who_reads(bytes_per_s: usize) -> io::Result<()> {
        let (stream, mut client) = UnixStream::pair()?;
        let mut socket = Socket::new(stream, Duration::from_secs(30));
        let reading = tokio::spawn(async move {
            let mut piece = vec![0; bytes_per_s];
            while client.read_exact(&mut piece).await.is_ok() {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        });
        let written = socket.write_all(&vec![0; 400 * bytes_per_s]).await;
        socket.shutdown().await?;
        drop(socket);
        reading.await?;
        written
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_must_keep_a_pace() {
        assert!(written_to_who_reads(64 * 1024).await.is_ok());
        assert!(written_to_who_reads(2 * PACE_BYTES_PER_S_MIN as usize).await.is_ok());
        let error = written_to_who_reads(PACE_BYTES_PER_S_MIN as usize / 2).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_is_cut() {
        let (stream, client) = UnixStream::pair().unwrap();
        let mut socket = Socket::new(stream, Duration::from_secs(30));
        let started = Instant::now();
        let error = socket.write_all(&vec![0; 16 * 1024 * 1024]).await.unwrap_err();
        assert_eq!((error.kind(), started.elapsed().as_secs()), (io::ErrorKind::TimedOut, 30));
        drop(client);
    }
}
