//! How values are written into a page, by the kind of its file.

use crate::direct::Direct;
use minijinja::value::{Value, ValueKind};
use minijinja::{AutoEscape, Error, Output, State, escape_formatter};
use std::borrow::Cow;
use std::fmt;

const CSV: AutoEscape = AutoEscape::Custom(Cow::Borrowed("csv"));
const XML: AutoEscape = AutoEscape::Custom(Cow::Borrowed("xml"));

/// How a template's values are escaped, by its extension.
pub(crate) fn of_template(name: &str) -> AutoEscape {
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html" | "htm" | "svg") => AutoEscape::Html,
        Some("xml" | "rss" | "atom" | "gpx" | "kml") => XML,
        Some("json" | "js" | "mjs" | "geojson" | "webmanifest") => AutoEscape::Json,
        Some("csv") => CSV,
        Some("tsv" | "txt" | "md" | "ics" | "css") => AutoEscape::None,
        _ => AutoEscape::Html,
    }
}

/// The media type of a page, by its extension.
pub(crate) fn media_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html" | "htm") => "text/html; charset=utf-8",
        Some("xml" | "rss") => "application/xml; charset=utf-8",
        Some("atom") => "application/atom+xml; charset=utf-8",
        Some("svg") => "image/svg+xml; charset=utf-8",
        Some("gpx") => "application/gpx+xml; charset=utf-8",
        Some("kml") => "application/vnd.google-earth.kml+xml; charset=utf-8",
        Some("json") => "application/json; charset=utf-8",
        Some("geojson") => "application/geo+json; charset=utf-8",
        Some("webmanifest") => "application/manifest+json; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("csv") => "text/csv; charset=utf-8",
        Some("tsv") => "text/tab-separated-values; charset=utf-8",
        Some("ics") => "text/calendar; charset=utf-8",
        Some("md") => "text/markdown; charset=utf-8",
        _ => "text/plain; charset=utf-8",
    }
}

/// Writes a value: nothing where there is none, the digits of numbers as the API writes them, texts escaped.
pub(crate) fn write(out: &mut Output<'_>, state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    if let Some(direct) = value.downcast_object_ref::<Direct>() {
        return direct.write(out, state);
    }
    let escape = state.auto_escape();
    // what most values are
    if let (AutoEscape::Html, Some(text), false) = (escape, value.as_str(), value.is_safe()) {
        return Ok(html(out, text)?);
    }
    if *escape == AutoEscape::Json {
        return escape_formatter(out, state, value);
    }
    match value.kind() {
        ValueKind::Undefined | ValueKind::None => return Ok(()),
        ValueKind::Bool => return Ok(out.write_str(if value.is_true() { "true" } else { "false" })?),
        ValueKind::Number => return number(out, value).map_err(Error::from),
        ValueKind::Invalid => return escape_formatter(out, state, value),
        _ => {}
    }
    let shown;
    let text = match value.as_str() {
        Some(text) => text,
        None => {
            shown = value.to_string();
            &shown
        }
    };
    if value.is_safe() {
        return Ok(out.write_str(text)?);
    }
    match escape {
        AutoEscape::None => out.write_str(text)?,
        escape if *escape == CSV => csv(out, text)?,
        escape if *escape == XML => xml(out, text)?,
        _ => html(out, text)?,
    }
    Ok(())
}

fn number(out: &mut Output<'_>, value: &Value) -> fmt::Result {
    if value.is_integer() {
        return match value.as_i64() {
            Some(integer) => out.write_str(itoa::Buffer::new().format(integer)),
            None => write!(out, "{value}"),
        };
    }
    match f64::try_from(value.clone()) {
        Ok(float) => write_float(out, float),
        _ => write!(out, "{value}"),
    }
}

/// The same of a float, without a value.
pub(crate) fn write_float(out: &mut impl fmt::Write, float: f64) -> fmt::Result {
    match float {
        // 12, not 12.0
        _ if float.fract() == 0.0 && float.abs() < 1e15 => out.write_str(itoa::Buffer::new().format(float as i64)),
        // digits without an exponent
        _ if (1e-3..1e15).contains(&float.abs()) => out.write_str(zmij::Buffer::new().format_finite(float)),
        _ => write!(out, "{}", Value::from(float)),
    }
}

/// Writes what lies between bytes that stand for something else, and that for each of these.
#[inline]
fn replaced(
    out: &mut Output<'_>,
    mut text: &str,
    next: impl Fn(&str) -> Option<usize>,
    entity: impl Fn(u8) -> Option<&'static str>,
) -> fmt::Result {
    while let Some(at) = next(text) {
        let (before, rest) = text.split_at(at);
        let (byte, rest) = rest.split_at(1);
        out.write_str(before)?;
        out.write_str(entity(byte.as_bytes()[0]).unwrap_or(byte))?;
        text = rest;
    }
    out.write_str(text)
}

