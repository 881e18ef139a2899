//! Computations that may take long. They run on threads that serve no clients, a few at a time, so
//! that quick requests always find a thread and, as a rule, a CPU.
//!
//! ```text
//!  run(kind, caller, work) ─ a permit free? ────────────────────────────┬─▶ spawn_blocking(work) ─▶ the next in the queue
//!                             └ no: the queue of its kind and caller ────┘
//! ```
//!
//! A permit that is released goes to the kinds in rotation, and within a kind to the callers in
//! rotation. However many clients request one page, a request for another page waits for at most
//! one of their computations per permit. Within one page, a caller waits for at most one
//! computation of each other caller.

use crate::callers::ShareError;
use crate::error::ApiError;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::hash::{BuildHasher, Hash, RandomState};
use std::num::NonZero;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::oneshot;

/// Number of computations of one kind that may wait for a permit.
const WAITING_OF_KIND_MAX: usize = 1_000;
/// Number of computations of one kind that may wait for one caller.
const WAITING_OF_CALLER_MAX: usize = 100;
/// Time after which a refused caller may retry.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// Longest time for which a computation waits for a permit.
const WAIT_MAX: Duration = Duration::from_secs(10);
/// Number of CPUs that computations leave to all other work, if there are several.
const CPUS_LEFT: usize = 1;

/// Permits for computations that may take long. A server and the code that extends it share one
/// set, so that all their computations together leave a CPU to quick requests: there are as many
/// permits as CPUs less one, and at least one.
///
/// Get it from [`ServerBuilder::computations`](crate::ServerBuilder::computations).
#[derive(Clone)]
pub struct Computations(Arc<Mutex<Queues>>);

/// The kind of a computation. Permits go to the kinds in rotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// A page, by its index among the pages of the site.
    Page(usize),
    /// A page of the table browser.
    Browse,
    /// The description of a schema.
    Description,
    /// A computation of code that extends the server, by the name of the computation.
    Extension(&'static str),
}

/// Reason why a computation has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotComputed {
    /// The computation did not begin: too many others wait for a permit, or it has waited for 10 s.
    /// It may be retried later (503).
    Busy,
    /// The computation did not begin: too many requests of this caller wait for a permit. It may be
    /// retried later (429).
    CallerBusy,
    /// The computation panicked.
    Panicked,
}

impl fmt::Display for NotComputed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Busy => "too many computations are waiting; retry later",
            Self::CallerBusy => "too many computations of this client are waiting; retry later",
            Self::Panicked => "the computation panicked",
        })
    }
}

impl std::error::Error for NotComputed {}

impl From<NotComputed> for ApiError {
    fn from(reason: NotComputed) -> Self {
        match reason {
            NotComputed::Busy => Self::too_many_computations(),
            NotComputed::CallerBusy => Self::of_share(ShareError::Used { retry_after: RETRY_AFTER }),
            NotComputed::Panicked => Self::of_handler(),
        }
    }
}

/// Permit for one computation. When it is dropped, the next computation in the queue gets it.
pub struct ComputationPermit(Option<Arc<Mutex<Queues>>>);

/// The permits that are free, and the computations that wait for one.
struct Queues {
    free: usize,
    waiting: HashMap<Kind, KindQueue>,
    /// Rotation of the kinds that have waiting computations. The first kind gets the next permit,
    /// and then moves to the end.
    rotation: VecDeque<Kind>,
    hashing: RandomState,
}

/// The computations of one kind that wait, by the hash of their caller.
#[derive(Default)]
struct KindQueue {
    waiting: HashMap<u64, VecDeque<Waiter>>,
    /// Rotation of the callers that wait, like that of the kinds in [`Queues`].
    rotation: VecDeque<u64>,
}

type Waiter = oneshot::Sender<ComputationPermit>;

/// Bounds on the computations that wait, of one kind and of one caller within that kind.
#[derive(Clone, Copy)]
struct WaitingMax {
    of_kind: usize,
    of_caller: usize,
}

