//! A shape made ready for writing: keys escaped once a request, not once a row.

use thalweg_json::write_string;
use thalweg_rows::oid::Oid;
use thalweg_rows::{Codec, Field, Scalar, Shape};

/// What to do with each column of a row.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) slots: Vec<Slot>,
    keys: Vec<u8>,
}

/// One member of an object.
#[derive(Debug)]
pub(crate) struct Slot {
    /// Where its key stands in the keys, the brace or comma before it included.
    key: (u32, u32),
    pub(crate) node: Node,
    /// The type that a composite value must say it has; 0 for any.
    pub(crate) type_oid: Oid,
}

/// How to write a value.
#[derive(Debug)]
pub(crate) enum Node {
    Output,
    Scalar(Scalar),
    Array(Box<Node>),
    Row(Vec<Slot>),
    Rows(Vec<Slot>),
}

impl Program {
    pub(crate) fn compile(shape: &Shape) -> Self {
        let mut keys = Vec::with_capacity(shape.fields.iter().map(|field| field.name.len() + 4).sum());
        let slots = slots(&shape.fields, &mut keys);
        Self { slots, keys }
    }

    /// `{"key":` or `,"key":`
    #[inline]
    pub(crate) fn key(&self, slot: &Slot) -> &[u8] {
        &self.keys[slot.key.0 as usize..slot.key.1 as usize]
    }
}

fn slots(fields: &[Field], keys: &mut Vec<u8>) -> Vec<Slot> {
    let slot = |(at, field): (usize, &Field)| {
        let start = keys.len() as u32;
        keys.push(if at == 0 { b'{' } else { b',' });
        write_string(keys, field.name.as_bytes());
        keys.push(b':');
        let key = (start, keys.len() as u32);
        Slot { key, node: node(&field.codec, keys), type_oid: field.type_oid }
    };
    fields.iter().enumerate().map(slot).collect()
}

fn node(codec: &Codec, keys: &mut Vec<u8>) -> Node {
    match codec {
        Codec::Output => Node::Output,
        Codec::Scalar(scalar) => Node::Scalar(*scalar),
        Codec::Array(element) => Node::Array(Box::new(node(element, keys))),
        Codec::Row(fields) => Node::Row(slots(fields, keys)),
        Codec::Rows(fields) => Node::Rows(slots(fields, keys)),
    }
}
