//! Sends every call of `memcpy` and `memmove` through the gauge.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo::rustc-link-arg-bins=-Wl,--wrap=memcpy,--wrap=memmove");
    }
}
