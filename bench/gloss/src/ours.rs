//! Ours, as a server would read a text.

use thalweg_gloss::{Dictionary, Gloss, Options, Reader, write_columns, write_json};

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Job {
    /// Where words are.
    Words,
    /// And names.
    Names,
    /// Both, with all that the dictionary says of them, as JSON.
    Json,
    /// The same in columns.
    Columns,
}

impl Job {
    /// All of them.
    pub const ALL: [Job; 4] = [Job::Words, Job::Names, Job::Json, Job::Columns];

    /// What it is called in tables.
    pub fn name(self) -> &'static str {
        match self {
            Job::Words => "ours: words",
            Job::Names => "ours: words and names",
            Job::Json => "ours: words and names, JSON written",
            Job::Columns => "ours: words and names, columns written",
        }
    }

    /// Does it once. What was found is the number of spans or of bytes.
    pub fn read(self, reader: &mut Reader, dictionary: &Dictionary, text: &str, out: &mut Vec<u8>) -> usize {
        let options = Options { names: self != Job::Words, ..Options::default() };
        let gloss = reader.read(dictionary, text, &options);
        out.clear();
        match self {
            Job::Words | Job::Names => return gloss.spans().len(),
            Job::Json => gloss.spans().for_each(|span| write_json(out, span)),
            Job::Columns => gloss.spans().for_each(|span| write_columns(out, span)),
        }
        out.len()
    }
}

/// A response is handed on whenever so much of it is there.
const CHUNK_BYTES: usize = 64 << 10;

/// Writes what was found as JSON as a server does, which keeps only what it has not handed on yet; returns how many bytes it was.
pub fn stream_json(gloss: Gloss<'_>, out: &mut Vec<u8>) -> usize {
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
