//! Entries made into a dictionary's file.

use crate::bytes::{put_bytes, put_number, put_numbers};
use crate::dictionary::{Origin, OriginKind};
use crate::endings::classes_of_entries;
use crate::entry::{Entry, Reading, Sense};
use crate::error::{Error, ErrorKind};
use crate::file::{self, CODE_BYTES_MAX, SOURCE_TEXT_BYTES_MAX, SOURCES_MAX, TAG_WORDS_BYTES_MAX, TAGS_MAX};
use crate::fold::{Script, fold, folded, is_katakana};
use crate::grammar::{Class, grammar};
use crate::record::{Named, put_names, put_word};
use crate::source::{ENTRY_FORMS_MAX, Frequency, Level, Source};
use crate::target::Target;
use crate::trie;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::LazyLock;

/// Of a posting's word, besides the number of its kind: it counts what a number stands before.
pub(crate) const COUNTS: u32 = 1 << 30;
/// The key is the word as it is written in katakana.
pub(crate) const IN_KATAKANA: u32 = 1 << 31;
/// How unlikely it is that the key is meant so, 0 the likeliest; a reason for an inflected form counts 2.
pub(crate) const COST_SHIFT: u32 = 25;
pub(crate) const COST_BITS: u32 = 0x1f;
/// How frequent it is, by its level and its band, 0 the most frequent.
pub(crate) const FREQUENCY_SHIFT: u32 = 16;
pub(crate) const FREQUENCY_BITS: u32 = 0x1ff;
/// Its kind: which classes it has. Many words are of one kind.
pub(crate) const KIND: u32 = 0x7fff;
/// Of which there are at most so many.
pub(crate) const KINDS_MAX: usize = 32_768;
const _: () = assert!(KINDS_MAX == KIND as usize + 1);
/// It counts as a counter or a unit does, and not as any suffix: 三人 is にん before じん.
pub(crate) const COUNTER: u32 = 1 << 15;
/// As what of its entry's forms a key's word is told: a headword's place, and above it a reading's, or none.
pub(crate) const NO_FORM: u32 = 0xff;
pub(crate) const READING_SHIFT: u32 = 8;
const _: () = assert!(ENTRY_FORMS_MAX <= NO_FORM as usize);
/// A key has no more words, and no more names; those of JMdict and ENAMDICT have up to 51 and 6. What a span may be is compared with one
/// another, so that their number has a bound in a file that somebody has forged too.
pub(crate) const KEY_ENTRIES_MAX: usize = 255;
/// Of a key's value: it has one name, which stands there, and nothing else.
pub(crate) const ONE_NAME: u32 = 1 << 30;
/// Of a name's place in a posting: in which kana it is written, and must be to be found; 0 where it is not in kana alone.
pub(crate) const NAME_SCRIPT_SHIFT: u32 = 28;
pub(crate) const NAME_PLACE: u32 = (1 << NAME_SCRIPT_SHIFT) - 1;
/// The places of postings are counted in so many bytes.
pub(crate) const POSTINGS_UNIT_BYTES: usize = 2;
/// Keys that are longer are left out: no walk goes on for so long.
pub(crate) const KEY_CHARS_MAX: usize = 64;

/// Collects entries, and makes a file of them.
#[derive(Debug, Default)]
pub struct Builder {
    words: Vec<u8>,
    tags: Tags,
    keys: Vec<Key>,
    /// The folded text of the keys.
    text: String,
    names: Vec<NameRow>,
    name_text: String,
    name_notes: Vec<u32>,
    /// What the names take while they are compiled, about.
    name_bytes: usize,
    sources: Vec<Origin>,
    levels: HashMap<String, Vec<(Option<String>, u8)>>,
    bands: HashMap<String, u8>,
    kinds: HashMap<u64, u32>,
}

/// The codes of parts of speech and remarks, by the order in which they came, and what they mean.
#[derive(Debug, Default)]
struct Tags {
    numbers: HashMap<String, u32>,
    codes: Vec<(String, String)>,
}

impl Tags {
    fn number(&mut self, code: &str) -> u32 {
        if let Some(number) = self.numbers.get(code) {
            return *number;
        }
        let number = self.codes.len() as u32;
        self.numbers.insert(code.to_owned(), number);
        self.codes.push((code.to_owned(), String::new()));
        number
    }
}

