//! When the schema cache is loaded again (operations §§6, 7.2).

use super::load::{self, LoadFailure};
use crate::config::{Reading, reread};
use crate::state::State;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use thalweg_wire::{Config as WireConfig, Connection, TargetSession};
use tokio::sync::{Notify, watch};

/// Triggers that come within this time are one.
const MERGED_WITHIN: Duration = Duration::from_millis(100);
/// The shortest pause between two attempts.
const RETRY_PAUSE_MIN: Duration = Duration::from_millis(500);
/// The longest pause between two attempts.
const RETRY_SECONDS_MAX: u64 = 32;
/// Names that only the schema cache knows may be a broken view's: they do not cause more loads than this.
const SUSPICION_INTERVAL: Duration = Duration::from_secs(10);

/// Asks for loads, and waits for them.
pub(crate) struct Reloader {
    wanted: Notify,
    hurried: Notify,
    /// Whether the configuration is to be read again with the next.
    config_asked: AtomicBool,
    /// How often a load has been asked for.
    asked: AtomicU64,
    /// How much of that was asked before the last attempt began that has ended, well or not.
    attempted: watch::Sender<u64>,
    /// The same of the last load.
    loaded: AtomicU64,
    first: watch::Sender<FirstLoad>,
    /// Why the program is to end, once that is so.
    given_up: watch::Sender<Option<String>>,
    started: Instant,
    suspected_at: AtomicU64,
}

/// What has come of the first attempt to load the schema cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FirstLoad {
    Running,
    /// It has ended, well or not.
    Ended,
    /// It failed in a way in which every other attempt will.
    Fatal(String),
}

impl Reloader {
    pub(crate) fn new() -> Self {
        Self {
            wanted: Notify::new(),
            hurried: Notify::new(),
            config_asked: AtomicBool::new(false),
            asked: AtomicU64::new(0),
            attempted: watch::channel(0).0,
            loaded: AtomicU64::new(0),
            first: watch::channel(FirstLoad::Running).0,
            given_up: watch::channel(None).0,
            started: Instant::now(),
            suspected_at: AtomicU64::new(0),
        }
    }

    /// Asks for a load, soon.
    pub(crate) fn trigger(&self) {
        self.ask();
    }

    fn ask(&self) -> u64 {
        let asked = self.asked.fetch_add(1, Ordering::AcqRel) + 1;
        self.wanted.notify_one();
        asked
    }

    /// Whether a load has been asked for that has not ended well: what the schema cache says may not hold any more.
    pub(crate) fn is_behind(&self) -> bool {
        self.asked.load(Ordering::Acquire) != self.loaded.load(Ordering::Acquire)
    }

    /// Ends the pause before the next attempt, if there is one. A load that is running is not asked to be followed by another.
    pub(crate) fn hurry(&self) {
        self.hurried.notify_waiters();
    }

    /// Asks for the configuration to be read again, soon, and the schema cache with it: the settings of roles are part of both.
    pub(crate) fn trigger_config(&self) {
        self.config_asked.store(true, Ordering::Release);
        self.trigger();
    }

    /// How the first attempt goes.
    pub(crate) fn first(&self) -> watch::Receiver<FirstLoad> {
        self.first.subscribe()
    }

    /// Ends the program, for this reason.
    fn give_up(&self, reason: String) {
        self.given_up.send_replace(Some(reason));
    }

    /// Ready when the program is to end, with the reason.
    pub(crate) fn given_up(&self) -> impl Future<Output = String> + Send + use<> {
        let mut given_up = self.given_up.subscribe();
        async move {
            let reason = given_up.wait_for(Option::is_some).await.ok().and_then(|reason| reason.clone());
            match reason {
                Some(reason) => reason,
                // the reloader is as old as the server
                None => std::future::pending().await,
            }
        }
    }

    /// Asks for a load, and waits until one that began after that has ended, well or not, but not beyond the deadline;
    /// whether it has.
    pub(crate) async fn load(&self, deadline: Instant) -> bool {
        let mut attempted = self.attempted.subscribe();
        let asked = self.ask();
        let ended = attempted.wait_for(|attempted| *attempted >= asked);
        tokio::time::timeout_at(deadline.into(), ended).await.is_ok()
    }

