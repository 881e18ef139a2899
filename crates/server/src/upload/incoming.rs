//! The bytes of a request's body as they come from the client: decompressed, in time, and within bounds.

use crate::error::ApiError;
use bytes::Bytes;
use flate2::write::MultiGzDecoder;
use http_body::Body as _;
use hyper::body::Incoming as HttpBody;
use hyper::header::{self, HeaderMap};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io::Write;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The bounds of bodies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyLimits {
    /// How large a body may be of which all must be here at once, in bytes.
    pub(crate) held_bytes_max: u64,
    /// How large a body may be that is read row by row, in bytes.
    pub(crate) flowing_bytes_max: u64,
    /// How long a client may send nothing.
    pub(crate) stall_timeout: Duration,
}

/// How many bodies of the largest size may be held at the same time.
const LARGEST_HELD_MAX: u64 = 4;
/// How fast a client must send while a connection to the database waits for it, in bytes per second.
const PACE_BYTES_PER_S_MIN: u64 = 16 * 1024;
/// Over which time that is measured. Only waiting for the client counts.
const PACE_WINDOW: Duration = Duration::from_secs(10);
/// How much is decompressed at a time, in bytes: it becomes a thousand times as much at most.
const COMPRESSED_PIECE_BYTES: usize = 1024;
/// From this size on, what was compressed is looked at for being a bomb, in bytes.
const INFLATED_BYTES_FREE: u64 = 8 * 1024 * 1024;
/// How many times larger than compressed a body may be.
const INFLATED_RATIO_MAX: u64 = 200;
/// How much of a body that nobody wants is read, so that the client reads the response; in bytes, and how long.
const UNWANTED_BYTES_MAX: u64 = 64 * 1024 * 1024;
const UNWANTED_TIME_MAX: Duration = Duration::from_secs(10);

/// A body on its way in.
pub(crate) struct Incoming {
    body: Option<HttpBody>,
    compressed: Option<Compressed>,
    limits: BodyLimits,
    bytes: u64,
    held: Held,
    /// Since when the client's pace is measured: the time waited for it, and what came.
    pace: (Duration, u64),
    /// Whether the client waits to be told to send the body.
    waits_to_send: bool,
    is_consumed: bool,
}

struct Compressed {
    decoder: MultiGzDecoder<Vec<u8>>,
    /// What is here and not decompressed yet.
    input: VecDeque<Bytes>,
    bytes: u64,
}

/// What all bodies together hold, and this one's part in it, in bytes.
struct Held {
    all: Arc<AtomicU64>,
    bytes: u64,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.all.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Incoming {
    /// The body of a request with these headers.
    pub(crate) fn new(body: HttpBody, headers: &HeaderMap, limits: BodyLimits, all: Arc<AtomicU64>) -> Self {
        Self {
            waits_to_send: headers.contains_key(header::EXPECT),
            is_consumed: false,
            body: Some(body),
            compressed: None,
            limits,
            bytes: 0,
            held: Held { all, bytes: 0 },
            pace: (Duration::ZERO, 0),
        }
    }

    /// Whether some of the body is gone for good, so that the request cannot be tried again.
    pub(crate) fn is_consumed(&self) -> bool {
        self.is_consumed
    }

    /// Reads the body as `Content-Encoding` says.
    pub(crate) fn decode(&mut self, headers: &HeaderMap) -> Result<(), ApiError> {
        for encoding in headers.get_all(header::CONTENT_ENCODING) {
            let name = encoding.to_str().unwrap_or_default().trim().to_ascii_lowercase();
            match name.as_str() {
                "" | "identity" => {}
                "gzip" | "x-gzip" if self.compressed.is_none() => {
                    let decoder = MultiGzDecoder::new(Vec::new());
                    self.compressed = Some(Compressed { decoder, input: VecDeque::new(), bytes: 0 });
                }
                other => return Err(ApiError::content_encoding(other)),
            }
        }
        Ok(())
    }

    /// The next bytes; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, ApiError> {
        loop {
            if let Some(compressed) = &mut self.compressed {
                if let Some(inflated) = compressed.inflate()? {
                    self.bytes += inflated.len() as u64;
                    let allowed = INFLATED_BYTES_FREE.max(compressed.bytes.saturating_mul(INFLATED_RATIO_MAX));
                    if self.bytes > allowed {
                        return Err(ApiError::body_too_large("its compressed form promises"));
                    }
                    return self.within_bounds(inflated).map(Some);
                }
                match self.receive().await? {
                    Some(chunk) => {
                        if let Some(compressed) = &mut self.compressed {
                            compressed.bytes += chunk.len() as u64;
                            compressed.input.push_back(chunk);
                        }
                    }
                    None => {
                        let rest = self.compressed.take().map(Compressed::finish).transpose()?.unwrap_or_default();
                        self.bytes += rest.len() as u64;
                        return if rest.is_empty() { Ok(None) } else { self.within_bounds(rest).map(Some) };
                    }
                }
                continue;
            }
            let Some(chunk) = self.receive().await? else { return Ok(None) };
            self.bytes += chunk.len() as u64;
            return self.within_bounds(chunk).map(Some);
        }
    }

