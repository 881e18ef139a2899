//! What is loaded to write in a language: once for each, and kept by every thread for those used last.

use super::{number::Number, refused};
use icu_calendar::Gregorian;
use icu_datetime::fieldsets::builder::{DateFields, FieldSetBuilder};
use icu_datetime::fieldsets::enums::CompositeDateTimeFieldSet;
use icu_datetime::input::{Date, DateTime, Time};
use icu_datetime::options::{self, TimePrecision};
use icu_datetime::{FixedCalendarDateTimeFormatter, FormattedDateTime};
use icu_decimal::DecimalFormatter;
use icu_decimal::options::GroupingStrategy;
use icu_locale_core::Locale;
use jiff::civil;
use minijinja::{Error, Value};
use std::cell::{OnceCell, RefCell};
use std::fmt::{self, Write};
use std::rc::Rc;

/// How many languages a thread keeps ready: a client may choose one.
pub const LOCALES_MAX: usize = 16;
/// How long a language tag may be.
pub const LOCALE_BYTES_MAX: usize = 64;

/// What most dates and numbers have room in.
const TEXT_BYTES: usize = 48;

/// Of a time of day, which has none.
const ANY_DAY: civil::Date = civil::date(1970, 1, 1);

type Dates = FixedCalendarDateTimeFormatter<Gregorian, CompositeDateTimeFieldSet>;

/// What of a moment is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Parts {
    Date,
    Time,
    DateTime,
}

impl Parts {
    pub(super) fn expected(self) -> &'static str {
        match self {
            Parts::Date => "date, such as 2026-11-22 and 2026-11-22T20:36:37+00:00",
            Parts::Time => "time of day, such as 20:36:37 and 2026-11-22T20:36:37+00:00",
            Parts::DateTime => "date with a time, such as 2026-11-22T20:36:37+00:00",
        }
    }
}

/// How long it is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    Short,
    Medium,
    Long,
    Full,
}

impl Length {
    pub(super) fn named(name: &str) -> Option<Length> {
        Some(match name {
            "short" => Length::Short,
            "medium" => Length::Medium,
            "long" => Length::Long,
            "full" => Length::Full,
            _ => return None,
        })
    }
}

/// A language's formatters, each loaded when it is used first.
pub(super) struct Formatters {
    tag: String,
    locale: Locale,
    /// Without groups of digits, and with.
    numbers: [OnceCell<DecimalFormatter>; 2],
    /// By parts, and by length.
    dates: [[OnceCell<Dates>; 4]; 3],
    /// What was written last, by a part of its day and time: lists have the same days again and again.
    written: RefCell<Box<[Option<Written>; MOMENTS_MAX]>>,
}

/// How many of them are kept of a language.
const MOMENTS_MAX: usize = 256;

struct Written {
    of: (Parts, Length, civil::Date, civil::Time),
    text: Value,
}

thread_local! {
    /// The last one used comes first.
    static KEPT: RefCell<Vec<Rc<Formatters>>> = const { RefCell::new(Vec::new()) };
}

impl Formatters {
    /// The formatters of a language, if this is the tag of one. Of a language that is not known they are those of none.
    pub(super) fn of(tag: &str) -> Option<Rc<Formatters>> {
        KEPT.with_borrow_mut(|kept| {
            match kept.iter().position(|known| known.tag == tag) {
                Some(place) => kept[..=place].rotate_right(1),
                None => {
                    let new = Formatters::new(tag)?;
                    kept.truncate(LOCALES_MAX - 1);
                    kept.insert(0, Rc::new(new));
                }
            }
            kept.first().cloned()
        })
    }

    pub(super) fn number(&self, number: &Number, grouping: bool) -> String {
        let decimal = match number {
            Number::Decimal(decimal) => decimal,
            Number::Other(text) => return (*text).to_owned(),
        };
        let place = &self.numbers[usize::from(grouping)];
        let loaded = place.get().or_else(|| {
            let strategy = if grouping { GroupingStrategy::Auto } else { GroupingStrategy::Never };
            let new = DecimalFormatter::try_new((&self.locale).into(), strategy.into()).ok()?;
            Some(place.get_or_init(|| new))
        });
        loaded.map_or_else(|| decimal.to_string(), |formatter| in_one_piece(&formatter.format(decimal)))
    }

