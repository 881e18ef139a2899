//! What the requests of each route have cost together.

use crate::account::{self, Account, ByName, Wait, unpoisoned};
use crate::clock;
use crate::ended::{Ended, Held};
use crate::histogram::Histogram;
use crate::ledger;
use crate::lock::Known;
use crate::sample::{self, Stack};
use std::cell::Cell;
use std::collections::HashMap;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{LazyLock, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

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
    /// Longest time for which a poll held its executor, computing or standing still. Time without a
    /// CPU is not counted.
    pub longest_poll: u64,
    /// By kind, in the order of [`Wait::ALL`].
    pub waits: [u64; Wait::ALL.len()],
    /// By name, in the order in which they came first.
    pub stages: Vec<(&'static str, u64)>,
    /// Numbers of the service's own, by name.
    pub counts: Vec<(&'static str, u64)>,
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
    /// At a time of the clock's.
    pub(crate) fn of(account: &Account, at: u64) -> Bill {
        let Ended { wall, cpu, longest_poll, held, copied_bytes, bytes_in, bytes_out, rows, waits, .. } =
            Ended::by(account, at);
        let Held { allocations, allocated_bytes, peak_bytes } = held;
        let by_name = account.by_name();
        Bill {
            at: SystemTime::now() - clock::since(account.started),
            trace: account.trace.clone(),
            status: account.status.load(Relaxed),
            wall,
            cpu,
            longest_poll,
            waits,
            stages: by_name.stages.iter().collect(),
            counts: by_name.counts.iter().collect(),
            allocations,
            allocated_bytes,
            peak_bytes,
            copied_bytes,
            bytes_in,
            bytes_out,
            rows,
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
    /// Of which so many went on: others were given up while they held it.
    pub(crate) went_on: u64,
    /// For how long, of all of them.
    pub(crate) nanoseconds: u64,
    /// How many requests stood behind it at most.
    pub(crate) behind: u64,
}

/// A lock that requests waited for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WaitedFor {
    pub(crate) lock: &'static Known,
    pub(crate) times: u64,
    pub(crate) nanoseconds: u64,
}

/// How many of a route's locks are told apart.
const ROUTE_LOCKS_MAX: usize = 16;

/// A route and what its requests have cost.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) name: Box<str>,
    /// What samples of its requests are known by, and its place among the routes.
    pub(crate) tag: sample::Tag,
    seeks_place: AtomicBool,
    /// How long a request takes at least that is among the worst.
    worst_from: AtomicU64,
    sums: Apart<Mutex<Sums>>,
}

/// What threads write, apart from what they read at each request.
#[derive(Debug)]
#[repr(align(64))]
struct Apart<T>(T);

/// How a route is answered, and how often at least one thread has said so.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    pub(crate) text: Box<str>,
    times: u64,
}

/// What the requests of a route have cost.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sums {
    /// Those that have begun and not ended.
    pub(crate) in_flight: i64,
    pub(crate) errors: u64,
    pub(crate) wall: Histogram,
    pub(crate) cpu: Histogram,
    pub(crate) allocations: Histogram,
    pub(crate) allocated_bytes: Histogram,
    pub(crate) peak_bytes: Histogram,
    pub(crate) copied_bytes: Histogram,
    pub(crate) longest_poll: Histogram,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    pub(crate) rows: u64,
    pub(crate) waits: [u64; Wait::ALL.len()],
    pub(crate) by_name: ByName,
    /// The worst first.
    pub(crate) worst: Vec<Bill>,
    spans: Vec<Span>,
    pub(crate) across: Vec<Across>,
    pub(crate) waited_for: Vec<WaitedFor>,
    /// How it is answered, as the service says: what it says most first.
    pub(crate) shapes: Vec<Shape>,
}

impl Sums {
    /// How many requests are under way. Of one that began on a thread and ended on another the end may be added first.
    pub(crate) fn under_way(&self) -> u64 {
        self.in_flight.max(0) as u64
    }

