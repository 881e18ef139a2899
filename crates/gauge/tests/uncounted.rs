//! A bound over what a program does not count fails, and says what is missing.
#![allow(unsafe_code)]

#[cfg(target_os = "linux")]
#[path = "counted/not_compared.rs"]
mod not_compared;
#[cfg(target_os = "linux")]
#[path = "counted/not_copied.rs"]
mod not_copied;

use thalweg_gauge::assert_bill;

#[tokio::test]
#[should_panic = "allocations are not counted here: this program's `#[global_allocator]` is no `thalweg_gauge::CountingAllocator`"]
async fn allocations_are_not_counted() {
    assert_bill!(async {}, allocations <= 1_000_000);
}

#[tokio::test]
#[should_panic = "allocations are not counted here"]
async fn neither_is_the_most_at_once_in_an_expression() {
    assert_bill!(async {}, rows <= 2 * (1 + peak));
}

#[tokio::test]
#[should_panic = "copies are not counted here: this program has no `thalweg_gauge::count_copies!()`"]
async fn copies_are_not_counted() {
    assert_bill!(async {}, copied <= 1.05 * bytes);
}

#[tokio::test]
async fn rows_and_bytes_are() {
    let seven = assert_bill!(
        async {
            thalweg_gauge::rows(3);
            7
        },
        rows == 3,
        bytes < 1
    );
    assert_eq!(seven, 7);
}
