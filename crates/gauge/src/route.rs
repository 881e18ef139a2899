//! What the requests of each route have cost together.

use crate::account::{Account, Stage, Wait, unpoisoned};
use crate::histogram::Histogram;
use crate::lock::Known;
use crate::sample::{self, Stack};
use std::collections::HashMap;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant, SystemTime};

/// How many routes are told apart. Requests of later ones are those of [`OTHER`].
pub const ROUTES_MAX: usize = 10_000;
/// The route of requests beyond [`ROUTES_MAX`].
pub const OTHER: &str = "(other)";
/// How long a route's name is at most, in bytes.
pub const ROUTE_BYTES_MAX: usize = 200;
/// How many of the worst requests of a route are kept with their bills.
const WORST_MAX: usize = 10;
/// How long a time is that requests are shown for one by one.
const SPAN: Duration = Duration::from_secs(10);
/// How many of these are kept.
const SPANS: usize = 30;

/// What a request has cost: times in nanoseconds, all else in bytes or counted.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Bill {
    /// When it came.
    pub at: SystemTime,
    /// The `traceparent` that its client sent.
    pub trace: Option<Box<str>>,
    /// The status of its answer, 0 if there was none.
    pub status: u16,
    /// From the head of the request to the last byte of the answer.
    pub wall: u64,
    /// On a CPU, by the tasks that served it.
    pub cpu: u64,
    /// The longest poll.
    pub longest_poll: u64,
    /// By kind, in the order of [`Wait::ALL`].
    pub waits: [u64; Wait::ALL.len()],
    /// By name, in the order in which they came first.
    pub stages: Vec<(&'static str, u64)>,
    /// How often memory was asked for.
    pub allocations: u64,
    /// How much.
    pub allocated_bytes: u64,
    /// The most that it held at once.
    pub peak_bytes: u64,
    /// How much was copied, where copies are counted.
    pub copied_bytes: u64,
    /// Of its body.
    pub bytes_in: u64,
    /// Of its answer's.
    pub bytes_out: u64,
    /// As the service says.
    pub rows: u64,
}

impl Bill {
    pub(crate) fn of(account: &Account, status: u16) -> Bill {
        let wall = account.started.elapsed();
        let load = |number: &AtomicU64| number.load(Relaxed);
        let counts = account.counts();
        Bill {
            at: began_at() + account.started.saturating_duration_since(began()),
            trace: account.trace.clone(),
            status,
            wall: wall.as_nanos() as u64,
            cpu: load(&account.cpu),
            longest_poll: load(&account.longest_poll),
            waits: std::array::from_fn(|kind| load(&account.waits[kind])),
            stages: unpoisoned(&account.stages).clone(),
            allocations: counts.allocations,
            allocated_bytes: counts.allocated_bytes,
            peak_bytes: account.peak_bytes(),
            copied_bytes: counts.copied_bytes,
            bytes_in: load(&account.bytes_in),
            bytes_out: load(&account.bytes_out),
            rows: load(&account.rows),
        }
    }

    /// How long it waited for something.
    pub fn waited(&self, kind: Wait) -> u64 {
        self.waits[kind as usize]
    }
}

/// The requests of a time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Span {
    /// Which one since the process began to count.
    pub(crate) number: u64,
    pub(crate) count: u64,
    pub(crate) wall: u64,
    pub(crate) longest: u64,
    /// How many took so long, by the power of two of the nanoseconds.
    pub(crate) powers: Vec<(u8, u32)>,
}

/// A guard that lived across an await.
#[derive(Debug, Clone)]
pub(crate) struct Across {
    pub(crate) lock: &'static Known,
    pub(crate) taken_at: &'static Location<'static>,
    /// The place of the await, once it has been seen.
    pub(crate) awaited_at: Option<Box<Stack>>,
    pub(crate) times: u64,
    pub(crate) nanoseconds: u64,
    /// How many requests stood behind it at most.
    pub(crate) behind: u64,
}

