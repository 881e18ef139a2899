//! An answer that a client is taking, and how long it may take.

use super::file::FilePart;
use super::watch::watch;
use super::{Outlet, REFUSED_BYTES_MIN};
use crate::answer::body::{Data, Torn};
use crate::frames::Frames;
use crate::log;
use crate::spool::{Missing, Reader, Taken};
use crate::transaction::{Entered, Replies};
use crate::turns::Turn;
use bytes::Bytes;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use thalweg_encode::EncodeError;
use thalweg_wire::{Progress, StepError};
use tokio::task::AbortHandle;
use tokio::time::Instant;

/// For how long a client may keep the database waiting, in all.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);
/// How often it is looked at most, near the end of that.
pub(super) const WATCH_PAUSE_MIN: Duration = Duration::from_millis(50);
/// Answers larger than this are watched, in bytes; smaller ones are with the HTTP connection anyway.
pub(super) const WATCHED_BYTES_MIN: u64 = 128 * 1024;
/// Number of bytes that the HTTP connection gets at most at once, for one write. They remain there
/// until the client has taken them. A larger chunk is copied piece by piece, so that a piece which
/// waits for its client does not keep the whole chunk in memory.
const GIVEN_BYTES_MAX: usize = 256 * 1024;
/// The corresponding limit in bytes while answers hold so much memory that no client is waited for:
/// one chunk.
const GIVEN_CROWDED_BYTES_MAX: usize = 72 * 1024;

/// An answer that a client is taking.
pub(crate) struct Flow {
    shared: Arc<Mutex<State>>,
    outlet: Outlet,
    /// Task that moves the answer to disk once its client is too slow. There is none while the
    /// client delays nothing.
    watching: Option<AbortHandle>,
}

/// Rows that are still to come, and the transaction they come from.
pub(crate) struct Flowing {
    pub(crate) entered: Entered,
    pub(crate) replies: Replies,
    /// How many rows are on the bill of the request already; none of them are to be of what is one value.
    pub(crate) billed_rows: Option<u64>,
    /// A turn of those that leave connections to others, which ends with the rows. Without one they wait for nobody.
    pub(crate) turn: Option<Turn>,
}

/// The rest of an answer, in this order: the chunks, the spooled part, and the data that the source
/// still yields.
pub(super) struct State {
    chunks: VecDeque<Bytes>,
    spooled: Option<Reader>,
    source: Source,
    outlet: Outlet,
    /// For how long the client has kept it waiting, but for the time since it was given something.
    waited: Duration,
    given_at: Option<Instant>,
}

pub(super) enum Source {
    End,
    /// What is missing will not come.
    Torn,
    Database(Box<dyn Rows>),
    File(FilePart),
    /// The body of a handler. Its next frame is requested when the last one has been taken.
    Handler(Frames),
}

impl Flow {
    pub(super) fn new(outlet: Outlet, chunks: VecDeque<Bytes>, source: Source) -> Self {
        Self::with_spooled(outlet, chunks, None, source)
    }

    /// Creates the flow of an answer whose beginning is on disk already.
    pub(super) fn from_spool(outlet: Outlet, spooled: Reader) -> Self {
        Self::with_spooled(outlet, VecDeque::new(), Some(spooled), Source::End)
    }

    fn with_spooled(outlet: Outlet, chunks: VecDeque<Bytes>, spooled: Option<Reader>, source: Source) -> Self {
        let (waited, given_at) = (Duration::ZERO, Some(Instant::now()));
        let state = State { chunks, spooled, source, waited, given_at, outlet: outlet.clone() };
        let mut flow = Self { shared: Arc::new(Mutex::new(state)), outlet, watching: None };
        flow.watch();
        flow
    }

    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Data, Torn>>> {
        let next = lock(&self.shared).poll_next(cx);
        self.watch();
        next
    }

