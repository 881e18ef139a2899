//! What is done is counted, not timed: by the functions that copy and compare memory, every call of which the linker sends
//! through the gauge and this file, those of the standard library among them.
#![cfg(target_os = "linux")]
#![allow(unsafe_code)]

mod copies;
#[path = "../../../server/tests/planned.rs"]
#[allow(dead_code, reason = "one schema is enough here")]
mod planned;
mod steps;
mod tracks;

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many of a character have been copied, by all threads.
static COPIED: AtomicU64 = AtomicU64::new(0);

/// Copies are counted of the whole process, so that one test of them runs at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
const CHARACTER: [u8; 2] = *"é".as_bytes().first_chunk().unwrap();

/// How many bytes copied or compared are as much work as a call for some.
const BYTES_OF_A_STEP: u64 = 16;

thread_local! {
    /// What this thread has copied and compared, in steps.
    static STEPS: Cell<u64> = const { Cell::new(0) };
}

thalweg_gauge::count_copies!(look);

unsafe extern "C" {
    fn __real_memcmp(one: *const c_void, other: *const c_void, bytes: usize) -> c_int;
    fn __real_bcmp(one: *const c_void, other: *const c_void, bytes: usize) -> c_int;
}

fn step(bytes: usize) {
    STEPS.with(|steps| steps.set(steps.get() + 1 + bytes as u64 / BYTES_OF_A_STEP));
}

/// Counts the character in what is about to be copied.
fn look(from: *const c_void, bytes: usize) {
    step(bytes);
    if bytes < 2 || from.is_null() {
        return;
    }
    // SAFETY: the caller is about to read exactly these bytes from there; any value is one of a byte that may be unset.
    let bytes = unsafe { std::slice::from_raw_parts(from.cast::<u8>(), bytes) };
    let (mut at, mut count) = (0, 0);
    while at + 1 < bytes.len() {
        if bytes[at] == CHARACTER[0] && bytes[at + 1] == CHARACTER[1] {
            (at, count) = (at + 2, count + 1);
        } else {
            at += 1;
        }
    }
    if count > 0 {
        COPIED.fetch_add(count, Ordering::Relaxed);
    }
}

// SAFETY: the arguments are handed on unchanged to the function that was called.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_memcmp(one: *const c_void, other: *const c_void, bytes: usize) -> c_int {
    step(bytes);
    unsafe { __real_memcmp(one, other, bytes) }
}

// SAFETY: as above.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_bcmp(one: *const c_void, other: *const c_void, bytes: usize) -> c_int {
    step(bytes);
    unsafe { __real_bcmp(one, other, bytes) }
}
