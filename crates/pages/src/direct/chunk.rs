//! The chunk that a page is written into, lent to a loop: else each piece of text goes through the engine's output, by two virtual calls.
//!
//! The engine passes on what is written to it unless it captures it (a macro, `{% set %}`, a filter's block), and says to nobody which. So a
//! loop asks: it writes nothing, and if that arrives, the chunk is given to it. It is moved, never shared.

use crate::escape;
use crate::rows::{unreadable, utf8};
use minijinja::{Error, ErrorKind, Output};
use std::cell::Cell;
use std::{fmt, io, mem};

/// What a page is written to, chunk by chunk.
pub trait Chunks: io::Write {
    /// The chunk that is being filled. A loop takes it, leaving an empty one in its place, and puts it back before anything else is
    /// written, or not at all where it panics. It appends while there is more room than it needs: the chunk has the same capacity then, and
    /// is not full. One without room is as good as none.
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
        if let Passing::Lent(chunk) = self.pass(Passing::Asked)? {
            (self.chunk, self.is_lent) = (chunk, true);
        }
        Ok(())
    }

    fn give_back(&mut self) -> Result<(), Error> {
        if !mem::take(&mut self.is_lent) {
            return Ok(());
        }
        let chunk = mem::take(&mut self.chunk);
        match self.pass(Passing::Returned(chunk))? {
            Passing::Returned(_) => Err(Error::new(ErrorKind::WriteFailure, "nobody takes the page's chunk back")),
            Passing::Nothing | Passing::Asked | Passing::Lent(_) => Ok(()),
        }
    }

    /// Says something to whoever the output is written to, and hears the answer. Nothing of it is left behind, whatever happens: the next
    /// page of this thread may be another visitor's.
    fn pass(&mut self, said: Passing) -> Result<Passing, Error> {
        PASSING.set(said);
        let written = self.out.write_str("");
        let answer = PASSING.take();
        written?;
        Ok(answer)
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

#[cfg(test)]
mod tests {
    use super::*;
    use minijinja::Environment;
    use std::io::Write;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// A page, and how often the engine wrote something into it.
    struct Counted {
        chunk: Vec<u8>,
        writes: usize,
    }

    impl Write for Counted {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.writes += 1;
            self.chunk.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Chunks for Counted {
        fn chunk(&mut self) -> &mut Vec<u8> {
            &mut self.chunk
        }
    }

    /// Takes nothing, not even what is empty.
    struct Broken;

    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::Other.into())
        }

        fn write_all(&mut self, _: &[u8]) -> io::Result<()> {
            Err(io::ErrorKind::Other.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Writes an empty text by the engine, and any other three times as a loop does; `panic` does, with the chunk in its hands.
    fn environment() -> Environment<'static> {
        let mut environment = Environment::new();
        environment.set_formatter(|out, _, value| {
            let text = value.to_string();
            if text.is_empty() {
                return Ok(out.write_str(&text)?);
            }
            let mut sink = Sink::open(out)?;
            for _ in 0..3 {
                assert_ne!(text, "panic");
                sink.text(&text)?;
            }
            sink.close()
        });
        environment
    }

    fn page(template: &str) -> (String, usize) {
        let mut page = Counted { chunk: Vec::with_capacity(100), writes: 0 };
        environment().template_from_str(template).unwrap().render_captured_to((), Lender(&mut page)).unwrap();
        (String::from_utf8(page.chunk).unwrap(), page.writes)
    }

    #[test]
    fn a_loop_writes_past_the_engine() {
        assert_eq!(page("{{ 1 }}{{ '' }}{{ 2 }}"), ("111222".to_owned(), 0));
        assert_eq!(page("a{{ 1 }}b"), ("a111b".to_owned(), 2));
    }

    #[test]
    fn what_the_engine_captures_is_not_in_the_page() {
        assert_eq!(page("{% set kept %}{{ 1 }}{{ '' }}{% endset %}{{ 2 }}{{ kept }}"), ("222111111111".to_owned(), 0));
    }

    #[test]
    fn what_is_larger_than_the_room_comes_in_its_order() {
        let long = "x".repeat(150);
        let (text, writes) = page(&format!("{{{{ 1 }}}}{{{{ '{long}' }}}}{{{{ 2 }}}}"));
        assert_eq!(text, format!("111{long}{long}{long}222"));
        assert!(writes > 0);
    }

    #[test]
    fn a_page_that_fails_leaves_nothing_to_the_next_one() {
        let environment = environment();
        let template = environment.template_from_str("{{ 1 }}").unwrap();
        template.render_captured_to((), Broken).unwrap_err();
        assert_eq!(page("a{{ '' }}b{{ '' }}c").0, "abc");
        let mut torn = Counted { chunk: Vec::with_capacity(100), writes: 0 };
        let template = environment.template_from_str("{{ 'panic' }}").unwrap();
        catch_unwind(AssertUnwindSafe(|| template.render_captured_to((), Lender(&mut torn)).map(drop))).unwrap_err();
        assert_eq!(page("a{{ '' }}b{{ '' }}c{{ 1 }}").0, "abc111");
    }
}
