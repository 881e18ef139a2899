//! What is kept on disk for clients that are slower than the database: bytes in files without a name, bounded in all.
//!
//! ```text
//!  Writer   bytes go in at the end: to disk, or where that has no room, into memory
//!    │
//!  files of at most SEGMENT_BYTES, each gone when it has been read
//!    ▼
//!  Reader   and out at the front
//! ```
//!
//! Nobody can open the files, and nothing of them is left when the process ends, however it ends.

use crate::log;
use bytes::Bytes;
use std::collections::VecDeque;
use std::fs::File;
use std::future::{Future, poll_fn};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use thalweg_gauge::blocking;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// How large a file gets, in bytes: as much of the disk is free again when so much has been read.
const SEGMENT_BYTES: u64 = 16 * 1024 * 1024;
/// How much is read from disk at a time, in bytes.
pub(crate) const PIECE_BYTES: u64 = 64 * 1024;
/// For how many queues there is room at least.
const QUEUES_MIN: u64 = 4;

/// Room on disk. Clones share it.
#[derive(Clone)]
pub(crate) struct Spool {
    room: Arc<Room>,
}

struct Room {
    directory: PathBuf,
    bytes_max: u64,
    bytes: AtomicU64,
    /// Whether the last write failed, which is said once.
    is_failing: AtomicBool,
}

/// A file without a name, and its part of the room.
struct Segment {
    file: File,
    /// How much has been written to it.
    bytes: AtomicU64,
    room: Arc<Room>,
}

impl Drop for Segment {
    fn drop(&mut self) {
        self.room.give_back(*self.bytes.get_mut());
    }
}

/// Bytes of a queue.
enum Piece {
    Disk { segment: Arc<Segment>, at: u64, bytes: u64 },
    Memory(Bytes),
}

#[derive(Default)]
struct Queue {
    pieces: VecDeque<Piece>,
    /// How many bytes have been taken in all.
    taken_bytes: u64,
    /// How many there are on disk, and in memory.
    disk_bytes: u64,
    memory_bytes: u64,
    /// Whether all that will come is there; else, once the writer is gone, something is missing.
    is_finished: bool,
    has_writer: bool,
    reader: Option<Waker>,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    /// Told when something has been taken.
    taken: Notify,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where bytes go in.
pub(crate) struct Writer {
    shared: Arc<Shared>,
    room: Arc<Room>,
    /// How much of the queue may be on disk.
    bytes_max: u64,
    /// The file that is being written.
    segment: Option<Arc<Segment>>,
}

/// Where bytes come out.
pub(crate) struct Reader {
    shared: Arc<Shared>,
    reading: Option<JoinHandle<io::Result<Vec<u8>>>>,
}

/// Bytes that were taken from the queue.
pub(crate) enum Taken {
    /// Bytes from the disk, which have just been read into memory.
    Disk(Vec<u8>),
    /// Bytes that were in memory all the time.
    Memory(Bytes),
}

/// There is no room on disk, or it cannot be written to; the bytes are given back.
pub(crate) struct NoRoom(pub(crate) Vec<Bytes>);

/// Bytes are missing: whoever wrote them has given up, or they cannot be read.
#[derive(Debug)]
pub(crate) struct Missing;

impl Spool {
    /// Room for so many bytes in a directory; none where nothing can be written.
    pub(crate) fn new(directory: &Path, bytes_max: u64) -> Self {
        let bytes_max = match tempfile::tempfile_in(directory) {
            Ok(_) => bytes_max,
            Err(error) => {
                let directory = directory.display();
                tracing::info!(
                    target: "notice",
                    %error,
                    %directory,
                    "nothing can be kept on disk for slow clients (client-spool-dir): the database will wait for them"
                );
                0
            }
        };
        let (directory, bytes, is_failing) = (directory.to_owned(), AtomicU64::new(0), AtomicBool::new(false));
        Self { room: Arc::new(Room { directory, bytes_max, bytes, is_failing }) }
    }

