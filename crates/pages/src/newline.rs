//! The first line of a text that HTML shows as it is.
//!
//! A parser of HTML discards a line feed that follows the start tag of a `textarea` or a `pre`. If a
//! value is written there, an empty first line of it would be lost, in a form with each save. The
//! template therefore writes a line feed of its own before the value, as a character reference, so
//! that all lines of the template keep their numbers.

/// The elements whose first line feed is discarded.
const ELEMENTS: [&str; 2] = ["textarea", "pre"];
/// A line feed that is discarded in place of the value's.
const LINE_FEED: &str = "&#10;";

/// A template of HTML in which each value that directly follows such a start tag keeps its first
/// line feed. Other templates stay as they are.
pub(crate) fn keep_first_line(file: &str, template: &str) -> String {
    let mut kept = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(end) = file.ends_with(".html").then(|| start_tag_end(rest)).flatten() {
        let (tag, after) = rest.split_at(end);
        kept.push_str(tag);
        if after.starts_with("{{") || after.starts_with("{%") {
            kept.push_str(LINE_FEED);
        }
        rest = after;
    }
    kept.push_str(rest);
    kept
}

/// The place after the first start tag of one of the elements.
fn start_tag_end(text: &str) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + text[from..].find('<')? + 1;
        let is_here = |name: &&&str| {
            let tail = text.as_bytes().get(at..).unwrap_or_default();
            let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'>' | b'{' | b'/');
            tail.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()))
                && tail.get(name.len()).is_some_and(ends)
        };
        if let Some(name) = ELEMENTS.iter().find(is_here) {
            return Some(at + name.len() + tag_end(&text[at + name.len()..])?);
        }
        from = at;
    }
}

/// The place after the `>` of a tag, which template code and quoted values may contain too.
fn tag_end(text: &str) -> Option<usize> {
    let (mut at, mut quote) = (0, None);
    while let Some(c) = text[at..].chars().next() {
        let code =
            [("{{", "}}"), ("{%", "%}"), ("{#", "#}")].into_iter().find(|(begin, _)| text[at..].starts_with(begin));
        if let Some((begin, end)) = code {
            at += begin.len() + text[at + begin.len()..].find(end)? + end.len();
            continue;
        }
        at += c.len_utf8();
        match (c, quote) {
            ('>', None) => return Some(at),
            ('"' | '\'', None) => quote = Some(c),
            (_, Some(open)) if c == open => quote = None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_keeps_its_first_line() {
        for (template, kept) in [
            ("<textarea>{{ a }}</textarea>", "<textarea>&#10;{{ a }}</textarea>"),
            ("<TextArea rows=4\n>{% if a %}{{ a }}{% endif %}", "<TextArea rows=4\n>&#10;{% if a %}{{ a }}{% endif %}"),
            (
                "<textarea title=\"a > b\" {% if a > b %}x{% endif %}>{{ a }}<pre>{{- b }}",
                "<textarea title=\"a > b\" {% if a > b %}x{% endif %}>&#10;{{ a }}<pre>&#10;{{- b }}",
            ),
            ("é<textarea{{ ' >' }}>{{ a }}", "é<textarea{{ ' >' }}>&#10;{{ a }}"),
            ("<p>{{ a }}</p><prefix>{{ a }}</prefix>", "<p>{{ a }}</p><prefix>{{ a }}</prefix>"),
            ("<textarea>\n{{ a }}<pre>a{{ a }}", "<textarea>\n{{ a }}<pre>a{{ a }}"),
            ("<textarea>{# a #}", "<textarea>{# a #}"),
            ("<textarea title=\"{{ a }", "<textarea title=\"{{ a }"),
            ("<textarea title='>{{ a }}", "<textarea title='>{{ a }}"),
            ("a < b <", "a < b <"),
        ] {
            assert_eq!(keep_first_line("_a.html", template), kept);
        }
        assert_eq!(keep_first_line("a.xml", "<pre>{{ a }}"), "<pre>{{ a }}");
    }
}
