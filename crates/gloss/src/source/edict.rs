//! EDICT, EDICT2 and ENAMDICT, an entry a line:
//!
//! ```text
//! 歩く(P);あるく(oK) [あるく(P);ありく(ok)] /(v5k,vi) (1) to walk/(2) (uk) {sports} to …/(P)/EntL1514320X/
//! headwords          readings               senses: parts of speech, number, codes, gloss/gloss   number
//! ```
//!
//! EDICT has one headword and one reading a line, EDICT2 all of an entry; ENAMDICT has the kind of a name where they have a part of speech.

use super::codes::{self, Kind};
use super::jmdict::date_after;
use super::text::Measured;
use super::{
    DEFAULT_LANGUAGE, ENTRY_CODES_MAX, ENTRY_FORMS_MAX, ENTRY_SENSES_MAX, Entry, Error, Format, Source, Taker, too_many,
};
use crate::entry::{Headword, Priority, Reading, Sense};
use std::io::Read;

/// So many lines are looked at to know a source.
const LINES_LOOKED_AT: usize = 500;

/// What stands for a headword in the first line, which says what the file is.
const TITLE_MARK: &str = "？？？";

/// The format of a text by its first lines; none if it is no dictionary of lines.
pub(super) fn format_of(sample: &str) -> Option<Format> {
    // The last line may be cut, unless there is no other.
    let whole = sample.rsplit_once('\n').map_or(sample, |(whole, _)| whole);
    let mut entries = 0;
    let mut names = 0;
    let mut has_lists = false;
    let mut has_title = false;
    for line in whole.lines().filter(|line| !line.trim().is_empty()).take(LINES_LOOKED_AT) {
        if let Some(title) = title_of(line) {
            if title.contains("ENAMDICT") {
                return Some(Format::Enamdict);
            }
            has_title = true;
            continue;
        }
        // Without a title one line that is no entry is enough: a list of anything else has more. With one the dictionary is damaged, which
        // is said where it is read.
        let entry = match entry_of(line) {
            Ok(entry) => entry,
            Err(_) if has_title => continue,
            Err(_) => return None,
        };
        entries += 1;
        names += usize::from(entry.is_name);
        has_lists |= entry.headwords.len() > 1 || entry.readings.len() > 1 || line.contains("/EntL");
    }
    match entries {
        0 => has_title.then_some(Format::Edict),
        _ if names * 2 > entries => Some(Format::Enamdict),
        _ if has_lists => Some(Format::Edict2),
        _ => Some(Format::Edict),
    }
}

/// Reads a source of lines.
pub(super) fn read<R: Read>(input: Measured<R>, format: Format, into: Taker) -> Result<Source, Error> {
    let of_names = format == Format::Enamdict;
    let title = match format {
        Format::Enamdict => "ENAMDICT",
        Format::Edict2 => "EDICT2",
        Format::Edict | Format::JMdict | Format::JMnedict => "EDICT",
    };
    let tags = codes::tags(of_names);
    let languages = vec![DEFAULT_LANGUAGE.to_owned()];
    let mut source = Source { format, title: title.to_owned(), created: None, entries: 0, tags, languages };
    input.each_line(&mut |line| {
        if line.trim().is_empty() {
            return Ok(());
        }
        if let Some(title) = title_of(line) {
            source.title = title.to_owned();
            source.created = date_after(line, "/Created:");
            return Ok(());
        }
        let mut entry = entry_of(line)?;
        entry.is_name |= of_names;
        if entry.senses.is_empty() {
            return Ok(());
        }
        source.entries += 1;
        into(entry)
    })?;
    Ok(source)
}

/// What the line says of the whole file, if it is the one that does.
fn title_of(line: &str) -> Option<&str> {
    let (forms, rest) = line.split_once('/')?;
    (forms.trim() == TITLE_MARK).then(|| rest.split('/').next().unwrap_or_default())
}

fn entry_of(line: &str) -> Result<Entry, Error> {
    let Some((forms, senses)) = line.split_once(" /") else {
        return Err(Error::malformed("there is no gloss: a line is `headword [reading] /gloss/`"));
    };
    // EDICT has words that wait for a gloss: nothing stands behind their first slash.
    let senses = senses.trim_end();
    let Some(senses) = senses.strip_suffix('/').or(senses.is_empty().then_some("")) else {
        return Err(Error::malformed("the line is cut: it does not end in a slash"));
    };
    let mut entry = Entry::default();
    match forms.split_once(" [") {
        Some((written, read)) => {
            let read = read.trim_end().strip_suffix(']');
            let read = read.ok_or_else(|| Error::malformed("the bracket around the reading does not end"))?;
            take_headwords(&mut entry, written)?;
            take_readings(&mut entry, read)?;
        }
        None if forms.chars().any(is_kanji) => take_headwords(&mut entry, forms)?,
        None => take_readings(&mut entry, forms)?,
    }
    take_senses(&mut entry, senses)?;
    Ok(entry)
}