#[derive(Debug)]
struct Key {
    text: Range<usize>,
    /// Of which entry, by its place.
    reference: u32,
    /// Its kind, and what else a posting says of it.
    said: u32,
    /// The places of the headword and the reading that it is told with.
    forms: u16,
    /// The lower, the sooner it is told.
    rank: u64,
    is_name: bool,
}

/// Texts by their places in `name_text`.
#[derive(Debug)]
struct NameRow {
    headword: Range<usize>,
    reading: Range<usize>,
    notes: Range<usize>,
    glosses: Range<usize>,
}

/// So many words are as frequent as each other, in JMdict's bands; and so many bands there are.
pub(crate) const BAND_WORDS: u32 = 500;
const BAND_MAX: u32 = 60;
/// Where a word is among the bands of which its source does not say it, and by how many a word with one more meaning is likelier.
const BAND_UNKNOWN: u8 = 63;
const BANDS_OF_SENSE: u8 = 3;

/// Levels of the JLPT, the last the one at which a learner knows a word first; 0 where none is known.
const LEVELS: u8 = 5;
const LEVEL_OF_BEGINNERS: u8 = 4;

/// Nouns that count though their source does not say that they are counters, with their reading where others are written alike.
const UNITS: &str = "円:えん 分:ふん 秒 時間 時限 週間 世紀 世帯 学期 店舗 車線 番線 段階 議席 丁目 番地 人前 光年 気圧 馬力 坪 銭:せん ダース \
    ドル ユーロ ポンド セント ウォン ルーブル パーセント キロ キログラム キロメートル キロワット グラム ミリグラム トン メートル センチ \
    センチメートル ミリ ミリメートル ヘクタール リットル ミリリットル デシリットル インチ フィート ヤード マイル オンス ガロン バレル \
    カロリー キロカロリー ワット ボルト アンペア ヘルツ デシベル ヘクトパスカル バイト キロバイト メガバイト ギガバイト テラバイト ビット \
    ギガ メガ ノット カラット";

/// Of a name, each way to write it with each reading and each sense; ENAMDICT has up to 8.
const NAME_ROWS_MAX: usize = 4096;
/// What names may take while they are compiled, 64 bytes and its texts each; those of ENAMDICT take 90 MB.
const NAMES_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Stands between the glosses of a name, none of which has it.
const BETWEEN: char = '\n';

impl Builder {
    /// Without an entry.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// Says of what was read where its entries come from and what its codes mean, so that both can be shown.
    pub fn source(&mut self, source: &Source) {
        let created = source.created.as_deref().unwrap_or_default();
        self.origin(OriginKind::Entries, &source.title, created, source.entries);
        for (code, words) in &source.tags {
            let number = self.tags.number(code);
            words.clone_into(&mut self.tags.codes[number as usize].1);
        }
    }

    /// A source that comes in several files is one.
    fn origin(&mut self, kind: OriginKind, title: &str, created: &str, entries: u64) {
        let entries = u32::try_from(entries).unwrap_or(u32::MAX);
        let is_same = |known: &&mut Origin| known.kind == kind && kind != OriginKind::Entries && known.title == title;
        match self.sources.iter_mut().find(is_same) {
            Some(known) => known.entries = known.entries.saturating_add(entries),
            None => {
                self.sources.push(Origin { title: title.to_owned(), created: created.to_owned(), entries, kind });
            }
        }
    }

    /// Says on which level of the JLPT words are, before they are added, and by which name the table of them is shown as a source.
    pub fn levels(&mut self, title: &str, levels: &[Level]) {
        self.origin(OriginKind::Levels, title, "", levels.len() as u64);
        for Level { word, reading, level } in levels {
            self.levels.entry(word.clone()).or_default().push((reading.clone(), *level));
        }
    }

    /// Says how frequent words are of which their source does not, before they are added, and by which name the list is shown as a source.
    pub fn frequencies(&mut self, title: &str, frequencies: &[Frequency]) {
        self.origin(OriginKind::Frequencies, title, "", frequencies.len() as u64);
        for Frequency { word, rank, .. } in frequencies {
            let band = (rank.saturating_sub(1) / BAND_WORDS + 1).min(BAND_MAX) as u8;
            self.bands.entry(word.clone()).or_insert(band);
        }
    }

