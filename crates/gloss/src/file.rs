//! The layout of a dictionary's file: a header that says where its parts are, and a checksum of each.

use crate::error::{Error, ErrorKind};
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_64;

/// What is copied when a file is opened is bounded: the sources and their texts, and the codes and what they mean.
/// JMdict has 250 codes of up to 12 bytes, each said in up to 100.
pub(crate) const SOURCES_MAX: usize = 64;
pub(crate) const SOURCE_TEXT_BYTES_MAX: usize = 1024;
pub(crate) const TAGS_MAX: usize = 4096;
pub(crate) const CODE_BYTES_MAX: usize = 64;
pub(crate) const TAG_WORDS_BYTES_MAX: usize = 1024;

const MAGIC: &[u8; 16] = b"thalweg gloss\n\0\0";
/// The version of the layout; a file of another one is refused.
pub(crate) const VERSION: u32 = 3;
const HEADER_BYTES: usize = 320;
const PART_BYTES: usize = 24;
const PARTS_AT: usize = 32;
const CHECKSUM_AT: usize = HEADER_BYTES - 8;
/// Each part begins at a multiple of this.
const ALIGNMENT: usize = 64;

/// The parts of a file, in their order.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Part {
    /// What it was built from, and by which grammar.
    Sources,
    /// The codes of parts of speech and remarks, in words.
    Tags,
    /// The number of each character in the trie.
    Alphabet,
    Trie,
    /// Which entries a key has.
    Postings,
    /// Which classes of the grammar words of each kind have.
    Kinds,
    Words,
    Names,
    /// What is said of names of each kind.
    NameKinds,
}

pub(crate) const PARTS: usize = Part::NameKinds as usize + 1;

/// Where the parts are.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    parts: [Range<usize>; PARTS],
    checksums: [u64; PARTS],
}

impl Layout {
    /// Reads the header, which must be whole and of this version, and the file as long as it says.
    pub(crate) fn read(file: &[u8]) -> Result<Layout, Error> {
        let header = file.get(..HEADER_BYTES).ok_or_else(|| refused("is too short to be a dictionary"))?;
        if !header.starts_with(MAGIC) {
            return Err(refused("is no dictionary that `thalweg gloss build` made"));
        }
        if number(header, CHECKSUM_AT) != xxh3_64(&header[..CHECKSUM_AT]) {
            return Err(refused("has a damaged header"));
        }
        let version = number(header, 16) as u32;
        if version != VERSION {
            return Err(refused(&format!(
                "has version {version} of the format, and this program reads {VERSION}: build it again"
            )));
        }
        if number(header, 24) != file.len() as u64 {
            return Err(refused(&format!("has {} bytes, and its header says {}", file.len(), number(header, 24))));
        }
        let mut layout = Layout { parts: Default::default(), checksums: [0; PARTS] };
        let mut behind = HEADER_BYTES;
        for part in 0..PARTS {
            let at = PARTS_AT + part * PART_BYTES;
            let (from, len) = (number(header, at) as usize, number(header, at + 8) as usize);
            let to = from.checked_add(len).filter(|to| from >= behind && *to <= file.len());
            let to = to.ok_or_else(|| refused("has a header that points outside of it"))?;
            layout.parts[part] = from..to;
            layout.checksums[part] = number(header, at + 16);
            behind = to;
        }
        Ok(layout)
    }

    pub(crate) fn part<'a>(&self, file: &'a [u8], part: Part) -> &'a [u8] {
        file.get(self.parts[part as usize].clone()).unwrap_or_default()
    }

    /// Reads all of the file, and compares it with its checksums. Between the parts nothing stands.
    pub(crate) fn verify(&self, file: &[u8]) -> Result<(), Error> {
        let mut behind = HEADER_BYTES;
        for (range, checksum) in self.parts.iter().zip(&self.checksums) {
            if file.get(behind..range.start).is_none_or(|between| between.iter().any(|byte| *byte != 0)) {
                return Err(refused(&format!("is damaged between the bytes {behind} and {}", range.start)));
            }
            behind = range.end;
            if file.get(range.clone()).map(xxh3_64) != Some(*checksum) {
                return Err(refused(&format!("is damaged between the bytes {} and {}", range.start, range.end)));
            }
        }
        Ok(())
    }
}

/// A file of these parts.
pub(crate) fn write(parts: [&[u8]; PARTS]) -> Vec<u8> {
    let mut file = vec![0; HEADER_BYTES];
    for (at, part) in parts.iter().enumerate() {
        file.resize(file.len().next_multiple_of(ALIGNMENT), 0);
        let entry = [file.len() as u64, part.len() as u64, xxh3_64(part)];
        let entry: Vec<u8> = entry.iter().flat_map(|number| number.to_le_bytes()).collect();
        let at = PARTS_AT + at * PART_BYTES;
        file[at..at + PART_BYTES].copy_from_slice(&entry);
        file.extend_from_slice(part);
    }
    file[..MAGIC.len()].copy_from_slice(MAGIC);
    file[16..20].copy_from_slice(&VERSION.to_le_bytes());
    let len = (file.len() as u64).to_le_bytes();
    file[24..32].copy_from_slice(&len);
    let checksum = xxh3_64(&file[..CHECKSUM_AT]).to_le_bytes();
    file[CHECKSUM_AT..HEADER_BYTES].copy_from_slice(&checksum);
    file
}

fn number(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|bytes| bytes.first_chunk()).map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

pub(crate) fn refused(why: &str) -> Error {
    Error::new(ErrorKind::Refused, why)
}
