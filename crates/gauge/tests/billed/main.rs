//! What the gauge says of requests, in a program that counts all there is to count.
#![cfg(target_os = "linux")]
#![allow(unsafe_code)]

mod budget;
#[path = "../counted/not_compared.rs"]
mod not_compared;

thalweg_gauge::count_copies!();

#[global_allocator]
static ALLOCATOR: thalweg_gauge::CountingAllocator<std::alloc::System> =
    thalweg_gauge::CountingAllocator(std::alloc::System);
