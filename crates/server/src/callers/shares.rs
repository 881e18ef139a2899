//! Permits that are shared among callers, so that no caller takes those that others need.

use crate::api::ApiFailure;
use crate::error::ApiError;
use hyper::StatusCode;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;

/// Numbers of requests that may wait for a permit, of all callers and of one caller.
const SHARE_WAITING_MAX: usize = 1024;
const CALLER_WAITING_MAX: usize = 32;
/// Time after which a request that found no permit may be repeated. It is a guess: permits become
/// free when other requests end, which cannot be predicted.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// A set of permits, of which one caller may hold a part only. Clones share the set.
///
/// A caller is any value that can be hashed: a [`Caller`](crate::Caller), or the key of an account.
/// Each caller has a queue of its own, and permits that are released go to the callers in rotation,
/// so many waiting requests of one caller do not delay the first request of another. Only callers
/// that hold permits or wait for them take memory.
///
/// ```
/// use std::time::Duration;
/// use thalweg_server::{ShareError, Shares};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let shares = Shares::new(3, 2, Duration::ZERO);
/// let [one, two] = [shares.acquire("ann").await.unwrap(), shares.acquire("ann").await.unwrap()];
/// assert!(matches!(shares.acquire("ann").await, Err(ShareError::Used { .. })));
/// let three = shares.acquire("bob").await.unwrap();
/// assert!(matches!(shares.acquire("eve").await, Err(ShareError::Exhausted { .. })));
/// drop(one);
/// assert!(shares.acquire("eve").await.is_ok());
/// # });
/// ```
#[derive(Clone)]
pub struct Shares(Arc<Shared>);

struct Shared {
    per_caller: usize,
    wait: Duration,
    waiting_max: usize,
    caller_waiting_max: usize,
    hashing: RandomState,
    state: Mutex<State>,
}

/// A number of permits of one caller. They are released when this is dropped.
pub struct Permit {
    shared: Arc<Shared>,
    caller: CallerKey,
    permits: usize,
}

/// Reason why there is no permit, or no attempt ([`Attempts`](crate::Attempts)). Nothing of the
/// request was executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShareError {
    /// The caller has used its own share: 429 `TWG34`.
    Used {
        /// Time after which the caller may try again.
        retry_after: Duration,
    },
    /// Other callers hold everything: 503 `TWG35`.
    Exhausted {
        /// Time after which the caller may try again.
        retry_after: Duration,
    },
}

impl Shares {
    /// Creates `total` permits, of which a caller may hold at most `per_caller`. A request waits
    /// for a permit for at most `wait`.
    pub fn new(total: usize, per_caller: usize, wait: Duration) -> Self {
        Self(Arc::new(Shared {
            per_caller,
            wait,
            waiting_max: SHARE_WAITING_MAX,
            caller_waiting_max: CALLER_WAITING_MAX,
            hashing: RandomState::new(),
            state: Mutex::new(State { free: total, ..State::default() }),
        }))
    }

    /// Creates a set of permits with its own bounds for the requests that wait, of all callers and
    /// of one caller. [`Shares::new`] has 1024 and 32.
    pub fn with_waiting(total: usize, per_caller: usize, wait: Duration, waiting: (usize, usize)) -> Self {
        let Self(shared) = Self::new(total, per_caller, wait);
        let (waiting_max, caller_waiting_max) = waiting;
        let shared = Arc::into_inner(shared).map(|shared| Shared { waiting_max, caller_waiting_max, ..shared });
        Self(Arc::new(shared.expect("the shares have one owner")))
    }

    /// Acquires a permit. Waits for one if none is free, or if the caller holds its whole share.
    ///
    /// # Errors
    ///
    /// [`ShareError::Used`]: the caller held its whole share until the wait ended, or too many of
    /// its requests wait already. [`ShareError::Exhausted`]: other callers held all permits until
    /// the wait ended, or too many requests of all callers wait already.
    pub async fn acquire<K: Hash + ?Sized>(&self, caller: &K) -> Result<Permit, ShareError> {
        let mut waiting = match self.0.permit_or_wait(self.0.key(caller))? {
            Acquired::Permit(permit) => return Ok(permit),
            Acquired::Waiting(waiting) => waiting,
        };
        match tokio::time::timeout(self.0.wait, &mut waiting.granted).await {
            Ok(_) => Ok(waiting.into_permit()),
            Err(_) => waiting.give_up(),
        }
    }

