//! A page on its way out: its chunks, its validator, and an answer that says that nothing has changed.

use crate::answer::{Body, Held, Outlet, etag};
use bytes::Bytes;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};
use std::io;
use thalweg_pages::Chunks;
use tokio::runtime::Handle;

/// How large a page may be that is made at once, in bytes.
const AT_ONCE_BYTES_MAX: usize = 1024 * 1024;

/// A page as it is written, in chunks.
pub(crate) struct Page {
    outlet: Outlet,
    held: Held,
    chunk: Vec<u8>,
    /// Of one whose thread may wait: that is where it goes to disk, when it is large.
    runtime: Option<Handle>,
}

impl Page {
    /// One that is small.
    pub(crate) fn at_once(outlet: &Outlet) -> Self {
        Self { outlet: outlet.clone(), held: outlet.hold(), chunk: outlet.stock().take(), runtime: None }
    }

    /// One of any size, made on a thread that may wait.
    pub(crate) fn of_any_size(outlet: &Outlet) -> Self {
        Self { runtime: Some(Handle::current()), ..Self::at_once(outlet) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.chunk.is_empty() && self.held.bytes() == 0
    }

    fn next_chunk(&mut self) -> io::Result<()> {
        let full = std::mem::replace(&mut self.chunk, self.outlet.stock().take());
        self.held.push(full);
        match &self.runtime {
            None if self.held.bytes() > AT_ONCE_BYTES_MAX as u64 => Err(io::ErrorKind::FileTooLarge.into()),
            None => Ok(()),
            Some(runtime) if runtime.block_on(self.held.spool()) => Ok(()),
            Some(_) => Err(io::ErrorKind::StorageFull.into()),
        }
    }
}

impl io::Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.chunk.capacity() - self.chunk.len();
        let taken = bytes.len().min(room);
        self.chunk.extend_from_slice(&bytes[..taken]);
        if taken == room {
            self.next_chunk()?;
        }
        Ok(taken)
    }

    /// Most of what is written is a few bytes.
    #[inline]
    fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while bytes.len() >= self.chunk.capacity() - self.chunk.len() {
            let taken = self.write(bytes)?;
            bytes = &bytes[taken..];
        }
        self.chunk.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Chunks for Page {
    fn chunk(&mut self) -> &mut Vec<u8> {
        &mut self.chunk
    }
}

/// The response that a page is, or the one that says that whoever asks has it.
pub(crate) fn respond(
    page: Page,
    status: StatusCode,
    media_type: &'static str,
    asked: &HeaderMap,
    head_only: bool,
) -> Response<Body> {
    let Page { mut held, chunk, .. } = page;
    held.push(chunk);
    let bytes = held.bytes();
    let mut response = Response::new(Body::held(held));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(bytes));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if status == StatusCode::OK {
        etag::validate(&mut response, asked);
    }
    if head_only {
        *response.body_mut() = Body::whole(Bytes::new());
    }
    response
}
