//! Sums as OpenTelemetry's metrics, in the JSON of protobuf: 64-bit integers are texts.

use super::options::Resource;
use crate::account::Wait;
use crate::clock;
use crate::histogram::Histogram;
use crate::lock;
use crate::route::{self, Route, Sums};
use crate::tally::Counts;
use std::time::{SystemTime, UNIX_EPOCH};
use thalweg_json::{Value, json};

/// How many routes are in a message, which has about 5 KB of each.
const ROUTES_OF_MESSAGE_MAX: usize = 400;

/// In seconds, as the semantic conventions advise for `http.server.request.duration`.
const REQUEST_BOUNDS: [f64; 14] = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0];
const LOCK_BOUNDS: [f64; 8] = [0.000_001, 0.000_01, 0.000_1, 0.001, 0.01, 0.1, 1.0, 10.0];

/// `AGGREGATION_TEMPORALITY_CUMULATIVE`.
const CUMULATIVE: u8 = 2;

/// One message of several, the first of which has what is not of a route; none beyond the last.
pub(super) fn message(resource: &Resource, at: usize) -> Option<String> {
    let clock = Clock { began: nanoseconds(clock::began_at()), now: nanoseconds(SystemTime::now()) };
    let metrics = match at.checked_sub(1) {
        None => [of_process(&clock), of_locks(&clock)].concat(),
        Some(at) => {
            let mut routes = route::all();
            // in the order in which they came, so that one that comes meanwhile moves none
            routes.sort_unstable_by_key(|route| route.tag);
            of_routes(&clock, routes.chunks(ROUTES_OF_MESSAGE_MAX).nth(at)?)
        }
    };
    let resource: Vec<_> = resource.iter().map(|(key, value)| attribute(key, value)).collect();
    let scope = json!({ "name": "thalweg-gauge", "version": env!("CARGO_PKG_VERSION") });
    let message = json!({ "resourceMetrics": [{
        "resource": { "attributes": resource },
        "scopeMetrics": [{ "scope": scope, "metrics": metrics }],
    }]});
    Some(message.to_string())
}

fn nanoseconds(at: SystemTime) -> String {
    at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos()).to_string()
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

