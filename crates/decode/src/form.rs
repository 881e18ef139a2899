//! `application/x-www-form-urlencoded`, read as it arrives: as pairs, or as a JSON object of strings.
//!
//! `+` is a space, `%XX` a byte; a key without `=` has the empty string, and between two `&` there may be nothing. What is
//! no UTF-8 becomes replacement characters.

use crate::error::{DecodeError, Problem};
use crate::rewrite::Rewrite;
use thalweg_json::write_inside;

/// How many fields a form may have: as many as a row has keys.
pub const FIELDS_MAX: usize = 2_000;

/// Is told what a form holds, in order.
trait Fields {
    /// A field begins.
    fn begins(&mut self);
    /// Text of the current field's key or value.
    fn text(&mut self, is_value: bool, text: &str);
    /// The key of the current field has ended.
    fn key_ends(&mut self);
    /// The current field has ended.
    fn ends(&mut self);
}

/// What the bytes of an escape have said so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escape {
    None,
    Percent,
    Digit(u8),
}

#[derive(Debug)]
struct Parser {
    fields: usize,
    in_field: bool,
    in_value: bool,
    escape: Escape,
    /// What has been decoded and not told: between two pieces no more than the start of a character.
    decoded: Vec<u8>,
}

impl Parser {
    fn new() -> Self {
        Self { fields: 0, in_field: false, in_value: false, escape: Escape::None, decoded: Vec::new() }
    }

    fn feed(&mut self, piece: &[u8], fields: &mut impl Fields) -> Result<(), DecodeError> {
        for &byte in piece {
            if byte == b'&' {
                self.end(fields);
                continue;
            }
            if !self.in_field {
                if self.fields == FIELDS_MAX {
                    return Err(DecodeError::at(Problem::TooManyFields, 0));
                }
                (self.in_field, self.fields) = (true, self.fields + 1);
                fields.begins();
            }
            if byte == b'=' && !self.in_value {
                self.tell(true, fields);
                fields.key_ends();
                self.in_value = true;
            } else {
                self.decode(byte);
            }
        }
        self.tell(false, fields);
        Ok(())
    }

    fn decode(&mut self, byte: u8) {
        let digit = char::from(byte).to_digit(16).map(|digit| digit as u8);
        match (self.escape, digit) {
            (Escape::Percent, Some(_)) => return self.escape = Escape::Digit(byte),
            (Escape::Digit(high), Some(low)) => {
                self.escape = Escape::None;
                let high = char::from(high).to_digit(16).map_or(0, |high| high as u8);
                return self.decoded.push(high << 4 | low);
            }
            _ => self.no_escape(),
        }
        match byte {
            b'%' => self.escape = Escape::Percent,
            b'+' => self.decoded.push(b' '),
            _ => self.decoded.push(byte),
        }
    }

    /// What looked like an escape stands for itself.
    fn no_escape(&mut self) {
        match std::mem::replace(&mut self.escape, Escape::None) {
            Escape::None => {}
            Escape::Percent => self.decoded.push(b'%'),
            Escape::Digit(digit) => self.decoded.extend_from_slice(&[b'%', digit]),
        }
    }

    /// Tells what has been decoded: where no more is to come all of it, else what is whole.
    fn tell(&mut self, is_all: bool, fields: &mut impl Fields) {
        if is_all {
            self.no_escape();
        }
        let begun = if is_all { 0 } else { begun_bytes(&self.decoded) };
        let whole = self.decoded.len() - begun;
        if whole > 0 {
            fields.text(self.in_value, &String::from_utf8_lossy(&self.decoded[..whole]));
            self.decoded.drain(..whole);
        }
    }

    fn end(&mut self, fields: &mut impl Fields) {
        if !std::mem::replace(&mut self.in_field, false) {
            return;
        }
        self.tell(true, fields);
        if !std::mem::replace(&mut self.in_value, false) {
            fields.key_ends();
        }
        fields.ends();
    }
}

/// How many bytes at the end begin a character that goes on behind it.
fn begun_bytes(text: &[u8]) -> usize {
    let tail = &text[text.len().saturating_sub(3)..];
    let begins = tail.iter().rev().position(|byte| byte & 0xc0 != 0x80).map(|at| at + 1);
    let wanted = |first: u8| match first {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    };
    begins.filter(|&bytes| wanted(tail[tail.len() - bytes]) > bytes).unwrap_or(0)
}

/// Finds the pairs of a form in their order.
#[derive(Debug)]
pub struct FormReader {
    parser: Parser,
    pairs: Pairs,
}

#[derive(Debug, Default)]
struct Pairs {
    list: Vec<(String, String)>,
    size_bytes: usize,
}

impl Default for FormReader {
    fn default() -> Self {
        Self { parser: Parser::new(), pairs: Pairs::default() }
    }
}

