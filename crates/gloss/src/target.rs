//! Where a dictionary is written: looked at before it is built, and written whole or not at all.

use crate::error::{Error, ErrorKind};
use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A place where a dictionary may be written.
#[derive(Debug)]
pub struct Target {
    /// As it was asked for.
    path: PathBuf,
    /// What that leads to through links.
    file: PathBuf,
    folder: PathBuf,
}

/// Links that lead to links.
const LINKS_MAX: usize = 40;

/// A new file may be read and written by all to whom the process's mask leaves it.
const MODE: u32 = 0o666;

impl Target {
    /// Looks at a place before something is built for it, which takes long. Links are followed.
    ///
    /// # Errors
    ///
    /// If there is something that is no file, or one of the sources that the dictionary is built from, or if nothing can be written there.
    pub fn new(path: &Path, sources: &[&Path]) -> Result<Target, Error> {
        let failed = |cause| cannot_be_written(path).because(cause);
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => {}
            Ok(_) => return Err(failed(io::Error::other("there is something that is no file"))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        let file = followed(path).map_err(failed)?;
        if file.file_name().is_none() {
            return Err(failed(io::Error::other("it is no name of a file")));
        }
        if let Ok(target) = fs::canonicalize(&file)
            && sources.iter().any(|source| fs::canonicalize(source).is_ok_and(|source| source == target))
        {
            return Err(failed(io::Error::other("it is one of the sources")));
        }
        let folder = match file.parent() {
            Some(folder) if folder != Path::new("") => folder.to_owned(),
            _ => PathBuf::from("."),
        };
        // it has no name, and nothing is left of it
        tempfile::tempfile_in(&folder).map_err(failed)?;
        Ok(Target { path: path.to_owned(), file, folder })
    }

    /// Writes a file beside the one that is there, and puts it in its place: until then that is there, and it stays for those who have
    /// it open.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), Error> {
        self.replace(bytes).map_err(|cause| cannot_be_written(&self.path).because(cause))
    }

    fn replace(&self, bytes: &[u8]) -> io::Result<()> {
        let mut named = tempfile::Builder::new();
        named.prefix(".thalweg-gloss-").suffix(".new").permissions(Permissions::from_mode(MODE));
        let mut new = named.tempfile_in(&self.folder)?;
        new.write_all(bytes)?;
        new.as_file().sync_all()?;
        new.persist(&self.file).map(drop).map_err(|failed| failed.error)
    }
}

fn cannot_be_written(path: &Path) -> Error {
    Error::new(ErrorKind::Input, format!("{} cannot be written", path.display()))
}

/// What a path leads to, whether that is there or not.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut file = path.to_owned();
    for _ in 0..LINKS_MAX {
        match fs::read_link(&file) {
            Ok(next) => file = file.parent().unwrap_or(Path::new("")).join(next),
            // it is no link, or is not there
            Err(_) => return Ok(file),
        }
    }
    Err(io::Error::other("there are too many links"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Builder;
    use std::fs::File;
    use std::os::unix::fs::{FileTypeExt, symlink};
    use std::process::Command;

    fn refused(path: &Path, sources: &[&Path]) -> String {
        Target::new(path, sources).unwrap_err().to_string()
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|file| file.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn what_is_no_file_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let link = folder.path().join("link");
        symlink("/dev/null", &link).unwrap();
        let around = folder.path().join("around");
        symlink(&around, &around).unwrap();
        for path in [Path::new("/dev/null"), folder.path(), &pipe, &link] {
            assert!(refused(path, &[]).contains("no file"), "{path:?}");
        }
        for path in [&around, &folder.path().join("none/dictionary"), Path::new(""), Path::new("..")] {
            assert!(refused(path, &[]).contains("cannot be written"), "{path:?}");
        }
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
        assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
        assert_eq!(names(folder.path()), ["around", "link", "pipe"]);
    }

    #[test]
    fn a_source_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (source, link) = (folder.path().join("source"), folder.path().join("link"));
        fs::write(&source, "words").unwrap();
        symlink("source", &link).unwrap();
        for (target, given) in [(&source, &source), (&link, &source), (&source, &link)] {
            assert!(refused(target, &[given]).contains("one of the sources"));
        }
        assert!(Target::new(&source, &[&folder.path().join("other")]).is_ok());
        assert_eq!(names(folder.path()), ["link", "source"]);
    }

    #[test]
    fn what_a_link_leads_to_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let kept = folder.path().join("kept");
        fs::create_dir(&kept).unwrap();
        let (link, file) = (folder.path().join("link"), kept.join("dictionary"));
        symlink("kept/dictionary", &link).unwrap();
        // first there is nothing
        for _ in 0..2 {
            let bytes = Builder::new().write(&Target::new(&link, &[]).unwrap()).unwrap();
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
            assert_eq!(fs::metadata(&file).unwrap().len(), bytes as u64);
        }
        assert_eq!(names(&kept), ["dictionary"]);
        let plain = File::create(folder.path().join("plain")).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions(), plain.metadata().unwrap().permissions());
    }

    #[test]
    fn a_left_over_and_another_who_writes_are_in_nobody_s_way() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dictionary");
        // as it was called by who has the same number in another container
        fs::write(folder.path().join(format!("dictionary.{}.new", std::process::id())), "").unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| Builder::new().write(&Target::new(&path, &[]).unwrap()).unwrap());
            }
        });
        assert!(crate::Dictionary::open(&path).is_ok());
        assert_eq!(names(folder.path()).len(), 2);
    }
}
