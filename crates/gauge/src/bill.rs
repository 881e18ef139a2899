//! Time by stage.

use std::fmt;
use std::time::{Duration, Instant};

/// The stages of a request, in the order in which they are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Stage {
    /// Reading the request's text.
    Parse,
    /// Resolving names and writing SQL.
    Plan,
    /// Waiting for a database connection.
    Wait,
    /// Waiting for PostgreSQL.
    Query,
    /// Reading rows from the receive buffer and writing them as text.
    Encode,
}

const STAGES: [(Stage, &str); 5] = [
    (Stage::Parse, "parse"),
    (Stage::Plan, "plan"),
    (Stage::Wait, "wait"),
    (Stage::Query, "query"),
    (Stage::Encode, "encode"),
];

/// How long each stage of a request took. Displayed as the value of a `Server-Timing` header (milliseconds, one
/// decimal).
#[derive(Debug, Clone, Copy)]
pub struct Bill {
    lap: Instant,
    spent: [Duration; STAGES.len()],
}

impl Bill {
    /// Starts the watch.
    pub fn start() -> Self {
        Self { lap: Instant::now(), spent: [Duration::ZERO; STAGES.len()] }
    }

    /// Puts the time since the last lap on a stage.
    pub fn lap(&mut self, stage: Stage) {
        let now = Instant::now();
        self.spent[stage as usize] += now - self.lap;
        self.lap = now;
    }

    /// Puts `part` of the time since the last lap on one stage, and the rest on another.
    pub fn lap_with(&mut self, rest: Stage, of: Stage, part: Duration) {
        let now = Instant::now();
        let part = part.min(now - self.lap);
        self.spent[of as usize] += part;
        self.spent[rest as usize] += now - self.lap - part;
        self.lap = now;
    }

    /// What a stage has cost so far.
    pub fn spent(&self, stage: Stage) -> Duration {
        self.spent[stage as usize]
    }
}

impl fmt::Display for Bill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (stage, name)) in STAGES.iter().enumerate() {
            let tenths = (self.spent(*stage).as_micros() + 50) / 100;
            let separator = if at == 0 { "" } else { ", " };
            write!(f, "{separator}{name};dur={}.{}", tenths / 10, tenths % 10)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stage_stands_in_the_header() {
        let mut bill = Bill::start();
        bill.lap(Stage::Parse);
        bill.spent[Stage::Query as usize] = Duration::from_micros(12_345);
        let shown = bill.to_string();
        assert!(shown.starts_with("parse;dur=0.0, plan;dur=0.0, wait;dur=0.0, query;dur=12.3, encode;dur=0.0"), "{shown}");
    }
}
