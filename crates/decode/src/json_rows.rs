//! JSON objects to rows of a `COPY`, as they arrive: each value is copied once, from the body's chunk into the rows.
//!
//! A value becomes what PostgreSQL's `json_to_recordset` would give to the type's input function: strings without their
//! quotes and escapes, numbers and words as they are written, arrays and objects as their JSON text, or as an array's
//! text where the column is an array.

use crate::copy_text::{NULL, RowBuffer, append_char, append_escaped};
use crate::error::{DecodeError, Problem, Refusal};
use crate::rewrite::Rewrite;
use crate::scan::KEY_BYTES_MAX;
use std::collections::HashMap;
use std::ops::Range;
use thalweg_json::{Container, Reader, Scalar, Visitor, write_string};

/// A column that rows are written to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name, which is the key of its values.
    pub name: String,
    /// What becomes of values.
    pub kind: Kind,
}

/// What becomes of the values of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Of any type with a text form of its own.
    Text,
    /// Of type `json` or `jsonb`.
    Json,
    /// Of an array type, whose elements have a text form of their own.
    Array,
}

/// Makes rows of objects.
#[derive(Debug)]
pub struct JsonRows {
    reader: Reader,
    writer: Writer,
}

#[derive(Debug)]
struct Writer {
    columns: Vec<Column>,
    /// Whether keys may be missing, and others are passed over.
    is_lenient: bool,
    row_depth: usize,
    rows: u64,
    buffer: RowBuffer,
    /// Where each column is among them.
    places: HashMap<Box<[u8]>, usize>,
    /// What is known of each column's value.
    fields: Vec<Field>,
    fields_in_row: usize,
    next: usize,
    in_order: bool,
    /// A key that came in pieces.
    key: Vec<u8>,
    keeps_key: bool,
    /// The column of the value that is being read.
    current: Option<usize>,
    inside: Inside,
    /// Of the array that is being read, level by level: how many elements the current one has, and how many one had that
    /// has ended.
    sizes: Vec<(u64, Option<u64>)>,
    has_elements: bool,
    /// How many columns of the current row have values that cannot be written.
    wrong: usize,
}

/// The last value of a column.
#[derive(Debug, Clone)]
struct Field {
    /// The row that it was written in.
    row: u64,
    /// Where it lies in the buffer.
    range: Range<usize>,
    /// Why it cannot be written.
    wrong: Option<Problem>,
}

/// No array of PostgreSQL's has more dimensions.
const DIMENSIONS_MAX: usize = 6;

/// What the value that is being read is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inside {
    /// A string, a number or a word.
    Plain,
    /// A string of a `json` column.
    JsonString,
    /// JSON text.
    Raw,
    /// An array: how deep its brackets are open, how many dimensions it has once that is known, and how deep JSON is
    /// open within an element.
    Array { open: usize, dimensions: Option<usize>, element: usize },
}

impl JsonRows {
    /// For columns. With `is_lenient`, keys may be missing and others are passed over; a body that is no array of objects is
    /// then PostgreSQL's kind of error. `is_sequence` is for objects one behind the other.
    pub fn new(columns: Vec<Column>, is_lenient: bool, is_sequence: bool) -> Self {
        let fields = vec![Field { row: 0, range: 0..0, wrong: None }; columns.len()];
        let places = columns.iter().enumerate().map(|(at, column)| (column.name.as_bytes().into(), at)).collect();
        let writer = Writer {
            columns,
            is_lenient,
            row_depth: if is_sequence { 1 } else { 2 },
            rows: 0,
            buffer: RowBuffer::default(),
            places,
            fields,
            fields_in_row: 0,
            next: 0,
            in_order: true,
            key: Vec::new(),
            keeps_key: false,
            current: None,
            inside: Inside::Plain,
            sizes: Vec::new(),
            has_elements: false,
            wrong: 0,
        };
        Self { reader: if is_sequence { Reader::sequence() } else { Reader::document() }, writer }
    }
}

impl Rewrite for JsonRows {
    fn feed(&mut self, chunk: &[u8]) -> Result<(), DecodeError> {
        let read = self.reader.feed(chunk, &mut self.writer);
        read.map_err(|error| DecodeError::of_reader(error, self.writer.rows))
    }

    fn finish(&mut self) -> Result<(), DecodeError> {
        let read = self.reader.finish(&mut self.writer);
        read.map_err(|error| DecodeError::of_reader(error, self.writer.rows))
    }

