//! What bodies hold: counted before it is kept, and given back when the last part of it is dropped, wherever that is.

use crate::error::ApiError;
use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use thalweg_decode::Chunks;

/// How many bodies of the largest size may be held at the same time, with what is made of them.
const LARGEST_HELD_MAX: u64 = 4;
/// How much a chunk pins at most, in bytes: the whole buffer that it was read into.
const BUFFER_BYTES: usize = crate::http::HEAD_BYTES_MAX;
/// How much more than their bytes all chunks together may pin that are kept as they came. Beyond it they are copied.
const WASTE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// How much of that one body may take, in bytes, besides as much as its size.
const WASTE_OF_ONE_BYTES_MAX: u64 = 1024 * 1024;

/// What all bodies hold.
#[derive(Debug, Default)]
pub(crate) struct HeldBytes {
    bytes: AtomicU64,
    /// What is pinned besides.
    waste: AtomicU64,
}

impl HeldBytes {
    /// How much counts.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

/// The right of one body to hold something.
#[derive(Clone)]
pub(crate) struct Holds {
    all: Arc<HeldBytes>,
    /// How much a body may hold, in bytes, and what is made of one.
    pub(crate) bytes_max: u64,
}

/// Something that is held. It counts until it is dropped.
pub(crate) struct Hold {
    all: Arc<HeldBytes>,
    bytes: u64,
    waste: u64,
}

/// Bytes with what they count for.
struct Counted<T> {
    bytes: T,
    _hold: Hold,
}

impl<T: AsRef<[u8]>> AsRef<[u8]> for Counted<T> {
    fn as_ref(&self) -> &[u8] {
        self.bytes.as_ref()
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.all.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        self.all.waste.fetch_sub(self.waste, Ordering::Relaxed);
    }
}

impl Holds {
    pub(crate) fn new(all: Arc<HeldBytes>, bytes_max: u64) -> Self {
        Self { all, bytes_max }
    }

    /// Something of which nothing is there yet.
    pub(crate) fn nothing(&self) -> Hold {
        Hold { all: self.all.clone(), bytes: 0, waste: 0 }
    }

    /// Bytes that count until the last part of them is dropped.
    pub(crate) fn made(&self, mut bytes: Vec<u8>) -> Result<Bytes, ApiError> {
        bytes.shrink_to_fit();
        let mut hold = self.nothing();
        hold.resize(bytes.len(), self)?;
        Ok(Bytes::from_owner(Counted { bytes, _hold: hold }))
    }

    /// A chunk that counts until the last part of it is dropped.
    fn chunk(&self, bytes: Bytes, waste: u64) -> Result<Bytes, ApiError> {
        let mut hold = self.nothing();
        hold.resize(bytes.len(), self)?;
        hold.waste = waste;
        self.all.waste.fetch_add(waste, Ordering::Relaxed);
        Ok(Bytes::from_owner(Counted { bytes, _hold: hold }))
    }
}

impl Hold {
    /// Counts for so many bytes from here on.
    pub(crate) fn resize(&mut self, bytes: usize, holds: &Holds) -> Result<(), ApiError> {
        let bytes = bytes as u64;
        if bytes <= self.bytes {
            self.all.bytes.fetch_sub(self.bytes - bytes, Ordering::Relaxed);
            self.bytes = bytes;
            return Ok(());
        }
        let more = bytes - self.bytes;
        let all = self.all.bytes.fetch_add(more, Ordering::Relaxed) + more;
        self.bytes = bytes;
        if all > holds.bytes_max.saturating_mul(LARGEST_HELD_MAX) {
            return Err(ApiError::too_many_bodies());
        }
        Ok(())
    }
}

/// Keeps a body. Chunks that are well filled are kept as they came; small ones, which would pin a buffer each, are joined.
pub(crate) struct Keeper {
    holds: Holds,
    kept: Chunks,
    joined: Vec<u8>,
    joined_hold: Hold,
    waste: u64,
}

impl Keeper {
    pub(crate) fn new(holds: Holds) -> Self {
        Self { joined_hold: holds.nothing(), holds, kept: Chunks::default(), joined: Vec::new(), waste: 0 }
    }

    /// How much is kept, in bytes.
    pub(crate) fn size_bytes(&self) -> u64 {
        self.kept.size_bytes() + self.joined.len() as u64
    }

    /// The right to hold more.
    pub(crate) fn holds(&self) -> &Holds {
        &self.holds
    }

    /// What is kept, up to the last [`Keeper::settle`].
    pub(crate) fn chunks(&self) -> &Chunks {
        &self.kept
    }