fn take_headwords(entry: &mut Entry, list: &str) -> Result<(), Error> {
    for form in split_outside(list, ';') {
        if entry.headwords.len() == ENTRY_FORMS_MAX {
            return Err(too_many("headwords", ENTRY_FORMS_MAX));
        }
        let (text, groups) = form_of(form)?;
        let mut headword = Headword { text: text.to_owned(), ..Headword::default() };
        for code in groups.iter().flat_map(|group| group.split(',')) {
            match code.trim() {
                "P" => headword.priority.is_common = true,
                code => headword.marks.push(code.to_owned()),
            }
        }
        entry.headwords.push(headword);
    }
    Ok(())
}

fn take_readings(entry: &mut Entry, list: &str) -> Result<(), Error> {
    for form in split_outside(list, ';') {
        if entry.readings.len() == ENTRY_FORMS_MAX {
            return Err(too_many("readings", ENTRY_FORMS_MAX));
        }
        let (text, groups) = form_of(form)?;
        let mut reading = Reading { text: text.to_owned(), ..Reading::default() };
        for said in groups.iter().flat_map(|group| group.split([',', ';'])) {
            let said = said.trim();
            match entry.headwords.iter().position(|headword| headword.text == said) {
                Some(place) => reading.of.extend(u16::try_from(place).ok()),
                None if said == "P" => reading.priority.is_common = true,
                None if said.is_ascii() => reading.marks.push(said.to_owned()),
                // A headword that is not there.
                None => {}
            }
        }
        entry.readings.push(reading);
    }
    Ok(())
}

/// A form and what stands in parentheses behind it.
fn form_of(form: &str) -> Result<(&str, Vec<&str>), Error> {
    let form = form.trim();
    let (text, mut rest) = form.split_at(form.find('(').unwrap_or(form.len()));
    if text.is_empty() || text.contains([' ', '[', ']']) {
        return Err(Error::malformed(format!("{} is no headword or reading", Error::quoted(form, 60))));
    }
    let mut groups = Vec::new();
    while !rest.is_empty() {
        let group = group_of(rest).filter(|group| group.opening == '(');
        let group = group.ok_or_else(|| {
            Error::malformed(format!("{} has more than parentheses behind it", Error::quoted(form, 60)))
        })?;
        groups.push(group.content);
        rest = group.rest.trim_start();
    }
    Ok((text, groups))
}

fn take_senses(entry: &mut Entry, senses: &str) -> Result<(), Error> {
    let mut is_common = false;
    let mut sense = Sense::default();
    let mut number = 0;
    for (place, field) in senses.split('/').enumerate() {
        let field = field.trim();
        match field.strip_prefix("EntL") {
            _ if field.is_empty() => continue,
            _ if field == "(P)" => {
                is_common = true;
                continue;
            }
            Some(code) if code.starts_with(|c: char| c.is_ascii_digit()) => {
                let digits = code.trim_end_matches(|c: char| !c.is_ascii_digit());
                entry.number = digits.parse().map_err(|_| Error::malformed("the entry's number is no number"))?;
                continue;
            }
            Some(_) | None => {}
        }
        let head = Head::of(field, entry, place == 0, number);
        if place > 0 && head.begins_sense() {
            end_sense(entry, &mut sense)?;
        }
        if place == 0 || head.begins_sense() {
            number = head.number.unwrap_or(number);
            take_head(entry, &mut sense, &head)?;
            push_gloss(&mut sense, head.gloss);
        } else {
            push_gloss(&mut sense, field);
        }
    }
    end_sense(entry, &mut sense)?;
    if is_common {
        mark_common(entry);
    }
    Ok(())
}

/// Puts a sense that is whole to the entry; the next has its parts of speech until it says others.
fn end_sense(entry: &mut Entry, sense: &mut Sense) -> Result<(), Error> {
    let next = Sense { parts_of_speech: sense.parts_of_speech.clone(), ..Sense::default() };
    let ended = std::mem::replace(sense, next);
    if ended.glosses.is_empty() {
        return Ok(());
    }
    if entry.senses.len() == ENTRY_SENSES_MAX {
        return Err(too_many("senses", ENTRY_SENSES_MAX));
    }
    entry.senses.push(ended);
    Ok(())
}

