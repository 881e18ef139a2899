//! Dates, times and intervals as PostgreSQL writes them in JSON (`JsonEncodeDateTime`, `EncodeInterval`).

use crate::zone::Zone;

const DAY_MICROS: i64 = 86_400_000_000;
const HOUR_MICROS: i64 = 3_600_000_000;
/// Seconds from 1970-01-01 to 2000-01-01, where PostgreSQL begins to count.
const EPOCH_SECONDS: i64 = 946_684_800;
/// Days from 0000-03-01 to 2000-01-01 in the proleptic Gregorian calendar.
const EPOCH_DAYS: i64 = 730_425;

/// The text of one value as it grows: no value's is longer.
pub(crate) struct Line {
    bytes: [u8; LINE_BYTES],
    length: usize,
}

/// The longest is an interval's: `-178956970 years -11 mons +2147483648 days -2562047788:00:54.775807`.
const LINE_BYTES: usize = 96;

impl Line {
    pub(crate) fn new() -> Self {
        Self { bytes: [0; LINE_BYTES], length: 0 }
    }

    pub(crate) fn text(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    #[inline]
    fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        self.bytes[self.length..self.length + N].copy_from_slice(&bytes);
        self.length += N;
    }

    fn push(&mut self, byte: u8) {
        self.put([byte]);
    }

