//! Turns of requests that take much or long: those that keep a database connection for as long as it takes leave some of the
//! pool to others.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use thalweg_wire::{PoolError, Slot, Slots};

/// One of how many connections is left to short requests, and one at least where there are two.
const LEFT_PART: usize = 4;
/// How many statements are remembered as large.
const REMEMBERED_MAX: usize = 1024;

/// Turns, of which there are so many at a time.
pub(crate) struct Turns {
    slots: Slots,
    /// Statements, by hash, whose answers have turned out to be large.
    large: Mutex<HashSet<u64>>,
}

/// A turn, which ends when it is dropped.
pub(crate) type Turn = Slot;

impl Turns {
    /// Creates a number of turns. At most `waiting_max` requests wait for them, none longer than
    /// `wait`.
    pub(crate) fn new(turns: usize, waiting_max: usize, wait: Duration) -> Self {
        Self { slots: Slots::new(turns, waiting_max, wait), large: Mutex::default() }
    }

    /// Creates the turns for a pool with these bounds.
    pub(crate) fn of_pool(connections: usize, waiting_max: usize, wait: Duration) -> Self {
        let left = (connections / LEFT_PART).max(1);
        let turns = connections.saturating_sub(left).max(1);
        // as many requests come to their turn meanwhile as would to a connection
        Self::new(turns, waiting_max, wait.mul_f64(connections as f64 / turns as f64))
    }

    /// A turn, if one is free.
    pub(crate) fn take(&self) -> Option<Turn> {
        self.slots.take()
    }

    /// The next turn.
    pub(crate) async fn next(&self) -> Result<Turn, PoolError> {
        self.slots.next().await
    }

    /// How many wait for one.
    pub(crate) fn waiting(&self) -> usize {
        self.slots.waiting()
    }

    /// How many have waited in vain.
    pub(crate) fn timeouts(&self) -> u64 {
        self.slots.timeouts()
    }

    /// Notes that the answer to a statement was large although it had not looked so.
    pub(crate) fn remember(&self, statement: &str) {
        let mut large = self.large.lock().unwrap_or_else(PoisonError::into_inner);
        if large.len() >= REMEMBERED_MAX {
            large.clear();
        }
        large.insert(hash(statement));
    }

    /// Whether the answer to a statement has been large.
    pub(crate) fn remembers(&self, statement: &str) -> bool {
        let large = self.large.lock().unwrap_or_else(PoisonError::into_inner);
        !large.is_empty() && large.contains(&hash(statement))
    }
}

fn hash(statement: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    statement.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_connections_are_left() {
        for (connections, turns) in [(1, 1), (2, 1), (3, 2), (4, 3), (10, 8), (100, 75)] {
            let all = Turns::of_pool(connections, 1, Duration::ZERO);
            let taken: Vec<Turn> = std::iter::from_fn(|| all.take()).collect();
            assert_eq!(taken.len(), turns, "{connections}");
        }
    }

    #[test]
    fn what_was_large_is_remembered_within_bounds() {
        let turns = Turns::new(1, 1, Duration::ZERO);
        assert!(!turns.remembers("a"));
        turns.remember("a");
        assert!(turns.remembers("a") && !turns.remembers("b"));
        (0..REMEMBERED_MAX).for_each(|at| turns.remember(&at.to_string()));
        assert!(turns.large.lock().unwrap().len() <= REMEMBERED_MAX);
    }
}
