//! The house rules that a program can check.

use crate::errors;
use crate::limits::{self, Sources};
use crate::{Outcome, root};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Who may use whom: the table of rooms. Everything below `server` may use what stands above it in the flow.
const MAY_USE: [(&str, &[&str]); 25] = [
    ("json", &["json-derive"]),
    ("json-derive", &[]),
    ("gloss", &["json"]),
    ("rows", &[]),
    ("request", &[]),
    ("gauge", &["json"]),
    ("embedded-postgres", &["fetch"]),
    ("fetch", &[]),
    ("catalog", &["rows"]),
    ("plan", &["request", "catalog", "rows"]),
    ("sql", &["plan", "request", "catalog", "rows"]),
    ("wire", &["rows"]),
    ("encode", &["json", "rows"]),
    ("decode", &["json", "request"]),
    ("files", &["decode"]),
    ("auth", &["json"]),
    ("pages", &["json", "rows", "request", "encode"]),
    ("migrations", &["wire"]),
    ("testkit", &["embedded-postgres", "wire", "rows"]),
    (
        "server",
        &[
            "json", "rows", "request", "catalog", "plan", "sql", "wire", "encode", "decode", "files", "auth", "gauge",
            "pages",
        ],
    ),
    ("flightbook", &["decode", "embedded-postgres", "files", "gauge", "json", "migrations", "server", "wire"]),
    ("reader", &["gauge", "gloss", "json", "migrations", "server", "wire"]),
    ("byhand", &[]),
    ("pages-byhand", &[]),
    ("stories", &["gauge", "testkit"]),
];

/// The bounds of what a client controls.
const LIMITS: &str = "docs/limits.md";
/// Document of the error codes.
const ERRORS: &str = "docs/errors.md";
const LINES_MAX: usize = 800;
// bench/json: raw pointers are a ceiling, and RapidJSON is in C++
const MAY_BE_UNSAFE: [&str; 4] = ["crates/json/", "crates/gauge/", "crates/gloss/src/dictionary.rs", "bench/json/"];
const NO_NAMES: [&str; 7] = ["utils.rs", "util.rs", "helpers.rs", "helper.rs", "common.rs", "misc.rs", "mod.rs"];

pub(crate) fn run() -> Outcome {
    let files = tracked_files()?;
    let (mut faults, mut sources) = (Vec::new(), Vec::new());
    for file in &files {
        let name = file.to_string_lossy().into_owned();
        let Ok(text) = fs::read_to_string(root().join(file)) else { continue };
        if name.ends_with(".rs") {
            source(&name, &text, &mut faults);
        } else if name.ends_with(".md") {
            markdown(file, &text, &mut faults);
        } else if name.ends_with("Cargo.toml") {
            manifest(&name, &text, &mut faults);
        }
        sources.push((name, text));
    }
    let limits = sources.iter().find(|(name, _)| name == LIMITS).map_or("", |(_, text)| text);
    faults.extend(limits::faults(limits, &Sources(&sources)).iter().map(|fault| format!("{LIMITS}: {fault}")));
    let errors = sources.iter().find(|(name, _)| name == ERRORS).map_or("", |(_, text)| text);
    faults.extend(errors::faults(errors, &sources).iter().map(|fault| format!("{ERRORS}: {fault}")));
    for fault in &faults {
        println!("{fault}");
    }
    match faults.len() {
        0 => {
            println!("tidy: {} files", files.len());
            Ok(())
        }
        count => Err(format!("{count} faults").into()),
    }
}

/// What git knows or would add.
fn tracked_files() -> Outcome<Vec<PathBuf>> {
    let list = ["ls-files", "--cached", "--others", "--exclude-standard"];
    let output = Command::new("git").args(list).current_dir(root()).output()?;
    if !output.status.success() {
        return Err("git ls-files failed".into());
    }
    Ok(String::from_utf8(output.stdout)?.lines().map(PathBuf::from).filter(|file| root().join(file).exists()).collect())
}

