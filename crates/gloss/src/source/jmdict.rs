//! JMdict and JMnedict, an XML file with an element an entry: read an element at a time, so that memory holds one entry.
//!
//! Codes stand in it as entities (`&v5k;`), which the document type says in words. They stay codes: nothing is expanded where a code is
//! meant, and elsewhere a declared entity is replaced once, never within its replacement.

use super::recognise::unrecognised;
use super::text::Measured;
use super::{
    DEFAULT_LANGUAGE, ENTRY_CODES_MAX, ENTRY_FORMS_MAX, ENTRY_SENSES_MAX, Entry, Error, ErrorKind, Format,
    LANGUAGE_BYTES_MAX, LANGUAGES_TOLD_MAX, Source, Taker, too_many,
};
use crate::entry::{Headword, Priority, Reading, Sense};
use crate::file::{CODE_BYTES_MAX, TAG_WORDS_BYTES_MAX};
use quick_xml::Reader;
use quick_xml::events::{BytesRef, BytesStart, Event};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet, hash_map};
use std::io::Read;

/// Elements within one another; the formats have four.
const DEPTH_MAX: usize = 16;

/// Entities of a document type; JMdict declares 250.
const ENTITIES_MAX: usize = 4096;

/// What declared entities may add to the texts of an entry, so that a small file cannot become a large one.
const REPLACED_BYTES_MAX: usize = 64 * 1024;

/// Reads a source in XML whose root is that of JMdict or JMnedict, with its glosses in one language.
pub(super) fn read<R: Read>(input: Measured<R>, language: &str, into: Taker) -> Result<Source, Error> {
    let mut xml = Reader::from_reader(input);
    xml.config_mut().expand_empty_elements = true;
    let mut document = Document::new(language);
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        if document.depth <= 1 {
            xml.get_mut().begin_unit();
        }
        let line = xml.get_ref().line();
        let step = match xml.read_event_into(&mut buffer) {
            Ok(Event::Eof) => break document.finish(xml.get_ref().line()),
            Ok(event) => document.take(event, into),
            Err(quick_xml::Error::Io(error)) => {
                let error = std::io::Error::new(error.kind(), error);
                Err(Error::of_io(error).at(xml.get_ref().line()))
            }
            Err(_) if document.format.is_none() => Err(unrecognised("the input is not whole XML")),
            Err(error) => Err(Error::malformed(error.to_string())),
        };
        step.map_err(|error| error.at(line))?;
    }
}

/// What is known of the document so far.
struct Document<'l> {
    language: &'l str,
    format: Option<Format>,
    created: Option<String>,
    /// The declared entities, and the place of each among them.
    tags: Vec<(String, String)>,
    places: HashMap<String, usize>,
    languages: Vec<String>,
    entries: u64,
    depth: usize,
    /// The element whose text is wanted, and how deep it is.
    field: Option<(Field, usize)>,
    /// Its text so far.
    text: String,
    /// What declared entities have added to the entry.
    replaced_bytes: usize,
    draft: Option<Draft>,
}

/// The entry that is being read.
#[derive(Default)]
struct Draft {
    entry: Entry,
    /// By the place of a reading, a headword that it belongs to: headwords are known when the entry ends.
    of: Vec<(usize, String)>,
    /// All parts of speech of the entry, in their order.
    stated: Vec<String>,
    /// Those of the last sense in the wanted language.
    carried: Vec<String>,
    sense: Option<SenseDraft>,
}

/// The sense that is being read.
#[derive(Default)]
struct SenseDraft {
    sense: Sense,
    /// Whether it is in the wanted language: it has a gloss in it, or none in any and the wanted language is the default.
    is_wanted: Option<bool>,
}

/// An element with text that matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Number,
    HeadwordText,
    HeadwordMark,
    HeadwordPriority,
    ReadingText,
    ReadingMark,
    ReadingPriority,
    ReadingOf,
    ReadingApart,
    PartOfSpeech,
    Note,
    Remark,
    OfHeadword,
    OfReading,
    Gloss,
    GlossOfOthers,
}

