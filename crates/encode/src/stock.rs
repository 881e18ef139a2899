//! Chunks that are used again: memory that is given back and taken anew costs a page fault for every 4 KiB.

use crate::encoder::{CHUNK_BYTES, CHUNK_ROOM_BYTES};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many chunks are kept for the next responses: 4.5 MiB of them.
const CHUNKS_MAX: usize = 64;

/// Chunks that are kept for the next responses. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Stock {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    chunks: Mutex<Vec<Vec<u8>>>,
    is_used: AtomicBool,
}

impl Stock {
    /// An empty chunk with room for [`CHUNK_BYTES`] and a row more.
    pub fn take(&self) -> Vec<u8> {
        self.shared.is_used.store(true, Ordering::Relaxed);
        self.lock().pop().unwrap_or_else(|| Vec::with_capacity(CHUNK_ROOM_BYTES))
    }

    /// Keeps a chunk for later, if it is one that this would make, and there are not enough.
    pub fn give_back(&self, mut chunk: Vec<u8>) {
        if Self::makes(&chunk) {
            let mut chunks = self.lock();
            if chunks.len() < CHUNKS_MAX {
                chunk.clear();
                chunks.push(chunk);
            }
        }
    }

    /// Whether a chunk has the size of those that are kept, and not that of a row that is larger.
    pub fn makes(chunk: &Vec<u8>) -> bool {
        (CHUNK_BYTES..=2 * CHUNK_ROOM_BYTES).contains(&chunk.capacity())
    }

    /// Gives memory back if none has been wanted since this was last called.
    pub fn rest(&self) {
        if !self.shared.is_used.swap(false, Ordering::Relaxed) {
            *self.lock() = Vec::new();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.shared.chunks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_used_again_until_nobody_wants_them() {
        let stock = Stock::default();
        let mut chunk = stock.take();
        chunk.extend_from_slice(b"something");
        let place = chunk.as_ptr();
        stock.give_back(chunk);
        let again = stock.take();
        assert_eq!((again.as_ptr(), again.len()), (place, 0));
        stock.give_back(again);
        stock.rest();
        assert_eq!(stock.lock().len(), 1);
        stock.rest();
        assert_eq!(stock.lock().capacity(), 0);
    }

    #[test]
    fn only_so_many_of_one_size_are_kept() {
        let stock = Stock::default();
        stock.give_back(Vec::with_capacity(1024));
        stock.give_back(Vec::with_capacity(1024 * 1024));
        assert_eq!(stock.lock().len(), 0);
        (0..2 * CHUNKS_MAX).map(|_| Vec::with_capacity(CHUNK_ROOM_BYTES)).for_each(|chunk| stock.give_back(chunk));
        assert_eq!(stock.lock().len(), CHUNKS_MAX);
    }
}
