//! `multipart/form-data` (RFC 7578) without a copy: own code, since crates for it copy each file once.

use bytes::Bytes;
use memchr::memmem::Finder;
use std::fmt;
use std::ops::Range;
use thalweg_decode::Chunks;

/// How many parts a body may have.
const PARTS_MAX: usize = 1_000;
/// How long the headers of most parts are, in bytes.
const HEADERS_BYTES: u64 = 256;
/// How long the headers of a part may be, in bytes.
const HEADERS_BYTES_MAX: u64 = 16 * 1024;

/// A part of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The name of its field.
    pub name: String,
    /// The name of the file, if it is one: empty where none was chosen.
    pub file_name: Option<String>,
    /// Its media type, if it has one.
    pub content_type: Option<String>,
    /// What it holds, in the chunks that it came in.
    pub content: Vec<Bytes>,
}

/// Why a body is not made of parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MultipartError {
    /// It does not begin with a boundary.
    Start,
    /// It ends without the closing boundary.
    End,
    /// The headers of a part have no end, or are too long.
    Headers,
    /// A part has no name.
    Name,
    /// It has too many parts.
    TooMany,
}

impl fmt::Display for MultipartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => f.write_str("The body does not begin with its boundary"),
            Self::End => f.write_str("The body ends before its closing boundary"),
            Self::Headers => f.write_str("The headers of a part do not end"),
            Self::Name => f.write_str("A part has no name"),
            Self::TooMany => write!(f, "The body has more than {PARTS_MAX} parts"),
        }
    }
}

impl std::error::Error for MultipartError {}

/// The parts of a body, in order.
pub fn parts(body: &Chunks, boundary: &str) -> Result<Vec<Part>, MultipartError> {
    let mut parts = Vec::new();
    let mut begun: Option<u64> = None;
    for mark in marks(body, boundary) {
        let after = slice(body, mark.end..mark.end + 2);
        let closes = after == b"--";
        let blanks = if closes { 0 } else { blanks(body, mark.end) };
        if !closes && slice(body, mark.end + blanks..mark.end + blanks + 2) != b"\r\n" {
            // the boundary's text within a part
            continue;
        }
        match begun {
            // right behind a boundary there is not even the line end of another
            Some(start) if start > mark.start => return Err(MultipartError::Headers),
            Some(start) => parts.push(part(body, start..mark.start)?),
            None if mark.end as usize == boundary.len() + 2 => {}
            // what stands before the first part is for people (RFC 2046 §5.1.1)
            None if slice(body, 0..2) != b"--" => {}
            None => return Err(MultipartError::Start),
        }
        if parts.len() > PARTS_MAX {
            return Err(MultipartError::TooMany);
        }
        if closes {
            return Ok(parts);
        }
        begun = Some(mark.end + blanks + 2);
    }
    Err(if begun.is_some() { MultipartError::End } else { MultipartError::Start })
}

/// Where boundaries stand, each with the line end before it, which the first need not have.
fn marks(body: &Chunks, boundary: &str) -> Vec<Range<u64>> {
    let mark = format!("\r\n--{boundary}").into_bytes();
    let finder = Finder::new(&mark);
    let mut found = Vec::new();
    if slice(body, 0..mark.len() as u64 - 2) == mark[2..] {
        found.push(0..mark.len() as u64 - 2);
    }
    // what came before a chunk, as far as a mark may begin there
    let (mut before, mut at): (Vec<u8>, u64) = (Vec::new(), 0);
    for chunk in body.list() {
        let mut push = |start: u64| found.push(start..start + mark.len() as u64);
        let kept = before.len();
        before.extend_from_slice(&chunk[..chunk.len().min(mark.len() - 1)]);
        finder.find_iter(&before).for_each(|start| push(at - kept as u64 + start as u64));
        finder.find_iter(chunk).for_each(|start| push(at + start as u64));
        if chunk.len() >= mark.len() - 1 {
            before.clear();
            before.extend_from_slice(&chunk[chunk.len() + 1 - mark.len()..]);
        } else {
            before.drain(..before.len().saturating_sub(mark.len() - 1));
        }
        at += chunk.len() as u64;
    }
    found.sort_by_key(|range| range.start);
    found.dedup();
    found
}

