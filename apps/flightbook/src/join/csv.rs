//! CSV files of an export, made of the API's CSV while it is sent. Texts become cells that no
//! spreadsheet runs.
//!
//! A spreadsheet runs a cell that begins with one of `= + - @` as a formula. An apostrophe before
//! that character makes the cell a text. If the list separator is a semicolon, a spreadsheet also
//! splits cells at semicolons, tabs and line ends, so that their parts are cells too. Plain numbers
//! stay as they are. `flightbook_private.csv_value` is the inverse, which an import calls.
//!
//! The work is linear in the bytes, and takes some microseconds for the longest comment.

use std::io::{self, Write};

/// First characters of a formula, and their wide forms.
const FORMULA: [char; 8] = ['=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];

/// A file of an archive, and the relation that it shows.
pub(super) struct Table {
    pub(super) file: &'static str,
    pub(super) relation: &'static str,
    pub(super) order: &'static str,
    /// Columns in their order, each with whether it is a text that a pilot has typed.
    pub(super) columns: &'static [(&'static str, bool)],
}

impl Table {
    /// Returns the columns as the API and the first line of the file name them.
    pub(super) fn names(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|(name, _)| *name).collect();
        names.join(",")
    }
}

/// Writer of a table whose rows come as the API's `text/csv`, in chunks cut anywhere.
pub(super) struct Cells<'w, W> {
    columns: &'static [(&'static str, bool)],
    out: &'w mut W,
    /// The cell that is being received, with its quotes.
    cell: Vec<u8>,
    is_in_quotes: bool,
    column: usize,
    /// False until the first line has ended. The API names no columns if there are no rows, so
    /// that [`Cells::new`] writes them.
    is_in_rows: bool,
}

impl<'w, W: Write> Cells<'w, W> {
    /// Writes the first line, which names the columns.
    pub(super) fn new(table: &Table, out: &'w mut W) -> io::Result<Self> {
        out.write_all(table.names().as_bytes())?;
        out.write_all(b"\n")?;
        let columns = table.columns;
        Ok(Self { columns, out, cell: Vec::new(), is_in_quotes: false, column: 0, is_in_rows: false })
    }

    /// Writes the cells that end in a chunk.
    pub(super) fn write(&mut self, chunk: &[u8]) -> io::Result<()> {
        for byte in chunk {
            // A quote within a cell is doubled, so that each text in quotes has an even number.
            self.is_in_quotes ^= *byte == b'"';
            match byte {
                b',' if !self.is_in_quotes => self.end_cell(b',')?,
                b'\n' if !self.is_in_quotes => self.end_line()?,
                byte => self.cell.push(*byte),
            }
        }
        Ok(())
    }

    /// Writes the last line, which may have no end of its own.
    pub(super) fn finish(mut self) -> io::Result<()> {
        if self.cell.is_empty() && self.column == 0 { Ok(()) } else { self.end_line() }
    }

    fn end_line(&mut self) -> io::Result<()> {
        // Without rows, the API sends an empty line.
        if self.column > 0 || !self.cell.is_empty() {
            self.end_cell(b'\n')?;
        }
        (self.column, self.is_in_rows) = (0, true);
        Ok(())
    }

    fn end_cell(&mut self, end: u8) -> io::Result<()> {
        if self.is_in_rows {
            let is_text = self.columns.get(self.column).is_some_and(|(_, is_text)| *is_text);
            match str::from_utf8(&self.cell) {
                Ok(cell) if is_text => self.out.write_all(safe(cell, self.column).as_bytes())?,
                _ => self.out.write_all(&self.cell)?,
            }
            self.out.write_all(&[end])?;
        }
        self.cell.clear();
        self.column += 1;
        Ok(())
    }
}

/// Makes a cell harmless, and puts it into quotes if its text needs them.
fn safe(cell: &str, column: usize) -> String {
    let make = if column == 0 { csv_first_cell } else { csv_cell };
    let cell = match cell.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(quoted) => make(&quoted.replace("\"\"", "\"")),
        None => make(cell),
    };
    if cell.contains([',', '"', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
}

/// Returns a text as a cell that no spreadsheet reads as a formula.
pub fn csv_cell(value: &str) -> String {
    if is_plain_number(value) {
        return value.to_owned();
    }
    let mut cell = String::with_capacity(value.len() + 8);
    // A line end or a tab at the start makes some spreadsheets run what follows.
    if value.trim_start_matches('\'').starts_with(['\t', '\n', '\r']) {
        cell.push('\'');
    }
    // A spreadsheet may read each of these parts as a cell.
    for part in value.split_inclusive([';', '\t', '\n', '\r']) {
        let rest = part.trim_start_matches(['"', '\'', ' ']);
        if rest.starts_with(FORMULA) {
            cell.push_str(&part[..part.len() - rest.len()]);
            cell.push('\'');
            cell.push_str(rest);
        } else {
            cell.push_str(part);
        }
    }
    cell
}

/// Returns a text as the first cell of a line. If the list separator is a semicolon, a spreadsheet
/// reads the line as one cell, so that its first cell is not a plain number.
pub fn csv_first_cell(value: &str) -> String {
    let cell = csv_cell(value);
    if cell.starts_with(['+', '-']) { format!("'{cell}") } else { cell }
}

fn is_plain_number(value: &str) -> bool {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let digits = value.strip_prefix(['+', '-']).unwrap_or(value);
    match digits.split_once(['.', ',']) {
        Some((whole, fraction)) => is_digits(whole) && is_digits(fraction),
        None => is_digits(digits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: Table =
        Table { file: "t.csv", relation: "t", order: "a", columns: &[("a", true), ("n", false), ("b", true)] };

    fn written(csv: &str, chunk_bytes: usize) -> String {
        let mut out = Vec::new();
        let mut cells = Cells::new(&TABLE, &mut out).unwrap();
        csv.as_bytes().chunks(chunk_bytes).for_each(|chunk| cells.write(chunk).unwrap());
        cells.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn cells_are_the_same_however_the_chunks_are_cut() {
        let csv = "a,n,b\n\"-1\",-1e-05,=1\n\"x;\"\"=1\n\",,\"\"\nü＝,-3,\"＝,\"";
        let expected = "a,n,b\n'-1,-1e-05,'=1\n\"x;\"\"'=1\n\",,\nü＝,-3,\"'＝,\"\n";
        for chunk_bytes in 1..=csv.len() {
            assert_eq!(written(csv, chunk_bytes), expected, "{chunk_bytes}");
        }
        for none in ["", "\n", "a,n,b", "a,n,b\n"] {
            assert_eq!(written(none, 1), "a,n,b\n", "{none:?}");
        }
    }

    #[test]
    fn plain_numbers_stay_numbers() {
        for (value, expected) in [
            ("-12.5", "-12.5"),
            ("+3,5", "+3,5"),
            ("-", "'-"),
            ("-1.", "'-1."),
            ("-1e5", "'-1e5"),
            ("1-", "1-"),
            ("", ""),
        ] {
            assert_eq!(csv_cell(value), expected);
        }
        assert_eq!((csv_first_cell("-3"), csv_first_cell("3")), ("'-3".to_owned(), "3".to_owned()));
    }
}
