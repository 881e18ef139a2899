//! Dictionaries compiled into one file.

use super::{in_file, opened};
use std::collections::HashMap;
use std::error::Error;
use std::fmt::Display;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;
use thalweg_gloss::source::{self, DEFAULT_LANGUAGE, Format, Source};
use thalweg_gloss::{Builder, Target};

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
    /// A list with a line for each word: the word, a tab, and how often it was counted, or the count first; lines that begin with # are
    /// remarks
    #[arg(long, value_name = "FILE")]
    frequencies: Vec<PathBuf>,
    /// The language of the glosses, by its code in ISO 639-2, where the source has several
    #[arg(long, value_name = "CODE", default_value = DEFAULT_LANGUAGE)]
    language: String,
    /// The file to write: a new one, or one that is replaced once all is read
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

pub(super) fn build(build: &Build) -> Result<(), Box<dyn Error>> {
    let Build { words, names, levels, frequencies, language, out } = build;
    let sources = [words, names, levels, frequencies].into_iter().flatten();
    let target = Target::new(out, &sources.map(PathBuf::as_path).collect::<Vec<_>>())?;
    let mut compiling = Compiling::new(language);
    for path in levels {
        compiling.levels(&file_name(path), path.display(), opened(path)?)?;
    }
    for path in frequencies {
        let frequencies = source::read_frequencies(opened(path)?).map_err(|error| in_file(path, &error))?;
        compiling.builder.frequencies(&file_name(path), &frequencies);
    }
    for path in words {
        compiling.words(path.display(), opened(path)?)?;
    }
    for path in names {
        compiling.names(path.display(), opened(path)?)?;
    }
    compiling.write(out, &target)
}

/// A dictionary that is being compiled. Levels come before the words that have them.
pub(super) struct Compiling<'a> {
    builder: Builder,
    language: &'a str,
    /// By what they have in them, the sources that were read.
    read: HashMap<u64, String>,
    began: Instant,
}

impl<'a> Compiling<'a> {
    pub(super) fn new(language: &'a str) -> Self {
        Self { builder: Builder::new(), language, read: HashMap::new(), began: Instant::now() }
    }

    /// Takes levels, whose table is shown by a title.
    pub(super) fn levels(&mut self, title: &str, file: impl Display, input: impl Read) -> Result<(), Box<dyn Error>> {
        let levels = source::read_levels(input).map_err(|error| format!("{file}: {error}"))?;
        self.builder.levels(title, &levels);
        Ok(())
    }

    pub(super) fn words(&mut self, file: impl Display, input: impl Read) -> Result<(), Box<dyn Error>> {
        self.entries(file, input, false)
    }

    pub(super) fn names(&mut self, file: impl Display, input: impl Read) -> Result<(), Box<dyn Error>> {
        self.entries(file, input, true)
    }

    fn entries(&mut self, file: impl Display, input: impl Read, are_names: bool) -> Result<(), Box<dyn Error>> {
        let Self { builder, language, .. } = self;
        let mut others = 0_u64;
        let mut input = Hashed { input, hasher: DefaultHasher::new() };
        let read = source::read(&mut input, language, &mut |entry| {
            others += u64::from(entry.is_name != are_names);
            builder.add(&entry)
        });
        let source = read.map_err(|error| format!("{file}: {error}"))?;
        let (one, all, other) = if are_names { ("name", "names", "--words") } else { ("word", "words", "--names") };
        if others > 0 {
            return Err(format!("{file}: is no dictionary of {all}; give it with {other}").into());
        }
        if source.entries == 0 {
            return Err(format!("{file}: {}", why_none(&source, language)).into());
        }
        if let Some(before) = self.read.insert(input.hasher.finish(), file.to_string()) {
            return Err(format!("{file}: is the same as {before}, and its entries would be told twice").into());
        }
        let what = if source.entries == 1 { one } else { all };
        say(format_args!("{file}: {:?}, {} {what}", source.format, source.entries));
        self.builder.source(&source);
        Ok(())
    }

    pub(super) fn write(&mut self, out: &Path, target: &Target) -> Result<(), Box<dyn Error>> {
        let bytes = std::mem::take(&mut self.builder).write(target)?;
        say(format_args!("{}: {:.1} MB after {:.1?}", out.display(), bytes as f64 / 1e6, self.began.elapsed()));
        Ok(())
    }
}

/// By what a source is shown that does not say what it is called.
fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

fn why_none(source: &Source, language: &str) -> String {
    let has_languages = match source.format {
        Format::JMdict | Format::JMnedict => !source.languages.is_empty(),
        Format::Edict | Format::Edict2 | Format::Enamdict => false,
    };
    if has_languages && !source.languages.iter().any(|known| known == language) {
        return format!("no gloss is in {language:?}; there are {}", source.languages.join(", "));
    }
    "has no entry".to_owned()
}

/// Says how far the build is, which goes on whether anybody hears it or not.
fn say(what: impl Display) {
    let _ = writeln!(io::stdout(), "{what}");
}

/// An input of which is known afterwards whether another was the same.
struct Hashed<R> {
    input: R,
    hasher: DefaultHasher,
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(into)?;
        self.hasher.write(&into[..count]);
        Ok(count)
    }
}
