//! What copies, for tests that do not count it: the linker sends it through those of this package that do, and through all, since cargo cannot
//! name one.

use std::ffi::c_void;

unsafe extern "C" {
    fn __real_memcpy(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void;
    fn __real_memmove(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void;
}

// SAFETY: the arguments are handed on unchanged to the function that was called.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_memcpy(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void {
    unsafe { __real_memcpy(to, from, bytes) }
}

// SAFETY: the arguments are handed on unchanged to the function that was called.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_memmove(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void {
    unsafe { __real_memmove(to, from, bytes) }
}