    /// How much of the room is taken.
    pub(crate) fn bytes(&self) -> u64 {
        self.room.bytes.load(Ordering::Relaxed)
    }

    /// A queue with nothing in it, which may take a part of the room.
    pub(crate) fn queue(&self) -> (Writer, Reader) {
        self.queue_of(self.room.bytes_max / QUEUES_MIN)
    }

    /// A queue that may take all of the room.
    pub(crate) fn whole_queue(&self) -> (Writer, Reader) {
        self.queue_of(self.room.bytes_max)
    }

    fn queue_of(&self, bytes_max: u64) -> (Writer, Reader) {
        let shared = Arc::new(Shared::default());
        shared.lock().has_writer = true;
        let writer = Writer { shared: shared.clone(), room: self.room.clone(), bytes_max, segment: None };
        (writer, Reader { shared, reading: None })
    }
}

impl Room {
    /// Takes so much of the room, if there is as much.
    fn take(&self, bytes: u64) -> bool {
        let taken = self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |taken| {
            taken.checked_add(bytes).filter(|taken| *taken <= self.bytes_max)
        });
        taken.is_ok()
    }

    fn give_back(&self, bytes: u64) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Writer {
    /// Puts bytes at the end of the queue, on disk. What has no room there comes back, and is not in the queue.
    pub(crate) async fn write(&mut self, chunks: Vec<Bytes>) -> Result<(), NoRoom> {
        let bytes: u64 = chunks.iter().map(|chunk| chunk.len() as u64).sum();
        if bytes == 0 {
            return Ok(());
        }
        let queued = self.shared.lock().disk_bytes;
        if queued + bytes > self.bytes_max || !self.room.take(bytes) {
            return Err(NoRoom(chunks));
        }
        let segment = self.segment.take().filter(|segment| segment.bytes.load(Ordering::Relaxed) < SEGMENT_BYTES);
        let (room, written) = (self.room.clone(), chunks.clone());
        let writing = tokio::task::spawn_blocking(blocking(move || append(segment, &room, &written, bytes)));
        let (segment, at) = match writing.await {
            Ok(Ok(written)) => {
                self.room.is_failing.store(false, Ordering::Relaxed);
                written
            }
            Ok(Err(error)) => {
                if !self.room.is_failing.swap(true, Ordering::Relaxed) {
                    let directory = self.room.directory.display();
                    tracing::error!(%error, %directory, "cannot write to the spool");
                }
                return Err(NoRoom(chunks));
            }
            // only a runtime that ends does not let it end
            Err(_) => return Err(NoRoom(chunks)),
        };
        self.segment = Some(segment.clone());
        let mut queue = self.shared.lock();
        queue.disk_bytes += bytes;
        match queue.pieces.back_mut() {
            Some(Piece::Disk { segment: last, at: start, bytes: known })
                if Arc::ptr_eq(last, &segment) && *start + *known == at =>
            {
                *known += bytes;
            }
            Some(Piece::Disk { .. } | Piece::Memory(_)) | None => {
                queue.pieces.push_back(Piece::Disk { segment, at, bytes });
            }
        }
        queue.wake();
        Ok(())
    }

    /// Puts bytes at the end of the queue, in memory.
    pub(crate) fn hold(&mut self, chunks: Vec<Bytes>) {
        let mut queue = self.shared.lock();
        queue.memory_bytes += chunks.iter().map(|chunk| chunk.len() as u64).sum::<u64>();
        queue.pieces.extend(chunks.into_iter().filter(|chunk| !chunk.is_empty()).map(Piece::Memory));
        queue.wake();
    }

    /// How many bytes of the queue are in memory.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.shared.lock().memory_bytes
    }

    /// How many bytes have been taken from the queue.
    pub(crate) fn taken_bytes(&self) -> u64 {
        self.shared.lock().taken_bytes
    }

    /// Waits until something is taken; what was taken since this was last asked counts.
    pub(crate) async fn taken(&self) {
        self.shared.taken.notified().await;
    }

