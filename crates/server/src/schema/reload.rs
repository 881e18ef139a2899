//! When the schema cache is loaded again (operations §§6, 7.2).

use super::load::{self, LoadFailure};
use crate::config::{Reading, reread};
use crate::error::ApiError;
use crate::log::Failures;
use crate::state::State;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use thalweg_catalog::LoadError;
use tokio::sync::{Notify, watch};

/// Triggers that come within this time are one.
const MERGED_WITHIN: Duration = Duration::from_millis(100);
/// The shortest pause between two attempts.
const RETRY_PAUSE_MIN: Duration = Duration::from_millis(500);
/// The longest pause between two attempts.
pub(super) const RETRY_SECONDS_MAX: u64 = 32;
/// Shortest time between two log lines about failed loads.
const FAILURE_LINE_INTERVAL: Duration = Duration::from_secs(5);
/// Shortest time between a load that a request's suspicion caused and that found nothing new, and
/// the next load of that kind.
const SUSPICION_INTERVAL: Duration = Duration::from_secs(10);

/// Asks for loads, and waits for them.
pub(crate) struct Reloader {
    wanted: Notify,
    hurried: Notify,
    /// Whether the configuration is to be read again with the next.
    config_asked: AtomicBool,
    /// Number of loads that have been requested.
    asked: AtomicU64,
    /// Value of `asked` when the last attempt began that has ended, whether it succeeded or not.
    attempted: watch::Sender<u64>,
    /// Value of `asked` when the last attempt began that has succeeded.
    loaded_asked: AtomicU64,
    first: watch::Sender<FirstLoad>,
    /// Why the program is to end, once that is so.
    given_up: watch::Sender<Option<String>>,
    /// Time at which a request's suspicion last caused a load, unless a load has found something
    /// new since.
    suspected: Mutex<Option<Instant>>,
    /// Message about exposed schemas that do not exist, if the last load failed for that reason.
    missing_schemas: Mutex<Option<String>>,
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
            loaded_asked: AtomicU64::new(0),
            first: watch::channel(FirstLoad::Running).0,
            given_up: watch::channel(None).0,
            suspected: Mutex::new(None),
            missing_schemas: Mutex::new(None),
        }
    }

    /// Asks for a load, soon.
    pub(crate) fn trigger(&self) {
        self.ask();
    }

    /// Requests a load, to begin soon. [`Reloader::loaded`] waits for it.
    pub(crate) fn ask(&self) -> u64 {
        let asked = self.asked.fetch_add(1, Ordering::AcqRel) + 1;
        self.wanted.notify_one();
        asked
    }

    /// Whether a load has been asked for that has not ended well: what the schema cache says may not hold any more.
    pub(crate) fn is_behind(&self) -> bool {
        self.due().is_some()
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
    pub(super) fn give_up(&self, reason: String) {
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

    /// Returns the last load that was requested if it has not succeeded: it is due, running, or has
    /// failed.
    pub(crate) fn due(&self) -> Option<u64> {
        let loaded = self.loaded_asked.load(Ordering::Acquire);
        let asked = self.asked.load(Ordering::Acquire);
        (asked != loaded).then_some(asked)
    }

    /// Requests a load because PostgreSQL does not find a name that the schema cache has, unless a
    /// load is due already. Returns `None` if such a load found nothing new a short time ago. The
    /// schema cache is then not the reason, and clients that repeat the request cause no further
    /// loads.
    pub(crate) fn suspect(&self) -> Option<u64> {
        // Many requests suspect the same at once, and only one of them requests the load.
        let mut suspected = self.suspected.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(due) = self.due() {
            return Some(due);
        }
        if suspected.is_some_and(|at| at.elapsed() < SUSPICION_INTERVAL) {
            return None;
        }
        *suspected = Some(Instant::now());
        Some(self.ask())
    }

    /// Returns the error of a request that needs a schema cache while there is none, or while it
    /// cannot be loaded.
    pub(crate) fn no_schema_cache(&self) -> ApiError {
        let missing = self.missing_schemas.lock().unwrap_or_else(PoisonError::into_inner).clone();
        ApiError::no_schema_cache(missing)
    }

    /// Records that a load has found something new, so that a suspicion may cause the next load at
    /// once.
    fn found_new(&self) {
        *self.suspected.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Waits until the running load has ended, or else the one that is due, but not beyond the
    /// deadline. Returns whether it succeeded. If the last load has failed and no other is due,
    /// this does not wait for the next attempt.
    pub(crate) async fn next_loaded(&self, deadline: Instant) -> bool {
        let mut attempted = self.attempted.subscribe();
        let is_due = *attempted.borrow_and_update() < self.asked.load(Ordering::Acquire);
        let has_ended = !is_due || tokio::time::timeout_at(deadline.into(), attempted.changed()).await.is_ok();
        let asked = *attempted.borrow();
        self.is_loaded(asked, has_ended)
    }

    /// Waits until a requested load has ended, but not beyond the deadline. Returns whether it
    /// succeeded.
    pub(crate) async fn loaded(&self, asked: u64, deadline: Instant) -> bool {
        let mut attempted = self.attempted.subscribe();
        let ended = attempted.wait_for(|attempted| *attempted >= asked);
        let has_ended = tokio::time::timeout_at(deadline.into(), ended).await.is_ok();
        self.is_loaded(asked, has_ended)
    }

    /// Returns whether a load that has ended succeeded. If it failed, the next attempt is brought
    /// forward.
    fn is_loaded(&self, asked: u64, has_ended: bool) -> bool {
        let is_loaded = has_ended && self.loaded_asked.load(Ordering::Acquire) >= asked;
        if has_ended && !is_loaded {
            self.hurry();
        }
        is_loaded
    }
}

/// Loads the schema cache once, then whenever it is asked to; a failed load is tried again until it succeeds.
pub(crate) async fn keep_loaded(state: Arc<State>) {
    let first = &state.reloader.first;
    let mut partial_pause_seconds = 1;
    // While the database is away, requests may cause two attempts a second.
    let mut failures = Failures::told_each(FAILURE_LINE_INTERVAL);
    loop {
        let mut pause_seconds = 1;
        let is_partial = loop {
            let failure = match load(&state).await {
                Ok(is_partial) => break is_partial,
                Err(failure) => failure,
            };
            let times = failures.another(Instant::now());
            if let Some(times) = times {
                tracing::info!(target: "notice", %failure, times = (times > 1).then_some(times), "Failed to load the schema cache");
            }
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
            if times.is_some() {
                tracing::info!(target: "notice", "next attempt to load the schema cache in {pause_seconds} s");
            }
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

pub(super) fn not_recovered(what: &str, failure: &dyn std::fmt::Display) -> String {
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
            for schema in catalog.missing_extra_schemas() {
                tracing::info!(target: "notice", "the schema \"{schema}\" of db-extra-search-path does not exist, and is ignored");
            }
            loading.snapshot.store(Some(Arc::new(snapshot)));
            loading.reloader.found_new();
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
    let missing = match &loaded {
        Err(LoadFailure::Load(error @ LoadError::MissingSchemas(_))) => Some(error.to_string()),
        Ok(_) | Err(_) => None,
    };
    *state.reloader.missing_schemas.lock().unwrap_or_else(PoisonError::into_inner) = missing;
    if loaded.is_err() {
        state.vitals.failed_to_load();
    } else {
        state.reloader.loaded_asked.store(asked, Ordering::Release);
    }
    state.reloader.attempted.send_replace(asked);
    loaded
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ends the loads that were requested, as `load` does.
    fn end(reloader: &Reloader, is_loaded: bool) {
        let asked = reloader.asked.load(Ordering::Acquire);
        if is_loaded {
            reloader.loaded_asked.store(asked, Ordering::Release);
        }
        reloader.attempted.send_replace(asked);
    }

    #[test]
    fn a_suspicion_that_was_wrong_causes_no_second_load_and_one_that_was_right_does() {
        let reloader = Reloader::new();
        let asked = reloader.suspect().unwrap();
        // All requests that suspect the same wait for the same load.
        assert_eq!((reloader.suspect(), reloader.due()), (Some(asked), Some(asked)));
        reloader.found_new();
        end(&reloader, true);
        assert_eq!(reloader.due(), None);
        let asked = reloader.suspect().unwrap();
        end(&reloader, true);
        assert_eq!(reloader.suspect(), None);
        // A load that another request causes is waited for in any case.
        reloader.trigger();
        assert_eq!(reloader.suspect(), Some(asked + 1));
    }

    #[tokio::test]
    async fn waiting_for_a_load_ends_with_the_load_or_at_the_deadline() {
        let reloader = Reloader::new();
        let soon = || Instant::now() + Duration::from_millis(10);
        let asked = reloader.ask();
        assert!(!reloader.loaded(asked, soon()).await);
        end(&reloader, false);
        assert!(!reloader.loaded(asked, Instant::now() + Duration::from_secs(600)).await);
        assert_eq!(reloader.due(), Some(asked));
        end(&reloader, true);
        assert!(reloader.loaded(asked, Instant::now() + Duration::from_secs(600)).await);
        // No load is due.
        assert!(reloader.next_loaded(soon()).await);
        // A load that is requested meanwhile is another one.
        let next = reloader.ask();
        assert!(!reloader.loaded(next, soon()).await);
        assert!(reloader.loaded(asked, soon()).await);
        assert!(!reloader.next_loaded(soon()).await);
        let (is_loaded, ()) = tokio::join!(reloader.next_loaded(Instant::now() + Duration::from_secs(600)), async {
            reloader.ask();
            // The load that ends began before the last one was requested.
            reloader.loaded_asked.store(next, Ordering::Release);
            reloader.attempted.send_replace(next);
        });
        assert!(is_loaded && reloader.due().is_some());
    }
}
