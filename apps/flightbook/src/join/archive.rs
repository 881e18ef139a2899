//! Reader of ZIP archives (APPNOTE.TXT 6.3). The directory is read and checked in full before
//! anything is decompressed.
//!
//! ```text
//!  end record → directory → entries ─┬─ each local header agrees with the directory
//!                                    ├─ no two entries share a byte or a name
//!                                    └─ sizes are within their bounds       → unpacked one after the other
//! ```
//!
//! Programs differ in which of several directories, names or sizes they use. An archive that leaves
//! such a choice is refused.

use crate::igc::TRACK_BYTES_MAX;
use bytes::Bytes;
use flate2::Crc;
use flate2::read::DeflateDecoder;
use memchr::memmem;
use std::collections::HashSet;
use std::io::Read;
use std::ops::Range;

/// Largest ratio of a file's unpacked size to its packed size. Tracks do not come near it, since
/// each fix differs from the preceding one.
pub(super) const PACKED_RATIO_MAX: u64 = 100;
/// Largest size of the comment at the end of an archive, and so of the distance between the end
/// record and the end of the file.
const COMMENT_BYTES_MAX: usize = 65_535;

const END: [u8; 4] = *b"PK\x05\x06";
const END_BYTES: usize = 22;
const LOCATOR_64: [u8; 4] = *b"PK\x06\x07";
const LOCATOR_64_BYTES: usize = 20;
const END_64: [u8; 4] = *b"PK\x06\x06";
const END_64_BYTES: usize = 56;
const ENTRY: [u8; 4] = *b"PK\x01\x02";
const ENTRY_BYTES: usize = 46;
pub(super) const LOCAL: [u8; 4] = *b"PK\x03\x04";
/// Type of the extra field with sizes of 64 bits.
const EXTRA_64: u16 = 1;

/// Methods by which a file is packed: not at all, or by DEFLATE.
const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// Flags of an entry: encrypted, sizes that follow the data, patched, strongly encrypted, a name in
/// UTF-8, masked local header.
const ENCRYPTED: u16 = 1;
const SIZES_FOLLOW: u16 = 1 << 3;
const PATCHED: u16 = 1 << 5;
const STRONGLY_ENCRYPTED: u16 = 1 << 6;
const UTF_8: u16 = 1 << 11;
const MASKED: u16 = 1 << 13;

/// Reason why an archive, or a file of it, is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The archive is damaged, encrypted, or packed by an unsupported method.
    Unreadable,
    /// Two entries share bytes or a name, or the archive has two directories.
    Overlapping,
    /// The archive has too many files, or they are too large.
    TooMuch,
}

/// A file of an archive, whose position and sizes have been checked.
#[derive(Debug)]
pub(super) struct Entry {
    /// Name with folders, as the archive has it. No file is ever created under this name.
    pub(super) name: String,
    flags: u16,
    method: u16,
    crc32: u32,
    header: usize,
    data: Range<usize>,
    pub(super) packed_bytes: u64,
    pub(super) bytes: u64,
}

/// Reads the directory of an archive and returns its entries in order. Refuses a directory with
/// more than `entries_max` entries.
pub(super) fn entries(file: &[u8], entries_max: u64) -> Result<Vec<Entry>, Refusal> {
    let directory = Directory::find(file)?;
    if directory.entries > entries_max {
        return Err(Refusal::TooMuch);
    }
    let mut rest = file.get(directory.range.clone()).ok_or(Refusal::Unreadable)?;
    let mut entries = Vec::new();
    for _ in 0..directory.entries {
        let (entry, after) = Entry::parse(rest)?;
        entries.push(entry);
        rest = after;
    }
    if !rest.is_empty() {
        return Err(Refusal::Unreadable);
    }
    check_named_once(&entries)?;
    for entry in &mut entries {
        entry.locate(file, directory.range.start)?;
    }
    check_apart(&entries)?;
    Ok(entries)
}

