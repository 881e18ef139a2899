//! The folder of a site: its configuration, its pages, its schema, and the data of its own PostgreSQL.

use crate::serve::Unsaid;
use std::error::Error;
use std::path::{Path, PathBuf};
use thalweg_migrations::{Folder, Migration};
use thalweg_server::{Config, Sources};

/// A site's folder.
pub(crate) struct Site {
    directory: PathBuf,
}

impl Site {
    /// The site of a directory.
    pub(crate) fn at(directory: &Path) -> Self {
        Self { directory: directory.to_owned() }
    }

    /// The file that configures it.
    pub(crate) fn configuration(&self) -> PathBuf {
        self.directory.join("thalweg.conf")
    }

    /// Where its own PostgreSQL keeps its data: with the site, so that two sites never meet in one database.
    pub(crate) fn data_dir(&self) -> PathBuf {
        self.directory.join(".thalweg")
    }

    /// Where its pages are, if it has any; what its configuration says is seen from its folder.
    pub(crate) fn pages(&self, said: Option<PathBuf>) -> Option<PathBuf> {
        let usual = || Some(self.directory.join("pages")).filter(|pages| pages.is_dir());
        said.map_or_else(usual, |said| Some(self.directory.join(said)))
    }

    /// Its migrations.
    pub(crate) fn migrations(&self) -> Result<Folder, thalweg_migrations::Error> {
        Folder::read(&self.directory.join("schema"))
    }
}

/// Applies a folder's migrations to the database of a configuration.
pub(crate) fn apply(migrations: &Folder, config: &Config) -> Result<usize, Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(migrations.apply(config.db_uri.as_deref().unwrap_or("postgresql://")))?)
}

/// Returns the differences between the migrations of a folder and those that have been applied.
pub(crate) fn difference(applied: &Folder) -> Option<String> {
    let now = match Folder::read(applied.path()) {
        Ok(now) => now,
        Err(error) => return Some(error.to_string()),
    };
    let find = |folder: &Folder, name: &str| {
        let known = folder.migrations().iter().find(|known| known.name() == name);
        known.map(|known| known.sha256().to_owned())
    };
    let mut notes = Vec::new();
    for migration in now.migrations() {
        let path = migration.path().display();
        match find(applied, migration.name()) {
            None => notes.push(format!("{path} has not been applied. Stop the server and start it again.")),
            Some(sha256) if sha256 != migration.sha256() => {
                notes.push(format!("{path} has changed since it was applied. Change it back and write a new file."));
            }
            Some(_) => {}
        }
    }
    let is_gone = |migration: &&Migration| find(&now, migration.name()).is_none();
    notes.extend(
        applied
            .migrations()
            .iter()
            .filter(is_gone)
            .map(|migration| format!("{} was applied and is gone. Put it back.", migration.path().display())),
    );
    (!notes.is_empty()).then(|| notes.join("\n"))
}

/// `thalweg migrate`
pub(crate) fn migrate(directory: &Path, data_dir: Option<PathBuf>) -> Result<(), Box<dyn Error>> {
    let site = Site::at(directory);
    let mut config = Sources::of_process(Some(&site.configuration()))?.read()?;
    thalweg_server::start_logging(&config);
    let migrations = site.migrations()?;
    let data_dir = Some(data_dir.unwrap_or_else(|| site.data_dir()));
    let cluster = Unsaid::Cluster { data_dir }.cluster(&mut config)?;
    let applied = apply(&migrations, &config)?;
    let known = migrations.migrations().len() - applied;
    thalweg_server::print(format_args!("Migrations applied: {applied}, applied before: {known}"));
    cluster.map_or(Ok(()), |cluster| Ok(cluster.stop()?))
}
