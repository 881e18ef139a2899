//! An allocator that counts.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicU64, Ordering};

static COUNT: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

/// A global allocator that counts what another one is asked for, by all threads of the process.
#[derive(Debug)]
pub struct CountingAllocator<A>(pub A);

/// How much has been allocated since the process began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allocations {
    /// How often memory was asked for or grown.
    pub count: u64,
    /// How many bytes were asked for.
    pub bytes: u64,
}

impl Allocations {
    /// The counts up to now. They stay 0 unless a [`CountingAllocator`] is the global allocator.
    pub fn now() -> Self {
        Self { count: COUNT.load(Ordering::Relaxed), bytes: BYTES.load(Ordering::Relaxed) }
    }

    /// What has come since an earlier reading.
    pub fn since(self, earlier: Self) -> Self {
        Self { count: self.count - earlier.count, bytes: self.bytes - earlier.bytes }
    }
}

fn count(bytes: usize) {
    COUNT.fetch_add(1, Ordering::Relaxed);
    BYTES.fetch_add(bytes as u64, Ordering::Relaxed);
}

// SAFETY: every call is handed on unchanged to the inner allocator, which keeps the contract; counting touches
// nothing but two atomics.
unsafe impl<A: GlobalAlloc> GlobalAlloc for CountingAllocator<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { self.0.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { self.0.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size.saturating_sub(layout.size()));
        unsafe { self.0.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { self.0.dealloc(pointer, layout) }
    }
}