    fn ready_bytes(&self) -> usize {
        self.writer.buffer.ready_bytes()
    }

    fn begun_bytes(&self) -> usize {
        self.writer.buffer.begun_bytes()
    }

    fn take(&mut self) -> Vec<u8> {
        let writer = &mut self.writer;
        let taken = writer.buffer.take();
        let base = taken.len();
        for field in &mut writer.fields {
            if field.row == writer.rows && field.range.start >= base {
                field.range = field.range.start - base..field.range.end.saturating_sub(base);
            }
        }
        taken
    }
}

impl Writer {
    /// Notes that the current value is none of its column's. A later one with the same key counts instead.
    fn refuse(&mut self, problem: Problem) {
        self.inside = Inside::Raw;
        if let Some(at) = self.current
            && self.fields[at].wrong.replace(problem).is_none()
        {
            self.wrong += 1;
        }
    }

    fn row_starts(&mut self) {
        self.rows += 1;
        (self.fields_in_row, self.next, self.in_order) = (0, 0, true);
    }

    fn row_ends(&mut self) -> Result<(), Refusal> {
        if self.wrong > 0
            && let Some((at, problem)) = self.fields.iter().enumerate().find_map(|(at, field)| Some((at, field.wrong?)))
        {
            return Err(DecodeError { problem, row: self.rows, column: Some(self.columns[at].name.clone()) }.into());
        }
        let whole = self.fields_in_row == self.columns.len();
        if !whole && !self.is_lenient {
            return Err(DecodeError::at(Problem::Keys, self.rows).into());
        }
        if !whole || !self.in_order {
            let rows = self.rows;
            let fields = self.fields.iter().map(|field| (field.row == rows).then(|| field.range.clone()));
            self.buffer.arrange(fields);
        }
        self.buffer.end_row();
        Ok(())
    }

    #[inline]
    fn key_is(&mut self, key: &[u8]) -> Result<(), Refusal> {
        let expected = self.columns.get(self.next).is_some_and(|column| column.name.as_bytes() == key);
        let known = if expected { Some(self.next) } else { self.places.get(key).copied() };
        self.current = known;
        let Some(at) = known else {
            return if self.is_lenient { Ok(()) } else { Err(DecodeError::at(Problem::Keys, self.rows).into()) };
        };
        if self.wrong > 0 && self.fields[at].wrong.take().is_some() {
            self.wrong -= 1;
        }
        let is_new = self.fields[at].row != self.rows;
        if self.fields_in_row > 0 {
            self.buffer.out.push(b'\t');
        }
        self.fields_in_row += usize::from(is_new);
        // of a repeated key the last value counts
        self.in_order &= expected && is_new;
        self.next = at + 1;
        (self.fields[at].row, self.fields[at].range) = (self.rows, self.buffer.out.len()..self.buffer.out.len());
        Ok(())
    }

    /// The column whose value begins at this depth, or goes on below it.
    fn column(&self) -> Option<&Column> {
        self.current.map(|at| &self.columns[at])
    }

    fn value_ends(&mut self) {
        if let Some(at) = self.current.take() {
            self.fields[at].range.end = self.buffer.out.len();
        }
        self.inside = Inside::Plain;
    }

    /// A value begins that is no row although it stands at a row's place.
    fn no_row(&self) -> Refusal {
        let problem = if self.is_lenient { Problem::NotRecord } else { Problem::NotObject };
        DecodeError::at(problem, self.rows + 1).into()
    }

    /// Appends text that is JSON: within an array's element it is between quotes.
    fn raw(&mut self, bytes: &[u8]) {
        match self.inside {
            Inside::Array { element: 1.., .. } => self.quoted(bytes),
            _ => append_escaped(&mut self.buffer.out, bytes),
        }
    }

