//! How fast a client must send. Only the time that it is waited for counts, and only what comes over the wire.
//!
//! What a body holds must be worth it: while more than [`SLOW_BYTES_MAX`] of it are held, its client sends at least 4 KiB/s,
//! and at least a 4096th of what is held each second, so that a body takes an hour or so at most. A body of which less is
//! held may come as slowly as it likes, but in [`SLOW_TIME_MAX`]. What is kept on disk is held, too. A connection to the
//! database only waits for a client that has been fast, and then for one that is hardly slow.

use crate::pace::{self, PaceMin};
use std::time::Duration;

/// How fast a client must send while more of its body is held than may be slow, in bytes per second.
const HELD_BYTES_PER_S_MIN: u64 = 4 * 1024;
/// In how many seconds it must send as much again as is held.
const HELD_AGAIN_S_MAX: u64 = 4096;
/// How fast a client must send while a connection to the database waits for it, in bytes per second.
const FLOWING_BYTES_PER_S_MIN: u64 = 64 * 1024;
/// How fast it must have sent the beginning of its body for a connection to wait for the rest, in bytes per second.
const FAST_BYTES_PER_S_MIN: u64 = 1024 * 1024;
/// Over which time that is measured.
const WINDOW: Duration = Duration::from_secs(10);
/// How much of a body may be held for a client that is slower, in bytes, and for how long that is waited for.
const SLOW_BYTES_MAX: u64 = 64 * 1024;
const SLOW_TIME_MAX: Duration = Duration::from_secs(300);

/// What waits for a body.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Waiting {
    /// Memory, of which so many bytes are taken.
    Memory(u64),
    /// A connection to the database.
    Connection,
}

/// How a client has kept its pace.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    measured: pace::Pace,
    /// The time waited for it while little was held, and in all.
    slow: Duration,
    in_all: Duration,
}

impl Pace {
    /// Notes that so many bytes came after such a time; whether that is fast enough.
    pub(crate) fn is_kept(&mut self, waiting: Waiting, waited: Duration, bytes: u64) -> bool {
        self.in_all += waited;
        let bytes_per_s = match waiting {
            Waiting::Connection => FLOWING_BYTES_PER_S_MIN,
            Waiting::Memory(held) if held > SLOW_BYTES_MAX => HELD_BYTES_PER_S_MIN.max(held / HELD_AGAIN_S_MAX),
            Waiting::Memory(_) => {
                self.slow += waited;
                return self.slow <= SLOW_TIME_MAX;
            }
        };
        !self.measured.is_too_slow(waited, bytes, PaceMin { bytes_per_s, window: WINDOW })
    }

    /// Whether a client has been fast that has sent so many bytes.
    pub(crate) fn is_fast(&self, bytes: u64) -> bool {
        self.in_all.as_secs_f64() * FAST_BYTES_PER_S_MIN as f64 <= bytes as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long a client is waited for that sends pieces of a size in intervals, of which everything is held times over.
    fn held(piece: u64, every: Duration, times: u64, in_all: u64) -> Result<Duration, u64> {
        let (mut pace, mut sent, mut waited) = (Pace::default(), 0, Duration::ZERO);
        while sent < in_all {
            if !pace.is_kept(Waiting::Memory(sent * times), every, piece) {
                return Err(sent);
            }
            (sent, waited) = (sent + piece, waited + every);
        }
        Ok(waited)
    }

    #[test]
    fn slow_lines_get_through_and_those_who_only_hold_do_not() {
        const SECOND: Duration = Duration::from_secs(1);
        // a phone that sends a picture; a long upload over a slow line
        assert_eq!(held(20_000, SECOND, 1, 2_000_000), Ok(100 * SECOND));
        assert_eq!(held(64 * 1024, SECOND, 1, 200 << 20), Ok(3_200 * SECOND));
        // a few bytes now and then, as long as there are few
        assert_eq!(held(100, SECOND, 1, 20_000), Ok(200 * SECOND));
        assert_eq!(held(1, 29 * SECOND, 1, 1_000), Err(10));
        // what trickles when much is held: at the edge, and below it
        assert_eq!(held(4 * 1024, SECOND, 1, 1 << 20), Ok(256 * SECOND));
        assert!(held(4 * 1024 - 1, SECOND, 1, 1 << 20).unwrap_err() < 200_000);
        assert!(held(1, 18 * SECOND, 256 << 20, 2).is_err());
        // compressed, each byte may hold two hundred: the pace that four kilobytes a second are not enough for
        assert!(held(4 * 1024, SECOND, 200, 1_300_000).unwrap_err() <= 200_000);
        assert_eq!(held(64 * 1024, SECOND, 200, 1_310_720), Ok(20 * SECOND));
    }

    #[test]
    fn a_connection_waits_for_64_kib_a_second_of_who_sent_a_mib_in_one() {
        let mut pace = Pace::default();
        let mut is_kept = |bytes| pace.is_kept(Waiting::Connection, WINDOW, bytes);
        assert!(is_kept(640 * 1024) && !is_kept(640 * 1024 - 1));
        let (mut fast, mebibyte) = (Pace::default(), 1024 * 1024);
        assert!(fast.is_fast(1));
        assert!(fast.is_kept(Waiting::Memory(0), Duration::from_secs(1), mebibyte));
        assert!(fast.is_fast(mebibyte) && !fast.is_fast(mebibyte - 1));
    }
}
