//! What a text's words mean: spans of it, and the entries of each, read in place from the dictionary and the reader.

use crate::bytes::Numbers;
use crate::compile::{
    COST_BITS, COST_SHIFT, COUNTER, FREQUENCY_BITS, FREQUENCY_SHIFT, IN_KATAKANA, NO_FORM, READING_SHIFT,
};
use crate::dictionary::{Dictionary, Posted, Tag};
use crate::grammar::{Rule, grammar};
use crate::reader::{ENTRIES_PER_SPAN_MAX, Found, Hit, Options, Reader, Told};
use crate::record::{FormRecord, Kana, NameRecord, NamedRecord, SenseRecord, WordRecord, romanize};
use std::fmt;
use std::ops::Range;

/// What was found in a text.
#[derive(Debug, Clone, Copy)]
pub struct Gloss<'a> {
    dictionary: &'a Dictionary,
    reader: &'a Reader,
    text: &'a str,
    /// What begins here was looked for, in bytes of the text.
    part: (usize, usize),
    options: Options<'a>,
}

/// A part of the text that is a word, with the entries that it may be.
#[derive(Debug, Clone, Copy)]
pub struct Span<'a> {
    gloss: Gloss<'a>,
    found: &'a Found,
}

/// An entry that a span may be.
#[derive(Debug, Clone, Copy)]
pub enum Meaning<'a> {
    /// A word.
    Word(Word<'a>),
    /// A name.
    Name(Name<'a>),
}

/// A word that a span may be.
#[derive(Debug, Clone, Copy)]
pub struct Word<'a> {
    gloss: Gloss<'a>,
    span: &'a Found,
    hit: &'a Hit,
    reference: u32,
    /// The places of its headword and its reading among its entry's.
    forms: u32,
}

/// A name that a span may be.
#[derive(Debug, Clone, Copy)]
pub struct Name<'a> {
    dictionary: &'a Dictionary,
    record: NameRecord<'a>,
    named: NamedRecord<'a>,
    reference: u32,
}

impl<'a> Gloss<'a> {
    pub(crate) fn new(
        dictionary: &'a Dictionary,
        reader: &'a Reader,
        text: &'a str,
        part: Range<usize>,
        options: Options<'a>,
    ) -> Gloss<'a> {
        Gloss { dictionary, reader, text, part: (part.start, part.end), options }
    }

    /// The text.
    pub fn text(self) -> &'a str {
        self.text
    }

    /// Where in [`Gloss::text`] its spans begin, in bytes: all of it, but where a text is read a piece at a time. What is around it there was
    /// told before, or will be.
    pub fn part(self) -> Range<usize> {
        self.part.0..self.part.1
    }

    /// What was found, by where it begins; at each place the longest first, and what is counted behind what is not.
    pub fn spans(self) -> impl ExactSizeIterator<Item = Span<'a>> {
        self.reader.spans.iter().map(move |found| Span { gloss: self, found })
    }
}

impl<'a> Span<'a> {
    /// Where it begins, in characters of the text.
    pub fn start(self) -> u32 {
        self.found.chars.start
    }

    /// Where it ends.
    pub fn end(self) -> u32 {
        self.found.chars.end
    }

    /// Where it is, in bytes of [`Gloss::text`].
    pub fn bytes(self) -> std::ops::Range<usize> {
        self.found.bytes.start as usize..self.found.bytes.end as usize
    }