    fn within_bounds(&self, chunk: Bytes) -> Result<Bytes, ApiError> {
        if self.bytes > self.limits.flowing_bytes_max {
            return Err(ApiError::body_too_large(&format!("{} bytes", self.limits.flowing_bytes_max)));
        }
        Ok(chunk)
    }

    /// The next bytes from a client that must not dawdle.
    pub(crate) async fn next_in_time(&mut self) -> Result<Option<Bytes>, ApiError> {
        self.is_consumed = true;
        let started = Instant::now();
        let next = self.next().await?;
        let (waited, bytes) = &mut self.pace;
        *waited += started.elapsed();
        *bytes += next.as_ref().map_or(0, |chunk| chunk.len() as u64);
        if *waited >= PACE_WINDOW {
            if *bytes < PACE_BYTES_PER_S_MIN * PACE_WINDOW.as_secs() {
                return Err(ApiError::body_too_slow());
            }
            self.pace = (Duration::ZERO, 0);
        }
        Ok(next)
    }

    async fn receive(&mut self) -> Result<Option<Bytes>, ApiError> {
        let Some(body) = &mut self.body else { return Ok(None) };
        loop {
            let frame = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx));
            let frame = tokio::time::timeout(self.limits.stall_timeout, frame).await;
            match frame.map_err(|_| ApiError::body_too_slow())? {
                None => {
                    self.body = None;
                    return Ok(None);
                }
                Some(Err(error)) => {
                    self.body = None;
                    return Err(ApiError::body_broke_off(&error));
                }
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(chunk) if chunk.is_empty() => {}
                    Ok(chunk) => return Ok(Some(chunk)),
                    // trailers say nothing of a body
                    Err(_) => {}
                },
            }
        }
    }

    /// Notes that so many bytes more are held.
    pub(crate) fn hold(&mut self, bytes: usize) -> Result<(), ApiError> {
        let bytes = bytes as u64;
        self.held.bytes += bytes;
        let all = self.held.all.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if self.held.bytes > self.limits.held_bytes_max {
            return Err(ApiError::body_too_large(&format!("{} bytes", self.limits.held_bytes_max)));
        }
        if all > self.limits.held_bytes_max.saturating_mul(LARGEST_HELD_MAX) {
            return Err(ApiError::too_many_bodies());
        }
        Ok(())
    }

    /// Nothing is held any more.
    pub(crate) fn release(&mut self) {
        self.held.all.fetch_sub(std::mem::take(&mut self.held.bytes), Ordering::Relaxed);
    }

    /// Whether all of the body has been taken from the connection.
    pub(crate) fn has_ended(&self) -> bool {
        self.body.as_ref().is_none_or(hyper::body::Body::is_end_stream)
    }

    /// Reads what is left, within bounds: a client that is still sending does not read the response, and loses it where
    /// the connection is cut. One that waits to be told to send learns from the response that it need not.
    pub(crate) async fn discard(mut self) {
        if self.waits_to_send && self.bytes == 0 {
            return;
        }
        self.release();
        let discard = async {
            let mut bytes = 0;
            while bytes <= UNWANTED_BYTES_MAX {
                match self.receive().await {
                    Ok(Some(chunk)) => bytes += chunk.len() as u64,
                    Ok(None) | Err(_) => return,
                }
            }
        };
        let _ = tokio::time::timeout(UNWANTED_TIME_MAX, discard).await;
    }
}

impl Compressed {
    /// What the next piece of the input says, if there is one.
    fn inflate(&mut self) -> Result<Option<Bytes>, ApiError> {
        while let Some(first) = self.input.front_mut() {
            let piece = first.split_to(first.len().min(COMPRESSED_PIECE_BYTES));
            if first.is_empty() {
                self.input.pop_front();
            }
            self.decoder.write_all(&piece).map_err(|error| ApiError::not_compressed(&error))?;
            if !self.decoder.get_ref().is_empty() {
                return Ok(Some(std::mem::take(self.decoder.get_mut()).into()));
            }
        }
        Ok(None)
    }

    fn finish(mut self) -> Result<Bytes, ApiError> {
        self.decoder.try_finish().map_err(|error| ApiError::not_compressed(&error))?;
        Ok(std::mem::take(self.decoder.get_mut()).into())
    }
}