    /// How many requests there were.
    pub(crate) fn count(&self) -> u64 {
        self.wall.count()
    }

    /// Adds what a request has cost, but for what it has allocated.
    #[inline]
    pub(crate) fn add(&mut self, ended: &Ended, is_error: bool) {
        self.wall.add(ended.wall);
        self.cpu.add(ended.cpu);
        self.longest_poll.add(ended.longest_poll);
        if ended.copied_bytes > 0 {
            self.copied_bytes.add(ended.copied_bytes);
        }
        self.bytes_in += ended.bytes_in;
        self.bytes_out += ended.bytes_out;
        self.rows += ended.rows;
        self.errors += u64::from(is_error);
        for (sum, waited) in self.waits.iter_mut().zip(ended.waits) {
            *sum += waited;
        }
        self.span(ended.at, ended.wall);
    }

    /// Adds what as many requests have allocated, each of them.
    pub(crate) fn add_held(&mut self, held: Held, times: u64) {
        self.allocations.add_times(held.allocations, times);
        self.allocated_bytes.add_times(held.allocated_bytes, times);
        self.peak_bytes.add_times(held.peak_bytes, times);
    }

    /// Keeps a request's bill among the worst, if it is.
    pub(crate) fn note_worst(&mut self, route: &Route, account: &Account) {
        let bill = Bill::of(account, account.ended.load(Relaxed));
        if self.worst.len() == WORST_MAX {
            if self.worst.last().is_some_and(|least| bill.wall <= least.wall) {
                return;
            }
            self.worst.pop();
        }
        let at = self.worst.partition_point(|worse| worse.wall >= bill.wall);
        self.worst.insert(at, bill);
        if self.worst.len() == WORST_MAX {
            let least = self.worst.last().map_or(0, |least| least.wall);
            route.worst_from.store(least + 1, Relaxed);
        }
    }

    fn span(&mut self, at: u64, wall: u64) {
        let number = span_at(at);
        let place = (number % SPANS as u64) as usize;
        if self.spans.len() <= place {
            self.spans.resize_with(place + 1, Span::default);
        }
        let span = &mut self.spans[place];
        if span.number != number {
            *span = Span { number, ..Span::default() };
        }
        span.count += 1;
        span.wall += wall;
        span.longest = span.longest.max(wall);
        let power = wall.max(1).ilog2() as u8;
        match span.powers.iter_mut().find(|(known, _)| *known == power) {
            Some((_, count)) => *count += 1,
            None => span.powers.push((power, 1)),
        }
    }

    /// What is known of a lock's guards that a line took.
    fn across(&mut self, lock: &'static Known, taken_at: &'static Location<'static>) -> Option<&mut Across> {
        let is_it = |across: &&mut Across| std::ptr::eq(across.lock, lock) && across.taken_at == taken_at;
        self.across.iter_mut().find(is_it)
    }

    /// The times that are kept, the oldest first, each with how long ago it began.
    pub(crate) fn spans(&self) -> Vec<(Duration, &Span)> {
        let now = span_at(clock::now());
        let ago = |span: &Span| SPAN * (now - span.number.min(now)) as u32;
        let spans = self.spans.iter().map(|span| (ago(span), span));
        let mut spans: Vec<_> = spans.filter(|(ago, span)| span.count > 0 && *ago < SPAN * SPANS as u32).collect();
        spans.sort_unstable_by_key(|(ago, _)| std::cmp::Reverse(*ago));
        spans
    }
}

/// How many shapes of a route are kept.
const SHAPES_MAX: usize = 16;
/// How long they are together at most, of all routes, in bytes.
const SHAPES_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How much is kept of one.
const SHAPE_BYTES_MAX: usize = 8 * 1024;

static SHAPES_BYTES: AtomicUsize = AtomicUsize::new(0);

