//! Large answers on their way out: a client that takes its time keeps neither a database connection nor memory.
//!
//! ```text
//!  the database ──rows──▶ chunk ──▶ a client that takes it at once           nothing in between (flow)
//!        │                             ▲
//!        └──rows──▶ spool ─────────────┘  once the client has kept it waiting for PATIENCE in all (watch)
//! ```
//!
//! From then on the rows go to disk as fast as the database sends them, and the client reads from there at its own pace.
//! An answer that must be whole before its client gets any of it goes to disk in the same way
//! (`held`). So does a frame of a handler that its client does not take. If the disk has no room,
//! the database waits for the client, which then has to keep up a minimum pace.

mod file;
mod flow;
mod held;
mod watch;

pub(crate) use flow::{Flow, Flowing};
pub(crate) use held::Held;

use crate::frames::Frames;
use crate::spool::Spool;
use bytes::Bytes;
use flow::{Source, WATCHED_BYTES_MIN};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use thalweg_encode::Stock;

/// From so many bytes on that all answers hold in memory, none of them is waited for.
const HELD_BYTES_PATIENT: u64 = 256 * 1024 * 1024;
/// From so many on, large ones are refused.
const HELD_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// Size in bytes from which an answer is refused while answers hold more than `HELD_BYTES_MAX`.
pub(crate) const REFUSED_BYTES_MIN: u64 = 128 * 1024;
/// Chunks with less room than this are not counted, in bytes: an answer has one of them at most.
const COUNTED_BYTES_MIN: usize = 32 * 1024;
/// How long chunks are kept for the next answers.
const REST_INTERVAL: Duration = Duration::from_secs(1);

/// What large answers share.
#[derive(Clone)]
pub(crate) struct Outlet {
    spool: Spool,
    /// How many bytes of answers are in memory.
    held: Arc<AtomicU64>,
    stock: Stock,
}

impl Outlet {
    pub(crate) fn new(spool: Spool) -> Self {
        Self { spool, held: Arc::default(), stock: Stock::default() }
    }

    /// Where chunks come from.
    pub(crate) fn stock(&self) -> &Stock {
        &self.stock
    }

    /// Gives chunks back to the system when nobody wants them, for ever.
    pub(crate) async fn rest(stock: Stock) {
        loop {
            tokio::time::sleep(REST_INTERVAL).await;
            stock.rest();
        }
    }

    /// A chunk of an answer.
    fn chunk(&self, bytes: Vec<u8>) -> Bytes {
        if bytes.capacity() < COUNTED_BYTES_MIN {
            return bytes.into();
        }
        self.held.fetch_add(bytes.capacity() as u64, Ordering::Relaxed);
        Bytes::from_owner(Counted { bytes, held: self.held.clone(), stock: self.stock.clone() })
    }

    /// Returns the bytes as a value that counts them until its last clone is dropped.
    fn counted(&self, bytes: Bytes) -> Bytes {
        if bytes.len() < COUNTED_BYTES_MIN {
            return bytes;
        }
        self.held.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Bytes::from_owner(CountedBytes { bytes, held: self.held.clone() })
    }

    /// Counts a body that is whole in memory. A large body becomes a flow, which goes to disk if
    /// its client is slow.
    pub(crate) fn whole(&self, bytes: Bytes) -> Result<Flow, Bytes> {
        let (is_large, bytes) = (bytes.len() as u64 > WATCHED_BYTES_MIN, self.counted(bytes));
        match is_large {
            true => Ok(Flow::new(self.clone(), VecDeque::from([bytes]), Source::End)),
            false => Err(bytes),
        }
    }

    /// Returns the body of a handler as a flow. The next frame is requested when the client has
    /// taken the last one. A large frame goes to disk if its client is slow.
    pub(crate) fn handler(&self, frames: Frames) -> Flow {
        Flow::new(self.clone(), VecDeque::new(), Source::Handler(frames))
    }

    /// How much answers hold in memory.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// Whether clients that do not read keep so much in memory that no large answer can be taken on.
    pub(crate) fn is_full(&self) -> bool {
        self.held.load(Ordering::Relaxed) > HELD_BYTES_MAX
    }

    /// Whether answers hold so much that none of them is waited for.
    fn is_crowded(&self) -> bool {
        self.held.load(Ordering::Relaxed) > HELD_BYTES_PATIENT
    }
}

/// A chunk that is counted until the last of it is gone, and is used again then.
struct Counted {
    bytes: Vec<u8>,
    held: Arc<AtomicU64>,
    stock: Stock,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.held.fetch_sub(self.bytes.capacity() as u64, Ordering::Relaxed);
        self.stock.give_back(std::mem::take(&mut self.bytes));
    }
}

/// Bytes of another owner, counted until their last clone is dropped.
struct CountedBytes {
    bytes: Bytes,
    held: Arc<AtomicU64>,
}

impl AsRef<[u8]> for CountedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for CountedBytes {
    fn drop(&mut self) {
        self.held.fetch_sub(self.bytes.len() as u64, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::flow::PATIENCE;
    use super::*;
    use bytes::Buf;
    use std::future::poll_fn;
    use std::path::Path;

    #[tokio::test(start_paused = true)]
    async fn what_is_large_is_counted_until_it_is_gone() {
        let outlet = Outlet::new(Spool::new(&std::env::temp_dir(), 1024 * 1024 * 1024));
        let held = || outlet.held.load(Ordering::Relaxed);
        let mut all = outlet.hold();
        (0..3).for_each(|_| all.push(vec![7; 1024 * 1024]));
        all.push(vec![7; 100]);
        assert_eq!((held(), all.bytes()), (3 * 1024 * 1024, 3 * 1024 * 1024 + 100));
        let (chunks, flow, _) = all.finish();
        assert!(chunks.is_empty());
        let mut flow = flow.expect("it is watched");
        // nobody reads it: it goes to disk
        tokio::time::sleep(2 * PATIENCE).await;
        while held() > 0 {
            tokio::task::yield_now().await;
        }
        let mut read = 0;
        while let Some(chunk) = poll_fn(|cx| flow.poll_next(cx)).await {
            let mut data = chunk.expect("all is there");
            let bytes = data.copy_to_bytes(data.remaining());
            assert!(bytes.iter().all(|&byte| byte == 7));
            read += bytes.len();
        }
        assert_eq!(read, 3 * 1024 * 1024 + 100);
    }

    #[test]
    fn without_room_nothing_large_is_taken_on() {
        let outlet = Outlet::new(Spool::new(Path::new("/nonexistent"), 0));
        let mut chunks = Vec::new();
        for mebibytes in 1..=513 {
            chunks.push(outlet.chunk(vec![0; 1024 * 1024]));
            assert_eq!((outlet.is_crowded(), outlet.is_full()), (mebibytes > 256, mebibytes > 512), "{mebibytes}");
        }
        drop(chunks);
        assert!(!outlet.is_full());
        assert_eq!(outlet.held.load(Ordering::Relaxed), 0);
    }
}
