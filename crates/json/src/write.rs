//! Writing values whose shape is known when the program is compiled: [`ToJson`].
//!
//! A [`Writer`] is the place up to which text has been written, and is handed on by value, so that it stays in a register. Between
//! that place and the end of the room there are always [`SLACK_BYTES`]: a number or a short piece of text needs one comparison, and no more.
#![allow(unsafe_code)]

mod float;
mod integer;
mod values;

use crate::scan;
use std::convert::Infallible;
use std::io;

/// A value that has a text in JSON.
///
/// ```
/// use thalweg_json::{ToJson, Writer, write};
///
/// struct Celsius(f64);
///
/// impl ToJson for Celsius {
///     fn to_json<'o>(&self, out: Writer<'o>) -> Writer<'o> {
///         out.literal("{\"celsius\":").float(self.0).literal("}")
///     }
/// }
///
/// let mut text = Vec::new();
/// write(&Celsius(21.5), &mut text);
/// assert_eq!(text, br#"{"celsius":21.5}"#);
/// ```
pub trait ToJson {
    /// Writes the value, and returns the place behind it.
    fn to_json<'o>(&self, out: Writer<'o>) -> Writer<'o>;
}

/// A value that can be the key of an object: what it has as text, between quotes.
pub trait ToJsonKey {
    /// Writes the key with its quotes, and returns the place behind it.
    fn to_json_key<'o>(&self, out: Writer<'o>) -> Writer<'o>;
}

/// Appends a value's text.
// in line, a function that calls it for many types would take longer than all of them to compile
#[inline(never)]
pub fn write<T: ToJson + ?Sized>(value: &T, text: &mut Vec<u8>) {
    Output::new(text, None).write(value);
}

/// Writes a value's text in chunks of at most `chunk_bytes` (of at least 256), each given to `sink` as soon as it is full, so
/// that the whole never exists. A sink may take the buffer and leave an empty one. What it fails with ends the writing.
///
/// ```
/// # use thalweg_json::write_chunks;
/// let mut chunks = Vec::new();
/// write_chunks(&vec![1_u64; 1000], 256, |chunk| {
///     chunks.push(std::mem::take(chunk));
///     Ok(())
/// })?;
/// assert!(chunks.len() > 7 && chunks.iter().all(|chunk| chunk.len() <= 256));
/// assert_eq!(chunks.concat().len(), 2001);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write_chunks<T: ToJson + ?Sized>(
    value: &T,
    chunk_bytes: usize,
    mut sink: impl FnMut(&mut Vec<u8>) -> io::Result<()>,
) -> io::Result<()> {
    let mut chunk = Vec::new();
    let chunks = Chunks { bytes: chunk_bytes.max(CHUNK_BYTES_MIN), sink: &mut sink, failed: None };
    Output::new(&mut chunk, Some(chunks)).write(value).finish()
}

/// Appends what is written by a function, which may fail: what it has written then is lost.
#[cfg(feature = "serde")]
#[inline(always)]
pub(crate) fn append_with<E>(
    text: &mut Vec<u8>,
    write: impl for<'o> FnOnce(Writer<'o>) -> std::result::Result<Writer<'o>, E>,
) -> std::result::Result<(), E> {
    Output::new(text, None).write_with(write).map(drop)
}

/// As [`write_chunks`], by a function that may fail: of what it has written then, whole chunks have been given to `sink`.
#[cfg(feature = "serde")]
pub(crate) fn chunks_with<E>(
    chunk_bytes: usize,
    mut sink: impl FnMut(&mut Vec<u8>) -> io::Result<()>,
    write: impl for<'o> FnOnce(Writer<'o>) -> std::result::Result<Writer<'o>, E>,
) -> std::result::Result<io::Result<()>, E> {
    let mut chunk = Vec::new();
    let chunks = Chunks { bytes: chunk_bytes.max(CHUNK_BYTES_MIN), sink: &mut sink, failed: None };
    Output::new(&mut chunk, Some(chunks)).write_with(write).map(Output::finish)
}

/// A text that a [`Writer`] has written whole is UTF-8: whatever it writes is a `str`, or ASCII.
#[cfg(feature = "serde")]
#[inline]
pub(crate) fn append_string<E>(
    write: impl for<'o> FnOnce(Writer<'o>) -> std::result::Result<Writer<'o>, E>,
) -> std::result::Result<String, E> {
    let mut text = Vec::with_capacity(TEXT_BYTES_MIN);
    append_with(&mut text, write)?;
    // SAFETY: nothing else has written to the text.
    Ok(unsafe { String::from_utf8_unchecked(text) })
}

