//! What the kernel says of this process.

use crate::Outcome;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::path::Path;

/// A figure of `/proc/self/status`: kilobytes, or a count.
pub fn status(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// What is resident, in KiB: all of the process, what is its own, and of the mapping of one file.
pub fn resident(file: &Path) -> Value {
    json!({ "all_kib": status("VmRSS"), "own_kib": status("RssAnon"), "mapping_kib": mapping(file) })
}

fn mapping(file: &Path) -> u64 {
    let maps = fs::read_to_string("/proc/self/smaps").unwrap_or_default();
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (mut is_this, mut sum) = (false, 0);
    for line in maps.lines() {
        if line.split(' ').next().is_some_and(|first| first.contains('-')) {
            is_this = line.ends_with(&name);
        } else if let (true, Some(kib)) = (is_this, line.strip_prefix("Rss:")) {
            sum += kib.trim().trim_end_matches(" kB").parse().unwrap_or(0);
        }
    }
    sum
}

/// Drops a file from the page cache, as far as nobody has it mapped.
pub fn drop_cached(file: &Path) -> Outcome {
    let file = File::open(file)?;
    file.sync_all()?;
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
    Ok(())
}
