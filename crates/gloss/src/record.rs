//! Entries as they stand in a dictionary's file: written when it is built, read in place.

use crate::bytes::{Cursor, Numbers, put_bytes, put_number, put_numbers};
use crate::entry::{Entry, Priority};
use std::fmt::{self, Write};

/// Of a word's headwords: whether its level and its band, which most words do not have, stand before them, in the length's lowest bit.
const RANKED_SHIFT: u32 = 1;
/// What only some of the forms have, in the lowest bits of their length, and of the senses, in a byte before them.
const COMMON: u32 = 1;
const MARKS: u32 = 1 << 1;
const FORM_SHIFT: u32 = 2;
const SAME_PARTS: u8 = 1;
const NOTES: u8 = 1 << 1;
const OF_HEADWORDS: u8 = 1 << 2;
const OF_READINGS: u8 = 1 << 3;
const REMARK: u8 = 1 << 4;
/// A name begins with a number, most often of one byte: whether another one is written alike and stands behind it, how its reading is kept,
/// and, multiplied by so much, which kind of name it is. Behind it stands the reading, and if that does not say it all, its length before it
/// and the glosses behind.
const NAME_MANNERS: u32 = 12;
const HAS_NEXT: u32 = 1;
/// Its one gloss is the reading in Latin letters. Both are bits of the whole number, which the kind does not reach.
const ROMANIZED: u32 = 2;
const _: () = assert!(NAME_MANNERS.is_multiple_of(4));
/// The reading is as it is; in hiragana or in katakana each character has a byte: how far it is behind the first.
const AS_IT_IS: u32 = 0;
const HIRAGANA: u32 = 4;
const KATAKANA: u32 = 8;

/// A word, read in place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WordRecord<'a> {
    pub(crate) number: u32,
    pub(crate) level: u8,
    pub(crate) band: u8,
    headwords: Cursor<'a>,
    readings: Cursor<'a>,
    senses: Cursor<'a>,
}

/// A way to write or to read a word.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FormRecord<'a> {
    pub(crate) text: &'a str,
    pub(crate) is_common: bool,
    pub(crate) marks: Numbers<'a>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct SenseRecord<'a> {
    pub(crate) parts_of_speech: Numbers<'a>,
    pub(crate) notes: Numbers<'a>,
    pub(crate) of_headwords: Numbers<'a>,
    pub(crate) of_readings: Numbers<'a>,
    pub(crate) remark: &'a str,
    glosses: Cursor<'a>,
}

impl<'a> WordRecord<'a> {
    /// Of which there is nothing.
    pub(crate) const NONE: WordRecord<'static> = {
        let nothing = Cursor::new(&[]);
        WordRecord { number: 0, level: 0, band: 0, headwords: nothing, readings: nothing, senses: nothing }
    };

    pub(crate) fn read(words: &'a [u8], at: u32) -> Option<WordRecord<'a>> {
        let mut cursor = Cursor::new(words.get(at as usize..)?);
        let (number, headwords) = (cursor.number()?, cursor.number()?);
        let mut ranked = || if headwords & 1 != 0 { cursor.byte() } else { Some(0) };
        Some(WordRecord {
            number,
            level: ranked()?,
            band: ranked()?,
            headwords: Cursor::new(cursor.take(headwords >> RANKED_SHIFT)?),
            readings: Cursor::new(cursor.bytes()?),
            senses: Cursor::new(cursor.bytes()?),
        })
    }

    pub(crate) fn headwords(self) -> impl Iterator<Item = FormRecord<'a>> {
        forms(self.headwords)
    }

    pub(crate) fn readings(self) -> impl Iterator<Item = FormRecord<'a>> {
        forms(self.readings)
    }

    pub(crate) fn senses(self) -> impl Iterator<Item = SenseRecord<'a>> {
        let (mut cursor, mut before) = (self.senses, Numbers::NONE);
        std::iter::from_fn(move || {
            let sense = sense(&mut cursor, before)?;
            before = sense.parts_of_speech;
            Some(sense)
        })
    }
}

