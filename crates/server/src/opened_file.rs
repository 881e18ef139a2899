//! A file that others may write to: what is read of it is of one version, or an error.

use nix::libc::{O_NOFOLLOW, O_NONBLOCK};
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Which contents a file has, as far as its system says: whoever writes to it changes the time, whoever puts another into its
/// place the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Version {
    device: u64,
    inode: u64,
    modified_s: i64,
    modified_ns: i64,
    pub(crate) size_bytes: u64,
}

/// A regular file that is open.
pub(crate) struct OpenedFile {
    file: File,
    version: Version,
}

impl Version {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            modified_s: metadata.mtime(),
            modified_ns: metadata.mtime_nsec(),
            size_bytes: metadata.size(),
        }
    }

    /// What names it where its bytes are too many to be read for that.
    pub(crate) fn tag(&self) -> String {
        format!("{:x}-{:x}-{:x}", self.size_bytes, self.modified_s, self.modified_ns)
    }

    /// When it was written, by its system's clock.
    pub(crate) fn modified(&self) -> SystemTime {
        let since = Duration::from_secs(self.modified_s.unsigned_abs());
        let time = if self.modified_s < 0 { UNIX_EPOCH.checked_sub(since) } else { UNIX_EPOCH.checked_add(since) };
        time.unwrap_or(UNIX_EPOCH)
    }
}

impl OpenedFile {
    /// Opens a file. A link is not followed, and nothing is waited for, as opening a pipe would.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).custom_flags(O_NOFOLLOW | O_NONBLOCK).open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
        }
        Ok(Self { version: Version::of(&metadata), file })
    }

    pub(crate) fn version(&self) -> Version {
        self.version
    }

    /// Reads so many bytes from a place on. If the file was written to since it was opened, that is an error.
    pub(crate) fn read(&self, at: u64, bytes: usize) -> io::Result<Vec<u8>> {
        let mut piece = vec![0; bytes];
        self.file.read_exact_at(&mut piece, at)?;
        // afterwards: the time is set before the bytes are
        match Version::of(&self.file.metadata()?) == self.version {
            true => Ok(piece),
            false => Err(io::Error::other("it was written to while it was read")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_regular_files_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link, pipe) = (folder.path().join("file"), folder.path().join("link"), folder.path().join("pipe"));
        fs::write(&file, "abc").unwrap();
        symlink(&file, &link).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert_eq!(OpenedFile::open(&file).unwrap().read(1, 2).unwrap(), b"bc");
        for other in [&link, &pipe, folder.path()] {
            assert!(OpenedFile::open(other).is_err(), "{}", other.display());
        }
    }

    #[test]
    fn what_is_written_to_is_not_read_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for (change, is_read) in [
            // another file in its place is not this one
            (&(|| fs::remove_file(&path).and_then(|()| fs::write(&path, "xyz"))) as &dyn Fn() -> io::Result<()>, true),
            (&|| fs::write(&path, "xyzxyz"), false),
            (&|| fs::write(&path, "x"), false),
            (&|| OpenOptions::new().write(true).open(&path)?.write_all_at(b"x", 0), false),
        ] {
            fs::write(&path, "abc").unwrap();
            // long ago, so that it is another time that is written next
            let then = SystemTime::now() - Duration::from_secs(60);
            File::options().write(true).open(&path).unwrap().set_modified(then).unwrap();
            let opened = OpenedFile::open(&path).unwrap();
            assert_eq!(opened.read(0, 3).unwrap(), b"abc");
            change().unwrap();
            assert_eq!(opened.read(0, 1).ok(), is_read.then(|| b"a".to_vec()));
        }
    }
}
