//! Stacks by names, and what they are written as: folded text, flame graphs, speedscope. The fourth form is [`super::pprof`].

use super::names::{self, Place};
use super::samples::Sum;
use super::{Samples, Tag, Unit, pprof};
use inferno::flamegraph;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::io;

/// Named stacks with their weights.
#[derive(Debug, Clone)]
pub struct Profile {
    pub(super) unit: Unit,
    pub(super) places: Vec<Place>,
    pub(super) stacks: Vec<NamedStack>,
}

/// A stack by indices into a profile's places, outermost first.
#[derive(Debug, Clone)]
pub(super) struct NamedStack {
    pub(super) tag: Tag,
    pub(super) thread: i32,
    pub(super) frames: Vec<usize>,
    /// Less than nothing only in a difference.
    pub(super) weight: i128,
    pub(super) count: i128,
}

impl Profile {
    pub(super) fn new(samples: &Samples) -> Self {
        let mut addresses: Vec<u64> = samples.entries().flat_map(|(_, _, stack, _)| stack.iter().copied()).collect();
        addresses.sort_unstable();
        addresses.dedup();
        let names = names::of(&addresses);
        let mut index: BTreeMap<&Place, usize> =
            names.iter().flat_map(|places| places.iter()).map(|p| (p, 0)).collect();
        index.values_mut().enumerate().for_each(|(at, number)| *number = at);
        let at = |address: &u64| addresses.binary_search(address).unwrap_or_default();
        let mut sums: BTreeMap<(Tag, i32, Vec<usize>), Sum> = BTreeMap::new();
        for (tag, thread, stack, sum) in samples.entries() {
            let frames = stack.iter().rev().flat_map(|address| names[at(address)].iter().rev());
            let to = sums.entry((tag, thread, frames.map(|place| index[place]).collect())).or_default();
            to.weight = to.weight.saturating_add(sum.weight);
            to.count += sum.count;
        }
        let stacks = sums.into_iter().map(|((tag, thread, frames), sum)| NamedStack {
            tag,
            thread,
            frames,
            weight: sum.weight.into(),
            count: sum.count.into(),
        });
        let stacks = stacks.collect();
        Self { unit: samples.unit(), places: index.into_keys().cloned().collect(), stacks }
    }

    /// The places on top of stacks (where the time went, or the bytes), heaviest first, with their own weight.
    pub fn tops(&self) -> Vec<(&Place, u64)> {
        self.tops_of(|_| true)
    }

    /// The innermost places of the program's own files (whose line it is that calls into the standard library, say), heaviest
    /// first, with the weight of what they led to.
    pub fn own_tops(&self) -> Vec<(&Place, u64)> {
        self.tops_of(|place| place.is_own)
    }

    /// The innermost places that are wanted, heaviest first, with the weight of what they led to.
    pub fn tops_of(&self, is_wanted: impl Fn(&Place) -> bool) -> Vec<(&Place, u64)> {
        let mut sums: HashMap<usize, i128> = HashMap::new();
        for stack in &self.stacks {
            if let Some(top) = stack.frames.iter().rfind(|at| is_wanted(&self.places[**at])) {
                *sums.entry(*top).or_default() += stack.weight;
            }
        }
        let mut tops: Vec<_> = sums.into_iter().map(|(at, weight)| (&self.places[at], bounded(weight))).collect();
        tops.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        tops
    }

    /// Without the innermost frames that are none of the program's, as those of who took the stack.
    #[must_use]
    pub fn without_innermost(mut self, is_own: impl Fn(&Place) -> bool) -> Self {
        for stack in &mut self.stacks {
            while stack.frames.last().is_some_and(|at| is_own(&self.places[*at])) {
                stack.frames.pop();
            }
        }
        self
    }

    /// With each stack ending at its innermost place that is wanted. One that has none stays whole.
    #[must_use]
    pub fn ending_at(mut self, is_wanted: impl Fn(&Place) -> bool) -> Self {
        for stack in &mut self.stacks {
            if let Some(last) = stack.frames.iter().rposition(|at| is_wanted(&self.places[*at])) {
                stack.frames.truncate(last + 1);
            }
        }
        self
    }

