//! Connections kept for the next request: bounded in number, in age, in idleness, and in who may wait.

use crate::cancel::CancelKey;
use crate::config::Config;
use crate::connection::Connection;
use crate::error::{Error, ErrorKind};
use crate::session::{Identity, SessionState};
use crate::slots::{Slot, Slots, WAITING_MAX};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

/// The bounds of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolLimits {
    /// How many connections are open at most.
    pub connections_max: usize,
    /// Number of requests that may wait for a connection at the same time. It bounds memory only: a
    /// request that is expected to wait for long is refused earlier ([`crate::Slots`]).
    pub waiting_max: usize,
    /// How long a request waits.
    pub wait: Duration,
    /// How long an unused connection is kept.
    pub idle: Duration,
    /// How old a connection gets.
    pub lifetime: Duration,
}

impl Default for PoolLimits {
    fn default() -> Self {
        Self {
            connections_max: 10,
            waiting_max: WAITING_MAX,
            wait: Duration::from_secs(10),
            idle: Duration::from_secs(30),
            lifetime: Duration::from_secs(1800),
        }
    }
}

/// Why there is no connection.
#[derive(Debug)]
pub enum PoolError {
    /// All were busy for as long as a request waits.
    Timeout,
    /// A request was expected to wait for too long, or can no longer be served in time.
    QueueFull,
    /// A new one could not be opened.
    Connect(Error),
}

impl fmt::Display for PoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timeout => f.write_str("no connection has become free in time"),
            Self::QueueFull => f.write_str("too many requests wait for a connection: try again in a second"),
            Self::Connect(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PoolError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Connect(error) => error.source(),
            Self::Timeout | Self::QueueFull => None,
        }
    }
}

/// What a pool is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolStatus {
    /// Open connections not in use.
    pub idle: usize,
    /// Connections in use, being opened, or being made as new.
    pub busy: usize,
    /// Requests waiting for one.
    pub waiting: usize,
    /// Requests that have waited in vain, since the pool was made.
    pub timeouts: u64,
    /// Time that another request is expected to wait for a connection, as far as it can be
    /// estimated.
    pub expected_wait: Duration,
}

/// A pool of connections. Clones share it.
#[derive(Clone)]
pub struct Pool {
    shared: Arc<Shared>,
}

struct Shared {
    config: Config,
    limits: PoolLimits,
    slots: Slots,
    keeps_sessions: AtomicBool,
    /// Connections of an earlier generation are not used again.
    generation: AtomicU64,
    idle: Mutex<Vec<Idle>>,
}

struct Idle {
    connection: Box<Connection>,
    opened: Instant,
    since: Instant,
    generation: u64,
}

/// A connection that goes back to its pool.
pub struct Pooled {
    connection: Option<Box<Connection>>,
    opened: Instant,
    generation: u64,
    shared: Arc<Shared>,
    slot: Option<Slot>,
}

/// How long a query that nobody waits for any more may take to stop.
const CLEAN_UP_TIMEOUT: Duration = Duration::from_secs(10);

impl Pool {
    /// A pool without a connection yet.
    pub fn new(config: Config, limits: PoolLimits) -> Self {
        let shared = Arc::new(Shared {
            config,
            limits,
            slots: Slots::new(limits.connections_max, limits.waiting_max, limits.wait),
            keeps_sessions: AtomicBool::new(true),
            generation: AtomicU64::new(0),
            idle: Mutex::new(Vec::new()),
        });
        if tokio::runtime::Handle::try_current().is_ok() {
            tokio::spawn(reap(Arc::downgrade(&shared)));
        }
        Self { shared }
    }

    /// Where its connections lead.
    pub fn config(&self) -> &Config {
        &self.shared.config
    }