impl Field {
    fn of(element: &str) -> Option<Self> {
        Some(match element {
            "ent_seq" => Self::Number,
            "keb" => Self::HeadwordText,
            "ke_inf" => Self::HeadwordMark,
            "ke_pri" => Self::HeadwordPriority,
            "reb" => Self::ReadingText,
            "re_inf" => Self::ReadingMark,
            "re_pri" => Self::ReadingPriority,
            "re_restr" => Self::ReadingOf,
            "re_nokanji" => Self::ReadingApart,
            "pos" => Self::PartOfSpeech,
            "field" | "misc" | "dial" | "name_type" => Self::Note,
            "s_inf" => Self::Remark,
            "stagk" => Self::OfHeadword,
            "stagr" => Self::OfReading,
            "gloss" | "trans_det" => Self::Gloss,
            _ => return None,
        })
    }

    /// Whether an entity in it is a code.
    fn holds_codes(self) -> bool {
        matches!(self, Self::HeadwordMark | Self::ReadingMark | Self::PartOfSpeech | Self::Note)
    }
}

impl<'l> Document<'l> {
    fn new(language: &'l str) -> Self {
        Self {
            language,
            format: None,
            created: None,
            tags: Vec::new(),
            places: HashMap::new(),
            languages: Vec::new(),
            entries: 0,
            depth: 0,
            field: None,
            text: String::new(),
            replaced_bytes: 0,
            draft: None,
        }
    }

    fn take(&mut self, event: Event, into: Taker) -> Result<(), Error> {
        match event {
            Event::Start(element) => self.begin(&element),
            Event::End(_) => self.end(into),
            Event::Text(text) => self.push(&text),
            Event::CData(text) => self.push(&text),
            Event::GeneralRef(entity) => self.entity(&entity),
            Event::Comment(comment) => {
                if self.created.is_none() && self.draft.is_none() {
                    self.created = date_after(&comment, "created:");
                }
                Ok(())
            }
            Event::DocType(declarations) => self.declare(&declarations),
            // `expand_empty_elements` makes two events of it.
            Event::Empty(_) | Event::Decl(_) | Event::PI(_) | Event::Eof => Ok(()),
        }
    }

