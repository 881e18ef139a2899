//! A shape made ready for writing: keys escaped once, not once a row nor once a request.

use crate::csv;
use crate::encoder::Target;
use crate::flat::LevelProgram;
use thalweg_json::{Literal, Literals, append, write_string};
use thalweg_rows::oid::Oid;
use thalweg_rows::{Codec, Field, Level, Scalar, Shape};

/// What an encoder makes of rows. It can be shared by any number of them.
#[derive(Debug)]
pub struct Program {
    pub(crate) target: Target,
    /// The first line of comma-separated values.
    pub(crate) header: Vec<u8>,
    /// What to do with each column of a row.
    pub(crate) slots: Vec<Slot>,
    /// Whether members of objects whose value is null are left out.
    pub(crate) stripped: bool,
    /// What to do with the rows of each level, where they come level by level.
    pub(crate) levels: Vec<LevelProgram>,
    pub(crate) keys: Literals,
}

/// One member of an object.
#[derive(Debug)]
pub(crate) struct Slot {
    /// Where its key stands in the keys, the brace or comma before it included.
    key: Literal,
    pub(crate) node: Node,
    /// The type that a composite value must say it has; 0 for any.
    pub(crate) type_oid: Oid,
}

/// How to write a value.
#[derive(Debug)]
pub(crate) enum Node {
    Output,
    Digits,
    Flag,
    Scalar(Scalar),
    Array(Box<Node>),
    Row(Vec<Slot>),
    /// An array where null stands for no element.
    List(Box<Node>),
    /// An array with a value for each row of an embed.
    Values(Box<Node>),
}

impl Program {
    /// What is made of rows of a shape.
    pub fn new(shape: &Shape, target: Target) -> Self {
        let header = match target {
            Target::Csv => csv::header(shape.fields.iter().map(|field| field.name.as_bytes())),
            Target::Array
            | Target::Object
            | Target::Value
            | Target::Values
            | Target::Features
            | Target::Raw
            | Target::Bytes => Vec::new(),
        };
        let mut keys = Literals::with_capacity(shape.fields.iter().map(|field| field.name.len() + 4).sum());
        let slots = slots(&shape.fields, &mut keys);
        Self { target, header, slots, stripped: false, levels: Vec::new(), keys }
    }

    /// The same without members of objects whose value is null, where that is wanted.
    pub fn stripping(mut self, stripped: bool) -> Self {
        self.stripped = stripped;
        self
    }

    /// About how much memory it takes, in bytes.
    pub fn size_bytes(&self) -> usize {
        let of_levels: usize = self.levels.iter().map(LevelProgram::size_bytes).sum();
        size_of::<Self>() + self.header.len() + slots_bytes(&self.slots) + of_levels + self.keys.size_bytes()
    }

    /// An array of nested objects, of which the rows come level by level
    /// ([`Encoder::next_level`](crate::Encoder::next_level)).
    pub fn flat(levels: &[Level]) -> Self {
        let mut program = Self::new(&Shape::default(), Target::Array);
        program.levels = levels.iter().map(|level| LevelProgram::compile(level, &mut program.keys)).collect();
        program
    }

    /// Appends `{"key":` or `,"key":`.
    #[inline]
    pub(crate) fn key(&self, out: &mut Vec<u8>, slot: &Slot) {
        self.keys.append(out, slot.key);
    }
}

fn slots(fields: &[Field], keys: &mut Literals) -> Vec<Slot> {
    let slot = |(at, field): (usize, &Field)| {
        let key = keys.keep(|out| {
            append(out, if at == 0 { b"{" } else { b"," });
            write_string(out, field.name.as_bytes());
            append(out, b":");
        });
        Slot { key, node: node(&field.codec, keys), type_oid: field.type_oid }
    };
    fields.iter().enumerate().map(slot).collect()
}

fn slots_bytes(slots: &[Slot]) -> usize {
    slots.iter().map(|slot| size_of::<Slot>() + slot.node.size_bytes()).sum()
}

impl Node {
    /// How much memory it takes besides itself, in bytes.
    pub(crate) fn size_bytes(&self) -> usize {
        match self {
            Self::Output | Self::Digits | Self::Flag | Self::Scalar(_) => 0,
            Self::Array(element) | Self::List(element) | Self::Values(element) => {
                size_of::<Self>() + element.size_bytes()
            }
            Self::Row(slots) => slots_bytes(slots),
        }
    }
}

/// What to do with a value; the keys of the objects in it are kept in `keys`.
pub(crate) fn node(codec: &Codec, keys: &mut Literals) -> Node {
    match codec {
        Codec::Output => Node::Output,
        Codec::Digits => Node::Digits,
        Codec::Flag => Node::Flag,
        Codec::Found(first, _) => node(&first.codec, keys),
        Codec::Scalar(scalar) => Node::Scalar(*scalar),
        Codec::Array(element) => Node::Array(Box::new(node(element, keys))),
        Codec::Row(fields) => Node::Row(slots(fields, keys)),
        Codec::List(element) => Node::List(Box::new(node(element, keys))),
        Codec::Values(element) => Node::Values(Box::new(node(element, keys))),
    }
}
