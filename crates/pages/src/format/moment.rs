//! Dates and times as PostgreSQL's JSON writes them.

use super::formatters::Parts;
use jiff::fmt::strtime;
use jiff::{Timestamp, Zoned, civil};
use std::borrow::Cow;

/// A point in time, or what is known of one.
pub(super) enum Moment<'a> {
    /// `timestamptz`.
    Instant(Timestamp),
    /// The same where the page's readers are.
    Zoned(Zoned),
    DateTime(civil::DateTime),
    Date(civil::Date),
    Time(civil::Time),
    /// What PostgreSQL knows and calendars do not; it is shown as it is.
    Other(&'a str),
}

impl<'a> Moment<'a> {
    pub(super) fn read(text: &'a str) -> Option<Moment<'a>> {
        if let Some(other) = Moment::beyond(text) {
            return Some(other);
        }
        let iso = without_era(text)?;
        let iso = iso.as_ref();
        if iso.as_bytes().get(2) == Some(&b':') {
            return iso.parse().ok().map(Moment::Time);
        }
        if !iso.contains(['T', ' ']) {
            return iso.parse().ok().map(Moment::Date);
        }
        // the last two days of the year 9999 are no instants, since they might be of the year 10000 elsewhere
        iso.parse().map(Moment::Instant).or_else(|_| iso.parse().map(Moment::DateTime)).ok()
    }

    /// Of `datetime`, a date is its midnight.
    pub(super) fn date_and_time(&self, parts: Parts) -> Option<(civil::Date, civil::Time)> {
        let any_day = civil::date(1970, 1, 1);
        match (self, parts) {
            (Moment::Zoned(zoned), _) => Some((zoned.date(), zoned.time())),
            (Moment::DateTime(both), _) => Some((both.date(), both.time())),
            (Moment::Date(date), Parts::Date | Parts::DateTime) => Some((*date, civil::Time::midnight())),
            (Moment::Time(time), Parts::Time) => Some((any_day, *time)),
            (Moment::Date(_), Parts::Time) | (Moment::Time(_), Parts::Date | Parts::DateTime) => None,
            (Moment::Instant(_) | Moment::Other(_), _) => None,
        }
    }

    pub(super) fn by_pattern(&self, pattern: &str) -> Result<String, jiff::Error> {
        match self {
            Moment::Instant(instant) => strtime::format(pattern, *instant),
            Moment::Zoned(zoned) => strtime::format(pattern, zoned),
            Moment::DateTime(both) => strtime::format(pattern, *both),
            Moment::Date(date) => strtime::format(pattern, *date),
            Moment::Time(time) => strtime::format(pattern, *time),
            Moment::Other(text) => Ok((*text).to_owned()),
        }
    }

    /// `infinity`, the midnight that ends a day, and years of more than four digits.
    fn beyond(text: &'a str) -> Option<Moment<'a>> {
        match text {
            "infinity" => return Some(Moment::Other("∞")),
            "-infinity" => return Some(Moment::Other("-∞")),
            "24:00:00" => return Some(Moment::Other(text)),
            _ => {}
        }
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let rest = text.as_bytes().get(digits..)?;
        let is_date =
            matches!(rest, [b'-', a, b, b'-', c, d, ..] if [a, b, c, d].iter().all(|digit| digit.is_ascii_digit()));
        let is_known = text.len() <= OTHER_BYTES_MAX && (5..=7).contains(&digits) && is_date;
        is_known.then_some(Moment::Other(text))
    }
}

/// How long PostgreSQL's longest time stamp may be.
const OTHER_BYTES_MAX: usize = 48;

/// `0044-03-15 BC` as ISO 8601 writes it, which has a year 0.
fn without_era(text: &str) -> Option<Cow<'_, str>> {
    let Some(text) = text.strip_suffix(" BC") else { return Some(text.into()) };
    let (year, rest) = text.split_at_checked(4)?;
    match year.parse::<u16>().ok()? {
        0 => None,
        1 => Some(format!("0000{rest}").into()),
        year => Some(format!("-{:06}{rest}", year - 1).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_postgres_writes_is_read() {
        let date = |text| match Moment::read(text) {
            Some(Moment::Date(date)) => date.to_string(),
            _ => panic!("{text} is a date"),
        };
        assert_eq!(date("2026-11-22"), "2026-11-22");
        assert_eq!(date("0044-03-15 BC"), "-000043-03-15");
        assert_eq!(date("0001-12-31 BC"), "0000-12-31");
        for (text, utc) in [
            ("2026-11-22T20:36:37.123+00:00", "2026-11-22T20:36:37.123Z"),
            ("2026-11-22T20:36:37.123456+05:45", "2026-11-22T14:51:37.123456Z"),
            ("1893-01-01T00:34:08+00:34:08", "1893-01-01T00:00:00Z"),
            ("2026-11-22 20:36:37+01", "2026-11-22T19:36:37Z"),
        ] {
            let Some(Moment::Instant(instant)) = Moment::read(text) else { panic!("{text} is an instant") };
            assert_eq!(instant.to_string(), utc);
        }
        assert!(matches!(Moment::read("2026-11-22T20:36:37.123"), Some(Moment::DateTime(_))));
        assert!(matches!(Moment::read("9999-12-31T23:59:59+00:00"), Some(Moment::DateTime(_))));
        assert!(matches!(Moment::read("20:36:37.123"), Some(Moment::Time(_))));
        assert!(matches!(Moment::read("20:36:37+02"), Some(Moment::Time(_))));
        for other in
            ["infinity", "-infinity", "24:00:00", "294276-12-31T23:59:59.999999+00:00", "12026-01-01", "5874897-12-31"]
        {
            assert!(matches!(Moment::read(other), Some(Moment::Other(_))), "{other}");
        }
    }

    #[test]
    fn what_is_no_moment_is_refused() {
        for text in [
            "",
            "soon",
            "2026-13-01",
            "2026-02-30",
            "25:00:00",
            "0000-01-01 BC",
            "é44-01-01 BC",
            " BC",
            "99999-é",
            "+12026-01-01",
        ] {
            assert!(Moment::read(text).is_none(), "{text}");
        }
        assert!(Moment::read(&format!("12026-01-01{}", "<".repeat(1000))).is_none());
    }
}
