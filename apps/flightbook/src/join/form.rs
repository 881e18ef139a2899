//! A form with files, in the chunks in which it came.

use super::respond::Failure;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;
use bytes::Bytes;
use http_body::Body as _;
use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;
use thalweg_decode::Chunks;
use thalweg_files::{Part, PartsReader};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What one form may send.
const UPLOAD_BYTES_MAX: u64 = 128 * 1024 * 1024;
/// What the forms of a pilot hold in memory, and what all of them do. A chunk counts as whole kibibytes.
const PILOT_BYTES_MAX: usize = 192 * 1024 * 1024;
const UPLOADS_BYTES_MAX: usize = 512 * 1024 * 1024;
const KIB: usize = 1024;
/// How long a form may send nothing.
const SILENCE_MAX: Duration = Duration::from_secs(30);

/// The room that forms share, in kibibytes, and each pilot's own part of it.
pub(super) struct Room {
    all: Arc<Semaphore>,
    pilots: Mutex<HashMap<i32, Weak<Semaphore>>>,
}

/// The parts of a form, and the room that they take.
pub(super) struct Received {
    pub(super) parts: Vec<Part>,
    pub(super) taken: Taken,
}

/// The room that a form takes: of its pilot's, and of all.
pub(super) struct Taken {
    rooms: [Arc<Semaphore>; 2],
    permits: Vec<OwnedSemaphorePermit>,
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
        Self { all: Arc::new(Semaphore::new(UPLOADS_BYTES_MAX / KIB)), pilots: Mutex::default() }
    }
}

impl Room {
    /// Reads a pilot's form. No byte of it is copied.
    pub(super) async fn receive(&self, pilot: i32, request: Request) -> Result<Received, Unread> {
        let boundary =
            boundary(&request).ok_or(Failure::Request("A form with files (multipart/form-data) is needed.\n"))?;
        let mut reader = PartsReader::new(&boundary);
        let (mut body, mut chunks) = (request.into_body(), Chunks::default());
        let mut taken = self.taken(pilot);
        while let Some(chunk) = next(&mut body).await? {
            if chunks.size_bytes() + chunk.len() as u64 > UPLOAD_BYTES_MAX {
                return Err(Unread::TooLarge);
            }
            taken.add(chunk.len())?;
            reader.feed(&chunk).map_err(|_| NO_FORM)?;
            chunks.push(chunk);
        }
        Ok(Received { parts: reader.finish(&chunks).map_err(|_| NO_FORM)?, taken })
    }

    /// For a form of this pilot.
    fn taken(&self, pilot: i32) -> Taken {
        Taken { rooms: [self.of(pilot), self.all.clone()], permits: Vec::new() }
    }

    /// A pilot's own, for as long as a form takes of it.
    fn of(&self, pilot: i32) -> Arc<Semaphore> {
        let mut pilots = self.pilots.lock().unwrap_or_else(PoisonError::into_inner);
        pilots.retain(|_, room| room.strong_count() > 0);
        if let Some(room) = pilots.get(&pilot).and_then(Weak::upgrade) {
            return room;
        }
        let room = Arc::new(Semaphore::new(PILOT_BYTES_MAX / KIB));
        pilots.insert(pilot, Arc::downgrade(&room));
        room
    }
}

impl Taken {
    fn add(&mut self, bytes: usize) -> Result<(), Failure> {
        let kib = u32::try_from(bytes.div_ceil(KIB)).map_err(|_| Failure::Busy)?;
        for (at, room) in self.rooms.iter().enumerate() {
            let more = room.clone().try_acquire_many_owned(kib).map_err(|_| Failure::Busy)?;
            match self.permits.get_mut(at) {
                Some(permit) => permit.merge(more),
                None => self.permits.push(more),
            }
        }
        Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pilot_takes_a_part_of_the_room_and_gives_it_back() {
        let room = Room::default();
        let (mut first, mut second) = (room.taken(1), room.taken(1));
        assert!(first.add(PILOT_BYTES_MAX - 1).is_ok());
        assert!(second.add(1).is_err());
        let mut others = [2, 3, 4].map(|pilot| room.taken(pilot));
        assert!(
            others[0].add(PILOT_BYTES_MAX).is_ok() && others[1].add(UPLOADS_BYTES_MAX - 2 * PILOT_BYTES_MAX).is_ok()
        );
        assert!(others[2].add(1).is_err());
        drop(first);
        assert!(second.add(1).is_ok() && others[2].add(1).is_ok());
        drop((second, others));
        assert_eq!(room.all.available_permits(), UPLOADS_BYTES_MAX / KIB);
        room.of(5);
        assert_eq!(room.pilots.lock().unwrap().len(), 1);
    }
}
