//! Log lines: one a request on standard output, what happens to the server on standard error (operations §9).

use crate::config::LogLevel;
use crate::flow::Answer;
use hyper::http::request::Parts;
use std::io;
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

struct ByTarget;

impl MakeWriter<'_> for ByTarget {
    type Writer = Box<dyn io::Write>;

    fn make_writer(&self) -> Self::Writer {
        Box::new(io::stderr())
    }

    fn make_writer_for(&self, metadata: &Metadata<'_>) -> Self::Writer {
        if metadata.target() == "access" { Box::new(io::stdout()) } else { self.make_writer() }
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
