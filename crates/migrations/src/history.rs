//! What the database has a record of, and what is left to apply.

use crate::error::{Error, ErrorKind};
use crate::folder::{Folder, Migration};

/// A record of a migration that was applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) name: String,
    pub(crate) sha256: String,
    /// Whether it has run to its end. Only one without a transaction may not have.
    pub(crate) is_finished: bool,
}

/// The migrations that the database has no record of, which must come behind all that it has.
///
/// Records that come behind all files are of a newer version of the site, beside which an older one may run; they are no error.
pub(crate) fn pending<'a>(folder: &'a Folder, records: &[Record]) -> Result<&'a [Migration], Error> {
    let files = folder.migrations();
    let last_file = files.last().map_or("", Migration::name);
    for record in records {
        let Some(file) = files.iter().find(|file| file.name() == record.name) else {
            match *record.name <= *last_file {
                true => return Err(missing(folder, record)),
                false => continue,
            }
        };
        match record {
            Record { is_finished: false, .. } => return Err(unfinished(file)),
            Record { sha256, .. } if sha256 != file.sha256() => return Err(changed(file, sha256)),
            _ => {}
        }
    }
    let last_record = records.iter().map(|record| record.name.as_str()).max().unwrap_or_default();
    let is_recorded = |file: &Migration| records.iter().any(|record| record.name == file.name());
    let first = files.iter().position(|file| !is_recorded(file)).unwrap_or(files.len());
    match files.get(first).filter(|file| file.name() < last_record) {
        Some(file) => Err(late(file, last_record)),
        None => Ok(&files[first..]),
    }
}

fn missing(folder: &Folder, record: &Record) -> Error {
    let (name, folder) = (&record.name, folder.path.display());
    let what = format!("{name} has been applied, and is not in {folder}");
    error(what, &format!("put it back; or, if the database shall forget it:\n  {}", forget(name)))
}

fn changed(file: &Migration, recorded: &str) -> Error {
    const DIGITS: usize = 12;
    let short = |sha256: &str| sha256.chars().take(DIGITS).collect::<String>();
    let (path, then, now) = (file.path().display(), short(recorded), short(file.sha256()));
    let what = format!("{path} has changed since it was applied (SHA-256 was {then}…, is {now}…)");
    let how = "what it did is not done again: change it back, and write what is to change into a new file; or, if it comes to the same";
    let (name, sha256) = (literal(file.name()), file.sha256());
    error(what, &format!("{how}:\n  update thalweg.migrations set sha256 = '{sha256}' where name = {name};"))
}

fn late(file: &Migration, last: &str) -> Error {
    let what = format!("{} is new, but comes before {last}, which has been applied", file.path().display());
    error(what, "name it so that it comes behind: a new database would run them in another order than this one did")
}

fn unfinished(file: &Migration) -> Error {
    let what = format!("{} runs without a transaction, and has not run to its end", file.path().display());
    let name = literal(file.name());
    let how = "if it is not running still, see what it has done (an index may be left invalid), and either do the rest by hand";
    let done = format!("update thalweg.migrations set duration = interval '0' where name = {name};");
    error(what, &format!("{how}:\n  {done}\nor undo it, to have it run again:\n  {}", forget(file.name())))
}

fn error(what: String, how: &str) -> Error {
    Error::new(ErrorKind::History, format!("{what}; {how}"))
}

fn forget(name: &str) -> String {
    format!("delete from thalweg.migrations where name = {};", literal(name))
}

/// A name as somebody would write it into a statement.
fn literal(name: &str) -> String {
    format!("'{}'", name.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is pending of files, each with its name as its text, where these are recorded.
    fn pending_of(files: &[&str], records: &[&str]) -> Result<Vec<String>, String> {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(format!("{name}.sql"));
        // as they were when they were applied
        records.iter().for_each(|name| std::fs::write(path(name), name).unwrap());
        let then = Folder::read(directory.path()).unwrap();
        let mut records: Vec<Record> = then.migrations().iter().map(finished).collect();
        records.reverse();
        std::fs::remove_dir_all(directory.path()).unwrap();
        std::fs::create_dir(directory.path()).unwrap();
        files.iter().for_each(|name| std::fs::write(path(name), name).unwrap());
        let folder = Folder::read(directory.path()).unwrap();
        let pending = pending(&folder, &records).map_err(|error| error.to_string())?;
        Ok(pending.iter().map(|file| file.name().trim_end_matches(".sql").to_owned()).collect())
    }

    fn finished(file: &Migration) -> Record {
        Record { name: file.name().to_owned(), sha256: file.sha256().to_owned(), is_finished: true }
    }

    #[test]
    fn what_is_pending_comes_behind_what_was_applied() {
        for (files, records, expected) in [
            (&[][..], &[][..], &[][..]),
            (&["1", "2"], &[], &["1", "2"]),
            (&["1", "2", "3"], &["1"], &["2", "3"]),
            (&["1", "2"], &["1", "2"], &[]),
            // an older version of the site, started beside a newer one
            (&["1"], &["1", "2"], &[]),
            (&[], &["1"], &[]),
        ] {
            assert_eq!(pending_of(files, records).unwrap(), expected, "{files:?} {records:?}");
        }
        for (files, records, said) in [
            (&["1", "2", "3"][..], &["1", "3"][..], "2.sql is new, but comes before 3.sql"),
            (&["1", "3"], &["1", "2"], "2.sql has been applied, and is not in"),
        ] {
            let refused = pending_of(files, records).unwrap_err();
            assert!(refused.contains(said), "{refused}");
        }
    }

    #[test]
    fn a_file_stays_what_was_applied() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("1'.sql"), "b").unwrap();
        let folder = Folder::read(directory.path()).unwrap();
        let record = finished(&folder.migrations()[0]);
        let changed = Record { sha256: "0123456789abcdef".to_owned(), ..record.clone() };
        let said = pending(&folder, &[changed]).unwrap_err().to_string();
        assert!(
            said.contains("1'.sql has changed since it was applied (SHA-256 was 0123456789ab…, is 3e23e8160039…)"),
            "{said}"
        );
        assert!(said.ends_with("where name = '1''.sql';"), "{said}");
        let unfinished = Record { is_finished: false, ..record };
        let said = pending(&folder, &[unfinished]).unwrap_err().to_string();
        assert!(said.contains("has not run to its end"), "{said}");
    }
}