/// How many spaces and tabs stand at a place.
fn blanks(body: &Chunks, at: u64) -> u64 {
    const BLANKS_MAX: u64 = 64;
    slice(body, at..at + BLANKS_MAX).iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count() as u64
}

/// Bytes of a body, copied out: for the few that must be looked at together.
fn slice(body: &Chunks, range: Range<u64>) -> Vec<u8> {
    body.slice(range.start..range.end.min(body.size_bytes())).concat()
}

fn part(body: &Chunks, range: Range<u64>) -> Result<Part, MultipartError> {
    // most headers are short: what stands behind them is not copied for them
    let mut wanted = HEADERS_BYTES;
    let (head, end) = loop {
        let head = slice(body, range.start..range.end.min(range.start + wanted));
        // a part may have no headers at all, but then it has no name either
        match memchr::memmem::find(&head, b"\r\n\r\n") {
            Some(end) => break (head, end),
            None if wanted >= HEADERS_BYTES_MAX || range.start + wanted >= range.end => {
                return Err(MultipartError::Headers);
            }
            None => wanted *= 2,
        }
    };
    let headers = String::from_utf8_lossy(&head[..end]).into_owned();
    let header = |wanted: &str| {
        let lines = headers.split("\r\n").filter_map(|line| line.split_once(':'));
        lines.filter(|(name, _)| name.trim().eq_ignore_ascii_case(wanted)).map(|(_, value)| value.trim()).next()
    };
    let disposition = header("content-disposition").ok_or(MultipartError::Name)?;
    let name = parameter(disposition, "name").ok_or(MultipartError::Name)?;
    let start = (range.start + end as u64 + 4).min(range.end);
    Ok(Part {
        name,
        file_name: parameter(disposition, "filename"),
        content_type: header("content-type").map(str::to_owned),
        content: body.slice(start..range.end),
    })
}

/// A parameter of a header. Within quotes, browsers write `%22` for a quote, and others `\"`.
fn parameter(header: &str, wanted: &str) -> Option<String> {
    let mut rest = header.split_once(';')?.1;
    loop {
        let (name, value) = rest.split_once('=')?;
        let value = value.trim_start();
        let (text, after) = match value.strip_prefix('"') {
            Some(quoted) => {
                let mut escaped = false;
                let end = quoted.find(|c| {
                    let ends = c == '"' && !escaped;
                    escaped = c == '\\' && !escaped;
                    ends
                })?;
                (unquoted(&quoted[..end]), &quoted[end + 1..])
            }
            None => {
                let end = value.find(';').unwrap_or(value.len());
                (value[..end].trim().to_owned(), &value[end..])
            }
        };
        if name.trim().eq_ignore_ascii_case(wanted) {
            return Some(text);
        }
        rest = after.split_once(';')?.1;
    }
}

