//! `thalweg gloss`: dictionaries compiled or fetched, texts read along them.

mod fetch;

pub(crate) use fetch::kept as full_dictionary;

use std::error::Error;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;
use thalweg_gloss::source::{self, DEFAULT_LANGUAGE};
use thalweg_gloss::{Builder, COLUMNS, Dictionary, Html, Json, Known, Meaning, Options, Reader, Span, Step};
use thalweg_gloss::{possible, write_columns, write_json};

#[derive(clap::Subcommand)]
pub(crate) enum Gloss {
    /// Compile dictionaries into one file
    Build(Build),
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
pub(crate) struct Build {
    /// A dictionary of words: JMdict, EDICT2 or EDICT, compressed by gzip or not
    #[arg(long, value_name = "FILE", required = true)]
    words: Vec<PathBuf>,
    /// A dictionary of names: JMnedict or ENAMDICT
    #[arg(long, value_name = "FILE")]
    names: Vec<PathBuf>,
    /// A table of the words' levels in CSV, with the columns word, reading and level (N5 to N1)
    #[arg(long, value_name = "FILE")]
    levels: Vec<PathBuf>,
    /// A list of words with how often they occur, between tabs
    #[arg(long, value_name = "FILE")]
    frequencies: Vec<PathBuf>,
    /// The language of the glosses, by its code in ISO 639-2, where the source has several
    #[arg(long, value_name = "CODE", default_value = DEFAULT_LANGUAGE)]
    language: String,
    /// The file to write
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

#[derive(clap::Args)]
pub(crate) struct Text {
    /// The compiled dictionary; without one, a small one that the program has with it
    #[arg(long, value_name = "FILE")]
    dict: Option<PathBuf>,
    /// How it is printed
    #[arg(long, value_enum, default_value = "json")]
    format: Format,
    /// Words that are left out: one a line
    #[arg(long, value_name = "FILE")]
    known: Option<PathBuf>,
    /// Tell each entry once in JSON, as HTML does: where it comes again it has only its id and its reasons
    #[arg(long)]
    once: bool,
    /// Leave names out
    #[arg(long)]
    no_names: bool,
    /// At most so many entries of one span
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
        Gloss::Build(build) => self::build(&build),
        Gloss::Fetch { out: Some(out) } => fetch::build(&out),
        Gloss::Fetch { out: None } => {
            let (path, dictionary) = fetch::kept()?;
            println!("{}", path.display());
            for source in dictionary.sources() {
                println!("{} {}, {} entries", source.title, source.created, source.entries);
            }
            Ok(())
        }
        Gloss::Text(text) => unless_nobody_reads(self::text(&text)),
        Gloss::Explain { word, dict } => unless_nobody_reads(explain(&word, dict.as_deref())),
    }
}

fn build(build: &Build) -> Result<(), Box<dyn Error>> {
    let mut compiling = Compiling::new(&build.language);
    for path in &build.levels {
        compiling.levels(path.display(), opened(path)?)?;
    }
    for path in &build.frequencies {
        let frequencies = source::read_frequencies(opened(path)?).map_err(|error| in_file(path, &error))?;
        compiling.builder.frequencies(&frequencies);
    }
    for path in &build.words {
        compiling.words(path.display(), opened(path)?)?;
    }
    for path in &build.names {
        compiling.names(path.display(), opened(path)?)?;
    }
    compiling.write(&build.out)
}

/// A dictionary that is being compiled. Levels come before the words that have them.
struct Compiling<'a> {
    builder: Builder,
    language: &'a str,
    began: Instant,
}

impl<'a> Compiling<'a> {
    fn new(language: &'a str) -> Self {
        Self { builder: Builder::new(), language, began: Instant::now() }
    }

    fn levels(&mut self, file: impl Display, input: impl Read) -> Result<(), Box<dyn Error>> {
        let levels = source::read_levels(input).map_err(|error| format!("{file}: {error}"))?;
        self.builder.levels(&levels);
        Ok(())
    }

