//! What is made of a body: counted as it is made, and never for long without a pause for others.

use crate::error::ApiError;
use crate::upload::held::Holds;
use bytes::Bytes;
use thalweg_decode::Rewrite;

/// How much of a body is read at a time, in bytes. A byte becomes some hundred at most, or a row of all columns.
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

/// Makes other text of pieces of a body; nothing where it would be more than so many bytes.
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