fn forms<'a>(mut cursor: Cursor<'a>) -> impl Iterator<Item = FormRecord<'a>> {
    std::iter::from_fn(move || {
        let has = cursor.number()?;
        let marks = if has & MARKS != 0 { cursor.numbers()? } else { Numbers::NONE };
        let text = std::str::from_utf8(cursor.take(has >> FORM_SHIFT)?).ok()?;
        Some(FormRecord { text, is_common: has & COMMON != 0, marks })
    })
}

fn sense<'a>(cursor: &mut Cursor<'a>, before: Numbers<'a>) -> Option<SenseRecord<'a>> {
    let has = cursor.byte()?;
    let mut numbers = |bit| if has & bit != 0 { cursor.numbers() } else { Some(Numbers::NONE) };
    let (notes, of_headwords, of_readings) = (numbers(NOTES)?, numbers(OF_HEADWORDS)?, numbers(OF_READINGS)?);
    Some(SenseRecord {
        parts_of_speech: if has & SAME_PARTS != 0 { before } else { cursor.numbers()? },
        notes,
        of_headwords,
        of_readings,
        remark: if has & REMARK != 0 { cursor.text()? } else { "" },
        glosses: Cursor::new(cursor.bytes()?),
    })
}

impl<'a> SenseRecord<'a> {
    pub(crate) fn glosses(self) -> impl Iterator<Item = &'a str> {
        texts(self.glosses)
    }
}

fn texts<'a>(mut cursor: Cursor<'a>) -> impl Iterator<Item = &'a str> {
    std::iter::from_fn(move || cursor.text())
}

/// Appends a word, its codes made numbers by `tag`.
pub(crate) fn put_word(out: &mut Vec<u8>, entry: &Entry, level: u8, band: u8, tag: &mut dyn FnMut(&str) -> u32) {
    put_number(out, entry.number);
    let headwords = forms_part(entry.headwords.iter().map(|form| (&form.text, &form.marks, form.priority)), tag);
    let readings = forms_part(entry.readings.iter().map(|form| (&form.text, &form.marks, form.priority)), tag);
    let is_ranked = (level, band) != (0, 0);
    put_number(out, (headwords.len() as u32) << RANKED_SHIFT | u32::from(is_ranked));
    out.extend([level, band].into_iter().filter(|_| is_ranked));
    out.extend(headwords);
    put_bytes(out, &readings);
    let mut part = Vec::new();
    let mut before: &[String] = &[];
    for sense in &entry.senses {
        let is_same = sense.parts_of_speech == before;
        before = &sense.parts_of_speech;
        let has = bit(SAME_PARTS, is_same) | bit(NOTES, !sense.notes.is_empty()) | bit(REMARK, sense.remark.is_some());
        part.push(
            has | bit(OF_HEADWORDS, !sense.of_headwords.is_empty()) | bit(OF_READINGS, !sense.of_readings.is_empty()),
        );
        put_tags(&mut part, &sense.notes, tag);
        put_places(&mut part, &sense.of_headwords);
        put_places(&mut part, &sense.of_readings);
        if !is_same {
            put_numbers(&mut part, sense.parts_of_speech.iter().map(|code| tag(code)));
        }
        if let Some(remark) = &sense.remark {
            put_bytes(&mut part, remark.as_bytes());
        }
        let mut glosses = Vec::new();
        sense.glosses.iter().for_each(|gloss| put_bytes(&mut glosses, gloss.as_bytes()));
        put_bytes(&mut part, &glosses);
    }
    put_bytes(out, &part);
}

fn forms_part<'e>(
    forms: impl Iterator<Item = (&'e String, &'e Vec<String>, Priority)>,
    tag: &mut dyn FnMut(&str) -> u32,
) -> Vec<u8> {
    let mut part = Vec::new();
    for (text, marks, priority) in forms {
        let has = if priority.is_common { COMMON } else { 0 } | if marks.is_empty() { 0 } else { MARKS };
        put_number(&mut part, (text.len() as u32) << FORM_SHIFT | has);
        put_tags(&mut part, marks, tag);
        part.extend(text.as_bytes());
    }
    part
}