    /// Adds an entry. Fails where it is larger than any that a dictionary has, or all are together.
    pub fn add(&mut self, entry: &Entry) -> Result<(), Error> {
        let of_headwords = entry.headwords.iter().flat_map(|form| &form.marks);
        let of_forms = of_headwords.chain(entry.readings.iter().flat_map(|form| &form.marks));
        let of_senses = entry.senses.iter().flat_map(|sense| sense.parts_of_speech.iter().chain(&sense.notes));
        of_forms.chain(of_senses).try_for_each(|code| short(code, "code", CODE_BYTES_MAX))?;
        if entry.is_name { self.add_name(entry) } else { self.add_word(entry) }?;
        few(self.tags.codes.len(), "codes", TAGS_MAX)
    }

    fn add_word(&mut self, entry: &Entry) -> Result<(), Error> {
        few(entry.headwords.len(), "ways to write an entry", ENTRY_FORMS_MAX)?;
        few(entry.readings.len(), "ways to read an entry", ENTRY_FORMS_MAX)?;
        let reference = place(self.words.len())?;
        let forms = || {
            let headwords = entry.headwords.iter().map(|form| (&form.text, &form.marks, form.priority));
            headwords.chain(entry.readings.iter().map(|form| (&form.text, &form.marks, form.priority)))
        };
        let bands = forms().filter_map(|(text, _, priority)| match priority.band {
            0 => self.bands.get(text).copied(),
            band => Some(band),
        });
        let band = bands.min().unwrap_or(0);
        let usually_kana = entry.senses.first().is_some_and(|sense| sense.notes.iter().any(|note| note == "uk"));
        let level = self.level_of(entry, usually_kana);
        let tags = &mut self.tags;
        put_word(&mut self.words, entry, level, band, &mut |code| tags.number(code));
        let parts = || entry.senses.iter().flat_map(|sense| &sense.parts_of_speech).map(String::as_str);
        let mut classes = 0_u64;
        for (bit, class) in classes_of_entries().enumerate() {
            if parts().any(|part| class.parts_of_speech.contains(&part)) {
                classes |= 1 << bit;
            }
        }
        let kinds = self.kinds.len() as u32;
        let mut said = *self.kinds.entry(classes).or_insert(kinds);
        few(self.kinds.len(), "kinds of words", KINDS_MAX)?;
        let is_counter = parts().any(|part| part == "ctr") || is_unit(entry);
        let may_count = is_counter || parts().any(|part| matches!(part, "suf" | "n-suf"));
        if is_counter {
            said |= COUNTER;
        }
        let is_rare = entry
            .senses
            .iter()
            .all(|sense| sense.notes.iter().any(|note| matches!(note.as_str(), "arch" | "obs" | "rare" | "obsc")));
        let in_kana_alone = entry.headwords.is_empty();
        // bands were counted in newspapers by how a word is written, which tells neither 成る from 生る nor that いる stands everywhere
        let is_auxiliary = parts().any(|part| part == "aux-v") && forms().any(|(_, _, priority)| priority.is_common);
        let senses = entry.senses.len().clamp(1, 31) as u8;
        let likelihood_band = match band {
            _ if is_auxiliary => 1,
            0 => BAND_UNKNOWN,
            band => band.saturating_sub(BANDS_OF_SENSE * (senses - 1)).max(1),
        };
        for (at, (text, marks, priority)) in forms().enumerate() {
            let is_reading = at >= entry.headwords.len();
            let is_odd = is_reading && !usually_kana && !in_kana_alone;
            // 彼 is かれ before あれ, which is usually in kana
            let is_odd_in_kanji = !is_reading && usually_kana;
            let score = 4 * u32::from(!priority.is_common)
                + 2 * u32::from(is_odd)
                + u32::from(is_odd_in_kanji)
                + 3 * u32::from(!marks.is_empty())
                + 8 * u32::from(is_rare);
            let is_uncommon = !priority.is_common || is_rare || !marks.is_empty();
            // what is said of an entry is not said of each way to write it: 本 is no usual もと
            let (level, band) = if is_reading || at == 0 {
                (level, likelihood_band)
            } else {
                (self.level_of_form(entry, text), priority.band)
            };
            let frequency =
                u32::from(LEVELS.saturating_sub(level)) << 6 | u32::from(if band == 0 { BAND_UNKNOWN } else { band });
            // した is する in its past before 下, むこう is 向こう before 剥く
            let cost = 3 * u32::from(is_uncommon)
                + 3 * u32::from(is_odd)
                + u32::from(is_odd_in_kanji)
                + u32::from(level < LEVEL_OF_BEGINNERS);
            let katakana = text.chars().all(|c| is_katakana(c) || c == 'ー' || c == '・');
            // first as the words of a span are told that is in hiragana and no other spelling
            let order = u32::from(katakana) << 14 | cost << 9 | frequency;
            let rank = score << 22 | frequency << 13 | u32::from(31 - senses) << 8 | at.min(255) as u32;
            let rank = u64::from(order) << 32 | u64::from(rank);
            let said = said | cost << COST_SHIFT | frequency << FREQUENCY_SHIFT;
            let said = said | if katakana { IN_KATAKANA } else { 0 };
            // 三びき is 匹, but 三の is no 幅
            let counts_in_kana = is_counter && (priority.is_common || text.chars().nth(1).is_some());
            let counts = may_count && (!is_odd || counts_in_kana);
            let said = said | if counts { COUNTS } else { 0 };
            let forms = forms_told(entry, at, usually_kana);
            self.add_key(text, Key { text: 0..0, reference, said, forms, rank, is_name: false });
        }
        Ok(())
    }