    /// Starts the task that watches the client, if the client can delay something and no such task
    /// runs.
    fn watch(&mut self) {
        let is_watched = self.watching.as_ref().is_some_and(|watching| !watching.is_finished());
        if !is_watched && lock(&self.shared).patience_left().is_some() {
            let watching = watch(Arc::downgrade(&self.shared), self.outlet.clone());
            self.watching = Some(tokio::spawn(thalweg_gauge::billed(watching)).abort_handle());
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        lock(&self.shared).has_ended()
    }

    /// Returns the number of bytes of the answer in memory, without those that the HTTP connection
    /// has.
    pub(crate) fn memory_bytes(&self) -> u64 {
        lock(&self.shared).memory_bytes()
    }
}

/// Nobody takes what is left: the transaction that it comes from is given up.
impl Drop for Flow {
    fn drop(&mut self) {
        if let Some(watching) = &self.watching {
            watching.abort();
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks the state, if no other thread has locked it.
pub(super) fn try_lock(state: &Mutex<State>) -> Option<MutexGuard<'_, State>> {
    match state.try_lock() {
        Ok(state) => Some(state),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

impl State {
    /// The next chunks: as many as there are, so that they go out by one write, but not more than a slow client may hold.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Data, Torn>>> {
        self.waited += self.given_at.take().map_or(Duration::ZERO, |given_at| given_at.elapsed());
        let is_crowded = self.outlet.is_crowded();
        let given_max = if is_crowded { GIVEN_CROWDED_BYTES_MAX } else { GIVEN_BYTES_MAX };
        let mut data = Data::default();
        let mut given = 0;
        loop {
            match self.poll_chunk(cx) {
                Poll::Ready(Some(Ok(chunk))) => match self.fitting(chunk, given, given_max) {
                    Some(chunk) => {
                        given += chunk.len();
                        data.push(chunk);
                    }
                    None => break,
                },
                Poll::Ready(Some(Err(torn))) if data.is_empty() => return Poll::Ready(Some(Err(torn))),
                Poll::Pending if data.is_empty() => return Poll::Pending,
                Poll::Ready(None) if data.is_empty() => return Poll::Ready(None),
                Poll::Ready(Some(Err(_)) | None) | Poll::Pending => break,
            }
            if is_crowded || given >= given_max {
                break;
            }
        }
        self.given_at = Some(Instant::now());
        Poll::Ready(Some(Ok(data)))
    }

    /// Returns the part of a chunk that still fits beside `given` bytes, and puts the rest back for
    /// later. Returns `None` if no part fits.
    fn fitting(&mut self, mut chunk: Bytes, given: usize, given_max: usize) -> Option<Bytes> {
        if given + chunk.len() <= given_max {
            return Some(chunk);
        }
        if given > 0 {
            self.chunks.push_front(chunk);
            return None;
        }
        let piece = chunk.split_to(given_max).to_vec();
        // A rest that the connection gets as it is would keep the whole chunk in memory.
        let rest = if chunk.len() <= given_max { self.outlet.chunk(chunk.to_vec()) } else { chunk };
        self.chunks.push_front(rest);
        Some(self.outlet.chunk(piece))
    }

    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Torn>>> {
        if let Some(chunk) = self.chunks.pop_front() {
            return Poll::Ready(Some(Ok(chunk)));
        }
        if let Some(reader) = &mut self.spooled {
            match ready!(reader.poll_next(cx)) {
                Some(Ok(Taken::Memory(bytes))) => return Poll::Ready(Some(Ok(bytes))),
                Some(Ok(Taken::Disk(bytes))) => return Poll::Ready(Some(Ok(self.outlet.chunk(bytes)))),
                Some(Err(Missing)) => {
                    (self.spooled, self.source) = (None, Source::Torn);
                    return Poll::Ready(Some(Err(Torn)));
                }
                None => self.spooled = None,
            }
        }
        Poll::Ready(match &mut self.source {
            Source::End => None,
            Source::Torn => Some(Err(Torn)),
            Source::File(part) => match ready!(part.poll_next(cx)) {
                Some(Ok(bytes)) => Some(Ok(self.outlet.chunk(bytes))),
                Some(Err(torn)) => {
                    self.source = Source::Torn;
                    Some(Err(torn))
                }
                None => None,
            },
            Source::Handler(frames) => match ready!(frames.poll_data(cx)) {
                Some(Ok(bytes)) if bytes.len() as u64 >= REFUSED_BYTES_MIN && self.outlet.is_full() => {
                    self.source = Source::Torn;
                    Some(Err(cut("answers hold too much memory for a large frame of its handler")))
                }
                Some(Ok(bytes)) => Some(Ok(self.outlet.counted(bytes))),
                Some(Err(error)) => {
                    self.source = Source::Torn;
                    Some(Err(cut(&format!("its handler failed: {error}"))))
                }
                None => None,
            },
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

    fn has_ended(&self) -> bool {
        let source_has_ended = match &self.source {
            Source::End => true,
            Source::Handler(frames) => frames.has_ended(),
            Source::Torn | Source::Database(_) | Source::File(_) => false,
        };
        source_has_ended && self.spooled.is_none() && self.chunks.iter().all(Bytes::is_empty)
    }

    fn memory_bytes(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.len() as u64).sum()
    }

    /// How much longer the client may keep it waiting; `None` if it keeps nothing waiting.
    pub(super) fn patience_left(&self) -> Option<Duration> {
        match self.source {
            _ if self.spooled.is_some() => return None,
            Source::Torn => return None,
            Source::End | Source::File(_) | Source::Handler(_) if self.memory_bytes() <= WATCHED_BYTES_MIN => {
                return None;
            }
            Source::End | Source::File(_) | Source::Handler(_) | Source::Database(_) => {}
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

    /// Takes the chunks in memory and the remaining rows, which will come back through a queue. A
    /// handler or a file remains the source of the data that it still yields.
    pub(super) fn take(&mut self, reader: Reader) -> (VecDeque<Bytes>, Option<Box<dyn Rows>>) {
        self.spooled = Some(reader);
        let rows = match std::mem::replace(&mut self.source, Source::End) {
            Source::Database(rows) => Some(rows),
            source => {
                self.source = source;
                None
            }
        };
        (std::mem::take(&mut self.chunks), rows)
    }
}

/// Rows that are still to come.
pub(super) trait Rows: Send {
    /// The next chunk, and whether it is the last.
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Result<(Vec<u8>, bool), Torn>>;

    /// Whether they have a turn to wait for the client.
    fn has_turn(&self) -> bool;
}

impl Rows for Flowing {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Result<(Vec<u8>, bool), Torn>> {
        let Self { entered, replies, billed_rows, .. } = self;
        let progress = ready!(entered.poll_step(cx, replies));
        // as they come: a client may leave before the last
        if let Some(billed) = billed_rows {
            thalweg_gauge::rows(replies.rows().saturating_sub(*billed));
            *billed = replies.rows();
        }
        Poll::Ready(match progress {
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
    cut(&format!("its rows broke off: {cause}"))
}

/// Logs that a response was cut. Lines with equal causes are collapsed and counted.
pub(super) fn cut(cause: &str) -> Torn {
    log::error_line(&format!("a response was cut: {cause}"));
    Torn
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spool::Spool;
    use std::future::poll_fn;
    use std::task::Waker;

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
}
