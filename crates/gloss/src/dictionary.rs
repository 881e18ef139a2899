//! A dictionary's file, mapped and read in place.
#![allow(unsafe_code)]

use crate::bytes::{Cursor, Numbers};
use crate::compile::{KIND, KINDS_MAX, ONE_NAME, POSTINGS_UNIT_BYTES};
use crate::endings::classes_of_entries;
use crate::error::{Error, ErrorKind};
use crate::file::{
    CODE_BYTES_MAX, Layout, Part, SOURCE_TEXT_BYTES_MAX, SOURCES_MAX, TAG_WORDS_BYTES_MAX, TAGS_MAX, refused,
};
use crate::grammar::{Class, ENDING_CHARS_MAX, ENTRY_CLASSES_MAX, grammar};
use crate::record::{NameRecord, WordRecord};
use crate::trie::Trie;
use memmap2::{Advice, Mmap};
use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

/// A compiled dictionary. It is shared by all threads, and its file by all processes that have it open; nothing of it is copied.
#[derive(Debug)]
pub struct Dictionary {
    file: Storage,
    layout: Layout,
    tags: Vec<Tag>,
    sources: Vec<Origin>,
    classes: Vec<Inflected>,
    kinds: Vec<u64>,
    /// Where in their part stands what is said of names of each kind.
    name_kinds: Vec<u32>,
}

/// A class of the grammar, as it is looked for in this file.
#[derive(Debug)]
pub(crate) struct Inflected {
    ending: [u32; ENDING_CHARS_MAX],
    ending_len: u8,
    pub(crate) after_kanji: bool,
    /// The first class that has this ending, and stands behind the same.
    pub(crate) same: u16,
    /// Whether the ending is a word by itself: する, いい.
    pub(crate) is_word: bool,
}

/// A [`Posted`] as the file has it.
pub(crate) type Posting = [u8; POSTING_BYTES];
const POSTING_BYTES: usize = 10;
/// The same, and a name's reference, in units of the postings.
const POSTING_UNITS: usize = POSTING_BYTES / POSTINGS_UNIT_BYTES;
const NAME_UNITS: usize = size_of::<u32>() / POSTINGS_UNIT_BYTES;

impl Posted {
    #[inline]
    pub(crate) fn of(posting: &Posting) -> Posted {
        // each is read at once, which single bytes that are put together are not
        let number = |at: usize| posting[at..].first_chunk().map_or(0, |number| u32::from_le_bytes(*number));
        let forms = posting.last_chunk().map_or(0, |forms| u16::from_le_bytes(*forms).into());
        Posted { reference: number(0), said: number(4), forms }
    }
}

impl Inflected {
    /// The codes of the ending of its dictionary form.
    #[inline]
    pub(crate) fn ending(&self) -> &[u32] {
        &self.ending[..usize::from(self.ending_len)]
    }
}

/// A word of a key: where its entry stands, what is said of it, and with which of its forms it is told.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Posted {
    pub(crate) reference: u32,
    pub(crate) said: u32,
    pub(crate) forms: u32,
}

#[derive(Debug)]
enum Storage {
    Mapped(Mmap),
    Owned(Vec<u8>),
    Static(&'static [u8]),
}

/// What a code of an entry means.
#[derive(Debug)]
pub struct Tag {
    /// As the source has it: `v5k`, `uk`, `surname`.
    pub code: String,
    /// In words; empty where the source does not say it.
    pub words: String,
}

impl Tag {
    /// What it means, or the code where its source does not say it.
    pub fn shown(&self) -> &str {
        if self.words.is_empty() { &self.code } else { &self.words }
    }
}

/// Where entries come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// What the source is called.
    pub title: String,
    /// When it was made, as it says itself; empty where it does not.
    pub created: String,
    /// How many entries it has, or words of which it says something.
    pub entries: u32,
    /// What was taken of it.
    pub kind: OriginKind,
}

/// What a dictionary has of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OriginKind {
    /// Entries: words or names.
    Entries,
    /// Levels of the JLPT.
    Levels,
    /// How frequent words are.
    Frequencies,
}

