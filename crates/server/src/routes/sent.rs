//! The body of a request as a handler receives it.

use crate::api::ApiFailure;
use crate::error::ApiError;
use crate::upload::Incoming;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::runtime::Handle;

/// The body of a request, as a handler takes it from its client: as it comes, within `client-body-max`, and in time. What is
/// not taken is read and thrown away, so that the client reads the answer.
pub struct ClientBody {
    state: State,
    size: SizeHint,
    is_verbose: bool,
}

enum State {
    Waiting(Box<Incoming>),
    Reading(Pin<Box<dyn Future<Output = Read> + Send>>),
    Ended,
}

/// The next bytes, and where more come from.
type Read = (Box<Incoming>, Result<Option<Bytes>, ApiError>);

impl ClientBody {
    pub(crate) fn new(incoming: Incoming, is_verbose: bool) -> Self {
        Self { size: incoming.size_hint(), state: State::Waiting(Box::new(incoming)), is_verbose }
    }
}

impl http_body::Body for ClientBody {
    type Data = Bytes;
    type Error = ApiFailure;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, ApiFailure>>> {
        loop {
            match &mut self.state {
                State::Ended => return Poll::Ready(None),
                State::Waiting(_) => {
                    let State::Waiting(mut incoming) = std::mem::replace(&mut self.state, State::Ended) else {
                        continue;
                    };
                    self.state = State::Reading(Box::pin(async move {
                        let next = incoming.next_of_handler().await;
                        (incoming, next)
                    }));
                }
                State::Reading(reading) => {
                    let (incoming, next) = ready!(reading.as_mut().poll(cx));
                    self.size = SizeHint::default();
                    self.state = State::Waiting(incoming);
                    let is_verbose = self.is_verbose;
                    return Poll::Ready(match next {
                        Ok(next) => next.map(|bytes| Ok(Frame::data(bytes))),
                        Err(error) => {
                            self.give_up();
                            Some(Err(ApiFailure::of(error, is_verbose)))
                        }
                    });
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.state {
            State::Waiting(incoming) => incoming.has_ended(),
            State::Reading(_) => false,
            State::Ended => true,
        }
    }

    fn size_hint(&self) -> SizeHint {
        self.size
    }
}

impl ClientBody {
    /// Takes nothing more of it.
    fn give_up(&mut self) {
        let state = std::mem::replace(&mut self.state, State::Ended);
        // without one the client is gone, too
        let Ok(runtime) = Handle::try_current() else { return };
        match state {
            State::Waiting(incoming) if !incoming.has_ended() => drop(runtime.spawn(incoming.discard())),
            State::Reading(reading) => drop(runtime.spawn(async move { reading.await.0.discard().await })),
            State::Waiting(_) | State::Ended => {}
        }
    }
}

impl Drop for ClientBody {
    fn drop(&mut self) {
        self.give_up();
    }
}

impl fmt::Debug for ClientBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBody").finish_non_exhaustive()
    }
}
