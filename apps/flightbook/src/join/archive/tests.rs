//! Tests with well-formed archives, and with archives that were forged to be expensive or
//! ambiguous.

use super::*;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use std::io::{Cursor, Write};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// A local header without its name.
const LOCAL_BYTES: usize = 30;

/// A file of an archive that a test builds field by field.
#[derive(Clone)]
struct Forged {
    name: &'static str,
    data: Vec<u8>,
    flags: u16,
    method: u16,
    crc32: u32,
    /// Packed and unpacked size, in the directory and in the local header.
    sizes: [u32; 2],
    local_sizes: [u32; 2],
    /// Offset of the local header that the directory declares, if it is not the true one.
    offset: Option<u32>,
    extra: Vec<u8>,
    /// Checksum and extra field of the local header.
    local_crc32: u32,
    local_extra: Vec<u8>,
    /// True if a record with the checksum and the sizes follows the data.
    has_descriptor: bool,
}

fn stored(name: &'static str, content: &[u8]) -> Forged {
    let mut crc = Crc::new();
    crc.update(content);
    let sizes = [content.len() as u32; 2];
    let crc32 = crc.sum();
    Forged {
        name,
        data: content.to_vec(),
        flags: 0,
        method: STORED,
        crc32,
        local_crc32: crc32,
        local_extra: Vec::new(),
        sizes,
        local_sizes: sizes,
        offset: None,
        extra: Vec::new(),
        has_descriptor: false,
    }
}

fn deflated(name: &'static str, content: &[u8]) -> Forged {
    let mut packed = DeflateEncoder::new(Vec::new(), Compression::default());
    packed.write_all(content).unwrap();
    let data = packed.finish().unwrap();
    let sizes = [data.len() as u32, content.len() as u32];
    Forged { data, method: DEFLATED, sizes, local_sizes: sizes, ..stored(name, content) }
}