    fn begin(&mut self, element: &BytesStart) -> Result<(), Error> {
        let name = element.name();
        let name: &str = name.as_ref();
        if self.depth == 0 {
            if self.format.is_some() {
                return Err(Error::malformed("there is something after the dictionary's end"));
            }
            self.format = Some(match name {
                "JMdict" => Format::JMdict,
                "JMnedict" => Format::JMnedict,
                other => return Err(unrecognised(&format!("the XML is of a {}", Error::quoted(other, 40)))),
            });
        }
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(Error::malformed("elements are too deep in one another"));
        }
        match (&mut self.draft, name) {
            (None, "entry") if self.depth == 2 => {
                self.draft = Some(Draft::default());
                self.replaced_bytes = 0;
            }
            (None, _) => {}
            (Some(_), "entry") => return Err(Error::malformed("an entry stands in another")),
            (Some(draft), "k_ele") if draft.entry.headwords.len() == ENTRY_FORMS_MAX => {
                return Err(too_many("headwords", ENTRY_FORMS_MAX));
            }
            (Some(draft), "r_ele") if draft.entry.readings.len() == ENTRY_FORMS_MAX => {
                return Err(too_many("readings", ENTRY_FORMS_MAX));
            }
            (Some(draft), "sense" | "trans") if draft.entry.senses.len() == ENTRY_SENSES_MAX => {
                return Err(too_many("senses", ENTRY_SENSES_MAX));
            }
            (Some(draft), "k_ele") => draft.entry.headwords.push(Headword::default()),
            (Some(draft), "r_ele") => draft.entry.readings.push(Reading::default()),
            (Some(draft), "sense" | "trans") => draft.sense = Some(SenseDraft::default()),
            (Some(_), _) if self.field.is_none() => {
                if let Some(mut field) = Field::of(name) {
                    if field == Field::Gloss && !self.is_wanted(element) {
                        field = Field::GlossOfOthers;
                    }
                    self.field = Some((field, self.depth));
                    self.text.clear();
                }
            }
            // An element within a text, as JMdict once had `<pri>`: its text belongs to it.
            (Some(_), _) => {}
        }
        Ok(())
    }

    fn end(&mut self, into: Taker) -> Result<(), Error> {
        if let (Some((field, depth)), Some(draft)) = (self.field, &mut self.draft)
            && depth == self.depth
        {
            draft.set(field, self.text.trim())?;
            self.field = None;
        }
        self.depth = self.depth.saturating_sub(1);
        let Some(draft) = &mut self.draft else { return Ok(()) };
        match self.depth {
            // An entry stands right under the root, a sense right under the entry.
            1 => {
                let draft = self.draft.take().unwrap_or_default();
                let entry = draft.finish(self.format == Some(Format::JMnedict))?;
                if !entry.senses.is_empty() {
                    self.entries += 1;
                    into(entry)?;
                }
            }
            2 => draft.finish_sense(self.language),
            _ => {}
        }
        Ok(())
    }

    /// Whether a gloss is in the wanted language. A name of which no language is said is the same in all.
    fn is_wanted(&mut self, element: &BytesStart) -> bool {
        let said = language_of(element);
        let is_of_all = said.is_none() && self.format == Some(Format::JMnedict);
        let language = said.as_deref().unwrap_or(DEFAULT_LANGUAGE);
        let is_new = self.languages.len() < LANGUAGES_TOLD_MAX
            && language.len() <= LANGUAGE_BYTES_MAX
            && !self.languages.iter().any(|known| known == language);
        if is_new {
            self.languages.push(language.to_owned());
        }
        is_of_all || language == self.language
    }

    fn push(&mut self, text: &str) -> Result<(), Error> {
        if self.field.is_some_and(|(field, _)| field != Field::GlossOfOthers) {
            self.text.push_str(text);
        }
        Ok(())
    }

    fn entity(&mut self, entity: &BytesRef) -> Result<(), Error> {
        let Some((field, _)) = self.field else { return Ok(()) };
        if let Some(character) = entity.resolve_char_ref().map_err(|error| Error::malformed(error.to_string()))? {
            self.text.push(character);
            return Ok(());
        }
        let name: &str = entity;
        if field == Field::GlossOfOthers {
            return Ok(());
        }
        if let Some(text) = quick_xml::escape::resolve_xml_entity(name) {
            self.text.push_str(text);
        } else if field.holds_codes() {
            self.text.push_str(name);
        } else {
            let declared = self.places.get(name).and_then(|place| self.tags.get(*place));
            let Some((_, words)) = declared else {
                return Err(Error::malformed(format!("the entity &{name:.40}; is not declared")));
            };
            // one that is empty is work, too
            self.replaced_bytes += words.len() + 1;
            if self.replaced_bytes > REPLACED_BYTES_MAX {
                return Err(too_many("bytes from entities", REPLACED_BYTES_MAX));
            }
            self.text.push_str(words);
        }
        Ok(())
    }

    /// Takes the entities of a document type: what each code is in words.
    fn declare(&mut self, declarations: &str) -> Result<(), Error> {
        for declaration in declarations.split("<!ENTITY").skip(1) {
            let Some((code, rest)) = declaration.trim_start().split_once(char::is_whitespace) else { continue };
            let rest = rest.trim_start();
            // Parameter entities (`%`) and those in other files are nothing to us.
            let Some(quote) = rest.chars().next().filter(|quote| matches!(quote, '"' | '\'')) else { continue };
            let Some((words, _)) = rest[1..].split_once(quote) else {
                return Err(Error::malformed(format!("the entity {code:.40} is not ended")));
            };
            if self.tags.len() == ENTITIES_MAX {
                let message = format!("more than {ENTITIES_MAX} entities are declared");
                return Err(Error::new(ErrorKind::TooLarge, message));
            }
            if code.len() > CODE_BYTES_MAX || words.len() > TAG_WORDS_BYTES_MAX {
                let message = format!(
                    "the entity {code:.40} has more than {CODE_BYTES_MAX} bytes, or its words more than {TAG_WORDS_BYTES_MAX}"
                );
                return Err(Error::new(ErrorKind::TooLarge, message));
            }
            // The first declaration holds, as XML has it; JMdict declares `ik` twice.
            if let hash_map::Entry::Vacant(place) = self.places.entry(code.to_owned()) {
                place.insert(self.tags.len());
                self.tags.push((code.to_owned(), words.to_owned()));
            }
        }
        Ok(())
    }

    fn finish(self, line: u64) -> Result<Source, Error> {
        let Some(format) = self.format else { return Err(unrecognised("the XML has no element")) };
        if self.depth > 0 {
            return Err(Error::malformed("the file ends within its elements: it is cut").at(line));
        }
        let title = match format {
            Format::JMnedict => "JMnedict",
            Format::JMdict | Format::Edict | Format::Edict2 | Format::Enamdict => "JMdict",
        };
        let Self { created, entries, tags, languages, .. } = self;
        Ok(Source { format, title: title.to_owned(), created, entries, tags, languages })
    }
}

