//! An answer that nobody is given before all of it is known.

use super::Outlet;
use super::flow::{Flow, Flowing, Source, WATCHED_BYTES_MIN};
use super::watch::{BATCH_BYTES, write_or_hold};
use crate::spool::{Reader, Writer};
use bytes::Bytes;
use std::collections::VecDeque;

/// An answer that is held until all of it is known.
pub(crate) struct Held {
    outlet: Outlet,
    chunks: VecDeque<Bytes>,
    bytes: u64,
    /// What came before the chunks, where memory is no place for it.
    spooled: Option<(Writer, Reader)>,
    spooled_bytes: u64,
}

impl Outlet {
    /// An answer of which nothing is there yet.
    pub(crate) fn hold(&self) -> Held {
        Held { outlet: self.clone(), chunks: VecDeque::new(), bytes: 0, spooled: None, spooled_bytes: 0 }
    }
}

impl Held {
    /// Puts a chunk behind the others, in memory.
    pub(crate) fn push(&mut self, chunk: Vec<u8>) {
        self.bytes += chunk.len() as u64;
        self.chunks.push_back(self.outlet.chunk(chunk));
    }

    /// Brings what is in memory to disk, if it is much; whether there was room. What nobody can be given before it is whole may
    /// take all of it.
    pub(crate) async fn spool(&mut self) -> bool {
        if self.bytes - self.spooled_bytes < BATCH_BYTES {
            return true;
        }
        let batch = std::mem::take(&mut self.chunks).into();
        let (writer, _) = self.spooled.get_or_insert_with(|| self.outlet.spool.whole_queue());
        self.spooled_bytes = self.bytes;
        write_or_hold(writer, batch).await
    }

    /// How many bytes there are.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// All of it is there.
    pub(crate) fn finish(self) -> (VecDeque<Bytes>, Option<Flow>, u64) {
        let Self { outlet, chunks, bytes, spooled, .. } = self;
        match spooled {
            None if bytes <= WATCHED_BYTES_MIN => (chunks, None, bytes),
            None => (VecDeque::new(), Some(Flow::new(outlet, chunks, Source::End)), bytes),
            Some((mut writer, reader)) => {
                // A task writes the rest of the answer after its beginning, so that the answer
                // leaves memory even if its client reads nothing.
                tokio::spawn(thalweg_gauge::billed(async move {
                    write_or_hold(&mut writer, chunks.into()).await;
                    writer.finish();
                }));
                (VecDeque::new(), Some(Flow::from_spool(outlet, reader)), bytes)
            }
        }
    }

    /// More of it is to come.
    pub(crate) fn flow(self, flowing: Flowing) -> Flow {
        Flow::new(self.outlet, self.chunks, Source::Database(Box::new(flowing)))
    }
}
