//! What hyper reads: requests that have been judged, byte for byte as they came but for targets that were mended.

use crate::http::framing::{Framing, Judgement, Refusal};
use crate::http::mend::mend;
use crate::http::refused::RefusedRequest;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// How much is read at a time while the rest of a head is waited for, in bytes.
const PIECE_BYTES: usize = 4 * 1024;
/// A buffer that has grown larger than this is not kept for the next request, in bytes.
const KEPT_BYTES_MAX: usize = 16 * 1024;
/// How much of what comes behind the end of a connection is read away, in bytes, and for how long: the system tells a client
/// whose bytes nobody has read that the connection is gone, and throws away the answer that says why.
const BEHIND_BYTES_MAX: usize = 1024 * 1024;
const BEHIND_TIME_MAX: Duration = Duration::from_secs(2);

/// A client's stream of which only what has been judged can be read.
pub(crate) struct Framed<S> {
    stream: S,
    framing: Framing,
    /// What cannot be read straight into hyper's buffer: mended heads, and heads of which the end is still to come.
    held: Vec<u8>,
    /// How much of that hyper has.
    taken: usize,
    /// How much of it has been judged. Behind it is the beginning of a head.
    judged: usize,
    refused: Option<Refused>,
    behind: Option<(Pin<Box<Sleep>>, usize)>,
}

/// A connection on which nothing is read any more.
enum Refused {
    /// hyper has not been given a replacement for the refused request yet.
    Unread(Box<RefusedRequest>),
    /// hyper has a replacement for the refused request, and ends the connection after it. Until
    /// then it must not see the end of the stream: hyper would assume that the client has gone, and
    /// not answer.
    Answered,
    /// hyper has been given an error for a malformed body.
    Failed,
}

impl<S> Framed<S> {
    pub(crate) fn new(stream: S) -> Self {
        let framing = Framing::new();
        Self { stream, framing, held: Vec::new(), taken: 0, judged: 0, refused: None, behind: None }
    }

    pub(crate) fn into_inner(self) -> S {
        self.stream
    }

    /// Judges what has been read into hyper's buffer; returns how much of it may stay there.
    fn judge(&mut self, bytes: &[u8]) -> usize {
        match self.framing.judge(bytes) {
            Judgement::Good => bytes.len(),
            Judgement::HeadBegins(at) => {
                self.held.extend_from_slice(&bytes[at..]);
                at
            }
            Judgement::Mend(start, end) => {
                self.mend(&bytes[start..end]);
                if self.refused.is_none() {
                    self.held.extend_from_slice(&bytes[end..]);
                    self.judge_held();
                }
                start
            }
            Judgement::Refused(at, refusal) => {
                self.refuse(refusal, &bytes[at..]);
                at
            }
        }
    }

    /// Judges what is held.
    fn judge_held(&mut self) {
        while self.judged < self.held.len() && self.refused.is_none() {
            match self.framing.judge(&self.held[self.judged..]) {
                Judgement::Good => self.judged = self.held.len(),
                Judgement::HeadBegins(at) => {
                    self.judged += at;
                    return;
                }
                Judgement::Mend(start, end) => {
                    let head = self.held.split_off(self.judged + start);
                    self.mend(&head[..end - start]);
                    self.held.extend_from_slice(&head[end - start..]);
                }
                Judgement::Refused(at, refusal) => {
                    self.judged += at;
                    self.refused =
                        Some(Refused::Unread(RefusedRequest::from_head(refusal, &self.held[self.judged..]).into()));
                }
            }
        }
        if self.refused.is_some() {
            self.held.truncate(self.judged);
        }
    }

    fn mend(&mut self, head: &[u8]) {
        match mend(head, &mut self.held) {
            Ok(()) => self.judged = self.held.len(),
            Err(refusal) => {
                self.held.truncate(self.judged);
                self.refuse(refusal, head);
            }
        }
    }

    fn refuse(&mut self, refusal: Refusal, head: &[u8]) {
        self.refused = Some(Refused::Unread(RefusedRequest::from_head(refusal, head).into()));
    }

