//! A body in the chunks that it came in.

use bytes::Bytes;
use std::ops::Range;

/// Chunks one behind the other.
#[derive(Debug, Clone, Default)]
pub struct Chunks {
    list: Vec<Bytes>,
    /// Where each ends, from the start of the body.
    ends: Vec<u64>,
}

impl Chunks {
    /// Adds a chunk.
    pub fn push(&mut self, chunk: Bytes) {
        self.ends.push(self.size_bytes() + chunk.len() as u64);
        self.list.push(chunk);
    }

    /// The size of all together, in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// The chunks.
    pub fn list(&self) -> &[Bytes] {
        &self.list
    }

    /// Part of the body, without copying it.
    pub fn slice(&self, range: Range<u64>) -> Vec<Bytes> {
        let mut found = Vec::new();
        let first = self.ends.partition_point(|&end| end <= range.start);
        let mut start = first.checked_sub(1).map_or(0, |before| self.ends[before]);
        for (chunk, &end) in self.list[first..].iter().zip(&self.ends[first..]) {
            if start >= range.end {
                break;
            }
            let from = range.start.saturating_sub(start) as usize;
            let to = (range.end.min(end) - start) as usize;
            if from < to {
                found.push(chunk.slice(from..to));
            }
            start = end;
        }
        found
    }
}

impl From<Vec<u8>> for Chunks {
    fn from(bytes: Vec<u8>) -> Self {
        let mut chunks = Self::default();
        chunks.push(bytes.into());
        chunks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_parts() {
        let mut chunks = Chunks::default();
        ["abc", "", "defg", "h"].iter().for_each(|part| chunks.push(Bytes::from_static(part.as_bytes())));
        for start in 0..=8 {
            assert!(chunks.slice(start..start.saturating_sub(1)).is_empty());
            for end in start..=8 {
                let slice = chunks.slice(start..end).concat();
                assert_eq!(slice, b"abcdefgh"[start as usize..end as usize]);
            }
        }
    }
}
