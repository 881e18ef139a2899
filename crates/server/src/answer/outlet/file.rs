//! A part of a file on its way out.

use super::Outlet;
use super::flow::{Flow, Source};
use crate::answer::body::Torn;
use crate::log;
use crate::opened_file::OpenedFile;
use crate::spool::PIECE_BYTES;
use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::task::JoinHandle;

/// A part of a file that is read as the client takes it, off the threads that answer requests.
pub(super) struct FilePart {
    file: Arc<OpenedFile>,
    left: Range<u64>,
    reading: Option<JoinHandle<io::Result<Vec<u8>>>>,
}

impl Outlet {
    /// These bytes of a file. If it is written to meanwhile, they break off.
    pub(crate) fn file(&self, file: OpenedFile, part: Range<u64>) -> Flow {
        let part = FilePart { file: Arc::new(file), left: part, reading: None };
        Flow::new(self.clone(), VecDeque::new(), Source::File(part))
    }
}

impl FilePart {
    /// The next bytes; `None` at the end.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Vec<u8>, Torn>>> {
        if self.left.is_empty() {
            return Poll::Ready(None);
        }
        let reading = self.reading.get_or_insert_with(|| {
            let (file, at) = (self.file.clone(), self.left.start);
            let bytes = PIECE_BYTES.min(self.left.end - at) as usize;
            tokio::task::spawn_blocking(thalweg_gauge::blocking(move || file.read(at, bytes)))
        });
        let read = ready!(Pin::new(reading).poll(cx));
        self.reading = None;
        Poll::Ready(Some(match read {
            Ok(Ok(bytes)) => {
                self.left.start += bytes.len() as u64;
                Ok(bytes)
            }
            Ok(Err(error)) => {
                log::error_line(&format!("a response was cut: its file can no longer be read: {error}"));
                Err(Torn)
            }
            // only a runtime that ends does not let it end
            Err(_) => Err(Torn),
        }))
    }
}
