//! What was found, as JSON.

use crate::gloss::{Meaning, Name, Span, Word};
use std::fmt::{self, Write};
use thalweg_json::{write_inside, write_int, write_string};

/// Appends a span: where it is, in characters from the text's beginning, and its entries.
///
/// ```json
/// {"start":0,"end":4,"text":"食べた","entries":[{"headword":"食べる","reading":"たべる","reasons":["past"],"glosses":["to eat"], …}]}
/// ```
pub fn write_json(out: &mut Vec<u8>, span: Span<'_>) {
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
    let (meanings, more) = span.meanings_and_more();
    put(out, b",\"entries\":");
    array(out, meanings, |out, meaning| match meaning {
        Meaning::Word(entry) => word(out, entry),
        Meaning::Name(entry) => name(out, entry),
    });
    if more > 0 {
        put(out, b",\"more\":");
        write_int(out, more);
    }
    out.push(b'}');
}

fn word(out: &mut Vec<u8>, word: Word<'_>) {
    put(out, b"{\"headword\":");
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
    out.push(b'}');
}

fn name(out: &mut Vec<u8>, name: Name<'_>) {
    put(out, b"{\"headword\":");
    write_string(out, name.headword().as_bytes());
    put(out, b",\"reading\":");
    shown(out, name.reading());
    put(out, b",\"name\":true,\"reasons\":[],\"glosses\":");
    array(out, name.glosses(), shown);
    put(out, b",\"notes\":");
    texts(out, name.notes().map(|tag| tag.code.as_str()));
    out.push(b'}');
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