    /// Acquires a number of permits at once if they are free now, and never waits.
    ///
    /// # Errors
    ///
    /// [`ShareError::Used`]: the caller would hold more than its share. [`ShareError::Exhausted`]:
    /// fewer permits are free.
    pub fn try_acquire<K: Hash + ?Sized>(&self, caller: &K, permits: usize) -> Result<Permit, ShareError> {
        let mut none = Permit { shared: self.0.clone(), caller: self.0.key(caller), permits: 0 };
        none.grow(permits)?;
        Ok(none)
    }

    /// Returns the number of free permits.
    pub fn free(&self) -> usize {
        self.0.lock().free
    }

    /// Returns the number of requests that wait.
    pub fn waiting(&self) -> usize {
        self.0.lock().waiting
    }
}

impl fmt::Debug for Shares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shares").field("free", &self.free()).field("waiting", &self.waiting()).finish_non_exhaustive()
    }
}

impl Permit {
    /// Acquires more permits for this caller if they are free now, and never waits.
    ///
    /// # Errors
    ///
    /// The errors of [`Shares::try_acquire`]. The permits that are already held remain.
    pub fn grow(&mut self, permits: usize) -> Result<(), ShareError> {
        self.shared.lock().take(self.caller, permits, self.shared.per_caller)?;
        self.permits += permits;
        Ok(())
    }

    /// Returns the number of permits that are held.
    pub fn permits(&self) -> usize {
        self.permits
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.shared.release(self.caller, self.permits);
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").field("permits", &self.permits).finish_non_exhaustive()
    }
}

impl ShareError {
    /// Returns the time after which the caller may try again.
    pub fn retry_after(&self) -> Duration {
        match self {
            Self::Used { retry_after } | Self::Exhausted { retry_after } => *retry_after,
        }
    }

    /// Returns [`ShareError::retry_after`] in whole seconds (at least 1), for the `Retry-After`
    /// header.
    pub fn retry_after_s(&self) -> u64 {
        let after = self.retry_after();
        (after.as_secs() + u64::from(after.subsec_nanos() > 0)).max(1)
    }

    /// Returns the HTTP status of the error: 429 or 503.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Used { .. } => StatusCode::TOO_MANY_REQUESTS,
            Self::Exhausted { .. } => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// Returns the error code: `TWG34` or `TWG35`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Used { .. } => "TWG34",
            Self::Exhausted { .. } => "TWG35",
        }
    }
}

impl fmt::Display for ShareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Used { .. } => f.write_str("This client has used its share; nothing was executed. Try again later."),
            Self::Exhausted { .. } => {
                f.write_str("Other clients hold all permits; nothing was executed. Try again later.")
            }
        }
    }
}

impl std::error::Error for ShareError {}

impl From<ShareError> for ApiFailure {
    fn from(error: ShareError) -> Self {
        Self::of(ApiError::of_share(error), true)
    }
}

/// Hash of a caller, with a secret key of these shares. Callers whose hashes collide share one
/// part.
type CallerKey = u64;

#[derive(Default)]
struct State {
    free: usize,
    waiting: usize,
    /// Callers that hold permits or wait for one.
    callers: HashMap<CallerKey, CallerState>,
    /// Rotation of the callers that wait and may hold another permit. It is empty whenever a permit
    /// is free.
    rotation: VecDeque<CallerKey>,
    tickets: u64,
}

#[derive(Default)]
struct CallerState {
    held: usize,
    waiting: VecDeque<Waiter>,
    is_in_rotation: bool,
}

struct Waiter {
    ticket: u64,
    grant: oneshot::Sender<()>,
}

enum Acquired {
    Permit(Permit),
    Waiting(Waiting),
}

/// A request that waits. Dropping it removes it from the queue, or releases the permit that it was
/// granted.
struct Waiting {
    shared: Arc<Shared>,
    caller: CallerKey,
    ticket: u64,
    granted: oneshot::Receiver<()>,
    /// True once the request has its permit, or has left the queue.
    is_over: bool,
}

impl Shared {
    fn key<K: Hash + ?Sized>(&self, caller: &K) -> CallerKey {
        self.hashing.hash_one(caller)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn permit_or_wait(self: &Arc<Self>, caller: CallerKey) -> Result<Acquired, ShareError> {
        let mut state = self.lock();
        let refused = match state.take(caller, 1, self.per_caller) {
            Ok(()) => return Ok(Acquired::Permit(Permit { shared: self.clone(), caller, permits: 1 })),
            Err(refused) => refused,
        };
        let own_waiting = state.callers.get(&caller).map_or(0, |of| of.waiting.len());
        if self.wait.is_zero() {
            return Err(refused);
        }
        if own_waiting >= self.caller_waiting_max {
            return Err(USED);
        }
        if state.waiting >= self.waiting_max {
            return Err(EXHAUSTED);
        }
        let (ticket, granted) = state.wait(caller, self.per_caller);
        Ok(Acquired::Waiting(Waiting { shared: self.clone(), caller, ticket, granted, is_over: false }))
    }

    fn release(&self, caller: CallerKey, permits: usize) {
        if permits > 0 {
            self.lock().release(caller, permits, self.per_caller);
        }
    }
}

impl State {
    fn take(&mut self, caller: CallerKey, permits: usize, per_caller: usize) -> Result<(), ShareError> {
        let held = self.callers.get(&caller).map_or(0, |of| of.held);
        if permits > per_caller.saturating_sub(held) {
            return Err(USED);
        }
        if permits > self.free {
            return Err(EXHAUSTED);
        }
        if permits > 0 {
            self.free -= permits;
            self.callers.entry(caller).or_default().held += permits;
        }
        Ok(())
    }

