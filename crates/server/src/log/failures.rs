//! Failures that come again and again, told now and then.

use std::time::{Duration, Instant};

/// How often they are told.
const FAILURES_INTERVAL: Duration = Duration::from_secs(60);

/// Failures of one kind, of which there may be many in a second.
#[derive(Default)]
pub(crate) struct Failures {
    told: Option<Instant>,
    untold: u64,
}

impl Failures {
    /// Counts one more; how many there have been, where that is to be told: of the first, then of all in a minute.
    pub(crate) fn another(&mut self, now: Instant) -> Option<u64> {
        self.untold += 1;
        if self.told.is_some_and(|told| now - told < FAILURES_INTERVAL) {
            return None;
        }
        self.told = Some(now);
        Some(std::mem::take(&mut self.untold))
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
