//! The ancestor's way: the whole source in memory, a table from each headword and reading to slices of it, every substring of a text looked
//! up, and each with every suffix that a rule may put another one for, again and again until nothing new comes.

use crate::fold::fold;
use crate::{Outcome, prepare::folded};
use std::collections::HashMap;
use std::fs;
use std::hash::BuildHasher;
use std::ops::Range;
use std::path::Path;
use thalweg_gloss::grammar::grammar;

/// No substring that is longer is looked up.
pub const SUBSTRING_CHARS_MAX: usize = 24;
/// A rule of suffixes is joined of no more steps of the grammar.
const STEPS_MAX: usize = 12;

/// Bits of the grammar's classes.
type Classes = u128;

/// A dictionary the ancestor's way.
#[derive(Debug)]
pub struct Ancestor<S> {
    lines: String,
    entries: Vec<Entry>,
    index: HashMap<String, Vec<u32>, S>,
    names: String,
    name_index: HashMap<String, Vec<Range<u32>>, S>,
    rules: HashMap<String, Vec<Rule>, S>,
    suffix_chars_max: usize,
}

#[derive(Debug)]
struct Entry {
    line: Range<u32>,
    classes: Classes,
}

/// What ends so may come from what ends otherwise.
#[derive(Debug, Clone)]
struct Rule {
    /// Of which class the form is.
    result: Classes,
    to: &'static str,
    /// Of which classes the word is that it comes from.
    classes: Classes,
    after_kanji: bool,
    reasons: Vec<&'static str>,
}

/// Something that was found.
#[derive(Debug, Clone)]
pub struct Found<'a> {
    /// Where, in characters.
    pub start: u32,
    /// Where it ends.
    pub end: u32,
    /// Its line.
    pub entry: &'a str,
    /// Why it stands there in another form.
    pub reasons: Vec<&'static str>,
    /// Whether it is a name.
    pub is_name: bool,
}

struct Candidate {
    word: String,
    classes: Classes,
    reasons: Vec<&'static str>,
}

impl<S: BuildHasher + Default> Ancestor<S> {
    /// Reads the lines.
    pub fn open(words: &Path, names: &Path) -> Outcome<Ancestor<S>> {
        let (lines, names) = (fs::read_to_string(words)?, fs::read_to_string(names)?);
        let (mut entries, mut index) = (Vec::new(), HashMap::<String, Vec<u32>, S>::default());
        let mut at = 0;
        for line in lines.split_inclusive('\n') {
            let mut columns = line.trim_end().split('\t');
            let (headwords, readings) = (columns.next().unwrap_or(""), columns.next().unwrap_or(""));
            let classes = columns
                .filter_map(|sense| sense.strip_prefix('(')?.split_once(')'))
                .fold(0, |classes, (parts, _)| classes | classes_of(parts));
            let number = entries.len() as u32;
            for form in headwords.split(';').chain(readings.split(';')).filter(|form| !form.is_empty()) {
                let known = index.entry(folded(form)).or_default();
                if known.last() != Some(&number) {
                    known.push(number);
                }
            }
            entries.push(Entry { line: at..at + line.trim_end().len() as u32, classes });
            at += line.len() as u32;
        }
        let mut name_index = HashMap::<String, Vec<Range<u32>>, S>::default();
        at = 0;
        for line in names.split_inclusive('\n') {
            let (headwords, rest) = line.split_once('\t').unwrap_or((line, ""));
            let headwords = if headwords.is_empty() { rest.split('\t').next().unwrap_or("") } else { headwords };
            for headword in headwords.split(';') {
                name_index.entry(headword.to_owned()).or_default().push(at..at + line.trim_end().len() as u32);
            }
            at += line.len() as u32;
        }
        let mut rules = HashMap::<String, Vec<Rule>, S>::default();
        joined(&mut |from, rule| {
            let known = rules.entry(from).or_default();
            let same = known
                .iter_mut()
                .find(|known| (known.result, known.to, known.after_kanji) == (rule.result, rule.to, rule.after_kanji));
            match same {
                Some(same) => same.classes |= rule.classes,
                None => known.push(rule),
            }
        });
        let suffix_chars_max = rules.keys().map(|from| from.chars().count()).max().unwrap_or(0);
        Ok(Ancestor { lines, entries, index, names, name_index, rules, suffix_chars_max })
    }

    /// How many pairs of suffixes there are.
    pub fn rules(&self) -> usize {
        self.rules.values().map(Vec::len).sum()
    }

    /// How many keys there are, of words and of names.
    pub fn keys(&self) -> (usize, usize) {
        (self.index.len(), self.name_index.len())
    }

