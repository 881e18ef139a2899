//! Texts that end where memory ends, or begin where it begins: whoever reads a byte more is stopped by the processor. All that is written is
//! written into memory that ends so, too.
//!
//! The tests go through every length around the widths of vectors. What they find is compared with what is found of the same text elsewhere.
#![cfg(not(miri))]
#![allow(unsafe_code)]

use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt::Debug;
use std::num::NonZero;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use thalweg_json::value::RawValue;
use thalweg_json::{Container, FromJson, Parser, Reader, Scalar, ToJson, Value, Visitor, read, write, write_chunks};

/// No page is larger, in bytes, on the processors that there is code for here; a multiple of each size.
const PAGE_BYTES: usize = 64 << 10;

/// Memory between two pages that can be neither read nor written.
struct Guarded(NonNull<u8>);

impl Guarded {
    fn new() -> Guarded {
        Guarded(map(3 * PAGE_BYTES, |page| page == 1).expect("memory is there"))
    }

    /// The text, with its last byte before the page behind.
    fn at_end(&mut self, text: &[u8]) -> &[u8] {
        self.put(text, PAGE_BYTES - text.len())
    }

    /// The text, with its first byte behind the page before.
    fn at_start(&mut self, text: &[u8]) -> &[u8] {
        self.put(text, 0)
    }

    fn put(&mut self, text: &[u8], at: usize) -> &[u8] {
        assert!(text.len() <= PAGE_BYTES - at);
        // SAFETY: the page in the middle may be written, the text lies within it, and nobody else has a reference to it.
        unsafe {
            let place = self.0.add(PAGE_BYTES + at);
            place.copy_from_nonoverlapping(NonNull::from_ref(text).cast(), text.len());
            std::slice::from_raw_parts(place.as_ptr(), text.len())
        }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: so much was mapped there, and nobody has a reference to it any more.
        unsafe { munmap(self.0.cast(), 3 * PAGE_BYTES).expect("it is mapped") };
    }
}

/// Maps pages, of which some may be read and written.
fn map(bytes: usize, is_open: impl Fn(usize) -> bool) -> Option<NonNull<u8>> {
    // SAFETY: new memory, wherever there is place, which belongs to nobody else; what is opened lies within it.
    unsafe {
        let (length, flags) = (NonZero::new(bytes)?, MapFlags::MAP_PRIVATE | MapFlags::MAP_NORESERVE);
        let start = mmap_anonymous(None, length, ProtFlags::PROT_NONE, flags).ok()?.cast::<u8>();
        for page in (0..bytes / PAGE_BYTES).filter(|page| is_open(*page)) {
            let open = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
            mprotect(start.add(page * PAGE_BYTES).cast(), PAGE_BYTES, open).ok()?;
        }
        Some(start)
    }
}

/// Gives bytes memory that ends before a page that cannot be written, as long as there is such memory.
struct Fenced;

#[global_allocator]
static FENCED: Fenced = Fenced;

/// So many buffers of bytes can be there at a time; a test has some hundreds.
const FENCES: usize = 4096;
/// Where they are; 0 before there is one.
static START: AtomicUsize = AtomicUsize::new(0);
static IS_TAKEN: [AtomicBool; FENCES] = [const { AtomicBool::new(false) }; FENCES];

impl Fenced {
    fn start() -> Option<usize> {
        match START.load(Ordering::Acquire) {
            0 => {
                let mapped = map(2 * FENCES * PAGE_BYTES, |page| page % 2 == 0)?.as_ptr().expose_provenance();
                // where two threads come first, what the other one mapped stays unused
                let old = START.compare_exchange(0, mapped, Ordering::AcqRel, Ordering::Acquire);
                Some(old.err().unwrap_or(mapped))
            }
            start => Some(start),
        }
    }

    /// The fence that such an address belongs to.
    fn of(address: usize) -> Option<usize> {
        let at = address.checked_sub(START.load(Ordering::Acquire))? / (2 * PAGE_BYTES);
        (at < FENCES && START.load(Ordering::Acquire) > 0).then_some(at)
    }
}