/// Refuses entries that share a name or a local header.
fn check_named_once(entries: &[Entry]) -> Result<(), Refusal> {
    let names: HashSet<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    let headers: HashSet<usize> = entries.iter().map(|entry| entry.header).collect();
    let are_unique = names.len() == entries.len() && headers.len() == entries.len();
    if are_unique { Ok(()) } else { Err(Refusal::Overlapping) }
}

/// Refuses entries that share a byte.
fn check_apart(entries: &[Entry]) -> Result<(), Refusal> {
    let mut places: Vec<Range<usize>> = entries.iter().map(|entry| entry.header..entry.data.end).collect();
    places.sort_unstable_by_key(|place| place.start);
    let are_apart = places.windows(2).all(|pair| pair[0].end <= pair[1].start);
    if are_apart { Ok(()) } else { Err(Refusal::Overlapping) }
}

/// Position of the directory, and its number of entries.
struct Directory {
    range: Range<usize>,
    entries: u64,
}

impl Directory {
    /// Finds the end record. It contains the length of the comment that follows it.
    fn find(file: &[u8]) -> Result<Self, Refusal> {
        let from = file.len().saturating_sub(END_BYTES + COMMENT_BYTES_MAX);
        let ends_file = |at: &usize| {
            let comment = file.get(at + END_BYTES - 2..).and_then(number::<2>);
            comment.is_some_and(|bytes| at + END_BYTES + bytes as usize == file.len())
        };
        let mut ends = memmem::find_iter(&file[from..], &END).map(|at| from + at).filter(ends_file);
        let end = ends.next().ok_or(Refusal::Unreadable)?;
        // A comment that holds another end record leaves a choice of directories.
        if ends.next().is_some() {
            return Err(Refusal::Overlapping);
        }
        let mut fields = Fields(&file[end + 4..]);
        let [disk, first_disk] = [fields.u16()?, fields.u16()?];
        let (entries_here, entries) = (u64::from(fields.u16()?), u64::from(fields.u16()?));
        let (bytes, offset) = (u64::from(fields.u32()?), u64::from(fields.u32()?));
        let is_64 = entries == 0xffff || bytes == 0xffff_ffff || offset == 0xffff_ffff;
        if is_64 {
            return Self::find_64(file, end);
        }
        let is_one_disk = disk == 0 && first_disk == 0 && entries_here == entries;
        if is_one_disk { Self::new(offset, bytes, entries, end) } else { Err(Refusal::Unreadable) }
    }

    /// Follows the locator, which immediately precedes the end record, to the end record of 64
    /// bits.
    fn find_64(file: &[u8], end: usize) -> Result<Self, Refusal> {
        let locator = end.checked_sub(LOCATOR_64_BYTES).ok_or(Refusal::Unreadable)?;
        let mut fields = Fields(&file[locator..]);
        fields.signature(LOCATOR_64)?;
        let (disk, end_64, disks) = (fields.u32()?, fields.u64()?, fields.u32()?);
        let end_64 = usize::try_from(end_64).map_err(|_| Refusal::Unreadable)?;
        let mut fields = Fields(file.get(end_64..locator).ok_or(Refusal::Unreadable)?);
        if disk != 0 || disks > 1 || fields.0.len() < END_64_BYTES {
            return Err(Refusal::Unreadable);
        }
        fields.signature(END_64)?;
        fields.skip(8 + 2 + 2)?;
        let [disk, first_disk] = [fields.u32()?, fields.u32()?];
        let [entries_here, entries, bytes, offset] = [fields.u64()?, fields.u64()?, fields.u64()?, fields.u64()?];
        let is_one_disk = disk == 0 && first_disk == 0 && entries_here == entries;
        if is_one_disk { Self::new(offset, bytes, entries, end_64) } else { Err(Refusal::Unreadable) }
    }

