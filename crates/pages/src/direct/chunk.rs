//! The chunk that a page is written into, lent to a loop: else each piece of text goes through the engine's output, by two virtual calls.
//!
//! The engine passes on what is written to it unless it captures it (a macro, `{% set %}`, a filter's block), and says to nobody which. So a
//! loop asks: it writes nothing, and if that arrives, the chunk is given to it. It is moved, never shared.

use crate::escape;
use crate::rows::{unreadable, utf8};
use minijinja::{Error, Output};
use std::cell::Cell;
use std::{fmt, io, mem};

/// What a page is written to, chunk by chunk.
pub trait Chunks: io::Write {
    /// The chunk that is being filled. While it has room more may be appended; it is never filled up so.
    fn chunk(&mut self) -> &mut Vec<u8>;
}

impl Chunks for Vec<u8> {
    fn chunk(&mut self) -> &mut Vec<u8> {
        self
    }
}

impl<C: Chunks> Chunks for &mut C {
    fn chunk(&mut self) -> &mut Vec<u8> {
        (**self).chunk()
    }
}

/// Where a chunk lies on its way from one to the other.
#[derive(Default)]
enum Passing {
    /// Nothing is going on: text that is empty is no question.
    #[default]
    Nothing,
    Asked,
    Lent(Vec<u8>),
    Returned(Vec<u8>),
}

thread_local! {
    static PASSING: Cell<Passing> = const { Cell::new(Passing::Nothing) };
}

/// What the engine writes to: it lends its chunk to whoever asks.
pub(crate) struct Lender<C>(pub(crate) C);

impl<C: Chunks> io::Write for Lender<C> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !bytes.is_empty() {
            return self.0.write_all(bytes);
        }
        PASSING.set(match PASSING.take() {
            Passing::Asked => Passing::Lent(mem::take(self.0.chunk())),
            Passing::Returned(chunk) => {
                *self.0.chunk() = chunk;
                Passing::Nothing
            }
            other => other,
        });
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Text of a template. Most pieces are short, and a copy of as many bytes as the program knows is two instructions instead of a call.
#[derive(Debug)]
pub(super) struct Literal {
    text: Box<str>,
    /// Its bytes with others behind them, if it has no more.
    padded: Option<[u8; PADDED_BYTES]>,
}

const PADDED_BYTES: usize = 32;

impl Literal {
    pub(super) fn of(text: &str) -> Literal {
        let mut padded = [0; PADDED_BYTES];
        let is_short = padded.get_mut(..text.len()).map(|bytes| bytes.copy_from_slice(text.as_bytes())).is_some();
        Literal { text: text.into(), padded: is_short.then_some(padded) }
    }
}

/// What a loop writes into: the page's chunk, and the engine's output where that is full or not to be had. Whoever has one returns what it
/// holds by [`Sink::close`].
pub(super) struct Sink<'o, 'a> {
    out: &'o mut Output<'a>,
    /// Without room where none is lent.
    chunk: Vec<u8>,
    is_lent: bool,
}

impl<'o, 'a> Sink<'o, 'a> {
    pub(super) fn open(out: &'o mut Output<'a>) -> Result<Self, Error> {
        let mut sink = Sink { out, chunk: Vec::new(), is_lent: false };
        sink.borrow()?;
        Ok(sink)
    }

    pub(super) fn close(mut self) -> Result<(), Error> {
        self.give_back()
    }

    fn borrow(&mut self) -> Result<(), Error> {
        PASSING.set(Passing::Asked);
        self.out.write_str("")?;
        if let Passing::Lent(chunk) = PASSING.take() {
            (self.chunk, self.is_lent) = (chunk, true);
        }
        Ok(())
    }

    fn give_back(&mut self) -> Result<(), Error> {
        if mem::take(&mut self.is_lent) {
            PASSING.set(Passing::Returned(mem::take(&mut self.chunk)));
            self.out.write_str("")?;
        }
        Ok(())
    }

    /// What only the engine can write.
    pub(super) fn by_engine(&mut self, write: impl FnOnce(&mut Output<'a>) -> Result<(), Error>) -> Result<(), Error> {
        let was_lent = self.is_lent;
        self.give_back()?;
        write(self.out)?;
        if was_lent { self.borrow() } else { Ok(()) }
    }

    #[inline]
    pub(super) fn literal(&mut self, literal: &Literal) -> Result<(), Error> {
        let length = self.chunk.len();
        match &literal.padded {
            Some(padded) if self.chunk.capacity() - length > PADDED_BYTES => {
                self.chunk.extend_from_slice(padded);
                self.chunk.truncate(length + literal.text.len());
                Ok(())
            }
            _ => self.text(&literal.text),
        }
    }

    #[inline]
    pub(super) fn text(&mut self, text: &str) -> Result<(), Error> {
        self.bytes(text.as_bytes())
    }

    /// Text for HTML, as PostgreSQL sent it.
    #[inline]
    pub(super) fn html(&mut self, text: &[u8]) -> Result<(), Error> {
        if !text.is_ascii() {
            utf8(text).map_err(unreadable)?;
        }
        let mut rest = text;
        while let Some((at, entity)) = escape::next_entity(rest) {
            self.bytes(&rest[..at])?;
            self.text(entity)?;
            rest = &rest[at + 1..];
        }
        self.bytes(rest)
    }

    /// Of a text: nothing else may stand in a page.
    #[inline]
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if bytes.len() < self.chunk.capacity() - self.chunk.len() {
            self.chunk.extend_from_slice(bytes);
            return Ok(());
        }
        let text = utf8(bytes).map_err(unreadable)?;
        self.by_engine(|out| Ok(out.write_str(text)?))
    }
}

/// For what is formatted.
impl fmt::Write for Sink<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.text(text).map_err(|_| fmt::Error)
    }
}
