//! Lets the tests of this package count what is copied: the linker sends every call of `memcpy` and `memmove` through them,
//! those of the standard library among them.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo::rustc-link-arg-tests=-Wl,--wrap=memcpy,--wrap=memmove");
    }
}
