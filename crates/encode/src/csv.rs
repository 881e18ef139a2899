//! CSV as PostgreSQL's record output has it (representation §3).

use crate::error::EncodeError;
use crate::program::Node;
use crate::value::ValueWriter;
use thalweg_rows::RowView;

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
            ) => {}
            (node, bytes) => {
                scratch.clear();
                writer.value(scratch, node, bytes)?;
                field(out, scratch);
            }
        }
    }
    Ok(())
}

/// Quotes where the text is empty or holds what has a meaning in a record; quotes and backslashes are doubled.
fn field(out: &mut Vec<u8>, text: &[u8]) {
    let special =
        |byte: &u8| matches!(byte, b',' | b'(' | b')' | b'"' | b'\\' | b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c);
    if !text.is_empty() && !text.iter().any(special) {
        out.extend_from_slice(text);
        return;
    }
    out.push(b'"');
    for piece in text.split_inclusive(|byte| matches!(byte, b'"' | b'\\')) {
        out.extend_from_slice(piece);
        if let Some(&last @ (b'"' | b'\\')) = piece.last() {
            out.push(last);
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    #[test]
    fn fields_are_quoted_like_those_of_a_record() {
        for (text, quoted) in [
            ("plain", "plain"),
            ("", "\"\""),
            ("a b", "\"a b\""),
            ("a,b", "\"a,b\""),
            ("say \"x\"", "\"say \"\"x\"\"\""),
            ("\\xde", "\"\\\\xde\""),
            ("(a)", "\"(a)\""),
            ("line\nbreak", "\"line\nbreak\""),
            ("é", "é"),
        ] {
            let mut out = Vec::new();
            super::field(&mut out, text.as_bytes());
            assert_eq!(String::from_utf8(out).unwrap(), quoted);
        }
    }
}
