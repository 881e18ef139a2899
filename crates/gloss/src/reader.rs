//! A text read along a dictionary: from each place all keys that begin there, in dictionary form or inflected.

use crate::compile::{COUNTS, IN_KATAKANA, KEY_CHARS_MAX, LIKELIHOOD_BITS, LIKELIHOOD_SHIFT};
use crate::dictionary::{Dictionary, Posting};
use crate::endings::{Chain, Chains, ENDING_CHARS_MAX, ENDINGS, Ending, Open};
use crate::fold::{fold, is_kana, is_kanji, is_katakana, is_long, voiced, vowel};
use crate::gloss::Gloss;
use crate::known::Known;
use crate::number;
use crate::trie::Node;
use std::ops::Range;

/// What is found from a place depends on no more characters than these behind it.
pub(crate) const AHEAD_CHARS_MAX: usize = KEY_CHARS_MAX + ENDING_CHARS_MAX;
/// A key may be spelled in so many ways at once; more are not followed.
const WALKS_MAX: usize = 4;

/// What is to be told.
#[derive(Debug, Clone, Copy)]
pub struct Options<'k> {
    /// Whether names are looked for.
    pub names: bool,
    /// So many words are told of one span, the likeliest, and of how many there are more; names likewise.
    pub entries_per_span_max: usize,
    /// Words that are left out.
    pub known: Option<&'k Known>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options { names: true, entries_per_span_max: 32, known: None }
    }
}

/// Reads texts. What it needs for one it keeps for the next, so that it allocates only while texts grow.
#[derive(Debug, Default)]
pub struct Reader {
    /// The text, folded.
    chars: Vec<char>,
    /// What stands for each of them, and one more for the end.
    units: Vec<Unit>,
    /// The endings at each place, once it has been looked for them.
    endings: Vec<Ending>,
    endings_at: Vec<Option<(u32, u32)>>,
    open: Open,
    pub(crate) chains: Chains,
    pub(crate) matches: Vec<Match>,
    pub(crate) spans: Vec<Found>,
}

/// A character of the text, or two of half width that are one.
#[derive(Debug, Clone, Copy)]
struct Unit {
    code: u32,
    /// Where it begins.
    byte: u32,
    char: u32,
    is_katakana: bool,
}

/// Where something was found.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    /// In characters and in bytes of the text.
    pub(crate) chars: Range<u32>,
    pub(crate) bytes: Range<u32>,
    pub(crate) matches: Range<u32>,
    /// How many more there were.
    pub(crate) more: u32,
    /// The number that stands before what it is counted by.
    pub(crate) number: Option<u64>,
}

/// An entry that was found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Match {
    /// By which they are sorted.
    order: u64,
    /// Where its dictionary form ends in the text, but for the ending of its class.
    pub(crate) stem: u32,
    end: u32,
    pub(crate) reference: u32,
    pub(crate) class: u16,
    pub(crate) is_name: bool,
    pub(crate) chain: Chain,
}

/// The bits of a match's order, from the end of the match on, the longest first.
const NAME: u64 = 1 << 31;
const RESPELLED: u64 = 1 << 30;
const OTHER_SCRIPT: u64 = 1 << 29;
const LIKELIHOOD: u32 = 27;
const REASONS: u32 = 22;
const REASONS_MAX: u64 = 31;
const ARRIVAL_MAX: u64 = (1 << REASONS) - 1;

/// A place on a walk, and whether the text is spelled otherwise than the key.
type Walk = (Node, bool);

/// Where matches begin, and what is told of them.
struct Start<'a> {
    dictionary: &'a Dictionary,
    text: &'a str,
    options: &'a Options<'a>,
    at: usize,
    matches_from: usize,
    /// For each match that was too many, where it would have ended.
    more: Vec<u32>,
}

impl Reader {
    /// One that has read nothing.
    pub fn new() -> Reader {
        Reader::default()
    }

    /// Finds every word of a text. A text of 4 GiB or more is read as far as that.
    pub fn read<'a>(&'a mut self, dictionary: &'a Dictionary, text: &'a str, options: &Options<'_>) -> Gloss<'a> {
        self.read_part(dictionary, text, 0..text.len(), 0, options)
    }

