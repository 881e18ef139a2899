//! What was found, a line for each entry of each span, for programs that read columns.

use crate::gloss::{Meaning, Span};

/// The columns, between tabs.
pub const COLUMNS: &str = "start\tend\ttext\theadword\treading\treasons\tglosses\n";

/// Appends a span: a line for each of its entries. What a list has is parted by semicolons.
pub fn write_columns(out: &mut Vec<u8>, span: Span<'_>) {
    for meaning in span.meanings() {
        let place = format!("{}\t{}\t", span.start(), span.end());
        out.extend_from_slice(place.as_bytes());
        put(out, span.text());
        match meaning {
            Meaning::Word(word) => {
                column(out, [word.headword()]);
                column(out, [word.reading()]);
                column(out, word.reasons());
                column(out, word.glosses());
            }
            Meaning::Name(name) => {
                column(out, [name.headword()]);
                column(out, [name.reading().to_string()]);
                column(out, ["name"]);
                column(out, name.glosses().map(|gloss| gloss.to_string()));
            }
        }
        out.push(b'\n');
    }
}

fn column(out: &mut Vec<u8>, texts: impl IntoIterator<Item = impl AsRef<str>>) {
    out.push(b'\t');
    for (at, text) in texts.into_iter().enumerate() {
        out.extend_from_slice(if at > 0 { b"; " } else { b"" });
        put(out, text.as_ref());
    }
}

/// A text within a column has no tab and no line break of its own.
fn put(out: &mut Vec<u8>, text: &str) {
    out.extend(text.bytes().map(|byte| if matches!(byte, b'\t' | b'\n' | b'\r') { b' ' } else { byte }));
}
