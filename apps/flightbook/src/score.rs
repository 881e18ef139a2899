//! What a flight scores by the rules of XContest: free flight over three turnpoints, free triangle and FAI triangle, found exactly.
//!
//! The rules, as the open scorer igc-xc-score 1.8 has them too: a kilometre is worth 1.0 points in a free flight, 1.2 in a free and 1.4 in
//! an FAI triangle whose start and finish are apart by at most 20 % of the perimeter, and 1.4 and 1.6 where that is at most 5 %. This
//! closing distance is subtracted. Start and finish are any two fixes before the first and after the last turnpoint. Distances are those
//! of the FAI sphere, of a radius of 6371 km: scores that XContest has published for tracks come out so to within 10 m, and not on
//! the ellipsoid.
//!
//! ```text
//! fixes → points on a sphere → tree of boxes → free_flight │ triangle + closing → Scores
//! ```

mod closing;
mod free_flight;
pub(crate) mod sphere;
mod tree;
mod triangle;

use crate::track::Fix;
use tree::Tree;
use triangle::Shape;

/// No flight of a proven score could have been scored by more than this, in metres (or thousandths of a point): less than what a
/// recorder resolves, and a tenth of what XContest rounds to.
pub const TOLERANCE_M: f64 = 1.0;

/// Boxes compared in one search at most.
const SEARCH_STEPS_MAX: u64 = 2_000_000;

/// A triangle that is worth less than this part of the free flight is not looked for: every circle in a thermal is one, and
/// long flights hold many by chance.
const TRIANGLE_PART_MIN: f64 = 0.25;

const FREE_FLIGHT_FACTOR: f64 = 1.0;
const FREE_TRIANGLE: Shape = Shape { side_min: 0.0, closings: [(0.05, 1.4), (0.2, 1.2)] };
const FAI_TRIANGLE: Shape = Shape { side_min: 0.28, closings: [(0.05, 1.6), (0.2, 1.4)] };

/// The best that a flight comes to, by kind.
#[derive(Clone, Debug)]
pub struct Scores {
    /// The longest way over three turnpoints.
    pub free_flight: Score,
    /// The best triangle of any shape, if one is worth a quarter of the free flight at least.
    pub free_triangle: Option<Score>,
    /// The best triangle whose shortest side is 28 % of its perimeter or more, if one is worth as much.
    pub fai_triangle: Option<Score>,
    /// True if all three searches were completed. If not, a better score of some kind may exist.
    pub are_proven: bool,
}

impl Scores {
    /// The one of most points.
    pub fn best(&self) -> &Score {
        let triangles = [&self.free_triangle, &self.fai_triangle].into_iter().flatten();
        triangles.fold(&self.free_flight, |best, other| if other.points > best.points { other } else { best })
    }
}

/// One way to score a flight. Places are numbers of fixes.
#[derive(Clone, Debug)]
pub struct Score {
    /// How it is scored.
    pub kind: Kind,
    /// Where it begins; of a triangle, the first end of what is not closed.
    pub start: usize,
    /// Its turnpoints, in the order of time.
    pub turnpoints: [usize; 3],
    /// Where it ends; of a triangle, the second end of what is not closed.
    pub finish: usize,
    /// Over all turnpoints, from start to finish; of a triangle, its perimeter.
    pub distance_m: f64,
    /// Of a triangle, how far apart start and finish are; else 0.
    pub closing_distance_m: f64,
    /// What it is worth.
    pub points: f64,
    /// Whether no other is better by [`TOLERANCE_M`] for sure. If not, the search was given up, and this is the best it found.
    pub is_proven: bool,
}

/// How a flight is scored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One point a kilometre.
    FreeFlight,
    /// Start and finish are apart by at most a fifth of the perimeter: 1.2 points.
    FreeTriangle,
    /// By at most a twentieth: 1.4 points.
    ClosedFreeTriangle,
    /// With sides of 28 % or more: 1.4 points.
    FaiTriangle,
    /// With sides of 28 % or more, apart by at most a twentieth: 1.6 points.
    ClosedFaiTriangle,
}

/// Scores a flight's fixes, of which only the valid ones count; none if there is no valid one.
pub fn score(fixes: &[Fix]) -> Option<Scores> {
    score_within(fixes, &mut Budget::new(u64::MAX))
}

/// Scores a flight's fixes as [`score`] does, with the rest of a budget that several flights share.
/// Once the budget is spent, each score is the best that takes no search, and is not proven.
pub fn score_within(fixes: &[Fix], budget: &mut Budget) -> Option<Scores> {
    let numbers: Vec<usize> = (0..fixes.len()).filter(|at| fixes[*at].is_valid).collect();
    let points = sphere::points(numbers.iter().map(|at| (fixes[*at].latitude, fixes[*at].longitude)));
    if points.is_empty() {
        return None;
    }
    let tree = Tree::new(&points);
    let way = budget.search(|search| free_flight::longest(&tree, search));
    let [start, a, b, c, finish] = way.fixes.map(|fix| numbers[fix]);
    let free_flight = Score {
        kind: Kind::FreeFlight,
        start,
        turnpoints: [a, b, c],
        finish,
        distance_m: way.distance_m,
        closing_distance_m: 0.0,
        points: way.distance_m * FREE_FLIGHT_FACTOR / 1000.0,
        is_proven: way.is_proven,
    };
    let mut are_proven = way.is_proven;
    let mut triangle = |shape: &Shape, kinds: [Kind; 2]| {
        let more_than = way.distance_m * TRIANGLE_PART_MIN;
        let (found, is_proven) = budget.search(|search| triangle::best(&tree, shape, more_than, search));
        are_proven &= is_proven;
        let found = found?;
        let is_closed = found.closing.distance_m <= shape.closings[0].0 * found.perimeter_m;
        Some(Score {
            kind: if is_closed { kinds[0] } else { kinds[1] },
            start: numbers[found.closing.start],
            turnpoints: found.turnpoints.map(|fix| numbers[fix]),
            finish: numbers[found.closing.finish],
            distance_m: found.perimeter_m,
            closing_distance_m: found.closing.distance_m,
            points: found.value() / 1000.0,
            is_proven,
        })
    };
    let free_triangle = triangle(&FREE_TRIANGLE, [Kind::ClosedFreeTriangle, Kind::FreeTriangle]);
    let fai_triangle = triangle(&FAI_TRIANGLE, [Kind::ClosedFaiTriangle, Kind::FaiTriangle]);
    Some(Scores { free_flight, free_triangle, fai_triangle, are_proven })
}

/// Number of steps that searches may still take. A step is a comparison of two boxes of a track, or
/// work of the same cost.
#[derive(Debug)]
pub struct Budget {
    left: u64,
}

impl Budget {
    /// Creates a budget of this many steps.
    pub fn new(steps: u64) -> Self {
        Self { left: steps }
    }

    /// Runs one search with the steps that a single search may take, or with those that are left.
    fn search<T>(&mut self, search: impl FnOnce(&mut Self) -> T) -> T {
        let granted = self.left.min(SEARCH_STEPS_MAX);
        let mut part = Self::new(granted);
        let found = search(&mut part);
        self.left -= granted - part.left;
        found
    }

    fn spend(&mut self, steps: usize) {
        self.left = self.left.saturating_sub(steps as u64);
    }

    fn is_spent(&self) -> bool {
        self.left == 0
    }
}

#[cfg(test)]
mod tests;
