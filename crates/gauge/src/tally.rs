//! What each thread has allocated, freed and copied.
//!
//! A thread adds to numbers that no other thread writes, so that counting costs no lock and no cache line is fought over; whoever wants the
//! sum of all reads them. A thread's numbers come from the system's allocator, since they are asked for within the one that counts, and stay
//! for others when it ends.
#![allow(unsafe_code)]

use crate::ledger::Ledger;
use crate::sample::{self, Tag, Thread};
use crate::watch;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicPtr, AtomicU64, AtomicUsize};

/// From how many on it is looked whose threads have ended.
const MANY: usize = 256;
/// One stack is taken of so many bytes that a thread allocates, and of as many that it copies.
const BYTES_OF_A_STACK: u64 = 1024 * 1024;

/// What is counted with its bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Of {
    Allocated,
    Copied,
}

/// What a thread has done since the process began. What every allocation and every poll writes is in one line of the processor's cache, in this
/// order.
#[repr(C, align(128))]
pub(crate) struct Tally {
    allocations: AtomicU64,
    allocated_bytes: AtomicU64,
    freed_bytes: AtomicU64,
    /// The most that the thread had of bytes that it has allocated and not freed, and how many more the request at work holds than these.
    peak_bytes: AtomicI64,
    held_beside: AtomicI64,
    /// The next allocation, and the next copy, that reaches so many bytes has its stack taken.
    look_at: [AtomicU64; 2],
    /// Since when the thread polls, as the clock's number, and for whom; 0 while it does not.
    polls_since: AtomicU64,
    polls_for: AtomicU64,
    copies: AtomicU64,
    copied_bytes: AtomicU64,
    /// Whose it is, one more than its number; 0 if a thread may have it.
    thread: AtomicI32,
    pub(crate) ledger: Ledger,
    next: Option<&'static Tally>,
}

/// A poll that is going on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Polling {
    pub(crate) since: u64,
    pub(crate) tag: Tag,
    pub(crate) thread: Thread,
}

/// The polls that are going on.
pub(crate) fn polls() -> impl Iterator<Item = Polling> {
    all().filter_map(|tally| {
        let (since, tag) = (tally.polls_since.load(Relaxed), tally.polls_for.load(Relaxed));
        let thread = Thread::of_number(tally.thread.load(Relaxed) - 1);
        (since > 0).then_some(Polling { since, tag, thread })
    })
}

impl Tally {
    const fn new(thread: i32) -> Tally {
        Tally {
            allocations: AtomicU64::new(0),
            allocated_bytes: AtomicU64::new(0),
            freed_bytes: AtomicU64::new(0),
            copies: AtomicU64::new(0),
            copied_bytes: AtomicU64::new(0),
            held_beside: AtomicI64::new(0),
            peak_bytes: AtomicI64::new(0),
            look_at: [const { AtomicU64::new(0) }; 2],
            polls_since: AtomicU64::new(0),
            polls_for: AtomicU64::new(0),
            thread: AtomicI32::new(thread),
            // nobody's is for any number of threads
            ledger: Ledger::new(thread < 0),
            next: None,
        }
    }

    #[inline]
    fn add(&self, to: &AtomicU64, number: u64) {
        to.store(to.load(Relaxed).wrapping_add(number), Relaxed);
    }

    /// The sum of the bytes with these.
    #[inline]
    fn with(&self, of: Of, bytes: usize) -> u64 {
        let sum = match of {
            Of::Allocated => &self.allocated_bytes,
            Of::Copied => &self.copied_bytes,
        };
        sum.load(Relaxed).wrapping_add(bytes as u64)
    }