    /// Keeps a chunk as it came from the client.
    pub(crate) fn keep(&mut self, chunk: Bytes) -> Result<(), ApiError> {
        let waste = BUFFER_BYTES.saturating_sub(chunk.len()) as u64;
        let allowed = WASTE_OF_ONE_BYTES_MAX + self.size_bytes();
        let is_affordable = waste == 0
            || self.waste + waste <= allowed && self.holds.all.waste.load(Ordering::Relaxed) + waste <= WASTE_BYTES_MAX;
        if is_affordable {
            self.settle()?;
            self.waste += waste;
            self.kept.push(self.holds.chunk(chunk, waste)?);
            return Ok(());
        }
        if self.joined.len() + chunk.len() > BUFFER_BYTES {
            self.settle()?;
        }
        if self.joined.is_empty() && self.size_bytes() >= BUFFER_BYTES as u64 {
            self.joined.reserve_exact(BUFFER_BYTES);
        }
        self.joined.extend_from_slice(&chunk);
        self.joined_hold.resize(self.joined.capacity(), &self.holds)
    }

    /// Keeps what has been made here.
    pub(crate) fn keep_made(&mut self, made: Vec<u8>) -> Result<(), ApiError> {
        if made.is_empty() {
            return Ok(());
        }
        self.settle()?;
        self.kept.push(self.holds.made(made)?);
        Ok(())
    }

    /// Puts what has been joined where it can be seen.
    pub(crate) fn settle(&mut self) -> Result<(), ApiError> {
        if self.joined.is_empty() {
            return Ok(());
        }
        self.joined_hold.resize(0, &self.holds)?;
        let joined = std::mem::take(&mut self.joined);
        self.kept.push(self.holds.made(joined)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(bytes_max: u64) -> (Arc<HeldBytes>, Holds) {
        let all = Arc::<HeldBytes>::default();
        (all.clone(), Holds::new(all, bytes_max))
    }

    fn counted(all: &HeldBytes) -> (u64, u64) {
        (all.bytes.load(Ordering::Relaxed), all.waste.load(Ordering::Relaxed))
    }

    /// Each byte came in a segment of its own, and pinned the buffer that it was read into.
    #[test]
    fn single_bytes_pin_little_more_than_themselves() {
        const BYTES: usize = 1024 * 1024;
        let (all, holds) = holds(u64::MAX / 8);
        let mut keeper = Keeper::new(holds);
        for at in 0..BYTES {
            keeper.keep(Bytes::copy_from_slice(&[at as u8])).unwrap();
        }
        keeper.settle().unwrap();
        assert_eq!((keeper.size_bytes(), counted(&all).0), (BYTES as u64, BYTES as u64));
        assert!(counted(&all).1 <= WASTE_OF_ONE_BYTES_MAX + BYTES as u64, "{:?}", counted(&all));
        assert!(keeper.chunks().list().len() <= 64, "{} chunks", keeper.chunks().list().len());
        let whole = keeper.chunks().list().concat();
        assert!(whole.iter().enumerate().all(|(at, byte)| *byte == at as u8));
        // what is still used somewhere counts, and nothing else
        let used = keeper.chunks().slice(0..1);
        drop(keeper);
        assert_eq!(counted(&all).0, 1);
        drop(used);
        assert_eq!(counted(&all), (0, 0));
    }

    #[test]
    fn chunks_that_fill_their_buffers_are_not_copied() {
        let (all, holds) = holds(u64::MAX / 8);
        let mut keeper = Keeper::new(holds);
        // as hyper reads: more each time, and now and then less than there was room for
        for bytes in [8_000, 16_384, 32_768, 65_536, 65_536, 50_000, 65_536, 65_536, 60_000, 65_536] {
            let chunk = Bytes::from(vec![b'x'; bytes]);
            let place = chunk.as_ptr();
            keeper.keep(chunk).unwrap();
            assert_eq!(keeper.chunks().list().last().map(|kept| kept.as_ptr()), Some(place));
        }
        assert!(counted(&all).1 <= WASTE_OF_ONE_BYTES_MAX);
    }

    #[test]
    fn what_is_pinned_by_all_has_a_bound_beyond_which_chunks_are_copied() {
        let (all, holds) = holds(u64::MAX / 8);
        let keepers: Vec<Keeper> = (0..2_000)
            .map(|_| {
                let mut keeper = Keeper::new(holds.clone());
                keeper.keep(Bytes::from_static(b"x")).unwrap();
                keeper
            })
            .collect();
        // as many as there is room for, and not one more
        let each = (BUFFER_BYTES - 1) as u64;
        assert_eq!(counted(&all).1, WASTE_BYTES_MAX / each * each);
        drop(keepers);
        assert_eq!(counted(&all), (0, 0));
    }

    #[test]
    fn all_together_have_a_bound() {
        let (all, holds) = holds(1_000);
        let full: Vec<Bytes> = (0..4).map(|_| holds.made(vec![0; 1_000]).unwrap()).collect();
        assert!(holds.made(vec![0; 1]).is_err());
        assert_eq!(counted(&all).0, 4_000);
        drop(full);
        assert!(holds.made(vec![0; 4_000]).is_ok());
        assert_eq!(counted(&all), (0, 0));
    }
}
