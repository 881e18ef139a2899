//! The keys of a dictionary: a double array whose steps are characters, read in place.
//!
//! A node is six bytes, its *base* and its *check*: the node that a code leads to from node `n` stands at `base(n) + code`, and is one of
//! `n`'s if its check says that code, since no two nodes have one base. A node that ends a key and goes nowhere has the key's value in place
//! of its base; one that ends a key and goes on has the value in a node of its own, to which code 0 leads.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// In place of a base: this node has a value, and leads nowhere.
const IS_LEAF: u32 = 1 << 31;
/// In a base: a key ends here, too.
const ENDS: u32 = 1 << 30;
const VALUE: u32 = IS_LEAF - 1;
const BASE: u32 = ENDS - 1;
/// The check of a node that nobody has, and of those that code 0 leads to, which only a node that has one is asked for.
const FREE: u16 = 0;
const NODE_BYTES: usize = 6;

/// Keys to walk along.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Trie<'a>(&'a [[u8; NODE_BYTES]]);

/// A place on a walk: what its node has in place of a base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Node(u32);

impl Node {
    /// Whether nothing follows.
    #[inline]
    pub(crate) fn is_leaf(self) -> bool {
        self.0 & IS_LEAF != 0
    }
}

impl<'a> Trie<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Trie<'a> {
        Trie(bytes.as_chunks().0)
    }

    /// Where all walks begin. A trie without a node is one without keys.
    #[inline]
    pub(crate) fn root(self) -> Node {
        Node(self.node(0).map_or(IS_LEAF, |(base, _)| base))
    }

    /// Where a code leads to.
    #[inline]
    pub(crate) fn step(self, from: Node, code: u32) -> Option<Node> {
        if from.is_leaf() || code == 0 {
            return None;
        }
        self.child(from, code)
    }

    /// The value of the key that ends at a place.
    #[inline]
    pub(crate) fn value(self, at: Node) -> Option<u32> {
        if at.is_leaf() {
            return Some(at.0 & VALUE);
        }
        if at.0 & ENDS == 0 {
            return None;
        }
        self.child(at, 0).map(|node| node.0 & VALUE)
    }

    #[inline]
    fn child(self, from: Node, code: u32) -> Option<Node> {
        let (base, check) = self.node((from.0 & BASE) + code)?;
        (u32::from(check) == code).then_some(Node(base))
    }

    #[inline]
    fn node(self, at: u32) -> Option<(u32, u16)> {
        let node = self.0.get(at as usize)?;
        // each is read at once, which single bytes that are put together are not
        Some((u32::from_le_bytes(*node.first_chunk()?), u16::from_le_bytes(*node.last_chunk()?)))
    }
}

/// Writes the trie of keys in order, none twice, none empty, of codes above 0.
pub(crate) fn build(keys: &[(&[u16], u32)]) -> Vec<u8> {
    let mut nodes =
        Nodes { nodes: Vec::new(), free: Vec::new(), bases: Vec::new(), full_to: 0, looked_to: [0; LEVELS] };
    nodes.take(0, FREE);
    nodes.nodes[0].0 = if keys.is_empty() { IS_LEAF } else { 0 };
    // those with many children first: those with one take what is left between
    let mut open = BinaryHeap::new();
    if !keys.is_empty() {
        open.push(Unplaced::of(keys, 0, 0, keys.len(), 0));
    }
    let (mut codes, mut starts) = (Vec::new(), Vec::new());
    while let Some(Unplaced { node: Reverse(node), from, to, depth, .. }) = open.pop() {
        let ending = (keys[from].0.len() == depth).then_some(keys[from].1);
        let longer = from + usize::from(ending.is_some());
        codes.clear();
        starts.clear();
        for (at, (key, _)) in keys.iter().enumerate().take(to).skip(longer) {
            let code = u32::from(key[depth]);
            if codes.last() != Some(&code) {
                codes.push(code);
                starts.push(at);
            }
        }
        starts.push(to);
        let ends = if ending.is_some() { ENDS } else { 0 };
        let base = nodes.place(&codes, ending.is_some());
        nodes.nodes[node as usize].0 = base | ends;
        if let Some(value) = ending {
            nodes.nodes[base as usize].0 = IS_LEAF | value;
        }
        for (code, range) in codes.iter().zip(starts.windows(2)) {
            let (child, from, to) = (base + code, range[0], range[1]);
            if to - from == 1 && keys[from].0.len() == depth + 1 {
                nodes.nodes[child as usize].0 = IS_LEAF | keys[from].1;
            } else {
                open.push(Unplaced::of(keys, child, from, to, depth + 1));
            }
        }
    }
    let mut bytes = Vec::with_capacity(nodes.nodes.len() * NODE_BYTES);
    for (base, check) in &nodes.nodes {
        bytes.extend(base.to_le_bytes());
        bytes.extend(check.to_le_bytes());
    }
    bytes
}

