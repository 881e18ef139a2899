//! The keys of a dictionary: a double array whose steps are characters, read in place.
//!
//! A node is eight bytes, its *base* and its *check*: the node that a code leads to from node `n` stands at `base(n) + code`, and is one of
//! `n`'s if its check says `n`. A node that ends a key and goes nowhere has the key's value in place of its base; one that ends a key and
//! goes on has the value in a node of its own, to which code 0 leads.

/// In place of a base: this node has a value, and leads nowhere.
const IS_LEAF: u32 = 1 << 31;
/// In a base: a key ends here, too.
const ENDS: u32 = 1 << 30;
const VALUE: u32 = IS_LEAF - 1;
const BASE: u32 = ENDS - 1;
/// The check of a node that nobody has.
const FREE: u32 = u32::MAX;
const NODE_BYTES: usize = 8;

/// Keys to walk along.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Trie<'a>(&'a [u8]);

/// A place on a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Node {
    at: u32,
    base: u32,
}

impl<'a> Trie<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Trie<'a> {
        Trie(bytes)
    }

    /// Where all walks begin. A trie without a node is one without keys.
    #[inline]
    pub(crate) fn root(self) -> Node {
        Node { at: 0, base: self.node(0).map_or(IS_LEAF, |(base, _)| base) }
    }

    /// Where a code leads to.
    #[inline]
    pub(crate) fn step(self, from: Node, code: u32) -> Option<Node> {
        if from.base & IS_LEAF != 0 || code == 0 {
            return None;
        }
        self.child(from, code)
    }

    /// The value of the key that ends at a place.
    #[inline]
    pub(crate) fn value(self, at: Node) -> Option<u32> {
        if at.base & IS_LEAF != 0 {
            return Some(at.base & VALUE);
        }
        if at.base & ENDS == 0 {
            return None;
        }
        self.child(at, 0).map(|node| node.base & VALUE)
    }

    #[inline]
    fn child(self, from: Node, code: u32) -> Option<Node> {
        let at = (from.base & BASE) + code;
        let (base, check) = self.node(at)?;
        (check == from.at).then_some(Node { at, base })
    }

    #[inline]
    fn node(self, at: u32) -> Option<(u32, u32)> {
        let from = at as usize * NODE_BYTES;
        let node = self.0.get(from..from + NODE_BYTES)?;
        let (base, check) = node.split_first_chunk::<4>()?;
        Some((u32::from_le_bytes(*base), u32::from_le_bytes(*check.first_chunk()?)))
    }
}

/// Writes the trie of keys in order, none twice, none empty, of codes above 0.
pub(crate) fn build(keys: &[(&[u16], u32)]) -> Vec<u8> {
    let mut nodes = Nodes { nodes: Vec::new(), free_from: 1, next_free: Vec::new() };
    nodes.reach(0);
    nodes.nodes[0] = (0, 0);
    let mut open = vec![(0_u32, 0_usize, keys.len(), 0_usize)];
    if keys.is_empty() {
        nodes.nodes[0].0 = IS_LEAF;
        open.clear();
    }
    let (mut codes, mut ends) = (Vec::new(), Vec::new());
    while let Some((node, from, to, depth)) = open.pop() {
        let here = &keys[from..to];
        let ending = (here[0].0.len() == depth).then_some(here[0].1);
        if let (Some(value), 1) = (ending, here.len()) {
            nodes.nodes[node as usize].0 = IS_LEAF | value;
            continue;
        }
        codes.clear();
        ends.clear();
        if ending.is_some() {
            codes.push(0);
        }
        let longer = from + usize::from(ending.is_some());
        for (at, (key, _)) in keys[longer..to].iter().enumerate() {
            if codes.last() != Some(&u32::from(key[depth])) {
                codes.push(u32::from(key[depth]));
                ends.push(longer + at);
            }
        }
        ends.push(to);
        let base = nodes.place(node, &codes);
        nodes.nodes[node as usize].0 = base | if ending.is_some() { ENDS } else { 0 };
        if let Some(value) = ending {
            nodes.nodes[base as usize].0 = IS_LEAF | value;
        }
        let stepped = &codes[usize::from(ending.is_some())..];
        for (code, range) in stepped.iter().zip(ends.windows(2)).rev() {
            open.push((base + code, range[0], range[1], depth + 1));
        }
    }
    nodes.nodes.iter().flat_map(|(base, check)| [base.to_le_bytes(), check.to_le_bytes()]).flatten().collect()
}

