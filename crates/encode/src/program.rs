//! A shape made ready for writing: keys escaped once a request, not once a row.

use thalweg_json::{Literal, Literals, append, write_string};
use thalweg_rows::oid::Oid;
use thalweg_rows::{Codec, Field, Scalar, Shape};

/// What to do with each column of a row.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) slots: Vec<Slot>,
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
}

impl Program {
    pub(crate) fn compile(shape: &Shape) -> Self {
        let mut keys = Literals::with_capacity(shape.fields.iter().map(|field| field.name.len() + 4).sum());
        let slots = slots(&shape.fields, &mut keys);
        Self { slots, keys }
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

/// What to do with a value; the keys of the objects in it are kept in `keys`.
pub(crate) fn node(codec: &Codec, keys: &mut Literals) -> Node {
    match codec {
        Codec::Output => Node::Output,
        Codec::Digits => Node::Digits,
        Codec::Flag => Node::Flag,
        Codec::Scalar(scalar) => Node::Scalar(*scalar),
        Codec::Array(element) => Node::Array(Box::new(node(element, keys))),
        Codec::Row(fields) => Node::Row(slots(fields, keys)),
        Codec::List(element) => Node::List(Box::new(node(element, keys))),
    }
}
