//! The tracks of a ZIP archive, read one after the other. XContest and others export a season as
//! such an archive.

use super::archive::{self, Entry, LOCAL, PACKED_RATIO_MAX, Refusal};
use bytes::Bytes;

const EXTENSION: &str = ".igc";

/// An archive whose tracks are read.
pub(super) struct Season {
    archive: Bytes,
    tracks: std::vec::IntoIter<(String, Entry)>,
}

/// The rest of what an upload may unpack.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowance {
    /// Number of files, in form parts and archives together.
    pub(super) files: u64,
    /// Number of unpacked bytes of all files in archives.
    pub(super) unpacked_bytes: u64,
}

/// Returns whether a file is an archive.
pub(super) fn is_archive(file: &[Bytes]) -> bool {
    let start: Vec<u8> = file.iter().flat_map(|chunk| chunk.iter().copied().take(4)).take(4).collect();
    start == LOCAL
}

impl Season {
    /// Opens an archive whose tracks are within the allowance, and reduces the allowance. Nothing
    /// is decompressed yet.
    pub(super) fn open(archive: Bytes, allowance: &mut Allowance) -> Result<Self, Refusal> {
        let entries = archive::entries(&archive, allowance.files)?;
        allowance.files -= entries.len() as u64;
        let tracks: Vec<_> = entries.into_iter().filter_map(|entry| Some((track_name(&entry.name)?, entry))).collect();
        let is_packed = |entry: &Entry| entry.bytes / PACKED_RATIO_MAX <= entry.packed_bytes;
        let bytes = tracks.iter().try_fold(0_u64, |sum, (_, entry)| sum.checked_add(entry.bytes));
        let left = bytes.and_then(|bytes| allowance.unpacked_bytes.checked_sub(bytes));
        let left = left.filter(|_| tracks.iter().all(|(_, entry)| is_packed(entry)));
        allowance.unpacked_bytes = left.ok_or(Refusal::TooMuch)?;
        Ok(Self { archive, tracks: tracks.into_iter() })
    }

    /// Returns the next track with its name.
    pub(super) fn next(&mut self) -> Option<(String, Result<Bytes, Refusal>)> {
        let (name, entry) = self.tracks.next()?;
        Some((name, entry.unpack(&self.archive)))
    }
}

/// Returns the name of a file in an archive without its folders, if the file is a track.
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

    /// Builds an archive of files with these packed sizes and these declared sizes.
    fn packed(files: &[(usize, u32)]) -> Bytes {
        let (mut archive, mut directory) = (Vec::new(), Vec::new());
        for (at, (packed, size)) in files.iter().enumerate() {
            let name = format!("{at:05}.igc");
            let offset = archive.len() as u32;
            let mut numbers = vec![20, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0];
            numbers.extend((*packed as u32).to_le_bytes());
            numbers.extend(size.to_le_bytes());
            numbers.extend([name.len() as u8, 0, 0, 0]);
            archive.extend([&LOCAL[..], &numbers, name.as_bytes(), &vec![0; *packed]].concat());
            directory.extend(
                [&b"PK\x01\x02\x14\x00"[..], &numbers, &[0; 10], &offset.to_le_bytes(), name.as_bytes()].concat(),
            );
        }
        let count = (files.len() as u16).to_le_bytes();
        let (start, bytes) = ((archive.len() as u32).to_le_bytes(), (directory.len() as u32).to_le_bytes());
        archive.extend([&directory[..], b"PK\x05\x06\0\0\0\0", &count, &count, &bytes, &start, &[0, 0]].concat());
        archive.into()
    }

    fn opened(files: &[(usize, u32)], allowance: &mut Allowance) -> Option<Refusal> {
        Season::open(packed(files), allowance).err()
    }

    #[test]
    fn a_season_is_within_what_its_upload_may_still_unpack() {
        let mut allowance = Allowance { files: 5, unpacked_bytes: 1000 };
        assert_eq!(opened(&[(10, 400), (10, 600)], &mut allowance), None);
        assert_eq!((allowance.files, allowance.unpacked_bytes), (3, 0));
        assert_eq!(opened(&[(10, 1)], &mut allowance), Some(Refusal::TooMuch));
        let mut allowance = Allowance { files: 2, unpacked_bytes: 1000 };
        assert_eq!(opened(&[(10, 400), (10, 601)], &mut allowance), Some(Refusal::TooMuch));
        let mut allowance = Allowance { files: 1, unpacked_bytes: 1000 };
        assert_eq!(opened(&[(10, 4), (10, 6)], &mut allowance), Some(Refusal::TooMuch));
        assert_eq!(opened(&[(10, 4)], &mut allowance), None);
    }

    #[test]
    fn a_file_is_packed_to_a_hundredth_of_its_size_at_most() {
        let allowance = Allowance { files: 5, unpacked_bytes: u64::MAX };
        assert_eq!(opened(&[(10, 1_099)], &mut { allowance }), None);
        assert_eq!(opened(&[(10, 1_100)], &mut { allowance }), Some(Refusal::TooMuch));
    }
}