    /// Appends what stands between the quotes of an array's element.
    fn quoted(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if matches!(byte, b'"' | b'\\') {
                self.buffer.out.extend_from_slice(b"\\\\");
            }
            append_escaped(&mut self.buffer.out, &[byte]);
        }
    }

    /// A comma, a colon or white space within a value.
    fn within_value(&mut self, bytes: &[u8]) {
        match self.inside {
            Inside::Array { element: 0, .. } if bytes == b"," => self.buffer.out.push(b','),
            Inside::Array { element: 0, .. } => {}
            _ => self.raw(bytes),
        }
    }

    /// An element of an array that is no array itself begins.
    fn element(&mut self) {
        if let Inside::Array { open, dimensions, element: 0 } = &mut self.inside {
            match dimensions {
                None => *dimensions = Some(*open),
                Some(known) if known == open => {}
                Some(_) => return self.refuse(Problem::Dimensions),
            }
            if let Some((count, _)) = self.sizes.last_mut() {
                *count += 1;
            }
            self.has_elements = true;
        }
    }

    fn opens(&mut self, container: Container) {
        let bracket: &[u8] = if container == Container::Object { b"{" } else { b"[" };
        match &mut self.inside {
            Inside::Array { open, dimensions, element: 0 }
                if container == Container::Array && dimensions.is_none_or(|known| *open < known) =>
            {
                *open += 1;
                let open = *open;
                if open > DIMENSIONS_MAX {
                    return self.refuse(Problem::Dimensions);
                }
                if let Some((count, _)) = open.checked_sub(2).and_then(|outer| self.sizes.get_mut(outer)) {
                    *count += 1;
                }
                match self.sizes.get_mut(open - 1) {
                    Some((count, _)) => *count = 0,
                    None => self.sizes.push((0, None)),
                }
                self.buffer.out.push(b'{');
                return;
            }
            Inside::Array { element: 0, .. } => {
                self.element();
                self.buffer.out.push(b'"');
                if let Inside::Array { element, .. } = &mut self.inside {
                    *element = 1;
                }
            }
            Inside::Array { element, .. } => *element += 1,
            _ => {}
        }
        self.raw(bracket);
    }

    fn closes(&mut self, container: Container) {
        if let Inside::Array { open, dimensions, element: 0 } = &mut self.inside {
            dimensions.get_or_insert(*open);
            *open -= 1;
            let open = *open;
            let (count, size) = &mut self.sizes[open];
            if *size.get_or_insert(*count) != *count {
                return self.refuse(Problem::Dimensions);
            }
            self.buffer.out.push(b'}');
            if let (0, false, Some(at)) = (open, self.has_elements, self.current) {
                // without an element there is no dimension
                self.buffer.out.truncate(self.fields[at].range.start);
                self.buffer.out.extend_from_slice(b"{}");
            }
            return;
        }
        self.raw(if container == Container::Object { b"}" } else { b"]" });
        if let Inside::Array { element, .. } = &mut self.inside {
            *element -= 1;
            if *element == 0 {
                self.buffer.out.push(b'"');
            }
        }
    }
}

impl Visitor for Writer {
    type Error = Refusal;

    fn open(&mut self, container: Container, depth: usize, _: u64) -> Result<(), Refusal> {
        if depth < self.row_depth {
            return if container == Container::Array { Ok(()) } else { Err(self.no_row()) };
        }
        if depth == self.row_depth {
            if container == Container::Array {
                return Err(self.no_row());
            }
            self.row_starts();
            return Ok(());
        }
        let Some(column) = self.column() else { return Ok(()) };
        if depth == self.row_depth + 1 {
            let kind = column.kind;
            self.inside = match (kind, container) {
                (Kind::Array, Container::Array) => {
                    self.sizes.clear();
                    self.has_elements = false;
                    Inside::Array { open: 0, dimensions: None, element: 0 }
                }
                (Kind::Text | Kind::Json | Kind::Array, _) => Inside::Raw,
            };
            if kind == Kind::Array && container == Container::Object {
                self.refuse(Problem::NotArray);
            }
        }
        self.opens(container);
        Ok(())
    }

    fn close(&mut self, container: Container, depth: usize, _: u64) -> Result<(), Refusal> {
        if depth < self.row_depth {
            return Ok(());
        }
        if depth == self.row_depth {
            return self.row_ends();
        }
        if self.current.is_some() {
            self.closes(container);
            if depth == self.row_depth + 1 {
                self.value_ends();
            }
        }
        Ok(())
    }

    fn string_start(&mut self, is_key: bool, depth: usize, _: u64) -> Result<(), Refusal> {
        if depth < self.row_depth {
            return Err(self.no_row());
        }
        if is_key && depth == self.row_depth {
            self.keeps_key = true;
            self.key.clear();
            return Ok(());
        }
        let Some(column) = self.column() else { return Ok(()) };
        if depth == self.row_depth {
            self.inside = if column.kind == Kind::Json { Inside::JsonString } else { Inside::Plain };
            if self.inside == Inside::JsonString {
                self.buffer.out.push(b'"');
            }
            return Ok(());
        }
        if let Inside::Array { element: 0, .. } = self.inside {
            self.element();
            self.buffer.out.push(b'"');
        } else {
            self.raw(b"\"");
        }
        Ok(())
    }

