//! Values that a visitor types into a form, and values as the inputs of a form take them.

use super::moment::Moment;
use super::{Number, number_text, time_zone};
use jiff::civil;
use jiff::tz::Disambiguation;

/// The value that `<input type="datetime-local">` takes for a moment: the date and the time of day in a zone, without an
/// offset, and with milliseconds at most, since browsers discard a value with more digits. A text
/// that is no moment, such as what a visitor has typed, stays as it is.
pub(super) fn datetime_local(text: &str, zone: &str) -> Result<String, minijinja::Error> {
    let local = match Moment::read(text) {
        Some(Moment::Instant(instant)) => instant.to_zoned(time_zone(zone)?).datetime(),
        Some(Moment::DateTime(local)) => local,
        Some(Moment::Date(date)) => date.to_datetime(civil::Time::midnight()),
        Some(Moment::Zoned(_) | Moment::Time(_) | Moment::Other(_)) | None => return Ok(text.to_owned()),
    };
    if local.year() < 1 {
        return Ok(text.to_owned());
    }
    let (seconds, millis) = (local.second(), local.subsec_nanosecond() / 1_000_000);
    Ok(match (seconds, millis) {
        (0, 0) => local.strftime("%Y-%m-%dT%H:%M").to_string(),
        (_, 0) => local.strftime("%Y-%m-%dT%H:%M:%S").to_string(),
        (_, _) => format!("{}.{millis:03}", local.strftime("%Y-%m-%dT%H:%M:%S")),
    })
}

/// The instant that a typed date, or date and time of day, means in a zone, as PostgreSQL reads it. A
/// date that is not in the form of ISO 8601 (`July 1, 2026 9:00`) is left to PostgreSQL, with the zone
/// behind it. Returns `None` for a text that has an offset or a zone itself, and for what is no date.
///
/// A time that the clock shows twice is the later one, and a time that it skips is counted from
/// before the change: PostgreSQL does the same.
pub fn typed_moment(text: &str, zone: &str) -> Option<String> {
    let text = text.trim();
    iso_moment(text, zone).or_else(|| {
        let is_time = text.contains(':') && !text.contains(|c: char| !c.is_ascii_digit() && !matches!(c, ':' | '.'));
        let is_day = DAYS.iter().any(|day| text.eq_ignore_ascii_case(day));
        let is_date = !is_time && text.contains(|c: char| c.is_ascii_digit()) || is_day;
        (is_date && !has_zone(text) && time_zone(zone).is_ok()).then(|| format!("{text} {zone}"))
    })
}

/// Days that PostgreSQL knows by name.
const DAYS: [&str; 3] = ["today", "tomorrow", "yesterday"];

/// Returns whether a text has an offset behind its time of day, or a word that is no part of a date: a zone, `infinity`.
fn has_zone(text: &str) -> bool {
    const WORDS: [&str; 51] = [
        "am",
        "pm",
        "bc",
        "ad",
        "jan",
        "feb",
        "mar",
        "apr",
        "may",
        "jun",
        "jul",
        "aug",
        "sep",
        "sept",
        "oct",
        "nov",
        "dec",
        "january",
        "february",
        "march",
        "april",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
        "sun",
        "mon",
        "tue",
        "tues",
        "wed",
        "weds",
        "thu",
        "thur",
        "thurs",
        "fri",
        "sat",
        "sunday",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "noon",
        "today",
        "tomorrow",
        "yesterday",
        "allballs",
    ];
    let time = text.split_once(':').map_or("", |(_, time)| time);
    // `T` stands between the date and the time of day.
    let is_zone =
        |word: &str| word != "T" && word != "t" && !WORDS.iter().any(|known| word.eq_ignore_ascii_case(known));
    let mut words = text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    time.contains(['+', '-']) || words.any(is_zone)
}

fn iso_moment(text: &str, zone: &str) -> Option<String> {
    let is_local = |c: char| c.is_ascii_digit() || matches!(c, '-' | ':' | '.' | 'T' | ' ');
    let time = text.split_once(['T', ' ']).map_or("", |(_, time)| time);
    if !text.chars().all(is_local) || time.contains(['-', 'T', ' ']) {
        return None;
    }
    let local = match Moment::read(text)? {
        Moment::DateTime(local) => local,
        Moment::Date(date) => date.to_datetime(civil::Time::midnight()),
        Moment::Instant(_) | Moment::Zoned(_) | Moment::Time(_) | Moment::Other(_) => return None,
    };
    let ambiguous = time_zone(zone).ok()?.to_ambiguous_timestamp(local);
    let instant = ambiguous.disambiguate(Disambiguation::Later).ok()?;
    Some(instant.to_string())
}

/// The number that a text means in a language whose decimal separator is not a point, as PostgreSQL
/// reads it: `1.234,5` in German is `1234.5`. Returns `None` for a text without that separator, which
/// `<input type="number">` sends in any language, and for what is no such number.
pub fn typed_number(text: &str, locale: &str) -> Option<String> {
    let sample = number_text(locale, Number::of_float(1.5), 1, None, false).ok()?;
    let separator = sample.strip_prefix('1')?.strip_suffix('5').filter(|separator| *separator != ".")?;
    let (whole, fraction) = text.trim().split_once(separator)?;
    let (sign, whole) = match whole.strip_prefix(['-', '\u{2212}']) {
        Some(whole) => ("-", whole),
        None => ("", whole.strip_prefix('+').unwrap_or(whole)),
    };
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let digits = if whole.is_empty() { "0".to_owned() } else { without_groups(whole)? };
    is_digits(fraction).then(|| format!("{sign}{digits}.{fraction}"))
}

