//! A fixed number of slots, and a queue of the requests that wait for one. The queue is bounded by
//! the time that it is expected to take, not by a number of requests.
//!
//! A request may wait if the queue, at the rate at which slots come back, is expected to take less
//! than a fifth of the time that a request waits at most. A queue that has just begun is a burst:
//! nothing is known of its rate, and it is let in. If no slot has come back for a fifth of that time, what the slots are for has stalled, and only [`WAITING_MIN`] requests may wait. As many may
//! always wait for the whole time, in the order in which they came, however slow the slots are.
//!
//! Slots may become slower after requests have been let in. While more wait than may always wait,
//! and the oldest has waited for twice the time that it was expected to, the newest is served first,
//! since the client of the oldest is the first to give up. Requests that are so late, and those that
//! cannot be served in time any more, are refused.

mod rate;

use crate::pool::PoolError;
use rate::{Estimate, ServiceRate};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

/// Number of requests that may wait for the slots of a queue in any case.
pub const WAITING_MIN: usize = 100;
/// Number of requests that may wait in any case, for each slot, where there are many slots.
const WAITING_PER_SLOT_MIN: usize = 10;
/// Number of requests that may wait for the slots of a queue, unless its owner sets another. It
/// bounds memory only.
pub const WAITING_MAX: usize = 10_000;
/// The expected time in the queue up to which a request may wait, as a part of the longest wait:
/// 2 s of 10 s.
const EXPECTED_WAIT_PART: u32 = 5;
/// The time after which a request is late, in times the longest expected wait: 4 s of 10 s.
const LATE_FACTOR: u32 = 2;
/// The time without any progress after which a queue has stalled, as a part of the longest wait:
/// 2 s of 10 s. It is long enough for a server that is itself short of processor time: if it took
/// that for a stall, it would spend the time that it has on refusals.
const STALLED_PART: u32 = 5;

/// A fixed number of slots, each of which is waited for in a queue. Clones share them.
#[derive(Debug, Clone)]
pub struct Slots {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    /// Number of requests that wait; written under the lock, read without it.
    waiting: AtomicUsize,
    waiting_min: usize,
    waiting_max: usize,
    wait: Duration,
    timeouts: AtomicU64,
}

#[derive(Debug)]
struct Queue {
    free: usize,
    /// The oldest stands first.
    requests: VecDeque<Waiting>,
    /// The ticket of the next request that has to wait.
    ticket: u64,
    /// `None` while nobody waits.
    rate: Option<ServiceRate>,
}

#[derive(Debug)]
struct Waiting {
    /// Tickets ascend from the front of the queue to its end.
    ticket: u64,
    since: Instant,
    sender: oneshot::Sender<Slot>,
}

/// A slot, which is free again when this is dropped.
#[derive(Debug)]
pub struct Slot {
    /// `None` once it has been given to another request.
    shared: Option<Arc<Shared>>,
}

impl Slots {
    /// As many slots as `slots`. For them at most `waiting_max` requests wait, none longer than
    /// `wait`.
    pub fn new(slots: usize, waiting_max: usize, wait: Duration) -> Self {
        let queue = Queue { free: slots, requests: VecDeque::new(), ticket: 0, rate: None };
        let waiting_min = WAITING_MIN.max(slots.saturating_mul(WAITING_PER_SLOT_MIN)).min(waiting_max);
        let (waiting, timeouts) = (AtomicUsize::new(0), AtomicU64::new(0));
        let queue = Mutex::new(queue);
        Self { shared: Arc::new(Shared { queue, waiting, waiting_min, waiting_max, wait, timeouts }) }
    }

    /// A slot, if one is free.
    pub fn take(&self) -> Option<Slot> {
        let mut queue = self.shared.lock();
        queue.free = queue.free.checked_sub(1)?;
        Some(self.slot())
    }

    /// Waits for a slot.
    ///
    /// # Errors
    ///
    /// [`PoolError::QueueFull`] at once if too many wait, or later if the queue has become slower
    /// than expected; [`PoolError::Timeout`] if it has waited for as long as a request waits.
    pub async fn next(&self) -> Result<Slot, PoolError> {
        let mut place = {
            let mut queue = self.shared.lock();
            if let Some(left) = queue.free.checked_sub(1) {
                queue.free = left;
                return Ok(self.slot());
            }
            self.shared.enter(&mut queue)?
        };
        let window = self.shared.window();
        loop {
            let next_look = Instant::now() + window;
            match timeout_at(next_look.min(place.deadline), &mut place.receiver).await {
                Ok(Ok(slot)) => {
                    place.has_slot = true;
                    return Ok(slot);
                }
                // Not reached: a sender is in the queue, or has sent, for as long as its receiver is here.
                Ok(Err(_)) => return Err(PoolError::QueueFull),
                Err(_) if Instant::now() >= place.deadline => {
                    self.shared.timeouts.fetch_add(1, Ordering::Relaxed);
                    return Err(PoolError::Timeout);
                }
                Err(_) if self.shared.leave_if_hopeless(&place) => return Err(PoolError::QueueFull),
                Err(_) => {}
            }
        }
    }

    /// Reports whether another request would not be allowed to wait now.
    pub fn is_full(&self) -> bool {
        self.waiting() >= self.shared.waiting_min && self.shared.lock().is_full(&self.shared, Instant::now())
    }

    /// Reports whether no slot has come back for so long that nothing seems to be served any more.
    pub fn is_stalled(&self) -> bool {
        self.waiting() > 0 && self.shared.lock().estimate(Instant::now()) == Estimate::Stalled
    }

    /// Number of requests that wait.
    pub fn waiting(&self) -> usize {
        self.shared.waiting.load(Ordering::Relaxed)
    }