/// The nodes while they are placed.
struct Nodes {
    nodes: Vec<(u32, u32)>,
    /// Nothing below is free.
    free_from: u32,
    /// From each node that is free, one behind it from which on to look for the next.
    next_free: Vec<u32>,
}

/// So many places are tried for the children of a node before they go to the end.
const TRIES_MAX: usize = 64;

impl Nodes {
    fn reach(&mut self, at: u32) {
        let len = self.nodes.len().max(at as usize + 1);
        self.nodes.resize(len, (0, FREE));
        self.next_free.resize(len, 0);
    }

    fn is_free(&self, at: u32) -> bool {
        self.nodes.get(at as usize).is_none_or(|(_, check)| *check == FREE)
    }

    /// The first that is free from here on.
    fn free(&mut self, from: u32) -> u32 {
        let mut at = from;
        while !self.is_free(at) {
            let next = self.next_free[at as usize];
            at = if next > at { next } else { at + 1 };
        }
        // who asks for one of those between again has a shorter way
        let mut back = from;
        while back < at {
            let next = self.next_free[back as usize].max(back + 1);
            self.next_free[back as usize] = at;
            back = next;
        }
        at
    }

    /// Gives a node its children, and returns its base.
    fn place(&mut self, node: u32, codes: &[u32]) -> u32 {
        let first = codes[0];
        let mut at = self.free(self.free_from);
        self.free_from = at;
        let mut tries = 0;
        loop {
            if at >= first.max(1)
                && codes.iter().all(|code| self.is_free(at - first + code))
                && at - first + codes[0] != 0
            {
                break;
            }
            tries += 1;
            let behind = self.nodes.len() as u32;
            at = if tries > TRIES_MAX && at < behind { self.free(behind.max(first)) } else { self.free(at + 1) };
        }
        // what was passed over by so many is looked at no more
        if tries > TRIES_MAX && self.free_from + 4096 < at {
            self.free_from += 64;
        }
        let base = at - first;
        for code in codes {
            self.reach(base + code);
            self.nodes[(base + code) as usize] = (0, node);
        }
        base
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn built(keys: &BTreeMap<Vec<u16>, u32>) -> Vec<u8> {
        build(&keys.iter().map(|(key, value)| (&key[..], *value)).collect::<Vec<_>>())
    }

    fn find(trie: Trie<'_>, key: &[u16]) -> Option<u32> {
        let mut node = trie.root();
        for code in key {
            node = trie.step(node, u32::from(*code))?;
        }
        if key.is_empty() { None } else { trie.value(node) }
    }

    proptest! {
        #[test]
        fn each_key_is_found_and_nothing_else(
            keys in prop::collection::btree_map(prop::collection::vec(1_u16..40, 1..6), 0..VALUE, 0..300),
            others in prop::collection::vec(prop::collection::vec(0_u16..45, 0..7), 0..100),
        ) {
            let bytes = built(&keys);
            let trie = Trie::new(&bytes);
            for (key, value) in &keys {
                prop_assert_eq!(find(trie, key), Some(*value));
            }
            for other in &others {
                prop_assert_eq!(find(trie, other), keys.get(other).copied());
            }
        }

        #[test]
        fn any_bytes_can_be_walked(
            bytes in prop::collection::vec(any::<u8>(), 0..200), walk in prop::collection::vec(0_u16..50, 0..20),
        ) {
            find(Trie::new(&bytes), &walk);
        }
    }
}
