//! Files in the IGC format: read, whatever recorder wrote them and whatever else is in them, or refused with a reason; and written.
//!
//! FAI, "Technical Specification for GNSS Flight Recorders", appendix A. Real files break it: texts in Latin-1, lines cut in the middle,
//! clocks and positions that jump. So a line that makes no sense is left out and counted, and a file is refused only if no track is left.

mod order;
mod record;
pub(crate) mod write;

use crate::track::Track;
use order::Order;
use record::BRecord;
use std::fmt;

/// A longer file is no track: one of a fix a second, with every extension that there is, lasts two days.
pub const TRACK_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Why a file is not read as a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is nothing in it.
    Empty,
    /// It is longer than [`TRACK_BYTES_MAX`].
    TooLong,
    /// It is an archive, in which tracks may be.
    Zip,
    /// It is a web page.
    Html,
    /// It is another format of tracks, GPX or KML.
    Xml,
    /// It is something else.
    NotIgc,
    /// It is an IGC file, and has no fix that can be read.
    NoFixes,
    /// It does not say on which day it was flown, or names a day that there is not.
    NoDate,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "The file is empty. Download the flight from your recorder once more.",
            Self::TooLong => "The file is longer than 16 MiB, which no track of a flight is.",
            Self::Zip => "This is a ZIP archive. Unpack it, and choose the IGC files in it.",
            Self::Html => "This is a web page. Perhaps it was saved in place of the IGC file that it links to.",
            Self::Xml => {
                "This is a GPX or KML file. Only IGC files hold what a flight is scored by: export the flight as IGC."
            }
            Self::NotIgc => "This is not an IGC file.",
            Self::NoFixes => "There is no position in the file. Perhaps the recorder had no satellites in view.",
            Self::NoDate => "The file does not say on which day it was flown (a line HFDTE with day, month and year).",
        })
    }
}

impl std::error::Error for Refusal {}

/// Reads a file.
pub fn read(bytes: &[u8]) -> Result<Track, Refusal> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if let Some(refusal) = refusal(bytes) {
        return Err(refusal);
    }
    let mut reader = Reader::default();
    for line in bytes.split(|byte| matches!(byte, b'\n' | b'\r')) {
        reader.line(line);
    }
    reader.track()
}

/// What the beginning of a file shows that it is not to be read at all.
fn refusal(bytes: &[u8]) -> Option<Refusal> {
    let text = bytes.trim_ascii_start();
    let begins = |with: &str| text.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with.as_bytes()));
    match () {
        () if bytes.len() > TRACK_BYTES_MAX => Some(Refusal::TooLong),
        () if text.is_empty() => Some(Refusal::Empty),
        () if begins("PK\x03\x04") => Some(Refusal::Zip),
        () if begins("<!doctype html") || begins("<html") => Some(Refusal::Html),
        () if begins("<") => Some(Refusal::Xml),
        () => None,
    }
}

/// What has been read so far.
#[derive(Default)]
struct Reader {
    /// Whether a line was there that only an IGC file has.
    is_igc: bool,
    pilot: Option<String>,
    glider_type: Option<String>,
    glider_id: Option<String>,
    recorder: Option<String>,
    manufacturer: Option<String>,
    order: Order,
}

impl Reader {
    fn line(&mut self, line: &[u8]) {
        match line {
            [b'B', digit, ..] if digit.is_ascii_digit() => {
                self.is_igc = true;
                self.order.take(BRecord::read(line));
            }
            [b'H', _, a, b, c, rest @ ..] => {
                self.is_igc = true;
                self.header([*a, *b, *c], rest);
            }
            [b'A', code @ ..] if self.manufacturer.is_none() && self.order.is_empty() => {
                self.manufacturer = record::text(code);
            }
            _ => {}
        }
    }

    /// The first of a kind counts; but each date does, since files are sometimes put one behind the other.
    fn header(&mut self, subject: [u8; 3], rest: &[u8]) {
        let field = match &subject {
            b"DTE" => {
                record::date(rest).into_iter().for_each(|date| self.order.date(date));
                return;
            }
            b"PLT" => &mut self.pilot,
            b"GTY" => &mut self.glider_type,
            b"GID" => &mut self.glider_id,
            b"FTY" => &mut self.recorder,
            _ => return,
        };
        if field.is_none() {
            *field = record::text_after_colon(rest);
        }
    }

    fn track(self) -> Result<Track, Refusal> {
        if !self.is_igc {
            return Err(Refusal::NotIgc);
        }
        if self.order.is_empty() {
            return Err(Refusal::NoFixes);
        }
        let (fixes, left_out) = self.order.dated().ok_or(Refusal::NoDate)?;
        Ok(Track {
            pilot: self.pilot,
            glider_type: self.glider_type,
            glider_id: self.glider_id,
            recorder: self.recorder.or(self.manufacturer),
            fixes,
            left_out,
        })
    }
}
