//! What a text's words mean: spans of it, and the entries of each, read in place from the dictionary and the reader.

use crate::bytes::Numbers;
use crate::compile::{COST_BITS, COST_SHIFT, COUNTER, FREQUENCY_BITS, FREQUENCY_SHIFT, IN_KATAKANA};
use crate::dictionary::{Dictionary, Tag};
use crate::fold::fold;
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
    record: WordRecord<'a>,
    written: Written<'a>,
}

/// A name that a span may be.
#[derive(Debug, Clone, Copy)]
pub struct Name<'a> {
    dictionary: &'a Dictionary,
    record: NameRecord<'a>,
    named: NamedRecord<'a>,
    reference: u32,
}

/// As what of its forms a word was found.
#[derive(Debug, Clone, Copy)]
struct Written<'a> {
    headword: &'a str,
    reading: &'a str,
    /// The places of both among the entry's.
    headword_at: Option<u32>,
    reading_at: Option<u32>,
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

    /// The same, and how many words there are more, for those who tell both.
    pub(crate) fn meanings_and_more(self) -> (impl Iterator<Item = Meaning<'a>>, usize) {
        let (likeliest, max) = (self.likeliest(), self.entries_max());
        let more = likeliest.more + self.names().count().saturating_sub(max);
        (self.words_of(likeliest).map(Meaning::Word).chain(self.names().take(max).map(Meaning::Name)), more)
    }

    /// Its words, the likeliest first.
    pub fn words(self) -> impl Iterator<Item = Word<'a>> {
        self.words_of(self.likeliest())
    }

    fn names(self) -> impl Iterator<Item = Name<'a>> {
        let (told, dictionary) = (self.told(), self.gloss.dictionary);
        self.hits().iter().flat_map(move |hit| told.names(hit)).flat_map(move |reference| {
            let record = dictionary.name(reference).into_iter();
            record
                .flat_map(move |record| record.named().map(move |named| Name { dictionary, record, named, reference }))
        })
    }

    fn words_of(self, likeliest: Likeliest) -> impl Iterator<Item = Word<'a>> {
        (0..likeliest.count).filter_map(move |at| self.word(likeliest.words[at]))
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
            for (reference, said) in told.words(hit) {
                let is_suffix = told.is_number && said & COUNTER == 0;
                let order = order(hit, reasons + COSTS_OF_SUFFIX * u32::from(is_suffix), said);
                // of several hits one may be there already, or count among those that are not told
                let is_there = |before: &Hit| told.words(before).any(|(known, _)| known == reference);
                let is_new = || !several || !self.hits()[..hit_at].iter().any(is_there);
                likeliest.add(Likely { order, hit: hit_at as u32, reference }, several, is_new, max);
            }
        }
        likeliest
    }

    fn word(self, likely: Likely) -> Option<Word<'a>> {
        let hit = self.hits().get(likely.hit as usize)?;
        let record = self.gloss.dictionary.word(likely.reference)?;
        let stem = self.gloss.reader.stem(self.found, hit);
        let ending = if hit.chain.is_none() { "" } else { grammar().classes()[usize::from(hit.class)].ending };
        let written = Written::of(record, stem, ending, self.gloss.dictionary);
        Some(Word { gloss: self.gloss, span: self.found, hit, reference: likely.reference, record, written })
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
    reference: u32,
}

impl Likeliest {
    /// Takes a word in, if it is one of so many that are likeliest. Only of several hits may one be there already.
    fn add(&mut self, word: Likely, several: bool, is_new: impl FnOnce() -> bool, max: usize) {
        if several
            && let Some(same) = self.words[..self.count].iter().position(|known| known.reference == word.reference)
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

impl<'a> Written<'a> {
    /// How a word is to be told that was found as this stem and this ending.
    fn of(record: WordRecord<'a>, stem: &[char], ending: &str, dictionary: &Dictionary) -> Written<'a> {
        let is_this =
            |form: &FormRecord<'_>| form.text.chars().map(fold).eq(stem.iter().copied().chain(ending.chars()));
        let (first_headword, first_reading) = (record.headwords().next(), record.readings().next());
        let found = record.headwords().enumerate().find(|(_, form)| is_this(form));
        if let Some((at, headword)) = found {
            let is_read = |reading: &FormRecord<'_>| {
                !reading.is_apart && (reading.of.is_none() || reading.of.clone().any(|of| of as usize == at))
            };
            let (reading_at, reading) = match record.readings().enumerate().find(|(_, reading)| is_read(reading)) {
                Some((at, reading)) => (Some(at as u32), reading.text),
                None => (None, first_reading.map_or("", |reading| reading.text)),
            };
            return Written { headword: headword.text, reading, headword_at: Some(at as u32), reading_at };
        }
        let found = record.readings().enumerate().find(|(_, form)| is_this(form));
        let Some((at, reading)) = found.or_else(|| first_reading.map(|reading| (0, reading))) else {
            return Written {
                headword: first_headword.map_or("", |form| form.text),
                reading: "",
                headword_at: Some(0),
                reading_at: None,
            };
        };
        let reading_at = Some(at as u32);
        let usually_kana =
            record.senses().next().is_some_and(|mut sense| sense.notes.any(|note| dictionary.is_usually_kana(note)));
        let place = reading.of.clone().next().unwrap_or(0);
        let headword = record.headwords().nth(place as usize).filter(|_| !usually_kana && !reading.is_apart);
        let (headword, headword_at) = headword.map_or((reading.text, None), |headword| (headword.text, Some(place)));
        Written { headword, reading: reading.text, headword_at, reading_at }
    }
}

impl<'a> Word<'a> {
    /// The number by which its source knows it, 0 where it has none.
    pub fn number(self) -> u32 {
        self.record.number
    }

    /// In dictionary form, as it is written here; where the text has kana, with kanji if that is usual.
    pub fn headword(self) -> &'a str {
        self.written.headword
    }

    /// In dictionary form, as it is read here.
    pub fn reading(self) -> &'a str {
        self.written.reading
    }

    /// How else it is written.
    pub fn other_headwords(self) -> impl Iterator<Item = &'a str> {
        self.record.headwords().map(|form| form.text).filter(move |text| *text != self.written.headword)
    }

    /// As its source writes it first: with kanji, where it is ever written so.
    pub fn first_headword(self) -> &'a str {
        self.record.headwords().next().or_else(|| self.record.readings().next()).map_or("", |form| form.text)
    }

    /// All ways to read it, whichever way it is written.
    pub fn readings(self) -> impl Iterator<Item = &'a str> {
        self.record.readings().map(|form| form.text)
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
        (self.written.headword_at, self.written.reading_at)
    }

    fn form(self) -> Option<FormRecord<'a>> {
        let at = |at: Option<u32>| at.map(|at| at as usize);
        let headword = at(self.written.headword_at).and_then(|at| self.record.headwords().nth(at));
        headword.or_else(|| at(self.written.reading_at).and_then(|at| self.record.readings().nth(at)))
    }

    /// On which level of the JLPT it is, 5 the first.
    pub fn level(self) -> Option<u8> {
        Some(self.record.level).filter(|level| *level > 0)
    }

    /// Which 500 words it is among, 1 the most frequent.
    pub fn frequency(self) -> Option<u8> {
        Some(self.record.band).filter(|band| *band > 0)
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
        let senses = self.record.senses().filter(move |sense| {
            fits(sense.of_headwords, self.written.headword_at) && fits(sense.of_readings, self.written.reading_at)
        });
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
