//! The words that a person knows.

use crate::compile::folded;
use crate::dictionary::{Dictionary, Posted};
use std::collections::HashSet;

/// Words that are left out of what is told.
#[derive(Debug, Default)]
pub struct Known(HashSet<u32>);

impl Known {
    /// From a list with a word a line, in dictionary form, as it is written or read; what stands behind a tab is a remark. Entries that are
    /// written or read so are all known, so that those who know 行く may write it with its kanji.
    pub fn of(dictionary: &Dictionary, list: &str) -> Known {
        let (keys, mut known, mut key) = (dictionary.keys(), HashSet::new(), String::new());
        for line in list.lines() {
            let word = line.split('\t').next().unwrap_or_default().trim();
            key.clear();
            folded(word, &mut key);
            let node = key.chars().try_fold(keys.trie.root(), |node, c| keys.trie.step(node, keys.code(c)));
            if let Some(value) = node.and_then(|node| keys.trie.value(node)) {
                known.extend(keys.words(value).iter().map(|word| Posted::of(word).reference));
            }
        }
        Known(known)
    }

    pub(crate) fn has(&self, reference: u32) -> bool {
        self.0.contains(&reference)
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