impl FormReader {
    /// Reads a piece.
    pub fn feed(&mut self, piece: &[u8]) -> Result<(), DecodeError> {
        self.parser.feed(piece, &mut self.pairs)
    }

    /// The body has ended.
    pub fn finish(&mut self) {
        self.parser.end(&mut self.pairs);
    }

    /// The pairs.
    pub fn pairs(&self) -> &[(String, String)] {
        &self.pairs.list
    }

    /// The pairs, with nothing copied.
    pub fn into_pairs(self) -> Vec<(String, String)> {
        self.pairs.list
    }

    /// How much memory the pairs take, in bytes.
    pub fn size_bytes(&self) -> usize {
        self.pairs.size_bytes
    }
}

impl Fields for Pairs {
    fn begins(&mut self) {
        self.list.push(Default::default());
        self.size_bytes += size_of::<(String, String)>();
    }

    fn text(&mut self, is_value: bool, text: &str) {
        if let Some((key, value)) = self.list.last_mut() {
            let end = if is_value { value } else { key };
            let before = end.capacity();
            end.push_str(text);
            self.size_bytes += end.capacity() - before;
        }
    }

    fn key_ends(&mut self) {}

    fn ends(&mut self) {}
}

/// Makes a JSON object of strings of a form. Of several fields with one name all stand in it.
#[derive(Debug)]
pub struct FormDocument {
    parser: Parser,
    object: Object,
}

#[derive(Debug)]
struct Object(Vec<u8>, bool);

impl Default for FormDocument {
    fn default() -> Self {
        Self { parser: Parser::new(), object: Object(vec![b'{'], false) }
    }
}

impl Rewrite for FormDocument {
    fn feed(&mut self, piece: &[u8]) -> Result<(), DecodeError> {
        self.parser.feed(piece, &mut self.object)
    }

    fn finish(&mut self) -> Result<(), DecodeError> {
        self.parser.end(&mut self.object);
        self.object.0.push(b'}');
        Ok(())
    }

    fn ready_bytes(&self) -> usize {
        self.object.0.len()
    }

    fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.object.0)
    }
}

impl Fields for Object {
    fn begins(&mut self) {
        self.0.extend_from_slice(if std::mem::replace(&mut self.1, true) { b",\"" } else { b"\"" });
    }

    fn text(&mut self, _: bool, text: &str) {
        write_inside(&mut self.0, text.as_bytes());
    }

    fn key_ends(&mut self) {
        self.0.extend_from_slice(b"\":\"");
    }

    fn ends(&mut self) {
        self.0.push(b'"');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rewrite::rewritten;

    fn pairs(body: &[u8], piece: usize) -> Vec<(String, String)> {
        let mut reader = FormReader::default();
        body.chunks(piece).for_each(|piece| reader.feed(piece).unwrap());
        reader.finish();
        reader.pairs().to_vec()
    }

    fn document(body: &[u8], piece: usize) -> String {
        String::from_utf8(rewritten(FormDocument::default(), body, piece).unwrap()).unwrap()
    }

    #[test]
    fn forms_are_read_wherever_they_are_cut() {
        let body = b"a=1+2&b&&c=%C3%A9%2B&a=x%&=y&%4=%%41%4g&d=1=2&\"%0a=\xff\xe2\x82&e=%F0%9F%98%80&";
        let expected = [
            ("a", "1 2"),
            ("b", ""),
            ("c", "é+"),
            ("a", "x%"),
            ("", "y"),
            ("%4", "%A%4g"),
            ("d", "1=2"),
            ("\"\n", "\u{fffd}\u{fffd}"),
            ("e", "😀"),
        ];
        for piece in 1..=body.len() {
            let found = pairs(body, piece);
            let found: Vec<_> = found.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
            assert_eq!(found, expected, "in pieces of {piece}");
            let json = r#"{"a":"1 2","b":"","c":"é+","a":"x%","":"y","%4":"%A%4g","d":"1=2","\"\n":"��","e":"😀"}"#;
            assert_eq!(document(body, piece), json);
        }
        assert_eq!((pairs(b"&&", 1).len(), document(b"", 1)), (0, "{}".to_owned()));
    }

    #[test]
    fn fields_have_a_bound_that_is_found_at_the_first_too_many() {
        let good = b"=&".repeat(FIELDS_MAX);
        assert_eq!(pairs(&good, 7).len(), FIELDS_MAX);
        let mut reader = FormReader::default();
        let refused = b"=&"
            .repeat(100_000)
            .iter()
            .enumerate()
            .find_map(|(at, byte)| Some((at, reader.feed(&[*byte]).err()?.problem)));
        assert_eq!(refused, Some((good.len(), Problem::TooManyFields)));
        assert_eq!(reader.size_bytes(), FIELDS_MAX * size_of::<(String, String)>());
        // what is not there is no field
        FormReader::default().feed(&b"&".repeat(100_000)).unwrap();
    }
}
