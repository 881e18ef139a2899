//! The bytes of a request's body as they come from the client: decompressed, in time, and within bounds.

use crate::error::ApiError;
use crate::frames::{BoxError, Frames};
use crate::spool::{Missing, NoRoom, Reader, Spool};
use crate::upload::held::{Holds, Keeper};
use crate::upload::make::Stint;
use crate::upload::pace::{Pace, Waiting};
use bytes::Bytes;
use flate2::write::MultiGzDecoder;
use http_body::{Body as _, SizeHint};
use hyper::body::Incoming as HttpBody;
use hyper::header::{self, HeaderMap};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io::Write;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
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

/// How much is decompressed at a time, in bytes: it becomes a thousand times as much at most.
const COMPRESSED_PIECE_BYTES: usize = 1024;
/// From this size on, what was compressed is looked at for being a bomb, in bytes.
const INFLATED_BYTES_FREE: u64 = 8 * 1024 * 1024;
/// How many times larger than compressed a body may be.
const INFLATED_RATIO_MAX: u64 = 200;
/// What was decompressed goes on in pieces of at least this size where there is as much, in bytes.
const INFLATED_PIECE_BYTES: usize = 64 * 1024;
/// What a piece costs besides what it becomes, as so many bytes: it may be many members, each with tables of its own.
const COMPRESSED_PIECE_COST_BYTES: usize = 64 * 1024;
/// How much goes to disk at a time, in bytes.
const BATCH_BYTES: u64 = 256 * 1024;
/// How much of a body that nobody wants is read, so that the client reads the response; in bytes, and how long.
const UNWANTED_BYTES_MAX: u64 = 64 * 1024 * 1024;
const UNWANTED_TIME_MAX: Duration = Duration::from_secs(10);

/// A body on its way in.
pub(crate) struct Incoming {
    body: Option<Source>,
    compressed: Option<Compressed>,
    /// What of the body has come and is kept on disk.
    on_disk: Option<Reader>,
    limits: BodyLimits,
    /// What has come of it, and as how much it was sent.
    bytes: u64,
    sent_bytes: u64,
    pace: Pace,
    stint: Stint,
    /// Whether the client waits to be told to send the body.
    waits_to_send: bool,
    is_consumed: bool,
}

/// Where a body comes from.
enum Source {
    Client(HttpBody),
    Code(Frames),
}

struct Compressed {
    decoder: MultiGzDecoder<Vec<u8>>,
    /// What is here and not decompressed yet.
    input: VecDeque<Bytes>,
}

impl Incoming {
    /// The body of a request with these headers.
    pub(crate) fn new(body: HttpBody, headers: &HeaderMap, limits: BodyLimits) -> Self {
        let waits_to_send = headers.contains_key(header::EXPECT);
        Self { waits_to_send, ..Self::of(Source::Client(body), limits) }
    }

    /// The body of a request of code in the same process.
    pub(crate) fn of_code(body: Frames, limits: BodyLimits) -> Self {
        Self::of(Source::Code(body), limits)
    }

    fn of(body: Source, limits: BodyLimits) -> Self {
        Self {
            waits_to_send: false,
            is_consumed: false,
            body: Some(body),
            compressed: None,
            on_disk: None,
            limits,
            bytes: 0,
            sent_bytes: 0,
            pace: Pace::default(),
            stint: Stint::default(),
        }
    }

    /// Whether some of the body is gone for good, so that the request cannot be tried again.
    pub(crate) fn is_consumed(&self) -> bool {
        self.is_consumed
    }

    /// Reads the body as `Content-Encoding` says.
    pub(crate) fn decode(&mut self, headers: &HeaderMap) -> Result<(), ApiError> {
        for encoding in headers.get_all(header::CONTENT_ENCODING) {
            // what is no text is no coding that anybody knows
            let name = String::from_utf8_lossy(encoding.as_bytes()).trim().to_ascii_lowercase();
            match name.as_str() {
                "" | "identity" => {}
                "gzip" | "x-gzip" if self.compressed.is_none() => {
                    let decoder = MultiGzDecoder::new(Vec::new());
                    self.compressed = Some(Compressed { decoder, input: VecDeque::new() });
                }
                other => return Err(ApiError::content_encoding(other)),
            }
        }
        Ok(())
    }

    /// The next bytes of a body that is held, of which so many are; `None` at the end.
    pub(crate) async fn next_held(&mut self, held_bytes: u64) -> Result<Option<Bytes>, ApiError> {
        let next = self.next(Waiting::Memory(held_bytes)).await?;
        let most = self.limits.held_bytes_max;
        if self.bytes.max(self.sent_bytes) > most {
            return Err(ApiError::body_too_large(&format!("{most} bytes")));
        }
        Ok(next)
    }

