//! The words of a span that was found in several ways, or in katakana: the likeliest first.

use crate::compile::{COST_BITS, COST_SHIFT, COUNTER, FREQUENCY_BITS, FREQUENCY_SHIFT, IN_KATAKANA};
use crate::dictionary::Posted;
use crate::reader::{Hit, Told};

/// A word, by which of a span's hits it was found.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Likely {
    pub(crate) hit: u32,
    pub(crate) word: Posted,
}

/// The words that have been taken in of a span, before they are in order.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    words: Vec<Likely>,
    /// The entry of each, so that it is found soon whether one is there.
    references: Vec<u32>,
    /// The order of each, and its place among them.
    orders: Vec<u64>,
}

/// Whether the words of these hits are told in the order in which they stand in the dictionary, which is that of words in hiragana.
pub(crate) fn are_in_order(hits: &[Hit], is_number: bool) -> bool {
    matches!(hits, [hit] if !hit.script.has_katakana() && !is_number)
}

impl Candidates {
    /// Appends the words of hits, the likeliest first, each once, and so many at most. How many there are more.
    pub(crate) fn append(
        &mut self,
        out: &mut Vec<Likely>,
        hits: &[Hit],
        told: Told<'_>,
        reasons: impl Fn(&Hit) -> u32,
    ) -> usize {
        let Candidates { words, references, orders } = self;
        words.clear();
        references.clear();
        orders.clear();
        for (hit_at, hit) in (0..).zip(hits) {
            let (reasons, from) = (reasons(hit), words.len());
            for word in told.words(hit) {
                let is_suffix = told.is_number && word.said & COUNTER == 0;
                let order = order(hit, reasons + COSTS_OF_SUFFIX * u32::from(is_suffix), word.said);
                // a hit has no word twice
                match references[..from].iter().position(|known| *known == word.reference) {
                    Some(known) => {
                        let before = u64::from(order) << 32 | known as u64;
                        if before < orders[known] {
                            (orders[known], words[known]) = (before, Likely { hit: hit_at, word });
                        }
                    }
                    None => {
                        orders.push(u64::from(order) << 32 | words.len() as u64);
                        references.push(word.reference);
                        words.push(Likely { hit: hit_at, word });
                    }
                }
            }
        }
        orders.sort_unstable();
        let max = told.options.entries_max();
        out.extend(orders.iter().take(max).filter_map(|order| words.get(*order as u32 as usize)));
        orders.len().saturating_sub(max)
    }
}

/// What comes before what else among the words of a span: spelled as the key, in its script; likely and inflected by few reasons, so that
/// 話せる is 話す in its potential before the less common 話せる, but しあい is 試合 before a form of する; frequent, so that 行った is 行く before 行う.
fn order(hit: &Hit, reasons: u32, said: u32) -> u32 {
    let is_other_script = hit.script.has_katakana() != (said & IN_KATAKANA != 0);
    let cost = (said >> COST_SHIFT & COST_BITS) + COST_OF_REASON * reasons;
    let frequency = said >> FREQUENCY_SHIFT & FREQUENCY_BITS;
    u32::from(hit.is_respelled) << 31 | u32::from(is_other_script) << 30 | cost.min(COST_MAX) << 16 | frequency
}

/// What a reason costs, as a word's own cost does.
const COST_OF_REASON: u32 = 2;
const COST_MAX: u32 = 0x3fff;
/// What counts is before what only follows, as じん of 人, by so many reasons.
const COSTS_OF_SUFFIX: u32 = 8;
