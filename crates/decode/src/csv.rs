//! CSV (RFC 4180) as it arrives: its grammar, and its header. As in PostgreSQL's `COPY`, a field without any character
//! is NULL, and `""` the empty string. The word `NULL` without quotes is NULL, too.

use crate::error::{DecodeError, Problem};

/// How many columns a header may name: PostgreSQL's own bound on what a table can have (its manual, appendix "PostgreSQL
/// Limits").
pub const COLUMNS_MAX: usize = 1_600;
/// How long a name in a header may be, in bytes. PostgreSQL's are far shorter; a document repeats each name in every row.
pub const COLUMN_NAME_BYTES_MAX: usize = 256;

/// The word that is NULL where it is not quoted.
pub(crate) const NULL_WORD: &[u8] = b"NULL";

/// Returns whether a field is NULL.
pub(crate) fn is_null(text: &[u8], is_quoted: bool) -> bool {
    !is_quoted && (text.is_empty() || text == NULL_WORD)
}

/// Is told what has been read, in order. The parser knows which field it is, and whether of the header, which is no row.
pub(crate) trait Fields {
    /// Bytes of a field.
    fn piece(&mut self, at: Place, bytes: &[u8]);
    /// A field ends; whether it was between quotes.
    fn field(&mut self, at: Place, is_quoted: bool) -> Result<(), DecodeError>;
    /// A row ends that has as many fields as the header.
    fn row(&mut self) {}
}

/// Which field of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Header,
    Row(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the first byte of a record.
    Record,
    /// Before the first byte of a field.
    Field,
    Bare,
    Quoted,
    /// Behind a quote within quotes: its pair, or the end.
    Quote,
    /// Behind a carriage return that ended a field.
    Return,
}

#[derive(Debug)]
pub(crate) struct Parser {
    state: State,
    records: u64,
    /// How many fields the current record has so far.
    fields: usize,
    /// How many the header has, once it has been read.
    header_fields: Option<usize>,
}

impl Parser {
    pub(crate) fn new() -> Self {
        Self { state: State::Record, records: 0, fields: 0, header_fields: None }
    }

    fn error(&self, problem: Problem) -> DecodeError {
        // the header is no row
        DecodeError::at(problem, self.records)
    }

    fn place(&self) -> Place {
        if self.header_fields.is_some() { Place::Row(self.fields) } else { Place::Header }
    }

    /// How many records stand below the header.
    fn rows(&self) -> u64 {
        self.records.saturating_sub(1)
    }

    pub(crate) fn feed(&mut self, chunk: &[u8], fields: &mut impl Fields) -> Result<(), DecodeError> {
        let mut at = 0;
        while let Some(&byte) = chunk.get(at) {
            match (self.state, byte) {
                (State::Return, b'\n') => self.state = State::Record,
                (State::Return, _) => {
                    // a line may end with a carriage return alone
                    self.state = State::Record;
                    continue;
                }
                (State::Record, b'\n' | b'\r') => {}
                (State::Record | State::Field, b'"') => self.state = State::Quoted,
                (State::Quote, b'"') => {
                    fields.piece(self.place(), b"\"");
                    self.state = State::Quoted;
                }
                (State::Quoted, b'"') => self.state = State::Quote,
                (State::Quoted, _) => {
                    let end = chunk[at..].iter().position(|&byte| byte == b'"').unwrap_or(chunk.len() - at);
                    fields.piece(self.place(), &chunk[at..at + end]);
                    at += end;
                    continue;
                }
                (_, b',') => {
                    self.field(fields)?;
                    self.state = State::Field;
                }
                (_, b'\n' | b'\r') => {
                    self.field(fields)?;
                    self.record(fields)?;
                    self.state = if byte == b'\r' { State::Return } else { State::Record };
                }
                (State::Quote, _) => return Err(self.error(Problem::Quotes)),
                (State::Record | State::Field | State::Bare, _) => {
                    let ends = |byte: &u8| matches!(byte, b',' | b'\n' | b'\r' | b'"');
                    let end = chunk[at..].iter().position(ends).unwrap_or(chunk.len() - at);
                    if chunk.get(at + end) == Some(&b'"') {
                        return Err(self.error(Problem::Quotes));
                    }
                    fields.piece(self.place(), &chunk[at..at + end]);
                    self.state = State::Bare;
                    at += end;
                    continue;
                }
            }
            at += 1;
        }
        Ok(())
    }

