//! A timer for each thread, which runs while the thread computes and sends SIGPROF to it alone.
//!
//! A timer of the whole process would do with one system call, but its signals go to whichever thread the kernel finds. By
//! threads each one's time is right, and the threads that wait are not disturbed.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::{fs, io, ptr};

const NANOSECONDS: u64 = 1_000_000_000;

/// The timers of a session. They are used by one thread.
pub(super) struct Timers {
    of: HashMap<c_int, Timer>,
    period_ns: u64,
    threads_max: usize,
    session: usize,
    /// The session's own thread.
    but: c_int,
    rounds: u32,
}

/// How many rounds a number that went from one thread to another may have the timer of the first: numbers are given anew only when
/// all others have been, and to ask each timer costs more than to list the threads.
const UNASKED_ROUNDS_MAX: u32 = 10;

impl Timers {
    pub(super) fn new(session: usize, hz: u32, threads_max: usize) -> Self {
        // SAFETY: gettid has no arguments and cannot fail.
        let but = unsafe { libc::gettid() };
        Self { of: HashMap::new(), period_ns: NANOSECONDS / u64::from(hz), threads_max, session, but, rounds: 0 }
    }

    /// Gives a timer to threads that have none, and takes those of threads that have ended. Returns how many have none, as there
    /// are too many threads or timers.
    ///
    /// # Errors
    /// If the threads cannot be listed, or no thread can have a timer.
    pub(super) fn follow(&mut self) -> io::Result<u64> {
        let mut threads = Vec::new();
        for entry in fs::read_dir("/proc/self/task")? {
            let name = entry?.file_name();
            threads.extend(name.to_str().and_then(|name| name.parse::<c_int>().ok()));
        }
        threads.sort_unstable();
        self.rounds += 1;
        let is_asked = self.rounds.is_multiple_of(UNASKED_ROUNDS_MAX);
        let is_listed = |thread: &c_int| threads.binary_search(thread).is_ok();
        self.of.retain(|thread, timer| is_listed(thread) && (!is_asked || timer.is_alive()));
        let (mut without, mut why) = (0, None);
        for thread in threads {
            if thread == self.but || self.of.contains_key(&thread) {
                continue;
            }
            if self.of.len() >= self.threads_max {
                without += 1;
                continue;
            }
            match Timer::new(thread, self.period_ns, self.session) {
                Ok(timer) => drop(self.of.insert(thread, timer)),
                // it ended after it was listed
                Err(error) if matches!(error.raw_os_error(), Some(libc::ESRCH | libc::EINVAL)) => {}
                Err(error) => (without, why) = (without + 1, Some(error)),
            }
        }
        match why {
            Some(error) if self.of.is_empty() => Err(error),
            _ => Ok(without),
        }
    }
}

/// The kernel's timer, given back when dropped.
struct Timer(libc::timer_t);

impl Timer {
    fn new(thread: c_int, period_ns: u64, session: usize) -> io::Result<Self> {
        // SAFETY: a `sigevent` of zero bytes is valid.
        let mut event = unsafe { MaybeUninit::<libc::sigevent>::zeroed().assume_init() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = libc::SIGPROF;
        event.sigev_value = libc::sigval { sival_ptr: session as *mut _ };
        event.sigev_notify_thread_id = thread;
        let mut timer = ptr::null_mut();
        // SAFETY: the kernel reads the event, checks clock and thread, and writes the timer. The value is a number for
        // the handler, which does not follow it.
        if unsafe { libc::timer_create(clock_of(thread), &raw mut event, &raw mut timer) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let timer = Self(timer);
        let time = |ns: u64| libc::timespec {
            tv_sec: (ns / NANOSECONDS) as libc::time_t,
            tv_nsec: (ns % NANOSECONDS) as libc::c_long,
        };
        // threads that work in step are not sampled in step
        let first_ns = 1 + period_ns / 16 * (1 + thread.rem_euclid(16) as u64);
        let times = libc::itimerspec { it_interval: time(period_ns), it_value: time(first_ns) };
        // SAFETY: the timer is this one's, and the times live here.
        match unsafe { libc::timer_settime(timer.0, 0, &raw const times, ptr::null_mut()) } {
            0 => Ok(timer),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Whether the thread that it was made for still lives: after that nothing remains to wait for.
    fn is_alive(&self) -> bool {
        let mut times = MaybeUninit::<libc::itimerspec>::zeroed();
        // SAFETY: the timer is this one's; the kernel writes the times, which are valid as zero bytes too.
        let times = unsafe {
            if libc::timer_gettime(self.0, times.as_mut_ptr()) != 0 {
                return false;
            }
            times.assume_init()
        };
        times.it_value.tv_sec != 0 || times.it_value.tv_nsec != 0
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: the timer was made by `new` and is given back once.
        unsafe { libc::timer_delete(self.0) };
    }
}

/// The clock of what a thread has computed (source: `include/linux/posix-timers.h`, `make_thread_cpuclock`).
fn clock_of(thread: c_int) -> libc::clockid_t {
    const OF_ONE_THREAD: c_int = 4;
    const WHILE_IT_RUNS: c_int = 2;
    (!thread << 3) | OF_ONE_THREAD | WHILE_IT_RUNS
}
