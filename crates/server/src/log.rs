//! Log lines: one a request on standard output, what happens to the server on standard error (operations §9).
//!
//! No request waits for them: what cannot be written soon enough is dropped, and where it would stand a line says how many.

mod access;
mod diagnostics;
mod errors;
mod failures;
mod queue;
mod repeated;
mod sql;
mod time;

pub(crate) use access::{access, refused, sends_body};
pub(crate) use errors::failure;
pub(crate) use failures::Failures;
pub(crate) use repeated::{error_line, write_counts};
pub(crate) use sql::{note_queries, noting_queries};

use crate::config::{Config, LogFormat, LogLevel};
use diagnostics::Diagnostics;
use queue::Queue;
use std::fmt::Display;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tracing::{Level, Metadata};
use tracing_subscriber::filter::dynamic_filter_fn;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

/// The level that is logged, as a number: requests and what happens to the server are told from there on.
static LEVEL: AtomicUsize = AtomicUsize::new(0);
/// How lines are written, as a number.
static FORMAT: AtomicU8 = AtomicU8::new(LogFormat::Apache as u8);
/// Whether the queries of URLs are logged.
static SHOWS_QUERIES: AtomicBool = AtomicBool::new(true);
/// Whether anything is logged at all.
static IS_STARTED: AtomicBool = AtomicBool::new(false);

/// Sends log lines to standard output and standard error from now on. What a server tells at its start and at each
/// reload is told at every level.
pub fn start(config: &Config) {
    let wanted = dynamic_filter_fn(|metadata, _| {
        let is_ours = metadata.target() == "access" || metadata.target().starts_with("thalweg");
        matches!(metadata.target(), "notice" | sql::TARGET)
            || is_ours && number(*metadata.level()) <= LEVEL.load(Ordering::Relaxed)
    });
    let lines = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(ByTarget);
    let lines = lines.event_format(Diagnostics::default()).with_filter(wanted);
    // a second server in the same process keeps the first one's log
    let _ = tracing_subscriber::registry().with(lines).try_init();
    configure(config);
    IS_STARTED.store(true, Ordering::Relaxed);
}

/// Logs as another configuration says.
pub(crate) fn configure(config: &Config) {
    SHOWS_QUERIES.store(config.log_url_query, Ordering::Relaxed);
    FORMAT.store(config.log_format as u8, Ordering::Relaxed);
    let level = match config.log_level {
        LogLevel::Crit => 0,
        LogLevel::Error => number(Level::ERROR),
        LogLevel::Warn => number(Level::WARN),
        LogLevel::Info => number(Level::INFO),
        LogLevel::Debug => number(Level::DEBUG),
    };
    LEVEL.store(level, Ordering::Relaxed);
}

/// How many lines nobody took, since the start.
pub(crate) fn lines_dropped() -> u64 {
    queue::OUTPUT.lost() + queue::ERROR.lost()
}

fn format() -> LogFormat {
    match FORMAT.load(Ordering::Relaxed) {
        json if json == LogFormat::Json as u8 => LogFormat::Json,
        logfmt if logfmt == LogFormat::Logfmt as u8 => LogFormat::Logfmt,
        _ => LogFormat::Apache,
    }
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
        repeated::write_last_counts();
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