    /// All has been written.
    pub(crate) fn finish(self) {
        self.shared.lock().is_finished = true;
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let mut queue = self.shared.lock();
        queue.has_writer = false;
        queue.wake();
    }
}

impl Reader {
    /// The next bytes; `None` at the end.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Taken, Missing>>> {
        loop {
            if let Some(reading) = &mut self.reading {
                let read = ready!(Pin::new(reading).poll(cx));
                self.reading = None;
                return Poll::Ready(Some(match read {
                    Ok(Ok(bytes)) => Ok(Taken::Disk(bytes)),
                    Ok(Err(error)) => {
                        log::error_line(&format!("cannot read from the spool: {error}"));
                        Err(Missing)
                    }
                    Err(_) => Err(Missing),
                }));
            }
            let mut queue = self.shared.lock();
            match queue.take() {
                Some(Piece::Memory(bytes)) => {
                    drop(queue);
                    self.shared.taken.notify_one();
                    return Poll::Ready(Some(Ok(Taken::Memory(bytes))));
                }
                Some(Piece::Disk { segment, at, bytes }) => {
                    drop(queue);
                    self.shared.taken.notify_one();
                    self.reading = Some(tokio::task::spawn_blocking(blocking(move || read(&segment, at, bytes))));
                }
                None if queue.is_finished => return Poll::Ready(None),
                None if !queue.has_writer => return Poll::Ready(Some(Err(Missing))),
                None => {
                    queue.reader = Some(cx.waker().clone());
                    return Poll::Pending;
                }
            }
        }
    }

    /// The next bytes; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Result<Bytes, Missing>> {
        let next = poll_fn(|cx| self.poll_next(cx)).await;
        next.map(|taken| taken.map(Taken::into_bytes))
    }
}

impl Taken {
    fn into_bytes(self) -> Bytes {
        match self {
            Self::Disk(bytes) => bytes.into(),
            Self::Memory(bytes) => bytes,
        }
    }
}

impl Queue {
    /// Takes a piece that is not large.
    fn take(&mut self) -> Option<Piece> {
        let taken = match self.pieces.front_mut()? {
            Piece::Disk { segment, at, bytes } if *bytes > PIECE_BYTES => {
                let piece = Piece::Disk { segment: segment.clone(), at: *at, bytes: PIECE_BYTES };
                *at += PIECE_BYTES;
                *bytes -= PIECE_BYTES;
                piece
            }
            Piece::Disk { .. } | Piece::Memory(_) => self.pieces.pop_front()?,
        };
        match &taken {
            Piece::Disk { bytes, .. } => {
                self.disk_bytes -= bytes;
                self.taken_bytes += bytes;
            }
            Piece::Memory(bytes) => {
                self.memory_bytes -= bytes.len() as u64;
                self.taken_bytes += bytes.len() as u64;
            }
        }
        Some(taken)
    }

    fn wake(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }
}

/// Writes chunks, whose room has been taken, to the end of a file, or to a new one; says where they are.
fn append(
    segment: Option<Arc<Segment>>,
    room: &Arc<Room>,
    chunks: &[Bytes],
    bytes: u64,
) -> io::Result<(Arc<Segment>, u64)> {
    let new = || -> io::Result<Arc<Segment>> {
        let file = tempfile::tempfile_in(&room.directory)?;
        Ok(Arc::new(Segment { file, bytes: AtomicU64::new(0), room: room.clone() }))
    };
    let segment = match segment.map_or_else(new, Ok) {
        Ok(segment) => segment,
        Err(error) => {
            room.give_back(bytes);
            return Err(error);
        }
    };
    // from here on they are the segment's
    let start = segment.bytes.fetch_add(bytes, Ordering::Relaxed);
    let mut at = start;
    for chunk in chunks {
        segment.file.write_all_at(chunk, at)?;
        at += chunk.len() as u64;
    }
    Ok((segment, start))
}