    /// Counts an allocation or a copy, with which the bytes are so many.
    #[inline]
    fn count(&self, of: Of, sum: u64) {
        match of {
            Of::Allocated => {
                self.add(&self.allocations, 1);
                self.allocated_bytes.store(sum, Relaxed);
                let net = sum.wrapping_sub(self.freed_bytes.load(Relaxed)) as i64;
                if net > self.peak_bytes.load(Relaxed) {
                    self.peak_bytes.store(net, Relaxed);
                }
            }
            Of::Copied => {
                self.add(&self.copies, 1);
                self.copied_bytes.store(sum, Relaxed);
            }
        }
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

    /// Begins to count anew.
    #[inline]
    pub(crate) fn begin(&self, since: &Since) {
        since.allocations.set(self.allocations.load(Relaxed));
        since.allocated_bytes.set(self.allocated_bytes.load(Relaxed));
        since.copies.set(self.copies.load(Relaxed));
        since.copied_bytes.set(self.copied_bytes.load(Relaxed));
    }

    /// What has come since then: allocations and their bytes, copies and theirs.
    #[inline]
    pub(crate) fn spent(&self, since: &Since) -> [u64; 4] {
        [
            self.allocations.load(Relaxed).wrapping_sub(since.allocations.get()),
            self.allocated_bytes.load(Relaxed).wrapping_sub(since.allocated_bytes.get()),
            self.copies.load(Relaxed).wrapping_sub(since.copies.get()),
            self.copied_bytes.load(Relaxed).wrapping_sub(since.copied_bytes.get()),
        ]
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
    /// that was being added to is added to as if nothing had been. No stack is taken of them either: whoever was about to take one would
    /// find that it was.
    pub(crate) fn uncopied<T>(&self, then: impl FnOnce() -> T) -> T {
        let look_at = &self.look_at[Of::Copied as usize];
        let before = [&self.copies, &self.copied_bytes, look_at].map(|number| (number, number.load(Relaxed)));
        look_at.store(u64::MAX, Relaxed);
        let done = then();
        before.iter().for_each(|(number, before)| number.store(*before, Relaxed));
        done
    }

    /// What the thread has allocated and not freed.
    fn net(&self) -> i64 {
        self.allocated_bytes.load(Relaxed).wrapping_sub(self.freed_bytes.load(Relaxed)) as i64
    }

    /// Begins to count what one request holds, of which it holds so much already.
    #[inline]
    pub(crate) fn hold(&self, live_bytes: i64) {
        self.holds_again((live_bytes, live_bytes));
    }

    /// As it was before.
    pub(crate) fn holds_again(&self, (live_bytes, peak_bytes): (i64, i64)) {
        let beside = live_bytes - self.net();
        self.held_beside.store(beside, Relaxed);
        self.peak_bytes.store(peak_bytes - beside, Relaxed);
    }

    /// What it holds, and the most that it held.
    pub(crate) fn held(&self) -> (i64, i64) {
        let beside = self.held_beside.load(Relaxed);
        (self.net() + beside, self.peak_bytes.load(Relaxed) + beside)
    }
}

/// What a thread had counted at a time.
pub(crate) struct Since {
    allocations: Cell<u64>,
    allocated_bytes: Cell<u64>,
    copies: Cell<u64>,
    copied_bytes: Cell<u64>,
}

impl Since {
    pub(crate) const fn new() -> Since {
        Since {
            allocations: Cell::new(0),
            allocated_bytes: Cell::new(0),
            copies: Cell::new(0),
            copied_bytes: Cell::new(0),
        }
    }

    pub(crate) fn counts(&self) -> Counts {
        Counts {
            allocations: self.allocations.get(),
            allocated_bytes: self.allocated_bytes.get(),
            freed_bytes: 0,
            copies: self.copies.get(),
            copied_bytes: self.copied_bytes.get(),
        }
    }

    /// Is what it was then, and as much more as was counted since.
    pub(crate) fn become_later(&self, then: Counts, counted: Counts) {
        self.allocations.set(then.allocations.wrapping_add(counted.allocations));
        self.allocated_bytes.set(then.allocated_bytes.wrapping_add(counted.allocated_bytes));
        self.copies.set(then.copies.wrapping_add(counted.copies));
        self.copied_bytes.set(then.copied_bytes.wrapping_add(counted.copied_bytes));
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
        all().for_each(|tally| sum.add(tally.now()));
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

/// The last one that came, which leads to all others.
static LAST: AtomicPtr<Tally> = AtomicPtr::new(std::ptr::null_mut());
/// How many there are, and how many of them are nobody's.
static COUNT: AtomicUsize = AtomicUsize::new(0);
static FREE: AtomicUsize = AtomicUsize::new(0);
/// For whoever finds no memory, and for a signal that comes before its thread has numbers. What is counted here may be lost.
static NOBODYS: Tally = Tally::new(-1);

fn all() -> impl Iterator<Item = &'static Tally> {
    // SAFETY: what stands there was put there whole by `new`, and stays for ever.
    let last = unsafe { LAST.load(Acquire).as_ref() };
    std::iter::successors(last, |tally| tally.next).chain([&NOBODYS])
}

thread_local! {
    // it has nothing to drop, so that the allocator can ask for it at any time of a thread's life
    static MINE: Cell<Option<&'static Tally>> = const { Cell::new(None) };
}

/// The tally of this thread.
#[inline]
pub(crate) fn mine() -> &'static Tally {
    MINE.get().unwrap_or_else(first)
}

#[cold]
fn first() -> &'static Tally {
    // what is counted meanwhile is no reason to begin anew
    MINE.set(Some(&NOBODYS));
    let thread = sample::this_thread().number() + 1;
    let is_given = |tally: &&Tally| tally.thread.compare_exchange(0, thread, Acquire, Relaxed).is_ok();
    let free = (FREE.load(Relaxed) > 0).then(|| all().find(is_given)).flatten();
    let tally = match free {
        Some(free) => {
            FREE.fetch_sub(1, Relaxed);
            free
        }
        None => new(thread).unwrap_or(&NOBODYS),
    };
    MINE.set(Some(tally));
    tally
}

fn new(thread: i32) -> Option<&'static Tally> {
    // SAFETY: the layout is that of a `Tally`, whose size is not 0. What there is room for is written before it is shown to anybody, and
    // never freed.
    let tally = unsafe {
        let room = System.alloc(Layout::new::<Tally>()).cast::<Tally>();
        if room.is_null() {
            return None;
        }
        room.write(Tally::new(thread));
        &mut *room
    };
    COUNT.fetch_add(1, Relaxed);
    let mut last = LAST.load(Acquire);
    loop {
        // SAFETY: as in `all`.
        tally.next = unsafe { last.as_ref() };
        match LAST.compare_exchange_weak(last, tally, AcqRel, Acquire) {
            Ok(_) => return Some(tally),
            Err(other) => last = other,
        }
    }
}

