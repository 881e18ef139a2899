//! A body in the chunks that it came in.

use bytes::Bytes;
use std::ops::Range;

/// Chunks one behind the other.
#[derive(Debug, Clone, Default)]
pub struct Chunks {
    list: Vec<Bytes>,
    size_bytes: u64,
}

impl Chunks {
    /// Adds a chunk.
    pub fn push(&mut self, chunk: Bytes) {
        self.size_bytes += chunk.len() as u64;
        self.list.push(chunk);
    }

    /// The size of all together, in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// The chunks.
    pub fn list(&self) -> &[Bytes] {
        &self.list
    }

    /// Gives the chunks away.
    pub fn take(&mut self) -> Vec<Bytes> {
        self.size_bytes = 0;
        std::mem::take(&mut self.list)
    }

    /// Part of the body, without copying it.
    pub fn slice(&self, range: Range<u64>) -> Vec<Bytes> {
        let (mut at, mut found) = (0, Vec::new());
        for chunk in &self.list {
            let end = at + chunk.len() as u64;
            if end > range.start && at < range.end && range.start < range.end {
                let from = range.start.saturating_sub(at) as usize;
                let to = (range.end.min(end) - at) as usize;
                found.push(chunk.slice(from..to));
            }
            at = end;
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
