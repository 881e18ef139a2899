//! What the server notes for who looks after it.

use hyper::StatusCode;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};
use tokio::sync::watch;

/// How the last attempt to load the schema cache has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LastLoad {
    /// There was none.
    None,
    Succeeded,
    Failed,
}

/// Flags and counts.
pub(crate) struct Vitals {
    pub(super) started: SystemTime,
    /// Whether clients are accepted.
    pub(crate) accepts: AtomicBool,
    /// The path of the socket where they are; empty where it has none.
    pub(crate) socket: OnceLock<PathBuf>,
    pub(crate) last_load: watch::Sender<LastLoad>,
    pub(super) loads_succeeded: AtomicU64,
    pub(super) loads_failed: AtomicU64,
    /// How long the last took that succeeded, in microseconds.
    pub(super) load_us: AtomicU64,
    pub(super) clients: Arc<AtomicUsize>,
    /// Requests by the first digit of their status, less one.
    pub(super) answered: [AtomicU64; 5],
    /// Requests that were refused because there was no room.
    pub(super) refused: AtomicU64,
}

/// A client that is connected.
pub(crate) struct Connected(Arc<AtomicUsize>);

impl Drop for Connected {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Vitals {
    pub(crate) fn new() -> Self {
        Self {
            started: SystemTime::now(),
            accepts: AtomicBool::new(false),
            socket: OnceLock::new(),
            last_load: watch::channel(LastLoad::None).0,
            loads_succeeded: AtomicU64::new(0),
            loads_failed: AtomicU64::new(0),
            load_us: AtomicU64::new(0),
            clients: Arc::default(),
            answered: Default::default(),
            refused: AtomicU64::new(0),
        }
    }

    /// The schema cache has been loaded.
    pub(crate) fn loaded(&self, after: Duration) {
        self.load_us.store(after.as_micros() as u64, Ordering::Relaxed);
        self.loads_succeeded.fetch_add(1, Ordering::Relaxed);
        self.last_load.send_replace(LastLoad::Succeeded);
    }

    /// It could not be loaded.
    pub(crate) fn failed_to_load(&self) {
        self.loads_failed.fetch_add(1, Ordering::Relaxed);
        self.last_load.send_replace(LastLoad::Failed);
    }

    /// A client, who is connected until this is dropped.
    pub(crate) fn connected(&self) -> Connected {
        self.clients.fetch_add(1, Ordering::Relaxed);
        Connected(self.clients.clone())
    }

    /// Counts a request that was answered, or refused because there was no room.
    pub(crate) fn answered(&self, status: StatusCode, is_refusal: bool) {
        let class = usize::from(status.as_u16() / 100).clamp(1, self.answered.len());
        self.answered[class - 1].fetch_add(1, Ordering::Relaxed);
        if is_refusal {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
    }
}
