//! What is wrong, in plain words, with the arithmetic that says so.

use crate::account::Wait;
use crate::place;
use crate::route::{self, Across, Route, Sums, WaitedFor};
use crate::told::ms;
use crate::watch::{self, Taken};
use thalweg_json::{Value, json};

/// Of fewer requests nothing is said.
const REQUESTS_MIN: u64 = 10;
/// A wait for a lock that is worth a word: its share of the time, and how long it is at least.
const LOCK_SHARE_MIN: f64 = 0.2;
const LOCK_NANOSECONDS_MIN: u64 = 1_000_000;
/// So many waits are, of as many requests in a hundred.
const LOCK_WAITS_MIN: u64 = 3;
const LOCK_WAITS_SHARE_MIN: f64 = 1.0;
/// Shortest poll that is reported to hold up its executor, in nanoseconds of computing or standing
/// still. Waiting for a CPU does not count, because it is not the route's fault.
pub(crate) const BLOCKED_NANOSECONDS_MIN: u64 = 10_000_000;
/// So many polls do, of as many requests in a hundred.
const BLOCKED_POLLS_MIN: u64 = 3;
const BLOCKED_SHARE_MIN: f64 = 1.0;
/// More allocations are a loop's.
const ALLOCATIONS_MIN: f64 = 10_000.0;
/// So is more memory than this, if it is so many times what comes in and goes out.
const ALLOCATED_BYTES_MIN: f64 = 4.0 * 1024.0 * 1024.0;
const ALLOCATED_TIMES_MIN: f64 = 10.0;
/// How many times its answer and its body a request copies, and how much at least.
const COPIES_MIN: f64 = 3.0;
const COPIED_BYTES_MIN: f64 = 1024.0 * 1024.0;

/// Something that a route's requests lose time by.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Finding {
    /// The route.
    pub route: String,
    /// Which kind: `guard_across_await`, `lock`, `blocked_executor`, `allocations`, `copies`.
    pub kind: &'static str,
    /// The sentence.
    pub what: String,
    /// Files and lines: of a guard across an await where it was `taken_at` and `awaited_at`, of a lock who it is `held_by`.
    #[serde(rename = "where")]
    pub place: Value,
    /// What the sentence is computed from.
    pub figures: Value,
    /// How much of all time it costs, in nanoseconds, by which findings are ordered.
    #[serde(skip)]
    weight: u64,
}

/// All of them, the dearest first.
pub fn findings() -> Vec<Finding> {
    let mut findings = Vec::new();
    for route in route::all() {
        // names are looked up in the program's file, while others add
        let Some(sums) = enough(&route.sums()) else { continue };
        findings.extend(sums.across.iter().map(|across| guard_across_await(route, &sums, across)));
        findings.extend(lock(route, &sums));
        findings.extend(blocked(route, &sums));
        findings.extend(allocations(route, &sums));
        findings.extend(copies(route, &sums));
    }
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.weight));
    findings
}

/// What a route has summed, if that says something.
fn enough(sums: &Sums) -> Option<Sums> {
    (sums.count() >= REQUESTS_MIN).then(|| sums.clone())
}

fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64 * 100.0
}

/// How long a route has waited for a lock, as far as its requests have ended.
fn waited_for(sums: &Sums, lock: &WaitedFor) -> u64 {
    lock.nanoseconds.min(sums.waits[Wait::Lock as usize])
}

fn guard_across_await(route: &Route, sums: &Sums, across: &Across) -> Finding {
    let (name, lock) = (&route.name, across.lock.name());
    let awaited_at = across.awaited_at.as_ref().and_then(|stack| place::of_await(stack, across.taken_at));
    // who is given up while it holds the lock has kept others out for as long, and did not pass
    let each = across.nanoseconds / across.went_on.max(1);
    let waited = sums.waited_for.iter().find(|known| std::ptr::eq(known.lock, across.lock));
    let waited = waited.map_or(0, |known| waited_for(sums, known));
    let of_time = share(waited, sums.wall.sum());
    let most = if each > 0 { 1e9 / each as f64 } else { f64::INFINITY };
    let line = awaited_at.as_deref().map_or_else(|| "an await".to_owned(), |place| format!("the await at {place}"));
    let what = format!(
        "`{name}` waits {of_time:.0} % of its time for lock `{lock}`, taken at {} and held across {line}, {:.1} ms each time: at most {most:.0} \
         requests/s can pass, and {} stood behind it at once",
        place::of_location(across.taken_at),
        ms(each),
        across.behind,
    );
    Finding {
        route: name.to_string(),
        kind: "guard_across_await",
        what,
        place: json!({ "taken_at": place::of_location(across.taken_at), "awaited_at": awaited_at }),
        figures: json!({
            "lock": lock, "times": across.times, "held_ms": ms(each), "behind_max": across.behind, "requests": sums.count(),
            "waited_ms": ms(waited), "wall_ms": ms(sums.wall.sum()), "requests_per_second_max": most.is_finite().then_some(most),
        }),
        weight: waited.max(across.nanoseconds),
    }
}

