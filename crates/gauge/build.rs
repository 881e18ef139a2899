//! Lets the tests of this package count what is copied and compared: the linker sends every call of `memcpy`, `memmove`,
//! `memcmp` and `bcmp` through them, those of the standard library among them.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo::rustc-link-arg-tests=-Wl,--wrap=memcpy,--wrap=memmove,--wrap=memcmp,--wrap=bcmp");
    }
}
