//! What is in a folder of static files, with a bound on everything.

use super::{StaticError, name};
use crate::opened_file::Version;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// How many files and folders there may be.
const FILES_MAX: usize = 10_000;
/// How many folders may be within each other.
const FOLDERS_DEEP_MAX: usize = 16;

/// A file.
pub(super) struct Entry {
    /// From the folder on, with `/` between folders.
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) version: Version,
}

/// The files of a folder and those within it. What begins with a dot is left out, and what has gone when it is looked at.
pub(super) fn list(folder: &Path) -> Result<Vec<Entry>, StaticError> {
    let mut listing = Listing { entries: Vec::new(), seen: 0 };
    listing.folder(folder, "", 0)?;
    Ok(listing.entries)
}

struct Listing {
    entries: Vec<Entry>,
    seen: usize,
}

impl Listing {
    fn folder(&mut self, folder: &Path, name: &str, depth: usize) -> Result<(), StaticError> {
        let Some(entries) = if_there(fs::read_dir(folder), name)? else { return Ok(()) };
        for entry in entries {
            let entry = entry.map_err(|error| StaticError::io(name, error))?;
            let found = entry.file_name();
            let file = match name {
                "" => found.to_string_lossy().into_owned(),
                folder => format!("{folder}/{}", found.to_string_lossy()),
            };
            let Some(found) = found.to_str().filter(|found| name::is_part(found) || found.starts_with('.')) else {
                let why = "the name is not UTF-8, or has a backslash or a control character, and no URL could name it";
                return Err(StaticError::new(&file, why));
            };
            if found.starts_with('.') {
                continue;
            }
            self.seen += 1;
            if self.seen > FILES_MAX {
                return Err(StaticError::new(name, format!("a site has at most {FILES_MAX} static files and folders")));
            }
            self.entry(&entry, file, depth)?;
        }
        Ok(())
    }

    fn entry(&mut self, entry: &fs::DirEntry, name: String, depth: usize) -> Result<(), StaticError> {
        // of a link, what it is itself
        let Some(metadata) = if_there(entry.metadata(), &name)? else { return Ok(()) };
        if metadata.is_dir() {
            if depth == FOLDERS_DEEP_MAX {
                let why = format!("at most {FOLDERS_DEEP_MAX} folders are within each other");
                return Err(StaticError::new(&name, why));
            }
            return self.folder(&entry.path(), &name, depth + 1);
        }
        if !metadata.is_file() {
            return Err(StaticError::new(&name, "only files and folders are read, no links and no devices"));
        }
        self.entries.push(Entry { name, path: entry.path(), version: Version::of(&metadata) });
        Ok(())
    }
}

/// What was found, if it was there to be looked at: files come and go while a site is worked on.
pub(super) fn if_there<T>(found: io::Result<T>, name: &str) -> Result<Option<T>, StaticError> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StaticError::io(name, error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

    fn names(folder: &Path) -> Result<Vec<String>, String> {
        let entries = list(folder).map_err(|error| error.to_string())?;
        let mut names: Vec<_> = entries.into_iter().map(|entry| entry.name).collect();
        names.sort();
        Ok(names)
    }

    #[test]
    fn files_are_named_from_the_folder_on_and_dot_files_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("a b/c")).unwrap();
        fs::create_dir(at(".git")).unwrap();
        for name in ["style.css", "a b/c/ä%.svg", ".env", ".git/config", "a b/.hidden", "a b/c/x..y"] {
            fs::write(at(name), name).unwrap();
        }
        symlink("/etc/passwd", at(".link")).unwrap();
        assert_eq!(names(folder.path()).unwrap(), ["a b/c/x..y", "a b/c/ä%.svg", "style.css"]);
        assert_eq!(names(&at("nowhere")).unwrap(), [""; 0]);
        assert!(names(&at("style.css")).is_err());
    }

    #[test]
    fn links_and_names_that_no_url_has_are_refused() {
        for (name, target) in [("out", "/etc"), ("passwd", "/etc/passwd"), ("in", "style.css"), ("dangling", "gone")] {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join("style.css"), "").unwrap();
            symlink(target, folder.path().join(name)).unwrap();
            let error = names(folder.path()).unwrap_err();
            assert_eq!(error, format!("static/{name}: only files and folders are read, no links and no devices"));
        }
        for name in [&b"a\\b"[..], b"a\nb", b"\xff", b"\x7f"] {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join(OsStr::from_bytes(name)), "").unwrap();
            assert!(names(folder.path()).unwrap_err().contains("no URL could name it"));
        }
    }

    #[test]
    fn depth_and_number_have_a_bound() {
        let folder = tempfile::tempdir().unwrap();
        let deepest = folder.path().join(["d"; FOLDERS_DEEP_MAX].join("/"));
        fs::create_dir_all(&deepest).unwrap();
        fs::write(deepest.join("file"), "").unwrap();
        assert_eq!(names(folder.path()).unwrap().len(), 1);
        fs::create_dir(deepest.join("d")).unwrap();
        assert!(names(folder.path()).unwrap_err().ends_with("at most 16 folders are within each other"));

        let folder = tempfile::tempdir().unwrap();
        (0..FILES_MAX).for_each(|at| drop(fs::File::create(folder.path().join(at.to_string())).unwrap()));
        assert_eq!(names(folder.path()).unwrap().len(), FILES_MAX);
        fs::write(folder.path().join("more"), "").unwrap();
        assert_eq!(names(folder.path()).unwrap_err(), "static/: a site has at most 10000 static files and folders");
    }
}
