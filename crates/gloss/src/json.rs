//! What was found, as JSON.

use crate::gloss::{Meaning, Name, Span, Word};
use crate::ids::{WordIds, table_bytes};
use std::collections::HashSet;
use std::fmt::{self, Write};
use thalweg_json::{write_inside, write_int, write_string};

/// Appends a span: where it is, in characters from the text's beginning, and its entries.
///
/// ```json
/// {"start":0,"end":4,"text":"食べた","entries":[{"headword":"食べる","reading":"たべる","reasons":["past"],"glosses":["to eat"], …}]}
/// ```
pub fn write_json(out: &mut Vec<u8>, span: Span<'_, '_>) {
    write(out, span, |out, meaning| {
        out.push(b'{');
        match meaning {
            Meaning::Word(told) => word(out, told),
            Meaning::Name(told) => name(out, told),
        }
        out.push(b'}');
    });
}

/// Writes spans as [`write_json`] does, but each entry once: a text's words as a dictionary of its own.
///
/// An entry has an `id`. Where it comes again it has nothing but that, and its reasons there.
///
/// ```json
/// {"start":9,"end":12,"text":"食べる","entries":[{"id":"w1358280","reasons":[]}]}
/// ```
#[derive(Debug, Default)]
pub struct Json {
    words: WordIds,
    /// A name by its key and its place among those that are written alike.
    names: HashSet<(u32, usize)>,
}

impl Json {
    /// Of which no entry has been told yet.
    pub fn new() -> Json {
        Json::default()
    }

    /// Returns the memory of the record of the entries written so far, in bytes. It grows with each
    /// new entry.
    pub fn memory_bytes(&self) -> usize {
        self.words.memory_bytes() + table_bytes::<(u32, usize)>(self.names.capacity())
    }

    /// Appends a span.
    pub fn write(&mut self, out: &mut Vec<u8>, span: Span<'_, '_>) {
        let mut alike = (None, 0);
        write(out, span, |out, meaning| match meaning {
            Meaning::Word(told) => {
                let (id, is_new) = self.words.of(told);
                put(out, b"{\"id\":");
                shown(out, id);
                if is_new {
                    out.push(b',');
                    word(out, told);
                } else {
                    put(out, b",\"reasons\":");
                    texts(out, told.reasons());
                }
                out.push(b'}');
            }
            Meaning::Name(told) => {
                let key = told.key();
                alike = (Some(key), if alike.0 == Some(key) { alike.1 + 1 } else { 0 });
                put(out, b"{\"id\":");
                shown(out, format_args!("n{key}-{}", alike.1));
                if self.names.insert((key, alike.1)) {
                    out.push(b',');
                    name(out, told);
                } else {
                    put(out, b",\"reasons\":[]");
                }
                out.push(b'}');
            }
        });
    }
}

fn write(out: &mut Vec<u8>, span: Span<'_, '_>, meaning: impl FnMut(&mut Vec<u8>, Meaning<'_, '_>)) {
    put(out, b"{\"start\":");
    write_int(out, span.start());
    put(out, b",\"end\":");
    write_int(out, span.end());
    put(out, b",\"text\":");
    write_string(out, span.text().as_bytes());
    if let Some(number) = span.number() {
        put(out, b",\"number\":");
        write_int(out, number);
    }
    let (meanings, more) = (span.meanings(), span.more());
    put(out, b",\"entries\":");
    array(out, meanings, meaning);
    if more > 0 {
        put(out, b",\"more\":");
        write_int(out, more);
    }
    out.push(b'}');
}

