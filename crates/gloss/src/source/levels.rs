//! Levels of the JLPT, from a table of words in CSV whose first line names its columns: `word`, `reading`, `level` and others.

use super::recognise::plain_text;
use super::{Error, ErrorKind};
use std::io::Read;

/// The words of all levels are some 8,000.
const LEVELS_MAX: usize = 1_000_000;

/// A row, of which most is examples.
const ROW_BYTES_MAX: usize = 1024 * 1024;

/// A word with the level at which a learner of Japanese knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Level {
    /// As it is written, with kanji or without.
    pub word: String,
    /// In kana; none where it is written so, or where the table does not say it.
    pub reading: Option<String>,
    /// From 5, the first, to 1, the last: N5 to N1.
    pub level: u8,
}

/// Reads a table of levels, or several one after another. A word or a reading of several forms (`作る/造る`) becomes a level a form.
///
/// # Errors
///
/// If the input fails or is not text, if its first line does not name the columns, or if a row has no level N1 to N5.
pub fn read_levels(input: impl Read) -> Result<Vec<Level>, Error> {
    let mut rows = Rows::default();
    let mut columns: Option<Columns> = None;
    let mut levels = Vec::new();
    plain_text(input)?.each_line(&mut |line| {
        let Some(row) = rows.take(line)? else { return Ok(()) };
        if let Some(found) = Columns::of(&row) {
            columns = Some(found);
            return Ok(());
        }
        if row.iter().all(|field| field.trim().is_empty()) {
            return Ok(());
        }
        let Some(columns) = &columns else {
            return Err(Error::new(
                ErrorKind::Unrecognised,
                "the first line does not name the columns word, reading and level",
            ));
        };
        columns.levels_of(&row, &mut levels)
    })?;
    if rows.is_open {
        return Err(Error::malformed("the table ends within quotes: it is cut"));
    }
    Ok(levels)
}

/// Where the columns are.
struct Columns {
    word: usize,
    reading: usize,
    level: usize,
}

impl Columns {
    fn of(row: &[String]) -> Option<Self> {
        let place = |name: &str| row.iter().position(|field| field.trim() == name);
        Some(Self { word: place("word")?, reading: place("reading")?, level: place("level")? })
    }

    fn levels_of(&self, row: &[String], into: &mut Vec<Level>) -> Result<(), Error> {
        let field = |place: usize| row.get(place).map(|field| field.trim()).unwrap_or_default();
        let level = match field(self.level) {
            "N5" => 5,
            "N4" => 4,
            "N3" => 3,
            "N2" => 2,
            "N1" => 1,
            other => {
                return Err(Error::malformed(format!("{} is no level: those are N1 to N5", Error::quoted(other, 20))));
            }
        };
        let words = forms_of(field(self.word));
        if words.is_empty() {
            return Err(Error::malformed("there is no word"));
        }
        // What is not kana is a remark of the table's, as （感）, and no reading.
        let readings: Vec<_> =
            forms_of(field(self.reading)).into_iter().filter(|form| form.chars().all(is_kana)).collect();
        for word in &words {
            for reading in readings.iter().copied().map(Some).chain(readings.is_empty().then_some(None)) {
                if into.len() == LEVELS_MAX {
                    return Err(Error::new(ErrorKind::TooLarge, format!("there are more than {LEVELS_MAX} words")));
                }
                into.push(Level { word: (*word).to_owned(), reading: reading.map(str::to_owned), level });
            }
        }
        Ok(())
    }
}

/// The forms in a field, which stand between slashes, commas or spaces; what is in parentheses is said of them.
fn forms_of(field: &str) -> Vec<&str> {
    let forms = field.split(['/', '、', ' ', '\u{3000}']).map(str::trim);
    forms.filter(|form| !form.is_empty() && !form.starts_with(['(', '（', '~', '～'])).collect()
}

fn is_kana(character: char) -> bool {
    matches!(character, '\u{3041}'..='\u{3096}' | '\u{309d}' | '\u{309e}' | '\u{30a1}'..='\u{30fe}')
}

/// Divides lines into rows (RFC 4180): a field in quotes may hold commas, quotes written twice, and ends of lines.
#[derive(Default)]
struct Rows {
    row: Vec<String>,
    field: String,
    row_bytes: usize,
    /// Whether the field that is being read is in quotes that have not ended.
    is_open: bool,
}

impl Rows {
    /// Takes a line; gives the row that ends with it, if one does.
    fn take(&mut self, line: &str) -> Result<Option<Vec<String>>, Error> {
        self.row_bytes += line.len() + 1;
        if self.row_bytes > ROW_BYTES_MAX {
            return Err(Error::new(ErrorKind::TooLarge, format!("a row has more than {ROW_BYTES_MAX} bytes")));
        }
        let mut characters = line.chars().peekable();
        if self.is_open {
            self.field.push('\n');
        }
        while let Some(character) = characters.next() {
            match character {
                '"' if self.is_open && characters.peek() == Some(&'"') => {
                    characters.next();
                    self.field.push('"');
                }
                '"' if self.is_open => self.is_open = false,
                '"' if self.field.is_empty() => self.is_open = true,
                ',' if !self.is_open => self.row.push(std::mem::take(&mut self.field)),
                other => self.field.push(other),
            }
        }
        if self.is_open {
            return Ok(None);
        }
        self.row_bytes = 0;
        self.row.push(std::mem::take(&mut self.field));
        Ok(Some(std::mem::take(&mut self.row)))
    }
}