impl OriginKind {
    const ALL: [OriginKind; 3] = [OriginKind::Entries, OriginKind::Levels, OriginKind::Frequencies];

    /// What it is called: `entries`.
    pub fn name(self) -> &'static str {
        match self {
            OriginKind::Entries => "entries",
            OriginKind::Levels => "levels",
            OriginKind::Frequencies => "frequencies",
        }
    }
}

impl Dictionary {
    /// Opens a file that `thalweg gloss build` made. Its header is checked, and nothing else is read: see [`Dictionary::verify`].
    ///
    /// The file must not be changed while it is open, only replaced by another one under its name, as the build does it.
    pub fn open(path: &Path) -> Result<Dictionary, Error> {
        let failed =
            |error| Error::new(ErrorKind::Input, format!("{} cannot be opened", path.display())).because(error);
        // a pipe that nobody writes into would not even be opened
        let is_file = |metadata: io::Result<Metadata>| match metadata.map_err(failed)?.is_file() {
            true => Ok(()),
            false => Err(Error::new(ErrorKind::Refused, format!("{} is no file", path.display()))),
        };
        is_file(std::fs::metadata(path))?;
        let file = File::open(path).map_err(failed)?;
        is_file(file.metadata())?;
        // SAFETY: the pages are only read, and each read is checked against the length that the mapping has. Who changes the file in
        // place meanwhile changes what is read, which is checked as what a damaged file says; who cuts it short ends the process, as with
        // any mapping, which is said above and why the build replaces files whole.
        let map = unsafe { Mmap::map(&file) }.map_err(failed)?;
        // what is looked for stands anywhere: what stands around it is read from the disk for nothing
        map.advise(Advice::Random).map_err(failed)?;
        Dictionary::of(Storage::Mapped(map)).map_err(|error| error.of_file(path))
    }

    /// A dictionary that is in memory.
    pub fn from_bytes(file: Vec<u8>) -> Result<Dictionary, Error> {
        Dictionary::of(Storage::Owned(file))
    }

    /// A dictionary that is in memory, and stays there.
    pub(crate) fn from_static(file: &'static [u8]) -> Result<Dictionary, Error> {
        Dictionary::of(Storage::Static(file))
    }

    fn of(file: Storage) -> Result<Dictionary, Error> {
        let bytes = file.bytes();
        let layout = Layout::read(bytes)?;
        let (sources, alone) = sources(layout.part(bytes, Part::Sources))?;
        let tags = tags(layout.part(bytes, Part::Tags))?;
        let name_kinds = name_kinds(layout.part(bytes, Part::NameKinds))?;
        let mut dictionary =
            Dictionary { layout, tags, sources, file, classes: Vec::new(), kinds: Vec::new(), name_kinds };
        let (kinds, _) = dictionary.part(Part::Kinds).as_chunks();
        if kinds.len() > KINDS_MAX {
            return Err(refused(&format!("has more than {KINDS_MAX} kinds of words")));
        }
        dictionary.kinds = kinds.iter().map(|classes| u64::from_le_bytes(*classes)).collect();
        dictionary.classes = dictionary.inflected(&alone);
        Ok(dictionary)
    }

    fn inflected(&self, alone: &[u32]) -> Vec<Inflected> {
        let keys = self.keys();
        let classes = grammar().classes();
        let class = |(number, class): (u32, &Class)| {
            let mut ending = [0; ENDING_CHARS_MAX];
            ending.iter_mut().zip(class.ending.chars()).for_each(|(code, c)| *code = keys.code(c));
            let ending_len = class.ending.chars().count().min(ENDING_CHARS_MAX) as u8;
            let is_same = |other: &Class| other.ending == class.ending && other.after_kanji == class.after_kanji;
            let same = classes.iter().position(is_same).unwrap_or(0) as u16;
            let is_word = alone.contains(&number);
            Inflected { ending, ending_len, after_kanji: class.after_kanji, same, is_word }
        };
        (0..).zip(classes).map(class).collect()
    }

    /// Reads the whole file and compares it with its checksums; what is looked for afterwards need not be waited for. Without it a damaged
    /// file is harmless too: what it says may be wrong, or nothing.
    pub fn verify(&self) -> Result<(), Error> {
        if let Storage::Mapped(map) = &self.file {
            // a hint: without it it takes longer
            let _ = map.advise(Advice::WillNeed);
        }
        self.layout.verify(self.file.bytes())
    }