/// For so many bytes there is room at first.
#[cfg(feature = "serde")]
pub(crate) const TEXT_BYTES_MIN: usize = 128;

/// What may be written behind the place up to which a [`Writer`] has come without asking for room, in bytes.
pub(crate) const SLACK_BYTES: usize = 64;
const _: () = assert!(scan::BEYOND_BYTES <= SLACK_BYTES && float::FLOAT_BYTES <= SLACK_BYTES);

/// No chunk is made to be smaller, in bytes: a number must find room in it.
const CHUNK_BYTES_MIN: usize = 256;

/// Where text is written to.
pub(crate) struct Output<'v> {
    /// Up to here, [`SLACK_BYTES`] may be written without asking.
    end: *mut u8,
    text: &'v mut Vec<u8>,
    chunks: Option<Chunks<'v>>,
}

/// Who is given full chunks.
struct Chunks<'v> {
    bytes: usize,
    sink: &'v mut dyn FnMut(&mut Vec<u8>) -> io::Result<()>,
    failed: Option<io::Error>,
}

impl<'v> Output<'v> {
    fn new(text: &'v mut Vec<u8>, chunks: Option<Chunks<'v>>) -> Self {
        let mut output = Self { end: std::ptr::null_mut(), text, chunks };
        let bytes = output.chunks.as_ref().map_or(SLACK_BYTES, |chunks| chunks.bytes);
        output.reserve(bytes);
        output
    }

    /// Makes room for so many bytes and the slack behind what is there.
    fn reserve(&mut self, bytes: usize) {
        self.text.reserve(bytes.max(SLACK_BYTES));
        // SAFETY: there are at least `SLACK_BYTES` behind the text's length, so that the place lies within the room.
        self.end = unsafe { self.text.as_mut_ptr().add(self.limit() - SLACK_BYTES) };
    }

    /// How long the text may become before there must be more room, in bytes.
    fn limit(&self) -> usize {
        self.chunks.as_ref().map_or(self.text.capacity(), |chunks| self.text.capacity().min(chunks.bytes))
    }

    #[inline(always)]
    fn write<T: ToJson + ?Sized>(&'v mut self, value: &T) -> &'v mut Self {
        let Ok(output) = self.write_with(|out| Ok::<_, Infallible>(value.to_json(out)));
        output
    }

    #[inline(always)]
    fn write_with<E>(
        &'v mut self,
        write: impl FnOnce(Writer<'v>) -> std::result::Result<Writer<'v>, E>,
    ) -> std::result::Result<&'v mut Self, E> {
        // SAFETY: the place is the end of what is there, within the room.
        let at = unsafe { self.text.as_mut_ptr().add(self.text.len()) };
        let Writer { at, output } = write(Writer { at, output: self })?;
        output.keep(at);
        Ok(output)
    }

    /// What has been written up to `at` belongs to the text.
    #[inline(always)]
    fn keep(&mut self, at: *mut u8) {
        // SAFETY: a `Writer`'s place lies within the room of the text that it writes to, at or behind its old end, and
        // everything before it has been written.
        unsafe {
            let length = at.offset_from_unsigned(self.text.as_ptr());
            self.text.set_len(length);
        }
    }

    /// Makes more room, so that `bytes` can be written and the slack behind them. In chunks there is room for at least one: a chunk is
    /// handed over once nothing is left of it but the slack.
    #[cold]
    #[inline(never)]
    fn more(&mut self, at: *mut u8, bytes: usize) -> *mut u8 {
        self.keep(at);
        match &mut self.chunks {
            None => self.reserve(bytes.saturating_add(SLACK_BYTES)),
            Some(_) if at < self.end => return at,
            Some(chunks) => {
                chunks.hand_over(self.text);
                let bytes = chunks.bytes;
                self.reserve(bytes);
            }
        }
        // SAFETY: the place is the end of what is there.
        unsafe { self.text.as_mut_ptr().add(self.text.len()) }
    }

    /// Hands over the last chunk.
    fn finish(&mut self) -> io::Result<()> {
        let Some(mut chunks) = self.chunks.take() else { return Ok(()) };
        if !self.text.is_empty() {
            chunks.hand_over(self.text);
        }
        chunks.failed.map_or(Ok(()), Err)
    }
}

impl Chunks<'_> {
    fn hand_over(&mut self, chunk: &mut Vec<u8>) {
        if self.failed.is_none() {
            self.failed = (self.sink)(chunk).err();
        }
        // what comes behind a failure is lost, as the caller is told
        chunk.clear();
    }
}

