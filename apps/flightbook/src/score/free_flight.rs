//! The longest way along a track over three turnpoints: a chain of five fixes, searched from coarse to fine.
//!
//! A stage is one of the five places. Each begins as the whole track. Of every part of a stage the longest way through it is bounded, by
//! corners of boxes and one pass along the chain from either end; the parts through which no way can beat the best that is known are
//! dropped, the others halved. The work grows with the sum of what is left in the stages, not with its product.

use super::sphere::distance_m;
use super::tree::{Part, Tree};
use super::{Budget, TOLERANCE_M};
use std::ops::Range;

pub(crate) const STAGES: usize = 5;
/// So many fixes are tried before the search begins.
const SAMPLES_MAX: usize = 128;
/// A search that has more parts in one stage ends without proof.
const STAGE_PARTS_MAX: usize = 4096;
/// To measure a distance costs a part of what comparing the corners of two boxes does.
const DISTANCES_A_STEP: usize = 16;

/// Five fixes in order, by their numbers, and the distance from the first to the last over the others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub(crate) fixes: [usize; STAGES],
    pub(crate) distance_m: f64,
    pub(crate) is_proven: bool,
}

/// The longest way, within [`TOLERANCE_M`] if it is proven.
pub(crate) fn longest(tree: &Tree<'_>, budget: &mut Budget) -> Way {
    let mut best = sampled(tree, budget);
    let mut stages = [(); STAGES].map(|()| vec![Stop::new(tree.root())]);
    loop {
        let enough = best.distance_m + TOLERANCE_M;
        bound(tree, &mut stages, Along::Forth, enough, budget);
        bound(tree, &mut stages, Along::Back, enough, budget);
        let likely = likeliest(tree, &stages);
        if length_m(tree, &likely) > best.distance_m {
            best = climbed(tree, likely, budget);
        }
        for stops in &mut stages {
            stops.retain(|stop| stop.through() > best.distance_m + TOLERANCE_M);
        }
        // Without any budget nothing has been bounded, so nothing is proven.
        if budget.is_spent() {
            return best;
        }
        // The bounds of single fixes are no more than the distances themselves, so that the best of them has been found.
        if stages.iter().any(Vec::is_empty) || !halve(tree, &mut stages) {
            return Way { is_proven: true, ..best };
        }
        if stages.iter().any(|stops| stops.len() > STAGE_PARTS_MAX) {
            return best;
        }
    }
}

/// A part of the track in one stage, and by the corners of its box how long a way can be that ends there, and that begins there.
#[derive(Clone, Copy)]
struct Stop {
    part: Part,
    ending: [f64; 4],
    beginning: [f64; 4],
}

type Stages = [Vec<Stop>; STAGES];

impl Stop {
    fn new(part: Part) -> Self {
        Self { part, ending: [f64::INFINITY; 4], beginning: [f64::INFINITY; 4] }
    }

    fn through(&self) -> f64 {
        largest(std::array::from_fn(|corner| self.ending[corner] + self.beginning[corner]))
    }

    fn by(&self, along: Along) -> [f64; 4] {
        match along {
            Along::Forth => self.ending,
            Along::Back => self.beginning,
        }
    }

    /// What is known of the whole holds for a half, though not by its corners.
    fn halves(&self, tree: &Tree<'_>) -> impl Iterator<Item = Self> + use<> {
        let (ending, beginning) = ([largest(self.ending); 4], [largest(self.beginning); 4]);
        tree.halves(self.part).map(move |part| Self { part, ending, beginning })
    }
}

#[derive(Clone, Copy)]
enum Along {
    Forth,
    Back,
}

impl Along {
    fn other(self) -> Self {
        match self {
            Self::Forth => Self::Back,
            Self::Back => Self::Forth,
        }
    }
}

/// Bounds the ways from one end of the chain to all stops, but for those that are not longer than `enough` in any case.
fn bound(tree: &Tree<'_>, stages: &mut Stages, along: Along, enough: f64, budget: &mut Budget) {
    for step in 0..STAGES {
        let (before, at) = match along {
            Along::Forth => (step.checked_sub(1), step),
            Along::Back => (step.checked_sub(1).map(|step| STAGES - 1 - step), STAGES - 1 - step),
        };
        let mut stops = std::mem::take(&mut stages[at]);
        for stop in &mut stops {
            let bound =
                before.map_or([0.0; 4], |before| longest_to(tree, &stages[before], stop, along, enough, budget));
            match along {
                Along::Forth => stop.ending = bound,
                Along::Back => stop.beginning = bound,
            }
        }
        stages[at] = stops;
    }
}

