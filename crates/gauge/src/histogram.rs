//! How often each value came.
//!
//! Values are told apart to 3 %: each power of two has 32 steps. The steps of a power take memory once a value falls there, 128 bytes, so that
//! a route whose requests take about the same time has a few of them; all together are 5 KiB.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

const STEPS: usize = 32;
const STEPS_BITS: u32 = STEPS.trailing_zeros();
/// The largest value that is told apart is 2^44 - 1: five hours in nanoseconds, or 16 TiB.
const POWERS: usize = 40;

/// A histogram that many threads add to.
#[derive(Debug)]
pub(crate) struct Histogram {
    powers: [OnceLock<Box<[AtomicU32; STEPS]>>; POWERS],
    count: AtomicU64,
    sum: AtomicU64,
    max: AtomicU64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { powers: [const { OnceLock::new() }; POWERS], count: 0.into(), sum: 0.into(), max: 0.into() }
    }
}

/// The power and the step of a value. Those below 32 are each a step of the first power.
fn place(value: u64) -> (usize, usize) {
    if value < STEPS as u64 {
        return (0, value as usize);
    }
    let shift = value.ilog2() - STEPS_BITS;
    let power = shift as usize + 1;
    if power >= POWERS {
        return (POWERS - 1, STEPS - 1);
    }
    (power, (value >> shift) as usize - STEPS)
}

/// The largest value of a step.
fn largest((power, step): (usize, usize)) -> u64 {
    match power {
        0 => step as u64,
        _ => (((STEPS + step + 1) as u64) << (power - 1)) - 1,
    }
}

impl Histogram {
    pub(crate) fn add(&self, value: u64) {
        let (power, step) = place(value);
        let steps = self.powers[power].get_or_init(|| Box::new([const { AtomicU32::new(0) }; STEPS]));
        steps[step].fetch_add(1, Relaxed);
        self.count.fetch_add(1, Relaxed);
        self.sum.fetch_add(value, Relaxed);
        if value > self.max.load(Relaxed) {
            self.max.fetch_max(value, Relaxed);
        }
    }

    /// How many values came.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// All of them added up.
    pub(crate) fn sum(&self) -> u64 {
        self.sum.load(Relaxed)
    }

    pub(crate) fn max(&self) -> u64 {
        self.max.load(Relaxed)
    }

    pub(crate) fn mean(&self) -> f64 {
        self.sum() as f64 / self.count().max(1) as f64
    }

    /// The values that came, each with how often.
    pub(crate) fn values(&self) -> Vec<(u64, u64)> {
        let mut values = Vec::new();
        for (power, steps) in self.powers.iter().enumerate() {
            for (step, count) in steps.get().into_iter().flat_map(|steps| steps.iter().enumerate()) {
                let count = count.load(Relaxed);
                if count > 0 {
                    values.push((largest((power, step)).min(self.max()), u64::from(count)));
                }
            }
        }
        values
    }

    /// The least value that so many of a hundred are not above, for each of these.
    pub(crate) fn quantiles<const N: usize>(&self, of_hundred: [f64; N]) -> [u64; N] {
        let values = self.values();
        let count: u64 = values.iter().map(|(_, count)| count).sum();
        of_hundred.map(|share| {
            let wanted = ((share / 100.0 * count as f64).ceil() as u64).max(1);
            let mut seen = 0;
            let reached = values.iter().find(|(_, count)| {
                seen += count;
                seen >= wanted
            });
            reached.map_or(0, |(value, _)| *value)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_told_to_three_percent() {
        for value in (0..2000).chain((0..44).flat_map(|power| [(1 << power) - 1, 1 << power, (1 << power) * 3 / 2])) {
            let told = largest(place(value));
            assert!(told >= value && told - value <= value / 32, "{value} is told as {told}");
        }
        assert_eq!(place(u64::MAX), (POWERS - 1, STEPS - 1));
    }

    #[test]
    fn quantiles_are_of_all_values() {
        let histogram = Histogram::default();
        assert_eq!(histogram.quantiles([50.0]), [0]);
        (1..=10_000).for_each(|value| histogram.add(value * 1000));
        let [p50, p99, p999] = histogram.quantiles([50.0, 99.0, 99.9]);
        for (told, exact) in [(p50, 5_000_000_u64), (p99, 9_900_000), (p999, 9_990_000)] {
            assert!(told >= exact && told <= exact + exact / 32, "{told} for {exact}");
        }
        assert_eq!((histogram.count(), histogram.max(), histogram.mean()), (10_000, 10_000_000, 5_000_500.0));
        assert_eq!(histogram.quantiles([100.0]), [10_000_000]);
    }
}
