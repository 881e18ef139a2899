//! Text as the readers see it: in UTF-8, its lines counted, and nowhere longer than they take.

use super::Error;
use encoding_rs::{Decoder, DecoderResult, Encoding};
use std::io::{self, BufRead, BufReader, Read};

/// The largest source that is read, unpacked; JMdict in all languages has 110 MB.
const SOURCE_BYTES_MAX: u64 = 2 * 1024 * 1024 * 1024;

/// The largest line, entry or other thing that is read at once; the longest entry of JMdict has 20 KB, its document type 20 KB.
const UNIT_BYTES_MAX: usize = 1024 * 1024;

const BUFFER_BYTES: usize = 64 * 1024;

/// A reader that counts lines, and fails where the source or a unit of it is too large. A unit begins where [`Measured::begin_unit`] is
/// called: memory for a unit is bounded so, whatever the reader above keeps.
pub(super) struct Measured<R> {
    inner: BufReader<R>,
    lines: u64,
    source_bytes: u64,
    source_bytes_max: u64,
    unit_bytes: usize,
}

impl<R: Read> Measured<R> {
    pub(super) fn new(input: R) -> Self {
        Self::up_to(SOURCE_BYTES_MAX, input)
    }

    fn up_to(source_bytes_max: u64, input: R) -> Self {
        let inner = BufReader::with_capacity(BUFFER_BYTES, input);
        Self { inner, lines: 0, source_bytes: 0, source_bytes_max, unit_bytes: 0 }
    }

    /// What is read from here on is another unit.
    pub(super) fn begin_unit(&mut self) {
        self.unit_bytes = 0;
    }

    /// The line that is being read, from 1 on.
    pub(super) fn line(&self) -> u64 {
        self.lines + 1
    }

    /// Hands every line, without its end, to `each`, which answers with what is wrong with it.
    pub(super) fn each_line(mut self, each: &mut dyn FnMut(&str) -> Result<(), Error>) -> Result<(), Error> {
        let mut line = Vec::new();
        loop {
            self.begin_unit();
            line.clear();
            let number = self.line();
            let read = self.read_until(b'\n', &mut line);
            if read.map_err(|error| Error::of_io(error).at(number))? == 0 {
                return Ok(());
            }
            let text = std::str::from_utf8(&line).map_err(|error| Error::of_io(wrong_encoding(error)).at(number))?;
            let text = text.trim_end_matches(['\r', '\n']);
            if text.contains('\r') {
                let message = "a carriage return stands within the line: lines end in LF or CR LF";
                return Err(Error::malformed(message).at(number));
            }
            each(text).map_err(|error| error.at(number))?;
        }
    }
}

impl<R: Read> Read for Measured<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let count = available.len().min(into.len());
        into[..count].copy_from_slice(&available[..count]);
        self.consume(count);
        Ok(count)
    }
}

impl<R: Read> BufRead for Measured<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.source_bytes > self.source_bytes_max {
            return Err(too_large(format!("it has more than {} bytes", self.source_bytes_max)));
        }
        if self.unit_bytes > UNIT_BYTES_MAX {
            return Err(too_large(format!("a line or an entry has more than {UNIT_BYTES_MAX} bytes")));
        }
        self.inner.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        let consumed = self.inner.buffer().get(..count).unwrap_or_default();
        self.lines += consumed.iter().filter(|&&byte| byte == b'\n').count() as u64;
        self.source_bytes += count as u64;
        self.unit_bytes += count;
        self.inner.consume(count);
    }
}

/// A reader that gives text in another encoding as UTF-8. Where a byte is wrong, what stands before it is given first.
pub(super) struct Utf8<R> {
    input: R,
    decoder: Decoder,
    raw: Box<[u8]>,
    raw_from: usize,
    raw_to: usize,
    is_ended: bool,
    decoded: Box<[u8]>,
    decoded_from: usize,
    decoded_to: usize,
    is_wrong: bool,
}

impl<R: Read> Utf8<R> {
    pub(super) fn new(encoding: &'static Encoding, input: R) -> Self {
        Self {
            input,
            decoder: encoding.new_decoder_without_bom_handling(),
            raw: vec![0; BUFFER_BYTES].into_boxed_slice(),
            raw_from: 0,
            raw_to: 0,
            is_ended: false,
            decoded: vec![0; BUFFER_BYTES].into_boxed_slice(),
            decoded_from: 0,
            decoded_to: 0,
            is_wrong: false,
        }
    }

    /// Decodes more, unless there is no more.
    fn decode(&mut self) -> io::Result<()> {
        while self.decoded_from == self.decoded_to && !self.is_wrong {
            if self.raw_from == self.raw_to && !self.is_ended {
                (self.raw_from, self.raw_to) = (0, self.input.read(&mut self.raw)?);
                self.is_ended = self.raw_to == 0;
            }
            let raw = &self.raw[self.raw_from..self.raw_to];
            let (result, read, written) =
                self.decoder.decode_to_utf8_without_replacement(raw, &mut self.decoded, self.is_ended);
            self.raw_from += read;
            (self.decoded_from, self.decoded_to) = (0, written);
            match result {
                DecoderResult::Malformed(..) => self.is_wrong = true,
                // A decoder that has been told of the end must not be asked again.
                DecoderResult::InputEmpty if self.is_ended => return Ok(()),
                DecoderResult::InputEmpty | DecoderResult::OutputFull => {}
            }
        }
        Ok(())
    }
}

impl<R: Read> Read for Utf8<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.decoded_from == self.decoded_to && !(self.is_ended && self.raw_from == self.raw_to) {
            self.decode()?;
        }
        let decoded = &self.decoded[self.decoded_from..self.decoded_to];
        if decoded.is_empty() && self.is_wrong {
            let message = format!("it is not {}", self.decoder.encoding().name());
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        let count = decoded.len().min(into.len());
        into[..count].copy_from_slice(&decoded[..count]);
        self.decoded_from += count;
        Ok(count)
    }
}

fn wrong_encoding(error: std::str::Utf8Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

fn too_large(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn a_source_is_read_up_to_its_bound() {
        let lines = "猫\n".repeat(100_000);
        let read = |bytes_max: usize| {
            let mut count = 0;
            let read = Measured::up_to(bytes_max as u64, lines.as_bytes()).each_line(&mut |_| {
                count += 1;
                Ok(())
            });
            read.map(|()| count)
        };
        assert_eq!(read(lines.len()).unwrap(), 100_000);
        let error = read(lines.len() / 2).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
        assert!(error.to_string().contains("more than 200000 bytes"), "{error}");
    }
}
