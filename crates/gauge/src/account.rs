//! What a request has cost so far, and which request a thread is at work for.
#![allow(unsafe_code)]

use crate::clock::{self, Polled};
use crate::ledger;
use crate::route::{self, Route};
use crate::sample;
use crate::tally::{self, Counts, Since, Tally};
use crate::task::State;
use std::cell::{Cell, UnsafeCell};
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::panic::{Location, RefUnwindSafe};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI64, AtomicU16, AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a request waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wait {
    /// A lock of [`lock`](crate::lock).
    Lock,
    /// A database's answer.
    Database,
    /// A connection of a pool.
    Pool,
    /// A time to come.
    Timer,
    /// Anything else that a future waits for.
    Io,
    /// An executor or a CPU: the task was woken and not polled yet, or its thread had no CPU while it polled.
    Runnable,
    /// The thread stood still while it polled, because something blocked it that no future reports.
    Blocked,
}

impl Wait {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Wait; 7] =
        [Wait::Lock, Wait::Database, Wait::Pool, Wait::Timer, Wait::Io, Wait::Runnable, Wait::Blocked];

    /// Its name.
    pub const fn name(self) -> &'static str {
        ["lock", "database", "pool", "timer", "io", "runnable", "blocked"][self as usize]
    }
}

/// Sums by names of the caller's own.
#[derive(Debug, Clone, Default)]
pub(crate) struct Named(Vec<(&'static str, u64)>);

/// How many names are told apart. What comes under later ones goes to the last.
const NAMES_MAX: usize = 24;

impl Named {
    pub(crate) fn add(&mut self, name: &'static str, number: u64) {
        // a name is a place of the program as a rule: that it is the same one need not be read
        match self.0.iter_mut().find(|(known, _)| std::ptr::eq(*known, name)) {
            Some((_, sum)) => *sum += number,
            None => self.add_by_text(name, number),
        }
    }

    /// The same for the sums of one request: whether another name of the program's has the same text is not asked until they are read.
    pub(crate) fn note(&mut self, name: &'static str, number: u64) {
        let is_full = self.0.len() == NAMES_MAX;
        match self.0.iter_mut().find(|(known, _)| std::ptr::eq(*known, name)) {
            Some((_, sum)) => *sum += number,
            None if is_full => self.add_by_text(name, number),
            None => self.0.push((name, number)),
        }
    }

    /// The same for names that differ from each other.
    #[inline]
    pub(crate) fn note_all(&mut self, others: impl Iterator<Item = (&'static str, u64)>) {
        match self.0.is_empty() {
            true => self.0.extend(others.take(NAMES_MAX)),
            false => others.for_each(|(name, number)| self.note(name, number)),
        }
    }

    fn add_by_text(&mut self, name: &'static str, number: u64) {
        let is_full = self.0.len() == NAMES_MAX;
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += number,
            None if is_full => self.0[NAMES_MAX - 1].1 += number,
            None => self.0.push((name, number)),
        }
    }

    /// Adds one that stands at this place or behind it, as it does of another request of the same route as a rule, and tells which is the next.
    pub(crate) fn add_from(&mut self, place: usize, name: &'static str, number: u64) -> usize {
        let ahead = self.0.get_mut(place..).unwrap_or_default();
        match ahead.iter().position(|(known, _)| std::ptr::eq(*known, name)) {
            Some(behind) => {
                ahead[behind].1 += number;
                place + behind + 1
            }
            None => {
                self.add(name, number);
                place
            }
        }
    }

    fn add_all(&mut self, others: &Named) {
        others.iter().fold(0, |place, (name, number)| self.add_from(place, name, number));
    }

    /// In the order in which they came first.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (&'static str, u64)> {
        self.0.iter().copied()
    }
}

/// A guard of a lock that a request holds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Held {
    pub(crate) id: u64,
    /// The task that took it.
    pub(crate) task: u32,
    pub(crate) lock: &'static crate::lock::Known,
    pub(crate) taken_at: &'static Location<'static>,
}

