//! The statements that a connection has prepared, bounded in number and in bytes.
//!
//! ```text
//!  by_role   prepared, or about to be by the pipeline that is being sent
//!     │ makes room for another, means nothing any more, has other columns now
//!     ▼
//!  closing   the server may hold them still: told before it is told of a new one, and again if it skipped that after an error
//! ```
//!
//! A backend pays 50 to 115 bytes for each byte of a statement's text, plans included, and 28 KB for the shortest: what it keeps
//! for one connection is 60 MB at most, whatever clients ask for.
//!
//! A statement that one role has prepared is not another's. PostgreSQL asks for `USAGE` of a schema when it looks a name up,
//! and for `EXECUTE` of a function that it inlines or folds when it plans: whoever runs the plan later is not asked again.

use sha2::{Digest, Sha256};
use std::collections::{HashMap, VecDeque};
use std::fmt::Write;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use thalweg_rows::oid::Oid;

/// How many statements a connection keeps prepared.
const STATEMENTS_MAX: usize = 256;
/// How long their texts are together, in bytes.
const TEXTS_BYTES_MAX: usize = 512 * 1024;
/// How long a text may be to be kept, in bytes. A longer one is run under no name: to prepare it costs less than to run it, and
/// nobody asks for it often.
const TEXT_BYTES_MAX: usize = 16 * 1024;
/// How much of a text's hash makes its name, in bytes: enough that nobody can make two texts with one name.
const NAME_HASH_BYTES: usize = 20;

#[derive(Default)]
pub(crate) struct Statements {
    by_role: HashMap<Box<str>, ByText, BuildHasherDefault<TextHasher>>,
    /// As whom statements are looked for now; empty is whoever logged in.
    role: Box<str>,
    /// The length of all texts.
    texts_bytes: usize,
    clock: u64,
    /// When the current pipeline began. What it has used since is not closed for want of room.
    pipeline_began: u64,
    /// Names under which the server may hold statements that are not wanted any more, until it says that they are closed.
    closing: VecDeque<Arc<str>>,
    /// How many of them the server has been told of.
    told: usize,
}

type ByText = HashMap<Arc<str>, Prepared, BuildHasherDefault<TextHasher>>;

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
    /// From now on the statements of this role are looked for.
    pub(crate) fn run_as(&mut self, role: &str) {
        if *self.role != *role {
            self.role = role.into();
        }
    }

    /// The role's statement with this text, marked as used just now.
    pub(crate) fn find(&mut self, text: &str) -> Option<&Prepared> {
        if text.len() > TEXT_BYTES_MAX {
            return None;
        }
        self.clock += 1;
        let clock = self.clock;
        self.by_role.get_mut(&*self.role)?.get_mut(text).map(|known| {
            known.used = clock;
            &*known
        })
    }

    /// Notes a new statement and names it, unless it is too long to be kept. Where it has no room, those unused longest are
    /// to be closed; where the current pipeline uses what is left, it has none.
    ///
    /// The name is a hash of role and text, so that where two sessions' names meet, behind a pooler, they mean the same.
    pub(crate) fn insert(&mut self, text: &str) -> Option<Arc<str>> {
        if text.len() > TEXT_BYTES_MAX {
            return None;
        }
        // each that is closed was inserted once, so that the search is paid for by that
        while self.len() >= STATEMENTS_MAX || self.texts_bytes + text.len() > TEXTS_BYTES_MAX {
            let unused =
                self.by_role.values().flat_map(ByText::values).filter(|known| known.used <= self.pipeline_began);
            let oldest = unused.min_by_key(|known| known.used)?.name.clone();
            self.close(&oldest);
        }
        self.clock += 1;
        let name = name_of(&self.role, text);
        self.texts_bytes += text.len();
        let of_role = self.by_role.entry(self.role.clone()).or_default();
        of_role.insert(text.into(), Prepared { name: name.clone(), columns: None, used: self.clock });
        Some(name)
    }

    pub(crate) fn described(&mut self, name: &str, columns: Arc<[Oid]>) {
        if let Some(known) = self.by_role.values_mut().flat_map(ByText::values_mut).find(|known| *known.name == *name) {
            known.columns = Some(columns);
        }
    }

    /// Forgets a statement that the server has not prepared.
    pub(crate) fn forget(&mut self, name: &str) {
        let Self { by_role, texts_bytes, .. } = self;
        by_role.retain(|_, by_text| {
            by_text.retain(|text, known| {
                let stays = *known.name != *name;
                *texts_bytes -= if stays { 0 } else { text.len() };
                stays
            });
            !by_text.is_empty()
        });
    }

    /// Forgets a statement that the server may hold, which is then told to close it.
    pub(crate) fn close(&mut self, name: &Arc<str>) {
        self.forget(name);
        self.closing.push_back(name.clone());
    }

    /// The same of all of them.
    pub(crate) fn close_all(&mut self) {
        self.closing.extend(self.by_role.drain().flat_map(|(_, by_text)| by_text).map(|(_, known)| known.name));
        self.texts_bytes = 0;
    }

    /// Forgets all of them: the server has dropped them.
    pub(crate) fn clear(&mut self) {
        self.by_role.clear();
        self.texts_bytes = 0;
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
        self.pipeline_began = self.clock;
    }

    pub(crate) fn len(&self) -> usize {
        self.by_role.values().map(ByText::len).sum()
    }

    /// How many the server holds, those included that it has not closed yet, if it has lost none.
    pub(crate) fn held_by_server(&self) -> usize {
        self.len() + self.closing.len()
    }
}