fn entity(byte: u8) -> Option<&'static str> {
    match byte {
        b'&' => Some("&amp;"),
        b'<' => Some("&lt;"),
        b'>' => Some("&gt;"),
        b'"' => Some("&quot;"),
        b'\'' => Some("&#39;"),
        _ => None,
    }
}

fn html(out: &mut Output<'_>, text: &str) -> fmt::Result {
    replaced(out, text, |text| next_entity(text.as_bytes()).map(|(at, _)| at), entity)
}

/// Where the first byte is that has an entity in HTML, and which: eight are looked at at once, since most have none.
pub(crate) fn next_entity(bytes: &[u8]) -> Option<(usize, &'static str)> {
    const WORD: usize = size_of::<u64>();
    const fn each(byte: u8) -> u64 {
        u64::from_ne_bytes([byte; WORD])
    }
    /// The highest bit of the first byte that is this one, and perhaps of others behind it.
    fn is(word: u64, byte: u8) -> u64 {
        let zero = word ^ each(byte);
        zero.wrapping_sub(each(1)) & !zero & each(0x80)
    }
    // `&` and `'` differ in the lowest bit, `<` and `>` in the second
    let find = |word: u64| is(word | each(1), b'\'') | is(word | each(2), b'>') | is(word, b'"');
    let in_word = |word: &[u8; WORD]| match find(u64::from_le_bytes(*word)) {
        0 => None,
        bits => Some(bits.trailing_zeros() as usize / WORD),
    };
    let (words, rest) = bytes.as_chunks::<WORD>();
    let in_words = words.iter().enumerate().find_map(|(at, word)| Some(at * WORD + in_word(word)?));
    let at = match (in_words, bytes.last_chunk()) {
        (Some(at), _) => at,
        // the last ones with some that are known to have none
        (None, Some(last)) => bytes.len() - WORD + in_word(last)?,
        (None, None) => rest.iter().position(|byte| entity(*byte).is_some())?,
    };
    Some((at, entity(bytes[at])?))
}

/// The same without the control characters that no document may hold (XML 1.0 section 2.2).
fn xml(out: &mut Output<'_>, text: &str) -> fmt::Result {
    let entity = |byte| match byte {
        0..=8 | 11 | 12 | 14..=31 => Some(""),
        byte => entity(byte),
    };
    replaced(out, text, |text| text.bytes().position(|byte| entity(byte).is_some()), entity)
}

/// In quotes where that is needed (RFC 4180).
fn csv(out: &mut Output<'_>, text: &str) -> fmt::Result {
    if !text.bytes().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r')) {
        return out.write_str(text);
    }
    out.write_str("\"")?;
    replaced(out, text, |text| text.find('"'), |_| Some("\"\""))?;
    out.write_str("\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use minijinja::Environment;

    #[test]
    fn every_byte_that_has_an_entity_is_found_wherever_it_stands() {
        for length in 0..40 {
            let plain = "é".repeat(length / 2) + &"x".repeat(length % 2);
            assert_eq!(next_entity(plain.as_bytes()), None);
            for at in 0..length {
                for byte in 0..128_u8 {
                    let mut text = vec![b'a'; length];
                    text[at] = byte;
                    // what stands behind it is found later
                    text[at + 1..].iter_mut().step_by(3).for_each(|behind| *behind = b'&');
                    let behind = if at + 1 < length { Some(at + 1) } else { None };
                    let expected = if entity(byte).is_some() { Some(at) } else { behind };
                    let found = next_entity(&text);
                    assert_eq!(found.map(|(at, _)| at), expected, "{text:?}");
                    assert!(found.is_none_or(|(at, replaced)| Some(replaced) == entity(text[at])));
                }
            }
        }
    }

    #[test]
    fn a_float_has_the_digits_of_the_standard_library_and_no_exponent() {
        let mut environment = Environment::new();
        environment.set_formatter(write);
        environment.set_auto_escape_callback(of_template);
        environment.add_template("page.html", "{{ n }}").unwrap();
        let page = environment.get_template("page.html").unwrap();
        let written = |n: f64| page.render(minijinja::context! { n }).unwrap();
        let mut float = 1.7e-12_f64;
        while float < 1e14 {
            for n in [float, -float, float.round() + 0.5, float * 1.000_000_1, float.next_up()] {
                assert_eq!(written(n), n.to_string());
            }
            float *= 3.1;
        }
        for (n, text) in [
            (0.001, "0.001"),
            (0.1, "0.1"),
            (12.0, "12"),
            (-12.5, "-12.5"),
            (999_999_999_999_999.9, "999999999999999.9"),
        ] {
            assert_eq!(written(n), text);
        }
    }
}
