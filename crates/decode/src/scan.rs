//! What a JSON body holds, found without keeping any of it: its form, its keys, and where the values of its first row lie.

use crate::chunks::Chunks;
use crate::error::{DecodeError, Problem};
use bytes::Bytes;
use std::ops::Range;
use thalweg_json::{Container, Reader, Scalar, Visitor};
use thalweg_request::Form;

/// No key is longer, in bytes: PostgreSQL's names are far shorter.
pub(crate) const KEY_BYTES_MAX: usize = 64 * 1024;

/// What a body is at its root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Root {
    /// One row.
    Object,
    /// Any number of rows.
    Array,
    /// Rows one behind the other, without brackets.
    Sequence,
    /// A string, a number, a word.
    Other,
}

/// A value of the first row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its key.
    pub key: String,
    /// What it is.
    pub form: Form,
    /// Where it lies in the body; of a string what is between its quotes.
    pub range: Range<u64>,
}

/// Looks at a JSON body as it arrives.
#[derive(Debug)]
pub struct Scan {
    reader: Reader,
    found: Found,
}

#[derive(Debug)]
struct Found {
    root: Option<Root>,
    /// The depth of a row's members.
    row_depth: usize,
    rows: u64,
    members: Vec<Member>,
    /// In which row each key was last seen.
    seen: Vec<u64>,
    keys_in_row: usize,
    next: usize,
    key: Vec<u8>,
    /// Whether the string that is being read is the key of a row's member.
    keeps_key: bool,
    /// Which of the first row's members is being read.
    current: Option<usize>,
    first_is_whole: bool,
    escaped: bool,
    are_objects: bool,
    is_uniform: bool,
}

impl Scan {
    /// Of a document; of a sequence of objects, if `is_sequence`.
    pub fn new(is_sequence: bool) -> Self {
        let found = Found {
            root: is_sequence.then_some(Root::Sequence),
            row_depth: usize::from(is_sequence),
            rows: 0,
            members: Vec::new(),
            seen: Vec::new(),
            keys_in_row: 0,
            next: 0,
            key: Vec::new(),
            keeps_key: false,
            current: None,
            first_is_whole: false,
            escaped: false,
            are_objects: true,
            is_uniform: true,
        };
        Self { reader: if is_sequence { Reader::sequence() } else { Reader::document() }, found }
    }

    /// Looks at a chunk.
    pub fn feed(&mut self, chunk: &[u8]) -> Result<(), DecodeError> {
        let read = self.reader.feed(chunk, &mut self.found);
        read.map_err(|error| DecodeError::of_reader(error, self.found.rows))
    }

    /// The body has ended.
    pub fn finish(&mut self) -> Result<(), DecodeError> {
        let read = self.reader.finish(&mut self.found);
        read.map_err(|error| DecodeError::of_reader(error, self.found.rows))
    }

    /// What it is at its root, once that is known.
    pub fn root(&self) -> Option<Root> {
        self.found.root
    }

    /// How many rows have begun.
    pub fn rows(&self) -> u64 {
        self.found.rows
    }

    /// Whether the first row has been seen whole.
    pub fn first_is_whole(&self) -> bool {
        self.found.first_is_whole
    }

    /// The values of the first row; of a repeated key the last.
    pub fn members(&self) -> &[Member] {
        &self.found.members
    }

    /// Whether all rows are objects.
    pub fn are_objects(&self) -> bool {
        self.found.are_objects
    }

    /// Whether all rows are objects with the same keys.
    pub fn is_uniform(&self) -> bool {
        self.found.is_uniform
    }
}

impl Found {
    fn in_first_row(&self) -> bool {
        self.rows == 1 && !self.first_is_whole
    }

    /// A row begins, or something that should be one.
    fn row(&mut self, is_object: bool) {
        self.rows += 1;
        self.are_objects &= is_object;
        self.is_uniform &= is_object;
        (self.keys_in_row, self.next) = (0, 0);
    }

    fn row_ends(&mut self) {
        self.first_is_whole = true;
        self.is_uniform &= self.keys_in_row == self.members.len();
    }