/// The place up to which text has been written.
///
/// Each method writes something there and returns the place behind it. Nothing is checked of how the pieces fit together: who implements
/// [`ToJson`] by hand writes the commas and colons.
#[must_use = "what has been written is kept up to the place that is returned"]
pub struct Writer<'o> {
    /// At or before `output.end`, or at most [`SLACK_BYTES`] behind it.
    at: *mut u8,
    output: &'o mut Output<'o>,
}

impl<'o> Writer<'o> {
    /// Writes text of JSON's own: brackets, commas, colons, words, keys that are known to be plain. A constant becomes a few moves.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn literal(self, text: &str) -> Self {
        if text.len() > SLACK_BYTES {
            return self.raw(text);
        }
        let out = self.room(0);
        // SAFETY: the slack is there, and the text is no longer than it.
        unsafe { out.put(text.as_bytes()) }
    }

    /// Writes JSON text of any length as it is.
    #[inline]
    pub fn raw(self, text: &str) -> Self {
        let mut rest = text.as_bytes();
        let mut out = self.room(rest.len());
        while out.left() < rest.len() {
            let (piece, behind) = rest.split_at(out.left());
            // SAFETY: the piece is as long as what is left.
            out = unsafe { out.put(piece) }.room(behind.len());
            rest = behind;
        }
        // SAFETY: the rest is not longer than what is left.
        unsafe { out.put(rest) }
    }

    /// Writes a string between quotes, escaped where it must be.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn string(self, text: &str) -> Self {
        let text = text.as_bytes();
        let out = self.room(text.len());
        if out.left() < text.len() {
            return out.literal("\"").inside(text).literal("\"");
        }
        // SAFETY: there is room for the text and the slack behind it, which has room for the quotes and for what `copy_plain` writes
        // beyond a short text.
        unsafe {
            out.at.write(b'"');
            let plain = scan::copy_plain(out.at.add(1), text);
            let at = out.at.add(1 + plain);
            if plain < text.len() {
                return Self { at, output: out.output }.inside(&text[plain..]).literal("\"");
            }
            at.write(b'"');
            Self { at: at.add(1), output: out.output }
        }
    }

    /// Writes an integer.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn integer(self, value: impl Integer) -> Self {
        let out = self.room(0);
        // SAFETY: no integer has more digits than the slack has bytes.
        unsafe {
            let at = value.put(out.at);
            Self { at, output: out.output }
        }
    }

    /// Writes the shortest digits that read back as the same number, as `serde_json` lays them out; `null` for `NaN` and the infinities.
    #[inline(never)]
    pub fn float(self, value: f64) -> Self {
        // what is seldom is called last, so that nothing must be kept for it
        if self.lacks(0) {
            return self.float_seldom(value);
        }
        // SAFETY: the slack is larger than what a float may take.
        match unsafe { float::put(value, self.at) } {
            Some(at) => Self { at, output: self.output },
            None => self.float_seldom(value),
        }
    }

    /// As [`Self::float`], by the crate that knows every case.
    #[cold]
    #[inline(never)]
    fn float_seldom(self, value: f64) -> Self {
        if !value.is_finite() {
            return self.literal("null");
        }
        self.short(zmij::Buffer::new().format_finite(value))
    }

    /// As [`Self::float`], with the digits that a single needs.
    #[inline]
    pub fn float32(self, value: f32) -> Self {
        if !value.is_finite() {
            return self.literal("null");
        }
        self.short(zmij::Buffer::new().format_finite(value))
    }

    /// Writes `true` or `false`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn boolean(self, value: bool) -> Self {
        let out = self.room(0);
        // SAFETY: the slack is there for eight bytes.
        unsafe {
            out.at.cast::<[u8; 8]>().write_unaligned(if value { *b"true\0\0\0\0" } else { *b"false\0\0\0" });
            Self { at: out.at.add(5 - usize::from(value)), output: out.output }
        }
    }

    /// Writes `null`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn null(self) -> Self {
        self.literal("null")
    }

    /// Writes a value.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn value<T: ToJson + ?Sized>(self, value: &T) -> Self {
        value.to_json(self)
    }

    /// Writes an array of values.
    #[inline]
    pub fn array<T: ToJson>(self, values: impl IntoIterator<Item = T>) -> Self {
        let mut values = values.into_iter();
        let Some(first) = values.next() else { return self.literal("[]") };
        let first = self.literal("[").value(&first);
        values.fold(first, |out, value| out.literal(",").value(&value)).literal("]")
    }

    /// Writes an object of keys and values.
    #[inline]
    pub fn object<K: ToJsonKey, V: ToJson>(self, members: impl IntoIterator<Item = (K, V)>) -> Self {
        let mut members = members.into_iter();
        let Some((key, value)) = members.next() else { return self.literal("{}") };
        let first = key.to_json_key(self.literal("{")).literal(":").value(&value);
        let all = members.fold(first, |out, (key, value)| key.to_json_key(out.literal(",")).literal(":").value(&value));
        all.literal("}")
    }

    /// How much may be written before the slack, in bytes.
    #[inline(always)]
    fn left(&self) -> usize {
        // SAFETY: both lie within the text's room.
        unsafe { self.output.end.offset_from(self.at) }.try_into().unwrap_or(0)
    }

    /// Makes room for so many bytes and the slack behind them; in chunks for at least one.
    #[inline(always)]
    fn room(self, bytes: usize) -> Self {
        if self.lacks(bytes) {
            let at = self.output.more(self.at, bytes);
            return Self { at, output: self.output };
        }
        self
    }

    /// Whether there is no room for so many bytes and the slack behind them.
    #[inline(always)]
    fn lacks(&self, bytes: usize) -> bool {
        // SAFETY: both lie within the text's room.
        unsafe { self.output.end.offset_from(self.at) < bytes as isize }
    }

    /// # Safety
    ///
    /// There must be room for the bytes.
    #[inline(always)]
    unsafe fn put(self, bytes: &[u8]) -> Self {
        // SAFETY: as the caller promises. Nobody else has a reference to the room.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.at, bytes.len());
            Self { at: self.at.add(bytes.len()), output: self.output }
        }
    }

    /// Writes a text of at most thirty-two bytes.
    #[inline(always)]
    fn short(self, text: &str) -> Self {
        let bytes = text.as_bytes();
        let out = self.room(0);
        let (first, last) = bytes.split_at(bytes.len().min(scan::SMALL_BYTES));
        // SAFETY: two blocks of sixteen bytes are no more than the slack, and the text is no longer than they are.
        unsafe {
            out.at.cast::<u128>().write_unaligned(scan::load_short(first).to_le());
            if !last.is_empty() {
                out.at.add(scan::SMALL_BYTES).cast::<u128>().write_unaligned(scan::load_short(last).to_le());
            }
            Self { at: out.at.add(bytes.len()), output: out.output }
        }
    }

    /// Writes what stands between a string's quotes, however long it is, escaped where it must be.
    #[cold]
    #[inline(never)]
    fn inside(self, mut rest: &[u8]) -> Self {
        let mut out = self;
        while !rest.is_empty() {
            out = out.room(rest.len());
            // SAFETY: behind the end there is the slack.
            let (read, at) = unsafe { scan::copy_escaped(out.at, out.output.end, rest) };
            (out.at, rest) = (at, &rest[read..]);
        }
        out
    }
}

