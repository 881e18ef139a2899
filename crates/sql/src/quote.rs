//! Identifiers and array literals, quoted.

use std::borrow::Borrow;
use thalweg_plan::RangeKind;

/// Appends an identifier between double quotes.
pub fn quote(out: &mut String, identifier: &str) {
    out.reserve(identifier.len() + 2);
    out.push('"');
    if identifier.as_bytes().contains(&b'"') {
        out.push_str(&identifier.replace('"', "\"\""));
    } else {
        out.push_str(identifier);
    }
    out.push('"');
}

/// The text of a one-dimensional array, every element quoted (PostgreSQL's manual, section 8.15.6).
pub(crate) fn array_literal<T: Borrow<str>>(elements: &[T]) -> String {
    let mut out = String::with_capacity(elements.iter().map(|element| element.borrow().len() + 3).sum::<usize>() + 2);
    out.push('{');
    for (at, element) in elements.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        push_quoted(&mut out, element.borrow());
    }
    out.push('}');
    out
}

/// Appends an element of an array or a bound of a range between double quotes.
fn push_quoted(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
}

/// Returns a range as it is written, or the range of a single value (PostgreSQL's manual, section 8.17.5). A multirange can
/// be given as one range too.
pub(crate) fn range_literal(text: &str, kind: RangeKind) -> String {
    let trimmed = text.trim();
    let is_empty = trimmed.eq_ignore_ascii_case("empty");
    let range = match trimmed.chars().next() {
        Some('{') if kind == RangeKind::Multirange => return text.to_owned(),
        Some('[' | '(') => text.to_owned(),
        _ if is_empty && kind == RangeKind::Multirange => String::new(),
        _ if is_empty => text.to_owned(),
        _ => {
            let mut out = String::from("[");
            push_quoted(&mut out, text);
            out.push(',');
            push_quoted(&mut out, text);
            out.push(']');
            out
        }
    };
    match kind {
        RangeKind::Range => range,
        RangeKind::Multirange => format!("{{{range}}}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_doubled_or_escaped() {
        let mut out = String::new();
        quote(&mut out, r#"a"; drop table b; --"#);
        assert_eq!(out, r#""a""; drop table b; --""#);
        assert_eq!(array_literal(&["a,b", r#"q"\"#, "", "null"]), r#"{"a,b","q\"\\","","null"}"#);
        assert_eq!(array_literal::<&str>(&[]), "{}");
    }

    #[test]
    fn a_value_becomes_the_range_that_has_only_the_value() {
        for (text, range, multirange) in [
            ("2", r#"["2","2"]"#, r#"{["2","2"]}"#),
            (r#"a"\,]"#, r#"["a\"\\,]","a\"\\,]"]"#, r#"{["a\"\\,]","a\"\\,]"]}"#),
            ("", r#"["",""]"#, r#"{["",""]}"#),
            ("[1,2)", "[1,2)", "{[1,2)}"),
            (" (,2]", " (,2]", "{ (,2]}"),
            ("Empty", "Empty", "{}"),
            ("{[1,2)}", r#"["{[1,2)}","{[1,2)}"]"#, "{[1,2)}"),
        ] {
            assert_eq!(range_literal(text, RangeKind::Range), range);
            assert_eq!(range_literal(text, RangeKind::Multirange), multirange);
        }
    }
}
