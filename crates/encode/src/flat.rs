//! Rows of several flat results, joined into nested JSON.
//!
//! Each row below the root is written as JSON when it comes, and kept by the values that link it to its outer row. The
//! root's rows come last, and take what belongs to them.

use crate::error::EncodeError;
use crate::program::{Node, node};
use crate::value::ValueWriter;
use std::collections::HashMap;
use thalweg_json::{Literal, Literals, append, write_string};
use thalweg_rows::{Level, Member, RowView};

/// How much may be kept, in bytes. Whoever plans a join here expects less.
const HELD_BYTES_MAX: usize = 32 * 1024 * 1024;

/// What has come of each level.
#[derive(Debug)]
pub(crate) struct Joiner {
    held: Vec<Held>,
    /// Where each column of the current row lies in it.
    columns: Vec<Option<(u32, u32)>>,
    scratch: Vec<u8>,
    held_bytes: usize,
}

/// What to do with the rows of a level.
#[derive(Debug)]
pub(crate) struct LevelProgram {
    members: Vec<(Literal, What)>,
    link: Vec<usize>,
    to_one: bool,
}

#[derive(Debug)]
enum What {
    Column(usize, Node),
    Embed { level: usize, key: Vec<usize> },
}

/// The rows of one level as JSON, those with the same link in a chain.
#[derive(Debug, Default)]
struct Held {
    json: Vec<u8>,
    rows: Vec<HeldRow>,
    chains: HashMap<Box<[u8]>, Chain>,
    /// The chain that the last row went to, since rows with the same link often come together.
    last: Option<(Box<[u8]>, Chain)>,
}

#[derive(Debug)]
struct HeldRow {
    start: u32,
    end: u32,
    next: Option<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Chain {
    first: u32,
    last: u32,
}

impl Joiner {
    /// A joiner of so many levels.
    pub(crate) fn new(levels: usize) -> Self {
        Self {
            held: (0..levels).map(|_| Held::default()).collect(),
            columns: Vec::new(),
            scratch: Vec::new(),
            held_bytes: 0,
        }
    }

    /// Forgets all rows.
    pub(crate) fn clear(&mut self) {
        self.held.fill_with(Held::default);
        self.held_bytes = 0;
    }

    pub(crate) fn is_root(&self, level: usize) -> bool {
        level + 1 == self.held.len()
    }

    /// Keeps a row of a level below the root.
    pub(crate) fn hold(&mut self, level: usize, writer: &ValueWriter, row: RowView<'_>) -> Result<(), EncodeError> {
        let body = self.locate(row)?;
        let mut held = std::mem::take(&mut self.held[level]);
        let start = held.json.len();
        self.object(&mut held.json, level, writer, body)?;
        let mut link = std::mem::take(&mut self.scratch);
        if join_key(&mut link, &writer.program.levels[level].link, &self.columns, body) {
            held.add(&link, start);
        } else {
            // linked to nothing
            held.json.truncate(start);
        }
        self.held_bytes += held.json.len() - start;
        self.scratch = link;
        self.held[level] = held;
        if self.held_bytes > HELD_BYTES_MAX {
            return Err(EncodeError::HeldTooMuch);
        }
        Ok(())
    }

    /// Appends a row of the root.
    pub(crate) fn root(
        &mut self,
        out: &mut Vec<u8>,
        writer: &ValueWriter,
        row: RowView<'_>,
    ) -> Result<(), EncodeError> {
        let body = self.locate(row)?;
        let root = self.held.len() - 1;
        self.object(out, root, writer, body)
    }

    fn locate<'a>(&mut self, row: RowView<'a>) -> Result<&'a [u8], EncodeError> {
        let body = row.body();
        self.columns.clear();
        let mut columns = row.columns();
        for _ in 0..row.len() {
            let column = columns.column()?;
            // a row is at most 1 GiB, so that places in it fit
            self.columns.push(column.map(|bytes| {
                let start = (bytes.as_ptr() as usize - body.as_ptr() as usize) as u32;
                (start, start + bytes.len() as u32)
            }));
        }
        Ok(body)
    }

    fn object(
        &mut self,
        out: &mut Vec<u8>,
        level: usize,
        writer: &ValueWriter,
        body: &[u8],
    ) -> Result<(), EncodeError> {
        let program = &writer.program.levels[level];
        for (literal, what) in &program.members {
            writer.program.keys.append(out, *literal);
            match what {
                What::Column(at, node) => {
                    let bytes = column(&self.columns, body, *at);
                    writer.value(out, node, bytes)?;
                }
                What::Embed { level, key } => {
                    let (held, to_one) = (&mut self.held[*level], writer.program.levels[*level].to_one);
                    let found = join_key(&mut self.scratch, key, &self.columns, body);
                    let chain = if found { held.chain(&self.scratch) } else { None };
                    held.write(out, chain, to_one);
                }
            }
        }
        append(out, if program.members.is_empty() { b"{}" } else { b"}" });
        Ok(())
    }
}