// SAFETY: memory is the system's, or a part of a page that nobody else has taken, as long as it has to be, and aligned as bytes are.
unsafe impl GlobalAlloc for Fenced {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() == 1
            && layout.size() <= PAGE_BYTES
            && let Some(start) = Fenced::start()
        {
            for (at, is_taken) in IS_TAKEN.iter().enumerate() {
                if !is_taken.swap(true, Ordering::AcqRel) {
                    let address = start + 2 * at * PAGE_BYTES + PAGE_BYTES - layout.size();
                    return std::ptr::with_exposed_provenance_mut(address);
                }
            }
        }
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // nothing is asked of it where it is empty: that is never allocated
        match Fenced::of(memory.addr()) {
            Some(at) => IS_TAKEN[at].store(false, Ordering::Release),
            // SAFETY: it is the system's, since it is not ours.
            None => unsafe { System.dealloc(memory, layout) },
        }
    }
}

/// The longest text that is tried: three of the widest vectors and a little, in bytes.
const LENGTH_MAX: usize = 200;

/// Texts up to this length are shorter than the widest vector, or hardly longer, in bytes.
const SHORT_MAX: usize = 80;

#[test]
fn a_buffer_ends_where_memory_ends() {
    let buffer = Vec::<u8>::with_capacity(100);
    let end = buffer.as_ptr().addr() + 100;
    assert!(Fenced::of(end - 1).is_some());
    assert_eq!((end - START.load(Ordering::Acquire)) % (2 * PAGE_BYTES), PAGE_BYTES);
}

#[derive(ToJson, FromJson, PartialEq, Debug)]
struct Record {
    id: Option<u64>,
    #[json(rename = "a longer name, of more bytes than a vector of thirty-two")]
    long: Option<f64>,
    name: Option<String>,
    é: Option<bool>,
}

/// What a reader tells, in words.
#[derive(Default, PartialEq, Debug)]
struct Told(Vec<u8>);

impl Visitor for Told {
    type Error = Infallible;

    fn open(&mut self, container: Container, depth: usize, at: u64) -> Result<(), Infallible> {
        self.0.extend_from_slice(format!("{container:?}{depth}@{at}").as_bytes());
        Ok(())
    }

    fn string_piece(&mut self, bytes: &[u8]) -> Result<(), Infallible> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn string_escape(&mut self, raw: &[u8], character: char) -> Result<(), Infallible> {
        self.0.extend_from_slice(raw);
        self.0.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    }

    fn scalar_piece(&mut self, bytes: &[u8]) -> Result<(), Infallible> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn scalar_end(&mut self, scalar: Scalar, _: usize, at: u64) -> Result<(), Infallible> {
        self.0.extend_from_slice(format!("{scalar:?}@{at}").as_bytes());
        Ok(())
    }
}

fn debugged<T: Debug, E: std::fmt::Display>(result: Result<T, E>) -> String {
    result.map_or_else(|error| error.to_string(), |value| format!("{value:?}"))
}

fn typed<'de, T: FromJson<'de> + Debug>(text: &'de [u8]) -> String {
    debugged(read::<T>(text))
}

fn by_serde<'de, T: serde::Deserialize<'de> + Debug>(text: &'de [u8]) -> String {
    debugged(thalweg_json::from_slice::<T>(text))
}

type Reading = fn(&[u8]) -> String;

/// All that can be done with a text, by name.
fn readings() -> Vec<(&'static str, Reading)> {
    vec![
        ("String", |text| typed::<String>(text)),
        ("&str", |text| typed::<&str>(text)),
        ("char", |text| typed::<char>(text)),
        ("f64", |text| typed::<f64>(text)),
        ("f32", |text| typed::<f32>(text)),
        ("u64", |text| typed::<u64>(text)),
        ("i64", |text| typed::<i64>(text)),
        ("i128", |text| typed::<i128>(text)),
        ("bool", |text| typed::<Option<bool>>(text)),
        ("Vec<f64>", |text| typed::<Vec<f64>>(text)),
        ("Vec<Option<u64>>", |text| typed::<Vec<Option<u64>>>(text)),
        ("BTreeMap", |text| typed::<BTreeMap<String, Record>>(text)),
        ("Record", |text| typed::<Record>(text)),
        ("skip", |text| {
            let mut parser = Parser::new(text);
            debugged(parser.skip().and_then(|()| parser.end()))
        }),
        ("raw", |text| {
            let mut parser = Parser::new(text);
            debugged(parser.raw().and_then(|raw| parser.end().map(|()| raw.to_owned())))
        }),
        ("Value", |text| by_serde::<Value>(text)),
        ("RawValue", |text| by_serde::<&RawValue>(text)),
        ("IgnoredAny", |text| by_serde::<serde::de::IgnoredAny>(text)),
        ("Bytes", |text| by_serde::<&[u8]>(text)),
        ("keys", |text| by_serde::<BTreeMap<i32, ()>>(text)),
        ("stream", |text| {
            let mut told = Told::default();
            let mut reader = Reader::document();
            let result = reader.feed(text, &mut told).and_then(|()| reader.finish(&mut told));
            format!("{told:?} {result:?}")
        }),
    ]
}

