//! Who looks on while requests are served: stacks at allocations and copies, inside polls that take too long, and at awaits.
//!
//! Stacks at allocations and copies are taken for one of so many bytes, so that what they cost does not depend on how many there are.

use crate::account::{self, unpoisoned};
use crate::clock;
use crate::finding::BLOCKED_NANOSECONDS_MIN;
use crate::place;
use crate::route::Route;
use crate::sample::{self, Samples, Stack, Tag, Thread, Unit};
use crate::tally::{self, Of};
use std::cell::Cell;
use std::collections::HashMap;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{LazyLock, Mutex, Once};
use std::time::Duration;

/// How often polls are looked at.
const LOOK: Duration = Duration::from_millis(5);
/// And while there are none.
const LOOK_IDLE: Duration = Duration::from_millis(25);
/// How often it is looked whether threads have ended.
const LOOKS_GIVE_BACK: u64 = 64;
/// Of how many routes a blocked poll's stack is kept.
const BLOCKED_MAX: usize = 1000;

/// Stacks that have been taken, for one thing.
pub(crate) type Taken = LazyLock<Mutex<Samples>>;

pub(crate) static ALLOCATED: Taken = LazyLock::new(|| Mutex::new(Samples::new(Unit::Bytes)));
pub(crate) static COPIED: Taken = LazyLock::new(|| Mutex::new(Samples::new(Unit::Bytes)));
pub(crate) static WAITED: Taken = LazyLock::new(|| Mutex::new(Samples::new(Unit::WaitNanoseconds)));
static BLOCKED: LazyLock<Mutex<HashMap<Tag, Box<Stack>>>> = LazyLock::new(Mutex::default);
static IS_READY: AtomicBool = AtomicBool::new(false);
/// How many want stacks at awaits.
static WAITS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Whether a stack is being taken: what that allocates and copies is not looked at.
    static IS_TAKING: Cell<bool> = const { Cell::new(false) };
}

/// Begins to look on, once for the process: makes unwinding ready, and starts a thread that looks at polls. Where stacks cannot be taken
/// nothing is looked at; all else is counted.
pub(crate) fn start(caller: &'static Location<'static>) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        clock::prepare();
        let is_ready = sample::prepare().is_ok();
        for samples in [&ALLOCATED, &COPIED, &WAITED] {
            LazyLock::force(samples);
        }
        IS_READY.store(is_ready, Relaxed);
        if is_ready {
            place::note(caller);
            // without it blocked polls are counted and their stacks unknown
            let _ = std::thread::Builder::new().name("gauge".to_owned()).spawn(look_on);
        }
    });
}

/// Takes the stack of an allocation or a copy, which stands for so many bytes.
pub(crate) fn take(of: Of, weight: u64) {
    let tag = sample::tag();
    if tag == 0 || sample::is_in_handler() || !IS_READY.load(Relaxed) || IS_TAKING.replace(true) {
        return;
    }
    account::uncharged(|| {
        let stack = sample::stack_here();
        let samples = match of {
            Of::Allocated => &ALLOCATED,
            Of::Copied => &COPIED,
        };
        if let Ok(mut samples) = samples.try_lock() {
            samples.add(tag, &stack, weight);
        }
    });
    IS_TAKING.set(false);
}

/// Whether stacks at awaits are wanted.
pub(crate) fn waits() -> bool {
    WAITS.load(Relaxed) > 0
}

/// Has stacks taken at awaits until it is dropped.
#[derive(Debug)]
pub(crate) struct WantsWaits;

impl WantsWaits {
    pub(crate) fn new() -> WantsWaits {
        WAITS.fetch_add(1, Relaxed);
        WantsWaits
    }
}

impl Drop for WantsWaits {
    fn drop(&mut self) {
        WAITS.fetch_sub(1, Relaxed);
    }
}

/// Notes how long a request has waited at an await.
pub(crate) fn waited(tag: Tag, stack: &Stack, nanoseconds: u64) {
    unpoisoned(&WAITED).add(tag, stack, nanoseconds);
}

/// What has been taken so far.
pub(crate) fn so_far(taken: &Taken) -> Samples {
    IS_TAKING.set(true);
    let samples = unpoisoned(taken).clone();
    IS_TAKING.set(false);
    samples
}

/// Looks at what threads poll.
fn look_on() {
    let mut seen: HashMap<Thread, u64> = HashMap::new();
    for looks in 1_u64.. {
        if looks.is_multiple_of(LOOKS_GIVE_BACK) {
            tally::give_back();
        }
        let now = clock::now();
        let mut is_idle = true;
        for poll in tally::polls() {
            is_idle = false;
            let is_long = now.saturating_sub(poll.since) >= BLOCKED_NANOSECONDS_MIN;
            if !is_long || seen.insert(poll.thread, poll.since) == Some(poll.since) {
                continue;
            }
            if let Some(stack) = sample::stack_of(poll.thread) {
                let mut blocked = unpoisoned(&BLOCKED);
                if blocked.len() < BLOCKED_MAX || blocked.contains_key(&poll.tag) {
                    blocked.insert(poll.tag, Box::new(stack));
                }
            }
        }
        std::thread::sleep(if is_idle { LOOK_IDLE } else { LOOK });
    }
}

/// The last stack inside a poll of the route that took too long.
pub(crate) fn stack_of(route: &Route) -> Option<Box<Stack>> {
    unpoisoned(&BLOCKED).get(&route.tag).cloned()
}

/// The line of the application that a route's stacks weigh most at.
pub(crate) fn heaviest(taken: &Taken, route: &Route) -> Option<String> {
    let samples = so_far(taken).of_tag(route.tag);
    let mut sums: HashMap<String, u64> = HashMap::new();
    for (place, weight) in samples.named().tops_of(place::is_of_application) {
        if let Some(place) = place::shown(place) {
            *sums.entry(place).or_default() += weight;
        }
    }
    sums.into_iter().max_by_key(|(_, weight)| *weight).map(|(place, _)| place)
}
