//! The steps of continuous integration, in order; the first that fails ends it.

use crate::{Outcome, cargo};

const STEPS: [(&str, &[&str]); 6] = [
    ("format", &["fmt", "--all", "--check"]),
    ("clippy", &["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"]),
    ("tidy", &["xtask", "tidy"]),
    ("test", &["test", "--workspace"]),
    // The feature changes what serde's buffers hold, so that no other test is compiled with it.
    ("buffered digits", &["test", "-p", "thalweg-json", "--features", "arbitrary_precision", "--test", "buffered"]),
    ("docs", &["doc", "--workspace", "--no-deps"]),
];

pub(crate) fn run() -> Outcome {
    for (name, arguments) in STEPS {
        println!("== {name}: cargo {}", arguments.join(" "));
        let mut command = cargo(arguments);
        if name == "docs" {
            command.env("RUSTDOCFLAGS", "--deny warnings");
        }
        if !command.status()?.success() {
            return Err(format!("{name} failed").into());
        }
    }
    Ok(())
}