    /// What a table says of a word in kana may be said of any entry that is read so: it is taken for one that is common so, and of which nothing
    /// is said as it is written, unless that is seldom written. はし on the first level is 橋 or 箸, and not 端, which has a level of its own.
    fn level_of(&self, entry: &Entry, usually_kana: bool) -> u8 {
        let of = |text: &String| self.level_of_form(entry, text);
        let written = entry.headwords.iter().map(|form| of(&form.text)).max().unwrap_or(0);
        if written > 0 && !usually_kana {
            return written;
        }
        let is_common = |reading: &&Reading| entry.headwords.is_empty() || reading.priority.is_common;
        let read = entry.readings.iter().filter(is_common).map(|form| of(&form.text)).max().unwrap_or(0);
        written.max(read)
    }

    fn level_of_form(&self, entry: &Entry, text: &str) -> u8 {
        let has = |reading: &String| entry.readings.iter().any(|form| form.text == *reading);
        let is_read = |reading: &Option<String>| reading.as_ref().is_none_or(has);
        let said = self.levels.get(text).into_iter().flatten();
        said.filter(|(reading, _)| is_read(reading)).map(|(_, level)| *level).max().unwrap_or(0)
    }

    fn add_key(&mut self, text: &str, key: Key) {
        let from = self.text.len();
        folded(text, &mut self.text);
        let range = from..self.text.len();
        if range.is_empty() || self.text[range.clone()].chars().count() > KEY_CHARS_MAX {
            self.text.truncate(from);
            return;
        }
        self.keys.push(Key { text: range, ..key });
    }

    fn add_name(&mut self, entry: &Entry) -> Result<(), Error> {
        let rows = name_rows(entry)?;
        let bytes_of_sense = |sense: &Sense| -> usize {
            let glosses: usize = sense.glosses.iter().map(|gloss| gloss.len() + size_of::<&str>()).sum();
            glosses + size_of_val(&*sense.notes)
        };
        let bytes_of_senses: usize = entry.senses.iter().map(bytes_of_sense).sum();
        let bytes_of_row = |&(headword, reading): &(Option<usize>, usize)| {
            let forms = headword.map_or(0, |at| entry.headwords[at].text.len()) + entry.readings[reading].text.len();
            entry.senses.len() * (size_of::<NameRow>() + forms) + bytes_of_senses
        };
        self.name_bytes = rows.iter().map(bytes_of_row).fold(self.name_bytes, usize::saturating_add);
        few(self.name_bytes, "bytes of names", NAMES_BYTES_MAX)?;
        let tags = &mut self.tags;
        let mut put = |text: &str| {
            let from = self.name_text.len();
            self.name_text.push_str(text);
            from..self.name_text.len()
        };
        let headwords: Vec<_> = entry.headwords.iter().map(|form| put(&form.text)).collect();
        let readings: Vec<_> = entry.readings.iter().map(|form| put(&form.text)).collect();
        for sense in &entry.senses {
            let from = self.name_notes.len();
            let codes = sense.notes.iter().chain(&sense.parts_of_speech);
            self.name_notes.extend(codes.map(|code| tags.number(code)));
            let notes = from..self.name_notes.len();
            let mut glosses = sense.glosses.join("\n");
            glosses.retain(|c| c == BETWEEN || !c.is_control());
            let glosses = put(&glosses);
            for (headword, reading) in &rows {
                let reading = readings[*reading].clone();
                let (headword, reading) =
                    headword.map_or((reading.clone(), 0..0), |at| (headwords[at].clone(), reading));
                self.names.push(NameRow { headword, reading, notes: notes.clone(), glosses: glosses.clone() });
            }
        }
        place(self.name_text.len()).map(|_| ())
    }