    /// With files called as `shown` says.
    #[must_use]
    pub fn with_files(mut self, shown: impl Fn(&str) -> String) -> Self {
        for place in &mut self.places {
            place.file = place.file.take().map(|file| shown(&file));
        }
        self
    }

    /// What has come and gone since `before`.
    pub fn minus(&self, before: &Self) -> Difference {
        let mut places: BTreeMap<&Place, usize> = self.places.iter().chain(&before.places).map(|p| (p, 0)).collect();
        places.values_mut().enumerate().for_each(|(at, number)| *number = at);
        let mut stacks: BTreeMap<Vec<usize>, (Sum, Sum)> = BTreeMap::new();
        for (profile, is_before) in [(self, false), (before, true)] {
            for stack in &profile.stacks {
                let frames = stack.frames.iter().map(|at| places[&profile.places[*at]]).collect();
                let pair = stacks.entry(frames).or_default();
                let sum = if is_before { &mut pair.0 } else { &mut pair.1 };
                sum.weight = sum.weight.saturating_add(bounded(stack.weight));
                sum.count += bounded(stack.count);
            }
        }
        Difference { unit: self.unit, places: places.into_keys().cloned().collect(), stacks }
    }

    /// A line for each stack: its frames, outermost first, between semicolons, a space, and its weight.
    pub fn folded(&self) -> String {
        let mut lines: BTreeMap<String, i128> = BTreeMap::new();
        for stack in &self.stacks {
            *lines.entry(line(&self.places, &stack.frames)).or_default() += stack.weight;
        }
        lines.iter().fold(String::new(), |mut text, (line, weight)| {
            let _ = writeln!(text, "{line} {weight}");
            text
        })
    }

    /// An interactive flame graph.
    ///
    /// # Errors
    /// If it cannot be written, which for memory it always can.
    pub fn svg(&self, title: &str) -> io::Result<String> {
        svg(title, self.unit, &self.folded(), false)
    }

    /// A profile as `go tool pprof` and Grafana read it: protobuf in gzip. Tag and thread are labels.
    pub fn pprof(&self) -> Vec<u8> {
        pprof::written(self.unit, &self.places, &self.stacks)
    }

    /// JSON for <https://www.speedscope.app>.
    pub fn speedscope(&self, title: &str) -> String {
        let stacks: Vec<_> = self.stacks.iter().map(|stack| (&*stack.frames, bounded(stack.weight))).collect();
        speedscope(title, self.unit, &self.places, &[(title, stacks)])
    }
}

/// Two profiles, stack by stack, whatever their tags and threads were.
#[derive(Debug, Clone)]
pub struct Difference {
    unit: Unit,
    places: Vec<Place>,
    /// Before and after.
    stacks: BTreeMap<Vec<usize>, (Sum, Sum)>,
}

impl Difference {
    /// A line for each stack, as in [`Profile::folded`], with two weights: before and after.
    pub fn folded(&self) -> String {
        self.stacks.iter().fold(String::new(), |mut text, (frames, (before, after))| {
            let _ = writeln!(text, "{} {} {}", line(&self.places, frames), before.weight, after.weight);
            text
        })
    }

    /// A flame graph of what is now, red where it has become more and blue where less.
    ///
    /// # Errors
    /// As [`Profile::svg`].
    pub fn svg(&self, title: &str) -> io::Result<String> {
        let is_empty = self.stacks.values().all(|(_, after)| after.weight == 0);
        let folded = if is_empty { String::new() } else { self.folded() };
        svg(title, self.unit, &folded, true)
    }

    /// As [`Profile::pprof`], with weights below zero where it has become less.
    pub fn pprof(&self) -> Vec<u8> {
        let stacks = self.stacks.iter().map(|(frames, (before, after))| NamedStack {
            tag: 0,
            thread: 0,
            frames: frames.clone(),
            weight: i128::from(after.weight) - i128::from(before.weight),
            count: i128::from(after.count) - i128::from(before.count),
        });
        pprof::written(self.unit, &self.places, &stacks.collect::<Vec<_>>())
    }