    /// The next bytes of a body for a handler, which may hold all of it; `None` at the end.
    pub(crate) async fn next_of_handler(&mut self) -> Result<Option<Bytes>, ApiError> {
        self.next_held(self.sent_bytes).await
    }

    /// The next bytes of a body that a connection to the database waits for, first those that are on disk; `None` at the
    /// end.
    pub(crate) async fn next_flowing(&mut self) -> Result<Option<Bytes>, ApiError> {
        self.is_consumed = true;
        if let Some(reader) = &mut self.on_disk {
            match reader.next().await {
                Some(Ok(bytes)) => return Ok(Some(bytes)),
                Some(Err(Missing)) => return Err(ApiError::body_lost()),
                None => self.on_disk = None,
            }
        }
        self.next(Waiting::Connection).await
    }

    /// Whether what has come came as fast as from a machine nearby, for which a connection may wait.
    pub(crate) fn is_fast(&self) -> bool {
        self.pace.is_fast(self.sent_bytes)
    }

    /// Receives the rest of a body, of which so many bytes are held, and keeps it on disk. Whether there was room for all of
    /// it; else the rest is still to come.
    pub(crate) async fn keep_on_disk(
        &mut self,
        held_bytes: u64,
        spool: &Spool,
        holds: &Holds,
    ) -> Result<bool, ApiError> {
        if self.on_disk.is_some() {
            return Ok(self.body.is_none() && self.compressed.is_none());
        }
        let (mut writer, reader) = spool.queue();
        let mut kept_bytes = held_bytes;
        let mut is_whole = false;
        let mut has_room = true;
        while has_room && !is_whole {
            let mut batch = Keeper::new(holds.clone());
            while batch.size_bytes() < BATCH_BYTES && !is_whole {
                match self.next(Waiting::Memory(kept_bytes + batch.size_bytes())).await? {
                    Some(chunk) => batch.keep(chunk)?,
                    None => is_whole = true,
                }
            }
            batch.settle()?;
            kept_bytes += batch.size_bytes();
            if let Err(NoRoom(batch)) = writer.write(batch.chunks().list().to_vec()).await {
                writer.hold(batch);
                has_room = false;
            }
        }
        writer.finish();
        self.on_disk = Some(reader);
        Ok(is_whole)
    }

    async fn next(&mut self, waiting: Waiting) -> Result<Option<Bytes>, ApiError> {
        loop {
            if let Some(compressed) = &mut self.compressed {
                if compressed.inflate(&mut self.stint).await? {
                    return self.inflated().map(Some);
                }
                match self.receive(waiting).await? {
                    Some(chunk) => {
                        if let Some(compressed) = &mut self.compressed {
                            compressed.input.push_back(chunk);
                        }
                        continue;
                    }
                    None => {
                        if let Some(compressed) = &mut self.compressed {
                            compressed.finish()?;
                        }
                        let rest = self.inflated()?;
                        self.compressed = None;
                        return Ok(Some(rest).filter(|rest| !rest.is_empty()));
                    }
                }
            }
            let Some(chunk) = self.receive(waiting).await? else { return Ok(None) };
            self.bytes += chunk.len() as u64;
            self.stint.worked(chunk.len()).await;
            return self.within_bounds(chunk).map(Some);
        }
    }

    /// What has been decompressed, if that is not too much.
    fn inflated(&mut self) -> Result<Bytes, ApiError> {
        let inflated = self.compressed.as_mut().map(Compressed::take).unwrap_or_default();
        self.bytes += inflated.len() as u64;
        if self.bytes > INFLATED_BYTES_FREE.max(self.sent_bytes.saturating_mul(INFLATED_RATIO_MAX)) {
            return Err(ApiError::body_too_large("its compressed form promises"));
        }
        self.within_bounds(inflated)
    }

    fn within_bounds(&self, chunk: Bytes) -> Result<Bytes, ApiError> {
        if self.bytes.max(self.sent_bytes) > self.limits.flowing_bytes_max {
            return Err(ApiError::body_too_large(&format!("{} bytes", self.limits.flowing_bytes_max)));
        }
        Ok(chunk)
    }

    /// The next bytes from a client that must not dawdle.
    async fn receive(&mut self, waiting: Waiting) -> Result<Option<Bytes>, ApiError> {
        let started = Instant::now();
        let Some(chunk) = self.read().await? else { return Ok(None) };
        let bytes = chunk.len() as u64;
        self.sent_bytes += bytes;
        if !self.pace.is_kept(waiting, started.elapsed(), bytes) {
            return Err(ApiError::body_too_slow());
        }
        Ok(Some(chunk))
    }