fn source(name: &str, text: &str, faults: &mut Vec<String>) {
    if !text.starts_with("//! ") {
        faults.push(format!("{name}: the first line is no //! sentence"));
    }
    if name.starts_with("crates/") && name.ends_with("src/lib.rs") && !text.contains("//!  HTTP bytes") {
        faults.push(format!("{name}: the crate's docs do not show the flow"));
    }
    if text.lines().count() > LINES_MAX {
        faults.push(format!("{name}: more than {LINES_MAX} lines"));
    }
    if NO_NAMES.iter().any(|no| Path::new(name).file_name().is_some_and(|file| file == *no)) {
        faults.push(format!("{name}: the name says nothing"));
    }
    let is_unsafe = |line: &str| {
        let code = line.split("//").next().unwrap_or_default();
        ["unsafe {", "unsafe fn ", "unsafe impl "].iter().any(|word| code.contains(word) && !code.contains('"'))
    };
    if !MAY_BE_UNSAFE.iter().any(|room| name.starts_with(room)) && text.lines().any(is_unsafe) {
        faults.push(format!("{name}: unsafe has no place here"));
    }
}

/// Paths between backticks or in links must exist.
fn markdown(file: &Path, text: &str, faults: &mut Vec<String>) {
    const ROOMS: [&str; 11] =
        ["crates/", "apps/", "src/", "cases/", "bench/", "docs/", "xtask/", ".ci/", "fuzz/", ".cargo/", "tests/"];
    let mut in_fence = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_fence = !in_fence;
        }
        if in_fence {
            continue;
        }
        let ticked = line.split('`').skip(1).step_by(2).map(str::to_owned);
        let linked = line.split("](").skip(1).filter_map(|rest| rest.split(')').next().map(str::to_owned));
        for (at, path) in ticked.map(|p| (false, p)).chain(linked.map(|p| (true, p))) {
            let path = path.split(['#', ' ']).next().unwrap_or_default();
            let is_pattern = path.contains(['*', '<', '{', '…']);
            let here = ROOMS.iter().any(|room| path.starts_with(room)) && !is_pattern;
            let relative = at && !path.is_empty() && !path.contains("://") && !here;
            let base = if relative { file.parent().unwrap_or(Path::new("")) } else { Path::new("") };
            if (here || relative) && !root().join(base).join(path).exists() {
                faults.push(format!("{}: {path} does not exist", file.display()));
            }
        }
    }
}

fn manifest(name: &str, text: &str, faults: &mut Vec<String>) {
    if name == "Cargo.toml" {
        reasons(text, faults);
        return;
    }
    // a workspace of its own has its own versions, and nobody here can use it
    if text.lines().any(|line| line == "[workspace]") {
        return;
    }
    let room = name.trim_end_matches("/Cargo.toml").rsplit('/').next().unwrap_or_default();
    let dependencies = text.split("[dependencies]").nth(1).unwrap_or_default();
    let dependencies = dependencies.split("\n[").next().unwrap_or_default();
    for line in text.lines().filter(|line| line.contains("version =") && !line.contains("version.workspace")) {
        faults.push(format!("{name}: versions stand in the root manifest only: {line}"));
    }
    let Some((_, allowed)) = MAY_USE.iter().find(|(known, _)| *known == room) else {
        if room != "xtask" {
            faults.push(format!("{name}: the room {room} is not in the table of rooms"));
        }
        return;
    };
    for line in dependencies.lines() {
        let used = line.split(['.', ' ', '=']).next().unwrap_or_default();
        if let Some(used) = used.strip_prefix("thalweg-").filter(|used| !allowed.contains(used)) {
            faults.push(format!("{name}: {room} may not use {used}"));
        }
    }
}

/// Each dependency is named in a comment of the root manifest.
fn reasons(text: &str, faults: &mut Vec<String>) {
    let dependencies = text.split("[workspace.dependencies]").nth(1).unwrap_or_default();
    let dependencies = dependencies.split("\n[").next().unwrap_or_default();
    let comments: Vec<&str> = dependencies.lines().filter(|line| line.starts_with('#')).collect();
    for line in dependencies.lines().filter(|line| !line.starts_with('#') && line.contains('=')) {
        let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
        if !name.starts_with("thalweg-")
            && !comments.iter().any(|comment| comment.contains(name.split('-').next().unwrap_or(name)))
        {
            faults.push(format!("Cargo.toml: {name} has no reason beside it"));
        }
    }
}
