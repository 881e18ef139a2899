//! What names mean where a statement stands.
//!
//! The engine has frames on a stack, and a name means what the uppermost frame says. Here a scope holds what every name means; whoever
//! begins a frame keeps the scope and puts it back.

use super::value::{Object, Value};
use crate::syntax::{At, Block, Name};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

pub(crate) type Names = BTreeMap<Name, Value>;

#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    pub(crate) names: Names,
    /// The names that were set since the frame began: an import gives these out.
    pub(crate) own: BTreeSet<Name>,
    /// What the macros of this frame see.
    pub(crate) closure: Option<Object>,
    /// The innermost loop.
    pub(crate) innermost: Option<Object>,
    pub(crate) blocks: Rc<Blocks>,
    /// The block whose text this is.
    pub(crate) block: Option<Name>,
    /// Another template has been extended: blocks are called by that one.
    pub(crate) extended: bool,
}

impl Scope {
    /// A frame upon this one.
    pub(crate) fn frame(&self) -> Scope {
        Scope { own: BTreeSet::new(), closure: None, ..self.clone() }
    }

    /// What holds after one of several ways was taken.
    pub(crate) fn join_into(ways: &mut Option<Scope>, way: Scope) {
        match ways {
            Some(ways) => ways.join(way),
            None => *ways = Some(way),
        }
    }

    /// What holds after one of two ways was taken.
    pub(crate) fn join(&mut self, other: Scope) {
        for (name, value) in &mut self.names {
            value.join(&other.names.get(name).cloned().unwrap_or_else(Value::other));
        }
        for (name, value) in other.names {
            self.names.entry(name).or_insert_with(|| value.or(&Value::other()));
        }
        self.own.extend(other.own);
        self.closure = self.closure.or(other.closure);
    }
}

/// The blocks of a template and of those that it extends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Blocks {
    /// The templates, the extending one first.
    pub(crate) chain: Vec<u32>,
    layers: BTreeMap<Name, Vec<Rc<Block>>>,
    /// How often `super` was called within each other.
    pub(crate) depths: BTreeMap<Name, usize>,
}

impl Blocks {
    pub(crate) fn extend(&mut self, template: u32, blocks: &BTreeMap<Name, Rc<Block>>) {
        self.chain.push(template);
        for (name, block) in blocks {
            self.layers.entry(name.clone()).or_default().push(block.clone());
        }
    }

    pub(crate) fn current(&self, name: &Name) -> Option<Rc<Block>> {
        self.layers.get(name)?.get(self.depths.get(name).copied().unwrap_or_default()).cloned()
    }

    /// The same, one `super` further.
    pub(crate) fn above(&self, name: &Name) -> Blocks {
        let mut above = self.clone();
        *above.depths.entry(name.clone()).or_default() += 1;
        above
    }
}

/// What a macro, a block, an included template or a loop that calls itself was looked at with. The same once more finds nothing new.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Visit {
    pub(crate) what: (At, &'static str),
    pub(crate) items: Value,
    pub(crate) names: Names,
    pub(crate) innermost: Option<Object>,
    pub(crate) block: Option<Name>,
    pub(crate) chain: Vec<u32>,
    pub(crate) depths: BTreeMap<Name, usize>,
}
