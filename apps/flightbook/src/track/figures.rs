//! What a pilot tells of a flight: how long, how far, how high.

use super::motion::Motion;
use super::{Fix, altitude};
use crate::score::sphere::{distance_m, point};

/// The figures of a flight. Rates are averages over 20 seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// From take-off to landing.
    pub duration_s: i64,
    /// Along all fixes, circles too.
    pub track_length_m: f64,
    /// From take-off to landing, as the crow flies.
    pub straight_distance_m: f64,
    /// The highest altitude.
    pub altitude_max_m: i32,
    /// The lowest altitude.
    pub altitude_min_m: i32,
    /// From take-off up to the highest altitude.
    pub height_gain_m: i32,
    /// Metres a second, up.
    pub climb_max_ms: f64,
    /// Metres a second, down: above zero.
    pub sink_max_ms: f64,
    /// Metres a second, over ground.
    pub speed_max_ms: f64,
}

impl Figures {
    /// The figures of a flight's fixes; none if there is no fix.
    pub fn new(fixes: &[Fix]) -> Option<Self> {
        let (first, last) = (fixes.first()?, fixes.last()?);
        let motion = Motion::new(fixes);
        let altitudes = altitude::true_m(fixes);
        let (altitude_max_m, altitude_min_m) = (*altitudes.iter().max()?, *altitudes.iter().min()?);
        let largest = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
        Some(Self {
            duration_s: last.time_s - first.time_s,
            track_length_m: motion.way_m.last().copied()?,
            straight_distance_m: distance_m(
                point(first.latitude, first.longitude),
                point(last.latitude, last.longitude),
            ),
            altitude_max_m,
            altitude_min_m,
            height_gain_m: altitude_max_m - altitudes.first()?,
            climb_max_ms: largest(&mut motion.climb_ms.iter().copied()),
            sink_max_ms: largest(&mut motion.climb_ms.iter().map(|climb| -climb)),
            speed_max_ms: largest(&mut motion.speed_ms.iter().copied()),
        })
    }
}
