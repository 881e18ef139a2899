//! `multipart/form-data` (RFC 7578) without a copy: own code, since crates for it copy each file once.

use crate::media_type::MediaType;
use bytes::Bytes;
use std::fmt;
use std::ops::Range;
use thalweg_decode::Chunks;

/// How many parts a body may have.
pub const PARTS_MAX: usize = 1_000;
/// How long the headers of a part may be, in bytes.
pub const HEADERS_BYTES_MAX: usize = 16 * 1024;
/// How many spaces and tabs may stand between a boundary and the end of its line.
const BLANKS_MAX: usize = 64;

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
    /// A part has several `Content-Type` headers, or one that is not a single media type.
    MediaType,
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
            Self::MediaType => f.write_str("The Content-Type of a part is not one media type"),
            Self::TooMany => write!(f, "The body has more than {PARTS_MAX} parts"),
        }
    }
}

impl std::error::Error for MultipartError {}

/// Finds the parts of a body as it arrives, each byte of which is looked at once.
#[derive(Debug)]
pub struct PartsReader {
    mark: Mark,
    at: u64,
    /// Whether the body begins with two hyphens: then the first mark must stand there.
    begins_with_hyphens: bool,
    /// What stands behind a mark, as far as it tells what the mark is.
    behind: Option<Behind>,
    place: Place,
    found: Vec<Found>,
    names_bytes: usize,
}

/// What is being read.
#[derive(Debug)]
enum Place {
    /// What stands before the first part is for people (RFC 2046 §5.1.1), and so is what stands behind the last.
    Outside,
    Headers(Vec<u8>),
    /// The content of the last part that was found.
    Content,
    End,
}

/// A mark that may be a boundary.
#[derive(Debug)]
struct Behind {
    /// Where the mark begins: before the body, where the line end before it is left out.
    mark_start: i64,
    blanks: usize,
    first: Option<u8>,
}

/// A part of which the headers have been read.
#[derive(Debug)]
struct Found {
    name: String,
    file_name: Option<String>,
    content_type: Option<String>,
    content: Range<u64>,
}

impl PartsReader {
    /// Of a body with this boundary.
    pub fn new(boundary: &str) -> Self {
        Self {
            mark: Mark::new(boundary),
            at: 0,
            begins_with_hyphens: true,
            behind: None,
            place: Place::Outside,
            found: Vec::new(),
            names_bytes: 0,
        }
    }

    /// Looks at a chunk.
    pub fn feed(&mut self, chunk: &[u8]) -> Result<(), MultipartError> {
        let mut here = 0;
        while let Some(&byte) = chunk.get(here) {
            // within a content, nothing but the start of a mark is of interest
            let is_of_interest = self.behind.is_some() || matches!(self.place, Place::Headers(_)) || self.at < 2;
            if !is_of_interest && self.mark.matched == 0 && byte != b'\r' {
                let passed = memchr::memchr(b'\r', &chunk[here..]).unwrap_or(chunk.len() - here);
                (here, self.at) = (here + passed, self.at + passed as u64);
                continue;
            }
            if matches!(self.place, Place::End) {
                return Ok(());
            }
            if self.at < 2 {
                self.begins_with_hyphens &= byte == b'-';
            }
            (here, self.at) = (here + 1, self.at + 1);
            if matches!(self.place, Place::Headers(_)) {
                self.read_header(byte)?;
            }
            self.read_behind(byte)?;
            if self.mark.feed(byte) {
                let mark_start = self.at as i64 - self.mark.text.len() as i64;
                self.behind = Some(Behind { mark_start, blanks: 0, first: None });
            }
        }
        Ok(())
    }

    /// The body has ended; its parts, in order.
    pub fn finish(self, body: &Chunks) -> Result<Vec<Part>, MultipartError> {
        match self.place {
            Place::End => {}
            Place::Outside => return Err(MultipartError::Start),
            Place::Headers(_) | Place::Content => return Err(MultipartError::End),
        }
        let part = |found: Found| {
            let Found { name, file_name, content_type, content } = found;
            Part { name, file_name, content_type, content: body.slice(content) }
        };
        Ok(self.found.into_iter().map(part).collect())
    }

    /// How much memory is taken for what has been found, in bytes.
    pub fn size_bytes(&self) -> usize {
        self.names_bytes + self.found.len() * size_of::<Found>()
    }