/// Texts of about so many bytes, most of them right up to their last byte.
fn texts(length: usize) -> Vec<Vec<u8>> {
    const ENDS: [&[u8]; 22] = [
        b"",
        b"\"",
        b"\\",
        b"\\n",
        b"\\n\"",
        b"\\\"",
        b"\\u",
        b"\\u0",
        b"\\u00e",
        b"\\u00e9",
        b"\\u00e9\"",
        b"\\ud83d",
        b"\\ud83d\\",
        b"\\ud83d\\u",
        b"\\ud83d\\ude0",
        b"\\ud83d\\ude00\"",
        b"\xc3\xa9\"",
        b"\xc3\"",
        b"\xff",
        b"\x01\"",
        b"\\x\"",
        b"\": 1}",
    ];
    const NUMBERS: [(&str, &str); 9] =
        [("", ""), ("-", ""), ("0.", ""), ("-1.", "e"), ("1e", ""), ("", "."), ("", "e-"), ("", "E5"), ("1.5", "x")];
    let document = r#"{ "id":12345678901234567890,"a longer name, of more bytes than a vector of thirty-two" : 0.1234567890123456789e-5,
        "name":"plain \\ \u00e9 \ud83d\ude00 and what is behind that","\u00e9":true, "other":[1,2.5,{"a":null},"x\n"], "é":false}"#;
    let filled = |byte: u8| vec![byte; length];
    let mut texts = vec![document.as_bytes()[..length.min(document.len())].to_vec(), b"[".repeat(length)];
    for end in ENDS {
        texts.push([b"\"", &filled(b'x')[..], end].concat());
        texts.push([b"\"", "é".repeat(length / 2).as_bytes(), end].concat());
        texts.push([b"\"", &b"\\n".repeat(length / 2)[..], end].concat());
        texts.push([b"\"\\u0041", &filled(b'x')[..], end].concat());
        texts.push([b"{\"", &filled(b'7')[..], end].concat());
    }
    for (before, behind) in NUMBERS {
        texts.push([before.as_bytes(), &filled(b'1'), behind.as_bytes()].concat());
        texts.push([b"[1, ", before.as_bytes(), &filled(b'0'), behind.as_bytes()].concat());
    }
    for blank in [b' ', b'\n', b'\t'] {
        for value in
            ["", "1", "\"a\"", "nul", "null", "tru", "true", "false", "[]", "[1,", "{", "{\"id\":1}", "{\"id\""]
        {
            texts.push([&filled(blank), value.as_bytes()].concat());
            texts.push([value.as_bytes(), &filled(blank)].concat());
        }
    }
    texts
}

#[test]
fn texts_are_read_up_to_their_ends() {
    let readings = readings();
    let mut guarded = Guarded::new();
    for length in 0..=LENGTH_MAX {
        for text in texts(length) {
            // what is behind it here would be taken for a part of it
            let elsewhere = [b"1\"", &text[..], b"1\\u0041\"e5,1]}"].concat();
            for (name, reading) in &readings {
                let expected = reading(&elsewhere[2..][..text.len()]);
                let shown = text.escape_ascii();
                assert_eq!(reading(guarded.at_end(&text)), expected, "{name} of {shown}, at the end");
                // whoever reads a last block again, of less than is left, does so in short texts
                if length <= SHORT_MAX {
                    assert_eq!(reading(guarded.at_start(&text)), expected, "{name} of {shown}, at the start");
                }
            }
        }
    }
}

#[test]
fn texts_are_read_in_two_pieces_up_to_the_ends_of_both() {
    let (mut first, mut second) = (Guarded::new(), Guarded::new());
    for length in (0..=LENGTH_MAX).step_by(7) {
        for text in texts(length) {
            let mut whole = Told::default();
            let mut reader = Reader::document();
            let expected = reader.feed(&text, &mut whole).and_then(|()| reader.finish(&mut whole));
            for cut in (0..text.len()).rev().take(40) {
                let mut told = Told::default();
                let mut reader = Reader::document();
                let result = reader
                    .feed(first.at_end(&text[..cut]), &mut told)
                    .and_then(|()| reader.feed(second.at_end(&text[cut..]), &mut told))
                    .and_then(|()| reader.finish(&mut told));
                assert_eq!(result, expected, "{} cut at {cut}", text.escape_ascii());
                if expected.is_ok() {
                    assert_eq!(told, whole, "{} cut at {cut}", text.escape_ascii());
                }
            }
        }
    }
}

