//! Log lines: one a request on standard output, what happens to the server on standard error (operations §9).
//!
//! No request waits for them: what cannot be written soon enough is dropped, and where it would stand a line says how many.

mod queue;

use crate::config::LogLevel;
use crate::flow::Answer;
use hyper::http::request::Parts;
use queue::Queue;
use std::fmt::Display;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use thalweg_gauge::Stage;
use tracing::{Level, Metadata};
use tracing_subscriber::filter::dynamic_filter_fn;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

/// The level that is logged, as a number: requests and what happens to the server are told from there on.
static LEVEL: AtomicUsize = AtomicUsize::new(0);

/// Sends log lines to standard output and standard error from now on. What a server tells at its start and at each
/// reload is told at every level.
pub fn start(level: LogLevel) {
    let wanted = dynamic_filter_fn(|metadata, _| {
        let is_ours = metadata.target() == "access" || metadata.target().starts_with("thalweg");
        metadata.target() == "notice" || is_ours && number(*metadata.level()) <= LEVEL.load(Ordering::Relaxed)
    });
    let lines = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(ByTarget).with_filter(wanted);
    // a second server in the same process keeps the first one's log
    let _ = tracing_subscriber::registry().with(lines).try_init();
    set_level(level);
}

/// Logs from another level on.
pub(crate) fn set_level(level: LogLevel) {
    let level = match level {
        LogLevel::Crit => 0,
        LogLevel::Error => number(Level::ERROR),
        LogLevel::Warn => number(Level::WARN),
        LogLevel::Info => number(Level::INFO),
        LogLevel::Debug => number(Level::DEBUG),
    };
    LEVEL.store(level, Ordering::Relaxed);
}

/// More for a level at which more is told.
fn number(level: Level) -> usize {
    match level {
        Level::ERROR => 1,
        Level::WARN => 2,
        Level::INFO => 3,
        Level::DEBUG => 4,
        Level::TRACE => 5,
    }
}

/// How long the end of a program waits for its last lines to be read.
const FLUSH_TIME_MAX: Duration = Duration::from_secs(1);

/// Writes a text to standard output, in order with the log lines there, and like them without waiting for who reads it.
pub fn print(text: impl Display) {
    queue::OUTPUT.push(format!("{text}\n").as_bytes());
}

/// The same for standard error.
pub fn print_error(text: impl Display) {
    queue::ERROR.push(format!("{text}\n").as_bytes());
}

/// When this is dropped, what has been logged and printed is written: at the end of a program. If nobody reads it, that ends
/// after a second.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct FlushedAtEnd;

impl Drop for FlushedAtEnd {
    fn drop(&mut self) {
        let deadline = Instant::now() + FLUSH_TIME_MAX;
        queue::OUTPUT.flush(deadline);
        queue::ERROR.flush(deadline);
    }
}

/// Chooses the stream of a line.
struct ByTarget;

/// Takes one line at a time, whole: that is how the subscriber writes them.
struct Line(&'static Queue);

impl MakeWriter<'_> for ByTarget {
    type Writer = Line;

    fn make_writer(&self) -> Line {
        Line(&queue::ERROR)
    }

    fn make_writer_for(&self, metadata: &Metadata<'_>) -> Line {
        if metadata.target() == "access" { Line(&queue::OUTPUT) } else { self.make_writer() }
    }
}

impl io::Write for Line {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.push(&queue::one_line(line));
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// One line for a request: at level error from status 500 on, warn from 400 on, else info.
pub(crate) fn access(client: &str, parts: &Parts, answer: &Answer) {
    macro_rules! line {
        ($level:expr) => {
            tracing::event!(
                target: "access",
                $level,
                client,
                method = parts.method.as_str(),
                path = parts.uri.path(),
                query = parts.uri.query().unwrap_or_default(),
                status = answer.response.status().as_u16(),
                code = answer.code.as_deref().unwrap_or_default(),
                rows = answer.rows,
                bytes = answer.response.body().size_bytes(),
                wait_us = answer.bill.spent(Stage::Wait).as_micros() as u64,
                query_us = answer.bill.spent(Stage::Query).as_micros() as u64,
                encode_us = answer.bill.spent(Stage::Encode).as_micros() as u64,
            )
        };
    }
    let level = match answer.response.status().as_u16() {
        500.. => Level::ERROR,
        400.. => Level::WARN,
        _ => Level::INFO,
    };
    // most lines are not wanted, and each request comes here
    if number(level) > LEVEL.load(Ordering::Relaxed) {
        return;
    }
    match level {
        Level::ERROR => line!(Level::ERROR),
        Level::WARN => line!(Level::WARN),
        _ => line!(Level::INFO),
    }
}
