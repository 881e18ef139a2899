//! A text read along a dictionary: from each place all keys that begin there, in dictionary form or inflected.

use crate::compile::{COUNTS, KEY_CHARS_MAX, NAME_PLACE, NAME_SCRIPT_SHIFT};
use crate::dictionary::{Dictionary, Inflected, Keys, Posted, Posting, Postings};
use crate::endings::{Chain, Chains, ENDING_CHARS_MAX, ENDINGS, Ending, Open};
use crate::fold::{Script, fold, is_hiragana, is_kanji, is_long, voiced, vowel};
use crate::gloss::Gloss;
use crate::known::Known;
use crate::likeliest::{Likely, append_likeliest, are_in_order};
use crate::number;
use crate::trie::Node;
use std::ops::Range;

/// What is found from a place depends on no more characters than these behind it.
pub(crate) const AHEAD_CHARS_MAX: usize = KEY_CHARS_MAX + ENDING_CHARS_MAX;
/// A key may be spelled in so many ways at once; more are not followed.
const SPELLINGS_MAX: usize = 4;

/// More words than these are never told of one span.
pub const ENTRIES_PER_SPAN_MAX: usize = 64;

/// What is to be told.
#[derive(Debug, Clone, Copy)]
pub struct Options<'k> {
    /// Whether names are looked for.
    pub names: bool,
    /// So many words are told of one span, the likeliest, and so many names, and of how many there are more; at most [`ENTRIES_PER_SPAN_MAX`].
    pub entries_per_span_max: usize,
    /// Words that are left out.
    pub known: Option<&'k Known>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options { names: true, entries_per_span_max: 32, known: None }
    }
}

impl Options<'_> {
    pub(crate) fn entries_max(&self) -> usize {
        self.entries_per_span_max.min(ENTRIES_PER_SPAN_MAX)
    }
}

/// Reads texts. What it needs for one it keeps for the next, so that it allocates only while texts grow.
#[derive(Debug, Default)]
pub struct Reader {
    /// The text, folded.
    chars: Vec<char>,
    /// What stands for each of them, and one more for the end.
    units: Vec<Unit>,
    /// The endings at each place, once it has been looked for them, and those that begin everywhere.
    endings: Vec<Ending>,
    endings_at: Vec<Option<(u32, u32)>>,
    empty_endings: Vec<Ending>,
    open: Open,
    pub(crate) chains: Chains,
    pub(crate) hits: Vec<Hit>,
    pub(crate) chosen: Vec<Likely>,
    pub(crate) spans: Vec<Found>,
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
    pub(crate) hits: Range<u32>,
    /// Its words, where they are not told as they stand in the dictionary, and how many there are more.
    pub(crate) chosen: Range<u32>,
    pub(crate) more: u32,
    /// Where the key begins, in units.
    keys_from: u32,
    /// Whether it is a number with what it is counted by.
    pub(crate) is_number: bool,
    /// The number, where it is a whole one.
    pub(crate) number: Option<u64>,
}

/// A key that was found, in dictionary form or inflected. Which of its entries are meant is read from it when they are told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hit {
    /// In units.
    end: u32,
    /// Of the key.
    pub(crate) value: u32,
    pub(crate) chain: Chain,
    /// Of the words that may be inflected so, the first class and all of them; all words in dictionary form.
    pub(crate) class: u16,
    pub(crate) classes: u64,
    pub(crate) reasons: u16,
    /// How much of the dictionary form stands in the text; the rest is the ending of its class.
    stem_chars: u8,
    /// Whether the text is spelled otherwise than the key.
    pub(crate) is_respelled: bool,
    pub(crate) script: Script,
}

/// A place on a walk, and whether the text is spelled otherwise than the key.
type Walk = (Node, bool);

/// What was walked along, as the stem of inflected words.
struct Stem<'a> {
    at: usize,
    walk: Walk,
    /// The words that it has with the ending of a class and those that are the same: many endings in turn are of one.
    same: u16,
    value: u32,
    words: &'a [Posting],
}

