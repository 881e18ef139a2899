//! The static files of a site, as they were when they were loaded.
//!
//! ```text
//!  folder    what is in `static/`                          names, nothing of them read
//!    │ content   small files held, what names each          once for each version of a file
//!    │ encoding  beside each, the same compressed
//!    ▼ StaticFiles
//!  answer    a path → name → file → response               the disk is asked for large files only
//! ```
//!
//! A client's path is looked up and never becomes a path of the disk.

mod answer;
mod content;
mod encoding;
mod error;
mod folder;
mod media_type;
mod name;
#[cfg(test)]
mod tests;

pub(crate) use error::StaticError;

use crate::answer::respond;
use crate::opened_file::{OpenedFile, Version};
use bytes::Bytes;
use content::{Content, Room};
use encoding::{Coding, Weights};
use hyper::header::HeaderValue;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Below which path they are served.
const PATH: &str = "/static/";
/// By how much a compressed file may be older than the one that it stands for: copying a folder writes its files in any order.
const OLDER_MAX: Duration = Duration::from_secs(2);

/// The static files of a site by name, from their folder on.
#[derive(Default)]
pub(crate) struct StaticFiles {
    files: HashMap<String, StaticFile>,
    /// What was read, for the next load.
    contents: BTreeMap<String, Arc<Content>>,
}

/// A file, and the same compressed.
struct StaticFile {
    media_type: HeaderValue,
    url: String,
    /// What names its contents.
    hash: String,
    plain: Representation,
    /// The smallest last, and each smaller than the file.
    encoded: Vec<Representation>,
}

/// The bytes that a file is sent as.
struct Representation {
    coding: Option<Coding>,
    hash: String,
    bytes: Source,
}

/// Where bytes are.
enum Source {
    Held(Bytes),
    /// In a file, and which version of it was loaded.
    OnDisk(PathBuf, Version),
}

/// Bytes that can be sent.
enum Opened {
    Held(Bytes),
    File(OpenedFile),
}

impl StaticFiles {
    /// Reads a folder, `static/` in that of the site. If it does not exist, there are no files. This reads and compresses, and
    /// has no place on a thread that answers requests.
    pub(crate) fn load(folder: &Path) -> Result<Self, StaticError> {
        Self::default().load_again(folder)
    }

    /// Reads the folder as it is now. Of what has not changed since it was loaded last, nothing is read.
    pub(crate) fn load_again(&self, folder: &Path) -> Result<Self, StaticError> {
        let mut entries = folder::list(folder)?;
        // so that memory goes to as many as possible
        entries.sort_by_key(|entry| entry.version.size_bytes);
        let (mut room, mut contents) = (Room::default(), BTreeMap::new());
        for entry in entries {
            let known = self.contents.get(&entry.name).filter(|known| known.is_still(&entry, &mut room));
            let content = match known {
                Some(known) => Some(known.clone()),
                None => Content::read(&entry, &mut room)?.map(Arc::new),
            };
            contents.extend(content.map(|content| (entry.name, content)));
        }
        let files = contents.iter().map(|(name, content)| (name.clone(), StaticFile::of(name, content, &contents)));
        Ok(Self { files: files.collect(), contents })
    }

    /// Where a file is found. What this names never changes: with other contents the file has another URL.
    pub(crate) fn url(&self, name: &str) -> Option<&str> {
        self.files.get(name).map(|file| &*file.url)
    }
}

impl StaticFile {
    fn of(name: &str, content: &Content, contents: &BTreeMap<String, Arc<Content>>) -> Self {
        let (media_type, is_compressible) = media_type::of(name);
        let hash = content.hash().to_owned();
        let mut url = PATH.to_owned();
        for (at, part) in name.split('/').enumerate() {
            url.push_str(if at == 0 { "" } else { "/" });
            respond::escape(&mut url, part);
        }
        url.push_str("?v=");
        url.push_str(&hash);
        let size_bytes = content.size_bytes();
        let encoded = Coding::ALL.into_iter().filter_map(|coding| {
            let beside = contents.get(&format!("{name}{}", coding.extension()));
            match beside.filter(|beside| is_of(name, content, beside)) {
                Some(beside) => Some(Representation::of(beside, Some(coding))),
                None if coding == Coding::Gzip && is_compressible => {
                    let bytes = Source::Held(content.gzip()?.clone());
                    Some(Representation { coding: Some(coding), hash: hash.clone(), bytes })
                }
                None => None,
            }
        });
        let mut encoded: Vec<_> = encoded.filter(|encoded| encoded.size_bytes() < size_bytes).collect();
        encoded.sort_by_key(|encoded| Reverse(encoded.size_bytes()));
        let plain = Representation::of(content, None);
        Self { media_type: HeaderValue::from_static(media_type), url, hash, plain, encoded }
    }

    /// What is sent to a client that takes such encodings: the smallest of those that it wants most.
    fn preferred(&self, weights: &Weights) -> &Representation {
        let weight = |encoded: &Representation| encoded.coding.map_or(0, |coding| weights.of(coding));
        let best = self.encoded.iter().max_by_key(|encoded| weight(encoded));
        let least = weights.identity().max(1);
        best.filter(|best| weight(best) >= least).unwrap_or(&self.plain)
    }
}

/// Whether what lies beside a file was made of it as it is now, as far as can be told.
fn is_of(name: &str, content: &Content, beside: &Content) -> bool {
    let older = content.modified().duration_since(beside.modified()).unwrap_or_default();
    if older > OLDER_MAX {
        tracing::info!(
            target: "notice",
            "static/{name} has been written after what is compressed of it, which is therefore not used"
        );
    }
    older <= OLDER_MAX
}

impl Representation {
    fn of(content: &Content, coding: Option<Coding>) -> Self {
        Self { coding, hash: content.hash().to_owned(), bytes: content.source() }
    }

    fn size_bytes(&self) -> u64 {
        match &self.bytes {
            Source::Held(bytes) => bytes.len() as u64,
            Source::OnDisk(_, version) => version.size_bytes,
        }
    }

    async fn open(&self) -> io::Result<Opened> {
        match &self.bytes {
            Source::Held(bytes) => Ok(Opened::Held(bytes.clone())),
            Source::OnDisk(path, _) => {
                let path = path.clone();
                let opening = tokio::task::spawn_blocking(thalweg_gauge::blocking(move || OpenedFile::open(&path)));
                opening.await.map_err(io::Error::other)?.map(Opened::File)
            }
        }
    }

    /// The version of a file that is open, if it is not the one that was loaded.
    fn other_version(&self, opened: &Opened) -> Option<Version> {
        match (&self.bytes, opened) {
            (Source::OnDisk(_, loaded), Opened::File(file)) => Some(file.version()).filter(|now| now != loaded),
            (Source::Held(_), _) | (_, Opened::Held(_)) => None,
        }
    }

    /// The entity tag of what is sent.
    fn tag(&self, other_version: Option<Version>) -> String {
        let hash = other_version.map_or_else(|| self.hash.clone(), |other| other.tag());
        format!("\"{hash}{}\"", self.coding.map_or("", Coding::extension))
    }
}

impl Opened {
    fn size_bytes(&self) -> u64 {
        match self {
            Self::Held(bytes) => bytes.len() as u64,
            Self::File(file) => file.version().size_bytes,
        }
    }
}
