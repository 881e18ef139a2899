//! A rate limit for attempts, by key.

use super::ShareError;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Number of counters for attempts. Keys whose hashes share a counter share its attempts.
const ATTEMPT_PLACES: usize = 65_536;

/// Rate limit for each key: a burst of attempts, of which one is restored after each interval (the
/// generic cell rate algorithm).
///
/// A key is any value that can be hashed: a [`Network`](crate::Network), an account's name, or a
/// pair of both. The memory for all keys is fixed at half a MiB. Two keys share a counter by chance
/// only, because the hash function has a random secret key.
///
/// ```
/// use std::time::Duration;
/// use thalweg_server::Attempts;
///
/// let attempts = Attempts::new(2, Duration::from_secs(60));
/// assert!(attempts.take("ann").is_ok() && attempts.take("ann").is_ok());
/// let refused = attempts.take("ann").unwrap_err();
/// assert_eq!(refused.retry_after(), Duration::from_secs(60));
/// assert!(attempts.take("bob").is_ok());
/// ```
#[derive(Debug)]
pub struct Attempts {
    burst: u64,
    interval_ms: u64,
    hashing: RandomState,
    began: Instant,
    /// For each counter, the moment at which all its attempts are restored, in milliseconds since
    /// `began`.
    restored_ms: Mutex<Box<[u64]>>,
}

impl Attempts {
    /// Creates a limit of `burst` attempts (at least 1) at once, and one more after each interval.
    pub fn new(burst: u32, interval: Duration) -> Self {
        Self {
            burst: u64::from(burst.max(1)),
            interval_ms: u64::try_from(interval.as_millis()).unwrap_or(u64::MAX),
            hashing: RandomState::new(),
            began: Instant::now(),
            restored_ms: Mutex::new(vec![0; ATTEMPT_PLACES].into()),
        }
    }

    /// Counts an attempt.
    ///
    /// # Errors
    ///
    /// [`ShareError::Used`]: the key has no attempt left, and none was counted.
    pub fn take<K: Hash + ?Sized>(&self, key: &K) -> Result<(), ShareError> {
        self.take_at(key, self.now_ms())
    }

    /// Checks that the next attempt would be allowed, without counting one.
    ///
    /// # Errors
    ///
    /// As [`Attempts::take`].
    pub fn check<K: Hash + ?Sized>(&self, key: &K) -> Result<(), ShareError> {
        let (now_ms, place) = (self.now_ms(), self.place(key));
        self.restored(self.lock()[place], now_ms).map(drop)
    }

    /// Gives back an attempt that was counted, because it has succeeded.
    pub fn give_back<K: Hash + ?Sized>(&self, key: &K) {
        let place = self.place(key);
        let restored_ms = &mut self.lock()[place];
        *restored_ms = restored_ms.saturating_sub(self.interval_ms);
    }

    fn take_at<K: Hash + ?Sized>(&self, key: &K, now_ms: u64) -> Result<(), ShareError> {
        let place = self.place(key);
        let restored_ms = &mut self.lock()[place];
        *restored_ms = self.restored(*restored_ms, now_ms)?.saturating_add(self.interval_ms);
        Ok(())
    }

    /// Returns the moment at which all attempts are restored, or an error if none is available now.
    fn restored(&self, restored_ms: u64, now_ms: u64) -> Result<u64, ShareError> {
        let restored_ms = restored_ms.max(now_ms);
        let allowed_ms = (self.burst - 1).saturating_mul(self.interval_ms);
        match (restored_ms - now_ms).saturating_sub(allowed_ms) {
            0 => Ok(restored_ms),
            wait_ms => Err(ShareError::Used { retry_after: Duration::from_millis(wait_ms) }),
        }
    }

    fn place<K: Hash + ?Sized>(&self, key: &K) -> usize {
        self.hashing.hash_one(key) as usize % ATTEMPT_PLACES
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Box<[u64]>> {
        self.restored_ms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_burst_is_allowed_at_once_and_one_more_after_each_interval() {
        let attempts = Attempts::new(3, Duration::from_millis(100));
        let take = |key: &str, now_ms| attempts.take_at(key, now_ms).is_ok();
        assert!([0, 0, 0].iter().all(|now| take("ann", *now)));
        assert!(!take("ann", 0) && !take("ann", 99));
        assert!(take("bob", 0), "another key");
        assert!(take("ann", 100) && !take("ann", 199) && take("ann", 200));
        attempts.give_back("ann");
        assert!(take("ann", 200) && !take("ann", 200));
        assert!((0..3).all(|_| take("ann", 10_000)) && !take("ann", 10_000), "unused attempts are not saved up");
    }

    #[test]
    fn a_refusal_has_the_time_until_the_next_attempt() {
        let attempts = Attempts::new(1, Duration::from_millis(2500));
        assert!(attempts.take_at("ann", 0).is_ok());
        let refused = attempts.take_at("ann", 100).unwrap_err();
        assert_eq!(refused.retry_after(), Duration::from_millis(2400));
        assert!(attempts.take_at("ann", 2499).is_err() && attempts.take_at("ann", 2500).is_ok());
    }

    #[test]
    fn a_check_counts_nothing() {
        let attempts = Attempts::new(1, Duration::from_secs(3600));
        assert!((0..3).all(|_| attempts.check("ann").is_ok()));
        assert!(attempts.take("ann").is_ok() && attempts.check("ann").is_err());
    }

    #[test]
    fn extreme_settings_do_not_overflow() {
        let attempts = Attempts::new(u32::MAX, Duration::MAX);
        assert!(attempts.take_at("ann", u64::MAX).is_ok() && attempts.take_at("ann", 0).is_ok());
        let none = Attempts::new(0, Duration::ZERO);
        assert!(none.take_at("ann", 0).is_ok() && none.take_at("ann", 0).is_ok());
    }

    proptest! {
        /// Each span of time has at most the burst, and one more attempt for each interval of the span.
        #[test]
        fn no_span_has_more_than_its_attempts(burst in 1..5_u32, pauses in prop::collection::vec(0..30_u64, 1..100)) {
            const INTERVAL_MS: u64 = 10;
            let attempts = Attempts::new(burst, Duration::from_millis(INTERVAL_MS));
            let mut now_ms = 0;
            let mut allowed_ms = Vec::new();
            for pause in pauses {
                now_ms += pause;
                if attempts.take_at("ann", now_ms).is_ok() {
                    allowed_ms.push(now_ms);
                }
            }
            for (at, from) in allowed_ms.iter().enumerate() {
                for (count, until) in allowed_ms[at..].iter().enumerate() {
                    prop_assert!((count as u64) < u64::from(burst) + (until - from) / INTERVAL_MS);
                }
            }
        }
    }
}
