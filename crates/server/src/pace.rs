//! The pace of a client: the bytes that it reads or sends, for the time in which the server waits for it.

use std::time::Duration;

/// The lowest pace that a client may have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PaceMin {
    pub(crate) bytes_per_s: u64,
    /// Time of waiting after which the pace is compared.
    pub(crate) window: Duration,
}

/// The pace of a client since the last comparison.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    waited: Duration,
    bytes: u64,
}

impl Pace {
    /// Adds a time for which the server has waited for the client, and the bytes that were moved
    /// then. Returns true at the end of a window in which too few bytes were moved.
    pub(crate) fn is_too_slow(&mut self, waited: Duration, bytes: u64, min: PaceMin) -> bool {
        self.waited += waited;
        self.bytes += bytes;
        if self.waited < min.window {
            return false;
        }
        let Self { bytes, .. } = std::mem::take(self);
        bytes < min.bytes_per_s * min.window.as_secs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_window_is_looked_at_by_itself() {
        let (mut pace, second) = (Pace::default(), Duration::from_secs(1));
        let min = PaceMin { bytes_per_s: 100, window: 10 * second };
        // The server does not wait for a client that is fast.
        assert!(!pace.is_too_slow(Duration::ZERO, 5_000, min));
        assert!(!pace.is_too_slow(9 * second, 0, min));
        assert!(!pace.is_too_slow(second, 0, min), "5,000 in ten seconds");
        assert!(!pace.is_too_slow(10 * second, 1_000, min), "at the edge");
        assert!(!pace.is_too_slow(9 * second, 999, min), "there is a second left");
        assert!(pace.is_too_slow(second, 0, min));
    }
}