    /// The file.
    pub fn finish(mut self) -> Result<Vec<u8>, Error> {
        self.check_described()?;
        let (names, name_kinds) = self.put_names()?;
        let text = std::mem::take(&mut self.text);
        let of = |key: &Key| &text[key.text.clone()];
        self.keys.sort_unstable_by(|a, b| {
            (of(a), a.is_name, a.rank, a.reference).cmp(&(of(b), b.is_name, b.rank, b.reference))
        });
        // an entry of which several forms are one key has it once, as the first of them
        let (mut of_key, mut seen) = (0..0, HashSet::new());
        self.keys.retain(|key| {
            if text[of_key.clone()] != *of(key) {
                of_key = key.text.clone();
                seen.clear();
            }
            seen.insert((key.is_name, key.reference))
        });
        let alphabet = Alphabet::of(&text)?;
        let (mut codes, mut values, mut postings) = (Vec::<u16>::new(), Vec::new(), Vec::<u8>::new());
        for same in self.keys.chunk_by(|a, b| of(a) == of(b)) {
            let from = codes.len();
            codes.extend(of(&same[0]).chars().map(|c| alphabet.code(c)));
            values.push((from..codes.len(), posting(same, &mut postings)?));
        }
        let mut keys: Vec<_> = values.iter().map(|(range, value)| (&codes[range.clone()], *value)).collect();
        keys.sort_unstable();
        let trie = trie::build(&keys);
        Ok(file::write([
            &self.sources_part(&text),
            &self.tags_part(),
            &alphabet.part(),
            &trie,
            &postings,
            &self.kinds_part(),
            &self.words,
            &names,
            &name_kinds,
        ]))
    }

    /// Writes the file, whole or not at all. Returns how many bytes it has.
    pub fn write(self, target: &Target) -> Result<usize, Error> {
        let bytes = self.finish()?;
        target.write(&bytes)?;
        Ok(bytes.len())
    }

    /// What the file says of itself has to be such that it is opened.
    fn check_described(&self) -> Result<(), Error> {
        few(self.sources.len(), "sources", SOURCES_MAX)?;
        for Origin { title, created, .. } in &self.sources {
            short(title, "source's title", SOURCE_TEXT_BYTES_MAX)?;
            short(created, "source's date", SOURCE_TEXT_BYTES_MAX)?;
        }
        few(self.tags.codes.len(), "codes", TAGS_MAX)?;
        for (code, words) in &self.tags.codes {
            short(code, "code", CODE_BYTES_MAX)?;
            short(words, "code's meaning", TAG_WORDS_BYTES_MAX)?;
        }
        Ok(())
    }

    /// The names, and what is said of each kind of them.
    fn put_names(&mut self) -> Result<(Vec<u8>, Vec<u8>), Error> {
        let (text, notes) = (std::mem::take(&mut self.name_text), std::mem::take(&mut self.name_notes));
        let rows = std::mem::take(&mut self.names);
        let named = rows.iter().map(|row| Named {
            headword: &text[row.headword.clone()],
            reading: &text[row.reading.clone()],
            notes: &notes[row.notes.clone()],
            glosses: text[row.glosses.clone()].split(BETWEEN).collect(),
        });
        let mut named: Vec<_> = named.collect();
        named.sort_unstable();
        named.dedup();
        let (kinds, kinds_part) = kinds_of_names(&named)?;
        let mut names = Vec::new();
        for same in named.chunk_by(|a, b| a.headword == b.headword) {
            let script = same[0].headword.chars().map(Script::of).fold(Script::default(), Script::with).kana();
            let place = place(names.len())?;
            if place > NAME_PLACE {
                return Err(Error::new(ErrorKind::TooLarge, "the names take more than 256 MiB"));
            }
            let reference = place | script << NAME_SCRIPT_SHIFT;
            put_names(&mut names, same, &mut |notes| kinds.get(notes).copied().unwrap_or(0));
            self.add_key(same[0].headword, Key { text: 0..0, reference, said: 0, forms: 0, rank: 0, is_name: true });
        }
        Ok((names, kinds_part))
    }

