//! Dates, times and intervals as PostgreSQL writes them in JSON (`JsonEncodeDateTime`, `EncodeInterval`).

use crate::zone::Zone;

const DAY_MICROS: i64 = 86_400_000_000;
const HOUR_MICROS: i64 = 3_600_000_000;
/// Seconds from 1970-01-01 to 2000-01-01, where PostgreSQL begins to count.
const EPOCH_SECONDS: i64 = 946_684_800;
/// Days from 0000-03-01 to 2000-01-01 in the proleptic Gregorian calendar.
const EPOCH_DAYS: i64 = 730_425;

/// The text of one value as it grows, in its place: read back from elsewhere it would have to wait for its own bytes.
pub(crate) struct Line<'a> {
    bytes: &'a mut [u8],
    length: usize,
}

/// The longest is an interval's: `-178956970 years -11 mons +2147483648 days -2562047788:00:54.775807`.
const LINE_BYTES: usize = 96;

/// Appends what `write` writes.
#[inline]
pub(crate) fn line(out: &mut Vec<u8>, write: impl FnOnce(&mut Line<'_>)) {
    let start = out.len();
    out.resize(start + LINE_BYTES, 0);
    let mut line = Line { bytes: &mut out[start..], length: 0 };
    write(&mut line);
    let end = start + line.length;
    out.truncate(end);
}

impl Line<'_> {
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
pub(crate) fn date(out: &mut Line<'_>, days: i32) {
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
pub(crate) fn timestamp(out: &mut Line<'_>, micros: i64) {
    if !infinite(out, micros) {
        let before_christ = date_and_time(out, micros);
        era(out, before_christ);
    }
}

/// A `timestamptz`: microseconds since 2000-01-01 UTC.
pub(crate) fn timestamptz(out: &mut Line<'_>, micros: i64, zone: &Zone) {
    if !infinite(out, micros) {
        let offset = zone.offset_seconds(micros.div_euclid(1_000_000) + EPOCH_SECONDS);
        let before_christ = date_and_time(out, micros.saturating_add(i64::from(offset) * 1_000_000));
        offset_of(out, offset, true);
        era(out, before_christ);
    }
}

/// A `time`: microseconds since midnight, of which there may be a whole day's.
pub(crate) fn time(out: &mut Line<'_>, micros: i64) {
    let seconds = (micros / 1_000_000) as u32;
    let ([a, b], [c, d], [e, f]) = (pair(seconds / 3600 % 100), pair(seconds / 60 % 60), pair(seconds % 60));
    out.put([a, b, b':', c, d, b':', e, f]);
    fraction(out, micros % 1_000_000);
}

/// A `timetz`: the zone is in seconds west.
pub(crate) fn timetz(out: &mut Line<'_>, micros: i64, zone_seconds_west: i32) {
    time(out, micros);
    offset_of(out, zone_seconds_west.saturating_neg(), false);
}

/// An `interval` in the style `postgres`.
pub(crate) fn interval(out: &mut Line<'_>, micros: i64, days: i32, months: i32) {
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

fn infinite(out: &mut Line<'_>, micros: i64) -> bool {
    match micros {
        i64::MIN => out.extend_from_slice(b"-infinity"),
        i64::MAX => out.extend_from_slice(b"infinity"),
        _ => return false,
    }
    true
}

fn date_and_time(out: &mut Line<'_>, micros: i64) -> bool {
    let before_christ = year_month_day(out, micros.div_euclid(DAY_MICROS));
    out.push(b'T');
    time(out, micros.rem_euclid(DAY_MICROS));
    before_christ
}

/// Writes the date of a day counted from 2000-01-01, and tells whether it lies before the year 1.
///
/// Years begin in March here, so that leap days come last (source: Neri and Schneider, "Euclidean affine functions and
/// their application to calendar algorithms", 2022).
fn year_month_day(out: &mut Line<'_>, days: i64) -> bool {
    const CYCLE_DAYS: i64 = 146_097;
    let days = days + EPOCH_DAYS;
    let cycle = days.div_euclid(CYCLE_DAYS);
    let quarter_days = 4 * days.rem_euclid(CYCLE_DAYS) as u32 + 3;
    let (century, day_of_century) = (quarter_days / 146_097, quarter_days % 146_097 / 4);
    let product = 2_939_745 * u64::from(4 * day_of_century + 3);
    let (year_of_century, day_of_year) = ((product >> 32) as u32, (product as u32) / 2_939_745 / 4);
    let months = 2141 * day_of_year + 197_913;
    let (march_month, day) = (months >> 16, (months & 0xffff) / 2141 + 1);
    // January and February belong to the next year
    let is_next = day_of_year >= 306;
    let month = if is_next { march_month - 12 } else { march_month };
    let year = cycle * 400 + i64::from(100 * century + year_of_century) + i64::from(is_next);
    let before_christ = year <= 0;
    let shown = if before_christ { 1 - year } else { year };
    if shown < 10_000 {
        let [a, b] = pair(shown as u32 / 100);
        let [c, d] = pair(shown as u32 % 100);
        out.put([a, b, c, d]);
    } else {
        out.number(shown.unsigned_abs());
    }
    let ([a, b], [c, d]) = (pair(month), pair(day));
    out.put([b'-', a, b, b'-', c, d]);
    before_christ
}

fn era(out: &mut Line<'_>, before_christ: bool) {
    if before_christ {
        out.extend_from_slice(b" BC");
    }
}

/// An offset, with minutes always (`xsd`) or only where there are any, and seconds where there are any.
fn offset_of(out: &mut Line<'_>, seconds_east: i32, xsd: bool) {
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

fn two_digits(out: &mut Line<'_>, value: i64) {
    out.put(pair(value as u32 % 100));
}

/// The digits of a number below 100.
#[inline]
fn pair(value: u32) -> [u8; 2] {
    [b'0' + (value / 10) as u8, b'0' + (value % 10) as u8]
}

/// Microseconds as a fraction of a second, without zeros at its end; nothing where there are none.
fn fraction(out: &mut Line<'_>, micros: i64) {
    if micros == 0 {
        return;
    }
    let micros = micros as u32;
    let ([a, b], [c, d], [e, f]) = (pair(micros / 10_000), pair(micros / 100 % 100), pair(micros % 100));
    out.put([b'.', a, b, c, d, e, f]);
    while out.bytes[out.length - 1] == b'0' {
        out.length -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::{ToSpan, civil};

    /// Every 97th day that jiff knows, which meets every day of the year in every kind of century.
    #[test]
    fn days_are_those_of_the_calendar() {
        let epoch = civil::date(2000, 1, 1);
        for days in (-4_300_000..2_900_000).step_by(97) {
            let wanted = epoch.checked_add(i64::from(days).days()).unwrap();
            let mut text = Vec::new();
            line(&mut text, |line| date(line, days));
            let (year, era) = match i32::from(wanted.year()) {
                year if year > 0 => (year, ""),
                year => (1 - year, " BC"),
            };
            let wanted = format!("{year:04}-{:02}-{:02}{era}", wanted.month(), wanted.day());
            assert_eq!(String::from_utf8(text).unwrap(), wanted);
        }
    }
}
