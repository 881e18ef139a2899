//! What each thread has allocated, freed and copied.
//!
//! A thread adds to numbers that no other thread writes, so that counting costs no lock and no cache line is fought over; whoever wants the
//! sum of all reads them.

use crate::ledger::Ledger;
use crate::sample::{self, Tag, Thread};
use crate::watch::{self, Of};
use std::cell::Cell;
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// How many threads have numbers of their own at once. Those that come beyond share one, which costs them more.
const THREADS_MAX: usize = 512;

/// What a thread has done since the process began.
#[repr(align(128))]
pub(crate) struct Tally {
    allocations: AtomicU64,
    allocated_bytes: AtomicU64,
    freed_bytes: AtomicU64,
    copies: AtomicU64,
    copied_bytes: AtomicU64,
    /// The bytes that the request at work holds, and the most that it has held.
    live_bytes: AtomicI64,
    peak_bytes: AtomicI64,
    /// Since when the thread polls, as the clock's number, and for whom; 0 while it does not.
    polls_since: AtomicU64,
    polls_for: AtomicU64,
    /// Whose it is, one more than its number; 0 if nobody's.
    thread: AtomicI32,
    pub(crate) ledger: Ledger,
    is_shared: bool,
}

/// A poll that is going on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Polling {
    pub(crate) since: u64,
    pub(crate) tag: Tag,
    pub(crate) thread: Thread,
}

/// The polls that are going on, by the threads' places.
pub(crate) fn polls() -> impl Iterator<Item = (usize, Polling)> {
    taken().iter().enumerate().filter_map(|(at, tally)| {
        let (since, tag) = (tally.polls_since.load(Relaxed), tally.polls_for.load(Relaxed));
        let thread = Thread::of_number(tally.thread.load(Relaxed) - 1);
        (since > 0).then_some((at, Polling { since, tag, thread }))
    })
}

impl Tally {
    const fn new(is_shared: bool) -> Tally {
        Tally {
            allocations: AtomicU64::new(0),
            allocated_bytes: AtomicU64::new(0),
            freed_bytes: AtomicU64::new(0),
            copies: AtomicU64::new(0),
            copied_bytes: AtomicU64::new(0),
            live_bytes: AtomicI64::new(0),
            peak_bytes: AtomicI64::new(0),
            polls_since: AtomicU64::new(0),
            polls_for: AtomicU64::new(0),
            thread: AtomicI32::new(0),
            ledger: Ledger::new(),
            is_shared,
        }
    }

    #[inline]
    fn add(&self, to: &AtomicU64, number: u64) {
        if self.is_shared {
            to.fetch_add(number, Relaxed);
        } else {
            to.store(to.load(Relaxed).wrapping_add(number), Relaxed);
        }
    }

    #[inline]
    pub(crate) fn allocated(&self, bytes: usize) {
        self.add(&self.allocations, 1);
        self.add(&self.allocated_bytes, bytes as u64);
        watch::noted(Of::Allocated, bytes);
        let live = self.live_bytes.load(Relaxed) + bytes as i64;
        self.live_bytes.store(live, Relaxed);
        if live > self.peak_bytes.load(Relaxed) {
            self.peak_bytes.store(live, Relaxed);
        }
    }

    #[inline]
    pub(crate) fn freed(&self, bytes: usize) {
        self.add(&self.freed_bytes, bytes as u64);
        self.live_bytes.store(self.live_bytes.load(Relaxed) - bytes as i64, Relaxed);
    }

    #[inline]
    pub(crate) fn copied(&self, bytes: usize) {
        self.add(&self.copies, 1);
        self.add(&self.copied_bytes, bytes as u64);
        watch::noted(Of::Copied, bytes);
    }

    /// Notes that a poll begins.
    pub(crate) fn polls(&self, since: u64, tag: Tag) {
        self.polls_for.store(tag, Relaxed);
        self.polls_since.store(since, Relaxed);
    }

    /// Notes that it has ended.
    pub(crate) fn polls_no_more(&self) {
        self.polls_since.store(0, Relaxed);
    }

    pub(crate) fn now(&self) -> Counts {
        Counts {
            allocations: self.allocations.load(Relaxed),
            allocated_bytes: self.allocated_bytes.load(Relaxed),
            freed_bytes: self.freed_bytes.load(Relaxed),
            copies: self.copies.load(Relaxed),
            copied_bytes: self.copied_bytes.load(Relaxed),
        }
    }

    /// Does something whose copies are counted for nobody, wherever the thread was interrupted: its numbers are as they were then, so that one
    /// that was being added to is added to as if nothing had been.
    pub(crate) fn uncopied<T>(&self, then: impl FnOnce() -> T) -> T {
        let (copies, copied_bytes) = (self.copies.load(Relaxed), self.copied_bytes.load(Relaxed));
        let done = then();
        if !self.is_shared {
            self.copies.store(copies, Relaxed);
            self.copied_bytes.store(copied_bytes, Relaxed);
        }
        done
    }

