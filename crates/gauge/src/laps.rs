//! Time by stage.

use crate::account;
use crate::clock;
use std::time::Duration;

/// The stages of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Lap {
    /// Verifying the token and choosing the role.
    Jwt,
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

/// The stages as they are shown: those that PostgREST has by its names and in its order, then what it does not tell.
const STAGES: [(Lap, &str); 6] = [
    (Lap::Jwt, "jwt"),
    (Lap::Parse, "parse"),
    (Lap::Plan, "plan"),
    (Lap::Query, "transaction"),
    (Lap::Encode, "response"),
    (Lap::Wait, "wait"),
];

/// How long each stage of a request took, by the gauge's clock, which is read in half the time of the system's.
#[derive(Debug, Clone, Copy)]
pub struct Laps {
    /// When the last lap ended, as the clock's number.
    lap: u64,
    /// In nanoseconds.
    spent: [u64; STAGES.len()],
}

impl Laps {
    /// Starts the watch.
    pub fn start() -> Self {
        Self { lap: clock::now(), spent: [0; STAGES.len()] }
    }

    /// Puts the time since the last lap on a stage.
    pub fn lap(&mut self, stage: Lap) {
        self.lap_with(stage, stage, Duration::ZERO);
    }

    /// Puts `part` of the time since the last lap on one stage, and the rest on another.
    pub fn lap_with(&mut self, rest: Lap, of: Lap, part: Duration) {
        let now = clock::now();
        let all = now.saturating_sub(self.lap);
        let part = all.min(part.as_nanos() as u64);
        self.spent[of as usize] += part;
        self.spent[rest as usize] += all - part;
        self.lap = now;
    }

    /// What a stage has cost so far.
    pub fn spent(&self, stage: Lap) -> Duration {
        Duration::from_nanos(self.spent[stage as usize])
    }

    /// Puts them on the bill of the request that this is called for.
    pub fn charge(&self) {
        let spent = STAGES.iter().map(|(stage, name)| (*name, self.spent[*stage as usize]));
        let spent = spent.filter(|(_, nanoseconds)| *nanoseconds > 0);
        account::with(|adding| adding.by_name(|by_name| by_name.stages.note_all(spent)));
    }

    /// The value of a `Server-Timing` header: milliseconds with one decimal. Every response has one, so that it is
    /// written without an allocation and without the formatting machinery.
    pub fn server_timing(&self) -> ServerTiming {
        let mut header = ServerTiming { bytes: [0; SERVER_TIMING_BYTES_MAX], length: 0 };
        for (at, (stage, name)) in STAGES.into_iter().enumerate() {
            let tenths = (self.spent[stage as usize] / 1000 + 50) / 100;
            header.push(if at == 0 { "" } else { ", " });
            header.push(name);
            header.push(";dur=");
            header.push(itoa::Buffer::new().format(tenths / 10));
            header.push(".");
            header.push(itoa::Buffer::new().format(tenths % 10));
        }
        header
    }
}

/// How long a `Server-Timing` header is at most: for each stage its name, what stands round it, and twenty digits.
const SERVER_TIMING_BYTES_MAX: usize = STAGES.len() * 48;

/// The value of a `Server-Timing` header.
#[derive(Debug, Clone, Copy)]
pub struct ServerTiming {
    bytes: [u8; SERVER_TIMING_BYTES_MAX],
    length: usize,
}

impl ServerTiming {
    /// Its text.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    fn push(&mut self, text: &str) {
        if let Some(room) = self.bytes.get_mut(self.length..self.length + text.len()) {
            room.copy_from_slice(text.as_bytes());
            self.length += text.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stage_stands_in_the_header() {
        let mut laps = Laps::start();
        laps.lap(Lap::Parse);
        laps.spent[Lap::Query as usize] = 12_345_000;
        laps.spent[Lap::Parse as usize] = 49_000;
        laps.spent[Lap::Encode as usize] = 100_000_000_000;
        let expected =
            "jwt;dur=0.0, parse;dur=0.0, plan;dur=0.0, transaction;dur=12.3, response;dur=100000.0, wait;dur=0.0";
        assert_eq!(laps.server_timing().as_bytes(), expected.as_bytes());
        laps.spent = [u64::MAX; STAGES.len()];
        assert!(laps.server_timing().as_bytes().ends_with(b"wait;dur=18446744073709.6"));
    }
}
