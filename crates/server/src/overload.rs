//! Refusals of requests because too many others wait: prepared once, and paced.
//!
//! A refusal is cheap, but a client that retries at once causes many of them. Two rules keep
//! refusals from taking the processor from the requests that are served:
//!
//! * A client is asked to come back after a second (`Retry-After`). If it sends its next request on
//!   the same connection earlier, and that request would be refused too, the request waits for the
//!   rest of the second.
//! * Refusals leave the server at a bounded rate, after a burst that is sent at once. This slows
//!   down clients that open a new connection for each request. The rate is lower while requests are
//!   served, since these need the processor, and higher while the database has stalled.
//!
//! A request that waits here holds its connection and a timer, and no place in a queue.

use crate::answer::Body;
use crate::error::ApiError;
use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderValue, SERVER};
use hyper::{Method, Response};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;
use thalweg_wire::PoolError;
use tokio::time::Instant;

/// Value of `Retry-After` in seconds. A client that comes back earlier waits for the rest of this
/// time.
pub(crate) const RETRY_AFTER_S: u64 = 1;
/// Number of refusals that leave the server in a second while requests are served, after a burst of
/// five times as many.
const REFUSALS_PER_S_MAX: u32 = 200;
/// Number of refusals that leave the server in a second while the database has stalled.
const STALLED_REFUSALS_PER_S_MAX: u32 = 2_000;
/// Length of the burst: the refusals of this time may leave the server at once after a pause.
const BURST: Duration = Duration::from_secs(5);
/// Longest time for which a refusal is held back.
const REFUSAL_DELAY_MAX: Duration = Duration::from_secs(5);

/// The rate at which refusals leave the server.
#[derive(Debug)]
pub(crate) struct RefusalPace {
    /// Times at which all refusals so far would have left at the bounded rate: first at the rate
    /// while requests are served, then at the rate while the database has stalled.
    all_sent: [Mutex<Instant>; 2],
}

impl RefusalPace {
    pub(crate) fn new() -> Self {
        Self { all_sent: [(); 2].map(|()| Mutex::new(Instant::now())) }
    }

    /// Returns the time for which to hold back a refusal, and counts the refusal as sent.
    pub(crate) fn delay(&self, now: Instant, is_stalled: bool) -> Duration {
        let interval =
            Duration::from_secs(1) / if is_stalled { STALLED_REFUSALS_PER_S_MAX } else { REFUSALS_PER_S_MAX };
        let mut all_sent = self.all_sent[usize::from(is_stalled)].lock().unwrap_or_else(PoisonError::into_inner);
        *all_sent = (*all_sent).max(now);
        let delay = (*all_sent - now).saturating_sub(BURST - interval);
        if delay >= REFUSAL_DELAY_MAX {
            // The delay is at its bound: refusals that are sent without pacing do not delay those
            // of others any further.
            return REFUSAL_DELAY_MAX;
        }
        *all_sent += interval;
        delay
    }
}

/// Time until which the client of one connection was asked to stay away.
#[derive(Debug, Default)]
pub(crate) struct StayAway {
    until: Mutex<Option<Instant>>,
}

impl StayAway {
    /// Starts the time, because a request has been refused.
    pub(crate) fn begin(&self) {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(Instant::now() + Duration::from_secs(RETRY_AFTER_S));
    }

    /// Ends the time and returns its end, if that has not passed yet.
    pub(crate) fn rest(&self) -> Option<Instant> {
        let until = self.until.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        (until > Instant::now()).then_some(until)
    }
}

/// A refusal in the forms in which it is logged and sent, created once.
pub(crate) struct Refusal {
    pub(crate) error: ApiError,
    headers: HeaderMap,
    body: Bytes,
}

/// Refusals of requests to the API, without and with details.
static REFUSALS: LazyLock<[Refusal; 2]> = LazyLock::new(|| [false, true].map(Refusal::new));

impl Refusal {
    /// Returns the refusal with or without the details of its error.
    pub(crate) fn of(is_verbose: bool) -> &'static Self {
        &REFUSALS[usize::from(is_verbose)]
    }

    fn new(is_verbose: bool) -> Self {
        let error = ApiError::from(PoolError::QueueFull);
        let mut headers = error.response(is_verbose).headers().clone();
        headers.insert(SERVER, HeaderValue::from_static(crate::http::SERVER_NAME));
        let body = error.json(is_verbose).into();
        Self { error, headers, body }
    }

    pub(crate) fn response(&self, method: &Method) -> Response<Body> {
        let body = if *method == Method::HEAD { Bytes::new() } else { self.body.clone() };
        let mut response = Response::new(Body::whole(body));
        *response.status_mut() = self.error.status;
        *response.headers_mut() = self.headers.clone();
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    #[tokio::test(start_paused = true)]
    async fn a_burst_of_refusals_leaves_at_once_and_later_ones_at_a_bounded_rate() {
        for (is_stalled, at_once, interval_us) in [(false, 1_000, 5_000), (true, 10_000, 500)] {
            let pace = RefusalPace::new();
            let now = Instant::now();
            assert!((0..at_once).all(|_| pace.delay(now, is_stalled).is_zero()));
            assert_eq!(pace.delay(now, is_stalled), Duration::from_micros(interval_us));
            // After a second, one second's refusals may leave at once, less the refusal above.
            advance(Duration::from_secs(1)).await;
            let now = Instant::now();
            assert!((1..at_once / 5).all(|_| pace.delay(now, is_stalled).is_zero()));
            assert!(!pace.delay(now, is_stalled).is_zero());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn no_refusal_is_held_back_for_longer_than_the_bound() {
        let pace = RefusalPace::new();
        let now = Instant::now();
        let longest = (0..100_000).map(|_| pace.delay(now, true)).max();
        assert_eq!(longest, Some(REFUSAL_DELAY_MAX));
        advance(2 * REFUSAL_DELAY_MAX).await;
        assert!(pace.delay(Instant::now(), true).is_zero());
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_comes_back_in_time_does_not_wait() {
        let stay_away = StayAway::default();
        assert_eq!(stay_away.rest(), None);
        stay_away.begin();
        advance(Duration::from_millis(400)).await;
        assert_eq!(stay_away.rest(), Some(Instant::now() + Duration::from_millis(600)));
        stay_away.begin();
        advance(Duration::from_secs(RETRY_AFTER_S)).await;
        assert_eq!(stay_away.rest(), None);
    }
}
