//! The words that a person knows.

use crate::dictionary::{Dictionary, Posted};
use crate::fold::folded;
use crate::ids::table_bytes;
use std::collections::HashSet;

/// Words that are left out of what is told.
#[derive(Debug, Default)]
pub struct Known(HashSet<u32>);

impl Known {
    /// From a list with a word a line, in dictionary form, as it is written or read; what stands behind a tab is a remark. Entries that are
    /// written or read so are all known, so that those who know 行く may write it with its kanji.
    pub fn of(dictionary: &Dictionary, list: &str) -> Known {
        let mut known = Known::default();
        for line in list.lines() {
            known.add(dictionary, line);
        }
        known
    }

    /// Adds a line of such a list. Whether there is an entry that is written or read so.
    pub fn add(&mut self, dictionary: &Dictionary, line: &str) -> bool {
        let (keys, mut key) = (dictionary.keys(), String::new());
        folded(line.split('\t').next().unwrap_or_default().trim(), &mut key);
        let node = key.chars().try_fold(keys.trie.root(), |node, c| keys.trie.step(node, keys.code(c)));
        let words = node.and_then(|node| keys.trie.value(node)).map_or(&[][..], |value| keys.posted.words(value));
        self.0.extend(words.iter().map(|word| Posted::of(word).reference));
        !words.is_empty()
    }

    pub(crate) fn has(&self, reference: u32) -> bool {
        self.0.contains(&reference)
    }

    /// Returns the memory of the known entries, in bytes.
    pub fn memory_bytes(&self) -> usize {
        table_bytes::<u32>(self.0.capacity())
    }

    /// How many entries.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