fn name_of(role: &str, text: &str) -> Arc<str> {
    let mut name = String::with_capacity(1 + 2 * NAME_HASH_BYTES);
    name.push('t');
    // no role's name holds a NUL
    let hash = Sha256::new_with_prefix(role).chain_update([0]).chain_update(text).finalize();
    for byte in hash.iter().take(NAME_HASH_BYTES) {
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
        statements.end_of_pipeline();
        assert_eq!(statements.not_told_to_close().count(), 0);
        assert!(statements.find("select 0").is_some());
        statements.insert("one more");
        assert!(statements.find("select 0").is_some());
        assert!(statements.find("select 1").is_none());
        assert_eq!(statements.len(), STATEMENTS_MAX);
        let evicted = name_of("", "select 1");
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
    fn texts_are_bounded_together_and_alone() {
        let mut statements = Statements::default();
        let text = |at: usize, bytes: usize| format!("{at:0bytes$}");
        for at in 0..1000 {
            statements.insert(&text(at, TEXT_BYTES_MAX)).unwrap();
            statements.end_of_pipeline();
            assert!(statements.texts_bytes <= TEXTS_BYTES_MAX);
        }
        assert_eq!(statements.len(), TEXTS_BYTES_MAX / TEXT_BYTES_MAX);
        assert_eq!(statements.insert(&text(0, TEXT_BYTES_MAX + 1)), None);
        assert!(statements.find(&text(0, TEXT_BYTES_MAX + 1)).is_none());
        // what is forgotten, closed or dropped gives its room back
        statements.forget(&name_of("", &text(999, TEXT_BYTES_MAX)));
        assert_eq!(statements.texts_bytes, TEXTS_BYTES_MAX - TEXT_BYTES_MAX);
        statements.close_all();
        assert_eq!((statements.len(), statements.texts_bytes, statements.closing.len()), (0, 0, 999));
        statements.insert("select 1").unwrap();
        statements.clear();
        assert_eq!(statements.texts_bytes, 0);
    }

    #[test]
    fn a_pipeline_closes_nothing_that_it_uses() {
        let mut statements = Statements::default();
        statements.insert("select 'before'").unwrap();
        statements.end_of_pipeline();
        for at in 1..STATEMENTS_MAX {
            statements.insert(&format!("select {at}")).unwrap();
        }
        assert!(statements.insert("in place of what was before").is_some());
        assert_eq!(statements.not_told_to_close().collect::<Vec<_>>(), [&name_of("", "select 'before'")]);
        assert_eq!(statements.insert("one more"), None);
        assert_eq!((statements.len(), statements.closing.len()), (STATEMENTS_MAX, 1));
        statements.end_of_pipeline();
        assert!(statements.insert("one more").is_some());
    }

    #[test]
    fn a_role_has_its_own() {
        let mut statements = Statements::default();
        statements.run_as("tower");
        let name = statements.insert("select 1").unwrap();
        statements.run_as("pilot");
        assert!(statements.find("select 1").is_none());
        let other = statements.insert("select 1").unwrap();
        assert_ne!(name, other);
        assert_eq!((statements.len(), statements.held_by_server(), statements.texts_bytes), (2, 2, 16));
        statements.close(&name);
        assert_eq!((statements.len(), statements.held_by_server(), statements.texts_bytes), (1, 2, 8));
        assert_eq!(statements.find("select 1").unwrap().name, other);
        statements.run_as("tower");
        assert!(statements.find("select 1").is_none());
    }

    #[test]
    fn names_are_roles_and_texts() {
        assert_eq!(name_of("", "select 1"), name_of("", "select 1"));
        assert_ne!(name_of("", "select 1"), name_of("", "select 2"));
        assert_ne!(name_of("a", "b"), name_of("", "ab"));
        assert!(name_of("", "").len() < 63);
    }
}
