//! Filters that write numbers, dates and times as the reader's language does.
//!
//! The language is the variable `locale` of the page, a tag of BCP 47, and the time zone is `zone`, a name of IANA's database; both can be
//! given to a single filter, as in `{{ flight.launched_at|time("short", zone="Europe/Zurich") }}`.

mod arguments;
mod formatters;
mod moment;
mod number;
mod prepared;
mod typed;

use arguments::Arguments;
use formatters::{Formatters, Length, Parts};
use jiff::tz::TimeZone;
use minijinja::value::{Kwargs, Value, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, State};
use moment::Moment;
use std::rc::Rc;

pub use formatters::{LOCALE_BYTES_MAX, LOCALES_MAX};
pub use number::FRACTION_DIGITS_MAX;
pub(crate) use number::Number;
pub(crate) use prepared::Prepared;
pub use typed::{typed_moment, typed_number};

/// How long the pattern of a date may be.
pub const DATE_PATTERN_BYTES_MAX: usize = 256;
/// How much of a value an error shows.
const SHOWN_CHARS_MAX: usize = 64;

/// The names of the filters. They look at a value, and never at a row.
pub(crate) const FILTERS: [&str; 6] = ["number", "bytes", "date", "time", "datetime", "datetime_local"];

/// The filters of dates and times, and what they show.
const PARTS: [(&str, Parts); 3] = [("date", Parts::Date), ("time", Parts::Time), ("datetime", Parts::DateTime)];
const MOMENT_ARGUMENTS: [&str; 2] = ["locale", "zone"];

/// Adds the filters to the engine.
pub(crate) fn register(env: &mut Environment<'_>) {
    env.add_filter("number", number);
    env.add_filter("bytes", bytes);
    env.add_filter("datetime_local", datetime_local);
    for (name, parts) in PARTS {
        env.add_filter(
            name,
            move |state: &State, value: &Value, style: Option<ValueOrKwargs>, named: Option<Kwargs>| {
                moment(state, parts, value, &Arguments::read(style, named, &MOMENT_ARGUMENTS)?)
            },
        );
    }
}

/// A number as a language writes it, rounded half away from zero.
pub(crate) fn number_text(
    locale: &str,
    mut number: Number,
    min: usize,
    max: Option<usize>,
    grouping: bool,
) -> Result<String, Error> {
    number.round(min, max);
    Ok(formatters(locale)?.number(&number, grouping))
}

/// `number`, `number(2)`, `number(min=0, max=2, grouping=false)`.
fn number(state: &State, value: &Value, digits: Option<ValueOrKwargs>, named: Option<Kwargs>) -> Result<String, Error> {
    Numbers::read(state, &Arguments::read(digits, named, &Numbers::ARGUMENTS)?)?.text(value)
}

/// How `number` writes.
struct Numbers {
    locale: Value,
    min: usize,
    max: Option<usize>,
    grouping: bool,
}

impl Numbers {
    const ARGUMENTS: [&str; 4] = ["min", "max", "grouping", "locale"];

    fn read(state: &State, arguments: &Arguments) -> Result<Numbers, Error> {
        let digits = arguments.position.as_ref().map(|digits| usize::try_from(digits.clone())).transpose()?;
        let (min, max) = (arguments.named::<usize>("min")?, arguments.named::<usize>("max")?);
        let grouping = arguments.named::<bool>("grouping")?;
        let locale = arguments.setting(state, "locale")?;
        let (min, max) = (min.or(digits).unwrap_or(0), max.or(digits));
        if min > max.unwrap_or(FRACTION_DIGITS_MAX) || max.is_some_and(|max| max > FRACTION_DIGITS_MAX) {
            return Err(refused(format!(
                "a number has at most {FRACTION_DIGITS_MAX} fraction digits, and min is at most max"
            )));
        }
        Ok(Numbers { locale, min, max, grouping: grouping.unwrap_or(true) })
    }

    fn text(&self, value: &Value) -> Result<String, Error> {
        let Some(number) = numeric(value)? else { return Ok(String::new()) };
        number_text(text(&self.locale), number, self.min, self.max, self.grouping)
    }
}

/// The size of a file, in powers of 1000, with one digit of a fraction.
fn bytes(state: &State, value: &Value, named: Option<Kwargs>) -> Result<String, Error> {
    const UNITS: [&str; 6] = ["B", "kB", "MB", "GB", "TB", "PB"];
    let locale = Arguments::read(None, named, &["locale"])?.setting(state, "locale")?;
    let Some(number) = numeric(value)? else { return Ok(String::new()) };
    let (number, thousands) = number.in_thousands(UNITS.len() - 1);
    let number = number_text(text(&locale), number, 0, Some(1), true)?;
    Ok(format!("{number}\u{a0}{}", UNITS[thousands]))
}