/// By the corners of a stop, how long a way can be that comes to it from the stage before.
fn longest_to(tree: &Tree<'_>, before: &[Stop], to: &Stop, along: Along, enough: f64, budget: &mut Budget) -> [f64; 4] {
    let (extent, rest) = (tree.extent(to.part), largest(to.by(along.other())));
    let range = reachable(tree, before, to.part, along);
    budget.spend(range.len() / DISTANCES_A_STEP + 1);
    if budget.is_spent() {
        return [f64::INFINITY; 4];
    }
    let mut bounds = [f64::NEG_INFINITY; 4];
    for from in &before[range] {
        let (ways, other) = (from.by(along), tree.extent(from.part));
        if largest(ways) + extent.farthest_m(other) + rest <= enough {
            continue;
        }
        budget.spend(1);
        for (bound, corner) in bounds.iter_mut().zip(extent.corners_m(other)) {
            *bound = bound.max(largest(std::array::from_fn(|from| ways[from] + corner[from])));
        }
    }
    bounds
}

/// Which stops of the stage before, or after, do not lie wholly on the wrong side of a part.
fn reachable(tree: &Tree<'_>, stops: &[Stop], part: Part, along: Along) -> Range<usize> {
    match along {
        Along::Forth => 0..stops.partition_point(|other| tree.first(other.part) <= tree.last(part)),
        Along::Back => stops.partition_point(|other| tree.last(other.part) < tree.first(part))..stops.len(),
    }
}

/// The fixes in the middle of the stops that the way of the largest bound leads through.
fn likeliest(tree: &Tree<'_>, stages: &Stages) -> [usize; STAGES] {
    let mut before: Option<Part> = None;
    stages.each_ref().map(|stops| {
        let range = before.map_or(0..stops.len(), |before| reachable(tree, stops, before, Along::Back));
        let length = |stop: &Stop| {
            let leg = before.map_or(0.0, |before| tree.extent(before).farthest_m(tree.extent(stop.part)));
            leg + largest(stop.beginning)
        };
        let likeliest = stops[range].iter().max_by(|a, b| length(a).total_cmp(&length(b)));
        before = likeliest.map(|stop| stop.part).or(before);
        before.map_or(0, |part| tree.middle(part))
    })
}

/// A good way to begin with: the best over a few fixes, evenly taken, made longer.
fn sampled(tree: &Tree<'_>, budget: &mut Budget) -> Way {
    let every = tree.points.len().div_ceil(SAMPLES_MAX);
    let samples: Vec<Stop> = tree.parts(0).step_by(every).map(Stop::new).collect();
    let mut stages = std::array::from_fn(|_| samples.clone());
    bound(tree, &mut stages, Along::Back, 0.0, budget);
    climbed(tree, likeliest(tree, &stages), budget)
}

/// A way made longer by moving one fix at a time to the best place between its neighbours, until none is better.
fn climbed(tree: &Tree<'_>, mut fixes: [usize; STAGES], budget: &mut Budget) -> Way {
    let points = tree.points;
    let mut length = 0.0;
    fixes.sort_unstable();
    loop {
        for stage in 0..STAGES {
            let before = stage.checked_sub(1).map(|before| fixes[before]);
            let after = fixes.get(stage + 1).copied();
            let range = before.unwrap_or(0)..after.unwrap_or(points.len() - 1) + 1;
            budget.spend(range.len() / DISTANCES_A_STEP + 1);
            let legs = |fix: &usize| {
                let leg = |end: Option<usize>| end.map_or(0.0, |end| distance_m(points[end], points[*fix]));
                leg(before) + leg(after)
            };
            fixes[stage] = range.max_by(|a, b| legs(a).total_cmp(&legs(b))).unwrap_or(fixes[stage]);
        }
        let longer = length_m(tree, &fixes);
        if longer <= length + TOLERANCE_M || budget.is_spent() {
            return Way { fixes, distance_m: longer, is_proven: false };
        }
        length = longer;
    }
}

/// Halves the parts with the largest boxes, such as one over a gap in the track. Returns whether there was anything to halve.
fn halve(tree: &Tree<'_>, stages: &mut Stages) -> bool {
    let size_m = |stop: &Stop| tree.extent(stop.part).size_m();
    let is_halvable = |stop: &&Stop| stop.part.level > 0;
    let Some(largest) = stages.iter().flatten().filter(is_halvable).map(size_m).reduce(f64::max) else { return false };
    for stops in stages {
        let mut halved = Vec::with_capacity(stops.len() * 2);
        for stop in &*stops {
            match is_halvable(&stop) && size_m(stop) * 2.0 >= largest {
                true => halved.extend(stop.halves(tree)),
                false => halved.push(*stop),
            }
        }
        *stops = halved;
    }
    true
}

fn length_m(tree: &Tree<'_>, fixes: &[usize; STAGES]) -> f64 {
    fixes.windows(2).map(|leg| distance_m(tree.points[leg[0]], tree.points[leg[1]])).sum()
}

fn largest(values: [f64; 4]) -> f64 {
    values.into_iter().fold(f64::NEG_INFINITY, f64::max)
}
