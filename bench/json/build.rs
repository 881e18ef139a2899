//! RapidJSON, where a C++ compiler and its headers are.

use std::path::Path;

fn main() {
    println!("cargo:rustc-check-cfg=cfg(rapidjson)");
    println!("cargo:rerun-if-changed=src/rapidjson.cpp");
    if Path::new("/usr/include/rapidjson/document.h").exists() {
        let mut build = cc::Build::new();
        build.cpp(true).file("src/rapidjson.cpp").opt_level(3).flag("-march=x86-64-v3").define("RAPIDJSON_SSE42", None);
        if build.warnings(false).try_compile("rapidjson").is_ok() {
            println!("cargo:rustc-cfg=rapidjson");
        }
    }
}