    /// Two profiles in one file, of what has become more and of what has become less, for weights cannot be below zero there.
    pub fn speedscope(&self, title: &str) -> String {
        let stacks = |weight: fn(&(Sum, Sum)) -> u64| {
            let all = self.stacks.iter().map(|(frames, pair)| (&**frames, weight(pair)));
            all.filter(|(_, weight)| *weight > 0).collect::<Vec<_>>()
        };
        let more = stacks(|(before, after)| after.weight.saturating_sub(before.weight));
        let less = stacks(|(before, after)| before.weight.saturating_sub(after.weight));
        speedscope(title, self.unit, &self.places, &[("more", more), ("less", less)])
    }
}

/// A stack with its weight.
type Weighted<'a> = (&'a [usize], u64);

fn bounded(weight: i128) -> u64 {
    weight.clamp(0, u64::MAX.into()) as u64
}

/// Frames between semicolons. A semicolon in a name (`[u8; 4]`) becomes a comma.
fn line(places: &[Place], frames: &[usize]) -> String {
    let mut line = String::new();
    for (at, frame) in frames.iter().enumerate() {
        if at > 0 {
            line.push(';');
        }
        let name = places[*frame].to_string();
        line.extend(name.chars().map(|c| match c {
            ';' => ',',
            c if c.is_control() => ' ',
            c => c,
        }));
    }
    line
}

fn svg(title: &str, unit: Unit, folded: &str, is_difference: bool) -> io::Result<String> {
    if folded.is_empty() {
        let mut text = String::from("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1200\" height=\"60\">");
        text.push_str("<text x=\"10\" y=\"35\" font-family=\"monospace\" font-size=\"12\">no samples</text></svg>\n");
        return Ok(text);
    }
    let mut options = flamegraph::Options::default();
    options.title = title.chars().filter(|c| !c.is_control()).collect();
    options.count_name = unit.names().1.to_owned();
    if !is_difference {
        options.colors = flamegraph::color::Palette::Multi(flamegraph::color::MultiPalette::Rust);
    }
    let mut svg = Vec::new();
    flamegraph::from_lines(&mut options, folded.lines(), &mut svg).map_err(io::Error::other)?;
    String::from_utf8(svg).map_err(io::Error::other)
}

/// Source: the schema `https://www.speedscope.app/file-format-schema.json`.
fn speedscope(title: &str, unit: Unit, places: &[Place], profiles: &[(&str, Vec<Weighted<'_>>)]) -> String {
    let mut text = String::from("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"name\":");
    string(&mut text, title);
    text.push_str(",\"exporter\":\"thalweg-gauge\",\"activeProfileIndex\":0,\"shared\":{\"frames\":[");
    list(&mut text, places, |text, place| {
        text.push_str("{\"name\":");
        string(text, &place.function);
        if let Some(file) = &place.file {
            text.push_str(",\"file\":");
            string(text, file);
        }
        if let Some(line) = place.line {
            let _ = write!(text, ",\"line\":{line}");
        }
        text.push('}');
    });
    text.push_str("]},\"profiles\":[");
    list(&mut text, profiles, |text, (name, stacks)| {
        let unit = match unit {
            Unit::CpuNanoseconds | Unit::WaitNanoseconds => "nanoseconds",
            Unit::Bytes => "bytes",
            Unit::Count => "none",
        };
        text.push_str("{\"type\":\"sampled\",\"name\":");
        string(text, name);
        let end = stacks.iter().fold(0_u64, |end, (_, weight)| end.saturating_add(*weight));
        let _ = write!(text, ",\"unit\":\"{unit}\",\"startValue\":0,\"endValue\":{end},\"samples\":[");
        list(text, stacks, |text, (frames, _)| {
            text.push('[');
            list(text, frames, |text, frame| {
                let _ = write!(text, "{frame}");
            });
            text.push(']');
        });
        text.push_str("],\"weights\":[");
        list(text, stacks, |text, (_, weight)| {
            let _ = write!(text, "{weight}");
        });
        text.push_str("]}");
    });
    text.push_str("]}");
    text
}

fn list<T>(text: &mut String, items: &[T], mut write: impl FnMut(&mut String, &T)) {
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        write(text, item);
    }
}

fn string(text: &mut String, value: &str) {
    // no text is refused
    text.push_str(&thalweg_json::to_string(value).unwrap_or_default());
}
