//! The files of a folder, in order.

use crate::error::{Error, ErrorKind, Place};
use crate::statements::{Fault, statements};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// How large a file may be.
pub const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// How large all of them may be together.
pub const FOLDER_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// How many there may be.
pub const FILES_MAX: usize = 10_000;

/// What a first line begins with that says how a file is to be run.
const DIRECTIVE: &str = "-- thalweg:";
const NO_TRANSACTION: &str = "no transaction";

/// The migrations of a folder, in the order of their names.
#[derive(Debug)]
pub struct Folder {
    pub(crate) path: PathBuf,
    migrations: Vec<Migration>,
}

/// A file of SQL.
#[derive(Debug)]
pub struct Migration {
    name: String,
    path: PathBuf,
    text: String,
    sha256: String,
    in_transaction: bool,
    statements: Vec<Range<usize>>,
}

impl Folder {
    /// Reads the files of a folder whose names end in `.sql` and do not begin with a dot. One that does not exist has none.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let mut migrations = Vec::new();
        let mut bytes = 0;
        for name in names(path)? {
            let migration = Migration::read(path, name)?;
            bytes += migration.text.len() as u64;
            if bytes > FOLDER_BYTES_MAX {
                let what = format!("the files of {} have more than {FOLDER_BYTES_MAX} bytes together", path.display());
                return Err(Error::new(ErrorKind::Folder, what));
            }
            migrations.push(migration);
        }
        Ok(Self { path: path.to_owned(), migrations })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The migrations, in the order in which they are applied.
    pub fn migrations(&self) -> &[Migration] {
        &self.migrations
    }
}

impl Migration {
    fn read(folder: &Path, name: String) -> Result<Self, Error> {
        let path = folder.join(&name);
        let text = text_of(&path)?;
        let fault = |Fault { at, what }| {
            let character = text[..at].chars().count();
            Error::file(&Place::of(&path, &text, character), what)
        };
        let statements = statements(&text).map_err(fault)?;
        let in_transaction = in_transaction(&text).map_err(fault)?;
        let sha256 = Sha256::digest(&text).iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        });
        Ok(Self { name, path, text, sha256, in_transaction, statements })
    }

    /// The file's name, without its folder.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The SHA-256 of the file, in hexadecimal digits.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Whether it runs in one transaction, together with its record.
    pub fn in_transaction(&self) -> bool {
        self.in_transaction
    }

    /// Its statements, each with where it begins.
    pub(crate) fn statements(&self) -> impl Iterator<Item = (usize, &str)> {
        self.statements.iter().map(|range| (range.start, &self.text[range.clone()]))
    }

    /// The place of a character of the statement that begins at a byte.
    pub(crate) fn place(&self, statement: usize, character: usize) -> Place {
        Place::of(&self.path, &self.text, self.text[..statement].chars().count() + character)
    }
}

/// The names of the files, in order.
fn names(folder: &Path) -> Result<Vec<String>, Error> {
    let failed = |cause| Error::io("cannot read", folder, cause);
    let entries = match fs::read_dir(folder) {
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let shown = name.to_string_lossy();
        if !shown.ends_with(".sql") || shown.starts_with('.') || !entry.path().is_file() {
            continue;
        }
        let Some(name) = name.to_str() else {
            let what = format!("{}: the name of a migration must be text in UTF-8", entry.path().display());
            return Err(Error::new(ErrorKind::Folder, what));
        };
        names.push(name.to_owned());
        if names.len() > FILES_MAX {
            let what = format!("{} has more than {FILES_MAX} migrations", folder.display());
            return Err(Error::new(ErrorKind::Folder, what));
        }
    }
    names.sort_unstable();
    let numbered: Vec<&String> = names.iter().filter(|name| number(name).is_some()).collect();
    if let Some(pair) = numbered.windows(2).find(|pair| number(pair[0]) > number(pair[1])) {
        let what = format!("{}: {} comes before {}, by character", folder.display(), pair[0], pair[1]);
        let how = "their numbers say otherwise: write all of them with as many digits";
        return Err(Error::new(ErrorKind::Folder, format!("{what}; {how}")));
    }
    Ok(names)
}

