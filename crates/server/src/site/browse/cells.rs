//! Values as a page shows them: cut, linked, and told apart where they look alike.

use super::address::{Address, of_rows};
use super::level::{Kind, Level, Reference, Shown};
use minijinja::value::{Value as Given, ValueKind};
use std::sync::Arc;
use thalweg_json::{Value, json};

/// How many characters of a text are shown. One more is fetched.
pub(crate) const CELL_CHARS_MAX: u32 = 2_000;

/// How many values a page shows, those in rows within rows among them.
pub(crate) const CELLS_MAX: usize = 20_000;

/// How much the texts of a page may take together, with its links.
pub(crate) const SHOWN_BYTES_MAX: usize = 8 * 1024 * 1024;

/// How long a value may be by which rows are linked.
pub(crate) const LINKED_BYTES_MAX: usize = 512;

/// How long a text may be that is shown on one line.
const SHORT_BYTES_MAX: usize = 32;

/// How many rows a page shows.
pub(crate) const ROWS_MAX: u64 = 1_000;

/// How many rows are shown within a row. One more is fetched.
pub(crate) const INNER_ROWS_MAX: usize = 10;

/// Makes cells of values, up to [`CELLS_MAX`] and [`SHOWN_BYTES_MAX`].
pub(crate) struct Cells<'a> {
    prefix: &'a str,
    left: usize,
    left_bytes: usize,
}

/// A row that is shown.
pub(crate) struct Shape {
    pub(crate) cells: Vec<Value>,
    /// Where it stands alone.
    pub(crate) href: Option<String>,
    /// The texts of its values, of those that are whole.
    texts: Vec<Option<String>>,
}

impl<'a> Cells<'a> {
    pub(crate) fn new(prefix: &'a str) -> Self {
        Self { prefix, left: CELLS_MAX, left_bytes: SHOWN_BYTES_MAX }
    }

    /// A row of a level, or what is left of it.
    pub(crate) fn row(&mut self, level: &Level, row: &Given) -> Result<Shape, minijinja::Error> {
        let values: Vec<Given> =
            level.columns.iter().map(|shown| row.get_attr(&shown.key)).collect::<Result<_, _>>()?;
        let texts: Vec<Option<String>> = values.iter().map(whole_text).collect();
        let address = level.relation.as_deref().and_then(|relation| self.address(relation, &level.key, &texts));
        let mut cells = Vec::with_capacity(values.len());
        for ((shown, value), text) in level.columns.iter().zip(&values).zip(&texts) {
            let mut cell = self.cell(shown, value)?;
            let (is_shown, is_whole) = (!matches!(cell["kind"].as_str(), Some("null" | "left")), cell["cut"] != true);
            if let Some(refers) =
                shown.refers.as_ref().filter(|_| is_shown).and_then(|known| self.reference(known, &texts))
            {
                cell["href"] = self.link(&refers).into();
            } else if let (Some(column), Some(address)) = (&shown.column, &address)
                && is_shown
                && (matches!(shown.kind, Kind::Bytes) || (!is_whole && text.is_none()))
            {
                let whole = address.with(&[("select", Some(super::address::name(column)))]);
                cell["whole"] = self.link(&whole.saying(&[("as", "raw")])).into();
            }
            cells.push(cell);
        }
        let href = address.and_then(|address| self.link(&address));
        Ok(Shape { cells, href, texts })
    }

    /// Where the rows are that refer to a row.
    pub(crate) fn referring(&self, level: &Level, row: &Shape) -> Vec<Value> {
        let link = |reference: &Reference| {
            let href = self.reference(reference, &row.texts)?.link();
            Some(json!({"label": reference.label(), "href": href}))
        };
        level.referred.iter().filter_map(link).collect()
    }

    fn reference(&self, reference: &Reference, texts: &[Option<String>]) -> Option<Address> {
        self.address(&reference.relation, &reference.columns, texts)
    }

    /// The address of rows by values of this one, if there are any, and all are whole.
    fn address(&self, relation: &str, columns: &[(usize, Arc<str>)], texts: &[Option<String>]) -> Option<Address> {
        let mut values = Vec::with_capacity(columns.len());
        for (at, column) in columns {
            values.push((&**column, texts.get(*at)?.as_deref()?));
        }
        (!values.is_empty()).then(|| of_rows(self.prefix, relation, &values))
    }

    /// Whether there is room for so many cells, which are taken.
    fn takes(&mut self, cells: usize) -> bool {
        let left = self.left.checked_sub(cells);
        self.left = left.unwrap_or(0);
        left.is_some()
    }

    /// Whether there is room for a text, which is taken.
    fn has_room(&mut self, text: &str) -> bool {
        let left = self.left_bytes.checked_sub(text.len());
        self.left_bytes = left.unwrap_or(0);
        left.is_some()
    }

    /// A link, if there is room for it.
    fn link(&mut self, address: &Address) -> Option<String> {
        Some(address.link()).filter(|link| self.has_room(link))
    }

    fn cell(&mut self, shown: &Shown, value: &Given) -> Result<Value, minijinja::Error> {
        if !self.takes(1) {
            return Ok(left_out());
        }
        if value.kind() == ValueKind::Invalid {
            // the error that it is
            return Err(value.get_attr("").err().unwrap_or_else(|| minijinja::ErrorKind::InvalidOperation.into()));
        }
        if value.is_none() || value.is_undefined() {
            return Ok(json!({"kind": "null"}));
        }
        let cell = match &shown.kind {
            Kind::Row(level) => return self.record(level, value),
            Kind::Rows(level) => return self.rows(level, value),
            Kind::Bytes => json!({"kind": "bytes", "text": format!("{} bytes", grouped(&value.to_string()))}),
            Kind::Flag => json!({"kind": "flag", "text": if value.is_true() { "true" } else { "false" }}),
            Kind::Number => json!({"kind": "number", "text": value.to_string(), "is_short": true}),
            Kind::Json => document(value),
            Kind::Text => text(value),
        };
        let has_room = cell["text"].as_str().is_none_or(|text| self.has_room(text));
        Ok(if has_room { cell } else { left_out() })
    }

