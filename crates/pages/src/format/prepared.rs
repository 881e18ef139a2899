//! A filter whose arguments are the same for many values: what they say is looked up once.

use super::formatters::{Formatters, Length, Parts};
use super::{Arguments, MOMENT_ARGUMENTS, Numbers, PARTS, formatters, text, time_zone};
use jiff::tz::TimeZone;
use jiff::{Timestamp, civil};
use minijinja::value::{Kwargs, Value, ValueOrKwargs, from_args};
use minijinja::{Error, State};
use std::rc::Rc;
use thalweg_rows::{Codec, Cursor, Scalar};

/// `number`, `date`, `time` or `datetime`.
pub(crate) struct Prepared(Kind);

enum Kind {
    Number(Numbers),
    Moment { parts: Parts, length: Length, formatters: Rc<Formatters>, zone: TimeZone },
}

/// Moments of PostgreSQL's count from 2000-01-01, those of calendars from 1970-01-01.
const EPOCH_MICROS: i64 = 946_684_800_000_000;
const EPOCH_DAY: civil::Date = civil::date(2000, 1, 1);
/// The years 1 to 9998: all of their days are days of a calendar in any zone.
const DAYS: std::ops::Range<i32> = -730_119..2_921_575;
const DAY_MICROS: i64 = 86_400_000_000;
const MICROS: std::ops::Range<i64> = DAYS.start as i64 * DAY_MICROS..DAYS.end as i64 * DAY_MICROS;

impl Prepared {
    /// A filter with what stands behind its value. Of others, and of what is an error perhaps, there is none.
    pub(crate) fn of(state: &State, name: &str, arguments: &[Value]) -> Option<Prepared> {
        let (first, second) = from_args::<(Option<ValueOrKwargs>, Option<Kwargs>)>(arguments).ok()?;
        if name == "number" {
            let arguments = Arguments::read(first, second, &Numbers::ARGUMENTS).ok()?;
            return Numbers::read(state, &arguments).ok().map(|numbers| Prepared(Kind::Number(numbers)));
        }
        let (_, parts) = PARTS.into_iter().find(|(known, _)| *known == name)?;
        let arguments = Arguments::read(first, second, &MOMENT_ARGUMENTS).ok()?;
        let length = Length::named(arguments.position.as_ref().map_or("medium", text))?;
        let formatters = formatters(text(&arguments.setting(state, "locale").ok()?)).ok()?;
        let zone = time_zone(text(&arguments.setting(state, "zone").ok()?)).ok()?;
        Some(Prepared(Kind::Moment { parts, length, formatters, zone }))
    }

    /// Of a moment as PostgreSQL sends it, where that says what its text would.
    pub(crate) fn of_bytes(&self, codec: &Codec, bytes: &[u8]) -> Option<Result<Value, Error>> {
        let (Codec::Scalar(scalar), Kind::Moment { parts, length, formatters, zone }) = (codec, &self.0) else {
            return None;
        };
        let mut cursor = Cursor::new(bytes);
        let moment = match scalar {
            Scalar::Date if *parts != Parts::Time => date(cursor.i32().ok()?)?.to_datetime(civil::Time::midnight()),
            Scalar::Timestamp => TimeZone::UTC.to_datetime(instant(cursor.i64().ok()?)?),
            Scalar::TimestampTz => zone.to_datetime(instant(cursor.i64().ok()?)?),
            _ => return None,
        };
        Some(formatters.moment(*parts, *length, moment.date(), moment.time()))
    }

    /// Of a value that templates know.
    pub(crate) fn of_value(&self, value: &Value) -> Option<Result<Value, Error>> {
        match &self.0 {
            Kind::Number(numbers) => Some(numbers.text(value).map(Value::from)),
            Kind::Moment { .. } => None,
        }
    }
}

fn date(days: i32) -> Option<civil::Date> {
    DAYS.contains(&days).then_some(())?;
    EPOCH_DAY.checked_add(jiff::Span::new().days(days)).ok()
}

fn instant(micros: i64) -> Option<Timestamp> {
    MICROS.contains(&micros).then_some(())?;
    Timestamp::from_microsecond(micros + EPOCH_MICROS).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_the_last_day_are_known() {
        assert_eq!(date(DAYS.start), Some(civil::date(1, 1, 1)));
        assert_eq!(date(DAYS.end - 1), Some(civil::date(9998, 12, 31)));
        assert_eq!((date(DAYS.start - 1), date(DAYS.end)), (None, None));
        let last = instant(MICROS.end - 1).map(|last| TimeZone::UTC.to_datetime(last).date());
        assert_eq!(last, Some(civil::date(9998, 12, 31)));
        assert_eq!((instant(MICROS.start - 1), instant(MICROS.end), instant(i64::MIN)), (None, None, None));
    }
}