impl Draft {
    /// Takes the text of an element.
    fn set(&mut self, field: Field, text: &str) -> Result<(), Error> {
        let Self { entry, of, stated, sense, .. } = self;
        if field.holds_codes() && text.len() > CODE_BYTES_MAX {
            let message = format!("a code has more than {CODE_BYTES_MAX} bytes: {text:.20}…");
            return Err(Error::new(ErrorKind::TooLarge, message));
        }
        match field {
            Field::Number => {
                entry.number = text.parse().map_err(|_| Error::malformed("the entry's number is no number"))?;
            }
            Field::HeadwordText => last(&mut entry.headwords)?.text = text.to_owned(),
            Field::HeadwordMark => last(&mut entry.headwords)?.marks.push(text.to_owned()),
            Field::HeadwordPriority => rank(&mut last(&mut entry.headwords)?.priority, text),
            Field::ReadingText => last(&mut entry.readings)?.text = text.to_owned(),
            Field::ReadingMark => last(&mut entry.readings)?.marks.push(text.to_owned()),
            Field::ReadingPriority => rank(&mut last(&mut entry.readings)?.priority, text),
            Field::ReadingOf => of.push((entry.readings.len().wrapping_sub(1), text.to_owned())),
            Field::ReadingApart => last(&mut entry.readings)?.is_apart = true,
            Field::PartOfSpeech => {
                let parts = &mut within(sense)?.sense.parts_of_speech;
                if parts.len() == ENTRY_CODES_MAX || stated.len() == ENTRY_CODES_MAX {
                    return Err(too_many("parts of speech", ENTRY_CODES_MAX));
                }
                parts.push(text.to_owned());
                if !stated.iter().any(|part| part == text) {
                    stated.push(text.to_owned());
                }
            }
            Field::Note => within(sense)?.sense.notes.push(text.to_owned()),
            Field::Remark => {
                let remark = &mut within(sense)?.sense.remark;
                *remark = Some(match remark.take() {
                    Some(before) => format!("{before}; {text}"),
                    None => text.to_owned(),
                });
            }
            Field::OfHeadword => {
                let place = entry.headwords.iter().position(|headword| headword.text == text);
                within(sense)?.sense.of_headwords.extend(place.and_then(|place| u16::try_from(place).ok()));
            }
            Field::OfReading => {
                let place = entry.readings.iter().position(|reading| reading.text == text);
                within(sense)?.sense.of_readings.extend(place.and_then(|place| u16::try_from(place).ok()));
            }
            Field::Gloss => {
                let sense = within(sense)?;
                sense.is_wanted = Some(true);
                if !text.is_empty() {
                    sense.sense.glosses.push(text.to_owned());
                }
            }
            Field::GlossOfOthers => {
                within(sense)?.is_wanted.get_or_insert(false);
            }
        }
        Ok(())
    }

