//! CSV (RFC 4180) with the values as PostgreSQL shows them. As in PostgreSQL's `COPY`, a field without
//! any character is NULL, and `""` the empty string.

use crate::error::EncodeError;
use crate::program::Node;
use crate::value::ValueWriter;
use thalweg_rows::RowView;

/// The bytes of a byte order mark, which is no part of the first name where it begins a document.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// The word that is NULL too where it is not quoted. A record with only an empty field would be a blank line.
const NULL_WORD: &[u8] = b"NULL";

/// Returns the header line, without a line end.
pub(crate) fn header<'a>(names: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut header = Vec::new();
    for (at, name) in names.enumerate() {
        if at > 0 {
            header.push(b',');
        }
        field(&mut header, name);
    }
    header
}

/// Appends a row's fields, without a line end. `scratch` holds one field's JSON at a time.
pub(crate) fn record(
    out: &mut Vec<u8>,
    scratch: &mut Vec<u8>,
    writer: &ValueWriter,
    row: RowView<'_>,
) -> Result<(), EncodeError> {
    let mut columns = row.columns();
    for (at, slot) in writer.program.slots.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        let bytes = columns.column()?;
        match (&slot.node, bytes) {
            (Node::Output, Some(text)) => field(out, text),
            (
                Node::Row(_)
                | Node::Output
                | Node::Digits
                | Node::Flag
                | Node::Scalar(_)
                | Node::Array(_)
                | Node::Values(_),
                None,
            ) => {
                if writer.program.slots.len() == 1 {
                    out.extend_from_slice(NULL_WORD);
                }
            }
            (node, bytes) => {
                scratch.clear();
                writer.value(scratch, node, bytes)?;
                field(out, scratch);
            }
        }
    }
    Ok(())
}

/// Appends a field. It is quoted if its text has a meaning in a document otherwise, or if PostgreSQL quotes it in a record.
fn field(out: &mut Vec<u8>, text: &[u8]) {
    let special =
        |byte: &u8| matches!(byte, b',' | b'(' | b')' | b'"' | b'\\' | b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c);
    let has_meaning = text.is_empty() || text == NULL_WORD || text.starts_with(BYTE_ORDER_MARK);
    if !has_meaning && !text.iter().any(special) {
        out.extend_from_slice(text);
        return;
    }
    out.push(b'"');
    for piece in text.split_inclusive(|byte| *byte == b'"') {
        out.extend_from_slice(piece);
        if piece.ends_with(b"\"") {
            out.push(b'"');
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    #[test]
    fn fields_with_a_meaning_of_their_own_are_quoted() {
        for (text, quoted) in [
            ("plain", "plain"),
            ("", "\"\""),
            ("a b", "\"a b\""),
            ("a,b", "\"a,b\""),
            ("say \"x\"", "\"say \"\"x\"\"\""),
            ("\\xde", "\"\\xde\""),
            ("NULL", "\"NULL\""),
            ("null", "null"),
            ("\u{feff}id", "\"\u{feff}id\""),
            ("a\u{feff}", "a\u{feff}"),
            ("(a)", "\"(a)\""),
            ("line\r\nbreak", "\"line\r\nbreak\""),
            ("line\nbreak", "\"line\nbreak\""),
            ("é", "é"),
        ] {
            let mut out = Vec::new();
            super::field(&mut out, text.as_bytes());
            assert_eq!(String::from_utf8(out).unwrap(), quoted);
        }
    }
}
