//! The syntax of paths before version 16: `.club.roles[0]`, `.roles[?(@ == "pilot")]`.

use super::Fault;
use super::query::{Origin, Query, Segment, Selector, StringTest};

/// Reads a whole path.
pub(super) fn query(text: &str) -> Result<Query, Fault> {
    let mut rest = text;
    let mut segments = Vec::new();
    let fault = |rest: &str, expected| Fault { at: text.len() - rest.len(), expected };
    if text.is_empty() {
        return Err(fault(rest, "'$' or '.'"));
    }
    while !rest.is_empty() {
        let (selector, behind) = if let Some(name) = rest.strip_prefix('.') {
            name_step(name).map_err(|expected| fault(name, expected))?
        } else if let Some(filter) = rest.strip_prefix("[?(@") {
            let (selector, behind) = filter_step(filter).map_err(|expected| fault(filter, expected))?;
            if !behind.is_empty() {
                return Err(fault(behind, "the end behind a filter"));
            }
            (selector, behind)
        } else if let Some(index) = rest.strip_prefix('[') {
            index_step(index).map_err(|expected| fault(index, expected))?
        } else {
            return Err(fault(rest, if segments.is_empty() { "'$' or '.'" } else { "'.' or '['" }));
        };
        segments.push(Segment::of(selector));
        rest = behind;
    }
    Ok(Query { from: Origin::Root, segments })
}

type Step<'t> = Result<(Selector, &'t str), &'static str>;

fn name_step(text: &str) -> Step<'_> {
    let (name, behind) = if text.starts_with('"') {
        quoted(text)?
    } else {
        let is_in_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '@');
        text.split_at(text.find(|c| !is_in_name(c)).unwrap_or(text.len()))
    };
    if name.is_empty() && !text.starts_with('"') {
        Err("a name")
    } else {
        Ok((Selector::Name(name.to_owned()), behind))
    }
}

fn index_step(text: &str) -> Step<'_> {
    let (digits, behind) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let behind = behind.strip_prefix(']').filter(|_| !digits.is_empty()).ok_or("digits and ']'")?;
    // no claims have as many elements as would not fit
    Ok((Selector::Index(digits.parse().unwrap_or(i64::MAX)), behind))
}

fn filter_step(text: &str) -> Step<'_> {
    const TESTS: [(&str, StringTest); 5] = [
        ("==^", StringTest::Ends),
        ("^==", StringTest::Starts),
        ("*==", StringTest::Contains),
        ("==", StringTest::Equal),
        ("!=", StringTest::Differs),
    ];
    let text = text.trim_start_matches(' ');
    let found = TESTS.iter().find_map(|(operator, test)| Some((*test, text.strip_prefix(operator)?)));
    let (test, behind) = found.ok_or("'==', '!=', '^==', '==^' or '*=='")?;
    let (wanted, behind) = quoted(behind.trim_start_matches(' '))?;
    let behind = behind.trim_start_matches(' ').strip_prefix(")]").ok_or("')]'")?;
    Ok((Selector::Strings(test, wanted.to_owned()), behind))
}

/// Any characters between quotes, of which none is escaped.
fn quoted(text: &str) -> Result<(&str, &str), &'static str> {
    text.strip_prefix('"').and_then(|text| text.split_once('"')).ok_or("a text in double quotes")
}
