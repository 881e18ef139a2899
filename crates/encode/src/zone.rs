//! The session's time zone, as far as it is needed to write a `timestamptz`.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// A time zone whose offsets are known to be PostgreSQL's.
#[derive(Debug, Clone)]
pub struct Zone {
    rules: Option<TimeZone>,
}

/// Seconds from 1970-01-01 to the last moment that is looked up by its own date.
const LOOKED_UP_SECONDS_MAX: i64 = 253_370_764_800;
/// The Gregorian calendar repeats after 400 years, which are whole weeks.
const CYCLE_SECONDS: i64 = 146_097 * 86_400;
/// The years in which offsets are compared with the database's, month by month.
const PROBED_YEARS: std::ops::Range<i64> = 1840..2110;

impl Zone {
    /// Coordinated universal time.
    pub const UTC: Self = Self { rules: None };

    /// The zone of a `TimeZone` setting. `None` where the name is not one of the time zone database's: then
    /// PostgreSQL must write the value itself.
    pub fn named(name: &str) -> Option<Self> {
        match name.to_ascii_uppercase().as_str() {
            "UTC" | "ETC/UTC" | "GMT" | "ETC/GMT" | "Z" | "ZULU" | "UCT" | "ETC/UCT" | "UNIVERSAL" => Some(Self::UTC),
            _ => TimeZone::get(name).ok().map(|rules| Self { rules: Some(rules) }),
        }
    }

    /// Whether there is anything to compare with the database.
    pub fn is_utc(&self) -> bool {
        self.rules.is_none()
    }

    /// The offset from UTC, in seconds east, at a moment in seconds since 1970-01-01.
    pub fn offset_seconds(&self, unix_seconds: i64) -> i32 {
        let Some(rules) = &self.rules else { return 0 };
        let excess = (unix_seconds - LOOKED_UP_SECONDS_MAX).max(0);
        let moment = unix_seconds - (excess + CYCLE_SECONDS - 1) / CYCLE_SECONDS * CYCLE_SECONDS;
        match Timestamp::new(moment, 0) {
            Ok(moment) => rules.to_offset(moment).seconds(),
            Err(_) => 0,
        }
    }

    /// The moments, in seconds since 1970-01-01, at which the database must be asked for its offset: both may
    /// have another edition of the time zone database.
    pub fn probes(&self) -> Vec<i64> {
        let Some(rules) = &self.rules else { return Vec::new() };
        let day = SignedDuration::from_hours(24);
        let mut probes: Vec<i64> = (0..(PROBED_YEARS.end - PROBED_YEARS.start) * 12)
            .map(|month| (PROBED_YEARS.start - 1970) * 31_556_952 + month * 2_629_746)
            .collect();
        let (Some(&first), Some(&last)) = (probes.first(), probes.last()) else { return probes };
        if let (Ok(first), Ok(last)) = (Timestamp::new(first, 0), Timestamp::new(last, 0)) {
            for transition in rules.following(first - day).take_while(|t| t.timestamp() < last) {
                let at = transition.timestamp().as_second();
                probes.extend([at - 1, at]);
            }
        }
        probes
    }

    /// Whether the database's offsets at the [`probes`](Self::probes) are these.
    pub fn agrees(&self, offsets_seconds: &[i32]) -> bool {
        let probes = self.probes();
        probes.len() == offsets_seconds.len()
            && probes.iter().zip(offsets_seconds).all(|(&at, &offset)| self.offset_seconds(at) == offset)
    }
}