fn numeric(value: &Value) -> Result<Option<Number>, Error> {
    if is_nothing(value) {
        return Ok(None);
    }
    Number::of(value).map(Some).ok_or_else(|| refused(format!("{} is no number", shown(value))))
}

fn moment(state: &State, parts: Parts, value: &Value, arguments: &Arguments) -> Result<Value, Error> {
    let (locale, zone) = (arguments.setting(state, "locale")?, arguments.setting(state, "zone")?);
    if is_nothing(value) {
        return Ok(Value::from(""));
    }
    let read = value.as_str().and_then(Moment::read);
    let moment = read.ok_or_else(|| refused(format!("{} is no {}", shown(value), parts.expected())))?;
    let moment = match moment {
        Moment::Other(text) => return Ok(Value::from(text)),
        Moment::Instant(instant) => Moment::Zoned(instant.to_zoned(time_zone(text(&zone))?)),
        moment => moment,
    };
    let style = arguments.position.as_ref().map_or("medium", text);
    if style.contains('%') {
        return by_pattern(&moment, style).map(Value::from);
    }
    let length = Length::named(style).ok_or_else(|| {
        let told = arguments.position.as_ref().map_or_else(String::new, shown);
        refused(format!("{told} is no length: short, medium, long and full are, and patterns such as %Y-%m-%d"))
    })?;
    let (date, time) =
        moment.date_and_time(parts).ok_or_else(|| refused(format!("{} is no {}", shown(value), parts.expected())))?;
    formatters(text(&locale))?.moment(parts, length, date, time)
}

/// The value of `<input type="datetime-local">`, in the page's zone.
fn datetime_local(state: &State, value: &Value, named: Option<Kwargs>) -> Result<String, Error> {
    let zone = Arguments::read(None, named, &["zone"])?.setting(state, "zone")?;
    match value.as_str() {
        Some(moment) => typed::datetime_local(moment, text(&zone)),
        None if is_nothing(value) => Ok(String::new()),
        None => Err(refused(format!("{} is no {}", shown(value), Parts::DateTime.expected()))),
    }
}

fn by_pattern(moment: &Moment<'_>, pattern: &str) -> Result<String, Error> {
    if pattern.len() > DATE_PATTERN_BYTES_MAX {
        return Err(refused(format!("a pattern has at most {DATE_PATTERN_BYTES_MAX} bytes")));
    }
    moment.by_pattern(pattern).map_err(|error| refused(format!("{pattern}: {error}")))
}

fn formatters(locale: &str) -> Result<Rc<Formatters>, Error> {
    Formatters::of(locale).ok_or_else(|| refused(format!("{} is no language tag, as en and de-CH are", cut(locale))))
}

fn time_zone(name: &str) -> Result<TimeZone, Error> {
    TimeZone::get(name).map_err(|_| refused(format!("{} is no time zone, as UTC and Europe/Zurich are", cut(name))))
}

/// What the page's variable of that name says, if there is one.
pub(crate) fn variable(state: &State, name: &str) -> Option<Value> {
    state.lookup(name).filter(|value| !is_nothing(value))
}

fn text(setting: &Value) -> &str {
    setting.as_str().unwrap_or_default()
}

pub(crate) fn is_nothing(value: &Value) -> bool {
    value.is_undefined() || value.is_none()
}

