//! PostgreSQL's programs on this machine.

use crate::error::Error;
use crate::fetch;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The major versions that will do.
pub(crate) const VERSIONS: RangeInclusive<u32> = 14..=18;

/// A directory with `postgres`, `initdb` and `pg_ctl`.
#[derive(Debug, Clone)]
pub(crate) struct Binaries {
    pub(crate) directory: PathBuf,
    pub(crate) major: u32,
}

impl Binaries {
    /// Those of the wanted version, or the newest: on the machine, else fetched. `THALWEG_POSTGRES` names a
    /// directory to use, or says `fetch` to use the published binaries even where others are installed.
    pub(crate) fn find(wanted: Option<u32>) -> Result<Self, Error> {
        let chosen = std::env::var("THALWEG_POSTGRES").ok().filter(|value| !value.is_empty());
        let found = match chosen.as_deref() {
            Some("fetch") => None,
            Some(directory) => {
                let only = Self::at(Path::new(directory));
                return only.filter(|found| wanted.is_none_or(|major| found.major == major)).ok_or_else(|| {
                    let version = wanted.map_or_else(|| "14 to 18".to_owned(), |major| major.to_string());
                    Error::new(format!("THALWEG_POSTGRES={directory} holds no PostgreSQL {version}"))
                });
            }
            None => Self::installed(wanted),
        };
        if let Some(found) = found {
            return Ok(found);
        }
        match wanted {
            Some(major) if major != fetch::MAJOR => Err(Error::new(format!(
                "the cluster was made by PostgreSQL {major}, which is not installed; install it, or start with --fresh"
            ))),
            _ => {
                let directory = fetch::fetched()?;
                Self::at(&directory).ok_or_else(|| {
                    Error::new(format!(
                        "the fetched PostgreSQL in {} does not run on this machine",
                        directory.display()
                    ))
                })
            }
        }
    }

    fn installed(wanted: Option<u32>) -> Option<Self> {
        let fits = |found: &Self| VERSIONS.contains(&found.major) && wanted.is_none_or(|major| found.major == major);
        candidates().iter().filter_map(|directory| Self::at(directory)).filter(fits).max_by_key(|found| found.major)
    }

    fn at(directory: &Path) -> Option<Self> {
        let complete = ["postgres", "initdb", "pg_ctl"].iter().all(|program| directory.join(program).is_file());
        if !complete {
            return None;
        }
        let output = Command::new(directory.join("postgres")).arg("--version").stderr(Stdio::null()).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        let version = text.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
        let digits: String = version.chars().take_while(char::is_ascii_digit).collect();
        Some(Self { directory: directory.to_owned(), major: digits.parse().ok()? })
    }
}

/// Where distributions and people put them.
fn candidates() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default();
    found.push("/usr/local/pgsql/bin".into());
    for (parent, below) in [
        ("/usr/lib/postgresql", "bin"),
        ("/opt/homebrew/opt", "bin"),
        ("/usr/local/opt", "bin"),
        ("/usr", "bin"),
        ("/Library/PostgreSQL", "bin"),
        ("/Applications/Postgres.app/Contents/Versions", "bin"),
    ] {
        let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
        found.extend(entries.filter(|entry| named_for_postgres(&entry.file_name())).map(|e| e.path().join(below)));
    }
    found
}

/// `15`, `pgsql-16`, `postgresql@17` …
fn named_for_postgres(name: &std::ffi::OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with("pgsql") || name.starts_with("postgresql") || name.chars().all(|c| c.is_ascii_digit() || c == '.')
}
