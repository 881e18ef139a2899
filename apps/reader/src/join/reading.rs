//! Texts read along the one dictionary that all share, each thread with a reader of its own.

use std::cell::RefCell;
use std::sync::Arc;
use thalweg_gloss::{Dictionary, Gloss, Known, Options, Progress, Reader};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// So many words of a span are told on pages, the likeliest, and of how many there are more.
pub(super) const PAGE_ENTRIES_PER_SPAN_MAX: usize = 8;
/// The texts that are being read may be so large together, each counted in pieces of so many bytes, and as one at least.
const TEXTS_BYTES_MAX: usize = 256 * 1024 * 1024;
const COUNTED_BYTES: usize = 1024;

thread_local! {
    /// What it needs for one text it keeps for the next. It is used between two awaits only, and by one at a time.
    static READER: RefCell<Reader> = RefCell::default();
}

/// What all requests share.
pub(super) struct Shared {
    pub(super) dictionary: Dictionary,
    room: Arc<Semaphore>,
}

impl Shared {
    pub(super) fn new(dictionary: Dictionary) -> Self {
        Shared { dictionary, room: Arc::new(Semaphore::new(TEXTS_BYTES_MAX / COUNTED_BYTES)) }
    }

    /// Room for so much of a text, or nothing if others have it all.
    pub(super) fn room(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let pieces = u32::try_from(bytes.div_ceil(COUNTED_BYTES).max(1)).ok()?;
        self.room.clone().try_acquire_many_owned(pieces).ok()
    }
}

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
        tell: impl FnOnce(Gloss<'_>),
    ) -> bool {
        let options = self.options();
        READER.with_borrow_mut(|reader| reader.read_next(dictionary, text, progress, &options).map(tell).is_some())
    }

    /// Reads a text that is short, and tells what is found of it.
    pub(super) fn read(&self, dictionary: &Dictionary, text: &str, tell: impl FnOnce(Gloss<'_>)) {
        READER.with_borrow_mut(|reader| tell(reader.read(dictionary, text, &self.options())));
    }

    fn options(&self) -> Options<'_> {
        let Manner { names, entries_per_span_max, known } = self;
        Options { names: *names, entries_per_span_max: *entries_per_span_max, known: known.as_ref() }
    }
}
