//! `Content-Range`, and the status that follows from it (representation §§5, 7).

use hyper::StatusCode;
use hyper::header::HeaderValue;
use std::io::{self, Write};

/// What is known of the rows of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ContentRange {
    pub(crate) offset: u64,
    pub(crate) rows: u64,
    pub(crate) total: Option<u64>,
}

impl ContentRange {
    /// The header's value, such as `0-14/*`.
    pub(crate) fn value(self) -> HeaderValue {
        // four times twenty digits, and what stands between them
        let mut text = [0; 96];
        let mut rest = text.as_mut_slice();
        let written = self.write(&mut rest);
        let length = 96 - rest.len();
        let value = written.ok().and_then(|()| HeaderValue::from_bytes(&text[..length]).ok());
        value.unwrap_or(HeaderValue::from_static("*/*"))
    }

    fn write(self, out: &mut impl Write) -> io::Result<()> {
        let number = |out: &mut dyn Write, number: u64| out.write_all(itoa::Buffer::new().format(number).as_bytes());
        if self.rows == 0 || self.total == Some(0) {
            out.write_all(b"*/")?;
        } else {
            number(out, self.offset)?;
            out.write_all(b"-")?;
            number(out, self.offset + self.rows - 1)?;
            out.write_all(b"/")?;
        }
        match self.total {
            Some(total) => number(out, total),
            None => out.write_all(b"*"),
        }
    }

    /// 200, 206 where rows are left out, 416 where the offset lies beyond the total.
    pub(crate) fn status(self) -> StatusCode {
        match self.total {
            Some(total) if self.offset > total => StatusCode::RANGE_NOT_SATISFIABLE,
            Some(total) if self.rows < total => StatusCode::PARTIAL_CONTENT,
            _ => StatusCode::OK,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_statuses() {
        for (offset, rows, total, value, status) in [
            (0, 15, None, "0-14/*", 200),
            (10, 5, Some(15), "10-14/15", 206),
            (0, 15, Some(15), "0-14/15", 200),
            (0, 0, None, "*/*", 200),
            (0, 0, Some(0), "*/0", 200),
            (15, 0, Some(15), "*/15", 206),
            (16, 0, Some(15), "*/15", 416),
        ] {
            let range = ContentRange { offset, rows, total };
            assert_eq!((range.value().to_str().unwrap(), range.status().as_u16()), (value, status));
        }
    }
}
