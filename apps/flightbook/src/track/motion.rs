//! How fast a track goes, over ground and up or down, averaged around each fix.

use super::{Fix, altitude};
use crate::score::sphere::{distance_m, points};

/// Over how many seconds: a circle in a thermal, within which a variometer swings and positions err.
pub(super) const AVERAGE_S: i64 = 20;

/// Of each fix the averages around it.
pub(super) struct Motion {
    /// Along the track, in metres a second.
    pub(super) speed_ms: Vec<f64>,
    /// Up above zero, in metres a second.
    pub(super) climb_ms: Vec<f64>,
    /// How far the track has come.
    pub(super) way_m: Vec<f64>,
}

impl Motion {
    pub(super) fn new(fixes: &[Fix]) -> Self {
        let way_m = way_m(fixes);
        let altitude_m = altitude::steady_m(fixes);
        let mut motion = Self { speed_ms: Vec::new(), climb_ms: Vec::new(), way_m: Vec::new() };
        let (mut from, mut to) = (0, 0);
        for (at, fix) in fixes.iter().enumerate() {
            while fix.time_s - fixes[from].time_s > AVERAGE_S / 2 {
                from += 1;
            }
            while to + 1 < fixes.len() && fixes[to + 1].time_s - fix.time_s <= AVERAGE_S / 2 {
                to += 1;
            }
            // where fixes are far apart, those beside this one
            let (first, last) = (from.min(at.saturating_sub(1)), to.max(at + 1).min(fixes.len() - 1));
            let seconds = (fixes[last].time_s - fixes[first].time_s).max(1) as f64;
            motion.speed_ms.push((way_m[last] - way_m[first]) / seconds);
            motion.climb_ms.push(f64::from(altitude_m[last] - altitude_m[first]) / seconds);
        }
        Self { way_m, ..motion }
    }
}

fn way_m(fixes: &[Fix]) -> Vec<f64> {
    let points = points(fixes.iter().map(|fix| (fix.latitude, fix.longitude)));
    let mut way = 0.0;
    let legs = points.windows(2).map(|leg| {
        way += distance_m(leg[0], leg[1]);
        way
    });
    let mut ways = vec![0.0];
    ways.extend(legs);
    ways
}
