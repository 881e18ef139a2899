//! A text read along a dictionary: from each place all keys that begin there, in dictionary form or inflected.

use crate::compile::{COUNTS, IN_KATAKANA, KEY_CHARS_MAX, LIKELIHOOD_BITS, LIKELIHOOD_SHIFT, NAME_SCRIPT_SHIFT};
use crate::dictionary::{Dictionary, Keys};
use crate::endings::{Chain, Chains, ENDING_CHARS_MAX, ENDINGS, Ending, Open};
use crate::fold::{Script, fold_but_kanji, is_kanji, is_long, voiced, vowel};
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
    /// The text, but for kanji folded.
    chars: Vec<char>,
    /// What stands for each of them, and one more for the end.
    units: Vec<Unit>,
    /// The endings at each place, once it has been looked for them, and those that begin everywhere.
    endings: Vec<Ending>,
    endings_at: Vec<Option<(u32, u32)>>,
    empty_endings: Vec<Ending>,
    open: Open,
    pub(crate) chains: Chains,
    pub(crate) matches: Vec<Match>,
    pub(crate) spans: Vec<Found>,
    /// For each match from the place at hand that was one too many, where it would have ended.
    more: Vec<u32>,
}

/// A character of the text, or two of half width that are one.
#[derive(Debug, Clone, Copy)]
struct Unit {
    code: u32,
    /// Where it begins.
    byte: u32,
    char: u32,
    script: Script,
    /// Whether it is no other spelling of anything.
    is_plain: bool,
}

/// Where something was found.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    /// In characters and in bytes of the text.
    pub(crate) chars: Range<u32>,
    pub(crate) bytes: Range<u32>,
    pub(crate) matches: Range<u32>,
    unit: u32,
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
    pub(crate) reference: u32,
    pub(crate) chain: Chain,
    pub(crate) class: u16,
    /// How much of its dictionary form stands in the text; the rest is the ending of its class.
    stem_chars: u8,
    pub(crate) is_name: bool,
}

/// The bits of a match's order, below the end of the match: the shortest first, since so they are found.
const END: u32 = 32;
const NAME: u64 = 1 << 31;
const RESPELLED: u64 = 1 << 30;
const OTHER_SCRIPT: u64 = 1 << 29;
const LIKELIHOOD: u32 = 27;
const REASONS: u32 = 22;
const REASONS_MAX: u64 = 31;
const ARRIVAL_MAX: u64 = (1 << REASONS) - 1;

impl Match {
    fn end(&self) -> u32 {
        (self.order >> END) as u32
    }

    fn reasons(&self) -> u64 {
        self.order >> REASONS & REASONS_MAX
    }
}

/// A place on a walk, and whether the text is spelled otherwise than the key.
type Walk = (Node, bool);