fn unquoted(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(['\\', '%']) {
        out.push_str(&rest[..at]);
        let escapes = [("\\\"", '"'), ("\\\\", '\\'), ("%22", '"'), ("%0D", '\r'), ("%0A", '\n')];
        match escapes.iter().find(|(escape, _)| rest[at..].starts_with(escape)) {
            Some((escape, character)) => {
                out.push(*character);
                rest = &rest[at + escape.len()..];
            }
            None => {
                out.push_str(&rest[at..=at]);
                rest = &rest[at + 1..];
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cut(body: &[u8], piece: usize) -> Chunks {
        let mut chunks = Chunks::default();
        body.chunks(piece).for_each(|chunk| chunks.push(Bytes::copy_from_slice(chunk)));
        chunks
    }

    #[test]
    fn parts_are_found_wherever_the_body_is_cut() {
        let body = b"--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\none\r\n--B\r\n\
            content-disposition: form-data; filename=\"x \\\"y\\\" %22.txt\"; name=f\r\nContent-Type: text/plain\r\n\r\n\
            \r\n--Bx--B\r\n\r\n--B--\r\nepilogue";
        for piece in 1..=body.len() {
            let parts = parts(&cut(body, piece), "B").unwrap();
            assert_eq!(parts.len(), 2, "in pieces of {piece}");
            assert_eq!((parts[0].name.as_str(), parts[0].content.concat()), ("a", b"one".to_vec()));
            assert_eq!(parts[0].file_name, None);
            assert_eq!(parts[1].name, "f");
            assert_eq!(parts[1].file_name.as_deref(), Some("x \"y\" \".txt"));
            assert_eq!(parts[1].content_type.as_deref(), Some("text/plain"));
            assert_eq!(parts[1].content.concat(), b"\r\n--Bx--B\r\n");
        }
    }

    #[test]
    fn what_is_no_form_is_refused() {
        let parse = |body: &str| parts(&cut(body.as_bytes(), 5), "B").map(|parts| parts.len());
        assert_eq!(parse("--B--"), Ok(0));
        assert_eq!(parse("--B--\r\n"), Ok(0));
        assert_eq!(parse("preamble\r\n--B--\r\n"), Ok(0));
        assert_eq!(parse(""), Err(MultipartError::Start));
        assert_eq!(parse("x"), Err(MultipartError::Start));
        assert_eq!(parse("--C\r\n"), Err(MultipartError::Start));
        assert_eq!(parse("--B\r\n--B\r\n\r\n--B--"), Err(MultipartError::Headers));
        assert_eq!(parse("--B\r\nContent-Disposition: form-data; name=a\r\n\r\nx"), Err(MultipartError::End));
        assert_eq!(parse("--B\r\nContent-Disposition: form-data; name=a\r\n--B--"), Err(MultipartError::Headers));
        assert_eq!(parse("--B\r\nContent-Type: a/b\r\n\r\nx\r\n--B--"), Err(MultipartError::Name));
        assert_eq!(parse("--B\r\nContent-Disposition: form-data\r\n\r\nx\r\n--B--"), Err(MultipartError::Name));
        assert_eq!(
            parse("--B\r\nContent-Disposition: form-data; name=\"a\r\n\r\nx\r\n--B--"),
            Err(MultipartError::Name)
        );
        let many = "--B\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n".repeat(1_002) + "--B--";
        assert_eq!(parse(&many), Err(MultipartError::TooMany));
    }

    proptest! {
        #[test]
        fn any_content_comes_back(contents in proptest::collection::vec("[\r\nB-]{0,12}|.{0,40}", 0..4), piece in 1usize..40) {
            prop_assume!(contents.iter().all(|content| !format!("\r\n{content}").contains("\r\n--B0undary")));
            let mut body = Vec::new();
            for content in &contents {
                body.extend_from_slice(b"--B0undary\r\nContent-Disposition: form-data; name=\"n\"\r\n\r\n");
                body.extend_from_slice(content.as_bytes());
                body.extend_from_slice(b"\r\n");
            }
            body.extend_from_slice(b"--B0undary--\r\n");
            let found = parts(&cut(&body, piece), "B0undary").unwrap();
            let found: Vec<Vec<u8>> = found.iter().map(|part| part.content.concat()).collect();
            let contents: Vec<Vec<u8>> = contents.into_iter().map(String::into_bytes).collect();
            prop_assert_eq!(found, contents);
        }

        #[test]
        fn no_bytes_make_a_panic(
            tokens in proptest::collection::vec(
                prop_oneof![
                    Just("--B"), Just("\r\n"), Just("--"), Just("Content-Disposition: form-data; name="), Just("\"a\""),
                    Just("; filename=\"f\""), Just(" "), Just("x"), Just("\r"), Just("\n"), Just("%2"), Just("\\"), Just("é"),
                ],
                0..30,
            ),
            piece in 1usize..20,
        ) {
            let _ = parts(&cut(tokens.concat().as_bytes(), piece), "B");
        }
    }
}
