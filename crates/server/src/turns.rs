//! Turns of requests that take much or long: those that keep a database connection for as long as it takes leave some of the
//! pool to others.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use thalweg_wire::PoolError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// One of how many connections is left to short requests.
const LEFT_PART: usize = 2;
/// How many requests may wait for a turn.
const WAITING_MAX: usize = 1000;

/// Turns, of which there are so many at a time.
pub(crate) struct Turns {
    free: Arc<Semaphore>,
    waiting: AtomicUsize,
    wait: Duration,
}

/// A turn, which ends when it is dropped.
pub(crate) type Turn = OwnedSemaphorePermit;

impl Turns {
    /// So many, each waited for as long.
    pub(crate) fn new(turns: usize, wait: Duration) -> Self {
        Self { free: Arc::new(Semaphore::new(turns)), waiting: AtomicUsize::new(0), wait }
    }

    /// Those of a pool of so many connections.
    pub(crate) fn of_pool(connections: usize, wait: Duration) -> Self {
        Self::new((connections - connections / LEFT_PART).max(1), wait)
    }

    /// A turn, if one is free.
    pub(crate) fn take(&self) -> Option<Turn> {
        self.free.clone().try_acquire_owned().ok()
    }

    /// The next turn.
    pub(crate) async fn next(&self) -> Result<Turn, PoolError> {
        if let Some(turn) = self.take() {
            return Ok(turn);
        }
        let _waiting = Waiting::among(&self.waiting).ok_or(PoolError::QueueFull)?;
        let turn = tokio::time::timeout(self.wait, self.free.clone().acquire_owned()).await;
        turn.ok().and_then(Result::ok).ok_or(PoolError::Timeout)
    }
}

struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    /// One more who waits, if that may be.
    fn among(waiting: &'a AtomicUsize) -> Option<Self> {
        let this = Self(waiting);
        (waiting.fetch_add(1, Ordering::Relaxed) < WAITING_MAX).then_some(this)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_connections_are_left() {
        for (connections, turns) in [(1, 1), (2, 1), (3, 2), (4, 2), (10, 5), (100, 50)] {
            let all = Turns::of_pool(connections, Duration::ZERO);
            let taken: Vec<Turn> = std::iter::from_fn(|| all.take()).collect();
            assert_eq!(taken.len(), turns, "{connections}");
        }
    }
}