    /// Behind the classes that entries have those whose endings are words by themselves: する, いい.
    fn sources_part(&self, text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        put_number(&mut out, classes_of_entries().count() as u32);
        classes_of_entries().for_each(|class| put_bytes(&mut out, class.name.as_bytes()));
        let is_word = |class: &Class| {
            let key = |key: &Key| text[key.text.clone()].cmp(class.ending);
            self.keys.binary_search_by(key).is_ok()
        };
        let words = grammar().classes().iter().enumerate().filter(|(_, class)| is_word(class));
        put_numbers(&mut out, words.map(|(number, _)| number as u32));
        // what words and names are of stands first, though levels are given before
        let mut sources: Vec<_> = self.sources.iter().collect();
        sources.sort_by_key(|source| source.kind);
        for Origin { title, created, entries, kind } in sources {
            put_bytes(&mut out, title.as_bytes());
            put_bytes(&mut out, created.as_bytes());
            put_number(&mut out, *entries);
            out.push(*kind as u8);
        }
        out
    }

    fn kinds_part(&self) -> Vec<u8> {
        let mut kinds: Vec<_> = self.kinds.iter().map(|(classes, number)| (*number, *classes)).collect();
        kinds.sort_unstable();
        kinds.iter().flat_map(|(_, classes)| classes.to_le_bytes()).collect()
    }

    fn tags_part(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (code, words) in &self.tags.codes {
            put_bytes(&mut out, code.as_bytes());
            put_bytes(&mut out, words.as_bytes());
        }
        out
    }
}

/// Which headwords a name is read with, each by its place with a reading's; none where it is written in kana alone.
fn name_rows(entry: &Entry) -> Result<Vec<(Option<usize>, usize)>, Error> {
    let mut rows = Vec::new();
    for (reading, form) in entry.readings.iter().enumerate() {
        if entry.headwords.is_empty() {
            rows.push((None, reading));
        }
        let is_read = |headword: &usize| form.of.is_empty() || form.of.iter().any(|of| usize::from(*of) == *headword);
        rows.extend((0..entry.headwords.len()).filter(is_read).map(|headword| (Some(headword), reading)));
        few(rows.len() * entry.senses.len(), "ways to write, read and mean a name", NAME_ROWS_MAX)?;
    }
    Ok(rows)
}

/// Their numbers, by the notes of a name.
type KindsOfNames<'a> = HashMap<&'a [u32], u32>;

/// The kinds of names by what is said of them, the most frequent first, so that most have a number of one byte; and their part of the file.
fn kinds_of_names<'a>(named: &[Named<'a>]) -> Result<(KindsOfNames<'a>, Vec<u8>), Error> {
    let mut counts = HashMap::<&[u32], u64>::new();
    named.iter().for_each(|name| *counts.entry(name.notes).or_default() += 1);
    few(counts.len(), "kinds of names", KINDS_MAX)?;
    let mut kinds: Vec<_> = counts.into_iter().collect();
    kinds.sort_unstable_by_key(|(notes, count)| (u64::MAX - count, *notes));
    let mut part = Vec::new();
    kinds.iter().for_each(|(notes, _)| put_numbers(&mut part, notes.iter().copied()));
    Ok((kinds.iter().zip(0..).map(|((notes, _), number)| (*notes, number)).collect(), part))
}

fn few(count: usize, what: &str, max: usize) -> Result<(), Error> {
    if count > max {
        return Err(Error::new(ErrorKind::TooLarge, format!("there are more than {max} {what}")));
    }
    Ok(())
}

fn short(text: &str, what: &str, bytes_max: usize) -> Result<(), Error> {
    if text.len() > bytes_max {
        return Err(Error::new(ErrorKind::TooLarge, format!("a {what} has more than {bytes_max} bytes: {text:.20}…")));
    }
    Ok(())
}

fn is_unit(entry: &Entry) -> bool {
    /// With the reading that each must have, if that is said.
    static READINGS: LazyLock<HashMap<&str, &str>> =
        LazyLock::new(|| UNITS.split_whitespace().map(|unit| unit.split_once(':').unwrap_or((unit, ""))).collect());
    let Some(first) = entry.readings.first() else { return false };
    let headwords = entry.headwords.iter().map(|form| &form.text);
    let readings =
        headwords.chain(entry.readings.iter().map(|form| &form.text)).filter_map(|text| READINGS.get(&**text));
    readings.into_iter().any(|reading| reading.is_empty() || first.text == *reading)
}

