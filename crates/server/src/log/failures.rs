//! Failures that come again and again, told now and then.

use std::time::{Duration, Instant};

/// Failures of one kind, of which there may be many in a second.
pub(crate) struct Failures {
    interval: Duration,
    told: Option<Instant>,
    untold: u64,
}

/// Told once a minute.
impl Default for Failures {
    fn default() -> Self {
        Self::told_each(Duration::from_secs(60))
    }
}

impl Failures {
    pub(crate) const fn told_each(interval: Duration) -> Self {
        Self { interval, told: None, untold: 0 }
    }

    /// Counts one more; how many there have been, where that is to be told: of the first, then of all in an interval.
    pub(crate) fn another(&mut self, now: Instant) -> Option<u64> {
        self.untold += 1;
        if self.told.is_some_and(|told| now.saturating_duration_since(told) < self.interval) {
            return None;
        }
        self.told = Some(now);
        Some(std::mem::take(&mut self.untold))
    }

    /// Takes the number of failures that were counted and not logged, if an interval has passed
    /// since the last line. Returns `None` if it has not.
    pub(crate) fn rest(&mut self, now: Instant) -> Option<u64> {
        if self.told.is_some_and(|told| now.saturating_duration_since(told) < self.interval) {
            return None;
        }
        let untold = std::mem::take(&mut self.untold);
        if untold > 0 {
            self.told = Some(now);
        }
        Some(untold)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_told_once_a_minute() {
        let mut failures = Failures::default();
        let start = Instant::now();
        let told = |failures: &mut Failures, from: u64| -> Vec<u64> {
            (0..1_200)
                .filter_map(|at| failures.another(start + Duration::from_secs(from) + Duration::from_millis(50) * at))
                .collect()
        };
        assert_eq!(told(&mut failures, 0), [1]);
        assert_eq!(told(&mut failures, 60), [1_200]);
        assert_eq!(told(&mut failures, 3_600), [1_200]);
    }
}
