//! What requests share: immutable snapshots, the pool, the reloader.

use crate::config::Config;
use crate::error::ApiError;
use crate::incoming::BodyLimits;
use crate::reload::Reloader;
use crate::transaction::CopySource;
use arc_swap::ArcSwapOption;
use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};
use thalweg_catalog::{Catalog, RoleSetting};
use thalweg_encode::Zone;
use thalweg_wire::{Pool, PoolError};
use tokio::sync::{Semaphore, SemaphorePermit};

/// One schema cache. A request keeps the one it began with.
pub(crate) struct Snapshot {
    pub(crate) catalog: Catalog,
    /// The zone of the sessions, if its offsets are known to be PostgreSQL's.
    pub(crate) zone: Option<Zone>,
    /// Of each exposed schema the search path, as it stands in SQL.
    search_paths: Vec<(String, String)>,
    /// The settings of each role that has some, in a form that is equal where they are.
    role_settings: HashMap<Box<str>, String>,
}

impl Snapshot {
    pub(crate) fn new(catalog: Catalog, zone: Option<Zone>, config: &Config) -> Self {
        let extra = &config.db_extra_search_path;
        let path = |schema: &String| (schema.clone(), search_path(schema, extra));
        let search_paths = config.db_schemas.iter().map(path).collect();
        let text = |settings: &[RoleSetting]| settings.iter().map(|known| format!("{known:?}")).collect();
        let role_settings = &catalog.session().role_settings;
        let role_settings = role_settings.iter().map(|(role, settings)| (role.clone(), text(settings))).collect();
        Self { catalog, zone, search_paths, role_settings }
    }

    /// The settings of a role, to be compared with those of a session.
    pub(crate) fn role_settings(&self, role: &str) -> &str {
        self.role_settings.get(role).map_or("", String::as_str)
    }

    /// The search path of a schema that is exposed.
    pub(crate) fn search_path(&self, schema: &str) -> &str {
        self.search_paths.iter().find(|(known, _)| known == schema).map_or("", |(_, path)| path)
    }
}

fn search_path(schema: &str, extra: &[String]) -> String {
    let mut path = String::new();
    thalweg_sql::quote(&mut path, schema);
    for schema in extra.iter().filter(|extra| *extra != schema) {
        path.push_str(", ");
        thalweg_sql::quote(&mut path, schema);
    }
    path
}

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
    /// How many bytes of bodies are held.
    pub(crate) held_bytes: Arc<AtomicU64>,
    /// Turns of bodies that hold a connection while they arrive.
    pub(crate) flowing: Semaphore,
}

impl State {
    pub(crate) fn snapshot(&self) -> Result<Arc<Snapshot>, ApiError> {
        self.snapshot.load_full().ok_or_else(|| {
            self.reloader.hurry();
            ApiError::no_schema_cache()
        })
    }

    /// A turn for rows that are sent while the body arrives. They leave half of the pool to others.
    pub(crate) async fn turn_of(&self, source: Option<&CopySource>) -> Result<Option<SemaphorePermit<'_>>, ApiError> {
        if !matches!(source, Some(CopySource::Flowing(_))) {
            return Ok(None);
        }
        let turn = tokio::time::timeout(self.config.db_pool_acquisition_timeout, self.flowing.acquire()).await;
        turn.ok().and_then(Result::ok).map(Some).ok_or_else(|| PoolError::Timeout.into())
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