    /// The time that another request is expected to wait: the longest wait where the queue has
    /// stalled, and none while nothing is known.
    pub fn expected_wait(&self) -> Duration {
        let queue = self.shared.lock();
        match queue.estimate(Instant::now()) {
            Estimate::Unknown => Duration::ZERO,
            Estimate::Stalled => self.shared.wait,
            Estimate::PerSecond(rate) => {
                let expected = Duration::try_from_secs_f64(queue.requests.len() as f64 / rate);
                expected.map_or(self.shared.wait, |expected| expected.min(self.shared.wait))
            }
        }
    }

    /// Number of requests that have waited for the longest time in vain.
    pub fn timeouts(&self) -> u64 {
        self.shared.timeouts.load(Ordering::Relaxed)
    }

    /// Number of free slots.
    pub fn free(&self) -> usize {
        self.shared.lock().free
    }

    fn slot(&self) -> Slot {
        Slot { shared: Some(self.shared.clone()) }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn expected_wait_max(&self) -> Duration {
        self.wait / EXPECTED_WAIT_PART
    }

    /// The time over which the rate is measured, and without progress for which a queue has stalled.
    fn window(&self) -> Duration {
        (self.wait / STALLED_PART).max(Duration::from_millis(1))
    }

    /// Puts a request at the end of the queue, if it may wait.
    fn enter<'a>(&'a self, queue: &mut Queue) -> Result<Place<'a>, PoolError> {
        let now = Instant::now();
        if queue.is_full(self, now) {
            return Err(PoolError::QueueFull);
        }
        queue.rate.get_or_insert_with(|| ServiceRate::new(self.window(), now));
        let (sender, receiver) = oneshot::channel();
        let ticket = queue.ticket;
        queue.ticket += 1;
        queue.requests.push_back(Waiting { ticket, since: now, sender });
        self.publish(queue);
        Ok(Place { shared: self, ticket, receiver, since: now, deadline: now + self.wait, has_slot: false })
    }

    /// Takes a request out of the queue if it is late, or if more wait than can be served within the
    /// longest wait. Requests look at that when they have waited for a while, so that the oldest go
    /// first.
    fn leave_if_hopeless(&self, place: &Place<'_>) -> bool {
        let now = Instant::now();
        let time = if self.is_late(place.since, now) { Duration::ZERO } else { self.wait };
        let mut queue = self.lock();
        queue.requests.len() > queue.allowed(self, time, now) && self.leave(&mut queue, place.ticket)
    }

    /// Takes a request out of the queue, if it is still there.
    fn leave(&self, queue: &mut Queue, ticket: u64) -> bool {
        let found = queue.requests.binary_search_by_key(&ticket, |waiting| waiting.ticket);
        if let Ok(at) = found {
            queue.requests.remove(at);
            self.publish(queue);
        }
        found.is_ok()
    }

    fn is_late(&self, since: Instant, now: Instant) -> bool {
        now - since > self.expected_wait_max() * LATE_FACTOR
    }

    /// Takes the request out of the queue that a slot which has come back is for.
    fn next_request(&self, queue: &mut Queue) -> Option<Waiting> {
        let oldest = queue.requests.front()?;
        let now = Instant::now();
        let is_late = queue.requests.len() > self.waiting_min && self.is_late(oldest.since, now);
        if let Some(rate) = &mut queue.rate {
            rate.count(now);
        }
        if is_late { queue.requests.pop_back() } else { queue.requests.pop_front() }
    }

    fn publish(&self, queue: &mut Queue) {
        let waiting = queue.requests.len();
        if waiting == 0 {
            queue.rate = None;
        }
        self.waiting.store(waiting, Ordering::Relaxed);
    }
}

impl Queue {
    fn estimate(&self, now: Instant) -> Estimate {
        self.rate.as_ref().map_or(Estimate::Unknown, |rate| rate.estimate(now))
    }

    /// Number of requests that may wait if each is to be served within `time`.
    fn allowed(&self, shared: &Shared, time: Duration, now: Instant) -> usize {
        match self.estimate(now) {
            Estimate::Unknown => shared.waiting_max,
            Estimate::Stalled => shared.waiting_min,
            Estimate::PerSecond(rate) => {
                ((rate * time.as_secs_f64()).round() as usize).clamp(shared.waiting_min, shared.waiting_max)
            }
        }
    }

    fn is_full(&self, shared: &Shared, now: Instant) -> bool {
        self.free == 0 && self.requests.len() >= self.allowed(shared, shared.expected_wait_max(), now)
    }
}

/// A request's place in the queue. It leaves the queue when this is dropped.
struct Place<'a> {
    shared: &'a Shared,
    ticket: u64,
    receiver: oneshot::Receiver<Slot>,
    since: Instant,
    deadline: Instant,
    has_slot: bool,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if self.has_slot {
            return;
        }
        // If it is not there any more, a slot has been sent, or is about to be. The receiver drops
        // it, or refuses it, and it goes to the next request.
        self.shared.leave(&mut self.shared.lock(), self.ticket);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let Some(shared) = self.shared.take() else { return };
        loop {
            let next = {
                let mut queue = shared.lock();
                let next = shared.next_request(&mut queue);
                if next.is_none() {
                    queue.free += 1;
                }
                shared.publish(&mut queue);
                next
            };
            let Some(next) = next else { return };
            match next.sender.send(Self { shared: Some(shared.clone()) }) {
                Ok(()) => return,
                // The request has gone meanwhile: another is looked for.
                Err(mut slot) => slot.shared = None,
            }
        }
    }
}

#[cfg(test)]
mod tests;
