//! The steps of continuous integration, in order; the first that fails ends it.

use crate::{Outcome, cargo};

const STEPS: [(&str, &[&str]); 5] = [
    ("format", &["fmt", "--all", "--check"]),
    ("clippy", &["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"]),
    ("tidy", &["xtask", "tidy"]),
    ("test", &["test", "--workspace"]),
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