impl LevelProgram {
    pub(crate) fn compile(level: &Level, keys: &mut Literals) -> Self {
        let member = |(at, member): (usize, &Member)| {
            let (name, what) = match member {
                Member::Column(column) => {
                    let field = &level.shape.fields[*column];
                    (&field.name, What::Column(*column, node(&field.codec, keys)))
                }
                Member::Embed { name, level, key } => (name, What::Embed { level: *level, key: key.clone() }),
            };
            let literal = keys.keep(|out| {
                append(out, if at == 0 { b"{" } else { b"," });
                write_string(out, name.as_bytes());
                append(out, b":");
            });
            (literal, what)
        };
        let members = level.members.iter().enumerate().map(member).collect();
        Self { members, link: level.link.clone(), to_one: level.to_one }
    }

    /// How much memory it takes, in bytes.
    pub(crate) fn size_bytes(&self) -> usize {
        let of_member = |(_, what): &(Literal, What)| match what {
            What::Column(_, node) => size_of::<(Literal, What)>() + node.size_bytes(),
            What::Embed { key, .. } => size_of::<(Literal, What)>() + size_of_val(key.as_slice()),
        };
        size_of::<Self>() + size_of_val(self.link.as_slice()) + self.members.iter().map(of_member).sum::<usize>()
    }
}

fn column<'a>(columns: &[Option<(u32, u32)>], body: &'a [u8], at: usize) -> Option<&'a [u8]> {
    let (start, end) = columns.get(at).copied().flatten()?;
    body.get(start as usize..end as usize)
}

/// Writes the values of columns as one key; false where one of them is null, which equals nothing.
fn join_key(key: &mut Vec<u8>, of: &[usize], columns: &[Option<(u32, u32)>], body: &[u8]) -> bool {
    key.clear();
    for &at in of {
        let Some(bytes) = column(columns, body, at) else { return false };
        if of.len() > 1 {
            key.extend_from_slice(&(bytes.len() as u32).to_ne_bytes());
        }
        key.extend_from_slice(bytes);
    }
    true
}

impl Held {
    /// Adds the row whose JSON begins at `start` and ends at the end of what is held.
    fn add(&mut self, link: &[u8], start: usize) {
        let row = self.rows.len() as u32;
        self.rows.push(HeldRow { start: start as u32, end: self.json.len() as u32, next: None });
        match &mut self.last {
            Some((known, chain)) if **known == *link => {
                self.rows[chain.last as usize].next = Some(row);
                chain.last = row;
            }
            _ => {
                self.store_last();
                let chain = match self.chains.get(link) {
                    Some(chain) => {
                        self.rows[chain.last as usize].next = Some(row);
                        Chain { first: chain.first, last: row }
                    }
                    None => Chain { first: row, last: row },
                };
                self.last = Some((link.into(), chain));
            }
        }
    }

    fn store_last(&mut self) {
        if let Some((link, chain)) = self.last.take() {
            self.chains.insert(link, chain);
        }
    }

    fn chain(&mut self, key: &[u8]) -> Option<Chain> {
        self.store_last();
        self.chains.get(key).copied()
    }

    fn write(&self, out: &mut Vec<u8>, chain: Option<Chain>, to_one: bool) {
        let mut next = chain.map(|chain| chain.first);
        if to_one {
            match next.map(|at| &self.rows[at as usize]) {
                Some(row) => append(out, &self.json[row.start as usize..row.end as usize]),
                None => append(out, b"null"),
            }
            return;
        }
        append(out, b"[");
        while let Some(at) = next {
            let row = &self.rows[at as usize];
            append(out, &self.json[row.start as usize..row.end as usize]);
            next = row.next;
            if next.is_some() {
                append(out, b",");
            }
        }
        append(out, b"]");
    }
}