fn bit(bit: u8, is: bool) -> u8 {
    if is { bit } else { 0 }
}

fn put_tags(out: &mut Vec<u8>, codes: &[String], tag: &mut dyn FnMut(&str) -> u32) {
    if !codes.is_empty() {
        put_numbers(out, codes.iter().map(|code| tag(code)));
    }
}

fn put_places(out: &mut Vec<u8>, places: &[u16]) {
    if !places.is_empty() {
        put_numbers(out, places.iter().map(|place| u32::from(*place)));
    }
}

/// A name as it is written, with all that are written so.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NameRecord<'a> {
    headword: &'a [u8],
    /// Those that have not been read.
    named: Cursor<'a>,
}

/// One of them, which is taken apart when something of it is told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NamedRecord<'a>(&'a [u8]);

impl<'a> NameRecord<'a> {
    /// None.
    pub(crate) const NONE: NameRecord<'static> = NameRecord { headword: &[], named: Cursor::new(&[]) };

    pub(crate) fn read(names: &'a [u8], at: u32) -> Option<NameRecord<'a>> {
        let mut named = Cursor::new(names.get(at as usize..)?);
        Some(NameRecord { headword: named.bytes()?, named })
    }

    pub(crate) fn headword(self) -> &'a str {
        std::str::from_utf8(self.headword).unwrap_or_default()
    }

    /// The next one.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<NamedRecord<'a>> {
        let named = self.named.bytes()?;
        // it is the lowest bit of its number, whose lowest bits are in the first byte
        if named.first().is_none_or(|first| u32::from(*first) & HAS_NEXT == 0) {
            self.named = Cursor::new(&[]);
        }
        Some(NamedRecord(named))
    }
}

impl<'a> NamedRecord<'a> {
    /// Its number, its reading, and its glosses where they are not the reading in Latin letters.
    fn parts(self) -> (u32, &'a [u8], Option<Cursor<'a>>) {
        let mut cursor = Cursor::new(self.0);
        let number = cursor.number().unwrap_or(0);
        if number & ROMANIZED != 0 {
            return (number, cursor.rest(), None);
        }
        let reading = cursor.bytes().unwrap_or_default();
        (number, reading, Some(cursor))
    }

    /// Which kind of name: a place in the list of them.
    pub(crate) fn kind(self) -> u32 {
        self.parts().0 / NAME_MANNERS
    }

    /// Nothing where the headword is in kana.
    pub(crate) fn reading(self) -> Kana<'a> {
        let (number, reading, _) = self.parts();
        match (number % NAME_MANNERS) & !(HAS_NEXT | ROMANIZED) {
            HIRAGANA => Kana::Bytes(reading, FIRST_HIRAGANA),
            KATAKANA => Kana::Bytes(reading, FIRST_KATAKANA),
            _ => Kana::Text(std::str::from_utf8(reading).unwrap_or_default()),
        }
    }

    /// The glosses, unless it is the reading in Latin letters.
    pub(crate) fn glosses(self) -> Option<impl Iterator<Item = &'a str>> {
        self.parts().2.map(texts)
    }
}

/// Kana that may be kept as a byte each.
#[derive(Debug, Clone, Copy)]
pub enum Kana<'a> {
    /// As they are.
    Text(&'a str),
    /// How far each is behind the first of its block.
    Bytes(&'a [u8], char),
}

const FIRST_HIRAGANA: char = '\u{3040}';
const FIRST_KATAKANA: char = '\u{30a0}';
/// ー, which is in the block of katakana, among hiragana.
const LONG: u8 = 0xfc;

impl<'a> Kana<'a> {
    fn put(text: &str, first: char) -> Option<Vec<u8>> {
        let byte = |c: char| match c {
            'ー' => Some(LONG),
            _ => (c as u32).checked_sub(first as u32).filter(|behind| *behind < 0x60).map(|behind| behind as u8),
        };
        text.chars().map(byte).collect()
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        match self {
            Kana::Text(text) => text.is_empty(),
            Kana::Bytes(bytes, _) => bytes.is_empty(),
        }
    }

    /// The kana.
    pub fn chars(self) -> impl Iterator<Item = char> + use<'a> {
        let (text, bytes, first) = match self {
            Kana::Text(text) => (text, &[][..], FIRST_HIRAGANA),
            Kana::Bytes(bytes, first) => ("", bytes, first),
        };
        let kana = bytes.iter().filter_map(move |byte| match *byte {
            LONG => Some('ー'),
            behind => char::from_u32(first as u32 + u32::from(behind)),
        });
        text.chars().chain(kana)
    }
}