    /// Looks at what stands behind a mark, until it is known what the mark is.
    fn read_behind(&mut self, byte: u8) -> Result<(), MultipartError> {
        let Some(behind) = &mut self.behind else { return Ok(()) };
        let is_blank = matches!(byte, b' ' | b'\t');
        if behind.first.is_none() {
            if is_blank && behind.blanks < BLANKS_MAX {
                behind.blanks += 1;
                return Ok(());
            }
            if byte == b'\r' || byte == b'-' && behind.blanks == 0 {
                behind.first = Some(byte);
                return Ok(());
            }
        }
        let mark_start = behind.mark_start;
        let start = match (behind.first, byte) {
            (Some(b'\r'), b'\n') => Some(mark_start),
            (Some(b'-'), b'-') => {
                self.ends_at(mark_start)?;
                self.place = Place::End;
                None
            }
            // the boundary's text within a part
            _ => None,
        };
        self.behind = None;
        let Some(mark_start) = start else { return Ok(()) };
        self.ends_at(mark_start)?;
        if self.found.len() == PARTS_MAX {
            return Err(MultipartError::TooMany);
        }
        self.place = Place::Headers(Vec::new());
        Ok(())
    }

    /// A boundary ends what was being read.
    fn ends_at(&mut self, mark_start: i64) -> Result<(), MultipartError> {
        match (&self.place, self.found.last_mut()) {
            (Place::Content, Some(part)) if part.content.start as i64 <= mark_start => {
                part.content.end = mark_start as u64;
                Ok(())
            }
            // right behind a boundary there is not even the line end of another
            (Place::Headers(_) | Place::Content, _) => Err(MultipartError::Headers),
            (Place::Outside, _) if mark_start > 0 && self.begins_with_hyphens => Err(MultipartError::Start),
            (Place::Outside | Place::End, _) => Ok(()),
        }
    }

    fn read_header(&mut self, byte: u8) -> Result<(), MultipartError> {
        let Place::Headers(head) = &mut self.place else { return Ok(()) };
        if head.len() == HEADERS_BYTES_MAX {
            return Err(MultipartError::Headers);
        }
        head.push(byte);
        if !head.ends_with(b"\r\n\r\n") {
            return Ok(());
        }
        let found = found(&head[..head.len() - 4], self.at)?;
        let texts = [&found.file_name, &found.content_type].into_iter().flatten();
        self.names_bytes += found.name.len() + texts.map(String::len).sum::<usize>();
        self.found.push(found);
        self.place = Place::Content;
        Ok(())
    }
}

/// Finds the line end, the hyphens and the boundary that stand before each part, wherever the body is cut, by the method of
/// Knuth, Morris and Pratt: of what came before, only how much of the mark it is is kept.
#[derive(Debug)]
struct Mark {
    text: Vec<u8>,
    /// For each length of a beginning of the mark, how long the longest beginning is that it ends with.
    borders: Vec<usize>,
    matched: usize,
    /// How many bytes of the mark have been compared.
    #[cfg(test)]
    compared: usize,
}

impl Mark {
    fn new(boundary: &str) -> Self {
        let text = format!("\r\n--{boundary}").into_bytes();
        let mut borders = vec![0; text.len() + 1];
        let mut border = 0;
        for at in 1..text.len() {
            while border > 0 && text[at] != text[border] {
                border = borders[border];
            }
            border += usize::from(text[at] == text[border]);
            borders[at + 1] = border;
        }
        // the first need not have a line end before it
        Self {
            text,
            borders,
            matched: 2,
            #[cfg(test)]
            compared: 0,
        }
    }

    /// Whether a mark ends with this byte.
    fn feed(&mut self, byte: u8) -> bool {
        while self.matched > 0 && self.text.get(self.matched) != Some(&byte) {
            self.matched = self.borders[self.matched];
            #[cfg(test)]
            {
                self.compared += 1;
            }
        }
        #[cfg(test)]
        {
            self.compared += 1;
        }
        self.matched += usize::from(self.text[self.matched] == byte);
        self.matched == self.text.len()
    }
}