    fn new(offset: u64, bytes: u64, entries: u64, end: usize) -> Result<Self, Refusal> {
        let start = usize::try_from(offset).map_err(|_| Refusal::Unreadable)?;
        let bytes = usize::try_from(bytes).map_err(|_| Refusal::Unreadable)?;
        let stop = start.checked_add(bytes).filter(|stop| *stop <= end).ok_or(Refusal::Unreadable)?;
        Ok(Self { range: start..stop, entries })
    }
}

impl Entry {
    /// Parses an entry of the directory, and returns the bytes that follow it.
    fn parse(directory: &[u8]) -> Result<(Self, &[u8]), Refusal> {
        let mut fields = Fields(directory);
        fields.signature(ENTRY)?;
        fields.skip(2 + 2)?;
        let [flags, method] = [fields.u16()?, fields.u16()?];
        fields.skip(2 + 2)?;
        let [crc32, packed, size] = [fields.u32()?, fields.u32()?, fields.u32()?];
        let [name, extra, comment] = [fields.u16()?, fields.u16()?, fields.u16()?];
        let disk = fields.u16()?;
        fields.skip(2 + 4)?;
        let offset = fields.u32()?;
        debug_assert_eq!(directory.len() - fields.0.len(), ENTRY_BYTES);
        let name = fields.take(name.into())?;
        let mut extra = Fields(extra_64(fields.take(extra.into())?)?);
        fields.skip(comment.into())?;
        let mut wide = |value: u32| if value == u32::MAX { extra.u64() } else { Ok(u64::from(value)) };
        // The order of the extra field's sizes is fixed: unpacked, packed, offset.
        let (bytes, packed_bytes, offset) = (wide(size)?, wide(packed)?, wide(offset)?);
        let header = usize::try_from(offset).map_err(|_| Refusal::Unreadable)?;
        if disk != 0 {
            return Err(Refusal::Unreadable);
        }
        let name = decoded(name, flags & UTF_8 != 0);
        Ok((Self { name, flags, method, crc32, header, data: 0..0, packed_bytes, bytes }, fields.0))
    }

    /// Finds the data after the local header, which must agree with the directory.
    fn locate(&mut self, file: &[u8], directory: usize) -> Result<(), Refusal> {
        let local = file.get(self.header..directory).ok_or(Refusal::Unreadable)?;
        let mut fields = Fields(local);
        fields.signature(LOCAL)?;
        fields.skip(2)?;
        let [flags, method] = [fields.u16()?, fields.u16()?];
        fields.skip(2 + 2)?;
        let [crc32, packed, size] = [fields.u32()?, fields.u32()?, fields.u32()?];
        let [name, extra] = [fields.u16()?, fields.u16()?];
        let name = fields.take(name.into())?;
        let mut wide = Fields(extra_64(fields.take(extra.into())?)?);
        // The local extra field has both sizes, even if one of them alone needs 64 bits.
        let is_wide = packed == u32::MAX || size == u32::MAX;
        let [wide_size, wide_packed] = if is_wide { [wide.u64()?, wide.u64()?] } else { [0, 0] };
        let local_size = if size == u32::MAX { wide_size } else { size.into() };
        let local_packed = if packed == u32::MAX { wide_packed } else { packed.into() };
        let is_streamed = flags & SIZES_FOLLOW != 0;
        let agrees = |local: u64, here: u64| local == here || is_streamed && local == 0;
        if flags != self.flags
            || method != self.method
            || !agrees(crc32.into(), self.crc32.into())
            || !agrees(local_packed, self.packed_bytes)
            || !agrees(local_size, self.bytes)
            || decoded(name, flags & UTF_8 != 0) != self.name
        {
            return Err(Refusal::Unreadable);
        }
        let start = self.header + (local.len() - fields.0.len());
        let packed = usize::try_from(self.packed_bytes).map_err(|_| Refusal::Unreadable)?;
        let end = start.checked_add(packed).filter(|end| *end <= directory).ok_or(Refusal::Unreadable)?;
        self.data = start..end;
        Ok(())
    }

