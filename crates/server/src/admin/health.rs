//! Whether the server lives, and whether it can answer requests.

use super::{LastLoad, Vitals};
use crate::state::State;
use hyper::StatusCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use thalweg_wire::{Config as WireConfig, Connection, Error};
use tokio::sync::Mutex;

/// How long the database may take to answer that it is there.
const PROBE_TIME_MAX: Duration = Duration::from_secs(3);
/// How long its answer counts, however often one asks.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);

/// The last probe of the database.
#[derive(Default)]
pub(super) struct Database {
    /// Time at which the probe ended, and true if the database answered.
    probed: Mutex<Option<(Instant, bool)>>,
}

impl Vitals {
    /// 200 where clients can connect, and what accepts them runs.
    pub(super) fn live(&self) -> StatusCode {
        // a socket whose file is gone is open to nobody
        let is_found = self.socket.get().is_none_or(|path| path.as_os_str().is_empty() || path.exists());
        match self.accepts.load(Ordering::Relaxed) && is_found {
            true => StatusCode::OK,
            false => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

impl Database {
    /// 200 where requests can be answered.
    pub(super) async fn ready(&self, state: &State) -> StatusCode {
        let is_loaded = state.snapshot.load().is_some() && *state.vitals.last_load.borrow() == LastLoad::Succeeded;
        match is_loaded && !self.is_away(state).await {
            true => state.vitals.live(),
            false => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    async fn is_away(&self, state: &State) -> bool {
        // A connected listener would not prove that the database answers: a PostgreSQL that was
        // stopped keeps its connections, and a standby has no notifications. Requests that arrive
        // during a probe wait for its result.
        let mut probed = self.probed.lock().await;
        if let Some((at, answers)) = *probed
            && at.elapsed() < PROBE_INTERVAL
        {
            return !answers;
        }
        // The probe has a connection of its own, because a busy pool does not mean that the
        // database is away.
        let probe = tokio::time::timeout(PROBE_TIME_MAX, probe(state.pool.config()));
        let answers = match probe.await {
            Ok(Ok(())) => true,
            // PostgreSQL refused the probe because all its connections are in use, so it is not
            // away.
            Ok(Err(error)) => error.code() == Some(TOO_MANY_CONNECTIONS),
            Err(_) => false,
        };
        *probed = Some((Instant::now(), answers));
        !answers
    }
}

/// SQLSTATE with which PostgreSQL refuses a connection because all that it allows are in use.
const TOO_MANY_CONNECTIONS: &str = "53300";

async fn probe(config: &WireConfig) -> Result<(), Error> {
    let mut connection = Connection::connect(config).await?;
    // behind a pooler nothing is left in somebody's session
    connection.share_session();
    connection.execute(&["SELECT 1"]).await?;
    connection.terminate().await;
    Ok(())
}
