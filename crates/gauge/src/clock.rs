//! Measures the time of a poll: all of it, the part on a CPU, and the part without one.
//!
//! A thread's CPU clock is a system call, 1.1 us where the time of day is 0.03 (measured on the machine of `bench/runs`), and a request is
//! polled twice or three times in 10 us. So a short poll is taken to be on the CPU from its start to its end, and the clock is asked when one
//! has taken longer than [`SHORT`]: what it shows more than the thread's polls since it was asked last is that poll's. What the executor
//! does between polls counts to it then, at most [`ANCHORED`] of it.
//!
//! A poll that takes long without computing may stand still, or its thread may be ready to run
//! while all CPUs are busy. Linux counts the latter time for each thread
//! (`/proc/thread-self/schedstat`), so that on a busy machine no poll seems to block its executor.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime};

/// Longer polls are looked at, in nanoseconds.
const SHORT: u64 = 1_000_000;
/// How long the CPU clock's answer is good for, in nanoseconds.
const ANCHORED: u64 = 20_000_000;

/// How long a poll took, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Polled {
    pub(crate) wall: u64,
    pub(crate) cpu: u64,
    /// The part of `wall` in which the thread was ready to run and had no CPU; 0 if the system does
    /// not count it. In the rest the poll held its executor, computing or standing still.
    pub(crate) starved: u64,
}

impl Polled {
    /// Returns the time for which the poll held its executor, computing or standing still.
    pub(crate) fn held(self) -> u64 {
        self.wall - self.starved
    }
}

/// State of a thread's clocks at their last reading, and the time for which the thread has polled
/// since, in nanoseconds.
struct Anchor {
    /// Time of the reading, or 0 if the clocks have not been read.
    at: Cell<u64>,
    cpu: Cell<u64>,
    /// Time without a CPU, or `None` if it has not been read.
    starved: Cell<Option<u64>>,
    polled: Cell<u64>,
}

thread_local! {
    static ANCHOR: Anchor = const {
        Anchor { at: Cell::new(0), cpu: Cell::new(0), starved: Cell::new(None), polled: Cell::new(0) }
    };
}

static BEGAN: LazyLock<(Instant, SystemTime)> = LazyLock::new(|| (Instant::now(), SystemTime::now()));

/// Now, in nanoseconds since the process first asked, and never 0.
#[inline]
pub(crate) fn now() -> u64 {
    counter::now().unwrap_or_else(by_the_system)
}

#[cold]
fn by_the_system() -> u64 {
    BEGAN.0.elapsed().as_nanos() as u64 + 1
}

/// When that was.
#[cfg(feature = "otlp")]
pub(crate) fn began_at() -> SystemTime {
    BEGAN.1
}

/// Begins to read the processor's own counter, where the system does.
pub(crate) fn prepare() {
    counter::prepare();
}

/// How long ago that was.
pub(crate) fn since(earlier: u64) -> Duration {
    Duration::from_nanos(now().saturating_sub(earlier))
}

