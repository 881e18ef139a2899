//! An allocator that counts.
#![allow(unsafe_code)]

use crate::tally::{self, Of};
use std::alloc::{GlobalAlloc, Layout};

/// A global allocator that counts what another one is asked for, by each thread.
///
/// ```
/// use std::alloc::System;
///
/// #[global_allocator]
/// static ALLOCATOR: thalweg_gauge::CountingAllocator<System> = thalweg_gauge::CountingAllocator(System);
/// # fn main() {}
/// ```
#[derive(Debug)]
pub struct CountingAllocator<A>(pub A);

// Not inline: it is called at thousands of places of a program, which would be a tenth larger.
// SAFETY: every call is handed on unchanged to the inner allocator, which keeps the contract; counting writes to a thread's numbers in a
// static, allocates nothing, and its thread local has nothing to drop.
unsafe impl<A: GlobalAlloc> GlobalAlloc for CountingAllocator<A> {
    #[inline(never)]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match tally::counts(Of::Allocated, layout.size()) {
            true => unsafe { self.0.alloc(layout) },
            false => unsafe { self.alloc_and_look(layout) },
        }
    }

    #[inline(never)]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        tally::count(Of::Allocated, layout.size());
        unsafe { self.0.alloc_zeroed(layout) }
    }

    #[inline(never)]
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        match size.checked_sub(layout.size()) {
            Some(more) => tally::count(Of::Allocated, more),
            None => tally::freed(layout.size() - size),
        }
        unsafe { self.0.realloc(pointer, layout, size) }
    }

    #[inline(never)]
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        match tally::frees(layout.size()) {
            true => unsafe { self.0.dealloc(pointer, layout) },
            false => unsafe { self.dealloc_first(pointer, layout) },
        }
    }
}

// Apart, and called last: with a call between, all others would save registers for it.
impl<A: GlobalAlloc> CountingAllocator<A> {
    #[cold]
    #[inline(never)]
    unsafe fn alloc_and_look(&self, layout: Layout) -> *mut u8 {
        tally::count_and_look(Of::Allocated, layout.size());
        unsafe { self.0.alloc(layout) }
    }

    #[cold]
    #[inline(never)]
    unsafe fn dealloc_first(&self, pointer: *mut u8, layout: Layout) {
        tally::freed(layout.size());
        unsafe { self.0.dealloc(pointer, layout) }
    }
}
