//! How often each value came.
//!
//! Values are told apart to 3 %: each power of two has 32 steps. The steps of a power take memory once a value falls there, 128 bytes, so that
//! a route whose requests take about the same time has a few of them; all together are 5 KiB.

const STEPS: usize = 32;
const STEPS_BITS: u32 = STEPS.trailing_zeros();
/// The largest value that is told apart is 2^44 - 1: five hours in nanoseconds, or 16 TiB.
const POWERS: usize = 40;

/// A histogram.
#[derive(Debug, Clone)]
pub(crate) struct Histogram {
    /// Which place among the counts a power has, from 1 on; 0 if no value fell there.
    places: [u8; POWERS],
    counts: Vec<[u32; STEPS]>,
    count: u64,
    sum: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { places: [0; POWERS], counts: Vec::new(), count: 0, sum: 0, max: 0 }
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
    (power, (value >> shift) as usize % STEPS)
}

/// The largest value of a step.
fn largest((power, step): (usize, usize)) -> u64 {
    match power {
        0 => step as u64,
        _ => (((STEPS + step + 1) as u64) << (power - 1)) - 1,
    }
}

impl Histogram {
    #[inline]
    pub(crate) fn add(&mut self, value: u64) {
        self.add_times(value, 1);
    }

    /// Adds a value that came so often.
    #[inline]
    pub(crate) fn add_times(&mut self, value: u64, times: u64) {
        let (power, step) = place(value);
        self.count += times;
        self.sum += value * times;
        if times > 0 {
            self.max = self.max.max(value);
        }
        let steps = usize::from(self.places[power]).checked_sub(1).and_then(|place| self.counts.get_mut(place));
        match steps.map(|steps| &mut steps[step]) {
            Some(count) if u64::from(*count) + times < u64::from(u32::MAX) => *count += times as u32,
            _ => self.add_rarely((power, step), times),
        }
    }

    #[cold]
    fn add_rarely(&mut self, (power, step): (usize, usize), times: u64) {
        if times == 0 {
            return;
        }
        if self.places[power] == 0 {
            self.counts.reserve_exact(1);
            self.counts.push([0; STEPS]);
            self.places[power] = self.counts.len() as u8;
        }
        let place = usize::from(self.places[power]) - 1;
        let mut count = u64::from(self.counts[place][step]) + times;
        while count >= u64::from(u32::MAX) {
            // the shares stay as they are
            self.counts.as_flattened_mut().iter_mut().for_each(|count| *count /= 2);
            count /= 2;
        }
        self.counts[place][step] = count as u32;
    }

    /// How many values came.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// All of them added up.
    pub(crate) fn sum(&self) -> u64 {
        self.sum
    }

    pub(crate) fn max(&self) -> u64 {
        self.max
    }

    pub(crate) fn mean(&self) -> f64 {
        self.sum() as f64 / self.count().max(1) as f64
    }

    /// The values that came, each with how often.
    pub(crate) fn values(&self) -> Vec<(u64, u64)> {
        let powers = (0..POWERS).filter(|power| self.places[*power] > 0);
        let steps = powers.flat_map(|power| (0..STEPS).map(move |step| (power, step)));
        let counted = steps.map(|(power, step)| {
            let count = self.counts[usize::from(self.places[power]) - 1][step];
            (largest((power, step)).min(self.max), u64::from(count))
        });
        counted.filter(|(_, count)| *count > 0).collect()
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
        let mut histogram = Histogram::default();
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
