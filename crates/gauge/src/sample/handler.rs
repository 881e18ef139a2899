//! The handler of SIGPROF: it writes samples into a session's ring, and the stack of its thread for whoever asked for it.
//!
//! It is put in place once and stays, so that a signal which comes after a session has ended finds it and does nothing. Where a
//! system call is interrupted that can go on, it goes on (`SA_RESTART`); the timers' signals come only to threads that compute.
#![allow(unsafe_code)]

use super::ring::Ring;
use super::unwind::{self, Registers};
use super::{Stack, Thread, tag};
use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long [`stack_of`] waits for a thread that does not come to its signal: it is in an uninterruptible system call, or has no turn.
const STACK_WAIT_MS_MAX: u64 = 100;
/// How long the end of a session waits for handlers that have begun; they take microseconds unless their thread has no turn.
const HANDLERS_WAIT_MS_MAX: u64 = 1000;
/// After how long a thread that has not answered gets the signal again.
const SIGNAL_AGAIN_MS: u64 = 2;
/// How often is looked whether something has come.
const LOOK_US: u64 = 20;

/// The ring of the session that runs, or null.
static RING: AtomicPtr<Ring> = AtomicPtr::new(ptr::null_mut());
/// How many handlers are at work, and so may hold what `RING` was.
static AT_WORK: AtomicUsize = AtomicUsize::new(0);
/// The process that has put the handler in place: another one after a fork.
static PROCESS: AtomicI32 = AtomicI32::new(0);