/// The digits of a number that may be written in groups of three, all separated in the same way.
fn without_groups(whole: &str) -> Option<String> {
    const SEPARATORS: [char; 6] = ['.', ' ', '\u{a0}', '\u{202f}', '\'', '\u{2019}'];
    let separator = whole.chars().find(|c| !c.is_ascii_digit());
    let groups: Vec<&str> = match separator {
        Some(separator) if SEPARATORS.contains(&separator) => whole.split(separator).collect(),
        Some(_) => return None,
        None => vec![whole],
    };
    let is_group = |(at, group): (usize, &&str)| {
        let is_full = if at == 0 { (1..=3).contains(&group.len()) } else { group.len() == 3 };
        (is_full || groups.len() == 1) && group.bytes().all(|byte| byte.is_ascii_digit())
    };
    groups.iter().enumerate().all(is_group).then(|| groups.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_fits_its_input() {
        for (text, zone, input) in [
            ("2026-07-01T10:00:00+00:00", "Europe/Zurich", "2026-07-01T12:00"),
            ("2026-01-01T23:30:05+00:00", "Europe/Zurich", "2026-01-02T00:30:05"),
            ("2026-01-01T23:30:05.123456+00:00", "UTC", "2026-01-01T23:30:05.123"),
            ("2026-01-01T23:30:00.0009+00:00", "UTC", "2026-01-01T23:30"),
            ("2026-07-01T10:00:00", "Europe/Zurich", "2026-07-01T10:00"),
            ("2026-07-01T10:00", "Europe/Zurich", "2026-07-01T10:00"),
            ("2026-07-01", "Europe/Zurich", "2026-07-01T00:00"),
            ("0044-03-15T10:00:00 BC", "UTC", "0044-03-15T10:00:00 BC"),
            ("infinity", "UTC", "infinity"),
            ("soon", "UTC", "soon"),
            ("", "UTC", ""),
        ] {
            assert_eq!(datetime_local(text, zone).unwrap(), input, "{text} in {zone}");
        }
        assert!(datetime_local("2026-07-01T10:00:00Z", "Mars").is_err());
    }

    #[test]
    fn a_typed_number_is_read_in_the_language_of_the_page() {
        for (locale, text, number) in [
            ("de", "12,5", Some("12.5")),
            ("de", " -0,50 ", Some("-0.50")),
            ("de", "\u{2212}1.234.567,89", Some("-1234567.89")),
            ("de", ",5", Some("0.5")),
            ("de", "12345,6", Some("12345.6")),
            ("fr", "1\u{202f}234,5", Some("1234.5")),
            // What a number input sends, and what is no number.
            ("de", "12.5", None),
            ("de", "1.234", None),
            ("de", "1.23,4", None),
            ("de", "1.234 567,8", None),
            ("de", "1,234,5", None),
            ("de", "1,2.3", None),
            ("de", "1,", None),
            ("de", ",", None),
            ("de", "a,5", None),
            ("de", "1e3,5", None),
            ("en", "12,5", None),
            ("de-CH", "12,5", None),
            ("../de", "12,5", None),
        ] {
            assert_eq!(typed_number(text, locale).as_deref(), number, "{text} in {locale}");
        }
    }

    #[test]
    fn a_typed_moment_is_read_in_the_zone_that_shows_it() {
        for (text, instant) in [
            ("2026-07-01T12:00", Some("2026-07-01T10:00:00Z")),
            ("2026-01-01 12:00:05.5", Some("2026-01-01T11:00:05.5Z")),
            ("2026-07-01", Some("2026-06-30T22:00:00Z")),
            // The clock shows this time twice, and skips the other one.
            ("2026-10-25T02:30", Some("2026-10-25T01:30:00Z")),
            ("2026-03-29T02:30", Some("2026-03-29T01:30:00Z")),
            ("2026-07-01T12:00Z", None),
            ("2026-07-01T12:00+02", None),
            ("2026-07-01T12:00-02:00", None),
            ("2026-07-01 12:00 UTC", None),
            ("9999-12-31T23:59:59+00:00", None),
            ("12:00", None),
            ("infinity", None),
            ("now", None),
            ("", None),
            ("soon", None),
            ("20260701", Some("2026-06-30T22:00:00Z")),
            ("2026-07-01 9:00", Some("2026-07-01 9:00 Europe/Zurich")),
            ("July 1, 2026 12:00", Some("July 1, 2026 12:00 Europe/Zurich")),
            ("2026-07-01 12:00 pm", Some("2026-07-01 12:00 pm Europe/Zurich")),
            ("2026-07-01T24:00", Some("2026-07-01T24:00 Europe/Zurich")),
            ("today", Some("today Europe/Zurich")),
            ("July 1, 2026 12:00 CEST", None),
            ("1/7/2026 9:00 +02", None),
            ("2026-07-01 9:00Z", None),
            ("2026-07-01 9:00 America/New_York", None),
            ("-infinity", None),
            ("epoch", None),
        ] {
            assert_eq!(typed_moment(text, "Europe/Zurich").as_deref(), instant, "{text}");
        }
        assert_eq!(typed_moment("2026-07-01T12:00", "Mars"), None);
    }
}
