//! The rate at which slots come back while requests wait for them.

use std::time::Duration;
use tokio::time::Instant;

/// Counts the slots that were passed to waiting requests, over the last one or two windows of time.
///
/// A rate exists for as long as requests wait without a break. Time in which no request waits does
/// not show how fast slots could come back, so the next queue begins with a new rate.
#[derive(Debug)]
pub(super) struct ServiceRate {
    window: Duration,
    /// Start of the current window.
    started: Instant,
    /// Last time at which a slot was passed to a waiting request, or the time at which the first
    /// request began to wait.
    last: Instant,
    /// Count of the current window.
    current: u32,
    /// Count and length of the preceding window.
    preceding: Option<(u32, Duration)>,
}

/// Estimate of the rate at which slots come back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Estimate {
    /// Requests have waited for less than a window: a burst, whose rate is not known yet.
    Unknown,
    /// No slot has come back for a whole window.
    Stalled,
    /// Slots per second.
    PerSecond(f64),
}

impl ServiceRate {
    pub(super) fn new(window: Duration, now: Instant) -> Self {
        Self { window, started: now, last: now, current: 0, preceding: None }
    }

    /// Counts a slot that was passed to a waiting request.
    pub(super) fn count(&mut self, now: Instant) {
        self.current = self.current.saturating_add(1);
        let elapsed = now - self.started;
        if elapsed >= self.window {
            self.preceding = Some((self.current, elapsed));
            (self.current, self.started) = (0, now);
        }
        self.last = now;
    }

    pub(super) fn estimate(&self, now: Instant) -> Estimate {
        let (preceding, elapsed_preceding) = self.preceding.unwrap_or_default();
        let elapsed = elapsed_preceding + (now - self.started);
        if elapsed < self.window {
            Estimate::Unknown
        } else if now - self.last >= self.window {
            Estimate::Stalled
        } else {
            Estimate::PerSecond(f64::from(preceding.saturating_add(self.current)) / elapsed.as_secs_f64())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_unknown_then_measured_and_follows_a_change_within_two_windows() {
        let (start, window) = (Instant::now(), Duration::from_millis(500));
        let at = |ms: u64| start + Duration::from_millis(ms);
        let mut rate = ServiceRate::new(window, start);
        (1..500).for_each(|ms| rate.count(at(ms)));
        assert_eq!(rate.estimate(at(499)), Estimate::Unknown);
        let of = |rate: &ServiceRate, ms| match rate.estimate(at(ms)) {
            Estimate::PerSecond(rate) => rate.round(),
            other => panic!("{other:?}"),
        };
        assert_eq!(of(&rate, 500), 998.0);
        // From here on, slots come back a tenth as fast.
        (500..=1_600).step_by(10).for_each(|ms| rate.count(at(ms)));
        assert_eq!(of(&rate, 1_600), 100.0);
        assert!(matches!(rate.estimate(at(2_099)), Estimate::PerSecond(_)));
        assert_eq!(rate.estimate(at(2_100)), Estimate::Stalled);
        rate.count(at(3_000));
        assert!(matches!(rate.estimate(at(3_000)), Estimate::PerSecond(_)));
    }
}