impl fmt::Display for Kana<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kana::Text(text) => f.write_str(text),
            Kana::Bytes(..) => self.chars().try_for_each(|c| f.write_char(c)),
        }
    }
}

/// One name, before those that are written alike are brought together.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Named<'a> {
    pub(crate) headword: &'a str,
    pub(crate) reading: &'a str,
    pub(crate) notes: &'a [u32],
    pub(crate) glosses: Vec<&'a str>,
}

/// Appends names that are written alike, and asks for the number of the kind that a name's notes are.
pub(crate) fn put_names<'a>(out: &mut Vec<u8>, names: &[Named<'a>], kind: &mut dyn FnMut(&'a [u32]) -> u32) {
    let Some(first) = names.first() else { return };
    put_bytes(out, first.headword.as_bytes());
    for (at, name) in names.iter().enumerate() {
        let read = if name.reading.is_empty() { name.headword } else { name.reading };
        let is_romanized = matches!(&name.glosses[..], [gloss] if *gloss == romanized(read));
        let short = [(HIRAGANA, FIRST_HIRAGANA), (KATAKANA, FIRST_KATAKANA)];
        let short = short.into_iter().find_map(|(manner, first)| Some((manner, Kana::put(name.reading, first)?)));
        let (script, reading) = match &short {
            Some((manner, bytes)) if !name.reading.is_empty() => (*manner, &bytes[..]),
            _ => (AS_IT_IS, name.reading.as_bytes()),
        };
        let has_next = if at + 1 < names.len() { HAS_NEXT } else { 0 };
        let manner = script | has_next | if is_romanized { ROMANIZED } else { 0 };
        let mut named = Vec::new();
        put_number(&mut named, kind(name.notes) * NAME_MANNERS + manner);
        if is_romanized {
            named.extend(reading);
        } else {
            put_bytes(&mut named, reading);
            name.glosses.iter().for_each(|gloss| put_bytes(&mut named, gloss.as_bytes()));
        }
        put_bytes(out, &named);
    }
}

/// Kana in Latin letters as dictionaries of names have them: Hepburn's, long vowels as they are in kana, the first letter large.
pub(crate) fn romanize(kana: impl Iterator<Item = char>, out: &mut impl fmt::Write) -> fmt::Result {
    let mut kana = kana.map(crate::fold::fold).peekable();
    let (mut doubles, mut last, mut is_first) = (false, '-', true);
    let mut put = |text: &str| {
        text.chars().try_for_each(|c| {
            last = c;
            out.write_char(if std::mem::take(&mut is_first) { c.to_ascii_uppercase() } else { c })
        })?;
        Ok::<char, fmt::Error>(last)
    };
    let mut before = '-';
    while let Some(c) = kana.next() {
        if c == 'っ' {
            doubles = true;
            continue;
        }
        let small = kana.peek().and_then(|small| "ゃゅょ".find(*small)).map(|at| ["a", "u", "o"][at / 3]);
        let plain = TABLE.binary_search_by_key(&c, |row| row.0).map_or("", |row| TABLE[row].1);
        // きゃ is kya, しゃ is sha
        let (consonants, glide, vowel) = match (small, plain.strip_suffix('i')) {
            (Some(vowel), Some(consonants)) if !consonants.is_empty() => {
                kana.next();
                let is_soft = matches!(consonants, "sh" | "ch" | "j");
                (consonants, if is_soft { "" } else { "y" }, vowel)
            }
            _ => (plain, "", ""),
        };
        if std::mem::take(&mut doubles) {
            put(if consonants.starts_with("ch") { "t" } else { consonants.get(..1).unwrap_or("") })?;
        }
        let mut other = [0; 4];
        let other = match c {
            'ー' => before.encode_utf8(&mut other),
            c if plain.is_empty() => c.encode_utf8(&mut other),
            _ => "",
        };
        for part in [other, consonants, glide, vowel] {
            before = put(part)?;
        }
    }
    Ok(())
}

