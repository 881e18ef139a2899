//! Detection of schema changes: by notifications, or on a standby, which has none, by comparing its
//! catalogs at intervals.
//!
//! ```text
//!  connect ──▶ standby? ──▶ compare its catalogs … until it is promoted ──▶ LISTEN ──▶ notifications
//!     ▲                                    │                                                │
//!     └──────── pause ◀────────────────────┴──────────── lost ◀──────────────────────────────┘
//! ```

use super::reload::{RETRY_SECONDS_MAX, not_recovered};
use crate::state::State;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};
use thalweg_wire::{Config as WireConfig, Connection, Error, Query, TargetSession, Texts};

/// Time between two comparisons of a standby's catalogs.
const STANDBY_POLL_INTERVAL: Duration = Duration::from_secs(10);
/// Time after which the server looks for a primary again, if several hosts had none.
const PRIMARY_SEARCH_INTERVAL: Duration = Duration::from_secs(30);

/// Follows changes of the schema on a connection of its own. It ends only if recovery is disabled.
pub(crate) async fn listen(state: Arc<State>) {
    let (mut pause_seconds, mut follower) = (1, Follower::default());
    let mut replaced = state.replaced.subscribe();
    loop {
        let is_enabled = || state.in_force().config.db_channel_enabled;
        if !is_enabled() {
            let _ = replaced.changed().await;
            follower.has_missed = true;
            continue;
        }
        let disabled = async {
            while is_enabled() {
                let _ = replaced.changed().await;
            }
        };
        let followed = tokio::select! {
            followed = follower.follow(&state) => followed,
            () = disabled => {
                tracing::info!(target: "notice", "Not listening for notifications any more");
                continue;
            }
        };
        if std::mem::take(&mut follower.has_begun) {
            pause_seconds = 1;
        }
        let Err(failure) = followed else { continue };
        if !state.in_force().config.db_pool_automatic_recovery {
            state.reloader.give_up(not_recovered("the listener was lost", &failure));
            return;
        }
        tracing::info!(target: "notice", %failure, "lost the listener; next attempt in {pause_seconds} s");
        tokio::time::sleep(Duration::from_secs(pause_seconds)).await;
        pause_seconds = (pause_seconds * 2).min(RETRY_SECONDS_MAX);
    }
}

/// State of the listener that survives its connections.
#[derive(Default)]
struct Follower {
    /// True if changes may have been missed, so that the schema must be loaded once notifications
    /// arrive.
    has_missed: bool,
    /// True if the last connection reached the point of listening or comparing.
    has_begun: bool,
    /// Fingerprint of a standby's catalogs at the last comparison.
    fingerprint: Option<String>,
}

/// Signal that the standby has not been promoted, and that it is time to look for a primary among
/// the other hosts.
struct SearchAgain;

impl Follower {
    /// Follows changes on a new connection until the connection is lost, or until it is time to
    /// look for a primary again.
    async fn follow(&mut self, state: &State) -> Result<(), Error> {
        let (mut connection, is_primary_elsewhere) = connect(state.pool.config()).await?;
        connection.find_owner().await?;
        if !connection.owns_session() {
            tracing::info!(
                target: "notice",
                "a pooler stands before the database: unless it is in session mode, no notification arrives \
                 (db-channel-enabled = false, and SIGUSR1 for reloads)"
            );
        }
        // Behind a pooler, a prepared statement would remain in the session of another client.
        connection.share_session();
        if is_standby(&mut connection).await? {
            let until = is_primary_elsewhere.then(|| Instant::now() + PRIMARY_SEARCH_INTERVAL);
            if let Err(SearchAgain) = self.compare(state, &mut connection, until).await? {
                return Ok(());
            }
        }
        match self.notified(state, &mut connection).await? {}
    }

    /// Compares a standby's catalogs until it is promoted.
    async fn compare(
        &mut self,
        state: &State,
        connection: &mut Connection,
        until: Option<Instant>,
    ) -> Result<Result<(), SearchAgain>, Error> {
        if self.fingerprint.is_none() {
            tracing::info!(
                target: "notice",
                "The database is a standby, which has no notifications: its schema is compared every {} s",
                STANDBY_POLL_INTERVAL.as_secs()
            );
        }
        // Notifications of the primary do not arrive here.
        self.has_missed = true;
        loop {
            let found = value(connection, FINGERPRINT).await?;
            self.has_begun = true;
            if self.fingerprint.as_ref().is_some_and(|known| *known != found) {
                state.reloader.trigger();
            }
            self.fingerprint = Some(found);
            if until.is_some_and(|until| Instant::now() >= until) {
                return Ok(Err(SearchAgain));
            }
            tokio::time::sleep(STANDBY_POLL_INTERVAL).await;
            if !is_standby(connection).await? {
                self.fingerprint = None;
                tracing::info!(target: "notice", "The standby has been promoted");
                return Ok(Ok(()));
            }
        }
    }

