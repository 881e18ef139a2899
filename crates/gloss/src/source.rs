//! Reads the sources of dictionaries, whose formats are found by their content.
//!
//! ```text
//!   bytes ──► recognise ──► text ──► jmdict ──► Entry ──► the caller
//!             gzip?         UTF-8,   (XML)
//!             encoding?     lines    edict
//!             format?       counted  (lines)
//! ```
//!
//! No more than one entry is in memory. A source that is damaged is an error with its line, never a panic.

mod codes;
mod edict;
mod frequencies;
mod jmdict;
mod levels;
mod recognise;
mod text;

pub use frequencies::{Frequency, read_frequencies};
pub use levels::{Level, read_levels};

use crate::entry::Entry;
use crate::error::{Error, ErrorKind};
use recognise::{Recognised, Shape};
use std::io::Read;

/// The formats that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Words, in XML (EDRDG's documentation of JMdict).
    JMdict,
    /// Names, in XML.
    JMnedict,
    /// Words, a headword with a reading a line.
    Edict,
    /// Words, an entry with all its headwords and readings a line.
    Edict2,
    /// Names, laid out as EDICT.
    Enamdict,
}

/// What is known of a source once it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Its format.
    pub format: Format,
    /// Its title, as it says or as its format is called.
    pub title: String,
    /// The day on which it was made, as it says: `2021-07-05`.
    pub created: Option<String>,
    /// How many entries were handed on.
    pub entries: u64,
    /// Its codes, each with what it says in words: the entities that JMdict declares; for EDICT and ENAMDICT, which declare none, all that
    /// we know.
    pub tags: Vec<(String, String)>,
    /// The languages that its glosses are in, by their codes, the first sixteen of them.
    pub languages: Vec<String>,
}

/// Takes the entries of a source, in its order.
pub type Taker<'t> = &'t mut dyn FnMut(Entry) -> Result<(), Error>;

/// The language whose glosses are read if nothing else is said.
pub const DEFAULT_LANGUAGE: &str = "eng";

/// Headwords, and readings, of an entry; JMdict has up to 19.
pub(crate) const ENTRY_FORMS_MAX: usize = 255;

/// Senses of an entry; JMdict has up to 143 in all languages.
const ENTRY_SENSES_MAX: usize = 1024;

/// Parts of speech of an entry; JMdict has up to 6.
const ENTRY_CODES_MAX: usize = 64;

/// Languages that are told of a source, and the length of a code; JMdict has nine of three letters.
const LANGUAGES_TOLD_MAX: usize = 16;
const LANGUAGE_BYTES_MAX: usize = 16;

/// Reads a source: JMdict or JMnedict (XML), EDICT, EDICT2 or ENAMDICT, in UTF-8 or EUC-JP, compressed by gzip or not.
///
/// Glosses are kept in one language, by its code in ISO 639-2 as JMdict writes it (`eng`, `ger`); a sense without one in it is left out,
/// and so is an entry without such a sense. EDICT and ENAMDICT are in English only, whatever is asked for, and names of JMnedict of
/// which no language is said are the same in all. References to other entries
/// and the languages from which words come are not kept.
///
/// # Errors
///
/// If the input fails, is no such source, is damaged or too large, or if `into` wants no more.
pub fn read(input: impl Read, language: &str, into: Taker) -> Result<Source, Error> {
    let Recognised { shape, text } = recognise::recognise(input)?;
    match shape {
        Shape::Xml => jmdict::read(text, language, into),
        Shape::Lines(format) => edict::read(text, format, into),
    }
}

fn too_many(what: &str, max: usize) -> Error {
    Error::new(ErrorKind::TooLarge, format!("an entry has more than {max} {what}"))
}