/// Appends the entries of a key, and returns its value.
fn posting(same: &[Key], postings: &mut Vec<u8>) -> Result<u32, Error> {
    let words = same.iter().take_while(|key| !key.is_name);
    let (words, names) = same.split_at(words.count());
    if let ([], [name]) = (words, names) {
        return Ok(ONE_NAME | name.reference);
    }
    few(words.len(), "words that are written alike", KEY_ENTRIES_MAX)?;
    few(names.len(), "names that are written alike", KEY_ENTRIES_MAX)?;
    let at = place(postings.len() / POSTINGS_UNIT_BYTES)?;
    postings.extend([words.len() as u8, names.len() as u8]);
    for word in words {
        postings.extend(word.reference.to_le_bytes());
        postings.extend(word.said.to_le_bytes());
        postings.extend(word.forms.to_le_bytes());
    }
    names.iter().for_each(|name| postings.extend(name.reference.to_le_bytes()));
    Ok(at)
}

/// With which headword and reading a word is told that is found as one of its forms, those that are read behind those that are written.
fn forms_told(entry: &Entry, at: usize, usually_kana: bool) -> u16 {
    let Entry { headwords, readings, .. } = entry;
    let (headword, reading) = match at.checked_sub(headwords.len()) {
        None => {
            let is_read = |reading: &Reading| {
                !reading.is_apart && (reading.of.is_empty() || reading.of.iter().any(|of| usize::from(*of) == at))
            };
            (Some(at), readings.iter().position(is_read))
        }
        Some(at) => {
            let reading = &readings[at];
            let headword = reading.of.first().map_or(0, |of| usize::from(*of));
            let is_told = headword < headwords.len() && !usually_kana && !reading.is_apart;
            (is_told.then_some(headword), Some(at))
        }
    };
    let place = |at: Option<usize>| at.and_then(|at| u32::try_from(at).ok()).map_or(NO_FORM, |at| at.min(NO_FORM));
    (place(headword) | place(reading) << READING_SHIFT) as u16
}

/// A place in a part of the file, which has to fit beside [`ONE_NAME`].
fn place(at: usize) -> Result<u32, Error> {
    let place = u32::try_from(at).ok().filter(|place| *place < ONE_NAME);
    place.ok_or_else(|| Error::new(ErrorKind::TooLarge, "the entries take more than 1 GiB"))
}

/// The characters of all keys together: a code has 16 bits, and 0 is none. ENAMDICT and JMdict have some 7,000.
const ALPHABET_CHARS_MAX: usize = 65_535;

/// The numbers of the keys' characters, from 1, the most frequent first, so that what stands together in the trie is small.
struct Alphabet {
    codes: HashMap<char, u16>,
}

impl Alphabet {
    fn of(text: &str) -> Result<Alphabet, Error> {
        let mut counts = HashMap::<char, u64>::new();
        text.chars().for_each(|c| *counts.entry(c).or_default() += 1);
        let mut chars: Vec<_> = counts.into_iter().collect();
        few(chars.len(), "characters of which entries are made", ALPHABET_CHARS_MAX)?;
        chars.sort_unstable_by_key(|(c, count)| (u64::MAX - count, *c));
        Ok(Alphabet { codes: chars.iter().zip(1..=u16::MAX).map(|((c, _), code)| (*c, code)).collect() })
    }

    fn code(&self, c: char) -> u16 {
        self.codes.get(&c).copied().unwrap_or(0)
    }

