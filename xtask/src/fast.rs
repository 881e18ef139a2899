//! The fast tier of tests: what finds most mistakes within the time one waits at the keyboard.

use crate::{Outcome, cargo, root};

/// What is run of `crates/server/tests`, by module: golden cases, what PostgREST answers to reads, errors, reading.
const ON_POSTGRES: [&str; 4] = ["cases::", "differential::answers", "errors::", "reading::"];

/// Unit tests of all rooms, and a part of what runs over a socket on a PostgreSQL.
pub(crate) fn run() -> Outcome {
    for filter in ON_POSTGRES {
        let module = filter.split("::").next().unwrap_or_default();
        let file = root().join("crates/server/tests").join(module).with_extension("rs");
        if !file.exists() {
            return Err(format!("{} does not exist: a filter that finds nothing tests nothing", file.display()).into());
        }
    }
    // both for the whole workspace, so that they, and `cargo test --workspace`, share what has been built
    let units = vec!["test", "--workspace", "--lib", "--quiet"];
    let on_postgres = [&["test", "--workspace", "--test", "server", "--"][..], &ON_POSTGRES[..]].concat();
    for arguments in [units, on_postgres] {
        println!("== cargo {}", arguments.join(" "));
        if !cargo(&arguments).status()?.success() {
            return Err("a test failed".into());
        }
    }
    Ok(())
}
