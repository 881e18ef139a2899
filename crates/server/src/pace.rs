//! How fast a client is while it is waited for: what it takes or sends, over the time that passes with waiting alone.

use std::time::Duration;

/// The slowest that a client may be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PaceMin {
    pub(crate) bytes_per_s: u64,
    /// Over which time of waiting that is looked at.
    pub(crate) window: Duration,
}

/// The pace of a client, since it was last looked at.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    waited: Duration,
    bytes: u64,
}

impl Pace {
    /// Notes that a client has been waited for so long, and that so many bytes were moved. At the end of a window, how many there
    /// were in it, if they are too few.
    pub(crate) fn too_few(&mut self, waited: Duration, bytes: u64, min: PaceMin) -> Option<u64> {
        self.waited += waited;
        self.bytes += bytes;
        if self.waited < min.window {
            return None;
        }
        let Self { bytes, .. } = std::mem::take(self);
        Some(bytes).filter(|bytes| *bytes < min.bytes_per_s * min.window.as_secs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_window_is_looked_at_by_itself() {
        let (mut pace, second) = (Pace::default(), Duration::from_secs(1));
        let min = PaceMin { bytes_per_s: 100, window: 10 * second };
        // nobody waits for who is fast
        assert_eq!(pace.too_few(Duration::ZERO, 5_000, min), None);
        assert_eq!(pace.too_few(9 * second, 0, min), None);
        assert_eq!(pace.too_few(second, 0, min), None, "5,000 in ten seconds");
        assert_eq!(pace.too_few(10 * second, 1_000, min), None, "at the edge");
        assert_eq!(pace.too_few(9 * second, 999, min), None, "there is a second left");
        assert_eq!(pace.too_few(second, 0, min), Some(999));
    }
}