fn take_head(entry: &mut Entry, sense: &mut Sense, head: &Head) -> Result<(), Error> {
    let mut states_parts = false;
    for said in &head.said {
        match said {
            Said::PartsOfSpeech(codes) => {
                if !states_parts {
                    sense.parts_of_speech.clear();
                }
                states_parts = true;
                sense.parts_of_speech.extend(codes.split(',').map(|code| code.trim().to_owned()));
                if sense.parts_of_speech.len() > ENTRY_CODES_MAX {
                    return Err(too_many("parts of speech", ENTRY_CODES_MAX));
                }
            }
            Said::Name(codes) => {
                entry.is_name = true;
                sense.notes.extend(codes.split(',').filter_map(codes::kind_of_name).map(str::to_owned));
            }
            Said::Notes(codes) => {
                let codes = codes.split([',', ';']).map(|code| code.trim().trim_end_matches(':').to_owned());
                sense.notes.extend(codes);
            }
            Said::Mark(code) => mark(entry, code),
            Said::Only(forms) => {
                for form in forms.split(',').map(str::trim) {
                    let headword = entry.headwords.iter().position(|headword| headword.text == form);
                    let reading = entry.readings.iter().position(|reading| reading.text == form);
                    sense.of_headwords.extend(headword.and_then(|place| u16::try_from(place).ok()));
                    sense.of_readings.extend(reading.and_then(|place| u16::try_from(place).ok()));
                }
            }
            Said::Number | Said::Elsewhere => {}
            Said::Words(words) => {
                sense.remark = Some(match sense.remark.take() {
                    Some(before) => format!("{before}; {words}"),
                    None => (*words).to_owned(),
                });
            }
        }
    }
    Ok(())
}

/// EDICT, which has a form a line, says of a sense what is said of that form.
fn mark(entry: &mut Entry, code: &str) {
    let marks = match codes::kind_of(code) {
        Some(Kind::OfHeadword) => entry.headwords.first_mut().map(|headword| &mut headword.marks),
        _ => entry.readings.first_mut().map(|reading| &mut reading.marks),
    };
    if let Some(marks) = marks
        && !marks.iter().any(|known| known == code)
    {
        marks.push(code.to_owned());
    }
}

fn push_gloss(sense: &mut Sense, gloss: &str) {
    let gloss = without_origin(gloss).trim();
    if !gloss.is_empty() {
        sense.glosses.push(gloss.to_owned());
    }
}

/// The whole line is marked as common: so is the only headword, or reading, of it. Where there are several, those are marked themselves.
fn mark_common(entry: &mut Entry) {
    if let [headword] = &mut *entry.headwords {
        headword.priority.is_common = true;
    }
    if let [reading] = &mut *entry.readings {
        reading.priority.is_common = true;
    }
    let headwords = entry.headwords.iter().map(|headword| &headword.priority);
    let mut all = headwords.chain(entry.readings.iter().map(|reading| &reading.priority));
    if !all.any(|priority: &Priority| priority.is_common) {
        entry.headwords.iter_mut().take(1).for_each(|headword| headword.priority.is_common = true);
        entry.readings.iter_mut().take(1).for_each(|reading| reading.priority.is_common = true);
    }
}

/// What stands in parentheses before a gloss.
struct Head<'f> {
    said: Vec<Said<'f>>,
    /// The number of the sense, if it is said.
    number: Option<u32>,
    gloss: &'f str,
}

