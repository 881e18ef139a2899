//! By what a word is known on a page or in an answer, and which words have been told there.

use crate::gloss::Word;
use std::collections::{HashMap, HashSet};
use std::fmt;

/// The words that have been told.
#[derive(Debug, Default)]
pub(crate) struct WordIds {
    told: HashSet<(u32, Forms)>,
    /// Which entry has a number of its source as its id.
    numbers: HashMap<u32, u32>,
}

/// The places of a word's headword and reading among its entry's.
type Forms = (Option<u32>, Option<u32>);

impl WordIds {
    /// A word's id, and whether it has not been told yet: it counts as told from now on.
    pub(crate) fn of(&mut self, word: Word<'_, '_>) -> (WordId, bool) {
        let (number, key) = (word.number(), word.key());
        let has_number = number > 0 && *self.numbers.entry(number).or_insert(key) == key;
        let is_in_kana = word.form_places().0.is_none() && word.other_headwords().next().is_none();
        let forms = match word.form_places() {
            (Some(0), Some(0)) => (None, None),
            (None, Some(0)) if is_in_kana => (None, None),
            forms => forms,
        };
        let id =
            if has_number { WordId { kind: 'w', number, forms } } else { WordId { kind: 'k', number: key, forms } };
        (id, self.told.insert((key, forms)))
    }
}

/// Returns the memory of a hash table with this capacity, in bytes, as far as the capacity shows
/// it.
pub(crate) fn table_bytes<T>(capacity: usize) -> usize {
    // Each item has one byte of its hash beside it, and an eighth of the slots remains free.
    capacity.saturating_mul(8) / 7 * (size_of::<T>() + 1)
}

impl WordIds {
    /// Returns the memory of the identifiers, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        table_bytes::<(u32, Forms)>(self.told.capacity()) + table_bytes::<(u32, u32)>(self.numbers.capacity())
    }
}

/// `w1358280` by the number of its source, `k17` by its place in the dictionary where it has none. An entry that is written or read in another
/// way than its source does first has another id there (`w1358280-h1r0`), since it then has other headings and may have other meanings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WordId {
    kind: char,
    number: u32,
    forms: Forms,
}

impl fmt::Display for WordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.kind, self.number)?;
        if self.forms != (None, None) {
            f.write_str("-")?;
        }
        self.forms.0.map_or(Ok(()), |at| write!(f, "h{at}"))?;
        self.forms.1.map_or(Ok(()), |at| write!(f, "r{at}"))
    }
}