    /// Receives notifications until the connection is lost.
    async fn notified(&mut self, state: &State, connection: &mut Connection) -> Result<Infallible, Error> {
        let mut listen = String::from("LISTEN ");
        let channel = state.in_force().config.db_channel.clone();
        thalweg_sql::quote(&mut listen, &channel);
        connection.execute(&[&listen]).await?;
        tracing::info!(target: "notice", channel, "Listening for notifications");
        if self.has_missed {
            // Notifications that were sent meanwhile are lost.
            state.reloader.trigger();
        }
        (self.has_begun, self.has_missed) = (true, true);
        loop {
            let notification = connection.notification().await?;
            match notification.payload.as_str() {
                "" | "reload schema" => state.reloader.trigger(),
                "reload config" => state.reloader.trigger_config(),
                _ => {}
            }
        }
    }
}

/// Connects to the database, and of several hosts to the primary, which sends notifications.
/// Returns whether there are several hosts and none of them is a primary.
async fn connect(config: &WireConfig) -> Result<(Connection, bool), Error> {
    if config.hosts.len() > 1 {
        let mut primary = config.clone();
        primary.target_session = TargetSession::ReadWrite;
        if let Ok(connection) = Connection::connect(&primary).await {
            return Ok((connection, false));
        }
    }
    Ok((Connection::connect(config).await?, config.hosts.len() > 1))
}

async fn is_standby(connection: &mut Connection) -> Result<bool, Error> {
    Ok(value(connection, "SELECT pg_catalog.pg_is_in_recovery()").await? == "t")
}

/// Returns the single value of a query.
async fn value(connection: &mut Connection, text: &str) -> Result<String, Error> {
    let mut texts = Texts::default();
    connection.run(&[Query::unnamed(text)], &mut texts).await.map_err(Error::from)?;
    Ok(texts.rows.pop().and_then(|row| row.into_iter().next().flatten()).unwrap_or_default())
}

/// Digest of the versions of all catalog rows that the schema cache is made of, except those of
/// temporary tables.
const FINGERPRINT: &str = "
    WITH temporary AS (
      SELECT oid FROM pg_catalog.pg_namespace WHERE nspname LIKE 'pg\\_temp\\_%' OR nspname LIKE 'pg\\_toast\\_temp\\_%'
    ), version (of, at) AS (
      SELECT 1, xmin FROM pg_catalog.pg_class WHERE relpersistence <> 't'
      UNION ALL SELECT 2, a.xmin FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
        WHERE c.relpersistence <> 't' AND a.attnum > 0
      UNION ALL SELECT 3, xmin FROM pg_catalog.pg_type WHERE typnamespace NOT IN (SELECT oid FROM temporary)
      UNION ALL SELECT 4, xmin FROM pg_catalog.pg_constraint WHERE connamespace NOT IN (SELECT oid FROM temporary)
      UNION ALL SELECT 5, xmin FROM pg_catalog.pg_proc
      UNION ALL SELECT 6, xmin FROM pg_catalog.pg_rewrite
      UNION ALL SELECT 7, xmin FROM pg_catalog.pg_policy
      UNION ALL SELECT 8, xmin FROM pg_catalog.pg_trigger
      UNION ALL SELECT 9, xmin FROM pg_catalog.pg_enum
      UNION ALL SELECT 10, xmin FROM pg_catalog.pg_cast
      UNION ALL SELECT 11, xmin FROM pg_catalog.pg_description
      UNION ALL SELECT 12, xmin FROM pg_catalog.pg_auth_members
      UNION ALL SELECT 13, xmin FROM pg_catalog.pg_db_role_setting
      UNION ALL SELECT 14, xmin FROM pg_catalog.pg_namespace WHERE oid NOT IN (SELECT oid FROM temporary)
      UNION ALL SELECT 15, xmin FROM pg_catalog.pg_operator
      UNION ALL SELECT 16, xmin FROM pg_catalog.pg_opclass
      UNION ALL SELECT 17, xmin FROM pg_catalog.pg_language
      UNION ALL SELECT 18, i.xmin FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indrelid
        WHERE c.relpersistence <> 't'
      UNION ALL SELECT 19, i.xmin FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid
        WHERE c.relpersistence <> 't'
      UNION ALL SELECT 20, d.xmin FROM pg_catalog.pg_attrdef d JOIN pg_catalog.pg_class c ON c.oid = d.adrelid
        WHERE c.relpersistence <> 't'
    ), digest (of, rows, sum) AS (
      SELECT of, pg_catalog.count(*), pg_catalog.sum(pg_catalog.hashint8(at::pg_catalog.text::pg_catalog.int8))
      FROM version GROUP BY of
      UNION ALL SELECT 21, pg_catalog.count(*),
        pg_catalog.sum(pg_catalog.hashtext(pg_catalog.concat(rolname, rolsuper, rolinherit, rolbypassrls)))
      FROM pg_catalog.pg_roles
    )
    SELECT pg_catalog.string_agg(of || ':' || rows || ':' || sum, ' ' ORDER BY of) FROM digest";