    fn field(&mut self, fields: &mut impl Fields) -> Result<(), DecodeError> {
        if self.header_fields == Some(self.fields) {
            return Err(self.error(Problem::Fields));
        }
        fields.field(self.place(), self.state == State::Quote)?;
        self.fields += 1;
        Ok(())
    }

    fn record(&mut self, fields: &mut impl Fields) -> Result<(), DecodeError> {
        let found = std::mem::take(&mut self.fields);
        match self.header_fields {
            None => self.header_fields = Some(found),
            Some(wanted) if found == wanted => fields.row(),
            Some(_) => return Err(self.error(Problem::Fields)),
        }
        self.records += 1;
        Ok(())
    }

    pub(crate) fn finish(&mut self, fields: &mut impl Fields) -> Result<(), DecodeError> {
        match self.state {
            State::Quoted => Err(self.error(Problem::Quotes)),
            State::Record | State::Return => Ok(()),
            State::Field | State::Bare | State::Quote => {
                self.field(fields)?;
                self.state = State::Record;
                self.record(fields)
            }
        }
    }
}

/// Finds the header of a CSV body, and counts and checks its records.
#[derive(Debug)]
pub struct CsvReader {
    parser: Parser,
    header: Header,
}

#[derive(Debug, Default)]
struct Header {
    names: Vec<String>,
    name: Vec<u8>,
    name_is_too_long: bool,
}

impl Fields for Header {
    fn piece(&mut self, at: Place, bytes: &[u8]) {
        if at == Place::Header {
            self.name_is_too_long |= self.name.len() + bytes.len() > COLUMN_NAME_BYTES_MAX;
            if !self.name_is_too_long {
                self.name.extend_from_slice(bytes);
            }
        }
    }

    fn field(&mut self, at: Place, _: bool) -> Result<(), DecodeError> {
        if at != Place::Header {
            return Ok(());
        }
        if self.name_is_too_long {
            return Err(DecodeError::at(Problem::TooLong, 0));
        }
        if self.names.len() == COLUMNS_MAX {
            return Err(DecodeError::at(Problem::TooManyColumns, 0));
        }
        self.names.push(String::from_utf8_lossy(&self.name).into_owned());
        self.name.clear();
        Ok(())
    }
}

impl Default for CsvReader {
    fn default() -> Self {
        Self { parser: Parser::new(), header: Header::default() }
    }
}

impl CsvReader {
    /// Looks at a chunk.
    pub fn feed(&mut self, chunk: &[u8]) -> Result<(), DecodeError> {
        self.parser.feed(chunk, &mut self.header)
    }

    /// The body has ended.
    pub fn finish(&mut self) -> Result<(), DecodeError> {
        self.parser.finish(&mut self.header)?;
        if self.header().is_some() { Ok(()) } else { Err(DecodeError::at(Problem::Header, 0)) }
    }

    /// The names of the header, once all of it has been read.
    pub fn header(&self) -> Option<&[String]> {
        self.parser.header_fields.map(|_| self.header.names.as_slice())
    }

