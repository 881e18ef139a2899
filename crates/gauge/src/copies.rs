//! Copies, counted in programs that want it.

use crate::tally::{self, Of};
use crate::{account, sample};

/// Counts what a program copies. It stands in the program's `main.rs`, whose `build.rs` tells the linker to send every call of `memcpy` and
/// `memmove` through it:
///
/// ```text
/// println!("cargo::rustc-link-arg-bins=-Wl,--wrap=memcpy,--wrap=memmove");
/// ```
///
/// It is `rustc-link-arg-tests` for programs of `tests/`, each of which has a `count_copies!()` of its own.
///
/// A function that is named looks at each copy before it is made, in tests that count something of its bytes:
///
/// ```text
/// fn look(from: *const std::ffi::c_void, bytes: usize) { … }
/// thalweg_gauge::count_copies!(look);
/// ```
///
/// Copies that the compiler writes as instructions, which those of a few bytes are, are not seen. It is a macro and no feature, since cargo
/// would turn a feature on for all programs of a workspace, and those without the flags could not be linked.
#[macro_export]
macro_rules! count_copies {
    () => {
        $crate::count_copies!(|_, _| ());
    };
    ($look:expr) => {
        #[allow(unsafe_code)]
        mod counted_copies {
            use std::ffi::c_void;

            const LOOK: fn(*const c_void, usize) = {
                #[allow(unused_imports)]
                use super::*;
                $look
            };

            unsafe extern "C" {
                fn __real_memcpy(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void;
                fn __real_memmove(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void;
            }

            // SAFETY: the arguments are handed on unchanged to the function that was called; counting touches none of that memory.
            #[unsafe(no_mangle)]
            unsafe extern "C" fn __wrap_memcpy(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void {
                if $crate::copied(bytes) {
                    LOOK(from, bytes);
                }
                unsafe { __real_memcpy(to, from, bytes) }
            }

            // SAFETY: as above.
            #[unsafe(no_mangle)]
            unsafe extern "C" fn __wrap_memmove(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void {
                if $crate::copied(bytes) {
                    LOOK(from, bytes);
                }
                unsafe { __real_memmove(to, from, bytes) }
            }
        }
    };
}

/// Counts a copy of so many bytes by this thread. Tells whether it is the program's own, and not the gauge's while it takes a stack.
#[inline]
pub fn copied(bytes: usize) -> bool {
    tally::count(Of::Copied, bytes);
    !account::is_own() && !sample::is_in_handler()
}