    /// A connection, if possible one whose session has this identity already.
    pub async fn get(&self, identity: Option<Identity<'_>>) -> Result<Pooled, PoolError> {
        let slot = self.shared.slots.next().await?;
        let shared = self.shared.clone();
        while let Some(idle) = self.take_idle(identity) {
            let mut pooled = Pooled {
                connection: Some(idle.connection),
                opened: idle.opened,
                generation: idle.generation,
                shared: shared.clone(),
                slot: None,
            };
            if pooled.poll_alive(&mut Context::from_waker(Waker::noop())) {
                pooled.slot = Some(slot);
                return Ok(pooled);
            }
            note_closed(&pooled, "it was lost while it was unused");
            pooled.connection = None;
        }
        // It is opened even if whoever wants it goes away meanwhile, and is the next one's then: else clients that leave at
        // once would have one opened each, and none would ever be there.
        let opened = tokio::spawn(async move {
            let generation = shared.generation.load(Ordering::Acquire);
            let connection = open(&shared.config, shared.keeps_sessions.load(Ordering::Relaxed)).await;
            let connection =
                connection.inspect_err(|error| tracing::debug!(%error, "no connection could be opened"))?;
            tracing::debug!(backend = backend(&connection), "a connection was opened");
            Ok(Pooled {
                connection: Some(Box::new(connection)),
                opened: Instant::now(),
                generation,
                shared,
                slot: Some(slot),
            })
        });
        opened.await.unwrap_or_else(|cause| Err(Error::caused(ErrorKind::Broken, cause))).map_err(PoolError::Connect)
    }

    /// The most recently used connection that will do as it is, or else the one that has been unused longest, so that
    /// those that others may want again are left. Those that are too old are closed on the way.
    fn take_idle(&self, identity: Option<Identity<'_>>) -> Option<Idle> {
        let mut idle = self.shared.lock();
        self.shared.drop_stale(&mut idle);
        let will_do = |idle: &Idle| match identity {
            Some(identity) => idle.connection.session().is(identity),
            None => *idle.connection.session() == SessionState::Fresh,
        };
        let at = idle.iter().rposition(will_do).or_else(|| (!idle.is_empty()).then_some(0))?;
        // in the order in which they came back
        Some(idle.remove(at))
    }

    /// Says whether connections may keep anything in their sessions: prepared statements, a role. They may, unless it is said
    /// otherwise; behind a pooler nothing is kept in any case. Where that is another answer than before, all are replaced.
    pub fn keep_sessions(&self, keeps_sessions: bool) {
        if self.shared.keeps_sessions.swap(keeps_sessions, Ordering::Relaxed) != keeps_sessions {
            self.renew();
        }
    }

    /// Replaces all connections as they come back: PostgreSQL's sessions keep catalog caches of their own.
    pub fn renew(&self) {
        // what was said before is what a connection of the new generation is opened by
        self.shared.generation.fetch_add(1, Ordering::Release);
        tracing::debug!("connections are replaced");
        self.shared.drop_stale(&mut self.shared.lock());
    }

    /// What it is doing.
    pub fn status(&self) -> PoolStatus {
        let slots = &self.shared.slots;
        PoolStatus {
            idle: self.shared.lock().len(),
            busy: self.shared.limits.connections_max.saturating_sub(slots.free()),
            waiting: slots.waiting(),
            timeouts: slots.timeouts(),
            expected_wait: slots.expected_wait(),
        }
    }

    /// Returns whether no connection has come back for so long that the database seems to have
    /// stalled.
    pub fn is_stalled(&self) -> bool {
        self.shared.slots.is_stalled()
    }

