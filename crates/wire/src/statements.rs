//! The statements that a connection has prepared, bounded.

use sha2::{Digest, Sha256};
use std::collections::{HashMap, VecDeque};
use std::fmt::Write;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use thalweg_rows::oid::Oid;

/// How many statements a connection keeps prepared.
const STATEMENTS_MAX: usize = 256;
/// How much of a text's hash makes its name, in bytes: enough that nobody can make two texts with one name.
const NAME_HASH_BYTES: usize = 20;

#[derive(Default)]
pub(crate) struct Statements {
    by_text: HashMap<Arc<str>, Prepared, BuildHasherDefault<TextHasher>>,
    clock: u64,
    /// Names under which the server may hold statements that are not wanted any more, until it says that they are closed.
    closing: VecDeque<Arc<str>>,
    /// How many of them the server has been told of.
    told: usize,
}

#[derive(Debug, Clone)]
pub(crate) struct Prepared {
    /// The server's name for it.
    pub(crate) name: Arc<str>,
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

    /// Notes a new statement and names it. Where it has no room, the one unused longest is to be closed.
    ///
    /// The name is a hash of the text, so that where two sessions' names meet, behind a pooler, they mean the same.
    pub(crate) fn insert(&mut self, text: &str) -> Arc<str> {
        if self.by_text.len() >= STATEMENTS_MAX {
            let oldest = self.by_text.iter().min_by_key(|(_, known)| known.used).map(|(_, known)| known.name.clone());
            oldest.into_iter().for_each(|name| self.close(&name));
        }
        self.clock += 1;
        let name = name_of(text);
        self.by_text.insert(text.into(), Prepared { name: name.clone(), columns: None, used: self.clock });
        name
    }

    pub(crate) fn described(&mut self, name: &str, columns: Arc<[Oid]>) {
        if let Some(known) = self.by_text.values_mut().find(|known| *known.name == *name) {
            known.columns = Some(columns);
        }
    }

    /// Forgets a statement that the server has not prepared.
    pub(crate) fn forget(&mut self, name: &str) {
        self.by_text.retain(|_, known| *known.name != *name);
    }

    /// Forgets a statement that the server may hold, which is then told to close it.
    pub(crate) fn close(&mut self, name: &Arc<str>) {
        self.forget(name);
        self.closing.push_back(name.clone());
    }

    /// The same of all of them.
    pub(crate) fn close_all(&mut self) {
        self.closing.extend(self.by_text.drain().map(|(_, known)| known.name));
    }

    /// Forgets all of them: the server has dropped them.
    pub(crate) fn clear(&mut self) {
        self.by_text.clear();
    }

    /// The names that the server has to be told to close; it says so of each in turn.
    pub(crate) fn not_told_to_close(&mut self) -> impl Iterator<Item = &Arc<str>> {
        let told = std::mem::replace(&mut self.told, self.closing.len());
        self.closing.iter().skip(told)
    }

    /// The server has closed the first that it was told of.
    pub(crate) fn closed(&mut self) {
        self.closing.pop_front();
        self.told = self.told.saturating_sub(1);
    }

    /// The pipeline is over: what was skipped after an error must be told again.
    pub(crate) fn end_of_pipeline(&mut self) {
        self.told = 0;
    }

    pub(crate) fn len(&self) -> usize {
        self.by_text.len()
    }
}

fn name_of(text: &str) -> Arc<str> {
    let mut name = String::with_capacity(1 + 2 * NAME_HASH_BYTES);
    name.push('t');
    for byte in Sha256::digest(text.as_bytes()).iter().take(NAME_HASH_BYTES) {
        let _ = write!(name, "{byte:02x}");
    }
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_goes_first() {
        let mut statements = Statements::default();
        for at in 0..STATEMENTS_MAX {
            statements.insert(&format!("select {at}"));
        }
        assert_eq!(statements.not_told_to_close().count(), 0);
        assert!(statements.find("select 0").is_some());
        statements.insert("one more");
        assert!(statements.find("select 0").is_some());
        assert!(statements.find("select 1").is_none());
        assert_eq!(statements.len(), STATEMENTS_MAX);
        let evicted = name_of("select 1");
        assert_eq!(statements.not_told_to_close().collect::<Vec<_>>(), [&evicted]);
        // told, but skipped after an error: told again
        assert_eq!(statements.not_told_to_close().count(), 0);
        statements.end_of_pipeline();
        assert_eq!(statements.not_told_to_close().count(), 1);
        statements.closed();
        statements.end_of_pipeline();
        assert_eq!(statements.not_told_to_close().count(), 0);
    }

    #[test]
    fn names_are_texts() {
        assert_eq!(name_of("select 1"), name_of("select 1"));
        assert_ne!(name_of("select 1"), name_of("select 2"));
        assert!(name_of("").len() < 63);
    }
}
