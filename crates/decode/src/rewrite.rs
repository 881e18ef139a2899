//! Bodies made into other text as they arrive, piece by piece.

use crate::error::DecodeError;

/// Makes other text of a body. Nothing is kept of what has been taken, so that what is made can be counted, and sent on,
/// while the rest is still being made.
pub trait Rewrite: Send + Sync {
    /// Reads a piece.
    fn feed(&mut self, piece: &[u8]) -> Result<(), DecodeError>;
    /// The body has ended.
    fn finish(&mut self) -> Result<(), DecodeError>;
    /// How many bytes can be taken.
    fn ready_bytes(&self) -> usize;
    /// How many bytes have been made that cannot be taken yet.
    fn begun_bytes(&self) -> usize {
        0
    }
    /// Takes what is ready.
    fn take(&mut self) -> Vec<u8>;
}

/// What a body becomes, read in pieces of a size.
#[cfg(test)]
pub(crate) fn rewritten(mut rewrite: impl Rewrite, body: &[u8], piece: usize) -> Result<Vec<u8>, DecodeError> {
    let mut out = Vec::new();
    for piece in body.chunks(piece) {
        rewrite.feed(piece)?;
        out.extend(rewrite.take());
    }
    rewrite.finish()?;
    out.extend(rewrite.take());
    Ok(out)
}