    /// Begins to count what one request holds, of which it holds so much already.
    pub(crate) fn hold(&self, live_bytes: i64) {
        self.live_bytes.store(live_bytes, Relaxed);
        self.peak_bytes.store(live_bytes, Relaxed);
    }

    /// As it was before.
    pub(crate) fn holds_again(&self, (live_bytes, peak_bytes): (i64, i64)) {
        self.live_bytes.store(live_bytes, Relaxed);
        self.peak_bytes.store(peak_bytes, Relaxed);
    }

    /// What it holds, and the most that it held.
    pub(crate) fn held(&self) -> (i64, i64) {
        (self.live_bytes.load(Relaxed), self.peak_bytes.load(Relaxed))
    }
}

/// What has been counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// How often memory was asked for or grown.
    pub allocations: u64,
    /// How many bytes were asked for.
    pub allocated_bytes: u64,
    /// How many bytes were given back.
    pub freed_bytes: u64,
    /// How often bytes were copied.
    pub copies: u64,
    /// How many bytes were copied.
    pub copied_bytes: u64,
}

impl Counts {
    pub(crate) const NONE: Counts =
        Counts { allocations: 0, allocated_bytes: 0, freed_bytes: 0, copies: 0, copied_bytes: 0 };

    /// What the process has counted up to now. Allocations stay 0 unless a [`CountingAllocator`](crate::CountingAllocator) is the global
    /// allocator, copies unless they are counted ([`count_copies!`](crate::count_copies)).
    pub fn of_process() -> Counts {
        let mut sum = Counts::NONE;
        for tally in taken().iter().chain([&SHARED]) {
            sum.add(tally.now());
        }
        sum
    }

    /// What has come since an earlier reading.
    #[must_use]
    pub fn since(self, earlier: Counts) -> Counts {
        Counts {
            allocations: self.allocations.wrapping_sub(earlier.allocations),
            allocated_bytes: self.allocated_bytes.wrapping_sub(earlier.allocated_bytes),
            freed_bytes: self.freed_bytes.wrapping_sub(earlier.freed_bytes),
            copies: self.copies.wrapping_sub(earlier.copies),
            copied_bytes: self.copied_bytes.wrapping_sub(earlier.copied_bytes),
        }
    }

    pub(crate) fn add(&mut self, other: Counts) {
        self.allocations += other.allocations;
        self.allocated_bytes += other.allocated_bytes;
        self.freed_bytes += other.freed_bytes;
        self.copies += other.copies;
        self.copied_bytes += other.copied_bytes;
    }
}

static TALLIES: [Tally; THREADS_MAX] = [const { Tally::new(false) }; THREADS_MAX];
static SHARED: Tally = Tally::new(true);
/// How many threads have come for one.
static TAKEN: AtomicUsize = AtomicUsize::new(0);

fn taken() -> &'static [Tally] {
    &TALLIES[..TAKEN.load(Relaxed).min(THREADS_MAX)]
}

thread_local! {
    // it has nothing to drop, so that the allocator can ask for it at any time of a thread's life
    static MINE: Cell<Option<&'static Tally>> = const { Cell::new(None) };
}

/// The tally of this thread.
#[inline]
pub(crate) fn mine() -> &'static Tally {
    MINE.with(|mine| mine.get().unwrap_or_else(|| first(mine)))
}

#[cold]
fn first(mine: &Cell<Option<&'static Tally>>) -> &'static Tally {
    let thread = sample::this_thread().number() + 1;
    let tally = TALLIES.get(TAKEN.fetch_add(1, Relaxed)).inspect(|tally| tally.thread.store(thread, Relaxed));
    let given_back = |tally: &&Tally| tally.thread.compare_exchange(0, thread, Relaxed, Relaxed).is_ok();
    let tally = tally.or_else(|| TALLIES.iter().find(given_back)).unwrap_or(&SHARED);
    mine.set(Some(tally));
    tally
}

/// Gives back what threads had that have ended, once there are many. What they counted stays counted. It is not for the threads to do: they
/// count until their last allocation.
pub(crate) fn give_back() {
    if TAKEN.load(Relaxed) <= THREADS_MAX / 2 {
        return;
    }
    for tally in taken() {
        let thread = tally.thread.load(Relaxed);
        if thread > 0 && !sample::lives(Thread::of_number(thread - 1)) {
            tally.polls_since.store(0, Relaxed);
            tally.thread.store(0, Relaxed);
        }
    }
}

/// What threads have noted of requests.
pub(crate) fn ledgers() -> impl Iterator<Item = &'static Ledger> {
    taken().iter().chain([&SHARED]).map(|tally| &tally.ledger)
}
