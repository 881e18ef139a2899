//! A form with files, in the chunks in which it came.

use super::respond::Failure;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;
use bytes::Bytes;
use http_body::Body as _;
use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;
use thalweg_decode::Chunks;
use thalweg_files::{Part, PartsReader};
use thalweg_server::{Permit, Shares};

/// What one form may send.
const UPLOAD_BYTES_MAX: u64 = 128 * 1024 * 1024;
/// What the forms of a pilot hold in memory, and what all of them do. A chunk counts as whole kibibytes.
const PILOT_BYTES_MAX: usize = 192 * 1024 * 1024;
const UPLOADS_BYTES_MAX: usize = 512 * 1024 * 1024;
const KIB: usize = 1024;
/// How long a form may send nothing.
const SILENCE_MAX: Duration = Duration::from_secs(30);

/// The memory that forms share, in kibibytes. Each pilot may use a part of it.
pub(super) struct Room(Shares);

/// The parts of a form, and the permits for the memory that they take.
pub(super) struct Received {
    pub(super) parts: Vec<Part>,
    pub(super) taken: Permit,
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
        Self(Shares::new(UPLOADS_BYTES_MAX / KIB, PILOT_BYTES_MAX / KIB, Duration::ZERO))
    }
}

impl Room {
    /// Reads a pilot's form. No byte of it is copied.
    pub(super) async fn receive(&self, pilot: i32, request: Request) -> Result<Received, Unread> {
        let boundary =
            boundary(&request).ok_or(Failure::Request("A form with files (multipart/form-data) is needed.\n"))?;
        let mut reader = PartsReader::new(&boundary);
        let (mut body, mut chunks) = (request.into_body(), Chunks::default());
        let mut taken = self.0.try_acquire(&pilot, 0).map_err(Failure::from)?;
        while let Some(chunk) = next(&mut body).await? {
            if chunks.size_bytes() + chunk.len() as u64 > UPLOAD_BYTES_MAX {
                return Err(Unread::TooLarge);
            }
            taken.grow(chunk.len().div_ceil(KIB)).map_err(Failure::from)?;
            reader.feed(&chunk).map_err(|_| NO_FORM)?;
            chunks.push(chunk);
        }
        Ok(Received { parts: reader.finish(&chunks).map_err(|_| NO_FORM)?, taken })
    }
}

const NO_FORM: Failure = Failure::Request("The form ends too early, or is none.\n");

async fn next(body: &mut Body) -> Result<Option<Bytes>, Failure> {
    loop {
        let frame = tokio::time::timeout(SILENCE_MAX, poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)));
        let Some(frame) = frame.await.map_err(|_| NO_FORM)? else { return Ok(None) };
        let frame = frame.map_err(|_| NO_FORM)?;
        if let Ok(chunk) = frame.into_data() {
            return Ok(Some(chunk));
        }
    }
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
