//! The keys that an issuer of tokens publishes (`jwt-jwks-uri`): fetched at the start, from time to time, and when a token comes
//! that none of them has signed.
//!
//! ```text
//!  Resting ── a token of an unknown key, a reload ──► Asked ──┐
//!     ▲  │                                                    │
//!     │  └── time has passed ──► Fetching ◄───────────────────┘
//!     └── ended, well or not ─────┘
//! ```
//!
//! One task fetches, so that there is one fetch at a time, and rests in between, so that nobody who sends tokens of keys that
//! there are not makes it ask the issuer more often. What is known stays known until another set has been fetched.

use super::fetch::fetch;
use crate::config::{InForce, JwksUri};
use crate::log::Failures;
use crate::state::State;
use arc_swap::ArcSwap;
use std::convert::Infallible;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use thalweg_auth::Keys;
use tokio::sync::{Semaphore, watch};
use tokio::time::{sleep_until, timeout, timeout_at};

/// The shortest time between two fetches, unless `jwt-jwks-refresh` is shorter, and the pause after the first that fails.
const FETCH_INTERVAL_MIN: Duration = Duration::from_secs(10);
/// How long a request waits for a fetch.
const FETCH_WAIT_MAX: Duration = Duration::from_secs(5);
/// How many requests wait for one.
const FETCH_WAITERS_MAX: usize = 100;
/// By which part of itself a pause is shorter at most, so that servers that were started together do not ask together.
const JITTER_PART: u32 = 10;

/// What is known of an issuer, and how it is asked.
pub(crate) struct Issuer {
    known: Mutex<Option<Known>>,
    progress: watch::Sender<Progress>,
    waiters: Semaphore,
    succeeded: AtomicU64,
    failed: AtomicU64,
}

struct Known {
    uri: JwksUri,
    keys: Keys,
    fetched: Instant,
}

#[derive(Clone, Copy)]
struct Progress {
    step: Step,
    /// How many fetches have ended, well or not.
    ended: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Nobody's token causes a fetch before that.
    Resting {
        until: Instant,
    },
    Asked,
    /// What is fetched may be older than what was asked for meanwhile.
    Fetching {
        again: bool,
    },
}

/// What has come of the fetches, for who looks after the server.
pub(crate) struct FetchCounts {
    pub(crate) succeeded: u64,
    pub(crate) failed: u64,
    /// How many keys are known, and how old they are.
    pub(crate) known: Option<(usize, Duration)>,
}

impl Issuer {
    pub(crate) fn new() -> Self {
        Self {
            known: Mutex::default(),
            progress: watch::channel(Progress { step: Step::Fetching { again: false }, ended: 0 }).0,
            waiters: Semaphore::new(FETCH_WAITERS_MAX),
            succeeded: AtomicU64::new(0),
            failed: AtomicU64::new(0),
        }
    }

    /// Puts a configuration in force, with the keys that are known if it names the same issuer. Keys of another are forgotten.
    pub(crate) fn put_in_force(&self, in_force: &ArcSwap<InForce>, next: Arc<InForce>) {
        // locked until it is in force: keys that come meanwhile would be given to the one before
        let mut known = self.lock();
        known.take_if(|known| next.config.jwt_jwks_uri.as_ref() != Some(&known.uri));
        if in_force.load().config.jwt_jwks_uri != next.config.jwt_jwks_uri {
            self.ask();
        }
        if let Some(known) = &*known {
            next.verify_with(&known.keys);
        }
        in_force.store(next);
    }

    /// Keeps keys that were fetched, unless another issuer is in force by now; whether they are others than those before.
    fn keep(&self, in_force: &ArcSwap<InForce>, uri: &JwksUri, keys: Keys) -> bool {
        let mut known = self.lock();
        let now = in_force.load();
        if now.config.jwt_jwks_uri.as_ref() != Some(uri) {
            return false;
        }
        let is_new = known.as_ref().is_none_or(|known| known.keys != keys);
        if is_new {
            now.verify_with(&keys);
        }
        *known = Some(Known { uri: uri.clone(), keys, fetched: Instant::now() });
        is_new
    }

    /// Whether any keys have been fetched.
    pub(crate) fn is_known(&self) -> bool {
        self.lock().is_some()
    }

    /// Asks for a fetch, as soon as there may be one.
    pub(crate) fn ask(&self) {
        self.progress.send_modify(|progress| {
            progress.step = match progress.step {
                Step::Resting { .. } | Step::Asked => Step::Asked,
                Step::Fetching { .. } => Step::Fetching { again: true },
            }
        });
    }

    /// Asks for a fetch because of a token that no known key has signed, and waits until it has ended, but not long. Waits for
    /// nothing where there has been one just now, or too many wait.
    pub(crate) async fn look_again(&self) {
        let Ok(_place) = self.waiters.try_acquire() else { return };
        let (mut rests, mut seen) = (false, 0);
        self.progress.send_if_modified(|progress| {
            seen = progress.ended;
            match progress.step {
                Step::Resting { until } => rests = Instant::now() < until,
                Step::Asked | Step::Fetching { .. } => return false,
            }
            if !rests {
                progress.step = Step::Asked;
            }
            !rests
        });
        if !rests {
            let mut progress = self.progress.subscribe();
            // its sender is as old as the server
            let _ = timeout(FETCH_WAIT_MAX, progress.wait_for(|progress| progress.ended > seen)).await;
        }
    }