impl Route {
    /// Keeps a shape that a thread has said so many times. Of too many those stay that are said most: what each client may write in an order of
    /// its own does not hide what is asked all day.
    pub(crate) fn shape(&self, text: &str, times: u64) {
        let text = cut(text, SHAPE_BYTES_MAX);
        let shapes = &mut self.sums().shapes;
        if let Some(known) = shapes.iter_mut().find(|known| *known.text == *text) {
            known.times = known.times.max(times);
        } else {
            if shapes.len() == SHAPES_MAX {
                let Some(least) = shapes.pop_if(|least| least.times <= times) else { return };
                SHAPES_BYTES.fetch_sub(least.text.len(), Relaxed);
            }
            if SHAPES_BYTES.fetch_add(text.len(), Relaxed) + text.len() > SHAPES_BYTES_MAX {
                SHAPES_BYTES.fetch_sub(text.len(), Relaxed);
                return;
            }
            shapes.push(Shape { text: text.into(), times });
        }
        shapes.sort_by_key(|shape| std::cmp::Reverse(shape.times));
    }

    fn new(name: &str, tag: sample::Tag) -> Route {
        Route { name: name.into(), tag, seeks_place: false.into(), worst_from: 0.into(), sums: Apart(Mutex::default()) }
    }

    /// What its requests have cost.
    pub(crate) fn sums(&self) -> MutexGuard<'_, Sums> {
        unpoisoned(&self.sums.0)
    }

    /// Whether a request that took so long is among the worst.
    pub(crate) fn is_among_worst(&self, wall: u64) -> bool {
        wall >= self.worst_from.load(Relaxed)
    }

    /// That a request of this route waited for a lock.
    pub(crate) fn waited_for(&self, lock: &'static Known, nanoseconds: u64) {
        let known = &mut self.sums().waited_for;
        let is_full = known.len() == ROUTE_LOCKS_MAX;
        match known.iter_mut().find(|known| std::ptr::eq(known.lock, lock)) {
            Some(known) => (known.times, known.nanoseconds) = (known.times + 1, known.nanoseconds + nanoseconds),
            None if is_full => {}
            None => known.push(WaitedFor { lock, times: 1, nanoseconds }),
        }
    }

    /// That a request of this route held a guard while it waited.
    pub(crate) fn held_across(&self, held: &account::Held, behind: u64) -> bool {
        let &account::Held { lock, taken_at, .. } = held;
        let mut sums = self.sums();
        match sums.across(lock, taken_at) {
            Some(across) => {
                across.times += 1;
                across.behind = across.behind.max(behind);
                false
            }
            None => {
                self.seeks_place.store(true, Relaxed);
                SEEKS_PLACE.store(true, Relaxed);
                sums.across.push(Across {
                    lock,
                    taken_at,
                    awaited_at: None,
                    times: 1,
                    went_on: 0,
                    nanoseconds: 0,
                    behind,
                });
                true
            }
        }
    }

    /// For how long it did, where, and whether it went on then or was given up.
    pub(crate) fn held_across_for(
        &self,
        held: &account::Held,
        nanoseconds: u64,
        place: Option<Box<Stack>>,
        went_on: bool,
    ) {
        let mut sums = self.sums();
        if let Some(across) = sums.across(held.lock, held.taken_at) {
            across.went_on += u64::from(went_on);
            across.nanoseconds += nanoseconds;
            across.awaited_at = across.awaited_at.take().or(place);
        }
        self.seeks_place.store(sums.across.iter().any(|across| across.awaited_at.is_none()), Relaxed);
    }

    /// Whether the place of an await is still to be found.
    pub(crate) fn seeks_place(&self) -> bool {
        self.seeks_place.load(Relaxed)
    }
}

/// Whether a guard has lived across an await, of which the place was to be found.
static SEEKS_PLACE: AtomicBool = AtomicBool::new(false);