    /// The code of each character below 65,536, then pairs of the others and their codes, in order.
    fn part(&self) -> Vec<u8> {
        let all = (0..=0xffff).map(|c| char::from_u32(c).map_or(0, |c| self.code(fold(c))));
        let mut out: Vec<u8> = all.flat_map(u16::to_le_bytes).collect();
        let mut others: Vec<_> = self.codes.iter().filter(|(c, _)| **c > '\u{ffff}').collect();
        others.sort_unstable();
        for (c, code) in others {
            out.extend((*c as u32).to_le_bytes());
            out.extend(u32::from(*code).to_le_bytes());
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Headword, Reading};

    fn entry(headwords: usize, readings: usize, senses: usize) -> Entry {
        let kana: Vec<char> = ('あ'..='お').collect();
        let text = |at: usize| -> String { [kana[at / 25 % 5], kana[at / 5 % 5], kana[at % 5]].iter().collect() };
        let sense = |at: usize| Sense { glosses: vec![at.to_string()], ..Sense::default() };
        Entry {
            headwords: (0..headwords)
                .map(|at| Headword { text: format!("{}猫", text(at)), ..Headword::default() })
                .collect(),
            readings: (0..readings).map(|at| Reading { text: text(at), ..Reading::default() }).collect(),
            senses: (0..senses).map(sense).collect(),
            ..Entry::default()
        }
    }

    fn name(headwords: usize, readings: usize, senses: usize) -> Entry {
        Entry { is_name: true, ..entry(headwords, readings, senses) }
    }

    fn too_large(made: Result<impl Sized, Error>) -> String {
        let error = made.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
        error.to_string()
    }

    #[test]
    fn a_name_of_many_ways_to_write_read_and_mean_it_is_refused() {
        let mut builder = Builder::new();
        builder.add(&name(16, 16, 16)).unwrap();
        builder.add(&name(0, 64, 64)).unwrap();
        for (headwords, readings, senses) in [(16, 16, 17), (17, 16, 16), (0, 64, 65), (100, 100, 100)] {
            too_large(builder.add(&name(headwords, readings, senses)));
        }
        // of a reading only what is read so counts
        let mut restricted = name(100, 100, 40);
        restricted.readings.iter_mut().zip(0..).for_each(|(reading, at)| reading.of = vec![at; 1000]);
        builder.add(&restricted).unwrap();
        assert_eq!(builder.names.len(), 4096 + 4096 + 4000);
    }

    #[test]
    fn names_are_bounded_together() {
        let mut long = name(16, 16, 1);
        long.senses[0].glosses = vec!["a".repeat(100_000)];
        let mut builder = Builder::new();
        let added = (0..100).take_while(|_| builder.add(&long).is_ok()).count();
        assert_eq!(added, 10, "each has 256 times 100,000 bytes");
        assert!(too_large(builder.add(&long)).contains("bytes of names"));
        assert!(builder.name_text.len() < 2_000_000);
    }

    #[test]
    fn what_could_not_be_opened_is_not_built() {
        let coded = |code: String| {
            let mut entry = entry(0, 1, 1);
            entry.senses[0].notes.push(code);
            entry
        };
        let mut builder = Builder::new();
        builder.add(&coded("a".repeat(CODE_BYTES_MAX))).unwrap();
        too_large(builder.add(&coded("a".repeat(CODE_BYTES_MAX + 1))));
        (1..TAGS_MAX).for_each(|number| builder.add(&coded(number.to_string())).unwrap());
        too_large(builder.add(&coded("one more".to_owned())));

        let source = |title: usize, words: usize| Source {
            format: crate::source::Format::Edict,
            title: "t".repeat(title),
            created: None,
            entries: 1,
            tags: vec![("n".to_owned(), "w".repeat(words))],
            languages: Vec::new(),
        };
        let built = |count: usize, title: usize, words: usize| {
            let mut builder = Builder::new();
            (0..count).for_each(|_| builder.source(&source(title, words)));
            builder.finish()
        };
        let most = built(SOURCES_MAX, SOURCE_TEXT_BYTES_MAX, TAG_WORDS_BYTES_MAX).unwrap();
        assert_eq!(crate::Dictionary::from_bytes(most).unwrap().sources().len(), SOURCES_MAX);
        too_large(built(SOURCES_MAX + 1, 1, 1));
        too_large(built(1, SOURCE_TEXT_BYTES_MAX + 1, 1));
        too_large(built(1, 1, TAG_WORDS_BYTES_MAX + 1));
    }

    #[test]
    fn a_key_that_is_too_long_is_left_out() {
        let mut builder = Builder::new();
        for chars in [KEY_CHARS_MAX, KEY_CHARS_MAX + 1] {
            let mut long = entry(0, 1, 1);
            long.readings[0].text = "あ".repeat(chars);
            builder.add(&long).unwrap();
        }
        let lengths: Vec<_> = builder.keys.iter().map(|key| builder.text[key.text.clone()].chars().count()).collect();
        assert_eq!(lengths, [KEY_CHARS_MAX]);
    }

    /// Characters that are folded into no other.
    fn different(count: usize) -> String {
        ('\u{20000}'..).take(count).collect()
    }

    #[test]
    fn more_characters_than_codes_are_refused() {
        let most = Alphabet::of(&different(ALPHABET_CHARS_MAX)).unwrap();
        assert_eq!(most.codes.values().max(), Some(&u16::MAX));
        for count in [ALPHABET_CHARS_MAX + 1, ALPHABET_CHARS_MAX + 2] {
            too_large(Alphabet::of(&different(count)));
        }
    }
}
