//! Texts read along the one dictionary that all share, each thread with a reader of its own.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;
use thalweg_gloss::{Dictionary, Gloss, Known, Options, Progress, Reader};
use thalweg_server::{Caller, ComputationPermit, Computations, NotComputed, Permit, ShareError, Shares};

/// So many words of a span are told on pages, the likeliest, and of how many there are more.
pub(super) const PAGE_ENTRIES_PER_SPAN_MAX: usize = 8;
/// The texts that are being read may be so large together, each counted in pieces of so many bytes, and as one at least: short ones, and others,
/// so that these leave them room.
const SHORT_TEXTS_BYTES_MAX: usize = 64 * 1024 * 1024;
const LONG_TEXTS_BYTES_MAX: usize = 192 * 1024 * 1024;
pub(super) const SHORT_TEXT_BYTES_MAX: usize = 64 * 1024;
const COUNTED_BYTES: usize = 1024;
/// Memory for the texts of one caller: a quarter of each total, so that no caller takes all of it.
const CALLER_SHORT_TEXTS_BYTES_MAX: usize = 16 * 1024 * 1024;
const CALLER_LONG_TEXTS_BYTES_MAX: usize = 48 * 1024 * 1024;

thread_local! {
    /// What it needs for one text it keeps for the next. It is used between two awaits only, and by one at a time.
    static READER: RefCell<Reader> = RefCell::default();
}

/// Name of the reader's computations among those of the server.
const COMPUTATION: &str = "gloss";

/// State that all requests share.
pub(super) struct Shared {
    pub(super) dictionary: Dictionary,
    short: Shares,
    long: Shares,
    computations: Computations,
}

impl Shared {
    pub(super) fn new(dictionary: Dictionary, computations: Computations) -> Self {
        let room =
            |all: usize, of_caller: usize| Shares::new(all / COUNTED_BYTES, of_caller / COUNTED_BYTES, Duration::ZERO);
        Shared {
            dictionary,
            short: room(SHORT_TEXTS_BYTES_MAX, CALLER_SHORT_TEXTS_BYTES_MAX),
            long: room(LONG_TEXTS_BYTES_MAX, CALLER_LONG_TEXTS_BYTES_MAX),
            computations,
        }
    }

    /// Waits for a permit to read a piece of a text. Callers get permits in rotation. There is no
    /// timeout, since the room for texts bounds how many wait.
    pub(super) async fn permit(&self, caller: &Caller) -> ComputationPermit {
        self.computations.permit(COMPUTATION, caller).await
    }

    /// Runs a part of a request that may take long.
    ///
    /// # Errors
    ///
    /// As [`Computations::run`].
    pub(super) async fn computed<T: Send + 'static>(
        self: &Arc<Self>,
        caller: &Caller,
        compute: impl FnOnce(&Shared) -> T + Send + 'static,
    ) -> Result<T, NotComputed> {
        let shared = self.clone();
        self.computations.run(COMPUTATION, caller, move || compute(&shared)).await
    }
}

/// The room that a text has in memory.
#[derive(Debug)]
pub(super) struct Room {
    pub(super) caller: Caller,
    is_long: bool,
    permit: Option<Permit>,
}

impl Room {
    /// Creates an empty room.
    pub(super) fn new(caller: Caller) -> Self {
        Self { caller, is_long: false, permit: None }
    }

    /// Enlarges the room to this many bytes, which have arrived.
    ///
    /// # Errors
    ///
    /// The texts of this caller, or those of all callers, use all the room for texts of this
    /// length.
    pub(super) fn grow(&mut self, bytes: usize, shared: &Shared) -> Result<(), ShareError> {
        let is_long = bytes > SHORT_TEXT_BYTES_MAX;
        if is_long != self.is_long {
            (self.is_long, self.permit) = (is_long, None);
        }
        let permits = bytes.div_ceil(COUNTED_BYTES).max(1);
        match &mut self.permit {
            Some(permit) => permit.grow(permits.saturating_sub(permit.permits()))?,
            none => {
                let of = if is_long { &shared.long } else { &shared.short };
                *none = Some(of.try_acquire(&self.caller, permits)?);
            }
        }
        Ok(())
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