impl Stem<'_> {
    /// Of the key that it is with the ending of a class.
    #[inline]
    fn value(&self, keys: Keys<'_>, class: &Inflected) -> Option<u32> {
        let (node, ending) = (self.walk.0, class.ending());
        if node.is_leaf() && !ending.is_empty() {
            return None;
        }
        let node = ending.iter().try_fold(node, |node, code| keys.trie.step(node, *code))?;
        keys.trie.value(node)
    }
}

/// A place of the text from which is looked for what begins there.
#[derive(Clone, Copy)]
struct Start<'a> {
    keys: Keys<'a>,
    options: Options<'a>,
    at: usize,
    /// Where keys begin: there, or behind a number, which only what counts it is looked for behind.
    keys_from: usize,
    /// Whether it is within a number.
    is_within_number: bool,
    hits_from: usize,
}

impl Start<'_> {
    fn is_number(&self) -> bool {
        self.keys_from > self.at
    }
}

impl Reader {
    /// One that has read nothing.
    pub fn new() -> Reader {
        Reader::default()
    }

    /// Finds every word of a text. A text of 4 GiB or more is read as far as that.
    pub fn read<'r, 'd: 'r>(
        &'r mut self,
        dictionary: &'d Dictionary,
        text: &'r str,
        options: &Options<'r>,
    ) -> Gloss<'r, 'd> {
        self.read_part(dictionary, text, 0..text.len(), 0, options)
    }

    /// Finds every word that begins in a part of a text, which begins at a character of which so many are before the text.
    pub(crate) fn read_part<'r, 'd: 'r>(
        &'r mut self,
        dictionary: &'d Dictionary,
        text: &'r str,
        part: Range<usize>,
        chars_before: u32,
        options: &Options<'r>,
    ) -> Gloss<'r, 'd> {
        let keys = dictionary.keys();
        self.take(keys, text, chars_before);
        let units = &self.units[..self.chars.len()];
        let from = units.partition_point(|unit| (unit.byte as usize) < part.start);
        let to = units.partition_point(|unit| (unit.byte as usize) < part.end);
        let mut start =
            Start { keys, options: *options, at: 0, keys_from: 0, is_within_number: false, hits_from: self.hits.len() };
        let mut is_behind_numeral = from > 0 && number::is_numeral(self.chars[from - 1]);
        for at in from..to {
            let is_numeral = number::is_numeral(self.chars[at]);
            (start.at, start.keys_from, start.hits_from) = (at, at, self.hits.len());
            start.is_within_number = is_numeral && is_behind_numeral;
            self.walk(&start);
            self.tell(&start, None);
            self.count(&start, is_numeral, is_behind_numeral);
            is_behind_numeral = is_numeral;
        }
        Gloss::new(dictionary, self, text, part, *options)
    }

    /// Takes a text apart.
    fn take(&mut self, keys: Keys<'_>, text: &str, chars_before: u32) {
        self.chars.clear();
        self.units.clear();
        self.endings.clear();
        self.chains.clear();
        self.hits.clear();
        self.chosen.clear();
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
                let (folded, before) = (fold(c), self.chars.last());
                let is_plain = before.is_none_or(|before| is_plain(*before, folded));
                let (code, script) = (keys.code(c), Script::of(c));
                self.chars.push(folded);
                self.units.push(Unit { code, byte: byte as u32, char: at, script, is_plain });
            }
            at = at.saturating_add(1);
        }
        let end = text.len().min(u32::MAX as usize) as u32;
        self.units.push(Unit { code: 0, byte: end, char: at, script: Script::default(), is_plain: true });
        self.endings_at.clear();
        self.endings_at.resize(self.units.len(), None);
    }

    /// Follows all keys from a place on.
    fn walk(&mut self, start: &Start<'_>) {
        let from = start.keys_from;
        let root = (start.keys.trie.root(), false);
        let (mut walks, mut count) = ([root; SPELLINGS_MAX], 1);
        let mut script = Script::default();
        let to = self.chars.len().min(from + KEY_CHARS_MAX);
        for at in from..=to {
            for walk in &walks[..count] {
                if at > from
                    && let Some(value) = start.keys.trie.value(walk.0)
                {
                    self.found(start, at, *walk, value, script);
                }
                if !start.is_number() {
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
            let (mut next, mut found) = ([root; SPELLINGS_MAX], 0);
            for walk in &walks[..count] {
                self.step(start, at, *walk, |walk| {
                    if found < SPELLINGS_MAX && !next[..found].iter().any(|known| known.0 == walk.0) {
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
    fn step(&self, start: &Start<'_>, at: usize, (node, respelled): Walk, mut to: impl FnMut(Walk)) {
        let keys = start.keys;
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
                    // すごーい, but of いケーキ not 池
                    let has_katakana = |at: usize| self.units[at].script.has_katakana();
                    if has_katakana(at - 1) == has_katakana(start.keys_from) {
                        to((node, true));
                    }
                }
            }
            // らあめん is ラーメン, but がある is no ガール
            'あ' if before == 'が' && at == start.keys_from + 1 => {}
            c @ ('あ' | 'い' | 'う' | 'え' | 'お') if is_long(before, c) => other('ー'),
            '々' | 'ゝ' => other(before),
            'ゞ' => other(voiced(before, 'ﾞ').unwrap_or(before)),
            c if c == before && is_kanji(c) => other('々'),
            _ => {}
        }
    }

    /// Notes a key that ends at a place, if it has an entry that is to be told.
    #[inline]
    fn found(&mut self, start: &Start<'_>, end: usize, walk: Walk, value: u32, script: Script) {
        let hit = Hit {
            end: end as u32,
            value,
            chain: Chain::NONE,
            class: 0,
            classes: u64::MAX,
            reasons: 0,
            stem_chars: (end - start.keys_from).min(u8::MAX.into()) as u8,
            is_respelled: walk.1,
            script,
        };
        let told = Told { posted: start.keys.posted, options: start.options, is_number: start.is_number() };
        let is_told = told.has_words(start.keys.posted.words(value), u64::MAX) || told.has_names(&hit);
        if is_told && !self.is_cut(start, end, false) && !(walk.1 && self.has_particle(start.keys_from, end)) {
            self.hits.push(hit);
        }
    }

    /// Notes the words of which what was walked along is the stem, and whose ending follows.
    #[inline]
    fn inflected(&mut self, start: &Start<'_>, at: usize, walk: Walk) {
        let (from, to) = self.endings_at[at].unwrap_or_else(|| self.endings_from(at));
        let mut stem = Stem { at, walk, same: u16::MAX, value: 0, words: &[] };
        if at > start.at {
            for number in 0..self.empty_endings.len() {
                let ending = self.empty_endings[number].at(at);
                self.ending(start, &mut stem, ending);
            }
        }
        for number in from..to {
            self.ending(start, &mut stem, self.endings[number as usize]);
        }
    }

    fn endings_from(&mut self, at: usize) -> (u32, u32) {
        let from = self.endings.len() as u32;
        ENDINGS.at(&self.chars, at, &mut self.open, &mut self.chains, &mut self.endings);
        let range = (from, self.endings.len() as u32);
        self.endings_at[at] = Some(range);
        range
    }

    #[inline(always)]
    fn ending<'a>(&mut self, start: &Start<'a>, stem: &mut Stem<'a>, ending: Ending) {
        let class = start.keys.class(ending.class);
        if class.same != stem.same {
            let may_follow = match stem.at == start.at {
                true => class.is_word,
                false => !class.after_kanji || is_kanji(self.chars[stem.at - 1]),
            };
            (stem.same, stem.words) = (class.same, &[]);
            if let Some(value) = stem.value(start.keys, class).filter(|_| may_follow) {
                (stem.value, stem.words) = (value, start.keys.posted.words(value));
            }
        }
        let told = Told { posted: start.keys.posted, options: start.options, is_number: false };
        if told.has_words(stem.words, ending.classes) && !self.is_cut(start, ending.end as usize, true) {
            self.hits.push(Hit {
                end: ending.end,
                value: stem.value,
                chain: ending.chain,
                class: ending.class,
                classes: ending.classes,
                reasons: ending.reasons,
                stem_chars: (stem.at - start.keys_from).min(u8::MAX.into()) as u8,
                is_respelled: stem.walk.1,
                script: self.units[start.at].script,
            });
        }
    }

    /// Whether what is spelled otherwise than its key has hiragana behind a long vowel in katakana, which is a particle then: カレーは is no 枯葉,
    /// カーに no 蟹, but スゴーい is 凄い.
    #[cold]
    fn has_particle(&self, from: usize, end: usize) -> bool {
        (from + 2..end).any(|at| {
            let is_long = self.chars[at - 1] == 'ー' && self.units[at - 2].script.has_katakana();
            is_long && !self.units[at].script.has_katakana() && is_hiragana(self.chars[at]) && self.chars[at] != 'い'
        })
    }

    /// Whether what was found takes apart what nobody would: a number, or a word in katakana of which a particle would have the beginning,
    /// as とか in とカラオケ. お and ご are no particles: おバカキャラ.
    #[inline]
    fn is_cut(&self, start: &Start<'_>, end: usize, is_inflected: bool) -> bool {
        // most is neither
        let may_be = self.units[end - 1].script.has_katakana() || self.chars[end - 1].is_ascii_digit();
        (may_be || start.is_within_number) && self.is_cut_there(start, end, is_inflected)
    }

    fn is_cut_there(&self, start: &Start<'_>, end: usize, is_inflected: bool) -> bool {
        let from = start.keys_from;
        let is_katakana = |at: usize| self.units[at].script.has_katakana();
        if is_katakana(end - 1) && end < self.chars.len() && (is_katakana(end) || self.chars[end] == 'ー') {
            let is_part_of_one = if start.is_number() { end - from == 1 } else { !is_katakana(from) };
            let begins_in_hiragana = is_hiragana(self.chars[from]) && !matches!(self.chars[from], 'お' | 'ご');
            if is_part_of_one && (is_inflected || begins_in_hiragana) {
                return true;
            }
        }
        !start.is_number() && number::is_cut(&self.chars, start.is_within_number, from, end)
    }

    /// Finds what a number that begins at a place is counted by.
    #[inline]
    fn count(&mut self, start: &Start<'_>, is_numeral: bool, is_behind_numeral: bool) {
        let at = start.at;
        let (end, value, is_in_kana) = if is_numeral {
            if is_behind_numeral || (at > 0 && number::is_mark(self.chars[at - 1])) {
                return;
            }
            let Some((end, value)) = number::number(&self.chars, at) else { return };
            (end, value, false)
        } else {
            let Some((end, value)) = number::in_kana(&self.chars, at) else { return };
            (end, Some(value), true)
        };
        let words_from = start.hits_from;
        let start = Start { hits_from: self.hits.len(), keys_from: end, ..*start };
        self.walk(&start);
        if let Some(unchanged) = self.chars.get(end).copied().and_then(number::unchanged) {
            // 三ぼん is counted by ほん
            let code = std::mem::replace(&mut self.units[end].code, start.keys.code(unchanged));
            self.walk(&start);
            self.units[end].code = code;
        }
        if is_in_kana {
            // of one kana behind another what counts would be anywhere, and はっきり is no eight of 切り
            let (words, found) = self.hits.split_at_mut(start.hits_from);
            let is_word = |end: u32| words[words_from..].iter().any(|word| word.end == end && word.chain.is_none());
            let mut kept = 0;
            for at in 0..found.len() {
                if found[at].end as usize - end > 1 && !is_word(found[at].end) {
                    found[kept] = found[at];
                    kept += 1;
                }
            }
            self.hits.truncate(start.hits_from + kept);
        }
        self.tell(&start, value);
    }

    /// Makes spans of what was found from a place, the longest first.
    fn tell(&mut self, start: &Start<'_>, number: Option<u64>) {
        let hits = &mut self.hits[start.hits_from..];
        // but for what is inflected they were found so
        if !hits.is_sorted_by_key(|hit| hit.end) {
            hits.sort_unstable_by_key(|hit| (hit.end, hit.reasons, hit.chain));
        }
        let told = Told { posted: start.keys.posted, options: start.options, is_number: start.is_number() };
        let (chars, chosen) = (&self.chars, &mut self.chosen);
        // 分かり合う is a word sooner than a form of 分かる; 来た is 来る, with whose kanji it begins
        let reasons = |hit: &Hit| {
            let ending = start.keys_from + usize::from(hit.stem_chars).max(1)..hit.end as usize;
            let has_kanji = chars.get(ending).unwrap_or_default().iter().any(|c| is_kanji(*c));
            u32::from(hit.reasons) + 2 * u32::from(has_kanji)
        };
        let mut to = (start.hits_from + hits.len()) as u32;
        let first = self.units[start.at];
        for same in hits.chunk_by(|a, b| a.end == b.end).rev() {
            let behind = self.units[same[0].end as usize];
            let (from, chosen_from) = (to - same.len() as u32, chosen.len() as u32);
            let is_in_order = are_in_order(same, told.is_number);
            let more = if is_in_order { 0 } else { append_likeliest(chosen, same, told, reasons) };
            self.spans.push(Found {
                chars: first.char..behind.char,
                bytes: first.byte..behind.byte,
                hits: from..to,
                chosen: chosen_from..chosen.len() as u32,
                more: more as u32,
                keys_from: start.keys_from as u32,
                is_number: start.is_number(),
                number,
            });
            to = from;
        }
    }

    /// What of the dictionary form of a hit stands in the text, in bytes of that. Behind it comes the ending of its class.
    pub(crate) fn stem_bytes(&self, span: &Found, hit: &Hit) -> Range<usize> {
        let byte = |unit: usize| self.units.get(unit).map_or(0, |unit| unit.byte as usize);
        let from = span.keys_from as usize;
        byte(from)..byte(from + usize::from(hit.stem_chars))
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

/// Which entries of a hit are told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Told<'a> {
    pub(crate) posted: Postings<'a>,
    pub(crate) options: Options<'a>,
    /// Only what counts what a number stands before.
    pub(crate) is_number: bool,
}

impl<'a> Told<'a> {
    /// The words, the likeliest first where the text is in hiragana.
    #[inline]
    pub(crate) fn words(self, hit: &Hit) -> impl Iterator<Item = Posted> + use<'a> {
        let classes = hit.classes;
        self.posted.words(hit.value).iter().map(Posted::of).filter(move |word| self.is_word(classes, word))
    }

    /// Whether words of these classes that are told are among these.
    #[inline]
    fn has_words(self, words: &[Posting], classes: u64) -> bool {
        words.iter().any(|word| self.is_word(classes, &Posted::of(word)))
    }

    /// Whether a word of a hit's key is told, where those of these classes are.
    #[inline]
    pub(crate) fn is_word(self, classes: u64, word: &Posted) -> bool {
        (classes == u64::MAX || self.posted.is_of(word.said, classes))
            && (!self.is_number || word.said & COUNTS != 0)
            && !self.options.known.is_some_and(|known| known.has(word.reference))
    }

    /// Whether names are told of hits in dictionary form.
    #[inline]
    pub(crate) fn are_names(self) -> bool {
        self.options.names && !self.is_number
    }

    /// Where a name of a hit in a script stands, if it is told.
    #[inline]
    pub(crate) fn name(script: Script, name: u32) -> Option<u32> {
        // in kana alone all spellings of a name would be names of everything
        let of = name >> NAME_SCRIPT_SHIFT;
        (of == 0 || of == script.kana()).then_some(name & NAME_PLACE)
    }

    /// Whether a hit in dictionary form has a name that is told.
    fn has_names(self, hit: &Hit) -> bool {
        let (one, names) = if self.are_names() { self.posted.names(hit.value) } else { (None, &[][..]) };
        let mut names = one.into_iter().chain(names.iter().map(|name| u32::from_le_bytes(*name)));
        names.any(|name| Told::name(hit.script, name).is_some())
    }
}
