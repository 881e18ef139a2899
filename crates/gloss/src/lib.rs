//! Every word of a Japanese text with its dictionary entries.

mod bytes;
mod columns;
mod compile;
mod dictionary;
mod endings;
mod entry;
mod error;
mod explain;
mod file;
mod fold;
mod gloss;
pub mod grammar;
mod json;
mod known;
mod number;
mod reader;
mod record;
mod small;
pub mod source;
mod stream;
mod trie;

pub use columns::{COLUMNS, write_columns};
pub use compile::Builder;
pub use dictionary::{Dictionary, Origin, Tag};
pub use entry::{Entry, Headword, Priority, Reading, Sense};
pub use error::{Error, ErrorKind};
pub use explain::{Possible, Step, possible};
pub use gloss::{Gloss, Meaning, Name, NameGloss, Span, Word};
pub use json::write_json;
pub use known::Known;
pub use reader::{ENTRIES_PER_SPAN_MAX, Options, Reader};
pub use record::Kana;
pub use small::small;