/// Does something in a signal's handler, where there is no asking for memory.
pub(crate) fn in_handler(then: impl FnOnce()) {
    let mine = MINE.get();
    let tally = mine.unwrap_or(&NOBODYS);
    MINE.set(Some(tally));
    tally.uncopied(then);
    MINE.set(mine);
}

/// Counts an allocation or a copy of this thread, unless it is its first, or its stack is to be taken.
#[inline]
pub(crate) fn counts(of: Of, bytes: usize) -> bool {
    let Some(tally) = MINE.get() else { return false };
    let sum = tally.with(of, bytes);
    let is_plain = sum < tally.look_at[of as usize].load(Relaxed);
    if is_plain {
        tally.count(of, sum);
    }
    is_plain
}

/// Counts an allocation or a copy of this thread.
#[inline]
pub(crate) fn count(of: Of, bytes: usize) {
    if !counts(of, bytes) {
        count_and_look(of, bytes);
    }
}

/// Counts one that is its first, or whose stack is to be taken.
#[cold]
pub(crate) fn count_and_look(of: Of, bytes: usize) {
    let tally = mine();
    let sum = tally.with(of, bytes);
    let look_at = &tally.look_at[of as usize];
    if sum >= look_at.load(Relaxed) {
        let since = look_at.swap(sum + BYTES_OF_A_STACK, Relaxed).saturating_sub(BYTES_OF_A_STACK);
        // what is nobody's several threads may have
        watch::take(of, sum.saturating_sub(since));
    }
    // taking it may have counted too
    tally.count(of, tally.with(of, bytes));
}

/// Counts what is freed by this thread.
#[inline]
pub(crate) fn freed(bytes: usize) {
    let tally = mine();
    tally.add(&tally.freed_bytes, bytes as u64);
}

/// The same, where the thread has counted something by now.
#[inline]
pub(crate) fn frees(bytes: usize) -> bool {
    MINE.get().inspect(|tally| tally.add(&tally.freed_bytes, bytes as u64)).is_some()
}

/// Gives back what threads had that have ended, once there are many. What they counted stays counted. It is not for the threads to do: they
/// count until their last allocation.
pub(crate) fn give_back() {
    if COUNT.load(Relaxed) - FREE.load(Relaxed) <= MANY {
        return;
    }
    for tally in all() {
        let thread = tally.thread.load(Relaxed);
        if thread > 0 && !sample::lives(Thread::of_number(thread - 1)) {
            tally.polls_since.store(0, Relaxed);
            // in this order, so that no more are taken than are counted
            FREE.fetch_add(1, AcqRel);
            tally.thread.store(0, Release);
        }
    }
}

/// What threads have noted of requests.
pub(crate) fn ledgers() -> impl Iterator<Item = &'static Ledger> {
    all().map(|tally| &tally.ledger)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_handler_copies_is_as_if_it_had_not_been() {
        count(Of::Copied, 1);
        let tally = mine();
        let numbers =
            || (tally.now().copies, tally.now().copied_bytes, tally.look_at[Of::Copied as usize].load(Relaxed));
        let before = numbers();
        assert!(before.2 < u64::MAX);
        // more than a stack is taken of
        in_handler(|| count(Of::Copied, 3 * BYTES_OF_A_STACK as usize));
        assert_eq!(numbers(), before);
        count(Of::Copied, 3 * BYTES_OF_A_STACK as usize);
        assert!(numbers().2 > before.2);
    }
}
