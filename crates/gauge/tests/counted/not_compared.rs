//! What compares, for tests that do not count it, as `not_copied.rs`.

use std::ffi::{c_int, c_void};

unsafe extern "C" {
    fn __real_memcmp(one: *const c_void, other: *const c_void, bytes: usize) -> c_int;
    fn __real_bcmp(one: *const c_void, other: *const c_void, bytes: usize) -> c_int;
}

// SAFETY: the arguments are handed on unchanged to the function that was called.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_memcmp(one: *const c_void, other: *const c_void, bytes: usize) -> c_int {
    unsafe { __real_memcmp(one, other, bytes) }
}

// SAFETY: the arguments are handed on unchanged to the function that was called.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_bcmp(one: *const c_void, other: *const c_void, bytes: usize) -> c_int {
    unsafe { __real_bcmp(one, other, bytes) }
}
