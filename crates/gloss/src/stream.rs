//! A text of any length read a piece at a time.

use crate::dictionary::Dictionary;
use crate::error::{Error, ErrorKind};
use crate::gloss::Gloss;
use crate::reader::{AHEAD_CHARS_MAX, Options, Reader};
use std::io::Read;

/// So much is read at once; what is found does not depend on it.
const PIECE_BYTES: usize = 16 << 10;
/// No character of UTF-8 is longer.
const CHAR_BYTES_MAX: usize = 4;
/// Behind a piece so much is kept of what is before the next: what a mark repeats, where a number began.
const BEFORE_BYTES: usize = 64 * CHAR_BYTES_MAX;

impl Reader {
    /// Reads a text as it comes, and tells what is found of it, a piece at a time, in order: as [`Reader::read`] would of the whole, but the
    /// bytes of a span are those of the piece that it is told with. Fails where it cannot be read, or is not UTF-8.
    pub fn read_all(
        &mut self,
        dictionary: &Dictionary,
        mut input: impl Read,
        options: &Options<'_>,
        tell: &mut dyn FnMut(Gloss<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        // before `from` stands what has been told; `chars` is where the text of `bytes` begins
        let (mut bytes, mut from, mut chars, mut read) = (Vec::new(), 0, 0_u32, 0_u64);
        loop {
            let len = bytes.len();
            let taken =
                input.by_ref().take((from + PIECE_BYTES + AHEAD_CHARS_MAX * CHAR_BYTES_MAX).saturating_sub(len) as u64);
            let taken = { taken }.read_to_end(&mut bytes);
            taken.map_err(|error| Error::new(ErrorKind::Input, "the text cannot be read").because(error))?;
            let is_end = bytes.len() < from + PIECE_BYTES + AHEAD_CHARS_MAX * CHAR_BYTES_MAX;
            let text = match std::str::from_utf8(&bytes) {
                Ok(text) => text,
                Err(error) if error.error_len().is_none() && !is_end => {
                    std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
                }
                Err(error) => {
                    let at = read + error.valid_up_to() as u64;
                    return Err(Error::new(ErrorKind::Encoding, format!("the text is not UTF-8 at byte {at}")));
                }
            };
            let to = if is_end { text.len() } else { boundary(text, from + PIECE_BYTES) };
            let gloss = self.read_part(dictionary, text, from..to, chars, options);
            tell(gloss)?;
            if is_end {
                return Ok(());
            }
            let keep = boundary(text, to.saturating_sub(BEFORE_BYTES));
            chars = chars.saturating_add(text[..keep].chars().count() as u32);
            read += keep as u64;
            bytes.drain(..keep);
            from = to - keep;
        }
    }
}

/// How far a text that is in memory has been read.
#[derive(Debug, Clone, Copy, Default)]
pub struct Progress {
    /// In bytes of the text.
    to: usize,
    /// What is before the next piece and kept with it begins here, and so many characters are before that.
    kept_from: usize,
    chars: u32,
}

impl Reader {
    /// Reads the next piece of a text that is in memory, for those who have other things to do between. Nothing when all of it has been read. A text
    /// of which a piece has been read must be the same for the next.
    pub fn read_next<'a>(
        &'a mut self,
        dictionary: &'a Dictionary,
        text: &'a str,
        progress: &mut Progress,
        options: &Options<'a>,
    ) -> Option<Gloss<'a>> {
        let Progress { to: from, kept_from, chars } = *progress;
        let rest = text.get(kept_from..).filter(|_| from < text.len())?;
        let to = boundary(text, text.len().min(from + NEXT_BYTES));
        let ahead = boundary(text, text.len().min(to + AHEAD_CHARS_MAX * CHAR_BYTES_MAX));
        let keep = boundary(text, to.saturating_sub(BEFORE_BYTES)).max(kept_from);
        let passed = text.get(kept_from..keep)?.chars().count() as u32;
        *progress = Progress { to, kept_from: keep, chars: chars.saturating_add(passed) };
        let window = rest.get(..ahead - kept_from)?;
        Some(self.read_part(dictionary, window, from - kept_from..to - kept_from, chars, options))
    }
}

/// So much is read of a text in memory at once, so that whoever reads and tells it is busy for a millisecond or two: of a hundred characters in
/// kana alone a megabyte may be told.
const NEXT_BYTES: usize = 256;

/// Where a character begins, there or before.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}