/// What one pair of parentheses says.
#[derive(Debug, Clone, Copy)]
enum Said<'f> {
    PartsOfSpeech(&'f str),
    Name(&'f str),
    Notes(&'f str),
    Mark(&'f str),
    /// The forms that have the sense.
    Only(&'f str),
    Number,
    /// Another entry, or the language from which the word comes.
    Elsewhere,
    /// Something that is no code.
    Words(&'f str),
}

impl<'f> Head<'f> {
    /// Parentheses that hold no code are part of the gloss (`(musical) note`) – unless codes follow them, or they hold Japanese: then they
    /// are a remark.
    fn of(field: &'f str, entry: &Entry, is_first: bool, number_before: u32) -> Self {
        let mut said = Vec::new();
        let mut number = None;
        let (mut kept, mut gloss) = (0, field);
        let mut rest = field;
        while let Some(group) = group_of(rest) {
            let is_of_name = entry.is_name || matches!(said.first(), Some(Said::Name(_)));
            let next = said_by(&group, entry, is_first && said.is_empty(), is_of_name);
            let next = match next {
                Said::Number => {
                    let this = group.content.parse().unwrap_or(0);
                    if number.is_some() || this <= number_before {
                        break;
                    }
                    number = Some(this);
                    next
                }
                // Only the first name's codes are codes; `(h)` may stand in a gloss.
                Said::Name(_) if !said.is_empty() => Said::Words(group.content),
                other => other,
            };
            said.push(next);
            rest = group.rest.trim_start();
            let is_gloss = matches!(next, Said::Words(words) if !words.chars().any(is_japanese));
            if !is_gloss {
                (kept, gloss) = (said.len(), rest);
            }
        }
        said.truncate(kept);
        Self { said, number, gloss }
    }

    /// Whether a field that is not the first of its line begins a sense.
    fn begins_sense(&self) -> bool {
        let first = self.said.first();
        self.number.is_some() || matches!(first, Some(Said::PartsOfSpeech(_) | Said::Name(_)))
    }
}

fn said_by<'f>(group: &Group<'f>, entry: &Entry, is_first: bool, is_of_name: bool) -> Said<'f> {
    let content = group.content;
    let all = |separators: &[char], kinds: &[Kind]| {
        let mut codes = content.split(separators).map(|code| codes::kind_of(code.trim()));
        codes.all(|kind| kind.is_some_and(|kind| kinds.contains(&kind)))
    };
    if group.opening == '{' {
        return Said::Notes(content);
    }
    if content.len() <= 3 && content.bytes().all(|byte| byte.is_ascii_digit()) {
        return Said::Number;
    }
    if is_first || is_of_name {
        let is_name = content.split(',').all(|code| codes::kind_of_name(code).is_some());
        if is_name {
            return Said::Name(content);
        }
    }
    if !is_of_name && all(&[','], &[Kind::PartOfSpeech]) {
        return Said::PartsOfSpeech(content);
    }
    if all(&[',', ';'], &[Kind::Field, Kind::Remark]) {
        return Said::Notes(content);
    }
    if all(&[], &[Kind::OfHeadword, Kind::OfReading]) {
        return Said::Mark(content);
    }
    if content.starts_with("See ") || content.starts_with("ant:") || is_origin(content) {
        return Said::Elsewhere;
    }
    if let Some(code) = content.strip_suffix(':')
        && code.split(',').all(|code| codes::kind_of(code.trim().trim_end_matches(':')) == Some(Kind::Dialect))
    {
        return Said::Notes(content);
    }
    if let Some(forms) = content.strip_suffix(" only") {
        let is_form = |form: &str| {
            entry.headwords.iter().any(|headword| headword.text == form)
                || entry.readings.iter().any(|reading| reading.text == form)
        };
        if forms.split(',').all(|form| is_form(form.trim())) {
            return Said::Only(forms);
        }
    }
    Said::Words(content)
}

/// Whether it names the language from which a word comes: `fre:`, `ger: Arbeit`, `wasei: model gun` (English made in Japan).
fn is_origin(content: &str) -> bool {
    let Some((code, _)) = content.split_once(':') else { return false };
    let is_language = code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_lowercase());
    code == "wasei" || is_language && codes::kind_of(code) != Some(Kind::Dialect)
}

/// A gloss without the language that stands behind it: `cat (ger: Katze)`, `lift (wasei: moving (stairs))`.
fn without_origin(gloss: &str) -> &str {
    let trimmed = gloss.trim_end();
    if !trimmed.ends_with(')') {
        return gloss;
    }
    let mut depth = 0_usize;
    for (place, character) in trimmed.char_indices().rev() {
        match character {
            ')' => depth += 1,
            '(' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let content = &trimmed[place + 1..trimmed.len() - 1];
            return if is_origin(content) { &trimmed[..place] } else { gloss };
        }
    }
    gloss
}

/// Something in parentheses or braces.
struct Group<'f> {
    opening: char,
    content: &'f str,
    rest: &'f str,
}

/// The group with which a text begins, with those within it.
fn group_of(text: &str) -> Option<Group<'_>> {
    let (opening, closing) = match text.as_bytes().first()? {
        b'(' => ('(', ')'),
        b'{' => ('{', '}'),
        _ => return None,
    };
    let mut depth = 0_usize;
    for (place, character) in text.char_indices() {
        if character == opening {
            depth += 1;
        } else if character == closing {
            depth -= 1;
            if depth == 0 {
                return Some(Group { opening, content: &text[1..place], rest: &text[place + 1..] });
            }
        }
    }
    None
}

/// The parts of a list, which is not divided within parentheses.
fn split_outside(list: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    list.split(move |character| {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && character == separator
    })
}

fn is_kanji(character: char) -> bool {
    matches!(character, '々' | '〆' | '〇' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

fn is_japanese(character: char) -> bool {
    is_kanji(character) || matches!(character, '\u{3041}'..='\u{30ff}')
}
