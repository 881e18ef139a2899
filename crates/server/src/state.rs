//! What requests share: immutable snapshots, the pool, the reloader.

use crate::config::Config;
use crate::error::ApiError;
use crate::reload::Reloader;
use arc_swap::ArcSwapOption;
use std::sync::{Arc, OnceLock};
use thalweg_catalog::Catalog;
use thalweg_encode::Zone;
use thalweg_wire::Pool;

/// One schema cache. A request keeps the one it began with.
pub(crate) struct Snapshot {
    pub(crate) catalog: Catalog,
    /// The zone of the sessions, if its offsets are known to be PostgreSQL's.
    pub(crate) zone: Option<Zone>,
    pub(crate) extra_search_path: Vec<String>,
}

/// The state of a server.
pub(crate) struct State {
    pub(crate) config: Config,
    /// The port that it listens on, once it does.
    pub(crate) port: OnceLock<u16>,
    /// A call of the function that runs before every request.
    pub(crate) pre_request: Option<String>,
    pub(crate) pool: Pool,
    pub(crate) snapshot: ArcSwapOption<Snapshot>,
    pub(crate) reloader: Reloader,
}

impl State {
    pub(crate) fn snapshot(&self) -> Result<Arc<Snapshot>, ApiError> {
        self.snapshot.load_full().ok_or_else(ApiError::no_schema_cache)
    }
}