    fn record(&mut self, level: &Level, value: &Given) -> Result<Value, minijinja::Error> {
        if !self.takes(level.columns.len()) {
            return Ok(left_out());
        }
        let row = self.row(level, value)?;
        let names = level.columns.iter().map(|shown| shown.key.as_ref());
        let fields: Vec<Value> = names.zip(row.cells).map(|(name, cell)| json!({"name": name, "cell": cell})).collect();
        Ok(json!({"kind": "row", "fields": fields, "href": row.href}))
    }

    fn rows(&mut self, level: &Level, value: &Given) -> Result<Value, minijinja::Error> {
        // their names are written for each
        if !self.takes(level.columns.len()) {
            return Ok(left_out());
        }
        let count = value.len().unwrap_or(0);
        let mut rows = Vec::new();
        for row in value.try_iter()?.take(INNER_ROWS_MAX) {
            let row = self.row(level, &row)?;
            rows.push(json!({"cells": row.cells, "href": row.href}));
        }
        let names: Vec<&str> = level.columns.iter().map(|shown| &*shown.key).collect();
        let has_links = rows.iter().any(|row| !row["href"].is_null());
        Ok(json!({"kind": "rows", "names": names, "rows": rows, "cut": count > INNER_ROWS_MAX, "links": has_links}))
    }
}

/// What stands for a value where a page has no room for it.
fn left_out() -> Value {
    json!({"kind": "left"})
}

fn document(value: &Given) -> Value {
    let text = match value.as_str() {
        Some(text) => text.to_owned(),
        None => thalweg_json::to_string(value).unwrap_or_default(),
    };
    let (text, is_cut) = cut(&text);
    json!({"kind": "json", "text": indented(text), "cut": is_cut})
}

fn text(value: &Given) -> Value {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let (text, is_cut) = cut(&text);
    let mut cell = json!({"kind": if text.is_empty() { "empty" } else { "text" }, "text": text, "cut": is_cut});
    cell["is_short"] = (text.len() <= SHORT_BYTES_MAX).into();
    if !is_cut && is_web_address(text) {
        cell["outside"] = text.into();
    }
    cell
}

/// The text of a value by which rows can be found, if all of it is here.
fn whole_text(value: &Given) -> Option<String> {
    match value.kind() {
        ValueKind::String => value.as_str().filter(|text| text.len() <= LINKED_BYTES_MAX).map(str::to_owned),
        ValueKind::Number => Some(value.to_string()),
        ValueKind::Bool => Some(if value.is_true() { "true" } else { "false" }.to_owned()),
        _ => None,
    }
}

/// As much of a text as is shown, and whether that is not all.
fn cut(text: &str) -> (&str, bool) {
    match text.char_indices().nth(CELL_CHARS_MAX as usize) {
        Some((end, _)) => (&text[..end], true),
        None => (text, false),
    }
}

/// Whether a text is nothing but an address on the web. Others, such as `javascript:`, do something where they are followed.
fn is_web_address(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.contains(|c: char| c.is_whitespace() || c.is_control()))
}

/// Digits in groups of three.
pub(crate) fn grouped(digits: &str) -> String {
    let mut grouped = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    grouped
}

/// JSON on lines of its own, be it cut off somewhere.
fn indented(json: &str) -> String {
    const DEEP_MAX: usize = 40;
    let mut out = String::with_capacity(json.len() * 2);
    let (mut depth, mut is_text, mut is_escaped) = (0usize, false, false);
    let mut rest = json.chars().peekable();
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth.min(DEEP_MAX)));
    };
    while let Some(c) = rest.next() {
        match c {
            _ if is_text => {
                is_text = c != '"' || is_escaped;
                is_escaped = c == '\\' && !is_escaped;
                out.push(c);
            }
            ' ' | '\n' | '\t' | '\r' => {}
            '{' | '[' => {
                out.push(c);
                while rest.next_if(|next| next.is_ascii_whitespace()).is_some() {}
                if let Some(end) = rest.next_if(|next| matches!(next, '}' | ']')) {
                    out.push(end);
                } else {
                    depth += 1;
                    line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            _ => {
                is_text = c == '"';
                out.push(c);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_indented_wherever_it_ends() {
        assert_eq!(
            indented(r#"{"a": [1,2], "b":{}, "c": "x,\"{" }"#),
            "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": {},\n  \"c\": \"x,\\\"{\"\n}"
        );
        assert_eq!(indented(r#"[ ]"#), "[]");
        assert_eq!(indented(r#"{"a": "cut"#), "{\n  \"a\": \"cut");
        // deep, it is no longer than it is deep
        assert!(indented(&"[".repeat(2_000)).len() < 2_000 * 84);
    }

    #[test]
    fn only_the_web_is_linked() {
        for (text, expected) in [
            ("https://example.org/?a=b", true),
            ("http://x", true),
            ("javascript:alert(1)", false),
            ("https://", false),
            (" https://example.org", false),
            ("https://example.org and more", false),
            ("data:text/html,x", false),
            ("https:\tjavascript:", false),
        ] {
            assert_eq!(is_web_address(text), expected, "{text}");
        }
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(grouped("1234567"), "1\u{202f}234\u{202f}567");
        assert_eq!(grouped("12"), "12");
    }
}