    fn string_piece(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        if self.keeps_key {
            if self.key.len() + bytes.len() > KEY_BYTES_MAX {
                return Err(DecodeError::at(Problem::TooLong, self.rows).into());
            }
            self.key.extend_from_slice(bytes);
        } else if self.current.is_some() {
            // nothing in it needs an escape, in a COPY's text or between quotes
            self.buffer.out.extend_from_slice(bytes);
        }
        Ok(())
    }

    fn string_escape(&mut self, raw: &[u8], character: char) -> Result<(), Refusal> {
        let mut buffer = [0; 4];
        if self.keeps_key {
            return self.string_piece(character.encode_utf8(&mut buffer).as_bytes());
        }
        if self.current.is_none() {
            return Ok(());
        }
        match self.inside {
            Inside::Plain => append_char(&mut self.buffer.out, character),
            Inside::Array { element: 0, .. } => self.quoted(character.encode_utf8(&mut buffer).as_bytes()),
            // as PostgreSQL writes it anew
            Inside::JsonString => {
                let mut text = Vec::with_capacity(8);
                write_string(&mut text, character.encode_utf8(&mut buffer).as_bytes());
                append_escaped(&mut self.buffer.out, &text[1..text.len() - 1]);
            }
            Inside::Raw | Inside::Array { .. } => self.raw(raw),
        }
        Ok(())
    }

    fn string_end(&mut self, is_key: bool, depth: usize, _: u64) -> Result<(), Refusal> {
        if is_key && depth == self.row_depth {
            self.keeps_key = false;
            let key = std::mem::take(&mut self.key);
            let known = self.key_is(&key);
            self.key = key;
            return known;
        }
        if self.current.is_none() {
            return Ok(());
        }
        if depth == self.row_depth {
            if self.inside == Inside::JsonString {
                self.buffer.out.push(b'"');
            }
            self.value_ends();
        } else if let Inside::Array { element: 0, .. } = self.inside {
            self.buffer.out.push(b'"');
        } else {
            self.raw(b"\"");
        }
        Ok(())
    }

    #[inline]
    fn string(&mut self, is_key: bool, bytes: &[u8], depth: usize, at: u64) -> Result<(), Refusal> {
        if depth == self.row_depth {
            if is_key {
                return self.key_is(bytes);
            }
            match self.column().map(|column| column.kind) {
                Some(Kind::Json) => {}
                Some(Kind::Text | Kind::Array) => {
                    self.buffer.out.extend_from_slice(bytes);
                    self.value_ends();
                    return Ok(());
                }
                None => return Ok(()),
            }
        }
        self.string_start(is_key, depth, at)?;
        self.string_piece(bytes)?;
        self.string_end(is_key, depth, at + bytes.len() as u64)
    }

    #[inline]
    fn scalar_start(&mut self, depth: usize, _: u64) -> Result<(), Refusal> {
        if depth < self.row_depth {
            return Err(self.no_row());
        }
        if depth > self.row_depth && self.current.is_some() {
            self.element();
        }
        Ok(())
    }

    #[inline]
    fn scalar_piece(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        if self.current.is_some() {
            // digits and letters need no escape
            self.buffer.out.extend_from_slice(bytes);
        }
        Ok(())
    }

    #[inline]
    fn scalar_end(&mut self, scalar: Scalar, depth: usize, _: u64) -> Result<(), Refusal> {
        if depth != self.row_depth {
            return Ok(());
        }
        let Some(at) = self.current else { return Ok(()) };
        if scalar == Scalar::Null {
            self.buffer.out.truncate(self.fields[at].range.start);
            self.buffer.out.extend_from_slice(NULL);
        } else if self.columns[at].kind == Kind::Array {
            self.refuse(Problem::NotArray);
        }
        self.value_ends();
        Ok(())
    }

