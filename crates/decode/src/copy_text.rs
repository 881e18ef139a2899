//! The text format of `COPY` (source: PostgreSQL's manual, page `sql-copy`, "Text Format").

/// What stands for NULL.
pub(crate) const NULL: &[u8] = b"\\N";

/// How large the buffers are that rows are made in, in bytes: all alike, so that memory is used again.
const BUFFER_BYTES: usize = 96 * 1024;

/// Takes the rows that are whole out of a buffer, and leaves the one that is begun in another.
pub(crate) fn take_rows(out: &mut Vec<u8>, whole_bytes: usize) -> Vec<u8> {
    let begun = &out[whole_bytes..];
    let mut next = Vec::with_capacity(BUFFER_BYTES.max(begun.len()));
    next.extend_from_slice(begun);
    out.truncate(whole_bytes);
    std::mem::replace(out, next)
}

/// Appends bytes of a field, escaped.
pub(crate) fn append_escaped(out: &mut Vec<u8>, mut bytes: &[u8]) {
    while let Some(at) = bytes.iter().position(|byte| matches!(byte, b'\\' | b'\n' | b'\r' | b'\t')) {
        out.extend_from_slice(&bytes[..at]);
        out.push(b'\\');
        out.push(match bytes[at] {
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            other => other,
        });
        bytes = &bytes[at + 1..];
    }
    out.extend_from_slice(bytes);
}

/// Appends a character of a field, escaped.
pub(crate) fn append_char(out: &mut Vec<u8>, character: char) {
    append_escaped(out, character.encode_utf8(&mut [0; 4]).as_bytes());
}
