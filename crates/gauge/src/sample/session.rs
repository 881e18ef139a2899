//! A session: timers on, samples taken out of the ring and added up, timers off.

use super::ring::{Record, Ring, WAITING_MAX};
use super::timers::Timers;
use super::{HZ_MAX, SECONDS_MAX, STACKS_MAX, Samples, THREADS_MAX, Unit, handler};
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Samples are taken out of the ring before half of it is full, if all processors compute, and at least and at most so often.
const TAKE_MS_MIN: u64 = 10;
const TAKE_MS_MAX: u64 = 100;
/// How often new threads are looked for.
const FOLLOW_MS: u64 = 100;
const NANOSECONDS: u64 = 1_000_000_000;

/// What a session does, within bounds.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Samples a second of each thread's CPU time, 1 to [`HZ_MAX`].
    pub hz: u32,
    /// After how many seconds it stops by itself, 1 to [`SECONDS_MAX`].
    pub seconds: u32,
    /// How many threads have a timer, at most [`THREADS_MAX`].
    pub threads: usize,
    /// How many different stacks are kept, at most [`STACKS_MAX`].
    pub stacks: usize,
}

impl Default for Options {
    /// 99 Hz, in step with nothing; 30 seconds; 1024 threads; all the stacks that there may be.
    fn default() -> Self {
        Self { hz: 99, seconds: 30, threads: 1024, stacks: STACKS_MAX }
    }
}

/// The process in which a session runs, or 0: a child of a fork has none.
static RUNS_IN: AtomicU32 = AtomicU32::new(0);

/// The sampling profiler of this process.
#[derive(Debug)]
pub struct Sampler;

impl Sampler {
    /// Begins to sample all threads.
    ///
    /// # Errors
    /// `InvalidInput` beyond the bounds of [`Options`], `ResourceBusy` while another session runs or if the program has a handler
    /// of its own for SIGPROF, `Unsupported` on machines without samples, and what the system says if no timer can be had.
    pub fn start(options: Options) -> io::Result<Session> {
        let Options { hz, seconds, threads, stacks } = options;
        let is_bounded = (1..=HZ_MAX).contains(&hz)
            && (1..=SECONDS_MAX).contains(&seconds)
            && (1..=THREADS_MAX).contains(&threads)
            && stacks <= STACKS_MAX;
        if !is_bounded {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "beyond the bounds of a session"));
        }
        let turn = Turn::new()?;
        handler::prepare()?;
        static SESSIONS: AtomicUsize = AtomicUsize::new(1);
        let ring = Arc::new(Ring::new(SESSIONS.fetch_add(1, Ordering::Relaxed)));
        let samples = Mutex::new(Samples::with_room(Unit::CpuNanoseconds, stacks));
        let is_over = AtomicBool::new(false);
        let shared = Arc::new(Shared { ring, samples, period_ns: NANOSECONDS / u64::from(hz), is_over });
        let (tell, begun) = mpsc::sync_channel(1);
        let own = Arc::clone(&shared);
        let work = move || collect(&own, options, turn, &tell);
        let worker = std::thread::Builder::new().name("gauge-sampler".to_owned());
        let worker = handler::without_signals(|| worker.spawn(work))?;
        let session = Session { shared, worker: Some(worker) };
        begun.recv().unwrap_or_else(|_| Err(io::Error::other("the sampler's thread ended")))?;
        Ok(session)
    }
}

/// Samples are being collected, until it is stopped or dropped, or its time is over.
pub struct Session {
    shared: Arc<Shared>,
    worker: Option<JoinHandle<()>>,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("is_collecting", &self.is_collecting()).finish_non_exhaustive()
    }
}

impl Session {
    /// What has been collected up to now.
    pub fn snapshot(&self) -> Samples {
        self.shared.take();
        self.shared.samples().clone()
    }

    /// Whether it still collects: its time is not over.
    pub fn is_collecting(&self) -> bool {
        self.worker.as_ref().is_some_and(|worker| !worker.is_finished())
    }

    /// Ends it. What was collected is complete then.
    pub fn stop(mut self) -> Samples {
        self.end();
        std::mem::replace(&mut *self.shared.samples(), Samples::with_room(Unit::CpuNanoseconds, 0))
    }

    fn end(&mut self) {
        self.shared.is_over.store(true, Ordering::Release);
        if let Some(worker) = self.worker.take() {
            worker.thread().unpark();
            // it does not panic; if it did, its timers are gone and its turn is over all the same
            drop(worker.join());
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.end();
    }
}

struct Shared {
    ring: Arc<Ring>,
    samples: Mutex<Samples>,
    period_ns: u64,
    is_over: AtomicBool,
}

impl Shared {
    /// Adds up what has come.
    fn take(&self) {
        let mut samples = self.samples();
        self.ring.take(|record: &Record| {
            let addresses = &record.frames[..usize::from(record.length)];
            let weight = u64::from(record.periods) * self.period_ns;
            samples.add_addresses(record.tag, record.thread, addresses, record.is_cut, weight);
        });
        samples.lost += self.ring.lost();
    }

    fn samples(&self) -> MutexGuard<'_, Samples> {
        self.samples.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The turn of the one session that may run, given back when dropped.
struct Turn(u32);

impl Turn {
    fn new() -> io::Result<Self> {
        let process = std::process::id();
        let taken = RUNS_IN.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |now| (now != process).then_some(process));
        match taken {
            Ok(_) => Ok(Self(process)),
            Err(_) => Err(io::Error::new(io::ErrorKind::ResourceBusy, "a session runs already")),
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // only if it is still this one's: a fork has made it another's there
        let _ = RUNS_IN.compare_exchange(self.0, 0, Ordering::SeqCst, Ordering::SeqCst);
    }
}

/// The session's own thread.
fn collect(shared: &Shared, options: Options, turn: Turn, tell: &SyncSender<io::Result<()>>) {
    let mut timers = Timers::new(shared.ring.session, options.hz, options.threads);
    handler::begin(&shared.ring);
    let first = timers.follow();
    let is_begun = first.is_ok();
    shared.samples().threads_without = *first.as_ref().unwrap_or(&0);
    // nobody waits for it only if the session was given up
    let _ = tell.try_send(first.map(drop));
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let pause = 1000 * (WAITING_MAX as u64 / 2) / (u64::from(options.hz) * processors);
    let pause = Duration::from_millis(pause.clamp(TAKE_MS_MIN, TAKE_MS_MAX));
    let begun = Instant::now();
    let mut followed = begun;
    let is_over = || shared.is_over.load(Ordering::Acquire) || begun.elapsed().as_secs() >= options.seconds.into();
    while is_begun && !is_over() {
        std::thread::park_timeout(pause);
        shared.take();
        if followed.elapsed() >= Duration::from_millis(FOLLOW_MS) {
            followed = Instant::now();
            // a list that cannot be read for a moment (no file descriptor is free) is read the next time
            if let Ok(without) = timers.follow() {
                let mut samples = shared.samples();
                samples.threads_without = samples.threads_without.max(without);
            }
        }
    }
    drop(timers);
    handler::end(&shared.ring);
    shared.take();
    drop(turn);
}
