//! Where a configuration is read from, at the start and again at each reload (operations §§1, 5).

use super::values::{PREFIXES, Values};
use super::{Config, ConfigError, file};
use std::path::{Path, PathBuf};

/// Variables that say where to find PostgreSQL.
const NOT_OF_SERVER: [&str; 2] = ["THALWEG_POSTGRES", "THALWEG_MAVEN_URL"];

/// A file and an environment. The environment is that of the start: it cannot change.
#[derive(Clone, PartialEq, Eq)]
pub struct Sources {
    file: Option<PathBuf>,
    environment: Vec<(String, String)>,
}

impl Sources {
    /// A file, if there is one, and variables. `THALWEG_*` wins over `PGRST_*`, which wins over the file.
    pub fn new(file: Option<&Path>, environment: impl Iterator<Item = (String, String)>) -> Self {
        let is_meant = |variable: &str| PREFIXES.iter().any(|prefix| variable.starts_with(prefix));
        let environment = environment.filter(|(variable, _)| is_meant(variable)).collect();
        Self { file: file.map(Path::to_owned), environment }
    }

    /// The same with the process's environment.
    pub fn of_process(file: Option<&Path>) -> Result<Self, ConfigError> {
        let mut environment = Vec::new();
        for (variable, value) in std::env::vars_os() {
            match (variable.into_string(), value.into_string()) {
                (Ok(variable), Ok(value)) => environment.push((variable, value)),
                (Ok(variable), Err(_)) if PREFIXES.iter().any(|prefix| variable.starts_with(prefix)) => {
                    return Err(ConfigError::new(format!("{variable}: text in UTF-8 is needed")));
                }
                // what is not text is not meant for the server
                _ => {}
            }
        }
        Ok(Self::new(file, environment.into_iter()))
    }

    /// Whether there is a file, or a variable.
    pub fn say_something(&self) -> bool {
        let is_of_server = |(variable, _): &(String, String)| !NOT_OF_SERVER.contains(&variable.as_str());
        self.file.is_some() || self.environment.iter().any(is_of_server)
    }

    /// Reads them, and the files that they name.
    pub fn read(&self) -> Result<Config, ConfigError> {
        let entries = self.file.as_deref().map(file::read).transpose()?.unwrap_or_default();
        let config = Config::from_values(&Values::new(entries, self.environment.iter().cloned()))?;
        config.check()?;
        Ok(config)
    }
}

impl std::fmt::Debug for Sources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // values may be secrets
        f.debug_struct("Sources").field("file", &self.file).finish_non_exhaustive()
    }
}
