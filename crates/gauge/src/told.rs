//! Bills and sums as JSON, for `Server-Timing`, and for Prometheus.

use crate::account::Wait;
use crate::clock;
use crate::histogram::Histogram;
use crate::lock;
use crate::place;
use crate::route::{self, Bill, Route, Sums};
use crate::tally::Counts;
use std::fmt::Write;
use std::time::UNIX_EPOCH;
use thalweg_json::{Map, Value, json};

/// Nanoseconds as milliseconds, told to the microsecond.
pub(crate) fn ms(nanoseconds: u64) -> f64 {
    (nanoseconds / 1000) as f64 / 1000.0
}

fn mean(sum: u64, count: u64) -> f64 {
    (sum as f64 / count.max(1) as f64 * 1000.0).round() / 1000.0
}

fn waits(of: impl Fn(Wait) -> u64) -> Value {
    let named = Wait::ALL.into_iter().map(|kind| (format!("{}_ms", kind.name()), ms(of(kind)).into()));
    Value::Object(named.collect::<Map<_, _>>())
}

impl Bill {
    /// As JSON: times in milliseconds, all else counted.
    pub fn to_json(&self) -> Value {
        let stages = self.stages.iter().map(|(name, time)| ((*name).to_owned(), ms(*time).into()));
        json!({
            "at": self.at.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_millis() as f64 / 1000.0),
            "trace": self.trace,
            "status": self.status,
            "wall_ms": ms(self.wall),
            "cpu_ms": ms(self.cpu),
            "longest_poll_ms": ms(self.longest_poll),
            "waits": waits(|kind| self.waited(kind)),
            "stages_ms": Value::Object(stages.collect()),
            "allocations": self.allocations,
            "allocated_bytes": self.allocated_bytes,
            "peak_bytes": self.peak_bytes,
            "copied_bytes": self.copied_bytes,
            "bytes_in": self.bytes_in,
            "bytes_out": self.bytes_out,
            "rows": self.rows,
            "counts": Value::Object(self.counts.iter().map(|(name, number)| ((*name).to_owned(), (*number).into())).collect()),
        })
    }

    /// As the value of a `Server-Timing` header (milliseconds; counts as descriptions).
    pub(crate) fn server_timing(&self) -> String {
        let mut text = format!("total;dur={:.3}, cpu;dur={:.3}", ms(self.wall), ms(self.cpu));
        for (name, time) in &self.stages {
            let name: String =
                name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect();
            let _ = write!(text, ", {name};dur={:.3}", ms(*time));
        }
        for kind in Wait::ALL.into_iter().filter(|kind| self.waited(*kind) > 0) {
            let _ = write!(text, ", wait-{};dur={:.3}", kind.name(), ms(self.waited(kind)));
        }
        let (allocations, allocated, copied) = (self.allocations, self.allocated_bytes, self.copied_bytes);
        let _ = write!(
            text,
            ", allocations;desc={allocations}, allocated;desc=\"{allocated} B\", copied;desc=\"{copied} B\""
        );
        text
    }
}

fn times(histogram: &Histogram) -> Value {
    let [p50, p90, p99, p999] = histogram.quantiles([50.0, 90.0, 99.0, 99.9]).map(ms);
    let (mean, max) = (ms(histogram.mean() as u64), ms(histogram.max()));
    json!({ "mean": mean, "p50": p50, "p90": p90, "p99": p99, "p999": p999, "max": max })
}

fn amounts(histogram: &Histogram) -> Value {
    let [p50, p99] = histogram.quantiles([50.0, 99.0]);
    json!({ "mean": mean(histogram.sum(), histogram.count()), "p50": p50, "p99": p99, "max": histogram.max() })
}

/// A route's sums: a row of the table.
fn row(name: &str, sums: &Sums) -> Value {
    let count = sums.count();
    let per = |sum: u64| mean(sum, count);
    let stages = sums.by_name.stages.iter().map(|(name, time)| (name.to_owned(), ms(time / count.max(1)).into()));
    let counts = sums.by_name.counts.iter().map(|(name, number)| (name.to_owned(), per(number).into()));
    json!({
        "route": name,
        "requests": count,
        "in_flight": sums.under_way(),
        "errors": sums.errors,
        "wall_ms": times(&sums.wall),
        "cpu_ms": times(&sums.cpu),
        "longest_poll_ms": times(&sums.longest_poll),
        "waits": waits(|kind| sums.waits[kind as usize] / count.max(1)),
        "stages_ms": Value::Object(stages.collect()),
        "allocations": amounts(&sums.allocations),
        "allocated_bytes": amounts(&sums.allocated_bytes),
        "peak_bytes": amounts(&sums.peak_bytes),
        "copied_bytes": per(sums.copied_bytes.sum()),
        "bytes_in": per(sums.bytes_in),
        "bytes_out": per(sums.bytes_out),
        "rows": per(sums.rows),
        "counts": Value::Object(counts.collect()),
    })
}