/// What is said of a word, without the braces around it.
fn word(out: &mut Vec<u8>, word: Word<'_, '_>) {
    put(out, b"\"headword\":");
    write_string(out, word.headword().as_bytes());
    put(out, b",\"reading\":");
    write_string(out, word.reading().as_bytes());
    put(out, b",\"name\":false,\"reasons\":");
    texts(out, word.reasons());
    put(out, b",\"glosses\":");
    texts(out, word.glosses());
    put(out, b",\"senses\":");
    array(out, word.senses(), |out, sense| {
        put(out, b"{\"glosses\":");
        write_int(out, sense.glosses().count());
        put(out, b",\"parts_of_speech\":");
        texts(out, sense.parts_of_speech().map(|tag| tag.code.as_str()));
        if sense.notes().next().is_some() {
            put(out, b",\"notes\":");
            texts(out, sense.notes().map(|tag| tag.code.as_str()));
        }
        if !sense.remark().is_empty() {
            put(out, b",\"remark\":");
            write_string(out, sense.remark().as_bytes());
        }
        out.push(b'}');
    });
    put(out, if word.is_common() { b",\"common\":true" } else { b",\"common\":false" });
    if word.marks().next().is_some() {
        put(out, b",\"marks\":");
        texts(out, word.marks().map(|tag| tag.code.as_str()));
    }
    if let Some(level) = word.level() {
        put(out, b",\"level\":\"N");
        write_int(out, level);
        out.push(b'"');
    }
    if let Some(band) = word.frequency() {
        put(out, b",\"frequency\":");
        write_int(out, band);
    }
    if word.number() > 0 {
        put(out, b",\"number\":");
        write_int(out, word.number());
    }
}

/// The same of a name.
fn name(out: &mut Vec<u8>, name: Name<'_>) {
    put(out, b"\"headword\":");
    write_string(out, name.headword().as_bytes());
    put(out, b",\"reading\":");
    shown(out, name.reading());
    put(out, b",\"name\":true,\"reasons\":[],\"glosses\":");
    array(out, name.glosses(), shown);
    put(out, b",\"notes\":");
    texts(out, name.notes().map(|tag| tag.code.as_str()));
}

/// Appends what is written a piece at a time.
fn shown(out: &mut Vec<u8>, text: impl fmt::Display) {
    out.push(b'"');
    let mut inside = Inside(out);
    // a buffer takes all
    let _ = write!(inside, "{text}");
    out.push(b'"');
}

/// The inside of a string.
struct Inside<'a>(&'a mut Vec<u8>);

impl fmt::Write for Inside<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        write_inside(self.0, text.as_bytes());
        Ok(())
    }
}

fn texts<'a>(out: &mut Vec<u8>, texts: impl Iterator<Item = &'a str>) {
    array(out, texts, |out, text| write_string(out, text.as_bytes()));
}

fn array<T>(out: &mut Vec<u8>, items: impl Iterator<Item = T>, mut write: impl FnMut(&mut Vec<u8>, T)) {
    out.push(b'[');
    for (at, item) in items.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write(out, item);
    }
    out.push(b']');
}

fn put(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, Reader, small};
    use serde_json::Value;
    use std::collections::HashMap;

    /// Texts as a page or an answer has them, one behind the other.
    fn spans(texts: &[&str], mut write: impl FnMut(&mut Vec<u8>, Span<'_, '_>)) -> Vec<Value> {
        let dictionary = small().unwrap();
        let mut reader = Reader::new();
        let mut spans = Vec::new();
        for text in texts {
            for span in reader.read(&dictionary, text, &Options::default()).spans() {
                let mut out = Vec::new();
                write(&mut out, span);
                spans.push(serde_json::from_slice(&out).unwrap());
            }
        }
        spans
    }

    #[test]
    fn what_is_told_once_is_told_as_often_as_it_is_there() {
        let texts = [
            "田中さんは子どもに野菜を食べさせた。田中さんの子どもも食べる。",
            "たなかさんは二十本のえんぴつを買って、二十本ともあげてしまった。",
        ];
        let all = spans(&texts, write_json);
        let mut json = Json::new();
        let mut once = spans(&texts, |out, span| json.write(out, span));
        let mut told: HashMap<String, serde_json::Map<String, Value>> = HashMap::new();
        let (mut is_new, mut is_again) = (0, 0);
        for entry in once.iter_mut().flat_map(|span| span["entries"].as_array_mut().unwrap()) {
            let entry = entry.as_object_mut().unwrap();
            let Some(Value::String(id)) = entry.remove("id") else { panic!("{entry:?} has no id") };
            if entry.contains_key("headword") {
                is_new += 1;
                assert!(told.insert(id, entry.clone()).is_none(), "{entry:?} is told twice");
            } else {
                is_again += 1;
                let reasons = entry.remove("reasons").unwrap();
                assert!(entry.is_empty(), "{entry:?}");
                entry.clone_from(&told[&id]);
                entry.insert("reasons".to_owned(), reasons);
            }
        }
        assert!(is_new > 50 && is_again > 30, "{is_new} {is_again}");
        assert_eq!(once, all);
    }
}