fn attribute(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

/// Of what time the sums are.
struct Clock {
    began: String,
    now: String,
}

impl Clock {
    fn point(&self, attributes: &[Value], value: Amount) -> Value {
        let mut point = json!({ "attributes": attributes, "startTimeUnixNano": self.began, "timeUnixNano": self.now });
        match value {
            Amount::Count(count) => point["asInt"] = count.to_string().into(),
            Amount::Seconds(nanoseconds) => point["asDouble"] = seconds(nanoseconds).into(),
        }
        point
    }

    /// The values of a histogram of nanoseconds, each told to 3 %, between bounds.
    fn spread(&self, attributes: &[Value], histogram: &Histogram, bounds: &[f64]) -> Value {
        let mut counts = vec![0; bounds.len() + 1];
        for (value, count) in histogram.values() {
            counts[bounds.partition_point(|bound| *bound < seconds(value))] += count;
        }
        let count: u64 = counts.iter().sum();
        let counts: Vec<_> = counts.iter().map(u64::to_string).collect();
        json!({
            "attributes": attributes, "startTimeUnixNano": self.began, "timeUnixNano": self.now,
            "count": count.to_string(), "sum": seconds(histogram.sum()), "max": seconds(histogram.max()),
            "explicitBounds": bounds, "bucketCounts": counts,
        })
    }
}

enum Amount {
    Count(u64),
    /// In nanoseconds.
    Seconds(u64),
}

fn sum(name: &str, unit: &str, points: Vec<Value>) -> Value {
    json!({ "name": name, "unit": unit, "sum": { "aggregationTemporality": CUMULATIVE, "isMonotonic": true, "dataPoints": points } })
}

/// A sum that rises and falls.
fn level(name: &str, unit: &str, points: Vec<Value>) -> Value {
    json!({ "name": name, "unit": unit, "sum": { "aggregationTemporality": CUMULATIVE, "isMonotonic": false, "dataPoints": points } })
}

fn spread(name: &str, points: Vec<Value>) -> Value {
    json!({ "name": name, "unit": "s", "histogram": { "aggregationTemporality": CUMULATIVE, "dataPoints": points } })
}

fn of_process(clock: &Clock) -> Vec<Value> {
    let counts = Counts::of_process();
    let of = |name, unit, count| sum(name, unit, vec![clock.point(&[], Amount::Count(count))]);
    vec![
        of("gauge.process.allocations", "{allocation}", counts.allocations),
        of("gauge.process.allocated", "By", counts.allocated_bytes),
        of("gauge.process.copied", "By", counts.copied_bytes),
    ]
}

fn of_locks(clock: &Clock) -> Vec<Value> {
    let (mut waits, mut holds) = (Vec::new(), Vec::new());
    for lock in lock::all() {
        let (name, sums) = ([attribute("gauge.lock", lock.name())], lock.sums());
        waits.push(clock.spread(&name, &sums.waits, &LOCK_BOUNDS));
        holds.push(clock.spread(&name, &sums.holds, &LOCK_BOUNDS));
    }
    vec![spread("gauge.lock.wait", waits), spread("gauge.lock.hold", holds)]
}

/// What a route goes by: a method and what the framework matched, where its name is made of them.
fn attributes(name: &str) -> Vec<Value> {
    match name.split_once(' ') {
        Some((method, path)) if path.starts_with('/') && method.parse::<http::Method>().is_ok() => {
            vec![attribute("http.request.method", method), attribute("http.route", path)]
        }
        _ => vec![attribute("gauge.route", name)],
    }
}

fn of_routes(clock: &Clock, routes: &[&'static Route]) -> Vec<Value> {
    let routes: Vec<_> = routes.iter().map(|route| (attributes(&route.name), route.sums().clone())).collect();
    let each = |point: &dyn Fn(&Sums, &[Value]) -> Value| {
        routes.iter().map(|(attributes, sums)| point(sums, attributes)).collect::<Vec<_>>()
    };
    let counts = |count: &dyn Fn(&Sums) -> u64| each(&|sums, of| clock.point(of, Amount::Count(count(sums))));
    let (mut waits, mut stages, mut own) = (Vec::new(), Vec::new(), Vec::new());
    for (attributes, sums) in &routes {
        let with = |key: &str, value: &str| [&attributes[..], &[attribute(key, value)]].concat();
        for kind in Wait::ALL {
            let waited = sums.waits[kind as usize];
            if waited > 0 {
                waits.push(clock.point(&with("gauge.wait", kind.name()), Amount::Seconds(waited)));
            }
        }
        for (name, time) in sums.by_name.stages.iter() {
            stages.push(clock.point(&with("gauge.stage", name), Amount::Seconds(time)));
        }
        for (name, number) in sums.by_name.counts.iter() {
            own.push(clock.point(&with("gauge.count", name), Amount::Count(number)));
        }
    }
    let largest = each(&|sums, of| clock.point(of, Amount::Count(sums.peak_bytes.max())));
    vec![
        spread("http.server.request.duration", each(&|sums, of| clock.spread(of, &sums.wall, &REQUEST_BOUNDS))),
        level("http.server.active_requests", "{request}", counts(&|sums| sums.under_way())),
        sum("gauge.request.errors", "{request}", counts(&|sums| sums.errors)),
        sum("gauge.request.rows", "{row}", counts(&|sums| sums.rows)),
        sum("gauge.request.cpu", "s", each(&|sums, of| clock.point(of, Amount::Seconds(sums.cpu.sum())))),
        spread("gauge.request.longest_poll", each(&|sums, of| clock.spread(of, &sums.longest_poll, &REQUEST_BOUNDS))),
        sum("gauge.request.wait", "s", waits),
        sum("gauge.request.stage", "s", stages),
        sum("gauge.request.count", "1", own),
        sum("gauge.request.allocations", "{allocation}", counts(&|sums| sums.allocations.sum())),
        sum("gauge.request.allocated", "By", counts(&|sums| sums.allocated_bytes.sum())),
        sum("gauge.request.copied", "By", counts(&|sums| sums.copied_bytes.sum())),
        sum("gauge.request.bytes_in", "By", counts(&|sums| sums.bytes_in)),
        sum("gauge.request.bytes_out", "By", counts(&|sums| sums.bytes_out)),
        json!({ "name": "gauge.request.peak", "unit": "By", "gauge": { "dataPoints": largest } }),
    ]
}
