//! What requests share: immutable snapshots, the pool, the reloader.

use crate::admin::Vitals;
use crate::answer::Outlet;
use crate::auth::Issuer;
use crate::callers::Callers;
use crate::computations::Computations;
use crate::config::{Config, DatabaseSettings, InForce, PagesBrowse, Sources};
use crate::error::ApiError;
use crate::log;
use crate::overload::RefusalPace;
use crate::prepared::KnownReads;
use crate::routes::Routes;
use crate::schema::{Reloader, Snapshot};
use crate::sent_forms::SentForms;
use crate::site::Site;
use crate::spool::Spool;
use crate::turns::{Turn, Turns};
use crate::upload::{BodyLimits, HeldBytes, Incoming, Received};
use arc_swap::{ArcSwap, ArcSwapOption};
use std::sync::{Arc, Mutex, OnceLock};
use thalweg_gauge::BillLayer;
use thalweg_wire::Pool;
use tokio::sync::watch;

/// The state of a server.
pub(crate) struct State {
    pub(crate) in_force: ArcSwap<InForce>,
    /// The configuration of the start, of which some is never read again.
    pub(crate) start: Config,
    /// Where it is read from.
    pub(crate) sources: Option<Sources>,
    /// What the database said last that belongs to it, by key.
    pub(crate) settings: Mutex<DatabaseSettings>,
    /// The configuration has been replaced.
    pub(crate) replaced: watch::Sender<()>,
    /// The port that it listens on, once it does.
    pub(crate) port: OnceLock<u16>,
    pub(crate) pool: Pool,
    pub(crate) snapshot: ArcSwapOption<Snapshot>,
    pub(crate) reloader: Reloader,
    pub(crate) known_reads: KnownReads,
    /// The site whose pages are served.
    pub(crate) site: Option<Arc<Site>>,
    /// Handlers beside pages and API.
    pub(crate) routes: Routes,
    /// What is noted for who looks after the server.
    pub(crate) vitals: Vitals,
    /// Rate at which refusals leave the server.
    pub(crate) refusals: RefusalPace,
    /// What makes out the bills of requests.
    pub(crate) bills: BillLayer,
    /// Who publishes the keys of tokens.
    pub(crate) issuer: Issuer,
    /// Tokens that were verified.
    pub(crate) tokens: thalweg_auth::Cache,
    /// What bodies hold.
    pub(crate) held_bytes: Arc<HeldBytes>,
    /// Room on disk.
    pub(crate) spool: Spool,
    /// What large answers share.
    pub(crate) outlet: Outlet,
    /// State of the callers, such as their attempts to sign in.
    pub(crate) callers: Callers,
    /// Turns of requests that keep a connection while a client sends or reads.
    pub(crate) turns: Turns,
    /// Permits for computations that may take long.
    pub(crate) computations: Computations,
    /// Forms that have been carried out.
    pub(crate) sent_forms: SentForms,
    /// Turns of descriptions of a schema, each of which takes a hundred times the memory that the schema does.
    pub(crate) descriptions: Turns,
}

impl State {
    pub(crate) fn snapshot(&self) -> Result<Arc<Snapshot>, ApiError> {
        self.snapshot.load_full().ok_or_else(|| {
            self.reloader.hurry();
            self.reloader.no_schema_cache()
        })
    }

    /// Returns the number of the load that made the current schema cache, or `None` before the
    /// first load.
    pub(crate) fn load(&self) -> Option<u64> {
        self.snapshot.load().as_ref().map(|snapshot| snapshot.load)
    }

    /// Where the API is, if not at the root.
    pub(crate) fn prefix(&self) -> &str {
        self.site.as_deref().map_or("", Site::prefix)
    }

    /// Returns whether it answers pages, of which some have forms.
    pub(crate) fn answers_pages(&self) -> bool {
        self.site.is_some() || self.in_force.load().config.pages_browse == PagesBrowse::On
    }

    /// Reads the site's folder again. One with something wrong is told of, and leaves the site as it was.
    pub(crate) fn read_site_again(&self) {
        if let Some(Err(error)) = self.site.as_deref().map(Site::reload) {
            tracing::error!(target: "notice", "the site was not loaded again: {error}");
        }
    }

    /// What is wrong with a page of the site, now that the schema cache is there.
    pub(crate) fn wrong_page(&self) -> Option<String> {
        let site = self.site.as_ref().filter(|site| site.development().is_none())?;
        let snapshot = self.snapshot.load_full()?;
        let bound = site.bound(&site.loaded(), &self.in_force(), &snapshot);
        let errors: Vec<String> = bound.errors().map(|error| Site::with_lines(site.folder(), error)).collect();
        (!errors.is_empty()).then(|| format!("a page cannot be made: {}", errors.join("\n\n")))
    }

    /// A turn for rows of a body that arrives, of which the beginning is here. Only of a fast client are they sent while it
    /// sends, and only if a turn is free; else the body goes to disk, and needs no turn once all of it is there.
    pub(crate) async fn turn_of(&self, received: &Received, incoming: &mut Incoming) -> Result<Option<Turn>, ApiError> {
        if incoming.is_fast()
            && let Some(turn) = self.turns.take()
        {
            return Ok(Some(turn));
        }
        if incoming.keep_on_disk(received.held_bytes(), &self.spool, received.holds()).await? {
            return Ok(None);
        }
        Ok(Some(self.turns.next().await?))
    }

    /// Answers requests by another configuration from now on.
    pub(crate) fn put_in_force(&self, next: Arc<InForce>) {
        log::configure(&next.config);
        self.tokens.limit(next.config.jwt_cache_max_entries);
        self.pool.keep_sessions(next.config.db_prepared_statements);
        self.issuer.put_in_force(&self.in_force, next);
        self.replaced.send_replace(());
    }

    /// The configuration in force now.
    pub(crate) fn in_force(&self) -> Arc<InForce> {
        self.in_force.load_full()
    }
}

/// The bounds of bodies.
pub(crate) fn body_limits(config: &Config) -> BodyLimits {
    BodyLimits {
        held_bytes_max: config.client_body_max,
        flowing_bytes_max: config.client_stream_max,
        stall_timeout: config.client_stall_timeout,
    }
}