/// A node whose children have no place yet, in order of how many they are.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Unplaced {
    children: usize,
    node: Reverse<u32>,
    /// Which keys go through it, and how long they are there.
    from: usize,
    to: usize,
    depth: usize,
}

impl Unplaced {
    fn of(keys: &[(&[u16], u32)], node: u32, from: usize, to: usize, depth: usize) -> Unplaced {
        let children = keys[from..to].chunk_by(|a, b| a.0.get(depth) == b.0.get(depth)).count();
        Unplaced { children, node: Reverse(node), from, to, depth }
    }
}

/// The nodes while they are placed.
struct Nodes {
    nodes: Vec<(u32, u16)>,
    /// A bit for each that is free; behind them all are.
    free: Vec<u64>,
    /// A bit for each base that no node has yet; behind them all are.
    bases: Vec<u64>,
    /// In words of `free`: nothing before is free.
    full_to: usize,
    /// For so many children at once, where what is before has been looked through in vain.
    looked_to: [usize; LEVELS],
}

/// More children than these are looked for alike.
const LEVELS: usize = 16;

/// So many times 64 bases are tried before what was looked through is given up.
const TRIES_MAX: usize = 1024;

impl Nodes {
    fn take(&mut self, at: u32, check: u16) {
        let len = self.nodes.len().max(at as usize + 1);
        self.nodes.resize(len, (0, FREE));
        self.nodes[at as usize] = (0, check);
        take(&mut self.free, at as usize);
    }

    /// Gives a node its children, and returns its base.
    fn place(&mut self, codes: &[u32], has_value: bool) -> u32 {
        let value = has_value.then_some(0);
        let all = || value.into_iter().chain(codes.iter().copied());
        let first = all().next().unwrap_or(0) as usize;
        let level = all().take(LEVELS).count() - 1;
        while self.free.get(self.full_to) == Some(&0) {
            self.full_to += 1;
        }
        let from = (self.looked_to[level].max(self.full_to) * 64).saturating_sub(first);
        let mut tries = 0;
        let base = loop {
            let at = from + tries * 64;
            let mut fits = free_from(&self.bases, at);
            for code in all() {
                if fits == 0 {
                    break;
                }
                fits &= free_from(&self.free, at + code as usize);
            }
            if fits != 0 {
                break at + fits.trailing_zeros() as usize;
            }
            tries += 1;
        };
        if tries > TRIES_MAX {
            self.looked_to[level] = self.looked_to[level].max((from + tries * 32) / 64);
        }
        take(&mut self.bases, base);
        let base = base as u32;
        all().for_each(|code| self.take(base + code, code as u16));
        base
    }
}

/// Which of 64 from a place on are free.
fn free_from(free: &[u64], at: usize) -> u64 {
    let word = |at: usize| free.get(at).copied().unwrap_or(u64::MAX);
    let (low, shift) = (word(at / 64), at % 64);
    if shift == 0 { low } else { low >> shift | word(at / 64 + 1) << (64 - shift) }
}

fn take(free: &mut Vec<u64>, at: usize) {
    free.resize(free.len().max(at / 64 + 1), u64::MAX);
    free[at / 64] &= !(1 << (at % 64));
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
