//! What a JSON body holds, found without keeping any of it: its form, its keys, and where the values of its first row lie.

use crate::error::{DecodeError, Problem, Refusal};
use std::collections::HashMap;
use std::ops::Range;
use thalweg_json::{Container, Reader, Scalar, Visitor};
use thalweg_request::Form;

/// How many different keys the first row of a body may have: more than a relation can have columns.
pub const KEYS_MAX: usize = 2_000;
/// No key is longer, in bytes: PostgreSQL's names are far shorter.
pub const KEY_BYTES_MAX: usize = 64 * 1024;
/// How long the keys that are kept may be together, in bytes.
pub const KEYS_BYTES_MAX: usize = 1024 * 1024;

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
    /// Where each key is among them.
    places: HashMap<Box<[u8]>, usize>,
    keys_bytes: usize,
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
            places: HashMap::new(),
            keys_bytes: 0,
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

    fn key_is(&mut self, key: &[u8]) -> Result<(), Refusal> {
        let known = match self.members.get(self.next) {
            Some(member) if member.key.as_bytes() == key => Some(self.next),
            _ => self.places.get(key).copied(),
        };
        if self.in_first_row() {
            let at = match known {
                Some(at) => at,
                None => self.new_member(key)?,
            };
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

    fn new_member(&mut self, key: &[u8]) -> Result<usize, Refusal> {
        let at = self.members.len();
        self.keys_bytes += key.len();
        if at == KEYS_MAX {
            return Err(DecodeError::at(Problem::TooManyKeys, self.rows).into());
        }
        if self.keys_bytes > KEYS_BYTES_MAX {
            return Err(DecodeError::at(Problem::TooLong, self.rows).into());
        }
        self.places.insert(key.into(), at);
        let key = String::from_utf8_lossy(key).into_owned();
        self.members.push(Member { key, form: Form::Null, range: 0..0 });
        self.seen.push(0);
        Ok(at)
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
    type Error = Refusal;

    fn open(&mut self, container: Container, depth: usize, at: u64) -> Result<(), Refusal> {
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

    fn close(&mut self, _: Container, depth: usize, at: u64) -> Result<(), Refusal> {
        if depth == self.row_depth {
            self.row_ends();
        } else if depth == self.row_depth + 1 {
            self.value_ends(depth - 1, at);
        }
        Ok(())
    }

    fn string_start(&mut self, is_key: bool, depth: usize, at: u64) -> Result<(), Refusal> {
        if is_key {
            self.key.clear();
        } else {
            self.escaped = false;
            self.value_starts(Form::String { escaped: false }, depth, at);
        }
        self.keeps_key = is_key && depth == self.row_depth;
        Ok(())
    }

    fn string_piece(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        if self.keeps_key {
            if self.key.len() + bytes.len() > KEY_BYTES_MAX {
                return Err(DecodeError::at(Problem::TooLong, self.rows).into());
            }
            self.key.extend_from_slice(bytes);
        }
        Ok(())
    }

    fn string_escape(&mut self, _: &[u8], character: char) -> Result<(), Refusal> {
        self.escaped = true;
        if self.keeps_key {
            return self.string_piece(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
        Ok(())
    }

    fn string_end(&mut self, is_key: bool, depth: usize, at: u64) -> Result<(), Refusal> {
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

    fn string(&mut self, is_key: bool, bytes: &[u8], depth: usize, at: u64) -> Result<(), Refusal> {
        if is_key {
            return if depth == self.row_depth { self.key_is(bytes) } else { Ok(()) };
        }
        self.value_starts(Form::String { escaped: false }, depth, at);
        self.value_ends(depth, at + bytes.len() as u64);
        Ok(())
    }

    fn scalar_start(&mut self, depth: usize, at: u64) -> Result<(), Refusal> {
        self.value_starts(Form::Scalar, depth, at);
        Ok(())
    }

    fn scalar_end(&mut self, scalar: Scalar, depth: usize, at: u64) -> Result<(), Refusal> {
        if let Some(member) = self.member(depth).filter(|_| scalar == Scalar::Null) {
            member.form = Form::Null;
        }
        self.value_ends(depth, at);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many bytes of a body are read before it is refused, and why.
    fn refused_after(body: &str) -> (usize, Problem) {
        let mut scan = Scan::new(false);
        let mut bytes = body.bytes().enumerate();
        bytes.find_map(|(at, byte)| Some((at + 1, scan.feed(&[byte]).err()?.problem))).expect("it is refused")
    }

    fn keys(count: usize) -> Vec<String> {
        (0..count).map(|at| format!("\"key {at}\":{at}")).collect()
    }

    #[test]
    fn keys_have_a_bound_that_is_found_at_the_first_too_many() {
        let good = keys(KEYS_MAX).join(",");
        // as many as there may be, each of them twice
        let mut scan = Scan::new(false);
        scan.feed(format!("{{{good},{good}}}").as_bytes()).unwrap();
        scan.finish().unwrap();
        assert_eq!((scan.members().len(), scan.is_uniform()), (KEYS_MAX, true));
        assert_eq!(scan.members()[7].key, "key 7");
        for (start, end) in [("{", "}"), ("[{", "}]")] {
            let many = format!("{start}{}{end}", keys(120_000).join(","));
            let first_too_many = format!("{start}{good},\"key {KEYS_MAX}\"").len();
            assert_eq!(refused_after(&many), (first_too_many, Problem::TooManyKeys));
        }
        let long = |count: usize| {
            let key = |at: usize| format!("\"{at}{}\":1", "k".repeat(KEY_BYTES_MAX - at.to_string().len()));
            format!("{{{}}}", (0..count).map(key).collect::<Vec<_>>().join(","))
        };
        let most = KEYS_BYTES_MAX / KEY_BYTES_MAX;
        Scan::new(false).feed(long(most).as_bytes()).unwrap();
        assert_eq!(refused_after(&long(most + 1)).1, Problem::TooLong);
    }

    #[test]
    fn keys_of_later_rows_are_found_wherever_they_stand_and_none_is_kept() {
        let mut reversed = keys(KEYS_MAX);
        reversed.reverse();
        let rows = format!("[{{{}}},{{{}}}", keys(KEYS_MAX).join(","), reversed.join(","));
        let mut scan = Scan::new(false);
        scan.feed(rows.as_bytes()).unwrap();
        assert!(scan.is_uniform());
        scan.feed(format!(",{{{}}}]", keys(120_000).join(",")).as_bytes()).unwrap();
        scan.finish().unwrap();
        assert_eq!((scan.members().len(), scan.is_uniform()), (KEYS_MAX, false));
    }
}