    /// What it is in the text.
    pub fn text(self) -> &'a str {
        self.gloss.text.get(self.bytes()).unwrap_or_default()
    }

    /// The number that its entries count.
    pub fn number(self) -> Option<u64> {
        self.found.number
    }

    /// How many words and names there are more than are told.
    pub fn more(self) -> usize {
        self.meanings_and_more().1
    }

    /// Its entries, the likeliest first, each once, words before names.
    pub fn meanings(self) -> impl Iterator<Item = Meaning<'a>> {
        self.meanings_and_more().0
    }

    /// The same, and how many words and names there are more, for those who tell both.
    pub(crate) fn meanings_and_more(self) -> (impl Iterator<Item = Meaning<'a>>, usize) {
        let max = self.entries_max();
        let (words, more) = self.words_and_more();
        let more = more + self.names().skip(max).count();
        (words.map(Meaning::Word).chain(self.names().take(max).map(Meaning::Name)), more)
    }

    /// Its words, the likeliest first.
    pub fn words(self) -> impl Iterator<Item = Word<'a>> {
        self.words_and_more().0
    }

    fn names(self) -> impl Iterator<Item = Name<'a>> {
        let (told, dictionary) = (self.told(), self.gloss.dictionary);
        self.hits().iter().flat_map(move |hit| told.names(hit)).flat_map(move |reference| {
            let record = dictionary.name(reference).into_iter();
            record
                .flat_map(move |record| record.named().map(move |named| Name { dictionary, record, named, reference }))
        })
    }

    fn words_and_more(self) -> (impl Iterator<Item = Word<'a>>, usize) {
        let (told, max) = (self.told(), self.entries_max());
        let (in_order, chosen) = match self.hits() {
            // as they stand in the dictionary
            [hit] if !hit.script.has_katakana() && !told.is_number => (Some(hit), None),
            _ => (None, Some(self.likeliest())),
        };
        let more = match (in_order, &chosen) {
            (Some(hit), _) if told.keys.words(hit.value).len() > max => told.words(hit).count().saturating_sub(max),
            (Some(_) | None, None) => 0,
            (_, Some(likeliest)) => likeliest.more,
        };
        let in_order = in_order.into_iter().flat_map(move |hit| told.words(hit).map(move |word| (hit, word)));
        let chosen = chosen.into_iter().flat_map(move |likeliest| {
            (0..likeliest.count).filter_map(move |at| {
                let Likely { hit, word, .. } = likeliest.words[at];
                Some((self.hits().get(hit as usize)?, word))
            })
        });
        let word = move |(hit, Posted { reference, forms, .. }): (&'a Hit, Posted)| {
            let Span { gloss, found } = self;
            Word { gloss, span: found, hit, reference, forms }
        };
        (in_order.take(max).chain(chosen).map(word), more)
    }

    fn hits(self) -> &'a [Hit] {
        let hits = self.found.hits.start as usize..self.found.hits.end as usize;
        self.gloss.reader.hits.get(hits).unwrap_or_default()
    }

    fn told(self) -> Told<'a> {
        let Gloss { dictionary, options, .. } = self.gloss;
        Told { keys: dictionary.keys(), options, is_number: self.found.is_number }
    }

    fn entries_max(self) -> usize {
        self.gloss.options.entries_per_span_max.min(ENTRIES_PER_SPAN_MAX)
    }

    fn likeliest(self) -> Likeliest {
        let max = self.entries_max();
        let mut likeliest = Likeliest { words: [Likely::default(); ENTRIES_PER_SPAN_MAX], count: 0, more: 0 };
        let (told, several) = (self.told(), self.hits().len() > 1);
        for (hit_at, hit) in self.hits().iter().enumerate() {
            // 分かり合う is a word sooner than a form of 分かる
            let reasons =
                u32::from(hit.reasons) + 2 * u32::from(self.gloss.reader.has_kanji_behind_stem(self.found, hit));
            for word in told.words(hit) {
                let is_suffix = told.is_number && word.said & COUNTER == 0;
                let order = order(hit, reasons + COSTS_OF_SUFFIX * u32::from(is_suffix), word.said);
                // of several hits one may be there already, or count among those that are not told
                let is_there = |before: &Hit| told.words(before).any(|known| known.reference == word.reference);
                let is_new = || !several || !self.hits()[..hit_at].iter().any(is_there);
                likeliest.add(Likely { order, hit: hit_at as u32, word }, several, is_new, max);
            }
        }
        likeliest
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

/// Beside [`COST_SHIFT`].
const COST_OF_REASON: u32 = 2;
const COST_MAX: u32 = 0x3fff;
/// What counts is before what only follows, as じん of 人, by so many reasons.
const COSTS_OF_SUFFIX: u32 = 8;

/// The likeliest words of a span.
#[derive(Debug)]
struct Likeliest {
    words: [Likely; ENTRIES_PER_SPAN_MAX],
    count: usize,
    more: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct Likely {
    order: u32,
    /// Of the span's.
    hit: u32,
    word: Posted,
}

impl Likeliest {
    /// Takes a word in, if it is one of so many that are likeliest. Only of several hits may one be there already.
    fn add(&mut self, word: Likely, several: bool, is_new: impl FnOnce() -> bool, max: usize) {
        if several
            && let Some(same) =
                self.words[..self.count].iter().position(|known| known.word.reference == word.word.reference)
        {
            if self.words[same].order <= word.order {
                return;
            }
            self.words.copy_within(same + 1..self.count, same);
            self.count -= 1;
        }
        let at = self.words[..self.count].partition_point(|known| known.order <= word.order);
        if self.count == max {
            self.more += usize::from(is_new());
        } else {
            self.count += 1;
        }
        if at < self.count {
            self.words.copy_within(at..self.count - 1, at + 1);
            self.words[at] = word;
        }
    }
}

impl<'a> Word<'a> {
    /// The number by which its source knows it, 0 where it has none.
    pub fn number(self) -> u32 {
        self.record().number
    }

    /// In dictionary form, as it is written here; where the text has kana, with kanji if that is usual.
    pub fn headword(self) -> &'a str {
        let (record, (headword, reading)) = (self.record(), self.form_places());
        let form = headword.and_then(|at| record.headwords().nth(at as usize));
        form.or_else(|| record.readings().nth(reading? as usize)).map_or("", |form| form.text)
    }

    /// In dictionary form, as it is read here.
    pub fn reading(self) -> &'a str {
        let (_, reading) = self.form_places();
        self.record().readings().nth(reading.unwrap_or(0) as usize).map_or("", |form| form.text)
    }

    /// How else it is written.
    pub fn other_headwords(self) -> impl Iterator<Item = &'a str> {
        let headword = self.headword();
        self.record().headwords().map(|form| form.text).filter(move |text| *text != headword)
    }

    /// As its source writes it first: with kanji, where it is ever written so.
    pub fn first_headword(self) -> &'a str {
        let record = self.record();
        record.headwords().next().or_else(|| record.readings().next()).map_or("", |form| form.text)
    }

    /// All ways to read it, whichever way it is written.
    pub fn readings(self) -> impl Iterator<Item = &'a str> {
        self.record().readings().map(|form| form.text)
    }

    /// Whether its source says that it is common, as it is written or read here.
    pub fn is_common(self) -> bool {
        self.form().is_some_and(|form| form.is_common)
    }

    /// What its source says of it as it is written or read here: `rK`, a rare kanji; `ateji`.
    pub fn marks(self) -> impl Iterator<Item = &'a Tag> {
        tags(self.gloss.dictionary, self.form().map_or(Numbers::NONE, |form| form.marks))
    }

    /// The places of its headword and reading among those of its entry.
    pub(crate) fn form_places(self) -> (Option<u32>, Option<u32>) {
        let place = |at: u32| Some(at & NO_FORM).filter(|at| *at != NO_FORM);
        (place(self.forms), place(self.forms >> READING_SHIFT))
    }

    fn form(self) -> Option<FormRecord<'a>> {
        let (record, (headword, reading)) = (self.record(), self.form_places());
        let headword = headword.and_then(|at| record.headwords().nth(at as usize));
        headword.or_else(|| record.readings().nth(reading? as usize))
    }

    /// What the dictionary has of it; nothing if that is damaged.
    fn record(self) -> WordRecord<'a> {
        self.gloss.dictionary.word(self.reference).unwrap_or(WordRecord::NONE)
    }

    /// On which level of the JLPT it is, 5 the first.
    pub fn level(self) -> Option<u8> {
        Some(self.record().level).filter(|level| *level > 0)
    }

    /// Which 500 words it is among, 1 the most frequent.
    pub fn frequency(self) -> Option<u8> {
        Some(self.record().band).filter(|band| *band > 0)
    }

    /// The steps from its dictionary form to what stands in the text.
    pub fn steps(self) -> impl DoubleEndedIterator<Item = &'static Rule> {
        self.rules().filter_map(|rule| grammar().rules().get(rule))
    }

    /// The same by their numbers.
    pub(crate) fn rules(self) -> impl DoubleEndedIterator<Item = usize> {
        // chains are kept from their end
        let mut rules = [0; CHAIN_STEPS_MAX];
        let mut count = 0;
        for rule in self.gloss.reader.chains.rules(self.hit.chain).take(CHAIN_STEPS_MAX) {
            rules[count] = rule;
            count += 1;
        }
        rules.into_iter().take(count).rev()
    }

    /// Its dictionary form in the script of the text.
    pub(crate) fn dictionary_form(self) -> String {
        let stem = self.gloss.reader.stem_bytes(self.span, self.hit);
        let ending =
            if self.hit.chain.is_none() { "" } else { grammar().classes()[usize::from(self.hit.class)].ending };
        [self.gloss.text.get(stem).unwrap_or_default(), ending].concat()
    }

    /// Why it does not stand in the text in its dictionary form: `causative`, `passive`, `past`, in the order in which they were put on.
    pub fn reasons(self) -> impl DoubleEndedIterator<Item = &'static str> {
        self.steps().filter_map(|rule| rule.reason)
    }

    /// What it means as it is written and read here.
    pub fn senses(self) -> impl Iterator<Item = Sense<'a>> {
        let fits = |of: Numbers<'a>, at: Option<u32>| of.is_none() || at.is_none_or(|at| of.clone().any(|of| of == at));
        let (headword, reading) = self.form_places();
        let senses = self
            .record()
            .senses()
            .filter(move |sense| fits(sense.of_headwords, headword) && fits(sense.of_readings, reading));
        senses.map(move |record| Sense { dictionary: self.gloss.dictionary, record })
    }

    /// All that it means.
    pub fn glosses(self) -> impl Iterator<Item = &'a str> {
        self.senses().flat_map(Sense::glosses)
    }

    /// What tells it from other entries of its dictionary.
    pub fn key(self) -> u32 {
        self.reference
    }
}