    /// Ends a sense. Its parts of speech are those of the sense before, in the same language, if it has none of its own.
    fn finish_sense(&mut self, language: &str) {
        let Some(SenseDraft { mut sense, is_wanted }) = self.sense.take() else { return };
        if !is_wanted.unwrap_or(language == DEFAULT_LANGUAGE) {
            return;
        }
        if sense.parts_of_speech.is_empty() {
            sense.parts_of_speech.clone_from(&self.carried);
        } else {
            self.carried.clone_from(&sense.parts_of_speech);
        }
        if !sense.glosses.is_empty() {
            self.entry.senses.push(sense);
        }
    }

    fn finish(self, is_name: bool) -> Result<Entry, Error> {
        let Self { mut entry, of, stated, .. } = self;
        entry.is_name = is_name;
        if entry.readings.is_empty() {
            return Err(Error::malformed(format!("entry {} has no reading", entry.number)));
        }
        let texts = entry.headwords.iter().map(|headword| &headword.text);
        if texts.chain(entry.readings.iter().map(|reading| &reading.text)).any(String::is_empty) {
            return Err(Error::malformed(format!("entry {} has an empty form", entry.number)));
        }
        restrict(&mut entry, &of);
        // Where senses in the wanted language say nothing of parts of speech, as those in other languages than English do, it is not
        // known which of the entry's they have: any may be meant.
        for sense in entry.senses.iter_mut().filter(|sense| sense.parts_of_speech.is_empty()) {
            sense.parts_of_speech.clone_from(&stated);
        }
        Ok(entry)
    }
}

/// Says of readings of which headwords they are, each by its place and a headword's text.
fn restrict(entry: &mut Entry, of: &[(usize, String)]) {
    if of.is_empty() {
        return;
    }
    let mut places = HashMap::new();
    for (headword, place) in entry.headwords.iter().zip(0_u16..) {
        places.entry(headword.text.as_str()).or_insert(place);
    }
    let mut seen = HashSet::new();
    for (reading, text) in of {
        if let (Some(form), Some(place)) = (entry.readings.get_mut(*reading), places.get(text.as_str()))
            && seen.insert((*reading, *place))
        {
            form.of.push(*place);
        }
    }
}

/// The language of a gloss, if it is said.
fn language_of<'e>(element: &'e BytesStart) -> Option<Cow<'e, str>> {
    let named = element.attributes().with_checks(false).flatten().find(|attribute| {
        let key: &str = attribute.key.as_ref();
        key == "xml:lang"
    });
    named.map(|attribute| attribute.value)
}

fn last<T>(forms: &mut [T]) -> Result<&mut T, Error> {
    forms.last_mut().ok_or_else(|| Error::malformed("an element of a form stands outside of one"))
}

fn within(sense: &mut Option<SenseDraft>) -> Result<&mut SenseDraft, Error> {
    sense.as_mut().ok_or_else(|| Error::malformed("an element of a sense stands outside of one"))
}

fn rank(priority: &mut Priority, code: &str) {
    match code.strip_prefix("nf").map(str::parse) {
        Some(Ok(band)) => priority.band = band,
        Some(Err(_)) => {}
        None => priority.is_common |= matches!(code, "news1" | "ichi1" | "spec1" | "spec2" | "gai1"),
    }
}

/// The date that follows a word, as `2021-07-05`.
pub(super) fn date_after(text: &str, word: &str) -> Option<String> {
    let (_, rest) = text.split_once(word)?;
    let date = rest.trim_start().get(..10)?;
    let is_date = date
        .bytes()
        .enumerate()
        .all(|(place, byte)| if matches!(place, 4 | 7) { byte == b'-' } else { byte.is_ascii_digit() });
    is_date.then(|| date.to_owned())
}
