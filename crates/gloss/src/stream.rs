//! A text of any length read a piece at a time.

use crate::dictionary::Dictionary;
use crate::error::{Error, ErrorKind};
use crate::gloss::Gloss;
use crate::reader::{AHEAD_CHARS_MAX, Options, Reader};
use std::io::Read;

/// So much is read at once; what is found does not depend on it.
const PIECE_BYTES: usize = 16 << 10;
/// No character is longer; one with its voiced mark behind it, in half width or apart, is two of three bytes.
const CHAR_BYTES_MAX: usize = 6;
/// What is found in a piece depends on no more of what is behind it.
const AHEAD_BYTES: usize = AHEAD_CHARS_MAX * CHAR_BYTES_MAX;
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
        tell: &mut dyn FnMut(Gloss<'_, '_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (mut bytes, mut progress, mut passed) = (Vec::new(), Progress::default(), 0_u64);
        loop {
            let wanted = progress.to + PIECE_BYTES + AHEAD_BYTES;
            let taken = input.by_ref().take(wanted.saturating_sub(bytes.len()) as u64).read_to_end(&mut bytes);
            taken.map_err(|error| Error::new(ErrorKind::Input, "the text cannot be read").because(error))?;
            let is_end = bytes.len() < wanted;
            let text = match std::str::from_utf8(&bytes) {
                Ok(text) => text,
                Err(error) if error.error_len().is_none() && !is_end => {
                    std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
                }
                Err(error) => {
                    let at = passed + error.valid_up_to() as u64;
                    return Err(Error::new(ErrorKind::Encoding, format!("the text is not UTF-8 at byte {at}")));
                }
            };
            let piece = if is_end { text.len() } else { PIECE_BYTES };
            if let Some(gloss) = self.read_piece(dictionary, text, &mut progress, piece, options) {
                tell(gloss)?;
            }
            if is_end {
                return Ok(());
            }
            passed += progress.kept_from as u64;
            bytes.drain(..progress.kept_from);
            progress.to -= std::mem::take(&mut progress.kept_from);
        }
    }
}

/// How far a text has been read.
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
    pub fn read_next<'r, 'd: 'r>(
        &'r mut self,
        dictionary: &'d Dictionary,
        text: &'r str,
        progress: &mut Progress,
        options: &Options<'r>,
    ) -> Option<Gloss<'r, 'd>> {
        if progress.to >= text.len() {
            return None;
        }
        self.read_piece(dictionary, text, progress, NEXT_BYTES, options)
    }

    /// Reads so many bytes more of a text, with what has to be seen before and behind them.
    fn read_piece<'r, 'd: 'r>(
        &'r mut self,
        dictionary: &'d Dictionary,
        text: &'r str,
        progress: &mut Progress,
        bytes: usize,
        options: &Options<'r>,
    ) -> Option<Gloss<'r, 'd>> {
        let Progress { to: from, kept_from, chars } = *progress;
        let to = boundary(text, text.len().min(from + bytes));
        let ahead = boundary(text, text.len().min(to + AHEAD_BYTES));
        let window = text.get(kept_from..ahead)?;
        let keep = boundary(text, to.saturating_sub(BEFORE_BYTES)).max(kept_from);
        let passed = text.get(kept_from..keep)?.chars().count() as u32;
        *progress = Progress { to, kept_from: keep, chars: chars.saturating_add(passed) };
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