/// A route and what its requests have cost.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) name: Box<str>,
    /// What samples of its requests are known by.
    pub(crate) tag: sample::Tag,
    pub(crate) in_flight: AtomicUsize,
    pub(crate) errors: AtomicU64,
    pub(crate) wall: Histogram,
    pub(crate) cpu: Histogram,
    pub(crate) allocations: Histogram,
    pub(crate) allocated_bytes: Histogram,
    pub(crate) peak_bytes: Histogram,
    pub(crate) copied_bytes: Histogram,
    pub(crate) longest_poll: Histogram,
    pub(crate) bytes_in: AtomicU64,
    pub(crate) bytes_out: AtomicU64,
    pub(crate) rows: AtomicU64,
    pub(crate) waits: [AtomicU64; Wait::ALL.len()],
    more: Mutex<More>,
    seeks_place: AtomicBool,
    /// How long a request takes to be among the worst.
    worst_from: AtomicU64,
}

#[derive(Debug, Default)]
struct More {
    stages: Vec<Stage>,
    worst: Vec<Bill>,
    spans: Vec<Span>,
    across: Vec<Across>,
}

impl Route {
    fn new(name: &str, tag: u64) -> Route {
        Route {
            name: name.into(),
            tag,
            in_flight: 0.into(),
            errors: 0.into(),
            wall: Histogram::default(),
            cpu: Histogram::default(),
            allocations: Histogram::default(),
            allocated_bytes: Histogram::default(),
            peak_bytes: Histogram::default(),
            copied_bytes: Histogram::default(),
            longest_poll: Histogram::default(),
            bytes_in: 0.into(),
            bytes_out: 0.into(),
            rows: 0.into(),
            waits: [const { AtomicU64::new(0) }; Wait::ALL.len()],
            more: Mutex::default(),
            seeks_place: false.into(),
            worst_from: 0.into(),
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.wall.count()
    }

    /// Adds what a request has cost.
    pub(crate) fn add(&self, bill: Bill) {
        self.wall.add(bill.wall);
        self.cpu.add(bill.cpu);
        self.allocations.add(bill.allocations);
        self.allocated_bytes.add(bill.allocated_bytes);
        self.peak_bytes.add(bill.peak_bytes);
        self.longest_poll.add(bill.longest_poll);
        if bill.copied_bytes > 0 {
            self.copied_bytes.add(bill.copied_bytes);
        }
        for (sum, spent) in [
            (&self.bytes_in, bill.bytes_in),
            (&self.bytes_out, bill.bytes_out),
            (&self.rows, bill.rows),
            (&self.errors, u64::from(bill.status >= 500)),
        ]
        .into_iter()
        .chain(self.waits.iter().zip(bill.waits))
        {
            if spent > 0 {
                sum.fetch_add(spent, Relaxed);
            }
        }
        let mut more = unpoisoned(&self.more);
        for (name, nanoseconds) in &bill.stages {
            let is_full = more.stages.len() == crate::account::STAGES_MAX;
            match more.stages.iter_mut().find(|(known, _)| known == name) {
                Some((_, sum)) => *sum += nanoseconds,
                None if is_full => {}
                None => more.stages.push((name, *nanoseconds)),
            }
        }
        more.span(&bill);
        if bill.wall > self.worst_from.load(Relaxed) {
            more.worst.push(bill);
            more.worst.sort_unstable_by_key(|bill| std::cmp::Reverse(bill.wall));
            more.worst.truncate(WORST_MAX);
            if let Some(least) = more.worst.get(WORST_MAX - 1) {
                self.worst_from.store(least.wall, Relaxed);
            }
        }
    }

    /// That a request of this route held a guard while it waited.
    pub(crate) fn held_across(&self, lock: &'static Known, taken_at: &'static Location<'static>, behind: u64) -> bool {
        let mut more = unpoisoned(&self.more);
        let same = |across: &&mut Across| std::ptr::eq(across.lock, lock) && across.taken_at == taken_at;
        match more.across.iter_mut().find(same) {
            Some(across) => {
                across.times += 1;
                across.behind = across.behind.max(behind);
                false
            }
            None => {
                self.seeks_place.store(true, Relaxed);
                SEEKS_PLACE.store(true, Relaxed);
                more.across.push(Across { lock, taken_at, awaited_at: None, times: 1, nanoseconds: 0, behind });
                true
            }
        }
    }

    /// For how long it did, and where.
    pub(crate) fn held_across_for(
        &self,
        taken_at: &'static Location<'static>,
        nanoseconds: u64,
        place: Option<Box<Stack>>,
    ) {
        let mut more = unpoisoned(&self.more);
        if let Some(across) = more.across.iter_mut().find(|across| across.taken_at == taken_at) {
            across.nanoseconds += nanoseconds;
            across.awaited_at = across.awaited_at.take().or(place);
        }
        self.seeks_place.store(more.across.iter().any(|across| across.awaited_at.is_none()), Relaxed);
    }

    /// Whether the place of an await is still to be found.
    pub(crate) fn seeks_place(&self) -> bool {
        self.seeks_place.load(Relaxed)
    }

    pub(crate) fn across(&self) -> Vec<Across> {
        unpoisoned(&self.more).across.clone()
    }

    pub(crate) fn stages(&self) -> Vec<Stage> {
        unpoisoned(&self.more).stages.clone()
    }

    pub(crate) fn worst(&self) -> Vec<Bill> {
        unpoisoned(&self.more).worst.clone()
    }

    /// The times that are kept, the oldest first, each with how long ago it began.
    pub(crate) fn spans(&self) -> Vec<(Duration, Span)> {
        let now = span_at(began().elapsed());
        let spans = unpoisoned(&self.more).spans.clone();
        let mut spans: Vec<_> =
            spans.into_iter().map(|span| (SPAN * (now - span.number.min(now)) as u32, span)).collect();
        spans.retain(|(ago, span)| span.count > 0 && *ago < SPAN * SPANS as u32);
        spans.sort_unstable_by_key(|(ago, _)| std::cmp::Reverse(*ago));
        spans
    }
}

impl More {
    fn span(&mut self, bill: &Bill) {
        let ended = bill.at + Duration::from_nanos(bill.wall);
        let number = span_at(ended.duration_since(began_at()).unwrap_or_default());
        let place = (number % SPANS as u64) as usize;
        if self.spans.len() <= place {
            self.spans.resize_with(place + 1, Span::default);
        }
        let span = &mut self.spans[place];
        if span.number != number {
            *span = Span { number, ..Span::default() };
        }
        span.count += 1;
        span.wall += bill.wall;
        span.longest = span.longest.max(bill.wall);
        let power = bill.wall.max(1).ilog2() as u8;
        match span.powers.iter_mut().find(|(known, _)| *known == power) {
            Some((_, count)) => *count += 1,
            None => span.powers.push((power, 1)),
        }
    }
}

/// Whether a guard has lived across an await, of which the place was to be found.
static SEEKS_PLACE: AtomicBool = AtomicBool::new(false);

/// Whether any route has one.
pub(crate) fn any_seeks_place() -> bool {
    SEEKS_PLACE.load(Relaxed)
}

static BEGAN: LazyLock<(Instant, SystemTime)> = LazyLock::new(|| (Instant::now(), SystemTime::now()));

/// From when on there are sums.
pub(crate) fn began() -> Instant {
    BEGAN.0
}

fn began_at() -> SystemTime {
    BEGAN.1
}

/// Which span a time since then is in. None is the 0th.
fn span_at(since_began: Duration) -> u64 {
    1 + since_began.as_secs() / SPAN.as_secs()
}

static ROUTES: LazyLock<RwLock<HashMap<Box<str>, Arc<Route>>>> = LazyLock::new(RwLock::default);

fn routes() -> RwLockReadGuard<'static, HashMap<Box<str>, Arc<Route>>> {
    ROUTES.read().unwrap_or_else(PoisonError::into_inner)
}

/// The route of this name, which is known from now on.
pub(crate) fn named(name: &str) -> Arc<Route> {
    let name = cut(name, ROUTE_BYTES_MAX);
    let known = routes().get(name).cloned();
    known.unwrap_or_else(|| first(name))
}

/// As much of a name as is kept.
pub(crate) fn cut(name: &str, bytes_max: usize) -> &str {
    let mut end = name.len().min(bytes_max);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}

#[cold]
fn first(name: &str) -> Arc<Route> {
    let _ = began();
    let mut routes = ROUTES.write().unwrap_or_else(PoisonError::into_inner);
    let name = if routes.contains_key(name) || routes.len() + 1 < ROUTES_MAX { name } else { OTHER };
    let tag = routes.len() as u64 + 1;
    routes.entry(name.into()).or_insert_with(|| Arc::new(Route::new(name, tag))).clone()
}

/// All routes.
pub(crate) fn all() -> Vec<Arc<Route>> {
    routes().values().cloned().collect()
}

/// The route that is known by this name.
pub(crate) fn known(name: &str) -> Option<Arc<Route>> {
    routes().get(name).cloned()
}
