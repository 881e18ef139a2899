//! Height and climb rate over time, of as many fixes as a picture has room for.

use super::motion::Motion;
use super::{Fix, altitude};

/// A flight's course as arrays of one length, in which the same place is the same fix: for a barogram, and for the line on a map that
/// points at it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Barogram {
    /// When the first is, in seconds since 1970 (UTC).
    pub start_s: i64,
    /// Seconds since the first.
    pub seconds: Vec<i64>,
    /// Degrees.
    pub latitudes: Vec<f64>,
    /// Degrees.
    pub longitudes: Vec<f64>,
    /// Metres.
    pub altitudes_m: Vec<i32>,
    /// Tenths of a metre a second, averaged over 20 seconds.
    pub climbs_dms: Vec<i32>,
}

impl Barogram {
    /// Keeps `points_max` fixes, two or more: the first and the last, and of as many stretches of time as there is room for the lowest
    /// and the highest, so that no summit is lost.
    pub fn new(fixes: &[Fix], points_max: usize) -> Self {
        let Some(first) = fixes.first() else { return Self::default() };
        let motion = Motion::new(fixes);
        let altitudes = altitude::true_m(fixes);
        let mut barogram = Self { start_s: first.time_s, ..Self::default() };
        for at in kept(fixes, &altitudes, points_max) {
            let fix = &fixes[at];
            barogram.seconds.push(fix.time_s - first.time_s);
            barogram.latitudes.push(fix.latitude);
            barogram.longitudes.push(fix.longitude);
            barogram.altitudes_m.push(altitudes[at]);
            barogram.climbs_dms.push((motion.climb_ms[at] * 10.0).round() as i32);
        }
        barogram
    }
}

fn kept(fixes: &[Fix], altitudes: &[i32], points_max: usize) -> Vec<usize> {
    if fixes.len() <= points_max.max(2) {
        return (0..fixes.len()).collect();
    }
    let stretches = points_max.saturating_sub(2) as i64 / 2;
    let (first, last) = (0, fixes.len() - 1);
    let duration = (fixes[last].time_s - fixes[first].time_s).max(1);
    let stretch = |at: &usize| (fixes[*at].time_s - fixes[first].time_s) * stretches / duration;
    let mut kept = vec![first];
    let inner: Vec<usize> = (first + 1..last).collect();
    for of_one in inner.chunk_by(|a, b| stretch(a) == stretch(b)).filter(|_| stretches > 0) {
        let height = |at: &&usize| altitudes[**at];
        let ends = [of_one.iter().min_by_key(height), of_one.iter().max_by_key(height)];
        kept.extend(ends.into_iter().flatten());
    }
    kept.push(last);
    kept.sort_unstable();
    kept.dedup();
    kept
}
