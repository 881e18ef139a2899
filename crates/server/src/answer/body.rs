//! A response's body: whole, or rows that flow from the database as the client takes them.

use crate::answer::outlet::{Flow, Flowing, Held};
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use hyper::Version;
use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The body of a response.
pub(crate) struct Body {
    chunks: VecDeque<Bytes>,
    left: Option<u64>,
    /// What is behind the chunks.
    flow: Option<Flow>,
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
        let left = Some(bytes.len() as u64);
        Self { chunks: VecDeque::from([bytes]), left, flow: None }
    }

    /// All of an answer that was held.
    pub(crate) fn held(held: Held) -> Self {
        let (chunks, flow, bytes) = held.finish();
        Self { chunks, left: Some(bytes), flow }
    }

    /// An answer of which more is to come.
    pub(crate) fn flowing(held: Held, flowing: Flowing) -> Self {
        Self { chunks: VecDeque::new(), left: None, flow: Some(held.flow(flowing)) }
    }

    /// The same where it is known how many bytes there will be.
    pub(crate) fn flowing_bytes(held: Held, flowing: Flowing, size_bytes: u64) -> Self {
        Self { left: Some(size_bytes), ..Self::flowing(held, flowing) }
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
        let next = match (self.chunks.pop_front(), &mut self.flow) {
            (Some(chunk), _) => (!chunk.is_empty()).then_some(Ok(chunk)),
            (None, Some(flow)) => ready!(flow.poll_next(cx)),
            (None, None) => None,
        };
        if let (Some(left), Some(Ok(chunk))) = (&mut self.left, &next) {
            *left = left.saturating_sub(chunk.len() as u64);
        }
        Poll::Ready(next.map(|next| next.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.chunks.iter().all(Bytes::is_empty) && self.flow.as_ref().is_none_or(Flow::has_ended)
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
