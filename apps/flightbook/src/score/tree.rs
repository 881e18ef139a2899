//! A track halved again and again, with the box that each part lies in.

use super::sphere::{Point, arc_m};

/// A part of the track: the `index`th of those that have 2 to the power of `level` fixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) level: u8,
    pub(crate) index: u32,
}

/// What a part's fixes lie between, along each axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    low: [f64; 3],
    high: [f64; 3],
}

/// All parts of a track, from single fixes up to the whole.
pub(crate) struct Tree<'a> {
    pub(crate) points: &'a [Point],
    levels: Vec<Vec<Extent>>,
}

impl<'a> Tree<'a> {
    pub(crate) fn new(points: &'a [Point]) -> Self {
        let mut levels = vec![points.iter().map(|point| Extent { low: point.0, high: point.0 }).collect::<Vec<_>>()];
        while let Some(finest) = levels.last().filter(|level| level.len() > 1) {
            let coarser = finest.chunks(2).map(|pair| pair.iter().skip(1).fold(pair[0], |a, b| a.with(b))).collect();
            levels.push(coarser);
        }
        Self { points, levels }
    }

    pub(crate) fn root(&self) -> Part {
        Part { level: (self.levels.len() - 1) as u8, index: 0 }
    }

    /// All parts of a level.
    pub(crate) fn parts(&self, level: u8) -> impl ExactSizeIterator<Item = Part> + use<> {
        (0..self.levels[level as usize].len() as u32).map(move |index| Part { level, index })
    }

    pub(crate) fn extent(&self, part: Part) -> &Extent {
        &self.levels[part.level as usize][part.index as usize]
    }

    /// The one or two parts that a part of more than one fix consists of.
    pub(crate) fn halves(&self, part: Part) -> impl Iterator<Item = Part> + use<> {
        let level = part.level - 1;
        let end = self.levels[level as usize].len() as u32;
        (part.index * 2..end.min(part.index * 2 + 2)).map(move |index| Part { level, index })
    }

    pub(crate) fn first(&self, part: Part) -> usize {
        (part.index as usize) << part.level
    }

    pub(crate) fn last(&self, part: Part) -> usize {
        (((part.index as usize) + 1) << part.level).min(self.points.len()) - 1
    }

    pub(crate) fn middle(&self, part: Part) -> usize {
        usize::midpoint(self.first(part), self.last(part))
    }
}

impl Extent {
    /// The larger of its two level sides, in metres.
    pub(crate) fn size_m(&self) -> f64 {
        (self.high[0] - self.low[0]).max(self.high[1] - self.low[1])
    }

    /// No two of their fixes are farther apart than this.
    pub(crate) fn farthest_m(&self, other: &Self) -> f64 {
        let [x, y, z] = [0, 1, 2].map(|axis| self.reach(other, axis));
        arc_m(x * x + y * y + z * z)
    }

    /// No two of their fixes are nearer than this.
    pub(crate) fn nearest_m(&self, other: &Self) -> f64 {
        let [x, y, z] =
            [0, 1, 2].map(|axis| (self.low[axis] - other.high[axis]).max(other.low[axis] - self.high[axis]));
        let [x, y, z] = [x, y, z].map(|gap| gap.max(0.0));
        arc_m(x * x + y * y + z * z)
    }

    /// The distances from each of its four corners to each of the other's. A sum of distances from point to point is convex in each of
    /// them, so that it is nowhere in the boxes larger than at corners. The third axis hardly varies, and is taken at its worst.
    pub(crate) fn corners_m(&self, other: &Self) -> [[f64; 4]; 4] {
        let height = self.reach(other, 2);
        let (height, theirs) = (height * height, other.corners());
        self.corners().map(|(x, y)| theirs.map(|(u, v)| arc_m((x - u) * (x - u) + (y - v) * (y - v) + height)))
    }

    fn corners(&self) -> [(f64, f64); 4] {
        let ([x, y, _], [u, v, _]) = (self.low, self.high);
        [(x, y), (x, v), (u, y), (u, v)]
    }

    fn reach(&self, other: &Self, axis: usize) -> f64 {
        (self.high[axis] - other.low[axis]).max(other.high[axis] - self.low[axis])
    }

    fn with(&self, other: &Self) -> Self {
        let axes = [0, 1, 2];
        Self { low: axes.map(|a| self.low[a].min(other.low[a])), high: axes.map(|a| self.high[a].max(other.high[a])) }
    }
}
