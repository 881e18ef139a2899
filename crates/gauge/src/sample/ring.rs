//! Samples on their way from signal handlers to the session: a queue of fixed size that is written without lock or allocation.
#![allow(unsafe_code)]

use super::{FRAMES_MAX, Tag};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// How many samples wait at most until the session takes them, which it does 10 to 100 times a second. 1 KiB each.
pub(super) const WAITING_MAX: usize = 2048;

/// One sample.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record {
    pub(super) tag: Tag,
    pub(super) thread: i32,
    /// For how many periods of the timer it stands.
    pub(super) periods: u32,
    pub(super) length: u16,
    pub(super) is_cut: bool,
    pub(super) frames: [u64; FRAMES_MAX],
}

impl Record {
    const EMPTY: Self = Self { tag: 0, thread: 0, periods: 0, length: 0, is_cut: false, frames: [0; FRAMES_MAX] };
}

/// A queue with many writers and, at a time, one reader (source: Dmitry Vyukov, "Bounded MPMC queue").
pub(super) struct Ring {
    /// By which the timers' signals know that they are of this session and not of one before.
    pub(super) session: usize,
    slots: Box<[Slot]>,
    /// The next turn of writing.
    head: AtomicU64,
    /// The next turn of reading.
    tail: Mutex<u64>,
    lost: AtomicU64,
}

struct Slot {
    /// Says whose turn it is: that of the writer whose turn it equals, and the reader's when it is one more.
    turn: AtomicU64,
    record: UnsafeCell<Record>,
}

// SAFETY: a record is touched by the one writer that has moved `head` past its turn, until it sets `turn` to the reader's (release);
// then by the reader that has seen that (acquire), until it sets `turn` to the next writer's. There is one reader at a time, who
// holds the lock of `tail`. `Record` is plain memory.
unsafe impl Sync for Slot {}

impl Ring {
    pub(super) fn new(session: usize) -> Self {
        Self::with_room(session, WAITING_MAX)
    }

    fn with_room(session: usize, room: usize) -> Self {
        let slot = |turn| Slot { turn: AtomicU64::new(turn as u64), record: UnsafeCell::new(Record::EMPTY) };
        let (head, tail, lost) = (AtomicU64::new(0), Mutex::new(0), AtomicU64::new(0));
        Self { session, slots: (0..room).map(slot).collect(), head, tail, lost }
    }

    /// Lets a record be written in place. If there is no room, or nothing was written, the sample counts as lost. For signal
    /// handlers: it takes as many tries as others come between, and waits for nobody.
    pub(super) fn put(&self, write: impl FnOnce(&mut Record) -> bool) {
        let mut turn = self.head.load(Ordering::Relaxed);
        let slot = loop {
            let slot = self.slot(turn);
            let whose = slot.turn.load(Ordering::Acquire);
            if whose < turn {
                self.lost.fetch_add(1, Ordering::Relaxed);
                return;
            }
            if whose > turn {
                turn = self.head.load(Ordering::Relaxed);
                continue;
            }
            match self.head.compare_exchange_weak(turn, turn + 1, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => break slot,
                Err(now) => turn = now,
            }
        };
        // SAFETY: this call has moved `head` past `turn`, and the slot waits for that turn's writer: nobody else touches the
        // record until `turn` is set below. If a panic came between, the slot would stay this writer's.
        let record = unsafe { &mut *slot.record.get() };
        if !write(record) {
            // the reader passes over it
            record.periods = 0;
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        slot.turn.store(turn + 1, Ordering::Release);
    }

    /// Gives all records that have been written to a function.
    pub(super) fn take(&self, mut give: impl FnMut(&Record)) {
        let mut turn = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let slot = self.slot(*turn);
            if slot.turn.load(Ordering::Acquire) != *turn + 1 {
                return;
            }
            // SAFETY: the writer of this turn has finished, and the next one waits for the store below; there is no other
            // reader, for the lock of `tail` is held.
            let record = unsafe { &*slot.record.get() };
            if record.periods > 0 {
                give(record);
            }
            slot.turn.store(*turn + self.slots.len() as u64, Ordering::Release);
            *turn += 1;
        }
    }

    /// How many samples there was no room for since this was asked last.
    pub(super) fn lost(&self) -> u64 {
        self.lost.swap(0, Ordering::Relaxed)
    }

    fn slot(&self, turn: u64) -> &Slot {
        &self.slots[(turn % self.slots.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(ring: &Ring, tag: Tag) {
        ring.put(|record| {
            (record.tag, record.periods) = (tag, 1);
            true
        });
    }

    fn tags(ring: &Ring) -> Vec<Tag> {
        let mut tags = Vec::new();
        ring.take(|record| tags.push(record.tag));
        tags
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let ring = Ring::with_room(0, 4);
        for round in 0..3 {
            (0..7).for_each(|tag| put(&ring, round * 10 + tag));
            assert_eq!(tags(&ring), (0..4).map(|tag| round * 10 + tag).collect::<Vec<_>>());
            assert_eq!(ring.lost(), 3);
        }
        ring.put(|_| false);
        assert_eq!((tags(&ring), ring.lost()), (vec![], 1));
    }

    #[test]
    fn each_of_many_writers_samples_comes_once() {
        const WRITERS: u64 = 4;
        const EACH: u64 = if cfg!(miri) { 20 } else { 5000 };
        let ring = Ring::with_room(0, 8);
        let mut came = Vec::new();
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                let ring = &ring;
                scope.spawn(move || (0..EACH).for_each(|tag| put(ring, writer * EACH + tag)));
            }
            for _ in 0..EACH {
                came.extend(tags(&ring));
                std::thread::yield_now();
            }
        });
        came.extend(tags(&ring));
        let count = came.len() as u64;
        came.sort_unstable();
        came.dedup();
        assert_eq!(came.len() as u64, count);
        assert_eq!(count + ring.lost(), WRITERS * EACH);
    }
}
