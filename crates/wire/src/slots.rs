//! A number of places, and a queue for them that is bounded in length and in time.

use crate::pool::PoolError;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many may wait for the places of one queue, where nobody says otherwise.
pub const WAITING_MAX: usize = 1000;

/// Places, each of which is waited for in turn.
#[derive(Debug)]
pub struct Slots {
    free: Arc<Semaphore>,
    waiting: AtomicUsize,
    waiting_max: usize,
    wait: Duration,
    timeouts: AtomicU64,
}

/// A place, which is free again when this is dropped.
pub type Slot = OwnedSemaphorePermit;

impl Slots {
    /// So many, for which so many may wait, each as long.
    pub fn new(slots: usize, waiting_max: usize, wait: Duration) -> Self {
        let (waiting, timeouts) = (AtomicUsize::new(0), AtomicU64::new(0));
        Self { free: Arc::new(Semaphore::new(slots)), waiting, waiting_max, wait, timeouts }
    }

    /// A place, if one is free.
    pub fn take(&self) -> Option<Slot> {
        self.free.clone().try_acquire_owned().ok()
    }

    /// The next place: [`PoolError::QueueFull`] at once, or [`PoolError::Timeout`] when it has been waited for.
    pub async fn next(&self) -> Result<Slot, PoolError> {
        if let Some(slot) = self.take() {
            return Ok(slot);
        }
        let _waiting = Waiting::among(&self.waiting, self.waiting_max).ok_or(PoolError::QueueFull)?;
        let slot = tokio::time::timeout(self.wait, self.free.clone().acquire_owned()).await;
        slot.ok().and_then(Result::ok).ok_or_else(|| {
            self.timeouts.fetch_add(1, Ordering::Relaxed);
            PoolError::Timeout
        })
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// How many have waited for as long as anybody does, in vain.
    pub fn timeouts(&self) -> u64 {
        self.timeouts.load(Ordering::Relaxed)
    }

    /// How many places are free.
    pub fn free(&self) -> usize {
        self.free.available_permits()
    }
}

struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    /// One more who waits, if that may be.
    fn among(waiting: &'a AtomicUsize, waiting_max: usize) -> Option<Self> {
        let this = Self(waiting);
        (waiting.fetch_add(1, Ordering::Relaxed) < waiting_max).then_some(this)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
