//! Migrations on a real PostgreSQL.

mod applying;
mod failing;

use std::fs;
use thalweg_migrations::{Error, Folder};
use thalweg_testkit::Database;

/// A folder of migrations that is this test's alone.
struct Site(tempfile::TempDir);

impl Site {
    fn new(files: &[(&str, &str)]) -> Self {
        let site = Self(tempfile::tempdir().expect("a directory"));
        files.iter().for_each(|(name, text)| site.write(name, text));
        site
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.path().join(name), text).expect("a file is written");
    }

    fn remove(&self, name: &str) {
        fs::remove_file(self.0.path().join(name)).expect("the file is there");
    }

    async fn apply(&self, uri: &str) -> Result<usize, Error> {
        Folder::read(self.0.path())?.apply(uri).await
    }
}

/// What the database has a record of.
fn applied(database: &Database) -> String {
    database.value("select string_agg(name, ', ' order by name) from thalweg.migrations where duration is not null")
}