    fn wait(&mut self, caller: CallerKey, per_caller: usize) -> (u64, oneshot::Receiver<()>) {
        let ticket = self.tickets;
        let (grant, granted) = oneshot::channel();
        self.tickets += 1;
        self.waiting += 1;
        let of = self.callers.entry(caller).or_default();
        of.waiting.push_back(Waiter { ticket, grant });
        self.queue(caller, per_caller);
        (ticket, granted)
    }

    /// Adds a caller to the rotation if it waits, may hold another permit, and is not in the
    /// rotation yet.
    fn queue(&mut self, caller: CallerKey, per_caller: usize) {
        let Some(of) = self.callers.get_mut(&caller) else { return };
        if !of.waiting.is_empty() && of.held < per_caller && !of.is_in_rotation {
            of.is_in_rotation = true;
            self.rotation.push_back(caller);
        }
    }

    fn release(&mut self, caller: CallerKey, permits: usize, per_caller: usize) {
        self.free += permits;
        if let Some(of) = self.callers.get_mut(&caller) {
            of.held -= permits;
        }
        self.queue(caller, per_caller);
        self.forget_if_idle(caller);
        while self.free > 0 {
            let Some(next) = self.rotation.pop_front() else { return };
            self.grant(next, per_caller);
        }
    }

    /// Grants a permit to the first waiting request of a caller that was taken from the rotation.
    fn grant(&mut self, caller: CallerKey, per_caller: usize) {
        let Some(of) = self.callers.get_mut(&caller) else { return };
        of.is_in_rotation = false;
        // The caller may meanwhile have acquired its whole share without waiting.
        if of.held < per_caller
            && let Some(waiter) = of.waiting.pop_front()
        {
            of.held += 1;
            self.free -= 1;
            self.waiting -= 1;
            // If the request has left, its drop takes the lock next and releases the permit.
            _ = waiter.grant.send(());
        }
        self.queue(caller, per_caller);
    }

    /// Removes a request from its queue; returns whether it still waited.
    fn leave(&mut self, caller: CallerKey, ticket: u64) -> bool {
        let Some(of) = self.callers.get_mut(&caller) else { return false };
        let Some(at) = of.waiting.iter().position(|waiter| waiter.ticket == ticket) else { return false };
        _ = of.waiting.remove(at);
        self.waiting -= 1;
        if of.waiting.is_empty() && std::mem::take(&mut of.is_in_rotation) {
            self.rotation.retain(|other| *other != caller);
        }
        self.forget_if_idle(caller);
        true
    }

    fn forget_if_idle(&mut self, caller: CallerKey) {
        if self.callers.get(&caller).is_some_and(|of| of.held == 0 && of.waiting.is_empty()) {
            self.callers.remove(&caller);
        }
    }
}

const USED: ShareError = ShareError::Used { retry_after: RETRY_AFTER };
const EXHAUSTED: ShareError = ShareError::Exhausted { retry_after: RETRY_AFTER };

impl Waiting {
    fn into_permit(mut self) -> Permit {
        self.is_over = true;
        Permit { shared: self.shared.clone(), caller: self.caller, permits: 1 }
    }

    /// Leaves the queue and returns the reason why there is no permit, or the permit if it was
    /// granted just now.
    fn give_up(mut self) -> Result<Permit, ShareError> {
        let mut state = self.shared.lock();
        let held = state.callers.get(&self.caller).map_or(0, |of| of.held);
        let has_left = state.leave(self.caller, self.ticket);
        drop(state);
        self.is_over = true;
        match has_left {
            true if held >= self.shared.per_caller => Err(USED),
            true => Err(EXHAUSTED),
            false => Ok(self.into_permit()),
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let mut state = self.shared.lock();
        if !state.leave(self.caller, self.ticket) {
            state.release(self.caller, 1, self.shared.per_caller);
        }
    }
}

#[cfg(test)]
mod tests;
