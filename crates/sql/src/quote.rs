//! Identifiers and array literals, quoted.

use std::borrow::Borrow;

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
        out.push('"');
        for c in element.borrow().chars() {
            if matches!(c, '"' | '\\') {
                out.push('\\');
            }
            out.push(c);
        }
        out.push('"');
    }
    out.push('}');
    out
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
}