    /// Where its entries come from, and behind them where their levels and frequencies do.
    pub fn sources(&self) -> &[Origin] {
        &self.sources
    }

    /// How long its file is.
    pub fn bytes(&self) -> usize {
        self.file.bytes().len()
    }

    pub(crate) fn tag(&self, number: u32) -> Option<&Tag> {
        self.tags.get(number as usize)
    }

    /// Its keys and their entries, to be walked along.
    pub(crate) fn keys(&self) -> Keys<'_> {
        let (alphabet, others) = self.part(Part::Alphabet).split_at_checked(ALPHABET_BYTES).unwrap_or_default();
        Keys {
            trie: Trie::new(self.part(Part::Trie)),
            alphabet: alphabet.as_chunks().0,
            others: others.as_chunks().0,
            classes: &self.classes,
            posted: self.posted(),
        }
    }

    /// The entries of its keys.
    #[inline]
    pub(crate) fn posted(&self) -> Postings<'_> {
        Postings { postings: self.part(Part::Postings).as_chunks().0, kinds: &self.kinds }
    }

    pub(crate) fn word(&self, reference: u32) -> Option<WordRecord<'_>> {
        WordRecord::read(self.part(Part::Words), reference)
    }

    pub(crate) fn name(&self, reference: u32) -> Option<NameRecord<'_>> {
        NameRecord::read(self.part(Part::Names), reference)
    }

    /// What is said of names of a kind.
    pub(crate) fn notes_of_names(&self, kind: u32) -> Numbers<'_> {
        let at = self.name_kinds.get(kind as usize);
        let notes = at.and_then(|at| Cursor::new(self.part(Part::NameKinds).get(*at as usize..)?).numbers());
        notes.unwrap_or(Numbers::NONE)
    }

    fn part(&self, part: Part) -> &[u8] {
        self.layout.part(self.file.bytes(), part)
    }
}

/// The keys of a dictionary, and which entries they have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Keys<'a> {
    pub(crate) trie: Trie<'a>,
    alphabet: &'a [[u8; 2]],
    others: &'a [[u8; 8]],
    classes: &'a [Inflected],
    pub(crate) posted: Postings<'a>,
}

/// Which entries the keys of a dictionary have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Postings<'a> {
    postings: &'a [[u8; POSTINGS_UNIT_BYTES]],
    kinds: &'a [u64],
}

/// The codes of the characters below 65,536.
const ALPHABET_BYTES: usize = 1 << 17;

impl<'a> Keys<'a> {
    /// The code of a character in the trie, 0 where no key has it.
    #[inline]
    pub(crate) fn code(self, c: char) -> u32 {
        match self.alphabet.get(c as usize) {
            Some(code) => u16::from_le_bytes(*code).into(),
            None => self.code_of_other(c),
        }
    }

    #[cold]
    fn code_of_other(self, c: char) -> u32 {
        let number = |other: &[u8; 8], at| other[at..].first_chunk().map_or(0, |number| u32::from_le_bytes(*number));
        let found = self.others.binary_search_by_key(&(c as u32), |other| number(other, 0));
        found.map_or(0, |at| number(&self.others[at], 4) & 0xffff)
    }

    #[inline]
    pub(crate) fn class(self, class: u16) -> &'a Inflected {
        &self.classes[usize::from(class)]
    }
}

impl<'a> Postings<'a> {
    /// Whether a posting's word is of one of these classes.
    #[inline]
    pub(crate) fn is_of(self, said: u32, classes: u64) -> bool {
        self.kinds.get((said & KIND) as usize).is_some_and(|kind| kind & classes != 0)
    }

