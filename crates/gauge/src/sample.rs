//! Where time, bytes and waiting go, by stack and by what a thread is at work for: a sampling profiler for the running program.
//!
//! ```text
//!  tagged(7) ── a thread computes ── its own timer (timer_create, its CPU time) ── SIGPROF
//!                                                                                     │ handler: registers → stack (unwind)
//!                                                                                     ▼
//!  Session ◄── 10 times a second: added up by tag, thread and stack ◄──────── Ring of fixed size
//!     │ stop                        stack_here() ── Samples::add(tag, stack, bytes)
//!     ▼                                                   │
//!  Samples ◄──────────────────────────────────────────────┘
//!     │ named: addresses → functions, files, lines        (after the fact, cached)
//!     ▼
//!  Profile, Difference → folded text, SVG, pprof, speedscope
//! ```
//!
//! It needs no rights, no `perf` and no frame pointers: the release build as it is, with `debug = "line-tables-only"` for
//! lines. It runs on Linux on x86-64 and aarch64; elsewhere [`Sampler::start`] says that it is unsupported.
//!
//! # What it rests on
//!
//! * Each thread has its own timer of the CPU time it takes. Its signals come while it computes, so that threads that wait are
//!   left alone; a call is interrupted only if it computes itself at that moment, and then goes on or, as `epoll_wait` does,
//!   says so to callers that are used to it. Threads that are started later are found within 100 ms. The kernel looks at these timers at its
//!   own ticks (250 a second on many machines): if several periods have passed, one sample stands for all of them, so
//!   that the sum is the CPU time at any `hz`.
//! * The handler takes the interrupted registers and unwinds by `.eh_frame` (framehop). It allocates nothing, takes no lock,
//!   waits for nobody, and asks the system before it reads a page of the stack, so that wrong tables end a stack and
//!   not the program. It needs 11 KiB of the thread's stack when optimised.
//! * A thread's tag is one store into a thread-local. In a library that is loaded at run time (`dlopen`) the first [`tagged`]
//!   of a thread may allocate, as every thread-local may; what reads it does not.
//! * The handler for SIGPROF stays when a session has ended, and late signals do nothing. A program with a handler of its own
//!   for SIGPROF is refused. A child of a fork has no timers, and can start its own session. A program that replaces
//!   itself (`exec`) should stop the session before: a signal under way would end the new program.
//!
//! # What it costs
//!
//! Measured in a program built with fat LTO and without frame pointers, on a virtual machine whose kernel looks at timers 250 times
//! a second:
//!
//! | what | it takes |
//! |---|---|
//! | a signal and a handler that does nothing | 3 µs |
//! | to unwind 38 frames in it | 0.8 µs, 4,400 instructions (callgrind) |
//! | so a thread that computes all the time, at 99 Hz | 0.04 % of it |
//! | the same at 999 Hz, of which 250 come | 0.1 % of it |
//! | [`stack_here`] with 13, 38, 108 frames | 0.42, 0.68, 1.3 µs |
//! | [`stack_of`] a thread that sleeps | 0.1 ms, most of it waiting for its turn |
//! | the session's own thread | 0.1 % of a processor; 0.4 % with 200 threads that sleep |
//! | a program of 2 tokio workers for 2 s at 99 Hz | 393 stacks, all whole; 3.970 s sampled of 3.969 s used |
//!
//! # What is bounded
//!
//! [`HZ_MAX`] samples a second of a thread's time, [`SECONDS_MAX`] for a session, [`THREADS_MAX`] threads, [`FRAMES_MAX`] innermost
//! frames of a stack, [`STACKS_MAX`] different stacks (with tag and thread). What goes beyond is counted: [`Samples::lost`],
//! [`Samples::cut`], [`Samples::threads_without`]. Memory: the ring 2.1 MiB while a session runs; unwinding 1.2 MiB from the first
//! session on, and a copy of the libraries' tables (0.2 MiB with glibc's); the stacks as they come, with 128 frames each at
//! most 1.2 KiB, 20 MiB for all of them, as a rule a quarter of that. Names take the tables of lines into memory while
//! they are looked up: a few tenths of a second, best on a blocking thread.

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod handler;
#[cfg_attr(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))), allow(dead_code))]
mod names;
mod pprof;
mod profile;
#[cfg_attr(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))), allow(dead_code))]
mod ring;
mod samples;
mod session;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod timers;
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod unsupported;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod unwind;
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
use unsupported::{handler, timers, unwind};

