//! Where in a track its flights are: recorders are switched on in the car, and forgotten in the pack.

use super::motion::Motion;
use super::{Fix, altitude};
use crate::score::sphere::{distance_m, point};

/// Nobody walks faster than this, and a glider that does not goes up or down.
const MOVING_MS: f64 = 4.0;
const RISING_MS: f64 = 1.0;
/// Whoever is at rest for longer has landed.
const REST_S: i64 = 90;
/// Shorter hops on a training slope are no flights.
const FLIGHT_S_MIN: i64 = 30;
/// A lift goes up only, so a flight descends by so much in the end.
const DESCENT_M_MIN: i32 = 20;
/// Air is hardly ever still, and roads hardly ever steep: in so much of a flight at least it goes up or down at such a rate.
const LIVELY_MS: f64 = 0.4;
const LIVELY_PART_MIN: f64 = 0.3;

/// A flight, by the numbers of its first and its last fix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flight {
    /// The fix of the take-off.
    pub take_off: usize,
    /// The fix of the landing.
    pub landing: usize,
}

/// All flights of a track in their order, without what was before, between and after them: waiting, walking, and most of the driving.
/// Between two flights there is a rest of more than a minute and a half on the ground, so that one who touches down on a slope and goes on
/// has made one flight.
pub fn flights(fixes: &[Fix]) -> Vec<Flight> {
    let motion = Motion::new(fixes);
    let is_moving = |at: &usize| motion.speed_ms[*at] > MOVING_MS || motion.climb_ms[*at].abs() > RISING_MS;
    let mut flights: Vec<Flight> = Vec::new();
    for at in (0..fixes.len()).filter(is_moving) {
        match flights.last_mut().filter(|flight| !is_rest(&fixes[flight.landing], &fixes[at])) {
            Some(flight) => flight.landing = at,
            None => flights.push(Flight { take_off: at, landing: at }),
        }
    }
    flights.retain(|flight| is_flight(&fixes[flight.take_off..=flight.landing], &motion.climb_ms[flight.take_off..]));
    flights
}

impl Flight {
    /// The fixes from take-off to landing.
    pub fn of<'a>(&self, fixes: &'a [Fix]) -> &'a [Fix] {
        &fixes[self.take_off..=self.landing]
    }
}

/// Whether nobody has flown from one moving fix to the next. A recorder that saw no satellites for a while did not rest.
fn is_rest(from: &Fix, to: &Fix) -> bool {
    let elapsed_s = to.time_s - from.time_s;
    let distance = distance_m(point(from.latitude, from.longitude), point(to.latitude, to.longitude));
    elapsed_s > REST_S && distance < MOVING_MS * elapsed_s as f64
}

fn is_flight(fixes: &[Fix], climb_ms: &[f64]) -> bool {
    let (Some(first), Some(last)) = (fixes.first(), fixes.last()) else { return false };
    let lively = climb_ms.iter().take(fixes.len()).filter(|climb| climb.abs() > LIVELY_MS).count();
    let altitudes = altitude::steady_m(fixes);
    let highest = altitudes.iter().max().copied().unwrap_or(0);
    last.time_s - first.time_s >= FLIGHT_S_MIN
        && lively as f64 >= LIVELY_PART_MIN * fixes.len() as f64
        && altitudes.last().is_some_and(|landing| highest - landing >= DESCENT_M_MIN)
}