    fn words(&mut self, file: impl Display, input: impl Read) -> Result<(), Box<dyn Error>> {
        self.entries(file, input, false)
    }

    fn names(&mut self, file: impl Display, input: impl Read) -> Result<(), Box<dyn Error>> {
        self.entries(file, input, true)
    }

    fn entries(&mut self, file: impl Display, input: impl Read, are_names: bool) -> Result<(), Box<dyn Error>> {
        let Self { builder, language, .. } = self;
        let mut others = 0_u64;
        let read = source::read(input, language, &mut |entry| {
            others += u64::from(entry.is_name != are_names);
            builder.add(&entry)
        });
        let source = read.map_err(|error| format!("{file}: {error}"))?;
        let (what, other) = if are_names { ("names", "--words") } else { ("words", "--names") };
        if others > 0 {
            return Err(format!("{file}: is no dictionary of {what}; give it with {other}").into());
        }
        println!("{file}: {:?}, {} {what}", source.format, source.entries);
        builder.source(&source);
        Ok(())
    }

    fn write(&mut self, out: &Path) -> Result<(), Box<dyn Error>> {
        let bytes = std::mem::take(&mut self.builder).write(out)?;
        println!("{}: {:.1} MB after {:.1?}", out.display(), bytes as f64 / 1e6, self.began.elapsed());
        Ok(())
    }
}

fn text(text: &Text) -> Result<(), Box<dyn Error>> {
    let dictionary = dictionary(text.dict.as_deref())?;
    let known = match &text.known {
        Some(path) => {
            let list = std::fs::read_to_string(path).map_err(|error| in_file(path, &error))?;
            Some(Known::of(&dictionary, &list))
        }
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
        (Err(error), None) => Err(error.into()),
        (Ok(()), None) => Ok(printed.end()?),
    }
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

    fn put(&mut self, gloss: thalweg_gloss::Gloss<'_>) -> io::Result<()> {
        if let Format::Html = self.format {
            self.html.write(&mut self.chunk, gloss);
            return self.write(CHUNK_BYTES);
        }
        for span in gloss.spans() {
            if let Format::Columns = self.format {
                write_columns(&mut self.chunk, span);
            } else {
                self.chunk.extend_from_slice(if self.has_spans { b",\n" } else { b"" });
                match &mut self.once {
                    Some(json) => json.write(&mut self.chunk, span),
                    None => write_json(&mut self.chunk, span),
                }
            }
            self.has_spans = true;
            self.write(CHUNK_BYTES)?;
        }
        Ok(())
    }

    fn end(mut self) -> io::Result<()> {
        self.chunk.extend_from_slice(match self.format {
            Format::Json => b"]\n",
            Format::Html | Format::Columns => b"",
        });
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
    let dictionary = dictionary(dict)?;
    let mut reader = Reader::new();
    let gloss = reader.read(&dictionary, word, &Options::default());
    let mut out = String::new();
    let mut told_to = 0;
    // the longest words one behind the other, as a reader would take the text apart
    for span in gloss.spans().filter(|span| span.words().next().is_some()) {
        if span.start() >= told_to {
            told_to = span.end();
            tell(&mut out, span);
        }
    }
    let is_whole = gloss.spans().next().is_some_and(|span| span.text() == word);
    if !is_whole {
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
            return Err(format!("nothing is known of {word}").into());
        }
    }
    Ok(io::stdout().write_all(out.as_bytes())?)
}

/// What a word may come from by the grammar alone is said of so many.
const POSSIBLE_MAX: usize = 6;
/// Of a span so many words are told.
const WORDS_MAX: usize = 8;

fn tell(out: &mut String, span: Span<'_>) {
    out.push_str(&format!("{}\n", span.text()));
    for meaning in span.meanings().take(WORDS_MAX) {
        let Meaning::Word(word) = meaning else { continue };
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

fn dictionary(path: Option<&Path>) -> Result<Dictionary, thalweg_gloss::Error> {
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
