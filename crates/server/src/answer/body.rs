//! A response's body: whole, or rows that flow from the database as the client takes them.

use crate::transaction::{Entered, Replies};
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use hyper::Version;
use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use thalweg_wire::{Progress, StepError};

/// The body of a response.
pub(crate) struct Body {
    chunks: VecDeque<Bytes>,
    left: Option<u64>,
    flowing: Option<Box<Flowing>>,
}

/// Rows that are still to come, and the transaction they come from.
struct Flowing {
    entered: Entered,
    replies: Replies,
}

/// The rows broke off. The connection to the client is reset (`http/socket.rs`), so that it cannot take what it has for all
/// there is.
#[derive(Debug)]
pub(crate) struct Torn;

impl fmt::Display for Torn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the database failed while rows were being sent")
    }
}

impl std::error::Error for Torn {}

impl Body {
    pub(crate) fn whole(bytes: Bytes) -> Self {
        Self::chunks(VecDeque::from([bytes]))
    }

    pub(crate) fn chunks(chunks: VecDeque<Bytes>) -> Self {
        let left = chunks.iter().map(|chunk| chunk.len() as u64).sum();
        Self { chunks, left: Some(left), flowing: None }
    }

    pub(crate) fn flowing(chunks: VecDeque<Bytes>, entered: Entered, replies: Replies) -> Self {
        Self { chunks, left: None, flowing: Some(Box::new(Flowing { entered, replies })) }
    }

    /// Bytes of which it is known how many will come.
    pub(crate) fn flowing_bytes(chunks: VecDeque<Bytes>, entered: Entered, replies: Replies, size_bytes: u64) -> Self {
        Self { left: Some(size_bytes), ..Self::flowing(chunks, entered, replies) }
    }

    /// The size in bytes, where it is known.
    pub(crate) fn size_bytes(&self) -> Option<u64> {
        self.left
    }

    /// Whether it may break off without anything that says so but the connection's end.
    pub(crate) fn ends_with_connection(&self, version: Version) -> bool {
        self.left.is_none() && version < Version::HTTP_11
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Torn;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Torn>>> {
        if let Some(chunk) = self.chunks.pop_front() {
            if let Some(left) = &mut self.left {
                *left -= chunk.len() as u64;
            }
            return Poll::Ready((!chunk.is_empty()).then_some(Ok(Frame::data(chunk))));
        }
        let Some(flowing) = &mut self.flowing else { return Poll::Ready(None) };
        let Flowing { entered, replies } = &mut **flowing;
        let step = ready!(entered.poll_step(cx, replies));
        let chunk = match step {
            Ok(Progress::Paused) => replies.encoder.take(),
            // a response that flows is of a pipeline with an end
            Ok(Progress::Done | Progress::Open | Progress::CopyIn) => {
                let last = replies.encoder.finish();
                self.flowing = None;
                last
            }
            Err(error) => {
                let cause = match &error {
                    StepError::Wire(error) => error.to_string(),
                    StepError::Sink(error) => error.to_string(),
                };
                tracing::error!(cause, "a response was cut: its rows broke off");
                self.flowing = None;
                return Poll::Ready(Some(Err(Torn)));
            }
        };
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(chunk.len() as u64);
        }
        Poll::Ready((!chunk.is_empty()).then(|| Ok(Frame::data(chunk.into()))))
    }

    fn is_end_stream(&self) -> bool {
        self.chunks.iter().all(Bytes::is_empty) && self.flowing.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