/// A wait for a lock that no guard across an await explains.
fn lock(route: &Route, sums: &Sums) -> Option<Finding> {
    let is_explained = |lock| sums.across.iter().any(|across| std::ptr::eq(across.lock, lock));
    let others = sums.waited_for.iter().filter(|known| !is_explained(known.lock));
    let most = others.max_by_key(|known| known.nanoseconds)?;
    let (lock, waited) = (most.lock, waited_for(sums, most));
    let each = waited / sums.count().max(1);
    let of_time = share(waited, sums.wall.sum());
    if of_time < LOCK_SHARE_MIN * 100.0
        || each < LOCK_NANOSECONDS_MIN
        || most.times < LOCK_WAITS_MIN
        || share(most.times, sums.count()) < LOCK_WAITS_SHARE_MIN
    {
        return None;
    }
    let held_by = lock.sums().places.iter().copied().max_by_key(|at| at.waited)?;
    let what = format!(
        "`{}` waits {of_time:.0} % of its time for lock `{}`, {:.1} ms a request, held at {} for {:.3} ms each time",
        route.name,
        lock.name(),
        ms(each),
        place::of_location(held_by.place),
        ms(held_by.held / held_by.holds.max(1)),
    );
    Some(Finding {
        route: route.name.to_string(),
        kind: "lock",
        what,
        place: json!({ "held_by": place::of_location(held_by.place) }),
        figures: json!({
            "lock": lock.name(), "waits": most.times, "waited_ms": ms(waited), "wall_ms": ms(sums.wall.sum()), "requests": sums.count(),
            "holds": held_by.holds, "held_ms": ms(held_by.held),
        }),
        weight: waited,
    })
}

fn blocked(route: &Route, sums: &Sums) -> Option<Finding> {
    let long = sums.longest_poll.values().into_iter().filter(|(value, _)| *value >= BLOCKED_NANOSECONDS_MIN);
    let (times, longest) = long.fold((0, 0), |(times, longest), (value, count)| (times + count, longest.max(value)));
    let of_requests = share(times, sums.count());
    if times < BLOCKED_POLLS_MIN || of_requests < BLOCKED_SHARE_MIN {
        return None;
    }
    let (cpu, stood) = (sums.cpu.sum(), sums.waits[Wait::Blocked as usize]);
    let why = if stood > cpu { "the thread stood still" } else { "the thread computed" };
    let what = format!(
        "`{}` holds up its executor: {times} of {} requests ({of_requests:.0} %) had a poll of more than {} ms, the longest {:.0} ms, while {why}",
        route.name,
        sums.count(),
        BLOCKED_NANOSECONDS_MIN / 1_000_000,
        ms(longest),
    );
    let stack = watch::stack_of(route);
    let at = stack.as_deref().and_then(place::of_application);
    Some(Finding {
        route: route.name.to_string(),
        kind: "blocked_executor",
        what: at.as_ref().map_or_else(|| what.clone(), |at| format!("{what}, in {at}")),
        place: json!({ "polled_at": at }),
        figures: json!({
            "requests": sums.count(), "polls_too_long": times, "longest_ms": ms(longest),
            "cpu_ms": ms(cpu), "stood_still_ms": ms(stood),
        }),
        weight: cpu.max(stood),
    })
}

/// What comes in and goes out for a request, in bytes.
fn through(sums: &Sums) -> f64 {
    (sums.bytes_in + sums.bytes_out) as f64 / sums.count().max(1) as f64
}

/// Where most of it is done, and how a sentence says that.
fn most_of_it(taken: &Taken, route: &Route) -> (Option<String>, String) {
    let at = watch::heaviest(taken, route);
    let line = at.as_ref().map_or(String::new(), |at| format!(", most of it at {at}"));
    (at, line)
}

fn allocations(route: &Route, sums: &Sums) -> Option<Finding> {
    let (each, bytes) = (sums.allocations.mean(), sums.allocated_bytes.mean());
    let through = through(sums);
    let is_much = bytes >= ALLOCATED_BYTES_MIN && bytes >= through * ALLOCATED_TIMES_MIN;
    if each < ALLOCATIONS_MIN && !is_much {
        return None;
    }
    let (at, line) = most_of_it(&watch::ALLOCATED, route);
    let what = format!(
        "`{}` asks for memory {each:.0} times a request, {:.1} MB together{line}; {:.3} MB come in and go out",
        route.name,
        bytes / 1e6,
        through / 1e6,
    );
    Some(Finding {
        route: route.name.to_string(),
        kind: "allocations",
        what,
        place: json!({ "allocated_at": at }),
        figures: json!({
            "requests": sums.count(), "allocations": each, "allocated_bytes": bytes, "peak_bytes": sums.peak_bytes.max(),
        }),
        weight: sums.cpu.sum(),
    })
}

fn copies(route: &Route, sums: &Sums) -> Option<Finding> {
    let count = sums.count().max(1) as f64;
    let copied = sums.copied_bytes.sum() as f64 / count;
    let through = through(sums);
    let times = copied / through.max(1.0);
    if copied < COPIED_BYTES_MIN || times < COPIES_MIN {
        return None;
    }
    let (at, line) = most_of_it(&watch::COPIED, route);
    let what = format!(
        "`{}` copies {:.1} MB a request{line}; {:.3} MB come in and go out",
        route.name,
        copied / 1e6,
        through / 1e6,
    );
    Some(Finding {
        route: route.name.to_string(),
        kind: "copies",
        what,
        place: json!({ "copied_at": at }),
        figures: json!({ "requests": sums.count(), "copied_bytes": copied, "through_bytes": through, "times": times }),
        weight: sums.cpu.sum(),
    })
}