/// Makes this process ready for signals: unwinding and the handler.
///
/// # Errors
/// If the program has a handler of its own for SIGPROF.
pub(super) fn prepare() -> io::Result<()> {
    let process = std::process::id() as i32;
    let before = PROCESS.swap(process, Ordering::SeqCst);
    if before != process && before != 0 {
        // a child has of its parent's threads only the one that forked: nobody else is at work
        RING.store(ptr::null_mut(), Ordering::SeqCst);
        AT_WORK.store(0, Ordering::SeqCst);
        ASKED.store(NOBODY, Ordering::SeqCst);
        unwind::forget_other_threads();
    }
    unwind::prepare();
    let ours = on_signal as *const () as usize;
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a null action asks only, and the kernel fills what is given; all bytes zero are a valid `sigaction`.
    let mut action = unsafe {
        if libc::sigaction(libc::SIGPROF, ptr::null(), action.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        action.assume_init()
    };
    match action.sa_sigaction {
        now if now == ours => return Ok(()),
        libc::SIG_DFL | libc::SIG_IGN => {}
        _ => return Err(io::Error::new(io::ErrorKind::ResourceBusy, "the program has a handler for SIGPROF already")),
    }
    action.sa_sigaction = ours;
    // not on the stack for overflows, which is too small for unwinding
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
    // SAFETY: the action is complete: a handler with three arguments, which does what a handler may do (see `on_signal`), and
    // an empty mask.
    unsafe {
        libc::sigemptyset(&raw mut action.sa_mask);
        if libc::sigaction(libc::SIGPROF, &raw const action, ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Samples go to this ring from now on.
pub(super) fn begin(ring: &Arc<Ring>) {
    RING.store(Arc::as_ptr(ring).cast_mut(), Ordering::SeqCst);
}

/// No more samples go to the ring, and no handler holds it when this returns.
pub(super) fn end(ring: &Arc<Ring>) {
    RING.store(ptr::null_mut(), Ordering::SeqCst);
    let begun = Instant::now();
    while AT_WORK.load(Ordering::SeqCst) != 0 {
        if begun.elapsed() > Duration::from_millis(HANDLERS_WAIT_MS_MAX) {
            // a handler may hold it for ever (its thread was stopped, say), so that it must not be freed
            std::mem::forget(Arc::clone(ring));
            return;
        }
        std::thread::sleep(Duration::from_micros(LOOK_US));
    }
}

/// Allocates nothing, takes no lock, waits for nobody, and leaves `errno` as it was.
unsafe extern "C" fn on_signal(_: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: `errno` is this thread's.
    let errno = unsafe { *libc::__errno_location() };
    AT_WORK.fetch_add(1, Ordering::SeqCst);
    let was_in_handler = super::IN_HANDLER.replace(true);
    // what it copies is no part of what the thread was at work for
    crate::tally::in_handler(|| {
        // SAFETY: the kernel gives both pointers, valid until this returns (SA_SIGINFO).
        unsafe { handle(info, context) }
    });
    super::IN_HANDLER.set(was_in_handler);
    AT_WORK.fetch_sub(1, Ordering::SeqCst);
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// What the kernel says of a timer's signal (source: `struct siginfo` in `include/uapi/asm-generic/siginfo.h`, on machines of 64 bits).
#[repr(C)]
struct TimerInfo {
    number: c_int,
    errno: c_int,
    code: c_int,
    padding: c_int,
    timer: c_int,
    overrun: c_int,
    value: usize,
}

/// # Safety
/// Of a handler of SIGPROF with `SA_SIGINFO` that has not returned yet.
unsafe fn handle(info: *const libc::siginfo_t, context: *const c_void) {
    // SAFETY: the caller's promise.
    let registers = unsafe { Registers::interrupted(context) };
    // SAFETY: gettid has no arguments and cannot fail.
    let thread = unsafe { libc::gettid() };
    // before the signal's origin is looked at: of two that are pending at once, one is delivered
    answer(thread, registers);
    // SAFETY: a `siginfo_t` has 128 bytes, which the kernel has written, aligned for pointers; all values of them are valid
    // for `TimerInfo`, whose last three fields mean something only if the code says that a timer sent it.
    let info = unsafe { &*info.cast::<TimerInfo>() };
    if info.code != libc::SI_TIMER {
        return;
    }
    // SAFETY: the pointer is null, or that of a session's ring, which is freed only after `end` has set the pointer to null and
    // has then seen no handler at work: this one was counted before it loaded the pointer, and both are in one total order
    // (SeqCst).
    let Some(ring) = (unsafe { RING.load(Ordering::SeqCst).as_ref() }) else { return };
    if info.value != ring.session {
        return;
    }
    ring.put(|record| {
        let Some((count, is_cut)) = unwind::walk(registers, &mut record.frames) else { return false };
        (record.tag, record.thread) = (tag(), thread);
        (record.length, record.is_cut) = (count as u16, is_cut);
        record.periods = 1 + info.overrun.max(0) as u32;
        true
    });
}

/// Who is asked for a stack: a thread's number in the upper half, and how far it is in the lower.
static ASKED: AtomicU64 = AtomicU64::new(NOBODY);
const NOBODY: u64 = 0;
const WANTED: u64 = 1;
const TAKING: u64 = 2;
const TAKEN: u64 = 3;

const fn state(thread: i32, step: u64) -> u64 {
    (thread as u32 as u64) << 32 | step
}

struct Answer(UnsafeCell<Stack>);

// SAFETY: the stack is written by the handler that has moved `ASKED` from WANTED to TAKING, until it stores TAKEN (release);
// then it is read by `stack_of`, which has seen TAKEN (acquire), and lets nobody ask before it has read. One `stack_of` at
// a time: see `ASKING`.
unsafe impl Sync for Answer {}

static ANSWER: Answer = Answer(UnsafeCell::new(Stack::EMPTY));
/// The process in which somebody asks, or 0. Not a mutex: a fork could take it along locked.
static ASKING: AtomicI32 = AtomicI32::new(0);

/// The handler's part of [`stack_of`].
fn answer(thread: i32, registers: Registers) {
    let (wanted, taking) = (state(thread, WANTED), state(thread, TAKING));
    if ASKED.compare_exchange(wanted, taking, Ordering::Acquire, Ordering::Relaxed).is_err() {
        return;
    }
    // SAFETY: this handler has made the step to TAKING, see `Answer`.
    let stack = unsafe { &mut *ANSWER.0.get() };
    let (count, is_cut) = unwind::walk(registers, &mut stack.frames).unwrap_or((0, false));
    (stack.length, stack.is_cut) = (count as u16, is_cut);
    ASKED.store(state(thread, TAKEN), Ordering::Release);
}

/// The stack of a thread of this process as it is now, whether it computes or waits. None if there is no such thread, if it does not
/// come to a signal within 100 ms, or if another thread asks for longer than that.
///
/// A thread that waits in a system call is interrupted: a few of those (`epoll_wait`, `poll`, `nanosleep`) end with `EINTR`
/// then, which the standard library and tokio take as nothing.
pub fn stack_of(thread: Thread) -> Option<Stack> {
    prepare().ok()?;
    let process = std::process::id() as i32;
    let until = Instant::now() + Duration::from_millis(STACK_WAIT_MS_MAX);
    loop {
        let now = ASKING.load(Ordering::Relaxed);
        let is_free = now != process;
        if is_free && ASKING.compare_exchange(now, process, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            break;
        }
        if Instant::now() > until {
            return None;
        }
        std::thread::sleep(Duration::from_micros(LOOK_US));
    }
    let stack = ask(process, thread.0);
    ASKING.store(0, Ordering::Release);
    stack.filter(|stack| stack.length > 0)
}

fn ask(process: i32, thread: i32) -> Option<Stack> {
    let now = ASKED.load(Ordering::Acquire);
    let step = now & u64::from(u32::MAX);
    // a handler that never ended may still be writing: nobody is asked any more
    if step == TAKING {
        return None;
    }
    ASKED.store(state(thread, WANTED), Ordering::Release);
    if !signal(process, thread) {
        ASKED.store(NOBODY, Ordering::Release);
        return None;
    }
    let mut signalled = Instant::now();
    let until = Instant::now() + Duration::from_millis(STACK_WAIT_MS_MAX);
    while ASKED.load(Ordering::Acquire) != state(thread, TAKEN) {
        if Instant::now() > until {
            let back = (state(thread, WANTED), NOBODY);
            if ASKED.compare_exchange(back.0, back.1, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                return None;
            }
            if Instant::now() > until + Duration::from_millis(HANDLERS_WAIT_MS_MAX) {
                return None;
            }
        }
        // a signal is dropped while another one is pending, and that one too if it is of a timer that was given back since
        if signalled.elapsed() > Duration::from_millis(SIGNAL_AGAIN_MS) {
            signal(process, thread);
            signalled = Instant::now();
        }
        std::thread::sleep(Duration::from_micros(LOOK_US));
    }
    // SAFETY: TAKEN was seen, and this is the only one that asks, see `Answer`.
    let stack = unsafe { *ANSWER.0.get() };
    ASKED.store(NOBODY, Ordering::Release);
    Some(stack)
}

/// Whether there is such a thread in this process.
fn signal(process: i32, thread: i32) -> bool {
    // SAFETY: the signal goes to a thread of this process or to none, and its handler is in place.
    unsafe { libc::syscall(libc::SYS_tgkill, process, thread, libc::SIGPROF) == 0 }
}

/// The number of the calling thread, by which another one can ask for its stack.
pub fn this_thread() -> Thread {
    // SAFETY: gettid has no arguments and cannot fail.
    Thread(unsafe { libc::gettid() })
}

/// Whether a thread of this process has not ended.
pub(crate) fn lives(thread: Thread) -> bool {
    // SAFETY: signal 0 is sent to nobody.
    unsafe { libc::syscall(libc::SYS_tgkill, std::process::id() as i32, thread.0, 0) == 0 }
}

/// Lets a function be done, and threads be started by it, with all signals blocked: those that the program's other threads wait
/// for do not go to them.
pub(super) fn without_signals<T>(done: impl FnOnce() -> T) -> T {
    let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: both sets live here; a set of zero bytes is valid, and the kernel fills the second.
    unsafe {
        let mut all = MaybeUninit::<libc::sigset_t>::zeroed().assume_init();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, before.as_mut_ptr());
    }
    let value = done();
    // SAFETY: the set that this thread had.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut()) };
    value
}
