//! Fixes put on one line of time: across midnight, and without those that no glider can have flown to.

use super::record::BRecord;
use crate::score::sphere::{Point, distance_m, point};
use crate::track::Fix;
use jiff::civil::Date;

const DAY_S: i64 = 86_400;
/// A clock that goes back by more has passed midnight.
const MIDNIGHT_BACK_S: i64 = 18 * 3600;
/// Faster is a jump of the recorder's: no glider is, over ground and in any wind.
const SPEED_MS_MAX: f64 = 250.0;

/// The fixes that fit together so far, their times counted from the day of the first.
#[derive(Default)]
pub(super) struct Order {
    fixes: Vec<Fix>,
    last: Option<Point>,
    /// The day of the last fix, and what the first day is, as soon as a date has said it.
    day: i64,
    first_day: Option<i64>,
    left_out: usize,
    left_out_in_a_row: usize,
}

impl Order {
    pub(super) fn is_empty(&self) -> bool {
        self.fixes.is_empty()
    }

    /// A date line. One that repeats or goes back says nothing new: the clock has passed midnight, or the line is wrong.
    pub(super) fn date(&mut self, date: Date) {
        let day = days_since_1970(date);
        let first = *self.first_day.get_or_insert(day - self.day);
        self.day = self.day.max(day - first);
    }

    /// A line of a fix, if it could be read. When more in a row do not fit than there are, it is those before that were wrong.
    pub(super) fn take(&mut self, record: Option<BRecord>) {
        let Some(record) = record else {
            self.left_out += 1;
            return;
        };
        let mut day = self.day;
        if let Some(last) = self.fixes.last() {
            let time_s = day * DAY_S + record.second_of_day;
            day += i64::from(last.time_s - time_s > MIDNIGHT_BACK_S);
        }
        let fix = fix(&record, day);
        let point = point(fix.latitude, fix.longitude);
        if self.fits(&fix, point) {
            self.left_out_in_a_row = 0;
        } else {
            // several fixes a second say nothing against the first
            let is_same_second = self.fixes.last().is_some_and(|last| last.time_s == fix.time_s);
            self.left_out_in_a_row += usize::from(!is_same_second);
            if self.left_out_in_a_row <= self.fixes.len() {
                self.left_out += 1;
                return;
            }
            self.left_out += self.fixes.len();
            self.fixes.clear();
        }
        self.day = day;
        self.last = Some(point);
        self.fixes.push(fix);
    }

    /// The fixes with their times, if there are any and a day is known, and how many were left out.
    pub(super) fn dated(mut self) -> Option<(Vec<Fix>, usize)> {
        let first_s = self.first_day? * DAY_S;
        for fix in &mut self.fixes {
            fix.time_s += first_s;
        }
        Some((self.fixes, self.left_out))
    }

    fn fits(&self, fix: &Fix, point: Point) -> bool {
        let (Some(last), Some(from)) = (self.fixes.last(), self.last) else { return true };
        let elapsed_s = fix.time_s - last.time_s;
        elapsed_s > 0 && distance_m(from, point) <= SPEED_MS_MAX * elapsed_s as f64
    }
}

fn fix(record: &BRecord, day: i64) -> Fix {
    Fix {
        time_s: day * DAY_S + record.second_of_day,
        latitude: record.latitude,
        longitude: record.longitude,
        pressure_altitude_m: record.pressure_altitude_m,
        gnss_altitude_m: record.gnss_altitude_m,
        is_valid: record.is_valid,
    }
}

fn days_since_1970(date: Date) -> i64 {
    const EPOCH: Date = Date::constant(1970, 1, 1);
    EPOCH.duration_until(date).as_hours() / 24
}