    fn key_is(&mut self, key: &[u8]) -> Result<(), DecodeError> {
        let is = |member: &Member| member.key.as_bytes() == key;
        let known = match self.members.get(self.next) {
            Some(member) if is(member) => Some(self.next),
            _ => self.members.iter().position(is),
        };
        if self.in_first_row() {
            let at = known.unwrap_or_else(|| {
                let key = String::from_utf8_lossy(key).into_owned();
                self.members.push(Member { key, form: Form::Null, range: 0..0 });
                self.seen.push(0);
                self.members.len() - 1
            });
            self.current = Some(at);
            self.is_seen(at);
        } else {
            match known {
                Some(at) => self.is_seen(at),
                None => self.is_uniform = false,
            }
        }
        Ok(())
    }

    fn is_seen(&mut self, at: usize) {
        self.next = at + 1;
        if self.seen[at] != self.rows {
            self.seen[at] = self.rows;
            self.keys_in_row += 1;
        }
    }

    /// The member of the first row that is being read, if what begins at this depth is its value.
    fn member(&mut self, depth: usize) -> Option<&mut Member> {
        if depth != self.row_depth {
            return None;
        }
        self.members.get_mut(self.current?)
    }

    fn value_starts(&mut self, form: Form, depth: usize, at: u64) {
        if let Some(member) = self.member(depth) {
            (member.form, member.range) = (form, at..at);
        }
        // something at the place of a row that is none
        if depth + 1 == self.row_depth && self.root.is_some() {
            self.row(false);
        }
        self.root.get_or_insert(Root::Other);
    }

    fn value_ends(&mut self, depth: usize, at: u64) {
        if let Some(member) = self.member(depth) {
            member.range.end = at;
            self.current = None;
        }
    }
}

impl Visitor for Found {
    type Error = DecodeError;

    fn open(&mut self, container: Container, depth: usize, at: u64) -> Result<(), DecodeError> {
        let is_object = container == Container::Object;
        if self.root.is_none() {
            (self.root, self.row_depth) = if is_object { (Some(Root::Object), 1) } else { (Some(Root::Array), 2) };
        }
        if depth == self.row_depth {
            self.row(is_object);
        } else if depth == self.row_depth + 1 {
            let form = if is_object { Form::Object } else { Form::Array };
            if let Some(member) = self.member(depth - 1) {
                (member.form, member.range) = (form, at..at);
            }
        }
        Ok(())
    }

    fn close(&mut self, _: Container, depth: usize, at: u64) -> Result<(), DecodeError> {
        if depth == self.row_depth {
            self.row_ends();
        } else if depth == self.row_depth + 1 {
            self.value_ends(depth - 1, at);
        }
        Ok(())
    }

    fn string_start(&mut self, is_key: bool, depth: usize, at: u64) -> Result<(), DecodeError> {
        if is_key {
            self.key.clear();
        } else {
            self.escaped = false;
            self.value_starts(Form::String { escaped: false }, depth, at);
        }
        self.keeps_key = is_key && depth == self.row_depth;
        Ok(())
    }

    fn string_piece(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        if self.keeps_key {
            if self.key.len() + bytes.len() > KEY_BYTES_MAX {
                return Err(DecodeError::at(Problem::TooLong, self.rows));
            }
            self.key.extend_from_slice(bytes);
        }
        Ok(())
    }

    fn string_escape(&mut self, _: &[u8], character: char) -> Result<(), DecodeError> {
        self.escaped = true;
        if self.keeps_key {
            let mut buffer = [0; 4];
            let bytes = character.encode_utf8(&mut buffer).as_bytes().to_vec();
            return self.string_piece(&bytes);
        }
        Ok(())
    }

    fn string_end(&mut self, is_key: bool, depth: usize, at: u64) -> Result<(), DecodeError> {
        let escaped = self.escaped;
        if is_key {
            if depth == self.row_depth {
                let key = std::mem::take(&mut self.key);
                self.key_is(&key)?;
                self.key = key;
            }
        } else {
            if let Some(member) = self.member(depth) {
                member.form = Form::String { escaped };
            }
            self.value_ends(depth, at);
        }
        self.keeps_key = false;
        Ok(())
    }