    /// How many records stand below the header.
    pub fn rows(&self) -> u64 {
        self.parser.rows()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv_document::CsvDocument;
    use crate::csv_rows::CsvRows;
    use crate::rewrite::rewritten;

    fn document(body: &str, piece: usize) -> Result<Vec<u8>, DecodeError> {
        rewritten(CsvDocument::default(), body.as_bytes(), piece)
    }

    /// How many bytes of a body are read before it is refused, and why.
    fn refused_after(body: &[u8]) -> (usize, Problem) {
        let mut reader = CsvReader::default();
        let refused = body.iter().enumerate().find_map(|(at, byte)| Some((at, reader.feed(&[*byte]).err()?.problem)));
        refused.expect("it is refused")
    }

    #[test]
    fn bounds_are_found_while_the_body_is_read() {
        let mut reader = CsvReader::default();
        reader.feed(&b",".repeat(COLUMNS_MAX - 1)).unwrap();
        reader.feed(b"\n").unwrap();
        assert_eq!(reader.header().map(<[String]>::len), Some(COLUMNS_MAX));
        assert_eq!(refused_after(&b",".repeat(100_000)), (COLUMNS_MAX, Problem::TooManyColumns));
        let name = "n".repeat(COLUMN_NAME_BYTES_MAX);
        reader = CsvReader::default();
        reader.feed(format!("{name}\n").as_bytes()).unwrap();
        let longer = format!("{name}n,{}", "x".repeat(100_000));
        assert_eq!(refused_after(longer.as_bytes()), (COLUMN_NAME_BYTES_MAX + 1, Problem::TooLong));
        // a row that goes on behind the header's last field
        assert_eq!(refused_after(format!("a,b\n{}", ",".repeat(100_000)).as_bytes()), (6, Problem::Fields));
    }

    #[test]
    fn records_become_rows_wherever_they_are_cut() {
        let body = "a,\"b\"\"\",c\r\n1,NULL,\"NULL\"\r\n\n,\"x\ny\t\\\",é\n\"\",4,5";
        for piece in 1..=body.len() {
            let mut reader = CsvReader::default();
            body.as_bytes().chunks(piece).for_each(|chunk| reader.feed(chunk).unwrap());
            reader.finish().unwrap();
            assert_eq!((reader.header().unwrap(), reader.rows()), (&["a", "b\"", "c"].map(str::to_owned)[..], 3));
            let rows = |columns: &[&str]| {
                let columns: Vec<String> = columns.iter().map(|&name| name.to_owned()).collect();
                let rows = CsvRows::new(&columns, reader.header().unwrap());
                String::from_utf8(rewritten(rows, body.as_bytes(), piece).unwrap()).unwrap()
            };
            assert_eq!(rows(&["a", "b\"", "c"]), "1\t\\N\tNULL\n\\N\tx\\ny\\t\\\\\té\n\t4\t5\n", "{piece}");
            assert_eq!(rows(&["c", "z", "a"]), "NULL\t\\N\t1\né\t\\N\t\\N\n5\t\\N\t\n", "{piece}");
            let json = document(body, piece).unwrap();
            assert_eq!(
                String::from_utf8(json).unwrap(),
                r#"[{"a":"1","b\"":null,"c":"NULL"},{"a":null,"b\"":"x\ny\t\\","c":"é"},{"a":"","b\"":"4","c":"5"}]"#
            );
        }
    }

    #[test]
    fn what_is_wrong() {
        let wrong = |body: &str| {
            let mut reader = CsvReader::default();
            let read = reader.feed(body.as_bytes()).and_then(|()| reader.finish());
            read.map_err(|error| (error.problem, error.row)).unwrap_err()
        };
        assert_eq!(wrong("a,b\n1,2\n3"), (Problem::Fields, 2));
        assert_eq!(wrong(""), (Problem::Header, 0));
        assert_eq!(wrong("a\n\"x"), (Problem::Quotes, 1));
        assert_eq!(wrong("a\n\"x\"y"), (Problem::Quotes, 1));
        assert_eq!(wrong("a\nx\"y"), (Problem::Quotes, 1));
        assert_eq!(wrong("a\n1,2"), (Problem::Fields, 1));
        assert_eq!(document("a,b\n", 9).unwrap(), b"[]");
    }
}
