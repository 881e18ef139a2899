//! Waiting for a condition that a test cannot be notified of.

use std::thread;
use std::time::{Duration, Instant};

/// Longest wait of [`eventually`].
const WAIT_MAX: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Waits for up to a minute until a condition holds.
///
/// # Panics
///
/// With `what` if the condition does not hold in time.
pub fn eventually(what: &str, holds: impl FnMut() -> bool) {
    within(WAIT_MAX, what, holds);
}

/// Waits for up to a given time until a condition holds.
///
/// # Panics
///
/// With `what` if the condition does not hold in time.
pub fn within(time: Duration, what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + time;
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        thread::sleep(POLL_INTERVAL);
    }
}