/// A place of the text from which is looked for what begins there.
#[derive(Clone, Copy)]
struct Start<'a> {
    keys: Keys<'a>,
    options: &'a Options<'a>,
    at: usize,
    matches_from: usize,
    /// Whether it is a number, and what counts it is looked for from behind it on.
    is_number: bool,
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
        let keys = dictionary.keys();
        self.take(keys, text, chars_before);
        let units = &self.units[..self.chars.len()];
        let from = units.partition_point(|unit| (unit.byte as usize) < part.start);
        let to = units.partition_point(|unit| (unit.byte as usize) < part.end);
        for at in from..to {
            let start = Start { keys, options, at, matches_from: self.matches.len(), is_number: false };
            self.walk(start, at);
            self.tell(start, None);
            self.count(start);
        }
        Gloss::new(dictionary, self, text)
    }

    /// Takes a text apart.
    fn take(&mut self, keys: Keys<'_>, text: &str, chars_before: u32) {
        self.chars.clear();
        self.units.clear();
        self.endings.clear();
        self.chains.clear();
        self.matches.clear();
        self.spans.clear();
        self.empty_endings.clear();
        self.empty_endings.extend(ENDINGS.empty(&mut self.chains));
        let mut at = chars_before;
        for (byte, c) in text.char_indices().take_while(|(byte, _)| *byte < u32::MAX as usize) {
            let both = self.chars.last().and_then(|before| voiced(*before, c));
            if let (Some(both), Some(last), Some(unit)) = (both, self.chars.last_mut(), self.units.last_mut()) {
                *last = both;
                unit.code = keys.code(both);
            } else {
                let (folded, before) = (fold_but_kanji(c), self.chars.last());
                let is_plain = before.is_none_or(|before| is_plain(*before, folded));
                let (code, script) = (keys.code(c), Script::of(c));
                self.chars.push(folded);
                self.units.push(Unit { code, byte: byte as u32, char: at, script, is_plain });
            }
            at = at.saturating_add(1);
        }
        self.units.push(Unit { code: 0, byte: text.len() as u32, char: at, script: Script::default(), is_plain: true });
        self.endings_at.clear();
        self.endings_at.resize(self.units.len(), None);
    }

    /// Follows all keys from a place on.
    fn walk(&mut self, start: Start<'_>, from: usize) {
        let root = (start.keys.trie.root(), false);
        let (mut walks, mut count) = ([root; WALKS_MAX], 1);
        let mut script = Script::default();
        let to = self.chars.len().min(from + KEY_CHARS_MAX);
        for at in from..=to {
            for walk in &walks[..count] {
                if at > from
                    && let Some(value) = start.keys.trie.value(walk.0)
                {
                    self.found(start, at, *walk, value, script);
                }
                if !start.is_number {
                    self.inflected(start, at, *walk);
                }
            }
            if at == to {
                return;
            }
            script = script.with(self.units[at].script);
            if at == from || (count == 1 && self.units[at].is_plain) {
                let Some(next) = start.keys.trie.step(walks[0].0, self.units[at].code) else { return };
                walks[0].0 = next;
                continue;
            }
            let (mut next, mut found) = ([root; WALKS_MAX], 0);
            for walk in &walks[..count] {
                self.step(start.keys, at, *walk, |walk| {
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

    /// Tells where a character that is not the first of a walk leads to, and what it may be another spelling of.
    #[inline]
    fn step(&self, keys: Keys<'_>, at: usize, (node, respelled): Walk, mut to: impl FnMut(Walk)) {
        if let Some(next) = keys.trie.step(node, self.units[at].code) {
            to((next, respelled));
        }
        let before = self.chars[at - 1];
        let mut other = |c: char| {
            if let Some(next) = keys.trie.step(node, keys.code(c)) {
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
    fn found(&mut self, start: Start<'_>, end: usize, walk: Walk, value: u32, script: Script) {
        let most = start.options.entries_per_span_max;
        let mut told = 0;
        for (reference, said) in start.keys.words(value) {
            let counts = !start.is_number || said & COUNTS != 0;
            if !counts || start.options.known.is_some_and(|known| known.has(reference)) {
                continue;
            }
            if told < most {
                self.note(start, (end, end), walk, (reference, said), None);
            } else {
                self.more.push(end as u32);
            }
            told += 1;
        }
        if !start.options.names || start.is_number {
            return;
        }
        // in kana alone all spellings of a name would be names of everything
        let is_written_so = |name: u32| name >> NAME_SCRIPT_SHIFT == 0 || name >> NAME_SCRIPT_SHIFT == script.kana();
        for reference in start.keys.names(value).filter(|name| is_written_so(*name)).take(most) {
            let order = order(end, walk.1, self.matches.len() - start.matches_from) | NAME;
            let chain = Chain::NONE;
            self.matches.push(Match { order, reference, chain, class: 0, stem_chars: 0, is_name: true });
        }
    }

    fn note(
        &mut self,
        start: Start<'_>,
        (stem, end): (usize, usize),
        walk: Walk,
        (reference, said): (u32, u32),
        ending: Option<&Ending>,
    ) {
        let mut order = order(end, walk.1, self.matches.len() - start.matches_from);
        if self.units[start.at].script.has_katakana() != (said & IN_KATAKANA != 0) {
            order |= OTHER_SCRIPT;
        }
        order |= u64::from(said >> LIKELIHOOD_SHIFT & LIKELIHOOD_BITS) << LIKELIHOOD;
        order |= ending.map_or(0, |ending| u64::from(ending.reasons).min(REASONS_MAX)) << REASONS;
        let (class, chain) = ending.map_or((0, Chain::NONE), |ending| (ending.class, ending.chain));
        let stem_chars = (stem - start.at).min(u8::MAX.into()) as u8;
        self.matches.push(Match { order, reference, chain, class, stem_chars, is_name: false });
    }

    /// Notes the words of which what was walked along is the stem, and whose ending follows.
    #[inline]
    fn inflected(&mut self, start: Start<'_>, at: usize, walk: Walk) {
        let (from, to) = self.endings_at[at].unwrap_or_else(|| self.endings_from(at));
        // many endings are of one class, of which only one key is a word's
        let mut last = None;
        if at > start.at {
            for number in 0..self.empty_endings.len() {
                let ending = self.empty_endings[number].at(at);
                self.ending(start, at, walk, ending, &mut last);
            }
        }
        for number in from..to {
            self.ending(start, at, walk, self.endings[number as usize], &mut last);
        }
    }

    fn endings_from(&mut self, at: usize) -> (u32, u32) {
        let from = self.endings.len() as u32;
        ENDINGS.at(&self.chars, at, &mut self.open, &mut self.chains, &mut self.endings);
        let range = (from, self.endings.len() as u32);
        self.endings_at[at] = Some(range);
        range
    }

    #[inline]
    fn ending(
        &mut self,
        start: Start<'_>,
        at: usize,
        walk: Walk,
        ending: Ending,
        last: &mut Option<(u16, Option<u32>)>,
    ) {
        let class = start.keys.class(ending.class);
        if walk.0.is_leaf() && !class.ending().is_empty() {
            return;
        }
        let value = match *last {
            Some((same, value)) if same == class.same => value,
            _ => {
                let may_follow =
                    if at == start.at { class.is_word } else { !class.after_kanji || is_kanji(self.chars[at - 1]) };
                let node = may_follow.then_some(walk.0).and_then(|node| {
                    class.ending().iter().try_fold(node, |node, code| start.keys.trie.step(node, *code))
                });
                node.and_then(|node| start.keys.trie.value(node))
            }
        };
        *last = Some((class.same, value));
        let Some(value) = value else { return };
        let reasons = u64::from(ending.reasons).min(REASONS_MAX);
        for (reference, said) in start.keys.words(value).filter(|(_, said)| start.keys.is_of(*said, ending.classes)) {
            let is_same = |known: &Match| known.end() == ending.end && known.reference == reference && !known.is_name;
            match self.matches[start.matches_from..].iter_mut().find(|known| is_same(known)) {
                // by more reasons
                Some(known) if known.reasons() > reasons => {
                    known.order = known.order & !(REASONS_MAX << REASONS) | reasons << REASONS;
                    (known.class, known.chain) = (ending.class, ending.chain);
                    known.stem_chars = (at - start.at) as u8;
                }
                Some(_) => {}
                None if start.options.known.is_some_and(|known| known.has(reference)) => {}
                None => self.note(start, (at, ending.end as usize), walk, (reference, said), Some(&ending)),
            }
        }
    }

    /// Finds what a number that begins at a place is counted by.
    #[inline]
    fn count(&mut self, start: Start<'_>) {
        let at = start.at;
        if !number::is_part(self.chars[at]) || (at > 0 && number::is_part(self.chars[at - 1])) {
            return;
        }
        let Some((end, value)) = number::number(&self.chars, at) else { return };
        let start = Start { matches_from: self.matches.len(), is_number: true, ..start };
        self.walk(start, end);
        self.tell(start, value);
    }

    /// Makes spans of what was found from a place.
    fn tell(&mut self, start: Start<'_>, number: Option<u64>) {
        let matches = &mut self.matches[start.matches_from..];
        if !matches.is_sorted_by_key(|found| found.order) {
            matches.sort_unstable_by_key(|found| found.order);
        }
        let mut to = (start.matches_from + matches.len()) as u32;
        let first = self.units[start.at];
        for same in matches.chunk_by(|a, b| a.end() == b.end()).rev() {
            let end = same[0].end();
            let behind = self.units[end as usize];
            let from = to - same.len() as u32;
            self.spans.push(Found {
                chars: first.char..behind.char,
                bytes: first.byte..behind.byte,
                matches: from..to,
                unit: start.at as u32,
                more: self.more.iter().filter(|more| **more == end).count() as u32,
                number,
            });
            to = from;
        }
        self.more.clear();
    }

    /// What of the dictionary form of a match stands in the text. Behind that comes the ending of its class.
    pub(crate) fn stem(&self, span: &Found, found: &Match) -> &[char] {
        let from = span.unit as usize;
        self.chars.get(from..from + usize::from(found.stem_chars)).unwrap_or_default()
    }

    /// The same, in bytes of the text.
    pub(crate) fn stem_bytes(&self, span: &Found, found: &Match) -> Range<usize> {
        let end = self.units.get(span.unit as usize + usize::from(found.stem_chars));
        span.bytes.start as usize..end.map_or(span.bytes.start, |unit| unit.byte) as usize
    }
}

/// Whether a character behind another is no other spelling of anything, so that there is one step for it.
fn is_plain(before: char, c: char) -> bool {
    match c {
        'ー' | '々' | 'ゝ' | 'ゞ' => false,
        'あ' | 'い' | 'う' | 'え' | 'お' => !is_long(before, c),
        _ => c != before || !is_kanji(c),
    }
}

#[inline]
fn order(end: usize, respelled: bool, arrival: usize) -> u64 {
    let respelled = if respelled { RESPELLED } else { 0 };
    (end as u64) << END | respelled | (arrival as u64).min(ARRIVAL_MAX)
}