    /// Whether a mere suspicion may cause a load now.
    pub(crate) fn may_suspect(&self) -> bool {
        let now = self.started.elapsed().as_millis() as u64 + 1;
        let last = self.suspected_at.load(Ordering::Relaxed);
        let due = last == 0 || now - last >= SUSPICION_INTERVAL.as_millis() as u64;
        due && self.suspected_at.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

/// Loads the schema cache once, then whenever it is asked to; a failed load is tried again until it succeeds.
pub(crate) async fn keep_loaded(state: Arc<State>) {
    let first = &state.reloader.first;
    let mut partial_pause_seconds = 1;
    loop {
        let mut pause_seconds = 1;
        let is_partial = loop {
            let failure = match load(&state).await {
                Ok(is_partial) => break is_partial,
                Err(failure) => failure,
            };
            if *first.borrow() == FirstLoad::Running && failure.is_fatal() {
                first.send_replace(FirstLoad::Fatal(failure.to_string()));
                state.reloader.give_up(failure.to_string());
                return;
            }
            if !state.in_force().config.db_pool_automatic_recovery {
                let reason = not_recovered("the schema cache could not be loaded", &failure);
                first.send_replace(FirstLoad::Fatal(reason.clone()));
                state.reloader.give_up(reason);
                return;
            }
            first.send_replace(FirstLoad::Ended);
            tracing::info!(target: "notice", "next attempt to load the schema cache in {pause_seconds} s");
            let pause = tokio::time::sleep(Duration::from_secs(pause_seconds));
            tokio::select! {
                () = pause => pause_seconds = (pause_seconds * 2).min(RETRY_SECONDS_MAX),
                // a request wants it: sooner, but not as often as requests come
                () = state.reloader.wanted.notified() => tokio::time::sleep(RETRY_PAUSE_MIN).await,
                () = state.reloader.hurried.notified() => tokio::time::sleep(RETRY_PAUSE_MIN).await,
            }
        };
        if let Some(reason) = state.wrong_page().filter(|_| *first.borrow() != FirstLoad::Ended) {
            first.send_replace(FirstLoad::Fatal(reason.clone()));
            state.reloader.give_up(reason);
            return;
        }
        first.send_replace(FirstLoad::Ended);
        if is_partial {
            // nobody may tell when the lock has gone
            let pause = Duration::from_secs(partial_pause_seconds);
            if tokio::time::timeout(pause, state.reloader.wanted.notified()).await.is_err() {
                partial_pause_seconds = (partial_pause_seconds * 2).min(RETRY_SECONDS_MAX);
                continue;
            }
        } else {
            partial_pause_seconds = 1;
            state.reloader.wanted.notified().await;
        }
        tokio::time::sleep(MERGED_WITHIN).await;
    }
}

fn not_recovered(what: &str, failure: &dyn std::fmt::Display) -> String {
    format!("{what}, and db-pool-automatic-recovery is false: {failure}")
}

/// Loads the schema cache; whether somebody had locked a part of it.
async fn load(state: &Arc<State>) -> Result<bool, LoadFailure> {
    let asked = state.reloader.asked.load(Ordering::Acquire);
    let loading = state.clone();
    // A large catalog is busy work, to make, to compare and to drop: on a thread of its own it does not hold up
    // requests.
    let runtime = tokio::runtime::Handle::current();
    let loaded = tokio::task::spawn_blocking(move || {
        let started = Instant::now();
        let is_first = *loading.reloader.first.borrow() == FirstLoad::Running;
        let reading = match loading.reloader.config_asked.swap(false, Ordering::AcqRel) {
            _ if is_first => Reading::First,
            true => Reading::Asked,
            false => Reading::WithSchema,
        };
        let mut connection = runtime.block_on(load::connect(loading.pool.config()));
        runtime.block_on(reread(&loading, reading, connection.as_mut().ok()))?;
        let in_force = loading.in_force();
        if reading == Reading::Asked {
            loading.read_site_again();
        }
        let known = loading.snapshot.load_full();
        let catalog = known.as_ref().map(|known| &known.catalog);
        let snapshot = runtime.block_on(load::load(connection?, &in_force.config, catalog))?;
        let catalog = &snapshot.catalog;
        let (relations, relationships) = (catalog.relations().len(), catalog.relationship_count());
        let (functions, is_partial) = (catalog.function_count(), catalog.is_partial());
        // PostgreSQL's sessions keep caches of their own: they are replaced, unless nothing has changed.
        let is_new = known.is_none_or(|known| !known.is_same(&snapshot));
        tracing::debug!(is_new, "the schema cache was made");
        if is_new {
            for function in catalog.wrongly_immutable() {
                tracing::info!(
                    target: "notice",
                    "{function} asks for settings and is declared IMMUTABLE: PostgreSQL may answer one request with what another \
                     asked for. Declare it STABLE."
                );
            }
            loading.snapshot.store(Some(Arc::new(snapshot)));
            loading.pool.renew();
        }
        loading.vitals.loaded(started.elapsed());
        // told when it is true: whoever reads it may send a request
        tracing::info!(
            target: "notice",
            relations,
            relationships,
            functions,
            is_partial,
            ms = started.elapsed().as_millis() as u64,
            "Schema cache loaded"
        );
        Ok(is_partial)
    });
    let loaded = loaded.await.unwrap_or_else(|panic| Err(LoadFailure::Panic(panic.to_string())));
    if let Err(failure) = &loaded {
        state.vitals.failed_to_load();
        tracing::info!(target: "notice", %failure, "Failed to load the schema cache");
    }
    if loaded.is_ok() {
        state.reloader.loaded.store(asked, Ordering::Release);
    }
    state.reloader.attempted.send_replace(asked);
    loaded
}

/// Listens for reloads on a connection of its own, for ever.
pub(crate) async fn listen(state: Arc<State>) {
    let mut config = state.pool.config().clone();
    // of several hosts, notifications come from the primary
    if config.hosts.len() > 1 {
        config.target_session = TargetSession::ReadWrite;
    }
    let (mut pause_seconds, mut reconnected) = (1, false);
    let mut replaced = state.replaced.subscribe();
    loop {
        let is_enabled = || state.in_force().config.db_channel_enabled;
        if !is_enabled() {
            let _ = replaced.changed().await;
            reconnected = true;
            continue;
        }
        let disabled = async {
            while is_enabled() {
                let _ = replaced.changed().await;
            }
        };
        let listened = tokio::select! {
            listened = listen_once(&state, &config, reconnected) => listened,
            () = disabled => {
                state.vitals.listens.store(false, Ordering::Relaxed);
                tracing::info!(target: "notice", "Not listening for notifications any more");
                continue;
            }
        };
        let failure = match listened {
            Ok(never) => match never {},
            Err((failure, listened)) => {
                if listened {
                    (pause_seconds, reconnected) = (1, true);
                }
                failure
            }
        };
        state.vitals.listens.store(false, Ordering::Relaxed);
        if !state.in_force().config.db_pool_automatic_recovery {
            state.reloader.give_up(not_recovered("the listener was lost", &failure));
            return;
        }
        tracing::info!(target: "notice", %failure, "lost the listener; next attempt in {pause_seconds} s");
        tokio::time::sleep(Duration::from_secs(pause_seconds)).await;
        pause_seconds = (pause_seconds * 2).min(RETRY_SECONDS_MAX);
    }
}

async fn listen_once(
    state: &State,
    config: &WireConfig,
    reconnected: bool,
) -> Result<std::convert::Infallible, (thalweg_wire::Error, bool)> {
    let mut connection = Connection::connect(config).await.map_err(|error| (error, false))?;
    connection.find_owner().await.map_err(|error| (error, false))?;
    if !connection.owns_session() {
        tracing::info!(
            target: "notice",
            "a pooler stands before the database: unless it is in session mode, no notification arrives \
             (db-channel-enabled = false, and SIGUSR1 for reloads)"
        );
    }
    // behind one a prepared statement would be left in somebody else's session
    connection.share_session();
    let mut listen = String::from("LISTEN ");
    let channel = state.in_force().config.db_channel.clone();
    thalweg_sql::quote(&mut listen, &channel);
    connection.execute(&[&listen]).await.map_err(|error| (error, false))?;
    state.vitals.listens.store(true, Ordering::Relaxed);
    tracing::info!(target: "notice", channel, "Listening for notifications");
    if reconnected {
        // what was notified meanwhile is lost
        state.reloader.trigger();
    }
    loop {
        let notification = connection.notification().await.map_err(|error| (error, true))?;
        match notification.payload.as_str() {
            "" | "reload schema" => state.reloader.trigger(),
            "reload config" => state.reloader.trigger_config(),
            _ => {}
        }
    }
}