/// What one request has cost so far. Threads that work for it at once add to it.
#[derive(Debug)]
pub(crate) struct Account {
    pub(crate) started: u64,
    /// When its answer was whole, or given up; 0 before.
    pub(crate) ended: AtomicU64,
    /// The status of its answer, 0 while there is none.
    pub(crate) status: AtomicU16,
    /// The tag of the route where it counts as under way, 0 for none.
    under_way_as: AtomicU64,
    /// Its route's, 0 for none: what its samples are known by.
    tag: AtomicU64,
    /// Of the request that it is part of, as the client says (W3C Trace Context).
    pub(crate) trace: Option<Box<str>>,
    pub(crate) cpu: AtomicU64,
    pub(crate) longest_poll: AtomicU64,
    allocations: AtomicU64,
    allocated_bytes: AtomicU64,
    live_bytes: AtomicI64,
    peak_bytes: AtomicU64,
    copies: AtomicU64,
    copied_bytes: AtomicU64,
    pub(crate) bytes_in: AtomicU64,
    pub(crate) bytes_out: AtomicU64,
    /// One more than the bytes of an answer that is whole in memory; 0 while none is.
    pub(crate) whole: AtomicU64,
    pub(crate) rows: AtomicU64,
    pub(crate) waits: [AtomicU64; Wait::ALL.len()],
    named: Shared<ByName>,
    /// Locks that it holds, and how many those are, which is 0 for most.
    held: Mutex<Vec<Held>>,
    held_count: AtomicU64,
    /// How many tasks work for it beside the one that answers, which is the 0th.
    tasks: AtomicU32,
    /// Of the task that answers.
    main: Alone<State>,
    /// Requests that are served within it and are its own too: of a [`bill_of`](crate::bill_of) only.
    pub(crate) within: Option<Within>,
    /// Whose bill has this one too, for the same.
    pub(crate) outer: Option<Arc<Account>>,
}

/// How many requests are served within another bill.
#[derive(Debug, Default)]
pub(crate) struct Within {
    pub(crate) begun: AtomicU64,
    pub(crate) ended: AtomicU64,
}

/// What it says itself.
#[derive(Debug, Clone, Default)]
pub(crate) struct ByName {
    /// Times, in nanoseconds.
    pub(crate) stages: Named,
    pub(crate) counts: Named,
}

impl ByName {
    pub(crate) fn add(&mut self, other: &ByName) {
        self.stages.add_all(&other.stages);
        self.counts.add_all(&other.counts);
    }
}

impl Account {
    pub(crate) fn new(route: Option<&'static Route>) -> Account {
        Account {
            started: clock::start(is_at_work()),
            ended: 0.into(),
            status: 0.into(),
            under_way_as: route.map_or(0, |route| route.tag).into(),
            tag: route.map_or(0, |route| route.tag).into(),
            trace: None,
            cpu: 0.into(),
            longest_poll: 0.into(),
            allocations: 0.into(),
            allocated_bytes: 0.into(),
            live_bytes: 0.into(),
            peak_bytes: 0.into(),
            copies: 0.into(),
            copied_bytes: 0.into(),
            bytes_in: 0.into(),
            bytes_out: 0.into(),
            whole: 0.into(),
            rows: 0.into(),
            waits: [const { AtomicU64::new(0) }; Wait::ALL.len()],
            named: Shared::default(),
            held: Mutex::new(Vec::new()),
            held_count: 0.into(),
            tasks: 0.into(),
            main: Alone::default(),
            within: None,
            outer: None,
        }
    }

