//! The statements that a connection has prepared, bounded.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use thalweg_rows::oid::Oid;

/// How many statements a connection keeps prepared.
const STATEMENTS_MAX: usize = 256;

#[derive(Default)]
pub(crate) struct Statements {
    by_text: HashMap<Arc<str>, Prepared, BuildHasherDefault<TextHasher>>,
    clock: u64,
    named: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct Prepared {
    /// The server's name for it is this number.
    pub(crate) number: u64,
    /// The types of its columns, once the server has told.
    pub(crate) columns: Option<Arc<[Oid]>>,
    used: u64,
}

/// Hashes a statement's text eight bytes at a time. The standard hasher resists those who choose texts that collide; here
/// there are so few that it would not matter, and the text of each request is hashed.
#[derive(Default)]
pub(crate) struct TextHasher(u64);

impl Hasher for TextHasher {
    fn write(&mut self, bytes: &[u8]) {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut chunks = bytes.chunks_exact(8);
        for chunk in chunks.by_ref() {
            let word = chunk.first_chunk().map_or(0, |chunk| u64::from_le_bytes(*chunk));
            self.0 = (self.0 ^ word).wrapping_mul(ODD).rotate_left(29);
        }
        for &byte in chunks.remainder() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(ODD).rotate_left(29);
        }
    }

    fn finish(&self) -> u64 {
        // the table looks at the highest and the lowest bits
        self.0 ^ (self.0 >> 32)
    }
}

impl Statements {
    /// The statement with this text, marked as used just now.
    pub(crate) fn find(&mut self, text: &str) -> Option<&Prepared> {
        self.clock += 1;
        let clock = self.clock;
        self.by_text.get_mut(text).map(|known| {
            known.used = clock;
            &*known
        })
    }

    /// A new statement's number, and the number of the one that must be closed to make room for it.
    pub(crate) fn insert(&mut self, text: &str) -> (u64, Option<u64>) {
        let evicted = if self.by_text.len() >= STATEMENTS_MAX {
            let oldest = self.by_text.iter().min_by_key(|(_, known)| known.used).map(|(text, _)| text.clone());
            oldest.and_then(|text| self.by_text.remove(&text)).map(|known| known.number)
        } else {
            None
        };
        self.clock += 1;
        self.named += 1;
        self.by_text.insert(text.into(), Prepared { number: self.named, columns: None, used: self.clock });
        (self.named, evicted)
    }

    pub(crate) fn described(&mut self, number: u64, columns: Arc<[Oid]>) {
        if let Some(known) = self.by_text.values_mut().find(|known| known.number == number) {
            known.columns = Some(columns);
        }
    }

    /// Forgets statements that the server never prepared or has dropped.
    pub(crate) fn forget(&mut self, which: impl Fn(u64) -> bool) {
        self.by_text.retain(|_, known| !which(known.number));
    }

    pub(crate) fn len(&self) -> usize {
        self.by_text.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_goes_first() {
        let mut statements = Statements::default();
        for at in 0..STATEMENTS_MAX {
            assert_eq!(statements.insert(&format!("select {at}")).1, None);
        }
        assert!(statements.find("select 0").is_some());
        let (_, evicted) = statements.insert("one more");
        assert_eq!(evicted, Some(2));
        assert!(statements.find("select 0").is_some());
        assert!(statements.find("select 1").is_none());
        assert_eq!(statements.len(), STATEMENTS_MAX);
    }
}