impl WaitingMax {
    const DEFAULT: Self = Self { of_kind: WAITING_OF_KIND_MAX, of_caller: WAITING_OF_CALLER_MAX };
    const NONE: Self = Self { of_kind: usize::MAX, of_caller: usize::MAX };
}

impl Computations {
    /// Creates the permits of a process: one for each CPU but one, and one at least.
    pub(crate) fn new() -> Self {
        let cpus = thread::available_parallelism().map_or(1, NonZero::get);
        Self::with_permits(cpus.saturating_sub(CPUS_LEFT).max(1))
    }

    fn with_permits(permits: usize) -> Self {
        let hashing = RandomState::new();
        let queues = Queues { free: permits, waiting: HashMap::new(), rotation: VecDeque::new(), hashing };
        Self(Arc::new(Mutex::new(queues)))
    }

    /// Runs a computation on a thread that serves no clients, as soon as there is a permit. `name`
    /// distinguishes the computations of one extension from those of others. Names get permits in
    /// rotation, and so do the callers of one name. A caller is any value that can be hashed, such
    /// as a [`Caller`](crate::Caller). A computation that has begun runs to its end.
    ///
    /// # Errors
    ///
    /// [`NotComputed::Busy`] or [`NotComputed::CallerBusy`] if it did not begin,
    /// [`NotComputed::Panicked`] if it panicked.
    pub async fn run<K: Hash + ?Sized, T: Send + 'static>(
        &self,
        name: &'static str,
        caller: &K,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, NotComputed> {
        self.run_as(Kind::Extension(name), caller, work).await
    }

    /// Runs a computation of the given kind, as [`Computations::run`] does.
    pub(crate) async fn run_as<K: Hash + ?Sized, T: Send + 'static>(
        &self,
        kind: Kind,
        caller: &K,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, NotComputed> {
        let permit = self.acquire(kind, caller, WaitingMax::DEFAULT)?;
        let permit = tokio::time::timeout(WAIT_MAX, permit).await;
        let permit = permit.ok().and_then(Result::ok).ok_or(NotComputed::Busy)?;
        let running = tokio::task::spawn_blocking(thalweg_gauge::blocking(move || {
            let _permit = permit;
            work()
        }));
        running.await.map_err(|_| NotComputed::Panicked)
    }

    /// Waits for a permit without a timeout, for a part of a response whose head has been sent. The
    /// calling code bounds the number of requests that wait, and drops the permit before it waits
    /// for anything else, such as its client.
    pub async fn permit<K: Hash + ?Sized>(&self, name: &'static str, caller: &K) -> ComputationPermit {
        match self.acquire(Kind::Extension(name), caller, WaitingMax::NONE) {
            // A sender is dropped without a permit only if this receiver was dropped first.
            Ok(permit) => permit.await.unwrap_or(ComputationPermit(None)),
            Err(_) => ComputationPermit(None),
        }
    }

    /// Acquires a permit, or a place in the queue of this kind and caller if it has room.
    fn acquire<K: Hash + ?Sized>(
        &self,
        kind: Kind,
        caller: &K,
        max: WaitingMax,
    ) -> Result<oneshot::Receiver<ComputationPermit>, NotComputed> {
        let (sender, permit) = oneshot::channel();
        let mut queues = lock(&self.0);
        if queues.free > 0 {
            queues.free -= 1;
            drop(queues);
            _ = sender.send(ComputationPermit(Some(self.0.clone())));
            return Ok(permit);
        }
        let caller = queues.hashing.hash_one(caller);
        let of_kind = queues.waiting.entry(kind).or_default();
        let is_new = of_kind.rotation.is_empty();
        of_kind.push(caller, sender, max)?;
        if is_new {
            queues.rotation.push_back(kind);
        }
        Ok(permit)
    }
}

impl fmt::Debug for Computations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let queues = lock(&self.0);
        let waiting: usize = queues.waiting.values().map(KindQueue::len).sum();
        f.debug_struct("Computations").field("free", &queues.free).field("waiting", &waiting).finish()
    }
}

impl fmt::Debug for ComputationPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ComputationPermit")
    }
}

