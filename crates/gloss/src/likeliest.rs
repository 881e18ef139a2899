//! The words of a span that was found in several ways, or in katakana: the likeliest first.

use crate::compile::{COST_BITS, COST_SHIFT, COUNTER, FREQUENCY_BITS, FREQUENCY_SHIFT, IN_KATAKANA};
use crate::reader::{Hit, Told};

/// A word, by which of a span's hits it was found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Likely {
    /// What it comes before, and behind that where it was found among the others.
    order: u64,
    pub(crate) hit: u32,
    pub(crate) reference: u32,
    pub(crate) forms: u32,
}

/// A span has no more words to choose from, but for those of one key more; of JMdict's some have 150. Each is compared with all before it.
const SPAN_WORDS_MAX: usize = 512;

/// Whether the words of these hits are told in the order in which they stand in the dictionary, which is that of words in hiragana.
pub(crate) fn are_in_order(hits: &[Hit], is_number: bool) -> bool {
    matches!(hits, [hit] if !hit.script.has_katakana() && !is_number)
}

/// Appends the words of hits, the likeliest first, each once, and so many at most. How many there are more.
pub(crate) fn append_likeliest(
    out: &mut Vec<Likely>,
    hits: &[Hit],
    told: Told<'_>,
    reasons: impl Fn(&Hit) -> u32,
) -> usize {
    let start = out.len();
    for (number, hit) in (0..).zip(hits) {
        let order = Order::of(hit, reasons(hit));
        let from = out.len();
        if from - start >= SPAN_WORDS_MAX {
            break;
        }
        for word in told.words(hit) {
            let order = order.of_word(word.said, told.is_number);
            // a hit has no word twice
            let known = out[start..from].iter().position(|known| known.reference == word.reference);
            let at = known.unwrap_or(out.len() - start);
            let order = u64::from(order) << 32 | at as u64;
            let likely = Likely { order, hit: number, reference: word.reference, forms: word.forms };
            match known {
                Some(known) if order < out[start + known].order => out[start + known] = likely,
                Some(_) => {}
                None => out.push(likely),
            }
        }
    }
    let all = &mut out[start..];
    all.sort_unstable_by_key(|likely| likely.order);
    let (count, max) = (all.len(), told.options.entries_max());
    out.truncate(start + max);
    count.saturating_sub(max)
}

/// What comes before what else among the words of a span: spelled as the key, in its script; likely and inflected by few reasons, so that
/// 話せる is 話す in its potential before the less common 話せる, but しあい is 試合 before a form of する; frequent, so that 行った is 行く before 行う.
#[derive(Debug, Clone, Copy)]
struct Order {
    /// Of a word in katakana, and of another.
    in_katakana: u32,
    in_hiragana: u32,
    cost: u32,
}

impl Order {
    fn of(hit: &Hit, reasons: u32) -> Order {
        let respelled = u32::from(hit.is_respelled) << 31;
        let has_katakana = u32::from(hit.script.has_katakana()) << 30;
        let (in_katakana, in_hiragana) = (respelled | (has_katakana ^ 1 << 30), respelled | has_katakana);
        Order { in_katakana, in_hiragana, cost: COST_OF_REASON * reasons }
    }

    #[inline]
    fn of_word(self, said: u32, is_number: bool) -> u32 {
        let of_suffix = if is_number && said & COUNTER == 0 { COST_OF_REASON * COSTS_OF_SUFFIX } else { 0 };
        let cost = (said >> COST_SHIFT & COST_BITS) + self.cost + of_suffix;
        let frequency = said >> FREQUENCY_SHIFT & FREQUENCY_BITS;
        let first = if said & IN_KATAKANA != 0 { self.in_katakana } else { self.in_hiragana };
        first | cost.min(COST_MAX) << 16 | frequency
    }
}

/// What a reason costs, as a word's own cost does.
const COST_OF_REASON: u32 = 2;
const COST_MAX: u32 = 0x3fff;
/// What counts is before what only follows, as じん of 人, by so many reasons.
const COSTS_OF_SUFFIX: u32 = 8;
