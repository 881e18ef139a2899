//! Bodies of code that joins in: of what its handlers answer, and of what they send to the API.

use bytes::Bytes;
use http_body::SizeHint;
use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Any error.
pub(crate) type BoxError = Box<dyn Error + Send + Sync>;

/// A body of whatever type, of which a panic is an error.
pub(crate) struct Frames {
    /// Until it has ended, or failed.
    body: Option<Pin<Box<dyn Polled>>>,
}

trait Polled: Send {
    fn poll_data(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BoxError>>>;

    fn has_ended(&self) -> bool;

    fn size(&self) -> SizeHint;
}

impl<B> Polled for B
where
    B: http_body::Body<Data = Bytes> + Send,
    B::Error: Into<BoxError>,
{
    fn poll_data(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BoxError>>> {
        loop {
            return Poll::Ready(match ready!(self.as_mut().poll_frame(cx)) {
                None => None,
                Some(Err(error)) => Some(Err(error.into())),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(bytes) => Some(Ok(bytes)),
                    // trailers say nothing of a body
                    Err(_) => continue,
                },
            });
        }
    }

    fn has_ended(&self) -> bool {
        self.is_end_stream()
    }

    fn size(&self) -> SizeHint {
        self.size_hint()
    }
}

impl Frames {
    pub(crate) fn of<B>(body: B) -> Self
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Self { body: Some(Box::pin(body)) }
    }

    pub(crate) fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BoxError>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let polled = catch_unwind(AssertUnwindSafe(|| body.as_mut().poll_data(cx)));
        let next = match polled {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(next)) => next,
            Err(_) => Some(Err("it panicked".into())),
        };
        if !matches!(next, Some(Ok(_))) {
            self.body = None;
        }
        Poll::Ready(next)
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.body.as_ref().is_none_or(|body| body.has_ended())
    }

    /// The size in bytes, where it is known.
    pub(crate) fn size_bytes(&self) -> Option<u64> {
        self.body.as_ref().map_or(Some(0), |body| body.size().exact())
    }
}