    fn string(&mut self, is_key: bool, bytes: &[u8], depth: usize, at: u64) -> Result<(), DecodeError> {
        if is_key {
            return if depth == self.row_depth { self.key_is(bytes) } else { Ok(()) };
        }
        self.value_starts(Form::String { escaped: false }, depth, at);
        self.value_ends(depth, at + bytes.len() as u64);
        Ok(())
    }

    fn scalar_start(&mut self, depth: usize, at: u64) -> Result<(), DecodeError> {
        self.value_starts(Form::Scalar, depth, at);
        Ok(())
    }

    fn scalar_end(&mut self, scalar: Scalar, depth: usize, at: u64) -> Result<(), DecodeError> {
        if let Some(member) = self.member(depth).filter(|_| scalar == Scalar::Null) {
            member.form = Form::Null;
        }
        self.value_ends(depth, at);
        Ok(())
    }
}

/// The text of a JSON string, of what stands between its quotes.
pub fn unescape(pieces: &[Bytes]) -> Result<Vec<u8>, DecodeError> {
    struct Text(Vec<u8>);
    impl Visitor for Text {
        type Error = DecodeError;
        fn string_piece(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
            self.0.extend_from_slice(bytes);
            Ok(())
        }
        fn string_escape(&mut self, _: &[u8], character: char) -> Result<(), DecodeError> {
            self.0.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            Ok(())
        }
    }
    let mut text = Text(Vec::with_capacity(pieces.iter().map(Bytes::len).sum()));
    let mut reader = Reader::document();
    let quote: &[u8] = b"\"";
    for piece in std::iter::once(quote).chain(pieces.iter().map(|piece| &piece[..])).chain([quote]) {
        reader.feed(piece, &mut text).map_err(|error| DecodeError::of_reader(error, 1))?;
    }
    Ok(text.0)
}

/// The rows of a sequence as one array.
pub fn join_rows(body: &Chunks) -> Result<Vec<u8>, DecodeError> {
    struct Join {
        out: Vec<u8>,
        rows: u64,
    }
    impl Join {
        fn begin(&mut self, depth: usize) {
            if depth == 0 {
                self.out.push(if self.rows == 0 { b'[' } else { b',' });
                self.rows += 1;
            }
        }
    }
    impl Visitor for Join {
        type Error = DecodeError;
        fn open(&mut self, container: Container, depth: usize, _: u64) -> Result<(), DecodeError> {
            self.begin(depth - 1);
            self.out.push(if container == Container::Object { b'{' } else { b'[' });
            Ok(())
        }
        fn close(&mut self, container: Container, _: usize, _: u64) -> Result<(), DecodeError> {
            self.out.push(if container == Container::Object { b'}' } else { b']' });
            Ok(())
        }
        fn string_start(&mut self, _: bool, depth: usize, _: u64) -> Result<(), DecodeError> {
            self.begin(depth);
            self.out.push(b'"');
            Ok(())
        }
        fn string_piece(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
            self.out.extend_from_slice(bytes);
            Ok(())
        }
        fn string_escape(&mut self, raw: &[u8], _: char) -> Result<(), DecodeError> {
            self.out.extend_from_slice(raw);
            Ok(())
        }
        fn string_end(&mut self, _: bool, _: usize, _: u64) -> Result<(), DecodeError> {
            self.out.push(b'"');
            Ok(())
        }
        fn scalar_start(&mut self, depth: usize, _: u64) -> Result<(), DecodeError> {
            self.begin(depth);
            Ok(())
        }
        fn scalar_piece(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
            self.out.extend_from_slice(bytes);
            Ok(())
        }
        fn between(&mut self, bytes: &[u8], depth: usize) -> Result<(), DecodeError> {
            if depth > 0 {
                self.out.extend_from_slice(bytes);
            }
            Ok(())
        }
    }
    let mut join = Join { out: Vec::with_capacity(body.size_bytes() as usize + 2), rows: 0 };
    let mut reader = Reader::sequence();
    for chunk in body.list() {
        reader.feed(chunk, &mut join).map_err(|error| DecodeError::of_reader(error, join.rows))?;
    }
    reader.finish(&mut join).map_err(|error| DecodeError::of_reader(error, join.rows))?;
    if join.rows == 0 {
        join.out.push(b'[');
    }
    join.out.push(b']');
    Ok(join.out)
}
