//! `thalweg gloss`: dictionaries compiled or fetched, texts read along them.

mod build;
mod fetch;

pub(crate) use fetch::kept as full_dictionary;

use std::error::Error;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use thalweg_gloss::{COLUMNS, Dictionary, Html, Json, Known, Meaning, Options, Origin, Reader, Span, Step};
use thalweg_gloss::{possible, write_columns, write_json, write_sources};

#[derive(clap::Subcommand)]
pub(crate) enum Gloss {
    /// Compile dictionaries into one file
    Build(build::Build),
    /// Fetch the full dictionary, 75 MB, and compile it
    Fetch {
        /// The file to write; without one, that which `thalweg demo reader --full` reads
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Read a text, and print the dictionary entries of every word
    Text(Text),
    /// Say step by step why a word looks as it does
    Explain {
        /// The word, as it stands in a text
        word: String,
        /// The compiled dictionary; without one, a small one that the program has with it
        #[arg(long, value_name = "FILE")]
        dict: Option<PathBuf>,
    },
}

#[derive(clap::Args)]
pub(crate) struct Text {
    /// The compiled dictionary; without one, a small one that the program has with it
    #[arg(long, value_name = "FILE")]
    dict: Option<PathBuf>,
    /// How it is printed
    #[arg(long, value_enum, default_value = "json")]
    format: Format,
    /// Words that are left out: one a line, in its dictionary form, as it is written or read; what stands behind a tab is a remark;
    /// at most 1 MiB
    #[arg(long, value_name = "FILE")]
    known: Option<PathBuf>,
    /// Tell each entry once in JSON, as HTML does: where it comes again it has only its id and its reasons
    #[arg(long)]
    once: bool,
    /// Leave names out
    #[arg(long)]
    no_names: bool,
    /// At most so many words of one span, and so many names
    #[arg(long, value_name = "COUNT", default_value_t = Options::default().entries_per_span_max)]
    entries: usize,
    /// The text; - is standard input
    file: PathBuf,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    /// An array of spans with their entries
    Json,
    /// A page: the text with a mark at each place where something begins, and each entry once
    Html,
    /// Columns between tabs, a line for each entry
    Columns,
}

pub(crate) fn run(gloss: Gloss) -> Result<(), Box<dyn Error>> {
    match gloss {
        Gloss::Build(build) => build::build(&build),
        Gloss::Fetch { out: Some(out) } => fetch::build(&out),
        Gloss::Fetch { out: None } => unless_nobody_reads(kept()),
        Gloss::Text(text) => unless_nobody_reads(self::text(&text)),
        Gloss::Explain { word, dict } => unless_nobody_reads(explain(&word, dict.as_deref())),
    }
}

fn kept() -> Result<(), Box<dyn Error>> {
    let (path, dictionary) = fetch::kept()?;
    let mut out = io::stdout();
    writeln!(out, "{}", path.display())?;
    for source in dictionary.sources() {
        writeln!(out, "{}", told(source))?;
    }
    Ok(())
}

/// A source in words: `JMdict 2021-07-05, 192310 entries`.
pub(crate) fn told(Origin { title, created, entries, kind }: &Origin) -> String {
    let space = if created.is_empty() { "" } else { " " };
    format!("{title}{space}{created}, {entries} {}", kind.name())
}

fn text(text: &Text) -> Result<(), Box<dyn Error>> {
    let dictionary = dictionary(text.dict.as_deref())?;
    let known = match &text.known {
        Some(path) => Some(known(&dictionary, path)?),
        None => None,
    };
    let options = Options { names: !text.no_names, entries_per_span_max: text.entries, known: known.as_ref() };
    let input: Box<dyn Read> =
        if text.file == Path::new("-") { Box::new(io::stdin().lock()) } else { Box::new(opened(&text.file)?) };
    let mut printed = Printed {
        format: text.format,
        once: text.once.then(Json::new),
        html: Html::new(),
        chunk: Vec::new(),
        has_spans: false,
    };
    printed.begin();
    let mut failed = None;
    let read = Reader::new().read_all(&dictionary, input, &options, &mut |gloss| {
        printed.put(gloss).map_err(|error| {
            failed = Some(error);
            thalweg_gloss::Error::stopped("nobody takes what is printed")
        })
    });
    match (read, failed) {
        (_, Some(error)) => Err(error.into()),
        (Err(error), None) if text.file == Path::new("-") => Err(format!("standard input: {error}").into()),
        (Err(error), None) => Err(in_file(&text.file, &error)),
        (Ok(()), None) => Ok(printed.end(&dictionary)?),
    }
}

/// A list of the words that somebody knows is no longer.
const KNOWN_BYTES_MAX: u64 = 1 << 20;

/// The words of a list; it is said how many lines of it are of no use.
fn known(dictionary: &Dictionary, path: &Path) -> Result<Known, Box<dyn Error>> {
    let mut list = Vec::new();
    let read = opened(path)?.take(KNOWN_BYTES_MAX + 1).read_to_end(&mut list);
    read.map_err(|error| in_file(path, &error))?;
    if list.len() as u64 > KNOWN_BYTES_MAX {
        return Err(format!("{}: has more than {KNOWN_BYTES_MAX} bytes", path.display()).into());
    }
    let list = std::str::from_utf8(&list).map_err(|error| in_file(path, &error))?;
    let list = list.strip_prefix('\u{feff}').unwrap_or(list);
    let (mut known, mut all, mut unheard) = (Known::default(), 0_u32, 0_u32);
    for line in list.lines().filter(|line| !line.trim().is_empty()) {
        all += 1;
        unheard += u32::from(!known.add(dictionary, line));
    }
    if unheard > 0 {
        eprintln!("{}: of {unheard} of {all} lines no entry was found", path.display());
    }
    Ok(known)
}

/// What is printed of a text, as it comes.
struct Printed {
    format: Format,
    once: Option<Json>,
    html: Html,
    chunk: Vec<u8>,
    has_spans: bool,
}

impl Printed {
    fn begin(&mut self) {
        self.chunk.extend_from_slice(match self.format {
            Format::Json => b"[",
            Format::Html => HEAD.as_bytes(),
            Format::Columns => COLUMNS.as_bytes(),
        });
    }