/// Builds an archive of these files, with a comment. The declared number of entries differs from
/// the true one by `more_entries`.
fn archive(files: &[Forged], comment: &[u8], more_entries: i32) -> Vec<u8> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for file in files {
        let offset = file.offset.unwrap_or(archive.len() as u32);
        archive.extend(LOCAL);
        archive.extend(header(file, file.local_crc32, file.local_sizes));
        archive.extend([file.name.len() as u16, file.local_extra.len() as u16].map(u16::to_le_bytes).concat());
        archive.extend(file.name.as_bytes());
        archive.extend(&file.local_extra);
        archive.extend(&file.data);
        if file.has_descriptor {
            archive.extend(
                [
                    [b'P', b'K', 7, 8],
                    file.crc32.to_le_bytes(),
                    file.sizes[0].to_le_bytes(),
                    file.sizes[1].to_le_bytes(),
                ]
                .concat(),
            );
        }
        directory.extend(ENTRY);
        directory.extend([20, 0]);
        directory.extend(header(file, file.crc32, file.sizes));
        directory.extend((file.name.len() as u16).to_le_bytes());
        directory.extend((file.extra.len() as u16).to_le_bytes());
        directory.extend([0; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(file.name.as_bytes());
        directory.extend(&file.extra);
    }
    let count = (files.len() as i32 + more_entries) as u16;
    let start = archive.len() as u32;
    archive.extend(&directory);
    archive.extend(END);
    archive.extend([0; 4]);
    archive.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
    archive.extend([(directory.len() as u32).to_le_bytes(), start.to_le_bytes()].concat());
    archive.extend((comment.len() as u16).to_le_bytes());
    archive.extend(comment);
    archive
}

/// Returns the version, the flags, the method, no time, the checksum and the sizes.
fn header(file: &Forged, crc32: u32, sizes: [u32; 2]) -> Vec<u8> {
    let numbers = [20, file.flags, file.method, 0, 0].map(u16::to_le_bytes).concat();
    [numbers, [crc32, sizes[0], sizes[1]].map(u32::to_le_bytes).concat()].concat()
}

/// Returns an extra field with these sizes of 64 bits.
fn extra_of(sizes: &[u64]) -> Vec<u8> {
    let values: Vec<u8> = sizes.iter().flat_map(|size| size.to_le_bytes()).collect();
    [&EXTRA_64.to_le_bytes()[..], &(values.len() as u16).to_le_bytes(), &values].concat()
}

/// Returns the files with their names, or the reason why the archive or a file of it is refused.
fn unpacked(archive: Vec<u8>) -> Result<Vec<(String, Vec<u8>)>, Refusal> {
    let archive = Bytes::from(archive);
    let entries = entries(&archive, 2_000)?;
    entries.into_iter().map(|entry| Ok((entry.name.clone(), entry.unpack(&archive)?.to_vec()))).collect()
}

fn refused(archive: Vec<u8>) -> Refusal {
    unpacked(archive).unwrap_err()
}

#[test]
fn files_are_unpacked_however_they_are_packed() {
    let text = b"a track\n".repeat(1000);
    let followed = |file: Forged| Forged {
        flags: SIZES_FOLLOW,
        local_crc32: 0,
        local_sizes: [0, 0],
        has_descriptor: true,
        ..file
    };
    let plain = [stored("a.igc", b"first"), deflated("b.igc", &text), stored("empty/", b"")];
    let expected = [("a.igc", &b"first"[..]), ("b.igc", &text), ("empty/", b"")];
    let expected: Vec<_> = expected.map(|(name, content)| (name.to_owned(), content.to_vec())).into();
    assert_eq!(unpacked(archive(&plain, b"", 0)).as_ref(), Ok(&expected));
    assert_eq!(unpacked(archive(&plain, b"made with love", 0)).as_ref(), Ok(&expected));
    assert_eq!(unpacked(archive(&plain.map(followed), b"", 0)).as_ref(), Ok(&expected));
    let mut written = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in &expected {
        // With sizes of 64 bits, as programs write them that do not know the size in advance.
        written.start_file(name.as_str(), SimpleFileOptions::default().large_file(true)).unwrap();
        written.write_all(content).unwrap();
    }
    assert_eq!(unpacked(written.finish().unwrap().into_inner()).as_ref(), Ok(&expected));
    let mut streamed = ZipWriter::new_stream(Vec::new());
    for (name, content) in &expected {
        streamed.start_file(name.as_str(), SimpleFileOptions::default()).unwrap();
        streamed.write_all(content).unwrap();
    }
    assert_eq!(unpacked(streamed.finish().unwrap().into_inner()).as_ref(), Ok(&expected));
    assert_eq!(unpacked(archive(&[], b"", 0)), Ok(Vec::new()));
}

#[test]
fn entries_that_share_a_byte_or_a_name_are_refused() {
    let (a, b) = (deflated("a.igc", &b"a track\n".repeat(100)), deflated("b.igc", &b"another\n".repeat(100)));
    assert!(unpacked(archive(&[a.clone(), b.clone()], b"", 0)).is_ok());
    // Two entries of the directory point to one local header.
    let twice = Forged { offset: Some(0), name: "a.igc", ..a.clone() };
    assert_eq!(refused(archive(&[a.clone(), twice], b"", 0)), Refusal::Overlapping);
    // The directory points into the data of another entry.
    let local = LOCAL_BYTES + a.name.len();
    let whole = archive(std::slice::from_ref(&b), b"", 0);
    let second = &whole[..LOCAL_BYTES + b.name.len() + b.data.len()];
    let nested = stored("c.igc", second);
    let inner = Forged { offset: Some(local as u32), data: Vec::new(), ..b.clone() };
    assert_eq!(refused(archive(&[nested, inner], b"", 0)), Refusal::Overlapping);
    assert_eq!(refused(archive(&[a.clone(), Forged { name: "a.igc", ..b }], b"", 0)), Refusal::Overlapping);
    // A comment contains the end record of another directory.
    let inner = archive(&[], b"", 0);
    assert_eq!(refused(archive(&[a], &inner, 0)), Refusal::Overlapping);
}

#[test]
fn an_entry_that_ends_one_byte_late_overlaps_the_next() {
    let a = stored("a.igc", b"0123456789");
    let first_bytes = (LOCAL_BYTES + a.name.len() + a.data.len()) as u32;
    let mut whole = archive(&[a, stored("b.igc", b"x")], b"", 0);
    assert!(unpacked(whole.clone()).is_ok());
    // The first entry is declared one byte longer in both places, so that it ends within the
    // second.
    let directory = whole.windows(4).position(|bytes| bytes == ENTRY).unwrap();
    for at in [18, 22, directory + 20, directory + 24] {
        whole[at] += 1;
    }
    assert_eq!(whole[first_bytes as usize..][..4], LOCAL);
    assert_eq!(refused(whole), Refusal::Overlapping);
}

#[test]
fn wrong_sizes_are_refused() {
    let text = b"a track\n".repeat(1000);
    let file = deflated("a.igc", &text);
    let sized = |sizes: [u32; 2]| archive(&[Forged { sizes, local_sizes: sizes, ..file.clone() }], b"", 0);
    let [packed, size] = file.sizes;
    assert!(unpacked(sized([packed, size])).is_ok());
    for lie in [[packed, size - 1], [packed, size + 1], [packed, 0], [packed - 1, size], [packed + 1, size]] {
        assert_eq!(refused(sized(lie)), Refusal::Unreadable, "{lie:?}");
    }
    // The local header differs from the directory.
    for local in [[packed, size - 1], [packed + 1, size], [0, 0]] {
        let lie = Forged { local_sizes: local, ..file.clone() };
        assert_eq!(refused(archive(&[lie], b"", 0)), Refusal::Unreadable, "{local:?}");
    }
    assert_eq!(refused(archive(&[Forged { crc32: 1, local_crc32: 1, ..file.clone() }], b"", 0)), Refusal::Unreadable);
    for more_entries in [-1, 1] {
        assert_eq!(refused(archive(std::slice::from_ref(&file), b"", more_entries)), Refusal::Unreadable);
    }
    let stored_otherwise = Forged { sizes: [5, 6], local_sizes: [5, 6], ..stored("a.igc", b"12345") };
    assert_eq!(refused(archive(&[stored_otherwise], b"", 0)), Refusal::Unreadable);
}

/// A local size of 32 ones was accepted, whatever the extra field contained.
#[test]
fn local_sizes_of_64_bits_agree_with_the_directory() {
    let file = deflated("a.igc", &b"a track\n".repeat(1000));
    let [packed, size] = file.sizes;
    let read = |local_sizes: [u32; 2], local_extra: Vec<u8>| {
        unpacked(archive(&[Forged { local_sizes, local_extra, ..file.clone() }], b"", 0)).is_ok()
    };
    let (all, wide) = (u32::MAX, extra_of(&[size.into(), packed.into()]));
    for sizes in [[all, all], [packed, all], [all, size], [packed, size]] {
        assert!(read(sizes, wide.clone()), "{sizes:?}");
    }
    for sizes in [[all, all], [packed, all], [all, size]] {
        assert!(!read(sizes, Vec::new()) && !read(sizes, extra_of(&[size.into()])), "{sizes:?}");
    }
    for lie in [[u64::from(size) + 1, packed.into()], [size.into(), u64::from(packed) - 1], [0, 0], [u64::MAX; 2]] {
        assert!(!read([all, all], extra_of(&lie)), "{lie:?}");
    }
    assert!(!read([all, all], [wide.clone(), wide].concat()));
}

/// If the sizes follow the data, a reader that reads the stream may use those of the local header.
#[test]
fn local_sizes_of_a_streamed_file_are_zero_or_right() {
    let file = Forged { flags: SIZES_FOLLOW, has_descriptor: true, ..deflated("a.igc", &b"a track\n".repeat(1000)) };
    let [packed, size] = file.sizes;
    let read = |local_crc32: u32, local_sizes: [u32; 2], local_extra: Vec<u8>| {
        unpacked(archive(&[Forged { local_crc32, local_sizes, local_extra, ..file.clone() }], b"", 0)).is_ok()
    };
    for (crc32, sizes) in [(0, [0, 0]), (file.crc32, [packed, size]), (0, [0, size]), (file.crc32, [0, 0])] {
        assert!(read(crc32, sizes, Vec::new()), "{crc32} {sizes:?}");
    }
    for (crc32, sizes) in [(file.crc32 ^ 1, [0, 0]), (0, [packed + 1, size]), (0, [0, size - 1]), (0, [1, 1])] {
        assert!(!read(crc32, sizes, Vec::new()), "{crc32} {sizes:?}");
    }
    assert!(read(0, [u32::MAX; 2], extra_of(&[0, 0])));
    assert!(!read(0, [u32::MAX; 2], extra_of(&[1, 0])) && !read(0, [u32::MAX; 2], Vec::new()));
}

#[test]
fn places_outside_of_the_archive_are_refused() {
    let file = stored("a.igc", b"x");
    for offset in [1, 0x7fff_ffff, 0xffff_fffe, 0xffff_ffff] {
        let away = Forged { offset: Some(offset), ..file.clone() };
        assert_eq!(refused(archive(&[away], b"", 0)), Refusal::Unreadable, "{offset}");
    }
    // Sizes of 64 bits that no file has.
    for wide in [[u64::MAX, u64::MAX, 0], [1, u64::MAX, 0], [1, 1, u64::MAX]] {
        let (extra, local_extra) = (extra_of(&wide), extra_of(&wide[..2]));
        let wide_file = Forged {
            sizes: [u32::MAX; 2],
            local_sizes: [u32::MAX; 2],
            offset: Some(u32::MAX),
            extra,
            local_extra,
            ..file.clone()
        };
        assert_eq!(refused(archive(&[wide_file], b"", 0)), Refusal::Unreadable, "{wide:?}");
    }
    let whole = archive(std::slice::from_ref(&file), b"", 0);
    for end in 0..whole.len() {
        assert_eq!(refused(whole[..end].to_vec()), Refusal::Unreadable, "cut at {end}");
    }
    // The reader does not panic, whichever byte differs.
    for at in 0..whole.len() {
        let mut other = whole.clone();
        other[at] ^= 0xff;
        _ = unpacked(other);
    }
}

#[test]
fn encrypted_and_otherwise_packed_files_are_refused_one_by_one() {
    let file = stored("a.igc", b"x");
    for flags in [ENCRYPTED, PATCHED, STRONGLY_ENCRYPTED, MASKED] {
        assert_eq!(refused(archive(&[Forged { flags, ..file.clone() }], b"", 0)), Refusal::Unreadable);
    }
    for method in [1, 6, 9, 12, 14, 93, 99] {
        assert_eq!(refused(archive(&[Forged { method, ..file.clone() }], b"", 0)), Refusal::Unreadable);
    }
    let mixed = archive(&[Forged { flags: ENCRYPTED, ..file }, stored("b.igc", b"y")], b"", 0);
    let mixed = Bytes::from(mixed);
    let entries = entries(&mixed, 2).unwrap();
    assert_eq!(entries[0].unpack(&mixed), Err(Refusal::Unreadable));
    assert_eq!(entries[1].unpack(&mixed).as_deref(), Ok(&b"y"[..]));
}

#[test]
fn the_number_of_entries_is_bounded() {
    const NAMES: [&str; 3] = ["a.igc", "b.igc", "c.igc"];
    let whole = archive(&NAMES.map(|name| stored(name, b"")), b"", 0);
    assert_eq!(entries(&whole, 3).unwrap().len(), 3);
    assert_eq!(entries(&whole, 2).unwrap_err(), Refusal::TooMuch);
}

#[test]
fn a_long_file_is_cut_one_byte_after_the_length_of_a_track() {
    let long = deflated("a.igc", &vec![b'\n'; TRACK_BYTES_MAX + 10]);
    assert_eq!(unpacked(archive(&[long], b"", 0)).unwrap()[0].1.len(), TRACK_BYTES_MAX + 1);
    let whole = deflated("a.igc", &vec![b'\n'; TRACK_BYTES_MAX]);
    assert_eq!(unpacked(archive(&[whole], b"", 0)).unwrap()[0].1.len(), TRACK_BYTES_MAX);
}

#[test]
fn names_are_decoded_from_utf_8_or_code_page_437() {
    assert_eq!(decoded("Zürich.igc".as_bytes(), true), "Zürich.igc");
    assert_eq!(decoded(b"Z\x81rich \xe1.igc", false), "Zürich ß.igc");
    assert_eq!(CODE_PAGE_437.chars().count(), 128);
}
