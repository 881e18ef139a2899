//! The text format of `COPY` (source: PostgreSQL's manual, page `sql-copy`, "Text Format").

use std::ops::Range;

/// What stands for NULL.
pub(crate) const NULL: &[u8] = b"\\N";

/// How large the buffers are that rows are made in, in bytes: all alike, so that memory is used again.
const BUFFER_BYTES: usize = 96 * 1024;

/// Rows that are whole, and behind them the one that is begun.
#[derive(Debug, Default)]
pub(crate) struct RowBuffer {
    pub(crate) out: Vec<u8>,
    row_start: usize,
    scratch: Vec<u8>,
}

impl RowBuffer {
    /// How many bytes of whole rows there are.
    pub(crate) fn ready_bytes(&self) -> usize {
        self.row_start
    }

    /// How many bytes there are of the row that is begun.
    pub(crate) fn begun_bytes(&self) -> usize {
        self.out.len() - self.row_start
    }

    /// Takes the rows that are whole, and leaves the one that is begun at the start of another buffer.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        let begun = &self.out[self.row_start..];
        let mut next = Vec::with_capacity(BUFFER_BYTES.max(begun.len()));
        next.extend_from_slice(begun);
        self.out.truncate(std::mem::take(&mut self.row_start));
        std::mem::replace(&mut self.out, next)
    }

    /// Puts the fields of the row that is begun in order, which lie where the ranges say; `None` is NULL.
    pub(crate) fn arrange(&mut self, fields: impl Iterator<Item = Option<Range<usize>>>) {
        self.scratch.clear();
        for (at, range) in fields.enumerate() {
            if at > 0 {
                self.scratch.push(b'\t');
            }
            self.scratch.extend_from_slice(range.map_or(NULL, |range| &self.out[range]));
        }
        self.out.truncate(self.row_start);
        self.out.extend_from_slice(&self.scratch);
    }

    /// The row that is begun is whole.
    pub(crate) fn end_row(&mut self) {
        self.out.push(b'\n');
        self.row_start = self.out.len();
    }
}

/// Appends bytes of a field, escaped.
pub(crate) fn append_escaped(out: &mut Vec<u8>, mut bytes: &[u8]) {
    while let Some(at) = bytes.iter().position(|byte| matches!(byte, b'\\' | b'\n' | b'\r' | b'\t')) {
        out.extend_from_slice(&bytes[..at]);
        out.push(b'\\');
        out.push(match bytes[at] {
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            other => other,
        });
        bytes = &bytes[at + 1..];
    }
    out.extend_from_slice(bytes);
}

/// Appends a character of a field, escaped.
pub(crate) fn append_char(out: &mut Vec<u8>, character: char) {
    append_escaped(out, character.encode_utf8(&mut [0; 4]).as_bytes());
}