    /// Everything in a text, and how many look-ups it took.
    pub fn read(&self, text: &str, with_names: bool) -> (Vec<Found<'_>>, usize) {
        let folded: String = text.chars().map(fold).collect();
        let places = |text: &str| text.char_indices().map(|(byte, _)| byte).chain([text.len()]).collect::<Vec<_>>();
        let (places, name_places) = (places(&folded), places(text));
        let (mut found, mut lookups) = (Vec::new(), 0);
        for start in 0..places.len() - 1 {
            for end in start + 1..places.len().min(start + 1 + SUBSTRING_CHARS_MAX) {
                // no word goes on behind these
                if matches!(
                    folded[places[end - 1]..].chars().next(),
                    Some('。' | '、' | '「' | '」' | '\n' | '\u{3000}')
                ) {
                    break;
                }
                let part = &folded[places[start]..places[end]];
                self.words(part, (start as u32, end as u32), &mut found, &mut lookups);
                if with_names {
                    lookups += 1;
                    let part = &text[name_places[start]..name_places[end]];
                    let names = self.name_index.get(part).into_iter().flatten();
                    found.extend(names.map(|name| Found {
                        start: start as u32,
                        end: end as u32,
                        entry: &self.names[name.start as usize..name.end as usize],
                        reasons: Vec::new(),
                        is_name: true,
                    }));
                }
            }
        }
        (found, lookups)
    }

    fn words<'a>(&'a self, part: &str, (start, end): (u32, u32), found: &mut Vec<Found<'a>>, lookups: &mut usize) {
        let mut seen = Vec::<u32>::new();
        let mut candidates = vec![Candidate { word: part.to_owned(), classes: Classes::MAX, reasons: Vec::new() }];
        let mut at = 0;
        while at < candidates.len() {
            let Candidate { word, classes, reasons } = &candidates[at];
            *lookups += 1;
            for entry in self.index.get(word).into_iter().flatten() {
                let Entry { line, classes: is_of } = &self.entries[*entry as usize];
                if (at == 0 || is_of & classes != 0) && !seen.contains(entry) {
                    seen.push(*entry);
                    let entry = &self.lines[line.start as usize..line.end as usize];
                    found.push(Found { start, end, entry, reasons: reasons.clone(), is_name: false });
                }
            }
            let mut new = Vec::new();
            let suffixes = word.char_indices().rev().map(|(byte, _)| byte).take(self.suffix_chars_max);
            for byte in [word.len()].into_iter().chain(suffixes) {
                for rule in self.rules.get(&word[byte..]).into_iter().flatten() {
                    let stem = &word[..byte];
                    if rule.result & classes == 0
                        || (rule.after_kanji && !stem.chars().next_back().is_some_and(crate::fold::is_kanji))
                    {
                        continue;
                    }
                    let reasons = rule.reasons.iter().chain(reasons).copied().collect();
                    new.push(Candidate { word: [stem, rule.to].concat(), classes: rule.classes, reasons });
                }
            }
            at += 1;
            for candidate in new {
                let same = candidates[1..].iter_mut().position(|known| known.word == candidate.word);
                match same.map(|same| same + 1) {
                    // one whose rules are still to come may be of more classes at once
                    Some(same) if same >= at => candidates[same].classes |= candidate.classes,
                    Some(same) if candidate.classes & !candidates[same].classes == 0 => {}
                    _ => candidates.push(candidate),
                }
            }
        }
    }
}

/// The classes that words of these parts of speech may be of.
fn classes_of(parts: &str) -> Classes {
    let of = grammar()
        .classes()
        .iter()
        .enumerate()
        .filter(|(_, class)| parts.split(',').any(|part| class.parts_of_speech.contains(&part)));
    of.fold(0, |classes, (class, _)| classes | 1 << class)
}

/// The grammar's rules joined until each leads from a word that stands to one that stands, as pairs of suffixes.
fn joined(put: &mut dyn FnMut(String, Rule)) {
    let grammar = grammar();
    let begins = |class: &thalweg_gloss::grammar::Class| class.stands || !class.parts_of_speech.is_empty();
    for (number, class) in grammar.classes().iter().enumerate().filter(|(_, class)| begins(class)) {
        let mut open = vec![(class.ending.to_owned(), number, Vec::new(), 0)];
        while let Some((text, at, reasons, steps)) = open.pop() {
            for rule in grammar.rules_of(at) {
                let rule = &grammar.rules()[usize::from(*rule)];
                let Some(text) = grammar.step(rule, &text) else { continue };
                let reasons: Vec<_> = reasons.iter().copied().chain(rule.reason).collect();
                if begins(&grammar.classes()[rule.result]) {
                    let (result, classes) = (1 << rule.result, 1 << number);
                    put(text, Rule { result, to: class.ending, classes, after_kanji: class.after_kanji, reasons });
                } else if steps < STEPS_MAX {
                    open.push((text, rule.result, reasons, steps + 1));
                }
            }
        }
    }
}
