//! The golden sentences: what a careful reader would want to see of them is found. `cases/gloss/reasons.md` says what their lines ask for.

use std::fmt::Write;
use std::path::Path;
use thalweg_gloss::{Dictionary, Meaning, Options, Reader, Span, Word, small};

/// A sentence with what is asked of it.
struct Sentence {
    text: String,
    lines: Vec<Line>,
}

/// One line below a sentence.
#[derive(Clone)]
struct Line {
    asks: Asks,
    surface: String,
    headword: String,
    /// None where it is the headword.
    reading: Option<String>,
    reasons: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Asks {
    /// It is the first word of the longest span.
    First,
    Offered,
    Absent,
    Name,
}

#[test]
fn every_golden_line_is_found() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases/gloss");
    let mut files: Vec<_> = std::fs::read_dir(cases).unwrap().map(|file| file.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "txt") && !file.ends_with("words.txt"));
    files.sort();
    let (dictionary, mut reader) = (small().unwrap(), Reader::new());
    let (mut sentences, mut lines, mut failed, mut report) = (0, 0, 0, String::new());
    for file in files {
        for sentence in read_sentences(&std::fs::read_to_string(&file).unwrap()) {
            sentences += 1;
            lines += sentence.lines.len();
            let failures = check(&dictionary, &mut reader, &sentence);
            failed += failures.len();
            for failure in failures {
                let file = file.file_name().unwrap().display();
                writeln!(report, "{file}: {}\n{failure}", sentence.text).unwrap();
            }
        }
    }
    println!("{sentences} sentences, {lines} lines, {failed} of them not as they ask");
    assert!(sentences >= 300, "there are {sentences} sentences");
    assert!(failed == 0, "{failed} of {lines} lines:\n{report}");
}

fn read_sentences(text: &str) -> Vec<Sentence> {
    let mut sentences: Vec<Sentence> = Vec::new();
    for line in text.lines().skip(1).filter(|line| !line.trim().is_empty()) {
        match line.strip_prefix("  ") {
            Some(line) => sentences.last_mut().expect("a line stands below a sentence").lines.push(read_line(line)),
            None => sentences.push(Sentence { text: line.to_owned(), lines: Vec::new() }),
        }
    }
    sentences
}

fn read_line(line: &str) -> Line {
    let (asks, rest) = match line.split_once(' ') {
        Some(("?", rest)) => (Asks::Offered, rest),
        Some(("!", rest)) => (Asks::Absent, rest),
        Some(("~", rest)) => (Asks::Name, rest),
        _ => (Asks::First, line),
    };
    let (surface, word) = rest.split_once(" = ").unwrap_or_else(|| panic!("{line}: there is no ="));
    let (word, reasons) = word.split_once(" < ").unwrap_or((word, ""));
    let (headword, reading) = match word.split_once(' ') {
        Some((headword, reading)) => (headword, Some(reading.to_owned())),
        None => (word, None),
    };
    let reasons = reasons.split(", ").filter(|reason| !reason.is_empty()).map(str::to_owned).collect();
    Line { asks, surface: surface.to_owned(), headword: headword.to_owned(), reading, reasons }
}

impl Line {
    fn is(&self, word: Word<'_, '_>) -> bool {
        self.is_entry(word) && word.reasons().eq(self.reasons.iter().map(String::as_str))
    }

    fn is_entry(&self, word: Word<'_, '_>) -> bool {
        match &self.reading {
            Some(reading) => word.first_headword() == self.headword && word.readings().any(|known| known == reading),
            None => word.readings().any(|known| known == self.headword),
        }
    }
}

/// What each line that fails says, and what was found where it asks for something.
fn check(dictionary: &Dictionary, reader: &mut Reader, sentence: &Sentence) -> Vec<String> {
    let gloss = reader.read(dictionary, &sentence.text, &Options::default());
    let spans: Vec<Span<'_, '_>> = gloss.spans().collect();
    let mut failures = Vec::new();
    for line in &sentence.lines {
        let places: Vec<usize> = sentence.text.match_indices(&line.surface).map(|(place, _)| place).collect();
        let holds = |place: usize| {
            let end = place + line.surface.len();
            let here = || spans.iter().filter(move |span| span.bytes().start == place);
            let exact = || here().filter(move |span| span.bytes().end == end);
            match line.asks {
                Asks::First => {
                    let longest = here().find(|span| span.number().is_none() && span.words().next().is_some());
                    let same: Vec<&Line> = sentence
                        .lines
                        .iter()
                        .filter(|other| other.asks == Asks::First && other.surface == line.surface)
                        .collect();
                    longest.is_some_and(|span| {
                        span.bytes().end == end
                            && span.words().take(same.len()).any(|word| line.is(word))
                            && span.words().next().is_some_and(|word| same.iter().any(|line| line.is(word)))
                    })
                }
                Asks::Offered => exact().flat_map(|span| span.words()).any(|word| line.is(word)),
                Asks::Absent => !exact().flat_map(|span| span.words()).any(|word| line.is_entry(word)),
                Asks::Name => exact().flat_map(|span| span.meanings()).any(|meaning| match meaning {
                    Meaning::Word(_) => false,
                    Meaning::Name(name) => {
                        name.headword() == line.headword
                            && line.reading.as_ref().is_none_or(|reading| name.reading().to_string() == *reading)
                    }
                }),
            }
        };
        let is_kept = match line.asks {
            Asks::Absent => !places.is_empty() && places.iter().all(|place| holds(*place)),
            Asks::First | Asks::Offered | Asks::Name => places.iter().any(|place| holds(*place)),
        };
        if !is_kept {
            failures.push(told(line, &places, &spans));
        }
    }
    failures
}

fn told(line: &Line, places: &[usize], spans: &[Span<'_, '_>]) -> String {
    let mark = match line.asks {
        Asks::First => "",
        Asks::Offered => "? ",
        Asks::Absent => "! ",
        Asks::Name => "~ ",
    };
    let mut told = format!("  {mark}{} = {}", line.surface, line.headword);
    if let Some(reading) = &line.reading {
        write!(told, " {reading}").unwrap();
    }
    writeln!(told, " < {}", line.reasons.join(", ")).unwrap();
    for span in spans.iter().filter(|span| places.contains(&span.bytes().start) && span.number().is_none()).take(4) {
        for meaning in span.meanings().take(4) {
            match meaning {
                Meaning::Word(word) => {
                    let (headword, reasons) = (word.first_headword(), word.reasons().collect::<Vec<_>>().join(", "));
                    writeln!(told, "      {} = {headword} {} < {reasons}", span.text(), word.reading()).unwrap();
                }
                Meaning::Name(name) => {
                    writeln!(told, "      {} ~ {} {}", span.text(), name.headword(), name.reading()).unwrap();
                }
            }
        }
    }
    told
}
