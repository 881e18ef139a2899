//! The form of lines that tell what happens to the server.

use super::access::JsonLine;
use super::{format, time};
use crate::config::LogFormat;
use std::fmt;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::{Format, Full, Writer};
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// Writes an event as the configuration says.
#[derive(Default)]
pub(super) struct Diagnostics {
    pairs: Format<Full>,
}

impl<S, N> FormatEvent<S, N> for Diagnostics
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        match format() {
            LogFormat::Logfmt => self.pairs.format_event(context, writer, event),
            LogFormat::Apache => {
                write!(writer, "{}: ", time::apache())?;
                context.field_format().format_fields(writer.by_ref(), event)?;
                writeln!(writer)
            }
            LogFormat::Json => {
                let mut line = JsonLine::begin();
                line.text("level", &event.metadata().level().as_str().to_ascii_lowercase());
                line.text("target", event.metadata().target());
                event.record(&mut line);
                writer.write_str(&line.end())
            }
        }
    }
}

impl Visit for JsonLine {
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.bare(field.name(), value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.bare(field.name(), value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.bare(field.name(), value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.text(field.name(), value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.text(field.name(), &format!("{value:?}"));
    }
}

/// The line that stands for lines that are missing.
pub(super) fn gap(dropped: u64) -> String {
    const SAID: &str = "log lines were dropped, since nobody took them";
    match format() {
        LogFormat::Apache => format!("{}: {SAID} dropped={dropped}\n", time::apache()),
        LogFormat::Logfmt => {
            let mut line = String::new();
            let _ = SystemTime.format_time(&mut Writer::new(&mut line));
            line.push_str(&format!("  WARN notice: {SAID} dropped={dropped}\n"));
            line
        }
        LogFormat::Json => {
            let mut line = JsonLine::begin();
            line.text("level", "warn");
            line.text("target", "notice");
            line.text("message", SAID);
            line.bare("dropped", dropped);
            line.end()
        }
    }
}
