//! Request lines as clients write them: `"`, `<` and `>` stand unescaped in many a query (`data->key`, `in.("a")`),
//! PostgREST takes them, and the `http` crate does not. They are escaped on the way to hyper.
//!
//! And clients that stop reading: they lose their connection, so that they cannot keep a database connection.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// Whether the next bytes begin a request: true at first, and whenever a request has been answered whose body, if
/// any, has been read. Bodies are never touched.
#[derive(Clone)]
pub(crate) struct Expecting(Arc<AtomicBool>);

impl Expecting {
    pub(crate) fn request() -> Self {
        Self(Arc::new(AtomicBool::new(true)))
    }

    /// A request without a body has been answered.
    pub(crate) fn answered(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A client's stream with escaped request lines.
pub(crate) struct Lenient<S> {
    stream: S,
    expecting: Expecting,
    in_line: bool,
    /// What has been escaped and not been taken yet.
    escaped: Vec<u8>,
    taken: usize,
    stall_timeout: Duration,
    /// Runs while the client takes nothing.
    stalled: Option<Pin<Box<Sleep>>>,
}

const METHODS: [&[u8]; 7] = [b"GET /", b"HEAD /", b"POST /", b"PATCH /", b"PUT /", b"DELETE /", b"OPTIONS /"];
/// How much of a request line is escaped at a time.
const PIECE_BYTES: usize = 512;

impl<S> Lenient<S> {
    pub(crate) fn new(stream: S, expecting: Expecting, stall_timeout: Duration) -> Self {
        Self { stream, expecting, in_line: false, escaped: Vec::new(), taken: 0, stall_timeout, stalled: None }
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
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    /// Whether what was just read begins or goes on with a request line that holds something to escape. If so, it is
    /// kept here with that escaped.
    fn keep_escaped(&mut self, read: &[u8]) -> bool {
        if !self.in_line {
            self.in_line = METHODS.iter().any(|method| read.starts_with(method));
        }
        if !self.in_line {
            return false;
        }
        let line = read.iter().position(|&byte| byte == b'\n');
        self.in_line = line.is_none();
        let (line, rest) = read.split_at(line.unwrap_or(read.len()));
        if !line.iter().any(|byte| matches!(byte, b'"' | b'<' | b'>')) {
            return false;
        }
        self.escaped.clear();
        self.taken = 0;
        for &byte in line {
            match byte {
                b'"' => self.escaped.extend_from_slice(b"%22"),
                b'<' => self.escaped.extend_from_slice(b"%3C"),
                b'>' => self.escaped.extend_from_slice(b"%3E"),
                byte => self.escaped.push(byte),
            }
        }
        self.escaped.extend_from_slice(rest);
        true
    }
}

impl<S: AsyncRead + Unpin> Lenient<S> {
    /// Reads what there is. What a body came in is kept as it is, so that room that is left over in it is wasted.
    fn fill(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        while buf.remaining() > 0 && !buf.filled().is_empty() {
            let before = buf.filled().len();
            match Pin::new(&mut self.stream).poll_read(cx, buf) {
                Poll::Ready(Ok(())) if buf.filled().len() > before => {}
                // an end or a failure shows again next time
                _ => break,
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Lenient<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        loop {
            if this.taken < this.escaped.len() {
                let count = buf.remaining().min(this.escaped.len() - this.taken);
                buf.put_slice(&this.escaped[this.taken..this.taken + count]);
                this.taken += count;
                return Poll::Ready(Ok(()));
            }
            if !this.in_line && !this.expecting.0.load(Ordering::Relaxed) {
                return this.fill(cx, buf);
            }
            // Read to a place of its own, where it can be looked at before hyper sees it.
            let mut piece = [0; PIECE_BYTES];
            let room = buf.remaining().min(PIECE_BYTES);
            let mut piece = ReadBuf::new(&mut piece[..room]);
            ready!(Pin::new(&mut this.stream).poll_read(cx, &mut piece))?;
            this.expecting.0.store(false, Ordering::Relaxed);
            if this.keep_escaped(piece.filled()) {
                continue;
            }
            buf.put_slice(piece.filled());
            return Poll::Ready(Ok(()));
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Lenient<S> {
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

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