fn read(segment: &Segment, at: u64, bytes: u64) -> io::Result<Vec<u8>> {
    let mut piece = vec![0; bytes as usize];
    segment.file.read_exact_at(&mut piece, at)?;
    Ok(piece)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1024 * 1024;

    fn spool(bytes_max: usize) -> Spool {
        Spool::new(&std::env::temp_dir(), bytes_max as u64)
    }

    /// Bytes that say where they belong.
    fn bytes(from: usize, to: usize) -> Bytes {
        (from..to).map(|at| (at % 251) as u8).collect::<Vec<u8>>().into()
    }

    async fn rest(mut reader: Reader) -> Result<Vec<u8>, Missing> {
        let mut all = Vec::new();
        while let Some(next) = reader.next().await {
            all.extend_from_slice(&next?);
        }
        Ok(all)
    }

    fn taken(spool: &Spool) -> u64 {
        spool.room.bytes.load(Ordering::Relaxed)
    }

    #[tokio::test]
    async fn what_goes_in_comes_out_in_order() {
        let spool = spool(200 * MIB);
        let (mut writer, reader) = spool.queue();
        for at in 0..40 {
            let at = at * MIB;
            assert!(writer.write(vec![bytes(at, at + 1), bytes(at + 1, at + MIB)]).await.is_ok());
        }
        writer.hold(vec![bytes(40 * MIB, 41 * MIB)]);
        assert!(writer.write(vec![bytes(41 * MIB, 41 * MIB + 7)]).await.is_ok());
        writer.finish();
        assert!(rest(reader).await.is_ok_and(|all| all == bytes(0, 41 * MIB + 7)));
        assert_eq!(taken(&spool), 0);
    }

    #[tokio::test]
    async fn room_is_bounded_and_comes_back_as_it_is_read() {
        let spool = spool(160 * MIB);
        let (mut writer, mut reader) = spool.queue();
        let mut written = 0;
        // a quarter for each
        while writer.write(vec![bytes(0, MIB)]).await.is_ok() {
            written += 1;
        }
        assert_eq!((written, taken(&spool)), (40, 40 * MIB as u64));
        let (mut other, _other_reader) = spool.queue();
        assert!(other.write(vec![bytes(0, 40 * MIB)]).await.is_ok());
        let mut read = 0;
        while read < 17 * MIB {
            read += reader.next().await.unwrap().unwrap().len();
        }
        // what is read of a file is free when all of it has been
        assert_eq!(taken(&spool), 64 * MIB as u64);
        assert!(writer.write(vec![bytes(0, MIB)]).await.is_ok());
        drop((writer, reader));
        assert_eq!(taken(&spool), 40 * MIB as u64);
        drop((other, _other_reader));
        assert_eq!(taken(&spool), 0);
    }

    #[tokio::test]
    async fn what_has_no_room_comes_back() {
        let spool = spool(MIB);
        let (mut writer, reader) = spool.queue();
        let Err(NoRoom(back)) = writer.write(vec![bytes(0, MIB)]).await else { panic!("there is no room") };
        assert_eq!(back, [bytes(0, MIB)]);
        writer.hold(back);
        assert_eq!((writer.memory_bytes(), taken(&spool)), (MIB as u64, 0));
        writer.finish();
        assert!(rest(reader).await.is_ok_and(|all| all == bytes(0, MIB)));
        let nowhere = Spool::new(Path::new("/nonexistent"), 100 * MIB as u64);
        assert!(nowhere.queue().0.write(vec![bytes(0, 1)]).await.is_err());
        assert_eq!(taken(&nowhere), 0);
    }

    #[tokio::test]
    async fn a_writer_that_gives_up_leaves_no_end() {
        let (mut writer, reader) = spool(8 * MIB).queue();
        assert!(writer.write(vec![bytes(0, MIB)]).await.is_ok());
        let reading = tokio::spawn(rest(reader));
        tokio::task::yield_now().await;
        drop(writer);
        assert!(reading.await.unwrap().is_err());
    }
}
