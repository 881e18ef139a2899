//! Any bytes, cut anywhere: what arrives in pieces is told as what arrives whole, and taken where the grammar of the whole is.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::convert::Infallible;
use thalweg_json::{Container, Parser, ReadError, Reader, Scalar, Visitor};

/// What was told, with pieces put together.
#[derive(Debug, Default, PartialEq)]
struct Told {
    text: Vec<u8>,
    events: Vec<(u8, u64)>,
}

impl Visitor for Told {
    type Error = Infallible;

    fn open(&mut self, container: Container, _: usize, at: u64) -> Result<(), Infallible> {
        self.text.push(if container == Container::Array { b'[' } else { b'{' });
        self.events.push((0, at));
        Ok(())
    }
    fn close(&mut self, container: Container, _: usize, at: u64) -> Result<(), Infallible> {
        self.text.push(if container == Container::Array { b']' } else { b'}' });
        self.events.push((1, at));
        Ok(())
    }
    fn string_start(&mut self, is_key: bool, _: usize, at: u64) -> Result<(), Infallible> {
        self.text.push(b'"');
        self.events.push((2 + u8::from(is_key), at));
        Ok(())
    }
    fn string_piece(&mut self, bytes: &[u8]) -> Result<(), Infallible> {
        self.text.extend_from_slice(bytes);
        Ok(())
    }
    fn string_escape(&mut self, raw: &[u8], _: char) -> Result<(), Infallible> {
        self.text.extend_from_slice(raw);
        Ok(())
    }
    fn string_end(&mut self, _: bool, _: usize, at: u64) -> Result<(), Infallible> {
        self.text.push(b'"');
        self.events.push((4, at));
        Ok(())
    }
    fn scalar_start(&mut self, _: usize, at: u64) -> Result<(), Infallible> {
        self.events.push((5, at));
        Ok(())
    }
    fn scalar_piece(&mut self, bytes: &[u8]) -> Result<(), Infallible> {
        self.text.extend_from_slice(bytes);
        Ok(())
    }
    fn scalar_end(&mut self, scalar: Scalar, _: usize, at: u64) -> Result<(), Infallible> {
        self.events.push((6 + scalar as u8, at));
        Ok(())
    }
    fn between(&mut self, bytes: &[u8], _: usize) -> Result<(), Infallible> {
        self.text.extend_from_slice(bytes);
        Ok(())
    }
}

fn told(mut reader: Reader, text: &[u8], piece: usize) -> Result<Told, ReadError<Infallible>> {
    let mut told = Told::default();
    for chunk in text.chunks(piece) {
        reader.feed(chunk, &mut told)?;
    }
    reader.finish(&mut told)?;
    Ok(told)
}

fuzz_target!(|input: (u8, &[u8])| {
    let (piece, text) = (usize::from(input.0 % 40) + 1, input.1);
    let whole = told(Reader::document(), text, text.len().max(1));
    assert_eq!(told(Reader::document(), text, piece), whole);
    assert_eq!(told(Reader::document(), text, 1), whole);
    assert_eq!(told(Reader::sequence(), text, piece), told(Reader::sequence(), text, text.len().max(1)));
    let mut parser = Parser::new(text);
    let is_read = parser.skip().and_then(|()| parser.end()).is_ok();
    match whole {
        Ok(told) => assert!(told.text == text && is_read),
        // nested too deeply, or what no text of PostgreSQL's can hold
        Err(ReadError::Nesting | ReadError::Nul | ReadError::Surrogate) => {}
        Err(_) => assert!(!is_read),
    }
});
