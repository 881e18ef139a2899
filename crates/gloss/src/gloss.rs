//! What a text's words mean: spans of it, and the entries of each, read in place from the dictionary and the reader.

use crate::bytes::Numbers;
use crate::compile::{NO_FORM, READING_SHIFT};
use crate::dictionary::{Dictionary, Posted, Posting, Postings, Tag};
use crate::fold::Script;
use crate::grammar::{Rule, grammar};
use crate::likeliest::{Likely, are_in_order};
use crate::reader::{Found, Hit, Options, Reader, Told};
use crate::record::{FormRecord, Kana, NameRecord, NamedRecord, SenseRecord, WordRecord, romanize};
use std::fmt;
use std::ops::Range;
use std::slice;

/// What was found in a text: places of the text, which are the reader's until it reads the next one, and entries, which stand in the
/// dictionary for as long as that is open.
#[derive(Debug, Clone, Copy)]
pub struct Gloss<'r, 'd> {
    dictionary: &'d Dictionary,
    reader: &'r Reader,
    text: &'r str,
    /// What begins here was looked for, in bytes of the text.
    part: (usize, usize),
    options: Options<'r>,
}

/// A part of the text that is a word, with the entries that it may be.
#[derive(Debug, Clone, Copy)]
pub struct Span<'r, 'd> {
    gloss: Gloss<'r, 'd>,
    found: &'r Found,
}

/// An entry that a span may be.
#[derive(Debug, Clone, Copy)]
pub enum Meaning<'r, 'd> {
    /// A word.
    Word(Word<'r, 'd>),
    /// A name.
    Name(Name<'d>),
}

/// A word that a span may be.
#[derive(Debug, Clone, Copy)]
pub struct Word<'r, 'd> {
    gloss: Gloss<'r, 'd>,
    span: &'r Found,
    hit: &'r Hit,
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

impl<'r, 'd: 'r> Gloss<'r, 'd> {
    pub(crate) fn new(
        dictionary: &'d Dictionary,
        reader: &'r Reader,
        text: &'r str,
        part: Range<usize>,
        options: Options<'r>,
    ) -> Gloss<'r, 'd> {
        Gloss { dictionary, reader, text, part: (part.start, part.end), options }
    }

    /// The text.
    pub fn text(self) -> &'r str {
        self.text
    }

    /// Where in [`Gloss::text`] its spans begin, in bytes: all of it, but where a text is read a piece at a time. What is around it there was
    /// told before, or will be.
    pub fn part(self) -> Range<usize> {
        self.part.0..self.part.1
    }

    /// What was found, by where it begins; at each place the longest first, and what is counted behind what is not.
    pub fn spans(self) -> impl ExactSizeIterator<Item = Span<'r, 'd>> {
        self.reader.spans.iter().map(move |found| Span { gloss: self, found })
    }
}

