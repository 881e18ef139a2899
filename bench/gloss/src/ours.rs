//! Ours, as a server would read a text.

use thalweg_gloss::{Dictionary, Options, Reader, write_columns, write_json};

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
