//! What requests share: immutable snapshots, the pool, the reloader.

use crate::answer::Outlet;
use crate::config::Config;
use crate::error::ApiError;
use crate::schema::{Reloader, Snapshot};
use crate::transaction::CopySource;
use crate::turns::{Turn, Turns};
use crate::upload::{BodyLimits, HeldBytes};
use arc_swap::ArcSwapOption;
use std::sync::{Arc, OnceLock};
use thalweg_wire::Pool;

/// The state of a server.
pub(crate) struct State {
    pub(crate) config: Config,
    /// The port that it listens on, once it does.
    pub(crate) port: OnceLock<u16>,
    /// A call of the function that runs before every request.
    pub(crate) pre_request: Option<Arc<str>>,
    pub(crate) pool: Pool,
    pub(crate) snapshot: ArcSwapOption<Snapshot>,
    pub(crate) reloader: Reloader,
    /// What bodies hold.
    pub(crate) held_bytes: Arc<HeldBytes>,
    /// What large answers share.
    pub(crate) outlet: Outlet,
    /// Turns of requests that keep a connection while a client sends or reads.
    pub(crate) turns: Turns,
    /// Turns of descriptions of a schema, each of which takes a hundred times the memory that the schema does.
    pub(crate) descriptions: Turns,
}

impl State {
    pub(crate) fn snapshot(&self) -> Result<Arc<Snapshot>, ApiError> {
        self.snapshot.load_full().ok_or_else(|| {
            self.reloader.hurry();
            ApiError::no_schema_cache()
        })
    }

    /// A turn for rows that are sent while the body arrives.
    pub(crate) async fn turn_of(&self, source: Option<&CopySource>) -> Result<Option<Turn>, ApiError> {
        if !matches!(source, Some(CopySource::Flowing(_))) {
            return Ok(None);
        }
        Ok(Some(self.turns.next().await?))
    }

    /// The bounds of bodies.
    pub(crate) fn body_limits(&self) -> BodyLimits {
        BodyLimits {
            held_bytes_max: self.config.client_body_max,
            flowing_bytes_max: self.config.client_stream_max,
            stall_timeout: self.config.client_stall_timeout,
        }
    }
}
