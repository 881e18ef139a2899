//! The tracks of a ZIP archive, one after the other: a season, as XContest and others give it out.

use crate::igc::TRACK_BYTES_MAX;
use bytes::Bytes;
use memchr::memmem;
use std::io::{Cursor, Read};
use zip::ZipArchive;

/// How many files an archive has.
const ARCHIVE_FILES_MAX: usize = 2_000;
/// How large they are together.
const ARCHIVE_UNPACKED_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// What each file's entry in the directory of an archive begins with.
const ENTRY: &[u8] = b"PK\x01\x02";
const EXTENSION: &str = ".igc";

/// An archive whose tracks are read.
pub(super) struct Season {
    archive: ZipArchive<Cursor<Bytes>>,
    next: usize,
    left_bytes: u64,
}

/// Why an archive, or what is next in it, is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unpacked {
    /// It is damaged, encrypted, or packed in a way of its own.
    Unreadable,
    /// It has too many files, or they are too large together.
    TooMuch,
}

/// Whether it is an archive.
pub(super) fn is_archive(file: &[Bytes]) -> bool {
    let start: Vec<u8> = file.iter().flat_map(|chunk| chunk.iter().copied().take(4)).take(4).collect();
    start == b"PK\x03\x04"
}

impl Season {
    /// Opens an archive. Of what it says, only what lies in it takes memory.
    pub(super) fn open(file: Bytes) -> Result<Self, Unpacked> {
        if memmem::find_iter(&file, ENTRY).take(ARCHIVE_FILES_MAX + 1).count() > ARCHIVE_FILES_MAX {
            return Err(Unpacked::TooMuch);
        }
        let archive = ZipArchive::new(Cursor::new(file)).map_err(|_| Unpacked::Unreadable)?;
        Ok(Self { archive, next: 0, left_bytes: ARCHIVE_UNPACKED_BYTES_MAX })
    }

    /// The next track with its name, as far as it can be read.
    pub(super) fn next(&mut self) -> Option<(String, Result<Bytes, Unpacked>)> {
        while self.next < self.archive.len() {
            let at = self.next;
            self.next += 1;
            let name = self.archive.name_for_index(at).and_then(Result::ok);
            let Some(name) = name.and_then(|path| track_name(&path)) else { continue };
            let track = self.unpack(at);
            if track == Err(Unpacked::TooMuch) {
                self.next = self.archive.len();
            }
            return Some((name, track));
        }
        None
    }

    /// A longer file than a track is cut behind its bound, where it will be found to be too long.
    fn unpack(&mut self, at: usize) -> Result<Bytes, Unpacked> {
        let file = self.archive.by_index(at).map_err(|_| Unpacked::Unreadable)?;
        let mut track = Vec::new();
        let bytes_max = self.left_bytes.min(TRACK_BYTES_MAX as u64 + 1);
        file.take(bytes_max).read_to_end(&mut track).map_err(|_| Unpacked::Unreadable)?;
        self.left_bytes -= track.len() as u64;
        if self.left_bytes == 0 { Err(Unpacked::TooMuch) } else { Ok(track.into()) }
    }
}

/// What a file in an archive is called without its folders, if it is a track. Nothing is ever written under it.
fn track_name(path: &str) -> Option<String> {
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    let is_track = name.len() > EXTENSION.len() && name.is_char_boundary(name.len() - EXTENSION.len());
    let is_track = is_track && name[name.len() - EXTENSION.len()..].eq_ignore_ascii_case(EXTENSION);
    // what macOS puts beside each file
    (is_track && !name.starts_with("._") && !path.starts_with("__MACOSX/")).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_path_the_name_is_taken() {
        for (path, expected) in [
            ("a.igc", Some("a.igc")),
            ("2024/Juli/ä.IGC", Some("ä.IGC")),
            ("../../etc/x.igc", Some("x.igc")),
            ("C:\\flights\\x.igc", Some("x.igc")),
            ("/x.igc", Some("x.igc")),
            ("2024/", None),
            (".igc", None),
            ("a.igc/", None),
            ("readme.txt", None),
            ("ügc", None),
            ("._a.igc", None),
            ("__MACOSX/a.igc", None),
        ] {
            assert_eq!(track_name(path).as_deref(), expected, "{path}");
        }
    }
}
