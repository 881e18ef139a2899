//! What is in a static file: read once for each of its versions.

use super::folder::{Entry, if_there};
use super::{Source, StaticError};
use crate::opened_file::{OpenedFile, Version};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

/// Up to which size a file is held in memory.
const HELD_FILE_BYTES_MAX: u64 = 1024 * 1024;
/// How much of them is, and less than as much again of what is compressed of them.
const HELD_FILES_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// How much is read of larger ones so that they are named by what is in them.
const NAMED_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// How much is read at a time, in bytes.
const PIECE_BYTES: u64 = 1024 * 1024;
/// For how long a file was not written to, so that another write shows in its version.
const SETTLED_TIME: Duration = Duration::from_secs(2);

/// How many bytes may still be held, and read.
pub(super) struct Room {
    held_bytes: u64,
    named_bytes: u64,
}

/// What is in a file.
pub(super) struct Content {
    path: PathBuf,
    version: Version,
    /// Whether another write would have been seen in the version.
    is_settled: bool,
    hash: String,
    held: Option<Bytes>,
    gzip: OnceLock<Option<Bytes>>,
}

impl Default for Room {
    fn default() -> Self {
        Self { held_bytes: HELD_FILES_BYTES_MAX, named_bytes: NAMED_BYTES_MAX }
    }
}

impl Content {
    /// Reads a file, if it is still there.
    pub(super) fn read(entry: &Entry, room: &mut Room) -> Result<Option<Self>, StaticError> {
        let Some(file) = if_there(OpenedFile::open(&entry.path), &entry.name)? else { return Ok(None) };
        let version = file.version();
        let size_bytes = version.size_bytes;
        let is_settled = SystemTime::now().duration_since(version.modified()).is_ok_and(|age| age > SETTLED_TIME);
        let mut held = None;
        if size_bytes <= HELD_FILE_BYTES_MAX.min(room.held_bytes) {
            // what is written to just now is read when it is asked for
            held = file.read(0, size_bytes as usize).ok().map(Bytes::from);
        }
        let hash = match &held {
            Some(bytes) => {
                room.held_bytes -= size_bytes;
                name_of(xxh3_128(bytes))
            }
            None if size_bytes <= room.named_bytes => {
                room.named_bytes -= size_bytes;
                hash(&file).unwrap_or_else(|_| version.tag())
            }
            None => version.tag(),
        };
        Ok(Some(Self { path: entry.path.clone(), version, is_settled, hash, held, gzip: OnceLock::new() }))
    }

    /// Whether this is what is in a file now, and has room.
    pub(super) fn is_still(&self, entry: &Entry, room: &mut Room) -> bool {
        let held_bytes = self.held.as_ref().map_or(0, |held| held.len() as u64);
        let is_still = self.is_settled
            && self.version == entry.version
            && self.path == entry.path
            && held_bytes <= room.held_bytes;
        room.held_bytes -= if is_still { held_bytes } else { 0 };
        is_still
    }

    /// What names it, in characters that a URL and a header may have: a hash of it, or for what is very large its size and
    /// when it was written.
    pub(super) fn hash(&self) -> &str {
        &self.hash
    }

    pub(super) fn size_bytes(&self) -> u64 {
        self.version.size_bytes
    }

    pub(super) fn modified(&self) -> SystemTime {
        self.version.modified()
    }

    pub(super) fn source(&self) -> Source {
        match &self.held {
            Some(held) => Source::Held(held.clone()),
            None => Source::OnDisk(self.path.clone(), self.version),
        }
    }

    /// The same compressed, if it is held, and is smaller so.
    pub(super) fn gzip(&self) -> Option<&Bytes> {
        let held = self.held.as_ref()?;
        let made = self.gzip.get_or_init(|| gzip(held).ok().filter(|made| made.len() < held.len()).map(Bytes::from));
        made.as_ref()
    }
}

fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes)?;
    let mut made = encoder.finish()?;
    made.shrink_to_fit();
    Ok(made)
}

fn hash(file: &OpenedFile) -> io::Result<String> {
    let mut hash = Xxh3::new();
    let (mut at, end) = (0, file.version().size_bytes);
    while at < end {
        let piece = file.read(at, PIECE_BYTES.min(end - at) as usize)?;
        hash.update(&piece);
        at += piece.len() as u64;
    }
    Ok(name_of(hash.digest128()))
}

fn name_of(hash: u128) -> String {
    format!("{hash:032x}")
}