pub(crate) fn refused(message: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

/// A value for an error. Of a row only that it is one, since it may hold a part of its columns.
fn shown(value: &Value) -> String {
    match value.kind() {
        ValueKind::String => format!("\"{}\"", cut(text(value))),
        ValueKind::Number | ValueKind::Bool => value.to_string(),
        kind => format!("a {kind}"),
    }
}

pub(crate) fn cut(text: &str) -> &str {
    text.char_indices().nth(SHOWN_CHARS_MAX).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use minijinja::context;
    use std::alloc::System;
    use thalweg_gauge::{CountingAllocator, Counts};

    #[global_allocator]
    static ALLOCATOR: CountingAllocator<System> = CountingAllocator(System);

    fn made(template: &str, context: Value) -> Result<String, Error> {
        let mut env = Environment::new();
        register(&mut env);
        env.add_template("page.txt", template)?;
        env.get_template("page.txt")?.render(context)
    }

    fn in_locale(locale: &str, template: &str) -> String {
        let context = context! {
            locale, zone => "Europe/Zurich", n => 1_234_567.5, i => -42, zero => -0.001, long => "12345678901234567890.10",
            day => "2026-11-22", instant => "2026-11-22T23:36:37.5+00:00", stamp => "2026-11-22T23:36:37", clock => "20:36:37",
        };
        made(template, context).unwrap()
    }

    #[test]
    fn numbers_are_written_as_the_language_does() {
        for (locale, template, text) in [
            ("en", "{{ n|number }} {{ n|number(2) }} {{ i|number }}", "1,234,567.5 1,234,567.50 -42"),
            ("de", "{{ n|number }} {{ n|number(0) }}", "1.234.567,5 1.234.568"),
            ("de-CH", "{{ n|number }}", "1'234'567.5"),
            ("fr", "{{ n|number }}", "1\u{202f}234\u{202f}567,5"),
            ("en-IN", "{{ n|number }}", "12,34,567.5"),
            ("de", "{{ n|number(grouping=false) }} {{ n|number(locale='en') }}", "1234567,5 1,234,567.5"),
            ("en", "{{ 2.5|number(min=0, max=2) }} {{ 2.005|number(max=2) }} {{ 2|number(min=1) }}", "2.5 2.01 2.0"),
            ("en", "{{ zero|number(2) }} {{ long|number }} {{ 0.1|number }}", "0.00 12,345,678,901,234,567,890.10 0.1"),
            ("en", "{{ 'NaN'|number }} {{ '-Infinity'|number(2) }} {{ '1e3'|number }}", "NaN -∞ 1,000"),
            ("en", "[{{ none|number }}{{ missing|number(2) }}]", "[]"),
            (
                "en",
                "{{ 999|bytes }}, {{ 1500|bytes }}, {{ 999960|bytes }}, {{ 3e18|bytes }}",
                "999\u{a0}B, 1.5\u{a0}kB, 1\u{a0}MB, 3,000\u{a0}PB",
            ),
            ("de", "{{ 2450000|bytes }}", "2,5\u{a0}MB"),
        ] {
            assert_eq!(in_locale(locale, template), text, "{template}");
        }
    }

    #[test]
    fn dates_are_written_as_the_language_does() {
        for (locale, template, text) in [
            ("en", "{{ day|date }}; {{ day|date('short') }}", "Nov 22, 2026; 11/22/26"),
            ("en", "{{ day|date('long') }}; {{ day|date('full') }}", "November 22, 2026; Sunday, November 22, 2026"),
            ("de", "{{ day|date }}; {{ day|date('full') }}", "22.11.2026; Sonntag, 22. November 2026"),
            ("en-GB", "{{ day|date('long') }}", "22 November 2026"),
            ("zh", "{{ day|date('full') }}", "2026年11月22日星期日"),
            ("de", "{{ '0044-03-15 BC'|date('long') }}", "15. März 44 v. Chr."),
            ("en", "{{ day|date('%Y/%m/%d') }}", "2026/11/22"),
            ("de", "{{ clock|time }} {{ clock|time('short') }}", "20:36:37 20:36"),
            ("de", "{{ stamp|datetime }}", "22.11.2026, 23:36:37"),
            ("de", "{{ day|datetime('short') }}", "22.11.26, 00:00"),
            ("de", "{{ 'infinity'|date }} {{ '12026-01-01'|date }}", "∞ 12026-01-01"),
            ("de", "[{{ none|date }}{{ missing|datetime }}]", "[]"),
            ("xx", "{{ day|date }} {{ 1.5|number }}", "2026 M11 22 1.5"),
        ] {
            assert_eq!(in_locale(locale, template), text, "{template}");
        }
    }

    #[test]
    fn an_instant_is_shown_in_the_zone_and_a_date_is_not_moved() {
        for (template, text) in [
            ("{{ instant|date }}", "23.11.2026"),
            ("{{ instant|datetime('short') }}", "23.11.26, 00:36"),
            ("{{ instant|time(zone='Asia/Kathmandu') }}", "05:21:37"),
            ("{{ instant|datetime('%H:%M %Z', zone='America/New_York') }}", "18:36 EST"),
            ("{{ day|date(zone='Pacific/Kiritimati') }}", "22.11.2026"),
            ("{{ stamp|time }}", "23:36:37"),
            ("{% macro shown(at) %}{{ at|date }}{% endmacro %}{{ shown(instant) }}", "23.11.2026"),
            ("{% set locale = 'en' %}{{ instant|date }}", "Nov 23, 2026"),
            (
                "{{ instant|datetime_local }} {{ instant|datetime_local(zone='UTC') }}",
                "2026-11-23T00:36:37.500 2026-11-22T23:36:37.500",
            ),
            (
                "{{ stamp|datetime_local }}[{{ none|datetime_local }}{{ missing|datetime_local }}]",
                "2026-11-22T23:36:37[]",
            ),
        ] {
            assert_eq!(in_locale("de", template), text, "{template}");
        }
        assert_eq!(
            made("{{ '2026-11-22T23:36:37+01:00'|datetime }}", context! {}).unwrap(),
            "Nov 22, 2026, 10:36:37\u{202f}PM"
        );
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (template, message) in [
            ("{{ 'soon'|date }}", "\"soon\" is no date, such as 2026-11-22 and 2026-11-22T20:36:37+00:00"),
            ("{{ 17|date }}", "17 is no date,"),
            ("{{ '20:36'|date }}", "\"20:36\" is no date,"),
            ("{{ '2026-11-22'|time }}", "\"2026-11-22\" is no time of day, such as 20:36:37"),
            ("{{ {'a': 1}|number }}", "a map is no number"),
            ("{{ 'many'|number }}", "\"many\" is no number"),
            ("{{ 1|number(21) }}", "a number has at most 20 fraction digits"),
            ("{{ 1|number(min=3, max=2) }}", "min is at most max"),
            ("{{ 1|number(maximum=2) }}", "maximum is no argument: min, max, grouping, locale are"),
            ("{{ 1|number(locale='../de') }}", "../de is no language tag"),
            ("{{ '2026-11-22T20:36:37Z'|date(zone='Mars') }}", "Mars is no time zone"),
            ("{{ '2026-11-22'|date('wide') }}", "\"wide\" is no length: short, medium, long and full are"),
            ("{{ '2026-11-22'|date('%H') }}", "%H: "),
            ("{{ '2026-11-22'|date(7) }}", "7 is no length"),
            ("{{ '2026-11-22'|date(zone=7) }}", "zone is a text, not 7"),
            ("{{ '2026-11-22'|date('long', 'wide') }}", ""),
            ("{{ '2026-11-22'|date(size='long') }}", "size is no argument: locale, zone are"),
            ("{{ 1|number('two') }}", "cannot convert string to usize"),
            ("{{ 1|bytes(2) }}", ""),
        ] {
            let error = made(&format!("\n\n{template}"), context! {}).unwrap_err();
            assert!(error.to_string().contains(message), "{error}");
            assert_eq!((error.name(), error.line()), (Some("page.txt"), Some(3)), "{error}");
        }
        let long = made(&format!("{{{{ '{}'|date }}}}", "é".repeat(10_000)), context! {}).unwrap_err();
        assert!(long.to_string().len() < 400);
        assert!(made(&format!("{{{{ '2026-11-22'|date('{}') }}}}", "%Y".repeat(129)), context! {}).is_err());
    }

    /// What a loop over 200 rows allocates, to which other tests add while they run: it is tried until it is no more than is wanted.
    fn allocations(shown: &str, wanted: u64) -> u64 {
        let mut env = Environment::new();
        register(&mut env);
        env.add_template_owned("page.html", format!("{{% for row in rows %}}{{{{ {shown} }}}}{{% endfor %}}")).unwrap();
        let row =
            Value::from_pairs([("at", Value::from("2026-11-22T20:36:37.123+00:00")), ("km", Value::from(1_234.5))]);
        let context = context! { rows => vec![row; 200], locale => "de-CH", zone => "Europe/Zurich" };
        let page = env.get_template("page.html").unwrap();
        let mut least = u64::MAX;
        for _ in 0..ATTEMPTS_MAX {
            let before = Counts::of_process();
            page.render(&context).unwrap();
            least = least.min(Counts::of_process().since(before).allocations);
            if least <= wanted {
                break;
            }
        }
        least
    }

    const ATTEMPTS_MAX: usize = 20_000;

    #[test]
    fn a_row_allocates_its_texts_and_loads_nothing() {
        // a list of 200 rows takes one for the text of each, and a few for itself
        let plain = allocations("row.at", 220);
        for shown in ["row.at|date", "row.at|time('short')", "row.km|number", "row.km|number(2)"] {
            let of_rows = allocations(shown, plain + 200 + 10).saturating_sub(plain);
            assert!(of_rows <= 200 + 10, "{shown}: {of_rows} more than {plain}");
        }
    }
}