/// What routes can be ordered by.
pub(crate) const ORDERS: [&str; 18] = [
    "route",
    "requests",
    "in_flight",
    "errors",
    "wall",
    "mean",
    "p50",
    "p99",
    "p999",
    "cpu",
    "lock",
    "allocations",
    "allocated",
    "peak",
    "copied",
    "in",
    "out",
    "rows",
];

fn key(sums: &Sums, order: &str) -> f64 {
    let mean = |sum: u64| sum as f64 / sums.count().max(1) as f64;
    let quantile = |histogram: &Histogram, of_hundred| histogram.quantiles([of_hundred])[0] as f64;
    match order {
        "requests" => sums.count() as f64,
        "in_flight" => sums.under_way() as f64,
        "errors" => sums.errors as f64,
        "mean" => sums.wall.mean(),
        "p50" => quantile(&sums.wall, 50.0),
        "p99" => quantile(&sums.wall, 99.0),
        "p999" => quantile(&sums.wall, 99.9),
        "cpu" => sums.cpu.mean(),
        "lock" => mean(sums.waits[Wait::Lock as usize]),
        "allocations" => sums.allocations.mean(),
        "allocated" => sums.allocated_bytes.mean(),
        "peak" => quantile(&sums.peak_bytes, 99.0),
        "copied" => mean(sums.copied_bytes.sum()),
        "in" => mean(sums.bytes_in),
        "out" => mean(sums.bytes_out),
        "rows" => mean(sums.rows),
        _ => sums.wall.sum() as f64,
    }
}

/// The first `most` of the routes whose names have a part like this in an order of [`ORDERS`], the largest first if it is not `is_up`.
pub(crate) fn routes(order: &str, is_up: bool, like: &str, most: usize) -> Value {
    let all = route::all();
    let (known, like) = (all.len(), like.to_lowercase());
    let matched = all.into_iter().filter(|route| like.is_empty() || route.name.to_lowercase().contains(&like));
    let mut matched: Vec<_> =
        matched.map(|route| (if order == "route" { 0.0 } else { key(&route.sums(), order) }, route)).collect();
    matched.sort_by(|(a, one), (b, other)| {
        let (by_name, by_key) = (one.name.cmp(&other.name), a.total_cmp(b));
        match (order, is_up) {
            ("route", false) => by_name.reverse(),
            (_, true) => by_key.then(by_name),
            (_, false) => by_key.reverse().then(by_name),
        }
    });
    let process = Counts::of_process();
    json!({
        "seconds": clock::since(0).as_secs_f64(),
        "process": { "allocations": process.allocations, "allocated_bytes": process.allocated_bytes, "copied_bytes": process.copied_bytes },
        "known": known,
        "matched": matched.len(),
        "routes": matched.iter().take(most).map(|(_, route)| row(&route.name, &route.sums())).collect::<Vec<_>>(),
    })
}

/// A route with what is kept of its requests: how they were spread, over time, and the worst of them.
pub(crate) fn whole_route(route: &Route) -> Value {
    let sums = route.sums();
    let mut told = row(&route.name, &sums);
    told["histogram"] = sums.wall.values().into_iter().map(|(value, count)| json!([ms(value), count])).collect();
    let spans = sums.spans().into_iter().map(|(ago, span)| {
        let powers: Vec<_> = span.powers.iter().map(|(power, count)| json!([ms(1 << power), count])).collect();
        let mean = ms(span.wall / span.count.max(1));
        json!({ "seconds_ago": ago.as_secs(), "requests": span.count, "mean_ms": mean, "max_ms": ms(span.longest), "powers": powers })
    });
    told["over_time"] = spans.collect();
    told["shapes"] = sums.shapes.iter().map(|shape| json!(shape.text)).collect();
    told["worst"] = sums.worst.iter().map(Bill::to_json).collect();
    told
}

/// All locks, those that were waited for the longest first.
pub(crate) fn locks() -> Value {
    let mut locks = lock::all();
    locks.sort_by_cached_key(|lock| std::cmp::Reverse(lock.sums().waits.sum()));
    let told = locks.into_iter().map(|lock| {
        let sums = lock.sums();
        let mut places = sums.places.clone();
        places.sort_by_key(|at| std::cmp::Reverse(at.waited));
        let places = places.into_iter().map(|at| {
            json!({
                "place": place::of_location(at.place), "holds": at.holds, "held_ms": ms(at.held),
                "waits": at.waits, "waited_ms": ms(at.waited),
            })
        });
        json!({
            "lock": lock.name(), "waiting": lock.waiting(),
            "waits": sums.waits.count(), "waited_ms": times(&sums.waits),
            "holds": sums.holds.count(), "held_ms": times(&sums.holds),
            "held_by": places.collect::<Vec<_>>(),
        })
    });
    told.collect()
}