impl<'r, 'd: 'r> Span<'r, 'd> {
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
    pub fn text(self) -> &'r str {
        self.gloss.text.get(self.bytes()).unwrap_or_default()
    }

    /// The number that its entries count.
    pub fn number(self) -> Option<u64> {
        self.found.number
    }

    /// Its entries, the likeliest first, each once, words before names.
    #[inline]
    pub fn meanings(self) -> impl Iterator<Item = Meaning<'r, 'd>> {
        let told = self.told();
        let names = self.names(told).take(told.options.entries_max());
        self.words_of(told).map(Meaning::Word).chain(names.map(Meaning::Name))
    }

    /// Its words, the likeliest first.
    #[inline]
    pub fn words(self) -> impl Iterator<Item = Word<'r, 'd>> {
        self.words_of(self.told())
    }

    #[inline]
    fn words_of(self, told: Told<'r>) -> Words<'r, 'd> {
        let (hits, left) = (self.hits(), told.options.entries_max());
        let found = match hits {
            [hit] if are_in_order(hits, told.is_number) => {
                WordsFound::InOrder(hit, told.posted.words(hit.value).iter())
            }
            _ => {
                let chosen = self.found.chosen.start as usize..self.found.chosen.end as usize;
                WordsFound::Chosen(hits, self.gloss.reader.chosen.get(chosen).unwrap_or_default().iter())
            }
        };
        Words { span: self, posted: told.posted, found, left }
    }

    /// How many words and names there are more than are told.
    pub fn more(self) -> usize {
        let (told, hits, max) = (self.told(), self.hits(), self.gloss.options.entries_max());
        let words = match hits {
            [hit] if are_in_order(hits, told.is_number) => told.words(hit).skip(max).count(),
            _ => self.found.more as usize,
        };
        words + self.names(told).skip(max).take(SPAN_NAMES_MAX).count()
    }

    #[inline]
    fn names(self, told: Told<'r>) -> Names<'r, 'd> {
        let hits = if told.are_names() { self.hits() } else { &[] };
        Names {
            dictionary: self.gloss.dictionary,
            posted: self.gloss.dictionary.posted(),
            hits: hits.iter(),
            script: Script::default(),
            one: None,
            several: [].iter(),
            reference: 0,
            record: NameRecord::NONE,
        }
    }

    #[inline]
    fn hits(self) -> &'r [Hit] {
        let hits = self.found.hits.start as usize..self.found.hits.end as usize;
        self.gloss.reader.hits.get(hits).unwrap_or_default()
    }

    #[inline]
    fn told(self) -> Told<'r> {
        let Gloss { dictionary, options, .. } = self.gloss;
        Told { posted: dictionary.posted(), options, is_number: self.found.is_number }
    }
}

/// The words of a span.
struct Words<'r, 'd> {
    span: Span<'r, 'd>,
    posted: Postings<'r>,
    found: WordsFound<'r>,
    left: usize,
}

enum WordsFound<'a> {
    /// Those of one hit, as they stand in the dictionary.
    InOrder(&'a Hit, slice::Iter<'a, Posting>),
    /// Those of several, as they were chosen.
    Chosen(&'a [Hit], slice::Iter<'a, Likely>),
}

impl<'r, 'd: 'r> Iterator for Words<'r, 'd> {
    type Item = Word<'r, 'd>;

    #[inline]
    fn next(&mut self) -> Option<Word<'r, 'd>> {
        self.left = self.left.checked_sub(1)?;
        let Span { gloss, found } = self.span;
        let (hit, reference, forms) = match &mut self.found {
            WordsFound::InOrder(hit, postings) => {
                let told = Told { posted: self.posted, options: gloss.options, is_number: found.is_number };
                let word = postings.map(Posted::of).find(|word| told.is_word(hit.classes, word))?;
                (*hit, word.reference, word.forms)
            }
            WordsFound::Chosen(hits, chosen) => {
                let likely = chosen.next()?;
                (hits.get(likely.hit as usize)?, likely.reference, likely.forms)
            }
        };
        Some(Word { gloss, span: found, hit, reference, forms })
    }
}

/// The names of a span.
struct Names<'r, 'd> {
    dictionary: &'d Dictionary,
    posted: Postings<'d>,
    hits: slice::Iter<'r, Hit>,
    /// In which script the hit at hand is, and its names that are still to come.
    script: Script,
    one: Option<u32>,
    several: slice::Iter<'d, [u8; 4]>,
    /// Those that are written alike.
    reference: u32,
    record: NameRecord<'d>,
}

/// More names of a span are not counted than are told and these; those of ENAMDICT that are written alike are up to 80.
const SPAN_NAMES_MAX: usize = 1024;

