//! What a value of a template can be, as far as rows can be in it.

use crate::syntax::Name;
use std::collections::{BTreeMap, BTreeSet};

/// A place in the tree of needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Node(pub(crate) u32);

/// A list, a map, a macro or a loop, by where the templates make it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Object(pub(crate) u32);

/// One thing that a value can be.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Atom {
    /// This text.
    Text(Name),
    /// This number.
    Integer(i64),
    /// Undefined, or a value that is neither text nor has data in it.
    Plain,
    /// Any value that has none of the queries' data in it, but text that has been made of it.
    Other,
    /// A list of rows.
    Rows(Node),
    /// A row, or whatever else a list holds that is a value of a row.
    Row(Node),
    /// What a row holds: a value, a row or a list of either.
    Value(Node),
    List(Object),
    Map(Object),
    Macro(Object),
    Loop(Object),
}

impl Atom {
    /// Whether it is a constant that holds nothing.
    fn is_constant(&self) -> bool {
        matches!(self, Atom::Text(_) | Atom::Integer(_) | Atom::Plain)
    }
}

/// All that a value can be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Value(BTreeSet<Atom>);

impl Value {
    pub(crate) fn nothing() -> Value {
        Value::default()
    }

    pub(crate) fn plain() -> Value {
        Atom::Plain.into()
    }

    pub(crate) fn other() -> Value {
        Atom::Other.into()
    }

    pub(crate) fn atoms(&self) -> impl Iterator<Item = &Atom> {
        self.0.iter()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn add(&mut self, atom: Atom) {
        self.0.insert(atom);
    }

    /// Adds all that another can be, and says whether that is more.
    pub(crate) fn join(&mut self, other: &Value) -> bool {
        let before = self.0.len();
        if !other.0.is_subset(&self.0) {
            self.0.extend(other.0.iter().cloned());
        }
        self.0.len() > before
    }

    pub(crate) fn or(mut self, other: &Value) -> Value {
        self.join(other);
        self
    }

    /// Whether it can only be constants that hold nothing: comparing with one tells nothing of a row's columns.
    pub(crate) fn is_constant(&self) -> bool {
        self.0.iter().all(Atom::is_constant)
    }

    pub(crate) fn may_be_undefined(&self) -> bool {
        self.0.is_empty() || self.0.iter().any(|atom| matches!(atom, Atom::Plain | Atom::Other | Atom::Value(_)))
    }
}

impl From<Atom> for Value {
    fn from(atom: Atom) -> Value {
        Value(BTreeSet::from([atom]))
    }
}

/// What an object holds, wherever and whenever it was put there.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// By name; in a list by position, written in digits.
    pub(crate) fields: BTreeMap<Name, Value>,
    /// By what is not known.
    pub(crate) rest: Value,
}

impl Contents {
    pub(crate) fn all(&self) -> Value {
        let mut all = self.rest.clone();
        for field in self.fields.values() {
            all.join(field);
        }
        all
    }

    /// What a loop over a map sees.
    pub(crate) fn keys(&self) -> Value {
        let mut keys: Value = if self.rest.len() > 0 { Value::other() } else { Value::nothing() };
        for name in self.fields.keys() {
            keys.add(Atom::Text(name.clone()));
        }
        keys
    }

    /// What is at a position, or may be.
    pub(crate) fn at(&self, position: &str) -> Value {
        match self.fields.get(position) {
            Some(field) => field.clone().or(&self.rest),
            None => self.all().or(&Value::plain()),
        }
    }
}