    /// The words of a key by its value, the likeliest first.
    #[inline]
    pub(crate) fn words(self, value: u32) -> &'a [Posting] {
        let (words, _) = self.counts(value);
        let words = self.postings.get(value as usize + 1..).and_then(|behind| behind.get(..words * POSTING_UNITS));
        words.unwrap_or_default().as_flattened().as_chunks().0
    }

    /// The names of a key by its value: each one's place, with its script. If there is one alone, and nothing else, it comes first.
    #[inline]
    pub(crate) fn names(self, value: u32) -> (Option<u32>, &'a [[u8; 4]]) {
        let (words, names) = self.counts(value);
        let behind = self.postings.get(value as usize + 1 + words * POSTING_UNITS..).unwrap_or_default();
        let names = behind.get(..names * NAME_UNITS).unwrap_or_default();
        ((value & ONE_NAME != 0).then_some(value & !ONE_NAME), names.as_flattened().as_chunks().0)
    }

    /// How many words and names a key has behind its posting's head.
    #[inline]
    fn counts(self, value: u32) -> (usize, usize) {
        let [words, names] = self.postings.get(value as usize).copied().unwrap_or_default();
        (words.into(), names.into())
    }
}

impl Storage {
    #[inline]
    fn bytes(&self) -> &[u8] {
        match self {
            Storage::Mapped(map) => map,
            Storage::Owned(bytes) => bytes,
            Storage::Static(bytes) => bytes,
        }
    }
}

/// The sources, and the classes whose endings are words. Before them stand the classes of the grammar that the file was built with: by
/// another one its postings mean something else.
fn sources(part: &[u8]) -> Result<(Vec<Origin>, Vec<u32>), Error> {
    let mut cursor = Cursor::new(part);
    let classes = cursor.number().unwrap_or(0).min(ENTRY_CLASSES_MAX as u32);
    let names: Vec<_> = (0..classes).map_while(|_| cursor.bytes()).collect();
    if !names.iter().copied().eq(classes_of_entries().map(|class| class.name.as_bytes())) {
        return Err(refused("was built with another grammar: build it again"));
    }
    let alone = cursor.numbers().map(|classes| classes.take(grammar().classes().len()).collect()).unwrap_or_default();
    let mut sources = Vec::new();
    while let (Some(title), Some(created), Some(entries), Some(kind)) =
        (cursor.bytes(), cursor.bytes(), cursor.number(), cursor.byte())
    {
        if sources.len() == SOURCES_MAX {
            return Err(refused(&format!("has more than {SOURCES_MAX} sources")));
        }
        let text = |bytes| text_of(bytes, "source", SOURCE_TEXT_BYTES_MAX);
        let kind = OriginKind::ALL.get(usize::from(kind)).copied();
        let kind = kind.ok_or_else(|| refused("has a source of which nothing is taken that is known here"))?;
        sources.push(Origin { title: text(title)?, created: text(created)?, entries, kind });
    }
    Ok((sources, alone))
}

fn tags(part: &[u8]) -> Result<Vec<Tag>, Error> {
    let (mut cursor, mut tags) = (Cursor::new(part), Vec::new());
    while let (Some(code), Some(words)) = (cursor.bytes(), cursor.bytes()) {
        if tags.len() == TAGS_MAX {
            return Err(refused(&format!("has more than {TAGS_MAX} codes")));
        }
        let (code, words) = (text_of(code, "code", CODE_BYTES_MAX)?, text_of(words, "code", TAG_WORDS_BYTES_MAX)?);
        tags.push(Tag { code, words });
    }
    Ok(tags)
}

fn name_kinds(part: &[u8]) -> Result<Vec<u32>, Error> {
    let (mut cursor, mut kinds) = (Cursor::new(part), Vec::new());
    while let (at, Some(_)) = (part.len() - cursor.left(), cursor.bytes()) {
        if kinds.len() == KINDS_MAX {
            return Err(refused(&format!("has more than {KINDS_MAX} kinds of names")));
        }
        kinds.push(u32::try_from(at).unwrap_or(u32::MAX));
    }
    Ok(kinds)
}

/// A text that is copied; nothing where it is no text.
fn text_of(bytes: &[u8], what: &str, bytes_max: usize) -> Result<String, Error> {
    if bytes.len() > bytes_max {
        return Err(refused(&format!("has a {what} that is said in more than {bytes_max} bytes")));
    }
    Ok(std::str::from_utf8(bytes).unwrap_or_default().to_owned())
}
