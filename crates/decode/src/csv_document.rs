//! CSV records to a JSON document, as they arrive.

use crate::csv::{Fields, NULL_WORD, Parser, Place, is_null};
use crate::error::DecodeError;
use crate::rewrite::Rewrite;
use thalweg_json::{write_inside, write_string};

/// A CSV body as a JSON array of objects, all of whose values are strings or null.
#[derive(Debug)]
pub struct CsvDocument {
    parser: Parser,
    json: Json,
}

#[derive(Debug)]
struct Json {
    /// The names of the header as JSON, each with what stands before and behind it.
    keys: Vec<Vec<u8>>,
    /// The current field as far as it may still be the word for NULL, which is no longer than this.
    start: Vec<u8>,
    is_string: bool,
    rows: u64,
    out: Vec<u8>,
}

impl Default for CsvDocument {
    fn default() -> Self {
        let json = Json { keys: Vec::new(), start: Vec::new(), is_string: false, rows: 0, out: vec![b'['] };
        Self { parser: Parser::new(), json }
    }
}

impl Rewrite for CsvDocument {
    fn feed(&mut self, chunk: &[u8]) -> Result<(), DecodeError> {
        self.parser.feed(chunk, &mut self.json)
    }

    fn finish(&mut self) -> Result<(), DecodeError> {
        self.parser.finish(&mut self.json)?;
        self.json.out.push(b']');
        Ok(())
    }

    fn ready_bytes(&self) -> usize {
        self.json.out.len()
    }

    fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.json.out)
    }
}

impl Json {
    /// What stands before a value.
    fn key(&mut self, at: usize) {
        if at == 0 {
            self.out.extend_from_slice(if self.rows == 0 { b"{" } else { b",{" });
            self.rows += 1;
        } else {
            self.out.push(b',');
        }
        if let Some(key) = self.keys.get(at) {
            self.out.extend_from_slice(key);
        }
    }

    /// Writes what is known of a field that is a string.
    fn string(&mut self, at: usize, bytes: &[u8]) {
        if !std::mem::replace(&mut self.is_string, true) {
            self.key(at);
            self.out.push(b'"');
            write_inside(&mut self.out, &self.start);
            self.start.clear();
        }
        write_inside(&mut self.out, bytes);
    }
}

impl Fields for Json {
    fn piece(&mut self, at: Place, bytes: &[u8]) {
        match at {
            Place::Header => self.start.extend_from_slice(bytes),
            Place::Row(_) if !self.is_string && self.start.len() + bytes.len() <= NULL_WORD.len() => {
                self.start.extend_from_slice(bytes);
            }
            Place::Row(at) => self.string(at, bytes),
        }
    }

    fn field(&mut self, at: Place, is_quoted: bool) -> Result<(), DecodeError> {
        let Place::Row(at) = at else {
            let mut key = Vec::new();
            write_string(&mut key, &std::mem::take(&mut self.start));
            key.push(b':');
            self.keys.push(key);
            return Ok(());
        };
        if !self.is_string && is_null(&self.start, is_quoted) {
            self.key(at);
            self.out.extend_from_slice(b"null");
            self.start.clear();
            return Ok(());
        }
        self.string(at, b"");
        self.out.push(b'"');
        self.is_string = false;
        Ok(())
    }

    fn row(&mut self) {
        self.out.push(b'}');
    }
}