impl Drop for ComputationPermit {
    fn drop(&mut self) {
        let Some(queues) = self.0.take() else { return };
        loop {
            let mut locked = lock(&queues);
            let Some(next) = locked.next() else {
                locked.free += 1;
                return;
            };
            drop(locked);
            match next.send(ComputationPermit(Some(queues.clone()))) {
                Ok(()) => return,
                // The waiting request has left meanwhile: the permit goes to the next one.
                Err(mut permit) => permit.0 = None,
            }
        }
    }
}

impl Queues {
    /// Removes the next computation from the queues.
    fn next(&mut self) -> Option<Waiter> {
        loop {
            let kind = self.rotation.pop_front()?;
            let Some(of_kind) = self.waiting.get_mut(&kind) else { continue };
            let next = of_kind.next();
            match of_kind.rotation.is_empty() {
                true => _ = self.waiting.remove(&kind),
                false => self.rotation.push_back(kind),
            }
            if next.is_some() {
                return next;
            }
        }
    }
}

impl KindQueue {
    fn len(&self) -> usize {
        self.waiting.values().map(VecDeque::len).sum()
    }

    fn push(&mut self, caller: u64, waiter: Waiter, max: WaitingMax) -> Result<(), NotComputed> {
        let of_caller = |queue: &Self| queue.waiting.get(&caller).map_or(0, VecDeque::len);
        if self.len() >= max.of_kind || of_caller(self) >= max.of_caller {
            // Waiters whose clients have left are removed to make room.
            self.waiting.values_mut().for_each(|waiters| waiters.retain(|waiter| !waiter.is_closed()));
            if of_caller(self) >= max.of_caller {
                return Err(NotComputed::CallerBusy);
            }
            if self.len() >= max.of_kind {
                return Err(NotComputed::Busy);
            }
        }
        let waiters = self.waiting.entry(caller).or_insert_with(|| {
            self.rotation.push_back(caller);
            VecDeque::new()
        });
        waiters.push_back(waiter);
        Ok(())
    }

    /// Removes the longest waiting computation of the first caller in the rotation. Waiters whose
    /// clients have left are skipped.
    fn next(&mut self) -> Option<Waiter> {
        loop {
            let caller = self.rotation.pop_front()?;
            let Some(waiters) = self.waiting.get_mut(&caller) else { continue };
            let next = std::iter::from_fn(|| waiters.pop_front()).find(|waiter| !waiter.is_closed());
            match waiters.is_empty() {
                true => _ = self.waiting.remove(&caller),
                false => self.rotation.push_back(caller),
            }
            if next.is_some() {
                return next;
            }
        }
    }
}

fn lock(queues: &Mutex<Queues>) -> MutexGuard<'_, Queues> {
    queues.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does work that may take long where nothing can be awaited, such as within a poll. Another thread
