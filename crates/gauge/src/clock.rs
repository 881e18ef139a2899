//! How long a poll took, and how much of it on a CPU.
//!
//! A thread's CPU clock is a system call, 1.1 us where the time of day is 0.03 (measured on the machine of `bench/runs`), and a request is
//! polled twice or three times in 10 us. So a short poll is taken to be on the CPU from its start to its end, and the clock is asked when one
//! has taken longer than [`SHORT`]: what it shows more than the thread's polls since it was asked last is that poll's. What the executor
//! does between polls counts to it then, at most [`ANCHORED`] of it.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// Longer polls are looked at.
const SHORT: Duration = Duration::from_millis(1);
/// How long the clock's answer is good for.
const ANCHORED: Duration = Duration::from_millis(20);

/// How long a poll took, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Polled {
    pub(crate) wall: u64,
    pub(crate) cpu: u64,
}

/// When the CPU clock was asked, what it showed, and how long the thread has polled since, in nanoseconds.
#[derive(Clone, Copy)]
struct Anchor {
    at: Instant,
    cpu: u64,
    polled: u64,
}

thread_local! {
    static ANCHOR: Cell<Option<Anchor>> = const { Cell::new(None) };
}

/// A time as a number: nanoseconds since the process first asked, and never 0.
pub(crate) fn number(at: Instant) -> u64 {
    at.saturating_duration_since(*BEGAN).as_nanos() as u64 + 1
}

/// Now, as a number.
pub(crate) fn nanoseconds() -> u64 {
    number(Instant::now())
}

static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Begins a poll.
pub(crate) fn start() -> Instant {
    let now = Instant::now();
    let is_good = ANCHOR.get().is_some_and(|anchor| now - anchor.at < ANCHORED);
    if is_good {
        return now;
    }
    ANCHOR.set(Some(Anchor { at: now, cpu: thread_cpu(), polled: 0 }));
    Instant::now()
}

/// Ends a poll. One within another is told of both.
pub(crate) fn end(started: Instant, is_within: bool) -> Polled {
    let elapsed = started.elapsed();
    let wall = elapsed.as_nanos() as u64;
    let Some(anchor) = ANCHOR.get() else { return Polled { wall, cpu: wall } };
    let cpu = match elapsed > SHORT {
        true => thread_cpu().saturating_sub(anchor.cpu + anchor.polled).min(wall),
        false => wall,
    };
    if !is_within {
        ANCHOR.set(match elapsed > SHORT {
            true => None,
            false => Some(Anchor { polled: anchor.polled + wall, ..anchor }),
        });
    }
    Polled { wall, cpu }
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
    fn a_poll_that_sleeps_is_not_on_the_cpu() {
        let started = start();
        std::thread::sleep(Duration::from_millis(60));
        let slept = end(started, false);
        assert!(slept.wall >= 60_000_000 && slept.cpu < slept.wall / 2, "{slept:?}");
        let before = thread_cpu();
        let started = start();
        while thread_cpu() - before < 30_000_000 {
            std::hint::black_box(0);
        }
        let busy = end(started, false);
        assert!((25_000_000..=busy.wall).contains(&busy.cpu), "{busy:?}");
    }
}
