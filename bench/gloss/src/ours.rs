//! Ours, as a server would read a text.

use std::hint::black_box;
use thalweg_gloss::{Dictionary, Gloss, Json, Meaning, Options, Reader, write_columns, write_json};

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Job {
    /// Each entry of words at each place, as the ancestor's way gives it.
    Words,
    /// And of names.
    Names,
    /// Where words and names are, and no entry.
    Places,
    /// Both, with all that the dictionary says of them, as JSON.
    Json,
    /// The same, each entry once.
    JsonOnce,
    /// The same in columns.
    Columns,
}

impl Job {
    /// All of them.
    pub const ALL: [Job; 6] = [Job::Words, Job::Names, Job::Places, Job::Json, Job::JsonOnce, Job::Columns];

    /// What it is called in tables.
    pub fn name(self) -> &'static str {
        match self {
            Job::Words => "ours: words",
            Job::Names => "ours: words and names",
            Job::Places => "ours: words and names, only where they are",
            Job::Json => "ours: words and names, JSON written",
            Job::JsonOnce => "ours: words and names, JSON written, each entry once",
            Job::Columns => "ours: words and names, columns written",
        }
    }

    /// Does it once. What was found is the number of entries, of spans or of bytes.
    pub fn read(self, reader: &mut Reader, dictionary: &Dictionary, text: &str, out: &mut Vec<u8>) -> usize {
        let options = Options { names: self != Job::Words, ..Options::default() };
        let gloss = reader.read(dictionary, text, &options);
        out.clear();
        match self {
            Job::Words | Job::Names => return gloss.spans().map(|span| span.meanings().map(key).count()).sum(),
            Job::Places => return gloss.spans().len(),
            Job::Json => gloss.spans().for_each(|span| write_json(out, span)),
            Job::JsonOnce => {
                let mut json = Json::new();
                gloss.spans().for_each(|span| json.write(out, span));
            }
            Job::Columns => gloss.spans().for_each(|span| write_columns(out, span)),
        }
        out.len()
    }
}

/// Which entry it is, as the ancestor's way says by a slice.
fn key(meaning: Meaning<'_, '_>) -> u32 {
    black_box(match meaning {
        Meaning::Word(word) => word.key(),
        Meaning::Name(name) => name.key(),
    })
}

/// A response is handed on whenever so much of it is there.
const CHUNK_BYTES: usize = 64 << 10;

/// Writes what was found as JSON as a server does, which keeps only what it has not handed on yet; returns how many bytes it was.
pub fn stream_json(gloss: Gloss<'_, '_>, out: &mut Vec<u8>) -> usize {
    let mut bytes = 0;
    out.clear();
    for span in gloss.spans() {
        write_json(out, span);
        if out.len() >= CHUNK_BYTES {
            bytes += out.len();
            out.clear();
        }
    }
    bytes + out.len()
}