    pub(super) fn moment(
        &self,
        parts: Parts,
        length: Length,
        date: civil::Date,
        time: civil::Time,
    ) -> Result<Value, Error> {
        let time = if parts == Parts::Date { civil::Time::midnight() } else { time };
        let date = if parts == Parts::Time { ANY_DAY } else { date };
        let of = (parts, length, date, time);
        let seconds = (time.hour() as usize * 60 + time.minute() as usize) * 60 + time.second() as usize;
        let place = (date.month() as usize * 31 + date.day() as usize + seconds) % MOMENTS_MAX;
        let mut written = self.written.borrow_mut();
        if let Some(written) = written[place].as_ref().filter(|written| written.of == of) {
            return Ok(written.text.clone());
        }
        let input = input(date, time).ok_or_else(|| refused(format!("{date} is in no calendar")))?;
        let formatter = self.dates(parts, length).ok_or_else(|| refused(format!("{} has no dates", self.tag)))?;
        let formatted: FormattedDateTime<'_> = formatter.format(&input);
        let text = Value::from(in_one_piece(&formatted));
        written[place] = Some(Written { of, text: text.clone() });
        Ok(text)
    }

    fn new(tag: &str) -> Option<Formatters> {
        let locale = Some(tag).filter(|tag| tag.len() <= LOCALE_BYTES_MAX)?.parse().ok()?;
        let written = RefCell::new(Box::new([const { None }; MOMENTS_MAX]));
        Some(Formatters {
            tag: tag.to_owned(),
            locale,
            numbers: Default::default(),
            dates: Default::default(),
            written,
        })
    }

    fn dates(&self, parts: Parts, length: Length) -> Option<&Dates> {
        let place = &self.dates[parts as usize][length as usize];
        place.get().or_else(|| {
            let fields = fields(parts, length).build_composite_datetime().ok()?;
            let new = Dates::try_new((&self.locale).into(), fields).ok()?;
            Some(place.get_or_init(|| new))
        })
    }
}

/// What CLDR's four lengths show, but for the zone's name.
fn fields(parts: Parts, length: Length) -> FieldSetBuilder {
    let mut fields = FieldSetBuilder::new();
    let (size, date, time) = match length {
        Length::Short => (options::Length::Short, DateFields::YMD, TimePrecision::Minute),
        Length::Medium => (options::Length::Medium, DateFields::YMD, TimePrecision::Second),
        Length::Long => (options::Length::Long, DateFields::YMD, TimePrecision::Second),
        Length::Full => (options::Length::Long, DateFields::YMDE, TimePrecision::Second),
    };
    fields.length = Some(size);
    fields.date_fields = matches!(parts, Parts::Date | Parts::DateTime).then_some(date);
    fields.time_precision = matches!(parts, Parts::Time | Parts::DateTime).then_some(time);
    fields
}

/// A text with room from the start, since it is written in many pieces.
fn in_one_piece(written: &impl fmt::Display) -> String {
    let mut text = String::with_capacity(TEXT_BYTES);
    // a text takes all that is written to it
    let _ = write!(text, "{written}");
    text
}

fn input(date: civil::Date, time: civil::Time) -> Option<DateTime<Gregorian>> {
    let date = Date::try_new_gregorian(date.year().into(), date.month() as u8, date.day() as u8).ok()?;
    let time = Time::try_new(time.hour() as u8, time.minute() as u8, time.second() as u8, 0).ok()?;
    Some(DateTime { date, time })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_loaded_once_and_some_are_kept() {
        let first = Formatters::of("de-CH").unwrap();
        for place in 0..LOCALES_MAX - 1 {
            Formatters::of(&format!("en-u-nu-x{place:03}")).unwrap();
        }
        assert!(Rc::ptr_eq(&first, &Formatters::of("de-CH").unwrap()));
        for place in 0..1000 {
            Formatters::of(&format!("en-u-nu-y{place:03}")).unwrap();
        }
        assert!(!Rc::ptr_eq(&first, &Formatters::of("de-CH").unwrap()));
        KEPT.with_borrow(|kept| assert_eq!(kept.len(), LOCALES_MAX));
    }

    #[test]
    fn what_is_no_tag_is_refused() {
        for tag in ["", "d", "deutsch-", "../de", "de_\u{0}", &"x-".repeat(40)] {
            assert!(Formatters::of(tag).is_none(), "{tag}");
        }
    }
}
