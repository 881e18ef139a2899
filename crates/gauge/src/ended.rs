//! What a request that has ended has cost, as numbers: noted as words, one behind the other, they leave its account free for another one.
#![allow(unsafe_code)]

use crate::account::{Account, Wait};
use std::ptr::with_exposed_provenance;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// What a request has cost: times in nanoseconds, all else in bytes or counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ended {
    /// When its answer was whole, or given up, as the clock's number.
    pub(crate) at: u64,
    pub(crate) wall: u64,
    pub(crate) cpu: u64,
    pub(crate) longest_poll: u64,
    pub(crate) held: Held,
    pub(crate) copied_bytes: u64,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    pub(crate) rows: u64,
    pub(crate) waits: [u64; Wait::ALL.len()],
}

/// What it has allocated: the same for most requests of a route as for the one before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) allocations: u64,
    pub(crate) allocated_bytes: u64,
    pub(crate) peak_bytes: u64,
}

/// How many words it is.
pub(crate) const WORDS: usize = 11 + Wait::ALL.len();
/// How many a name with its number is.
pub(crate) const NAME_WORDS: usize = 3;

impl Ended {
    /// What is on an account.
    #[inline]
    pub(crate) fn of(account: &Account) -> Ended {
        Self::by(account, account.ended.load(Relaxed))
    }

    /// What is on an account, as if the request had ended then.
    #[inline]
    pub(crate) fn by(account: &Account, at: u64) -> Ended {
        let load = |number: &AtomicU64| number.load(Relaxed);
        let counts = account.counts();
        Ended {
            at,
            wall: at.saturating_sub(account.started),
            cpu: load(&account.cpu),
            longest_poll: load(&account.longest_poll),
            held: Held {
                allocations: counts.allocations,
                allocated_bytes: counts.allocated_bytes,
                peak_bytes: account.peak_bytes(),
            },
            copied_bytes: counts.copied_bytes,
            bytes_in: load(&account.bytes_in),
            bytes_out: load(&account.bytes_out),
            rows: load(&account.rows),
            waits: std::array::from_fn(|kind| load(&account.waits[kind])),
        }
    }

    #[inline]
    pub(crate) fn words(&self) -> [u64; WORDS] {
        let Ended { at, wall, cpu, longest_poll: poll, held, copied_bytes: copied, .. } = *self;
        let Ended { bytes_in, bytes_out, rows, waits: [a, b, c, d, e, f, g], .. } = *self;
        let Held { allocations, allocated_bytes: bytes, peak_bytes: peak } = held;
        [at, wall, cpu, poll, allocations, bytes, peak, copied, bytes_in, bytes_out, rows, a, b, c, d, e, f, g]
    }

    #[inline]
    pub(crate) fn of_words(words: [u64; WORDS]) -> Ended {
        let [at, wall, cpu, longest_poll, allocations, allocated_bytes, peak_bytes, others @ ..] = words;
        let [copied_bytes, bytes_in, bytes_out, rows, waits @ ..] = others;
        let held = Held { allocations, allocated_bytes, peak_bytes };
        Ended { at, wall, cpu, longest_poll, held, copied_bytes, bytes_in, bytes_out, rows, waits }
    }
}

/// A name with its number.
#[inline]
pub(crate) fn words_of_name((name, number): (&'static str, u64)) -> [u64; NAME_WORDS] {
    [name.as_ptr().expose_provenance() as u64, name.len() as u64, number]
}

/// # Safety
/// The words are those that `words_of_name` has made of a name.
#[inline]
pub(crate) unsafe fn name_of_words([place, bytes, number]: [u64; NAME_WORDS]) -> (&'static str, u64) {
    let bytes = std::ptr::slice_from_raw_parts(with_exposed_provenance::<u8>(place as usize), bytes as usize);
    // SAFETY: so many bytes stand there for ever, and are a text: they are the name's, as the caller says.
    (unsafe { std::str::from_utf8_unchecked(&*bytes) }, number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_what_was_said() {
        let ended = Ended {
            at: 1,
            wall: 2,
            cpu: 3,
            longest_poll: 4,
            held: Held { allocations: 5, allocated_bytes: 6, peak_bytes: 7 },
            copied_bytes: 8,
            bytes_in: 9,
            bytes_out: 10,
            rows: 11,
            waits: [12, 13, 14, 15, 16, 17, 18],
        };
        assert_eq!(ended.words(), std::array::from_fn(|at| at as u64 + 1));
        assert_eq!(Ended::of_words(ended.words()), ended);
        // SAFETY: the words are made of the name here.
        assert_eq!(unsafe { name_of_words(words_of_name(("größe", 7))) }, ("größe", 7));
    }
}
