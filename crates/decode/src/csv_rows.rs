//! CSV records to rows of a `COPY`, as they arrive.

use crate::copy_text::{NULL, RowBuffer, append_escaped};
use crate::csv::{Fields, Parser, Place, is_null};
use crate::error::DecodeError;
use crate::rewrite::Rewrite;
use std::collections::HashMap;
use std::ops::Range;

/// Makes rows of records.
#[derive(Debug)]
pub struct CsvRows {
    parser: Parser,
    writer: Writer,
}

#[derive(Debug)]
struct Writer {
    /// For each field of a record its place in the row; `None` where it is passed over.
    places: Vec<Option<usize>>,
    in_order: bool,
    rows: RowBuffer,
    field_start: usize,
    ranges: Vec<Option<Range<usize>>>,
}

impl CsvRows {
    /// For columns, of records whose header is known.
    pub fn new(columns: &[String], header: &[String]) -> Self {
        let known: HashMap<&String, usize> = columns.iter().enumerate().map(|(at, name)| (name, at)).collect();
        let places: Vec<Option<usize>> = header.iter().map(|name| known.get(name).copied()).collect();
        let in_order = places.iter().copied().eq((0..columns.len()).map(Some));
        let ranges = vec![None; columns.len()];
        let writer = Writer { places, in_order, rows: RowBuffer::default(), field_start: 0, ranges };
        Self { parser: Parser::new(), writer }
    }
}

impl Rewrite for CsvRows {
    fn feed(&mut self, chunk: &[u8]) -> Result<(), DecodeError> {
        self.parser.feed(chunk, &mut self.writer)
    }

    fn finish(&mut self) -> Result<(), DecodeError> {
        self.parser.finish(&mut self.writer)
    }

    fn ready_bytes(&self) -> usize {
        self.writer.rows.ready_bytes()
    }

    fn begun_bytes(&self) -> usize {
        self.writer.rows.begun_bytes()
    }

    fn take(&mut self) -> Vec<u8> {
        let writer = &mut self.writer;
        let taken = writer.rows.take();
        let base = taken.len();
        writer.field_start = writer.field_start.saturating_sub(base);
        for range in writer.ranges.iter_mut().flatten() {
            *range = range.start.saturating_sub(base)..range.end.saturating_sub(base);
        }
        taken
    }
}

impl Fields for Writer {
    fn piece(&mut self, at: Place, bytes: &[u8]) {
        if let Place::Row(at) = at
            && matches!(self.places.get(at), Some(Some(_)))
        {
            append_escaped(&mut self.rows.out, bytes);
        }
    }

    fn field(&mut self, at: Place, is_quoted: bool) -> Result<(), DecodeError> {
        let out = &mut self.rows.out;
        if let Place::Row(at) = at
            && let Some(&Some(place)) = self.places.get(at)
        {
            if is_null(&out[self.field_start..], is_quoted) {
                out.truncate(self.field_start);
                out.extend_from_slice(NULL);
            }
            self.ranges[place] = Some(self.field_start..out.len());
            out.push(b'\t');
            self.field_start = out.len();
        }
        Ok(())
    }

    fn row(&mut self) {
        if self.in_order {
            self.rows.out.pop();
        } else {
            self.rows.arrange(self.ranges.iter_mut().map(Option::take));
        }
        self.rows.end_row();
        self.field_start = self.rows.ready_bytes();
    }
}
