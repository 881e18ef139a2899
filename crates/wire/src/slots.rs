//! A fixed number of slots, and a queue of the requests that wait for one. The queue is bounded by
//! the time that it is expected to take, not by a number of requests.
//!
//! A request may wait if, at the rate at which slots come back, the queue is expected to take less
//! than a fifth of the longest wait. A queue that has just begun is a burst: its rate is not known
//! yet, and it is admitted. If no slot has come back for a fifth of the longest wait, the slots
//! have stalled, and only [`WAITING_MIN`] requests may wait. That number of requests may always
//! wait for the whole time, in the order in which they came, however slow the slots are.
//!
//! Slots may become slower after requests have been admitted. If more requests wait than may always
//! wait, and the oldest has waited for twice the longest expected wait, the newest is served first,
//! since the client of the oldest is the first to give up. Requests that are as late, and those
//! that can no longer be served in time, are refused.

mod rate;

use crate::pool::PoolError;
use rate::{Estimate, ServiceRate};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

/// Number of requests that may always wait for the slots of a queue.
pub const WAITING_MIN: usize = 100;
/// Number of requests that may always wait for each slot, if there are many slots.
const WAITING_PER_SLOT_MIN: usize = 10;
/// Number of requests that may wait for the slots of a queue, unless its owner sets another number.
/// It bounds memory only.
pub const WAITING_MAX: usize = 10_000;
/// Longest expected wait with which a request is admitted, as a fraction of the longest wait: 2 s
/// of 10 s.
const EXPECTED_WAIT_PART: u32 = 5;
/// Time after which a request is late, as a multiple of the longest expected wait: 4 s of 10 s.
const LATE_FACTOR: u32 = 2;
/// Time without any progress after which a queue has stalled, as a fraction of the longest wait:
/// 2 s of 10 s. It is long enough for a server that is itself short of processor time. Such a
/// server would otherwise mistake its own delay for a stall, and spend its time on refusals.
const STALLED_PART: u32 = 5;

/// A fixed number of slots, with a queue of the requests that wait for one. Clones share the slots.
#[derive(Debug, Clone)]
pub struct Slots {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    /// Number of requests that wait. It is written under the lock, and read without it.
    waiting: AtomicUsize,
    waiting_min: usize,
    waiting_max: usize,
    wait: Duration,
    timeouts: AtomicU64,
}

#[derive(Debug)]
struct Queue {
    free: usize,
    /// Requests that wait, the oldest first.
    requests: VecDeque<Waiting>,
    /// The ticket of the next request that has to wait.
    ticket: u64,
    /// Rate of the current queue, or `None` while no request waits.
    rate: Option<ServiceRate>,
}

#[derive(Debug)]
struct Waiting {
    /// Tickets ascend from the front of the queue to its end.
    ticket: u64,
    since: Instant,
    sender: oneshot::Sender<Slot>,
}

/// A slot, which is released when this is dropped.
#[derive(Debug)]
pub struct Slot {
    /// `None` once the slot has been passed to another request.
    shared: Option<Arc<Shared>>,
}

impl Slots {
    /// Creates a number of slots. At most `waiting_max` requests wait for them, none longer than
    /// `wait`.
    pub fn new(slots: usize, waiting_max: usize, wait: Duration) -> Self {
        let queue = Queue { free: slots, requests: VecDeque::new(), ticket: 0, rate: None };
        let waiting_min = WAITING_MIN.max(slots.saturating_mul(WAITING_PER_SLOT_MIN)).min(waiting_max);
        let (waiting, timeouts) = (AtomicUsize::new(0), AtomicU64::new(0));
        let queue = Mutex::new(queue);
        Self { shared: Arc::new(Shared { queue, waiting, waiting_min, waiting_max, wait, timeouts }) }
    }

    /// Acquires a slot if one is free.
    pub fn take(&self) -> Option<Slot> {
        let mut queue = self.shared.lock();
        queue.free = queue.free.checked_sub(1)?;
        Some(self.slot())
    }

    /// Acquires a slot, and waits for one if none is free.
    ///
    /// # Errors
    ///
    /// [`PoolError::QueueFull`] at once if too many requests wait, or later if the queue has become
    /// slower than expected; [`PoolError::Timeout`] if the request has waited for the longest wait.
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
            let next_check = Instant::now() + window;
            match timeout_at(next_check.min(place.deadline), &mut place.receiver).await {
                Ok(Ok(slot)) => {
                    place.has_slot = true;
                    return Ok(slot);
                }
                // Unreachable: as long as the receiver exists, its sender is in the queue or has
                // sent a slot.
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

    /// Returns whether another request would be refused now.
    pub fn is_full(&self) -> bool {
        self.waiting() >= self.shared.waiting_min && self.shared.lock().is_full(&self.shared, Instant::now())
    }

    /// Returns whether no slot has come back for so long that the slots seem to have stalled.
    pub fn is_stalled(&self) -> bool {
        self.waiting() > 0 && self.shared.lock().estimate(Instant::now()) == Estimate::Stalled
    }

    /// Returns the number of requests that wait.
    pub fn waiting(&self) -> usize {
        self.shared.waiting.load(Ordering::Relaxed)
    }

    /// Returns the time that another request is expected to wait. It is the longest wait if the
    /// queue has stalled, and zero while the rate is unknown.
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

    /// Returns the number of requests that got no slot within the longest wait.
    pub fn timeouts(&self) -> u64 {
        self.shared.timeouts.load(Ordering::Relaxed)
    }

    /// Returns the number of free slots.
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

    /// Returns the time over which the rate is measured, and without progress for which a queue has
    /// stalled.
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

    /// Removes a request from the queue if it is late, or if more requests wait than can be served
    /// within the longest wait. Each request checks this after it has waited for a while, so that
    /// the oldest leave first.
    fn leave_if_hopeless(&self, place: &Place<'_>) -> bool {
        let now = Instant::now();
        let time = if self.is_late(place.since, now) { Duration::ZERO } else { self.wait };
        let mut queue = self.lock();
        queue.requests.len() > queue.allowed(self, time, now) && self.leave(&mut queue, place.ticket)
    }

    /// Removes a request from the queue, if it is still there.
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

    /// Removes the request that gets the slot which has come back, and returns it.
    fn next_request(&self, queue: &mut Queue) -> Option<Waiting> {
        let oldest = queue.requests.front()?;
        let now = Instant::now();
        let is_late = queue.requests.len() > self.waiting_min && self.is_late(oldest.since, now);
        if let Some(rate) = &mut queue.rate {
            rate.count(now);
        }
        if is_late { queue.requests.pop_back() } else { queue.requests.pop_front() }
    }

    /// Stores the number of waiting requests for readers that do not lock the queue. The rate of an
    /// empty queue ends.
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

    /// Returns the number of requests that may wait if each is to be served within `time`.
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

/// Place of a request in the queue. The request leaves the queue when this is dropped.
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
        // If the request is no longer in the queue, a slot has been sent to it or is about to be.
        // The receiver drops the slot or refuses it, so that the slot goes to the next request.
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
                // The request has left meanwhile, so the slot goes to another one.
                Err(mut slot) => slot.shared = None,
            }
        }
    }
}

#[cfg(test)]
mod tests;
