//! The line of a request.

use super::{IS_STARTED, LEVEL, SHOWS_QUERIES, format, number, queue, sql, time};
use crate::answer::Body;
use crate::auth::Who;
use crate::config::LogFormat;
use crate::flow::Answer;
use crate::http::RefusedRequest;
use hyper::header::{ACCESS_CONTROL_ALLOW_METHODS, CONTENT_LENGTH, HeaderName, REFERER, USER_AGENT};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode, Uri, Version};
use std::fmt::{Display, Write as _};
use std::sync::atomic::Ordering;
use thalweg_gauge::{Lap, Laps};
use tracing::Level;

/// Logs one line for a request, with the target that the client sent, and the statements that the
/// request sent to the database. The level is error from status 500 on, warn from 400 on, else
/// info.
pub(crate) fn access(client: &str, (parts, asked): (&Parts, &Uri), answer: &Answer<'_>, queries: &[String]) {
    let level = level_of(answer.response.status());
    // Most lines are below the configured level, so this is checked first.
    if !is_wanted(level) || is_preflight(parts, answer) {
        return;
    }
    Line::of(client, (parts, asked), answer).log(level);
    for query in queries {
        tracing::info!(target: sql::TARGET, "{query}");
    }
}

/// Logs one line for a request that was refused before it was read as a whole.
pub(crate) fn refused(client: &str, refused: &RefusedRequest, response: &Response<Body>, code: &str) {
    let level = level_of(response.status());
    if is_wanted(level) {
        Line::of_refused(client, refused, response, code).log(level);
    }
}

fn level_of(status: StatusCode) -> Level {
    match status.as_u16() {
        500.. => Level::ERROR,
        400.. => Level::WARN,
        _ => Level::INFO,
    }
}

fn is_wanted(level: Level) -> bool {
    number(level) <= LEVEL.load(Ordering::Relaxed) && IS_STARTED.load(Ordering::Relaxed)
}

/// Only an answer to a preflight says which methods there are.
fn is_preflight(parts: &Parts, answer: &Answer<'_>) -> bool {
    parts.method == Method::OPTIONS && answer.response.headers().contains_key(ACCESS_CONTROL_ALLOW_METHODS)
}

/// Fields of a line.
struct Line<'a> {
    client: &'a str,
    role: Option<&'a str>,
    method: &'a str,
    path: &'a str,
    query: Option<&'a str>,
    version: &'static str,
    status: u16,
    code: &'a str,
    rows: Option<u64>,
    bytes: Option<u64>,
    referer: String,
    user_agent: String,
    /// Times of the stages, or `None` if the request reached no stage.
    bill: Option<&'a Laps>,
}

impl<'a> Line<'a> {
    fn of(client: &'a str, (parts, asked): (&'a Parts, &'a Uri), answer: &'a Answer<'a>) -> Self {
        let header = |name: HeaderName| {
            let value = parts.headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
            value.unwrap_or_default()
        };
        let shows_queries = SHOWS_QUERIES.load(Ordering::Relaxed);
        let mut referer = header(REFERER);
        if !shows_queries {
            referer.truncate(referer.find('?').unwrap_or(referer.len()));
        }
        Self {
            client,
            role: answer.who.as_ref().map(Who::role),
            method: parts.method.as_str(),
            path: asked.path(),
            query: asked.query().filter(|_| shows_queries),
            version: version(parts.version),
            status: answer.response.status().as_u16(),
            code: answer.code.as_deref().unwrap_or_default(),
            rows: answer.rows,
            bytes: content_length(parts, answer),
            referer,
            user_agent: header(USER_AGENT),
            bill: Some(&answer.bill),
        }
    }