    /// Makes one as new, with the memory that it has. Its main task has ended.
    pub(crate) fn renew(&mut self, route: &'static Route) {
        // each by its name, so that none that comes is forgotten
        let Account {
            started,
            ended,
            status,
            under_way_as,
            tag,
            trace,
            cpu,
            longest_poll,
            allocations,
            allocated_bytes,
            live_bytes,
            peak_bytes,
            copies,
            copied_bytes,
            bytes_in,
            bytes_out,
            whole,
            rows,
            waits,
            named,
            held,
            held_count,
            tasks,
            main: _,
            within,
            outer,
        } = self;
        *started = clock::start(is_at_work());
        // one behind the other, so that they become a few wide stores
        (*ended.get_mut(), *cpu.get_mut(), *longest_poll.get_mut()) = (0, 0, 0);
        (*allocations.get_mut(), *allocated_bytes.get_mut()) = (0, 0);
        (*live_bytes.get_mut(), *peak_bytes.get_mut()) = (0, 0);
        (*copies.get_mut(), *copied_bytes.get_mut()) = (0, 0);
        (*bytes_in.get_mut(), *bytes_out.get_mut(), *whole.get_mut(), *rows.get_mut()) = (0, 0, 0, 0);
        *waits = [const { AtomicU64::new(0) }; Wait::ALL.len()];
        (*held_count.get_mut(), *status.get_mut(), *tasks.get_mut()) = (0, 0, 0);
        (*tag.get_mut(), *under_way_as.get_mut()) = (route.tag, route.tag);
        let ByName { stages, counts } = named.value.0.get_mut();
        stages.0.clear();
        counts.0.clear();
        held.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
        (*trace, *within, *outer) = (None, None, None);
    }

    /// The state of the task that answers.
    ///
    /// # Safety
    /// Nobody else has it meanwhile.
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn main(&self) -> &mut State {
        // SAFETY: the caller's promise.
        unsafe { self.main.get() }
    }

    pub(crate) fn route(&self) -> Option<&'static Route> {
        route::of_tag(self.tag.load(Relaxed))
    }

    /// Whether its answer tells of a failure.
    pub(crate) fn is_error(&self) -> bool {
        self.status.load(Relaxed) >= 500
    }

    /// Whether the awaits of its route are to be found.
    pub(crate) fn seeks_place(&self) -> bool {
        route::any_seeks_place() && self.route().is_some_and(|route| route.seeks_place())
    }

    pub(crate) fn counts(&self) -> Counts {
        Counts {
            allocations: self.allocations.load(Relaxed),
            allocated_bytes: self.allocated_bytes.load(Relaxed),
            freed_bytes: 0,
            copies: self.copies.load(Relaxed),
            copied_bytes: self.copied_bytes.load(Relaxed),
        }
    }

    pub(crate) fn peak_bytes(&self) -> u64 {
        self.peak_bytes.load(Relaxed)
    }

    /// What it says itself.
    pub(crate) fn by_name(&self) -> ByName {
        let mut told = ByName::default();
        self.named.with(|by_name| told.add(by_name));
        told
    }

    pub(crate) fn hold(&self, held: Held) {
        unpoisoned(&self.held).push(held);
        self.held_count.fetch_add(1, Relaxed);
    }

    pub(crate) fn let_go(&self, id: u64) {
        let mut held = unpoisoned(&self.held);
        if let Some(at) = held.iter().position(|held| held.id == id) {
            held.swap_remove(at);
            self.held_count.fetch_sub(1, Relaxed);
        }
    }

    /// Whether it holds locks.
    #[inline]
    pub(crate) fn holds(&self) -> bool {
        self.held_count.load(Relaxed) > 0
    }

    /// The locks that one of its tasks holds. Those that others hold meanwhile, as a thread does that computes for it, wait for nothing.
    pub(crate) fn held_by(&self, task: u32) -> Vec<Held> {
        match self.held_count.load(Relaxed) {
            0 => Vec::new(),
            _ => unpoisoned(&self.held).iter().filter(|held| held.task == task).copied().collect(),
        }
    }

    /// The number of another task.
    pub(crate) fn new_task(&self) -> u32 {
        1 + self.tasks.fetch_add(1, Relaxed)
    }

    /// Adds what a request within it has cost. The time of its polls is here already.
    pub(crate) fn add(&self, inner: &Account) {
        for (sum, spent) in [
            (&self.allocations, &inner.allocations),
            (&self.allocated_bytes, &inner.allocated_bytes),
            (&self.copied_bytes, &inner.copied_bytes),
            (&self.bytes_in, &inner.bytes_in),
            (&self.bytes_out, &inner.bytes_out),
            (&self.rows, &inner.rows),
        ] {
            sum.fetch_add(spent.load(Relaxed), Relaxed);
        }
        let peak = self.live_bytes.load(Relaxed).saturating_add_unsigned(inner.peak_bytes());
        self.peak_bytes.fetch_max(peak.max(0) as u64, Relaxed);
        let inner = inner.by_name();
        self.named.with(|by_name| by_name.add(&inner));
    }
}

