//! The needs as they are found: nodes by number, with places as offsets.

use super::value::Node;
use crate::need::Why;
use crate::syntax::{At, Name};
use std::collections::{BTreeMap, BTreeSet};

/// How deep names are followed: `a.b.c` is 3. What is deeper is taken whole.
pub(crate) const NEED_DEPTH_MAX: usize = 10;
/// How many names a page may touch. Beyond them, what they belong to is taken whole.
pub(crate) const NEED_NAMES_MAX: usize = 10_000;

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) columns: BTreeMap<Name, Node>,
    pub(crate) at: At,
    /// Where a template means it, and not only asks whether it is there.
    pub(crate) named: BTreeSet<At>,
    /// Where it is asked of an element of what it is a column of, or perhaps of something else.
    pub(crate) of_element: BTreeSet<At>,
    pub(crate) whole: Option<(Why, At)>,
    pub(crate) whole_if_one: Option<(Why, At)>,
    depth: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Tree {
    entries: Vec<Entry>,
    roots: Vec<Node>,
}

impl Tree {
    pub(crate) fn root(&mut self) -> Node {
        let node = self.push(At { template: 0, offset: 0 }, 0);
        self.roots.push(node);
        node
    }

    pub(crate) fn entry(&self, node: Node) -> &Entry {
        &self.entries[node.0 as usize]
    }

    /// A column of what a node is, or the node itself where that is followed no further.
    pub(crate) fn column(&mut self, of: Node, name: &Name, at: At) -> Node {
        let node = self.perhaps(of, name, at);
        if node != of {
            self.entries[node.0 as usize].named.insert(at);
        }
        node
    }

    /// The same where it is asked of an element.
    pub(crate) fn column_of_element(&mut self, of: Node, name: &Name, at: At) -> Node {
        let node = self.column(of, name, at);
        if node != of {
            self.entries[node.0 as usize].of_element.insert(at);
        }
        node
    }

    /// The same of a column that need not be there.
    pub(crate) fn perhaps(&mut self, of: Node, name: &Name, at: At) -> Node {
        let entry = self.entry(of);
        if let Some(known) = entry.columns.get(name) {
            return *known;
        }
        let depth = entry.depth + 1;
        if depth > NEED_DEPTH_MAX || self.entries.len() > NEED_NAMES_MAX {
            self.whole(of, Why::TooDeep, at);
            return of;
        }
        let node = self.push(at, depth);
        self.entries[of.0 as usize].columns.insert(name.clone(), node);
        node
    }

    pub(crate) fn whole(&mut self, node: Node, why: Why, at: At) {
        self.entries[node.0 as usize].whole.get_or_insert((why, at));
    }

    pub(crate) fn whole_if_one(&mut self, node: Node, at: At) {
        self.entries[node.0 as usize].whole_if_one.get_or_insert((Why::Counted, at));
    }

    pub(crate) fn all_whole(&mut self, why: &Why, at: At) {
        for root in self.roots.clone() {
            self.whole(root, why.clone(), at);
        }
    }

    fn push(&mut self, at: At, depth: usize) -> Node {
        let (columns, named, of_element) = Default::default();
        let entry = Entry { columns, at, named, of_element, whole: None, whole_if_one: None, depth };
        self.entries.push(entry);
        Node(self.entries.len() as u32 - 1)
    }
}
