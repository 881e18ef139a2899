//! The rows of a sequence as one array.

use crate::error::DecodeError;
use crate::rewrite::Rewrite;
use thalweg_json::{Container, Reader, Visitor};

/// Makes one array of values that stand one behind the other.
#[derive(Debug)]
pub struct JoinedRows {
    reader: Reader,
    join: Join,
}

#[derive(Debug, Default)]
struct Join {
    out: Vec<u8>,
    rows: u64,
}

impl Default for JoinedRows {
    fn default() -> Self {
        Self { reader: Reader::sequence(), join: Join::default() }
    }
}

impl Rewrite for JoinedRows {
    fn feed(&mut self, piece: &[u8]) -> Result<(), DecodeError> {
        let read = self.reader.feed(piece, &mut self.join);
        read.map_err(|error| DecodeError::of_reader(error, self.join.rows))
    }

    fn finish(&mut self) -> Result<(), DecodeError> {
        let read = self.reader.finish(&mut self.join);
        read.map_err(|error| DecodeError::of_reader(error, self.join.rows))?;
        if self.join.rows == 0 {
            self.join.out.push(b'[');
        }
        self.join.out.push(b']');
        Ok(())
    }

    fn ready_bytes(&self) -> usize {
        self.join.out.len()
    }

    fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.join.out)
    }
}

impl Join {
    fn begin(&mut self, depth: usize) {
        if depth == 0 {
            self.out.push(if self.rows == 0 { b'[' } else { b',' });
            self.rows += 1;
        }
    }
}
impl Visitor for Join {
    type Error = DecodeError;
    fn open(&mut self, container: Container, depth: usize, _: u64) -> Result<(), DecodeError> {
        self.begin(depth - 1);
        self.out.push(if container == Container::Object { b'{' } else { b'[' });
        Ok(())
    }
    fn close(&mut self, container: Container, _: usize, _: u64) -> Result<(), DecodeError> {
        self.out.push(if container == Container::Object { b'}' } else { b']' });
        Ok(())
    }
    fn string_start(&mut self, _: bool, depth: usize, _: u64) -> Result<(), DecodeError> {
        self.begin(depth);
        self.out.push(b'"');
        Ok(())
    }
    fn string_piece(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        self.out.extend_from_slice(bytes);
        Ok(())
    }
    fn string_escape(&mut self, raw: &[u8], _: char) -> Result<(), DecodeError> {
        self.out.extend_from_slice(raw);
        Ok(())
    }
    fn string_end(&mut self, _: bool, _: usize, _: u64) -> Result<(), DecodeError> {
        self.out.push(b'"');
        Ok(())
    }
    fn scalar_start(&mut self, depth: usize, _: u64) -> Result<(), DecodeError> {
        self.begin(depth);
        Ok(())
    }
    fn scalar_piece(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        self.out.extend_from_slice(bytes);
        Ok(())
    }
    fn between(&mut self, bytes: &[u8], depth: usize) -> Result<(), DecodeError> {
        if depth > 0 {
            self.out.extend_from_slice(bytes);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rewrite::rewritten;

    fn joined(body: &str, piece: usize) -> Result<String, DecodeError> {
        let out = rewritten(JoinedRows::default(), body.as_bytes(), piece)?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn a_sequence_becomes_an_array_wherever_it_is_cut() {
        let body = "{\"a\": [1, \"\\n\"]}\n\n{}\n3\n\"x\" null";
        for piece in 1..=body.len() {
            assert_eq!(joined(body, piece).unwrap(), "[{\"a\": [1, \"\\n\"]},{},3,\"x\",null]");
        }
        assert_eq!(joined("", 1).unwrap(), "[]");
        assert!(joined("{}{", 1).is_err());
    }
}