/// A chain has no more steps: each is at least a character, but for a few that only rename.
const CHAIN_STEPS_MAX: usize = 64;

/// A meaning of a word.
#[derive(Debug, Clone, Copy)]
pub struct Sense<'a> {
    dictionary: &'a Dictionary,
    record: SenseRecord<'a>,
}

impl<'a> Sense<'a> {
    /// Parts of speech.
    pub fn parts_of_speech(self) -> impl Iterator<Item = &'a Tag> {
        tags(self.dictionary, self.record.parts_of_speech)
    }

    /// Fields, dialects and other remarks by a code.
    pub fn notes(self) -> impl Iterator<Item = &'a Tag> {
        tags(self.dictionary, self.record.notes)
    }

    /// A remark in words, or nothing.
    pub fn remark(self) -> &'a str {
        self.record.remark
    }

    /// In the reader's language.
    pub fn glosses(self) -> impl Iterator<Item = &'a str> {
        self.record.glosses()
    }
}

fn tags<'a>(dictionary: &'a Dictionary, numbers: Numbers<'a>) -> impl Iterator<Item = &'a Tag> {
    numbers.filter_map(|number| dictionary.tag(number))
}

impl<'a> Name<'a> {
    /// As it is written.
    pub fn headword(self) -> &'a str {
        self.record.headword
    }

    /// As it is read.
    pub fn reading(self) -> Kana<'a> {
        if self.named.reading.is_empty() { Kana::Text(self.record.headword) } else { self.named.reading }
    }

    /// What kind of name it is: `surname`, `place`.
    pub fn notes(self) -> impl Iterator<Item = &'a Tag> {
        tags(self.dictionary, self.named.notes)
    }

    /// In the reader's language.
    pub fn glosses(self) -> impl Iterator<Item = NameGloss<'a>> {
        let glosses = self.named.glosses();
        let reading = glosses.is_none().then(|| NameGloss::Reading(self.reading()));
        reading.into_iter().chain(glosses.into_iter().flatten().map(NameGloss::Text))
    }

    /// What tells it from others: names that are written alike have one.
    pub fn key(self) -> u32 {
        self.reference
    }
}

/// What a name is in the reader's language.
#[derive(Debug, Clone, Copy)]
pub enum NameGloss<'a> {
    /// As its source has it.
    Text(&'a str),
    /// Its reading in Latin letters, which the file does not have twice.
    Reading(Kana<'a>),
}

impl fmt::Display for NameGloss<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NameGloss::Text(text) => f.write_str(text),
            NameGloss::Reading(kana) => romanize(kana.chars(), f),
        }
    }
}
