//! What has been counted, as Prometheus reads it.

use crate::log;
use crate::state::State;
use std::fmt::{Display, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::UNIX_EPOCH;

/// All metrics. Those that PostgREST has have its names.
pub(super) fn written(state: &State) -> String {
    let mut text = Text::default();
    postgrest(&mut text, state);
    ours(&mut text, state);
    text.text + &thalweg_gauge::prometheus()
}

fn postgrest(text: &mut Text, state: &State) {
    let vitals = &state.vitals;
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let loads = [("SUCCESS", count(&vitals.loads_succeeded)), ("FAIL", count(&vitals.loads_failed))];
    text.counter("pgrst_schema_cache_loads_total", "Loads of the schema cache.", "status", &loads);
    if loads[0].1 > 0 {
        let seconds = count(&vitals.load_us) as f64 / 1e6;
        text.gauge("pgrst_schema_cache_query_time_seconds", "How long the last successful load took.", seconds);
    }
    let pool = state.pool.status();
    text.gauge("pgrst_db_pool_max", "Database connections at most.", state.start.db_pool);
    text.gauge("pgrst_db_pool_available", "Open connections not in use.", pool.idle);
    let waiting = pool.waiting + state.turns.waiting();
    text.gauge("pgrst_db_pool_waiting", "Requests waiting for a connection, or for a turn to have one.", waiting);
    let timeouts = pool.timeouts + state.turns.timeouts();
    text.count("pgrst_db_pool_timeouts_total", "Requests that have waited for a connection in vain.", timeouts);
    let tokens = state.tokens.counts();
    text.count("pgrst_jwt_cache_requests_total", "Tokens that were looked for.", tokens.requests);
    text.count("pgrst_jwt_cache_hits_total", "Tokens that were found.", tokens.hits);
    text.count("pgrst_jwt_cache_evictions_total", "Tokens that went to make room.", tokens.evictions);
}

fn ours(text: &mut Text, state: &State) {
    let vitals = &state.vitals;
    let version = concat!("thalweg_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"}");
    text.head("thalweg_build_info", "Which program this is.", "gauge");
    text.sample(version, 1);
    let started = vitals.started.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
    text.gauge("thalweg_start_time_seconds", "When it was started, in seconds since 1970.", started);
    const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];
    let classes: Vec<(&str, u64)> =
        CLASSES.into_iter().zip(vitals.answered.iter().map(|count| count.load(Ordering::Relaxed))).collect();
    text.counter("thalweg_requests_total", "Requests answered, by status.", "class", &classes);
    text.gauge("thalweg_clients_connected", "Clients connected.", vitals.clients.load(Ordering::Relaxed));
    let pool = state.pool.status();
    let refused = vitals.refused.load(Ordering::Relaxed);
    text.count("thalweg_requests_refused_total", "Requests refused because there was no room (503 PGRST003).", refused);
    let wait = pool.expected_wait.as_secs_f64();
    let name = "thalweg_db_pool_expected_wait_seconds";
    text.gauge(name, "Time that another request is expected to wait for a connection.", wait);
    text.gauge("thalweg_db_pool_busy", "Connections in use, being opened or made as new.", pool.busy);
    let (hits, misses) = state.known_reads.counts();
    let reads = [("hit", hits), ("miss", misses)];
    text.counter("thalweg_known_reads_total", "Reads looked for among those that need no planning.", "result", &reads);
    issuer(text, state);
    let held = [("bodies", state.held_bytes.held_bytes()), ("answers", state.outlet.held_bytes())];
    text.head("thalweg_held_bytes", "Memory that bodies and answers hold.", "gauge");
    for (of, bytes) in held {
        text.sample(&format!("thalweg_held_bytes{{of=\"{of}\"}}"), bytes);
    }
    let memory = thalweg_gauge::Counts::of_process();
    if memory.allocated_bytes > 0 {
        let allocated_bytes = memory.allocated_bytes.saturating_sub(memory.freed_bytes);
        text.gauge("thalweg_allocated_bytes", "Memory that is allocated and not freed.", allocated_bytes);
    }
    text.gauge("thalweg_spool_bytes", "Disk that slow clients take.", state.spool.bytes());
    text.count("thalweg_log_lines_dropped_total", "Log lines that nobody took.", log::lines_dropped());
}

/// The keys that are fetched.
fn issuer(text: &mut Text, state: &State) {
    let counts = state.issuer.counts();
    let fetches = [("success", counts.succeeded), ("failure", counts.failed)];
    text.counter("thalweg_jwks_fetches_total", "Attempts to fetch the keys of tokens.", "result", &fetches);
    if let Some((keys, age)) = counts.known {
        text.gauge("thalweg_jwks_keys", "Fetched keys that tokens are verified with.", keys);
        text.gauge("thalweg_jwks_age_seconds", "How long ago they were fetched.", age.as_secs_f64());
    }
}

/// The text format of Prometheus.
#[derive(Default)]
struct Text {
    text: String,
}

impl Text {
    fn head(&mut self, name: &str, help: &str, kind: &str) {
        _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn sample(&mut self, name: &str, value: impl Display) {
        _ = writeln!(self.text, "{name} {value}");
    }

    fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.head(name, help, "gauge");
        self.sample(name, value);
    }

    /// A counter without labels, which is there once something has been counted.
    fn count(&mut self, name: &str, help: &str, value: u64) {
        if value > 0 {
            self.head(name, help, "counter");
            self.sample(name, value);
        }
    }

    /// A counter by a label, of which each value is there once something has been counted for it.
    fn counter(&mut self, name: &str, help: &str, label: &str, counts: &[(&str, u64)]) {
        let mut some = counts.iter().filter(|(_, count)| *count > 0).peekable();
        if some.peek().is_some() {
            self.head(name, help, "counter");
        }
        for (value, count) in some {
            self.sample(&format!("{name}{{{label}=\"{value}\"}}"), count);
        }
    }
}
