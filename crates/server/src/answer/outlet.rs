//! Large answers on their way out: a client that takes its time keeps neither a database connection nor memory.
//!
//! ```text
//!  the database ──rows──▶ chunk ──▶ a client that takes it at once           nothing in between
//!        │                             ▲
//!        └──rows──▶ spool ─────────────┘  once the client has kept it waiting for PATIENCE in all
//! ```
//!
//! From then on the rows go to disk as fast as the database sends them, and the client reads from there at its own pace.
//! Where the disk has no room the database waits for the client, which then has to keep up a pace.

use crate::answer::body::{Data, Torn};
use crate::pace::{Pace, PaceMin};
use crate::spool::{NoRoom, Reader, Spool, Writer};
use crate::transaction::{Entered, Replies};
use crate::turns::Turn;
use bytes::Bytes;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use thalweg_encode::{EncodeError, Stock};
use thalweg_wire::{Progress, StepError};
use tokio::task::AbortHandle;
use tokio::time::Instant;

/// For how long a client may keep the database waiting, in all.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often it is looked at most, near the end of that.
const WATCH_PAUSE_MIN: Duration = Duration::from_millis(50);
/// Answers larger than this are watched, in bytes; smaller ones are with the HTTP connection anyway.
const WATCHED_BYTES_MIN: u64 = 128 * 1024;
/// From so many bytes on that all answers hold in memory, none of them is waited for.
const HELD_BYTES_PATIENT: u64 = 256 * 1024 * 1024;
/// From so many on, large ones are refused.
const HELD_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// Chunks with less room than this are not counted, in bytes: an answer has one of them at most.
const COUNTED_BYTES_MIN: usize = 32 * 1024;
/// How much the HTTP connection is given at once, to be sent by one write, in bytes; one chunk may be more. It stays there
/// until the client has taken it.
const GIVEN_BYTES_MAX: usize = 256 * 1024;
/// How long chunks are kept for the next answers.
const REST_INTERVAL: Duration = Duration::from_secs(1);
/// How much goes to disk at a time, in bytes.
const BATCH_BYTES: u64 = 512 * 1024;
/// How fast a client must read while the database waits for it, in bytes per second, and over which time.
const PACE_BYTES_PER_S_MIN: u64 = 64 * 1024;
const PACE_WINDOW: Duration = Duration::from_secs(30);
const PACE_MIN: PaceMin = PaceMin { bytes_per_s: PACE_BYTES_PER_S_MIN, window: PACE_WINDOW };

/// What large answers share.
#[derive(Clone)]
pub(crate) struct Outlet {
    spool: Spool,
    /// How many bytes of answers are in memory.
    held: Arc<AtomicU64>,
    stock: Stock,
}

/// Rows that are still to come, and the transaction they come from.
pub(crate) struct Flowing {
    pub(crate) entered: Entered,
    pub(crate) replies: Replies,
    /// A turn of those that leave connections to others, which ends with the rows. Without one they wait for nobody.
    pub(crate) turn: Option<Turn>,
}

/// An answer that is held until all of it is known.
pub(crate) struct Held {
    outlet: Outlet,
    chunks: VecDeque<Bytes>,
    bytes: u64,
    /// What came before the chunks, where memory is no place for it.
    spooled: Option<(Writer, Reader)>,
    spooled_bytes: u64,
}

/// An answer that a client is taking.
pub(crate) struct Flow {
    shared: Arc<Mutex<State>>,
    watching: AbortHandle,
}

struct State {
    chunks: VecDeque<Bytes>,
    source: Source,
    outlet: Outlet,
    /// For how long the client has kept it waiting, but for the time since it was given something.
    waited: Duration,
    given_at: Option<Instant>,
}

enum Source {
    End,
    /// What is missing will not come.
    Torn,
    Database(Box<dyn Rows>),
    Spooled(Reader),
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

