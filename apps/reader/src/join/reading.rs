//! Texts read along the one dictionary that all share, each thread with a reader of its own.

use std::cell::RefCell;
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use thalweg_gloss::{Dictionary, Gloss, Known, Options, Progress, Reader};
use thalweg_server::{ComputationPermit, Computations, NotComputed};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// So many words of a span are told on pages, the likeliest, and of how many there are more.
pub(super) const PAGE_ENTRIES_PER_SPAN_MAX: usize = 8;
/// The texts that are being read may be so large together, each counted in pieces of so many bytes, and as one at least: short ones, and others,
/// so that these leave them room.
const SHORT_TEXTS_BYTES_MAX: usize = 64 * 1024 * 1024;
const LONG_TEXTS_BYTES_MAX: usize = 192 * 1024 * 1024;
pub(super) const SHORT_TEXT_BYTES_MAX: usize = 64 * 1024;
const COUNTED_BYTES: usize = 1024;

thread_local! {
    /// What it needs for one text it keeps for the next. It is used between two awaits only, and by one at a time.
    static READER: RefCell<Reader> = RefCell::default();
}

/// What all requests share.
pub(super) struct Shared {
    pub(super) dictionary: Dictionary,
    short: Arc<Semaphore>,
    long: Arc<Semaphore>,
    computations: Computations,
}

/// The name of the reader's computations among those of the server.
const COMPUTATION: &str = "gloss";

impl Shared {
    pub(super) fn new(dictionary: Dictionary, computations: Computations) -> Self {
        let semaphore = |permits: usize| Arc::new(Semaphore::new(permits));
        Shared {
            dictionary,
            short: semaphore(SHORT_TEXTS_BYTES_MAX / COUNTED_BYTES),
            long: semaphore(LONG_TEXTS_BYTES_MAX / COUNTED_BYTES),
            computations,
        }
    }

    /// Waits for a permit to read a piece of a text. It shares the CPUs with all other computations of the server.
    pub(super) async fn turn(&self) -> ComputationPermit {
        self.computations.permit(COMPUTATION).await
    }

    /// Computes something of a request that may take long.
    pub(super) async fn computed<T: Send + 'static>(
        self: &Arc<Self>,
        compute: impl FnOnce(&Shared) -> T + Send + 'static,
    ) -> Result<T, NotComputed> {
        let shared = self.clone();
        self.computations.run(COMPUTATION, move || compute(&shared)).await
    }
}

/// The room that a text has in memory.
#[derive(Debug, Default)]
pub(super) struct Room(Option<OwnedSemaphorePermit>);

impl Room {
    /// Makes it large enough for so many bytes that have arrived, if others have not taken what there is.
    pub(super) fn grow(&mut self, bytes: usize, shared: &Shared) -> Result<(), NoRoom> {
        let of = if bytes <= SHORT_TEXT_BYTES_MAX { &shared.short } else { &shared.long };
        if self.0.as_ref().is_some_and(|room| !Arc::ptr_eq(room.semaphore(), of)) {
            self.0 = None;
        }
        let has = self.0.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let more = bytes.div_ceil(COUNTED_BYTES).max(1).saturating_sub(has);
        let more = u32::try_from(more).map_err(|_| NoRoom)?;
        if more > 0 {
            let more = of.clone().try_acquire_many_owned(more).map_err(|_| NoRoom)?;
            match &mut self.0 {
                Some(room) => room.merge(more),
                room => *room = Some(more),
            }
        }
        Ok(())
    }
}

/// Other texts have all the room there is.
#[derive(Debug)]
pub(super) struct NoRoom;

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("too many texts are being read at once, and there is no room for the record of this one's entries")
    }
}

impl Error for NoRoom {}

/// How a text is read.
pub(super) struct Manner {
    pub(super) names: bool,
    pub(super) entries_per_span_max: usize,
    pub(super) known: Option<Known>,
}

impl Manner {
    /// Reads the next piece of a text, and tells what is found of it; whether there was one.
    pub(super) fn read_next(
        &self,
        dictionary: &Dictionary,
        text: &str,
        progress: &mut Progress,
        tell: impl FnOnce(Gloss<'_, '_>),
    ) -> bool {
        let options = self.options();
        READER.with_borrow_mut(|reader| reader.read_next(dictionary, text, progress, &options).map(tell).is_some())
    }

    /// Reads a text that is short, and tells what is found of it.
    pub(super) fn read(&self, dictionary: &Dictionary, text: &str, tell: impl FnOnce(Gloss<'_, '_>)) {
        READER.with_borrow_mut(|reader| tell(reader.read(dictionary, text, &self.options())));
    }

    fn options(&self) -> Options<'_> {
        let Manner { names, entries_per_span_max, known } = self;
        Options { names: *names, entries_per_span_max: *entries_per_span_max, known: known.as_ref() }
    }
}