    #[inline(always)]
    fn between(&mut self, bytes: &[u8], depth: usize) -> Result<(), Refusal> {
        if depth > self.row_depth && self.current.is_some() {
            self.within_value(bytes);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rewrite::rewritten;

    fn rows(body: &str, piece: usize, is_lenient: bool) -> Result<String, DecodeError> {
        let kinds = [("a", Kind::Text), ("j", Kind::Json), ("l", Kind::Array)];
        let columns = kinds.map(|(name, kind)| Column { name: name.to_owned(), kind }).to_vec();
        let is_sequence = body.starts_with('{');
        let out = rewritten(JsonRows::new(columns, is_lenient, is_sequence), body.as_bytes(), piece)?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn objects_become_rows_wherever_they_are_cut() {
        for (body, expected) in [
            (r#"[{"a":1,"j":null,"l":[]}, {"a":null,"j":"x","l":null}]"#, "1\t\\N\t{}\n\\N\t\"x\"\t\\N\n"),
            // another order, a repeated key
            (r#"[{"l":[1,2],"a":"x","a":"y","j":[ 1 ]}]"#, "y\t[ 1 ]\t{1,2}\n"),
            (
                r#"[{"a":"t\t\\\u00e9\n","j":{"k":"\n\\"},"l":["a\"b\\","n\n",null,true]}]"#,
                "t\\t\\\\é\\n\t{\"k\":\"\\\\n\\\\\\\\\"}\t{\"a\\\\\"b\\\\\\\\\",\"n\\n\",null,true}\n",
            ),
            (
                r#"[{"a":{"x":[1, "\t"]},"j":"\u00e9\"\t","l":[[1],[2]]}]"#,
                "{\"x\":[1, \"\\\\t\"]}\t\"é\\\\\"\\\\t\"\t{{1},{2}}\n",
            ),
            // what is an element once the dimensions are known
            (
                r#"[{"a":"","j":0,"l":[1,[2,"x"],{"y":"\""}]}]"#,
                "\t0\t{1,\"[2,\\\\\"x\\\\\"]\",\"{\\\\\"y\\\\\":\\\\\"\\\\\\\\\\\\\"\\\\\"}\"}\n",
            ),
            ("{\"a\":1,\"j\":2,\"l\":\"{3}\"}\n{\"a\":4,\"j\":5,\"l\":\"{}\"}\n", "1\t2\t{3}\n4\t5\t{}\n"),
            (r#"[{"a":1,"j":2,"l":[[],[]]},{"a":1,"j":2,"l":[[[]]]}]"#, "1\t2\t{}\n1\t2\t{}\n"),
            ("[]", ""),
        ] {
            for piece in 1..=body.len() {
                assert_eq!(rows(body, piece, false).as_deref(), Ok(expected), "{body} in pieces of {piece}");
            }
        }
        let lenient = r#"[{"x":{"a":[1]},"j":1},{},{"l":[1],"b":"\n","a":2}]"#;
        for piece in 1..=lenient.len() {
            assert_eq!(rows(lenient, piece, true).as_deref(), Ok("\\N\t1\t\\N\n\\N\t\\N\t\\N\n2\t\\N\t{1}\n"));
        }
    }

    #[test]
    fn what_is_wrong_has_a_row_and_a_column() {
        let wrong =
            |body: &str| rows(body, 7, false).map_err(|error| (error.problem, error.row, error.column)).unwrap_err();
        assert_eq!(wrong(r#"[{"a":1,"j":1,"l":[]},{"a":1,"j":1}]"#), (Problem::Keys, 2, None));
        assert_eq!(wrong(r#"[{"a":1,"j":1,"l":[],"z":1}]"#), (Problem::Keys, 1, None));
        assert_eq!(wrong(r#"[{"a":1,"j":1,"l":5}]"#), (Problem::NotArray, 1, Some("l".into())));
        assert_eq!(wrong(r#"[{"a":1,"j":1,"l":[[1],2]}]"#), (Problem::Dimensions, 1, Some("l".into())));
        for list in ["[[1],[2,3]]", "[[[]],[]]", "[[],[1]]", "[[[[[[[1]]]]]]]", "[[1],2]"] {
            let body = format!(r#"[{{"a":1,"j":1,"l":{list}}}]"#);
            assert_eq!(wrong(&body), (Problem::Dimensions, 1, Some("l".into())), "{list}");
        }
        assert_eq!(wrong(r#"[{"a":1,"j":1,"l":[]},5]"#), (Problem::NotObject, 2, None));
        assert_eq!(wrong(r#"[{"a":1,"j":1,"l":[]}"#), (Problem::Json, 1, None));
        assert_eq!(wrong(r#"[{"a":"\u0000","j":1,"l":[]}]"#), (Problem::Nul, 1, None));
    }
}
