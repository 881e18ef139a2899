//! Log lines that a client or an outage can cause with every request. The first line of a kind is
//! written at once, and the following ones as a count.

use super::Failures;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Shortest time between two lines of one kind.
const LINE_INTERVAL: Duration = Duration::from_secs(5);
/// Number of kinds that are counted separately. All further kinds are counted as one.
const LINE_KINDS_MAX: usize = 64;
/// Length in bytes up to which kinds are compared.
const LINE_KIND_BYTES_MAX: usize = 512;
/// The kind in which all lines are counted for which there is no room.
const OTHERS: &str = "lines of other kinds";

/// The kinds of which a line was written a short time ago, by their text.
static KINDS: Mutex<Kinds> = Mutex::new(Kinds { known: BTreeMap::new() });

struct Kinds {
    known: BTreeMap<String, Failures>,
}

/// Writes a line to the log as an error. Equal lines are counted, and written once in each interval
/// with their number.
pub(crate) fn error_line(line: &str) {
    // The lock of the kinds is released before the line is written.
    let times = kinds().count(line, Instant::now());
    if let Some(times) = times {
        tracing::error!(times = (times > 1).then_some(times), "{line}");
    }
}

/// Writes, after each interval, the number of lines of each kind since its last line. It never
/// ends.
pub(crate) async fn write_counts() {
    loop {
        tokio::time::sleep(LINE_INTERVAL).await;
        write(kinds().rest(Instant::now()));
    }
}

/// Writes all counts that are left when the program ends.
pub(super) fn write_last_counts() {
    write(kinds().rest(Instant::now() + LINE_INTERVAL));
}

fn write(counts: Vec<(String, u64)>) {
    for (kind, times) in counts {
        tracing::error!(times, "{kind}");
    }
}

fn kinds() -> MutexGuard<'static, Kinds> {
    KINDS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Kinds {
    fn count(&mut self, kind: &str, now: Instant) -> Option<u64> {
        let longest = LINE_KIND_BYTES_MAX.min(kind.len());
        let end = (0..=longest).rev().find(|end| kind.is_char_boundary(*end)).unwrap_or(0);
        let kind = &kind[..end];
        if let Some(known) = self.known.get_mut(kind) {
            return known.another(now);
        }
        let kind = if self.known.len() < LINE_KINDS_MAX { kind } else { OTHERS };
        let known = self.known.entry(kind.to_owned());
        known.or_insert(const { Failures::told_each(LINE_INTERVAL) }).another(now)
    }

    /// Removes the kinds that had no line for an interval, and returns those whose lines were only
    /// counted.
    fn rest(&mut self, now: Instant) -> Vec<(String, u64)> {
        let mut rest = Vec::new();
        self.known.retain(|kind, failures| match failures.rest(now) {
            None => true,
            Some(0) => false,
            Some(times) => {
                rest.push((kind.clone(), times));
                true
            }
        });
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_a_line_at_once_and_the_rest_as_a_count() {
        let mut kinds = Kinds { known: BTreeMap::new() };
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let interval_ms = LINE_INTERVAL.as_millis() as u64;
        assert_eq!(kinds.count("a", at(0)), Some(1));
        assert_eq!((1..100).filter_map(|ms| kinds.count("a", at(ms))).next(), None);
        assert_eq!(kinds.count("b", at(50)), Some(1));
        assert_eq!(kinds.rest(at(interval_ms - 1)), []);
        // Of the first kind, 99 lines were not written; of the second, all were.
        assert_eq!(kinds.rest(at(interval_ms + 50)), [("a".to_owned(), 99)]);
        assert_eq!(kinds.known.len(), 1);
        // The count was a line of its kind, after which the following lines are counted again.
        assert_eq!(kinds.count("a", at(interval_ms + 60)), None);
        assert_eq!(kinds.count("a", at(2 * interval_ms + 50)), Some(2));
        assert_eq!(kinds.rest(at(4 * interval_ms)), []);
        assert!(kinds.known.is_empty());
    }

    #[test]
    fn kinds_beyond_the_maximum_are_counted_as_one() {
        let mut kinds = Kinds { known: BTreeMap::new() };
        let now = Instant::now();
        for number in 0..LINE_KINDS_MAX {
            assert_eq!(kinds.count(&number.to_string(), now), Some(1));
        }
        assert_eq!(kinds.count("one more", now), Some(1));
        assert_eq!(kinds.count("another", now), None);
        assert_eq!(kinds.count("one more", now), None);
        assert_eq!(kinds.known.len(), LINE_KINDS_MAX + 1);
        assert_eq!(kinds.rest(now + LINE_INTERVAL), [(OTHERS.to_owned(), 2)]);
    }

    #[test]
    fn kinds_are_distinguished_up_to_a_length() {
        let mut kinds = Kinds { known: BTreeMap::new() };
        let now = Instant::now();
        let long = "é".repeat(LINE_KIND_BYTES_MAX);
        assert_eq!(kinds.count(&long, now), Some(1));
        assert_eq!(kinds.count(&format!("{long}x"), now), None);
        assert_eq!(kinds.count(&long[..LINE_KIND_BYTES_MAX - 2], now), Some(1));
    }
}
