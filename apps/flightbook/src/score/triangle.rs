//! The best triangle of a track: three fixes, searched by branch and bound, the most promising parts first.
//!
//! A candidate is three parts of the track in which the turnpoints lie. Its bound is the longest perimeter that corners of their
//! boxes allow, less the closing distance that its widest choice of start and finish allows. A candidate that may beat the best that is
//! known is halved where its box is largest, until its parts are fixes.

use super::closing::{Closing, Closings};
use super::sphere::distance_m;
use super::tree::{Part, Tree};
use super::{Budget, TOLERANCE_M};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// What it costs to bound a candidate and to keep it: three pairs of boxes are compared by their sides and corners.
const CANDIDATE_STEPS: usize = 6;

/// Which triangles count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// The shortest side, as a part of the perimeter.
    pub(crate) side_min: f64,
    /// How far apart start and finish may be, as a part of the perimeter, and what a kilometre is worth then: the stricter first.
    pub(crate) closings: [(f64, f64); 2],
}

/// A triangle by the numbers of its fixes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Triangle {
    pub(crate) turnpoints: [usize; 3],
    pub(crate) closing: Closing,
    pub(crate) perimeter_m: f64,
    /// What a kilometre of it is worth.
    pub(crate) factor: f64,
}

impl Triangle {
    /// Points by a thousand, as distances are in metres.
    pub(crate) fn value(&self) -> f64 {
        (self.perimeter_m - self.closing.distance_m) * self.factor
    }
}

/// The best triangle, if there is one of more than a value, and whether no other is better by [`TOLERANCE_M`] for sure.
pub(crate) fn best(tree: &Tree<'_>, shape: &Shape, more_than: f64, budget: &mut Budget) -> (Option<Triangle>, bool) {
    let mut search = Search { tree, shape, closings: Closings::new(tree), best: None, best_value: more_than };
    let root = tree.root();
    let mut candidates = BinaryHeap::from([Candidate { bound: f64::INFINITY, parts: [root; 3] }]);
    while let Some(Candidate { bound, parts }) = candidates.pop() {
        if bound <= search.best_value + TOLERANCE_M {
            break;
        }
        if budget.is_spent() {
            return (search.best, false);
        }
        let Some(widest) = search.widest(&parts) else { continue };
        for half in tree.halves(parts[widest]) {
            let mut parts = parts;
            parts[widest] = half;
            budget.spend(CANDIDATE_STEPS);
            let bound = search.bound(&parts, budget).min(bound);
            if bound > search.best_value + TOLERANCE_M {
                search.try_middle(&parts, budget);
                candidates.push(Candidate { bound, parts });
            }
        }
    }
    (search.best, !budget.is_spent())
}

struct Search<'a, 't> {
    tree: &'a Tree<'t>,
    shape: &'a Shape,
    closings: Closings<'a, 't>,
    best: Option<Triangle>,
    best_value: f64,
}

impl Search<'_, '_> {
    /// No triangle in these parts is worth more.
    fn bound(&mut self, parts: &[Part; 3], budget: &mut Budget) -> f64 {
        let tree = self.tree;
        let is_ordered = |a: Part, b: Part| tree.first(a) <= tree.last(b);
        if !is_ordered(parts[0], parts[1]) || !is_ordered(parts[1], parts[2]) {
            return 0.0;
        }
        let factor = self.shape.closings[0].1;
        let Some(perimeter) = self.perimeter_bound(parts, (self.best_value + TOLERANCE_M) / factor) else { return 0.0 };
        let (first, last) = (tree.last(parts[0]), tree.first(parts[2]));
        let closing = if first < last { self.closings.best(first, last, budget).distance_m } else { 0.0 };
        self.factor(perimeter, closing).map_or(0.0, |factor| (perimeter - closing) * factor)
    }

    /// No perimeter in these parts is longer; none if there is no triangle of the shape, or none of this length.
    fn perimeter_bound(&self, parts: &[Part; 3], longer_than: f64) -> Option<f64> {
        let boxes = parts.map(|part| self.tree.extent(part));
        let pairs = [(boxes[0], boxes[1]), (boxes[1], boxes[2]), (boxes[2], boxes[0])];
        let sides = pairs.map(|(a, b)| a.farthest_m(b));
        let shortest = sides.into_iter().fold(f64::INFINITY, f64::min);
        let by_sides = sides.iter().sum::<f64>().min(shortest / self.shape.side_min);
        if by_sides <= longer_than {
            return None;
        }
        let corners = pairs.map(|(a, b)| a.corners_m(b));
        let mut by_corners: f64 = 0.0;
        for (a, ab) in corners[0].iter().enumerate() {
            for (b, ab) in ab.iter().enumerate() {
                for (c, bc) in corners[1][b].iter().enumerate() {
                    by_corners = by_corners.max(ab + bc + corners[2][c][a]);
                }
            }
        }
        let perimeter = by_sides.min(by_corners);
        // the two other sides are at least the shortest, and the longest side is what is left
        let longest_part = 1.0 - 2.0 * self.shape.side_min;
        let longest = pairs.iter().map(|(a, b)| a.nearest_m(b)).fold(0.0, f64::max);
        (perimeter > longer_than && longest <= longest_part * perimeter).then_some(perimeter)
    }

    fn factor(&self, perimeter: f64, closing: f64) -> Option<f64> {
        let allowed = self.shape.closings.iter().find(|(part, _)| closing <= part * perimeter);
        allowed.map(|(_, factor)| *factor)
    }

    /// Which part to halve: that with the largest box, though one of many fixes before one of few.
    fn widest(&self, parts: &[Part; 3]) -> Option<usize> {
        let weight = |at: &usize| (self.tree.extent(parts[*at]).size_m() + 1.0) * f64::from(parts[*at].level);
        let halvable = (0..3).filter(|at| parts[*at].level > 0);
        halvable.max_by(|a, b| weight(a).total_cmp(&weight(b)))
    }

    /// Takes the fixes in the middle of the parts for a triangle.
    fn try_middle(&mut self, parts: &[Part; 3], budget: &mut Budget) {
        let turnpoints = parts.map(|part| self.tree.middle(part));
        if !turnpoints.is_sorted() {
            return;
        }
        let [a, b, c] = turnpoints.map(|fix| self.tree.points[fix]);
        let sides = [distance_m(a, b), distance_m(b, c), distance_m(c, a)];
        let perimeter_m: f64 = sides.iter().sum();
        let shortest = sides.into_iter().fold(f64::INFINITY, f64::min);
        if shortest < self.shape.side_min * perimeter_m || perimeter_m * self.shape.closings[0].1 <= self.best_value {
            return;
        }
        let closing = self.closings.best(turnpoints[0], turnpoints[2], budget);
        let Some(factor) = self.factor(perimeter_m, closing.distance_m) else { return };
        let triangle = Triangle { turnpoints, closing, perimeter_m, factor };
        if triangle.value() > self.best_value {
            self.best_value = triangle.value();
            self.best = Some(triangle);
        }
    }
}

/// Three parts and what a triangle in them may be worth.
struct Candidate {
    bound: f64,
    parts: [Part; 3],
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bound.total_cmp(&other.bound)
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Candidate {}
