//! Stacks with weights, added up by tag and thread.

use super::profile::{Difference, Profile};
use super::{STACKS_MAX, Stack, Tag};
use std::collections::HashMap;

/// What weights are counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unit {
    /// CPU time.
    CpuNanoseconds,
    /// Time spent waiting.
    WaitNanoseconds,
    /// Bytes that were allocated or copied.
    Bytes,
    /// How often something was done.
    Count,
}

impl Unit {
    /// What is counted, and in what, as profiles name it.
    pub(super) fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::CpuNanoseconds => ("cpu", "nanoseconds"),
            Self::WaitNanoseconds => ("wait", "nanoseconds"),
            Self::Bytes => ("space", "bytes"),
            Self::Count => ("events", "count"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    tag: Tag,
    thread: i32,
    addresses: Box<[u64]>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sum {
    pub(super) weight: u64,
    pub(super) count: u64,
}

/// One stack with what it has come to: tag, thread (0 where that is not told apart), addresses and sum.
pub(super) type Entry<'a> = (Tag, i32, &'a [u64], Sum);

/// Stacks by tag and thread, with the sum of their weights. At most [`STACKS_MAX`] of them; samples of further ones are counted as
/// lost.
#[derive(Debug, Clone)]
pub struct Samples {
    unit: Unit,
    sums: HashMap<Key, Sum>,
    room: usize,
    cut: u64,
    pub(super) lost: u64,
    pub(super) threads_without: u64,
}

impl Samples {
    /// None yet, of this kind.
    pub fn new(unit: Unit) -> Self {
        Self::with_room(unit, STACKS_MAX)
    }

    pub(super) fn with_room(unit: Unit, room: usize) -> Self {
        Self { unit, sums: HashMap::new(), room, cut: 0, lost: 0, threads_without: 0 }
    }

    /// Adds one, of no thread in particular. Allocates when the stack is new: not inside an allocator.
    pub fn add(&mut self, tag: Tag, stack: &Stack, weight: u64) {
        self.add_addresses(tag, 0, stack.addresses(), stack.is_cut(), weight);
    }

    pub(super) fn add_addresses(&mut self, tag: Tag, thread: i32, addresses: &[u64], is_cut: bool, weight: u64) {
        let is_full = self.sums.len() >= self.room;
        let key = Key { tag, thread, addresses: addresses.into() };
        let sum = match is_full {
            false => self.sums.entry(key).or_default(),
            true => match self.sums.get_mut(&key) {
                Some(sum) => sum,
                None => return self.lost += 1,
            },
        };
        self.cut += u64::from(is_cut);
        sum.weight = sum.weight.saturating_add(weight);
        sum.count += 1;
    }

    /// Adds all of others of the same unit.
    pub fn merge(&mut self, others: &Self) {
        for (key, sum) in &others.sums {
            if self.sums.len() < self.room || self.sums.contains_key(key) {
                let to = self.sums.entry(key.clone()).or_default();
                to.weight = to.weight.saturating_add(sum.weight);
                to.count += sum.count;
            } else {
                self.lost += sum.count;
            }
        }
        self.cut += others.cut;
        self.lost += others.lost;
        self.threads_without = self.threads_without.max(others.threads_without);
    }

    /// Those of one tag. What was lost is not known by tag, and stays as it is.
    pub fn of_tag(&self, tag: Tag) -> Self {
        self.of(|key| key.tag == tag)
    }

    /// Those of any of these tags.
    pub fn of_tags(&self, tags: &[Tag]) -> Self {
        self.of(|key| tags.contains(&key.tag))
    }

    fn of(&self, is_wanted: impl Fn(&Key) -> bool) -> Self {
        let sums = self.sums.iter().filter(|(key, _)| is_wanted(key));
        Self { sums: sums.map(|(key, sum)| (key.clone(), *sum)).collect(), ..*self }
    }

    /// The tags that there are samples of, in order.
    pub fn tags(&self) -> Vec<Tag> {
        let mut tags: Vec<Tag> = self.sums.keys().map(|key| key.tag).collect();
        tags.sort_unstable();
        tags.dedup();
        tags
    }

    /// What weights are counted in.
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// How many samples there are.
    pub fn count(&self) -> u64 {
        self.sums.values().map(|sum| sum.count).sum()
    }

    /// The sum of the weights, such as the CPU time in nanoseconds.
    pub fn weight(&self) -> u64 {
        self.sums.values().fold(0, |all, sum| all.saturating_add(sum.weight))
    }

    /// How many samples there was no room for: in the ring, or as [`STACKS_MAX`] different stacks were there already.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// How many samples had more frames than are kept.
    pub fn cut(&self) -> u64 {
        self.cut
    }

    /// How many threads were not sampled, as there were too many, or too few timers.
    pub fn threads_without(&self) -> u64 {
        self.threads_without
    }

    /// With functions, files and lines instead of addresses. Reads the program's file: best on a blocking thread.
    pub fn named(&self) -> Profile {
        Profile::new(self)
    }

    /// What has been added since an earlier look at the same samples.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let sums = self.sums.iter().map(|(key, sum)| {
            let before = earlier.sums.get(key).copied().unwrap_or_default();
            (key.clone(), Sum { weight: sum.weight - before.weight, count: sum.count - before.count })
        });
        let sums = sums.filter(|(_, sum)| sum.count > 0).collect();
        Self { sums, cut: self.cut - earlier.cut, lost: self.lost - earlier.lost, ..*self }
    }

    /// What has come and gone between `before` and these, by names: of two builds or machines as well.
    pub fn minus(&self, before: &Self) -> Difference {
        self.named().minus(&before.named())
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        self.sums.iter().map(|(key, sum)| (key.tag, key.thread, &*key.addresses, *sum))
    }
}
