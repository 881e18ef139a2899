//! Sends every call of `memcpy` and `memmove` through the gauge, in the variant that counts copies.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_FEATURE_COPIES").is_some() {
        println!("cargo::rustc-link-arg-bins=-Wl,--wrap=memcpy,--wrap=memmove");
    }
}
