//! The text of a JSON string.

use crate::error::DecodeError;
use crate::rewrite::Rewrite;
use thalweg_json::{Reader, Visitor};

/// Makes the text of a JSON string, of what stands between its quotes.
#[derive(Debug)]
pub struct Unescaped {
    reader: Reader,
    text: Text,
    has_begun: bool,
}

#[derive(Debug, Default)]
struct Text(Vec<u8>);

impl Default for Unescaped {
    fn default() -> Self {
        Self { reader: Reader::document(), text: Text::default(), has_begun: false }
    }
}

impl Unescaped {
    fn read(&mut self, piece: &[u8]) -> Result<(), DecodeError> {
        self.reader.feed(piece, &mut self.text).map_err(|error| DecodeError::of_reader(error, 1))
    }
}

impl Rewrite for Unescaped {
    fn feed(&mut self, piece: &[u8]) -> Result<(), DecodeError> {
        if !std::mem::replace(&mut self.has_begun, true) {
            self.read(b"\"")?;
        }
        self.read(piece)
    }

    fn finish(&mut self) -> Result<(), DecodeError> {
        self.feed(b"\"")
    }

    fn ready_bytes(&self) -> usize {
        self.text.0.len()
    }

    fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.text.0)
    }
}

impl Visitor for Text {
    type Error = DecodeError;

    fn string_piece(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn string_escape(&mut self, _: &[u8], character: char) -> Result<(), DecodeError> {
        self.0.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_their_characters_wherever_they_are_cut() {
        let escaped = r#"a\"\u00e9\ud83d\ude00\n\/é"#;
        for piece in 1..=escaped.len() {
            let (mut text, mut out) = (Unescaped::default(), Vec::new());
            for chunk in escaped.as_bytes().chunks(piece) {
                text.feed(chunk).unwrap();
                out.extend(text.take());
            }
            text.finish().unwrap();
            out.extend(text.take());
            assert_eq!(String::from_utf8(out).unwrap(), "a\"é😀\n/é");
        }
    }
}
