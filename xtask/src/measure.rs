//! What the operating system knows of a process, and what the load generators say.

use crate::Outcome;
use std::fs;
use std::process::Command;

/// CPU seconds that processes have used, in user and kernel mode.
pub(crate) fn cpu_seconds(processes: &[u32]) -> f64 {
    processes.iter().map(|&process| cpu_seconds_by_mode(process)).map(|(user, system)| user + system).sum()
}

/// CPU seconds that a process has used, in user and in kernel mode.
pub(crate) fn cpu_seconds_by_mode(process: u32) -> (f64, f64) {
    let (user, system) = stat(process).map_or((0, 0), |stat| (stat.user_ticks, stat.system_ticks));
    (user as f64 / TICKS_PER_SECOND, system as f64 / TICKS_PER_SECOND)
}

/// The same of all that a process has started: those that have ended meanwhile count too, or what they used before would be subtracted.
pub(crate) fn cpu_seconds_below(parent: u32) -> f64 {
    let ended = stat(parent).map_or(0, |stat| stat.ticks_of_ended);
    cpu_seconds(&children(parent)) + ended as f64 / TICKS_PER_SECOND
}

const TICKS_PER_SECOND: f64 = 100.0;

/// The children of a process.
pub(crate) fn children(parent: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|&process| stat(process).is_some_and(|stat| stat.parent == parent))
        .collect()
}

/// What proc(5) says of a process: fields 4, 14 and 15, 16 and 17.
struct Stat {
    parent: u32,
    user_ticks: u64,
    system_ticks: u64,
    /// Of its children that have ended.
    ticks_of_ended: u64,
}

fn stat(process: u32) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let fields: Vec<&str> = text.rsplit_once(") ")?.1.split(' ').collect();
    let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(Stat {
        parent: fields.get(1)?.parse().ok()?,
        user_ticks: ticks(11)?,
        system_ticks: ticks(12)?,
        ticks_of_ended: ticks(13)? + ticks(14)?,
    })
}

/// Resident memory now, in bytes; the peak is reset to it.
pub(crate) fn resident_bytes(process: u32) -> u64 {
    let _ = fs::write(format!("/proc/{process}/clear_refs"), "5");
    status(process, "VmRSS:")
}

/// The peak of resident memory since it was last reset, in bytes.
pub(crate) fn peak_bytes(process: u32) -> u64 {
    status(process, "VmHWM:")
}

fn status(process: u32, field: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// Requests per second and the number of requests, as wrk counts them. A response that is no success is an error.
pub(crate) fn wrk(url: &str, header: Option<&str>, connections: u32, seconds: u32) -> Outcome<(f64, f64)> {
    let output = Command::new("wrk")
        .args(["-t1", &format!("-c{connections}"), &format!("-d{seconds}s"), "--timeout", "20s", url])
        .args(header.iter().flat_map(|header| ["-H", header]))
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if text.contains("Non-2xx") || text.contains("Socket errors") {
        return Err(format!("wrk {url}: {text}").into());
    }
    let rate = text.lines().find_map(|line| line.trim().strip_prefix("Requests/sec:")?.trim().parse::<f64>().ok());
    let count = text.lines().find_map(|line| line.trim().split_once(" requests in ")?.0.parse::<f64>().ok());
    match (rate, count) {
        (Some(rate), Some(count)) => Ok((rate, count)),
        _ => Err(format!("wrk {url} says: {text}{}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}

/// The middle of some figures.
pub(crate) fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        count if count % 2 == 1 => sorted[count / 2],
        count => (sorted[count / 2 - 1] + sorted[count / 2]) / 2.0,
    }
}