    /// An answer of which nothing is there yet.
    pub(crate) fn hold(&self) -> Held {
        Held { outlet: self.clone(), chunks: VecDeque::new(), bytes: 0, spooled: None, spooled_bytes: 0 }
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

impl Held {
    /// Puts a chunk behind the others, in memory.
    pub(crate) fn push(&mut self, chunk: Vec<u8>) {
        self.bytes += chunk.len() as u64;
        self.chunks.push_back(self.outlet.chunk(chunk));
    }

    /// Brings what is in memory to disk, if it is much; whether there was room. What nobody can be given before it is whole may
    /// take all of it.
    pub(crate) async fn spool(&mut self) -> bool {
        if self.bytes - self.spooled_bytes < BATCH_BYTES {
            return true;
        }
        let batch = std::mem::take(&mut self.chunks).into();
        let (writer, _) = self.spooled.get_or_insert_with(|| self.outlet.spool.whole_queue());
        self.spooled_bytes = self.bytes;
        write_or_hold(writer, batch).await
    }

    /// How many bytes there are.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// All of it is there.
    pub(crate) fn finish(self) -> (VecDeque<Bytes>, Option<Flow>, u64) {
        let Self { outlet, chunks, bytes, spooled, .. } = self;
        match spooled {
            None if bytes <= WATCHED_BYTES_MIN => (chunks, None, bytes),
            None => (VecDeque::new(), Some(Flow::new(outlet, chunks, Source::End)), bytes),
            Some((mut writer, reader)) => {
                writer.hold(chunks.into());
                writer.finish();
                (VecDeque::new(), Some(Flow::new(outlet, VecDeque::new(), Source::Spooled(reader))), bytes)
            }
        }
    }

    /// More of it is to come.
    pub(crate) fn flow(self, flowing: Flowing) -> Flow {
        Flow::new(self.outlet, self.chunks, Source::Database(Box::new(flowing)))
    }
}

impl Flow {
    fn new(outlet: Outlet, chunks: VecDeque<Bytes>, source: Source) -> Self {
        let (waited, given_at) = (Duration::ZERO, Some(Instant::now()));
        let state = State { chunks, source, waited, given_at, outlet: outlet.clone() };
        let shared = Arc::new(Mutex::new(state));
        let watching = tokio::spawn(watch(Arc::downgrade(&shared), outlet)).abort_handle();
        Self { shared, watching }
    }

    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Data, Torn>>> {
        lock(&self.shared).poll_next(cx)
    }

    pub(crate) fn has_ended(&self) -> bool {
        let state = lock(&self.shared);
        state.chunks.is_empty() && matches!(state.source, Source::End)
    }
}

/// Nobody takes what is left: the transaction that it comes from is given up.
impl Drop for Flow {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    /// The next chunks: as many as there are, so that they go out by one write, but not more than a slow client may hold.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Data, Torn>>> {
        self.waited += self.given_at.take().map_or(Duration::ZERO, |given_at| given_at.elapsed());
        let mut data = Data::default();
        let given_max = if self.outlet.is_crowded() { 1 } else { GIVEN_BYTES_MAX };
        let mut given = 0;
        while given < given_max {
            match self.poll_chunk(cx) {
                Poll::Ready(Some(Ok(chunk))) => {
                    given += chunk.len();
                    data.push(chunk);
                }
                Poll::Ready(Some(Err(torn))) if data.is_empty() => return Poll::Ready(Some(Err(torn))),
                Poll::Pending if data.is_empty() => return Poll::Pending,
                Poll::Ready(None) if data.is_empty() => return Poll::Ready(None),
                Poll::Ready(Some(Err(_)) | None) | Poll::Pending => break,
            }
        }
        self.given_at = Some(Instant::now());
        Poll::Ready(Some(Ok(data)))
    }

    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Torn>>> {
        if let Some(chunk) = self.chunks.pop_front() {
            return Poll::Ready(Some(Ok(chunk)));
        }
        Poll::Ready(match &mut self.source {
            Source::End => None,
            Source::Torn => Some(Err(Torn)),
            Source::Spooled(reader) => ready!(reader.poll_next(cx)).map(|next| next.map_err(|_| Torn)),
            Source::Database(rows) => match ready!(rows.poll_chunk(cx)) {
                Ok((chunk, is_last)) => {
                    if is_last {
                        self.source = Source::End;
                    }
                    (!chunk.is_empty()).then(|| Ok(self.outlet.chunk(chunk)))
                }
                Err(torn) => {
                    self.source = Source::Torn;
                    Some(Err(torn))
                }
            },
        })
    }

    /// How much longer the client may keep it waiting; `None` if it keeps nothing waiting.
    fn patience_left(&self) -> Option<Duration> {
        let is_little = || self.chunks.iter().map(|chunk| chunk.len() as u64).sum::<u64>() <= WATCHED_BYTES_MIN;
        match self.source {
            Source::Spooled(_) | Source::Torn => return None,
            Source::End if is_little() => return None,
            Source::End | Source::Database(_) => {}
        }
        // Where the client waits for the database, it keeps nobody waiting; and if another took the rows now, the database would
        // wake that one, and the client nobody.
        let Some(given_at) = self.given_at else { return Some(WATCH_PAUSE_MIN) };
        let has_no_turn = matches!(&self.source, Source::Database(rows) if !rows.has_turn());
        if has_no_turn || self.outlet.is_crowded() {
            return Some(Duration::ZERO);
        }
        Some(PATIENCE.saturating_sub(self.waited + given_at.elapsed()))
    }

    /// Gives away all that is left, to come back through a queue.
    fn take(&mut self, reader: Reader) -> (VecDeque<Bytes>, Option<Box<dyn Rows>>) {
        let rows = match std::mem::replace(&mut self.source, Source::Spooled(reader)) {
            Source::Database(rows) => Some(rows),
            Source::End | Source::Spooled(_) | Source::Torn => None,
        };
        (std::mem::take(&mut self.chunks), rows)
    }
}

/// Rows that are still to come.
trait Rows: Send {
    /// The next chunk, and whether it is the last.
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Result<(Vec<u8>, bool), Torn>>;

