//! Reading the configuration again while the server runs (operations §§3, 5).

use super::{Config, ConfigError, InForce, Sources, database};
use crate::state::State;
use std::sync::{Arc, PoisonError};
use thalweg_wire::Connection;

/// What of the configuration is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// What the database says: the sources have been read just now.
    First,
    /// The sources, and what the database says, because somebody asked for it.
    Asked,
    /// The same, if the database is asked for configuration at all: it comes with each load of the schema cache.
    WithSchema,
}

/// Reads it, and puts it in force if it is another. One that is wrong is an error at the start, and is dropped later. Without a
/// connection the database counts for what it said last.
pub(crate) async fn reread(
    state: &State,
    reading: Reading,
    connection: Option<&mut Connection>,
) -> Result<(), ConfigError> {
    let current = state.in_force();
    if reading == Reading::WithSchema && !current.config.db_config {
        return Ok(());
    }
    let read = read(state, reading, connection).await.and_then(|config| match config == current.config {
        true => Ok(None),
        false => InForce::new(config).map(Some),
    });
    match read {
        Ok(next) => {
            let is_new = next.is_some();
            if let Some(next) = next {
                for warning in next.warnings().iter().filter(|_| reading != Reading::First) {
                    tracing::info!(target: "notice", "{warning}");
                }
                state.put_in_force(Arc::new(next));
            }
            if reading == Reading::Asked {
                // what the configuration names is read again, be it a file or an issuer's keys
                state.issuer.ask();
            }
            if reading == Reading::Asked || is_new && reading == Reading::WithSchema {
                tracing::info!(target: "notice", "Config reloaded");
            }
            Ok(())
        }
        Err(error) if reading == Reading::First => Err(error),
        Err(error) => {
            tracing::info!(target: "notice", "Failed reloading config: {error}");
            Ok(())
        }
    }
}

async fn read(state: &State, reading: Reading, connection: Option<&mut Connection>) -> Result<Config, ConfigError> {
    let base = match &state.sources {
        Some(sources) if reading != Reading::First => of_sources(sources.clone()).await?.after_start(&state.start),
        Some(_) | None => state.start.clone(),
    };
    if !base.db_config {
        return Ok(base);
    }
    let known = || state.settings.lock().unwrap_or_else(PoisonError::into_inner);
    let mut said = known().clone();
    if let Some(connection) = connection {
        said.ask(&base, connection, reading).await?;
    }
    let config = said.over(&base)?.after_start(&state.start);
    *known() = said;
    Ok(config)
}

/// What the sources say. A pipe among them may take its time, in which no request is to wait for a worker.
async fn of_sources(sources: Sources) -> Result<Config, ConfigError> {
    let read = tokio::task::spawn_blocking(move || sources.read()).await;
    read.unwrap_or_else(|panic| Err(ConfigError::new(panic.to_string())))
}

/// What the sources say with what the database says to it, for who only looks at it. Where the database does not answer, it says
/// nothing, and that is logged.
pub(crate) async fn said_by_database(base: Config, connection: &mut Connection) -> Result<Config, ConfigError> {
    let mut said = DatabaseSettings::default();
    said.ask(&base, connection, Reading::First).await?;
    Ok(said.over(&base)?.after_start(&base))
}

/// What the database says of the configuration, by key.
#[derive(Clone, Default)]
pub(crate) struct DatabaseSettings {
    of_function: Vec<(String, String)>,
    of_role: Vec<(String, String)>,
}

impl DatabaseSettings {
    /// Asks for all of it. Of what is not answered counts what was said last: a pre-request function or an audience that the
    /// function sets must not go because it fails. At the start nothing was said, and a function is waited for that waits for
    /// a lock.
    async fn ask(&mut self, base: &Config, connection: &mut Connection, reading: Reading) -> Result<(), ConfigError> {
        match database::of_role(connection).await {
            Ok(of_role) => self.of_role = of_role,
            Err(error) => {
                tracing::info!(target: "notice", %error, "the database's configuration was not read");
                return Ok(());
            }
        }
        let Some(function) = base.with_settings(&self.of_role)?.db_pre_config else {
            self.of_function.clear();
            return Ok(());
        };
        let waits = reading == Reading::First;
        match database::of_function(connection, &function, &Config::keys_in_database(), waits).await {
            Ok(of_function) => self.of_function = of_function,
            Err(error) => {
                let counts = if waits { "nothing" } else { "what it has set before" };
                tracing::info!(target: "notice", %error, counts, "the function of db-pre-config failed");
            }
        }
        Ok(())
    }

    /// A configuration over which it wins: of the same key the role's setting counts.
    fn over(&self, base: &Config) -> Result<Config, ConfigError> {
        base.with_settings(&[self.of_function.as_slice(), &self.of_role].concat())
    }
}