    /// Returns the request of which only a part of the head has arrived, if there is one.
    pub(crate) fn begun(&self) -> Option<RefusedRequest> {
        let begun = self.held.get(self.judged..).filter(|begun| !begun.is_empty() && self.refused.is_none())?;
        Some(RefusedRequest::from_head(Refusal::HeadTooSlow, begun))
    }

    /// Forgets what hyper has, and gives back the memory of what was large.
    fn forget_taken(&mut self) {
        self.held.drain(..self.judged);
        (self.taken, self.judged) = (0, 0);
        if self.held.is_empty() && self.held.capacity() > KEPT_BYTES_MAX {
            self.held = Vec::new();
        }
    }

    /// Gives hyper a replacement for the refused request, or an error for a malformed body. hyper
    /// reads it once all preceding requests have been answered.
    fn replace(&mut self, refused: &RefusedRequest) -> io::Result<()> {
        if refused.refusal == Refusal::Body {
            self.refused = Some(Refused::Failed);
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the chunks are malformed"));
        }
        self.refused = Some(Refused::Answered);
        refused.write(&mut self.held);
        self.judged = self.held.len();
        Ok(())
    }
}

impl<S: AsyncRead + Unpin> Framed<S> {
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

    /// Reads more of a head whose beginning is held; how much there was.
    fn read_on(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let before = self.held.len();
        self.held.resize(before + PIECE_BYTES, 0);
        let mut piece = ReadBuf::new(&mut self.held[before..]);
        let read = Pin::new(&mut self.stream).poll_read(cx, &mut piece);
        let count = piece.filled().len();
        self.held.truncate(before + count);
        ready!(read)?;
        Poll::Ready(Ok(count))
    }

    /// Reads away what a client sends that does not know yet that its connection has ended.
    fn read_away(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let new = || (Box::pin(tokio::time::sleep(BEHIND_TIME_MAX)), 0);
        let (time, bytes) = self.behind.get_or_insert_with(new);
        let mut piece = [0; PIECE_BYTES];
        while *bytes < BEHIND_BYTES_MAX {
            let mut piece = ReadBuf::new(&mut piece);
            match Pin::new(&mut self.stream).poll_read(cx, &mut piece) {
                Poll::Ready(Ok(())) if !piece.filled().is_empty() => *bytes += piece.filled().len(),
                Poll::Ready(_) => break,
                Poll::Pending => return time.as_mut().poll(cx),
            }
        }
        Poll::Ready(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Framed<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        loop {
            if this.taken < this.judged {
                let count = buf.remaining().min(this.judged - this.taken);
                buf.put_slice(&this.held[this.taken..this.taken + count]);
                this.taken += count;
                return Poll::Ready(Ok(()));
            }
            this.forget_taken();
            match this.refused.take() {
                None => {}
                Some(Refused::Unread(refused)) => {
                    this.replace(&refused)?;
                    continue;
                }
                Some(Refused::Answered) => {
                    this.refused = Some(Refused::Answered);
                    return Poll::Pending;
                }
                Some(Refused::Failed) => {
                    this.refused = Some(Refused::Failed);
                    return Poll::Ready(Ok(()));
                }
            }
            if this.held.is_empty() {
                let before = buf.filled().len();
                ready!(this.fill(cx, buf))?;
                let read = &buf.filled()[before..];
                let (is_end, good) = (read.is_empty(), this.judge(read));
                buf.set_filled(before + good);
                // what is read from a stream that has not ended must not look as if it had
                if is_end || good > 0 {
                    return Poll::Ready(Ok(()));
                }
            } else if ready!(this.read_on(cx))? == 0 {
                return Poll::Ready(Ok(()));
            } else {
                this.judge_held();
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Framed<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.behind.is_none() {
            ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
        }
        if self.refused.is_some() || !self.framing.is_between_requests() {
            ready!(self.read_away(cx));
        }
        Poll::Ready(Ok(()))
    }
}