    /// Whether they have a turn to wait for the client.
    fn has_turn(&self) -> bool;
}

impl Rows for Flowing {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Result<(Vec<u8>, bool), Torn>> {
        let Self { entered, replies, .. } = self;
        Poll::Ready(match ready!(entered.poll_step(cx, replies)) {
            Ok(Progress::Paused) => Ok((replies.encoder.take(), false)),
            // a response that flows is of a pipeline with an end
            Ok(Progress::Done | Progress::Open | Progress::CopyIn) => Ok((replies.encoder.finish(), true)),
            Err(error) => Err(torn(&error)),
        })
    }

    fn has_turn(&self) -> bool {
        self.turn.is_some()
    }
}

fn torn(error: &StepError<EncodeError>) -> Torn {
    let cause = match error {
        StepError::Wire(error) => error.to_string(),
        StepError::Sink(error) => error.to_string(),
    };
    tracing::error!(cause, "a response was cut: its rows broke off");
    Torn
}

/// Waits until the client has kept the answer waiting for too long, and brings it to disk then.
async fn watch(state: Weak<Mutex<State>>, outlet: Outlet) {
    let (chunks, rows, writer) = loop {
        let pause = {
            let Some(state) = state.upgrade() else { return };
            let mut state = lock(&state);
            match state.patience_left() {
                None => return,
                Some(Duration::ZERO) => {
                    let (writer, reader) = outlet.spool.queue();
                    let (chunks, rows) = state.take(reader);
                    break (chunks, rows, writer);
                }
                Some(left) => left.max(WATCH_PAUSE_MIN),
            }
        };
        tokio::time::sleep(pause).await;
    };
    if let Err(TooSlow) = spool(&outlet, chunks, rows, writer).await {
        tracing::error!("a response was cut: the spool is full, and its client reads too slowly");
    }
}

/// The client is too slow for a database that waits.
struct TooSlow;

/// Brings what is in memory to disk, and then rows as fast as they come. Where they break off, the reader finds that bytes are
/// missing.
async fn spool(
    outlet: &Outlet,
    chunks: VecDeque<Bytes>,
    rows: Option<Box<dyn Rows>>,
    mut writer: Writer,
) -> Result<(), TooSlow> {
    write_or_hold(&mut writer, chunks.into()).await;
    let Some(mut rows) = rows else {
        writer.finish();
        return Ok(());
    };
    loop {
        let (mut batch, mut batch_bytes) = (Vec::new(), 0);
        while batch_bytes < BATCH_BYTES {
            let Ok((chunk, is_last)) = poll_fn(|cx| rows.poll_chunk(cx)).await else { return Ok(()) };
            batch_bytes += chunk.len() as u64;
            batch.push(outlet.chunk(chunk));
            if is_last {
                drop(rows);
                write_or_hold(&mut writer, batch).await;
                writer.finish();
                return Ok(());
            }
        }
        put(&mut writer, batch).await?;
    }
}

/// Puts a batch on disk, or leaves it in memory: it is the last, or has been there all along. Whether there was room.
async fn write_or_hold(writer: &mut Writer, batch: Vec<Bytes>) -> bool {
    let written = writer.write(batch).await;
    written.map_err(|NoRoom(batch)| writer.hold(batch)).is_ok()
}

/// Puts a batch on disk; where there is no room, into memory as soon as the one before it is gone from there.
async fn put(writer: &mut Writer, batch: Vec<Bytes>) -> Result<(), TooSlow> {
    let Err(NoRoom(batch)) = writer.write(batch).await else { return Ok(()) };
    let (mut pace, mut taken) = (Pace::default(), writer.taken_bytes());
    while writer.memory_bytes() > 0 {
        let since = Instant::now();
        let _ = tokio::time::timeout(PACE_WINDOW, writer.taken()).await;
        let before = std::mem::replace(&mut taken, writer.taken_bytes());
        if pace.too_few(since.elapsed(), taken - before, PACE_MIN).is_some() {
            return Err(TooSlow);
        }
    }
    writer.hold(batch);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Buf;
    use std::path::Path;
    use std::task::Waker;

    /// What becomes of a batch in a queue without room on disk, before which there is another, while the client reads so many
    /// bytes every ten seconds.
    async fn put_behind_another(bytes: usize) -> Result<(), TooSlow> {
        let (mut writer, mut reader) = Spool::new(Path::new("/nonexistent"), 0).queue();
        let pieces = vec![Bytes::from(vec![0; bytes]); 100];
        writer.hold(pieces);
        let client = tokio::spawn(async move {
            while let Some(Ok(_)) = reader.next().await {
                tokio::time::sleep(Duration::from_secs(10)).await;
            }
        });
        let put = put(&mut writer, vec![Bytes::from_static(b"more")]).await;
        client.abort();
        put
    }

    #[tokio::test(start_paused = true)]
    async fn a_database_that_waits_is_read_at_a_pace() {
        let least = PACE_BYTES_PER_S_MIN as usize * 10;
        assert!(put_behind_another(least).await.is_ok());
        assert!(put_behind_another(least / 2).await.is_err());
    }

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

    /// Rows that come when they are told to.
    #[derive(Default)]
    struct Coming {
        rows: Vec<Vec<u8>>,
        waits: Option<Waker>,
    }

    struct Told(Arc<Mutex<Coming>>);

    impl Rows for Told {
        fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Result<(Vec<u8>, bool), Torn>> {
            let mut coming = self.0.lock().unwrap();
            coming.waits = Some(cx.waker().clone());
            coming.rows.pop().map_or(Poll::Pending, |row| Poll::Ready(Ok((row, false))))
        }

        fn has_turn(&self) -> bool {
            true
        }
    }

    /// The patience with a client ran out while it waited for the database again. Whoever took the rows to disk from then on was
    /// woken by the database, and the client by nobody.
    #[tokio::test(start_paused = true)]
    async fn a_client_that_waits_for_the_database_is_woken_by_it() {
        let outlet = Outlet::new(Spool::new(&std::env::temp_dir(), 1024 * 1024 * 1024));
        let coming = Arc::new(Mutex::new(Coming { rows: vec![vec![7; 300 * 1024]], waits: None }));
        let source = Source::Database(Box::new(Told(coming.clone())));
        let mut flow = Flow::new(outlet, VecDeque::new(), source);
        assert!(matches!(poll_fn(|cx| flow.poll_next(cx)).await, Some(Ok(_))));
        let shared = flow.shared.clone();
        let reading =
            tokio::spawn(async move { poll_fn(|cx| flow.poll_next(cx)).await.is_some_and(|next| next.is_ok()) });
        tokio::time::sleep(PATIENCE / 2).await;
        lock(&shared).waited = 2 * PATIENCE;
        tokio::time::sleep(2 * PATIENCE).await;
        coming.lock().unwrap().rows.push(vec![7; 300 * 1024]);
        let waits = coming.lock().unwrap().waits.take();
        waits.expect("somebody waits for the rows").wake();
        let read = tokio::time::timeout(PATIENCE, reading).await;
        assert!(read.is_ok_and(|read| read.unwrap()), "the client was forgotten");
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