fn romanized(kana: &str) -> String {
    let mut out = String::new();
    // a string takes all
    let _ = romanize(kana.chars(), &mut out);
    out
}

/// Folded kana and their sounds, in order.
const TABLE: [(char, &str); 73] = [
    ('あ', "a"),
    ('い', "i"),
    ('う', "u"),
    ('え', "e"),
    ('お', "o"),
    ('か', "ka"),
    ('が', "ga"),
    ('き', "ki"),
    ('ぎ', "gi"),
    ('く', "ku"),
    ('ぐ', "gu"),
    ('け', "ke"),
    ('げ', "ge"),
    ('こ', "ko"),
    ('ご', "go"),
    ('さ', "sa"),
    ('ざ', "za"),
    ('し', "shi"),
    ('じ', "ji"),
    ('す', "su"),
    ('ず', "zu"),
    ('せ', "se"),
    ('ぜ', "ze"),
    ('そ', "so"),
    ('ぞ', "zo"),
    ('た', "ta"),
    ('だ', "da"),
    ('ち', "chi"),
    ('ぢ', "ji"),
    ('つ', "tsu"),
    ('づ', "zu"),
    ('て', "te"),
    ('で', "de"),
    ('と', "to"),
    ('ど', "do"),
    ('な', "na"),
    ('に', "ni"),
    ('ぬ', "nu"),
    ('ね', "ne"),
    ('の', "no"),
    ('は', "ha"),
    ('ば', "ba"),
    ('ぱ', "pa"),
    ('ひ', "hi"),
    ('び', "bi"),
    ('ぴ', "pi"),
    ('ふ', "fu"),
    ('ぶ', "bu"),
    ('ぷ', "pu"),
    ('へ', "he"),
    ('べ', "be"),
    ('ぺ', "pe"),
    ('ほ', "ho"),
    ('ぼ', "bo"),
    ('ぽ', "po"),
    ('ま', "ma"),
    ('み', "mi"),
    ('む', "mu"),
    ('め', "me"),
    ('も', "mo"),
    ('や', "ya"),
    ('ゆ', "yu"),
    ('よ', "yo"),
    ('ら', "ra"),
    ('り', "ri"),
    ('る', "ru"),
    ('れ', "re"),
    ('ろ', "ro"),
    ('わ', "wa"),
    ('ゐ', "i"),
    ('ゑ', "e"),
    ('を', "wo"),
    ('ん', "n"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kana_are_written_in_latin_letters() {
        for (kana, latin) in [
            ("たなか", "Tanaka"),
            ("しょういち", "Shouichi"),
            ("きゅうしゅう", "Kyuushuu"),
            ("ほっかいどう", "Hokkaidou"),
            ("ざっちょう", "Zatchou"),
            ("じゅんいち", "Junichi"),
            ("オー", "Oo"),
            ("シャー", "Shaa"),
            ("ん", "N"),
            ("ー", "-"),
            ("漢", "漢"),
        ] {
            assert_eq!(romanized(kana), latin);
        }
    }

    #[test]
    fn kana_take_a_byte_each_and_are_the_same() {
        for (kana, first) in
            [("たなか", FIRST_HIRAGANA), ("らーめん", FIRST_HIRAGANA), ("ヴァン・ゴッホ", FIRST_KATAKANA)]
        {
            let bytes = Kana::put(kana, first).unwrap();
            assert_eq!(bytes.len(), kana.chars().count());
            assert_eq!(Kana::Bytes(&bytes, first).to_string(), kana);
        }
        assert_eq!(Kana::put("たナか", FIRST_HIRAGANA), None);
        assert_eq!(Kana::put("漢", FIRST_HIRAGANA), None);
    }
}