/// Everything summed, in Prometheus's text format.
pub fn prometheus() -> String {
    let mut text = String::new();
    let routes = route::all();
    let mut family = |name: &str, kind: &str, help: &str, of: &dyn Fn(&Sums, &str, &mut String)| {
        let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        for route in &routes {
            of(&route.sums(), &label(&route.name), &mut text);
        }
    };
    let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
    family(
        "gauge_request_duration_seconds",
        "summary",
        "From the head of a request to the last byte of its answer.",
        &|sums, label, text| {
            let quantiles = sums.wall.quantiles([50.0, 90.0, 99.0, 99.9]);
            for (quantile, value) in ["0.5", "0.9", "0.99", "0.999"].into_iter().zip(quantiles) {
                let _ = writeln!(
                    text,
                    "gauge_request_duration_seconds{{route=\"{label}\",quantile=\"{quantile}\"}} {}",
                    seconds(value)
                );
            }
            let _ =
                writeln!(text, "gauge_request_duration_seconds_sum{{route=\"{label}\"}} {}", seconds(sums.wall.sum()));
            let _ = writeln!(text, "gauge_request_duration_seconds_count{{route=\"{label}\"}} {}", sums.count());
        },
    );
    let mut counter = |name: &str, help: &str, value: &dyn Fn(&Sums) -> f64| {
        family(name, "counter", help, &|sums, label, text| {
            let _ = writeln!(text, "{name}{{route=\"{label}\"}} {}", value(sums));
        });
    };
    counter("gauge_request_cpu_seconds_total", "On a CPU.", &|sums| seconds(sums.cpu.sum()));
    counter("gauge_request_errors_total", "Answered with 5xx.", &|sums| sums.errors as f64);
    counter("gauge_request_allocations_total", "How often memory was asked for.", &|sums| {
        sums.allocations.sum() as f64
    });
    counter("gauge_request_allocated_bytes_total", "How much.", &|sums| sums.allocated_bytes.sum() as f64);
    counter("gauge_request_copied_bytes_total", "Copied in memory.", &|sums| sums.copied_bytes.sum() as f64);
    counter("gauge_request_body_bytes_total", "Of requests' bodies.", &|sums| sums.bytes_in as f64);
    counter("gauge_response_body_bytes_total", "Of answers' bodies.", &|sums| sums.bytes_out as f64);
    counter("gauge_request_rows_total", "Rows, as the service says.", &|sums| sums.rows as f64);
    family("gauge_request_wait_seconds_total", "counter", "Waited, by what for.", &|sums, label, text| {
        for kind in Wait::ALL {
            let waited = seconds(sums.waits[kind as usize]);
            let _ = writeln!(
                text,
                "gauge_request_wait_seconds_total{{route=\"{label}\",kind=\"{}\"}} {waited}",
                kind.name()
            );
        }
    });
    family("gauge_request_stage_seconds_total", "counter", "By the service's own stages.", &|sums, route, text| {
        for (name, time) in sums.by_name.stages.iter() {
            let (stage, time) = (label(name), seconds(time));
            let _ = writeln!(text, "gauge_request_stage_seconds_total{{route=\"{route}\",stage=\"{stage}\"}} {time}");
        }
    });
    family("gauge_request_count_total", "counter", "The service's own numbers.", &|sums, route, text| {
        for (name, number) in sums.by_name.counts.iter() {
            let name = label(name);
            let _ = writeln!(text, "gauge_request_count_total{{route=\"{route}\",count=\"{name}\"}} {number}");
        }
    });
    family("gauge_request_longest_poll_seconds_max", "gauge", "The longest poll.", &|sums, label, text| {
        let longest = seconds(sums.longest_poll.max());
        let _ = writeln!(text, "gauge_request_longest_poll_seconds_max{{route=\"{label}\"}} {longest}");
    });
    family("gauge_request_peak_bytes_max", "gauge", "The most that a request held at once.", &|sums, label, text| {
        let _ = writeln!(text, "gauge_request_peak_bytes_max{{route=\"{label}\"}} {}", sums.peak_bytes.max());
    });
    family("gauge_requests_in_flight", "gauge", "Being served.", &|sums, label, text| {
        let _ = writeln!(text, "gauge_requests_in_flight{{route=\"{label}\"}} {}", sums.under_way());
    });
    let locks = lock::all();
    for (name, help, of) in [
        ("gauge_lock_wait_seconds", "Waited for a lock.", (|sums| &sums.waits) as fn(&lock::Sums) -> &Histogram),
        ("gauge_lock_hold_seconds", "Held a lock.", |sums| &sums.holds),
    ] {
        let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} summary\n");
        for lock in &locks {
            let (sums, lock) = (lock.sums(), label(lock.name()));
            let (sum, count) = (seconds(of(&sums).sum()), of(&sums).count());
            let _ = write!(text, "{name}_sum{{lock=\"{lock}\"}} {sum}\n{name}_count{{lock=\"{lock}\"}} {count}\n");
        }
    }
    text
}

fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