/// An integer, written in place: those of Rust.
pub trait Integer: integer::Digits {}
impl<T: integer::Digits> Integer for T {}

/// Appends an integer.
#[inline]
pub(crate) fn append_integer(value: impl Integer, text: &mut Vec<u8>) {
    // SAFETY: no integer has more digits than there is room for.
    unsafe { append_put(text, |at| Some(value.put(at))) };
}

/// Appends a finite float, as [`Writer::float`] writes it.
#[inline]
pub(crate) fn append_float(value: f64, text: &mut Vec<u8>) {
    // SAFETY: no float takes more than there is room for.
    if !unsafe { append_put(text, |at| float::put(value, at)) } {
        text.extend_from_slice(zmij::Buffer::new().format_finite(value).as_bytes());
    }
}

/// Appends what is written in place, if it is.
///
/// # Safety
///
/// At most [`SLACK_BYTES`] may be written, and all that lies before the place that is returned must be.
#[inline(always)]
unsafe fn append_put(text: &mut Vec<u8>, put: impl FnOnce(*mut u8) -> Option<*mut u8>) -> bool {
    text.reserve(SLACK_BYTES);
    // SAFETY: as the caller promises.
    unsafe {
        let start = text.as_mut_ptr();
        let Some(end) = put(start.add(text.len())) else { return false };
        text.set_len(end.offset_from_unsigned(start));
    }
    true
}

#[cfg(test)]
mod tests;