/// The processor's counter of time: half of what the system's clock costs (21 ns for 45 in a virtual machine), of which a request has five
/// readings. It is read where Linux has found it to be good: steady, and the same on all processors.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod counter {
    use super::by_the_system;
    use std::arch::x86_64::_rdtsc;
    use std::sync::OnceLock;
    use std::time::Duration;

    const CHOSEN: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    /// How long it is watched to know its rate, which is known to 1 in 50,000 then.
    const WATCHED: Duration = Duration::from_millis(5);

    struct Rate {
        /// What it showed at a time.
        count: u64,
        nanoseconds: u64,
        /// Nanoseconds of 2^32 counts.
        of_counts: u64,
    }

    static RATE: OnceLock<Option<Rate>> = OnceLock::new();

    pub(super) fn prepare() {
        RATE.get_or_init(|| {
            let is_good = std::fs::read_to_string(CHOSEN).is_ok_and(|name| name.trim() == "tsc");
            is_good.then(watch).flatten()
        });
    }

    fn watch() -> Option<Rate> {
        let (count, nanoseconds) = both();
        std::thread::sleep(WATCHED);
        let (count_then, nanoseconds_then) = both();
        let counts = count_then.checked_sub(count).filter(|counts| *counts > 0)?;
        let of_counts = (u128::from(nanoseconds_then - nanoseconds) << 32) / u128::from(counts);
        Some(Rate { count: count_then, nanoseconds: nanoseconds_then, of_counts: of_counts.try_into().ok()? })
    }

    /// Both clocks at once: of a few readings the one that took the least.
    fn both() -> (u64, u64) {
        let read = || {
            let (before, nanoseconds, after) = (count(), by_the_system(), count());
            (after.saturating_sub(before), before + after.saturating_sub(before) / 2, nanoseconds)
        };
        let (_, count, nanoseconds) = (0..16).map(|_| read()).min().unwrap_or_else(read);
        (count, nanoseconds)
    }

    #[inline]
    fn count() -> u64 {
        // SAFETY: every processor of this architecture has the instruction.
        unsafe { _rdtsc() }
    }

    #[inline]
    pub(super) fn now() -> Option<u64> {
        let rate = RATE.get()?.as_ref()?;
        let since = u128::from(count().saturating_sub(rate.count)) * u128::from(rate.of_counts);
        Some(rate.nanoseconds + (since >> 32) as u64)
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod counter {
    pub(super) fn prepare() {}

    pub(super) fn now() -> Option<u64> {
        None
    }
}

/// Begins a poll, maybe within another, whose reading of the clock is left to it: what had been computed in that by then counts to this one too if
/// it stands still, as long as it does.
#[inline]
pub(crate) fn start(is_within: bool) -> u64 {
    start_on(is_within, true)
}

/// Starts the clock for work that is not a poll. The thread's waits for a CPU are not read, because
/// reading them would keep a file open for the thread.
#[inline]
pub(crate) fn start_beside(is_within: bool) -> u64 {
    start_on(is_within, false)
}

#[inline]
fn start_on(is_within: bool, is_poll: bool) -> u64 {
    let began = now();
    let at = ANCHOR.with(|anchor| anchor.at.get());
    if at > 0 && (is_within || began.saturating_sub(at) < ANCHORED) { began } else { anchored(began, is_poll) }
}

#[cold]
fn anchored(began: u64, is_poll: bool) -> u64 {
    ANCHOR.with(|anchor| {
        anchor.at.set(began);
        anchor.cpu.set(thread_cpu());
        anchor.starved.set(is_poll.then(starved::of_thread));
        anchor.polled.set(0);
    });
    now()
}

/// Ends a poll, which took so long. One within another is told of both.
#[inline]
pub(crate) fn end(wall: u64, is_within: bool) -> Polled {
    if wall > SHORT {
        return end_long(wall, is_within);
    }
    if !is_within {
        ANCHOR.with(|anchor| anchor.polled.set(anchor.polled.get() + wall));
    }
    Polled { wall, cpu: wall, starved: 0 }
}

#[cold]
fn end_long(wall: u64, is_within: bool) -> Polled {
    ANCHOR.with(|anchor| {
        let (cpu, starved) = match anchor.at.get() {
            0 => (wall, 0),
            _ => (
                thread_cpu().saturating_sub(anchor.cpu.get() + anchor.polled.get()).min(wall),
                anchor.starved.get().map_or(0, |before| starved::of_thread().saturating_sub(before)),
            ),
        };
        if !is_within {
            anchor.at.set(0);
        }
        // The difference also contains waits for a CPU between the anchor and this poll, so it is
        // limited to the time in which the poll did not compute.
        Polled { wall, cpu, starved: starved.min(wall - cpu) }
    })
}

/// Reads the time for which a thread was ready to run and had no CPU.
#[cfg(all(target_os = "linux", not(miri)))]
mod starved {
    use std::cell::OnceCell;
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    /// File with three numbers about the thread that opens it: nanoseconds on a CPU, nanoseconds of
    /// waiting for a CPU, and the number of time slices.
    const COUNTED: &str = "/proc/thread-self/schedstat";

    thread_local! {
        static FILE: OnceCell<Option<File>> = const { OnceCell::new() };
    }

    /// Returns the time so far in nanoseconds, or 0 if the kernel does not count it.
    pub(super) fn of_thread() -> u64 {
        // A thread whose thread-local values have been destroyed polls no more.
        FILE.try_with(|file| file.get_or_init(|| File::open(COUNTED).ok()).as_ref().and_then(read))
            .ok()
            .flatten()
            .unwrap_or(0)
    }

    fn read(file: &File) -> Option<u64> {
        let mut text = [0; 96];
        let read = file.read_at(&mut text, 0).ok()?;
        std::str::from_utf8(&text[..read]).ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod starved {
    /// This system does not count the time.
    pub(super) fn of_thread() -> u64 {
        0
    }
}

/// How long this thread has been on a CPU, in nanoseconds.
#[cfg(unix)]
fn thread_cpu() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes one `timespec`, which is ours.
    match unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) } {
        0 => time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64,
        _ => 0,
    }
}

