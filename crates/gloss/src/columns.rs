//! What was found, a line for each entry of each span, for programs that read columns.

use crate::gloss::{Meaning, Span};
use std::fmt::{self, Display, Write};

/// The columns, between tabs.
pub const COLUMNS: &str = "start\tend\ttext\theadword\treading\treasons\tglosses\n";

/// Appends a span: a line for each of its entries. What a list has is parted by semicolons.
pub fn write_columns(out: &mut Vec<u8>, span: Span<'_, '_>) {
    for meaning in span.meanings() {
        put(out, span.start());
        column(out, [span.end()]);
        column(out, [span.text()]);
        match meaning {
            Meaning::Word(word) => {
                column(out, [word.headword()]);
                column(out, [word.reading()]);
                column(out, word.reasons());
                column(out, word.glosses());
            }
            Meaning::Name(name) => {
                column(out, [name.headword()]);
                column(out, [name.reading()]);
                column(out, ["name"]);
                column(out, name.glosses());
            }
        }
        out.push(b'\n');
    }
}

fn column(out: &mut Vec<u8>, items: impl IntoIterator<Item = impl Display>) {
    out.push(b'\t');
    for (at, item) in items.into_iter().enumerate() {
        out.extend_from_slice(if at > 0 { b"; " } else { b"" });
        put(out, item);
    }
}

fn put(out: &mut Vec<u8>, item: impl Display) {
    // a buffer takes all
    let _ = write!(Within(out), "{item}");
}

/// The inside of a column, which has no tab and no line break of its own.
struct Within<'a>(&'a mut Vec<u8>);

impl Write for Within<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend(text.bytes().map(|byte| if matches!(byte, b'\t' | b'\n' | b'\r') { b' ' } else { byte }));
        Ok(())
    }
}