    fn of_refused(client: &'a str, refused: &'a RefusedRequest, response: &Response<Body>, code: &'a str) -> Self {
        let (path, query) = match refused.target.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (&*refused.target, None),
        };
        Self {
            client,
            role: None,
            method: &refused.method,
            path: if path.is_empty() { "-" } else { path },
            query: query.filter(|_| SHOWS_QUERIES.load(Ordering::Relaxed)),
            version: version(refused.version),
            status: response.status().as_u16(),
            code,
            rows: None,
            bytes: response.body().size_bytes(),
            referer: String::new(),
            user_agent: String::new(),
            bill: None,
        }
    }

    /// Writes the line in the configured format.
    fn log(&self, level: Level) {
        match format() {
            LogFormat::Apache => queue::OUTPUT.push(self.apache().as_bytes()),
            LogFormat::Logfmt => self.logfmt(level),
            LogFormat::Json => queue::OUTPUT.push(self.json(level).as_bytes()),
        }
    }

    /// Returns the time of a stage, in microseconds.
    fn stage_us(&self, stage: Lap) -> u64 {
        self.bill.map_or(0, |bill| bill.spent(stage).as_micros() as u64)
    }

    /// As Apache and PostgREST do it (operations §9).
    fn apache(&self) -> String {
        let Self { client, role, method, path, query, version, status, bytes, referer, user_agent, .. } = self;
        let mut line = String::with_capacity(256);
        let role = role.unwrap_or("-");
        _ = write!(line, "{client} - ");
        // a role's name may be anything, and must not look like two fields
        escape(&mut line, role, true);
        _ = write!(line, " [{}] \"", time::apache());
        escape(&mut line, method, true);
        line.push(' ');
        escape(&mut line, path, true);
        if let Some(query) = query {
            line.push('?');
            escape(&mut line, query, true);
        }
        _ = write!(line, " {version}\" {status} ");
        match bytes {
            Some(bytes) => _ = write!(line, "{bytes}"),
            None => line.push('-'),
        }
        line.push_str(" \"");
        escape(&mut line, referer, false);
        line.push_str("\" \"");
        escape(&mut line, user_agent, false);
        line.push_str("\"\n");
        line
    }

    /// Pairs of keys and values.
    fn logfmt(&self, level: Level) {
        let Self { client, role, method, path, query, status, code, rows, bytes, referer, user_agent, .. } = self;
        macro_rules! line {
            ($level:expr) => {
                tracing::event!(
                    target: "access",
                    $level,
                    client,
                    role = role.unwrap_or("-"),
                    method,
                    path = path,
                    query = query.unwrap_or_default(),
                    status,
                    code,
                    rows,
                    bytes,
                    referer,
                    user_agent,
                    wait_us = self.stage_us(Lap::Wait),
                    query_us = self.stage_us(Lap::Query),
                    encode_us = self.stage_us(Lap::Encode),
                )
            };
        }
        match level {
            Level::ERROR => line!(Level::ERROR),
            Level::WARN => line!(Level::WARN),
            _ => line!(Level::INFO),
        }
    }

    fn json(&self, level: Level) -> String {
        let Self { client, role, method, path, query, version, status, code, rows, bytes, referer, user_agent, .. } =
            self;
        let mut line = JsonLine::begin();
        line.text("level", &level.as_str().to_ascii_lowercase());
        line.text("target", "access");
        line.text("client", client);
        line.text("role", role.unwrap_or("-"));
        line.text("method", method);
        line.text("path", path);
        line.text("query", query.unwrap_or_default());
        line.text("version", version);
        line.bare("status", status);
        line.text("code", code);
        for (name, number) in [("rows", *rows), ("bytes", *bytes)] {
            if let Some(number) = number {
                line.bare(name, number);
            }
        }
        line.text("referer", referer);
        line.text("user_agent", user_agent);
        for (name, stage) in [("wait_us", Lap::Wait), ("query_us", Lap::Query), ("encode_us", Lap::Encode)] {
            line.bare(name, self.stage_us(stage));
        }
        line.end()
    }
}

/// The `Content-Length` of a response, if it has one.
fn content_length(parts: &Parts, answer: &Answer<'_>) -> Option<u64> {
    let response = &answer.response;
    let said = response.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    said.or_else(|| response.body().size_bytes().filter(|_| sends_body(&parts.method, response.status())))
}

/// Whether an answer's body is sent, if it has one.
pub(crate) fn sends_body(method: &Method, status: StatusCode) -> bool {
    *method != Method::HEAD && !matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
}

fn version(version: Version) -> &'static str {
    match version {
        Version::HTTP_10 => "HTTP/1.0",
        _ => "HTTP/1.1",
    }
}

/// A text so that it ends neither its quotes nor its line, and is one word if it must be.
fn escape(line: &mut String, text: &str, is_word: bool) {
    for char in text.chars() {
        match char {
            '"' | '\\' => line.extend(['\\', char]),
            ' ' if is_word => line.push_str("\\x20"),
            char if queue::breaks_lines(char) => line.extend(char.escape_default()),
            char => line.push(char),
        }
    }
}

/// A line that is an object.
pub(super) struct JsonLine {
    text: String,
}

impl JsonLine {
    pub(super) fn begin() -> Self {
        Self { text: format!("{{\"time\":\"{}\"", time::universal()) }
    }

    /// A member that is a text.
    pub(super) fn text(&mut self, name: &str, value: &str) {
        _ = write!(self.text, ",\"{name}\":");
        // no text is refused
        for char in thalweg_json::to_string(value).unwrap_or_default().chars() {
            match char {
                // all of them are of the basic plane
                char if queue::breaks_lines(char) => _ = write!(self.text, "\\u{:04x}", u32::from(char)),
                char => self.text.push(char),
            }
        }
    }

    /// A member that is a number, or a truth value.
    pub(super) fn bare(&mut self, name: &str, value: impl Display) {
        _ = write!(self.text, ",\"{name}\":{value}");
    }

    pub(super) fn end(mut self) -> String {
        self.text.push_str("}\n");
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "a\" 200 \"b\\\r\n203.0.113.7 - root\u{1b}[2J\u{9b}m\u{2028}\u{0}é";

    #[test]
    fn no_text_ends_its_quotes_or_its_line() {
        let mut line = String::new();
        escape(&mut line, HOSTILE, true);
        assert_eq!(
            line,
            "a\\\"\\x20200\\x20\\\"b\\\\\\r\\n203.0.113.7\\x20-\\x20root\\u{1b}[2J\\u{9b}m\\u{2028}\\u{0}é"
        );
    }

    #[test]
    fn an_object_holds_any_text() {
        let mut line = JsonLine::begin();
        line.text("it", HOSTILE);
        line.bare("n", 7);
        let line = line.end();
        assert!(!line.trim_end_matches('\n').contains(queue::breaks_lines), "{line}");
        let read: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!((read["it"].as_str(), read["n"].as_u64()), (Some(HOSTILE), Some(7)));
    }
}