/// Not known here: all of a poll is taken to be on the CPU.
#[cfg(not(unix))]
fn thread_cpu() -> u64 {
    u64::MAX / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_goes_with_the_system_s_clock() {
        prepare();
        let (ours, theirs) = (now(), Instant::now());
        std::thread::sleep(Duration::from_millis(50));
        let (ours, theirs) = (now() - ours, theirs.elapsed().as_nanos() as u64);
        assert!(ours.abs_diff(theirs) < theirs / 100, "{ours} and {theirs} ns");
        assert!(now().abs_diff(by_the_system()) < 5_000_000);
    }

    #[test]
    fn a_poll_that_sleeps_is_not_on_the_cpu() {
        let started = start(false);
        std::thread::sleep(Duration::from_millis(60));
        let slept = end(now() - started, false);
        assert!(slept.wall >= 60_000_000 && slept.cpu < slept.wall / 2, "{slept:?}");
        let before = thread_cpu();
        let started = start(false);
        while thread_cpu() - before < 30_000_000 {
            std::hint::black_box(0);
        }
        let busy = end(now() - started, false);
        assert!((25_000_000..=busy.wall).contains(&busy.cpu), "{busy:?}");
        assert!(busy.held() >= busy.cpu, "{busy:?}");
    }

    /// Runs twice as many threads as there are CPUs, so that each has a CPU for half of its time.
    #[cfg(all(target_os = "linux", not(miri)))]
    #[test]
    fn a_poll_that_waits_for_a_cpu_does_not_hold_its_executor_meanwhile() {
        const COMPUTED: u64 = 100_000_000;
        let threads = 2 * std::thread::available_parallelism().map_or(1, usize::from);
        let together = std::sync::Barrier::new(threads);
        let poll = || {
            together.wait();
            let started = start(false);
            let before = thread_cpu();
            while thread_cpu() - before < COMPUTED {
                std::hint::black_box(0);
            }
            end(now() - started, false)
        };
        let polls: Vec<Polled> = std::thread::scope(|scope| {
            let polls: Vec<_> = (0..threads).map(|_| scope.spawn(poll)).collect();
            polls.into_iter().map(|poll| poll.join().unwrap()).collect()
        });
        if polls.iter().all(|poll| poll.starved == 0) {
            // The kernel does not count the time.
            return;
        }
        let sum = |of: fn(&Polled) -> u64| polls.iter().map(of).sum::<u64>();
        let without_cpu = sum(|poll| poll.wall - poll.cpu);
        // In the remaining time the thread neither computed nor stood still by itself: the machine
        // or another machine beside it was busy.
        assert!(2 * sum(|poll| poll.starved) > without_cpu, "{polls:?}");
    }
}
