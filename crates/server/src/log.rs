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
use std::time::{Duration, Instant};
use thalweg_gauge::Stage;
use tracing::Metadata;
use tracing_subscriber::filter::{LevelFilter, filter_fn};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

/// Sends log lines to standard output and standard error from now on. What a server tells at its start and at each
/// reload is told at every level.
pub fn start(level: LogLevel) {
    let least = match level {
        LogLevel::Crit => LevelFilter::OFF,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
    };
    let wanted = filter_fn(move |metadata| {
        metadata.target() == "notice"
            || (metadata.target().starts_with("thalweg") && *metadata.level() <= least)
            || (metadata.target() == "access" && *metadata.level() <= least)
    });
    let lines = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(ByTarget).with_filter(wanted);
    // a second server in the same process keeps the first one's log
    let _ = tracing_subscriber::registry().with(lines).try_init();
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
    match answer.response.status().as_u16() {
        500.. => line!(tracing::Level::ERROR),
        400.. => line!(tracing::Level::WARN),
        _ => line!(tracing::Level::INFO),
    }
}
