//! What is compared is made from the same sources: the dictionary, the lines that the ancestor's way reads, and the keys alone.

use crate::Outcome;
use crate::figures::Figures;
use crate::fold::{fold, voiced};
use serde_json::json;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Instant;
use thalweg_gloss::source::{self, DEFAULT_LANGUAGE};
use thalweg_gloss::{Builder, Entry};

/// Where what was made stands.
#[derive(Debug)]
pub struct Prepared {
    /// The compiled dictionary.
    pub dictionary: PathBuf,
    /// A word a line, laid out as EDICT2 but for tabs.
    pub words: PathBuf,
    /// A name a line, likewise.
    pub names: PathBuf,
    /// A folded key a line, in order.
    pub keys: PathBuf,
}

impl Prepared {
    /// Where it stands, or will.
    pub fn at(directory: &Path) -> Prepared {
        Prepared {
            dictionary: directory.join("full.gloss"),
            words: directory.join("words.txt"),
            names: directory.join("names.txt"),
            keys: directory.join("keys.txt"),
        }
    }

    /// Makes the dictionary, with the time for each step, and then the rest.
    pub fn make(&self, words: &Path, names: &Path, figures: &mut Figures) -> Outcome {
        self.build(words, names, figures)?;
        let (mut lines, mut keys) = (String::new(), Vec::new());
        for (from, to) in [(words, &self.words), (names, &self.names)] {
            lines.clear();
            source::read(File::open(from)?, DEFAULT_LANGUAGE, &mut |entry| {
                put_line(&mut lines, &entry);
                // a name is looked for as it is written
                let is_written = entry.is_name && !entry.headwords.is_empty();
                keys.extend(
                    forms(&entry).take(if is_written { entry.headwords.len() } else { usize::MAX }).map(folded),
                );
                Ok(())
            })?;
            fs::write(to, &lines)?;
        }
        keys.sort_unstable();
        keys.dedup();
        fs::write(&self.keys, keys.join("\n"))?;
        Ok(())
    }

    fn build(&self, words: &Path, names: &Path, figures: &mut Figures) -> Outcome {
        let mut builder = Builder::new();
        let mut seconds = Vec::new();
        for path in [words, names] {
            let started = Instant::now();
            let source = source::read(File::open(path)?, DEFAULT_LANGUAGE, &mut |entry| builder.add(&entry))?;
            builder.source(&source);
            seconds.push(started.elapsed().as_secs_f64());
            println!("{} entries of {}", source.entries, source.title);
        }
        let started = Instant::now();
        let file = builder.finish()?;
        seconds.push(started.elapsed().as_secs_f64());
        let started = Instant::now();
        let mut out = File::create(&self.dictionary)?;
        std::io::Write::write_all(&mut out, &file)?;
        out.sync_all()?;
        seconds.push(started.elapsed().as_secs_f64());
        figures.put(
            "build",
            json!({
                "words_s": seconds[0], "names_s": seconds[1], "finish_s": seconds[2], "write_and_sync_s": seconds[3],
                "all_s": seconds.iter().sum::<f64>(), "bytes": file.len(), "parts": parts(&file),
            }),
        );
        Ok(())
    }
}

/// The parts of a dictionary's file in their order, as its header has them: behind 32 bytes, where each begins, how long it is, its
/// checksum.
fn parts(file: &[u8]) -> serde_json::Value {
    const PARTS: [&str; 9] =
        ["sources", "tags", "alphabet", "trie", "postings", "kinds", "words", "names", "kinds of names"];
    let number = |at: usize| file.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes);
    PARTS
        .iter()
        .enumerate()
        .map(|(at, part)| ((*part).to_owned(), json!(number(32 + at * 24 + 8))))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn forms(entry: &Entry) -> impl Iterator<Item = &str> {
    entry.headwords.iter().map(|form| form.text.as_str()).chain(entry.readings.iter().map(|form| form.text.as_str()))
}

/// Headwords, readings, then the senses with their parts of speech, then the number.
fn put_line(out: &mut String, entry: &Entry) {
    let put = |out: &mut String, texts: &mut dyn Iterator<Item = &str>, between: &str| {
        for (at, text) in texts.enumerate() {
            out.push_str(if at > 0 { between } else { "" });
            out.push_str(text);
        }
    };
    put(out, &mut entry.headwords.iter().map(|form| form.text.as_str()), ";");
    out.push('\t');
    put(out, &mut entry.readings.iter().map(|form| form.text.as_str()), ";");
    for sense in &entry.senses {
        out.push_str("\t(");
        put(out, &mut sense.parts_of_speech.iter().map(String::as_str), ",");
        out.push_str(") ");
        put(out, &mut sense.glosses.iter().map(String::as_str), "; ");
    }
    let _ = writeln!(out, "\tEntL{}", entry.number);
}

/// A key as the dictionary folds it.
pub fn folded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match out.chars().next_back().and_then(|last| voiced(last, c)) {
            Some(voiced) => {
                out.pop();
                out.push(voiced);
            }
            None => out.push(fold(c)),
        }
    }
    out
}