/// Whether any route has one.
pub(crate) fn any_seeks_place() -> bool {
    SEEKS_PLACE.load(Relaxed)
}

/// Which span a time of the clock is in. None is the 0th.
fn span_at(nanoseconds: u64) -> u64 {
    1 + nanoseconds / SPAN.as_nanos() as u64
}

/// Routes by their names. They stay for as long as the process does.
static ROUTES: LazyLock<RwLock<HashMap<&'static str, &'static Route>>> = LazyLock::new(RwLock::default);
/// And by their tags, which begin with 1.
static BY_TAG: [OnceLock<&'static Route>; ROUTES_MAX + 1] = [const { OnceLock::new() }; ROUTES_MAX + 1];

/// How many routes a thread finds at once.
const RECENT: usize = 64;
/// An odd number with which products differ in their upper bits: 2 to the number of bits, by the golden ratio.
const MIX: usize = (u64::MAX as f64 / 1.618_033_988_749_895) as usize | 1;

thread_local! {
    /// Routes that the thread has had, by their names' lengths and ends.
    static HAD: [Cell<Option<&'static Route>>; RECENT] = const { [const { Cell::new(None) }; RECENT] };
}

/// The route of this name, which is known from now on.
pub(crate) fn named(name: &str) -> &'static Route {
    of_parts([name])
}

/// The route whose name is all of these one behind the other.
pub(crate) fn of_parts<const N: usize>(parts: [&str; N]) -> &'static Route {
    let ends = parts.iter().fold(0, |sum: usize, part| {
        let end = part.as_bytes().last_chunk().map_or(0, |end| u32::from_le_bytes(*end));
        (sum.rotate_left(5) ^ part.len() ^ end as usize).wrapping_mul(MIX)
    });
    let is_it = |route: &&Route| {
        let rest = parts.iter().try_fold(route.name.as_bytes(), |rest, part| {
            let (begin, rest) = rest.split_at_checked(part.len())?;
            (begin == part.as_bytes()).then_some(rest)
        });
        rest.is_some_and(<[u8]>::is_empty)
    };
    HAD.with(|had| {
        let had = &had[ends >> (usize::BITS - RECENT.ilog2())];
        had.get().filter(is_it).unwrap_or_else(|| {
            let route = known_or_new(&parts.concat());
            had.set(Some(route));
            route
        })
    })
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
fn known_or_new(name: &str) -> &'static Route {
    let name = cut(name, ROUTE_BYTES_MAX);
    let routes = ROUTES.read().unwrap_or_else(PoisonError::into_inner);
    // the last place is that of all others
    let name = if routes.len() + 1 >= ROUTES_MAX && !routes.contains_key(name) { OTHER } else { name };
    if let Some(route) = routes.get(name) {
        return route;
    }
    drop(routes);
    let mut routes = ROUTES.write().unwrap_or_else(PoisonError::into_inner);
    let name = if routes.contains_key(name) || routes.len() + 1 < ROUTES_MAX { name } else { OTHER };
    if let Some(route) = routes.get(name) {
        return route;
    }
    let tag = routes.len() + 1;
    let route: &'static Route = Box::leak(Box::new(Route::new(name, tag as sample::Tag)));
    let _ = BY_TAG[tag].set(route);
    routes.insert(&route.name, route);
    route
}

/// The route of a tag.
pub(crate) fn of_tag(tag: sample::Tag) -> Option<&'static Route> {
    BY_TAG.get(tag as usize)?.get().copied()
}

/// All routes, with what their requests have cost up to now.
pub(crate) fn all() -> Vec<&'static Route> {
    ledger::settle();
    ROUTES.read().unwrap_or_else(PoisonError::into_inner).values().copied().collect()
}

/// The route that is known by this name, with what its requests have cost up to now.
pub(crate) fn known(name: &str) -> Option<&'static Route> {
    ledger::settle();
    ROUTES.read().unwrap_or_else(PoisonError::into_inner).get(name).copied()
}