/// A string in all ways in which strings are written.
fn written(text: &str) -> Vec<Vec<u8>> {
    let (mut whole, mut inside, mut value, mut chunks) = (Vec::new(), b"\"".to_vec(), Vec::new(), Vec::new());
    thalweg_json::write_string(&mut whole, text.as_bytes());
    thalweg_json::write_inside(&mut inside, text.as_bytes());
    inside.push(b'"');
    write(text, &mut value);
    // a chunk is nearly full when it comes
    let before = "y".repeat(256 - 64 - text.len().min(256 - 64));
    let sink = |chunk: &mut Vec<u8>| {
        chunks.append(&mut std::mem::take(chunk));
        Ok(())
    };
    write_chunks(&(&*before, text), 256, sink).expect("the sink takes all");
    let alone = chunks[before.len() + 4..chunks.len() - 1].to_vec();
    let by_serde = thalweg_json::to_vec(text).expect("a string is written");
    let formatted = thalweg_json::to_vec_pretty(text).expect("a string is written");
    vec![whole, inside, value, alone, by_serde, formatted]
}

#[test]
fn strings_are_written_from_memory_and_into_memory_up_to_its_end() {
    let mut guarded = Guarded::new();
    for length in 0..=LENGTH_MAX {
        let places = [0, 1, 7, 8, 15, 16, 31, 32, 63, 64, length / 2].map(|back| length.saturating_sub(back));
        for special in ["x", "\"", "\n", "\u{1}", "é", "🚀", "\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}"] {
            let all = special.repeat(length / special.len());
            for text in places.iter().map(|at| format!("{}{special}", "x".repeat(*at))).chain([all]) {
                let expected = serde_json::to_vec(&text).expect("a string is written");
                for at_end in [true, false] {
                    let bytes =
                        if at_end { guarded.at_end(text.as_bytes()) } else { guarded.at_start(text.as_bytes()) };
                    let lent = std::str::from_utf8(bytes).expect("it is a string");
                    for (way, found) in written(lent).iter().enumerate() {
                        assert_eq!(found.escape_ascii().to_string(), expected.escape_ascii().to_string(), "way {way}");
                    }
                }
            }
        }
    }
}

/// Whatever room there is behind what has been written already.
#[test]
fn values_are_written_into_memory_up_to_its_end() {
    type Write = fn(&mut Vec<u8>);
    let writes: [(&str, Write); 14] = [
        ("true", |out| write(&true, out)),
        ("null", |out| write(&(), out)),
        ("18446744073709551615", |out| write(&u64::MAX, out)),
        ("-170141183460469231731687303715884105728", |out| write(&i128::MIN, out)),
        ("-9223372036854775808", |out| thalweg_json::write_int(out, i64::MIN)),
        ("-2.2250738585072014e-308", |out| write(&-f64::MIN_POSITIVE, out)),
        ("-1.2345678901234568e-300", |out| write(&-1.234_567_890_123_456_8e-300, out)),
        ("-0.000012345678901234568", |out| write(&-1.234_567_890_123_456_8e-5, out)),
        ("123456789012345.6", |out| write(&123_456_789_012_345.6, out)),
        ("1234567.25", |out| write(&1_234_567.25, out)),
        ("-3.4028235e+38", |out| write(&f32::MIN, out)),
        ("0.1", |out| thalweg_json::write_f64(out, 0.1)),
        ("literal", |out| thalweg_json::append(out, b"literal")),
        ("[1.5,\"\\n\"]", |out| thalweg_json::to_writer(out, &(1.5, "\n")).expect("a vector takes all")),
    ];
    for (expected, write) in writes {
        for before in 0..130 {
            for room in 0..70 {
                let mut out = Vec::with_capacity(before + room);
                out.resize(before, b'-');
                write(&mut out);
                assert_eq!(&out[..before], vec![b'-'; before]);
                assert_eq!(std::str::from_utf8(&out[before..]).expect("it is a string"), expected);
            }
        }
    }
}