    /// Finds every word that begins in a part of a text, which begins at a character of which so many are before the text.
    pub(crate) fn read_part<'a>(
        &'a mut self,
        dictionary: &'a Dictionary,
        text: &'a str,
        part: Range<usize>,
        chars_before: u32,
        options: &Options<'_>,
    ) -> Gloss<'a> {
        self.take(dictionary, text, chars_before);
        for at in 0..self.chars.len() {
            if part.contains(&(self.units[at].byte as usize)) {
                let matches_from = self.matches.len();
                let mut start = Start { dictionary, text, options, at, matches_from, more: Vec::new() };
                self.walk(&mut start, at, None);
                self.tell(&start, None);
                self.count(dictionary, text, options, at);
            }
        }
        Gloss::new(dictionary, self, text)
    }

    /// Takes a text apart.
    fn take(&mut self, dictionary: &Dictionary, text: &str, chars_before: u32) {
        self.chars.clear();
        self.units.clear();
        self.endings.clear();
        self.chains.clear();
        self.matches.clear();
        self.spans.clear();
        let mut at = chars_before;
        for (byte, c) in text.char_indices().take_while(|(byte, _)| *byte < u32::MAX as usize) {
            let before = self.chars.last().copied();
            if let Some(both) = before.and_then(|before| voiced(before, c)) {
                if let (Some(last), Some(unit)) = (self.chars.last_mut(), self.units.last_mut()) {
                    *last = both;
                    unit.code = dictionary.code(both);
                }
            } else {
                self.chars.push(fold(c));
                self.units.push(Unit {
                    code: dictionary.code(c),
                    byte: byte as u32,
                    char: at,
                    is_katakana: is_katakana(c),
                });
            }
            at = at.saturating_add(1);
        }
        self.units.push(Unit { code: 0, byte: text.len() as u32, char: at, is_katakana: false });
        self.endings_at.clear();
        self.endings_at.resize(self.units.len(), None);
    }

    /// Follows all keys from a place on.
    fn walk(&mut self, start: &mut Start<'_>, from: usize, counted: Option<u64>) {
        let trie = start.dictionary.trie();
        let mut walks = [(trie.root(), false); WALKS_MAX];
        let mut count = 1;
        let to = self.chars.len().min(from + KEY_CHARS_MAX);
        for at in from..=to {
            for walk in &walks[..count] {
                if at > from
                    && let Some(value) = trie.value(walk.0)
                {
                    self.found(start, at, *walk, start.dictionary.posting(value), counted.is_some());
                }
                if counted.is_none() {
                    self.inflected(start, at, *walk);
                }
            }
            if at == to {
                return;
            }
            let mut next = [(trie.root(), false); WALKS_MAX];
            let mut found = 0;
            for walk in &walks[..count] {
                self.step(start.dictionary, at, *walk, |walk| {
                    if found < WALKS_MAX && !next[..found].iter().any(|known| known.0 == walk.0) {
                        next[found] = walk;
                        found += 1;
                    }
                });
            }
            if found == 0 {
                return;
            }
            (walks, count) = (next, found);
        }
    }

    /// Tells where a character leads to, and what it may be another spelling of.
    #[inline]
    fn step(&self, dictionary: &Dictionary, at: usize, (node, respelled): Walk, mut to: impl FnMut(Walk)) {
        let trie = dictionary.trie();
        if let Some(next) = trie.step(node, self.units[at].code) {
            to((next, respelled));
        }
        let Some(before) = at.checked_sub(1).map(|at| self.chars[at]) else { return };
        let mut other = |c: char| {
            if let Some(next) = trie.step(node, dictionary.code(c)) {
                to((next, true));
            }
        };
        match self.chars[at] {
            'ー' => {
                if let Some(vowel) = vowel(before) {
                    other(vowel);
                    match vowel {
                        'え' => other('い'),
                        'お' => other('う'),
                        _ => {}
                    }
                    // すごーい
                    to((node, true));
                }
            }
            c @ ('あ' | 'い' | 'う' | 'え' | 'お') if is_long(before, c) => other('ー'),
            '々' | 'ゝ' => other(before),
            'ゞ' => other(voiced(before, 'ﾞ').unwrap_or(before)),
            c if c == before && is_kanji(c) => other('々'),
            _ => {}
        }
    }

    /// Notes the entries of a key that ends at a place.
    #[inline]
    fn found(&mut self, start: &mut Start<'_>, end: usize, walk: Walk, posting: Posting<'_>, is_counted: bool) {
        let most = start.options.entries_per_span_max;
        let words = posting.words().filter(|(reference, said)| {
            (!is_counted || said & COUNTS != 0) && !start.options.known.is_some_and(|known| known.has(*reference))
        });
        for (told, word) in words.enumerate() {
            if told < most {
                self.note(start, (end, end), walk, word, None);
            } else {
                start.more.push(end as u32);
            }
        }
        if !start.options.names || is_counted {
            return;
        }
        let (from, to) = (self.units[start.at].byte as usize, self.units[end].byte as usize);
        let surface = start.text.get(from..to).unwrap_or_default();
        // in kana alone all spellings of a name would be names of everything
        let as_it_is = surface.chars().all(is_kana);
        let names = posting
            .names()
            .filter(|name| !as_it_is || start.dictionary.name(*name).is_some_and(|name| name.headword == surface));
        for reference in names.take(most) {
            let order = order(end, walk.1, self.matches.len() - start.matches_from) | NAME;
            let (stem, end) = (end as u32, end as u32);
            self.matches.push(Match { order, stem, end, reference, class: 0, is_name: true, chain: Chain::NONE });
        }
    }

    fn note(
        &mut self,
        start: &Start<'_>,
        (stem, end): (usize, usize),
        walk: Walk,
        (reference, said): (u32, u32),
        ending: Option<&Ending>,
    ) {
        let mut order = order(end, walk.1, self.matches.len() - start.matches_from);
        if self.units[start.at].is_katakana != (said & IN_KATAKANA != 0) {
            order |= OTHER_SCRIPT;
        }
        order |= u64::from(said >> LIKELIHOOD_SHIFT & LIKELIHOOD_BITS) << LIKELIHOOD;
        order |= ending.map_or(0, |ending| u64::from(ending.reasons).min(REASONS_MAX)) << REASONS;
        let (class, chain) = ending.map_or((0, Chain::NONE), |ending| (ending.class, ending.chain));
        let (stem, end) = (stem as u32, end as u32);
        self.matches.push(Match { order, stem, end, reference, class, is_name: false, chain });
    }

    /// Notes the words of which what was walked along is the stem, and whose ending follows.
    #[inline]
    fn inflected(&mut self, start: &mut Start<'_>, at: usize, walk: Walk) {
        let (from, to) = match self.endings_at[at] {
            Some(range) => range,
            None => {
                let from = self.endings.len() as u32;
                ENDINGS.at(&self.chars, at, &mut self.open, &mut self.chains, &mut self.endings);
                let range = (from, self.endings.len() as u32);
                self.endings_at[at] = Some(range);
                range
            }
        };
        let trie = start.dictionary.trie();
        // many endings are of one class, of which only one key is a word's
        let mut last: Option<(u16, Option<u32>)> = None;
        for number in from..to {
            let ending = self.endings[number as usize];
            let end = ending.end as usize;
            let value = match last {
                Some((class, value)) if class == ending.class => value,
                _ => {
                    let class = start.dictionary.class(ending.class);
                    let may_follow = !class.after_kanji || (at > start.at && is_kanji(self.chars[at - 1]));
                    let node = may_follow
                        .then_some(walk.0)
                        .and_then(|node| class.ending().iter().try_fold(node, |node, code| trie.step(node, *code)));
                    node.and_then(|node| trie.value(node))
                }
            };
            last = Some((ending.class, value));
            let Some(value) = value.filter(|_| end > start.at) else { continue };
            let bit = start.dictionary.class(ending.class).bit;
            let posting = start.dictionary.posting(value);
            for (reference, said) in posting.words().filter(|(_, said)| start.dictionary.is_of(*said, bit)) {
                let is_same = |known: &Match| known.end == ending.end && known.reference == reference && !known.is_name;
                let is_known = start.options.known.is_some_and(|known| known.has(reference));
                let reasons = u64::from(ending.reasons).min(REASONS_MAX);
                match self.matches[start.matches_from..].iter_mut().find(|known| is_same(known)) {
                    Some(known) if (known.order >> REASONS & REASONS_MAX) <= reasons => {}
                    // by fewer reasons
                    Some(known) => {
                        known.order = known.order & !(REASONS_MAX << REASONS) | reasons << REASONS;
                        (known.stem, known.class, known.chain) = (at as u32, ending.class, ending.chain);
                    }
                    None if is_known => {}
                    None => self.note(start, (at, end), walk, (reference, said), Some(&ending)),
                }
            }
        }
    }

    /// Finds what a number that begins at a place is counted by.
    fn count(&mut self, dictionary: &Dictionary, text: &str, options: &Options<'_>, at: usize) {
        if !number::is_part(self.chars[at]) || (at > 0 && number::is_part(self.chars[at - 1])) {
            return;
        }
        let Some((end, value)) = number::number(&self.chars, at) else { return };
        let matches_from = self.matches.len();
        let mut start = Start { dictionary, text, options, at, matches_from, more: Vec::new() };
        self.walk(&mut start, end, Some(value.unwrap_or(0)));
        self.tell(&start, value);
    }

    /// Makes spans of what was found from a place.
    fn tell(&mut self, start: &Start<'_>, number: Option<u64>) {
        let matches = &mut self.matches[start.matches_from..];
        matches.sort_unstable_by_key(|found| found.order);
        let mut from = start.matches_from;
        let first = self.units[start.at];
        for same in matches.chunk_by(|a, b| a.end == b.end) {
            let end = same[0].end;
            let behind = self.units[end as usize];
            let more = start.more.iter().filter(|more| **more == end).count() as u32;
            self.spans.push(Found {
                chars: first.char..behind.char,
                bytes: first.byte..behind.byte,
                matches: from as u32..(from + same.len()) as u32,
                more,
                number,
            });
            from += same.len();
        }
    }

    /// The dictionary form of a match, folded: what of it stands in the text. Behind that comes the ending of its class.
    pub(crate) fn stem(&self, span: &Found, found: &Match) -> &[char] {
        let from = self.units.partition_point(|unit| unit.byte < span.bytes.start);
        self.chars.get(from..found.stem as usize).unwrap_or_default()
    }
}

fn order(end: usize, respelled: bool, arrival: usize) -> u64 {
    let respelled = if respelled { RESPELLED } else { 0 };
    u64::from(u32::MAX - end as u32) << 32 | respelled | (arrival as u64).min(ARRIVAL_MAX)
}
