//! Takes rows, gives chunks.

use crate::csv;
use crate::error::EncodeError;
use crate::flat::Joiner;
use crate::program::Program;
use crate::stock::Stock;
use crate::value::ValueWriter;
use crate::zone::Zone;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use thalweg_json::append;
use thalweg_rows::{Demand, RowSink, RowView};

/// A chunk is given away when it holds this much; a row is never parted, so that it may hold more.
pub const CHUNK_BYTES: usize = 64 * 1024;
/// What a chunk has room for: a last row that is not much larger than others still fits.
pub(crate) const CHUNK_ROOM_BYTES: usize = CHUNK_BYTES + CHUNK_BYTES / 8;
/// What a first chunk has room for: most responses are small.
const FIRST_CHUNK_BYTES: usize = 1024;

const FEATURES_START: &[u8] = b"{\"type\":\"FeatureCollection\",\"features\":[";
const FEATURES_NONE: &[u8] = b"{\"type\":\"FeatureCollection\",\"features\":[]}";

/// What rows are turned into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// A JSON array of objects.
    Array,
    /// The JSON object of the first row; further rows are only counted.
    Object,
    /// Comma-separated values under a header line.
    Csv,
    /// The JSON value in the first row's first column; `null` without rows.
    Value,
    /// A JSON array of the values in the first column.
    Values,
    /// A GeoJSON feature collection of the features in the first column.
    Features,
    /// The bytes of the first column, a line a row.
    Raw,
    /// The first column of every row as it came, one behind the other.
    Bytes,
}

/// A sink that writes rows into the current chunk and pauses when that is full.
#[derive(Debug)]
pub struct Encoder {
    writer: ValueWriter,
    target: Target,
    chunk: Vec<u8>,
    scratch: Vec<u8>,
    rows: u64,
    /// Rows beyond this number are only counted.
    rows_max: u64,
    joiner: Option<Joiner>,
    level: usize,
    stock: Stock,
}

impl Encoder {
    /// An encoder of rows by a program; `timestamptz` is written in the zone.
    pub fn new(program: impl Into<Arc<Program>>, zone: Zone) -> Self {
        let program = program.into();
        Self {
            joiner: (!program.levels.is_empty()).then(|| Joiner::new(program.levels.len())),
            target: program.target,
            writer: ValueWriter { program, zone, embedded_max: usize::MAX, has_cut: AtomicBool::new(false) },
            chunk: Vec::with_capacity(FIRST_CHUNK_BYTES),
            scratch: Vec::new(),
            rows: 0,
            rows_max: u64::MAX,
            level: 0,
            stock: Stock::default(),
        }
    }

    /// Takes its chunks from a stock.
    pub fn set_stock(&mut self, stock: Stock) {
        self.stock = stock;
    }

    /// Leaves out what comes after so many rows of the root.
    pub fn set_rows_max(&mut self, rows_max: u64) {
        self.rows_max = rows_max;
    }

    /// Leaves out rows of each embed that come after so many.
    pub fn set_embedded_max(&mut self, rows_max: u64) {
        self.writer.embedded_max = usize::try_from(rows_max).unwrap_or(usize::MAX);
    }

    /// Returns true if rows of an embed have been left out.
    pub fn has_cut_embeds(&self) -> bool {
        self.writer.has_cut.load(Ordering::Relaxed)
    }

    /// The rows that come now belong to the next level.
    pub fn next_level(&mut self) {
        self.level += 1;
    }

    /// Forgets all rows, if none has been written yet.
    pub fn restart(&mut self) -> bool {
        let clean = self.rows == 0;
        if clean {
            self.level = 0;
            self.joiner.iter_mut().for_each(Joiner::clear);
        }
        clean
    }

    /// How many rows have come.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Takes what has been written.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::replace(&mut self.chunk, self.stock.take())
    }

    /// Takes the last of it, once there are no more rows.
    pub fn finish(&mut self) -> Vec<u8> {
        match (self.target, self.rows) {
            (Target::Array | Target::Values, 0) => self.chunk.extend_from_slice(b"[]"),
            (Target::Array | Target::Values, _) => self.chunk.push(b']'),
            (Target::Features, 0) => self.chunk.extend_from_slice(FEATURES_NONE),
            (Target::Features, _) => self.chunk.extend_from_slice(b"]}"),
            (Target::Object | Target::Value, 0) => self.chunk.extend_from_slice(b"null"),
            (Target::Csv, 0) => self.chunk.extend_from_slice(&self.writer.program.header),
            (Target::Csv | Target::Object | Target::Value | Target::Raw | Target::Bytes, _) => {}
        }
        std::mem::take(&mut self.chunk)
    }
}

impl RowSink for Encoder {
    type Error = EncodeError;

    fn row(&mut self, row: RowView<'_>) -> Result<Demand, EncodeError> {
        if let Some(joiner) = &mut self.joiner
            && !joiner.is_root(self.level)
        {
            joiner.hold(self.level, &self.writer, row)?;
            return Ok(Demand::More);
        }
        let first = self.rows == 0;
        self.rows += 1;
        if self.rows > self.rows_max {
            return Ok(Demand::More);
        }
        // more than a small response: room for a whole chunk at once, not by doubling and copying
        if self.chunk.len() > FIRST_CHUNK_BYTES / 2 && self.chunk.capacity() < CHUNK_BYTES {
            let first = std::mem::replace(&mut self.chunk, self.stock.take());
            append(&mut self.chunk, &first);
        }
        match self.target {
            Target::Array => {
                append(&mut self.chunk, if first { b"[" } else { b",\n" });
                match &mut self.joiner {
                    Some(joiner) => joiner.root(&mut self.chunk, &self.writer, row)?,
                    None => self.writer.object(&mut self.chunk, row)?,
                }
            }
            Target::Object if first => self.writer.object(&mut self.chunk, row)?,
            Target::Value if first => self.writer.first(&mut self.chunk, row)?,
            Target::Object | Target::Value => return Ok(Demand::More),
            Target::Values => {
                append(&mut self.chunk, if first { b"[" } else { b",\n" });
                self.writer.first(&mut self.chunk, row)?;
            }
            Target::Features => {
                append(&mut self.chunk, if first { FEATURES_START } else { b",\n" });
                self.writer.first(&mut self.chunk, row)?;
            }
            Target::Bytes => append(&mut self.chunk, row.columns().column()?.unwrap_or_default()),
            Target::Raw => {
                append(&mut self.chunk, if first { b"" } else { b"\n" });
                append(&mut self.chunk, row.columns().column()?.unwrap_or_default());
            }
            Target::Csv => {
                if first {
                    self.chunk.extend_from_slice(&self.writer.program.header);
                }
                self.chunk.push(b'\n');
                csv::record(&mut self.chunk, &mut self.scratch, &self.writer, row)?;
            }
        }
        Ok(if self.chunk.len() >= CHUNK_BYTES { Demand::Pause } else { Demand::More })
    }
}
