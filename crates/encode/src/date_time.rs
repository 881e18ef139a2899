//! Dates, times and intervals as PostgreSQL writes them in JSON (`JsonEncodeDateTime`, `EncodeInterval`).

use crate::zone::Zone;
use thalweg_json::write_int;

const DAY_MICROS: i64 = 86_400_000_000;
const HOUR_MICROS: i64 = 3_600_000_000;
/// Seconds from 1970-01-01 to 2000-01-01, where PostgreSQL begins to count.
const EPOCH_SECONDS: i64 = 946_684_800;
/// Days from 0000-03-01 to 2000-01-01 in the proleptic Gregorian calendar.
const EPOCH_DAYS: i64 = 730_425;

/// A `date`: days since 2000-01-01.
pub(crate) fn date(out: &mut Vec<u8>, days: i32) {
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
pub(crate) fn timestamp(out: &mut Vec<u8>, micros: i64) {
    if !infinite(out, micros) {
        let before_christ = date_and_time(out, micros);
        era(out, before_christ);
    }
}

/// A `timestamptz`: microseconds since 2000-01-01 UTC.
pub(crate) fn timestamptz(out: &mut Vec<u8>, micros: i64, zone: &Zone) {
    if !infinite(out, micros) {
        let offset = zone.offset_seconds(micros.div_euclid(1_000_000) + EPOCH_SECONDS);
        let before_christ = date_and_time(out, micros.saturating_add(i64::from(offset) * 1_000_000));
        offset_of(out, offset, true);
        era(out, before_christ);
    }
}

/// A `time`: microseconds since midnight, of which there may be a whole day's.
pub(crate) fn time(out: &mut Vec<u8>, micros: i64) {
    let seconds = micros / 1_000_000;
    two_digits(out, seconds / 3600);
    out.push(b':');
    two_digits(out, seconds / 60 % 60);
    out.push(b':');
    two_digits(out, seconds % 60);
    fraction(out, micros % 1_000_000);
}

/// A `timetz`: the zone is in seconds west.
pub(crate) fn timetz(out: &mut Vec<u8>, micros: i64, zone_seconds_west: i32) {
    time(out, micros);
    offset_of(out, zone_seconds_west.saturating_neg(), false);
}

/// An `interval` in the style `postgres`.
pub(crate) fn interval(out: &mut Vec<u8>, micros: i64, days: i32, months: i32) {
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
        write_int(out, value);
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
        write_int(out, hours);
        let rest = (micros % HOUR_MICROS as u64) as i64;
        out.push(b':');
        two_digits(out, rest / 60_000_000);
        out.push(b':');
        two_digits(out, rest / 1_000_000 % 60);
        fraction(out, rest % 1_000_000);
    }
}

fn infinite(out: &mut Vec<u8>, micros: i64) -> bool {
    match micros {
        i64::MIN => out.extend_from_slice(b"-infinity"),
        i64::MAX => out.extend_from_slice(b"infinity"),
        _ => return false,
    }
    true
}

fn date_and_time(out: &mut Vec<u8>, micros: i64) -> bool {
    let before_christ = year_month_day(out, micros.div_euclid(DAY_MICROS));
    out.push(b'T');
    time(out, micros.rem_euclid(DAY_MICROS));
    before_christ
}

/// Writes the date of a day counted from 2000-01-01, and tells whether it lies before the year 1.
fn year_month_day(out: &mut Vec<u8>, days: i64) -> bool {
    // from days to a date with years that begin in March, so that leap days come last
    let days = days + EPOCH_DAYS;
    let cycle = days.div_euclid(146_097);
    let day_of_cycle = days.rem_euclid(146_097);
    let year_of_cycle = (day_of_cycle - day_of_cycle / 1460 + day_of_cycle / 36_524 - day_of_cycle / 146_096) / 365;
    let day_of_year = day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = year_of_cycle + cycle * 400 + i64::from(month <= 2);
    let before_christ = year <= 0;
    let shown = if before_christ { 1 - year } else { year };
    if shown < 10_000 {
        two_digits(out, shown / 100);
        two_digits(out, shown % 100);
    } else {
        write_int(out, shown);
    }
    out.push(b'-');
    two_digits(out, month);
    out.push(b'-');
    two_digits(out, day);
    before_christ
}

fn era(out: &mut Vec<u8>, before_christ: bool) {
    if before_christ {
        out.extend_from_slice(b" BC");
    }
}

/// An offset, with minutes always (`xsd`) or only where there are any, and seconds where there are any.
fn offset_of(out: &mut Vec<u8>, seconds_east: i32, xsd: bool) {
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

fn two_digits(out: &mut Vec<u8>, value: i64) {
    out.extend_from_slice(&[b'0' + (value / 10 % 10) as u8, b'0' + (value % 10) as u8]);
}

/// Microseconds as a fraction of a second, without zeros at its end; nothing where there are none.
fn fraction(out: &mut Vec<u8>, micros: i64) {
    if micros == 0 {
        return;
    }
    out.push(b'.');
    for pair in [micros / 10_000, micros / 100 % 100, micros % 100] {
        two_digits(out, pair);
    }
    while out.last() == Some(&b'0') {
        out.pop();
    }
}