/// A value that one thread at a time has, whatever makes it so.
#[derive(Debug, Default)]
struct Alone<T>(UnsafeCell<T>);

// SAFETY: the value goes from thread to thread, and one at a time has it: see `get`.
unsafe impl<T: Send> Sync for Alone<T> {}

// as a mutex's whose poison is passed over: what a panic leaves here are sums without the last number
impl<T> RefUnwindSafe for Alone<T> {}

impl<T> Alone<T> {
    /// # Safety
    /// Nobody else has it meanwhile.
    #[allow(clippy::mut_from_ref)]
    unsafe fn get(&self) -> &mut T {
        // SAFETY: the caller's promise.
        unsafe { &mut *self.0.get() }
    }
}

/// A value that threads have by its lock, unless one is the only thread that can reach it.
#[derive(Debug, Default)]
struct Shared<T> {
    lock: Mutex<()>,
    value: Alone<T>,
}

impl<T> Shared<T> {
    fn with<R>(&self, then: impl FnOnce(&mut T) -> R) -> R {
        let _lock = unpoisoned(&self.lock);
        // SAFETY: the lock is ours, and who goes without it is alone. None of the functions here comes back to it meanwhile.
        then(unsafe { self.value.get() })
    }
}

/// A thread that adds to an account: its only owner, as for most, which needs no operation that other processors wait for, or one of several.
///
/// It is made anew for whatever is added at once: an owner that has given the account to a task in between is no more the only one.
#[derive(Clone, Copy)]
pub(crate) struct Adding<'a> {
    account: &'a Account,
    is_alone: bool,
}

impl Deref for Adding<'_> {
    type Target = Account;

    fn deref(&self) -> &Account {
        self.account
    }
}