pub(crate) use handler::lives;
pub use handler::{stack_of, this_thread};
pub use names::Place;
pub use profile::{Difference, Profile};
pub use samples::{Samples, Unit};
pub use session::{Options, Sampler, Session};
pub use unwind::stack_here;

use std::cell::Cell;
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

/// Samples a second of a thread's CPU time, at most.
pub const HZ_MAX: u32 = 999;
/// How long a session collects at most.
pub const SECONDS_MAX: u32 = 120;
/// How many threads have a timer at most.
pub const THREADS_MAX: usize = 4096;
/// How many frames of a stack are kept, from the innermost on.
pub const FRAMES_MAX: usize = 128;
/// How many different stacks [`Samples`] hold at most, by tag and thread.
pub const STACKS_MAX: usize = 16_384;

/// What a thread is at work for, such as a route's number; 0 is no request.
pub type Tag = u64;

thread_local! {
    // without a destructor and const, so that a signal handler may read it at any time
    static TAG: Cell<Tag> = const { Cell::new(0) };
    static IN_HANDLER: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread takes a sample of itself: what that copies must not be looked at by what allocates or locks.
#[inline]
pub(crate) fn is_in_handler() -> bool {
    IN_HANDLER.get()
}

/// Says what this thread is at work for from now on, and what it was before.
#[inline]
pub fn tagged(tag: Tag) -> Tag {
    TAG.replace(tag)
}

/// What this thread is at work for.
#[inline]
pub fn tag() -> Tag {
    TAG.get()
}

/// A thread by the system's number. It is free for another thread when this one has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Thread(i32);

impl Thread {
    pub(crate) fn number(self) -> i32 {
        self.0
    }

    pub(crate) fn of_number(number: i32) -> Thread {
        Thread(number)
    }
}

impl fmt::Display for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Addresses of a stack, innermost first. 1 KiB, without a pointer to anywhere: it can be made inside an allocator.
#[derive(Clone, Copy)]
pub struct Stack {
    frames: [u64; FRAMES_MAX],
    length: u16,
    is_cut: bool,
}

impl Stack {
    const EMPTY: Self = Self { frames: [0; FRAMES_MAX], length: 0, is_cut: false };

    /// The addresses, innermost first, each within the instruction that was being done or has called.
    pub fn addresses(&self) -> &[u64] {
        &self.frames[..usize::from(self.length)]
    }

    /// Whether there were more frames than are kept.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Functions, files and lines, innermost first, with what was inlined. Reads the program's file: not for a hot path.
    pub fn named(&self) -> Vec<Place> {
        let names = names::of(self.addresses());
        names.iter().flat_map(|places| places.iter().cloned()).collect()
    }
}

impl fmt::Debug for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.addresses().iter().map(|address| format!("{address:#x}"))).finish()
    }
}

/// Makes unwinding ready, with the libraries that are loaded now. Sessions and [`stack_of`] do so themselves; before
/// [`stack_here`] it must have been called once, and again when libraries were loaded since.
///
/// # Errors
/// If the program has a handler of its own for SIGPROF, or the machine is not supported.
pub fn prepare() -> std::io::Result<()> {
    handler::prepare()
}

/// A file whose code is loaded.
#[derive(Debug)]
struct Loaded {
    path: PathBuf,
    /// Where it lies.
    range: Range<u64>,
    /// What is added to the addresses that stand in the file.
    bias: u64,
}