    /// Unpacks the file. A file that is longer than a track may be is cut one byte after that
    /// bound, and refused as too long by the caller.
    pub(super) fn unpack(&self, archive: &Bytes) -> Result<Bytes, Refusal> {
        if self.flags & (ENCRYPTED | PATCHED | STRONGLY_ENCRYPTED | MASKED) != 0 {
            return Err(Refusal::Unreadable);
        }
        let data = archive.slice(self.data.clone());
        let bytes_max = TRACK_BYTES_MAX as u64 + 1;
        let file = match self.method {
            STORED if self.bytes == self.packed_bytes => data.slice(..data.len().min(bytes_max as usize)),
            DEFLATED => {
                let mut file = Vec::new();
                // One byte more than the directory declares, so that a longer file is detected.
                let mut inflated = DeflateDecoder::new(&*data).take(bytes_max.min(self.bytes.saturating_add(1)));
                inflated.read_to_end(&mut file).map_err(|_| Refusal::Unreadable)?;
                file.into()
            }
            _ => return Err(Refusal::Unreadable),
        };
        let is_cut = file.len() as u64 == bytes_max && self.bytes >= bytes_max;
        let mut crc = Crc::new();
        crc.update(&file);
        let is_whole = file.len() as u64 == self.bytes && crc.sum() == self.crc32;
        if is_cut || is_whole { Ok(file) } else { Err(Refusal::Unreadable) }
    }
}

/// Returns the extra field with sizes of 64 bits, or nothing if there is none. Two such fields are
/// refused, since they leave a choice.
fn extra_64(extra: &[u8]) -> Result<&[u8], Refusal> {
    let (mut fields, mut found) = (Fields(extra), None);
    // Some programs pad the extra fields with up to three bytes.
    while fields.0.len() >= 4 {
        let (kind, bytes) = (fields.u16()?, fields.u16()?);
        let value = fields.take(bytes.into())?;
        if kind == EXTRA_64 && found.replace(value).is_some() {
            return Err(Refusal::Overlapping);
        }
    }
    Ok(found.unwrap_or_default())
}

/// Decodes a name from UTF-8, or else from the original character set of ZIP (code page 437).
fn decoded(name: &[u8], is_utf_8: bool) -> String {
    match str::from_utf8(name) {
        Ok(name) => name.to_owned(),
        Err(_) if is_utf_8 => String::from_utf8_lossy(name).into_owned(),
        Err(_) => {
            let high: Vec<char> = CODE_PAGE_437.chars().collect();
            let char = |byte: &u8| byte.checked_sub(128).map_or(char::from(*byte), |at| high[usize::from(at)]);
            name.iter().map(char).collect()
        }
    }
}

/// Characters of code page 437 from 128 on.
const CODE_PAGE_437: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";

/// Fields of a record, read one after the other.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, bytes: usize) -> Result<&'a [u8], Refusal> {
        let (taken, rest) = self.0.split_at_checked(bytes).ok_or(Refusal::Unreadable)?;
        self.0 = rest;
        Ok(taken)
    }

    fn skip(&mut self, bytes: usize) -> Result<(), Refusal> {
        self.take(bytes).map(drop)
    }

    fn signature(&mut self, signature: [u8; 4]) -> Result<(), Refusal> {
        if self.take(4)? == signature { Ok(()) } else { Err(Refusal::Unreadable) }
    }

    fn u16(&mut self) -> Result<u16, Refusal> {
        number::<2>(self.take(2)?).map(|value| value as u16).ok_or(Refusal::Unreadable)
    }

    fn u32(&mut self) -> Result<u32, Refusal> {
        number::<4>(self.take(4)?).map(|value| value as u32).ok_or(Refusal::Unreadable)
    }

    fn u64(&mut self) -> Result<u64, Refusal> {
        number::<8>(self.take(8)?).ok_or(Refusal::Unreadable)
    }
}

/// Returns the little-endian number with which the bytes begin.
fn number<const BYTES: usize>(bytes: &[u8]) -> Option<u64> {
    let bytes = bytes.first_chunk::<BYTES>()?;
    Some(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests;
