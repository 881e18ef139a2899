//! What an input is: whether it is compressed, how it is encoded, and which format it has, by its content alone.

use super::edict;
use super::text::{Measured, Utf8};
use super::{Error, ErrorKind, Format};
use encoding_rs::{DecoderResult, EUC_JP, Encoding, UTF_8};
use flate2::read::MultiGzDecoder;
use std::io::{Cursor, Read};

/// So much of an input is looked at before it is read.
const SAMPLE_BYTES_MAX: usize = 64 * 1024;

/// So far into an XML file its declaration may reach.
const DECLARATION_BYTES_MAX: usize = 256;

const KNOWN_FORMATS: &str =
    "known are JMdict and JMnedict (XML), EDICT, EDICT2 and ENAMDICT, in UTF-8 or EUC-JP, gzip or not";

/// An input whose shape is known, as text in UTF-8.
pub(super) struct Recognised<'a> {
    pub shape: Shape,
    pub text: Measured<Box<dyn Read + 'a>>,
}

/// How a source is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// XML; its root element says which.
    Xml,
    /// An entry a line.
    Lines(Format),
}

/// Finds out what an input is.
pub(super) fn recognise<'a>(input: impl Read + 'a) -> Result<Recognised<'a>, Error> {
    let (sample, input) = unpack(input)?;
    if starts_with_markup(&sample) {
        let encoding = declared_encoding(&sample)?;
        return Ok(Recognised { shape: Shape::Xml, text: in_utf8(encoding, input) });
    }
    let (encoding, text) = encoding_of(&sample)?;
    match edict::format_of(&text) {
        Some(format) => Ok(Recognised { shape: Shape::Lines(format), text: in_utf8(encoding, input) }),
        None => Err(unrecognised("the input is no dictionary")),
    }
}

/// A plain text in UTF-8 or EUC-JP, compressed or not.
pub(super) fn plain_text<'a>(input: impl Read + 'a) -> Result<Measured<Box<dyn Read + 'a>>, Error> {
    let (sample, input) = unpack(input)?;
    Ok(in_utf8(encoding_of(&sample)?.0, input))
}

pub(super) fn unrecognised(what: &str) -> Error {
    Error::new(ErrorKind::Unrecognised, format!("{what}; {KNOWN_FORMATS}"))
}

/// The first bytes of an input once it is unpacked and has no byte order mark, and all of it.
fn unpack<'a>(input: impl Read + 'a) -> Result<(Vec<u8>, Box<dyn Read + 'a>), Error> {
    let (sample, mut input) = sampled(Box::new(input))?;
    if !sample.starts_with(&[0x1f, 0x8b]) {
        return Ok((without_mark(&sample, &mut input)?, input));
    }
    let (sample, mut input) = sampled(Box::new(MultiGzDecoder::new(input)))?;
    Ok((without_mark(&sample, &mut input)?, input))
}

/// The first bytes of an input, and all of it.
fn sampled<'a>(mut input: Box<dyn Read + 'a>) -> Result<(Vec<u8>, Box<dyn Read + 'a>), Error> {
    let mut sample = Vec::with_capacity(SAMPLE_BYTES_MAX);
    input.by_ref().take(SAMPLE_BYTES_MAX as u64).read_to_end(&mut sample).map_err(Error::of_io)?;
    let whole = Cursor::new(sample.clone()).chain(input);
    Ok((sample, Box::new(whole)))
}

fn without_mark(sample: &[u8], input: &mut dyn Read) -> Result<Vec<u8>, Error> {
    match sample.strip_prefix(b"\xef\xbb\xbf") {
        Some(rest) => {
            input.read_exact(&mut [0; 3]).map_err(Error::of_io)?;
            Ok(rest.to_vec())
        }
        None => Ok(sample.to_vec()),
    }
}

fn in_utf8<'a>(encoding: &'static Encoding, input: Box<dyn Read + 'a>) -> Measured<Box<dyn Read + 'a>> {
    // UTF-8 is checked where it is read, so that it is not copied for it.
    if encoding == UTF_8 { Measured::new(input) } else { Measured::new(Box::new(Utf8::new(encoding, input))) }
}

fn starts_with_markup(sample: &[u8]) -> bool {
    sample.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'<')
}

/// The encoding that an XML declaration names; UTF-8 without one.
fn declared_encoding(sample: &[u8]) -> Result<&'static Encoding, Error> {
    let head = &sample[..sample.len().min(DECLARATION_BYTES_MAX)];
    let head = String::from_utf8_lossy(head);
    let declaration = head.trim_start().strip_prefix("<?xml").and_then(|rest| rest.split_once("?>"));
    let named = declaration.and_then(|(declaration, _)| declaration.split_once("encoding"));
    let Some((_, named)) = named else { return Ok(UTF_8) };
    let name = named.split(['"', '\'']).nth(1).unwrap_or_default();
    match Encoding::for_label(name.as_bytes()) {
        Some(encoding) if encoding == UTF_8 || encoding == EUC_JP => Ok(encoding),
        _ => Err(Error::new(ErrorKind::Encoding, format!("the encoding is {name:?}, not UTF-8 or EUC-JP")).at(1)),
    }
}

/// The encoding of a text and what is said in it, by its first bytes.
fn encoding_of(sample: &[u8]) -> Result<(&'static Encoding, String), Error> {
    if sample.contains(&0) {
        return Err(unrecognised("the input is not text"));
    }
    let wrong = match std::str::from_utf8(sample) {
        Ok(text) => return Ok((UTF_8, text.to_owned())),
        // A character that the sample's end cuts is not wrong.
        Err(error) if error.error_len().is_none() && sample.len() + 3 >= SAMPLE_BYTES_MAX => {
            return Ok((UTF_8, String::from_utf8_lossy(&sample[..error.valid_up_to()]).into_owned()));
        }
        Err(error) => error.valid_up_to(),
    };
    let mut decoder = EUC_JP.new_decoder_without_bom_handling();
    let mut text = String::with_capacity(sample.len() * 3);
    match decoder.decode_to_string_without_replacement(sample, &mut text, false).0 {
        DecoderResult::Malformed(..) => {
            let line = 1 + sample[..wrong].iter().filter(|&&byte| byte == b'\n').count() as u64;
            Err(Error::new(ErrorKind::Encoding, "the text is neither UTF-8 nor EUC-JP").at(line))
        }
        DecoderResult::InputEmpty | DecoderResult::OutputFull => Ok((EUC_JP, text)),
    }
}