impl<'d> Iterator for Names<'_, 'd> {
    type Item = Name<'d>;

    #[inline]
    fn next(&mut self) -> Option<Name<'d>> {
        loop {
            if let Some(named) = self.record.next() {
                let Names { dictionary, record, reference, .. } = *self;
                return Some(Name { dictionary, record, named, reference });
            }
            let Some(name) = self.one.take().or_else(|| self.several.next().map(|name| u32::from_le_bytes(*name)))
            else {
                let hit = self.hits.find(|hit| hit.chain.is_none())?;
                let (one, several) = self.posted.names(hit.value);
                (self.script, self.one, self.several) = (hit.script, one, several.iter());
                continue;
            };
            if let Some(reference) = Told::name(self.script, name)
                && let Some(record) = self.dictionary.name(reference)
            {
                (self.reference, self.record) = (reference, record);
            }
        }
    }
}

impl<'r, 'd: 'r> Word<'r, 'd> {
    /// The number by which its source knows it, 0 where it has none.
    pub fn number(self) -> u32 {
        self.record().number
    }

    /// In dictionary form, as it is written here; where the text has kana, with kanji if that is usual.
    pub fn headword(self) -> &'d str {
        self.form().map_or("", |form| form.text)
    }

    /// In dictionary form, as it is read here.
    pub fn reading(self) -> &'d str {
        let (_, reading) = self.form_places();
        self.record().readings().nth(reading.unwrap_or(0) as usize).map_or("", |form| form.text)
    }

    /// How else it is written.
    pub fn other_headwords(self) -> impl Iterator<Item = &'d str> {
        let headword = self.headword();
        self.record().headwords().map(|form| form.text).filter(move |text| *text != headword)
    }

    /// As its source writes it first: with kanji, where it is ever written so.
    pub fn first_headword(self) -> &'d str {
        let record = self.record();
        record.headwords().next().or_else(|| record.readings().next()).map_or("", |form| form.text)
    }

    /// All ways to read it, whichever way it is written.
    pub fn readings(self) -> impl Iterator<Item = &'d str> {
        self.record().readings().map(|form| form.text)
    }

    /// Whether its source says that it is common, as it is written or read here.
    pub fn is_common(self) -> bool {
        self.form().is_some_and(|form| form.is_common)
    }

    /// What its source says of it as it is written or read here: `rK`, a rare kanji; `ateji`.
    pub fn marks(self) -> impl Iterator<Item = &'d Tag> {
        tags(self.gloss.dictionary, self.form().map_or(Numbers::NONE, |form| form.marks))
    }

    /// The places of its headword and reading among those of its entry.
    pub(crate) fn form_places(self) -> (Option<u32>, Option<u32>) {
        let place = |at: u32| Some(at & NO_FORM).filter(|at| *at != NO_FORM);
        (place(self.forms), place(self.forms >> READING_SHIFT))
    }

    /// The form that is its headword.
    fn form(self) -> Option<FormRecord<'d>> {
        let (record, (headword, reading)) = (self.record(), self.form_places());
        let headword = headword.and_then(|at| record.headwords().nth(at as usize));
        headword.or_else(|| record.readings().nth(reading? as usize))
    }

    /// What the dictionary has of it; nothing if that is damaged.
    fn record(self) -> WordRecord<'d> {
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
    pub fn senses(self) -> impl Iterator<Item = Sense<'d>> {
        let fits = |of: Numbers<'d>, at: Option<u32>| of.is_none() || at.is_none_or(|at| of.clone().any(|of| of == at));
        let (headword, reading) = self.form_places();
        let senses = self
            .record()
            .senses()
            .filter(move |sense| fits(sense.of_headwords, headword) && fits(sense.of_readings, reading));
        senses.map(move |record| Sense { dictionary: self.gloss.dictionary, record })
    }

    /// All that it means.
    pub fn glosses(self) -> impl Iterator<Item = &'d str> {
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
        self.record.headword()
    }

    /// As it is read.
    pub fn reading(self) -> Kana<'a> {
        let reading = self.named.reading();
        if reading.is_empty() { Kana::Text(self.record.headword()) } else { reading }
    }

    /// What kind of name it is: `surname`, `place`.
    pub fn notes(self) -> impl Iterator<Item = &'a Tag> {
        tags(self.dictionary, self.dictionary.notes_of_names(self.named.kind()))
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