    async fn read(&mut self) -> Result<Option<Bytes>, ApiError> {
        let Some(body) = &mut self.body else { return Ok(None) };
        loop {
            let data = poll_fn(|cx| body.poll_data(cx));
            let data = tokio::time::timeout(self.limits.stall_timeout, data).await;
            match data.map_err(|_| ApiError::body_too_slow())? {
                None => {
                    self.body = None;
                    return Ok(None);
                }
                Some(Err(error)) => {
                    self.body = None;
                    return Err(ApiError::body_broke_off(&*error));
                }
                Some(Ok(chunk)) if chunk.is_empty() => {}
                Some(Ok(chunk)) => return Ok(Some(chunk)),
            }
        }
    }

    /// Whether all of the body has been taken from the connection.
    pub(crate) fn has_ended(&self) -> bool {
        self.body.as_ref().is_none_or(Source::has_ended)
    }

    /// How large it is, as far as its head says.
    pub(crate) fn size_hint(&self) -> SizeHint {
        match &self.body {
            Some(Source::Client(body)) => body.size_hint(),
            Some(Source::Code(_)) | None => SizeHint::default(),
        }
    }

    /// Reads what is left, within bounds: a client that is still sending does not read the response, and loses it where
    /// the connection is cut. One that waits to be told to send learns from the response that it need not.
    pub(crate) async fn discard(mut self) {
        if self.waits_to_send && self.bytes == 0 {
            return;
        }
        let discard = async {
            let mut bytes = 0;
            while bytes <= UNWANTED_BYTES_MAX {
                match self.read().await {
                    Ok(Some(chunk)) => bytes += chunk.len() as u64,
                    Ok(None) | Err(_) => return,
                }
            }
        };
        let _ = tokio::time::timeout(UNWANTED_TIME_MAX, discard).await;
    }
}

impl Source {
    fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BoxError>>> {
        let body = match self {
            Self::Client(body) => body,
            Self::Code(frames) => return frames.poll_data(cx),
        };
        let has_length = body.size_hint().exact().is_some();
        loop {
            return Poll::Ready(match ready!(Pin::new(&mut *body).poll_frame(cx)) {
                None => None,
                Some(Err(error)) => Some(Err(error.into())),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(chunk) => {
                        if !has_length {
                            thalweg_gauge::bytes_in(chunk.len() as u64);
                        }
                        Some(Ok(chunk))
                    }
                    // trailers say nothing of a body
                    Err(_) => continue,
                },
            });
        }
    }

    fn has_ended(&self) -> bool {
        match self {
            Self::Client(body) => body.is_end_stream(),
            Self::Code(frames) => frames.has_ended(),
        }
    }
}

impl Compressed {
    /// Decompresses what is here, up to a piece; whether there is any.
    async fn inflate(&mut self, stint: &mut Stint) -> Result<bool, ApiError> {
        while let Some(first) = self.input.front_mut() {
            let piece = first.split_to(first.len().min(COMPRESSED_PIECE_BYTES));
            if first.is_empty() {
                self.input.pop_front();
            }
            let before = self.decoder.get_ref().len();
            self.decoder.write_all(&piece).map_err(|error| ApiError::not_compressed(&error))?;
            let inflated = self.decoder.get_ref().len();
            stint.worked(inflated - before + COMPRESSED_PIECE_COST_BYTES).await;
            if inflated >= INFLATED_PIECE_BYTES {
                break;
            }
        }
        Ok(!self.decoder.get_ref().is_empty())
    }

    fn finish(&mut self) -> Result<(), ApiError> {
        self.decoder.try_finish().map_err(|error| ApiError::not_compressed(&error))
    }

    /// What has been decompressed.
    fn take(&mut self) -> Bytes {
        let mut inflated = std::mem::take(self.decoder.get_mut());
        inflated.shrink_to_fit();
        inflated.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::Waker;

    /// A chunk as it was received of which each kilobyte becomes a megabyte.
    #[test]
    fn others_have_their_turns_while_a_bomb_goes_off() {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(&vec![b' '; 32 << 20]).unwrap();
        let mut bomb = Compressed {
            decoder: MultiGzDecoder::new(Vec::new()),
            input: VecDeque::from([encoder.finish().unwrap().into()]),
        };
        let (mut stint, mut polls, mut inflated) = (Stint::default(), 0, 0);
        let mut context = Context::from_waker(Waker::noop());
        loop {
            let is_more = {
                let mut inflating = pin!(bomb.inflate(&mut stint));
                loop {
                    polls += 1;
                    if let Poll::Ready(is_more) = inflating.as_mut().poll(&mut context) {
                        break is_more.unwrap();
                    }
                }
            };
            if !is_more {
                break;
            }
            let piece = bomb.take();
            assert!(
                piece.len() <= INFLATED_PIECE_BYTES + (COMPRESSED_PIECE_BYTES << 10) + (64 << 10),
                "{}",
                piece.len()
            );
            inflated += piece.len();
        }
        assert!(inflated >= 31 << 20 && polls >= 60, "{polls} polls for {inflated} bytes");
    }
}
