//! What is made of a body: counted as it is made, and never for long without a pause for others.

use crate::error::ApiError;
use crate::upload::held::Holds;
use bytes::Bytes;
use thalweg_decode::Rewrite;

/// How much of a body is read at a time, in bytes. Not much, since three of them may become a row of all columns, and a comma
/// of CSV a name: ten megabytes or so at most.
pub(crate) const PIECE_BYTES: usize = 8 * 1024;
/// How large the chunks are that are made, in bytes.
const CHUNK_BYTES: usize = 64 * 1024;

/// Work that waits for nothing. Others get their turn after each part of it.
#[derive(Debug, Default)]
pub(crate) struct Stint {
    bytes: usize,
}

/// How much is done in one go, in bytes read or written: a millisecond or so.
const STINT_BYTES_MAX: usize = 512 * 1024;

impl Stint {
    /// Notes that so many bytes have been read or written.
    pub(crate) async fn worked(&mut self, bytes: usize) {
        self.bytes += bytes;
        if self.bytes >= STINT_BYTES_MAX {
            self.bytes = 0;
            tokio::task::yield_now().await;
        }
    }
}

/// Chunks that are being made.
pub(crate) struct Making<'a> {
    holds: &'a Holds,
    chunks: Vec<Bytes>,
    begun: Vec<u8>,
    size_bytes: u64,
    stint: Stint,
}

impl<'a> Making<'a> {
    pub(crate) fn new(holds: &'a Holds) -> Self {
        Self { holds, chunks: Vec::new(), begun: Vec::new(), size_bytes: 0, stint: Stint::default() }
    }

    /// Appends what a function writes, which is not much.
    pub(crate) async fn write(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), ApiError> {
        let before = self.begun.len();
        write(&mut self.begun);
        self.stint.worked(self.begun.len() - before).await;
        if self.begun.len() >= CHUNK_BYTES { self.end_chunk() } else { Ok(()) }
    }

    fn end_chunk(&mut self) -> Result<(), ApiError> {
        self.size_bytes += self.begun.len() as u64;
        if self.size_bytes > self.holds.bytes_max {
            return Err(ApiError::made_too_large(self.holds.bytes_max));
        }
        self.chunks.push(self.holds.made(std::mem::take(&mut self.begun))?);
        Ok(())
    }

    /// What has been made.
    pub(crate) fn finish(mut self) -> Result<Vec<Bytes>, ApiError> {
        if !self.begun.is_empty() {
            self.end_chunk()?;
        }
        Ok(self.chunks)
    }
}

/// Makes other text of a body: no more than a body may be.
pub(crate) async fn made(mut rewrite: impl Rewrite, body: &[Bytes], holds: &Holds) -> Result<Vec<Bytes>, ApiError> {
    let mut making = Making::new(holds);
    for piece in body.iter().flat_map(|chunk| chunk.chunks(PIECE_BYTES)) {
        rewrite.feed(piece)?;
        making.stint.worked(piece.len()).await;
        let ready = rewrite.take();
        making.write(|out| out.extend_from_slice(&ready)).await?;
    }
    rewrite.finish()?;
    let ready = rewrite.take();
    making.write(|out| out.extend_from_slice(&ready)).await?;
    making.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::sync::Arc;
    use std::task::{Context, Poll, Waker};
    use thalweg_decode::{CsvDocument, JoinedRows, Unescaped};

    /// How often something is polled until it is ready, which waits for nothing.
    pub(crate) fn polls<T>(work: impl Future<Output = T>) -> (usize, T) {
        let mut work = pin!(work);
        let mut context = Context::from_waker(Waker::noop());
        let mut polls = 1;
        loop {
            match work.as_mut().poll(&mut context) {
                Poll::Ready(done) => return (polls, done),
                Poll::Pending => polls += 1,
            }
        }
    }

    fn body(piece: &[u8], pieces: usize) -> Vec<Bytes> {
        vec![Bytes::from(piece.repeat(pieces))]
    }

    #[test]
    fn others_have_their_turns_while_something_is_made() {
        let holds = Holds::new(Arc::default(), 64 << 20);
        let check = |(polls, made): (usize, Result<Vec<Bytes>, ApiError>), read: usize| {
            let made: usize = made.unwrap().iter().map(Bytes::len).sum();
            let least = (read + made) / (STINT_BYTES_MAX + 128 * PIECE_BYTES);
            assert!(least > 4 && polls >= least, "{polls} polls for {read} bytes that became {made}");
        };
        let rows = body(b"{\"a\":1}\n", 1 << 20);
        check(polls(made(JoinedRows::default(), &rows, &holds)), 8 << 20);
        let text = body(b"\\n", 4 << 20);
        check(polls(made(Unescaped::default(), &text, &holds)), 8 << 20);
        let records = [body(b"a\n", 1), body(b"1\n", 1 << 20)].concat();
        check(polls(made(CsvDocument::default(), &records, &holds)), 2 << 20);
    }

    #[test]
    fn what_is_made_is_counted_until_it_is_dropped() {
        let all = Arc::default();
        let holds = Holds::new(Arc::clone(&all), 1_000_000);
        let records = [body(b"a\n", 1), body(b"1\n", 50_000)].concat();
        let (_, document) = polls(made(CsvDocument::default(), &records, &holds));
        let document = document.unwrap();
        let size_bytes: usize = document.iter().map(Bytes::len).sum();
        assert_eq!(size_bytes, 50_000 * 10 + 1);
        assert_eq!(all.held_bytes(), size_bytes as u64);
        drop(document);
        assert_eq!(all.held_bytes(), 0);
        let more = [body(b"a\n", 1), body(b"1\n", 100_000)].concat();
        assert!(polls(made(CsvDocument::default(), &more, &holds)).1.is_err());
        assert_eq!(all.held_bytes(), 0);
    }
}