    /// Returns whether [`Pool::get`] would refuse a request at once, because the request would wait
    /// for too long. The check is cheap, so that a request can be refused before any other work is
    /// done for it.
    pub fn is_full(&self) -> bool {
        self.shared.slots.is_full()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Vec<Idle>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fresh(&self, now: Instant, opened: Instant, generation: u64) -> bool {
        generation == self.generation.load(Ordering::Relaxed) && now - opened < self.limits.lifetime
    }

    /// Closes those that are not.
    fn drop_stale(&self, idle: &mut Vec<Idle>) {
        let now = Instant::now();
        idle.retain(|idle| {
            let is_fresh = self.fresh(now, idle.opened, idle.generation);
            if !is_fresh {
                note_closed(&idle.connection, STALE);
            }
            is_fresh
        });
    }

    /// Keeps a connection for the next request, if what is known of it is enough for that.
    fn put_back(&self, mut connection: Box<Connection>, opened: Instant, generation: u64) {
        let now = Instant::now();
        if !connection.is_idle() || is_to_be_reset(&connection) {
            note_closed(&connection, UNKNOWN);
        } else if !self.fresh(now, opened, generation) {
            note_closed(&connection, STALE);
        } else {
            connection.forget_remarks();
            self.lock().push(Idle { connection, opened, since: now, generation });
        }
    }
}

const STALE: &str = "it has been replaced, or is too old";
const UNKNOWN: &str = "nobody knows what it is doing";

fn note_closed(connection: &Connection, reason: &str) {
    tracing::debug!(backend = backend(connection), reason, "a connection was closed");
}

/// The server process that is behind a connection, as far as the server says so.
fn backend(connection: &Connection) -> Option<i32> {
    connection.cancel_key().map(CancelKey::process_id)
}

/// Whether a session must be made as new before it may be used again.
fn is_to_be_reset(connection: &Connection) -> bool {
    connection.owns_session() && (*connection.session() == SessionState::Unknown || !connection.is_as_logged_in())
}

/// A new connection, of which it is known whose session it is.
async fn open(config: &Config, keeps_session: bool) -> Result<Connection, Error> {
    let mut connection = Connection::connect(config).await?;
    if !keeps_session {
        connection.share_session();
        return Ok(connection);
    }
    // a pooler lets everybody in, and answers once it has a server
    match tokio::time::timeout(config.connect_timeout, connection.find_owner()).await {
        Ok(found) => found.map(|()| connection),
        Err(_) => Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into()),
    }
}

/// Closes connections that have been idle or open for too long, while the pool exists.
async fn reap(shared: Weak<Shared>) {
    loop {
        let Some(pool) = shared.upgrade() else { return };
        let limits = pool.limits;
        let mut closed = Vec::new();
        {
            let mut idle = pool.lock();
            let (mut at, now) = (0, Instant::now());
            while at < idle.len() {
                if now - idle[at].since >= limits.idle || !pool.fresh(now, idle[at].opened, idle[at].generation) {
                    note_closed(&idle[at].connection, "it was unused, or is too old");
                    closed.push(idle.remove(at));
                } else {
                    at += 1;
                }
            }
        }
        drop(pool);
        for idle in closed {
            idle.connection.terminate().await;
        }
        tokio::time::sleep(limits.idle.min(Duration::from_secs(5)).max(Duration::from_millis(50))).await;
    }
}

impl Deref for Pooled {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection.as_ref().expect("a pooled connection is there until it is dropped")
    }
}

impl DerefMut for Pooled {
    fn deref_mut(&mut self) -> &mut Connection {
        self.connection.as_mut().expect("a pooled connection is there until it is dropped")
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        let Some(connection) = self.connection.take() else { return };
        if connection.is_idle() && !is_to_be_reset(&connection) {
            self.shared.put_back(connection, self.opened, self.generation);
            return;
        }
        // an open transaction is rolled back by closing its connection: to end the pipeline would commit it
        let is_of_no_use = connection.is_broken() || !self.shared.fresh(Instant::now(), self.opened, self.generation);
        if is_of_no_use && connection.is_idle() {
            note_closed(&connection, STALE);
            return;
        }
        // Until the session is as new, its place in the pool is taken.
        let (shared, slot) = (self.shared.clone(), self.slot.take());
        let (opened, generation) = (self.opened, self.generation);
        let clean_up = async move {
            let mut connection = connection;
            if clean(&mut connection).await {
                shared.put_back(connection, opened, generation);
            } else {
                note_closed(&connection, UNKNOWN);
            }
            drop(slot);
        };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(clean_up);
        }
    }
}

/// Stops what nobody waits for, and makes the session as new; whether it can be used again.
async fn clean(connection: &mut Connection) -> bool {
    if !connection.is_idle() && !connection.is_resetting() {
        // Behind a pooler the session may be somebody else's by the time a cancellation arrives.
        if connection.owns_session()
            && let Some(key) = connection.cancel_key().cloned()
            && key.cancel().await.is_err()
        {
            // it may arrive later, and would hit what runs then
            return false;
        }
        if connection.is_open() || connection.is_broken() {
            return false;
        }
        let drained = tokio::time::timeout(CLEAN_UP_TIMEOUT, connection.drain_transaction()).await;
        if !matches!(drained, Ok(Ok(()))) {
            return false;
        }
    }
    !is_to_be_reset(connection) || connection.reset().await.is_ok()
}