/// The number that a name begins with, without the zeros before it: its length comes first, so that numbers may be long.
fn number(name: &str) -> Option<(usize, &str)> {
    let end = name.find(|c: char| !c.is_ascii_digit()).unwrap_or(name.len());
    let digits = name[..end].trim_start_matches('0');
    (end > 0).then_some((digits.len(), digits))
}

fn text_of(path: &Path) -> Result<String, Error> {
    let failed = |cause| Error::io("cannot read", path, cause);
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(failed)?;
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        let what = format!("{}: a migration of at most {FILE_BYTES_MAX} bytes is needed", path.display());
        return Err(Error::new(ErrorKind::Folder, what));
    }
    let what = format!("{}: text in UTF-8 is needed", path.display());
    // what some editors begin a file with is none of its text
    let text = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes);
    str::from_utf8(text).map(str::to_owned).map_err(|_| Error::new(ErrorKind::Folder, what))
}

fn in_transaction(text: &str) -> Result<bool, Fault> {
    let Some(said) = text.lines().next().and_then(|line| line.strip_prefix(DIRECTIVE)) else { return Ok(true) };
    match said.trim() {
        NO_TRANSACTION => Ok(false),
        _ => Err(Fault { at: 0, what: "of what a first line may say is only `-- thalweg: no transaction` known" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> (tempfile::TempDir, Result<Folder, Error>) {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(directory.path().join(name), text).unwrap();
        }
        let read = Folder::read(directory.path());
        (directory, read)
    }

    fn refused(files: &[(&str, &str)]) -> String {
        let (directory, read) = folder(files);
        let path = format!("{}/", directory.path().display());
        read.unwrap_err().to_string().replace(&path, "")
    }

    #[test]
    fn files_come_in_the_order_of_their_names() {
        let (directory, read) = folder(&[
            ("010-c.sql", ""),
            ("002-b.sql", "b"),
            ("x.sql", ""),
            (".sql", "\\"),
            ("README.md", "\\"),
            ("002-a.sql", ""),
        ]);
        let read = read.unwrap();
        let names: Vec<&str> = read.migrations().iter().map(Migration::name).collect();
        assert_eq!(names, ["002-a.sql", "002-b.sql", "010-c.sql", "x.sql"]);
        let b = "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d";
        assert_eq!((read.migrations()[1].sha256(), read.migrations()[1].in_transaction()), (b, true));
        let none = Folder::read(&directory.path().join("none")).unwrap();
        assert!(none.migrations().is_empty());
    }

    #[test]
    fn numbers_that_say_another_order_are_an_error() {
        let said = refused(&[("10-b.sql", ""), ("9-a.sql", "")]);
        assert!(said.contains("10-b.sql comes before 9-a.sql, by character"), "{said}");
        let long = "9".repeat(30);
        let (_kept, read) = folder(&[("00-a.sql", ""), ("1-b.sql", ""), (&format!("{long}.sql"), ""), ("a1.sql", "")]);
        assert!(read.is_ok());
    }

    #[test]
    fn faults_name_their_place() {
        for (text, said) in [
            ("select 'ä';\n  \\echo", "1.sql:2:3: commands of psql's"),
            ("select 1;\ncommit;", "1.sql:2:1: a migration cannot begin or end a transaction"),
            ("-- thalweg: no-transaction\n", "1.sql:1:1: of what a first line may say"),
        ] {
            let refused = refused(&[("1.sql", text)]);
            assert!(refused.starts_with(said), "{refused}");
        }
        let (_kept, read) = folder(&[("1.sql", "-- thalweg: no transaction\r\nselect 1")]);
        assert!(!read.unwrap().migrations()[0].in_transaction());
    }

    #[test]
    fn a_file_is_text_and_has_a_bound() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("1.sql");
        fs::write(&path, b"\xff").unwrap();
        assert!(Folder::read(directory.path()).unwrap_err().to_string().ends_with("text in UTF-8 is needed"));
        let blanks = |bytes| fs::write(&path, " ".repeat(bytes)).unwrap();
        blanks(FILE_BYTES_MAX as usize);
        assert!(Folder::read(directory.path()).is_ok());
        blanks(FILE_BYTES_MAX as usize + 1);
        assert_eq!(Folder::read(directory.path()).unwrap_err().kind(), ErrorKind::Folder);
    }
}