impl<'a> Adding<'a> {
    /// Whoever adds has an `Arc` of the account, or is called within a [`Work`] that borrows one on the same thread, as [`with`] is. What has an
    /// `Arc` (a task, a stage, what a thread does beside) is polled, done or dropped by one thread at a time. So where there is one `Arc`, no
    /// other thread can add, and none comes to do so before this one gives the account to it.
    pub(crate) fn to(account: &'a Arc<Account>) -> Adding<'a> {
        let is_alone = Arc::strong_count(account) == 1;
        // what others have added stands there once they have let go of it
        fence(Acquire);
        Adding { account, is_alone }
    }

    /// Adds to one of the account's sums.
    #[inline(always)]
    pub(crate) fn add(self, sum: impl FnOnce(&'a Account) -> &'a AtomicU64, number: u64) {
        let sum = sum(self.account);
        match self.is_alone {
            true => sum.store(sum.load(Relaxed) + number, Relaxed),
            false if number > 0 => drop(sum.fetch_add(number, Relaxed)),
            false => {}
        }
    }

    /// Notes what may be the largest of its kind.
    #[inline(always)]
    fn raise(self, largest: &AtomicU64, number: u64) {
        match number > largest.load(Relaxed) {
            true if self.is_alone => largest.store(number, Relaxed),
            true => drop(largest.fetch_max(number, Relaxed)),
            false => {}
        }
    }

    pub(crate) fn waited(self, kind: Wait, nanoseconds: u64) {
        self.add(|account| &account.waits[kind as usize], nanoseconds);
    }

    /// Does something with what it says itself.
    pub(crate) fn by_name(self, then: impl FnOnce(&mut ByName)) {
        let named = &self.account.named;
        match self.is_alone {
            // SAFETY: no other thread can reach it, as `to` says, and none of the functions here comes back to it meanwhile.
            true => then(unsafe { named.value.get() }),
            false => named.with(then),
        }
    }

    #[inline(always)]
    fn charge(self, tally: &Tally, since: &Since) {
        // one number after the other, which needs no copy of them that would be counted itself
        let [allocations, allocated_bytes, copies, copied_bytes] = tally.spent(since);
        self.add(|account| &account.allocations, allocations);
        self.add(|account| &account.allocated_bytes, allocated_bytes);
        if copies > 0 {
            self.add(|account| &account.copies, copies);
            self.add(|account| &account.copied_bytes, copied_bytes);
        }
        let (live, peak) = tally.held();
        // of threads that work for it at once the last one says what it holds
        self.live_bytes.store(live, Relaxed);
        self.raise(&self.account.peak_bytes, peak.max(0) as u64);
    }

    #[inline(always)]
    fn charge_time(self, polled: Polled, is_poll: bool) {
        self.add(|account| &account.cpu, polled.cpu);
        let in_place = IN_PLACE.take();
        if is_poll {
            self.raise(&self.account.longest_poll, polled.held().saturating_sub(in_place));
        }
        let waited_within = WAITED_WITHIN.take();
        if polled.wall > polled.cpu {
            self.waited(Wait::Runnable, polled.starved);
            self.waited(Wait::Blocked, (polled.held() - polled.cpu).saturating_sub(waited_within));
        }
    }

    /// Whether nobody else can reach it.
    pub(crate) fn is_alone(self) -> bool {
        self.is_alone
    }

    /// The route where it was under way, which it is no more, and its own.
    pub(crate) fn arrives(self) -> Option<(&'static Route, &'static Route)> {
        loop {
            let from = route::of_tag(self.under_way_as.load(Relaxed))?;
            if self.moves(from.tag, 0) {
                return Some((from, self.account.route().unwrap_or(from)));
            }
        }
    }

    /// Its route, by which it is known from now on.
    pub(crate) fn set_route(self, route: &'static Route) {
        self.tag.store(route.tag, Relaxed);
        sample::tagged(route.tag);
        let from = route::of_tag(self.under_way_as.load(Relaxed)).filter(|from| !std::ptr::eq(*from, route));
        if let Some(from) = from.filter(|from| self.moves(from.tag, route.tag)) {
            ledger::moved(from, route);
        }
    }

    /// Has it under way as another route's, unless somebody else has by now.
    fn moves(self, from: u64, to: u64) -> bool {
        match self.is_alone {
            true => {
                self.under_way_as.store(to, Relaxed);
                true
            }
            false => self.under_way_as.compare_exchange(from, to, Relaxed, Relaxed).is_ok(),
        }
    }
}

pub(crate) fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a thread is at work for.
struct At {
    account: Cell<Option<NonNull<Account>>>,
    /// Which of its tasks.
    task: Cell<u32>,
    /// What the thread had counted when it began, or came back to it.
    since: Since,
}

thread_local! {
    /// Whether the thread is at work for the gauge itself.
    static IS_OWN: Cell<bool> = const { Cell::new(false) };
    static AT: At = const { At { account: Cell::new(None), task: Cell::new(0), since: Since::new() } };
    /// How long the thread stood still within the poll, as far as it is told elsewhere for what.
    static WAITED_WITHIN: Cell<u64> = const { Cell::new(0) };
    /// Time of the poll in which the executor served its other tasks on another thread.
    static IN_PLACE: Cell<u64> = const { Cell::new(0) };
    /// What the future that is polled waits for, as the innermost that says so has it.
    static WAITS_FOR: Cell<Wait> = const { Cell::new(Wait::Io) };
}

/// Notes how long the thread stood still for something that is known.
pub(crate) fn waited_within(kind: Wait, nanoseconds: u64) {
    with(|adding| adding.waited(kind, nanoseconds));
    WAITED_WITHIN.set(WAITED_WITHIN.get() + nanoseconds);
}

/// Runs work within a poll that does not hold up its executor, because the executor serves its
/// other tasks on another thread: `tokio::task::block_in_place(|| thalweg_gauge::in_place(|| …))`.
/// The time is charged to the request as usual, but does not make its poll a long one.
pub fn in_place<T>(work: impl FnOnce() -> T) -> T {
    let began = clock::now();
    let done = work();
    IN_PLACE.set(IN_PLACE.get() + clock::now().saturating_sub(began));
    done
}

#[cold]
fn charge_outer(outer: &Account, tally: &Tally, since: &Since) {
    Adding { account: outer, is_alone: false }.charge(tally, since);
}

/// Charges an account with what the thread does until this is dropped; then whoever was at work before is charged again.
pub(crate) struct Work<'a> {
    account: &'a Arc<Account>,
    /// For whom the thread was at work, and for which of its tasks.
    before: (Option<NonNull<Account>>, u32),
    tag: sample::Tag,
    started: u64,
    is_poll: bool,
    waits_for: Wait,
}

impl<'a> Work<'a> {
    /// A poll of one of its tasks.
    #[inline]
    pub(crate) fn on(account: &'a Arc<Account>, task: u32) -> Work<'a> {
        Work::begun(account, task, clock::start(is_at_work()), true)
    }

    /// What the task that answers has just begun with.
    #[inline]
    pub(crate) fn on_since(account: &'a Arc<Account>, started: u64) -> Work<'a> {
        Work::begun(account, 0, started, true)
    }

    /// What a thread does that no executor needs: it may take as long as it takes.
    pub(crate) fn beside(account: &'a Arc<Account>, task: u32) -> Work<'a> {
        Work::begun(account, task, clock::start_beside(is_at_work()), false)
    }

    #[inline]
    fn begun(account: &'a Arc<Account>, task: u32, started: u64, is_poll: bool) -> Work<'a> {
        let tally = tally::mine();
        let before = AT.with(|at| {
            let before = (at.account.get(), at.task.get());
            if let (Some(outer), _) = before {
                // SAFETY: it is one that a `Work` further up on this thread borrows, which is dropped after this one.
                charge_outer(unsafe { outer.as_ref() }, tally, &at.since);
            }
            tally.hold(account.live_bytes.load(Relaxed));
            at.account.set(NonNull::new(Arc::as_ptr(account).cast_mut()));
            at.task.set(task);
            tally.begin(&at.since);
            before
        });
        let tag = account.tag.load(Relaxed);
        if is_poll && before.0.is_none() {
            tally.polls(started, tag);
        }
        let tag = sample::tagged(tag);
        Work { account, before, tag, started, is_poll, waits_for: WAITS_FOR.replace(Wait::Io) }
    }

    /// When it began.
    pub(crate) fn started(&self) -> u64 {
        self.started
    }

    /// What its future waits for.
    pub(crate) fn waits_for(&self) -> Wait {
        WAITS_FOR.get()
    }

    /// Ends it, and tells when.
    #[inline]
    pub(crate) fn end(self) -> u64 {
        let ended = self.ended();
        std::mem::forget(self);
        ended
    }

    #[inline]
    fn ended(&self) -> u64 {
        let ended = clock::now();
        let (outer, task) = self.before;
        let tally = tally::mine();
        let wall = ended.saturating_sub(self.started);
        let polled = clock::end(wall, outer.is_some());
        AT.with(|at| {
            let charge = |adding: Adding<'_>| {
                adding.charge(tally, &at.since);
                adding.charge_time(polled, self.is_poll);
            };
            match Adding::to(self.account) {
                // most are, and need not be asked again for each number
                Adding { account, is_alone: true } => charge(Adding { account, is_alone: true }),
                Adding { account, .. } => charge(Adding { account, is_alone: false }),
            }
            at.account.set(outer);
            match outer {
                Some(outer) => {
                    // SAFETY: as in `begun`.
                    tally.hold(unsafe { outer.as_ref() }.live_bytes.load(Relaxed));
                    at.task.set(task);
                    tally.begin(&at.since);
                }
                None => tally.polls_no_more(),
            }
        });
        sample::tagged(self.tag);
        WAITS_FOR.set(self.waits_for);
        ended
    }
}

impl Drop for Work<'_> {
    // not inline: polls are ended by `end`, unless they panic
    #[inline(never)]
    fn drop(&mut self) {
        self.ended();
    }
}

/// Does something that the gauge itself needs: what it allocates and copies is charged to nobody.
pub(crate) fn uncharged<T>(then: impl FnOnce() -> T) -> T {
    let was_own = IS_OWN.replace(true);
    let tally = tally::mine();
    let (before, held, since) = (tally.now(), tally.held(), AT.with(|at| at.since.counts()));
    let done = then();
    // whatever has begun to count anew within it, as another one of these
    AT.with(|at| at.since.become_later(since, tally.now().since(before)));
    tally.holds_again(held);
    IS_OWN.set(was_own);
    done
}

/// Whether the thread is at work for the gauge itself.
pub(crate) fn is_own() -> bool {
    IS_OWN.get()
}

/// Does something with the account of the request that this thread is at work for.
pub(crate) fn with<T>(then: impl FnOnce(Adding<'_>) -> T) -> Option<T> {
    AT.with(|at| at.account.get()).map(|account| {
        // SAFETY: it is the pointer of an `Arc` that a `Work` on this thread borrows, which is dropped after this has returned.
        let account = ManuallyDrop::new(unsafe { Arc::from_raw(account.as_ptr()) });
        then(Adding::to(&account))
    })
}

/// What the request that this is called for has allocated and copied so far, and what this thread has for it since it came to it.
pub fn spent() -> Option<Counts> {
    let [allocations, allocated_bytes, copies, copied_bytes] = AT.with(|at| tally::mine().spent(&at.since));
    with(|account| {
        let mut spent = account.counts();
        spent.add(Counts { allocations, allocated_bytes, copies, copied_bytes, ..Counts::NONE });
        spent
    })
}

/// The account of the request that this thread is at work for.
pub(crate) fn current() -> Option<Arc<Account>> {
    let account = AT.with(|at| at.account.get())?;
    // SAFETY: the pointer is that of an `Arc`, which a `Work` on this thread borrows.
    unsafe {
        Arc::increment_strong_count(account.as_ptr());
        Some(Arc::from_raw(account.as_ptr()))
    }
}

/// Whether this thread is at work for a request.
fn is_at_work() -> bool {
    AT.with(|at| at.account.get()).is_some()
}

/// Which of its tasks this thread is at work for.
pub(crate) fn task() -> u32 {
    AT.with(|at| at.task.get())
}

/// The tag of the route of the request that this thread is at work for, 0 for none.
pub(crate) fn tag() -> sample::Tag {
    with(|account| account.tag.load(Relaxed)).unwrap_or(0)
}

/// Says what the future that is being polled waits for, unless one within it has.
pub(crate) fn waits_for(kind: Wait) {
    if WAITS_FOR.get() == Wait::Io {
        WAITS_FOR.set(kind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn who_is_alone_again_has_what_the_others_added() {
        const OTHERS: u64 = 3;
        const TIMES: u64 = if cfg!(miri) { 5 } else { 10_000 };
        let account = Arc::new(Account::new(None));
        let add = |account: &Arc<Account>| {
            let adding = Adding::to(account);
            adding.add(|account| &account.rows, 1);
            adding.by_name(|by_name| by_name.counts.add("times", 1));
            adding.is_alone()
        };
        let mut added = OTHERS * TIMES + 1;
        thread::scope(|scope| {
            for _ in 0..OTHERS {
                let account = account.clone();
                scope.spawn(move || {
                    for _ in 0..TIMES {
                        add(&account);
                    }
                });
            }
            // nothing but the account says that they are gone
            while !add(&account) {
                added += 1;
            }
        });
        assert_eq!(account.rows.load(Relaxed), added);
        assert_eq!(account.by_name().counts.iter().collect::<Vec<_>>(), [("times", added)]);
    }
}
