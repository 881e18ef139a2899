//! The closing distance of a triangle: between a fix up to its first turnpoint and one from its last turnpoint on.

use super::Budget;
use super::sphere::distance_m;
use super::tree::{Part, Tree};

/// So many closings are remembered.
const KNOWN_MAX: usize = 64;

/// Where a triangle begins and ends, and how far apart that is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Closing {
    pub(crate) start: usize,
    pub(crate) finish: usize,
    pub(crate) distance_m: f64,
}

/// The nearest pairs that were found.
pub(crate) struct Closings<'a, 't> {
    tree: &'a Tree<'t>,
    known: Vec<Known>,
    next: usize,
}

/// A closing that is the best for all turnpoints from its own ends up to these.
struct Known {
    first_max: usize,
    last_min: usize,
    closing: Closing,
}

impl<'a, 't> Closings<'a, 't> {
    pub(crate) fn new(tree: &'a Tree<'t>) -> Self {
        Self { tree, known: Vec::new(), next: 0 }
    }

    /// The best closing for a triangle with this first and this last turnpoint.
    pub(crate) fn best(&mut self, first: usize, last: usize, budget: &mut Budget) -> Closing {
        let is_between = |known: &&Known| first <= known.first_max && last >= known.last_min;
        let is_open = |known: &&Known| known.closing.start <= first && known.closing.finish >= last;
        if let Some(known) = self.known.iter().find(|known| is_between(known) && is_open(known)) {
            return known.closing;
        }
        let mut best = Closing { start: first, finish: last, distance_m: self.distance_m(first, last) };
        for known in self.known.iter().filter(is_open) {
            if known.closing.distance_m < best.distance_m {
                best = known.closing;
            }
        }
        let root = self.tree.root();
        self.search((root, root), (first, last), &mut best, budget);
        let known = Known { first_max: first, last_min: last, closing: best };
        match self.known.get_mut(self.next) {
            Some(old) => *old = known,
            None => self.known.push(known),
        }
        self.next = (self.next + 1) % KNOWN_MAX;
        best
    }

    /// Goes down both sides at once, to the nearer parts first.
    fn search(&self, parts: (Part, Part), ends: (usize, usize), best: &mut Closing, budget: &mut Budget) {
        let (start, finish) = parts;
        budget.spend(1);
        if start.level == 0 && finish.level == 0 {
            let (start, finish) = (self.tree.first(start), self.tree.first(finish));
            let distance_m = self.distance_m(start, finish);
            if distance_m < best.distance_m {
                *best = Closing { start, finish, distance_m };
            }
            return;
        }
        let mut pairs = Vec::with_capacity(2);
        if start.level >= finish.level {
            pairs.extend(self.tree.halves(start).map(|half| (half, finish)));
        } else {
            pairs.extend(self.tree.halves(finish).map(|half| (start, half)));
        }
        let gap = |(start, finish): &(Part, Part)| self.tree.extent(*start).nearest_m(self.tree.extent(*finish));
        let mut pairs: Vec<_> = pairs.into_iter().map(|pair| (gap(&pair), pair)).collect();
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (gap, pair) in pairs {
            let is_possible = self.tree.first(pair.0) <= ends.0 && self.tree.last(pair.1) >= ends.1;
            if is_possible && gap < best.distance_m && !budget.is_spent() {
                self.search(pair, ends, best, budget);
            }
        }
    }

    fn distance_m(&self, a: usize, b: usize) -> f64 {
        distance_m(self.tree.points[a], self.tree.points[b])
    }
}