/// takes over the other tasks of this thread meanwhile. No permit bounds the number of such
/// computations: each has a connection to the database, so that the pool bounds them.
pub(crate) fn in_place<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(|| thalweg_gauge::in_place(work)),
        _ => work(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    const PAGE: Kind = Kind::Page(0);

    fn acquire(computations: &Computations, kind: Kind) -> oneshot::Receiver<ComputationPermit> {
        of_caller(computations, kind, 0)
    }

    fn of_caller(computations: &Computations, kind: Kind, caller: usize) -> oneshot::Receiver<ComputationPermit> {
        computations.acquire(kind, &caller, WaitingMax::DEFAULT).unwrap()
    }

    #[test]
    fn within_a_kind_permits_go_to_the_callers_in_rotation() {
        let computations = Computations::with_permits(1);
        let permit = acquire(&computations, PAGE).try_recv().unwrap();
        let mut greedy: Vec<_> = (0..WAITING_OF_CALLER_MAX).map(|_| of_caller(&computations, PAGE, 1)).collect();
        let refused = computations.acquire(PAGE, &1_usize, WaitingMax::DEFAULT).unwrap_err();
        assert_eq!(refused, NotComputed::CallerBusy);
        let mut modest = of_caller(&computations, PAGE, 2);
        drop(permit);
        let first = greedy[0].try_recv().unwrap();
        assert!(modest.try_recv().is_err());
        drop(first);
        drop(modest.try_recv().unwrap());
        greedy[1..].iter_mut().for_each(|waiting| drop(waiting.try_recv().unwrap()));
        assert_eq!(format!("{computations:?}"), "Computations { free: 1, waiting: 0 }");
    }

    #[test]
    fn permits_go_to_the_kinds_in_rotation() {
        let computations = Computations::with_permits(1);
        let permit = acquire(&computations, PAGE).try_recv().unwrap();
        let mut pages: Vec<_> = (0..3).map(|_| acquire(&computations, PAGE)).collect();
        let mut other = acquire(&computations, Kind::Page(1));
        drop(permit);
        let first = pages[0].try_recv().unwrap();
        assert!(other.try_recv().is_err());
        drop(first);
        let of_other = other.try_recv().unwrap();
        assert!(pages[1].try_recv().is_err());
        drop(of_other);
        drop(pages[1].try_recv().unwrap());
        drop(pages[2].try_recv().unwrap());
        assert_eq!(format!("{computations:?}"), "Computations { free: 1, waiting: 0 }");
    }

    #[test]
    fn waiting_computations_are_bounded_and_those_whose_clients_left_make_room() {
        let computations = Computations::with_permits(1);
        let permit = acquire(&computations, PAGE).try_recv().unwrap();
        let waiting: Vec<_> =
            (0..WAITING_OF_KIND_MAX).map(|at| of_caller(&computations, PAGE, at / WAITING_OF_CALLER_MAX)).collect();
        let refused = computations.acquire(PAGE, "another caller", WaitingMax::DEFAULT).unwrap_err();
        assert_eq!(refused, NotComputed::Busy);
        let mut other = acquire(&computations, Kind::Browse);
        drop(waiting);
        let mut last = acquire(&computations, PAGE);
        drop(permit);
        drop(last.try_recv().unwrap());
        drop(other.try_recv().unwrap());
        assert_eq!(format!("{computations:?}"), "Computations { free: 1, waiting: 0 }");
    }

    #[test]
    fn a_permit_that_is_not_received_passes_to_the_next_waiter() {
        let computations = Computations::with_permits(1);
        let permit = acquire(&computations, PAGE).try_recv().unwrap();
        let [left, given, mut last] = [(); 3].map(|()| acquire(&computations, PAGE));
        drop(left);
        drop(permit);
        // The second waiter was granted the permit, and is dropped before it looks.
        drop(given);
        drop(last.try_recv().unwrap());
        assert_eq!(format!("{computations:?}"), "Computations { free: 1, waiting: 0 }");
    }

    #[tokio::test(start_paused = true)]
    async fn a_computation_waits_for_a_bounded_time_and_a_panic_releases_its_permit() {
        let computations = Computations::with_permits(1);
        let panicked = computations.run("panics", &0, || panic!("on purpose")).await;
        assert_eq!(panicked, Err::<(), _>(NotComputed::Panicked));
        let held = computations.permit("held", &0).await;
        assert_eq!(computations.run("waits", &0, || ()).await, Err(NotComputed::Busy));
        drop(held);
        let (thread, here) = (computations.run("runs", &0, || thread::current().id()).await, thread::current().id());
        assert_ne!(thread, Ok(here));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn no_more_run_at_once_than_there_are_permits() {
        let computations = Computations::with_permits(2);
        let (begun, begins) = mpsc::channel();
        let gates: Vec<_> = (0..4)
            .map(|number| {
                let (open, gate) = mpsc::channel::<()>();
                let (computations, begun) = (computations.clone(), begun.clone());
                let run = tokio::spawn(async move {
                    let work = move || {
                        begun.send(number).unwrap();
                        gate.recv().unwrap();
                    };
                    computations.run("gated", &0, work).await
                });
                (open, run)
            })
            .collect();
        let first: Vec<i32> = begins.iter().take(2).collect();
        assert!(begins.try_recv().is_err());
        for number in first {
            gates[number as usize].0.send(()).unwrap();
            begins.recv().unwrap();
        }
        for (open, run) in gates {
            _ = open.send(());
            run.await.unwrap().unwrap();
        }
    }
}
