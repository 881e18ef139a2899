//! A form with files, in the chunks in which it came.

use super::respond::Failure;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;
use bytes::Bytes;
use http_body::Body as _;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use thalweg_decode::Chunks;
use thalweg_files::{Part, PartsReader};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What one form may send.
const UPLOAD_BYTES_MAX: u64 = 128 * 1024 * 1024;
/// What all forms together hold in memory.
const UPLOADS_BYTES_MAX: usize = 512 * 1024 * 1024;

/// The room that forms share, in kibibytes.
pub(super) struct Room(Arc<Semaphore>);

/// The parts of a form, and the room that they take.
pub(super) struct Received {
    pub(super) parts: Vec<Part>,
    pub(super) room: Option<OwnedSemaphorePermit>,
}

/// Why a form is not read to its end.
pub(super) enum Unread {
    /// It is larger than forms may be.
    TooLarge,
    /// Nothing can be done with it.
    Failed(Failure),
}

impl From<Failure> for Unread {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl Default for Room {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(UPLOADS_BYTES_MAX / 1024)))
    }
}

impl Room {
    /// Reads a form. No byte of it is copied.
    pub(super) async fn receive(&self, request: Request) -> Result<Received, Unread> {
        let boundary =
            boundary(&request).ok_or(Failure::Request("A form with files (multipart/form-data) is needed.\n"))?;
        let mut reader = PartsReader::new(&boundary);
        let (mut body, mut chunks, mut room) = (request.into_body(), Chunks::default(), None);
        while let Some(chunk) = next(&mut body).await? {
            if chunks.size_bytes() + chunk.len() as u64 > UPLOAD_BYTES_MAX {
                return Err(Unread::TooLarge);
            }
            self.take(&mut room, chunk.len())?;
            reader.feed(&chunk).map_err(|_| NO_FORM)?;
            chunks.push(chunk);
        }
        Ok(Received { parts: reader.finish(&chunks).map_err(|_| NO_FORM)?, room })
    }

    fn take(&self, room: &mut Option<OwnedSemaphorePermit>, bytes: usize) -> Result<(), Failure> {
        let kib = u32::try_from(bytes.div_ceil(1024)).map_err(|_| Failure::Busy)?;
        let more = self.0.clone().try_acquire_many_owned(kib).map_err(|_| Failure::Busy)?;
        match room {
            Some(room) => room.merge(more),
            None => *room = Some(more),
        }
        Ok(())
    }
}

const NO_FORM: Failure = Failure::Request("The form ends too early, or is none.\n");

async fn next(body: &mut Body) -> Result<Option<Bytes>, Failure> {
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await {
        let frame = frame.map_err(|_| NO_FORM)?;
        if let Ok(chunk) = frame.into_data() {
            return Ok(Some(chunk));
        }
    }
    Ok(None)
}

/// What stands between the parts (RFC 2046 section 5.1.1: 70 characters at most).
fn boundary(request: &Request) -> Option<String> {
    let media_type = request.headers().get(CONTENT_TYPE)?.to_str().ok()?;
    let (media_type, parameters) = media_type.split_once(';')?;
    if !media_type.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let (_, boundary) = parameters
        .split(';')
        .filter_map(|parameter| parameter.split_once('='))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("boundary"))?;
    let boundary = boundary.trim().trim_matches('"');
    (1..=70).contains(&boundary.len()).then(|| boundary.to_owned())
}