    fn extend_from_slice(&mut self, bytes: &[u8]) {
        self.bytes[self.length..self.length + bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }

    fn len(&self) -> usize {
        self.length
    }

    /// A number in as many digits as it has.
    fn number(&mut self, value: u64) {
        let mut digits = [0; 20];
        let mut first = digits.len();
        let mut rest = value;
        loop {
            first -= 1;
            digits[first] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.extend_from_slice(&digits[first..]);
    }
}

/// A `date`: days since 2000-01-01.
pub(crate) fn date(out: &mut Line, days: i32) {
    match days {
        i32::MIN => out.extend_from_slice(b"-infinity"),
        i32::MAX => out.extend_from_slice(b"infinity"),
        days => {
            let before_christ = year_month_day(out, i64::from(days));
            era(out, before_christ);
        }
    }
}

/// A `timestamp`: microseconds since 2000-01-01.
pub(crate) fn timestamp(out: &mut Line, micros: i64) {
    if !infinite(out, micros) {
        let before_christ = date_and_time(out, micros);
        era(out, before_christ);
    }
}

/// A `timestamptz`: microseconds since 2000-01-01 UTC.
pub(crate) fn timestamptz(out: &mut Line, micros: i64, zone: &Zone) {
    if !infinite(out, micros) {
        let offset = zone.offset_seconds(micros.div_euclid(1_000_000) + EPOCH_SECONDS);
        let before_christ = date_and_time(out, micros.saturating_add(i64::from(offset) * 1_000_000));
        offset_of(out, offset, true);
        era(out, before_christ);
    }
}

/// A `time`: microseconds since midnight, of which there may be a whole day's.
pub(crate) fn time(out: &mut Line, micros: i64) {
    let seconds = micros / 1_000_000;
    two_digits(out, seconds / 3600);
    out.push(b':');
    two_digits(out, seconds / 60 % 60);
    out.push(b':');
    two_digits(out, seconds % 60);
    fraction(out, micros % 1_000_000);
}

/// A `timetz`: the zone is in seconds west.
pub(crate) fn timetz(out: &mut Line, micros: i64, zone_seconds_west: i32) {
    time(out, micros);
    offset_of(out, zone_seconds_west.saturating_neg(), false);
}

/// An `interval` in the style `postgres`.
pub(crate) fn interval(out: &mut Line, micros: i64, days: i32, months: i32) {
    match (micros, days, months) {
        (i64::MAX, i32::MAX, i32::MAX) => return out.extend_from_slice(b"infinity"),
        (i64::MIN, i32::MIN, i32::MIN) => return out.extend_from_slice(b"-infinity"),
        _ => {}
    }
    let start = out.len();
    let mut before = false;
    for (value, unit) in [(months / 12, " year"), (months % 12, " mon"), (days, " day")] {
        if value == 0 {
            continue;
        }
        if out.len() > start {
            out.push(b' ');
        }
        if before && value > 0 {
            out.push(b'+');
        }
        if value < 0 {
            out.push(b'-');
        }
        out.number(u64::from(value.unsigned_abs()));
        out.extend_from_slice(unit.as_bytes());
        if value != 1 {
            out.push(b's');
        }
        before = value < 0;
    }
    let empty = out.len() == start;
    if micros != 0 || empty {
        if !empty {
            out.push(b' ');
        }
        if micros < 0 {
            out.push(b'-');
        } else if before {
            out.push(b'+');
        }
        let micros = micros.unsigned_abs();
        let hours = micros / HOUR_MICROS as u64;
        if hours < 10 {
            out.push(b'0');
        }
        out.number(hours);
        let rest = (micros % HOUR_MICROS as u64) as i64;
        out.push(b':');
        two_digits(out, rest / 60_000_000);
        out.push(b':');
        two_digits(out, rest / 1_000_000 % 60);
        fraction(out, rest % 1_000_000);
    }
}

fn infinite(out: &mut Line, micros: i64) -> bool {
    match micros {
        i64::MIN => out.extend_from_slice(b"-infinity"),
        i64::MAX => out.extend_from_slice(b"infinity"),
        _ => return false,
    }
    true
}

fn date_and_time(out: &mut Line, micros: i64) -> bool {
    let before_christ = year_month_day(out, micros.div_euclid(DAY_MICROS));
    out.push(b'T');
    time(out, micros.rem_euclid(DAY_MICROS));
    before_christ
}

/// Writes the date of a day counted from 2000-01-01, and tells whether it lies before the year 1.
fn year_month_day(out: &mut Line, days: i64) -> bool {
    // from days to a date with years that begin in March, so that leap days come last
    let days = days + EPOCH_DAYS;
    let cycle = days.div_euclid(146_097);
    let day_of_cycle = days.rem_euclid(146_097) as u32;
    let year_of_cycle = (day_of_cycle - day_of_cycle / 1460 + day_of_cycle / 36_524 - day_of_cycle / 146_096) / 365;
    let day_of_year = day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = i64::from(year_of_cycle) + cycle * 400 + i64::from(month <= 2);
    let before_christ = year <= 0;
    let shown = if before_christ { 1 - year } else { year };
    if shown < 10_000 {
        two_digits(out, shown / 100);
        two_digits(out, shown % 100);
    } else {
        out.number(shown.unsigned_abs());
    }
    out.push(b'-');
    two_digits(out, i64::from(month));
    out.push(b'-');
    two_digits(out, i64::from(day));
    before_christ
}

fn era(out: &mut Line, before_christ: bool) {
    if before_christ {
        out.extend_from_slice(b" BC");
    }
}

/// An offset, with minutes always (`xsd`) or only where there are any, and seconds where there are any.
fn offset_of(out: &mut Line, seconds_east: i32, xsd: bool) {
    out.push(if seconds_east < 0 { b'-' } else { b'+' });
    let seconds = i64::from(seconds_east.unsigned_abs());
    two_digits(out, seconds / 3600);
    if xsd || seconds % 3600 != 0 {
        out.push(b':');
        two_digits(out, seconds / 60 % 60);
    }
    if seconds % 60 != 0 {
        out.push(b':');
        two_digits(out, seconds % 60);
    }
}

fn two_digits(out: &mut Line, value: i64) {
    out.put([b'0' + (value / 10 % 10) as u8, b'0' + (value % 10) as u8]);
}

/// Microseconds as a fraction of a second, without zeros at its end; nothing where there are none.
fn fraction(out: &mut Line, micros: i64) {
    if micros == 0 {
        return;
    }
    out.push(b'.');
    for pair in [micros / 10_000, micros / 100 % 100, micros % 100] {
        two_digits(out, pair);
    }
    while out.bytes[out.length - 1] == b'0' {
        out.length -= 1;
    }
}