    fn put(&mut self, gloss: thalweg_gloss::Gloss<'_, '_>) -> io::Result<()> {
        match self.format {
            Format::Html => {
                self.html.write(&mut self.chunk, gloss);
                self.write(CHUNK_BYTES)?;
            }
            Format::Columns => {
                for span in gloss.spans() {
                    write_columns(&mut self.chunk, span);
                    self.write(CHUNK_BYTES)?;
                }
            }
            Format::Json => {
                for span in gloss.spans() {
                    self.chunk.extend_from_slice(if self.has_spans { b",\n" } else { b"" });
                    match &mut self.once {
                        Some(json) => json.write(&mut self.chunk, span),
                        None => write_json(&mut self.chunk, span),
                    }
                    self.has_spans = true;
                    self.write(CHUNK_BYTES)?;
                }
            }
        }
        Ok(())
    }

    fn end(mut self, dictionary: &Dictionary) -> io::Result<()> {
        match self.format {
            Format::Json => self.chunk.extend_from_slice(b"]\n"),
            Format::Html => write_sources(&mut self.chunk, dictionary),
            Format::Columns => {}
        }
        self.write(0)?;
        io::stdout().flush()
    }

    /// Writes what there is, if it is so much.
    fn write(&mut self, bytes: usize) -> io::Result<()> {
        if self.chunk.len() >= bytes {
            io::stdout().write_all(&self.chunk)?;
            self.chunk.clear();
        }
        Ok(())
    }
}

/// What a page begins with.
const HEAD: &str = "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
    <title>Every word of a text</title>\n";

/// So much is written at once.
const CHUNK_BYTES: usize = 64 << 10;

fn explain(word: &str, dict: Option<&Path>) -> Result<(), Box<dyn Error>> {
    if word.trim().is_empty() {
        return Err("there is no word to explain".into());
    }
    let dictionary = dictionary(dict)?;
    let mut reader = Reader::new();
    let gloss = reader.read(&dictionary, word, &Options::default());
    let (mut out, mut told_to, mut is_whole) = (String::new(), 0, true);
    // the longest words one behind the other, as a reader would take the text apart
    for span in gloss.spans().filter(|span| span.words().next().is_some()) {
        if span.start() >= told_to {
            is_whole &= span.start() == told_to;
            told_to = span.end();
            tell(&mut out, span);
        }
    }
    if told_to == 0 {
        // a name is told where there is no word
        gloss.spans().find(|span| span.text() == word).into_iter().for_each(|span| {
            told_to = span.end();
            tell(&mut out, span);
        });
    }
    // of what is told whole, nothing else is likely
    if !is_whole || word.chars().count() > told_to as usize {
        let others: Vec<_> =
            possible(word).into_iter().filter(|possible| !possible.steps.is_empty()).take(POSSIBLE_MAX).collect();
        if !others.is_empty() {
            out.push_str("By the grammar alone, if there is such a word:\n");
        }
        for other in &others {
            out.push_str(&format!("  {}  ({})\n", other.word, other.class.words));
            tell_steps(&mut out, &other.steps);
        }
        if others.is_empty() && out.is_empty() {
            let small = if dict.is_none() { "; this is the small dictionary, and --dict takes another" } else { "" };
            return Err(format!("nothing is known of {word}{small}").into());
        }
    }
    Ok(io::stdout().write_all(out.as_bytes())?)
}

/// What a word may come from by the grammar alone is said of so many.
const POSSIBLE_MAX: usize = 6;
/// Of a span so many words are told.
const WORDS_MAX: usize = 8;

fn tell(out: &mut String, span: Span<'_, '_>) {
    out.push_str(&format!("{}\n", span.text()));
    let has_words = span.words().next().is_some();
    let told = |meaning: &Meaning<'_, '_>| !has_words || matches!(meaning, Meaning::Word(_));
    for meaning in span.meanings().filter(told).take(WORDS_MAX) {
        let word = match meaning {
            Meaning::Word(word) => word,
            Meaning::Name(name) => {
                let glosses: Vec<_> = name.glosses().map(|gloss| gloss.to_string()).collect();
                out.push_str(&format!("  {} ({}) [name]: {}\n", name.headword(), name.reading(), glosses.join("; ")));
                continue;
            }
        };
        let glosses: Vec<_> = word.glosses().take(4).collect();
        let reading = if word.reading() == word.headword() { String::new() } else { format!(" ({})", word.reading()) };
        let part = word.senses().next().and_then(|sense| sense.parts_of_speech().next());
        let part = part.map_or(String::new(), |tag| format!(" [{}]", tag.shown()));
        out.push_str(&format!("  {}{reading}{part}: {}\n", word.headword(), glosses.join("; ")));
        tell_steps(out, &word.explained());
    }
}

fn tell_steps(out: &mut String, steps: &[Step]) {
    for step in steps {
        out.push_str(&format!("    → {}  {}: {}\n", step.form, step.reason, step.words));
    }
}

/// The dictionary of a file, or the small one that the program has with it.
pub(crate) fn dictionary(path: Option<&Path>) -> Result<Dictionary, thalweg_gloss::Error> {
    match path {
        Some(path) => Dictionary::open(path),
        None => thalweg_gloss::small(),
    }
}

fn opened(path: &Path) -> Result<File, Box<dyn Error>> {
    File::open(path).map_err(|error| in_file(path, &error))
}

fn in_file(path: &Path, error: &dyn Error) -> Box<dyn Error> {
    format!("{}: {error}", path.display()).into()
}

/// Who closes what is printed into has seen enough.
fn unless_nobody_reads(outcome: Result<(), Box<dyn Error>>) -> Result<(), Box<dyn Error>> {
    match outcome {
        Err(error)
            if error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) =>
        {
            Ok(())
        }
        outcome => outcome,
    }
}