/// Reads the headers of a part whose content begins at `start`.
fn found(head: &[u8], start: u64) -> Result<Found, MultipartError> {
    let headers = String::from_utf8_lossy(head);
    let values = |wanted: &'static str| {
        let lines = headers.split("\r\n").filter_map(|line| line.split_once(':'));
        lines.filter(move |(name, _)| name.trim().eq_ignore_ascii_case(wanted)).map(|(_, value)| value.trim())
    };
    let disposition = values("content-disposition").next().ok_or(MultipartError::Name)?;
    let mut types = values("content-type");
    let content_type = types.next();
    if types.next().is_some() || content_type.is_some_and(|text| MediaType::parse(text).is_none()) {
        return Err(MultipartError::MediaType);
    }
    Ok(Found {
        name: parameter(disposition, "name").ok_or(MultipartError::Name)?,
        file_name: parameter(disposition, "filename"),
        content_type: content_type.map(str::to_owned),
        content: start..start,
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

    fn parts(body: &Chunks, boundary: &str) -> Result<Vec<Part>, MultipartError> {
        let mut reader = PartsReader::new(boundary);
        body.list().iter().try_for_each(|chunk| reader.feed(chunk))?;
        reader.finish(body)
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
    }

    /// How many bytes of a body are read before it is refused, and why.
    fn refused_after(body: &str) -> (usize, MultipartError) {
        let mut reader = PartsReader::new("B");
        let mut bytes = body.bytes().enumerate();
        bytes.find_map(|(at, byte)| Some((at + 1, reader.feed(&[byte]).err()?))).expect("it is refused")
    }

    #[test]
    fn bounds_are_found_while_the_body_is_read() {
        let parse = |body: &str| parts(&cut(body.as_bytes(), 5), "B").map(|parts| parts.len());
        let part = "--B\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n";
        assert_eq!(parse(&(part.repeat(PARTS_MAX) + "--B--")), Ok(PARTS_MAX));
        let most = part.len() * PARTS_MAX;
        assert_eq!(refused_after(&part.repeat(PARTS_MAX + 9)), (most + "--B\r\n".len(), MultipartError::TooMany));
        let blanks = |count: usize| {
            format!("--B{}\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n--B--", " ".repeat(count))
        };
        assert_eq!((parse(&blanks(BLANKS_MAX)), parse(&blanks(BLANKS_MAX + 1))), (Ok(1), Err(MultipartError::Start)));
        let head = "Content-Disposition: form-data; name=";
        let with_name = |bytes: usize| format!("--B\r\n{head}{}\r\n\r\nx\r\n--B--", "n".repeat(bytes));
        let longest = HEADERS_BYTES_MAX - head.len() - 4;
        assert_eq!(parse(&with_name(longest)), Ok(1));
        assert_eq!(refused_after(&with_name(longest + 1)), (5 + HEADERS_BYTES_MAX + 1, MultipartError::Headers));
    }

    #[test]
    fn almost_boundaries_are_content() {
        for almost in ["\r\n--Bx", "\r\n--", "\r", "\r\n--B-x", "\r\n--B \t x", "\r\r\n--\r\n--B"] {
            let content = almost.repeat(2_000) + ".";
            let body = format!("--B\r\nContent-Disposition: form-data; name=a\r\n\r\n{content}\r\n--B--");
            for piece in [1, 7, body.len()] {
                let found = parts(&cut(body.as_bytes(), piece), "B").unwrap();
                assert_eq!(found[0].content.concat(), content.as_bytes());
            }
        }
    }

    /// A hundred thousand almost-boundaries in a megabyte of tiny chunks took 18 seconds: each was looked for from the start.
    #[test]
    fn however_a_body_is_cut_each_byte_is_compared_twice_at_most() {
        for (boundary, almost) in [("B", "\r\n--B-\r\n--"), ("aaaaaaab", "\r\n--aaaaaaa"), ("\r\n--\r\n--\r", "\r\n--")]
        {
            let body =
                format!("--{boundary}\r\nContent-Disposition: form-data; name=a\r\n\r\n{}", almost.repeat(2_000));
            let compared = |piece: usize| {
                let mut reader = PartsReader::new(boundary);
                body.as_bytes().chunks(piece).try_for_each(|piece| reader.feed(piece)).unwrap();
                reader.mark.compared
            };
            let at_once = compared(body.len());
            assert!((2_000..=2 * body.len()).contains(&at_once), "{at_once} comparisons of {} bytes", body.len());
            assert_eq!((compared(1), compared(10)), (at_once, at_once));
        }
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