    pub(crate) fn counts(&self) -> FetchCounts {
        let known = self.lock();
        FetchCounts {
            succeeded: self.succeeded.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
            known: known.as_ref().map(|known| (known.keys.count(), known.fetched.elapsed())),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps the keys of the issuer that is in force known, if there is one, for ever.
pub(crate) async fn keep_fetched(state: Arc<State>) {
    let mut replaced = state.replaced.subscribe();
    loop {
        let uri = state.in_force().config.jwt_jwks_uri.clone();
        let is_same = || state.in_force().config.jwt_jwks_uri == uri;
        let another = async {
            while is_same() {
                // its sender is as old as the server
                let _ = replaced.changed().await;
            }
        };
        match &uri {
            None => another.await,
            Some(uri) => tokio::select! {
                never = keep_fetched_of(&state, uri) => match never {},
                () = another => {}
            },
        }
    }
}

async fn keep_fetched_of(state: &State, uri: &JwksUri) -> Infallible {
    let issuer = &state.issuer;
    let (mut failures, mut failed) = (Failures::default(), 0_u32);
    loop {
        issuer.progress.send_modify(|progress| progress.step = Step::Fetching { again: false });
        let fetched = fetch(uri).await;
        let refresh = state.in_force().config.jwt_jwks_refresh;
        let pause = match fetched {
            Ok(keys) => {
                issuer.succeeded.fetch_add(1, Ordering::Relaxed);
                let (count, warnings) = (keys.count(), keys.warnings().to_vec());
                if issuer.keep(&state.in_force, uri, keys) || failed > 0 {
                    tracing::info!(target: "notice", keys = count, "Keys of tokens fetched from {uri}");
                    warnings.iter().for_each(|warning| tracing::info!(target: "notice", "{warning}"));
                }
                failed = 0;
                refresh
            }
            Err(error) => {
                issuer.failed.fetch_add(1, Ordering::Relaxed);
                if let Some(failures) = failures.another(Instant::now()) {
                    tracing::error!(failures, "no keys of tokens from {uri}: {error}");
                }
                failed += 1;
                refresh.min(FETCH_INTERVAL_MIN * (1_u32 << (failed - 1).min(10)))
            }
        };
        let ended = Instant::now();
        let rest_end = ended + refresh.min(FETCH_INTERVAL_MIN);
        issuer.progress.send_modify(|progress| {
            progress.ended += 1;
            progress.step = match progress.step {
                Step::Fetching { again: true } => Step::Asked,
                Step::Fetching { again: false } | Step::Resting { .. } | Step::Asked => {
                    Step::Resting { until: rest_end }
                }
            };
        });
        sleep_until(rest_end.into()).await;
        let mut progress = issuer.progress.subscribe();
        let asked = progress.wait_for(|progress| progress.step == Step::Asked);
        let _ = timeout_at((ended + shortened(pause)).into(), asked).await;
    }
}

/// A pause, less a part of it that chance decides.
fn shortened(pause: Duration) -> Duration {
    let chance = RandomState::new().hash_one(()) % 1024;
    pause - pause / JITTER_PART * chance as u32 / 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn few_requests_wait_and_none_for_ever() {
        let issuer = Arc::new(Issuer::new());
        let wait = || {
            let issuer = issuer.clone();
            tokio::spawn(async move { issuer.look_again().await })
        };
        for ends in [true, false] {
            let waiting: Vec<_> = (0..FETCH_WAITERS_MAX + 50).map(|_| wait()).collect();
            // time passes once nobody has anything to do
            tokio::time::sleep(Duration::from_millis(1)).await;
            assert_eq!(waiting.iter().filter(|request| request.is_finished()).count(), 50);
            if ends {
                issuer.progress.send_modify(|progress| progress.ended += 1);
            }
            for request in waiting {
                request.await.unwrap();
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_has_the_issuer_asked_only_after_a_rest_and_a_reload_at_its_end() {
        let issuer = Issuer::new();
        let rest = |until: Instant| issuer.progress.send_modify(|progress| progress.step = Step::Resting { until });
        let is_asked = || issuer.progress.borrow().step == Step::Asked;
        rest(Instant::now() + Duration::from_secs(3600));
        issuer.look_again().await;
        assert!(!is_asked());
        issuer.ask();
        assert!(is_asked());
        rest(Instant::now());
        issuer.look_again().await;
        assert!(is_asked());
        // of a fetch that runs a token waits for the end, and a reload for another
        let step = || issuer.progress.borrow().step;
        issuer.progress.send_modify(|progress| progress.step = Step::Fetching { again: false });
        issuer.look_again().await;
        assert!(step() == Step::Fetching { again: false });
        issuer.ask();
        assert!(step() == Step::Fetching { again: true });
    }

    #[test]
    fn a_pause_is_shortened_by_a_part_of_it() {
        let pauses: Vec<Duration> = (0..100).map(|_| shortened(Duration::from_secs(300))).collect();
        assert!(pauses.iter().all(|pause| (270..=300).contains(&pause.as_secs())), "{pauses:?}");
        assert!(pauses.iter().any(|pause| *pause != pauses[0]));
    }
}
