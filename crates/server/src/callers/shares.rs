//! Permits that callers share, so that no caller holds those that others need.

use crate::api::ApiFailure;
use crate::error::ApiError;
use hyper::StatusCode;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;

/// How many requests wait for a permit, of all callers and of one.
const SHARE_WAITING_MAX: usize = 1024;
const CALLER_WAITING_MAX: usize = 32;
/// When a request may be repeated that found no permit: permits come back when others are done, which nobody can predict.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Permits of which one caller holds a part at most, and the rest is left to others. Clones share them.
///
/// A caller is anything that can be hashed: a [`Caller`](crate::Caller), or the key of an account. Requests wait in a queue for each caller, and
/// permits that come back go to the callers in turn (round robin): many waiting requests of one caller do not delay the
/// first one of another. Only callers that hold permits or wait for them take memory.
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

/// A number of permits. They come back when this is dropped.
pub struct Permit {
    shared: Arc<Shared>,
    caller: CallerKey,
    permits: usize,
}

/// Why there is no permit, or no attempt ([`Attempts`](crate::Attempts)). Nothing was executed of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShareError {
    /// The caller has used its own share: 429 `TWG34`.
    Used {
        /// When the caller may try again.
        retry_after: Duration,
    },
    /// Other callers hold everything: 503 `TWG35`.
    Exhausted {
        /// When the caller may try again.
        retry_after: Duration,
    },
}

impl Shares {
    /// Creates `total` permits, of which a caller holds at most `per_caller`. A request waits for one as long as `wait`.
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

    /// Creates the same with other bounds for the requests that wait, of all callers and of one; by default these are 1024 and 32.
    pub fn with_waiting(total: usize, per_caller: usize, wait: Duration, waiting: (usize, usize)) -> Self {
        let Self(shared) = Self::new(total, per_caller, wait);
        let (waiting_max, caller_waiting_max) = waiting;
        let shared = Arc::into_inner(shared).map(|shared| Shared { waiting_max, caller_waiting_max, ..shared });
        Self(Arc::new(shared.expect("the shares have one owner")))
    }

    /// Acquires a permit, and waits for one if none is free or the caller holds its share.
    ///
    /// # Errors
    ///
    /// [`ShareError::Used`]: the caller has held its share for as long as a request waits, or as many of its requests wait as may.
    /// [`ShareError::Exhausted`]: the same of all callers together.
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

    /// Acquires a number of permits, if that many are free now.
    ///
    /// # Errors
    ///
    /// [`ShareError::Used`]: the caller would hold more than its share. [`ShareError::Exhausted`]: fewer are free.
    pub fn try_acquire<K: Hash + ?Sized>(&self, caller: &K, permits: usize) -> Result<Permit, ShareError> {
        let mut none = Permit { shared: self.0.clone(), caller: self.0.key(caller), permits: 0 };
        none.grow(permits)?;
        Ok(none)
    }

    /// Returns how many permits are free.
    pub fn free(&self) -> usize {
        self.0.lock().free
    }

    /// Returns how many requests wait.
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
    /// Acquires more permits for the same caller, if that many are free now.
    ///
    /// # Errors
    ///
    /// As [`Shares::try_acquire`]. The permits that are held stay.
    pub fn grow(&mut self, permits: usize) -> Result<(), ShareError> {
        self.shared.lock().take(self.caller, permits, self.shared.per_caller)?;
        self.permits += permits;
        Ok(())
    }

    /// Returns how many permits are held.
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
    /// Returns when the caller may try again.
    pub fn retry_after(&self) -> Duration {
        match self {
            Self::Used { retry_after } | Self::Exhausted { retry_after } => *retry_after,
        }
    }

    /// Returns the same in whole seconds (1 at least), as `Retry-After` has it.
    pub fn retry_after_s(&self) -> u64 {
        let after = self.retry_after();
        (after.as_secs() + u64::from(after.subsec_nanos() > 0)).max(1)
    }

    /// Returns the status of a response: 429 or 503.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Used { .. } => StatusCode::TOO_MANY_REQUESTS,
            Self::Exhausted { .. } => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// Returns the code of a response: `TWG34` or `TWG35`.
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
            Self::Used { .. } => f.write_str("This client has used its share; nothing was done. Try again later."),
            Self::Exhausted { .. } => {
                f.write_str("Other clients use all that there is; nothing was done. Try again later.")
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

/// A caller by its hash, under a key of the shares' own. Two callers meet by chance only, and then share their part.
type CallerKey = u64;

#[derive(Default)]
struct State {
    free: usize,
    waiting: usize,
    /// Callers that hold permits or wait.
    callers: HashMap<CallerKey, CallerState>,
    /// Callers that wait and may hold one more, in the order of their turns. It is empty whenever a permit is free.
    turns: VecDeque<CallerKey>,
    tickets: u64,
}

#[derive(Default)]
struct CallerState {
    held: usize,
    waiting: VecDeque<Waiter>,
    is_in_turns: bool,
}

struct Waiter {
    ticket: u64,
    grant: oneshot::Sender<()>,
}

enum Acquired {
    Permit(Permit),
    Waiting(Waiting),
}

/// A request that waits. When it is dropped it leaves the queue, or gives the permit back that it has been granted.
struct Waiting {
    shared: Arc<Shared>,
    caller: CallerKey,
    ticket: u64,
    granted: oneshot::Receiver<()>,
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

    /// Gives a caller a turn, if it waits, may hold one more, and has none.
    fn queue(&mut self, caller: CallerKey, per_caller: usize) {
        let Some(of) = self.callers.get_mut(&caller) else { return };
        if !of.waiting.is_empty() && of.held < per_caller && !of.is_in_turns {
            of.is_in_turns = true;
            self.turns.push_back(caller);
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
            let Some(next) = self.turns.pop_front() else { return };
            self.grant(next, per_caller);
        }
    }

    /// Grants a permit to the first request of a caller whose turn it is.
    fn grant(&mut self, caller: CallerKey, per_caller: usize) {
        let Some(of) = self.callers.get_mut(&caller) else { return };
        of.is_in_turns = false;
        // Permits that the caller acquired without waiting may have made its share full meanwhile.
        if of.held < per_caller
            && let Some(waiter) = of.waiting.pop_front()
        {
            of.held += 1;
            self.free -= 1;
            self.waiting -= 1;
            // A request that has left takes the lock next, and gives the permit back.
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
        if of.waiting.is_empty() && std::mem::take(&mut of.is_in_turns) {
            self.turns.retain(|other| *other != caller);
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

    /// Leaves the queue with the reason why there is no permit, unless it has just been granted.
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
